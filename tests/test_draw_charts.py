"""Charts: what stands in them, in which colour, and that texts stay texts."""

from __future__ import annotations

import re
from itertools import pairwise
from xml.etree import ElementTree

import pytest

from edgeflip.draw import (
    Axes,
    Curve,
    CurvePanel,
    Disc,
    Dot,
    Interval,
    IntervalPanel,
    Line,
    Panel,
    Picture,
    Scale,
    Scene,
    Shape,
    Tick,
    Words,
    compare_chart,
    curve_chart,
    interval_chart,
)
from edgeflip.draw.axes import even_ticks, log_ticks, share_scale, share_ticks

AXES = Axes("edits", "share changed", "edits", "edit")
SCRIPT = "<img src=x onerror=alert(1)></script>&\"'"


def chart(*dots: Dot, title: str = "A sentence") -> Scene:
    return compare_chart([Panel("BBBP", dots)], title, "How to read it", AXES)


def texts(scene: Scene) -> dict[str, str]:
    """Every text of a scene and its style."""
    return {item.text: item.runs[0].style for item in scene.items if isinstance(item, Words)}


def discs(scene: Scene) -> dict[str, Disc]:
    return {item.title: item for item in scene.items if isinstance(item, Disc)}


OURS = Dot("edgeflip", "edgeflip", 2.758, 0.9706, "ours")
VARIANT = Dot("edgeflip chemistry", "edgeflip chemistry", 9.0, 0.6, "variant")
GIST = Dot("gist", "GIST", 30.0, 0.3)
PRINTED = Dot("gist", "GIST", 5.0, 0.5, published=True)


def test_ours_is_large_and_blue_and_others_are_grey() -> None:
    scene = chart(OURS, VARIANT, GIST, PRINTED)
    found = discs(scene)
    styles = {name.split(":")[0]: disc.style for name, disc in found.items()}
    assert styles == {
        "edgeflip": "ours",
        "edgeflip chemistry": "ours",
        "GIST": "rival",
        "GIST, published": "published",
    }
    radii = {disc.style: disc.radius for name, disc in found.items() if "chemistry" not in name}
    assert radii["ours"] > radii["rival"]


def test_labels_stand_beside_the_dots_and_there_is_no_legend() -> None:
    written = texts(chart(OURS, VARIANT, GIST, PRINTED))
    assert written["edgeflip  97 %, 2.8 edits"] == "ours"
    assert written["edgeflip chemistry"] == "ours-small"
    assert written["GIST"] == "rival"
    assert written["GIST, published"] == "published"


def test_a_published_dot_near_the_measured_one_is_joined_to_it_and_needs_no_name() -> None:
    near = Dot("gist", "GIST", 27.0, 0.35, published=True)
    scene = chart(OURS, GIST, near)
    assert "GIST, published" not in texts(scene)
    assert [item for item in scene.items if isinstance(item, Line) and item.style == "join"]


def test_touching_dots_share_a_label() -> None:
    variants = [
        Dot(f"v{index}", f"DR-CFGNN v{index}", 3 + index / 100, 0.5, family="DR-CFGNN")
        for index in range(4)
    ]
    written = texts(chart(OURS, *variants, Dot("gcf", "GCFExplainer", 3.05, 0.5), GIST))
    assert "DR-CFGNN (4 variants), GCFExplainer" in written
    apart = texts(chart(OURS, *variants[:3], Dot("v3", "DR-CFGNN v3", 20, 0.2, family="DR-CFGNN")))
    assert "DR-CFGNN (3 of 4 variants)" in apart
    assert "DR-CFGNN v3" in apart


def test_what_is_worse_than_ours_on_both_axes_is_tinted() -> None:
    scene = chart(OURS, GIST)
    (tint,) = [item for item in scene.items if isinstance(item, Shape)]
    ours, gist = discs(scene)["edgeflip: 97 %, 2.8 edits"], discs(scene)["GIST: 30 %, 30.0 edits"]
    left, top = tint.points[0]
    assert (left, top) == ours.at
    assert left < gist.at[0] < tint.points[1][0]
    assert top < gist.at[1] < tint.points[2][1]
    assert not [item for item in chart(GIST).items if isinstance(item, Shape)]


def test_a_dot_below_ours_stays_visible() -> None:
    scene = chart(OURS, Dot("random", "Random", OURS.x, OURS.y))
    styles = [item.style for item in scene.items if isinstance(item, Disc)]
    assert styles == ["ours", "rival"]
    assert "Random" in texts(scene)


def test_axes_are_two_thin_lines_with_few_ticks() -> None:
    scale = Scale(0.9, 60, log=True)
    assert [tick.text for tick in log_ticks(scale, "edits")] == [
        "1",
        "2",
        "5",
        "10",
        "20",
        "50 edits",
    ]
    wide = [tick.text for tick in log_ticks(Scale(0.004, 300, log=True), "s")]
    assert wide == ["0.01", "0.1", "1", "10", "100 s"]
    assert [tick.text for tick in share_ticks(share_scale([0.07, 1]))] == [
        "0",
        "",
        "50",
        "",
        "100 %",
    ]
    assert [tick.text for tick in share_ticks(share_scale([0.6, 1]))] == ["50", "75", "100 %"]
    assert len(even_ticks(0, 1234)) <= 9


