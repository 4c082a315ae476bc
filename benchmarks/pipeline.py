"""The stages of DR-CFGNN on one graph, in six small drawings with the values of a real run.

    python benchmarks/pipeline.py                  # writes docs/figures/pipeline.svg
    python benchmarks/pipeline.py --profile smoke --out pipeline.png

The run itself is watched: what is drawn is what its stages handed on. Denoising is always on, whatever
the profile says, since it is one of the stages.
"""

from __future__ import annotations

import argparse
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TypeAlias

import torch
from torch import Tensor

from edgeflip import CounterfactualSet, load_dataset, train_oracle
from edgeflip.core import (
    PAD,
    Edge,
    EditSet,
    FactualSubgraph,
    PairEdits,
    candidate_keys,
    edge_pairs,
    node_features,
    node_names,
    plain_adjacency,
)
from edgeflip.draw import Canvas, Disc, Line, Picture, Scene, Words, draw_plain, subject_of
from edgeflip.draw.look import TEXTS, text_width
from edgeflip.draw.scene import Item, Point, Run, placed, words
from edgeflip.draw.story import predicted
from edgeflip.draw.subject import moves_of
from edgeflip.explainers.beginning import PairSearch
from edgeflip.explainers.dr_cfgnn import DRCFGNN
from edgeflip.oracle import ClassGoal
from edgeflip.pools import likely_additions

OUT = Path(__file__).resolve().parents[1] / "docs" / "figures" / "pipeline.svg"

COLUMNS, CELL, GAP, MARGIN = 3, 270.0, 36.0, 13.0
# A panel from top to bottom: its name, a sentence of two lines, the drawing.
NAME, SENTENCE, LEADING, DRAWN, DRAWING = 24.0, 46.0, 18.0, 76.0, 204.0
ROW = DRAWN + DRAWING + 24.0
SMALL_NODE = 5.0
# Pairs less likely than this are left out: nearly all pairs are.
LEAST = 0.1
# The table: how many, how small their drawings are, how tall a row is, and where its columns end.
FIRST, THUMB, THUMB_ROW, ENDS = 3, 0.29, 62.0, (146.0, 208.0, 262.0)

Sentence: TypeAlias = Sequence[tuple[str, str]]
"""Words and their style, piece by piece."""


class Watched(DRCFGNN):
    """DR-CFGNN that keeps what its stages hand on, so that nothing drawn is computed a second time."""

    def _denoise(self, search: PairSearch) -> Tensor:
        self.dropped = super()._denoise(search)
        return self.dropped

    def _sample(self, search: PairSearch, factual: FactualSubgraph) -> Iterator[Tensor]:
        self.drawn: list[Tensor] = []
        for block in super()._sample(search, factual):
            self.drawn.append(block)
            yield block


@dataclass(frozen=True, eq=False)
class Stages:
    """One run, stage by stage.

    Attributes:
        explainer: Who made it.
        answer: What came of it.
        dropped: Edges that denoising left out.
        core: The factual subgraph.
        likely: How likely each missing edge of the whole graph is, for the class that wants it most.
        above: For every other class, how many missing edges are above the threshold.
        draw: The first edits drawn that both add and remove, or the very first.
        number: How many were drawn until then.
        different: How many different edit sets were drawn, of which the oracle is asked once.
    """

    explainer: Watched
    answer: CounterfactualSet
    dropped: frozenset[Edge]
    core: FactualSubgraph
    likely: dict[Edge, float]
    above: dict[str, int]
    draw: EditSet
    number: int
    different: int

    @cached_property
    def shown(self) -> list[EditSet]:
        """Every edit set that is drawn, the best one first: the layout makes room for it."""
        kept = [entry.edits for entry in self.answer.counterfactuals[:FIRST]]
        return [*kept, self.draw]


