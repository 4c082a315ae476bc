"""Features that change, alone and with edges: against every set, tried one by one."""

import json
import random

import pytest
import torch
from torch_geometric.data import Data

from conftest import assert_sentence
from edgeflip import (
    ClassGoal,
    Constraints,
    CounterfactualSet,
    EdgeFlip,
    EdgeFlipConfig,
    FeatureEdits,
    FeatureMoves,
    Grid,
    ModelOracle,
    Problem,
    explain,
    verify_certificate,
)
from edgeflip.core import edge_pairs
from edgeflip.errors import ConfigError, ConstraintError, EditError, GraphError
from edgeflip.explainers.random_search import RandomConfig, RandomSearch
from edgeflip.oracle import GCNClassifier
from edgeflip.search import Selection


def case(seed):
    """A small graph with a one-hot block and a continuous column, moves with prices, and a random model."""
    rng = random.Random(f"features {seed}")
    nodes = rng.randint(2, 4)
    pairs = [(u, v) for u in range(nodes) for v in range(u) if rng.random() < 0.6] or [(1, 0)]
    kinds = torch.eye(3)[[rng.randrange(3) for _ in range(nodes)]]
    x = torch.cat([kinds, torch.tensor([[rng.choice((0.0, 0.5, 1.0))] for _ in range(nodes)])], 1)
    ends = torch.tensor([*pairs, *((v, u) for u, v in pairs)]).T.contiguous()
    graph = Data(x=x, edge_index=ends)
    moves = FeatureMoves(
        blocks={"kind": (0, 1, 2)},
        grids={"size": Grid(3, 0, 1, 0.5)},
        costs={"kind": rng.choice((1, 2)), "size": rng.choice((1, 3))},
        edges=rng.choice((None, 1, 2)),
    )
    frozen = frozenset(rng.sample(range(nodes), rng.choice((0, 0, 1))))
    limits = Constraints(max_edits=rng.choice((2, 3, 4)), frozen_nodes=frozen)
    generator = torch.Generator().manual_seed(seed)
    model = GCNClassifier(num_features=4, num_classes=2, layers=(8,))
    with torch.no_grad():
        for weight in model.parameters():
            weight.copy_(torch.randn(weight.shape, generator=generator))
    return graph, moves, limits, ModelOracle(model)


def check_case(seed):
    graph, moves, limits, oracle = case(seed)
    try:
        space = FeatureEdits.of(graph, moves, limits)
    except ConstraintError:
        return None
    output = oracle.predict_proba([graph])[0]
    goal = ClassGoal(tuple(output.tolist()))
    explainer = EdgeFlip(EdgeFlipConfig(certify=20_000)).fit([], oracle)
    answer = explainer.solve(Problem(space, goal, output, oracle), selection=Selection(keep=50))
    smallest = smallest_by_hand(graph, moves, limits, oracle, goal)
    if answer.certificate is not None:
        assert smallest is None or smallest >= answer.certificate.below
    if answer.found:
        assert smallest is not None
        assert answer.smallest.cost >= smallest
        for entry in answer.counterfactuals:
            assert entry.cost <= limits.max_edits
    if answer.certificate is not None and answer.found:
        assert answer.smallest.cost >= answer.certificate.below
    return answer, smallest


def smallest_by_hand(graph, moves, limits, oracle, goal):
    """The cost of the cheapest set that reaches the goal, by way of all graphs within the limits."""
    made = {(): (graph, 0)}
    steps = []
    for node in range(graph.num_nodes):
        if node in limits.frozen_nodes:
            continue
        steps.append([("kind", node, value) for value in range(3)])
        steps.append([("size", node, value) for value in (0.0, 0.5, 1.0)])
    if moves.edges is not None:
        open_ = [n for n in range(graph.num_nodes) if n not in limits.frozen_nodes]
        steps += [[("edge", u, v)] for u in open_ for v in open_ if u < v]
    for step in steps:
        for key, (known, cost) in list(made.items()):
            for name, node, value in step:
                after, price = changed(known, moves, name, node, value)
                if price and cost + price <= limits.max_edits:
                    made[*key, (name, node, value)] = (after, cost + price)
    graphs = [each for each, _ in made.values()]
    reached = goal.reached(oracle.predict_proba(graphs)).tolist()
    costs = [cost for _, cost in made.values()]
    return min((cost for cost, hit in zip(costs, reached, strict=True) if hit), default=None)


