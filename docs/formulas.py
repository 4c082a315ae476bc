"""Formulas of the site as MathML, which browsers draw by themselves, with no script and no other host.

The pages write formulas in TeX, so they can be read on GitHub too. What they use is understood; anything
else is a `ValueError`, and a warning in the build.
"""

from __future__ import annotations

import re
from html import escape

from docutils import nodes
from sphinx.util import logging

_TOKEN = re.compile(
    r"\s*(?:(?P<command>\\(?:[A-Za-z]+|.))|(?P<number>\d+(?:\.\d+)?)|(?P<other>\S))"
)
_LETTERS = {
    "alpha": "α", "beta": "β", "gamma": "γ", "lambda": "λ", "sigma": "σ", "emptyset": "∅",
    "exp": "exp", "cos": "cos",
}  # fmt: skip
_SIGNS = {
    "cup": "∪", "cap": "∩", "oplus": "⊕", "subsetneq": "⊊", "ne": "≠", "in": "∈", "cdot": "·",
}  # fmt: skip
_FENCES = {
    "lvert": ("|", "prefix"),
    "rvert": ("|", "postfix"),
    "{": ("{", "prefix"),
    "}": ("}", "postfix"),
}
_WITH_LIMITS = {"sum": "∑", "max": "max"}
_PRIME = '<mo lspace="0" rspace="0" style="font-size: 1.35em">′</mo>'
_SPACES = {",": ".17em", " ": ".25em"}


def mathml(tex: str, *, block: bool = False) -> str:
    """A formula as a `<math>` element."""
    reader = _Reader(tex)
    inside = reader.row()
    if reader.next:
        raise ValueError(f"expected a formula with paired braces, got {tex!r}; pair them.")
    display = ' display="block"' if block else ' displaystyle="true"' if r"\frac" in tex else ""
    return f"<math{display}>{inside}</math>"


class _Reader:
    """Goes through a formula once, from left to right."""

    def __init__(self, tex: str) -> None:
        self.tex = tex
        self.at = 0

    @property
    def next(self) -> str:
        """The token ahead; empty at the end."""
        match = _TOKEN.match(self.tex, self.at)
        return match[match.lastgroup] if match else ""

    def take(self) -> str:
        token = self.next
        if not token:
            raise ValueError(f"expected a formula, got {self.tex!r}, which ends too early.")
        self.at = _TOKEN.match(self.tex, self.at).end()
        return token

    def row(self) -> str:
        """Everything up to a closing brace or the end."""
        parts = []
        while self.next not in ("", "}"):
            parts.append(self.with_scripts())
        return f"<mrow>{''.join(parts)}</mrow>"

    def group(self) -> str:
        """A group in braces, or one token."""
        if self.next != "{":
            return self.atom()
        self.take()
        inside = self.row()
        if self.next != "}":
            raise ValueError(f"expected a closing brace in {self.tex!r}; add it.")
        self.take()
        return inside

    def words(self) -> str:
        """The text in braces, with its spaces."""
        match = re.compile(r"\s*\{([^{}]*)\}").match(self.tex, self.at)
        if not match:
            raise ValueError(f"expected text in braces in {self.tex!r}; add them.")
        self.at = match.end()
        return escape(match.group(1)).replace(" ", "\N{NO-BREAK SPACE}")

    def with_scripts(self) -> str:
        limits = self.next.removeprefix("\\") in _WITH_LIMITS
        base, below, above = self.group(), "", ""
        while self.next in ("_", "^", "'"):
            sign = self.take()
            if sign == "_":
                below = self.group()
            else:
                above += self.group() if sign == "^" else _PRIME
        if above.startswith(_PRIME):
            above = f"<mrow>{above}</mrow>"
        scripts = ("munder", "mover", "munderover") if limits else ("msub", "msup", "msubsup")
        if below and above:
            return f"<{scripts[2]}>{base}{below}{above}</{scripts[2]}>"
        if below or above:
            tag = scripts[0] if below else scripts[1]
            return f"<{tag}>{base}{below or above}</{tag}>"
        return base

    def atom(self) -> str:
        token = self.take()
        if not token.startswith("\\"):
            if token[0].isdigit():
                return f"<mn>{token}</mn>"
            if token.isalpha():
                return f"<mi>{token}</mi>"
            return f'<mo stretchy="false">{escape(token.replace("-", "−"))}</mo>'
        name = token[1:]
        if name in _LETTERS:
            return f"<mi>{_LETTERS[name]}</mi>"
        if name in _SIGNS:
            return f'<mo stretchy="false">{_SIGNS[name]}</mo>'
        if name in _FENCES:
            sign, form = _FENCES[name]
            return f'<mo stretchy="false" form="{form}">{sign}</mo>'
        if name in _WITH_LIMITS:
            return f'<mo movablelimits="true">{_WITH_LIMITS[name]}</mo>'
        if name in _SPACES:
            return f'<mspace width="{_SPACES[name]}"></mspace>'
        if name == "frac":
            return f"<mfrac>{self.group()}{self.group()}</mfrac>"
        if name == "overline":
            return (
                f'<mrow style="border-top: .06em solid; padding-top: .15em">{self.group()}</mrow>'
            )
        if name == "text":
            return f"<mtext>{self.words()}</mtext>"
        if name == "mathrm":
            return f'<mi mathvariant="normal">{self.words()}</mi>'
        if name in ("bigl", "bigr"):
            sign = escape(self.take())
            return f'<mo stretchy="true" minsize="1.4em" maxsize="1.4em">{sign}</mo>'
        raise ValueError(
            f"expected TeX that docs/formulas.py knows, got {token!r} in {self.tex!r}; add it there."
        )


def _write(translator, node, *, block):
    try:
        shown = mathml(node.astext(), block=block)
    except ValueError as error:
        logging.getLogger(__name__).warning(str(error), location=node)
        shown = f"<code>{escape(node.astext())}</code>"
    translator.body.append(f'<div class="math">{shown}</div>' if block else shown)
    raise nodes.SkipNode


def _inline(translator, node):
    _write(translator, node, block=False)


def _block(translator, node):
    _write(translator, node, block=True)


def setup(app):
    app.add_html_math_renderer(
        "mathml", inline_renderers=(_inline, None), block_renderers=(_block, None)
    )
