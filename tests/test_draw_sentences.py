"""Sentences as pictures: words in order, links before on one side and after on the other."""

from itertools import combinations, pairwise

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch_geometric.data import Data

from edgeflip.core import EditSet, FactualSubgraph
from edgeflip.draw import Canvas, Disc, Line, Picture, Words, drawing_of
from edgeflip.draw.brackets import Span, feet_of, levels_of
from edgeflip.draw.characters import clean_word
from edgeflip.draw.subject import drawer_name, subject_of
from made_up_sentences import BEST, LINKS, OTHER, TWEET, chain, sentence


def tweet(*edit_sets):
    return subject_of(sentence(TWEET, LINKS), list(edit_sets))


def words_of(scene):
    return [item for item in scene.items if isinstance(item, Words)]


def lines_of(scene, style):
    return [item for item in scene.items if isinstance(item, Line) and item.style == style]


def baseline(scene):
    return words_of(scene)[0].at[1]


def above(scene, style):
    edge = baseline(scene)
    return [
        line for line in lines_of(scene, style) if all(point[1] < edge for point in line.points)
    ]


def below(scene, style):
    edge = baseline(scene)
    return [
        line for line in lines_of(scene, style) if all(point[1] > edge for point in line.points)
    ]


def badges(scene, kind):
    return [
        item for item in scene.items if isinstance(item, Disc) and item.style == f"{kind}-badge"
    ]


def shown(subject, scene, rank=0):
    return scene.under(move.key for move in subject.choices[rank])


def test_graphs_with_words_are_drawn_as_sentences():
    assert drawer_name(sentence(TWEET, LINKS)) == "sentence"
    assert drawer_name(Data(edge_index=torch.tensor([[0], [1]]), num_nodes=2)) == "graph"


def test_words_stand_once_in_reading_order_on_one_line():
    subject = tweet(BEST)
    (panel,) = drawing_of(subject).panels
    written = words_of(shown(subject, panel))
    assert [item.text for item in written] == TWEET
    places = [item.at for item in written]
    assert [x for x, _ in places] == sorted(x for x, _ in places)
    assert len({y for _, y in places}) == 1


def test_words_do_not_run_into_each_other():
    subject = tweet(BEST, OTHER)
    (panel,) = drawing_of(subject).panels
    written = words_of(shown(subject, panel))
    for one, other in pairwise(written):
        assert one.at[0] + one.width / 2 + 4 < other.at[0] - other.width / 2


def test_links_above_are_before_and_links_below_after():
    subject = tweet(BEST)
    scene = shown(subject, drawing_of(subject).panels[0])
    assert len(above(scene, "arc")) == len(below(scene, "arc")) == len(LINKS) - 1
    assert len(above(scene, "removed")) == 1
    assert not below(scene, "removed")
    assert len(below(scene, "ghost")) == 1
    assert not above(scene, "ghost")
    assert len(below(scene, "added")) == 1
    assert not above(scene, "added")
    assert len(badges(scene, "removed")) == 2
    assert len(badges(scene, "added")) == 1


def test_a_link_stands_on_its_two_words():
    subject = tweet(BEST)
    scene = shown(subject, drawing_of(subject).panels[0])
    (added,) = below(scene, "added")
    written = {item.text: item for item in words_of(scene)}
    for foot, word in ((added.points[0], "Hawn"), (added.points[-1], "interesting")):
        assert abs(foot[0] - written[word].at[0]) <= written[word].width / 2


def test_edits_that_are_taken_back_leave_the_sentence_as_it_was():
    subject = tweet(BEST)
    scene = drawing_of(subject).panels[0].under([])
    assert len(above(scene, "arc")) == len(below(scene, "arc")) == len(LINKS)
    assert not [item for item in scene.items if isinstance(item, Disc)]
    assert {run.style for item in words_of(scene) for run in item.runs} == {"word"}


