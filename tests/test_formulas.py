"""Formulas of the site are drawn by the browser alone."""

import re
from pathlib import Path
from xml.etree import ElementTree

import formulas
import pytest

DOCS = Path(__file__).resolve().parents[1] / "docs"
NAMES = {"": "http://www.w3.org/1998/Math/MathML"}


def formulas_of_the_pages():
    for path in sorted(DOCS.rglob("*.md")):
        prose = re.sub(
            r"```.*?```|`[^`\n]*`", "", path.read_text(encoding="utf-8"), flags=re.DOTALL
        )
        for block, inline in re.findall(r"\$\$(.+?)\$\$|\$(.+?)\$", prose, re.DOTALL):
            yield block or inline


def test_every_formula_of_the_pages_is_understood():
    found = list(formulas_of_the_pages())
    assert found
    for tex in found:
        assert ElementTree.fromstring(formulas.mathml(tex)).tag.endswith("math")


@pytest.mark.parametrize(
    ("tex", "tag", "parts"),
    [
        (r"\frac{a}{b + 1}", "mfrac", ["a", "b+1"]),
        (r"X'_c", "msubsup", ["X", "c", "′"]),
        (r"2^{\lvert E\rvert}", "msup", ["2", "|E|"]),
        (r"f_y", "msub", ["f", "y"]),
    ],
)
def test_parts_of_a_formula_go_where_they_belong(tex, tag, parts):
    shown = ElementTree.fromstring(formulas.mathml(tex)).find(f"mrow/{tag}", NAMES)
    assert ["".join(part.itertext()) for part in shown] == parts


@pytest.mark.parametrize("tex", [r"\unheard", "x^"])
def test_what_is_not_understood_is_refused_with_the_formula(tex):
    with pytest.raises(ValueError, match=f"expected TeX .*{re.escape(repr(tex))}"):
        formulas.mathml(tex)
