"""Edges that come and go as a space of moves: ids, edits, limits, noisy copies, and its way to JSON."""

import json
import random
from dataclasses import fields

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from conftest import (
    assert_sentence,
    edited_graphs,
    graphs,
    make_graph,
    path_graph,
    random_graph,
    random_toggles,
    same_content,
    snapshot,
)
from edgeflip import Constraints, EditSet, Noise
from edgeflip.core import (
    PAD,
    PairEdits,
    PairSpace,
    add_noise,
    cancelled,
    edge_pairs,
    padded,
    register_space,
    space_from_dict,
)
from edgeflip.core.pair_edits import _SavedConstraints
from edgeflip.errors import ArtifactError, ConstraintError, EditError, GraphError
from test_assembly import assert_same_batch

PATH = path_graph(4)


def never(graph, edits):
    return False


# Between rows and edit sets.


@given(st.lists(st.integers(0, 2**10 - 1), max_size=6), graphs(min_nodes=5, max_nodes=5))
def test_edit_sets_survive_the_way_through_rows_and_json(masks, graph):
    space = PairEdits(PairSpace.of(graph))
    pairs = space.pairs.edges_of(torch.arange(space.pairs.num_pairs))
    edges = edge_pairs(graph)
    chosen = [{pair for bit, pair in enumerate(pairs) if mask >> bit & 1} for mask in masks]
    edits = [EditSet(entry - edges, entry & edges) for entry in chosen]
    rows = padded([space.row(entry) for entry in edits])
    assert len(rows) == len(edits)
    assert space.edits(rows) == edits
    assert [space.edits(row[None])[0] for row in rows] == edits
    assert space.edits(space.normalise(rows)) == edits
    assert [space.read(json.loads(json.dumps(entry.to_dict()))) for entry in edits] == edits


@pytest.mark.parametrize("edits", [EditSet(added={(0, 1)}), EditSet(removed={(0, 2)})])
def test_an_edit_set_that_does_not_fit_the_graph_is_refused(edits):
    with pytest.raises(EditError) as error:
        PairEdits.of(PATH).row(edits)
    assert_sentence(error, str(edits))


def test_edits_between_nodes_that_are_not_there_cannot_be_read():
    with pytest.raises(GraphError):
        PairEdits.of(PATH).read(EditSet(added={(0, 9)}).to_dict())


# What a space says of its moves.


def test_moves_are_grouped_by_what_they_do():
    space = PairEdits.of(PATH)
    pairs = space.pairs
    assert pairs.edges_of(space.groups["remove"]) == [(0, 1), (1, 2), (2, 3)]
    assert pairs.edges_of(space.groups["add"]) == [(0, 2), (0, 3), (1, 3)]
    assert space.allowed.tolist() == list(range(6))
    assert space.input is PATH
    assert (space.kind, space.max_cost, space.has_rules) == ("pairs", 6, False)


def test_constraints_narrow_groups_levels_and_cost():
    limits = Constraints(max_removed=0, max_edits=2, frozen_nodes=frozenset({3}))
    space = PairEdits.of(PATH, limits)
    assert space.groups["remove"].tolist() == []
    assert space.pairs.edges_of(space.allowed) == [(0, 2)]
    assert [space.level(cost).count for cost in (1, 2, 3)] == [1, 0, 0]
    assert space.max_cost == 1
    assert PairEdits.of(PATH, Constraints(rules=(never,))).has_rules


@pytest.mark.parametrize("cost", [1, 2, 3, 4])
@pytest.mark.parametrize(
    "constraints",
    [
        Constraints(),
        Constraints(max_added=1),
        Constraints(max_edits=2, frozen_nodes=frozenset({0})),
        Constraints(frozen_edges=frozenset({(1, 2)}), forbidden_pairs=frozenset({(0, 3)})),
        Constraints(keep_connected=True),
        Constraints(room={0: 0, 1: 1}),
    ],
    ids=["free", "additions", "edits and nodes", "edges and pairs", "connected", "room"],
)
def test_a_level_is_what_was_written_apart_for_the_verifier(cost, constraints):
    space = PairEdits.of(random_graph(5, seed=3), constraints)
    level = space.level(cost)
    rows = level.rows(torch.arange(level.count)) if level.count else torch.empty(0, 1).long()
    found = [e for e, fits in zip(space.edits(rows), space.check(rows), strict=True) if fits]
    plainly = list(space.plainly(cost))
    assert len(set(found)) == len(found) == len(plainly)
    assert set(found) == set(plainly)
    if level.count:
        drawn = level.draw(random.Random(0))
        assert (space.costs(drawn).sum(dim=1) == cost).all()


def test_rules_are_asked_about_edit_sets_one_way_or_the_other():
    def only_additions(graph, edits):
        return not edits.removed

    space = PairEdits.of(PATH, Constraints(rules=(only_additions,)))
    for row, edits in zip(space.allowed, space.edits(space.allowed[:, None]), strict=True):
        assert space.rules_allow(row[None]) == space.plainly_allows(edits) == (not edits.removed)
    # `check` is for what tensors can tell.
    assert space.check(space.allowed[:, None]).all()


