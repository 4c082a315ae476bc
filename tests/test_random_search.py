"""Random: exhaustive by size."""

import itertools
import math
import os
import subprocess
import sys

import pytest
import torch

from edgeflip import Budget, Constraints, EditSet, ModelOracle, verify_certificate
from edgeflip.core.graphs import edge_pairs, non_edges
from edgeflip.errors import ConfigError
from edgeflip.explainers.random_search import RandomConfig, RandomSearch
from edgeflip.testing import example_graphs, example_oracle
from link_methods import Edges

GRAPHS = example_graphs(6, seed=21)


def brute_force_minimum(oracle, graph, max_size=2):
    label = int(oracle.predict([graph])[0])
    options = [EditSet(removed=[e]) for e in edge_pairs(graph)]
    options += [EditSet(added=[e]) for e in non_edges(graph)]
    for size in range(1, max_size + 1):
        sets = [
            EditSet(
                added=set().union(*(part.added for part in parts)),
                removed=set().union(*(part.removed for part in parts)),
            )
            for parts in itertools.combinations(options, size)
        ]
        labels = oracle.predict([edits.apply(graph) for edits in sets])
        if bool((labels != label).any()):
            return size
    return None


@pytest.mark.parametrize("graph", GRAPHS, ids=range(len(GRAPHS)))
def test_the_answer_has_the_fewest_edits_there_are(graph):
    oracle = example_oracle()
    answer = RandomSearch().fit([], oracle).explain(graph)
    expected = brute_force_minimum(oracle, graph)
    assert expected is not None
    assert answer.best.size == expected


def test_never_more_removals_or_additions_than_the_limits():
    oracle = example_oracle()
    config = RandomConfig(max_removed=1, max_added=0, stop_at_first=False)
    explainer = RandomSearch(config).fit([], oracle)
    for graph in GRAPHS:
        for entry in explainer.explain(graph).counterfactuals:
            assert len(entry.edits.removed) <= 1
            assert not entry.edits.added


def test_the_whole_space_is_tried_once_when_asked():
    oracle = example_oracle()
    graph = GRAPHS[0]
    edges, pairs = len(edge_pairs(graph)), 9 * 8 // 2
    explainer = RandomSearch(RandomConfig(stop_at_first=False, max_removed=1, max_added=1))
    answer = explainer.fit([], oracle).explain(graph)
    assert answer.trace.proposals == pairs + edges * (pairs - edges)
    assert answer.trace.stages["oracle"].oracle_calls == answer.trace.proposals
    assert answer.trace.stopped_by == "exhausted"


def test_stopping_at_the_first_flip_keeps_one_answer():
    answer = RandomSearch().fit([], example_oracle()).explain(GRAPHS[0])
    assert len(answer) == 1
    assert answer.best is answer.first
    assert answer.trace.stopped_by == "first_flip"


def test_other_seeds_try_in_another_order():
    explainer = RandomSearch().fit([], example_oracle())
    places = {explainer.explain(GRAPHS[0], seed=seed).best.found_at for seed in range(8)}
    assert len(places) > 1


def test_deadline_zero_is_a_timeout():
    answer = RandomSearch().fit([], example_oracle()).explain(GRAPHS[0], budget=Budget(seconds=0))
    assert answer.trace.status == "timeout"


@pytest.mark.parametrize("size", [1, 7, 256])
def test_batch_size_does_not_change_the_set_of_edits(size):
    oracle = example_oracle()
    config = RandomConfig(stop_at_first=False, max_removed=1, max_added=1)
    expected = RandomSearch(config).fit([], oracle).explain(GRAPHS[1], keep=10_000)
    other = ModelOracle(oracle.model, num_classes=2, batch_size=size)
    answer = RandomSearch(config).fit([], other).explain(GRAPHS[1], keep=10_000)
    assert [e.edits for e in answer.counterfactuals] == [e.edits for e in expected.counterfactuals]
    assert answer.trace.oracle_calls == expected.trace.oracle_calls


PROGRAM = """
from edgeflip.explainers.random_search import RandomSearch
from edgeflip.testing import example_graphs, example_oracle
answer = RandomSearch().fit([], example_oracle()).explain(example_graphs(6, seed=21)[2], seed=4)
print(answer.best.found_at, answer.best.edits, answer.best.proba)
"""