def test_words_of_edits_are_bold_while_an_edit_touches_them():
    subject = tweet(BEST, OTHER)
    (panel,) = drawing_of(subject).panels
    for rank, bold in (
        (0, ["Watching", "oprah", "Hawn", "interesting"]),
        (1, ["with", "Hawn", "should", "interesting"]),
    ):
        written = words_of(shown(subject, panel, rank))
        assert [item.text for item in written if item.runs[0].style == "edited-word"] == bold
        assert [item.text for item in written] == TWEET


def test_links_that_carry_the_prediction_are_dark():
    core = FactualSubgraph((0, 1, 2), ((0, 2), (0, 1)), 1.0)
    subject = subject_of(sentence(TWEET, LINKS), [BEST], core)
    drawing = drawing_of(subject)
    assert len(lines_of(shown(subject, drawing.panels[0]), "core-edge")) == 2
    assert len(lines_of(drawing.panels[0].under([]), "core-edge")) == 4
    assert "Heavy links carry the prediction before the edits." in drawing.caption


def test_narrow_pages_get_a_column_with_links_left_and_right():
    subject = tweet(BEST, OTHER)
    tall = drawing_of(subject).tall
    assert tall.width <= 358
    scene = shown(subject, tall)
    written = words_of(scene)
    assert [item.text for item in written] == TWEET
    heights = [item.at[1] for item in written]
    assert heights == sorted(set(heights))
    middle = tall.width / 2
    (removed,), (added,), (ghost,) = (
        lines_of(scene, style) for style in ("removed", "added", "ghost")
    )
    assert all(x < middle for x, _ in removed.points)
    assert all(x > middle for x, _ in (*added.points, *ghost.points))


def test_a_long_sentence_is_a_column_on_wide_pages_too():
    edits = EditSet(added={(2, 5)})
    subject = subject_of(chain([f"word{number}" for number in range(30)]), [edits])
    drawing = drawing_of(subject)
    (panel,) = drawing.panels
    assert panel.width == 840
    assert len({item.at[0] for item in words_of(panel)}) == 1
    assert "on the left" in drawing.caption
    assert "above" in drawing_of(tweet(BEST)).caption


def test_of_a_very_long_sentence_the_words_around_the_edits_are_drawn():
    tokens = [f"w{number}" for number in range(73)]
    subject = subject_of(chain(tokens), [EditSet(added={(10, 60)})])
    drawing = drawing_of(subject)
    assert drawing.aside_note == "40 of 73 words drawn"
    written = [item.text for item in words_of(shown(subject, drawing.panels[0]))]
    drawn = [text for text in written if text != "…"]
    assert len(drawn) == 40
    assert drawn == [token for token in tokens if token in drawn]
    assert {"w8", "w10", "w12", "w58", "w60", "w62"} <= set(drawn)
    assert "…" in written


def test_of_a_very_long_sentence_the_words_of_other_counterfactuals_are_drawn_too():
    graph = chain([f"w{number}" for number in range(73)])
    subject = subject_of(graph, [EditSet(added={(10, 12)}), EditSet(added={(40, 70)})])
    (panel,) = drawing_of(subject).panels
    assert len(lines_of(shown(subject, panel, 1), "added")) == 1
    assert {"w40", "w70"} <= {item.text for item in words_of(panel)}


def test_a_very_long_sentence_without_edits_is_drawn_from_its_beginning():
    drawing = drawing_of(subject_of(chain([f"w{number}" for number in range(100)]), []))
    written = [item.text for item in words_of(drawing.panels[0])]
    assert written == [*(f"w{number}" for number in range(40)), "…"]


def test_small_pictures_hold_every_edit_with_both_of_its_words():
    subject = subject_of(chain([f"expression{n}" for n in range(20)]), [EditSet(added={(2, 17)})])
    (panel,) = drawing_of(subject, Canvas(400, 260, small=True)).panels
    assert (panel.width, panel.height) == (400, 260)
    scene = shown(subject, panel)
    assert len(lines_of(scene, "added")) == 1
    assert len(badges(scene, "added")) == 1
    assert [item.runs[0].style for item in words_of(scene)].count("edited-word") == 2


