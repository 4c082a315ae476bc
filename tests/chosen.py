"""An oracle whose answers a test chooses, and a search through all small edit sets."""

import torch

from edgeflip.core import edge_pairs
from edgeflip.explainers.random_search import RandomConfig, RandomSearch
from edgeflip.testing import example_graphs

GRAPH = example_graphs(3, seed=21)[2]
EVERYTHING = RandomConfig(stop_at_first=False, max_removed=1, max_added=1)


class Sets:
    """Class 1 for graphs with certain edges, as surely as a table says; class 0 otherwise."""

    num_classes = 2

    def __init__(self, table):
        self.table = {frozenset(edges): chance for edges, chance in table.items()}

    def predict_proba(self, graphs):
        chances = [
            max((p for s, p in self.table.items() if s <= edge_pairs(graph)), default=0.0)
            for graph in graphs
        ]
        return torch.tensor([[1 - chance, chance] for chance in chances])


def searching(table, **settings):
    config = RandomConfig(stop_at_first=False, max_removed=0, max_added=2, **settings)
    return RandomSearch(config).fit([], Sets(table))


def edits_of(answer):
    return [frozenset(entry.edits.added | entry.edits.removed) for entry in answer.counterfactuals]


def jaccard(one, other):
    return len(one & other) / len(one | other)
