"""Buckets: graphs of unlike sizes in stacks of similar ones, and back again."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from conftest import random_graph
from edgeflip.core import Buckets, PairSpace, plain_adjacency, size_buckets

SIZES = st.lists(st.integers(1, 60), min_size=1, max_size=20)


@given(sizes=SIZES)
def test_every_graph_is_in_one_bucket_of_graphs_of_similar_size(sizes):
    groups = size_buckets(sizes)
    assert sorted(place for group in groups for place in group) == list(range(len(sizes)))
    for group in groups:
        own = [sizes[place] for place in group]
        assert max(own) <= 1.25 * min(own) + 2


@given(sizes=SIZES, cells=st.integers(1, 5000))
def test_no_bucket_has_more_cells_than_allowed_unless_one_graph_has(sizes, cells):
    for group in size_buckets(sizes, cells=cells):
        assert len(group) * max(sizes[place] for place in group) ** 2 <= cells or len(group) == 1


def test_graphs_of_one_size_stay_in_their_order():
    assert size_buckets([7] * 4) == [[0, 1, 2, 3]]


@given(sizes=SIZES, padded=st.booleans(), seed=st.integers(0, 100))
def test_rows_come_back_from_the_stacks_as_they_were(sizes, padded, seed):
    buckets = Buckets(sizes, [list(range(len(sizes)))] if padded else None)
    rows = torch.rand(sum(sizes), 3, generator=torch.Generator().manual_seed(seed))
    stacks = buckets.stacks(rows)
    assert torch.equal(buckets.rows(stacks), rows)
    parts = rows.split(sizes)
    for part, stack in zip(buckets.parts, stacks, strict=True):
        assert stack.shape[:2] == part.mask.shape
        assert not stack[~part.mask].any()
        for place, own, mask in zip(part.members.tolist(), stack, part.mask, strict=True):
            assert torch.equal(own[mask], parts[place])


@given(sizes=SIZES)
def test_values_of_graphs_reach_each_of_their_nodes(sizes):
    values = torch.arange(2.0 * len(sizes)).view(-1, 2)
    wanted = values.repeat_interleave(torch.tensor(sizes), dim=0)
    assert torch.equal(Buckets(sizes).spread(values), wanted)


@pytest.mark.parametrize("groups", [None, [[0, 1, 2, 3]], [[2], [3, 0], [1]]])
def test_matrices_are_those_of_each_graph(groups):
    given = [random_graph(nodes, seed=nodes) for nodes in (9, 3, 30, 10)]
    spaces = [PairSpace.of(graph) for graph in given]
    buckets = Buckets([space.num_nodes for space in spaces], groups)
    edges = torch.cat(
        [
            torch.cat([torch.full((1, len(space.edge_ids)), place), space.ends(space.edge_ids)])
            for place, space in enumerate(spaces)
        ],
        dim=1,
    )
    matrices = buckets.adjacency(edges)
    for part, stack in zip(buckets.parts, matrices, strict=True):
        assert part.places[part.members].tolist() == list(range(len(stack)))
        assert int((part.places >= 0).sum()) == len(stack)
        for place, own in zip(part.members.tolist(), stack, strict=True):
            nodes = spaces[place].num_nodes
            assert torch.equal(own[:nodes, :nodes], plain_adjacency(given[place]))
            assert int(own.sum()) == given[place].num_edges