def test_another_process_gives_the_same_answer(capsys):
    """Sets of strings, whose order another hash seed changes, must not show."""
    seed = "1" if os.environ.get("PYTHONHASHSEED") != "1" else "2"
    elsewhere = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
    ).stdout
    exec(PROGRAM, {})
    assert elsewhere.strip()
    assert capsys.readouterr().out == elsewhere


def test_levels_too_large_to_number_are_drawn_from():
    graph = example_graphs(1, seed=3, num_nodes=120)[0]
    oracle = example_oracle()
    config = RandomConfig(max_removed=20, max_added=20)
    # Only sets of exactly these many edits are left once smaller levels are forbidden by a rule.
    explainer = RandomSearch(config).fit([], oracle)
    from edgeflip.core import combinatorics

    limit, combinatorics_limit = 10, combinatorics.COUNT_LIMIT
    import edgeflip.explainers.random_search as module

    module.COUNT_LIMIT = limit
    try:
        answer = explainer.explain(graph, budget=Budget(oracle_calls=3000))
    finally:
        module.COUNT_LIMIT = combinatorics_limit
    assert answer.trace.status in ("found", "out_of_calls")
    assert answer.trace.oracle_calls > 1


def test_senseless_limits_are_refused():
    with pytest.raises(ConfigError, match="max_removed"):
        RandomConfig(max_removed=0, max_added=0)


def test_constraints_tighten_the_limits():
    explainer = RandomSearch(RandomConfig(stop_at_first=False)).fit([], example_oracle())
    answer = explainer.explain(GRAPHS[0], constraints=Constraints(max_edits=1))
    assert answer.trace.proposals == 36
    assert answer.trace.rejected == 0


# Certificates: the sizes that were completed, no more.


@pytest.mark.parametrize("number", range(4))
def test_what_random_certifies_agrees_with_brute_force(number):
    graph, oracle = GRAPHS[number], example_oracle()
    answer = RandomSearch().fit([], oracle).explain(graph)
    proof = answer.certificate
    assert proof.below == answer.best.size
    assert proof.tried == tuple(math.comb(36, size) for size in range(1, proof.below))
    assert verify_certificate(answer, oracle) >= sum(proof.tried) + 1
    assert brute_force_minimum(oracle, graph) == proof.below


@pytest.mark.parametrize(
    ("calls", "limits", "below"),
    [
        (35, {}, None),
        (100, {}, 2),
        (700, {}, 3),
        # All single edits, but of the pairs only those of a removal and an addition.
        (None, {"max_removed": 1, "max_added": 1}, 2),
        (None, {"max_removed": 2, "max_added": 0}, None),
    ],
)
def test_random_certifies_no_size_that_it_did_not_complete(calls, limits, below):
    graph = GRAPHS[0]
    explainer = RandomSearch(RandomConfig(**limits)).fit([], Edges(graph, 9))
    answer = explainer.explain(graph, budget=Budget(oracle_calls=calls))
    assert not answer.found
    assert (answer.certificate and answer.certificate.below) == below


@pytest.mark.parametrize(
    "constraints",
    [
        Constraints(max_added=0),
        Constraints(frozen_nodes={0, 1}, forbidden_pairs={(2, 3)}),
        Constraints(keep_connected=True),
        Constraints(room={0: 0, 1: 0, 2: 1}),
        Constraints(rules=(lambda graph, edits: len(edits.removed) != 1,)),
    ],
)
def test_random_counts_what_the_constraints_allow(constraints):
    graph = GRAPHS[0]
    oracle = Edges(graph, 3)
    answer = RandomSearch().fit([], oracle).explain(graph, constraints=constraints)
    assert answer.certificate.below == 3
    assert verify_certificate(answer, oracle, constraints=constraints) > 0


def test_a_size_that_time_cut_off_is_not_certified():
    answer = RandomSearch().fit([], example_oracle()).explain(GRAPHS[0], budget=Budget(seconds=0))
    assert answer.certificate is None


def test_three_classes_with_a_target():
    oracle = example_oracle(classes=3)
    explainer = RandomSearch(RandomConfig(max_removed=2, max_added=2)).fit([], oracle)
    graph = GRAPHS[0]
    label = int(oracle.predict([graph])[0])
    for target in {0, 1, 2} - {label}:
        answer = explainer.explain(graph, target=target)
        if answer.found:
            edited = answer.edited_graph()
            assert int(oracle.predict([edited])[0]) == target
            assert torch.equal(edited.x, graph.x)
