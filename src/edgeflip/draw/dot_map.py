"""Where the dots of a map are: quick for a thousand nodes and more, the same every time."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np

from edgeflip.core import Edge
from edgeflip.draw.scene import Point

# Nodes to which all distances are kept, and how often places are made to fit these better.
_PIVOTS, _ROUNDS = 48, 40


def map_places(count: int, edges: Collection[Edge]) -> list[Point]:
    """Places of nodes between −1 and 1, so that the picture's distances are like those in the graph.

    Distances are kept to some nodes only, which lie far from each other.
    """
    if count < 2:
        return [(0.0, 0.0)] * count
    pivots, wanted = _distances(count, edges)
    squares = wanted**2
    middle = squares - squares.mean(axis=0) - squares.mean(axis=1)[:, None] + squares.mean()
    left, sizes, _ = np.linalg.svd(middle, full_matrices=False)
    points = np.zeros((count, 2))
    known = min(2, len(sizes))
    points[:, :known] = left[:, :known] * np.sqrt(np.maximum(sizes[:known], 1e-9))
    points *= wanted.max() / max(float(np.ptp(points, axis=0).max()), 1e-9)
    # Nodes that are as far from every pivot begin a little beside each other.
    turns = 2.4 * np.arange(count)
    points += 0.1 * np.stack([np.cos(turns), np.sin(turns)], axis=1)
    points = _settled(points, pivots, wanted)
    low, high = points.min(axis=0), points.max(axis=0)
    points = (points - (low + high) / 2) * 2 / max(float((high - low).max()), 1e-9)
    return [(float(x), float(y)) for x, y in points]


def _distances(count: int, edges: Collection[Edge]) -> tuple[list[int], Any]:
    """Pivots, each the node farthest from those before it, and the distance of every node to each."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import shortest_path

    # Older versions of SciPy walk through graphs of 32-bit numbers only.
    ends = np.array(sorted(edges), dtype=np.int32).reshape(-1, 2)
    matrix = csr_array((np.ones(len(ends)), (ends[:, 0], ends[:, 1])), shape=(count, count))
    busiest = int(np.bincount(ends.ravel(), minlength=count).argmax())
    pivots, rows = [busiest], []
    nearest = np.full(count, np.inf)
    for _ in range(min(_PIVOTS, count)):
        row = shortest_path(matrix, directed=False, unweighted=True, indices=pivots[-1])
        rows.append(row)
        nearest = np.minimum(nearest, row)
        pivots.append(int(nearest.argmax()))
    wanted = np.array(rows).T
    finite = wanted[np.isfinite(wanted)]
    # Parts that nothing joins lie a little farther apart than anything within a part.
    return pivots[:-1], np.where(np.isfinite(wanted), wanted, finite.max() + 2)


def _settled(points: Any, pivots: list[int], wanted: Any) -> Any:
    """Places at which every node is as far from the pivots as it should be, the near ones first."""
    weights = np.where(wanted > 0, 1 / np.maximum(wanted, 1) ** 2, 0.0)
    total = np.maximum(weights.sum(axis=1), 1e-9)[:, None]
    for _ in range(_ROUNDS):
        ways = points[:, None, :] - points[pivots][None]
        lengths = np.maximum(np.linalg.norm(ways, axis=2), 1e-9)
        aims = points[pivots][None] + ways * (wanted / lengths)[..., None]
        points = (aims * weights[..., None]).sum(axis=1) / total
    return points
