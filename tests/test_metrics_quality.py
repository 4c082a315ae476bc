"""Measures of answers, worked out by hand."""

import math
from dataclasses import replace

import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st
from torch_geometric.data import Data

from conftest import graphs_and_edits, make_graph
from edgeflip.core import EditSet, PairEdits, PairSpace, edge_pairs
from edgeflip.errors import OracleError
from edgeflip.metrics import METRICS, AnswerCase, Metric, edit_minimality, metrics_of
from edgeflip.oracle import ClassGoal
from edgeflip.search import Counterfactual, CounterfactualSet, Provenance, Stage, Trace
from edgeflip.testing import example_graphs, example_oracle


class RuleOracle:
    """An oracle of two classes: 1 where a rule holds. It remembers the edges it was asked about."""

    num_classes = 2

    def __init__(self, rule):
        self.rule = rule
        self.asked = []

    def predict_proba(self, graphs):
        self.asked += [edge_pairs(graph) for graph in graphs]
        labels = torch.tensor([int(self.rule(graph)) for graph in graphs])
        return torch.tensor([[0.9, 0.1], [0.3, 0.7]])[labels]


def triangles(graph):
    neighbours = torch.zeros(graph.num_nodes, graph.num_nodes)
    for u, v in edge_pairs(graph):
        neighbours[u, v] = neighbours[v, u] = 1
    return int((neighbours @ neighbours @ neighbours).trace()) // 6


def has_triangle(graph):
    return triangles(graph) > 0


def at_least(count):
    return lambda graph: len(edge_pairs(graph)) >= count


def make_answer(graph, entries, oracle=None, *, fill=None, seconds=1.0, calls=10):
    """An answer that holds the edit sets in the order given, the last one found first."""
    oracle = oracle or RuleOracle(has_triangle)
    proba = oracle.predict_proba([graph])[0].tolist()
    label = proba.index(max(proba))
    found = []
    for place, edits in enumerate(entries):
        after = oracle.predict_proba([edits.apply(graph, fill=fill)])[0].tolist()
        drop = proba[label] - after[label]
        found.append(Counterfactual(edits, tuple(after), drop, -place, len(entries) - place))
    return CounterfactualSet(
        space=PairEdits(PairSpace.of(graph), fill=fill),
        goal=ClassGoal(tuple(proba)),
        output=tuple(proba),
        counterfactuals=tuple(found),
        trace=Trace("found", "exhausted", {"search": Stage(seconds, calls)}),
        provenance=Provenance("hand", {}, 0, None, "", {}, {}),
    )


def value(name, answer, oracle=None, motif_nodes=None):
    """What a metric says of one answer."""
    return METRICS[name].of(AnswerCase(answer, oracle=oracle, motif_nodes=motif_nodes))


def mean(name, answers, oracle=None, motif_nodes=None):
    """What it says of many."""
    cases = [AnswerCase(answer, oracle=oracle, motif_nodes=motif_nodes) for answer in answers]
    return METRICS[name].average(cases).value


@pytest.fixture
def graph():
    """A path 0 – 1 – 2 and the lone nodes 3 and 4: no triangle, so class 0."""
    return make_graph(5, [(0, 1), (1, 2)])


# 0-1-3 becomes a triangle by two edits, both needed; 2-4 is needless.
NEEDED = EditSet(added={(0, 3), (1, 3)})
WITH_NEEDLESS = EditSet(added={(0, 3), (1, 3), (2, 4)})
# (0, 2) alone closes the triangle 0-1-2.
HALF_NEEDLESS = EditSet(added={(0, 2), (3, 4)})
SINGLE = EditSet(added={(0, 2)})


def test_validity_counts_the_graphs_with_an_answer(graph):
    answers = [make_answer(graph, found) for found in ([SINGLE], [], [NEEDED, SINGLE], [])]
    assert mean("validity", answers) == 0.5


def test_size_is_that_of_the_best_and_leaves_out_graphs_without_an_answer(graph):
    # Best 3 and 1; the smaller one of the first graph and the empty answer do not count.
    answers = [make_answer(graph, found) for found in ([WITH_NEEDLESS, SINGLE], [], [SINGLE])]
    assert mean("size", answers) == 2.0


def test_first_size_is_that_of_the_first_found(graph):
    # The last of the list was found first: sizes 1 and 2, while the best have 3 and 1.
    answers = [
        make_answer(graph, found) for found in ([WITH_NEEDLESS, SINGLE], [], [SINGLE, NEEDED])
    ]
    assert mean("first_size", answers) == 1.5


