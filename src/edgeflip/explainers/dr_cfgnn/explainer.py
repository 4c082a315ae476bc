"""DR-CFGNN: deconstruct what carries the prediction, reconstruct what another class would need.

The comments and docstrings below number the lines of the paper's Algorithm 1. Lines 17 to 21, asking
the oracle, collecting what flips and ordering it by score, are the same for every method and stand
in `edgeflip.search.session`.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from functools import cache
from typing import Any, ClassVar, Literal, TypeAlias

import torch
from torch import Tensor
from torch_geometric.data import Data

from edgeflip.core import (
    PAD,
    Edge,
    EditSet,
    PairSpace,
    ProposalBlock,
    apply_edits,
    base_adjacency,
    edited_cells,
    node_features,
)
from edgeflip.errors import BudgetExhausted, GraphError
from edgeflip.explainers.base import CounterfactualExplainer
from edgeflip.explainers.dr_cfgnn.best import BestSoFar
from edgeflip.explainers.dr_cfgnn.config import DRCFGNNConfig
from edgeflip.explainers.dr_cfgnn.denoise import drop_unlikely
from edgeflip.explainers.dr_cfgnn.levels import BLOCK, PaperSpace, sets_without_predictor
from edgeflip.explainers.dr_cfgnn.widening import Beam, Enough, Searching, ask, combined
from edgeflip.factual import FactualExplainer, make_factual
from edgeflip.links import (
    Knowledge,
    LinkPredictor,
    LinkTrainer,
    LinkTrainingReport,
    known_pairs,
    pad_graphs,
)
from edgeflip.oracle import Budget, Oracle, checked_proba
from edgeflip.pools import removal_sets
from edgeflip.search import FactualSubgraph, Outcome, Problem, Ranking, needs_of
from edgeflip.support import one_thread

# Few candidates first, since most flips are found early.
_FIRST_BLOCK = 128

# Edits of ring 0 at least, where single edits are hardly enough.
_NEAR_EDITS_IF_HARD = 3

# Cells of adjacency matrices made at once.
_STACK_CELLS = 20_000_000

Ended: TypeAlias = Literal["exhausted", "best_possible", "out_of_calls"]
"""Why drawing from the paper's space ended."""


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
        >>> "deconstruct" in answer.trace.stages
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
        super().__init__(config, ranking=ranking, progress=progress)
        self.required_edges = known_pairs(required_edges)
        self.forbidden_pairs = known_pairs(forbidden_pairs)

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
        ends_early = self.config.stop_early and self.config.order != "drawn" and not problem.wide
        best = BestSoFar(
            problem,
            self.ranking,
            minimal=self.config.minimal,
            largest=self.config.largest if ends_early else None,
        )
        if self.config.search == "paper":
            yield from self._search_papers_space(problem, removable, best)
        else:
            yield from self._widen(problem, removable, dropped, best)

    def _search_papers_space(
        self, problem: Problem, removable: Tensor, best: BestSoFar
    ) -> Searching:
        """Lines 6 to 20: at most T_max candidates."""
        config = self.config
        problem.message = (
            "all choices among the factual subgraph's edges and likely additions were tried"
        )
        drawn = self._candidates(problem, removable, best, config.iterations, config.largest)
        ended = yield from best.watched(drawn)
        if ended == "out_of_calls":
            raise BudgetExhausted(
                "all iterations are used up.",
                reason="out_of_calls",
                advice=f"all {config.iterations:,} iterations (T_max) were used up; allow more with "
                "the setting `iterations`",
            )
        problem.ended_by = ended

    def _widen(
        self, problem: Problem, removable: Tensor, dropped: Tensor, best: BestSoFar
    ) -> Searching:
        """Rings around the paper's space, each opened only when it may be worth it."""
        settings = self.config.widening
        problem.message = "no edit set within reach of the search changes the prediction as asked"
        # Rating all pairs takes as long as ring 0, which is often enough.
        beam = cache(lambda: Beam(problem, settings, self._likelihoods(problem)))
        near = min(self.config.iterations, settings.near)
        near_edits = settings.near_edits
        if problem.constraints.room or problem.wants_one_of_many:
            # Nodes that are full change an edge for another, and a certain class lies further away.
            near_edits = max(near_edits, _NEAR_EDITS_IF_HARD)
        edits = min(self.config.remove.max + self.config.add.max, near_edits)
        largest = min(problem.allowed.max_edits, settings.max_edits)
        rings: tuple[Callable[[], Generator[ProposalBlock, Outcome | None, Any]], ...] = (
            lambda: self._candidates(problem, removable, best, near, edits),
            lambda: self._ring_of_less_likely(problem, dropped, best, near, min(2, edits)),
            lambda: beam().grow(self._enough(problem, best)),
            lambda: combined(beam().singles, settings, largest),
        )
        problem.ring = 0
        if (yield from self._small_sets(problem, removable, best)):
            return
        for number, ring in enumerate(rings):
            problem.ring = number
            yield from best.watched(ring())
            if (yield from self._ends(problem, best, settings.worth)):
                return

    def _small_sets(
        self, problem: Problem, removable: Tensor, best: BestSoFar
    ) -> Generator[ProposalBlock, Outcome | None, bool]:
        """What needs no link predictor: single edits in the factual subgraph, and pairs of its edges.

        When only a pair flips, all other single edits follow, the first of ring 2.

        Returns:
            Whether sets that were not tried can hardly score higher.
        """
        worth = self.config.widening.worth
        sure = min(self.config.widening.sure, worth)
        steps = sets_without_predictor(problem, self.config, removable)
        rows = next(steps, None)
        while rows is not None:
            proba = yield from best.watched(ask(rows))
            # Single edits must nearly be the best; after pairs, what ends a ring is enough.
            share = sure if rows.size(1) == 1 else worth
            if (yield from self._ends(problem, best, share, reduced=True)):
                return True
            # Where ring 0 will be enough, likely additions come before all others.
            if best.score() >= (1 - worth) * best.ceiling(1):
                return False
            rows = _next(steps, proba)
        singles = torch.cat([problem.allowed.removals, problem.allowed.additions])
        if best.found and best.smallest > 1 and len(singles) <= self.config.certify:
            # The certificate of a pair needs them all anyway, and only larger sets are left to beat it.
            problem.ring = 2
            yield from best.watched(ask(singles[:, None]))
            # Rules are not asked about every flip of a large block.
            best.least = 1 if problem.constraints.rules else 2
        return (yield from self._ends(problem, best, worth, reduced=True))

    def _ends(
        self, problem: Problem, best: BestSoFar, share: float, *, reduced: bool = False
    ) -> Generator[ProposalBlock, Outcome | None, bool]:
        """Whether nothing left to try could score higher by more than a share; noted if so.

        Args:
            problem: The graph to explain.
            best: The best flip so far.
            share: By how much something may still be better.
            reduced: Whether the flips were all tried without each of their edits before.
        """
        highest = best.ceiling(best.least)
        while best.found and best.score() >= (1 - share) * highest:
            smaller = None if reduced else best.smaller()
            if smaller is None:
                problem.ended_by = "best_possible" if best.score() >= highest else "good_enough"
                return True
            # One that has needless edits will not stay.
            yield from best.watched(ask(smaller))
        return False

    def _ring_of_less_likely(
        self, problem: Problem, dropped: Tensor, best: BestSoFar, most: int, most_edits: int
    ) -> Searching:
        """Ring 1: a larger factual subgraph and a lower threshold."""
        wider = copy.copy(self)
        wider.config = replace(
            self.config,
            threshold=self.config.threshold * self.config.widening.lower,
            max_candidates=2 * self.config.max_candidates,
            require_faithful=False,
        )
        wider.max_nodes_ = 2 * self.max_nodes_
        factual, notes = problem.factual, dict(problem.notes)
        try:
            with problem.clock.stage("deconstruct"):
                removable = wider._deconstruct(problem, dropped)
            yield from wider._candidates(problem, removable, best, most, most_edits)
        finally:
            # The answer's factual subgraph is that of ring 0, however the ring ends.
            problem.factual, problem.notes = factual, notes

    def _enough(self, problem: Problem, best: BestSoFar) -> Enough:
        """When the beam may stop: some levels after a flip, or when larger sets cannot score higher."""
        seen: list[int] = []

        def enough(size: int) -> bool:
            if best.found:
                seen.append(size)
            late = len(seen) > self.config.widening.patience
            return late or best.score() >= best.ceiling(size)

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
        quiet = space.graph
        if dropped.numel():
            removed = EditSet(removed=space.edges_of(dropped))
            quiet = apply_edits(space, removed, fill=problem.fill)
        explainer = self._factual_explainer()
        seed = problem.rng(f"factual {problem.ring or 0}").getrandbits(31)
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

    def _reconstruct(self, problem: Problem, sets: Tensor) -> list[Tensor]:
        """Lines 9 to 13: for every removal set, the missing edges with a probability above tau.

        Returns:
            For every target pair ids, most likely first, padded with -1 [sets, candidates].
        """
        space, targets = problem.space, self._targets(problem)
        choices = problem.allowed.additions
        if self.config.may_undo:
            choices = torch.cat([choices, sets[sets != PAD].unique()])
        if not (len(sets) and self.config.add.max and choices.numel()):
            return [torch.full((len(sets), 1), PAD) for _ in targets]
        stack = _plain_adjacency(space).repeat(len(sets), 1, 1)
        places, values = edited_cells(space, sets)
        stack.view(-1)[places] = values
        # Targets share the encoder's work, but not the memory of large stacks.
        together = len(targets) if len(targets) * stack.numel() <= _STACK_CELLS else 1
        found: list[Tensor] = []
        for start in range(0, len(targets), together):
            part = targets[start : start + together]
            found += self._likely(problem, stack, part, choices)
        for target, additions in zip(targets, found, strict=True):
            key = "additions" if target is None else f"additions_to_{target}"
            problem.notes[key] = int((additions[0] >= 0).sum())
        return found

    def _likely(
        self, problem: Problem, stack: Tensor, targets: list[int | None], choices: Tensor
    ) -> list[Tensor]:
        """For every target the likely ones of some pairs, in each of the graphs of a stack."""
        rated = self.predictor_.probabilities_to_each(
            node_features(problem.graph), stack, targets, before_each=problem.oracle.check
        )
        u, v = problem.space.ends(choices)
        likely = rated[:, :, u, v]
        unfit = (stack[:, u, v] != 0) | (likely <= self.config.threshold)
        most = min(self.config.max_candidates, choices.numel())
        score, place = likely.masked_fill(unfit, -1.0).topk(most, dim=2)
        return list(choices[place].masked_fill(score < 0, PAD))

    def _candidates(
        self, problem: Problem, removable: Tensor, best: BestSoFar, most: int, most_edits: int
    ) -> Generator[ProposalBlock, Outcome | None, Ended]:
        """Lines 6 to 16: draw r and k, r edges to remove and k edges to add, so many times.

        Returns:
            Why it ended; `"out_of_calls"` when there are more candidates than it may try.
        """
        config, allowed = self.config, problem.allowed
        rng = problem.rng(f"candidates {problem.ring or 0}")
        largest = min(config.remove.max, allowed.max_removed, allowed.max_edits)
        sets = removal_sets(removable, largest, config.max_removal_sets, rng)

        def score(sets: Tensor) -> list[Tensor]:
            with problem.clock.stage("reconstruct"):
                return self._reconstruct(problem, sets)

        space = PaperSpace(problem, config, sets, score, rng)
        left, block = most, _FIRST_BLOCK
        levels = space.levels(most_edits)
        for level in levels:
            if best.score() >= best.ceiling(level.least):
                return "best_possible"
            for rows in level.blocks():
                for part in rows[:left].split(block):
                    yield ProposalBlock(part)
                left -= len(rows)
                block = BLOCK
                if left <= 0:
                    more = left < 0 or level.any_left or any(rest.any_left for rest in levels)
                    return "out_of_calls" if more else "exhausted"
        return "exhausted"


_STOPPED = ("finished", "early", "interrupted")


def _nothing() -> Tensor:
    return torch.empty(0, dtype=torch.long)


def _next(steps: Generator[Tensor, Tensor, None], told: Tensor) -> Tensor | None:
    """What a generator yields when it is told something, None at its end."""
    try:
        return steps.send(told)
    except StopIteration:
        return None


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
