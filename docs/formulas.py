"""Formulas of the site as MathML, which browsers draw by themselves, with no script and no other host."""

from __future__ import annotations

from html import escape

from docutils import nodes
from latex2mathml import exceptions
from latex2mathml.converter import convert
from sphinx.util import logging

_REFUSED = tuple(
    kind
    for kind in vars(exceptions).values()
    if isinstance(kind, type) and issubclass(kind, Exception)
)


def mathml(tex: str, *, block: bool = False) -> str:
    """A formula as a `<math>` element."""
    advice = f"expected TeX that latex2mathml knows, got {tex!r}; write it in other words."
    try:
        shown = convert(tex, display="block" if block else "inline")
    except _REFUSED as error:
        raise ValueError(advice) from error
    # Commands that it does not know are left as they are.
    if "\\" in shown or "&#x0005C;" in shown:
        raise ValueError(advice)
    return shown


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
