"""`edgeflip bench`: run a comparison, and report it beside the published figures."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from edgeflip.bench import OURS, list_specs, load_spec, run_bench, write_report
from edgeflip.cli.terminal import DataDir, command, note, print_json, stdout

bench = typer.Typer(
    help="Compare methods on datasets: run a spec, then report it beside the published figures.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@command(bench)
def specs(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List the benchmarks that come with the package."""
    known = list_specs()
    if as_json:
        print_json(known)
        return
    table = Table("spec", "what it shows")
    for name, title in known.items():
        table.add_row(name, title)
    stdout().print(table)


@command(bench)
def run(
    spec: Annotated[str, typer.Argument(help="Name of a spec, see `bench specs`, or a TOML file.")],
    out: Annotated[Path, typer.Option(help="Folder for the results.")],
    workers: Annotated[int, typer.Option(help="Processes to share the work.")] = 1,
    resume: Annotated[
        bool, typer.Option(help="Go on where an earlier run in the folder ended.")
    ] = True,
    models: Annotated[
        Path | None, typer.Option(help="Where trained models are kept; in the folder by default.")
    ] = None,
    dataset: Annotated[
        list[str] | None,
        typer.Option(help="Only this dataset of the spec for now; give it again for more."),
    ] = None,
    method: Annotated[
        list[str] | None,
        typer.Option(help="Only this column of the spec for now; give it again for more."),
    ] = None,
    data_dir: DataDir = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Run a benchmark, or the rest of one that was begun in the folder."""
    name, wanted = load_spec(spec)
    report = run_bench(
        wanted,
        out,
        name=name,
        workers=workers,
        resume=resume,
        models=models,
        data_dir=data_dir,
        datasets=dataset,
        methods=method,
        command=f"edgeflip bench run {spec} --out {out}",
        progress=True,
        tell=note,
    )
    if as_json:
        print_json({**asdict(report), "folder": str(report.folder)})
        return
    stdout().print(
        f"{report.rows} results in {report.folder}, {report.measured} of them new, "
        f"{report.failures} failures; for the tables: edgeflip bench report {report.folder}",
        soft_wrap=True,
    )


@command(bench)
def report(
    folder: Annotated[Path, typer.Argument(help="Folder of a run.")],
    out: Annotated[
        Path | None, typer.Option(help="Folder for the report; report/ in the run by default.")
    ] = None,
    ours: Annotated[
        str, typer.Option(help="The column that is compared with each of the others.")
    ] = OURS,
) -> None:
    """Write tables and pictures of a run: Markdown, LaTeX, CSV and one HTML page."""
    place = write_report(folder, out, ours=ours)
    stdout().print(f"Report in {place} (report.md, report.html, tables/, figures/)", soft_wrap=True)
