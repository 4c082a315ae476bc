"""EdgeFlip: rings from the likely to the far-fetched, each opened only when it may be worth it.

Ring 0 is what needs the fewest questions: edits in the factual subgraph, then likely additions. Ring 1 is
the same with a larger factual subgraph and a lower threshold, where likely answers or one of several
classes are asked for. Ring 2 is a beam over all edits, led by what single edits were found to do; ring 3
pairs the best of them. The search ends as soon as nothing left to try could score higher, and then tries to
prove that nothing smaller exists.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, ClassVar, cast

import torch
from torch import Tensor
from torch_geometric.data import Data

from edgeflip.core import NO_ROWS, PairEdits
from edgeflip.explainers.beginning import GraphSearch, PairSearch
from edgeflip.explainers.edgeflip.config import EdgeFlipConfig
from edgeflip.explainers.edgeflip.guided import GuidedBeam
from edgeflip.explainers.edgeflip.large import LargeGraph, is_large
from edgeflip.explainers.edgeflip.moves import pool_of
from edgeflip.explainers.edgeflip.rings import Deconstructed, ask_likely, small_sets
from edgeflip.explainers.with_links import LinkExplainer
from edgeflip.factual import FactualExplainer, make_factual, occluded, occlusions
from edgeflip.links import MOST_NODES, LinkSettings
from edgeflip.oracle import ClassGoal, PairSlopes, ValueGoal, gives_values, slopes_of
from edgeflip.search import Ended, needs_of

# Edits of ring 0 at least, where single edits are hardly enough.
_RING0_EDITS_IF_HARD = 3


class EdgeFlip(LinkExplainer[EdgeFlipConfig]):
    """Small, sure edits, searched from the likely to the far-fetched; the default.

    It learns a link predictor from graphs where it is given any, and goes without where it is not: then
    rings 0 and 1 have no likely additions, and the trace says so. Its arguments are those of
    `LinkExplainer`.

    Example:
        >>> from edgeflip.testing import example_graphs, example_oracle
        >>> explainer = EdgeFlip().fit([], example_oracle())
        >>> answer = explainer.explain(example_graphs(1, seed=4)[0])
        >>> answer.found, answer.trace.notes["without"]
        (True, 'link predictor')
    """

    name: ClassVar[str] = "edgeflip"
    config_type: ClassVar[type[EdgeFlipConfig]] = EdgeFlipConfig
    goals: ClassVar[tuple[str, ...] | None] = (ClassGoal.kind, ValueGoal.kind)
    spaces: ClassVar[tuple[str, ...] | None] = ("pairs", "molecule", "features")
    chemistry: ClassVar[bool] = True

    _factual: tuple[str, dict[str, Any], FactualExplainer] | None = None

    @property
    def link_settings(self) -> LinkSettings:
        """What shapes its link model."""
        return self.config.links

    def factual_explainer(self, settings: dict[str, Any]) -> FactualExplainer:
        """Who finds the factual subgraph; kept from graph to graph, since most have the same settings."""
        kind = self.config.factual
        if self._factual is None or self._factual[:2] != (kind, settings):
            self._factual = (kind, settings, make_factual(kind, settings))
        return self._factual[2]

    def _needs_graphs(self) -> bool:
        return False

    def _first_edits(self, search: GraphSearch) -> Tensor:
        if not isinstance(search.space, PairEdits):
            return NO_ROWS
        if self.config.factual != "occlusion" or is_large(search.space):
            return super()._first_edits(search)
        return occlusions(search.space)

    def _wants_minimal(self) -> bool:
        return self.config.minimal

    def _certifies(self) -> int:
        return self.config.certify

    def _fit(self, graphs: Sequence[Data], oracle: Any) -> None:
        # A link predictor is conditioned on classes, which a model of values does not have.
        super()._fit([] if gives_values(oracle) else graphs, oracle)

    def _search(self, search: GraphSearch) -> Ended:
        # What is differentiated says so itself, and all else need not say each time that it is not.
        with torch.no_grad():
            return _Rings(self, search).run()


class _Rings:
    """One search, ring by ring."""

    def __init__(self, explainer: EdgeFlip, search: GraphSearch) -> None:
        self._explainer, self._search, self._config = explainer, search, explainer.config
        asks_links = isinstance(search.goal, ClassGoal) and isinstance(search.space, PairEdits)
        self._links = getattr(explainer, "links_", None) if asks_links else None
        self._has_edges = isinstance(search.space, PairEdits)
        large = self._has_edges and is_large(search.space)
        self._large = LargeGraph(search, self._slopes) if large else None
        # All sets of a smaller cost than this were tried.
        self._least = 1

    def run(self) -> Ended:
        """Open rings until it is enough."""
        search = self._search
        if not self._has_edges:
            return self._far_rings()
        if self._links is None:
            search.note(without="link predictor")
        if "likelihood" in needs_of(search.ranking) and self._links is not None:
            self._explainer._tell_likelihoods(cast(PairSearch, search))
        if self._links is not None and search.space.pairs.num_nodes > MOST_NODES:
            search.note(without="link predictor, which rates all pairs of a graph")
            self._links = None
        removable = self._deconstruct(ring=0)
        search.ring = 0
        end = self._small_sets(removable)
        if end is not None:
            return end
        return self._in_rings((self._ring_0, self._ring_1, self._ring_2, self._ring_3), removable)

    def _far_rings(self) -> Ended:
        """Of moves that are no edges nothing is learned, and no part of the input carries the prediction."""
        return self._in_rings((self._ring_2, self._ring_3), NO_ROWS, first=2)

    def _in_rings(
        self, rings: Sequence[Callable[[Tensor], None]], removable: Tensor, *, first: int = 0
    ) -> Ended:
        """One ring after the other, until it is enough."""
        for number, ring in enumerate(rings, start=first):
            self._search.ring = number
            ring(removable)
            end = self._enough(self._config.ring_tolerance)
            if end is not None:
                return end
        return Ended("exhausted", "nothing within reach of the search does it")

    # The rings, in the order they are tried.

    def _small_sets(self, removable: Tensor) -> Ended | None:
        """What needs no link predictor: single edits in the factual subgraph, and pairs of its edges.

        When only a pair flips, all other single edits follow, the first of ring 2.
        """
        search, config = self._search, self._config
        worth = config.ring_tolerance
        sure = min(config.early_tolerance, worth)
        for width in small_sets(search, config, removable, few=self._large is not None):
            # Single edits must nearly be the best; after pairs, what ends a ring is enough.
            end = self._enough(sure if width == 1 else worth, reduced=True)
            if end is not None:
                return end
            # Where ring 0 will be enough, likely additions come before all others.
            if self._is_nearly_best:
                return None
        limits = search.space.limits
        count = limits.removals.numel() + len(limits.missing)
        if search.found and search.smallest > 1 and count <= config.certify:
            # The certificate of a pair needs them all anyway, and only larger sets are left to beat it.
            search.ring = 2
            search.ask(torch.cat([limits.removals, limits.additions])[:, None])
            # Rules are not asked about every flip of a large block.
            self._least = 1 if search.space.has_rules else 2
        return self._enough(worth, reduced=True)

    def _ring_0(self, removable: Tensor) -> None:
        """Likely additions, with edges of the factual subgraph where larger sets are worth it.

        Single ones alone are tried only where they may put the last touch to a search that is about to
        end: the beam tries all single edits anyway.
        """
        if self._ring0_edits > 1 or self._is_nearly_best:
            self._ask_likely(removable, self._ring0_edits, widened=False)

    def _ring_1(self, _: Tensor) -> None:
        """A larger factual subgraph and a lower threshold."""
        if self._links is not None and self._wants_likely:
            removable = self._deconstruct(ring=1)
            self._ask_likely(removable, min(2, self._ring0_edits), widened=True)

    def _ring_2(self, _: Tensor) -> None:
        """A beam over all edits, led by what single edits were found to do."""
        search, patience = self._search, self._config.beam.patience

        def enough(size: int) -> bool:
            """Some levels after a flip, or when larger sets cannot score higher."""
            late = size > search.smallest + patience
            return search.found and (late or search.best_score >= share * self._ceiling(size))

        slopes, large = self._slopes, self._large
        search.note(led_by="inherited effects" + (f" and slopes ({slopes.name})" if slopes else ""))
        share = 1.0
        if large is None:
            pool = pool_of(search, slopes, self._config.beam.pool)
        else:
            # A question about a large graph takes long, so good enough is enough.
            share = 1 - self._config.ring_tolerance
            large.close()
            if self._enough(self._config.ring_tolerance) is not None:
                return
            pool = large.pool(self._config.beam.pool)
        self._beam = GuidedBeam(search, self._config.beam, pool, slopes, apart=large is not None)
        self._beam.grow(enough)

    def _ring_3(self, _: Tensor) -> None:
        """All pairs of the most promising single edits, where a pair could still be the best."""
        search, promising = self._search, self._config.beam.promising
        if not self._has_edges and search.smallest > 2 and search.space.max_cost >= 2:
            # Few moves do most alone, and what the beam found is larger than a pair of them.
            search.ask(torch.combinations(self._beam.best_singles(4 * promising), 2))
            return
        if search.smallest > 1 or search.best_score >= self._ceiling(2) or promising < 2:
            return
        if self._large is not None:
            # Of a large graph the beam had the most promising of these, and good enough is enough.
            return
        if min(search.space.max_cost, self._config.beam.max_edits) >= 2:
            best = self._beam.best_singles(promising)
            search.ask(torch.combinations(best, 2))

    # What the rings share.

    @cached_property
    def _slopes(self) -> PairSlopes | None:
        search = self._search
        if not self._has_edges:
            return None
        return slopes_of(search.oracle, search.space, search.goal)

    @property
    def _is_nearly_best(self) -> bool:
        """Whether a flip was found that no single edit can score much above."""
        worth = 1 - self._config.ring_tolerance
        return self._search.found and self._search.best_score >= worth * self._ceiling(1)

    @property
    def _wants_likely(self) -> bool:
        """Whether likely sets of several edits are worth more than what the beam finds."""
        goal = self._search.goal
        one_of_many = isinstance(goal, ClassGoal) and goal.wants_one_of_many
        return one_of_many or "likelihood" in needs_of(self._search.ranking)

    @property
    def _ring0_edits(self) -> int:
        config = self._config
        edits = config.ring0_edits
        if self._wants_likely:
            # A certain class lies further away, and likely answers are made of likely edits.
            edits = max(edits, _RING0_EDITS_IF_HARD)
        return min(config.remove.max + config.add.max, edits)

    def _ask_likely(self, removable: Tensor, most_edits: int, *, widened: bool) -> None:
        if self._links is None:
            return
        config, search = self._config, self._search
        found = Deconstructed(
            removable,
            threshold=config.threshold * (config.threshold_factor if widened else 1.0),
            max_candidates=config.max_candidates * (2 if widened else 1),
        )
        ask_likely(cast(PairSearch, search), self._links, config, found, most_edits, self._ceiling)

    def _deconstruct(self, *, ring: int) -> Tensor:
        """Edges of the factual subgraph that may go; the answer's is that of ring 0."""
        search, config = self._search, self._config
        explainer, nodes = self._explainer, search.space.pairs.num_nodes
        half = config.max_nodes or max(4, round(nodes / 2))
        limit = getattr(explainer, "max_nodes_", half)
        settings = {"max_nodes": limit * (1 + ring), **config.factual_settings}
        removals = search.space.limits.removals
        seed = search.rng(f"factual {ring}").getrandbits(31)
        with search.stage("deconstruct"):
            if self._large is not None and config.factual == "occlusion":
                factual = self._large.factual(settings["max_nodes"])
            elif isinstance(search.goal, ClassGoal):
                factual = explainer.factual_explainer(settings).explain(
                    search.oracle, search.space.input, search.goal.label, seed=seed
                )
            else:
                # Without classes there is no label to explain, only a value that must move.
                factual = occluded(search.oracle, search.space, search.goal, settings["max_nodes"])
        if not ring:
            search.factual = factual
            search.note(factual_nodes=len(factual.nodes))
        ids = search.space.pairs.ids_of(factual.edges)
        everything = len(removals) == len(search.space.pairs.edge_ids)
        return ids if everything else ids[torch.isin(ids, removals)]

    def _ceiling(self, least: int) -> float:
        return self._search.ceiling(least, self._config.largest)

    def _enough(self, share: float, *, reduced: bool = False) -> Ended | None:
        """Why nothing left to try could score higher by more than a share, None if something could.

        Args:
            share: By how much something may still be better.
            reduced: Whether the flips were all tried without each of their edits before.
        """
        search = self._search
        highest = self._ceiling(self._least)
        while search.found and search.best_score >= (1 - share) * highest:
            # One that has needless edits will not stay.
            if reduced or not search.ask_smaller():
                return Ended("best_possible" if search.best_score >= highest else "good_enough")
        return None
