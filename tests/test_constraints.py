"""What may change: every limit, one at a time and all together."""

import dataclasses
import functools
import itertools
import json

import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st

from conftest import assert_sentence, graphs, make_graph, path_graph, random_graph
from edgeflip.core.constraint_words import in_short
from edgeflip.core.constraints import FREE, Constraints
from edgeflip.core.edits import EditSet
from edgeflip.core.graphs import PairSpace, edge_pairs
from edgeflip.errors import ConstraintError, EdgeflipError


def naive_allows(constraints, edits):
    """What the fields say, read one edit at a time."""

    def within(number, limit):
        return limit is None or number <= limit

    return (
        len(edits) > 0
        and (constraints.allow_additions or not edits.added)
        and (constraints.allow_removals or not edits.removed)
        and within(len(edits.added), constraints.max_added)
        and within(len(edits.removed), constraints.max_removed)
        and within(len(edits), constraints.max_edits)
        and not any(set(edge) & constraints.frozen_nodes for edge in edits.edges)
        and not edits.removed & constraints.frozen_edges
        and not edits.added & constraints.forbidden_pairs
    )


@st.composite
def problems(draw):
    graph = draw(graphs(max_nodes=6, attributes=False))
    pairs = list(itertools.combinations(range(graph.num_nodes), 2))
    some_pairs = st.frozensets(st.sampled_from(pairs), max_size=3)
    limit = st.none() | st.integers(0, 3)
    constraints = Constraints(
        allow_additions=draw(st.booleans()),
        allow_removals=draw(st.booleans()),
        max_added=draw(limit),
        max_removed=draw(limit),
        max_edits=draw(limit),
        frozen_nodes=draw(st.frozensets(st.integers(0, graph.num_nodes - 1), max_size=2)),
        frozen_edges=draw(some_pairs) & edge_pairs(graph),
        forbidden_pairs=draw(some_pairs),
    )
    sets = draw(st.lists(st.sets(st.sampled_from(pairs), max_size=4), max_size=8))
    return graph, constraints, sets


@given(problems())
def test_a_block_is_checked_like_its_edit_sets_one_by_one(problem):
    graph, constraints, sets = problem
    space, edges = PairSpace.of(graph), edge_pairs(graph)
    try:
        allowed = constraints.on(space)
    except ConstraintError:
        singles = [EditSet({pair} - edges, {pair} & edges) for pair in space.edges_of(_all(space))]
        assert not any(naive_allows(constraints, edits) for edits in singles)
        return
    width = max((len(entry) for entry in sets), default=0)
    rows = [space.ids_of(sorted(entry)).tolist() for entry in sets]
    toggles = torch.tensor([row + [-1] * (width - len(row)) for row in rows], dtype=torch.long)
    edits = [EditSet(entry - edges, entry & edges) for entry in sets]
    wanted = [naive_allows(constraints, entry) for entry in edits]
    assert allowed.check(toggles.reshape(len(sets), width)).tolist() == wanted
    assert [constraints.allows(graph, entry) for entry in edits] == wanted


@given(problems())
def test_the_open_pairs_are_those_a_single_edit_may_use(problem):
    graph, constraints, _ = problem
    space, edges = PairSpace.of(graph), edge_pairs(graph)
    try:
        allowed = constraints.on(space)
    except ConstraintError:
        assume(False)
    unlimited = Constraints(
        allow_additions=constraints.allow_additions,
        allow_removals=constraints.allow_removals,
        frozen_nodes=constraints.frozen_nodes,
        frozen_edges=constraints.frozen_edges,
        forbidden_pairs=constraints.forbidden_pairs,
    )
    pairs = space.edges_of(_all(space))
    additions = [p for p in pairs if p not in edges and naive_allows(unlimited, EditSet({p}))]
    removals = [p for p in pairs if p in edges and naive_allows(unlimited, EditSet((), {p}))]
    assert space.edges_of(allowed.additions) == additions
    assert space.edges_of(allowed.removals) == removals
    assert allowed.max_added <= len(additions)
    assert allowed.max_removed <= len(removals)
    assert 1 <= allowed.max_edits <= allowed.max_added + allowed.max_removed


def _all(space):
    return torch.arange(space.num_pairs)


PATH = path_graph(5)
ADD_ONE, ADD_TWO = EditSet(added={(0, 2)}), EditSet(added={(0, 2), (1, 4)})
CUT_ONE, CUT_TWO = EditSet(removed={(0, 1)}), EditSet(removed={(0, 1), (3, 4)})
SWAP = EditSet(added={(0, 2)}, removed={(0, 1)})