@pytest.mark.parametrize("small", [False, True])
@pytest.mark.parametrize(
    "tokens",
    [
        ["yes"],
        ["", " ", "\t"],
        ["a\nb", "\x00", "\ud800", "\u202eabc"],
        ["😀👍🏽", "犬が好き", "e\u0301", "\u0301"],
        ["x" * 500, "y" * 500, "z"],
        ["<b>", "&amp;", '"'],
    ],
)
def test_whatever_the_words_are_there_is_a_picture(tokens, small):
    edits = EditSet(removed={(0, 1)}) if len(tokens) > 1 else EditSet()
    drawing = drawing_of(subject_of(chain(tokens), [edits]), Canvas(small=small))
    for scene in (*drawing.panels, *([drawing.tall] if drawing.tall else [])):
        Picture(scene).svg.encode()
        for item in words_of(scene):
            assert item.width < 160
            assert item.text.strip()
            assert item.at[0] - item.width / 2 >= 0
            assert item.at[0] + item.width / 2 <= scene.width


def test_scripts_that_are_read_leftwards_begin_at_the_right():
    tokens = ["שלום", "עולם", "טוב"]
    drawing = drawing_of(subject_of(chain(tokens), []))
    written = sorted(words_of(drawing.panels[0]), key=lambda item: -item.at[0])
    assert [item.text for item in written] == tokens
    assert [item.text for item in words_of(drawing.tall)] == tokens


def test_an_empty_word_is_shown_between_quotation_marks():
    assert clean_word("") == "“”"
    assert clean_word("a\tb") == "a\N{REPLACEMENT CHARACTER}b"


@st.composite
def rows(draw):
    count = draw(st.integers(2, 9))
    pairs = draw(st.sets(st.sampled_from([*combinations(range(count), 2)]), max_size=14))
    choices = st.one_of(st.none(), st.sets(st.integers(0, 3), min_size=1).map(frozenset))
    return count, [Span(*pair, draw(choices)) for pair in sorted(pairs)]


@given(rows())
def test_no_two_brackets_on_one_level_overlap(row):
    _, spans = row
    levels = levels_of(spans)
    for (one, low), (other, high) in combinations(zip(spans, levels, strict=True), 2):
        if one.meets(other) and one.overlaps(other):
            assert low != high


@given(rows())
def test_a_bracket_of_the_sentence_runs_above_those_inside_it(row):
    count, spans = row
    spans = [Span(span.start, span.end) for span in spans]
    levels = levels_of(spans)
    for (one, low), (other, high) in combinations(zip(spans, levels, strict=True), 2):
        if one.inside(other):
            assert low < high
        elif other.inside(one):
            assert high < low
    assert max(levels, default=0) <= count * count


@given(rows())
def test_no_two_feet_that_are_seen_together_coincide(row):
    count, spans = row
    feet = feet_of(spans, count)
    standing = [
        (place, number, span)
        for span, start, end in zip(spans, feet.starts, feet.ends, strict=True)
        for place, number in ((span.start, start), (span.end, end))
    ]
    for place, number, _ in standing:
        assert 0 <= number < feet.counts[place]
    for (place, number, span), (other_place, other_number, other) in combinations(standing, 2):
        if span is not other and place == other_place and span.meets(other):
            assert number != other_number


@given(rows())
def test_brackets_that_need_not_cross_do_not(row):
    count, spans = row
    spans = [Span(span.start, span.end) for span in spans]
    feet = feet_of(spans, count)
    reach = [
        ((span.start, start), (span.end, end))
        for span, start, end in zip(spans, feet.starts, feet.ends, strict=True)
    ]
    for (one, wide), (other, narrow) in combinations(zip(spans, reach, strict=True), 2):
        if one.start < other.start < one.end < other.end:
            continue
        inside = wide[0] < narrow[0] < narrow[1] < wide[1]
        around = narrow[0] < wide[0] < wide[1] < narrow[1]
        apart = wide[1] < narrow[0] or narrow[1] < wide[0]
        assert inside or around or apart, (one, other)
