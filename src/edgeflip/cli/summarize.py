"""What `edgeflip summarize` does: few counterfactual graphs that lie near most graphs of a class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
import typer

from edgeflip.bench import draw_summary
from edgeflip.cli.console import edge_list, say, show, table
from edgeflip.cli.options import Source, TrainedOracle
from edgeflip.cli.patterns import Patterns
from edgeflip.cli.reading import check_folder, class_number, graphs_of, read_overrides
from edgeflip.cli.terminal import NOTHING_FOUND, counted, note, print_json
from edgeflip.cli.weakness import tell_weakness
from edgeflip.datasets import DatasetBundle
from edgeflip.errors import ConfigError, TargetError
from edgeflip.explainers import Aim, GCFExplainer, Summary, asker
from edgeflip.explainers import summarize as walk_and_summarize
from edgeflip.oracle import ModelOracle, checked_proba
from edgeflip.presets import preset_name
from edgeflip.support import progress_bar, seeded, write_json

_MARKS = (1, 2, 3, 5, 10, 25, 50, 100)


@dataclass(frozen=True)
class Summarizing:
    """One call of `edgeflip summarize`, as its options say."""

    source: Source
    wanted: Patterns
    trained: TrainedOracle

    def run(self, out: Path | None, *, as_json: bool) -> None:
        """Find the patterns and show them; all options are checked before any work is done."""
        self.trained.check_is_one("summarize")
        self.trained.check_seed()
        config = self._config()
        check_folder(out)
        bundle = self.source.bundle()
        graphs = graphs_of(bundle, self.wanted.split)
        aim = _aim(bundle, self.wanted.from_class, self.wanted.to_class)
        oracle, _ = self.trained.load(bundle)
        tell_weakness(oracle, bundle, note)
        summary, indices = self._walk(bundle, graphs, aim, oracle, config)
        shown = min(self.wanted.patterns, len(summary))
        payload = _payload(summary, bundle, self.wanted.split, indices, shown)
        if out is not None:
            write_json(out / "summary.json", payload)
            title = f"{bundle.name}: {payload['from']} to {payload['to']}"
            draw_summary(summary, count=max(1, shown), title=title).save(out / "summary.svg")
        if as_json:
            print_json(payload)
        else:
            _print(payload, out)
        if not len(summary):
            raise typer.Exit(NOTHING_FOUND)

    def _config(self) -> Any:
        explainer = GCFExplainer.for_dataset(
            preset_name(self.source.dataset),
            profile=self.trained.profile,
            overrides=read_overrides(self.wanted.settings or []),
        )
        if self.wanted.theta is None:
            return explainer.config
        return replace(explainer.config, theta=self.wanted.theta, theta_summary=None)

    def _walk(
        self,
        bundle: DatasetBundle,
        graphs: Sequence[Any],
        aim: Aim,
        oracle: ModelOracle,
        config: Any,
    ) -> tuple[Summary, Any]:
        """The patterns, and the places of the graphs they were made of in the split."""
        with seeded(self.trained.seed), oracle.frozen():
            proba = checked_proba(oracle, graphs)
            members = torch.eq(proba.argmax(dim=1), aim.source or 0).nonzero().flatten()
            if not members.numel():
                raise ConfigError(
                    f"expected graphs that the oracle predicts as {_name(bundle, aim.source)}, got none "
                    f"among the {self.wanted.split} graphs; name another class or split."
                )
            inputs = min(members.numel(), config.max_inputs or members.numel())
            length = self.wanted.steps or config.steps_per_input * inputs
            with progress_bar("walking", total=length, unit="step", shown=True) as bar:
                summary = walk_and_summarize(
                    [graphs[index] for index in members.tolist()],
                    proba[members],
                    aim,
                    asker(oracle, config),
                    config,
                    np.random.default_rng(torch.initial_seed()),
                    steps=length,
                    before_step=bar.update,
                )
        return summary, members.numpy()[summary.members]


def _aim(bundle: DatasetBundle, from_class: str, to_class: str | None) -> Aim:
    source = class_number(bundle, from_class)
    target = None if to_class is None else class_number(bundle, to_class)
    for each in (source, target):
        if each is not None and not 0 <= each < bundle.num_classes:
            raise TargetError(f"expected a class in 0..{bundle.num_classes - 1}, got {each}.")
    if source == target:
        raise TargetError(f"expected two different classes, got {source} twice; name another.")
    return Aim(source, target)


def _name(bundle: DatasetBundle, number: int | None) -> str:
    return "any other class" if number is None else bundle.class_names[number]


def _payload(
    summary: Summary, bundle: DatasetBundle, split: str, places: Any, shown: int
) -> dict[str, Any]:
    patterns = []
    for row in range(shown):
        added, removed = summary.edits(row)
        patterns.append(
            {
                "covers": int(summary.covers[row].sum()),
                "coverage": summary.coverage(row + 1),
                "cost": summary.cost(row + 1),
                "probability": float(summary.wanted[row]),
                "nodes": int(summary.patterns.nodes[row]),
                "edges": [list(edge) for edge in summary.edges(row)],
                "graph": int(places[summary.lineage[row]]),
                "added": [list(edge) for edge in added],
                "removed": [list(edge) for edge in removed],
            }
        )
    marks = [mark for mark in _MARKS if mark < len(summary)] + [len(summary)] * bool(len(summary))
    return {
        "dataset": bundle.name,
        "split": split,
        "from": _name(bundle, summary.aim.source),
        "to": _name(bundle, summary.aim.target),
        "graphs": len(summary.inputs),
        "theta": summary.theta,
        "found": len(summary),
        "needed": summary.useful,
        "patterns": patterns,
        "curve": [
            {"patterns": mark, "coverage": summary.coverage(mark), "cost": summary.cost(mark)}
            for mark in marks
        ],
    }


def _print(payload: dict[str, Any], out: Path | None) -> None:
    title = f"{payload['dataset']}: {payload['from']} to {payload['to']}"
    say(
        f"{title}, {counted(payload['graphs'], 'graph')} of the split '{payload['split']}', "
        f"{counted(payload['found'], 'counterfactual graph')} found, {payload['needed']} of them needed to "
        "cover all they cover "
        f"(within {payload['theta']:g} of nodes and edges)"
    )
    numbers = ["pattern", "covers", "probability", "from graph"]
    rows = table(*numbers, "added", "removed", numbers=numbers)
    for rank, entry in enumerate(payload["patterns"], start=1):
        added, removed = (edge_list(entry[key]) for key in ("added", "removed"))
        chance = f"{entry['probability']:.3f}"
        rows.add_row(str(rank), str(entry["covers"]), chance, str(entry["graph"]), added, removed)
    show(rows)
    cost = "median edits to the nearest"
    curve = table("patterns", "coverage", cost, numbers=["patterns", cost])
    for entry in payload["curve"]:
        bar = "#" * round(20 * entry["coverage"])
        curve.add_row(
            str(entry["patterns"]), f"{entry['coverage']:.2f} {bar}", f"{entry['cost']:g}"
        )
    show(curve)
    if out is not None:
        say(f"Summary in {out} (summary.json, summary.svg)")
