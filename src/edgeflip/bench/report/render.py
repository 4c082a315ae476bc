"""Tables as Markdown, LaTeX, HTML and CSV; whatever comes from data is escaped here."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape

from edgeflip.bench.report.tables import NOTHING, Cell, Entry, ReportTable, flat
from edgeflip.support import without_turns

CSV_HEAD = ("table", "dataset", "method", "metric", "ours", "ours_sd", "paper")
_LONG_TEXT = 40

_LATEX = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "–": "--",
    "−": "$-$",
    "±": r"$\pm$",
    "×": r"$\times$",
    "²": "$^{2}$",
    "↑": r"$\uparrow$",
    "↓": r"$\downarrow$",
    "…": r"\ldots{}",
    "“": "``",
    "”": "''",
}


@dataclass(frozen=True)
class Syntax:
    """How one format writes what is in a cell."""

    escape: Callable[[str], str]
    bold: Callable[[str], str]
    paper: Callable[[str], str]
    stack: Callable[[Sequence[str]], str]


def escape_latex(text: str) -> str:
    """Text as LaTeX prints it."""
    return "".join(_LATEX.get(character, character) for character in _one_line(text))


def escape_markdown(text: str) -> str:
    """Text as Markdown shows it, in a table too."""
    plain = escape(_one_line(text), quote=False)
    return re.sub(r"([\\`*_\[\]|~])", r"\\\1", plain)


def escape_html(text: str) -> str:
    """Text as HTML shows it, in attributes too."""
    return escape(without_turns(text), quote=True)


def _one_line(text: str) -> str:
    return " ".join(without_turns(text).split())


MARKDOWN = Syntax(escape_markdown, lambda text: f"**{text}**", str, "<br>".join)
HTML = Syntax(
    escape_html,
    lambda text: f"<strong>{text}</strong>",
    lambda text: f'<span class="paper">{text}</span>',
    "<br>".join,
)
LATEX = Syntax(
    escape_latex,
    lambda text: rf"\textbf{{{text}}}",
    str,
    lambda lines: lines[0] if len(lines) == 1 else r"\shortstack{" + r"\\ ".join(lines) + "}",
)


def _entry(entry: Entry, syntax: Syntax) -> str:
    ours = syntax.escape(entry.text)
    parts = [syntax.bold(ours) if entry.best else ours, syntax.escape(entry.detail)]
    if entry.printed:
        parts.append(syntax.paper(syntax.escape(entry.printed)))
    return " ".join(part for part in parts if part)


def _cell(cell: Cell, syntax: Syntax) -> str:
    if isinstance(cell, str):
        return syntax.escape(cell)
    if all(entry.ours is None and entry.paper is None for entry in flat(cell)):
        return syntax.escape(NOTHING)
    return syntax.stack([" / ".join(_entry(entry, syntax) for entry in line) for line in cell])


def _grid(table: ReportTable, syntax: Syntax) -> list[list[str]]:
    """All texts of a table in a format, its head first."""
    head = [syntax.escape(text) for text in (*table.head, *table.columns)]
    rows = [
        [*(syntax.escape(text) for text in row.head), *(_cell(cell, syntax) for cell in row.cells)]
        for row in table.rows
    ]
    return [head, *rows]


def markdown_table(table: ReportTable) -> str:
    """The table in Markdown, without its title and note."""
    head, *rows = _grid(table, MARKDOWN)
    if not rows:
        return "None."
    rule = ["---"] * len(table.head) + [":-:"] * len(table.columns)
    return "\n".join(f"| {' | '.join(line)} |" for line in (head, rule, *rows))


def html_table(table: ReportTable) -> str:
    """The table in HTML, in a box that scrolls by itself."""
    head, *rows = _grid(table, HTML)
    if not rows:
        return "<p>None.</p>"
    left = len(table.head)
    kinds = [' class="text"' if long else "" for long in _long_columns(table)]
    lines = [
        "<thead><tr>",
        *(f'<th scope="col" class="name">{text}</th>' for text in head[:left]),
        *(f'<th scope="col">{text}</th>' for text in head[left:]),
        "</tr></thead><tbody>",
    ]
    for row in rows:
        lines.append("<tr>")
        lines += [f'<th scope="row">{text}</th>' for text in row[:left]]
        lines += [f"<td{wide}>{text}</td>" for wide, text in zip(kinds, row[left:], strict=True)]
        lines.append("</tr>")
    label = escape_html(table.title)
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{label}"><table>\n'
        + "\n".join(lines)
        + "\n</tbody></table></div>"
    )


def latex_table(table: ReportTable) -> str:
    r"""The table in LaTeX with booktabs, title and note as its caption."""
    head, *rows = _grid(table, LATEX)
    body = [r" & ".join(row) + r" \\" for row in rows] or [
        rf"\multicolumn{{{len(head)}}}{{c}}{{None.}} \\"
    ]
    entries = [entry for row in table.rows for cell in row.cells for entry in flat(cell)]
    bold = "best of ours" if any(entry.best for entry in entries) else ""
    paper = "the paper" if any(entry.paper is not None for entry in entries) else ""
    marks = [("Bold", bold), ("In parentheses", paper)]
    caption = [
        f"{escape_latex(table.title)}.",
        escape_latex(table.note),
        *(f"{mark}: {meaning}." for mark, meaning in marks if meaning),
    ]
    lines = [
        r"% needs \usepackage{booktabs} and \usepackage{graphicx}",
        r"\begin{table}[t]",
        rf"\caption{{{' '.join(caption)}}}",
        rf"\label{{tab:edgeflip-{table.key}}}",
        r"\centering",
        r"\resizebox{\linewidth}{!}{%",
        rf"\begin{{tabular}}{{{_column_spec(table)}}}",
        r"\toprule",
        r" & ".join(head) + r" \\",
        r"\midrule",
        *body,
        r"\bottomrule",
        r"\end{tabular}%",
        "}",
        r"\end{table}",
    ]
    return "\n".join(lines)


def _column_spec(table: ReportTable) -> str:
    return "l" * len(table.head) + "".join(
        "p{7cm}" if long else "c" for long in _long_columns(table)
    )


def _long_columns(table: ReportTable) -> list[bool]:
    """Which columns hold sentences, and so have to wrap."""
    columns = zip(*(row.cells for row in table.rows), strict=True)
    long = [
        any(isinstance(cell, str) and len(cell) > _LONG_TEXT for cell in cells) for cells in columns
    ]
    return long or [False] * len(table.columns)


def csv_table(tables: Sequence[ReportTable]) -> str:
    """Every number of all tables in long form; an interval is two lines of its own."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(CSV_HEAD)
    for table in tables:
        for dataset, method, entry in table.entries():
            if entry.ours is None and entry.paper is None:
                continue
            name = entry.name
            numbers = (_plain(value) for value in (entry.ours, entry.sd, entry.paper))
            writer.writerow((table.key, dataset, method, name, *numbers))
            for end, value in zip(("low", "high"), entry.interval or (), strict=False):
                writer.writerow(
                    (table.key, dataset, method, f"{name}_{end}", _plain(value), "", "")
                )
    return out.getvalue()


def _plain(value: float | None) -> str:
    return "" if value is None else f"{value:.6g}"
