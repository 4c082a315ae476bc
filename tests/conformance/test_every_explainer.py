"""Every registered explainer keeps the contract."""

import pytest

from applicable import number_of_checks
from edgeflip import EditSet, list_explainers, make_explainer
from edgeflip.explainers.random_search import RandomSearch
from edgeflip.testing import check_explainer


@pytest.mark.parametrize("name", list_explainers())
def test_explainer_keeps_the_contract(name):
    explainer = make_explainer(name, profile="smoke")
    assert len(check_explainer(explainer)) == number_of_checks(explainer)


class MutatingSearch(RandomSearch):
    """Breaks the contract: writes on the graph."""

    name = "mutating"

    def _search(self, search):
        graph = search.space.input
        graph.x[0] = 0.25 + graph.x[0]
        return super()._search(search)


class ForgetfulSearch(RandomSearch):
    """Breaks the contract: another answer every time."""

    name = "forgetful"
    count = 0

    def _search(self, search):
        ForgetfulSearch.count += 1
        object.__setattr__(search.problem, "stream", str(ForgetfulSearch.count))
        return super()._search(search)


class TrainingModeSearch(RandomSearch):
    """Breaks the contract: steps on the oracle's parameters."""

    name = "stepping"

    def _search(self, search):
        search.problem.oracle.model.classify.bias.data += 0.01
        return super()._search(search)


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
    """A third party's explainer that asks about plain edit sets."""

    name = "one-edit"

    def _search(self, search):
        edges_of, groups = search.space.pairs.edges_of, search.space.groups
        for edge in edges_of(groups["remove"]):
            search.ask([EditSet(removed=[edge])])
        for edge in edges_of(groups["add"]):
            search.ask([EditSet(added=[edge])])


def test_an_explainer_that_asks_about_edit_sets_keeps_the_contract():
    explainer = OneEditAtATime()
    assert len(check_explainer(explainer)) == number_of_checks(explainer)
