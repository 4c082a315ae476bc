"""GCFExplainer: distances, the walk, its summary, and what is read out of it."""

import itertools
import json

import numpy as np
import pytest
import torch

from conftest import assert_sentence, make_graph, random_graph
from edgeflip import Budget, Constraints, GCNClassifier, ModelOracle, save_oracle
from edgeflip.cli import main
from edgeflip.core.graphs import PairSpace, edge_pairs
from edgeflip.errors import ConfigError
from edgeflip.explainers.gcfexplainer import Aim, GCFConfig, GCFExplainer, asker, summarize
from edgeflip.explainers.gcfexplainer.distances import (
    Shapes,
    aligned_edits,
    assignment_edits,
    bit_places,
    lower_bound,
    place_ends,
    sizes,
)
from edgeflip.explainers.gcfexplainer.vertices import Start
from edgeflip.explainers.gcfexplainer.walk import Walk
from edgeflip.explainers.registry import make_explainer
from edgeflip.support.seeding import seeded
from edgeflip.testing import example_graphs, example_oracle

SMALL = GCFConfig(sample_size=12, steps_per_input=10, own_steps=20, theta=0.1)
TRAIN = example_graphs(14, seed=1)
GRAPHS = example_graphs(4, seed=4)


class OneEdge:
    """An oracle that only looks whether nodes 0 and 5 are joined."""

    num_classes = 2

    def predict_proba(self, graphs):
        return self._proba(torch.tensor([(0, 5) in edge_pairs(graph) for graph in graphs]))

    def predict_edits(self, space, rows):
        pair = space.pairs.ids_of([(0, 5)])
        return self._proba((rows == pair).any(dim=1) ^ space.pairs.is_edge(pair))

    def _proba(self, joined):
        sure = 0.1 + 0.8 * joined.float()
        return torch.stack([1 - sure, sure], dim=1)


@pytest.fixture(scope="module")
def fitted():
    return GCFExplainer(SMALL).fit(TRAIN, example_oracle())


# Distances.


def exact_distance(one, other):
    """Edit distance by trying every matching of nodes, with unlike numbers of nodes padded."""
    nodes = max(one.num_nodes, other.num_nodes)
    kinds, matrices = [], []
    for graph in (one, other):
        matrix = np.zeros((nodes, nodes), dtype=bool)
        for u, v in edge_pairs(graph):
            matrix[u, v] = matrix[v, u] = True
        matrices.append(matrix)
        rows = [tuple(row) for row in graph.x.tolist()]
        kinds.append(rows + [None] * (nodes - len(rows)))
    best = np.inf
    for order in itertools.permutations(range(nodes)):
        changed = (matrices[0] ^ matrices[1][np.ix_(order, order)]).sum() // 2
        unlike = sum(a != kinds[1][b] for a, b in zip(kinds[0], order, strict=True))
        best = min(best, changed + unlike)
    return best


@pytest.mark.parametrize("labelled", [False, True])
def test_bounds_hold_on_small_random_graphs(labelled):
    graphs = []
    for seed in range(9):
        graph = random_graph(6 - seed % 3, density=0.25 + 0.1 * (seed % 4), seed=seed)
        kinds = torch.arange(graph.num_nodes) * 7 % 3 + seed % 2
        graph.x = torch.nn.functional.one_hot(kinds % 3, 3).float()
        if not labelled:
            graph.x = torch.ones(graph.num_nodes, 3)
        graphs.append(graph)
    shapes = Shapes.of([PairSpace.of(graph) for graph in graphs])
    aligned = aligned_edits(shapes, shapes)
    for i, j in itertools.combinations(range(len(graphs)), 2):
        exact = exact_distance(graphs[i], graphs[j])
        assert aligned[i, j] >= exact
        assert aligned[i, j] == aligned[j, i]
        assert assignment_edits(shapes, i, shapes, j) >= exact
        assert lower_bound(shapes, i, shapes, j) <= exact
    assert (aligned.diagonal() == 0).all()


def test_matching_nodes_sees_that_a_relabelled_graph_is_the_same():
    one = make_graph(5, [(0, 1), (1, 2), (2, 3), (1, 4)])
    other = make_graph(5, [(4, 3), (3, 2), (2, 1), (3, 0)])
    shapes = Shapes.of([PairSpace.of(one), PairSpace.of(other)])
    assert aligned_edits(shapes, shapes)[0, 1] > 0
    assert assignment_edits(shapes, 0, shapes, 1) == 0


