"""DR-CFGNN: deconstruct what carries the prediction, reconstruct what another class would need.

The comments and docstrings below number the lines of the paper's Algorithm 1. Lines 17 to 21, asking
the oracle, collecting what flips and ordering it by score, are the same for every method and stand
in `edgeflip.search`.
"""

from __future__ import annotations

import copy
import math
import random
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from functools import cache, partial
from typing import Any, ClassVar, TypeAlias

import torch
from torch import Tensor
from torch.nn import functional
from torch_geometric.data import Data

from edgeflip.base import CounterfactualExplainer
from edgeflip.edits import EditSet, apply_edits
from edgeflip.errors import BudgetExhausted, GraphError
from edgeflip.explainers.dense import node_features
from edgeflip.explainers.dr_cfgnn.config import DRCFGNNConfig
from edgeflip.explainers.dr_cfgnn.denoise import drop_unlikely
from edgeflip.explainers.dr_cfgnn.link_predictor import LinkPredictor
from edgeflip.explainers.dr_cfgnn.link_training import (
    Knowledge,
    LinkTrainer,
    LinkTrainingReport,
    known_pairs,
    pad_graphs,
)
from edgeflip.explainers.dr_cfgnn.sampling import Pools, Shape, draw_blocks, removal_sets, shapes_of
from edgeflip.explainers.dr_cfgnn.widening import (
    Beam,
    Enough,
    Searching,
    WideningConfig,
    ask,
    combinations,
)
from edgeflip.explanation import FactualSubgraph
from edgeflip.factual import FactualExplainer, make_factual
from edgeflip.graphs import Edge, PairSpace
from edgeflip.metering import Budget, checked_proba
from edgeflip.oracle import Oracle
from edgeflip.proposals import PAD, ProposalBlock, base_adjacency, edited_cells
from edgeflip.ranking import SCORE_DECIMALS, Ranking, highest_score, needs_of, rate
from edgeflip.search import Outcome, Problem, without_supersets
from edgeflip.threads import one_thread

_FIRST_BLOCK, _LARGEST_BLOCK = 128, 2048

# Cells of adjacency matrices made at once.
_STACK_CELLS = 20_000_000

Level: TypeAlias = Callable[[], list[list[Shape]]]
"""Makes the shapes per target when they are needed."""


