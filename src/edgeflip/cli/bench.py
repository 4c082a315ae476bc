"""What `edgeflip bench` does: a comparison is run, and reported beside the published figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, cast

from edgeflip.bench import (
    OURS,
    PlannedWork,
    list_specs,
    load_spec,
    plan_bench,
    run_bench,
    write_report,
)
from edgeflip.cli.console import say, show, table, table_width
from edgeflip.cli.terminal import counted, note, print_json, waiting
from edgeflip.cli.wording import in_flags

if TYPE_CHECKING:
    from edgeflip.bench import Plan, Split
    from edgeflip.engines import Engine


def print_specs(*, as_json: bool) -> None:
    """List the specs that come with the package."""
    known = list_specs()
    if as_json:
        print_json(known)
        return
    rows = table("spec", "what it shows")
    for name, title in known.items():
        rows.add_row(name, title)
    show(rows)


def run_spec(
    spec: str,
    out: Path,
    *,
    workers: int,
    engine: str | None,
    address: str | None,
    resume: bool,
    models: Path | None,
    datasets: list[str] | None,
    methods: list[str] | None,
    split: str | None,
    data_dir: Path | None,
    as_json: bool,
) -> None:
    """Run a spec and print how much of it was new."""
    name, wanted = load_spec(spec)
    report = run_bench(
        wanted,
        out,
        name=name,
        workers=workers,
        engine=cast("Engine | None", engine),
        address=address,
        resume=resume,
        models=models,
        data_dir=data_dir,
        datasets=datasets,
        methods=methods,
        split=cast("Split | None", split),
        command=f"edgeflip bench run {spec} --out {out}{f' --split {split}' if split else ''}",
        progress=True,
        tell=lambda text: note(in_flags(text)),
    )
    if as_json:
        print_json({**asdict(report), "folder": str(report.folder)})
        return
    say(
        f"{counted(report.rows, 'result')} in {report.folder}, {report.measured:,} of them new, "
        f"{counted(report.failures, 'failure')}; for the tables: edgeflip bench report {report.folder}"
    )


def plan_spec(
    spec: str,
    out: Path,
    *,
    costs: Path | None,
    datasets: list[str] | None,
    methods: list[str] | None,
    split: str | None,
    data_dir: Path | None,
    as_json: bool,
) -> None:
    """Print what a run would do and about what it would cost."""
    plan = plan_bench(
        load_spec(spec)[1],
        out,
        costs=costs,
        data_dir=data_dir,
        datasets=datasets,
        methods=methods,
        split=cast("Split | None", split),
    )
    if as_json:
        print_json(plan.to_dict())
        return
    for dataset, reason in plan.skipped.items():
        note(in_flags(f"{dataset} would be skipped: {reason}"))
    amounts = table("dataset", "methods", "seeds", "graphs", "done", "CPU hours", numbers=_AMOUNTS)
    names = list(dict.fromkeys(entry.dataset for entry in plan.work))
    for name in names:
        part = [entry for entry in plan.work if entry.dataset == name]
        asked = [entry for entry in part if entry.graphs]
        seeds = [entry.seeds for entry in part]
        most = "at most " if any(entry.at_most for entry in asked) else ""
        amounts.add_row(
            name,
            str(len(asked)),
            str(max(seeds)),
            f"{most}{sum(entry.graphs for entry in asked):,}",
            f"{sum(entry.done for entry in asked):,}",
            _hours(part),
        )
    show(amounts)
    _show_hours(plan, names)
    unknown = f", and what is not known (?) of {len(plan.unknown)}" if plan.unknown else ""
    say(
        f"About {plan.hours:.2f} CPU hours{unknown}: learning and explaining, by what the "
        "same columns took before. Nothing was trained or explained."
    )


def _show_hours(plan: Plan, names: Sequence[str]) -> None:
    """CPU hours by method, and by dataset where there is room for them."""
    labels = list(dict.fromkeys(entry.method for entry in plan.work))
    lines = []
    for label in labels:
        row = [entry for entry in plan.work if entry.method == label]
        cells = [_hours([entry for entry in row if entry.dataset == name]) for name in names]
        lines.append((label, *cells, _hours(row)))
    heads = ("CPU hours", *names, "all")
    widths = [max(len(line[place]) for line in (heads, *lines)) + 1 for place in range(len(heads))]
    if sum(widths) > table_width():
        heads, lines = ("CPU hours", "all"), [(line[0], line[-1]) for line in lines]
    each = table(*heads, numbers=heads[1:])
    for line in lines:
        each.add_row(*line)
    show(each)
    if len(heads) < len(widths):
        say("By dataset they are in a wider window, and with --json.")


_AMOUNTS = ("methods", "seeds", "graphs", "done", "CPU hours")


def _hours(work: Sequence[PlannedWork]) -> str:
    """CPU hours of some work; "?" stands for what is not known, a dash for none."""
    known = [hours for entry in work if (hours := entry.hours) is not None]
    if not known:
        return "?" if work else "-"
    total = sum(known)
    rest = " + ?" if len(known) < len(work) else ""
    return f"{total:.{3 if 0 < total < 0.1 else 2}f}{rest}"


def report_run(folder: Path, out: Path | None, ours: str | None, data_dir: Path | None) -> None:
    """Write the report of a run and print where it is."""
    with waiting("writing the report"):
        written = write_report(folder, out, ours=ours or OURS, data_dir=data_dir)
    say(f"Report in {written} (report.md, report.html, tables/, figures/)")