FIELDS = {
    "no additions": (Constraints(allow_additions=False), [CUT_ONE, CUT_TWO], [ADD_ONE, SWAP]),
    "no removals": (Constraints(allow_removals=False), [ADD_ONE, ADD_TWO], [CUT_ONE, SWAP]),
    "one addition": (Constraints(max_added=1), [ADD_ONE, SWAP, CUT_TWO], [ADD_TWO]),
    "one removal": (Constraints(max_removed=1), [CUT_ONE, SWAP, ADD_TWO], [CUT_TWO]),
    "no addition by number": (Constraints(max_added=0), [CUT_TWO], [ADD_ONE, SWAP]),
    "one edit": (Constraints(max_edits=1), [ADD_ONE, CUT_ONE], [ADD_TWO, CUT_TWO, SWAP]),
    "a frozen node": (Constraints(frozen_nodes={4}), [ADD_ONE, SWAP], [ADD_TWO, CUT_TWO]),
    "a frozen edge": (Constraints(frozen_edges={(1, 0)}), [ADD_TWO], [CUT_ONE, CUT_TWO, SWAP]),
    "a forbidden pair": (Constraints(forbidden_pairs={(2, 0)}), [CUT_TWO], [ADD_ONE, SWAP]),
    "free": (FREE, [ADD_ONE, ADD_TWO, CUT_ONE, CUT_TWO, SWAP], [EditSet()]),
}


@pytest.mark.parametrize("name", FIELDS)
def test_each_limit_does_what_it_says(name):
    constraints, good, bad = FIELDS[name]
    assert [constraints.allows(PATH, edits) for edits in good] == [True] * len(good)
    assert [constraints.allows(PATH, edits) for edits in bad] == [False] * len(bad)


def test_an_edge_that_is_forbidden_as_a_pair_may_still_go():
    assert Constraints(forbidden_pairs={(0, 1)}).allows(PATH, CUT_ONE)


def test_a_frozen_edge_that_is_not_there_is_refused():
    with pytest.raises(ConstraintError) as error:
        Constraints(frozen_edges={(0, 1), (0, 2)}).on(PairSpace.of(PATH))
    assert_sentence(error, "(0, 2)", "forbidden_pairs")


@pytest.mark.parametrize("edits", [EditSet(added={(0, 1)}), EditSet(removed={(0, 2)})])
def test_edits_that_do_not_fit_the_graph_are_not_allowed(edits):
    try:
        allowed = FREE.allows(PATH, edits)
    except EdgeflipError:
        allowed = False
    assert not allowed


@pytest.mark.parametrize(
    ("graph", "constraints"),
    [
        (PATH, Constraints(allow_additions=False, allow_removals=False)),
        (PATH, Constraints(max_edits=0)),
        (PATH, Constraints(max_added=0, max_removed=0)),
        (PATH, Constraints(frozen_nodes=range(5))),
        (PATH, Constraints(frozen_nodes={0, 1, 2, 3})),
        (PATH, Constraints(allow_additions=False, frozen_edges=edge_pairs(PATH))),
        (make_graph(4, []), Constraints(allow_additions=False)),
        (random_graph(4, density=1.1), Constraints(allow_removals=False)),
        (make_graph(2, []), Constraints(forbidden_pairs={(0, 1)})),
    ],
)
def test_constraints_that_leave_nothing_to_edit_are_refused(graph, constraints):
    with pytest.raises(ConstraintError) as error:
        constraints.on(PairSpace.of(graph))
    assert_sentence(error, "relax the constraints")


@pytest.mark.parametrize("field", ["max_added", "max_removed", "max_edits"])
@pytest.mark.parametrize("value", [-1, 1.5, "2"])
def test_a_limit_that_is_no_number_of_edges_is_refused(field, value):
    with pytest.raises(ConstraintError) as error:
        Constraints(**{field: value})
    assert_sentence(error, field, repr(value))


@pytest.mark.parametrize(
    ("field", "value", "word"),
    [
        ("frozen_nodes", {5}, "frozen_nodes"),
        ("frozen_nodes", {-1}, "frozen_nodes"),
        ("frozen_edges", {(0, 5)}, "frozen_edges"),
        ("frozen_edges", {(-1, 2)}, "frozen_edges"),
        ("forbidden_pairs", {(2, 2)}, "forbidden_pairs"),
    ],
)
def test_a_node_that_does_not_exist_is_refused_with_the_field_it_stands_in(field, value, word):
    with pytest.raises(ConstraintError) as error:
        Constraints(**{field: value}).on(PairSpace.of(PATH))
    assert_sentence(error, word, "0..4")


def test_every_rule_is_asked_about_graph_and_edits():
    asked = []

    def small(graph, edits):
        asked.append((graph, edits))
        return len(edits) < 2

    def keeps_zero(graph, edits):
        return not edits.touching({0})

    constraints = Constraints(rules=[small, keeps_zero])
    assert constraints.allows(PATH, EditSet(removed={(2, 3)}))
    assert not constraints.allows(PATH, CUT_ONE)
    assert not constraints.allows(PATH, CUT_TWO)
    assert asked[0] == (PATH, EditSet(removed={(2, 3)}))
    assert isinstance(constraints.rules, tuple)