def test_every_pair_is_a_slot_that_costs_one():
    space, rows = PairEdits.of(PATH), torch.tensor([[3, 1, 3], [5, PAD, PAD]])
    assert space.slots(rows).tolist() == rows.tolist()
    assert space.costs(rows).tolist() == [[1, 1, 1], [1, 0, 0]]
    assert torch.equal(space.normalise(rows), cancelled(rows))


def test_a_limited_space_keeps_its_other_constraints():
    space = PairEdits.of(PATH, Constraints(max_added=1, frozen_nodes=frozenset({0})))
    limited = space.limited(max_removed=1, max_added=5)
    assert limited.limits.max_removed == 1
    assert limited.limits.max_added == 1
    assert limited.constraints.frozen_nodes == {0}
    assert space.limits.max_removed == 2


# The edited graphs.


@pytest.mark.parametrize("fill", [None, "zeros", {"edge_attr": 2.0}], ids=str)
def test_edited_graphs_are_those_of_edit_sets_whichever_way_they_are_made(fill):
    graph = random_graph(6, edge_attr=None if fill is None else 2)
    before = snapshot(graph)
    space = PairEdits.of(graph, fill=fill)
    rows = random_toggles(space.pairs)
    wanted = edited_graphs(space.pairs, rows, fill=fill)
    edited = [space.edited(edits) for edits in space.edits(rows)]
    for one, two, three in zip(wanted, space.apply(rows), edited, strict=True):
        assert edge_pairs(one) == edge_pairs(two) == edge_pairs(three)
        assert same_content(snapshot(one), snapshot(three))
        assert one.keys() == two.keys()
        if fill is not None:
            assert sorted(one.edge_attr.tolist()) == sorted(two.edge_attr.tolist())
    assert same_content(before, snapshot(graph))


def test_a_batch_is_that_of_the_edited_graphs():
    from torch_geometric.data import Batch

    space = PairEdits.of(random_graph(6, edge_attr=2), fill="mean")
    rows = random_toggles(space.pairs)
    assert_same_batch(
        space.batch(rows), Batch.from_data_list(edited_graphs(space.pairs, rows, fill="mean"))
    )


def test_cells_are_where_adjacency_matrices_change():
    space = PairEdits.of(PATH)
    ids = space.pairs.ids_of([(0, 1), (0, 2)])
    places, values = space.cells(ids[:, None])
    assert dict(zip(places.tolist(), values.tolist(), strict=True)) == {
        0 * 4 + 1: 0.0,
        1 * 4 + 0: 0.0,
        16 + 0 * 4 + 2: 1.0,
        16 + 2 * 4 + 0: 1.0,
    }


def test_what_cannot_be_edited_is_refused():
    with pytest.raises(EditError) as error:
        PairEdits.of(path_graph(4, edge_attr=2))
    assert_sentence(error, "fill")
    assert PairEdits.of(path_graph(4, edge_attr=2), Constraints(allow_additions=False))
    with pytest.raises(ConstraintError):
        PairEdits.of(PATH, Constraints(frozen_nodes=frozenset(range(4))))
    with pytest.raises(GraphError):
        PairEdits.of(make_graph(1, []))


# Noisy copies.


def test_edits_are_translated_to_a_noisy_copy_by_hand():
    space = PairEdits.of(make_graph(4, {(0, 1), (1, 2), (2, 3)}))
    # The noise took 0–1 away and brought 0–3.
    noisy = make_graph(4, {(0, 3), (1, 2), (2, 3)})
    ids = space.pairs.ids_of([(0, 1), (0, 2), (0, 3), (1, 2)]).tolist()
    rows = torch.tensor([[ids[0], ids[1]], [ids[2], ids[3]], [ids[0], ids[2]], [ids[3], PAD]])
    wanted = [[ids[1], PAD], [ids[3], PAD], [PAD, PAD], [ids[3], PAD]]
    copy, translated = space.on(noisy, rows)
    assert translated.tolist() == wanted
    assert copy.input is noisy


@given(st.integers(0, 200), st.integers(0, 20))
def test_edited_pairs_end_as_wanted_and_all_others_as_the_noise_left_them(seed, noise_seed):
    space = PairEdits.of(random_graph(seed=seed))
    toggles = random_toggles(space.pairs, seed=seed)
    noisy = add_noise(space.input, Noise(edge_share=0.4), seed=noise_seed)
    copy, translated = space.on(noisy, toggles)
    pairs = torch.arange(space.pairs.num_pairs)
    for row, edits in zip(toggles, translated, strict=True):
        edited = torch.isin(pairs, row)
        after = copy.pairs.is_edge(pairs) ^ torch.isin(pairs, edits)
        assert torch.equal(after[edited], ~space.pairs.is_edge(pairs)[edited])
        assert torch.equal(after[~edited], copy.pairs.is_edge(pairs)[~edited])


# To JSON and back.