def test_fidelity_is_the_drop_of_the_original_class(graph):
    # Class 0 falls from 0.9 to 0.3 on the path. The triangle is of class 1 and falls from 0.7 to 0.1.
    triangle = make_graph(3, [(0, 1), (1, 2), (0, 2)])
    answers = [
        make_answer(graph, [NEEDED]),
        make_answer(triangle, [EditSet(removed={(0, 1)})]),
        make_answer(graph, []),
    ]
    assert [answer.best.fidelity for answer in answers[:2]] == pytest.approx([0.6, 0.6])
    answers[0] = replace(
        answers[0], counterfactuals=(replace(answers[0].best, fidelity=0.2, score=1.0),)
    )
    assert mean("fidelity", answers) == pytest.approx(0.4)


def test_motif_proximity_is_the_share_of_edits_that_touch_the_motif(graph):
    # Motif {3}: (0, 3) and (1, 3) touch it, (2, 4) does not: 2/3. (0, 2) does not: 0.
    answers = [make_answer(graph, found) for found in ([WITH_NEEDLESS], [SINGLE, NEEDED], [])]
    values = [
        value("motif_proximity", answer, motif_nodes=lambda _: frozenset({3})) for answer in answers
    ]
    assert values == [pytest.approx(2 / 3), 0.0, None]
    assert mean("motif_proximity", answers, motif_nodes=lambda _: frozenset({3})) == pytest.approx(
        1 / 3
    )


def test_the_motif_is_asked_of_the_input_graph(graph):
    answer = make_answer(graph, [SINGLE])
    asked = []
    value(
        "motif_proximity", answer, motif_nodes=lambda given: asked.append(given) or frozenset({0})
    )
    assert asked == [graph]


@pytest.mark.parametrize(
    ("edits", "wanted"),
    [
        # No proper subset.
        (SINGLE, 1.0),
        # {03} and {13} close nothing.
        (NEEDED, 1.0),
        # {02} flips, {34} does not.
        (HALF_NEEDLESS, 1 / 2),
        # Six subsets, of which {03, 13} flips. With the full set it would be 5/7, with the empty 6/7.
        (WITH_NEEDLESS, 5 / 6),
        # Six subsets; the four with (0, 2) less the full set flip: {02}, {02, 14}, {02, 34}.
        (EditSet(added={(0, 2), (1, 4), (3, 4)}), 1 / 2),
        # Without (1, 2) it takes (0, 3) and (1, 3): of six subsets only these two flip.
        (EditSet(added={(0, 3), (1, 3)}, removed={(1, 2)}), 5 / 6),
    ],
)
def test_minimality_is_the_share_of_proper_subsets_that_change_nothing(graph, edits, wanted):
    oracle = RuleOracle(has_triangle)
    answer = make_answer(graph, [edits], oracle)
    assert answer.best.label == 1
    assert value("minimality", answer, oracle) == pytest.approx(wanted)
    assert edit_minimality(answer, answer.best, oracle) == pytest.approx(wanted)


def test_minimality_averages_over_the_graphs_with_an_answer(graph):
    oracle = RuleOracle(has_triangle)
    answers = [make_answer(graph, found) for found in ([WITH_NEEDLESS, SINGLE], [], [NEEDED])]
    assert mean("minimality", answers, oracle) == pytest.approx((5 / 6 + 1) / 2)
    assert value("minimality", answers[1], oracle) is None


def test_a_subset_that_leads_to_a_third_class_is_no_subset_that_changes_nothing(graph):
    class Count:
        """The number of added edges is the class: 0 at first, 1, 2."""

        num_classes = 3

        def predict_proba(self, graphs):
            counts = torch.tensor([len(edge_pairs(graph)) - 2 for graph in graphs])
            return torch.nn.functional.one_hot(counts, 3).float()

    assert value("minimality", make_answer(graph, [NEEDED], Count()), Count()) == 0.0


def test_minimality_of_smallest_averages_over_all_smallest_and_then_over_graphs(graph):
    # Best has three edits (5/6); the two smallest have 1/2 and 1, so 3/4; a single edit has 1.
    # All three smallest in one pot would give 5/6 instead of 7/8.
    oracle = RuleOracle(has_triangle)
    answers = [
        make_answer(graph, [WITH_NEEDLESS, HALF_NEEDLESS, NEEDED]),
        make_answer(graph, []),
        make_answer(graph, [NEEDED, SINGLE]),
    ]
    values = [value("minimality_of_smallest", answer, oracle) for answer in answers]
    assert values == [pytest.approx(3 / 4), None, 1.0]
    assert mean("minimality_of_smallest", answers, oracle) == pytest.approx(7 / 8)
    assert value("minimality", answers[0], oracle) == pytest.approx(5 / 6)


