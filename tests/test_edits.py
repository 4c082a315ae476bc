"""Edit sets: everything else rests on them."""

import copy
import dataclasses
import json
import pickle

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from conftest import (
    assert_sentence,
    attribute_rows,
    fill_like,
    graphs,
    graphs_and_edits,
    make_graph,
    path_graph,
    same_content,
    snapshot,
)
from edgeflip.core.edits import EditSet, apply_edits, toggle_pairs
from edgeflip.core.graphs import PairSpace, edge_pairs, fingerprint
from edgeflip.errors import EditError, GraphError

pairs = st.tuples(st.integers(0, 6), st.integers(0, 6)).filter(lambda pair: pair[0] != pair[1])


@st.composite
def edit_sets(draw, max_size=5):
    chosen = draw(st.sets(pairs.map(lambda pair: tuple(sorted(pair))), max_size=max_size))
    added = {pair for pair in sorted(chosen) if draw(st.booleans())}
    return EditSet(added, chosen - added)


def _loops(graph):
    return sorted(u for u, v in graph.edge_index.t().tolist() if u == v)


@given(graphs_and_edits())
def test_edits_made_and_taken_back_give_the_graph_back(graph_and_edits):
    graph, edits = graph_and_edits
    edited = edits.apply(graph, fill="zeros" if "edge_attr" in graph else None)
    restored = edits.undo().apply(edited, fill=fill_like(graph))
    assert fingerprint(restored) == fingerprint(graph)
    assert edge_pairs(restored) == edge_pairs(graph)
    assert edits.undo().undo() == edits


@given(graphs_and_edits())
def test_the_edits_between_a_graph_and_its_edited_copy_are_the_edits(graph_and_edits):
    graph, edits = graph_and_edits
    edited = edits.apply(graph, fill={"edge_attr": 0.0})
    assert EditSet.between(graph, edited) == edits
    assert EditSet.between(edited, graph) == edits.undo()
    assert len(edits) == len(edge_pairs(graph) ^ edge_pairs(edited))


@given(graphs_and_edits())
def test_an_edited_graph_has_exactly_the_wanted_edges_and_is_sound(graph_and_edits):
    graph, edits = graph_and_edits
    edited = edits.apply(graph, fill={"edge_attr": 0.0})
    columns = [tuple(column) for column in edited.edge_index.t().tolist()]
    assert edge_pairs(edited) == (edge_pairs(graph) | edits.added) - edits.removed
    assert len(columns) == len(set(columns))
    assert {(v, u) for u, v in columns} == set(columns)
    assert _loops(edited) == _loops(graph)
    assert edited.num_nodes == graph.num_nodes
    PairSpace.of(edited)


@given(graphs_and_edits())
def test_edges_that_stay_keep_their_attributes_and_new_ones_get_the_fill(graph_and_edits):
    graph, edits = graph_and_edits
    edited = edits.apply(graph, fill={"edge_attr": 7.0, "edge_weight": 0.25})
    for key, new in (("edge_attr", [7.0, 7.0]), ("edge_weight", 0.25)):
        if key not in graph:
            assert key not in edited
            continue
        before, after = attribute_rows(graph, key), attribute_rows(edited, key)
        for u, v in after:
            wanted = before.get((u, v), new)
            assert after[u, v] == wanted
            assert after[u, v] == after[v, u]


@given(graphs_and_edits())
def test_the_input_graph_is_never_changed(graph_and_edits):
    graph, edits = graph_and_edits
    before = snapshot(graph)
    edited = edits.apply(graph, fill={"edge_attr": "zeros"})
    EditSet.between(graph, edited)
    for key in edited.keys():  # noqa: SIM118 (a Data is no mapping)
        if isinstance(edited[key], torch.Tensor):
            edited[key].add_(1)
    assert same_content(before, snapshot(graph))


@given(
    st.lists(st.integers(0, 2**10 - 1), min_size=1, max_size=5), graphs(min_nodes=5, max_nodes=5)
)
def test_graphs_made_together_are_those_made_one_by_one(masks, graph):
    space = PairSpace.of(graph)
    before = snapshot(graph)
    chosen = [[bit for bit in range(10) if mask >> bit & 1] for mask in masks]
    width = max(map(len, chosen))
    padded = [ids + [-1] * (width - len(ids)) for ids in chosen]
    rows = torch.tensor(padded, dtype=torch.long).view(len(masks), width)
    fill = {"edge_attr": 7.0, "edge_weight": 0.25}
    made = toggle_pairs(space, rows, fill=fill)
    for ids, edited in zip(chosen, made, strict=True):
        pairs_of = space.edges_of(torch.tensor(ids, dtype=torch.long))
        edges = edge_pairs(graph)
        edits = EditSet(set(pairs_of) - edges, set(pairs_of) & edges)
        assert same_content(snapshot(edited), snapshot(apply_edits(space, edits, fill=fill)))
    assert same_content(before, snapshot(graph))


