"""Formulas of the site are drawn by the browser alone."""

import re
from pathlib import Path
from xml.etree import ElementTree

import formulas
import pytest

DOCS = Path(__file__).resolve().parents[1] / "docs"


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
        assert ElementTree.fromstring(formulas.mathml(tex)).tag == "math"


def text(tex):
    return "".join(ElementTree.fromstring(formulas.mathml(tex)).itertext())


@pytest.mark.parametrize(
    ("tex", "tag", "parts"),
    [
        (r"\frac{a}{b + 1}", "mfrac", ["a", "b+1"]),
        (r"X'_c", "msubsup", ["X", "c", "′"]),
        (r"2^{\lvert E\rvert}", "msup", ["2", "|E|"]),
        (r"\max_{c \in C}", "munder", ["max", "c∈C"]),
        (r"f_y", "msub", ["f", "y"]),
    ],
)
def test_parts_of_a_formula_go_where_they_belong(tex, tag, parts):
    shown = ElementTree.fromstring(formulas.mathml(tex)).find(f"mrow/{tag}")
    assert ["".join(part.itertext()) for part in shown] == parts


def test_words_keep_their_spaces_and_signs_are_escaped():
    assert text(r"\text{a < b} - 1.5") == "a\N{NO-BREAK SPACE}<\N{NO-BREAK SPACE}b−1.5"


@pytest.mark.parametrize("tex", [r"\unheard", "{a", "a}", r"\frac{a}", r"\text a", "x^"])
def test_what_is_not_understood_is_refused_with_the_formula(tex):
    with pytest.raises(ValueError, match=f"expected .*{re.escape(repr(tex))}"):
        formulas.mathml(tex)
