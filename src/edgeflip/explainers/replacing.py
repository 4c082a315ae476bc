"""Methods whose papers answer with a graph of its own: other nodes, or features that nobody gave them.

Such a graph is no counterfactual as it is meant here, where nodes and features stay and edits say what
changed. So it never poses as one: it has no edits, stands in no answer, and is asked for by another name.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import ClassVar, Literal, TypeAlias, TypeVar, cast

import torch
from torch import Tensor
from torch_geometric.data import Data

from edgeflip.core import EdgeFill, edge_attributes
from edgeflip.errors import ConfigError
from edgeflip.explainers.base import CounterfactualExplainer
from edgeflip.explainers.beginning import Call, PairSearch, begin_graphs
from edgeflip.explainers.checking import allowance, check_options
from edgeflip.explainers.options import complete
from edgeflip.explainers.running import session
from edgeflip.oracle import verified_answers
from edgeflip.search import Selection

ConfigT = TypeVar("ConfigT")

Replaced: TypeAlias = Literal["own features", "other nodes"]

# Graphs that the oracle is asked about at once.
_ASKED_AT_ONCE = 32


@dataclass(frozen=True, eq=False)
class Replacement:
    """A graph that reaches the goal and takes the place of the one that was explained.

    Attributes:
        graph: The graph, with nodes or features of its own.
        output: What the oracle says of it.
        distance: How far it is from the explained graph, as the method counts.
    """

    graph: Data
    output: tuple[float, ...]
    distance: float


class ReplacingExplainer(CounterfactualExplainer[ConfigT]):
    """Base of the methods that can also be judged as their papers do, by graphs that replace the input.

    Attributes:
        replaced: What such a graph has of its own.
    """

    replaced: ClassVar[Replaced]

    def replacements(
        self,
        graph: Data,
        learned_from: Sequence[Data],
        *,
        target: int | str | None = None,
        fill: EdgeFill | None = None,
        keep: int = 1,
        seed: int = 0,
    ) -> list[Replacement]:
        """Graphs of another class that the method would put in place of a graph, its first choice first.

        Args:
            graph: The graph; it is never changed.
            learned_from: The graphs that `fit` was given: their features are not kept by the method.
            target: The wanted class; None for any other.
            fill: Attributes of added edges, for graphs that have some.
            keep: At most this many.
            seed: As for `explain`.

        Raises:
            EdgeflipError: If these are not the graphs of `fit`, or the call makes no sense.
        """
        given = complete({"target": target, "fill": fill, "chemistry": False, "seed": seed})
        check_options(given)
        self._check_call(graph, seed)
        if extra := edge_attributes(graph):
            raise ConfigError(
                f"expected graphs without attributes of edges, got {extra[0]}; a graph that replaces "
                "another has none to give its edges. Ask for edits with explain."
            )
        call = Call(allowance(self, None), Selection(), None, seed, self.ranking)
        found: list[Replacement] = []
        with session(self):
            (search,) = begin_graphs(self, [graph], given, call)
            made = self._replacements(cast(PairSearch, search), learned_from)
            while len(found) < keep and (block := list(islice(made, _ASKED_AT_ONCE))):
                outputs = verified_answers(self.oracle_, [each for each, _ in block])
                for place in search.goal.reached(outputs).nonzero().flatten().tolist():
                    each, distance = block[place]
                    found.append(Replacement(each, tuple(outputs[place].tolist()), distance))
        return found[:keep]

    @abstractmethod
    def _replacements(
        self, search: PairSearch, learned_from: Sequence[Data]
    ) -> Iterator[tuple[Data, float]]:
        """Graphs to ask about and how far they are, the first choice first."""


def replacing_graph(x: Tensor, u: Tensor, v: Tensor) -> Data:
    """A graph of node features and of the ends of its edges."""
    ends = torch.stack([torch.cat([u, v]), torch.cat([v, u])])
    return Data(x=x, edge_index=ends, num_nodes=x.size(0))


def other_graphs(name: str) -> ConfigError:
    """What to raise when these are not the graphs of `fit`."""
    return ConfigError(
        f"expected the graphs that '{name}' was fitted on, in their order, got others; pass those of fit."
    )