def test_bits_do_not_hang_on_the_number_of_nodes():
    for nodes in (2, 7, 40):
        space = PairSpace.of(make_graph(nodes, [(0, 1)]))
        ids = torch.arange(space.num_pairs)
        u, v = place_ends(bit_places(space, ids))
        assert torch.equal(space.ends(ids), torch.tensor(np.stack([u, v])))
        assert bit_places(space, space.edge_ids).tolist() == [0]


def test_shapes_survive_being_saved():
    shapes = Shapes.of([PairSpace.of(graph) for graph in (*GRAPHS, make_graph(3, []))])
    again = Shapes.from_state(shapes.state("a."), "a.")
    assert (aligned_edits(shapes, again).diagonal() == 0).all()
    assert again.nodes.tolist() == shapes.nodes.tolist()


# The walk.


def walked(config=SMALL, steps=120, **options):
    oracle = example_oracle()
    proba = oracle.predict_proba(TRAIN)
    members = [place for place, row in enumerate(proba) if int(row.argmax()) == 0]
    spaces = [PairSpace.of(TRAIN[place]) for place in members]
    starts = [
        Start(space, proba[place].double().numpy())
        for space, place in zip(spaces, members, strict=True)
    ]
    walk = Walk(starts, Shapes.of(spaces), Aim(0, 1), config, np.random.default_rng(3), **options)
    ask = asker(oracle, config)
    for _ in range(steps):
        rows = walk.unasked()
        if rows is not None:
            walk.learn(ask(walk.space, rows))
        walk.move()
    return walk


@pytest.mark.parametrize("capacity", [100_000, 30])
def test_the_table_is_in_order_and_its_counts_are_right(capacity):
    walk = walked(GCFConfig(sample_size=12, theta=0.1, capacity=capacity))
    table = walk.table
    frequencies = [vertex.frequency for vertex in table.order]
    assert frequencies == sorted(frequencies, reverse=True)
    assert len(table.order) == len(table.by_key) <= capacity
    assert [vertex.place for vertex in table.order] == list(range(len(table.order)))
    leading = [vertex for vertex in table.order[: len(walk.inputs)] if vertex.is_found]
    hits = sum(np.unpackbits(vertex.covers, count=len(walk.inputs)) for vertex in leading)
    assert table.hits.tolist() == (hits + np.zeros(len(walk.inputs))).tolist()
    assert max(frequencies) > 2


@pytest.mark.parametrize("distance", ["aligned", "assignment"])
def test_what_an_option_covers_is_what_a_recount_says(distance):
    config = GCFConfig(sample_size=6, theta=0.08, distance=distance)
    walk = walked(config, steps=25)
    for vertex in walk.table.order[:10]:
        space = walk.starts[vertex.start].space
        ids = set(space.edge_ids.tolist()) ^ vertex.toggles
        places = bit_places(space, torch.tensor(sorted(ids)))
        own = Shapes.build([places], [np.zeros(space.num_nodes, dtype=np.int64)])
        edits = aligned_edits(own, walk.inputs)[0]
        if distance == "assignment":
            columns = range(len(walk.inputs))
            matched = [assignment_edits(own, 0, walk.inputs, column) for column in columns]
            edits = np.minimum(edits, matched)
        near = edits <= 0.08 * sizes(own, walk.inputs)[0] + 1e-9
        assert np.unpackbits(vertex.covers, count=len(near)).tolist() == near.tolist()
        assert near[vertex.start] or len(vertex.toggles) > 1


def test_a_walk_that_keeps_graphs_connected_removes_no_bridge():
    walk = walked(GCFConfig(sample_size=12, keep_connected=True, teleport=0.05), steps=60)
    parts = []
    for vertex in walk.table.order:
        space = walk.starts[vertex.start].space
        ids = torch.tensor(sorted(set(space.edge_ids.tolist()) ^ vertex.toggles))
        reach = torch.eye(space.num_nodes)
        u, v = space.ends(ids)
        reach[u, v] = reach[v, u] = 1.0
        parts.append(bool((torch.linalg.matrix_power(reach, 9) > 0).all()))
    assert len(parts) > 3
    assert all(parts)


# The summary.