def many_additions(count):
    """A graph without edges and that many additions: a star around node 0."""
    graph = make_graph(count + 1, [])
    return graph, EditSet(added={(0, node) for node in range(1, count + 1)})


def test_up_to_twelve_edits_every_subset_is_asked_once():
    graph, edits = many_additions(12)
    oracle = RuleOracle(at_least(7))
    answer = make_answer(graph, [edits], oracle)
    oracle.asked.clear()
    # Subsets of 1 to 6 edits change nothing.
    wanted = sum(math.comb(12, count) for count in range(1, 7)) / (2**12 - 2)
    assert value("minimality", answer, oracle) == pytest.approx(wanted)
    assert len(oracle.asked) == len(set(oracle.asked)) == 2**12 - 2
    assert frozenset() not in oracle.asked
    assert edits.added not in oracle.asked


class CountingEdits(RuleOracle):
    """The same for blocks of additions to a graph without edges, where only their number counts."""

    def __init__(self, border):
        super().__init__(at_least(border))
        self.border = border

    def predict_edits(self, space, rows):
        rows = [row[row >= 0] for row in rows]
        self.asked += [frozenset(space.pairs.edges_of(row)) for row in rows]
        flips = torch.tensor([len(row) >= self.border for row in rows])
        return torch.tensor([[0.9, 0.1], [0.3, 0.7]])[flips.long()]


