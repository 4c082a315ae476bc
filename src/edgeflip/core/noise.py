"""A little noise on the input: what the robustness of explanations is measured against."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from typing import Literal, TypeAlias

import torch
from torch import Generator, Tensor
from torch_geometric.data import Data

from edgeflip.core.edits import EditSet, apply_edits, edge_attributes
from edgeflip.core.graphs import PairSpace
from edgeflip.errors import ConfigError
from edgeflip.support import check_fields, check_seed, checked_call

EdgeNoise: TypeAlias = Literal["either", "remove"]


@dataclass(frozen=True)
class Noise:
    """How much noise, and of which kind.

    Attributes:
        edge_share: Share of the edges that come or go; at least one, or none at 0.
        node_share: Share of the nodes whose features change; at least one, or none at 0.
        sigma: Standard deviation of the noise on features.
        relative: Whether sigma is a multiple of the standard deviation of the graph's own features.
        edges: `"either"` adds or removes edges, by a coin; `"remove"` never adds one.

    Example:
        >>> Noise.for_dataset("graph_sst5").sigma
        0.04
    """

    edge_share: float = 0.04
    node_share: float = 0.04
    sigma: float = 0.02
    relative: bool = False
    edges: EdgeNoise = "either"

    def __post_init__(self) -> None:
        """Refuse shares beyond 0 to 1 and a sigma below 0."""
        check_fields(self)
        for name in ("edge_share", "node_share"):
            if not 0 <= getattr(self, name) <= 1:
                raise ConfigError(
                    f"expected {name} from 0 to 1, got {getattr(self, name)!r}; 0.04 is four percent."
                )
        if not 0 <= self.sigma < math.inf:
            raise ConfigError(f"expected sigma of 0 or more, got {self.sigma!r}; correct sigma.")

    @classmethod
    def for_dataset(cls, name: str) -> Noise:
        """The paper's noise for a data set, and the defaults for others."""
        if name in ("graph_twitter", "graph_sst5"):
            return cls(sigma=0.04, relative=True)
        if name in ("bbbp", "mutag0"):
            # Molecules only lose edges: neither bonds nor atoms are made up.
            return cls(edges="remove", node_share=0.0)
        return cls()


@checked_call()
def add_noise(graph: Data, noise: Noise, *, seed: int) -> Data:
    """A copy of the graph with a few edges added or removed and a few nodes' features changed.

    Edges are counted as undirected pairs without self-loops. All chosen ones are added or all are
    removed. Where that is not possible the other is done, and where neither is, edges stay as they
    are. Edges are never added to a graph with `edge_attr`, since nobody knows the attributes of an
    edge that is not there.

    Features that are categories, such as the kind of an atom, have no sigma: 6.02 is no element. A
    chosen node then takes all its features from another node of the graph, one with other features
    where there is one. Integer types are categories; whole numbers of a floating-point type are too
    when `noise.edges` is `"remove"`, which is the setting for molecules.

    Args:
        graph: An undirected graph; it is left as it is.
        noise: How much noise, and of which kind.
        seed: What is drawn depends on the seed and on the graph's edges alone, not on their order.

    Example:
        >>> triangle = Data(
        ...     edge_index=torch.tensor([[0, 1, 0, 2, 1, 2], [1, 0, 2, 0, 2, 1]]), num_nodes=3
        ... )
        >>> add_noise(triangle, Noise(), seed=0).num_edges
        4
    """
    check_seed(seed)
    space = PairSpace.of(graph)
    generator = _generator(space, seed)
    noisy = apply_edits(space, _drawn_edits(space, noise, generator))
    if isinstance(graph.x, Tensor):
        noisy.x = _noisy_features(graph.x, noise, generator)
    return noisy


def _generator(space: PairSpace, seed: int) -> Generator:
    edges = space.edge_ids.numpy().tobytes()
    digest = hashlib.sha256(f"{seed} {space.num_nodes} ".encode() + edges).digest()
    return Generator().manual_seed(int.from_bytes(digest[:8], "little") >> 1)


def _drawn_edits(space: PairSpace, noise: Noise, generator: Generator) -> EditSet:
    """The edges that come or go."""
    adds = bool(torch.rand(1, generator=generator) < 0.5)
    may_add = noise.edges == "either" and set(edge_attributes(space.graph)) <= {"edge_weight"}
    present = space.edge_ids
    absent = space.non_edge_ids() if may_add else present[:0]
    adds = bool(absent.numel()) and (adds or not present.numel())
    pool = absent if adds else present
    count = min(_at_least_one(noise.edge_share, present.numel()), pool.numel())
    chosen = space.edges_of(pool[_drawn(pool.numel(), count, generator)])
    return EditSet(added=chosen) if adds else EditSet(removed=chosen)


def _noisy_features(x: Tensor, noise: Noise, generator: Generator) -> Tensor:
    nodes = _drawn(x.size(0), _at_least_one(noise.node_share, x.size(0)), generator)
    if _is_categorical(x, noise):
        return _with_features_of_others(x, nodes, generator)
    sigma = noise.sigma * float(x.std(correction=0)) if noise.relative else noise.sigma
    drawn = torch.randn(nodes.numel(), *x.shape[1:], generator=generator, dtype=torch.float64)
    noisy = x.clone()
    noisy[nodes] = (noisy[nodes].double() + sigma * drawn.to(x.device)).to(x.dtype)
    if not bool(noisy[nodes].isfinite().all()) and bool(x[nodes].isfinite().all()):
        raise ConfigError(
            f"expected a sigma that leaves features finite, got {noise.sigma!r}, which is more than "
            f"{x.dtype} holds; give a smaller one."
        )
    return noisy


def _is_categorical(x: Tensor, noise: Noise) -> bool:
    if not x.is_floating_point():
        return True
    return noise.edges == "remove" and bool((x == x.round()).all())


def _with_features_of_others(x: Tensor, nodes: Tensor, generator: Generator) -> Tensor:
    """Features in which each of the nodes has those of another node that differs from it."""
    rows = x.reshape(x.size(0), -1)
    drawn = torch.rand(nodes.numel(), generator=generator, dtype=torch.float64)
    noisy = x.clone()
    for node, share in zip(nodes.tolist(), drawn.tolist(), strict=True):
        others = (rows != rows[node]).any(dim=1).nonzero().flatten()
        if others.numel():
            noisy[node] = x[others[int(share * others.numel())]]
    return noisy


def _drawn(pool: int, count: int, generator: Generator) -> Tensor:
    """Distinct places in a pool [count]."""
    return torch.randperm(pool, generator=generator)[:count]


def _at_least_one(share: float, count: int) -> int:
    """A share of a count, rounded down but not to none."""
    # 0.29 · 100 is a hair below 29 in floating point.
    return max(1, int(share * count + 1e-9)) if share else 0