def test_everything_but_the_edges_is_carried_over():
    graph = path_graph(4)
    graph.y, graph.pos, graph.name = torch.tensor([1]), torch.rand(4, 2), "a path"
    edited = EditSet(added={(0, 3)}, removed={(1, 2)}).apply(graph)
    assert torch.equal(edited.x, graph.x)
    assert torch.equal(edited.y, graph.y)
    assert torch.equal(edited.pos, graph.pos)
    assert edited.name == "a path"


def test_no_edits_leave_the_graph_as_it_is():
    graph = path_graph(4, edge_attr=2)
    assert fingerprint(EditSet().apply(graph)) == fingerprint(graph)
    assert not EditSet()
    assert str(EditSet()) == "no edits"


def test_a_complete_graph_can_lose_all_its_edges_and_get_them_back():
    complete = make_graph(4, [(u, v) for u in range(4) for v in range(u)], loops=[1])
    nothing = EditSet(removed=edge_pairs(complete)).apply(complete)
    assert edge_pairs(nothing) == frozenset()
    assert _loops(nothing) == [1]
    again = EditSet(added=edge_pairs(complete)).apply(nothing)
    assert fingerprint(again) == fingerprint(complete)


@given(edit_sets())
def test_edits_survive_json(edits):
    assert EditSet.from_dict(json.loads(json.dumps(edits.to_dict()))) == edits


@given(edit_sets())
def test_edits_survive_pickling_and_copying(edits):
    assert pickle.loads(pickle.dumps(edits)) == edits
    assert copy.deepcopy(edits) == edits


@given(edit_sets(), st.randoms(use_true_random=False))
def test_the_orientation_of_a_pair_does_not_matter(edits, random):
    turned = EditSet(
        *(
            [pair if random.random() < 0.5 else pair[::-1] for pair in side]
            for side in (edits.added, edits.removed)
        )
    )
    assert turned == edits
    assert hash(turned) == hash(edits)
    assert all(u < v for u, v in turned.edges)


@given(edit_sets())
def test_subsets_come_in_bitmask_order(edits):
    subsets = list(edits.subsets())
    assert len(subsets) == len(set(subsets)) == 2 ** len(edits)
    assert subsets[0] == EditSet()
    assert subsets[-1] == edits
    for mask, subset in enumerate(subsets):
        wanted = {edge for bit, edge in enumerate(edits.edges) if mask >> bit & 1}
        assert set(subset.edges) == wanted
        assert subset.added <= edits.added
        assert subset.removed <= edits.removed


@given(edit_sets(), edit_sets())
def test_jaccard_is_a_symmetric_overlap_between_0_and_1(one, two):
    assert 0.0 <= one.jaccard(two) <= 1.0
    assert one.jaccard(two) == two.jaccard(one)
    assert (one.jaccard(two) == 1.0) == (one == two)
    shared = len(one.added & two.added) + len(one.removed & two.removed)
    if one or two:
        assert one.jaccard(two) == shared / (len(one) + len(two) - shared)


def test_adding_and_removing_the_same_edge_do_not_overlap():
    assert EditSet(added={(0, 1)}).jaccard(EditSet(removed={(0, 1)})) == 0.0


def test_an_edit_set_is_a_frozen_value():
    edits = EditSet(added=[(0, 1)])
    assert isinstance(edits.added, frozenset)
    assert {edits: "here"}[EditSet(added=[(1, 0)])] == "here"
    with pytest.raises(dataclasses.FrozenInstanceError):
        edits.added = frozenset()
    with pytest.raises((AttributeError, TypeError)):
        edits.note = "no room"


def test_edits_touching_nodes_are_counted_once():
    edits = EditSet(added={(0, 1), (2, 3)}, removed={(1, 2)})
    assert edits.touching({0, 1}) == 2
    assert edits.touching({3}) == 1
    assert edits.touching(set()) == 0


def test_edits_read_well_on_one_line():
    assert str(EditSet(added={(3, 1), (0, 2)}, removed={(0, 1)})) == "+(0, 2) +(1, 3) -(0, 1)"


# What is refused.


def test_adding_an_edge_that_exists_is_refused():
    with pytest.raises(EditError) as error:
        EditSet(added={(0, 3), (2, 1)}).apply(path_graph(4))
    assert_sentence(error, "(1, 2)", "added")