def round_trip(space):
    return space_from_dict(json.loads(json.dumps(space.to_dict())))


@pytest.mark.parametrize("fill", [None, "mean", 0.5, {"edge_attr": "zeros"}], ids=str)
def test_a_space_survives_json_with_its_limits_and_plain_fill(fill):
    graph = path_graph(4, edge_attr=None if fill is None else 2)
    limits = Constraints(max_edits=2, frozen_nodes=frozenset({3}), forbidden_pairs={(0, 2)})
    space = PairEdits.of(graph, limits, fill)
    again = round_trip(space)
    assert again.to_dict() == space.to_dict()
    assert again.constraints == limits
    assert again.fill == fill
    assert torch.equal(again.allowed, space.allowed)
    assert same_content(snapshot(again.input), snapshot(graph))


def test_rules_are_kept_by_name_and_a_function_as_fill_is_refused_at_saving():
    graph = path_graph(4, edge_attr=2)
    limits = Constraints(max_edits=2, rules=(never,))
    space = PairEdits.of(graph, limits, lambda graph, edge: torch.zeros(2))
    with pytest.raises(ArtifactError) as error:
        space.to_dict()
    assert_sentence(error, "a function", "to save the answer")
    space = PairEdits.of(graph, limits, "zeros")
    again = round_trip(space)
    assert again.lost_rules == ("never",)
    assert again.to_dict() == space.to_dict()


ROWS = [
    torch.tensor([0.1, 0.2], dtype=torch.float64),
    [1, 0],
    {"edge_attr": torch.tensor([3.0, 4.0]), "edge_weight": 2},
]


@pytest.mark.parametrize("fill", ROWS, ids=["tensor", "list", "by attribute"])
def test_a_fill_that_is_a_row_comes_back_from_json(fill):
    graph = path_graph(4, edge_attr=2)
    graph.edge_attr = graph.edge_attr.double()
    graph.edge_weight = torch.ones(graph.num_edges)
    space = PairEdits.of(graph, fill=fill)
    again = round_trip(space)
    assert again.to_dict() == space.to_dict()
    row = space.groups["add"][:1][None]
    assert same_content(snapshot(again.apply(row)[0]), snapshot(space.apply(row)[0]))


def test_an_answer_whose_fill_an_older_version_dropped_says_so():
    payload = PairEdits.of(path_graph(4, edge_attr=2), fill="zeros").to_dict()
    again = space_from_dict({**payload, "fill": None, "fill_kept": False})
    with pytest.raises(ConstraintError) as error:
        again.under(None)
    assert_sentence(error, "older edgeflip", "explain the graph again")


def test_every_constraint_is_one_that_a_saved_space_knows():
    saved = {item.name for item in fields(_SavedConstraints)}
    assert saved == {item.name for item in fields(Constraints)}


def test_a_space_without_its_rules_asks_for_the_constraints():
    limits = Constraints(max_edits=2, rules=(never,))
    again = round_trip(PairEdits.of(PATH, limits))
    with pytest.raises(ConstraintError) as error:
        again.under(None)
    assert_sentence(error, "never", "constraints=")
    with pytest.raises(ConstraintError) as error:
        again.under(Constraints(rules=(never,)))
    assert_sentence(error, "others")
    restored = again.under(limits)
    assert restored.constraints.rules == (never,)
    assert not restored.rules_allow(torch.tensor([0]))


@pytest.mark.parametrize("rules", [(), (never,)], ids=["alone", "beside another rule"])
def test_staying_connected_is_a_rule_that_is_not_lost(rules):
    limits = Constraints(keep_connected=True, rules=rules)
    space = PairEdits.of(PATH, limits)
    again = round_trip(space)
    assert again.to_dict() == space.to_dict()
    assert again.lost_rules == tuple(rule.__name__ for rule in rules)
    assert again.under(limits if rules else None).constraints == limits
    assert not again.rules_allow(again.groups["remove"][:1])


def test_a_space_without_lost_rules_needs_no_constraints_again():
    space = round_trip(PairEdits.of(PATH, Constraints(max_edits=2)))
    assert space.under(None) is space
    assert space.under(Constraints(max_edits=2)).constraints == Constraints(max_edits=2)
    with pytest.raises(ConstraintError):
        space.under(Constraints(max_edits=3))


def test_another_graph_than_the_saved_one_is_refused():
    payload = PairEdits.of(PATH).to_dict()
    payload["fingerprint"] = "0" * len(payload["fingerprint"])
    with pytest.raises(ArtifactError) as error:
        space_from_dict(payload)
    assert_sentence(error, "not the one")


def test_a_space_of_an_unknown_kind_is_refused_until_somebody_tells_how_it_is_read():
    with pytest.raises(ArtifactError) as error:
        space_from_dict({"kind": "hexagons"})
    assert_sentence(error, "hexagons", "pairs", "register_space")
    register_space("hexagons", lambda payload: PairEdits.of(PATH))
    assert space_from_dict({"kind": "hexagons"}).input is PATH
