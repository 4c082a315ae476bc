"""The report itself: the same sections as one Markdown file and as one page of HTML."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from edgeflip.bench.report.figures import ReportFigure
from edgeflip.bench.report.render import (
    escape_html,
    escape_markdown,
    html_table,
    markdown_table,
)
from edgeflip.bench.report.results import Results, without_paths
from edgeflip.bench.report.summary import time_shares
from edgeflip.bench.report.tables import ReportTable
from edgeflip.bench.spec import SPLITS
from edgeflip.draw import report_document, svg_part

_PAPER = "In every cell ours stands first and the paper's value after it in parentheses."
_NO_PAPER = (
    "Validation graphs were explained, by methods that learned from training graphs alone. What was "
    "published is of test graphs and cannot be compared, so it is left out, even where a note speaks of it."
)
_INTRO = (
    "Bold is the best of the measured methods in its row, as rounded. “–” is undefined or not measured. With "
    "two seeds or more, ± is the standard deviation over seeds; a method that was run with fewer seeds than "
    "the others says so. Arrows say whether more or less is better."
)
_SECTIONS: Sequence[tuple[str, Sequence[str]]] = (
    ("Overview", ("overview",)),
    ("Cell by cell", ("verdicts", "causes", "cells")),
    (
        "Quality",
        ("quality", "size", "replaced", "motif", "factual_proximity", "minimality", "additions"),
    ),
    ("Answers to look at", ()),
    ("Head to head", ("versus", "aims")),
    ("Robustness", ("noise", "van")),
    ("Time", ("factual", "times", "cost")),
    ("By class", ("classes", "labels")),
    ("Plausibility", ("plausibility", "trust")),
    ("Other measures", ("other",)),
    ("The method's curves", ("sampling", "score")),
    ("Data, oracles and link predictors", ("statistics", "oracles", "links")),
    ("Facts of the run", ("methods", "endings", "failures", "skipped", "overhead")),
)


@dataclass(frozen=True)
class Report:
    """Everything a report shows."""

    results: Results
    tables: Sequence[ReportTable]
    pictures: Sequence[ReportFigure]
    answer_notes: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """The title of the spec, or the name of it."""
        spec = self.results.spec
        return str(spec.get("title") or self.results.meta.get("spec_name") or "Benchmark")

    @property
    def intro(self) -> str:
        """How to read the tables."""
        return f"{_PAPER if self.results.paper.comparable else _NO_PAPER} {_INTRO}"

    def facts(self) -> list[tuple[str, str]]:
        """What was run, when and with what."""
        meta = self.results.meta
        versions = meta.get("versions") or {}
        shares = time_shares(self.results)
        overhead = (
            f"{shares['other'][1]:.1%} of the time outside oracle, training and explainer"
            if shares
            else ""
        )
        facts = [
            ("Command", without_paths(str(meta.get("command") or ""))),
            ("Started", str(meta.get("started") or "")),
            ("Commit", str(meta.get("commit") or "")),
            ("Versions", ", ".join(f"{name} {version}" for name, version in versions.items())),
            ("Machine", str(meta.get("machine") or "")),
            ("Profile", str(self.results.spec.get("profile") or "")),
            ("Graphs", SPLITS[self.results.split]),
            ("Seeds", ", ".join(str(seed) for seed in self.results.spec.get("seeds") or ())),
            ("Spec", f"{meta.get('spec_name') or ''} {str(meta.get('spec_checksum') or '')[:12]}"),
            ("Overhead", overhead),
        ]
        return [(name, value.strip()) for name, value in facts if value.strip()]

    def sections(self) -> list[tuple[str, list[ReportTable | ReportFigure]]]:
        """Titles with their tables and pictures, in the order shown."""
        parts: dict[str, ReportTable | ReportFigure] = {table.key: table for table in self.tables}
        parts.update({picture.name: picture for picture in self.pictures})
        answers = [name for name in parts if name.startswith("answers-")]
        sections = [
            (title, [parts[name] for name in names or answers if name in parts])
            for title, names in _SECTIONS
        ]
        return [(title, found) for title, found in sections if found]


def markdown_page(report: Report) -> str:
    """The report in Markdown; pictures are files beside it."""
    lines = [f"# {escape_markdown(report.title)}", ""]
    lines += [f"- {name}: {escape_markdown(value)}" for name, value in report.facts()]
    lines += ["", report.intro, ""]
    notes = (*report.results.notes, *report.answer_notes)
    lines += [f"> Note: {escape_markdown(note)}\n" for note in notes]
    for title, parts in report.sections():
        lines += [f"## {title}", ""]
        for part in parts:
            lines += [f"### {part.title}", "", part.note, ""]
            if isinstance(part, ReportTable):
                lines += [markdown_table(part), ""]
            else:
                lines += [f"![{part.title}](figures/{part.name}.svg)", ""]
    return "\n".join(lines).rstrip("\n")


def html_page(report: Report) -> str:
    """The report as one page that needs nothing else."""
    sections = report.sections()
    facts = "\n".join(
        f"<dt>{name}</dt><dd>{_fact(name, value)}</dd>" for name, value in report.facts()
    )
    links = "".join(
        f'<li><a href="#{_anchor(title)}">{escape_html(title)}</a></li>' for title, _ in sections
    )
    body = [
        '<a class="skip" href="#results">Skip to the results</a>',
        '<main class="page report">',
        f"<h1>{escape_html(report.title)}</h1>",
        f'<dl class="backing">\n{facts}\n</dl>',
        f"<p>{escape_html(report.intro)}</p>",
        *(
            f"<p><strong>Note:</strong> {escape_html(note)}</p>"
            for note in (*report.results.notes, *report.answer_notes)
        ),
        f'<nav aria-label="Sections"><ul>{links}</ul></nav>',
        '<div id="results">',
    ]
    for title, parts in sections:
        body.append(f'<h2 id="{_anchor(title)}">{escape_html(title)}</h2>')
        for part in parts:
            body.append(f"<h3>{escape_html(part.title)}</h3>")
            body.append(f'<p class="note">{escape_html(part.note)}</p>')
            body.append(html_table(part) if isinstance(part, ReportTable) else _figure(part))
    return report_document(report.title, "\n".join([*body, "</div>", "</main>"]))


def _anchor(title: str) -> str:
    """The name of a section in links."""
    return "".join(letter if letter.isalnum() else "-" for letter in title.casefold())


def _fact(name: str, value: str) -> str:
    text = escape_html(value)
    return f"<code>{text}</code>" if name == "Command" else text


def _figure(picture: ReportFigure) -> str:
    """A picture in the page's own styles; a narrow page scrolls it, so it can have the focus."""
    label = escape_html(picture.title)
    wide = f"--wide:{picture.scene.width:.0f}px"
    drawing = svg_part(picture.scene)
    return f'<figure tabindex="0" aria-label="{label}" style="{wide}">{drawing}</figure>'
