"""One cycle of BA-3Motifs turned into a house and into a clique by additions alone, and how many it takes.

    python benchmarks/figures.py             # docs/figures/targets.svg and a table
    python benchmarks/figures.py --quick     # a link predictor of a few epochs
    python benchmarks/figures.py --json      # and the figures as one JSON object on the last line

The table counts the additions of all counterfactuals kept, over cycles of the test graphs: of all that
flip, and of those in which every edit is needed. The paper shows one or two for the house, and up to
five for the clique.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

import networkx as nx
import torch
from rich.console import Console
from rich.table import Table
from torch_geometric.data import Data

from edgeflip import (
    Constraints,
    CounterfactualExplainer,
    CounterfactualSet,
    EdgeFlip,
    ModelOracle,
    load_dataset,
    train_oracle,
)
from edgeflip.core.graphs import edge_pairs
from edgeflip.datasets import DatasetBundle
from edgeflip.explainers.dr_cfgnn import DRCFGNN

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "figures"
INK, FAINT, BLUE, ORANGE = "#24292f", "#c9d1d9", "#0969da", "#bc4c00"
GREEN, RED, MOTIF, PLAIN = "#1a7f37", "#cf222e", "#ffd33d", "#f3f4f6"

Point = tuple[float, float]


# A small writer of pictures.


def text(
    x: float, y: float, words: str, size: int = 14, anchor: str = "middle", **more: Any
) -> str:
    """Words at a place."""
    rest = "".join(f' {key.replace("_", "-")}="{value}"' for key, value in more.items())
    fill = "" if "fill" in more else f' fill="{INK}"'
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}"{fill}{rest}>'
        f"{escape(words)}</text>"
    )


def line(one: Point, other: Point, colour: str, width: float = 1, **more: Any) -> str:
    """A straight line."""
    rest = "".join(f' {key.replace("_", "-")}="{value}"' for key, value in more.items())
    return (
        f'<line x1="{one[0]:.1f}" y1="{one[1]:.1f}" x2="{other[0]:.1f}" y2="{other[1]:.1f}" '
        f'stroke="{colour}" stroke-width="{width}"{rest}/>'
    )


def page(width: int, height: int, title: str, parts: Iterable[str]) -> str:
    """A whole picture, white behind so that it can be read on any page."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}" font-family="Helvetica, Arial, sans-serif" role="img">'
        f'<title>{escape(title)}</title><rect width="100%" height="100%" fill="#ffffff"/>\n'
        + "\n".join(parts)
        + "\n</svg>\n"
    )


# One graph and two targets.


def fitted(bundle: DatasetBundle, oracle: ModelOracle, *, quick: bool) -> DRCFGNN:
    """The +OH explainer of the cpu profile."""
    config = DRCFGNN.for_dataset(bundle.name, profile="cpu", overrides={"denoise": False}).config
    if quick:
        config = dataclasses.replace(
            config, training=dataclasses.replace(config.training, epochs=15)
        )
    return DRCFGNN(config).fit([*bundle.train, *bundle.val], oracle)


def cycles(bundle: DatasetBundle, oracle: ModelOracle, most: int) -> list[Data]:
    """Correctly predicted test graphs whose motif is a cycle."""
    labels = oracle.predict(bundle.test).tolist()
    pairs = zip(bundle.test, labels, strict=True)
    return [graph for graph, label in pairs if label == int(graph.y) == 0][:most]


def answers(
    explainer: DRCFGNN, graphs: Sequence[Data], target: int, *, minimal: bool
) -> list[CounterfactualSet]:
    """Counterfactuals by additions alone, as many as there are up to 200."""
    chosen: CounterfactualExplainer[Any] = explainer
    if minimal:
        ours = dataclasses.replace(
            EdgeFlip.for_dataset("ba_2motifs").config,
            predictor=explainer.config.predictor,
            training=explainer.config.training,
        )
        chosen = EdgeFlip(ours, links=explainer.links_).fit([], explainer.oracle_)
    only = Constraints(allow_removals=False)
    return [chosen.explain(graph, target=target, constraints=only, keep=200) for graph in graphs]


