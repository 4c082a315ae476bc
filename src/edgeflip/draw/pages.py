"""What every page has: one file that needs nothing else, its look, its script, and data that stays data."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any

from edgeflip.draw.look import DARK, LIGHT, MONO_FONTS, font_family, variables
from edgeflip.draw.svg import all_style_rules, plain_text

# On paper there is no dark theme.
_THEMES = f"""
:root {{ color-scheme: light dark; {variables(LIGHT)};
--font:{font_family()}; --mono:{font_family(MONO_FONTS)} }}
@media (prefers-color-scheme: dark) {{ @media screen {{ :root {{ {variables(DARK)} }} }} }}
svg.edgeflip text {{ font-family: var(--font); white-space: pre; }}
"""


@cache
def page_styles() -> str:
    """The styles of every page."""
    return f"{_THEMES}{all_style_rules('svg.edgeflip')}\n{resource('look.css')}"


@cache
def resource(name: str) -> str:
    """A file of the pages, such as their script."""
    return (files("edgeflip.draw") / "page" / name).read_text(encoding="utf-8")


def json_block(payload: Any, name: str = "data") -> str:
    """Data for a script; nothing in it can end the block, whoever wrote the texts."""
    text = json.dumps(payload, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    for letter in "<>&":
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    return f'<script type="application/json" id="{name}">{text}</script>'


def document(title: str, body: str, *, scripts: str = "", styles: str = "", mark: str = "") -> str:
    """A whole page.

    Args:
        title: In the bar of the browser.
        body: HTML whose texts are escaped.
        scripts: What follows it: data and scripts.
        styles: What this kind of page has beyond the styles of all pages.
        mark: Who wrote it, for its head.
    """
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f"{mark}"
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{plain_text(title)}</title>\n<style>{page_styles()}{styles}</style>\n</head>\n"
        f"<body>\n{body}\n{scripts}\n</body>\n</html>"
    )


def script(name: str) -> str:
    """A script of the pages, in place."""
    return f"<script>\n{resource(name)}</script>"


def report_document(title: str, body: str) -> str:
    """A whole page of tables and pictures."""
    return document(title, body, styles=resource("report.css"))
