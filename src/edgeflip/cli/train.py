"""What `edgeflip train` and `edgeflip demo` do: models are trained, and how it went is printed."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.table import Table

from edgeflip.cli.console import say, show, table
from edgeflip.cli.options import Source, Training
from edgeflip.cli.reading import check_folder
from edgeflip.cli.terminal import note, print_json
from edgeflip.cli.weakness import tell_weakness
from edgeflip.explainers import make_explainer
from edgeflip.presets import preset_name
from edgeflip.training import (
    TrainingReport,
    fitted_explainer,
    load_oracle,
    run_demo,
    train_and_save,
)


def train_models(
    source: Source, training: Training, out: Path | None, method: str | None, *, as_json: bool
) -> None:
    """Train an oracle and, with a method, an explainer beside it."""
    profile, seed = training.profile, training.seed
    explainer = (
        None
        if method is None
        else make_explainer(method, dataset=preset_name(source.dataset), profile=profile)
    )
    training.check_seed()
    check_folder(out)
    bundle = source.bundle()
    folder = training.folder(bundle, out)
    report = train_and_save(bundle, folder, profile=profile, seed=seed, progress=True)
    oracle = load_oracle(folder)
    tell_weakness(oracle, bundle, note)
    learned: Any = None
    if explainer is not None:
        explainer.progress = True
        fitted = fitted_explainer(explainer, bundle, oracle, folder.parent, seed=seed)
        learned = getattr(fitted, "report_", None)
    if as_json:
        reports = [asdict(part) for part in _parts(learned)]
        extra = {"explainer": reports[0] if len(reports) == 1 else reports} if reports else {}
        print_json({**report.to_dict(), "folder": str(folder), **extra})
        return
    show(_training_table(report))
    say(f"Oracle in {folder}")
    if explainer is not None:
        say(f"{explainer.name} beside it: {describe_learning(learned)}")


def demonstrate(
    training: Training, out: Path, graphs: int, data_dir: Path | None, *, as_json: bool
) -> None:
    """Run the demo and print how good its answers are."""
    check_folder(out)
    result = run_demo(
        out,
        count=graphs,
        profile=training.profile,
        seed=training.seed,
        data_dir=data_dir,
        progress=True,
    )
    if as_json:
        print_json(result.to_dict())
        return
    show(_training_table(result.report))
    figures = {
        "graphs": str(result.graphs),
        "validity": f"{result.validity:.2f}",
        "size": f"{result.size:.2f}",
        "fidelity": f"{result.fidelity:.2f}",
        "motif proximity": f"{result.motif_proximity:.2f}",
        "s/graph": f"{result.seconds_per_graph:.4f}",
    }
    rows = table("method", *figures, numbers=figures, title="Counterfactuals")
    rows.add_row(result.method, *figures.values())
    show(rows)
    say(f"For example, test graph {result.example_index}: {result.example}")
    say(f"Files: {result.folder} (oracle/, edgeflip/, answers.jsonl, summary.json)")
    if result.graphs:
        say(
            f"To look at: {result.folder / 'gallery.html'} (all answers), "
            f"{result.folder / 'answers.svg'} (the first of them in a grid)"
        )


def _training_table(report: TrainingReport) -> Table:
    figures = {
        "train accuracy": f"{report.train_accuracy:.3f}",
        "val": f"{report.val_accuracy:.3f}",
        "test": f"{report.test_accuracy:.3f}",
        "epochs": str(report.epochs),
        "best epoch": str(report.best_epoch),
        "CPU s": f"{report.cpu_seconds:.1f}",
    }
    title = f"Oracle on {report.dataset} (seed {report.seed})"
    rows = table(*figures, numbers=figures, title=title)
    rows.add_row(*figures.values())
    return rows


def describe_learning(report: Any) -> str:
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
