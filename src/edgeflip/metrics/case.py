"""What metrics are measured on: one explained graph, the edited graphs of a method, and its learning."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

from torch import Tensor
from torch_geometric.data import Data

from edgeflip.core import Edge, RealGraphs
from edgeflip.explainers import Replacement
from edgeflip.metrics.descriptors import Descriptors, describe, edge_likelihood, mmd
from edgeflip.metrics.noise import Change, overlaps_after_noise
from edgeflip.oracle import Oracle
from edgeflip.search import Counterfactual, CounterfactualSet

MotifNodes: TypeAlias = Callable[[Data], frozenset[int]]
"""The nodes of the motif that made a graph's class."""

LinkProbabilities: TypeAlias = Callable[[Data, Collection[Edge]], Tensor]
"""Probability of every edge of a graph [n, n]; some edges are rated as if they were missing."""


@dataclass(frozen=True, eq=False)
class AnswerCase:
    """One explained graph, with everything there is to rate the answer by.

    Attributes:
        answer: The answer, or None if the method failed.
        oracle: The explained model.
        motif_nodes: Finds the motif; None on datasets without motifs.
        factual_nodes: Finds the nodes of the factual subgraph, which stands in for a motif where there is
            none; None where proximity to it is not asked.
        after_noise: The answer for the same graph under noise.
        links: Rates edges.
        wall_seconds: Time of the question; by default what the answer's trace says.
        processor_seconds: CPU time of the question.
        molecules: Whether the graph is a molecule; None if not, so that metrics can need it.
        own_features: What a method that draws features would put in place of the graph; None where no
            such method was asked.
        other_nodes: The same of a method that replaces graphs by others.
        same_kind: Other models of the kind of the explained one, from other seeds.
        other_kind: Models of other kinds.
        real: The real graphs that edited ones are compared with.
        neighbour: The answer for the real graph that is nearest to this one and of its class.
        embed: What the explained model makes of graphs before it decides, a row each.

    Example:
        >>> from edgeflip.metrics import METRICS
        >>> METRICS["validity"].of(AnswerCase())
        0.0
        >>> METRICS["size"].of(AnswerCase()) is None
        True
    """

    answer: CounterfactualSet | None = None
    oracle: Oracle | None = None
    motif_nodes: MotifNodes | None = None
    factual_nodes: MotifNodes | None = None
    after_noise: CounterfactualSet | None = None
    links: LinkProbabilities | None = None
    wall_seconds: float | None = None
    processor_seconds: float | None = None
    molecules: bool | None = None
    own_features: Sequence[Replacement] | None = None
    other_nodes: Sequence[Replacement] | None = None
    same_kind: Sequence[Oracle] = ()
    other_kind: Sequence[Oracle] = ()
    real: RealGraphs | None = None
    neighbour: CounterfactualSet | None = None
    embed: Callable[[Sequence[Data]], Tensor | None] | None = None

    @property
    def found(self) -> bool:
        """Whether there is a counterfactual."""
        return self.answer is not None and self.answer.found

    @property
    def best(self) -> Counterfactual:
        """The best counterfactual; only asked for where one was found."""
        assert self.answer is not None
        assert self.answer.best is not None
        return self.answer.best

    @property
    def noise_keeps_label(self) -> bool:
        """Whether noise left the class as it was; only asked for where there are both answers."""
        assert self.answer is not None
        assert self.after_noise is not None
        return self.after_noise.label == self.answer.label

    @cached_property
    def edited(self) -> Data:
        """The graph after the edits of the best counterfactual."""
        assert self.answer is not None
        return self.answer.edited_graph(self.best)

    @cached_property
    def overlaps(self) -> dict[Change, float | None]:
        """What noise left of each change of class; only asked for where there are both answers."""
        assert self.answer is not None
        assert self.after_noise is not None
        return overlaps_after_noise(self.answer, self.after_noise)

    @cached_property
    def likelihoods(self) -> tuple[float | None, float | None]:
        """Mean probability of the added and of the removed edges of the best counterfactual."""
        assert self.answer is not None
        assert self.links is not None
        edits = self.best.edits
        return edge_likelihood(self.links(self.answer.graph, edits.removed), edits)


@dataclass(frozen=True, eq=False)
class GraphSet:
    """Graphs that are held against the training graphs.

    Attributes:
        graphs: The edited graphs of a method, or the same graphs unedited.
        training: The training graphs' descriptors.
        molecules: Whether the graphs are molecules; None if not, so that metrics can need it.
    """

    graphs: Sequence[Data]
    training: Descriptors
    molecules: bool | None = None

    @cached_property
    def distances(self) -> dict[str, float]:
        """Maximum mean discrepancies to the training graphs, by name."""
        return mmd(describe(self.graphs), self.training)


@dataclass(frozen=True)
class Learning:
    """What fitting a method took.

    Attributes:
        seconds: Wall seconds; None for a method that learns nothing.
        auc: Validation AUC of the link predictor, pairs oriented as published; None for other methods.
        auc_order_free: The same with every pair as u < v.
    """

    seconds: float | None
    auc: float | None = None
    auc_order_free: float | None = None
