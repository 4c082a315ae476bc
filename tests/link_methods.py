"""What the tests of DR-CFGNN, EdgeFlip and link models share: oracles, predictors and graphs."""

import dataclasses
import itertools
import time
from functools import cache

import torch

from conftest import make_graph, random_graph
from edgeflip.core import FactualSubgraph, PairSpace, edge_pairs, non_edges
from edgeflip.explainers.dr_cfgnn import DRCFGNN, DRCFGNNConfig
from edgeflip.explainers.dr_cfgnn import explainer as explainer_module
from edgeflip.explainers.edgeflip import EdgeFlip, EdgeFlipConfig
from edgeflip.explainers.edgeflip import explainer as edgeflip_module
from edgeflip.links import LinkSettings, LinkTrainingConfig, PredictorConfig, fit_links
from edgeflip.links.supervision import LinkGraphs
from edgeflip.pools import SizeConfig
from edgeflip.testing import example_graphs

MOTIF = (0, 1, 2, 3)
MOTIF_PAIRS = tuple(itertools.combinations(MOTIF, 2))
RING = frozenset({(0, 1), (1, 2), (2, 3), (0, 3)})
# A ring of four that is the motif, and a tail that means nothing.
TAIL = frozenset({(3, 4), (4, 5), (5, 6), (6, 7)})

SMALL = PredictorConfig(encoder_layers=2, encoder_width=8, decoder=(8,), class_width=4)
BRIEF = LinkTrainingConfig(epochs=2, batch_size=8, learning_rate=0.01)


def link_graphs(given, labels=None, **known):
    """Graphs to learn links from, all of class 0 unless told."""
    spaces = [PairSpace.of(graph) for graph in given]
    return LinkGraphs.of(spaces, labels or [0] * len(spaces), **known)


def shown(model, given, pairs):
    """All features and edges of graphs, as a predictor is shown them in training."""
    graphs, edges = link_graphs(given), []
    for place, graph in enumerate(given):
        ends = torch.tensor(sorted(edge_pairs(graph)), dtype=torch.long).reshape(-1, 2).t()
        edges.append(torch.cat([torch.full((1, ends.size(1)), place), ends]))
    return graphs.x, model.show(graphs.sizes, torch.cat(edges, dim=1), pairs)


class MotifEdges:
    """Classes by the edges among nodes 0 to 3: 0 for at most three, 1 for four or five, 2 for all."""

    num_classes = 3
    pause = 0.0

    def __init__(self):
        self.asked = 0

    def predict_proba(self, graphs):
        return self.answer([len(edge_pairs(graph) & set(MOTIF_PAIRS)) for graph in graphs])

    def predict_edits(self, space, rows):
        """The same for edits, by sums: what is found so is checked on edited graphs anyway."""
        pairs = space.pairs
        change = torch.zeros(pairs.num_pairs + 1, dtype=torch.long)
        inside = pairs.ids_of(pair for pair in MOTIF_PAIRS if pair[1] < pairs.num_nodes)
        change[inside] = torch.where(pairs.is_edge(inside), -1, 1)
        before = len(edge_pairs(pairs.graph) & set(MOTIF_PAIRS))
        return self.answer((before + change[rows].sum(dim=1)).tolist())

    def answer(self, counts):
        time.sleep(self.pause)
        self.asked += len(counts)
        logits = torch.tensor([[3.5 - n, 0.0, 0.0] for n in counts])
        label = torch.tensor([0 if n <= 3 else 1 if n <= 5 else 2 for n in counts])
        logits[torch.arange(len(counts)), label] += 4.0
        return logits.softmax(dim=1)


class Stubborn:
    """Two classes of its three are never predicted, whatever the graph is."""

    num_classes = 3

    def predict_proba(self, graphs):
        return torch.tensor([[0.8, 0.1, 0.1]]).repeat(len(graphs), 1)

    def predict_edits(self, space, rows):
        return self.predict_proba(rows)


class Told:
    """A link predictor that says what it was told, and keeps what it was asked."""

    num_features = 3

    def __init__(self, likely=(), *, num_classes=3, rest=0.2, unlikely=()):
        self.likely, self.unlikely = dict(likely), dict(unlikely)
        self.num_classes, self.rest, self.asked = num_classes, rest, []

    def probabilities(self, x, adjacency, classes=None, *, before_each=None):
        self.asked.append((adjacency.clone(), classes))
        matrix = torch.full(adjacency.shape[1:], self.rest)
        for (u, v), value in {**self.likely, **self.unlikely}.items():
            matrix[u, v] = matrix[v, u] = value
        return matrix.repeat(len(adjacency), 1, 1)

    def probabilities_to_each(self, x, adjacency, targets, *, before_each=None):
        eye = torch.eye(self.num_classes)
        given = [None if t is None else eye[t].expand(len(adjacency), -1) for t in targets]
        return torch.stack([self.probabilities(x, adjacency, classes) for classes in given])


def ring_and_tail(**options):
    return make_graph(8, RING | TAIL, **options)


def train_graphs(count=10):
    """Labelled 0 and 1 only: class 2 is never seen."""
    made = [random_graph(8, seed=seed, density=0.45) for seed in range(count)]
    for place, graph in enumerate(made):
        graph.y = torch.tensor([place % 2])
    return made


