"""CF²: what its mask finds, alone and in batches."""

import random

import pytest
import torch
from torch_geometric.data import Data

from edgeflip import Budget, Constraints, EditSet, load_dataset, make_explainer
from edgeflip.core.graphs import PairSpace, edge_pairs
from edgeflip.errors import ConfigError
from edgeflip.explainers.cf2 import CF2, CF2Config
from edgeflip.oracle.weighted import SoftGraphs
from edgeflip.testing import CountingOracle, example_graphs, example_oracle
from edgeflip.testing.oracles import AttributeOracle

# The example oracle is unsure of itself, so a low temperature has to make up for it.
QUICK = CF2Config(steps=40, learning_rate=0.2, weight=100.0, temperature=0.2)
GRAPHS = [
    *example_graphs(6, seed=21),
    *example_graphs(3, seed=22, num_nodes=12),
    *example_graphs(2, seed=23, num_nodes=20),
]


class OneEdge:
    """An oracle whose class 0 depends on one edge alone."""

    num_classes = 3

    def __init__(self, edge):
        self.edge = edge

    def predict_proba(self, graphs):
        there = torch.tensor([float(self.edge in edge_pairs(graph)) for graph in graphs])
        return self._logits(there).softmax(dim=1)

    def soft_logits(self, x, edge_index, edge_weight, batch):
        u, v = self.edge
        nodes = torch.bincount(batch).cumsum(0)
        start = torch.cat([nodes.new_zeros(1), nodes[:-1]])[batch[edge_index[0]]]
        here = (edge_index[0] - start == u) & (edge_index[1] - start == v)
        weight = edge_weight.new_zeros(int(batch.max()) + 1)
        return self._logits(weight.index_add(0, batch[edge_index[0]], edge_weight * here))

    def _logits(self, there):
        return torch.stack([8.0 * there - 4.0, 4.0 - 8.0 * there, -9.0 + 0.0 * there], dim=1)


def removed(answers):
    return [entry.edits for answer in answers for entry in answer.counterfactuals]


def test_edges_are_removed_and_never_added():
    answers = CF2(QUICK).fit([], example_oracle()).explain_many(GRAPHS)
    assert any(answer.found for answer in answers)
    assert all(edits.removed and not edits.added for edits in removed(answers))
    assert all(len(answer) <= 1 for answer in answers)


@pytest.mark.parametrize("target", [None, 1])
def test_many_graphs_at_once_get_the_answers_they_get_alone(target):
    oracle = example_oracle(classes=3)
    graphs = [
        graph for graph in GRAPHS if target is None or int(oracle.predict([graph])[0]) != target
    ]
    explainer = CF2(QUICK).fit([], oracle)
    many = explainer.explain_many(graphs, target=target, seed=4)
    for graph, together in zip(graphs, many, strict=True):
        alone = explainer.explain(graph, target=target, seed=4)
        assert [e.edits for e in alone.counterfactuals] == [
            e.edits for e in together.counterfactuals
        ]
        assert alone.trace.notes == together.trace.notes
        assert alone.trace.oracle_calls == together.trace.oracle_calls
        assert (alone.factual is None) == (together.factual is None)
        if alone.factual is not None:
            assert alone.factual.edges == together.factual.edges


def test_masks_are_the_same_alone_and_in_a_batch(monkeypatch):
    seen = []
    original = SoftGraphs.split

    def watched(self, values):
        parts = original(self, values)
        seen.extend(parts)
        return parts

    monkeypatch.setattr(SoftGraphs, "split", watched)
    explainer = CF2(QUICK).fit([], example_oracle())
    # Of one size, so that they come in their own order.
    graphs = GRAPHS[:6]
    explainer.explain_many(graphs)
    together, seen[:] = seen[:6], []
    for graph, mask in zip(graphs, together, strict=True):
        explainer.explain(graph)
        assert float((seen[0] - mask).abs().max()) < 1e-4
        seen.clear()