def test_intervals_have_a_row_per_method() -> None:
    rows = (
        Interval("edgeflip", "ours", 0.95, 0.9, 0.98),
        Interval("GIST", "rival", 0.5, 0.3, 0.7),
        Interval("CF²", "rival"),
    )
    scene = interval_chart([IntervalPanel("BBBP", rows)], "A sentence", "How to read it")
    written = texts(scene)
    assert written["edgeflip"] == written["95 %"] == "ours"
    assert written["GIST"] == written["50 %"] == "rival"
    assert "–" in written
    lines = [item for item in scene.items if isinstance(item, Line)]
    assert [line.style for line in lines if line.style.endswith("-line")] == [
        "ours-line",
        "rival-line",
    ]
    (blue,) = [line for line in lines if line.style == "ours-line"]
    (grey,) = [line for line in lines if line.style == "rival-line"]
    assert grey.points[1][0] - grey.points[0][0] > 4 * (blue.points[1][0] - blue.points[0][0])


def test_curves_have_their_names_beside_them() -> None:
    curves = tuple(
        Curve(name, tuple((x / 10, height * x / 60) for x in range(61)), ((2, 0.2), (5, 0.5)))
        for name, height in (("steep", 1.0), ("flat", 0.3))
    )
    panel = CurvePanel("p(x)", curves, "x", Scale(0, 6), Scale(0, 1), (Tick(0, "0"), Tick(1, "1")))
    scene = curve_chart([panel], "A sentence", "How to read it")
    assert texts(scene)["steep"] == "value"
    assert texts(scene)["flat"] == "rival"


def test_names_at_the_ends_of_curves_do_not_touch() -> None:
    heights = {"ours": 0.9, "one": 0.5, "two": 0.5, "three": 0.49, "none": 0.0}
    curves = tuple(Curve(name, ((20, 0), (20_000, end))) for name, end in heights.items())
    across, ticks = Scale(20, 20_000, log=True), (Tick(100, "100"), Tick(10_000, "10,000"))
    up = Scale(0, 1), (Tick(0, "0"), Tick(1, "1"))
    panel = CurvePanel("", curves, "x", across, *up, ticks, is_ours=True, margin=100)
    scene = curve_chart([panel], "A sentence", "How to read it")
    assert {"100", "10,000"} <= set(texts(scene))
    assert {name: texts(scene)[name] for name in ("ours", "one")} == {
        "ours": "ours",
        "one": "rival",
    }
    found = {
        item.text: item.at
        for item in scene.items
        if isinstance(item, Words) and item.text in heights
    }
    assert len({x for x, _ in found.values()}) == 1
    places = sorted(y for _, y in found.values())
    assert min(low - high for high, low in pairwise(places)) > 14.9
    # The curves end from top to bottom in the order of their names.
    assert found["ours"][1] < found["one"][1] < found["three"][1] < found["none"][1]


@pytest.mark.parametrize("kind", ["compare", "interval", "curve"])
def test_a_script_in_a_name_stays_text(kind: str) -> None:
    scenes = {
        "compare": compare_chart(
            [Panel(SCRIPT, (Dot("a", SCRIPT, 2, 0.5), OURS))], SCRIPT, SCRIPT, AXES, SCRIPT
        ),
        "interval": interval_chart(
            [IntervalPanel(SCRIPT, (Interval(SCRIPT, "rival", 0.5, 0.4, 0.6),))], SCRIPT, SCRIPT
        ),
        "curve": curve_chart(
            [
                CurvePanel(
                    SCRIPT, (Curve(SCRIPT, ((0, 0), (1, 1))),), SCRIPT, Scale(0, 1), Scale(0, 1), ()
                )
            ],
            SCRIPT,
            SCRIPT,
        ),
    }
    svg = Picture(scenes[kind]).svg
    assert "<img" not in svg
    assert "</script" not in svg
    tags = {element.tag.rpartition("}")[2] for element in ElementTree.fromstring(svg).iter()}
    assert tags <= {"svg", "style", "rect", "title", "desc", "text", "path", "circle", "polygon"}


def test_a_chart_is_small_and_has_both_themes() -> None:
    svg = Picture(chart(OURS, VARIANT, GIST, PRINTED)).svg
    assert len(svg) < 12_000
    assert "prefers-color-scheme:dark" in svg
    # Colours are those of the look; none is written elsewhere.
    body = svg[svg.index("</style>") :]
    assert not re.search(r"#[0-9a-fA-F]{3,6}", body)


def test_those_who_cannot_see_a_chart_are_told_its_values() -> None:
    scene = chart(OURS, GIST, PRINTED)
    assert scene.label == "A sentence"
    assert "edgeflip 97 %, 2.8 edits" in scene.description
    assert "GIST, published 50 %, 5.0 edits" in scene.description
