"""Two methods, neither of which knows the other; and neither of which minds company."""

import ast
import random
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import torch

import edgeflip
from edgeflip import Budget
from edgeflip.explainers.dr_cfgnn import DRCFGNN
from edgeflip.explainers.edgeflip import EdgeFlip
from edgeflip.factual import FromPyG
from edgeflip.support import one_thread
from edgeflip.testing import example_graphs, example_oracle
from link_methods import OURS, PAPER, same_answers

EXPLAINERS = Path(edgeflip.__file__).parent / "explainers"


def imported(file):
    """All names that a file imports, whenever it does."""
    names = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


# Rooms.


def test_the_papers_algorithm_is_one_file_of_at_most_200_lines():
    text = (EXPLAINERS / "dr_cfgnn" / "explainer.py").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 200


@pytest.mark.parametrize(("room", "other"), [("dr_cfgnn", "edgeflip"), ("edgeflip", "dr_cfgnn")])
def test_neither_method_imports_the_other(room, other):
    files = sorted((EXPLAINERS / room).glob("*.py"))
    assert len(files) >= 4
    class_name = {"dr_cfgnn": "DRCFGNN", "edgeflip": "EdgeFlip"}[other]
    for file in files:
        for name in imported(file):
            assert not name.startswith(f"edgeflip.explainers.{other}")
            assert class_name not in name
            # Nor by a detour, through the list of all methods or the package's own front door.
            assert not name.startswith(("edgeflip.explainers.registry", "edgeflip.make_explainer"))
            assert name not in (f"edgeflip.explainers.{other}", f"edgeflip.{class_name}")


def test_what_both_share_knows_neither():
    for room in ("links", "pools", "factual", "search"):
        for file in (EXPLAINERS.parent / room).glob("*.py"):
            assert not any(name.startswith("edgeflip.explainers") for name in imported(file))
    names = imported(EXPLAINERS / "with_links.py")
    assert not any("dr_cfgnn" in name or "explainers.edgeflip" in name for name in names)


# Company.


def explainers():
    graphs, oracle = example_graphs(10, seed=1), example_oracle()
    ours = EdgeFlip(OURS).fit(graphs, oracle)
    alone = EdgeFlip(OURS).fit([], oracle)
    paper = DRCFGNN(PAPER, links=ours.links_).fit([], oracle)
    return [ours, alone, paper]


def test_two_threads_get_the_answers_of_one_after_the_other():
    made, graphs = explainers(), example_graphs(4, seed=2)
    jobs = [(each, graph) for each in made for graph in graphs]

    def answer(job):
        each, graph = job
        return each.explain(graph, seed=3, number=5)

    alone = [answer(job) for job in jobs]
    assert sum(one.found for one in alone) > len(jobs) / 2
    # Side by side: each thread meets the others' methods, and the same one on other graphs.
    with ThreadPoolExecutor(2) as pool:
        together = list(pool.map(answer, jobs))
        backwards = list(pool.map(answer, jobs[::-1]))[::-1]
    for one, two, three in zip(alone, together, backwards, strict=True):
        assert same_answers(one, two)
        assert same_answers(one, three)
        assert one.trace.proposals == two.trace.proposals == three.trace.proposals
        assert one.factual == two.factual == three.factual
        assert one.certificate == two.certificate == three.certificate


def test_two_threads_in_the_midst_of_a_search_do_not_share_anything():
    """Each waits for the other in the middle of its search, so that they do run at once."""
    made, graphs = explainers()[::2], example_graphs(2, seed=2)
    alone = [each.explain(graph, seed=3) for each, graph in zip(made, graphs, strict=True)]
    meet = threading.Barrier(2, timeout=30)

    def explain(each, graph):
        steps = []

        def watch(step):
            if not steps:
                meet.wait()
            steps.append(step)

        return each.explain(graph, seed=3, watch=watch)

    with ThreadPoolExecutor(2) as pool:
        together = list(pool.map(explain, made, graphs))
    for one, other in zip(alone, together, strict=True):
        assert same_answers(one, other)


def test_what_pyg_draws_globally_is_drawn_by_one_thread_at_a_time(monkeypatch):
    oracle, graphs = example_oracle(), example_graphs(4, seed=2)
    factual = FromPyG(max_nodes=4)

    def drawn(self, model, label):
        time.sleep(0.02)  # long enough for another thread to seed anew
        return torch.rand(model.batch.edge_index.size(1)).double()

    monkeypatch.setattr(FromPyG, "_edge_mask", drawn)

    def explain(graph):
        return factual.explain(oracle, graph, 0, seed=5)

    alone = [explain(graph) for graph in graphs]
    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(explain, graphs)) == alone


def global_states():
    return random.getstate(), np.random.get_state()[1].tolist(), torch.random.get_rng_state()


@pytest.mark.parametrize("which", range(3))
@pytest.mark.parametrize("options", [{}, {"robust": 3}, {"budget": Budget(oracle_calls=7)}])
def test_explaining_leaves_global_random_numbers_alone_and_does_not_use_them(which, options):
    made, graph = explainers()[which], example_graphs(1, seed=2)[0]
    answers = []
    for seed in (1, 2):
        random.seed(seed)
        np.random.seed(seed)
        torch.manual_seed(seed)
        before = global_states()
        answers.append(made.explain(graph, seed=3, **options))
        after = global_states()
        assert before[:2] == after[:2]
        assert torch.equal(before[2], after[2])
    assert same_answers(*answers)


def test_global_random_numbers_are_not_even_seeded_for_a_moment(monkeypatch):
    made, graph = explainers(), example_graphs(1, seed=2)[0]

    def refuse(*_):
        raise AssertionError("something global was seeded")

    for owner, name in (
        (random, "seed"),
        (random, "setstate"),
        (np.random, "seed"),
        (np.random, "set_state"),
        (torch, "manual_seed"),
        (torch.random, "set_rng_state"),
    ):
        monkeypatch.setattr(owner, name, refuse)
    for each in made:
        assert each.explain(graph).found


def test_threads_that_leave_at_different_times_put_back_the_number_of_threads():
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    first_in, second_in, first_out = (threading.Event() for _ in range(3))

    def first():
        with one_thread():
            first_in.set()
            second_in.wait(10)
        first_out.set()

    def second():
        first_in.wait(10)
        with one_thread():
            second_in.set()
            first_out.wait(10)
        return torch.get_num_threads()

    try:
        with ThreadPoolExecutor(2) as pool:
            left = pool.submit(second)
            pool.submit(first).result()
            assert left.result() == 2
        with ThreadPoolExecutor(1) as pool:
            assert pool.submit(torch.get_num_threads).result() == 2
        with one_thread():
            with one_thread():
                assert torch.get_num_threads() == 1
            assert torch.get_num_threads() == 1
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