def test_removing_an_edge_that_does_not_exist_is_refused():
    with pytest.raises(EditError) as error:
        EditSet(removed={(0, 1), (3, 0)}).apply(path_graph(4))
    assert_sentence(error, "(0, 3)", "removed")


def test_a_self_loop_cannot_be_edited():
    with pytest.raises(EditError) as error:
        EditSet(removed={(2, 2)})
    assert_sentence(error, "(2, 2)", "self-loops")


def test_a_negative_node_is_refused_for_what_it_is():
    with pytest.raises(EditError) as error:
        EditSet(added={(-1, 2)})
    assert_sentence(error, "(-1, 2)")


def test_an_edge_cannot_be_added_and_removed_at_once():
    with pytest.raises(EditError) as error:
        EditSet(added={(0, 1)}, removed={(1, 0)})
    assert_sentence(error, "(0, 1)", "both")


def test_an_edit_beyond_the_last_node_is_refused():
    with pytest.raises(GraphError) as error:
        EditSet(added={(0, 4)}).apply(path_graph(4))
    assert_sentence(error, "0..3", "(0, 4)")


@pytest.mark.parametrize("added", [(0, 1), [(0, 1, 2)], [("a", "b")], [3]])
def test_something_that_is_no_list_of_pairs_is_refused(added):
    with pytest.raises(EditError) as error:
        EditSet(added=added)
    assert_sentence(error)


@pytest.mark.parametrize(
    "payload",
    [{}, {"added": []}, [], {"added": [[0]], "removed": []}, {"added": 3, "removed": []}],
)
def test_a_broken_json_form_is_refused(payload):
    with pytest.raises(EditError) as error:
        EditSet.from_dict(payload)
    assert_sentence(error, "to_dict")


def test_edits_between_graphs_of_different_size_are_refused():
    with pytest.raises(EditError) as error:
        EditSet.between(path_graph(4), path_graph(5))
    assert_sentence(error, "4 and 5 nodes")


def test_a_directed_graph_is_not_edited():
    graph = path_graph(3)
    graph.edge_index = graph.edge_index[:, :-1]
    with pytest.raises(GraphError, match="to_undirected"):
        EditSet(added={(0, 2)}).apply(graph)


# Attributes of added edges.


def _with_attributes():
    graph = path_graph(4)
    rows = {(0, 1): [1.0, 0.0], (1, 2): [1.0, 0.0], (2, 3): [4.0, 3.0]}
    columns = graph.edge_index.t().tolist()
    graph.edge_attr = torch.tensor([rows[min(u, v), max(u, v)] for u, v in columns])
    return graph


ADD = EditSet(added={(0, 3), (0, 2)}, removed={(0, 1)})

FILLS = {
    "zeros": ("zeros", [0.0, 0.0]),
    "mean": ("mean", [2.0, 1.0]),
    "mode": ("mode", [1.0, 0.0]),
    "float": (0.5, [0.5, 0.5]),
    "int": (2, [2.0, 2.0]),
    "row": (torch.tensor([8.0, 9.0]), [8.0, 9.0]),
    "row of integers": (torch.tensor([8, 9]), [8.0, 9.0]),
    "function": (lambda graph, edge: torch.tensor([5.0, float(graph.num_nodes)]), [5.0, 4.0]),
    "function that gives a list": (lambda graph, edge: [5.0, 6.0], [5.0, 6.0]),
    "mapping": ({"edge_attr": "mean"}, [2.0, 1.0]),
}


@pytest.mark.parametrize("name", FILLS)
def test_added_edges_get_the_fill_in_both_directions(name):
    fill, row = FILLS[name]
    graph = _with_attributes()
    edited = ADD.apply(graph, fill=fill)
    rows = attribute_rows(edited, "edge_attr")
    assert edited.edge_attr.dtype == graph.edge_attr.dtype
    for u, v in ADD.added:
        assert rows[u, v] == row
        assert rows[v, u] == row
    assert rows[2, 3] == rows[3, 2] == [4.0, 3.0]


def test_a_fill_function_sees_graph_and_edge():
    seen = []

    def fill(graph, edge):
        seen.append((graph.num_nodes, edge))
        return torch.tensor([float(edge[0]), float(edge[1])])

    rows = attribute_rows(ADD.apply(_with_attributes(), fill=fill), "edge_attr")
    assert sorted(seen) == [(4, (0, 2)), (4, (0, 3))]
    assert rows[2, 0] == [0.0, 2.0]
    assert rows[0, 3] == [0.0, 3.0]


