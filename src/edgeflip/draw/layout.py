"""Where the nodes of a graph are drawn: one layout for before and after, the core to the right.

Kamada and Kawai's layout on the union of old and new edges, part by part. A ring in the core becomes a
regular polygon. Nothing here is left to chance.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import networkx as nx
import numpy as np

from edgeflip.core import Edge
from edgeflip.draw.scene import Point

Places: TypeAlias = dict[int, Any]

# Sizes of rings that are drawn as polygons.
_RINGS = range(3, 9)
# An edge is drawn no longer than this, so that small graphs do not fill the panel with air.
_LONGEST = 74.0
# How far nodes are apart at least: small ones, and those with a number.
_CLOSEST, _CLOSEST_LARGE = 15.0, 25.0
_STEPS = 30
# Room between a node and an edge that is not its own.
_BESIDE = 1.5
_ROUNDS = 300
# How much longer edges are that join nodes with a number, or carry a sign.
_LONGER, _SIGNED = 1.6, 2.0
# Widths of rows that are tried.
_TRIED = 40


def node_places(
    nodes: Collection[int],
    edges: Iterable[Edge],
    core: Collection[int],
    size: tuple[float, float],
    margin: float = 18.0,
    changed: Collection[Edge] = (),
) -> dict[int, Point]:
    """Places of nodes in a panel.

    Args:
        nodes: What is drawn.
        edges: Old and new edges together.
        core: Nodes that carry the prediction; they go to the right.
        size: Width and height of the panel.
        margin: Room to its border.
        changed: Edges that come or go, which are drawn longer: they carry a sign.
    """
    graph, signed = nx.Graph(), set(changed)
    graph.add_nodes_from(sorted(nodes))
    for u, v in sorted(edge for edge in edges if edge[0] in graph and edge[1] in graph):
        inner = u in core and v in core
        graph.add_edge(u, v, length=_SIGNED if (u, v) in signed else _LONGER if inner else 1.0)
    large = set(core) | {node for edge in changed for node in edge}
    parts = [sorted(part) for part in nx.connected_components(graph)]
    # The core's part comes last, so that it stands to the right; single nodes go where there is room.
    parts.sort(key=lambda part: (bool(set(part) & set(core)), len(part) > 1, -len(part), part[0]))
    parts.sort(key=lambda part: (len(part) == 1, 0))
    laid = [_part_places(graph.subgraph(part), set(core)) for part in parts]
    whole = _packed(laid, size[0] / size[1])
    return _fitted(whole, size, margin, large, sorted(graph.edges))


def _part_places(part: Any, core: set[int]) -> Places:
    """Places of one connected part, its edges about as long as 1."""
    nodes = sorted(part)
    if len(nodes) == 1:
        return {nodes[0]: np.zeros(2)}
    if len(nodes) == 2:
        return {nodes[0]: np.zeros(2), nodes[1]: np.array([part.edges[nodes]["length"], 0.0])}
    ordered = nx.Graph()
    ordered.add_nodes_from(nodes)
    for u, v in sorted((min(edge), max(edge)) for edge in part.edges):
        ordered.add_edge(u, v, length=part.edges[u, v]["length"])
    places = _stress_places(ordered)
    ring = _ring(ordered.subgraph(sorted(core & set(nodes))))
    if ring:
        places = _with_polygon(places, ring, ordered)
    return _turned(places, core & set(nodes))


def _stress_places(graph: Any) -> Places:
    """Kamada and Kawai's layout: distances in the picture like those in the graph, by majorisation.

    It starts from the plane that shows the distances best, so it is the same every time.
    """
    nodes = list(graph)
    lengths = dict(nx.all_pairs_dijkstra_path_length(graph, weight="length"))
    wanted = np.array([[lengths[u][v] for v in nodes] for u in nodes], dtype=float)
    count = len(nodes)
    centring = np.eye(count) - 1 / count
    values, vectors = np.linalg.eigh(-centring @ wanted**2 @ centring / 2)
    points = vectors[:, -2:] * np.sqrt(np.maximum(values[-2:], 1e-6))
    # Nodes that the plane cannot tell apart, such as the leaves of a star, begin a little beside.
    angles = 2.4 * np.arange(count)
    points = points + 0.05 * np.stack([np.cos(angles), np.sin(angles)], axis=1)
    np.fill_diagonal(wanted, 1.0)
    weights = wanted**-2.0
    np.fill_diagonal(weights, 0.0)
    inverse = np.linalg.pinv(np.diag(weights.sum(axis=1)) - weights)
    for _ in range(_ROUNDS):
        gaps = np.linalg.norm(points[:, None] - points[None], axis=2)
        ratios = -weights * wanted / np.where(gaps > 1e-9, gaps, np.inf)
        np.fill_diagonal(ratios, 0.0)
        np.fill_diagonal(ratios, -ratios.sum(axis=1))
        moved = inverse @ (ratios @ points)
        still = float(np.abs(moved - points).max()) < 1e-3
        points = moved
        if still:
            break
    return dict(zip(nodes, points, strict=True))


def _ring(core: Any) -> list[int]:
    """The nodes of a ring through the largest block of the core, in order; none if there is none."""
    blocks = [block for block in nx.biconnected_components(core) if len(block) in _RINGS]
    for block in sorted(blocks, key=lambda block: (-len(block), min(block))):
        graph = core.subgraph(block)
        start = min(block)
        found = _walk(graph, [start], len(block))
        if found:
            return found
    return []


def _walk(graph: Any, path: list[int], length: int) -> list[int]:
    if len(path) == length:
        return path if graph.has_edge(path[-1], path[0]) else []
    for node in sorted(graph[path[-1]]):
        if node not in path:
            found = _walk(graph, [*path, node], length)
            if found:
                return found
    return []


def _with_polygon(places: Places, ring: Sequence[int], graph: Any) -> Places:
    """The same with a ring as a regular polygon, its branches carried along."""
    count = len(ring)
    old = np.array([places[node] for node in ring])
    centre = old.mean(axis=0)
    others = [place for node, place in places.items() if node not in ring]
    sides = [graph.edges[edge]["length"] for edge in zip(ring, [*ring[1:], ring[0]], strict=True)]
    radius = max(sides) / (2 * math.sin(math.pi / count))
    angles = 2 * np.pi * np.arange(count) / count
    best: Any = None
    for turn in (1, -1):
        unit = np.stack([np.cos(turn * angles), np.sin(turn * angles)], axis=1)
        offset = old - centre
        # The rotation that comes nearest to where the nodes were.
        sine = (unit[:, 0] * offset[:, 1] - unit[:, 1] * offset[:, 0]).sum()
        cosine = (unit * offset).sum()
        angle = math.atan2(sine, cosine)
        matrix = np.array([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]])
        new = unit @ matrix.T * radius
        error = ((new - offset) ** 2).sum()
        if best is None or error < best[0]:
            best = (error, new)
    push = np.zeros(2)
    if others:
        away = centre - np.mean(others, axis=0)
        grown = max(0.0, radius - float(np.linalg.norm(old - centre, axis=1).mean()))
        push = away / max(float(np.linalg.norm(away)), 1e-9) * grown
    result = dict(places)
    for node, offset in zip(ring, best[1], strict=True):
        result[node] = centre + push + offset
    outside = set(places) - set(ring)
    # What hangs on one node of the ring alone moves with it.
    for branch in nx.connected_components(graph.subgraph(outside)):
        roots = {node for node in ring if any(other in branch for other in graph[node])}
        if len(roots) == 1 and len(branch) <= len(outside) / 2:
            (root,) = roots
            shift = result[root] - places[root]
            for node in branch:
                result[node] = places[node] + shift
    return result


def _turned(places: Places, core: set[int]) -> Places:
    """The same turned so that the core is to the right, or so that it is wider than high."""
    points = np.array(list(places.values()))
    middle = points.mean(axis=0)
    if core and len(core) < len(places):
        away = np.mean([places[node] for node in core], axis=0) - middle
        angle = -math.atan2(away[1], away[0])
    else:
        _, _, axes = np.linalg.svd(points - middle)
        angle = -math.atan2(axes[0][1], axes[0][0])
    matrix = np.array([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]])
    return {node: matrix @ (place - middle) for node, place in places.items()}


def _packed(parts: Sequence[Places], aspect: float) -> Places:
    """Parts beside each other, in the rows that leave them largest in a panel of this shape."""
    boxes = []
    for part in parts:
        points = np.array(list(part.values()))
        low, high = points.min(axis=0), points.max(axis=0)
        boxes.append((part, low, np.maximum(high - low, 0.4) + 0.9))
    widths = np.cumsum([float(size[0]) for _, _, size in boxes])
    arrangements = [_rows(boxes, float(wide)) for wide in widths[-_TRIED:]]
    return min(arrangements, key=lambda laid: _extent(laid, aspect))


def _rows(boxes: Sequence[tuple[Places, Any, Any]], wide: float) -> Places:
    """Parts in rows that are no wider than this, unless one part alone is."""
    rows: list[list[tuple[Places, Any, Any]]] = [[]]
    used = 0.0
    for entry in boxes:
        width = float(entry[2][0])
        if rows[-1] and used + width > wide + 1e-9:
            rows.append([])
            used = 0.0
        rows[-1].append(entry)
        used += width
    placed: Places = {}
    top = 0.0
    for row in rows:
        height = max(float(size[1]) for _, _, size in row)
        left = 0.0
        for part, low, size in row:
            shift = np.array([left, top + (height - float(size[1])) / 2]) - low
            placed |= {node: place + shift for node, place in part.items()}
            left += float(size[0])
        top += height
    return placed


def _extent(places: Places, aspect: float) -> float:
    """How large a panel of this shape must be to hold places."""
    points = np.array(list(places.values()))
    width, height = points.max(axis=0) - points.min(axis=0)
    return float(max(width / aspect, height))


def _fitted(
    places: Mapping[int, Any],
    size: tuple[float, float],
    margin: float,
    large: Collection[int],
    edges: Sequence[Edge],
) -> dict[int, Point]:
    """Places scaled into the panel, none too near to another."""
    nodes = sorted(places)
    points = np.array([places[node] for node in nodes], dtype=float)
    room = np.array(size) - 2 * margin
    radii = np.array([_CLOSEST_LARGE if node in large else _CLOSEST for node in nodes]) / 2
    apart = radii[:, None] + radii[None, :]
    index = {node: place for place, node in enumerate(nodes)}
    ends = np.array([[index[u], index[v]] for u, v in edges], dtype=int).reshape(-1, 2)
    for step in range(_STEPS):
        low, high = points.min(axis=0), points.max(axis=0)
        span = np.maximum(high - low, 1e-9)
        scale = min(float((room / span).min()), _LONGEST) if step == 0 else 1.0
        if step and bool((span > room).any()):
            scale = float((room / span).min())
        points = (points - (low + high) / 2) * scale
        near = len(nodes) > 1 and _pushed_apart(points, apart)
        if not _off_edges(points, ends, radii) and not near:
            break
    low, high = points.min(axis=0), points.max(axis=0)
    points = points - (low + high) / 2 + np.array(size) / 2
    return {node: (float(x), float(y)) for node, (x, y) in zip(nodes, points, strict=True)}


def _pushed_apart(points: Any, apart: Any) -> bool:
    """Move points that are too near a little away from each other; whether there were any."""
    gaps = points[:, None, :] - points[None, :, :]
    distance = np.linalg.norm(gaps, axis=2)
    np.fill_diagonal(distance, np.inf)
    close = distance < apart
    if not bool(close.any()):
        return False
    safe = np.where(distance > 1e-6, distance, 1.0)
    way = np.where(distance[..., None] > 1e-6, gaps / safe[..., None], _fixed_ways(len(points)))
    step = np.where(close, (apart - np.minimum(distance, apart)) / 2, 0.0)
    points += (way * step[..., None]).sum(axis=1) * 0.6
    return True


def _off_edges(points: Any, ends: Any, radii: Any) -> bool:
    """Move nodes that lie on an edge of others a little aside; whether there were any."""
    if not len(ends):
        return False
    start, way = points[ends[:, 0]], points[ends[:, 1]] - points[ends[:, 0]]
    length = np.maximum((way**2).sum(axis=1), 1e-9)
    offset = points[:, None] - start[None]
    share = np.clip((offset * way).sum(axis=2) / length, 0.0, 1.0)
    gap = offset - share[..., None] * way
    distance = np.linalg.norm(gap, axis=2)
    own = (np.arange(len(points))[:, None, None] == ends[None]).any(axis=2)
    wanted = radii[:, None] + _BESIDE
    close = (distance < wanted) & ~own & (share > 0.05) & (share < 0.95)
    if not bool(close.any()):
        return False
    across = np.stack([-way[:, 1], way[:, 0]], axis=1) / np.sqrt(length)[:, None]
    unit = np.where(distance[..., None] > 1e-3, gap / np.maximum(distance, 1e-3)[..., None], across)
    step = np.where(close, wanted - np.minimum(distance, wanted), 0.0)
    points += (unit * step[..., None]).sum(axis=1) * 0.5
    return True


def _fixed_ways(count: int) -> Any:
    """Directions for nodes that lie on each other: opposite ones for the two of a pair."""
    one, other = np.meshgrid(np.arange(count), np.arange(count), indexing="ij")
    angle = np.minimum(one, other) * 2.4
    sign = np.sign(one - other)
    return np.stack([np.cos(angle) * sign, np.sin(angle) * sign], axis=2)


def nearby(
    edges: Iterable[Edge], starts: Sequence[int], also: Sequence[int], *, steps: int, limit: int
) -> list[int]:
    """Nodes around the edits: where they begin, their neighbours, the core, then step by step outwards.

    Args:
        edges: Of the graph, before and after.
        starts: Ends of the edits.
        also: Nodes to be drawn next, whatever their distance.
        steps: How far to go.
        limit: How many nodes at most; starts are all kept.
    """
    around: dict[int, set[int]] = {}
    for u, v in edges:
        around.setdefault(u, set()).add(v)
        around.setdefault(v, set()).add(u)
    chosen = front = list(dict.fromkeys(starts))
    for step in range(steps):
        found = dict.fromkeys(
            other for node in front for other in sorted(around.get(node, ())) if other not in chosen
        )
        front = list(found)[: max(0, limit - len(chosen))]
        chosen = chosen + front
        if not step:
            # Neighbours of the edits come before a core that lies elsewhere.
            core = [node for node in dict.fromkeys(also) if node not in chosen]
            chosen = chosen + core[: max(0, limit - len(chosen))]
    return chosen