def stages_of(explainer: Watched, answer: CounterfactualSet) -> Stages:
    """What the last run of an explainer handed on."""
    space, links, goal = answer.space, explainer.links_, answer.goal
    assert isinstance(space, PairEdits)
    assert isinstance(goal, ClassGoal)
    if answer.factual is None or not answer.found:
        raise SystemExit(f"expected a graph with an answer, got {answer!r}; try another --index.")
    targets = links.targets(goal)
    found = likely_additions(
        links,
        space,
        torch.full((1, 1), PAD),
        targets,
        threshold=LEAST,
        limit=space.pairs.num_pairs,
        may_undo=False,
        check=lambda: None,
    )
    graph, threshold = space.input, explainer.config.threshold
    rated = links.predictor.probabilities_to_each(
        node_features(graph), plain_adjacency(graph)[None], targets
    )
    likely: dict[Edge, float] = {}
    above: dict[str, int] = {}
    for target, rows, chances in zip(targets, found, rated, strict=True):
        pairs = [sorted(edge) for edge in space.pairs.edges_of(rows[rows >= 0])]
        chance = {(u, v): float(chances[0, u, v]) for u, v in pairs}
        above["any class" if target is None else goal.class_name(target)] = sum(
            value > threshold for value in chance.values()
        )
        likely |= {edge: max(value, likely.get(edge, 0.0)) for edge, value in chance.items()}
    drawn = space.edits(space.normalise(explainer.drawn[0]))
    # What is drawn last may not have been asked about; no edits at all have the key 0.
    keys = torch.cat([candidate_keys(block) for block in explainer.drawn])
    keys = keys[: answer.trace.proposals].unique()
    number = next((n for n, edits in enumerate(drawn) if edits.added and edits.removed), 0)
    return Stages(
        explainer,
        answer,
        frozenset(space.pairs.edges_of(explainer.dropped)),
        answer.factual,
        likely,
        above,
        drawn[number],
        number + 1,
        int((keys != 0).sum()),
    )


class Graph:
    """The graph of a run in any of its stages, every node at one place."""

    def __init__(self, stages: Stages) -> None:
        self._stages, graph = stages, stages.answer.graph
        self._edges = sorted(edge_pairs(graph))
        self._names = node_names(graph)
        subject = subject_of(graph, stages.shown, stages.core)
        self._scene = draw_plain(subject, Canvas(CELL, DRAWING, small=True)).panels[1]
        self._core = subject.core_edges
        self._nodes = [item for item in self._scene.under(()).items if isinstance(item, Disc)]
        if len(self._nodes) != graph.num_nodes:
            raise SystemExit(
                f"expected a graph small enough to be drawn whole, got {graph.num_nodes} nodes; try "
                "another --dataset."
            )
        self._at: list[Point] = [disc.at for disc in self._nodes]

    def plain(self, faint: Collection[Edge]) -> list[Item]:
        """The graph without a core, some of its edges faint."""
        return [
            *self._lines([edge for edge in self._edges if edge not in faint], "edge"),
            *self._lines(faint, "stub"),
            *(replace(disc, radius=SMALL_NODE, style="node") for disc in self._nodes),
        ]

    def carried(self, faint: Collection[Edge]) -> list[Item]:
        """The graph with its core in dark, some of its edges faint."""
        others = [edge for edge in self._edges if edge not in self._core and edge not in faint]
        return [
            *self._lines(others, "edge"),
            *self._lines(faint, "stub"),
            *self._lines(self._core, "core-edge"),
            *self._nodes,
        ]

    def possible(self, likely: dict[Edge, float], threshold: float) -> list[Item]:
        """The graph with what may come, the likelier the wider, and what may go."""
        by_style: dict[str, list[Edge]] = {
            "added-likely": [],
            "added-likelier": [],
            "added-likeliest": [],
        }
        for edge, chance in likely.items():
            by_style[_width(chance, threshold)].append(edge)
        items: list[Item] = []
        for style, edges in by_style.items():
            items += self._lines(edges, style)
        items += self._lines([edge for edge in self._edges if edge not in self._core], "edge")
        items += self._lines(self._core, "removed-perhaps")
        return [*items, *self._nodes]

    def edited(self, edits: EditSet) -> list[Item]:
        """The graph after edits."""
        made = [move.key for move in moves_of(edits, self._names)]
        return list(self._scene.under(made).items)

    def thumbnail(self, edits: EditSet) -> list[Item]:
        """The same, so small that signs, rims and plain nodes would hide what they mark."""
        hidden = ("added-badge", "removed-badge", "added-sign", "removed-sign", "casing", "node")
        return [
            item
            for item in self.edited(edits)
            if not isinstance(item, Words) and item.style not in hidden
        ]

    def _lines(self, edges: Collection[Edge], style: str) -> list[Item]:
        return [Line((self._at[u], self._at[v]), style) for u, v in sorted(edges)]


