"""What a notebook shows: a picture and a table, without any script."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

from edgeflip.draw.answer import draw_answer
from edgeflip.draw.grid import draw_grid
from edgeflip.draw.look import DARK, LIGHT, font_family, variables
from edgeflip.draw.patterns import draw_summary
from edgeflip.draw.story import predicted, probability, subject
from edgeflip.draw.svg import plain_text
from edgeflip.search import CounterfactualSet

if TYPE_CHECKING:
    from edgeflip.datasets import DatasetBundle
    from edgeflip.explainers import Summary

_ROWS, _GRID = 8, 6
# Its own colours, so that it can be read whatever the notebook's are.
_STYLE = f"""<style>
.edgeflip-cell{{{variables(LIGHT)};color:var(--ink);background:var(--paper);
font:13px/1.5 {font_family()};font-variant-numeric:tabular-nums;padding:4px 0;overflow-x:auto}}
@media (prefers-color-scheme:dark){{.edgeflip-cell{{{variables(DARK)}}}}}
.edgeflip-cell table{{border-collapse:collapse;margin:4px 24px 8px}}
.edgeflip-cell th,.edgeflip-cell td{{color:var(--ink);background:var(--paper);padding:3px 14px 3px 0;
font-size:13px;border:0;
border-bottom:1px solid var(--rule);text-align:left;font-weight:400;vertical-align:baseline}}
.edgeflip-cell th{{color:var(--soft)}} .edgeflip-cell .n{{text-align:right}}
.edgeflip-cell p{{margin:4px 24px;color:var(--soft)}} .edgeflip-cell b{{font-weight:600;color:var(--ink)}}
</style>"""


def answer_html(answer: CounterfactualSet) -> str:
    """An answer in a notebook: the picture of the smallest, and a table of those that were kept."""
    picture = "" if subject(answer, []) is None else draw_answer(answer).svg
    return _cell(f"{picture}{_table(answer)}" if picture else f"<p>{plain_text(str(answer))}</p>")


def _table(answer: CounterfactualSet) -> str:
    rows = answer.to_rows()
    if len(rows) < 2:
        return ""
    lines = []
    # The smallest follows where it is not among those kept, as in the rows.
    entries = [*answer.counterfactuals, answer.smallest]
    for row, entry in zip(rows[:_ROWS], entries, strict=False):
        edits = [f"+{u}–{v}" for u, v in row.get("added", ())]
        edits += [f"−{u}–{v}" for u, v in row.get("removed", ())]
        cells = [
            "–" if row["rank"] is None else str(row["rank"]),
            " ".join(edits) or str(row["size"]),
            str(row["size"]),
            "" if entry is None else " ".join(predicted(answer.goal, entry.output)).strip(),
            probability(row["score"]),
        ]
        lines.append((cells, "smallest" if row["smallest"] else ""))
    head = ("rank", "edits", "size", "becomes", "score", "")
    body = "".join(
        "<tr>" + "".join(f"<td>{plain_text(cell)}</td>" for cell in (*cells, mark)) + "</tr>"
        for cells, mark in lines
    )
    more = f"<p>and {len(rows) - _ROWS} more in answer.to_rows()</p>" if rows[_ROWS:] else ""
    return _grid(head, body) + more


def answers_html(answers: Sequence[CounterfactualSet]) -> str:
    """Answers in a notebook: a few of them drawn, and a table of more."""
    drawn = [answer for answer in answers if subject(answer, []) is not None][:_GRID]
    picture = draw_grid(drawn, columns=3).svg if drawn else ""
    lines = []
    for place, answer in enumerate(islice(answers, _ROWS)):
        entry = answer.smallest
        cells = [
            str(place),
            answer.goal.describe(answer.output),
            "none found" if entry is None else answer.goal.describe(entry.output),
            "–" if entry is None else answer.space.in_words(entry.edits),
        ]
        lines.append("<tr>" + "".join(f"<td>{plain_text(cell)}</td>" for cell in cells) + "</tr>")
    found = sum(answer.found for answer in answers)
    told = f"<p><b>{len(answers)} answers</b>, {found} with a counterfactual</p>"
    more = f"<p>and {len(answers) - _ROWS} more; save a gallery of all with "
    more = f'{more}answers.save("gallery.html")</p>' if answers[_ROWS:] else ""
    return _cell(f"{told}{picture}{_grid(('', 'before', 'after', 'by'), ''.join(lines))}{more}")


def bundle_html(bundle: DatasetBundle) -> str:
    """A dataset in a notebook: what it is, and a few of its graphs."""
    from edgeflip.draw.grid import draw_graphs

    sizes = bundle.split.sizes
    facts = [
        ("graphs", f"{len(bundle.graphs):,}"),
        ("training, validation, test", " / ".join(f"{size:,}" for size in sizes)),
        ("classes", ", ".join(bundle.class_names)),
        ("origin", bundle.card.origin),
        ("licence", bundle.card.licence),
        ("to know", bundle.card.notes),
    ]
    rows = "".join(
        f"<tr><td>{plain_text(name)}</td><td>{plain_text(str(value))}</td></tr>"
        for name, value in facts
        if value
    )
    shown = list(bundle.graphs[:3])
    titles = [_class_of(bundle, graph) for graph in shown]
    picture = draw_graphs(shown, titles, columns=3).svg if shown else ""
    title = f"<p><b>{plain_text(bundle.card.title or bundle.name)}</b></p>"
    return _cell(f"{title}<table>{rows}</table>{picture}")


def _class_of(bundle: DatasetBundle, graph: Any) -> str:
    label = int(graph.y) if graph.y is not None and graph.y.numel() == 1 else -1
    return bundle.class_names[label] if 0 <= label < len(bundle.class_names) else ""


def summary_html(summary: Summary) -> str:
    """A summary of a class in a notebook: its first patterns, and what each covers."""
    shown = min(len(summary), _GRID)
    rows = "".join(
        f"<tr><td>{row + 1}</td><td>{int(summary.covers[row].sum())}</td>"
        f"<td>{summary.coverage(row + 1):.2f}</td><td>{summary.cost(row + 1):g}</td></tr>"
        for row in range(shown)
    )
    title = f"{len(summary)} counterfactual graphs for {len(summary.inputs)} inputs"
    picture = draw_summary(summary, count=max(1, shown), title=title).svg
    head = ("pattern", "covers", "coverage so far", "median edits to the nearest")
    return _cell(f"{picture}{_grid(head, rows) if rows else ''}")


def _grid(head: Sequence[str], body: str) -> str:
    cells = "".join(f"<th>{plain_text(name)}</th>" for name in head)
    return f"<table><thead><tr>{cells}</tr></thead><tbody>{body}</tbody></table>"


def _cell(inside: str) -> str:
    return f'{_STYLE}<div class="edgeflip-cell">{inside}</div>'