def test_a_fill_function_that_fails_is_refused_in_a_sentence():
    with pytest.raises(EditError) as error:
        ADD.apply(_with_attributes(), fill=lambda graph: 0.0)
    assert_sentence(error, "fill function", "a graph and an edge", "TypeError")


def test_edge_attributes_without_a_fill_are_refused():
    with pytest.raises(EditError) as error:
        ADD.apply(_with_attributes())
    assert_sentence(error, "fill", "edge_attr", "allow_additions=False")


def test_removals_alone_need_no_fill():
    edited = EditSet(removed={(0, 1)}).apply(_with_attributes())
    assert attribute_rows(edited, "edge_attr") == {
        (1, 2): [1.0, 0.0],
        (2, 1): [1.0, 0.0],
        (2, 3): [4.0, 3.0],
        (3, 2): [4.0, 3.0],
    }


def test_an_added_edge_weighs_1_unless_the_fill_says_otherwise():
    graph = path_graph(4, edge_weight=True, edge_attr=1)
    plain = attribute_rows(ADD.apply(graph, fill=0.0), "edge_weight")
    mapped = ADD.apply(graph, fill={"edge_weight": 0.5, "edge_attr": 3.0})
    assert plain[0, 2] == plain[2, 0] == 1.0
    assert attribute_rows(mapped, "edge_weight")[3, 0] == 0.5
    assert attribute_rows(mapped, "edge_attr")[3, 0] == [3.0]
    assert plain[2, 3] == attribute_rows(graph, "edge_weight")[2, 3]


def test_a_mapping_that_leaves_an_attribute_out_is_refused():
    with pytest.raises(EditError, match="edge_attr"):
        ADD.apply(_with_attributes(), fill={"edge_weight": 1.0})


@pytest.mark.parametrize(
    "fill",
    [
        torch.tensor([1.0]),
        torch.tensor(1.0),
        torch.ones(2, 2),
        lambda graph, edge: torch.ones(3),
        lambda graph, edge: 1.0,
        lambda graph, edge: torch.ones(edge[1]),
        {"edge_attr": torch.ones(3)},
    ],
    ids=["short", "scalar", "matrix", "long", "function of a number", "uneven", "mapping"],
)
def test_a_fill_of_the_wrong_shape_is_refused(fill):
    with pytest.raises(EditError) as error:
        ADD.apply(_with_attributes(), fill=fill)
    assert_sentence(error, "edge_attr", "fill")


@pytest.mark.parametrize("fill", ["median", "", object()])
def test_an_unknown_fill_is_refused(fill):
    with pytest.raises(EditError) as error:
        ADD.apply(_with_attributes(), fill=fill)
    assert_sentence(error, "'zeros', 'mean', 'mode'")


@pytest.mark.parametrize(
    "row", [[8.0, 9.0], torch.tensor([8.0, 9.0]).numpy()], ids=["list", "numpy"]
)
def test_a_row_that_is_no_tensor_is_taken_or_refused_but_never_a_crash(row):
    try:
        rows = attribute_rows(ADD.apply(_with_attributes(), fill=row), "edge_attr")
    except EditError:
        return
    assert rows[0, 2] == rows[2, 0] == [8.0, 9.0]


def test_the_mode_of_integer_attributes_stays_an_integer():
    graph = path_graph(4)
    columns = graph.edge_index.t().tolist()
    graph.edge_attr = torch.tensor([3 if {u, v} == {0, 1} else 7 for u, v in columns])
    edited = ADD.apply(graph, fill="mode")
    assert edited.edge_attr.dtype == torch.long
    assert attribute_rows(edited, "edge_attr")[0, 3] == 7


def test_integer_attributes_have_no_mean():
    graph = path_graph(4)
    graph.edge_attr = torch.ones(6, dtype=torch.long)
    with pytest.raises(EditError) as error:
        ADD.apply(graph, fill="mean")
    assert_sentence(error, "mode")


@pytest.mark.parametrize("fill", ["mean", "mode"])
def test_a_graph_without_edges_has_no_mean_to_fill_with(fill):
    graph = make_graph(3, [], edge_attr=2)
    with pytest.raises(EditError) as error:
        EditSet(added={(0, 1)}).apply(graph, fill=fill)
    assert_sentence(error, fill)


@pytest.mark.parametrize(("fill", "row"), [("zeros", [0.0, 0.0]), (0.5, [0.5, 0.5])])
def test_the_first_edge_of_a_graph_with_attributes_gets_the_fill(fill, row):
    edited = EditSet(added={(0, 1)}).apply(make_graph(3, [], edge_attr=2), fill=fill)
    assert attribute_rows(edited, "edge_attr") == {(0, 1): row, (1, 0): row}