def _width(chance: float, threshold: float) -> str:
    if chance > threshold:
        return "added-likeliest"
    return "added-likelier" if chance > threshold / 2 else "added-likely"


# The six panels: a name, a sentence and a drawing each.

Panel: TypeAlias = tuple[str, Sentence, list[Item]]


def panels_of(stages: Stages) -> list[Panel]:
    """The stages in their order."""
    answer, config, graph = stages.answer, stages.explainer.config, Graph(stages)
    trace, best = answer.trace, answer.counterfactuals[0]
    edges, nodes = len(edge_pairs(answer.graph)), int(answer.graph.num_nodes or 0)
    before = " ".join(predicted(answer.goal, answer.output))
    after = " ".join(predicted(answer.goal, best.output))
    who = {"subgraphx": "SubgraphX", "occlusion": "Occlusion"}[config.factual]
    come, go = len(stages.draw.added), len(stages.draw.removed)
    kept = min(FIRST, len(answer.counterfactuals))
    said: dict[str, Sentence] = {
        "Denoise": [(_dropped_sentence(len(stages.dropped), edges), "")],
        "Deconstruct": [
            (f"{who} keeps {len(stages.core.nodes)} of {nodes} nodes: what makes it a ", ""),
            (before, "strong"),
            (".", ""),
        ],
        "Reconstruct": _possible_sentence(stages),
        "Sample": [
            (f"Number {stages.number:,} of {trace.proposals:,} drawn: ", ""),
            (f"{go} {'goes' if go == 1 else 'go'}", "note-removed"),
            (", and of what is likely then, ", ""),
            (f"{come} {'comes' if come == 1 else 'come'}", "note-added"),
            (".", ""),
        ],
        "Verify": [
            (f"{trace.flips:,} of {stages.different:,} different ones flip. The best: ", ""),
            (f"{before} → {after}", "strong"),
            (".", ""),
        ],
        "Rank": [
            (f"The first {kept} of {trace.flips:,} by score, which is ", ""),
            ("fidelity weighted by size.", ""),
        ],
    }
    drawn = [
        graph.plain(stages.dropped),
        graph.carried(stages.dropped),
        graph.possible(stages.likely, config.threshold),
        graph.edited(stages.draw),
        graph.edited(best.edits),
        _table(stages, graph),
    ]
    return [
        (name, sentence, items) for (name, sentence), items in zip(said.items(), drawn, strict=True)
    ]


def _possible_sentence(stages: Stages) -> Sentence:
    """What may go and come in words, with the meaning of thin lines where there are any."""
    threshold = stages.explainer.config.threshold
    total = sum(chance > threshold for chance in stages.likely.values())
    # A number stays with its word.
    named = [f"{count}\N{NO-BREAK SPACE}for {name}" for name, count in sorted(stages.above.items())]
    thin = f" Thin ones rate below {_short(threshold)}." if total < len(stages.likely) else ""
    return [
        (f"{len(stages.core.edges)} edges may go", "note-removed"),
        (", ", ""),
        (f"{total} may come", "note-added"),
        (f": {', '.join(named)}.{thin}", ""),
    ]


def _dropped_sentence(dropped: int, edges: int) -> str:
    if not dropped:
        return f"All {edges} edges are likely enough to stay."
    are = "is" if dropped == 1 else "are"
    return f"{dropped} of {edges} edges, the least likely, {are} hidden from the next stage; the class stays."


