"""Blocks of candidates: what thousands of edit sets become, against one edit set at a time."""

import itertools
from collections import Counter

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch_geometric.data import Batch
from torch_geometric.utils import to_dense_adj

from conftest import (
    assert_sentence,
    edited_graphs,
    graphs,
    graphs_and_edits,
    make_graph,
    path_graph,
    random_graph,
    random_toggles,
    same_content,
    snapshot,
)
from edgeflip import graphs as graphs_module
from edgeflip.core.candidates import (
    PAD,
    AnswerStore,
    ProposalBlock,
    adjacency,
    assemble,
    base_adjacency,
    candidate_keys,
    first_occurrences,
)
from edgeflip.core.edits import EditSet
from edgeflip.core.graphs import PairSpace
from edgeflip.errors import EditError


@st.composite
def blocks(draw, largest=9):
    width = draw(st.integers(0, 6))
    row = st.lists(st.integers(PAD, largest), min_size=width, max_size=width)
    rows = draw(st.lists(row, max_size=10))
    return torch.tensor(rows, dtype=torch.long).reshape(len(rows), width)


def odd_ones(row):
    """The ids that an odd number of toggles leaves changed."""
    return {entry for entry, times in Counter(row).items() if times % 2 and entry != PAD}


# Normalising and keys.


@given(blocks())
def test_an_edit_made_and_taken_back_is_no_edit(toggles):
    before = toggles.clone()
    rows = ProposalBlock(toggles).normalised().toggles.tolist()
    assert len(rows) == len(toggles)
    for row, original in zip(rows, toggles.tolist(), strict=True):
        ids = [entry for entry in row if entry != PAD]
        assert ids == sorted(odd_ones(original), reverse=True)
        assert row == ids + [PAD] * (len(row) - len(ids))
    assert torch.equal(toggles, before)


@given(blocks(largest=4))
def test_keys_are_equal_exactly_for_equal_sets(toggles):
    keys = candidate_keys(toggles).tolist()
    sets = [odd_ones(row) for row in toggles.tolist()]
    for (one, first), (two, second) in itertools.combinations(zip(keys, sets, strict=True), 2):
        assert (one == two) == (first == second)


def test_keys_of_many_different_sets_are_all_different():
    pairs = torch.combinations(torch.arange(300), 2)
    triples = torch.combinations(torch.arange(70), 3)
    large = torch.arange(10**12, 10**12 + 50_000)[:, None]
    keys = torch.cat(
        [candidate_keys(block) for block in (pairs, triples, large, torch.arange(300)[:, None])]
    )
    assert keys.unique().numel() == keys.numel()


def test_a_key_knows_neither_order_nor_padding():
    one, two = torch.tensor([[7, 3, 5]]), torch.tensor([[5, PAD, 7, 3, PAD]])
    assert torch.equal(candidate_keys(one), candidate_keys(two))
    assert candidate_keys(torch.tensor([[0]])) != candidate_keys(torch.tensor([[PAD]]))


def test_keys_are_the_same_beside_pairs_of_very_large_graphs():
    small, large = torch.tensor([[3, 5], [7, PAD]]), torch.tensor([[3, 10**9]])
    assert torch.equal(candidate_keys(torch.cat([small, large]))[:2], candidate_keys(small))


@given(st.lists(st.integers(-3, 3), max_size=20))
def test_first_occurrences_mark_each_key_once(keys):
    mask = first_occurrences(torch.tensor(keys, dtype=torch.long))
    assert mask.tolist() == [key not in keys[:place] for place, key in enumerate(keys)]


# Between blocks and edit sets.


@given(st.lists(st.integers(0, 2**10 - 1), max_size=6), graphs(min_nodes=5, max_nodes=5))
def test_edit_sets_survive_the_way_through_a_block(masks, graph):
    space = PairSpace.of(graph)
    pairs = space.edges_of(torch.arange(space.num_pairs))
    edges = set(space.edges_of(space.edge_ids))
    chosen = [{pair for bit, pair in enumerate(pairs) if mask >> bit & 1} for mask in masks]
    edits = [EditSet(entry - edges, entry & edges) for entry in chosen]
    block = ProposalBlock.from_edits(edits, space)
    assert len(block) == len(edits)
    assert [block.edit_set(row, space) for row in range(len(block))] == edits
    assert block.edit_sets(space) == edits
    normalised = block.normalised()
    assert [normalised.edit_set(row, space) for row in range(len(block))] == edits


@pytest.mark.parametrize("edits", [EditSet(added={(0, 1)}), EditSet(removed={(0, 2)})])
def test_a_proposal_that_does_not_fit_the_graph_is_refused(edits):
    with pytest.raises(EditError) as error:
        ProposalBlock.from_edits([EditSet(added={(0, 3)}), edits], PairSpace.of(path_graph(4)))
    assert_sentence(error, str(edits))


def test_singles_are_one_candidate_per_pair():
    assert ProposalBlock.singles(torch.tensor([4, 9])).toggles.tolist() == [[4], [9]]