def test_without_a_reason_to_keep_edges_all_masks_fade():
    config = CF2Config(weight=0.0, steps=40, learning_rate=0.2)
    for answer in CF2(config).fit([], example_oracle()).explain_many(GRAPHS):
        assert not answer.found
        assert answer.trace.proposals == 0
        assert answer.trace.notes["explanation_edges"] == 0
        assert "threshold" in answer.trace.message


@pytest.mark.parametrize("place", [0, 5])
def test_the_one_edge_that_matters_is_removed(place):
    graph = GRAPHS[0]
    edge = sorted(edge_pairs(graph))[place]
    config = CF2Config(steps=100, learning_rate=0.1, weight=100.0)
    answer = CF2(config).fit([], OneEdge(edge)).explain(graph)
    assert edge in answer.best.edits.removed
    assert answer.best.size == 1


def test_a_target_out_of_reach_is_not_claimed():
    graph = GRAPHS[0]
    oracle = OneEdge(sorted(edge_pairs(graph))[0])
    explainer = CF2(QUICK).fit([], oracle)
    assert explainer.explain(graph, target=1).found
    assert not explainer.explain(graph, target=2).found


def test_the_explanation_keeps_the_label_more_often_than_random_edges_do():
    rng = random.Random(0)
    kept = chance = cases = 0
    for graph in example_graphs(12, seed=31):
        edges = edge_pairs(graph)
        oracle = OneEdge(rng.choice(sorted(edges)))
        label = int(oracle.predict_proba([graph]).argmax())
        answer = CF2(QUICK).fit([], oracle).explain(graph)
        if answer.factual is None:
            continue
        cases += 1
        kept += keeps(oracle, graph, edges - set(answer.factual.edges), label)
        tries = [
            set(rng.sample(sorted(edges), len(edges) - len(answer.factual.edges)))
            for _ in range(10)
        ]
        chance += sum(keeps(oracle, graph, gone, label) for gone in tries) / 10
    assert cases >= 6
    assert kept > chance


def keeps(oracle, graph, gone, label):
    edited = EditSet(removed=gone).apply(graph) if gone else graph
    return int(oracle.predict_proba([edited]).argmax()) == label


def test_masks_on_the_way_are_proposed_when_asked():
    config = CF2Config(steps=100, learning_rate=0.1, track_best=True)
    oracle = example_oracle()
    tracked = CF2(config).fit([], oracle).explain_many(GRAPHS)
    plain = CF2(CF2Config(steps=100, learning_rate=0.1)).fit([], oracle).explain_many(GRAPHS)
    assert max(answer.trace.proposals for answer in tracked) > 1
    assert sum(a.found for a in tracked) >= sum(a.found for a in plain)


def test_an_oracle_without_edge_weights_is_not_applicable():
    graph = GRAPHS[0].clone()
    graph.edge_attr = torch.zeros(graph.num_edges, 1)
    explainer = CF2(QUICK).fit([], AttributeOracle(2))
    for answer in (
        explainer.explain(graph, fill={"edge_attr": 0.0}),
        explainer.explain_many([graph], fill={"edge_attr": 0.0})[0],
    ):
        assert answer.trace.status == "not_applicable"
        assert "edge weights" in answer.trace.message


def test_limits_cut_the_explanation_to_its_strongest_edges():
    explainer = CF2(QUICK).fit([], example_oracle())
    for constraints in (Constraints(max_removed=1), Constraints(max_edits=1)):
        answers = explainer.explain_many(GRAPHS, constraints=constraints)
        assert all(answer.trace.rejected == 0 for answer in answers)
        assert all(len(edits) <= 1 for edits in removed(answers))


def test_without_removals_there_is_nothing_to_do():
    answer = (
        CF2(QUICK)
        .fit([], example_oracle())
        .explain(GRAPHS[0], constraints=Constraints(allow_removals=False))
    )
    assert answer.trace.status == "exhausted"
    assert "no removal" in answer.trace.message