PAPER = DRCFGNNConfig(
    factual="occlusion",
    max_nodes=5,
    add=SizeConfig(alpha=0.1, beta=1.0, max=2),
    threshold=0.0,
    iterations=3000,
    seconds=None,
    predictor=SMALL,
    training=BRIEF,
)

OURS = EdgeFlipConfig(
    max_nodes=5,
    add=SizeConfig(alpha=0.1, beta=1.0, max=2),
    threshold=0.0,
    seconds=None,
    predictor=SMALL,
    training=BRIEF,
)


@cache
def learned(one_hot=True):
    """One training for all tests that do not look at training."""
    return fit_links(train_graphs(), MotifEdges(), LinkSettings(one_hot, SMALL, BRIEF))


def make_links(settings, *, predictor=None, known=None):
    """The link model of one training, or one with a predictor that was told."""
    changes = {"settings": settings}
    if predictor is not None:
        changes["predictor"] = predictor
    if known is not None:
        changes["known"] = torch.tensor(known)
    return dataclasses.replace(learned(settings.one_hot), **changes)


def make_paper(*, predictor=None, known=None, oracle=None, kind=DRCFGNN, shape=SMALL, **settings):
    """DR-CFGNN with what one training learned."""
    config = dataclasses.replace(PAPER, predictor=shape, **settings)
    links = make_links(config.links, predictor=predictor, known=known)
    return kind(config, links=links).fit([], oracle or MotifEdges())


def make_ours(*, predictor=None, known=None, oracle=None, ranking=None, **settings):
    """EdgeFlip with what one training learned."""
    config = dataclasses.replace(OURS, **settings)
    links = make_links(config.links, predictor=predictor, known=known)
    return EdgeFlip(config, links=links, ranking=ranking).fit([], oracle or MotifEdges())


class Recorded(DRCFGNN):
    """Keeps every candidate it asked about: as rows of ids, and as sets of node pairs."""

    def _search(self, search):
        self.rows, self.proposed = [], []
        real = search.ask

        def ask(rows):
            self.rows += [[entry for entry in row if entry >= 0] for row in rows.tolist()]
            edits = search.space.edits(search.space.normalise(rows))
            self.proposed += [frozenset(entry.edges) for entry in edits]
            return real(rows)

        search.ask = ask
        return super()._search(search)


def added_edges(explainer, graph):
    """Every addition that was part of a proposal."""
    return frozenset().union(*explainer.proposed) & non_edges(graph)


def fixed_factual(monkeypatch, nodes=MOTIF):
    """The factual subgraph is what these nodes induce; the list holds the graphs it was sought in."""
    seen = []

    class Fixed:
        def explain(self, oracle, graph, label, *, seed=0):
            seen.append(graph)
            inside = [edge for edge in sorted(edge_pairs(graph)) if set(edge) <= set(nodes)]
            return FactualSubgraph(tuple(nodes), tuple(inside), 1.0)

    for module in (explainer_module, edgeflip_module):
        monkeypatch.setattr(module, "make_factual", lambda name, settings: Fixed())
    return seen


def has_needless_edits(oracle, answer, entry):
    """Whether some of the edits alone flip as well, asked on really edited graphs."""
    edges = sorted(entry.edits.edges)
    for count in range(1, len(edges)):
        for chosen in itertools.combinations(edges, count):
            some = type(entry.edits)(
                entry.edits.added & set(chosen), entry.edits.removed & set(chosen)
            )
            if int(oracle.predict_proba([some.apply(answer.graph)]).argmax()) != answer.label:
                return True
    return False


def same_answers(one, other):
    """Whether two answers hold the same counterfactuals, digit by digit."""
    return one.to_dict()["counterfactuals"] == other.to_dict()["counterfactuals"]


# For EdgeFlip: graphs of nine nodes, and a near search that reaches little.


@cache
def nine_nodes():
    return example_graphs(12, seed=3)


NARROW = EdgeFlipConfig(
    one_hot=False,
    max_nodes=3,
    remove=SizeConfig(max=1),
    add=SizeConfig(max=1),
    threshold=0.99,
    seconds=None,
    predictor=PredictorConfig(encoder_layers=1, encoder_width=4, decoder=(4,), class_width=2),
    training=LinkTrainingConfig(epochs=1, batch_size=8, learning_rate=0.01),
)


class Edges:
    """Class 1 when a graph has at least so many more, or fewer, edges than at first."""

    num_classes = 2
    class_names = ("as it was", "changed")

    def __init__(self, graph, needed, *, where=None):
        self.before, self.needed, self.where = edge_pairs(graph), needed, where

    def predict_proba(self, graphs):
        return torch.stack([self._answer(edge_pairs(graph)) for graph in graphs])

    def _answer(self, edges):
        changed = edges ^ self.before
        if self.where is not None:
            changed &= self.where
        chance = min(1.0, 0.5 * len(changed) / (self.needed - 0.5))
        return torch.tensor([1 - chance, chance])


def narrow(oracle, *, ranking=None, **settings):
    """EdgeFlip with a near search that reaches little, fitted on graphs."""
    made = EdgeFlip(dataclasses.replace(NARROW, **settings), ranking=ranking)
    return made.fit(nine_nodes()[1:], oracle)
