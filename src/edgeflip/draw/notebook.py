"""What a notebook shows: a picture and a table, without any script."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

from edgeflip.core import node_names
from edgeflip.draw.answer import draw_answer
from edgeflip.draw.chemical_lines import Chemical, smiles_html
from edgeflip.draw.grid import draw_grid
from edgeflip.draw.look import DARK, LIGHT, font_family, variables
from edgeflip.draw.patterns import draw_summary
from edgeflip.draw.picture import Picture
from edgeflip.draw.scene import coarse
from edgeflip.draw.story import can_be_drawn, predicted, probability
from edgeflip.draw.svg import plain_text, svg_file
from edgeflip.search import CounterfactualSet

if TYPE_CHECKING:
    from edgeflip.datasets import DatasetBundle
    from edgeflip.explainers import Summary

_ROWS, _GRID = 8, 6
# Bytes of a cell, letters of an entry of its table and of a sentence.
_MOST, _ENTRY, _SENTENCE = 60_000, 300, 1500
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
.edgeflip-cell p{{margin:4px 24px;color:var(--soft);white-space:normal;overflow-wrap:anywhere}}
.edgeflip-cell .narrow{{display:none}}
@media (max-width:600px){{.edgeflip-cell .narrow{{display:block}} .edgeflip-cell table{{margin:4px 8px}}}}
.edgeflip-cell b{{font-weight:600;color:var(--ink)}}
</style>"""


def answer_html(answer: CounterfactualSet) -> str:
    """An answer in a notebook: the picture of the smallest, and a table of those that were kept."""
    told = f"<p>{_short(str(answer), _SENTENCE)}</p>"
    if not can_be_drawn(answer):
        return _cell(told)
    picture, table = draw_answer(answer), _table(answer)
    # In a narrow window the letters of the picture become too small to be read.
    narrow = told.replace("<p>", '<p class="narrow">', 1)

    def around(drawn: str) -> str:
        return f"{narrow}{drawn}{table}" if drawn else f"{told}{table}"

    return _fitting([picture], around, 'answer.save("why.svg")')


def _fitting(pictures: Iterable[Picture], around: Callable[[str], str], name: str) -> str:
    """The first version of a cell that a notebook bears.

    Args:
        pictures: What could be shown, the largest first; each is also tried at whole pixels.
        around: The cell around a picture, or without one.
        name: Of what can be saved in a file instead.
    """
    for picture in pictures:
        for scene in (picture.scene, coarse(picture.scene)):
            cell = _cell(around(svg_file(scene)))
            if len(cell.encode()) < _MOST:
                return cell
    why = f"<p>The picture is too large for a notebook; {plain_text(name)} keeps it in a file.</p>"
    return _cell(f"{around('')}{why}")


def _short(text: str, most: int = _ENTRY) -> str:
    """A text for a cell, cut where it is too long."""
    return plain_text(text if len(text) <= most else f"{text[: most - 1]}…")


def _table(answer: CounterfactualSet) -> str:
    rows = answer.to_rows()
    if len(rows) < 2:
        return ""
    lines = []
    names = node_names(answer.graph) if answer.space.kind == "pairs" else ()
    gap = " " if all(map(str.isdecimal, names)) else ", "
    # The smallest follows where it is not among those kept, as in the rows.
    entries = [*answer.counterfactuals, answer.smallest]
    for row, entry in zip(rows[:_ROWS], entries, strict=False):
        edits = [f"+{names[u]}–{names[v]}" for u, v in row.get("added", ())]
        edits += [f"−{names[u]}–{names[v]}" for u, v in row.get("removed", ())]
        if not names and entry is not None:
            edits = [str(entry.edits)]
        cells = [
            "–" if row["rank"] is None else str(row["rank"]),
            gap.join(edits) or str(row["size"]),
            str(row["size"]),
            "" if entry is None else " ".join(predicted(answer.goal, entry.output)).strip(),
            probability(row["score"]),
        ]
        lines.append((cells, "smallest" if row["smallest"] else ""))
    head = ("rank", "edits", "size", "becomes", "score", "")
    body = "".join(
        "<tr>" + "".join(f"<td>{_short(cell)}</td>" for cell in (*cells, mark)) + "</tr>"
        for cells, mark in lines
    )
    more = f"<p>and {len(rows) - _ROWS} more in answer.to_rows()</p>" if rows[_ROWS:] else ""
    return _grid(head, body) + more


