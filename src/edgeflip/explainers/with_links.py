"""What methods share that ask a link predictor: taking one or training one, saving it, telling of it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from typing import Any, ClassVar, TypeVar

import torch
from torch import Tensor
from torch_geometric.data import Data

from edgeflip.core import Edge
from edgeflip.errors import ConfigError, NotFittedError, OracleError
from edgeflip.explainers.base import CounterfactualExplainer
from edgeflip.explainers.beginning import PairSearch
from edgeflip.links import (
    Knowledge,
    LinkModel,
    LinkSettings,
    LinkTrainingReport,
    check_links,
    fit_links,
    known_pairs,
)
from edgeflip.oracle import Budget, Oracle
from edgeflip.presets import Preset
from edgeflip.search import Ranking, needs_of

ConfigT = TypeVar("ConfigT")


class LinkExplainer(CounterfactualExplainer[ConfigT]):
    """Base of the methods that ask a link predictor.

    Args:
        config: The method's settings.
        ranking: How counterfactuals are scored; the paper's score when left out. With such a method
            also `"plausible"`: edits that its link predictor finds likely.
        links: A link model that was fitted before, see `fit_links`; by default `fit` trains one.
        required_edges: Pairs that must be edges: fixed positives of the link predictor's training.
            A list holds for every graph that has such nodes; a callable takes a graph and gives its
            pairs.
        forbidden_pairs: Pairs that cannot be edges: fixed negatives of its training. To enforce
            either at inference too, pass `Constraints(frozen_edges=…, forbidden_pairs=…)`.
        progress: Whether `fit` shows its progress.
    """

    rates_edges: ClassVar[bool] = True

    def __init__(
        self,
        config: ConfigT | None = None,
        *,
        ranking: Ranking | str | None = None,
        links: LinkModel | None = None,
        required_edges: Knowledge = None,
        forbidden_pairs: Knowledge = None,
        progress: bool = False,
    ) -> None:
        super().__init__(config, ranking=ranking, progress=progress)
        if links is not None:
            if not isinstance(links, LinkModel):
                raise ConfigError(
                    f"expected links as a LinkModel, got {type(links).__name__}; make one with fit_links."
                )
            check_links(links, self.link_settings)
        self.links = links
        self.required_edges = known_pairs(required_edges)
        self.forbidden_pairs = known_pairs(forbidden_pairs)

    @classmethod
    def _preset_table(cls, preset: Preset) -> dict[str, Any]:
        # One link predictor for all methods that ask one.
        return {**preset.method("links"), **preset.method(cls.name)}

    @property
    @abstractmethod
    def link_settings(self) -> LinkSettings:
        """What shapes its link model."""

    @property
    def _max_nodes(self) -> int | None:
        """The setting `max_nodes`."""
        chosen: int | None = getattr(self.config, "max_nodes", None)
        return chosen

    def _needs_graphs(self) -> bool:
        return self.links is None

    def default_budget(self) -> Budget:
        """Only a deadline: what the search may try is limited by its settings already."""
        return Budget(oracle_calls=None, seconds=getattr(self.config, "seconds", None))

    def fit_settings(self) -> dict[str, Any]:
        """The settings of the link predictor and its training, and the size that is left to data."""
        known = {"required_edges": self.required_edges, "forbidden_pairs": self.forbidden_pairs}
        words = {key: repr(value) for key, value in known.items()}
        given = None if self.links is None else self.links.fingerprint()
        size = {"max_nodes": self._max_nodes, "links": given}
        return {**asdict(self.link_settings), **size, **words}

    def _fit(self, graphs: Sequence[Data], oracle: Oracle) -> None:
        links = self.links
        if links is not None:
            _check_given(links, graphs, oracle)
        if links is None and len(graphs):
            links = fit_links(
                graphs,
                oracle,
                self.link_settings,
                required_edges=self.required_edges,
                forbidden_pairs=self.forbidden_pairs,
                seed=torch.initial_seed() % 2**63,
                progress=self.progress,
            )
        if links is None and "likelihood" in needs_of(self.ranking):
            raise ConfigError(
                "expected graphs to learn from for a ranking that asks how likely edits are, got none; pass "
                "some, or links=, or another ranking."
            )
        if links is not None:
            self.links_ = links
            self.max_nodes_ = self._max_nodes or links.half_a_graph
            if links is not self.links and links.report.stopped == "interrupted":
                raise KeyboardInterrupt

    @property
    def report_(self) -> LinkTrainingReport:
        """How the training of its link predictor went."""
        if not hasattr(self, "links_"):
            raise NotFittedError(
                f"expected '{self.name}' with a link predictor, got one that was fitted on no graphs; fit it "
                "on some or pass links=."
            )
        return self.links_.report

    def edge_probabilities(self, graph: Data, edges: Iterable[Edge] = ()) -> Tensor:
        """How likely every pair is an edge, see `LinkModel.edge_probabilities` [n, n]."""
        self._check_fitted()
        assert self.report_ is not None
        return self.links_.edge_probabilities(graph, edges)

    def _state(self) -> dict[str, Tensor]:
        if not hasattr(self, "links_"):
            return {}
        return {**self.links_.state(), "max_nodes": torch.tensor(self.max_nodes_)}

    def _load_state(self, tensors: Mapping[str, Tensor]) -> None:
        if tensors:
            self.links_ = LinkModel.from_state(self.link_settings, tensors)
            self.max_nodes_ = int(tensors["max_nodes"])

    def _check_call(self, graph: Data, seed: int) -> None:
        super()._check_call(graph, seed)
        if hasattr(self, "links_") and isinstance(graph, Data) and graph.num_nodes:
            self.links_.check_graph(graph)

    def _tell_likelihoods(self, search: PairSearch) -> None:
        """Let rankings see how likely moves are: p of an addition, 1 − p of a removal."""
        space, pairs = search.space, search.space.pairs
        self.links_.check_size(pairs)
        with search.stage("reconstruct"):
            chance = self.links_.pair_probabilities(pairs, check=search.check).clone()
            # Every edge rated as if it were missing: one that is seen looks other.
            chance[pairs.edge_ids] = 1 - self.links_.as_if_missing(
                pairs, pairs.edge_ids, check=search.check
            )
        search.likelihoods = chance[space.allowed]


def _check_given(links: LinkModel, graphs: Sequence[Data], oracle: Oracle) -> None:
    """Refuse a link model that was fitted for other classes or other graphs."""
    with suppress(OracleError):  # an oracle that does not know its classes before its first answer
        links.check_classes(oracle.num_classes)
    for graph in graphs[:1]:
        links.check_graph(graph)
