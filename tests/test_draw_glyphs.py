"""Letters of every script in PNG and PDF: from a font that has them, or a sign, and never a warning."""

import logging
import unicodedata
import warnings

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeflip.draw import Picture, Scene
from edgeflip.draw.look import TEXTS
from edgeflip.draw.scene import words

pytest.importorskip("matplotlib")
from matplotlib import font_manager

from edgeflip.draw.glyphs import Typesetter

SCRIPTS = [
    *("犬が好き", "汉字", "한국어", "🐕", "👨‍👩‍👧", "❤️", "مرحبا", "שלום"),
    *("नमस्ते", "ไทย", "𝔘", "\ue000", "née"),
]
LETTERS = st.text(st.characters(exclude_categories=("Cs", "Cc", "Zl", "Zp")), max_size=12)


def saved(text, folder, ending="png"):
    items = [
        words((10, 20 + 24 * row), text, style, halo=row % 2 == 1)
        for row, style in enumerate(("value", "headline", "mono", "published"))
    ]
    return Picture(Scene(400, 120, tuple(items))).save(folder / f"text.{ending}")


@pytest.mark.parametrize("ending", ["png", "pdf"])
@pytest.mark.parametrize("text", SCRIPTS)
def test_no_script_brings_a_warning(text, ending, tmp_path, caplog):
    with warnings.catch_warnings(), caplog.at_level(logging.WARNING):
        warnings.simplefilter("error")
        # An older matplotlib calls what its newer parser renames, which says nothing of letters.
        warnings.filterwarnings("ignore", category=DeprecationWarning)
        assert saved(text, tmp_path, ending).stat().st_size > 0
    assert not caplog.records


@settings(max_examples=25, deadline=None)
@given(text=LETTERS)
def test_no_letters_bring_a_warning(text, tmp_path_factory):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # An older matplotlib calls what its newer parser renames, which says nothing of letters.
        warnings.filterwarnings("ignore", category=DeprecationWarning)
        saved(text, tmp_path_factory.mktemp("text"))


def test_letters_that_no_font_has_become_a_square_and_unseen_ones_nothing():
    setter = Typesetter(0.75)
    assert setter.writable("a\ue000b", TEXTS["value"]) == "a□b"
    assert setter.writable("née ≤ 5", TEXTS["value"]) == "née ≤ 5"
    joined = setter.writable("\ue000\u200d\ufe0f", TEXTS["mono"])
    assert "".join(c for c in joined if unicodedata.category(c) not in ("Cf", "Mn")) == "□"


def test_a_font_that_has_the_letters_is_taken_where_one_is_installed():
    names = {name for name in font_manager.get_font_names() if "Noto Sans CJK" in name}
    if not names:
        pytest.skip("no font of East Asia is installed")
    setter = Typesetter(0.75)
    assert setter.writable("犬", TEXTS["value"]) == "犬"
    assert names & set(setter.font(TEXTS["value"]).get_family())
    assert setter.borrows("犬", TEXTS["value"])
    assert not setter.borrows("dog", TEXTS["value"])


def test_without_any_further_font_there_is_a_square(monkeypatch):
    monkeypatch.setattr(font_manager, "get_font_names", lambda: ["DejaVu Sans", "DejaVu Sans Mono"])
    assert Typesetter(0.75).writable("犬 dog", TEXTS["value"]) == "□ dog"


def test_letters_from_further_fonts_are_outlines_in_a_pdf(tmp_path):
    assert b"CJK" not in saved("犬", tmp_path, "pdf").read_bytes()