# Assembling.


def edge_rows(batch):
    """Every directed edge with its attributes, sorted: a batch's edges whatever their order."""
    columns = [batch.edge_index.t()]
    for key in ("edge_attr", "edge_weight", "edge_kind"):
        if key in batch:
            columns.append(batch[key].flatten(1) if batch[key].dim() > 1 else batch[key][:, None])
    return sorted(torch.cat([column.double() for column in columns], dim=1).tolist())


def assert_same_batch(ours, theirs):
    assert edge_rows(ours) == edge_rows(theirs)
    assert ours.num_graphs == theirs.num_graphs
    assert ours.num_nodes == theirs.num_nodes
    assert set(ours.keys()) == set(theirs.keys())
    for key in theirs.keys():  # noqa: SIM118 (a Batch is no mapping)
        value = theirs[key]
        if key in ("edge_attr", "edge_weight", "edge_kind", "edge_index"):
            assert ours[key].dtype == value.dtype
            assert ours[key].shape == value.shape
        elif isinstance(value, torch.Tensor):
            assert ours[key].dtype == value.dtype, key
            assert torch.equal(ours[key], value), key
        else:
            assert ours[key] == value, key


def _decorated():
    graph = random_graph(7, loops=[2, 5], edge_attr=2, edge_weight=True)
    graph.edge_kind = torch.arange(graph.num_edges)
    graph.pos, graph.mask = torch.rand(7, 2), torch.arange(7) % 2 == 0
    graph.y, graph.scalar, graph.descriptors = (
        torch.tensor([1]),
        torch.tensor(0.5),
        torch.rand(1, 4),
    )
    graph.name = "a graph"
    return graph


ASSEMBLED = {
    "plain": (random_graph(7), None),
    "self-loops": (random_graph(7, loops=[0, 3]), None),
    "without features": (random_graph(7, features=0), None),
    "without edges": (make_graph(5, []), None),
    "without edges, with attributes": (make_graph(5, [], edge_attr=2), "zeros"),
    "complete": (random_graph(5, density=1.1), None),
    "two nodes": (make_graph(2, [(0, 1)]), None),
    "edge_attr": (random_graph(7, edge_attr=3, loops=[1]), "mean"),
    "edge_attr by function": (
        random_graph(7, edge_attr=2),
        lambda graph, edge: torch.tensor([float(edge[0]), float(edge[1])]),
    ),
    "edge_weight": (random_graph(7, edge_weight=True), None),
    "edge_weight by fill": (random_graph(7, edge_weight=True), {"edge_weight": 0.25}),
    "as many edges as nodes": (make_graph(4, [(0, 1), (2, 3)], edge_attr=1), 0.5),
    "everything": (_decorated(), {"edge_attr": "zeros", "edge_kind": -1}),
}


@pytest.mark.parametrize("count", [1, 20])
@pytest.mark.parametrize("name", ASSEMBLED)
def test_a_block_is_assembled_to_the_batch_of_its_edited_graphs(name, count):
    graph, fill = ASSEMBLED[name]
    before = snapshot(graph)
    space = PairSpace.of(graph)
    toggles = random_toggles(space, candidates=count)
    ours = assemble(space, toggles, fill=fill)
    assert_same_batch(ours, Batch.from_data_list(edited_graphs(space, toggles, fill=fill)))
    assert same_content(before, snapshot(graph))


@given(graphs_and_edits())
def test_one_candidate_is_assembled_to_its_edited_graph(graph_and_edits):
    graph, edits = graph_and_edits
    space, fill = PairSpace.of(graph), {"edge_attr": 3.0, "edge_weight": 2.0}
    block = ProposalBlock.from_edits([edits], space)
    theirs = Batch.from_data_list([edits.apply(graph, fill=fill)])
    assert_same_batch(assemble(space, block.toggles, fill=fill), theirs)


def test_a_graph_too_large_for_tables_is_assembled_all_the_same(monkeypatch):
    graph = random_graph(9, edge_attr=2)
    monkeypatch.setattr(graphs_module, "_TABLE_LIMIT", 0)
    space = PairSpace.of(graph)
    toggles = random_toggles(space)
    theirs = Batch.from_data_list(edited_graphs(space, toggles, fill="zeros"))
    assert_same_batch(assemble(space, toggles, fill="zeros"), theirs)


@pytest.mark.parametrize(
    ("key", "value"),
    [("temperature", 0.5), ("charge", 2), ("motif_index", torch.tensor([1, 3]))],
)
def test_numbers_and_node_numbers_are_batched_the_way_pyg_batches_them(key, value):
    graph = random_graph(5)
    graph[key] = value
    space = PairSpace.of(graph)
    toggles = random_toggles(space, candidates=3)
    ours, theirs = assemble(space, toggles), Batch.from_data_list(edited_graphs(space, toggles))
    assert isinstance(ours[key], torch.Tensor)
    assert torch.equal(ours[key], theirs[key])


