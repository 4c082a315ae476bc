"""What `edgeflip bench` does: a comparison is run, and reported beside the published figures."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, cast

from edgeflip.bench import OURS, list_specs, load_spec, run_bench, write_report
from edgeflip.cli.console import say, show, table
from edgeflip.cli.terminal import counted, note, print_json, waiting
from edgeflip.cli.wording import in_flags

if TYPE_CHECKING:
    from edgeflip.bench import Split


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


def report_run(folder: Path, out: Path | None, ours: str | None, data_dir: Path | None) -> None:
    """Write the report of a run and print where it is."""
    with waiting("writing the report"):
        written = write_report(folder, out, ours=ours or OURS, data_dir=data_dir)
    say(f"Report in {written} (report.md, report.html, tables/, figures/)")
