"""How many graphs each method answers with at most seven edits, against the passes of the model it may make.

    python benchmarks/passes.py                                   # every method on BBBP and Graph-Twitter
    python benchmarks/passes.py --datasets bbbp --methods edgeflip random --graphs 20 --out try
    python benchmarks/passes.py --methods edgeflip --again        # a method anew, the others as they are

Correctly predicted test graphs, 100 of sentences, are explained with every budget. A pass is one graph
asked about; a pass backward counts two, and so do those that masks are learned with. The prediction of the
graph and the check of the answer are two of the passes. What a method learns from training graphs before
it sees the graph is not counted. A graph that was answered within a smaller budget counts as answered.

Methods get settings that let them use the budget: those that learn masks as many steps as it pays for, others
as many candidates, draws or steps as it may take. Every run is a line of --rows; what is there is not run
again, and a search that ended by itself is not run with a larger budget, unless that would change its
settings. Edits are applied again and asked about here.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from torch_geometric.data import Data

from edgeflip import (
    Budget,
    CounterfactualExplainer,
    CounterfactualSet,
    PairEdits,
    load_dataset,
    make_explainer,
)
from edgeflip.core import EditSet
from edgeflip.draw import Curve, CurvePanel, Picture, Scale, Tick, curve_chart
from edgeflip.explainers import LinkExplainer
from edgeflip.links import LinkModel, fit_links
from edgeflip.search import Step
from edgeflip.support import Journal, Row, code_version, progress_bar
from edgeflip.training import oracle_for

BUDGETS = (20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000)
LARGEST = 7
OURS = "edgeflip"
FOLDER = Path(__file__).resolve().parents[1] / "docs" / "figures"
SENTENCES = 100

NAMES = {
    "edgeflip": "edgeflip",
    "dr-cfgnn": "DR-CFGNN",
    "gcfexplainer": "GCFExplainer",
    "d4explainer": "D4Explainer",
    "cf2": "CF²",
    "cf-gnnexplainer": "CF-GNNExplainer",
    "c2explainer": "C2Explainer",
    "xplore": "XPlore",
    "rsgg-ce": "RSGG-CE",
    "gist": "GIST",
    "random": "Random",
}
TITLES = {"bbbp": "BBBP", "graph_twitter": "Graph-Twitter"}

# The prediction of a graph, and the check of an answer.
_AROUND = 2

# Passes of a step of those that learn masks, a pass backward as two: CF² has two versions of the graph, and
# CF-GNNExplainer looks at the hard mask too. Some passes are left for what was learned.
_STEP_PASSES = {"cf2": 6, "cf-gnnexplainer": 4, "c2explainer": 3, "xplore": 3}
_LEFT = 8

# Graphs whose masks are learned together, before anything of them is written down.
_TOGETHER = 48

# D4Explainer takes some milliseconds for each of its candidates, which repeat themselves before long.
_DENOISED = 500


def settings_for(method: str, budget: int) -> dict[str, Any]:
    """The settings that let a method use a budget, as they differ from the preset."""
    if method in _STEP_PASSES:
        steps = max(1, (budget - _AROUND - _LEFT) // _STEP_PASSES[method])
        # As published, XPlore starts a hundred edits away.
        return {"start": "input", "steps": steps} if method == "xplore" else {"steps": steps}
    if method == "gcfexplainer":
        return {"own_steps": max(400, budget // 4)}
    more: dict[str, dict[str, Any]] = {
        "d4explainer": {"candidates": min(budget, _DENOISED)},
        "gist": {"tries": budget},
        "rsgg-ce": {"restarts": budget},
    }
    return more.get(method, {})


class Runs:
    """What methods answer about the graphs of a dataset, now or when they were run before.

    Args:
        dataset: The dataset.
        options: How many of its graphs, and where rows and models are.
        journal: The rows.
    """

    def __init__(self, dataset: str, options: argparse.Namespace, journal: Journal) -> None:
        self.dataset, self._options, self._journal = dataset, options, journal
        self._kind = f"passes {options.split}"
        self._budgets: list[int] = sorted(options.budgets)
        self._bundle = load_dataset(dataset)
        self._models: Path = options.models / dataset
        self._oracle = oracle_for(self._bundle, self._models / "oracle", profile=options.profile)
        graphs: list[Data] = getattr(self._bundle, options.split)
        labels = self._oracle.predict(graphs).tolist()
        right = [index for index, graph in enumerate(graphs) if labels[index] == int(graph.y)]
        limit = options.graphs or (SENTENCES if dataset.startswith("graph_") else len(right))
        self._graphs, self._labels = graphs, labels
        self.chosen = right[:limit]

    def counts(self, method: str) -> list[int]:
        """How many graphs a method answers with few edits within each budget."""
        left, answered, counts = list(self.chosen), 0, []
        total = len(left) * len(self._budgets)
        bar = progress_bar(f"{self.dataset} {method}", total=total, unit="run", shown=True)
        for place, budget in enumerate(self._budgets):
            going_on = []
            for index, row in self._rows(method, budget, left):
                few = row["smallest"] is not None and row["smallest"] <= LARGEST
                is_answered = few and row["passes"] <= budget
                answered += is_answered
                is_over = is_answered or row["ended"]
                going_on += [] if is_over else [index]
                bar.update(len(self._budgets) - place if is_over else 1)
            left = going_on
            counts.append(answered)
        bar.close()
        return counts

    def _rows(self, method: str, budget: int, indices: list[int]) -> Iterator[tuple[int, Row]]:
        """What a method found in graphs with a budget, and what it took."""
        asked = self._asked(method, budget)
        known: dict[int, Row] = {}
        for index in indices:
            row = self._journal.rows.get((self._kind, self.dataset, method, budget, index))
            if row is not None and row["asked"] == asked:
                known[index] = row
        missing = [index for index in indices if index not in known]
        for index, answer in self._answers(method, budget, missing):
            found = answer.smallest
            row = {"kind": self._kind, "dataset": self.dataset, "method": method}
            row |= {"seed": budget, "graph": index, "asked": asked, "passes": _passes(answer)}
            row |= {"smallest": None if found is None else found.size}
            row |= {"edits": None if found is None else found.edits.to_dict()}
            row |= {"ended": _is_final(answer, method, budget, self._budgets[-1])}
            if found is not None:
                self._check(index, found.edits)
            self._journal.append(row)
            known[index] = row
        for index in indices:
            yield index, known[index]

    def _answers(
        self, method: str, budget: int, indices: list[int]
    ) -> Iterator[tuple[int, CounterfactualSet]]:
        """The answers of a method, those of methods that learn masks together."""
        if not indices:
            return
        explainer = self._explainer(method, budget)
        if method in _STEP_PASSES:
            # Their learning has no budget but its steps.
            free = Budget(oracle_calls=None, seconds=None)
            by_size = sorted(indices, key=lambda index: int(self._graphs[index].num_nodes or 0))
            for start in range(0, len(by_size), _TOGETHER):
                part = by_size[start : start + _TOGETHER]
                graphs = [self._graphs[index] for index in part]
                yield from zip(
                    part, explainer.explain_many(graphs, budget=free, chemistry=False), strict=True
                )
            return
        own = Budget(oracle_calls=budget - _AROUND, seconds=None)
        for index in indices:
            yield (
                index,
                explainer.explain(
                    self._graphs[index], budget=own, watch=_is_to_go_on, chemistry=False
                ),
            )

    def _explainer(self, method: str, budget: int) -> CounterfactualExplainer[Any]:
        """A method with the settings for a budget, fitted now or before."""
        made = make_explainer(
            method,
            dataset=self.dataset,
            profile=self._options.profile,
            overrides=settings_for(method, budget),
        )
        if not made.learns:
            return made.fit([], self._oracle)
        if isinstance(made, LinkExplainer):
            made.links = self._links(made)
            return made.fit(self._bundle.train, self._oracle)
        place = self._models / f"{method}-{self._options.profile}"
        if place.exists():
            return made.restore(place, self._oracle)
        made.progress = True
        made.fit(self._bundle.train, self._oracle).save(place)
        return made

    def _links(self, explainer: LinkExplainer[Any]) -> LinkModel:
        """The link predictor that methods share."""
        place = self._models / f"links-{self._options.profile}"
        if not place.exists():
            settings = explainer.link_settings
            graphs = [graph for graph in self._bundle.train if graph.num_nodes != 1]
            fit_links(graphs, self._oracle, settings, seed=0, progress=True).save(place)
        return LinkModel.load(place)

    def _asked(self, method: str, budget: int) -> dict[str, Any]:
        """What an answer depends on; of other methods the code is taken to stay."""
        asked = {"oracle": self._oracle.fingerprint(), "profile": self._options.profile}
        asked |= {"settings": settings_for(method, budget)}
        return {**asked, "code": self._code} if method == OURS else asked

    @cached_property
    def _code(self) -> str:
        return code_version()

    def _check(self, index: int, edits: EditSet) -> None:
        """End the run when edits do not change the prediction."""
        edited = PairEdits.of(self._graphs[index]).edited(edits)
        if int(self._oracle.predict([edited])) == self._labels[index]:
            raise SystemExit(f"an answer about {self.dataset} does not flip: {edits}")


def _is_to_go_on(step: Step) -> bool:
    """Whether nothing was found yet that has few enough edits."""
    return step.smallest is None or step.smallest > LARGEST


def _passes(answer: CounterfactualSet) -> int:
    """All passes of the model that an answer took, but for the checks of more than one counterfactual."""
    trace = answer.trace
    checks = trace.stages["verify"].oracle_calls if "verify" in trace.stages else 0
    learned: int = trace.notes.get("soft_passes", 0)
    return trace.oracle_calls - max(0, checks - 1) + learned


def _is_final(answer: CounterfactualSet, method: str, budget: int, largest: int) -> bool:
    """Whether a larger budget, up to the largest, would change nothing."""
    why = answer.trace.stopped_by
    if why in ("first_flip", "not_applicable"):
        return True
    has_all = settings_for(method, budget) == settings_for(method, largest)
    return has_all and why not in ("out_of_calls", "cancelled")


def main(argv: Sequence[str] | None = None) -> None:
    """Print a table per dataset, and write it and the picture."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--datasets", nargs="+", default=list(TITLES))
    parser.add_argument("--methods", nargs="+", default=list(NAMES))
    parser.add_argument("--split", choices=("val", "test"), default="test")
    parser.add_argument("--graphs", type=int, help="at most this many; 100 of sentences, else all")
    parser.add_argument("--budgets", nargs="+", type=int, default=list(BUDGETS))
    parser.add_argument("--profile", default="cpu")
    parser.add_argument("--models", type=Path, default=Path("runs/passes"))
    parser.add_argument("--rows", type=Path, default=Path("runs/passes/rows.jsonl"))
    parser.add_argument("--out", type=Path, default=FOLDER, help="folder of passes.csv and .svg")
    options = parser.parse_args(argv)
    torch.set_num_threads(1)
    options.rows.parent.mkdir(parents=True, exist_ok=True)
    journal = Journal(options.rows)
    curves = Curves(tuple(sorted(options.budgets)))
    for dataset in options.datasets:
        runs = Runs(dataset, options, journal)
        curves.graphs[dataset] = len(runs.chosen)
        print(f"\n{dataset}, {len(runs.chosen)} graphs: answered with at most {LARGEST} edits\n")
        print(f"| passes | {' | '.join(f'{budget:,}' for budget in curves.budgets)} |")
        print("| --- " * (1 + len(curves.budgets)) + "|")
        for method in options.methods:
            counts = runs.counts(method)
            curves.counts.setdefault(dataset, {})[method] = counts
            print(f"| {method} | {' | '.join(map(str, counts))} |", flush=True)
    journal.close()
    options.out.mkdir(parents=True, exist_ok=True)
    curves.write(options.out / "passes.csv")
    print(f"drawn in {curves.picture().save(options.out / 'passes.svg')}")