@pytest.mark.parametrize("count", [13, 70])
def test_with_more_edits_a_fixed_sample_of_distinct_subsets_is_asked(count):
    graph, edits = many_additions(count)
    oracle = CountingEdits(count // 2 + 1)
    answer = make_answer(graph, [edits], oracle)
    oracle.asked.clear()
    first = value("minimality", answer, oracle)
    asked = set(oracle.asked)
    assert len(oracle.asked) == len(asked) == 4096
    assert frozenset() not in asked
    assert edits.added not in asked
    assert value("minimality", answer, oracle) == first
    assert set(oracle.asked) == asked
    # Subsets with up to half of the edits; 4 standard errors are 0.032.
    wanted = sum(math.comb(count, k) for k in range(1, count // 2 + 1)) / (2**count - 2)
    assert first == pytest.approx(wanted, abs=0.032)


def test_an_oracle_that_answers_edits_is_asked_about_edits_and_agrees_with_graphs():
    oracle = example_oracle()

    class GraphsOnly:
        num_classes = 2
        predict_proba = staticmethod(oracle.predict_proba)

    class EditsOnly:
        num_classes = 2
        predict_edits = staticmethod(oracle.predict_edits)

        def predict_proba(self, graphs):
            raise AssertionError("asked about graphs")

    values = []
    for graph in example_graphs(6, seed=3):
        absent = [(0, v) for v in range(1, 9) if (0, v) not in edge_pairs(graph)]
        edits = EditSet(added=absent[:2], removed=sorted(edge_pairs(graph))[2:5])
        answer = make_answer(graph, [edits], oracle)
        proper = [entry.apply(graph) for entry in list(edits.subsets())[1:-1]]
        wanted = float((oracle.predict(proper) == answer.label).float().mean())
        assert value("minimality", answer, GraphsOnly()) == pytest.approx(wanted)
        assert value("minimality", answer, EditsOnly()) == pytest.approx(wanted)
        values.append(wanted)
    assert len({round(value, 6) for value in values}) > 1
    assert all(0 < value < 1 for value in values)


def test_the_fill_of_the_answer_is_used_for_subsets():
    # A new edge carries 2 in both directions: two additions make 8, one makes 4.
    graph = make_graph(4, [(0, 1)], edge_attr=1)
    graph.edge_attr = torch.zeros(2, 1)
    edits = EditSet(added={(0, 2), (0, 3)})
    for border, wanted in ((6.0, 1.0), (3.0, 0.0)):
        oracle = RuleOracle(lambda graph, border=border: graph.edge_attr.sum() > border)
        answer = make_answer(graph, [edits], oracle, fill=2.0)
        assert value("minimality", answer, oracle) == wanted


def test_an_oracle_that_answers_nonsense_is_refused(graph):
    oracle = RuleOracle(has_triangle)
    answer = make_answer(graph, [NEEDED], oracle)
    oracle.predict_proba = lambda graphs: torch.full((len(graphs), 2), torch.nan)
    with pytest.raises(OracleError):
        value("minimality", answer, oracle)


def test_seconds_and_oracle_calls_count_every_graph(graph):
    answers = [
        make_answer(graph, [SINGLE], seconds=1.0, calls=10),
        make_answer(graph, [], seconds=4.0, calls=15),
    ]
    assert mean("seconds", answers) == 2.5
    assert mean("oracle_calls", answers) == 12.5


def test_an_average_over_nothing_is_none(graph):
    oracle = RuleOracle(has_triangle)
    names = ("size", "first_size", "fidelity", "minimality", "minimality_of_smallest")
    for answers in ([], [make_answer(graph, [])]):
        assert all(mean(name, answers, oracle) is None for name in names)
        assert mean("motif_proximity", answers, motif_nodes=lambda _: frozenset()) is None
    assert mean("validity", []) is None
    assert mean("oracle_calls", []) is None


def test_a_metric_has_no_value_where_what_it_needs_is_missing(graph):
    case = AnswerCase(make_answer(graph, [SINGLE]))
    missing = {metric.name for metric in metrics_of("answer") if metric.of(case) is None}
    assert {metric.name for metric in metrics_of("answer") if metric.needs} <= missing
    assert not missing & {"validity", "size", "first_size", "fidelity", "seconds", "oracle_calls"}


def test_a_method_that_failed_found_nothing_and_asked_nothing():
    values = {metric.name: metric.of(AnswerCase()) for metric in metrics_of("answer")}
    assert {name for name, value in values.items() if value is not None} == {
        "validity",
        "validity_connected",
        "oracle_calls",
    }
    assert values["validity"] == values["validity_connected"] == values["oracle_calls"] == 0


def relabelled(graph, edits, order):
    """The same graph and edits with node v called order[v]."""
    order = torch.as_tensor(order)
    other = Data(edge_index=order[graph.edge_index], num_nodes=graph.num_nodes)
    x = torch.empty_like(graph.x)
    x[order] = graph.x
    other.x = x

    def renamed(edges):
        return [(int(order[u]), int(order[v])) for u, v in edges]

    return other, EditSet(renamed(edits.added), renamed(edits.removed))


@given(
    graphs_and_edits(min_nodes=3, max_nodes=7, attributes=False),
    st.randoms(use_true_random=False),
    st.sets(st.integers(0, 6)),
)
def test_names_of_nodes_do_not_matter_and_shares_stay_in_their_range(drawn, rng, motif):
    graph, edits = drawn
    assume(len(edits) > 0)
    oracle = RuleOracle(lambda graph: (triangles(graph) + len(edge_pairs(graph)) // 2) % 2)
    order = list(range(graph.num_nodes))
    rng.shuffle(order)
    motif = {node % graph.num_nodes for node in motif}
    other, renamed = relabelled(graph, edits, order)
    ours, theirs = make_answer(graph, [edits], oracle), make_answer(other, [renamed], oracle)
    assert mean("size", [ours]) == mean("size", [theirs]) == len(edits)
    assert mean("fidelity", [ours]) == mean("fidelity", [theirs])
    assert -1 <= mean("fidelity", [ours]) <= 1
    near = value("motif_proximity", ours, motif_nodes=lambda _: frozenset(motif))
    assert near == value(
        "motif_proximity", theirs, motif_nodes=lambda _: frozenset(order[v] for v in motif)
    )
    assert 0 <= near <= 1
    least = value("minimality", ours, oracle)
    assert least == value("minimality", theirs, oracle)
    assert least == value("minimality_of_smallest", ours, oracle)
    assert 0 <= least <= 1


def test_the_table_names_every_metric_once_and_says_what_it_does():
    assert [metric.name for metric in METRICS.values()] == list(METRICS)
    assert len({metric.title for metric in METRICS.values()}) == len(METRICS)
    assert len({metric.measure for metric in METRICS.values()}) == len(METRICS)
    assert all(metric.measure.__doc__ for metric in METRICS.values())
    assert {metric.level for metric in METRICS.values()} == {"answer", "graphs", "fit"}
    assert all(metric.place.table for metric in METRICS.values())


def test_not_a_number_is_no_value(graph):
    metric = Metric("odd", "odd", lambda case: math.nan, "up")
    assert metric.of(AnswerCase(make_answer(graph, [SINGLE]))) is None