def answers_html(answers: Sequence[CounterfactualSet]) -> str:
    """Answers in a notebook: a few of them drawn, and a table of more."""
    drawn = [answer for answer in answers if can_be_drawn(answer)][:_GRID]
    lines = []
    chemicals = [Chemical.of(answer) for answer in islice(answers, _ROWS)]
    for place, (answer, chemical) in enumerate(zip(answers, chemicals, strict=False)):
        entry = answer.smallest
        cells = [
            str(place),
            answer.goal.describe(answer.output),
            "none found" if entry is None else answer.goal.describe(entry.output),
            "–" if entry is None else answer.space.in_words(entry.edits),
        ]
        shown = [_short(cell) for cell in cells]
        if any(chemicals):
            shown += _chemical_cells(chemical)
        lines.append("<tr>" + "".join(f"<td>{cell}</td>" for cell in shown) + "</tr>")
    found = sum(answer.found for answer in answers)
    told = f"<p><b>{len(answers)} answers</b>, {found} with a counterfactual</p>"
    more = f"<p>and {len(answers) - _ROWS} more; save a gallery of all with "
    more = f'{more}answers.save("gallery.html")</p>' if answers[_ROWS:] else ""
    head = ("", "before", "after", "by", *(("SMILES", "becomes", "") if any(chemicals) else ()))
    table = _grid(head, "".join(lines))
    if not drawn:
        return _cell(f"{told}{table}{more}")
    return _fitting(
        (draw_grid(drawn[:count], columns=3) for count in _fewer(len(drawn))),
        lambda picture: f"{told}{picture}{table}{more}",
        'answers.save("gallery.html")',
    )


def _chemical_cells(chemical: Chemical | None) -> list[str]:
    if chemical is None:
        return ["", "", ""]
    return [smiles_html(chemical.before), smiles_html(chemical.after), chemical.similarity]


def _fewer(count: int) -> list[int]:
    """How many pictures to try: all, then fewer."""
    return [count, *(fewer for fewer in (3, 2, 1) if fewer < count)]


def bundle_html(bundle: DatasetBundle) -> str:
    """A dataset in a notebook: what it is, and a few of its graphs."""
    from edgeflip.draw.grid import draw_graphs

    sizes = bundle.split.sizes
    facts = [
        ("graphs", f"{len(bundle.graphs):,}"),
        ("training, validation, test", " / ".join(f"{size:,}" for size in sizes)),
        ("split", bundle.card.split),
        ("classes", ", ".join(bundle.class_names) or "none: labels are values"),
        ("origin", bundle.card.origin),
        ("licence", bundle.card.licence),
        ("to know", bundle.card.notes),
    ]
    rows = "".join(
        f"<tr><td>{plain_text(name)}</td><td>{_short(str(value), _SENTENCE)}</td></tr>"
        for name, value in facts
        if value
    )
    shown = list(bundle.graphs[:3])
    titles = [_class_of(bundle, graph) for graph in shown]
    title = f"<p><b>{_short(bundle.card.title or bundle.name)}</b></p>"
    if not shown:
        return _cell(f"{title}<table>{rows}</table>")
    return _fitting(
        (draw_graphs(shown[:count], titles[:count], columns=3) for count in _fewer(len(shown))),
        lambda picture: f"{title}<table>{rows}</table>{picture}",
        'draw_graphs(graphs).save("graphs.svg")',
    )


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
    pictures = (draw_summary(summary, count=count, title=title) for count in _fewer(max(1, shown)))
    head = ("pattern", "covers", "coverage so far", "median edits to the nearest")
    table = _grid(head, rows) if rows else ""
    return _fitting(pictures, lambda drawn: f"{drawn}{table}", "edgeflip.draw.draw_summary")


def _grid(head: Sequence[str], body: str) -> str:
    cells = "".join(f"<th>{plain_text(name)}</th>" for name in head)
    return f"<table><thead><tr>{cells}</tr></thead><tbody>{body}</tbody></table>"


def _cell(inside: str) -> str:
    return f'{_STYLE}<div class="edgeflip-cell">{inside}</div>'
