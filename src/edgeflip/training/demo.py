"""The demo: train an oracle, explain its test graphs, keep everything."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from torch_geometric.data import Data

from edgeflip.datasets import DatasetBundle, load_dataset
from edgeflip.draw import Exhibit, draw_grid, save_gallery
from edgeflip.explainers import EdgeFlip
from edgeflip.metrics import METRICS, AnswerCase
from edgeflip.oracle import ModelOracle
from edgeflip.search import CounterfactualSet
from edgeflip.support import progress_bar, write_json, write_lines
from edgeflip.training.oracles import load_oracle, train_and_save
from edgeflip.training.reports import TrainingReport

DATASET = "ba_2motifs"
METHOD = "edgeflip"
_ANSWERS = "answers.jsonl"
GALLERY, PICTURE = "gallery.html", "answers.svg"
# Answers on the picture.
_DRAWN = 12


@dataclass(frozen=True)
class DemoResult:
    """What the demo found.

    Attributes:
        folder: Where its files are.
        report: How the oracle's training went.
        method: The explainer.
        graphs: How many test graphs were explained, all of them predicted correctly.
        validity: Share of them with a counterfactual.
        size: Mean number of edits.
        fidelity: Mean drop of the original class's probability.
        seconds_per_graph: Mean time of an answer.
        motif_proximity: Mean share of edits that touch the motif.
        example_index: A test graph with an answer.
        example: Its answer in a sentence.
    """

    folder: Path
    report: TrainingReport
    method: str
    graphs: int
    validity: float
    size: float
    fidelity: float
    seconds_per_graph: float
    motif_proximity: float
    example_index: int
    example: str

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        plain = {**asdict(self), "folder": str(self.folder), "report": self.report.to_dict()}
        # A mean over nothing is not a number, which JSON has no word for.
        return {key: None if value != value else value for key, value in plain.items()}


def run_demo(
    folder: Path,
    *,
    count: int = 100,
    profile: str = "cpu",
    seed: int = 0,
    data_dir: Path | None = None,
    progress: bool = False,
) -> DemoResult:
    """Explain BA-2Motifs test graphs and write oracle, answers and summary into a folder.

    Args:
        folder: Where everything goes.
        count: At most this many of the correctly predicted test graphs.
        profile: Preset profile.
        seed: Seed of training and search.
        data_dir: Folder of dataset files, see `load_dataset`.
        progress: Whether to show progress on stderr.
    """
    bundle = load_dataset(DATASET, data_dir)
    report = train_and_save(
        bundle, folder / "oracle", profile=profile, seed=seed, progress=progress
    )
    oracle = load_oracle(folder / "oracle")
    explainer = EdgeFlip.for_dataset(DATASET, profile=profile)
    explainer.progress = progress
    explainer.fit(bundle.train, oracle, seed=seed)
    explainer.save(folder / METHOD)
    answers: dict[int, CounterfactualSet] = {}
    indices = list(_correctly_predicted(bundle, oracle))[:count]
    description = f"explaining with {METHOD}"
    try:
        with progress_bar(description, total=len(indices), unit="graph", shown=progress) as bar:
            for index in indices:
                answers[index] = explainer.explain(bundle.test[index], seed=seed)
                bar.update()
    except KeyboardInterrupt:
        _keep(answers, folder)
        raise KeyboardInterrupt(
            f"{len(answers)} of {len(indices)} graphs were explained; their answers are in "
            f"{folder / _ANSWERS}."
        ) from None
    _keep(answers, folder)
    assert bundle.motif_nodes is not None
    _draw(answers, folder)
    result = _summary(folder, report, explainer.name, answers, bundle.motif_nodes)
    write_json(folder / "summary.json", result.to_dict())
    return result


def _keep(answers: dict[int, CounterfactualSet], folder: Path) -> None:
    rows = [
        {"index": index, "answer": answer.with_effects().to_dict()}
        for index, answer in answers.items()
    ]
    write_lines(folder / _ANSWERS, (json.dumps(row) for row in rows))


def _draw(answers: dict[int, CounterfactualSet], folder: Path) -> None:
    """A page of all answers, and a picture of the first."""
    if not answers:
        return
    titles = [f"test graph {index}" for index in answers]
    exhibits = [Exhibit(*entry) for entry in zip(answers.values(), titles, strict=True)]
    save_gallery(exhibits, folder / GALLERY, about=f"BA-2Motifs, {METHOD}", pages=True)
    draw_grid(list(answers.values())[:_DRAWN], titles=titles).save(folder / PICTURE)


def _correctly_predicted(bundle: DatasetBundle, oracle: ModelOracle) -> Iterator[int]:
    graphs: list[Data] = list(bundle.test)
    for index, (graph, label) in enumerate(
        zip(graphs, oracle.predict(graphs).tolist(), strict=True)
    ):
        if int(graph.y) == label:
            yield index


def _summary(
    folder: Path,
    report: TrainingReport,
    method: str,
    answers: dict[int, CounterfactualSet],
    motif_nodes: Callable[[Data], frozenset[int]],
) -> DemoResult:
    found = [index for index, answer in answers.items() if answer.found]
    shown = next(iter(found or answers), -1)
    cases = [AnswerCase(answer, motif_nodes=motif_nodes) for answer in answers.values()]

    def mean(name: str) -> float:
        value = METRICS[name].average(cases).value
        return math.nan if value is None else value

    return DemoResult(
        folder=folder,
        report=report,
        method=method,
        graphs=len(cases),
        validity=mean("validity"),
        size=mean("size"),
        fidelity=mean("fidelity"),
        seconds_per_graph=mean("seconds"),
        motif_proximity=mean("motif_proximity"),
        example_index=shown,
        example=str(answers[shown]) if shown >= 0 else "none",
    )
