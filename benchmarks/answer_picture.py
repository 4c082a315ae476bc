"""The picture of one answer in the README: a graph of BA-2Motifs before and after, in one layout.

    python benchmarks/answer_picture.py                  # writes docs/figures/answer.svg
    python benchmarks/answer_picture.py --profile smoke --out picture.svg

Added edges are blue, solid and marked +, removed ones vermilion, dashed and marked −. The factual
subgraph is drawn in dark.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import networkx as nx

from edgeflip import CounterfactualSet, EdgeFlip, load_dataset, train_oracle

OUT = Path(__file__).resolve().parents[1] / "docs" / "figures" / "answer.svg"
INK, SOFT, EDGE, NODE, CORE = "#1b1f24", "#59616b", "#868e98", "#6a727c", "#3d454f"
ADDED, REMOVED, PAPER = "#0b5fa5", "#b0420b", "#ffffff"
WIDTH, PANEL, TOP = 760, 340, 64

Point = tuple[float, float]
Edge = tuple[int, int]


def main(argv: Sequence[str] | None = None) -> None:
    """Train, explain and draw."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--profile", default="cpu", help="preset of the oracle")
    parser.add_argument("--index", type=int, default=0, help="which test graph")
    parser.add_argument("--out", type=Path, default=OUT)
    options = parser.parse_args(argv)
    bundle = load_dataset("ba_2motifs")
    oracle = train_oracle(bundle, profile=options.profile)
    answer = EdgeFlip().fit([], oracle).explain(bundle.test[options.index])
    print(answer)
    options.out.write_text(picture(answer), encoding="utf-8")
    print(f"drawn in {options.out}")


def picture(answer: CounterfactualSet) -> str:
    """Before and after side by side."""
    graph = nx.Graph()
    graph.add_nodes_from(range(int(answer.graph.num_nodes or 0)))
    source, target = answer.graph.edge_index.tolist()
    graph.add_edges_from(zip(source, target, strict=True))
    best = answer.best
    added = sorted(best.edits.added) if best else []
    removed = sorted(best.edits.removed) if best else []
    union = graph.copy()
    union.add_edges_from(added)
    spots = _spots(nx.kamada_kawai_layout(union))
    core = set(answer.factual.edges) if answer.factual else set()
    named = sorted({node for edge in [*added, *removed, *core] for node in edge})
    plain = sorted((min(u, v), max(u, v)) for u, v in graph.edges)
    before = answer.goal.describe(answer.output)
    after = answer.goal.describe(best.output) if best else "no answer"
    parts = [
        _text(28, 34, before, size=16, weight=600),
        _text(WIDTH / 2 + 28, 34, after, size=16, weight=600),
    ]
    stays = [edge for edge in plain if edge not in removed]
    parts += _panel(0, spots, stays, core, named, gone=removed)
    parts += _panel(WIDTH / 2, spots, stays, core, named, ghosts=removed, come=added)
    words = ", ".join(
        [*(f"add {u}–{v}" for u, v in added), *(f"remove {u}–{v}" for u, v in removed)]
    )
    parts.append(_text(28, TOP + PANEL + 24, f"The edits: {words}.", size=13, colour=SOFT))
    height = TOP + PANEL + 44
    title = f"{before} becomes {after}: {words}"
    body = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" '
        f'font-family="system-ui, sans-serif"><title>{title}</title>\n'
        f'<rect width="{WIDTH}" height="{height}" fill="{PAPER}"/>\n{body}\n</svg>\n'
    )


def _spots(layout: dict[int, Point]) -> dict[int, Point]:
    """Places within a panel, the layout filling it."""
    low = [min(point[axis] for point in layout.values()) for axis in (0, 1)]
    high = [max(point[axis] for point in layout.values()) for axis in (0, 1)]
    room = PANEL - 60
    return {
        node: (
            30 + room * (x - low[0]) / (high[0] - low[0]),
            30 + room * (y - low[1]) / (high[1] - low[1]),
        )
        for node, (x, y) in layout.items()
    }


def _panel(
    left: float,
    spots: dict[int, Point],
    plain: list[Edge],
    core: set[Edge],
    named: list[int],
    *,
    gone: Sequence[Edge] = (),
    ghosts: Sequence[Edge] = (),
    come: Sequence[Edge] = (),
) -> list[str]:
    at = {node: (left + 10 + x, TOP + y) for node, (x, y) in spots.items()}
    parts = []
    for edge in plain:
        inside = edge in core
        parts.append(_line(at, edge, CORE if inside else EDGE, 1.75 if inside else 1.25))
    parts += [_line(at, edge, REMOVED, 1.75, "2.5 4") for edge in ghosts]
    for edges, colour, dash in ((gone, REMOVED, "6 4"), (come, ADDED, "")):
        for edge in edges:
            parts += [_line(at, edge, PAPER, 7.5), _line(at, edge, colour, 3.5, dash)]
    for node, (x, y) in at.items():
        if node in named:
            parts.append(_circle(x, y, 10, CORE, 1.5))
            parts.append(_text(x, y + 4, str(node), size=11, anchor="middle"))
        else:
            parts.append(_circle(x, y, 5, NODE, 1.25))
    for edges, colour, sign in ((gone, REMOVED, "−"), (come, ADDED, "+")):
        for edge in edges:
            parts += _badge(at, edge, colour, sign)
    return parts


def _line(at: dict[int, Point], edge: Edge, colour: str, width: float, dash: str = "") -> str:
    (a, b), (c, d) = at[edge[0]], at[edge[1]]
    dashes = f' stroke-dasharray="{dash}"' if dash else ""
    return (
        f'<line x1="{a:.1f}" y1="{b:.1f}" x2="{c:.1f}" y2="{d:.1f}" stroke="{colour}" '
        f'stroke-width="{width}"{dashes}/>'
    )


def _circle(x: float, y: float, radius: float, colour: str, width: float) -> str:
    return (
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius}" fill="{PAPER}" stroke="{colour}" '
        f'stroke-width="{width}"/>'
    )


def _badge(at: dict[int, Point], edge: Edge, colour: str, sign: str) -> list[str]:
    (a, b), (c, d) = at[edge[0]], at[edge[1]]
    x, y = (a + c) / 2, (b + d) / 2
    return [
        _circle(x, y, 7.5, colour, 1.5),
        _text(x, y + 4, sign, size=13, colour=colour, weight=600, anchor="middle"),
    ]


def _text(
    x: float,
    y: float,
    words: str,
    *,
    size: int,
    colour: str = INK,
    weight: int = 400,
    anchor: str = "start",
) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" font-weight="{weight}" fill="{colour}" '
        f'text-anchor="{anchor}">{words}</text>'
    )


if __name__ == "__main__":
    main()
