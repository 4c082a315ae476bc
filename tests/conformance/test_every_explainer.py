"""Every registered explainer keeps the contract."""

import pytest

from edgeflip import EditSet, list_explainers, make_explainer
from edgeflip.explainers.random_search import RandomSearch
from edgeflip.testing import CHECKS, check_explainer


@pytest.mark.parametrize("name", list_explainers())
def test_explainer_keeps_the_contract(name):
    passed = check_explainer(make_explainer(name, profile="smoke"))
    assert len(passed) == len(CHECKS)


class MutatingSearch(RandomSearch):
    """Breaks the contract: writes on the graph."""

    name = "mutating"

    def _propose(self, problem):
        problem.graph.x[0] = 0.25 + problem.graph.x[0]
        yield from super()._propose(problem)


class ForgetfulSearch(RandomSearch):
    """Breaks the contract: another answer every time."""

    name = "forgetful"
    count = 0

    def _propose(self, problem):
        ForgetfulSearch.count += 1
        problem.stream = str(ForgetfulSearch.count)
        yield from super()._propose(problem)


class TrainingModeSearch(RandomSearch):
    """Breaks the contract: steps on the oracle's parameters."""

    name = "stepping"

    def _propose(self, problem):
        problem.oracle.oracle.model.classify.bias.data += 0.01
        yield from super()._propose(problem)


@pytest.mark.parametrize(
    ("culprit", "complaint"),
    [
        (MutatingSearch, "explain changed the graph"),
        (ForgetfulSearch, "same seed"),
        (TrainingModeSearch, "weights changed"),
    ],
)
def test_a_broken_explainer_is_caught(culprit, complaint):
    with pytest.raises(AssertionError, match=complaint):
        check_explainer(culprit())


class OneEditAtATime(RandomSearch):
    """A third party's explainer that yields plain edit sets."""

    name = "one-edit"

    def _propose(self, problem):
        for edge in problem.space.edges_of(problem.allowed.removals):
            yield EditSet(removed=[edge])
        for edge in problem.space.edges_of(problem.allowed.additions):
            yield EditSet(added=[edge])


def test_an_explainer_that_yields_edit_sets_keeps_the_contract():
    assert len(check_explainer(OneEditAtATime())) == len(CHECKS)