def changed(graph, moves, name, node, value):
    after = graph.clone()
    if name == "edge":
        edges = edge_pairs(graph) ^ {(node, value)}
        both = sorted({*edges, *((v, u) for u, v in edges)})
        after.edge_index = torch.tensor(both, dtype=torch.long).reshape(-1, 2).T.contiguous()
        return after, moves.edges
    if name == "kind":
        if float(graph.x[node, value]) == 1:
            return after, 0
        after.x[node, :3] = torch.eye(3)[value]
        return after, moves.price("kind")
    if float(graph.x[node, 3]) == value:
        return after, 0
    after.x[node, 3] = value
    return after, moves.price("size")


# The other cases are gone through by `benchmarks/typed_edits.py brute`.
def test_brute_force_agrees_with_every_claim_that_nothing_is_smaller():
    found = [check_case(seed) for seed in range(25)]
    told = [each for each in found if each is not None]
    assert any(answer.found for answer, _ in told)
    assert any(answer.certificate and answer.certificate.below > 1 for answer, _ in told)


def test_levels_and_what_is_written_apart_agree():
    for seed in range(12):
        graph, moves, limits, _ = case(seed)
        try:
            space = FeatureEdits.of(graph, moves, limits)
        except ConstraintError:
            continue
        for cost in (1, 2, 3):
            level = space.level(cost)
            rows = level.rows(torch.arange(level.count))
            found = {str(each) for each in space.edits(rows[space.check(rows)])}
            assert found == {str(each) for each in space.plainly(cost)}


def test_answers_survive_files_and_are_verified():
    for seed in range(10):
        graph, moves, limits, oracle = case(seed)
        try:
            answer = explain(oracle, graph, edits=moves, constraints=limits)
        except ConstraintError:
            continue
        again = CounterfactualSet.from_dict(json.loads(json.dumps(answer.to_dict())))
        assert again.summary() == answer.summary()
        if answer.certificate is not None and (answer.found or sum(answer.certificate.tried)):
            verify_certificate(again, oracle)


def test_random_makes_such_edits_too():
    graph, moves, _, oracle = case(3)
    explainer = RandomSearch(RandomConfig(max_removed=1, max_added=1)).fit([], oracle)
    answer = explainer.explain(graph, edits=moves)
    assert answer.space.kind == "features"


def test_a_rule_sees_features_and_edges():
    graph, moves, _, oracle = case(4)
    seen = []

    def rule(given, edits):
        seen.append(edits)
        return not edits.changes

    answer = explain(
        oracle, graph, edits=moves, constraints=Constraints(rules=(rule,), max_edits=2)
    )
    assert all(not entry.edits.changes for entry in answer.counterfactuals)


def test_senseless_wishes_are_sentences():
    graph, moves, _, _ = case(0)
    for error, call in (
        (ConfigError, lambda: Grid(0, 1, 0, 0.5)),
        (ConfigError, lambda: FeatureMoves(blocks={"a": (0,)})),
        (ConfigError, lambda: FeatureMoves(blocks={"a": (0, 1)}, costs={"b": 1})),
        (ConfigError, lambda: FeatureMoves(blocks={"a": (0, 1), "b": (1, 2)})),
        (GraphError, lambda: FeatureEdits.of(graph, FeatureMoves(blocks={"a": (0, 9)}))),
        (GraphError, lambda: FeatureEdits.of(graph, FeatureMoves(blocks={"a": (2, 3)}))),
        (ConstraintError, lambda: FeatureEdits.of(graph, FeatureMoves())),
        (EditError, lambda: FeatureEdits.of(graph, moves).row(None)),
    ):
        with pytest.raises(error) as caught:
            call()
        assert_sentence(caught)
