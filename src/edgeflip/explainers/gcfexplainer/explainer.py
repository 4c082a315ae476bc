"""GCFExplainer: a few counterfactual graphs for a whole class, found by a reinforced random walk."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data

from edgeflip.core import (
    PairEdits,
    PairSpace,
    edge_attributes,
    node_features,
    rows_from_mask,
)
from edgeflip.errors import ConfigError
from edgeflip.explainers.beginning import PairSearch
from edgeflip.explainers.gcfexplainer.config import GCFConfig
from edgeflip.explainers.gcfexplainer.distances import (
    Array,
    Shapes,
    bit_places,
    place_ends,
    unpacked_bits,
)
from edgeflip.explainers.gcfexplainer.summary import Ask, Summary, edits_between, summarize
from edgeflip.explainers.gcfexplainer.vertices import Aim, Start
from edgeflip.explainers.gcfexplainer.walk import Walk
from edgeflip.explainers.replacing import (
    Replaced,
    ReplacingExplainer,
    other_graphs,
    replacing_graph,
)
from edgeflip.oracle import Budget, ClassGoal, MeteredOracle, Oracle, checked_proba
from edgeflip.search import Ended, Ranking, SmallestFirst
from edgeflip.support import one_thread, progress_bar


class GCFExplainer(ReplacingExplainer[GCFConfig]):
    """Counterfactual graphs that lie near many inputs, found by a reinforced random walk.

    `fit` walks from the training graphs and keeps, for every class, a summary of few counterfactual
    graphs. `explain` lays the edges of these over the graph, and then walks on from the graph itself.

    Args:
        config: The method's settings.
        ranking: How counterfactuals are scored; fewest edits first when left out.
        progress: Whether `fit` shows its progress.

    Example:
        >>> from edgeflip import load_dataset, train_oracle
        >>> bundle = load_dataset("ba_2motifs")
        >>> oracle = train_oracle(bundle, profile="smoke")
        >>> explainer = GCFExplainer.for_dataset("ba_2motifs", profile="smoke")
        >>> answer = explainer.fit(bundle.train[::20], oracle).explain(bundle.test[0])
        >>> answer.trace.notes["patterns"] >= 0
        True
    """

    name: ClassVar[str] = "gcfexplainer"
    config_type: ClassVar[type[GCFConfig]] = GCFConfig
    default_ranking: ClassVar[Ranking] = SmallestFirst()
    replaced: ClassVar[Replaced] = "other nodes"

    def default_budget(self) -> Budget:
        """No limit: the number of patterns and steps is one."""
        return Budget(oracle_calls=None, seconds=None)

    def fit_settings(self) -> dict[str, Any]:
        """All settings but those of reading out."""
        only_here = ("own_steps", "tried", "alignment")
        return {key: value for key, value in asdict(self.config).items() if key not in only_here}

    # Learning.

    def _fit(self, graphs: Sequence[Data], oracle: Oracle) -> None:
        proba = checked_proba(oracle, graphs)
        labels = proba.argmax(dim=1)
        plans = self._plans(labels, proba.size(1))
        rng = np.random.default_rng(torch.initial_seed() % 2**63)
        self.summaries_: list[Summary] = []
        total = sum(steps for _, _, steps in plans)
        small = bool(getattr(oracle, "is_small", False))
        with (
            one_thread(when=small),
            progress_bar("walking", total=total, unit="step", shown=self.progress) as bar,
        ):
            for aim, members, steps in plans:
                summary = summarize(
                    [graphs[index] for index in members],
                    proba[members],
                    aim,
                    asker(oracle, self.config),
                    self.config,
                    rng,
                    steps=steps,
                    before_step=bar.update,
                )
                own = np.array(members)[summary.members]
                self.summaries_.append(replace(summary, members=own))

    def _plans(self, labels: Tensor, num_classes: int) -> list[tuple[Aim, list[int], int]]:
        """What each walk wants, which graphs it starts from, and how far it goes."""
        config = self.config
        if config.steps is not None and len(config.steps) != num_classes:
            raise ConfigError(
                f"expected steps for each of {num_classes} classes, got {len(config.steps)}; "
                "correct steps or leave it out."
            )
        plans = []
        for each in range(num_classes):
            by_target = config.walks == "target"
            aim = Aim(None, each) if by_target else Aim(each, None)
            members = ((labels != each) if by_target else (labels == each)).nonzero().flatten()
            if not members.numel():
                continue
            inputs = min(members.numel(), config.max_inputs or members.numel())
            steps = config.steps_per_input * inputs if config.steps is None else config.steps[each]
            plans.append((aim, members.tolist(), steps))
        return plans

    def _state(self) -> dict[str, Tensor]:
        state = {"summaries": torch.tensor(len(self.summaries_))}
        for index, summary in enumerate(self.summaries_):
            state |= summary.state(f"{index}.")
        return state

    def _load_state(self, tensors: Mapping[str, Tensor]) -> None:
        count = int(tensors["summaries"])
        self.summaries_ = [Summary.from_state(tensors, f"{index}.") for index in range(count)]

    # Explaining.

    def _search(self, search: PairSearch) -> Ended:
        ordered = sorted(self.summaries_, key=lambda each: not _fits(each.aim, search.goal))
        patterns = 0
        search.note(patterns=patterns)
        for summary in ordered:
            with search.stage("read out"):
                rows = self._transplanted(summary, search.space.pairs)
            patterns += len(rows)
            search.note(patterns=patterns)
            if len(rows):
                search.ask(rows)
        self._own_walk(search, ordered[0] if ordered else None)
        return Ended(
            "exhausted",
            "no counterfactual graph of the walks changes the prediction on these nodes, nor did a "
            "walk from the graph itself; raise own_steps or fit on more graphs",
        )

    def _transplanted(self, summary: Summary, space: PairSpace) -> Tensor:
        """Edits that give the graph the edges of each pattern, in the summary's order [patterns, width]."""
        patterns = summary.patterns
        if self.config.alignment == "same":
            rows = np.flatnonzero(patterns.nodes == space.num_nodes)
        else:
            rows = np.arange(len(patterns))
        pairs = torch.arange(space.num_pairs)
        # Edges at nodes that the graph has not got cannot be made; those it has alone are removed.
        edges = torch.from_numpy(unpacked_bits(patterns.words[rows], bit_places(space, pairs)))
        edited = edges != space.is_edge(pairs)
        return rows_from_mask(edited[edited.any(dim=1)])

    def _replacements(
        self, search: PairSearch, learned_from: Sequence[Data]
    ) -> Iterator[tuple[Data, float]]:
        """The patterns of all walks as they are, the nearest first, whatever nodes they have."""
        own = Shapes.of([search.space.pairs])
        near: list[tuple[float, int, int]] = []
        for index, summary in enumerate(self.summaries_):
            # Patterns of the class that it has already are not asked about.
            if len(summary) and summary.aim.target != search.goal.label:
                edits = edits_between(summary.patterns, own, matched=True)[:, 0]
                near += [(float(each), index, row) for row, each in enumerate(edits)]
        for distance, index, row in sorted(near):
            yield self._pattern(self.summaries_[index], row, learned_from), distance

    def _pattern(self, summary: Summary, row: int, learned_from: Sequence[Data]) -> Data:
        """A pattern with the node features of the graph it descends from."""
        line = int(summary.lineage[row])
        place = int(summary.members[line])
        if place >= len(learned_from):
            raise other_graphs(self.name)
        parent = PairSpace.of(learned_from[place])
        same_edges = np.array_equal(
            np.sort(bit_places(parent, parent.edge_ids)), np.sort(summary.inputs.places[line])
        )
        if not same_edges or parent.num_nodes != int(summary.inputs.nodes[line]):
            raise other_graphs(self.name)
        u, v = (torch.from_numpy(each) for each in place_ends(summary.patterns.places[row]))
        return replacing_graph(node_features(parent.graph), u, v)

    def _own_walk(self, search: PairSearch, summary: Summary | None) -> None:
        """Go on walking, with the graph as one more input and the only one to start from."""
        space = search.space
        start = Start(space.pairs, search.output.double().numpy(), space.limits)
        inputs = Shapes.of([space.pairs])
        hits: Array = np.zeros(1, dtype=np.int64)
        if summary is not None:
            inputs, hits = inputs.joined(summary.inputs), np.append(hits, summary.hits)
        aim = Aim(search.goal.label, search.goal.target)
        rng = np.random.default_rng(search.rng("walk").getrandbits(63))
        walk = Walk([start], inputs, aim, self.config, rng, hits=hits)
        for _ in range(self.config.own_steps):
            candidates = walk.unasked()
            if candidates is not None and self.config.tried == "seen" and len(candidates):
                walk.learn(search.ask(candidates).outputs)
            elif candidates is not None:
                with search.stage("walk"):
                    walk.learn(search.probe(candidates))
            vertex = walk.move()
            if vertex.is_found and vertex.toggles and self.config.tried == "visited":
                search.ask(walk.toggles([vertex]))


def asker(oracle: Oracle, config: GCFConfig) -> Ask:
    """What answers for edited graphs while walking."""
    meter = MeteredOracle(oracle)
    # One space for every graph: answers are remembered per space.
    known: dict[int, PairEdits] = {}

    def ask(pairs: PairSpace, rows: Tensor) -> Tensor:
        if id(pairs) not in known:
            keys = edge_attributes(pairs.graph)
            fill = dict.fromkeys(keys, config.fill) if keys else None
            known[id(pairs)] = PairEdits(pairs, fill=fill)
        return meter.predict_edits(known[id(pairs)], rows)

    return ask


def _fits(aim: Aim, goal: ClassGoal) -> bool:
    """Whether a walk was for graphs like this one."""
    if goal.target is not None:
        return aim.target == goal.target
    return aim.source == goal.label or (aim.target is not None and aim.target != goal.label)
