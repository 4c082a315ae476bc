"""Columns of words: links end at their words, signs leave them visible, both sides are named."""

import pytest
import torch

from edgeflip import explain
from edgeflip.core import EditSet
from edgeflip.draw import Disc, Line, Words, draw_answer, drawing_of
from edgeflip.draw.scene import BADGE
from edgeflip.draw.subject import subject_of
from made_up_sentences import BEST, LINKS, TWEET, chain, sentence

LONG = [f"word{number}" if number % 3 else "a" for number in range(30)]


def column(graph, edits):
    subject = subject_of(graph, [edits])
    return subject, drawing_of(subject).tall.under(move.key for move in subject.shown)


def lines_of(scene, style):
    return [item for item in scene.items if isinstance(item, Line) and item.style == style]


def test_links_of_a_column_end_at_their_words():
    _, scene = column(sentence(TWEET, LINKS), BEST)
    written = [item for item in scene.items if isinstance(item, Words)]
    for style in ("arc", "core-edge", "added", "removed", "ghost"):
        for line in lines_of(scene, style):
            for x, y in (line.points[0], line.points[-1]):
                word = min(written, key=lambda item: abs(item.at[1] - 5 - y))
                gap = abs(x - word.at[0]) - word.width / 2
                assert 2 < gap < 12


def test_links_that_spread_beyond_their_word_are_held_together():
    hub = sentence(
        ["hub", *(f"word{number}" for number in range(8))], [(0, n) for n in range(1, 9)]
    )
    _, scene = column(hub, EditSet(removed={(0, 8)}))
    left, right = sorted(lines_of(scene, "leader"), key=lambda line: line.points[0][0])
    feet = sorted(line.points[0][1] for line in lines_of(scene, "arc"))
    for stem in (left, right):
        assert {x for x, _ in stem.points} == {stem.points[0][0]}
        top, bottom = (y for _, y in stem.points)
        assert top <= feet[0]
        assert bottom >= feet[-1]


@pytest.mark.parametrize("edits", [EditSet(removed={(3, 4)}), EditSet(added={(3, 5)})])
def test_the_sign_of_a_short_link_does_not_hide_it(edits):
    _, scene = column(chain(LONG), edits)
    (sign, *_) = [item for item in scene.items if isinstance(item, Disc)]
    (line, *_) = lines_of(scene, "added") or lines_of(scene, "removed")
    heights = [y for _, y in line.points]
    assert sign.at[1] - BADGE - min(heights) > 7
    assert max(heights) - sign.at[1] - BADGE > 7


def test_words_stay_apart_where_a_link_is_lengthened():
    _, plain = column(chain(LONG), EditSet(added={(0, 20)}))
    _, longer = column(chain(LONG), EditSet(removed={(3, 4)}))
    rows = [
        [item.at[1] for item in scene.items if isinstance(item, Words)] for scene in (plain, longer)
    ]
    assert rows[1][4] - rows[1][3] > rows[0][4] - rows[0][3]
    assert rows[1] == sorted(rows[1])
    assert longer.height > max(rows[1])


class CountsLinks(torch.nn.Module):
    def forward(self, x, edge_index, batch):
        links = torch.zeros(int(batch.max()) + 1).index_add_(
            0, batch[edge_index[0]], torch.ones(edge_index.shape[1])
        )
        return torch.stack([links - 57, 57 - links], dim=1)


def test_before_and_after_stand_at_the_two_sides_of_a_column():
    graph = chain(LONG)
    graph.x = torch.ones(len(LONG), 1)
    scene = draw_answer(explain(CountsLinks(), graph)).scene
    written = [item for item in scene.items if isinstance(item, Words)]
    (before,) = [item for item in written if item.text.startswith("before ")]
    (after,) = [item for item in written if item.text.startswith("after ")]
    (middle,) = {item.at[0] for item in written if item.text in LONG}
    assert (before.anchor, after.anchor) == ("end", "start")
    assert 0 < middle - before.at[0] < 30
    assert 0 < after.at[0] - middle < 30