def spread(found: Sequence[CounterfactualSet]) -> dict[str, Any]:
    """How many additions the counterfactuals of a target have."""
    sizes = Counter(entry.size for answer in found for entry in answer.counterfactuals)
    best = [answer.best.size for answer in found if answer.best]
    first = [answer.first.size for answer in found if answer.first]
    return {
        "graphs": len(found),
        "found": len(best),
        "kept": sum(sizes.values()),
        "by_additions": {str(size): sizes[size] for size in sorted(sizes)},
        "best_mean": statistics.fmean(best) if best else None,
        "best_max": max(best, default=None),
        "first_mean": statistics.fmean(first) if first else None,
    }


def layout(graph: Data, edits: Iterable[tuple[int, int]], size: float) -> dict[int, Point]:
    """Places of the nodes by Kamada and Kawai, with the edges that come or go drawn in.

    Edges where something changes are longer, and the changes themselves as long as the diagonals of
    a pentagon, so that signs and numbers do not cover each other.
    """
    changed = set(edits)
    busy = {node for edge in changed for node in edge}
    union = nx.Graph()
    union.add_nodes_from(range(int(graph.num_nodes or 0)))
    for edge in sorted(edge_pairs(graph)):
        union.add_edge(*edge, weight=2.2 if busy.issuperset(edge) else 1.0)
    union.add_edges_from(sorted(changed), weight=2.2 * 1.62)
    places = nx.kamada_kawai_layout(union)
    low = [min(place[axis] for place in places.values()) for axis in (0, 1)]
    high = [max(place[axis] for place in places.values()) for axis in (0, 1)]
    return {
        node: (
            24 + (size - 48) * (place[0] - low[0]) / max(1e-9, high[0] - low[0]),
            24 + (size - 48) * (place[1] - low[1]) / max(1e-9, high[1] - low[1]),
        )
        for node, place in places.items()
    }


def edited_edge(one: Point, other: Point, sign: str, colour: str) -> tuple[str, str]:
    """An edge that comes (solid, +) or goes (dashed, −), and its sign in a small disc."""
    dash = {} if sign == "+" else {"stroke_dasharray": "7 5"}
    x, y = (one[0] + other[0]) / 2, (one[1] + other[1]) / 2
    disc = f'<circle cx="{x:.1f}" cy="{y:.1f}" r="8" fill="#ffffff" stroke="{colour}"/>'
    words = text(x, y + 5, sign, 15, fill=colour, font_weight="bold")
    return line(one, other, colour, 3.5, **dash), disc + words


def panel(
    answer: CounterfactualSet, places: Mapping[int, Point], motif: frozenset[int], at: Point
) -> list[str]:
    """The input graph with the edits of the best counterfactual."""
    spots = {node: (x + at[0], y + at[1]) for node, (x, y) in places.items()}
    added = answer.best.edits.added if answer.best else frozenset()
    removed = answer.best.edits.removed if answer.best else frozenset()
    parts = [
        line(spots[u], spots[v], "#8b949e", 1.5)
        for u, v in sorted(edge_pairs(answer.graph) - removed)
    ]
    discs = []
    for edges, sign, colour in ((removed, "−", RED), (added, "+", GREEN)):
        for u, v in sorted(edges):
            stroke, sign_disc = edited_edge(spots[u], spots[v], sign, colour)
            parts.append(stroke)
            discs.append(sign_disc)
    parts += discs
    for node, (x, y) in spots.items():
        fill, width = (MOTIF, 2) if node in motif else (PLAIN, 1)
        parts += [
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="11" fill="{fill}" stroke="{INK}" '
            f'stroke-width="{width}"/>',
            text(x, y + 4, str(node), 11),
        ]
    return parts