class DRCFGNN(CounterfactualExplainer[DRCFGNNConfig]):
    """Denoise, deconstruct the factual subgraph, reconstruct with a class-conditioned link predictor.

    Args:
        config: The method's settings.
        ranking: How counterfactuals are scored; the paper's score when left out. With this method
            also `"plausible"`: edits that its link predictor finds likely.
        required_edges: Pairs that must be edges: fixed positives of the link predictor's training.
            A list holds for every graph that has such nodes; a callable takes a graph and gives its
            pairs.
        forbidden_pairs: Pairs that cannot be edges: fixed negatives of its training. To enforce
            either at inference too, pass `Constraints(frozen_edges=…, forbidden_pairs=…)`.
        progress: Whether `fit` shows its progress.

    Example:
        >>> from edgeflip import load_dataset, train_oracle
        >>> bundle = load_dataset("ba_2motifs")
        >>> oracle = train_oracle(bundle, profile="smoke")
        >>> explainer = DRCFGNN.for_dataset("ba_2motifs", profile="smoke")
        >>> answer = explainer.fit(bundle.train[::20], oracle).explain(bundle.test[0])
        >>> "reconstruct" in answer.trace.stages
        True
    """

    name: ClassVar[str] = "dr-cfgnn"
    config_type: ClassVar[type[DRCFGNNConfig]] = DRCFGNNConfig
    rates_edges: ClassVar[bool] = True

    def __init__(
        self,
        config: DRCFGNNConfig | None = None,
        *,
        ranking: Ranking | str | None = None,
        required_edges: Knowledge = None,
        forbidden_pairs: Knowledge = None,
        progress: bool = False,
    ) -> None:
        super().__init__(config, ranking=ranking)
        self.required_edges = known_pairs(required_edges)
        self.forbidden_pairs = known_pairs(forbidden_pairs)
        self.progress = progress

    def default_budget(self) -> Budget:
        """Only a deadline: what the search may try is limited by `iterations` already."""
        return Budget(oracle_calls=None, seconds=self.config.seconds)

    def _wants_minimal(self) -> bool:
        return self.config.minimal

    def _certifies(self) -> int:
        return self.config.certify if self.config.search == "widening" else 0

    # Learning.

    def fit_settings(self) -> dict[str, Any]:
        """The settings of the link predictor and its training, and the size that is left to data."""
        chosen = ("one_hot", "max_nodes", "predictor", "training")
        settings = {key: value for key, value in asdict(self.config).items() if key in chosen}
        known = {"required_edges": self.required_edges, "forbidden_pairs": self.forbidden_pairs}
        return {**settings, **{key: repr(value) for key, value in known.items()}}

    def _fit(self, graphs: Sequence[Data], oracle: Oracle) -> None:
        usable = [graph for graph in graphs if PairSpace.of(graph).edge_ids.numel() > 2]
        skipped = len(graphs) - len(usable)
        if len(usable) < 2:
            raise GraphError(
                "expected at least two graphs with three edges or more to learn links from, got "
                f"{len(usable)} ({skipped} were too small); pass more graphs."
            )
        labels = _labels(usable, oracle)
        sizes = [int(graph.num_nodes or 0) for graph in usable]
        predictor = self._build(node_features(usable[0]).size(1), oracle.num_classes)
        with one_thread(when=max(sizes) <= 64):
            stack = pad_graphs(
                usable, labels, required=self.required_edges, forbidden=self.forbidden_pairs
            )
            generator = torch.Generator().manual_seed(torch.initial_seed() % 2**63)
            trainer = LinkTrainer(predictor, stack, self.config.training, generator)
            self.report_ = trainer.run(skipped=skipped, progress=self.progress)
        self.predictor_ = predictor
        half = max(4, round(sum(sizes) / len(sizes) / 2))
        self.max_nodes_ = half if self.config.max_nodes is None else self.config.max_nodes
        self.classes_ = torch.zeros(oracle.num_classes)
        self.classes_[labels] = 1.0
        if self.report_.stopped == "interrupted":
            raise KeyboardInterrupt

    def _build(self, num_features: int, num_classes: int) -> LinkPredictor:
        classes = num_classes if self.config.one_hot else 0
        return LinkPredictor(num_features, classes, self.config.predictor)

    def _state(self) -> dict[str, Tensor]:
        report = self.report_
        numbers = [report.auc, report.auc_order_free, report.epochs, report.skipped]
        sizes = [self.predictor_.num_features, len(self.classes_), self.max_nodes_]
        return {
            **{f"predictor.{key}": value for key, value in self.predictor_.state_dict().items()},
            "classes": self.classes_,
            "report": torch.tensor(numbers, dtype=torch.float64),
            "stopped": torch.tensor(_STOPPED.index(report.stopped)),
            "sizes": torch.tensor(sizes),
        }

    def _load_state(self, tensors: Mapping[str, Tensor]) -> None:
        features, classes, self.max_nodes_ = (int(value) for value in tensors["sizes"])
        self.classes_ = tensors["classes"]
        self.predictor_ = self._build(features, classes)
        prefix = "predictor."
        state = {
            key.removeprefix(prefix): tensors[key] for key in tensors if key.startswith(prefix)
        }
        self.predictor_.load_state_dict(state)
        self.predictor_.eval()
        auc, free, epochs, skipped = tensors["report"].tolist()
        stopped: Any = _STOPPED[int(tensors["stopped"])]
        self.report_ = LinkTrainingReport(auc, free, int(epochs), int(skipped), stopped)

    @torch.no_grad()
    def edge_probabilities(self, graph: Data, edges: Iterable[Edge] = ()) -> Tensor:
        """How likely every pair is an edge, without a class [n, n].

        Args:
            graph: Any graph with the features of those learnt from.
            edges: Edges of the graph that are rated as if they were missing, each by itself.
        """
        self._check_fitted()
        space = PairSpace.of(graph)
        base = _plain_adjacency(space)[None]
        result = self.predictor_.probabilities(node_features(graph), base)[0]
        ids = space.ids_of(edges)
        u, v = space.ends(ids)
        result[u, v] = result[v, u] = self._as_if_missing(space, ids)
        return result

    def _as_if_missing(
        self, space: PairSpace, edges: Tensor, *, before_each: Callable[[], None] = lambda: None
    ) -> Tensor:
        """How likely each edge is in the graph without it [edges]."""
        x, base = node_features(space.graph), _plain_adjacency(space)
        likelihoods = [torch.empty(0)]
        # A few matrices at a time: a thousand edges of a thousand nodes would take gigabytes.
        for part in edges.split(max(1, _STACK_CELLS // space.num_nodes**2)):
            u, v = space.ends(part)
            row = torch.arange(len(part))
            stack = base.repeat(len(part), 1, 1)
            stack[row, u, v] = stack[row, v, u] = 0.0
            rated = self.predictor_.probabilities(x, stack, before_each=before_each)
            likelihoods.append(rated[row, u, v])
        return torch.cat(likelihoods)

    # Algorithm 1, line by line.

    def _propose(self, problem: Problem) -> Generator[ProposalBlock, Outcome | None, None]:
        if "likelihood" in needs_of(self.ranking):
            problem.likelihood = self._fair_likelihoods(problem)
        with problem.clock.stage("denoise"):
            dropped = self._denoise(problem) if self.config.denoise else _nothing()  # lines 2-4
        with problem.clock.stage("deconstruct"):
            removable = self._deconstruct(problem, dropped)  # line 5
        problem.message = (
            "all choices among the factual subgraph's edges and likely additions were tried"
        )
        best = _Best(self, problem)
        if self.config.search == "paper":
            yield from self._candidates(problem, removable, best)  # lines 6-20
        else:
            yield from self._widen(problem, removable, dropped, best)

    def _widen(
        self, problem: Problem, removable: Tensor, dropped: Tensor, best: _Best
    ) -> Searching:
        """Rings around the paper's space, each opened only when it may be worth it."""
        settings = self.config.widening
        problem.message = "no edit set within reach of the search changes the prediction as asked"
        beam = Beam(problem, settings, self._likelihoods(problem))
        rings: tuple[Callable[[], Searching], ...] = (
            lambda: self._candidates(problem, removable, best),
            lambda: self._ring_of_less_likely(problem, dropped, best),
            lambda: beam.grow(self._enough(problem, best)),
            lambda: _combined(beam.singles, settings, problem.allowed.max_edits),
        )
        for number, ring in enumerate(rings):
            problem.ring, problem.ended_by = number, "exhausted"
            stream = ring()
            yield from stream if number < 2 else best.watched(stream)
            highest = self._highest_score(problem, 1)
            if best.score() >= (1 - settings.worth) * highest:
                is_best = best.score() >= highest
                problem.ended_by = "best_possible" if is_best else "good_enough"
                return

    def _ring_of_less_likely(self, problem: Problem, dropped: Tensor, best: _Best) -> Searching:
        """Ring 1: a larger factual subgraph and a lower threshold, for up to two edits."""
        settings = self.config.widening
        wider = copy.copy(self)
        wider.config = replace(
            self.config,
            threshold=self.config.threshold * settings.lower,
            max_candidates=2 * self.config.max_candidates,
            require_faithful=False,
            widening=replace(settings, near_edits=min(2, settings.near_edits)),
        )
        wider.max_nodes_ = 2 * self.max_nodes_
        factual, notes = problem.factual, dict(problem.notes)
        try:
            with problem.clock.stage("deconstruct"):
                removable = wider._deconstruct(problem, dropped)
            yield from wider._candidates(problem, removable, best)
        finally:
            # The answer's factual subgraph is that of ring 0, however the ring ends.
            problem.factual, problem.notes = factual, notes

    def _enough(self, problem: Problem, best: _Best) -> Enough:
        """When the beam may stop: some levels after a flip, or when larger sets cannot score higher."""
        seen: list[int] = []

        def enough(size: int) -> bool:
            if best.found:
                seen.append(size)
            late = len(seen) > self.config.widening.patience
            return late or best.score() >= self._highest_score(problem, size)

        return enough

    def _likelihoods(self, problem: Problem) -> Tensor:
        """How likely each node pair is an edge, without a class [pairs]."""
        space = problem.space
        with problem.clock.stage("reconstruct"), torch.no_grad():
            base = _plain_adjacency(space)[None]
            x = node_features(space.graph)
            rated = self.predictor_.probabilities(x, base, before_each=problem.oracle.check)[0]
            u, v = space.ends(torch.arange(space.num_pairs))
            return rated[u, v]

    def _fair_likelihoods(self, problem: Problem) -> Tensor:
        """The same with every edge rated as if it were missing: one that is seen looks other."""
        space, likelihood = problem.space, self._likelihoods(problem).clone()
        with problem.clock.stage("reconstruct"), torch.no_grad():
            check = problem.oracle.check
            likelihood[space.edge_ids] = self._as_if_missing(
                space, space.edge_ids, before_each=check
            )
        return likelihood

    def _denoise(self, problem: Problem) -> Tensor:
        """Lines 2 to 4: ids of the least likely edges, whose loss does not change the label."""
        space, settings = problem.space, self.config.denoising
        if space.edge_ids.numel() < 2:
            return _nothing()
        edges = space.edge_ids
        u, v = space.ends(edges)
        if settings.leave_one_out:
            likelihood = self._as_if_missing(space, edges, before_each=problem.oracle.check)
        else:
            x, base = node_features(space.graph), _plain_adjacency(space)
            likelihood = self.predictor_.probabilities(x, base[None])[0, u, v]

        def keeps_label(rows: Tensor) -> Tensor:
            proba = problem.oracle.predict_edits(space, rows, fill=problem.fill)
            return proba.argmax(dim=1) == problem.label

        dropped = drop_unlikely(edges, likelihood, settings, keeps_label)
        problem.notes["denoised_edges"] = dropped.numel()
        return dropped

    def _deconstruct(self, problem: Problem, dropped: Tensor) -> Tensor:
        """Line 5: the factual subgraph of G_DeN; its edges are those that may go."""
        space = problem.space
        quiet = apply_edits(space, EditSet(removed=space.edges_of(dropped)), fill=problem.fill)
        explainer = self._factual_explainer()
        seed = problem.rng.getrandbits(31)
        factual = explainer.explain(problem.oracle, quiet, problem.label, seed=seed)
        problem.factual = factual
        problem.notes["factual_nodes"] = len(factual.nodes)
        if self.config.require_faithful and not self._is_faithful(problem, factual):
            problem.notes["unfaithful_factual"] = True
            return _nothing()
        ids = space.ids_of(factual.edges)
        return ids[torch.isin(ids, problem.allowed.removals)]

    def _factual_explainer(self) -> FactualExplainer:
        settings = {"max_nodes": self.max_nodes_, **self.config.factual_settings}
        return make_factual(self.config.factual, settings)

    def _is_faithful(self, problem: Problem, factual: FactualSubgraph) -> bool:
        """Whether the factual subgraph alone keeps the label, Φ(G^F) = Φ(G)."""
        graph = problem.graph
        part = graph.subgraph(torch.tensor(sorted(factual.nodes), dtype=torch.long))
        if int(part.num_nodes or 0) < 2 or not part.num_edges:
            return False
        proba = problem.oracle.predict_proba([part])
        return int(proba.argmax()) == problem.label

    def _targets(self, problem: Problem) -> list[int | None]:
        """Classes to condition on: the target, or each other class, or none without one-hot."""
        if not self.config.one_hot:
            return [None]
        wanted = (
            [problem.target] if problem.target is not None else range(problem.oracle.num_classes)
        )
        classes = [c for c in wanted if c is not None and c != problem.label]
        # A class that no training graph had says nothing; then the predictor is asked without one.
        known: list[int | None] = [c for c in classes if float(self.classes_[c]) > 0]
        return known or [None]

    def _reconstruct(self, problem: Problem, sets: Tensor, target: int | None) -> Tensor:
        """Lines 9 to 13: for every removal set, the missing edges with a probability above tau.

        Returns:
            Pair ids, most likely first, padded with -1 [sets, candidates].
        """
        space = problem.space
        stack = _plain_adjacency(space).repeat(len(sets), 1, 1)
        places, values = edited_cells(space, sets)
        stack.view(-1)[places] = values
        classes = None
        if target is not None:
            one_hot = functional.one_hot(torch.tensor(target), self.predictor_.num_classes)
            classes = one_hot.float().expand(len(sets), -1)
        choices = problem.allowed.additions
        if self.config.may_undo:
            choices = torch.cat([choices, sets[sets != PAD].unique()])
        additions = torch.full((len(sets), 1), PAD)
        if self.config.add.max and choices.numel():
            x = node_features(space.graph)
            probabilities = self.predictor_.probabilities(
                x, stack, classes, before_each=problem.oracle.check
            )
            u, v = space.ends(choices)
            missing = stack[:, u, v] == 0
            likely = probabilities[:, u, v]
            likely = likely.masked_fill(~missing | (likely <= self.config.threshold), -1.0)
            most = min(self.config.max_candidates, choices.numel())
            score, place = likely.topk(most, dim=1)
            additions = choices[place].masked_fill(score < 0, PAD)
        key = "additions" if target is None else f"additions_to_{target}"
        problem.notes[key] = int((additions[0] >= 0).sum())
        return additions

    def _candidates(self, problem: Problem, removable: Tensor, best: _Best) -> Searching:
        """Lines 6 to 16: draw r and k, r edges to remove and k edges to add, T_max times."""
        config, allowed = self.config, problem.allowed
        most = min(config.remove.max, allowed.max_removed, allowed.max_edits)
        sets = removal_sets(removable, most, config.max_removal_sets, problem.rng)
        wide = config.search == "widening"
        left = min(config.iterations, config.widening.near) if wide else config.iterations
        block = _FIRST_BLOCK
        levels = self._levels(problem, sets)
        for size, make in levels:
            if best.score() >= self._highest_score(problem, size):
                if not wide:
                    problem.ended_by = "best_possible"
                return
            shapes = make()
            for rows in _in_turn(shapes, problem.rng):
                for part in rows[:left].split(block):
                    outcome = yield ProposalBlock(part)
                    best.note(part, outcome)
                left -= len(rows)
                block = _LARGEST_BLOCK
                if left <= 0:
                    if not wide and (
                        left < 0
                        or _any_left(shapes)
                        or any(_any_left(rest()) for _, rest in levels)
                    ):
                        raise self._used_up()
                    return

    def _used_up(self) -> BudgetExhausted:
        return BudgetExhausted(
            "all iterations are used up.",
            reason="out_of_calls",
            advice=f"all {self.config.iterations:,} iterations (T_max) were used up; allow more with "
            "the setting `iterations`",
        )

    def _levels(self, problem: Problem, sets: Tensor) -> Iterator[tuple[int, Level]]:
        """The shapes to draw from, all at once or size by size; with each, the least size.

        Size by size, a removal set is scored only when candidates need it: few edits often suffice.
        """
        config, targets = self.config, self._targets(problem)
        lengths = (sets >= 0).sum(dim=1)

        def scored(target: int | None, which: Tensor) -> Tensor:
            with problem.clock.stage("reconstruct"):
                return self._reconstruct(problem, sets[which], target)

        if config.order == "drawn":
            everything = torch.ones(len(sets), dtype=torch.bool)
            yield (
                1,
                lambda: [
                    self._shapes(problem, Pools(sets, scored(target, everything)))
                    for target in targets
                ],
            )
            return

        @cache
        def scored_of_length(target: int | None, length: int) -> Tensor:
            return scored(target, lengths == length)

        def of_size(size: int) -> list[list[Shape]]:
            few = sets[lengths <= size]
            need = [r for r in range(size) if bool((lengths == r).any())]
            found = []
            for target in targets:
                parts = [scored_of_length(target, r) for r in need]
                width = max((part.size(1) for part in parts), default=1)
                padded = [functional.pad(p, (0, width - p.size(1)), value=PAD) for p in parts]
                missing = len(few) - sum(map(len, parts))
                additions = torch.cat([*padded, torch.full((missing, width), PAD)])
                found.append(self._shapes(problem, Pools(few, additions), size))
            return found

        largest = config.remove.max + config.add.max
        if config.search == "widening":
            largest = min(largest, config.widening.near_edits)
        for size in range(1, largest + 1):
            yield size, partial(of_size, size)

    def _shapes(self, problem: Problem, pools: Pools, size: int | None = None) -> list[Shape]:
        """What can be drawn from pools, of one size or of any."""
        config, allowed = self.config, problem.allowed
        return [
            shape
            for shape in shapes_of(pools, config.remove, config.add, problem.rng)
            if shape.k <= allowed.max_added
            and shape.size <= allowed.max_edits
            and size in (None, shape.size)
        ]

    def _highest_score(self, problem: Problem, least: int) -> float:
        """No candidate of so many edits or more scores higher: the label cannot fall below 0."""
        config = self.config
        if not config.stop_early or config.order == "drawn" or problem.wide:
            return math.inf
        largest = config.remove.max + config.add.max
        if config.search == "widening":
            largest = max(largest, config.widening.max_edits)
        sizes = torch.arange(least, largest + 1)
        fidelity = problem.proba[problem.label].expand(len(sizes))
        return round(highest_score(self.ranking, fidelity, sizes), SCORE_DECIMALS)


class _Best:
    """The best score among the flips so far that will stay."""

    def __init__(self, explainer: DRCFGNN, problem: Problem) -> None:
        self._explainer, self._problem = explainer, problem
        self._flips: list[Tensor] = []
        self._scores: list[Tensor] = []

    @property
    def found(self) -> bool:
        """Whether there is any flip."""
        return bool(self._flips)

    def watched(self, stream: Searching) -> Searching:
        """A stream whose outcomes are taken in as they come."""
        outcome: Outcome | None = None
        while True:
            try:
                proposed = stream.send(outcome)
            except StopIteration:
                return
            outcome = yield proposed
            self.note(proposed.toggles, outcome)

    def note(self, rows: Tensor, outcome: Outcome | None) -> None:
        """Take in what became of a block."""
        if outcome is not None and bool(outcome.flipped.any()):
            flips, proba = rows[outcome.flipped], outcome.proba[outcome.flipped]
            self._flips.append(flips)
            self._scores.append(
                rate(self._explainer.ranking, self._problem.described(flips, proba))
            )

    def score(self) -> float:
        """The best score as it is compared; flips that contain a smaller one may be left out later."""
        if not self._flips:
            return -math.inf
        width = max(part.size(1) for part in self._flips)
        parts = [functional.pad(part, (0, width - part.size(1)), value=PAD) for part in self._flips]
        flips, scores = torch.cat(parts), torch.cat(self._scores)
        if self._explainer.config.minimal:
            order = scores.argsort(descending=True)
            scores = scores[without_supersets(order, flips, most=1)]
        return round(float(scores.max()), SCORE_DECIMALS) if scores.numel() else -math.inf


def _combined(singles: Tensor, settings: WideningConfig, most: int) -> Searching:
    """Ring 3: combinations of the most promising single edits."""
    for rows in combinations(singles, settings, min(most, settings.max_edits)):
        yield from ask(rows)


def _any_left(shapes: list[list[Shape]]) -> bool:
    return any(shape.left for part in shapes for shape in part)


def _in_turn(level: list[list[Shape]], rng: random.Random) -> Iterator[Tensor]:
    """Blocks of candidates from all pools in turn."""
    streams = [draw_blocks(part, _LARGEST_BLOCK, rng) for part in level]
    while streams:
        for stream in list(streams):
            rows = next(stream, None)
            if rows is None:
                streams.remove(stream)
            else:
                yield rows


_STOPPED = ("finished", "early", "interrupted")


def _nothing() -> Tensor:
    return torch.empty(0, dtype=torch.long)


def _plain_adjacency(space: PairSpace) -> Tensor:
    """The graph's adjacency without self-loops [n, n]."""
    return base_adjacency(space).fill_diagonal_(0.0)


def _labels(graphs: Sequence[Data], oracle: Oracle) -> list[int]:
    """Ground-truth classes where every graph has one, the oracle's predictions otherwise."""
    given = [graph.y for graph in graphs]
    if all(isinstance(y, Tensor) and y.numel() == 1 and not y.is_floating_point() for y in given):
        labels = [int(y) for y in given]
        if all(0 <= label < oracle.num_classes for label in labels):
            return labels
    predicted: list[int] = checked_proba(oracle, graphs).argmax(dim=1).tolist()
    return predicted
