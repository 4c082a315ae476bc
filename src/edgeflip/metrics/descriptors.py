"""Whether edited graphs look like real ones: distances between sets of graphs, and likelihood of edits.

Two sets of graphs are compared by the maximum mean discrepancy (MMD) of three descriptors, as is usual
for graph generators.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.spatial.distance import cdist
from torch import Tensor
from torch_geometric.data import Data

from edgeflip.core import Edge, EditSet, check_edges, no_graph
from edgeflip.errors import GraphError
from edgeflip.support import check_limit

Floats: TypeAlias = npt.NDArray[np.float64]

CLUSTERING_BINS = 100
"""Bins of the clustering coefficients, over 0 to 1."""

SPECTRUM_BINS = 200
"""Bins of the eigenvalues, over 0 to 2."""

KERNEL_WIDTHS = {"degree": 1.0, "clustering": 0.1, "spectrum": 1.0}
"""Sigma of the kernel on each descriptor."""

# Triangles are counted by dense products up to this many nodes, by sparse ones beyond.
_DENSE_NODES = 500


@dataclass(frozen=True, eq=False)
class Descriptors:
    """Histograms of a set of graphs, one row per graph; every row adds up to 1.

    Attributes:
        degree: Share of nodes by degree [graphs, largest degree + 1].
        clustering: Share of nodes by local clustering coefficient [graphs, `CLUSTERING_BINS`].
        spectrum: Share of eigenvalues of the normalised Laplacian [graphs, `SPECTRUM_BINS`].
    """

    degree: Floats
    clustering: Floats
    spectrum: Floats

    def __len__(self) -> int:
        """Number of graphs."""
        return len(self.degree)

    @cached_property
    def own_similarity(self) -> dict[str, float]:
        """Mean kernel value of each descriptor within the set; computed once, at first use."""
        return _similarity(self, self)


def describe(graphs: Sequence[Data]) -> Descriptors:
    """Degrees, clustering coefficients and spectra of graphs.

    Self-loops do not count. A node with fewer than two neighbours has clustering coefficient 0, and a
    node without neighbours an eigenvalue of 0.

    Raises:
        GraphError: If a graph has no nodes.
    """
    edges = [_neighbours(graph) for graph in graphs]
    degrees = [np.asarray(matrix.sum(axis=1)).ravel() for matrix in edges]
    width = int(max((degree.max() for degree in degrees), default=0)) + 1
    return Descriptors(
        degree=_histograms(degrees, bins=width, end=width),
        clustering=_histograms(
            [_clustering(*pair) for pair in zip(edges, degrees, strict=True)],
            bins=CLUSTERING_BINS,
            end=1,
        ),
        spectrum=_histograms(
            [_spectrum(*pair) for pair in zip(edges, degrees, strict=True)],
            bins=SPECTRUM_BINS,
            end=2,
        ),
    )


def mmd(one: Descriptors, other: Descriptors) -> dict[str, float]:
    """Squared maximum mean discrepancies of two sets of graphs, NaN when one is empty.

    The kernel is Gaussian on the total-variation distance, exp(-TV² / (2 sigma²)), with the sigmas of
    `KERNEL_WIDTHS`. The estimate is the biased one (V-statistic), which takes every graph with itself
    as well: 0 for two equal sets. It is cut off at 0, since this kernel is not always positive definite.

    Returns:
        Values named `degree_mmd`, `clustering_mmd` and `spectrum_mmd`.

    Example:
        >>> import torch
        >>> path = Data(edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]), num_nodes=3)
        >>> mmd(describe([path]), describe([path, path]))
        {'degree_mmd': 0.0, 'clustering_mmd': 0.0, 'spectrum_mmd': 0.0}
    """
    if not len(one) or not len(other):
        return {f"{name}_mmd": math.nan for name in KERNEL_WIDTHS}
    between = _similarity(one, other)
    return {
        f"{name}_mmd": max(
            0.0, one.own_similarity[name] + other.own_similarity[name] - 2 * between[name]
        )
        for name in KERNEL_WIDTHS
    }


def edge_likelihood(probability: Tensor, edits: EditSet) -> tuple[float | None, float | None]:
    """Mean probability of the added and of the removed edges, None where there are none.

    Args:
        probability: Probability of every edge [n, n]; only pairs with the smaller node first are
            looked up.
        edits: The edges that come and go.

    Example:
        >>> import torch
        >>> edge_likelihood(torch.full((3, 3), 0.25), EditSet(added={(0, 2)}))
        (0.25, None)
    """

    def mean(edges: Collection[Edge]) -> float | None:
        values = [float(probability[edge]) for edge in edges]
        return math.fsum(values) / len(values) if values else None

    return mean(edits.added), mean(edits.removed)


def _similarity(one: Descriptors, other: Descriptors) -> dict[str, float]:
    """Mean kernel value of each descriptor over all pairs of graphs of two sets."""
    means = {}
    for name, sigma in KERNEL_WIDTHS.items():
        left, right = _same_width(getattr(one, name), getattr(other, name))
        distance = cdist(left, right, "cityblock") / 2
        means[name] = float(np.exp(-(distance**2) / (2 * sigma**2)).mean())
    return means


def _same_width(left: Floats, right: Floats) -> tuple[Floats, Floats]:
    """Both with as many bins as the wider one."""
    width = max(left.shape[1], right.shape[1])
    padded = [np.pad(each, ((0, 0), (0, width - each.shape[1]))) for each in (left, right)]
    return padded[0], padded[1]


def _neighbours(graph: Data) -> Floats | sparse.csr_array:
    """The adjacency matrix without self-loops, sparse for large graphs [n, n]."""
    if not isinstance(graph, Data):
        raise no_graph(graph)
    count = int(graph.num_nodes or 0)
    if not count:
        raise GraphError("expected graphs with nodes, got an empty one; leave it out.")
    check_limit("nodes", count, "a graph", GraphError)
    u, v = check_edges(graph, count).numpy()
    u, v = u[u != v], v[u != v]
    if count > _DENSE_NODES:
        return sparse.csr_array((np.ones(len(u)), (u, v)), shape=(count, count))
    matrix = np.zeros((count, count))
    matrix[u, v] = 1.0
    return matrix


def _clustering(edges: Floats | sparse.csr_array, degree: Floats) -> Floats:
    """Local clustering coefficients: share of neighbours that are neighbours themselves [n]."""
    closed = np.asarray(((edges @ edges) * edges).sum(axis=1)).ravel()
    possible = degree * (degree - 1)
    coefficients: Floats = np.divide(
        closed, possible, out=np.zeros_like(closed), where=possible > 0
    )
    return coefficients


def _spectrum(edges: Floats | sparse.csr_array, degree: Floats) -> Floats:
    """Eigenvalues of the normalised Laplacian [n]."""
    dense = edges if isinstance(edges, np.ndarray) else edges.toarray()
    scale = np.divide(1.0, np.sqrt(degree), out=np.zeros_like(degree), where=degree > 0)
    laplacian = np.diag((degree > 0).astype(float)) - scale[:, None] * dense * scale[None]
    # Common eigenvalues such as 1 stand on the border of two bins, where the last digit would decide.
    values: Floats = np.round(np.linalg.eigvalsh(laplacian), 8)
    return values


def _histograms(values: Sequence[Floats], *, bins: int, end: float) -> Floats:
    """Shares of values in equal bins from 0 to an end, which counts to the last [len(values), bins]."""
    table = np.zeros((len(values), bins))
    for row, each in enumerate(values):
        index = np.clip(each * (bins / end), 0, bins - 1).astype(int)
        table[row] = np.bincount(index, minlength=bins) / len(each)
    return table
