"""Two threads that explain at once get the answers of one after the other."""

import random
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch

from edgeflip import Budget, list_explainers, make_explainer
from edgeflip.factual import FACTUAL, make_factual
from edgeflip.testing import example_graphs, example_oracle, same_answer

GRAPHS = example_graphs(6, seed=4)
LEARNS_NOTHING = [
    name for name in list_explainers() if not make_explainer(name, profile="smoke")._needs_graphs()
]
BUDGET = Budget(oracle_calls=400)


def at_once(work, items):
    """What a function makes of items, in two threads that begin together."""
    barrier = threading.Barrier(2)

    def run(part):
        barrier.wait(10)
        return [work(item) for item in part]

    with ThreadPoolExecutor(2) as pool:
        parts = list(pool.map(run, [items[::2], items[1::2]]))
    return [parts[index % 2][index // 2] for index in range(len(items))]


def test_every_method_that_needs_no_graphs_is_tried():
    assert {"random", "edgeflip", "cf2", "cf-gnnexplainer", "c2explainer", "xplore"} <= set(
        LEARNS_NOTHING
    )


@pytest.mark.parametrize("name", LEARNS_NOTHING)
def test_two_threads_get_the_answers_of_one_after_the_other(name):
    explainer = make_explainer(name, profile="smoke").fit([], example_oracle())

    def work(graph):
        return explainer.explain(graph, budget=BUDGET, seed=5)

    wanted = [work(graph) for graph in GRAPHS]
    for one, other in zip(wanted, at_once(work, GRAPHS), strict=True):
        assert same_answer(one, other)
    assert any(answer.found for answer in wanted)


@pytest.mark.parametrize("name", LEARNS_NOTHING)
def test_two_threads_may_explain_one_graph_with_two_seeds(name):
    explainer = make_explainer(name, profile="smoke").fit([], example_oracle())

    def work(seed):
        return explainer.explain(GRAPHS[1], budget=BUDGET, seed=seed)

    wanted = [work(seed) for seed in range(4)]
    for one, other in zip(wanted, at_once(work, range(4)), strict=True):
        assert same_answer(one, other)


def test_threads_leave_the_random_numbers_and_the_model_of_everybody_alone():
    oracle = example_oracle()
    oracle.model.train()
    explainer = make_explainer("edgeflip", profile="smoke").fit([], oracle)
    states = random.getstate(), np.random.get_state()[1].copy(), torch.random.get_rng_state()
    at_once(lambda graph: explainer.explain(graph, budget=BUDGET), GRAPHS)
    assert random.getstate() == states[0]
    assert np.array_equal(np.random.get_state()[1], states[1])
    assert torch.equal(torch.random.get_rng_state(), states[2])
    assert oracle.model.training
    assert all(parameter.requires_grad for parameter in oracle.model.parameters())


@pytest.mark.parametrize("name", sorted(FACTUAL))
def test_factual_explainers_may_run_at_once(name):
    oracle = example_oracle()

    def work(graph):
        return make_factual(name, {}).explain(oracle, graph, 0, seed=3)

    wanted = [work(graph) for graph in GRAPHS]
    assert at_once(work, GRAPHS) == wanted