def test_rules_are_not_asked_about_whole_blocks():
    def never(graph, edits):
        raise AssertionError("a rule is Python and must not be asked about every candidate")

    allowed = Constraints(rules=(never,)).on(PairSpace.of(PATH))
    assert allowed.check(torch.tensor([[0], [1]])).tolist() == [True, True]


def test_constraints_can_be_written_as_json():
    def keeps_rings(graph, edits):
        return True

    class Valence:
        def __call__(self, graph, edits):
            return True

    constraints = Constraints(
        max_added=2,
        frozen_nodes={3, 1},
        frozen_edges={(2, 1)},
        forbidden_pairs={(4, 0), (3, 0)},
        room={2: 1},
        rules=(keeps_rings, Valence(), functools.partial(keeps_rings)),
    )
    assert json.loads(json.dumps(constraints.to_dict())) == {
        "allow_additions": True,
        "allow_removals": True,
        "max_added": 2,
        "max_removed": None,
        "max_edits": None,
        "frozen_nodes": [1, 3],
        "frozen_edges": [[1, 2]],
        "forbidden_pairs": [[0, 3], [0, 4]],
        "room": [[2, 1]],
        "keep_connected": False,
        "rules": ["keeps_rings", "Valence", "partial"],
        "within": None,
    }


def test_the_orientation_of_constrained_pairs_does_not_matter():
    assert Constraints(frozen_edges=[(1, 0)]) == Constraints(frozen_edges={(0, 1)})
    assert hash(Constraints(forbidden_pairs=[(1, 0)])) == hash(
        Constraints(forbidden_pairs={(0, 1)})
    )


# In words.

IN_WORDS = {
    "allow_additions": (False, "no additions"),
    "allow_removals": (False, "no removals"),
    "max_added": (2, "at most 2 additions"),
    "max_removed": (0, "no removals"),
    "max_edits": (1, "at most 1 edit"),
    "frozen_nodes": (range(25), "nodes 0–24 frozen"),
    "frozen_edges": ({(1, 0)}, "edge (0, 1) kept"),
    "forbidden_pairs": ({(2, 3), (4, 5)}, "pairs (2, 3) and (4, 5) kept apart"),
    "room": ({3: 1, 7: 0}, "limited room for new edges at nodes 3 and 7"),
    "keep_connected": (True, "no further parts"),
    "within": (range(25), "edits only among nodes 0–24"),
    "rules": ((max,), "the rule “max”"),
}


@pytest.mark.parametrize("name", [field.name for field in dataclasses.fields(Constraints)])
def test_every_kind_of_constraint_has_words(name):
    value, words = IN_WORDS[name]
    assert Constraints(**{name: value}).describe() == words


def test_words_of_many_constraints_stay_short():
    both = Constraints(
        max_edits=3, frozen_nodes=[0, 1, 2, 7, 9], frozen_edges={(n, n + 1) for n in range(40)}
    )
    assert both.describe() == "at most 3 edits, nodes 0–2, 7 and 9 frozen and 40 edges kept"
    assert Constraints(frozen_nodes=range(0, 40, 2)).describe() == "20 nodes frozen"
    assert Constraints().describe() == ""


IN_SHORT = IN_WORDS | {
    "frozen_nodes": (range(25), "atoms 0–24 left alone"),
    "frozen_edges": ({(1, 0)}, "bond (0, 1) kept"),
    "room": ({3: 1, 7: 0}, "a limit on new bonds at atoms 3 and 7"),
    "within": (range(25), "edits only among atoms 0–24"),
}


@pytest.mark.parametrize("name", [field.name for field in dataclasses.fields(Constraints)])
def test_every_kind_of_constraint_is_told_to_readers_too(name):
    value, words = IN_SHORT[name]
    told = in_short(Constraints(**{name: value}), nouns=("atom", "bond"))
    assert told == f"under the constraints ({words})"


class PossibleMolecule:
    def __call__(self, graph, edits):
        return True


@pytest.mark.parametrize("lost", [False, True])
def test_what_chemistry_asks_is_not_listed_but_what_else_is_asked_is(lost):
    rules, names = ((), ("NoSmallRing",)) if lost else ((PossibleMolecule(),), ())
    limits = Constraints(room={3: 1}, keep_connected=True, rules=rules)
    assert in_short(limits, names) == "under the rules of chemistry"
    more = dataclasses.replace(limits, max_edits=3, rules=(*limits.rules, max))
    told = "under the rules of chemistry and the constraints (at most 3 edits and the rule “max”)"
    assert in_short(more, names) == told
    assert "limited room for new edges at node 3" in more.describe()


def test_without_constraints_there_is_nothing_to_tell():
    assert in_short(Constraints()) == ""
