"""Labels of charts: over nothing, inside, and led to their dots."""

from __future__ import annotations

import math

from hypothesis import given, settings
from hypothesis import strategies as st

from edgeflip.draw.labels import Label, Spot, Wanted, broken, place_labels
from edgeflip.draw.look import TEXTS, text_width
from edgeflip.draw.scene import Line, Words

INSIDE = (0.0, 0.0, 380.0, 260.0)
NAMES = (
    "GIST",
    "Random",
    "DR-CFGNN (4 variants)",
    "GCFExplainer",
    "a rather long name of a method",
)

places = st.tuples(st.floats(6, 374), st.floats(6, 254))


def overlap(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
    apart = one[2] <= other[0] or other[2] <= one[0] or one[3] <= other[1] or other[3] <= one[1]
    return not apart


def samples(label: Label) -> list[tuple[float, float]]:
    """Points on the leader of a label, but for its end at the label."""
    if label.leader is None:
        return []
    (x, y), (end_x, end_y) = label.leader
    return [(x + (end_x - x) * step / 50, y + (end_y - y) * step / 50) for step in range(50)]


def words_box(item: Words) -> tuple[float, float, float, float]:
    """The box of words as they are drawn, by their width and the height of their letters."""
    size = TEXTS[item.runs[0].style].size
    left = item.at[0] - (item.width if item.anchor == "end" else 0)
    return left, item.at[1] - 0.75 * size, left + item.width, item.at[1] + 0.2 * size


@settings(max_examples=60, deadline=None)
@given(st.lists(places, min_size=1, max_size=9, unique=True), st.data())
def test_labels_overlap_neither_each_other_nor_a_dot(
    spots: list[tuple[float, float]], data: st.DataObject
) -> None:
    dots = [Spot(place, 4.5) for place in spots]
    named = [data.draw(st.sampled_from(NAMES)) for _ in dots]
    wanted = [
        Wanted(broken([name], "rival"), "rival", (dot,))
        for name, dot in zip(named, dots, strict=True)
    ]
    placed = place_labels(wanted, INSIDE, dots)
    drawn = [item for label in placed for item in label.items() if isinstance(item, Words)]
    boxes = [words_box(item) for item in drawn]
    for index, box in enumerate(boxes):
        assert INSIDE[0] <= box[0]
        assert box[2] <= INSIDE[2]
        assert INSIDE[1] <= box[1]
        assert box[3] <= INSIDE[3]
        assert not any(overlap(box, other) for other in boxes[:index])
        for dot in dots:
            x = min(max(dot.at[0], box[0]), box[2])
            y = min(max(dot.at[1], box[1]), box[3])
            assert math.dist(dot.at, (x, y)) >= dot.radius
    for label in placed:
        for x, y in samples(label):
            assert not any(overlap((x, y, x, y), other.box) for other in placed if other != label)


@settings(max_examples=20, deadline=None)
@given(st.lists(places, min_size=2, max_size=8, unique=True))
def test_the_same_dots_have_the_same_labels(spots: list[tuple[float, float]]) -> None:
    dots = [Spot(place, 4.5) for place in spots]
    wanted = [Wanted(((f"m{index}",),), "rival", (dot,)) for index, dot in enumerate(dots)]
    assert place_labels(wanted, INSIDE, dots) == place_labels(wanted, INSIDE, dots)


def test_a_label_stands_right_of_its_dot_where_nothing_is_in_the_way() -> None:
    dot = Spot((100.0, 100.0), 4.5)
    (label,) = place_labels([Wanted((("GIST",),), "rival", (dot,))], INSIDE, [dot])
    assert label.leader is None
    assert label.box[0] > 100


def test_a_label_that_is_not_beside_its_dot_has_a_line_to_it() -> None:
    around = [
        Spot((100 + 20 * math.cos(turn), 100 + 20 * math.sin(turn)), 5)
        for turn in (index * math.pi / 6 for index in range(12) if index != 9)
    ]
    dot = Spot((100.0, 100.0), 4.5)
    (label,) = place_labels([Wanted((("GIST",),), "rival", (dot,))], INSIDE, [dot, *around])
    first, *rest = label.items()
    assert isinstance(first, Line)
    assert first.style == "leader"
    assert [item.text for item in rest if isinstance(item, Words)] == ["GIST"]


def test_without_room_there_is_no_label() -> None:
    dot = Spot((10.0, 10.0), 4.5)
    assert (
        place_labels([Wanted((("GCFExplainer",),), "rival", (dot,))], (0, 0, 30, 30), [dot]) == []
    )


def test_ours_has_its_place_before_others() -> None:
    dots = [Spot((20.0, 20.0), 7.5), Spot((20.0, 40.0), 4.5)]
    room = (0.0, 10.0, 36 + text_width("edgeflip 97 %", TEXTS["ours"]), 32.0)
    wanted = [
        Wanted((("Random",),), "rival", (dots[1],)),
        Wanted((("edgeflip 97 %",),), "ours", (dots[0],), rank=0),
    ]
    assert [label.lines for label in place_labels(wanted, room, dots)] == [("edgeflip 97 %",)]


def test_a_long_list_may_be_broken_after_a_comma() -> None:
    ways = broken(["DR-CFGNN (4 variants)", "GCFExplainer", "Random"], "rival")
    assert ways[0] == ("DR-CFGNN (4 variants), GCFExplainer, Random",)
    assert ways[1][0].endswith(",")
    assert broken(["GIST"], "rival") == (("GIST",),)
