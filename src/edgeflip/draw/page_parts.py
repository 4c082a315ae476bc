"""Pieces of pages: sentences with marks, edits in a few letters, where an answer comes from."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from edgeflip.core import edge_noun, edge_pairs, node_noun
from edgeflip.draw.story import Piece, is_nothing
from edgeflip.draw.subject import Move
from edgeflip.draw.svg import plain_text
from edgeflip.search import Counterfactual, CounterfactualSet

# Names of edits up to this length are not broken into lines; the script has the same number.
_WHOLE = 24


def marked(pieces: Iterable[Piece]) -> str:
    """A sentence as HTML, its names of edits marked."""
    return "".join(
        f'<span class="{kind}{" whole" if len(text) <= _WHOLE else ""}">{plain_text(text)}</span>'
        if kind
        else plain_text(text)
        for text, kind in pieces
    )


def chip(move: Move) -> str:
    """An edit in a few letters, with its sign."""
    sign = "+" if move.kind == "added" else "−"
    long = " long" if len(move.name) > _WHOLE else ""
    return (
        f'<span class="chip is-{move.kind}{long}"><b aria-hidden="true">{sign}</b>'
        f'<span class="sr">{move.kind} </span>{plain_text(move.name)}</span>'
    )


def bar_share(figure: str, value: float) -> str:
    """How long a bar is, as a share of its row: what is written as .00 has none."""
    return "0" if is_nothing(figure) else f"{min(value, 1.0):.4f}"


def graph_size(answer: CounterfactualSet) -> str:
    """The size of the input in words: `25 nodes, 30 edges`."""
    count, edges = int(answer.graph.num_nodes or 0), len(edge_pairs(answer.graph))
    node, edge = node_noun(answer.graph), edge_noun(answer.graph)
    return f"{count:,} {node}{'s'[: count != 1]}, {edges:,} {edge}{'s'[: edges != 1]}"


def provenance(
    answer: CounterfactualSet, entries: Sequence[Counterfactual]
) -> list[tuple[str, str]]:
    """What made an answer, for those who want to make it again."""
    made, trace = answer.provenance, answer.trace
    stages = ", ".join(
        f"{name} {stage.seconds:.2f} s ({stage.oracle_calls:,} model passes)"
        for name, stage in trace.stages.items()
    )
    ring = entries[0].ring if entries else None
    budget = ", ".join(
        f"{name.replace('_', ' ')} {value:g}" for name, value in made.budget.items() if value
    )
    conditions = str(getattr(answer.space, "conditions", ""))
    rows = [
        ("Method", made.method),
        ("Seed", str(made.seed)),
        (
            "Search",
            f"{trace.status.replace('_', ' ')}; ended by: {trace.stopped_by.replace('_', ' ')}",
        ),
        ("Stages", stages),
        ("Ring", "" if ring is None else str(ring)),
        ("Constraints", conditions),
        ("Budget", budget),
        ("Model", f"fingerprint {made.oracle}" if made.oracle else ""),
        ("Versions", ", ".join(f"{name} {version}" for name, version in made.versions.items())),
    ]
    return [(name, value) for name, value in rows if value]