def test_every_pattern_flips_and_coverage_is_a_brute_force_recount(fitted):
    oracle = fitted.oracle_
    assert len(fitted.summaries_) == 2
    for summary in fitted.summaries_:
        assert len(summary)
        graphs = [TRAIN[place] for place in summary.members]
        assert all(int(oracle.predict([g])[0]) != summary.aim.target for g in graphs)
        for row in range(len(summary)):
            changed = make_graph(9, summary.edges(row), features=0)
            changed.x = graphs[summary.lineage[row]].x
            assert int(oracle.predict([changed])[0]) == summary.aim.target
            added, removed = summary.edits(row)
            before = edge_pairs(graphs[summary.lineage[row]])
            assert (before | set(added)) - set(removed) == set(summary.edges(row))
        shares = [summary.coverage(count) for count in range(len(summary) + 1)]
        assert shares == sorted(shares)
        covered = set()
        for row in range(len(summary)):
            own = set(summary.edges(row))
            for place, graph in enumerate(graphs):
                size = 18 + len(own) + len(edge_pairs(graph))
                if len(own ^ edge_pairs(graph)) <= 0.1 * size + 1e-9:
                    covered.add(place)
            assert shares[row + 1] == pytest.approx(len(covered) / len(graphs))
        costs = [summary.cost(count) for count in range(1, len(summary) + 1)]
        assert costs == sorted(costs, reverse=True)
        assert shares[summary.useful] == shares[-1]


def test_greedy_takes_what_covers_most_first(fitted):
    for summary in fitted.summaries_:
        assert summary.covers[0].sum() == summary.covers.sum(axis=1).max()


def test_the_one_edge_that_flips_everything_is_in_the_summary():
    graphs = [graph for graph in example_graphs(12, seed=9) if (0, 5) not in edge_pairs(graph)]
    oracle, config = OneEdge(), GCFConfig(theta=0.08, steps_per_input=30)
    rng = np.random.default_rng(0)
    proba = oracle.predict_proba(graphs)
    summary = summarize(graphs, proba, Aim(0, 1), asker(oracle, config), config, rng)
    assert len(summary)
    assert all((0, 5) in summary.edits(row)[0] for row in range(len(summary)))
    assert any(summary.edits(row) == ([(0, 5)], []) for row in range(len(summary)))


def test_graphs_of_different_sizes_can_be_walked():
    graphs = [graph for size in (5, 8, 12) for graph in example_graphs(4, seed=1, num_nodes=size)]
    explainer = GCFExplainer(SMALL).fit(graphs, example_oracle())
    assert {5, 8, 12} >= {int(n) for each in explainer.summaries_ for n in each.patterns.nodes}
    assert explainer.explain(graphs[0]).trace.status in ("found", "exhausted")


# Reading out.


def test_the_best_is_never_larger_than_the_first(fitted):
    answers = [fitted.explain(graph) for graph in GRAPHS]
    assert all(answer.found for answer in answers)
    for answer in answers:
        assert answer.best.size == min(entry.size for entry in answer.counterfactuals)
        assert answer.best.size <= answer.first.size
    assert any(answer.best.size < answer.first.size for answer in answers)


def test_the_first_is_a_pattern_of_the_summary_laid_over_the_graph(fitted):
    patterns = {
        frozenset(each.edges(row)) for each in fitted.summaries_ for row in range(len(each))
    }
    for graph in GRAPHS:
        answer = fitted.explain(graph)
        if answer.first.found_at < answer.trace.notes["patterns"]:
            assert frozenset(edge_pairs(answer.edited_graph(answer.first))) in patterns


def test_without_a_walk_of_its_own_only_patterns_are_proposed():
    explainer = GCFExplainer(GCFConfig(sample_size=12, own_steps=0)).fit(TRAIN, example_oracle())
    answer = explainer.explain(GRAPHS[0])
    assert answer.trace.proposals == answer.trace.notes["patterns"]
    other = explainer.explain(example_graphs(1, seed=2, num_nodes=7)[0])
    assert other.trace.notes["patterns"] == 0
    assert other.trace.status == "exhausted"


def test_padding_lays_graphs_of_other_sizes_over_each_other():
    config = GCFConfig(sample_size=12, own_steps=0, alignment="pad")
    explainer = GCFExplainer(config).fit(TRAIN, example_oracle())
    for size in (7, 11):
        answer = explainer.explain(example_graphs(1, seed=2, num_nodes=size)[0])
        assert answer.trace.notes["patterns"] > 0
        assert answer.trace.rejected == 0


@pytest.mark.parametrize("tried", ["visited", "seen"])
def test_the_walk_of_its_own_keeps_the_constraints(tried):
    config = GCFConfig(sample_size=12, steps_per_input=5, own_steps=30, tried=tried)
    explainer = GCFExplainer(config).fit(TRAIN, example_oracle())
    limits = Constraints(allow_removals=False, max_edits=2)
    answers = [explainer.explain(graph, constraints=limits) for graph in GRAPHS]
    assert tried == "visited" or any(answer.found for answer in answers)
    for answer in answers:
        # Only patterns of the summary can be refused; the walk goes where it may.
        assert answer.trace.rejected <= answer.trace.notes["patterns"]
        for entry in answer.counterfactuals:
            assert not entry.edits.removed
            assert entry.size <= 2


