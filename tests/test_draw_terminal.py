"""Edits in plain characters: words with their changed links beneath, other graphs line by line."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch_geometric.data import Data

from edgeflip.core import EditSet
from edgeflip.draw import terminal_drawing
from edgeflip.draw.characters import columns, cut
from edgeflip.draw.subject import subject_of
from edgeflip.errors import ConfigError
from made_up_sentences import BEST, LINKS, TWEET, chain, sentence


def drawn(graph, edits, **options):
    return terminal_drawing(subject_of(graph, [edits]), **options).split("\n")


def test_changed_links_run_beneath_their_words():
    assert drawn(sentence(TWEET, LINKS), BEST) == [
        "Watching oprah with Goldie Hawn regarding happiness should be interesting",
        "   ╰╌╌╌−╌╌╌╯                ╰──────────────────+───────────────────╯",
    ]


def test_links_that_cross_have_lines_of_their_own():
    graph = chain(["good", "film", "with", "heart"])
    assert drawn(graph, EditSet(added={(0, 2), (1, 3)})) == [
        "good film with heart",
        " ╰───+┼────╯     │",
        "      ╰────+─────╯",
    ]


def test_links_between_lines_are_told_in_words():
    lines = drawn(sentence(TWEET, LINKS), BEST, width=40)
    assert lines == [
        "Watching oprah with Goldie Hawn",
        "   ╰╌╌╌−╌╌╌╯",
        "regarding happiness should be",
        "interesting",
        "Hawn ─+─ interesting",
    ]


def test_links_at_a_word_too_short_for_them_are_told_in_words():
    graph = chain(["a", "b", "c"])
    assert drawn(graph, EditSet(added={(0, 2)}, removed={(0, 1)})) == [
        "a b c",
        "╰−╯",
        "a ─+─ c",
    ]


def test_ascii_is_ascii():
    graph = chain(["très", "犬", ""])
    text = terminal_drawing(
        subject_of(graph, [EditSet(added={(0, 2)}, removed={(1, 2)})]), ascii=True
    )
    assert text.isascii()
    assert text.startswith('tres ? ""')
    assert "+" in text


def test_edits_of_molecules_and_plain_graphs_have_a_line_each():
    edges = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
    edits = EditSet(added={(0, 2)}, removed={(0, 1)})
    molecule = Data(edge_index=edges, num_nodes=3, z=torch.tensor([6, 7, 8]))
    assert drawn(molecule, edits) == ["+ C (0) ── O (2)", "− C (0) ╌╌ N (1)"]
    plain = Data(edge_index=edges, num_nodes=3)
    assert drawn(plain, edits) == ["+ 0 ── 2", "− 0 ╌╌ 1"]
    assert drawn(plain, edits, ascii=True) == ["+ 0 -- 2", "- 0 .. 1"]


def test_without_edits_a_sentence_is_written_and_a_graph_is_not():
    assert terminal_drawing(subject_of(chain(["so", "good"]), [])) == "so good"
    plain = Data(edge_index=torch.tensor([[0, 1], [1, 0]]), num_nodes=2)
    assert terminal_drawing(subject_of(plain, [])) == ""


def test_of_many_edits_the_first_are_listed():
    plain = Data(edge_index=torch.zeros(2, 0, dtype=torch.long), num_nodes=30)
    lines = drawn(plain, EditSet(added={(0, node) for node in range(1, 30)}))
    assert len(lines) == 13
    assert lines[-1] == "… and 17 more"


def test_only_the_edits_of_the_headline_are_drawn():
    graph = chain(["not", "so", "good"])
    subject = subject_of(graph, [EditSet(added={(0, 2)}), EditSet(removed={(0, 1)})])
    assert "−" not in terminal_drawing(subject)


def test_control_characters_do_not_reach_the_terminal():
    graph = chain(["\x1b[31mred", "\u202eabc", "a\nb"])
    text = terminal_drawing(subject_of(graph, [EditSet(removed={(0, 1)})]))
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert text.split("\n")[0] == "�[31mred �abc a�b"


def test_no_columns_are_refused():
    with pytest.raises(ConfigError, match="1 or more columns, got 0"):
        terminal_drawing(subject_of(chain(["a", "b"]), []), width=0)


@given(
    tokens=st.lists(st.text(max_size=12), min_size=2, max_size=12),
    width=st.integers(1, 60),
    ascii=st.booleans(),
    data=st.data(),
)
def test_no_line_is_wider_than_the_terminal(tokens, width, ascii, data):
    graph = chain(tokens)
    nodes = st.integers(0, len(tokens) - 1)
    pairs = data.draw(st.sets(st.tuples(nodes, nodes).filter(lambda p: p[0] < p[1]), max_size=5))
    removed = {(u, v) for u, v in pairs if v == u + 1}
    subject = subject_of(graph, [EditSet(added=pairs - removed, removed=removed)])
    text = terminal_drawing(subject, width, ascii=ascii)
    assert all(columns(line) <= width for line in text.split("\n"))
    assert text.isascii() or not ascii
    # Every edit has its sign, unless there is hardly room for anything.
    if not ascii and width > 12 and not any("+" in token or "−" in token for token in tokens):
        assert text.count("+") == len(pairs - removed)
        assert text.count("−") == len(removed)


def test_wide_characters_count_twice_and_accents_not_at_all():
    assert columns("犬") == columns("😀") == 2
    assert columns("e\u0301") == 1
    assert columns("❤\ufe0f") == 2
    assert cut("犬が好き", 5) == "犬が…"
