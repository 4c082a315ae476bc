"""The report itself: the same sections as one Markdown file and as one page of HTML."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from edgeflip.bench.report.figures import Picture
from edgeflip.bench.report.render import (
    escape_html,
    escape_markdown,
    html_table,
    markdown_table,
)
from edgeflip.bench.report.results import Results, without_paths
from edgeflip.bench.report.summary import time_shares
from edgeflip.bench.report.tables import ReportTable

_INTRO = (
    "In every cell ours stands first and the paper's value after it in parentheses; bold is the best "
    "of the measured methods in its row, as rounded. “–” is undefined or not measured. With two seeds "
    "or more, ± is the standard deviation over seeds. Arrows say whether more or less is better."
)
_SECTIONS: Sequence[tuple[str, Sequence[str]]] = (
    ("Overview", ("overview", "far")),
    ("Quality", ("quality", "size", "motif", "minimality", "additions")),
    ("Head to head", ("versus", "aims")),
    ("Robustness", ("noise", "van")),
    ("Time", ("factual", "times", "cost")),
    ("By class", ("classes", "labels")),
    ("Plausibility", ("plausibility",)),
    ("Other measures", ("other",)),
    ("The method's curves", ("sampling", "score")),
    ("Facts of the run", ("methods", "oracles", "endings", "failures", "skipped", "overhead")),
)
_CSS = """
:root { color-scheme: light dark; --ink: #1f2328; --soft: #59636e; --line: #d1d9e0;
  --back: #ffffff; --box: #f6f8fa; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6edf3; --soft: #9aa4af; --line: #3d444d;
  --back: #0d1117; --box: #151b23; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1.5rem; max-width: 76rem; color: var(--ink);
  background: var(--back); font: 16px/1.5 system-ui, sans-serif; }
h1, h2, h3 { line-height: 1.25; }
h2 { margin-top: 2.5rem; border-bottom: 1px solid var(--line); padding-bottom: .3rem; }
h3 { margin: 2rem 0 .4rem; font-size: 1.05rem; }
p { max-width: 48rem; }
.note, .paper { color: var(--soft); }
.note { font-size: .92rem; margin: .3rem 0 .8rem; }
.scroll { overflow-x: auto; border: 1px solid var(--line); border-radius: 6px; }
table { border-collapse: collapse; font-size: .85rem; font-variant-numeric: tabular-nums; }
th, td { padding: .4rem .7rem; border-bottom: 1px solid var(--line); text-align: center;
  white-space: nowrap; }
td.text { white-space: normal; min-width: 22rem; max-width: 40rem; text-align: left; }
tbody tr:last-child > * { border-bottom: 0; }
thead th { background: var(--box); }
th[scope=row] { text-align: left; font-weight: 600; }
figure { margin: 1rem 0; padding: .5rem; background: #ffffff; border: 1px solid var(--line);
  border-radius: 6px; overflow-x: auto; text-align: center; }
figure svg { max-width: 100%; height: auto; min-width: 30rem; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .2rem 1rem; }
dt { color: var(--soft); } dd { margin: 0; overflow-wrap: anywhere; }
code { font-size: .92em; }
"""


@dataclass(frozen=True)
class Report:
    """Everything a report shows."""

    results: Results
    tables: Sequence[ReportTable]
    pictures: Sequence[Picture]

    @property
    def title(self) -> str:
        """The title of the spec, or the name of it."""
        spec = self.results.spec
        return str(spec.get("title") or self.results.meta.get("spec_name") or "Benchmark")

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
            ("Versions", ", ".join(f"{name} {version}" for name, version in versions.items())),
            ("Machine", str(meta.get("machine") or "")),
            ("Profile", str(self.results.spec.get("profile") or "")),
            ("Seeds", ", ".join(str(seed) for seed in self.results.spec.get("seeds") or ())),
            ("Spec", f"{meta.get('spec_name') or ''} {str(meta.get('spec_checksum') or '')[:12]}"),
            ("Overhead", overhead),
        ]
        return [(name, value.strip()) for name, value in facts if value.strip()]

    def sections(self) -> list[tuple[str, list[ReportTable | Picture]]]:
        """Titles with their tables and pictures, in the order shown."""
        parts: dict[str, ReportTable | Picture] = {table.key: table for table in self.tables}
        parts.update({picture.name: picture for picture in self.pictures})
        sections = [
            (title, [parts[name] for name in names if name in parts]) for title, names in _SECTIONS
        ]
        return [(title, found) for title, found in sections if found]


def markdown_page(report: Report) -> str:
    """The report in Markdown; pictures are files beside it."""
    lines = [f"# {escape_markdown(report.title)}", ""]
    lines += [f"- {name}: {escape_markdown(value)}" for name, value in report.facts()]
    lines += ["", _INTRO, ""]
    lines += [f"> Note: {escape_markdown(note)}\n" for note in report.results.notes]
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
    facts = "\n".join(
        f"<dt>{name}</dt><dd>{_fact(name, value)}</dd>" for name, value in report.facts()
    )
    body = [f"<h1>{escape_html(report.title)}</h1>", f"<dl>\n{facts}\n</dl>"]
    body.append(f"<p>{escape_html(_INTRO)}</p>")
    body += [f"<p><strong>Note:</strong> {escape_html(note)}</p>" for note in report.results.notes]
    for title, parts in report.sections():
        body.append(f"<h2>{escape_html(title)}</h2>")
        for part in parts:
            body.append(f"<h3>{escape_html(part.title)}</h3>")
            body.append(f'<p class="note">{escape_html(part.note)}</p>')
            body.append(html_table(part) if isinstance(part, ReportTable) else _figure(part))
    return "\n".join(
        [
            '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{escape_html(report.title)}</title>",
            f"<style>{_CSS}</style>\n</head>\n<body>",
            *body,
            "</body>\n</html>",
        ]
    )


def _fact(name: str, value: str) -> str:
    text = escape_html(value)
    return f"<code>{text}</code>" if name == "Command" else text


def _figure(picture: Picture) -> str:
    drawing = picture.svg[picture.svg.index("<svg") :]
    label = escape_html(picture.title)
    drawing = drawing.replace("<svg ", f'<svg role="img" aria-label="{label}" ', 1)
    return f"<figure>{drawing}</figure>"
