"""A method that searches as a test says."""

from edgeflip.explainers.random_search import RandomSearch
from edgeflip.testing import example_graphs, example_oracle

GRAPH = example_graphs(3, seed=21)[2]


def fitted(explainer=None, oracle=None):
    return (explainer or RandomSearch()).fit([], oracle or example_oracle())


class Scripted(RandomSearch):
    """Searches as a test says."""

    name = "scripted"
    script = staticmethod(lambda search: None)

    def _stops_at_first(self):
        return False

    def _search(self, search):
        return self.script(search)


def scripted(script):
    explainer = fitted(Scripted())
    explainer.script = script
    return explainer
