"""C2Explainer: a mask over removals and admissible additions."""

import pytest
import torch

from edgeflip import Constraints, make_explainer
from edgeflip.core.graphs import edge_pairs, non_edges
from edgeflip.errors import ConfigError, GraphError
from edgeflip.explainers.c2explainer import C2Explainer, C2ExplainerConfig
from edgeflip.support.settings import read_settings
from edgeflip.testing import example_graphs, example_oracle
from edgeflip.testing.oracles import AttributeOracle

GRAPHS = [*example_graphs(6, seed=21), *example_graphs(3, seed=22, num_nodes=12)]


def settings(**others):
    return C2ExplainerConfig(**{"steps": 60, "learning_rate": 0.2, **others})


def explained(config, graphs=GRAPHS, oracle=None, **options):
    explainer = C2Explainer(config).fit([], oracle or example_oracle())
    return explainer.explain_many(graphs, **options)


def edits_of(answers):
    return [entry.edits for answer in answers for entry in answer.counterfactuals]


def neighbours(graph, node):
    return {v if u == node else u for u, v in edge_pairs(graph) if node in (u, v)}


def test_edges_come_and_go():
    edits = edits_of(explained(settings(candidates="all")))
    assert any(entry.added for entry in edits)
    assert any(entry.removed for entry in edits)


def test_with_no_pair_to_add_it_never_adds():
    for candidates in ("none", ()):
        answers = explained(settings(candidates=candidates))
        assert any(answer.found for answer in answers)
        assert not any(edits.added for edits in edits_of(answers))


def test_only_admissible_pairs_are_added():
    graph = GRAPHS[0]
    pairs = tuple(sorted(non_edges(graph))[:4])
    answers = explained(
        settings(candidates=pairs), [graph], constraints=Constraints(allow_removals=False)
    )
    assert all(edits.added <= set(pairs) for edits in edits_of(answers))
    backwards = tuple((v, u) for u, v in pairs)
    again = explained(
        settings(candidates=backwards), [graph], constraints=Constraints(allow_removals=False)
    )
    assert edits_of(answers) == edits_of(again)


def test_two_hop_pairs_have_a_common_neighbour():
    answers = explained(settings(candidates="two_hop"))
    added = [(a.graph, pair) for a in answers for e in a.counterfactuals for pair in e.edits.added]
    assert added
    for graph, (u, v) in added:
        assert neighbours(graph, u) & neighbours(graph, v)


def test_pairs_of_nodes_that_do_not_exist_are_refused():
    with pytest.raises(GraphError, match="different nodes"):
        explained(settings(candidates=((0, 99),)))


@pytest.mark.parametrize("target", [0, 1, 2])
def test_the_desired_class_is_the_one_that_comes(target):
    oracle = example_oracle(classes=3)
    graphs = [graph for graph in GRAPHS if int(oracle.predict([graph])[0]) != target]
    answers = explained(settings(), graphs, oracle, target=target)
    labels = [entry.label for answer in answers for entry in answer.counterfactuals]
    assert set(labels) <= {target}


def test_a_target_does_not_outlive_its_call():
    oracle = example_oracle(classes=3)
    explainer = C2Explainer(settings()).fit([], oracle)
    graph = GRAPHS[0]
    before = explainer.explain(graph)
    other = next(c for c in range(3) if c != before.label)
    explainer.explain(graph, target=other)
    assert edits_of([explainer.explain(graph)]) == edits_of([before])


@pytest.mark.parametrize("candidates", ["all", "two_hop"])
def test_many_graphs_at_once_get_the_answers_they_get_alone(candidates):
    explainer = C2Explainer(settings(candidates=candidates)).fit([], example_oracle())
    for graph, together in zip(GRAPHS, explainer.explain_many(GRAPHS), strict=True):
        alone = explainer.explain(graph)
        assert edits_of([alone]) == edits_of([together])
        assert alone.trace.notes == together.trace.notes


def test_dearer_edits_are_fewer():
    sizes = []
    for beta in (0.001, 0.1):
        answers = explained(settings(beta=beta))
        smallest = [min(e.size for e in a.counterfactuals) for a in answers if a.found]
        sizes.append(sum(smallest) / len(smallest))
    assert sizes[0] > sizes[1]


def test_undecided_masks_may_cost():
    plain, decided = explained(settings()), explained(settings(entropy=5.0))
    assert any(answer.found for answer in decided)
    assert edits_of(plain) != edits_of(decided)


def test_limits_of_the_call_are_kept_by_the_records():
    answers = explained(settings(), constraints=Constraints(max_added=0, max_removed=1))
    assert all(len(edits) == 1 and not edits.added for edits in edits_of(answers))
    assert all(answer.trace.rejected == 0 for answer in answers)


def test_an_oracle_without_edge_weights_is_not_applicable():
    graph = GRAPHS[0].clone()
    graph.edge_attr = torch.zeros(graph.num_edges, 1)
    answers = explained(settings(), [graph], AttributeOracle(2), fill={"edge_attr": 0.0})
    assert answers[0].trace.status == "not_applicable"
    assert "edge weights" in answers[0].trace.message


def test_pairs_can_be_written_in_a_preset():
    config = read_settings(C2ExplainerConfig, {"candidates": [[0, 5], [1, 3]]}, where="a test")
    assert config.candidates == ((0, 5), (1, 3))
    assert make_explainer("c2explainer", dataset="bbbp").config.candidates == "two_hop"


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"candidates": "three_hop"}, "candidates"),
        ({"steps": 0}, "steps"),
        ({"beta": -1.0}, "beta"),
        ({"learning_rate": 0.0}, "learning_rate"),
    ],
)
def test_senseless_settings_are_refused(values, message):
    with pytest.raises(ConfigError, match=message):
        read_settings(C2ExplainerConfig, values, where="a test")
    with pytest.raises(ConfigError, match=message):
        C2ExplainerConfig(**values)