def test_taking_an_assembled_batch_apart_is_refused_rather_than_wrong():
    space = PairSpace.of(random_graph(5))
    with pytest.raises(RuntimeError, match="from_data_list"):
        assemble(space, random_toggles(space, candidates=3)).to_data_list()


def test_a_fill_function_is_asked_once_per_distinct_pair():
    asked = []

    def fill(graph, edge):
        asked.append(edge)
        return torch.zeros(2)

    space = PairSpace.of(path_graph(4, edge_attr=2))
    ids = space.ids_of([(0, 2), (0, 2), (0, 3)])
    assemble(space, ids[:, None], fill=fill)
    assert sorted(asked) == [(0, 2), (0, 3)]


def test_a_block_of_additions_without_a_fill_is_refused():
    space = PairSpace.of(path_graph(4, edge_attr=2))
    with pytest.raises(EditError) as error:
        assemble(space, space.non_edge_ids()[:, None])
    assert_sentence(error, "fill")


@pytest.mark.parametrize("graph", [path_graph(4), _decorated()], ids=["plain", "decorated"])
def test_no_candidates_are_assembled_to_an_empty_batch(graph):
    batch = assemble(PairSpace.of(graph), torch.empty(0, 2, dtype=torch.long), fill="zeros")
    assert batch.num_graphs == 0
    assert batch.edge_index.shape == (2, 0)


# Dense adjacency.


def dense(graph):
    matrix = to_dense_adj(graph.edge_index, max_num_nodes=graph.num_nodes)[0]
    assert matrix.max() <= 1
    return matrix


@pytest.mark.parametrize("count", [1, 2, 20])
@pytest.mark.parametrize(
    "graph",
    [random_graph(7), random_graph(7, loops=[0, 3]), make_graph(5, []), make_graph(2, [(0, 1)])],
    ids=["plain", "self-loops", "no edges", "two nodes"],
)
def test_dense_matrices_are_those_of_the_edited_graphs(graph, count):
    space = PairSpace.of(graph)
    toggles = random_toggles(space, candidates=count)
    base = base_adjacency(space)
    assert torch.equal(base, dense(graph).fill_diagonal_(1.0))
    matrices = adjacency(space, toggles, base)
    wanted = torch.stack(
        [dense(edited).fill_diagonal_(1.0) for edited in edited_graphs(space, toggles)]
    )
    assert torch.equal(matrices, wanted)


@pytest.mark.parametrize("count", [1, 3])
def test_the_matrices_of_a_block_never_share_memory_with_the_graph_s_own(count):
    space = PairSpace.of(random_graph(6))
    base = base_adjacency(space)
    before = base.clone()
    adjacency(space, random_toggles(space, candidates=count), base).fill_(7.0)
    assert torch.equal(base, before)


def test_dense_matrices_without_padding_are_the_same_as_with():
    space = PairSpace.of(random_graph(6))
    toggles = torch.combinations(torch.arange(space.num_pairs), 2)
    padded = torch.cat([toggles, torch.full((len(toggles), 1), PAD)], dim=1)
    base = base_adjacency(space)
    assert torch.equal(adjacency(space, toggles, base), adjacency(space, padded, base))


# Remembered answers.


@given(
    st.lists(st.lists(st.integers(-20, 20), min_size=1, max_size=15), max_size=12),
    st.integers(1, 3),
)
def test_an_answer_store_remembers_like_a_dictionary(rounds, columns):
    store, wanted = AnswerStore(columns), {}
    everything = torch.arange(-25, 26)
    for number, keys in enumerate(rounds):
        fresh = sorted({key for key in keys if key not in wanted})
        answers = torch.arange(len(fresh) * columns).reshape(-1, columns) + 100.0 * number
        store.add(torch.tensor(fresh, dtype=torch.long), answers)
        wanted.update(zip(fresh, answers.tolist(), strict=True))
        assert len(store) == len(wanted)
        known, found = store.find(everything)
        assert found.shape == (51, columns)
        for key, is_known, row in zip(everything.tolist(), known, found, strict=True):
            assert bool(is_known) == (key in wanted)
            assert row.tolist() == wanted[key] if key in wanted else bool(row.isnan().all())


def test_an_answer_store_finds_the_largest_keys_and_the_same_key_twice():
    store = AnswerStore(1)
    store.add(torch.tensor([-(2**62), 0, 2**62]), torch.tensor([[1.0], [2.0], [3.0]]))
    known, found = store.find(torch.tensor([-(2**62), 0, 0, 5, 2**62, 2**62 + 1]))
    assert known.tolist() == [True, True, True, False, True, False]
    assert found[known].flatten().tolist() == [1.0, 2.0, 2.0, 3.0]


def test_an_empty_answer_store_knows_nothing():
    known, found = AnswerStore(2).find(torch.tensor([1, 2]))
    assert not known.any()
    assert found.isnan().all()
