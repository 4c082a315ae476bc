"""The command line: parse, call the library, print. Results go to stdout, everything else to stderr."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Column, Table

from edgeflip import __version__
from edgeflip.cli.bench import bench
from edgeflip.cli.explain import explain
from edgeflip.cli.metrics import metrics
from edgeflip.cli.options import AsJson, Dataset, Profile, Seed, check_folder, default_folder
from edgeflip.cli.summarize import summarize
from edgeflip.cli.terminal import DataDir, command, print_json, stdout
from edgeflip.cli.user_inputs import (
    Data,
    LabelColumn,
    Labels,
    SkipInvalid,
    SmilesColumn,
    Stratified,
    chosen_bundle,
    data,
)
from edgeflip.cli.verify import verify
from edgeflip.datasets import list_datasets
from edgeflip.explainers import explainer_class, list_explainers, make_explainer
from edgeflip.support import check_seed
from edgeflip.training import (
    TrainingReport,
    fitted_explainer,
    load_oracle,
    run_demo,
    train_and_save,
)

app = typer.Typer(
    help="Which few edges would have to come or go for a graph's prediction to change class?\n\n"
    "Exit codes: 0 done, 1 no counterfactual found, 2 bad input, 130 interrupted.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


@command(app)
def datasets(data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """List every dataset, its size and classes, and whether it is at hand.

    Example: edgeflip datasets --data-dir ~/graphs
    """
    entries = list_datasets(data_dir)
    if as_json:
        print_json([asdict(entry) for entry in entries])
        return
    table = Table(Column("dataset", no_wrap=True), "graphs", "split", "classes", "at hand")
    for entry in entries:
        split = "/".join(str(part) for part in entry.split or ())
        at_hand = {"file": "yes, from file", "generated": "yes, generated"}.get(entry.source, "no")
        names = f"{entry.classes}: {', '.join(entry.class_names)}"
        table.add_row(entry.name, str(entry.graphs), split, names, at_hand)
    stdout().print(table)


@command(app)
def methods(as_json: AsJson = False) -> None:
    """List every explainer by the name that --method takes.

    Example: edgeflip methods
    """
    names = list_explainers()
    if as_json:
        print_json(names)
        return
    table = Table("method", "what it does")
    for name in names:
        summary = (explainer_class(name).__doc__ or "").strip().splitlines()
        table.add_row(name, summary[0] if summary else "")
    stdout().print(table)


@command(app)
def train(
    dataset: Dataset = None,
    data: Data = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Folder for the oracle; by default runs/DATASET-PROFILE-sSEED/oracle."),
    ] = None,
    method: Annotated[
        str | None, typer.Option(help="Also fit this explainer; see 'edgeflip methods'.")
    ] = None,
    label_column: LabelColumn = "label",
    smiles_column: SmilesColumn = "smiles",
    labels: Labels = None,
    stratified: Stratified = False,
    skip_invalid: SkipInvalid = False,
    profile: Profile = "cpu",
    seed: Seed = 0,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Train the oracle of a dataset, or of your own graphs, and save it as config.json and model.safetensors.

    With --method, fit that explainer too and keep it beside the oracle, where 'explain' finds it.

    Examples:
    edgeflip train ba_2motifs --profile cpu --out runs/my_oracle
    edgeflip train ba_2motifs --method dr-cfgnn
    edgeflip train --data my_molecules.csv --label-column toxic
    """
    explainer = None if method is None else make_explainer(method, dataset=dataset, profile=profile)
    check_seed(seed)
    bundle = chosen_bundle(
        dataset,
        data,
        data_dir,
        label_column=label_column,
        smiles_column=smiles_column,
        labels=labels,
        stratified=stratified,
        skip_invalid=skip_invalid,
    )
    folder = out or default_folder(bundle, profile, seed)
    check_folder(folder)
    report = train_and_save(bundle, folder, profile=profile, seed=seed, progress=True)
    learnt: Any = None
    if explainer is not None:
        explainer.progress = True
        fitted = fitted_explainer(explainer, bundle, load_oracle(folder), folder.parent, seed=seed)
        learnt = getattr(fitted, "report_", None)
    if as_json:
        reports = [asdict(part) for part in _parts(learnt)]
        extra = {"explainer": reports[0] if len(reports) == 1 else reports} if reports else {}
        print_json({**report.to_dict(), "folder": str(folder), **extra})
        return
    stdout().print(_training_table(report))
    stdout().print(f"Oracle in {folder}", soft_wrap=True)
    if explainer is not None:
        stdout().print(f"{explainer.name} beside it: {_learnt(learnt)}", soft_wrap=True)


command(app)(explain)


@command(app)
def demo(
    out: Annotated[Path, typer.Option(help="Folder for everything the demo makes.")] = Path(
        "demo_output"
    ),
    graphs: Annotated[int, typer.Option(min=1, help="How many test graphs to explain.")] = 100,
    profile: Profile = "cpu",
    seed: Seed = 0,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Train an oracle on BA-2Motifs, explain its test graphs, and print how good the answers are.

    Example: edgeflip demo --graphs 20
    """
    result = run_demo(
        out, count=graphs, profile=profile, seed=seed, data_dir=data_dir, progress=True
    )
    if as_json:
        print_json(result.to_dict())
        return
    stdout().print(_training_table(result.report))
    columns = ("method", "graphs", "validity", "size", "fidelity", "motif proximity", "s/graph")
    table = Table(*columns, title="Counterfactuals")
    table.add_row(
        result.method,
        str(result.graphs),
        f"{result.validity:.2f}",
        f"{result.size:.2f}",
        f"{result.fidelity:.2f}",
        f"{result.motif_proximity:.2f}",
        f"{result.seconds_per_graph:.4f}",
    )
    stdout().print(table)
    stdout().print(
        f"For example, test graph {result.example_index}: {result.example}", soft_wrap=True
    )
    stdout().print(
        f"Files: {result.folder} (oracle/, dr-cfgnn/, answers.jsonl, summary.json)", soft_wrap=True
    )


command(app)(summarize)
command(app)(verify)
command(app)(metrics)
app.add_typer(bench, name="bench")
app.add_typer(data, name="data")


@app.callback(invoke_without_command=True)
def _root(
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
) -> None:
    if version:
        print(__version__)
        raise typer.Exit


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; ends with `SystemExit`."""
    app(args=None if arguments is None else list(arguments), prog_name="edgeflip")


def _training_table(report: TrainingReport) -> Table:
    title = f"Oracle on {report.dataset} (seed {report.seed})"
    table = Table("train accuracy", "val", "test", "epochs", "best epoch", "CPU s", title=title)
    accuracies = (report.train_accuracy, report.val_accuracy, report.test_accuracy)
    table.add_row(
        *(f"{value:.3f}" for value in accuracies),
        str(report.epochs),
        str(report.best_epoch),
        f"{report.cpu_seconds:.1f}",
    )
    return table


def _learnt(report: Any) -> str:
    """What an explainer says of its learning, in a line."""
    if report is None:
        return "nothing to learn"
    return "; ".join(map(_figures, _parts(report))) or "done"


def _parts(report: Any) -> tuple[Any, ...]:
    """The reports of all parts of an explainer; most have one, some one per class."""
    if report is None:
        return ()
    return tuple(report) if isinstance(report, list | tuple) else (report,)


def _figures(report: Any) -> str:
    numbers = {
        key: value for key, value in asdict(report).items() if isinstance(value, int | float)
    }
    return ", ".join(
        f"{key.replace('_', ' ')} {value if isinstance(value, int) else format(value, '.3g')}"
        for key, value in numbers.items()
    )