def test_visited_graphs_are_fewer_than_seen_ones():
    sizes_found = {}
    for tried in ("visited", "seen"):
        config = GCFConfig(sample_size=12, steps_per_input=2, own_steps=10, tried=tried)
        explainer = GCFExplainer(config).fit(TRAIN, example_oracle())
        sizes_found[tried] = explainer.explain(GRAPHS[0], seed=1).trace.proposals
    assert sizes_found["visited"] < sizes_found["seen"]


def test_walks_by_source_or_target_and_three_classes():
    oracle = ModelOracle(GCNClassifier(4, 3, layers=(8, 8)), num_classes=3)
    for walks in ("source", "target"):
        config = GCFConfig(sample_size=6, steps_per_input=3, walks=walks)
        explainer = GCFExplainer(config).fit(TRAIN, oracle)
        aims = [each.aim for each in explainer.summaries_]
        assert all((aim.source is None) == (walks == "target") for aim in aims)


def test_interruption_leaves_what_was_learnt(monkeypatch):
    explainer = GCFExplainer(SMALL)
    real, calls = explainer._plans, []

    def plans(*arguments):
        calls.append(1)
        first, second = real(*arguments)
        return [first, (second[0], second[1], -1)]

    monkeypatch.setattr(explainer, "_plans", plans)
    monkeypatch.setattr(
        "edgeflip.explainers.gcfexplainer.explainer.summarize",
        lambda *a, steps, **k: interrupt() if steps < 0 else summarize(*a, steps=steps, **k),
    )
    with pytest.raises(KeyboardInterrupt):
        explainer.fit(TRAIN, example_oracle())
    assert len(explainer.summaries_) == 1
    assert explainer.explain(GRAPHS[0]).trace.status in ("found", "exhausted")


def interrupt():
    raise KeyboardInterrupt


def test_a_budget_ends_the_read_out(fitted):
    answer = fitted.explain(GRAPHS[0], budget=Budget(oracle_calls=3))
    assert answer.trace.stopped_by == "out_of_calls"


@pytest.mark.parametrize(
    "settings",
    [{"theta": 2.0}, {"sample_size": 0}, {"own_steps": -1}, {"steps": ()}, {"teleport": -0.1}],
)
def test_senseless_settings_are_refused(settings):
    with pytest.raises(ConfigError) as error:
        GCFConfig(**settings)
    assert_sentence(error)


def test_steps_must_be_given_for_every_class():
    with pytest.raises(ConfigError) as error:
        GCFExplainer(GCFConfig(steps=(5,))).fit(TRAIN, example_oracle())
    assert_sentence(error, "2 classes")


def test_the_paper_preset_has_the_published_settings():
    config = make_explainer("gcfexplainer", dataset="ba_4motifs", profile="paper").config
    assert (config.theta, config.teleport, config.sample_size) == (0.05, 0.2, 40)
    assert config.steps == (2100, 2700, 2800, 2400)
    assert (
        make_explainer("gcfexplainer", dataset="graph_sst5", profile="paper").config.theta == 0.15
    )


# The command.


def run(capsys, *arguments):
    with pytest.raises(SystemExit) as end:
        main([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    return end.value.code, captured.out, captured.err


def test_summarize_prints_and_draws(capsys, tmp_path):
    with seeded(0):
        save_oracle(ModelOracle(GCNClassifier(10, 2), class_names=("cycle", "house")), tmp_path)
    common = ("summarize", "ba_2motifs", "--oracle", tmp_path, "--profile", "smoke")
    code, out, _ = run(
        capsys, *common, "--from-class", "cycle", "--patterns", 2, "--out", tmp_path / "out"
    )
    payload = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert code == (0 if payload["found"] else 1)
    assert "median edits" in out
    assert (tmp_path / "out" / "summary.svg").read_text().startswith("<svg")
    shares = [entry["coverage"] for entry in payload["curve"]]
    assert shares == sorted(shares)
    code, out, _ = run(capsys, *common, "--json", "--theta", 0.4, "--steps", 40)
    assert json.loads(out)["theta"] == 0.4
    code, _, err = run(capsys, *common, "--from-class", 1, "--to-class", "house")
    assert code == 2
    assert "two different classes" in err