@dataclass(frozen=True)
class Curves:
    """How many graphs are answered.

    Attributes:
        budgets: Within how many passes, ascending.
        counts: How many within each budget, by dataset and method.
        graphs: How many graphs there are, by dataset.
    """

    budgets: tuple[int, ...]
    counts: dict[str, dict[str, list[int]]] = field(default_factory=dict)
    graphs: dict[str, int] = field(default_factory=dict)

    def write(self, path: Path) -> None:
        """Write a row per dataset, method and budget."""
        with path.open("w", encoding="utf-8", newline="") as file:
            table = csv.writer(file, lineterminator="\n")
            table.writerow(("dataset", "method", "passes", "answered", "graphs"))
            for dataset, methods in self.counts.items():
                for method, counts in methods.items():
                    for budget, count in zip(self.budgets, counts, strict=True):
                        table.writerow((dataset, method, budget, count, self.graphs[dataset]))

    @property
    def claim(self) -> str:
        """A sentence that is true of them: from which budget on ours is above all others."""
        above = [all(self._is_ahead(d, at) for d in self.counts) for at in range(len(self.budgets))]
        first = next((at for at in range(len(above)) if all(above[at:])), None)
        if first is None:
            return "How many graphs each method answers with few edits, by the passes it may make"
        if first == 0:
            return "Within any budget, edgeflip answers more graphs than every other method"
        least = f"{self.budgets[first]:,}"
        return f"From {least} passes on, edgeflip answers more graphs than every other method"

    def _is_ahead(self, dataset: str, place: int) -> bool:
        """Whether ours answers more graphs of a dataset than each other within a budget."""
        methods = self.counts[dataset]
        others = [counts[place] for method, counts in methods.items() if method != OURS]
        return OURS in methods and bool(others) and methods[OURS][place] > max(others)

    def picture(self) -> Picture:
        """A panel per dataset: shares of graphs against passes, ours in colour."""
        panels = [self._panel(dataset) for dataset in self.counts]
        return Picture(
            curve_chart(
                panels,
                self.claim,
                f"Share of graphs answered with at most {LARGEST} edits, against the passes of the model "
                "that a method may make for a graph. A pass backward counts two.",
                "Learning from training graphs is not counted. A graph answered within a smaller budget "
                f"counts as answered. D4Explainer draws at most {_DENOISED:,} candidates.",
            )
        )

    def _panel(self, dataset: str) -> CurvePanel:
        methods, graphs = self.counts[dataset], self.graphs[dataset]
        drawn = []
        for method in sorted(methods, key=lambda name: name != OURS):
            shares = [count / graphs for count in methods[method]]
            points = tuple(zip(map(float, self.budgets), shares, strict=True))
            name = f"{NAMES.get(method, method)} {100 * shares[-1]:.0f} %"
            drawn.append(Curve(name, points, points if method == OURS else points[-1:]))
        across = Scale(self.budgets[0], self.budgets[-1], log=True)
        marked = [self.budgets[0], *(each for each in self.budgets[2:] if f"{each}"[0] == "1")]
        return CurvePanel(
            f"{TITLES.get(dataset, dataset)}, {graphs} graphs",
            tuple(drawn),
            "model passes per graph",
            across,
            Scale(-0.02, 1.0),
            (Tick(0, "0"), Tick(0.5, "50"), Tick(1, "100 %")),
            tuple(Tick(budget, f"{budget:,}") for budget in marked),
            is_ours=OURS in methods,
            margin=136,
        )


if __name__ == "__main__":
    main()