def test_frozen_edges_stay():
    explainer = CF2(QUICK).fit([], example_oracle())
    answer = next(a for a in explainer.explain_many(GRAPHS) if a.found)
    frozen = answer.best.edits.removed
    again = explainer.explain(answer.graph, constraints=Constraints(frozen_edges=frozen))
    assert not any(edits.removed & frozen for edits in removed([again]))


@pytest.mark.serial
def test_a_deadline_ends_the_learning():
    explainer = CF2(CF2Config(steps=100_000)).fit([], example_oracle())
    budget = Budget(seconds=0.05)
    assert explainer.explain(GRAPHS[0], budget=budget).trace.status == "timeout"
    answers = explainer.explain_many(GRAPHS[:4], budget=budget)
    assert {answer.trace.status for answer in answers} == {"timeout"}


def test_learning_together_is_booked_in_even_shares_and_no_oracle_call():
    oracle = CountingOracle(example_oracle())
    explainer = CF2(QUICK).fit([], oracle)
    answers = explainer.explain_many(GRAPHS[:6])
    assert oracle.calls == sum(answer.trace.oracle_calls for answer in answers)
    assert len({answer.trace.stages["learn"].seconds for answer in answers}) == 1
    # A step has two versions of each graph, forward and back; then come the first and the last mask.
    assert {answer.trace.notes["soft_passes"] for answer in answers} == {6 * QUICK.steps + 2}


def test_gradients_switched_off_by_the_caller_do_not_matter():
    explainer = CF2(QUICK).fit([], example_oracle())
    expected = explainer.explain(GRAPHS[0])
    with torch.no_grad():
        answer = explainer.explain(GRAPHS[0])
    assert [e.edits for e in answer.counterfactuals] == [e.edits for e in expected.counterfactuals]


def test_a_graph_without_edges_has_nothing_to_remove():
    bare = Data(x=torch.ones(4, 4), edge_index=torch.empty(2, 0, dtype=torch.long))
    explainer = CF2(QUICK).fit([], example_oracle())
    answers = explainer.explain_many([GRAPHS[0], bare])
    assert answers[1].trace.status == "exhausted"
    assert PairSpace.of(bare).edge_ids.numel() == 0
    assert explainer.explain_many([]) == []


def test_the_paper_profile_has_the_published_settings():
    published = {
        "ba_2motifs": (20, 0.02),
        "ba_2motifs_3class": (100, 0.2),
        "ba_3motifs": (100, 0.02),
        "ba_4motifs": (100, 0.02),
        "bbbp": (20, 0.05),
        "graph_twitter": (20, 0.05),
        "graph_sst5": (20, 0.05),
    }
    for dataset, (weight, rate) in published.items():
        config = make_explainer("cf2", dataset=dataset, profile="paper").config
        assert (config.weight, config.learning_rate) == (weight, rate)
        assert (config.alpha, config.margin, config.temperature) == (0.7, 0.9, 5.0)
        assert (config.threshold, config.steps, config.track_best) == (0.5, 500, False)


def test_ba_graphs_keep_their_nodes_and_features():
    bundle = load_dataset("ba_2motifs")
    torch.manual_seed(0)
    oracle = example_oracle(features=10)
    graph = bundle.test[0]
    before = graph.clone()
    CF2(QUICK).fit([], oracle).explain_many([graph])
    assert torch.equal(before.x, graph.x)
    assert torch.equal(before.edge_index, graph.edge_index)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"steps": 0}, "steps"),
        ({"learning_rate": 0.0}, "learning_rate"),
        ({"alpha": 1.5}, "alpha"),
        ({"threshold": 1.0}, "threshold"),
        ({"weight": -1.0}, "weight"),
        ({"temperature": 0.0}, "temperature"),
    ],
)
def test_senseless_settings_are_refused(settings, message):
    with pytest.raises(ConfigError, match=message):
        CF2Config(**settings)
