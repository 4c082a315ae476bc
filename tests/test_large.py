"""Graphs of more than a thousand nodes: what is looked at, within which region, and how evenly."""

from __future__ import annotations

import random
from collections import Counter

import pytest
import torch
from torch_geometric.data import Data

from edgeflip import Budget, Constraints, EdgeFlip, EditSet, ModelOracle, make_explainer
from edgeflip.core import PAD, PairEdits
from edgeflip.core.graphs import edge_pairs

NODES = 1500
CLIQUE = (3, 400, 701, 902, 1203)


def sparse_graph(missing):
    """Sparse, with a clique that lacks some edges."""
    chance = random.Random(0)
    edges = {tuple(sorted(chance.sample(range(NODES), 2))) for _ in range(2 * NODES)}
    edges |= {(u, v) for u in CLIQUE for v in CLIQUE if u < v}
    order = torch.tensor(sorted(edges - set(missing))).t()
    return Data(
        x=torch.ones(NODES, 1), edge_index=torch.cat([order, order.flip(0)], 1), num_nodes=NODES
    )


class Asked(ModelOracle):
    """Says whether the clique is whole, and nothing of how far it is from that; counts what it is asked."""

    def __init__(self):
        super().__init__(self.answers, returns="probabilities", num_classes=2)
        self.sizes = Counter()

    @staticmethod
    def answers(graphs):
        inside = torch.zeros(NODES, dtype=torch.bool)
        inside[list(CLIQUE)] = True
        counts = [int(inside[graph.edge_index].all(dim=0).sum()) for graph in graphs]
        return torch.tensor([[0.05, 0.95] if count == 20 else [0.95, 0.05] for count in counts])

    def predict_edits(self, space, rows):
        self.sizes.update((rows != PAD).sum(dim=1).tolist())
        return super().predict_edits(space, rows)


@pytest.mark.parametrize("missing", [{(3, 400), (701, 902)}, {(3, 400), (3, 701)}])
def test_two_edges_that_a_dense_part_lacks_are_found_though_neither_helps_alone(missing):
    graph, oracle = sparse_graph(missing), Asked()
    answer = EdgeFlip().fit([], oracle).explain(graph, budget=Budget(oracle_calls=2_000))
    assert answer.best.edits == EditSet(added=missing)
    assert sum(oracle.sizes.values()) < 1_500
    assert answer.trace.notes["allowed"] == NODES * (NODES - 1) // 2
    assert 0 < answer.trace.notes["pool"] < 0.02 * answer.trace.notes["allowed"]


def test_within_a_region_nothing_else_is_edited_or_counted():
    missing = {(3, 400), (701, 902)}
    graph, oracle = sparse_graph(missing), Asked()
    explainer = EdgeFlip().fit([], oracle)
    region = Constraints(within=[*CLIQUE, *range(5, 100)])
    answer = explainer.explain(graph, constraints=region)
    assert answer.best.edits == EditSet(added=missing)
    assert answer.trace.notes["allowed"] == 100 * 99 // 2
    elsewhere = explainer.explain(
        graph, constraints=Constraints(within=range(1300, 1400)), budget=Budget(oracle_calls=300)
    )
    assert not elsewhere.found
    assert elsewhere.trace.notes["allowed"] == 100 * 99 // 2
    assert elsewhere.trace.notes["pool"] <= elsewhere.trace.notes["allowed"]


def test_dense_parts_are_left_alone_where_no_edge_may_come():
    graph, oracle = sparse_graph({(3, 400)}), Asked()
    answer = (
        EdgeFlip()
        .fit([], oracle)
        .explain(
            graph,
            constraints=Constraints(allow_additions=False),
            budget=Budget(oracle_calls=300),
        )
    )
    assert not answer.found


def test_the_reference_tries_pairs_as_often_as_single_edits():
    graph, oracle = sparse_graph({(3, 400), (701, 902)}), Asked()
    reference = make_explainer("random").fit([], oracle)
    answer = reference.explain(graph, budget=Budget(oracle_calls=1_000))
    singles, pairs = oracle.sizes[1], oracle.sizes[2]
    assert pairs > 0.5 * singles > 0
    assert answer.trace.notes["allowed"] == PairEdits.of(graph).num_allowed
    assert 0 < answer.trace.notes["pool"] <= singles
    assert len(edge_pairs(graph)) + singles < answer.trace.notes["allowed"]


@pytest.mark.parametrize("calls", [10, 75, 300])
def test_the_reference_says_how_many_single_edits_it_asked_about_wherever_the_budget_ends(calls):
    oracle = Asked()
    reference = make_explainer("random").fit([], oracle)
    answer = reference.explain(sparse_graph({(3, 400)}), budget=Budget(oracle_calls=calls))
    assert answer.trace.notes["pool"] == oracle.sizes[1] > 0
    assert "were looked at (less than 0.01 %)" in str(answer)
