"""Every command: its options, its help, and the one call that does the work.

This file is all that `edgeflip --help` reads, so it imports nothing that works with graphs. What does
the work is imported by the command itself.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from edgeflip import __version__
from edgeflip.cli.names import ENGINES, check_class, check_name, check_spec
from edgeflip.cli.options import (
    AsJson,
    DataDir,
    DatasetName,
    Limits,
    Method,
    Resume,
    Source,
    TrainedOracle,
    Training,
)
from edgeflip.cli.own_model import UserModel
from edgeflip.cli.patterns import Patterns
from edgeflip.cli.reading import check_models, check_one_model
from edgeflip.cli.registration import CommandGroup, command
from edgeflip.cli.terminal import EXIT_CODES, starting
from edgeflip.cli.wanted import Wanted
from edgeflip.cli.which_graphs import Address, Engine, ManyGraphs, WhichGraphs
from edgeflip.errors import ConfigError
from edgeflip.explainers import check_method

app = typer.Typer(
    cls=CommandGroup,
    help="Which few edges would have to come or go for a graph's prediction to change class?",
    epilog="Exit codes: " + ", ".join(f"{code} {what}" for code, what in EXIT_CODES.items()) + ".",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
bench = typer.Typer(
    cls=CommandGroup,
    help="Compare methods on datasets and report the results.\n\n"
    "Run a spec first, then report it beside the published figures.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
data = typer.Typer(
    cls=CommandGroup, help="Download datasets.", no_args_is_help=True, rich_markup_mode=None
)


@app.callback(invoke_without_command=True)
def _root(
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
) -> None:
    if version:
        print(__version__)
        raise typer.Exit


@command(app)
def datasets(data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """List the datasets and whether they are at hand.

    Example: edgeflip datasets --data-dir ~/graphs
    """
    from edgeflip.cli.listing import print_datasets

    print_datasets(data_dir, as_json=as_json)


@command(app)
def methods(as_json: AsJson = False) -> None:
    """List the methods by the names that --method takes.

    Example: edgeflip methods
    """
    from edgeflip.cli.listing import print_methods

    print_methods(as_json=as_json)


@command(app)
def metrics(as_json: AsJson = False) -> None:
    """List what benchmarks measure, and which way is better.

    Example: edgeflip metrics
    """
    from edgeflip.cli.metrics import list_metrics

    list_metrics(as_json=as_json)


@command(app)
def train(
    source: Source,
    training: Training,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Where the oracle goes; by default to a folder in runs/, where 'explain' finds it.",
        ),
    ] = None,
    method: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Also fit this method; see 'edgeflip methods'."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Train an oracle, the model to be explained, and save it.

    The folder gets config.json and model.safetensors. With --method, that method is fitted too and
    kept beside the oracle, where 'explain' finds it.

    Examples:
    edgeflip train ba_2motifs --profile cpu --out runs/my_oracle
    edgeflip train ba_2motifs --method edgeflip
    edgeflip train --data my_molecules.csv --label-column toxic
    """
    if method is not None:
        check_method(method)
    with starting():
        from edgeflip.cli.train import train_models

    train_models(source, training, out, method, as_json=as_json)


@command(app)
def explain(
    source: Source,
    which: WhichGraphs,
    many: ManyGraphs,
    wanted: Wanted,
    method: Method,
    limits: Limits,
    trained: TrainedOracle,
    user_model: UserModel,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="PATH",
            help="Also write the answer: a file ending in .html, .svg, .png, .pdf or .json, or a folder "
            "for the JSON of each.",
        ),
    ] = None,
    html: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Also write a page to look at; several answers become a gallery, with a folder of pages "
            "beside it.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Find the few edges whose change flips a prediction.

    Examples:
    edgeflip explain ba_2motifs --index 0
    edgeflip explain ba_3motifs --index 4 --target house --no-removals
    edgeflip explain ba_2motifs --index 0 --index 1 --json
    edgeflip explain ba_2motifs --index 0 --method dr-cfgnn --no-denoise
    edgeflip explain ba_3motifs --index 4 --each-class --number 3
    edgeflip explain bbbp --index 0 --no-chemistry
    edgeflip explain --data my_molecules.csv --index 0 --out why.svg
    edgeflip explain --smiles "CCOC(=O)C" --oracle runs/oracle --out why.svg
    edgeflip explain ba_2motifs --index 0 --index 1 --html why.html
    edgeflip explain ba_2motifs --all --out answers --engine local
    edgeflip explain --model my.py:build --weights w.safetensors --graph g.json
    """
    many.check(which, out, others=wanted.each_class or html is not None or as_json)
    check_class(source.dataset, wanted.target)
    check_one_model(trained.oracle, user_model.model)
    which.check_asked(source, trained, user_model)
    with starting():
        from edgeflip.cli.explain import Explanation

    explanation = Explanation(source, which, many, wanted, method, limits, trained, user_model)
    explanation.run(out, html, as_json=as_json)


@command(app)
def demo(
    training: Training,
    out: Annotated[
        Path, typer.Option(metavar="FOLDER", help="Where everything the demo makes goes.")
    ] = Path("demo_output"),
    graphs: Annotated[
        int, typer.Option(min=1, metavar="N", help="How many test graphs to explain.")
    ] = 100,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Train and explain on BA-2Motifs, and print the results.

    Example: edgeflip demo --graphs 20
    """
    with starting():
        from edgeflip.cli.train import demonstrate

    demonstrate(training, out, graphs, data_dir, as_json=as_json)


