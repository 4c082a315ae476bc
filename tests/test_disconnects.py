"""Answers that cut a graph into parts: told as such, and behind whole ones that score alike."""

import random

import networkx as nx
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch_geometric.data import Data

from conftest import random_graph
from edgeflip import Constraints, CounterfactualSet, explain
from edgeflip.core import PAD, EditSet, PairEdits, count_parts, padded
from edgeflip.metrics import METRICS, AnswerCase


def graph_of(pairs, nodes):
    both = [*pairs, *((v, u) for u, v in pairs)]
    index = torch.tensor(both, dtype=torch.long).reshape(-1, 2).t().contiguous()
    return Data(x=torch.ones(nodes, 1), edge_index=index)


@given(st.data())
def test_parts_are_counted_as_networkx_counts_them(data):
    nodes = data.draw(st.integers(2, 12))
    every = [(u, v) for v in range(nodes) for u in range(v)]
    pairs = data.draw(st.lists(st.sampled_from(every), unique=True))
    space = PairEdits.of(graph_of(pairs, nodes))
    sets = data.draw(
        st.lists(
            st.lists(st.integers(0, len(every) - 1), min_size=1, max_size=6, unique=True),
            min_size=1,
        )
    )
    rows = space.normalise(padded([torch.tensor(each) for each in sets]))
    before = nx.empty_graph(nodes)
    before.add_edges_from(pairs)
    expected = []
    for edits in space.edits(rows):
        after = before.copy()
        after.remove_edges_from(edits.removed)
        after.add_edges_from(edits.added)
        expected.append(
            nx.number_connected_components(after) > nx.number_connected_components(before)
        )
    assert space.disconnects(rows).tolist() == expected


@given(st.integers(0, 10_000))
def test_parts_of_dense_graphs_and_large_sets_are_counted_as_well(seed):
    rng = random.Random(seed)
    every = [(u, v) for v in range(16) for u in range(v)]
    pairs = [pair for pair in every if rng.random() < rng.choice((0.2, 0.7))]
    space = PairEdits.of(graph_of(pairs, 16))
    start = rng.randrange(16)
    around = [pair for pair in every if start in pair]
    sets = [rng.sample(every, 20), around, [*around, *rng.sample(every, 6)], *([p] for p in pairs)]
    rows = space.normalise(padded([space.pairs.ids_of(each) for each in sets]))
    own = count_parts(16, pairs)
    expected = [
        count_parts(16, (set(pairs) - edits.removed) | edits.added) > own
        for edits in space.edits(rows)
    ]
    assert space.disconnects(rows).tolist() == expected


@pytest.mark.parametrize("gone", [20, 40, 63, 100, 150])
def test_however_many_edges_go_the_parts_are_counted_right(gone):
    rng = random.Random(gone)
    every = [(u, v) for v in range(20) for u in range(v)]
    space = PairEdits.of(graph_of(every, 20))
    around = [pair for pair in every if 7 in pair]
    rest = [pair for pair in every if 7 not in pair]
    sets = [rng.sample(every, gone) for _ in range(20)]
    sets.append([*around, *rng.sample(rest, gone - len(around))])
    rows = space.normalise(padded([space.pairs.ids_of(each) for each in sets]))
    parts = [count_parts(20, set(every) - set(each)) for each in sets]
    assert space.disconnects(rows).tolist() == [each > 1 for each in parts]
    assert 1 in parts
    assert parts[-1] > 1


@given(st.integers(0, 10_000))
def test_what_stays_connected_is_known_before_anybody_is_asked(seed):
    graph = random_graph(6, seed=seed, density=0.5)
    free, whole = PairEdits.of(graph), PairEdits.of(graph, Constraints(keep_connected=True))
    level = free.level(3)
    rows = level.rows(torch.arange(level.count))
    assert torch.equal(whole.check(rows), ~free.disconnects(rows))
    assert not whole.has_rules
    assert [whole.rules_allow(row) for row in rows[:40]] == whole.check(rows[:40]).tolist()


def test_nothing_and_a_long_path_are_told_too():
    path = PairEdits.of(graph_of([(node, node + 1) for node in range(299)], 300))
    middle = path.pairs.ids_of([(150, 151)])
    round_trip = path.pairs.ids_of([(150, 151), (0, 299)])
    rows = padded([middle, round_trip, torch.tensor([PAD])])
    assert path.disconnects(rows).tolist() == [True, False, False]


class Fewer(torch.nn.Module):
    """The second class as soon as an edge is gone, whichever it is."""

    def __init__(self, edges):
        super().__init__()
        self.edges = edges

    def forward(self, x, edge_index, batch):
        ones = torch.ones(edge_index.size(1))
        count = torch.zeros(int(batch.max()) + 1).index_add_(0, batch[edge_index[0]], ones) / 2
        return torch.stack([count - self.edges + 0.5, self.edges - 0.5 - count], dim=1)


LOLLIPOP = graph_of([(0, 1), (1, 2), (2, 3), (1, 3)], 4)


def test_of_answers_that_score_alike_the_one_that_leaves_the_graph_whole_comes_first():
    answer = explain(Fewer(4), LOLLIPOP)
    assert {entry.score for entry in answer.counterfactuals if entry.size == 1} == {
        answer.best.score
    }
    assert not answer.best.disconnects
    assert not answer.smallest.disconnects
    cut = [entry.edits for entry in answer.counterfactuals if entry.disconnects]
    assert EditSet(removed={(0, 1)}) in cut
    singles = [entry.disconnects for entry in answer.counterfactuals if entry.size == 1]
    assert singles == sorted(singles)


def test_an_answer_that_cuts_says_so_in_sentence_rows_and_file(tmp_path):
    path = graph_of([(0, 1), (1, 2), (2, 3)], 4)
    answer = explain(Fewer(3), path)
    assert answer.smallest.disconnects
    assert "leaving the graph in more parts" in str(answer)
    assert answer.to_rows()[0]["disconnects"] is True
    again = CounterfactualSet.load_json(answer.save_json(tmp_path / "answer.json"))
    assert again.smallest.disconnects
    assert str(again) == str(answer)


@pytest.mark.parametrize("pairs", [[(0, 1), (1, 2), (0, 2)], [(0, 1)]])
def test_a_graph_that_stays_in_as_many_parts_is_not_cut(pairs):
    answer = explain(Fewer(len(pairs)), graph_of(pairs, 3))
    assert answer.smallest.disconnects == (len(pairs) == 1)


def test_validity_counts_answers_that_leave_the_graph_whole_apart():
    whole = AnswerCase(answer=explain(Fewer(4), LOLLIPOP))
    cut = AnswerCase(answer=explain(Fewer(3), graph_of([(0, 1), (1, 2), (2, 3)], 4), keep=1))
    table = {name: METRICS[name].of for name in ("validity", "validity_connected")}
    assert [of(whole) for of in table.values()] == [1.0, 1.0]
    assert [of(cut) for of in table.values()] == [1.0, 0.0]
