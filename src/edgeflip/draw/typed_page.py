"""The page of an answer by typed edits: every counterfactual as a picture, and a table; it has no script."""

from __future__ import annotations

from edgeflip.draw.answer import draw_answer
from edgeflip.draw.page_marks import page_mark
from edgeflip.draw.page_parts import graph_size, marked, provenance
from edgeflip.draw.pages import document
from edgeflip.draw.story import headline, predicted, proof, ranked, text_of
from edgeflip.draw.svg import plain_text, svg_file
from edgeflip.search import CounterfactualSet

# Counterfactuals that are drawn, and those that a table has.
_DRAWN, _ROWS = 6, 50


def typed_page(answer: CounterfactualSet, title: str = "", home: str = "") -> str:
    """An answer by typed edits as a page that needs no server and no other file.

    Args:
        answer: What was found.
        title: What was explained; by default the size of the graph.
        home: Where the link to all answers leads, if there is one.
    """
    entries = ranked(answer)[:_ROWS]
    sentence = headline(answer, entries[0] if entries else None)
    link = f'<a class="tools" href="{plain_text(home)}">All answers</a>' if home else ""
    pictures = [draw_answer(answer, entry) for entry in entries[:_DRAWN]] or [draw_answer(answer)]
    figures = "".join(f"<figure>{svg_file(picture.scene)}</figure>" for picture in pictures)
    rows = "".join(
        "<tr>"
        + "".join(
            f"<td>{plain_text(cell)}</td>"
            for cell in (
                answer.space.in_words(entry.edits),
                str(entry.cost),
                " ".join(predicted(answer.goal, entry.output)).strip(),
            )
        )
        + "</tr>"
        for entry in entries
    )
    table = (
        "<table><thead><tr><th>edits</th><th>cost</th><th>becomes</th></tr></thead>"
        f"<tbody>{rows}</tbody></table>"
    )
    made = "".join(
        f"<dt>{plain_text(name)}</dt><dd>{plain_text(value)}</dd>"
        for name, value in provenance(answer, entries)
    )
    first = entries[0] if entries else None
    body = f"""<main class="page">
<p class="where"><b>edgeflip</b><span>{plain_text(title or graph_size(answer))}</span>{link}</p>
<h1>{marked(sentence)}</h1>
<p>{plain_text(proof(answer, first))}</p>
{figures}
{table if entries else ""}
<dl>{made}</dl>
</main>"""
    styles = "figure{margin:0 0 24px;overflow-x:auto} td{padding:4px 16px 4px 0}"
    return document(text_of(sentence), body, styles=styles, mark=page_mark(home))
