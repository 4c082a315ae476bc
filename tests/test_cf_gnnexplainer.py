"""CF-GNNExplainer: fading edges until the prediction changes."""

import pytest
import torch

from edgeflip import Constraints, make_explainer
from edgeflip.core.graphs import edge_pairs
from edgeflip.errors import ConfigError
from edgeflip.explainers.cf_gnnexplainer import CFGNNExplainer, CFGNNExplainerConfig
from edgeflip.testing import example_graphs, example_oracle
from edgeflip.testing.oracles import AttributeOracle

GRAPHS = [*example_graphs(6, seed=21), *example_graphs(3, seed=22, num_nodes=12)]
QUICK = CFGNNExplainerConfig(steps=60, learning_rate=0.5)


class EdgeSum:
    """An oracle that adds up edge weights, one edge's with another factor than the rest's."""

    num_classes = 2

    def __init__(self, edge, *, own=8.0, others=0.0):
        self.edge, self.own, self.others = edge, own, others

    def predict_proba(self, graphs):
        rows = [
            self.soft_logits(
                graph.x,
                graph.edge_index,
                torch.ones(graph.num_edges),
                torch.zeros(graph.num_nodes, dtype=torch.long),
            )
            for graph in graphs
        ]
        return torch.cat(rows).softmax(dim=1)

    def soft_logits(self, x, edge_index, edge_weight, batch):
        u, v = self.edge
        nodes = torch.bincount(batch).cumsum(0)
        start = torch.cat([nodes.new_zeros(1), nodes[:-1]])[batch[edge_index[0]]]
        here = (edge_index[0] - start == u) & (edge_index[1] - start == v)
        factor = torch.where(here, self.own, self.others)
        total = edge_weight.new_zeros(int(batch.max()) + 1)
        total = total.index_add(0, batch[edge_index[0]], edge_weight * factor)
        return torch.stack([total - 4.0, 4.0 - total], dim=1)


def found_edits(answers):
    return [entry.edits for answer in answers for entry in answer.counterfactuals]


def test_edges_are_removed_and_never_added():
    answers = CFGNNExplainer(QUICK).fit([], example_oracle()).explain_many(GRAPHS)
    assert any(answer.found for answer in answers)
    assert all(edits.removed and not edits.added for edits in found_edits(answers))


@pytest.mark.parametrize("place", [0, 4, 7])
def test_the_one_edge_that_matters_is_the_whole_answer(place):
    graph = GRAPHS[0]
    edge = sorted(edge_pairs(graph))[place]
    answer = CFGNNExplainer(QUICK).fit([], EdgeSum(edge)).explain(graph)
    assert answer.best.edits.removed == {edge}
    assert answer.best.size == 1


def test_edges_that_cost_without_limit_stay():
    config = CFGNNExplainerConfig(steps=60, learning_rate=0.5, beta=1e6, distance_grad=True)
    answers = CFGNNExplainer(config).fit([], example_oracle()).explain_many(GRAPHS)
    assert not any(answer.found for answer in answers)
    assert all(answer.trace.proposals == 0 for answer in answers)


@pytest.mark.parametrize("distance_grad", [False, True])
def test_many_graphs_at_once_get_the_answers_they_get_alone(distance_grad):
    config = CFGNNExplainerConfig(
        steps=60, learning_rate=0.5, beta=0.01, distance_grad=distance_grad
    )
    explainer = CFGNNExplainer(config).fit([], example_oracle(classes=3))
    for graph, together in zip(GRAPHS, explainer.explain_many(GRAPHS), strict=True):
        alone = explainer.explain(graph)
        assert found_edits([alone]) == found_edits([together])


def test_each_record_needs_fewer_edges_than_the_one_before():
    config = CFGNNExplainerConfig(steps=150, learning_rate=1.0, beta=0.01, distance_grad=True)
    answers = CFGNNExplainer(config).fit([], example_oracle()).explain_many(GRAPHS)
    for answer in answers:
        sizes = [e.size for e in sorted(answer.counterfactuals, key=lambda e: e.found_at)]
        assert sizes == sorted(set(sizes), reverse=True)


def test_with_rules_every_flip_is_shown_to_them():
    seen = []

    def refuse_pairs(_, edits):
        seen.append(edits)
        return True

    explainer = CFGNNExplainer(QUICK).fit([], example_oracle())
    plain = explainer.explain_many(GRAPHS)
    ruled = explainer.explain_many(GRAPHS, constraints=Constraints(rules=(refuse_pairs,)))
    assert sum(len(a) for a in ruled) >= sum(len(a) for a in plain)
    assert set(found_edits(ruled)) <= set(seen)


def test_an_oracle_without_edge_weights_is_not_applicable():
    graph = GRAPHS[0].clone()
    graph.edge_attr = torch.zeros(graph.num_edges, 1)
    explainer = CFGNNExplainer(QUICK).fit([], AttributeOracle(2))
    answer = explainer.explain(graph, fill={"edge_attr": 0.0})
    assert answer.trace.status == "not_applicable"
    assert "edge weights" in answer.trace.message


def test_the_paper_profile_has_the_settings_of_the_original():
    config = make_explainer("cf-gnnexplainer", dataset="ba_2motifs", profile="paper").config
    assert config == CFGNNExplainerConfig(
        beta=0.5, steps=500, learning_rate=0.005, momentum=0.0, clip=2.0, distance_grad=False
    )
    faster = make_explainer("cf-gnnexplainer", dataset="ba_2motifs").config
    assert (faster.learning_rate, faster.momentum) == (0.1, 0.9)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"steps": 0}, "steps"),
        ({"learning_rate": -1.0}, "learning_rate"),
        ({"momentum": 1.0}, "momentum"),
        ({"beta": -0.5}, "beta"),
        ({"clip": 0.0}, "clip"),
    ],
)
def test_senseless_settings_are_refused(settings, message):
    with pytest.raises(ConfigError, match=message):
        CFGNNExplainerConfig(**settings)