def legend(y: float, width: float, *, removals: bool) -> list[str]:
    """What colours and dashes mean."""
    gone = [("− edge removed", RED, {"stroke_dasharray": "7 5"})] if removals else []
    column = 190
    x = (width - column * (3 + len(gone))) / 2 + 30
    parts = []
    for words, colour, dash in [("+ edge added", GREEN, {}), *gone]:
        parts += [
            line((x, y), (x + 34, y), colour, 3.5, **dash),
            text(x + 42, y + 5, words, anchor="start"),
        ]
        x += column
    for words, fill, stroke in (("motif node", MOTIF, 2), ("other node", PLAIN, 1)):
        parts += [
            f'<circle cx="{x + 22:.1f}" cy="{y:.1f}" r="11" fill="{fill}" stroke="{INK}" '
            f'stroke-width="{stroke}"/>',
            text(x + 42, y + 5, words, anchor="start"),
        ]
        x += column
    return parts


def targets_figure(pair: Sequence[CounterfactualSet], motif: frozenset[int]) -> str:
    """One graph in two panels, one per target, its nodes at the same places."""
    size, gap, top = 440, 30, 70
    width, height = 2 * size + 3 * gap, top + size + 60
    edits = [edge for answer in pair if answer.best for edge in answer.best.edits.edges]
    places = layout(pair[0].graph, edits, size)
    parts = []
    for column, answer in enumerate(pair):
        left = gap + column * (size + gap)
        assert answer.target is not None
        wanted = answer.class_name(answer.target)
        parts.append(
            text(left + size / 2, 28, f"{answer.class_name(answer.label)} to {wanted}", 18)
        )
        if answer.best:
            words = f"probability of {wanted} {answer.best.proba[answer.target]:.2f}"
        else:
            words = "nothing found"
        parts += [text(left + size / 2, 52, words), *panel(answer, places, motif, (left, top))]
    removals = any(answer.best and answer.best.edits.removed for answer in pair)
    parts += legend(top + size + 32, width, removals=removals)
    return page(width, height, "One cycle and two targets", parts)


def main(argv: Sequence[str] | None = None) -> None:
    """Draw, count and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print the figures as JSON last")
    parser.add_argument("--quick", action="store_true", help="a link predictor of a few epochs")
    parser.add_argument("--graphs", type=int, default=20, help="cycles to count additions over")
    parser.add_argument("--out", type=Path, default=FOLDER, help="folder of the pictures")
    arguments = parser.parse_args(argv)
    torch.set_num_threads(1)
    arguments.out.mkdir(parents=True, exist_ok=True)
    results: dict[str, Any] = {}
    bundle = load_dataset("ba_3motifs")
    oracle = train_oracle(bundle, profile="smoke" if arguments.quick else "cpu")
    explainer = fitted(bundle, oracle, quick=arguments.quick)
    graphs = cycles(bundle, oracle, arguments.graphs)
    found = {
        (target, minimal): answers(explainer, graphs, target, minimal=minimal)
        for target in (1, 2)
        for minimal in (False, True)
    }
    assert bundle.motif_nodes is not None
    # The first graph that can become either.
    pairs = list(zip(found[1, True], found[2, True], strict=True))
    shown = next((pair for pair in pairs if pair[0].found and pair[1].found), pairs[0])
    svg = targets_figure(shown, bundle.motif_nodes(shown[0].graph))
    (arguments.out / "targets.svg").write_text(svg, encoding="utf-8")
    most = explainer.config.add.max
    sizes = [str(size) for size in range(1, most + 1)]
    table = Table("target", "edits", "graphs", "found", "kept", *sizes, "best")
    for (target, minimal), sets in found.items():
        row = spread(sets)
        name, kind = bundle.class_names[target], "needed" if minimal else "all"
        results[f"targets {name} {kind}"] = row
        table.add_row(
            name,
            kind,
            str(row["graphs"]),
            str(row["found"]),
            str(row["kept"]),
            *(str(row["by_additions"].get(size, 0)) for size in sizes),
            "-" if row["best_mean"] is None else f"{row['best_mean']:.2f}",
        )
    results["link_predictor_auc"] = explainer.report_.auc
    console = Console(width=100)
    console.print("Counterfactuals of cycles by number of additions, and the mean of the best")
    console.print(table)
    console.print(f"pictures in {arguments.out}")
    if arguments.json:
        print(json.dumps(results))


if __name__ == "__main__":
    main()
