"""PNG and PDF: the user's settings of matplotlib play no part, and are left as they were."""

import sys
from threading import Thread

import pytest

from edgeflip import explain
from edgeflip.testing import example_graphs, example_oracle

matplotlib = pytest.importorskip("matplotlib")


@pytest.fixture(scope="module")
def picture():
    return explain(example_oracle(), example_graphs(1, seed=4)[0]).draw()


def settings():
    return {name: value for name, value in matplotlib.rcParams.items() if name != "backend"}


ODD = [
    {"savefig.bbox": "tight", "savefig.pad_inches": 2.0},
    {"savefig.transparent": True},
    {"savefig.facecolor": "red", "figure.facecolor": "red"},
    {"text.hinting": "none", "text.antialiased": False, "patch.antialiased": False},
    {"agg.path.chunksize": 100, "path.snap": False},
    {"pdf.use14corefonts": True, "pdf.compression": 0, "pdf.inheritcolor": True},
]


@pytest.mark.parametrize("odd", ODD, ids=lambda odd: next(iter(odd)))
@pytest.mark.parametrize("ending", ["png", "pdf"])
def test_files_are_the_same_whatever_the_user_has_set(picture, tmp_path, odd, ending):
    plain = picture.save(tmp_path / f"plain.{ending}").read_bytes()
    with matplotlib.rc_context(odd):
        before = settings()
        assert picture.save(tmp_path / f"odd.{ending}").read_bytes() == plain
        assert settings() == before


@pytest.mark.parametrize("fonts", [["Liberation Sans", "DejaVu Sans"], ["DejaVu Sans"]])
def test_words_keep_to_their_room_in_wider_fonts_too(monkeypatch, fonts):
    from matplotlib import font_manager

    names = [*fonts, "DejaVu Sans Mono"]
    monkeypatch.setattr(font_manager, "get_font_names", lambda: names)
    classes = [
        "what crosses the barrier between blood and brain",
        "what does not cross that barrier",
    ]
    answer = explain(example_oracle().model, example_graphs(1, seed=4)[0], class_names=classes)
    figure = answer.draw().figure()
    figure.canvas.draw()
    (axes,) = figure.axes
    right = axes.get_window_extent().x1
    assert len(axes.texts) > 5
    assert all(text.get_window_extent().x1 <= right for text in axes.texts)


def test_threads_that_save_at_once_leave_the_users_settings(picture, tmp_path):
    failures = []

    def work(number):
        try:
            for _ in range(3):
                picture.save(tmp_path / f"{number}.png")
        except Exception as error:  # told by the thread that failed
            failures.append(error)

    often = sys.getswitchinterval()
    with matplotlib.rc_context({"font.size": 33, "savefig.bbox": "tight"}):
        before = settings()
        sys.setswitchinterval(1e-4)
        try:
            threads = [Thread(target=work, args=(number,)) for number in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        finally:
            sys.setswitchinterval(often)
        assert settings() == before
    assert not failures
    files = {(tmp_path / f"{number}.png").read_bytes() for number in range(4)}
    assert len(files) == 1