def _table(stages: Stages, graph: Graph) -> list[Item]:
    """The first few counterfactuals with their size, fidelity and score."""
    items: list[Item] = [
        words((end, 10), name, "small", "end")
        for end, name in zip(ENDS, ("size", "fidelity", "score"), strict=True)
    ]
    for place, entry in enumerate(stages.answer.counterfactuals[:FIRST]):
        top = 16 + place * THUMB_ROW
        items.append(Line(((0, top), (CELL, top)), "rule"))
        items += placed(graph.thumbnail(entry.edits), (16, top + 2), THUMB)
        line = top + THUMB_ROW / 2 + 5
        items.append(words((0, line), str(place + 1), "strong"))
        figures = (str(entry.size), _short(entry.fidelity, 3), _short(entry.score, 3))
        items += [
            words((end, line), figure, "value", "end")
            for end, figure in zip(ENDS, figures, strict=True)
        ]
    return items


def _short(value: float, decimals: int = 2) -> str:
    return f"{value:.{decimals}f}".removeprefix("0")


# The picture.


def picture_of(panels: Sequence[Panel], label: str) -> Picture:
    """The panels in rows of three."""
    items: list[Item] = []
    for place, (name, sentence, drawing) in enumerate(panels):
        left = MARGIN + (place % COLUMNS) * (CELL + GAP)
        top = MARGIN + (place // COLUMNS) * ROW
        title = Words((0, NAME), (Run(f"{place + 1}  ", "note"), Run(name, "title")))
        items.append(Line(((left, top), (left + CELL, top)), "rule"))
        items += placed([title, *_lines_of(sentence)], (left, top))
        items += placed(drawing, (left, top + DRAWN))
    rows = -(-len(panels) // COLUMNS)
    width = 2 * MARGIN + COLUMNS * CELL + (COLUMNS - 1) * GAP
    told = " ".join(
        f"{place}. {name}: {''.join(text for text, _ in sentence)}"
        for place, (name, sentence, _) in enumerate(panels, start=1)
    )
    return Picture(Scene(width, MARGIN + rows * ROW - 16, tuple(items), label, told))


def _lines_of(sentence: Sentence) -> list[Words]:
    """A sentence in lines that fit a panel, each piece in its style."""
    lines: list[list[Run]] = [[]]
    used = 0.0
    for text, style in sentence:
        # A coloured piece is not broken: its line beneath would fall apart.
        parts = [text] if style else text.replace(" ", " \0").split("\0")
        for part in parts:
            run = Run(part, style or "note")
            wide = text_width(part.rstrip(), TEXTS[run.style])
            if lines[-1] and used + wide > CELL:
                lines.append([])
                used = 0.0
            if not lines[-1] and not part.strip():
                continue
            if lines[-1] and lines[-1][-1].style == run.style:
                lines[-1][-1] = Run(lines[-1][-1].text + part, run.style)
            else:
                lines[-1].append(run)
            used += text_width(part, TEXTS[run.style])
    return [
        Words((0, SENTENCE + number * LEADING), tuple(line)) for number, line in enumerate(lines)
    ]


def main(argv: Sequence[str] | None = None) -> None:
    """Train, explain and draw."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--dataset", default="ba_3motifs", help="a dataset of plain graphs")
    parser.add_argument("--index", type=int, default=0, help="which test graph")
    parser.add_argument("--profile", default="cpu", help="preset of the oracle and the method")
    parser.add_argument("--out", type=Path, default=OUT, help="an SVG, a PNG or a PDF")
    options = parser.parse_args(argv)
    bundle = load_dataset(options.dataset)
    oracle = train_oracle(bundle, profile=options.profile)
    explainer = Watched.for_dataset(
        options.dataset, profile=options.profile, overrides={"denoise": True}
    )
    explainer.fit([*bundle.train, *bundle.val], oracle)
    answer = explainer.explain(bundle.test[options.index])
    print(answer)
    label = f"DR-CFGNN stage by stage on test graph {options.index} of {options.dataset}"
    picture = picture_of(panels_of(stages_of(explainer, answer)), label)
    print(picture.scene.description)
    picture.save(options.out)
    print(f"drawn in {options.out}")


if __name__ == "__main__":
    main()