@command(app)
def gallery(
    run: Annotated[
        Path,
        typer.Argument(
            metavar="RUN",
            help="A folder of answers ('explain --out'), of the demo or of a benchmark, or a file of "
            "answers.",
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The page; by default gallery.html in the folder."),
    ] = None,
    pages: Annotated[
        bool,
        typer.Option(
            show_default=False, help="Whether every answer gets a page of its own; yes by default."
        ),
    ] = True,
    method: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Of a benchmark: all graphs of this column, instead of a few of each.",
        ),
    ] = None,
    data_dir: DataDir = None,
) -> None:
    """Make a page of many answers, to filter and sort.

    Examples:
    edgeflip gallery demo_output
    edgeflip gallery answers --out gallery.html
    edgeflip gallery runs/ba --method edgeflip
    """
    with starting():
        from edgeflip.cli.gallery import make_gallery

    make_gallery(run, out, pages=pages, method=method, data_dir=data_dir)


@command(app)
def summarize(
    source: Source,
    patterns: Patterns,
    trained: TrainedOracle,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER", help="Also write summary.json and summary.svg into this folder."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Find a few counterfactual graphs that stand for a class.

    They lie near most graphs of the class; GCFExplainer finds them.

    Examples:
    edgeflip summarize ba_2motifs --from-class 0 --to-class 1
    edgeflip summarize bbbp --from-class 1 --theta 0.15 --out bbbp_summary
    """
    check_class(source.dataset, patterns.from_class)
    check_class(source.dataset, patterns.to_class)
    with starting():
        from edgeflip.cli.summarize import Summarizing

    Summarizing(source, patterns, trained).run(out, as_json=as_json)


@command(app)
def verify(
    answer: Annotated[
        Path, typer.Argument(metavar="ANSWER", help="A file that 'explain --out' wrote.")
    ],
    user_model: UserModel,
    oracle: Annotated[
        list[Path] | None,
        typer.Option(metavar="FOLDER", help="The oracle or oracles that the answer was made for."),
    ] = None,
) -> None:
    """Check the proof that no smaller edit flips the prediction.

    Every smaller set of edits is tried again, one by one, with the oracle or with your own model.

    Examples:
    edgeflip verify answers/ba_2motifs-test-0.json --oracle runs/oracle
    edgeflip verify g-answer.json --model my.py:build --weights w.safetensors
    """
    check_models(oracle, user_model.model)
    with starting():
        from edgeflip.cli.verify import verify_answer

    verify_answer(answer, oracle or [], user_model)


@command(bench)
def specs(as_json: AsJson = False) -> None:
    """List the benchmarks that come with the package."""
    with starting():
        from edgeflip.cli.bench import print_specs

    print_specs(as_json=as_json)


@command(bench)
def run(
    spec: Annotated[
        str,
        typer.Argument(metavar="SPEC", help="Name of a spec, see 'bench specs', or a TOML file."),
    ],
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="Where the results go.")],
    workers: Annotated[
        int, typer.Option(metavar="N", help="How many processes share the work.")
    ] = 1,
    engine: Engine = None,
    address: Address = None,
    resume: Resume = True,
    models: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Where trained models go; by default to the results."),
    ] = None,
    dataset: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Only this dataset of the spec; may be repeated."),
    ] = None,
    method: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Only this column of the spec; may be repeated."),
    ] = None,
    split: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Graphs to explain: test, or val to choose settings by."),
    ] = None,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run", help="Only print what would be run, and about how many CPU hours it takes."
        ),
    ] = False,
    costs: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER", help="An earlier run by whose times --dry-run estimates as well."
        ),
    ] = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Run a benchmark, or the rest of one.

    Examples:
    edgeflip bench run smoke --out runs/smoke
    edgeflip bench run ba --out runs/ba --dataset ba_2motifs --method random
    edgeflip bench run ba --out runs/ba_val --split val
    edgeflip bench run real --out runs/real --dry-run
    """
    check_spec(spec)
    check_name("split", split, ("test", "val"))
    check_name("engine", engine, ENGINES)
    if costs is not None and not dry_run:
        raise ConfigError("expected --costs with --dry-run, got it alone; add --dry-run.")
    with starting():
        from edgeflip.cli.bench import plan_spec, run_spec

    if dry_run:
        plan_spec(
            spec,
            out,
            costs=costs,
            datasets=dataset,
            methods=method,
            split=split,
            data_dir=data_dir,
            as_json=as_json,
        )
        return
    run_spec(
        spec,
        out,
        workers=workers,
        engine=engine,
        address=address,
        resume=resume,
        models=models,
        datasets=dataset,
        methods=method,
        split=split,
        data_dir=data_dir,
        as_json=as_json,
    )


@command(bench)
def report(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Folder of a run.")],
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER", help="Where the report goes; by default report/ in the run."
        ),
    ] = None,
    ours: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Compare this column with the others; by default edgeflip."
        ),
    ] = None,
    data_dir: DataDir = None,
) -> None:
    """Write the tables and pictures of a run.

    They are written as Markdown, LaTeX, CSV and one HTML page.

    Example: edgeflip bench report runs/smoke
    """
    with starting():
        from edgeflip.cli.bench import report_run

    report_run(folder, out, ours, data_dir)


@command(data)
def get(name: DatasetName, data_dir: DataDir = None) -> None:
    """Download a dataset and check its files.

    Example: edgeflip data get bbbp --data-dir data
    """
    from edgeflip.datasets import check_dataset

    check_dataset(name)
    from edgeflip.cli.listing import download

    download(name, data_dir)


app.add_typer(bench, name="bench")
app.add_typer(data, name="data")
