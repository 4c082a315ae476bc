"""DR-CFGNN from end to end: Algorithm 1, its variants, its limits and its odd inputs."""

import dataclasses
import itertools
import time
from functools import cache
from typing import ClassVar

import pytest
import torch

from conftest import assert_sentence, make_graph, path_graph, random_graph
from edgeflip import Budget, Constraints, EditSet, GCNClassifier, ModelOracle, load_preset
from edgeflip.core.graphs import PairSpace, edge_pairs, non_edges
from edgeflip.errors import ConfigError, ConstraintError, GraphError, NotFittedError
from edgeflip.explainers.dr_cfgnn import DRCFGNN, DRCFGNNConfig
from edgeflip.explainers.dr_cfgnn import explainer as explainer_module
from edgeflip.explainers.dr_cfgnn.denoise import DenoiseConfig
from edgeflip.links import predictor as link_predictor_module
from edgeflip.links.predictor import LinkPredictor, PredictorConfig
from edgeflip.links.training import LinkTrainer, LinkTrainingConfig
from edgeflip.pools.sampling import SizeConfig
from edgeflip.search.ranking import SizeWeightedFidelity
from edgeflip.search.result import FactualSubgraph
from edgeflip.support.seeding import seeded
from edgeflip.testing import example_graphs, example_oracle

DATASETS = ("ba_2motifs", "ba_2motifs_3class", "ba_3motifs", "ba_4motifs")
MOTIF = (0, 1, 2, 3)
MOTIF_PAIRS = tuple(itertools.combinations(MOTIF, 2))
RING = frozenset({(0, 1), (1, 2), (2, 3), (0, 3)})
# A ring of four that is the motif, and a tail that means nothing.
TAIL = frozenset({(3, 4), (4, 5), (5, 6), (6, 7)})


class MotifEdges:
    """Classes by the edges among nodes 0 to 3: 0 for at most three, 1 for four or five, 2 for all."""

    num_classes = 3
    pause = 0.0

    def __init__(self):
        self.asked = 0

    def predict_proba(self, graphs):
        return self.answer([len(edge_pairs(graph) & set(MOTIF_PAIRS)) for graph in graphs])

    def predict_edits(self, space, toggles, *, fill=None):
        """The same for edits, by sums: what is found so is checked on edited graphs anyway."""
        change = torch.zeros(space.num_pairs + 1, dtype=torch.long)
        inside = space.ids_of(pair for pair in MOTIF_PAIRS if pair[1] < space.num_nodes)
        change[inside] = torch.where(space.is_edge(inside), -1, 1)
        before = len(edge_pairs(space.graph) & set(MOTIF_PAIRS))
        return self.answer((before + change[toggles].sum(dim=1)).tolist())

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

    def predict_edits(self, space, toggles, *, fill=None):
        return self.predict_proba(toggles)


class Told:
    """A link predictor that says what it was told, and keeps what it was asked."""

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


CONFIG = DRCFGNNConfig(
    search="paper",
    max_nodes=5,
    add=SizeConfig(alpha=0.1, beta=1.0, max=2),
    threshold=0.0,
    iterations=3000,
    stop_early=False,
    minimal=False,
    seconds=None,
    predictor=PredictorConfig(encoder_layers=2, encoder_width=8, decoder=(8,), class_width=4),
    training=LinkTrainingConfig(epochs=2, batch_size=8, learning_rate=0.01),
)


@cache
def learnt(one_hot=True):
    config = dataclasses.replace(CONFIG, one_hot=one_hot)
    return DRCFGNN(config).fit(train_graphs(), MotifEdges())


def make_explainer(*, predictor=None, oracle=None, kind=DRCFGNN, **settings):
    """An explainer that shares what one training learnt."""
    fitted = learnt(settings.get("one_hot", True))
    made = kind(dataclasses.replace(fitted.config, **settings))
    vars(made).update({key: value for key, value in vars(fitted).items() if key.endswith("_")})
    made.predictor_ = predictor or fitted.predictor_
    made.oracle_ = oracle or MotifEdges()
    return made


class Recorded(DRCFGNN):
    """Keeps every candidate it proposed, as sets of node pairs."""

    def _propose(self, problem):
        self.proposed = []
        pairs = problem.space.edges_of(torch.arange(problem.space.num_pairs))
        for block in super()._propose(problem):
            for row in block.toggles.tolist():
                ids = [entry for entry in row if entry >= 0]
                assert len(set(ids)) == len(ids)
                self.proposed.append(frozenset(pairs[entry] for entry in ids))
            yield block


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

    monkeypatch.setattr(explainer_module, "make_factual", lambda name, settings: Fixed())
    return seen


# The four variants.


@pytest.mark.parametrize("denoise", [False, True])
@pytest.mark.parametrize("one_hot", [False, True])
def test_the_four_variants_find_what_flips(denoise, one_hot):
    explainer = make_explainer(denoise=denoise, one_hot=one_hot)
    graph = ring_and_tail()
    answer = explainer.explain(graph)
    assert explainer.config.variant == f"{'-+'[denoise]}DeN {'-+'[one_hot]}OH"
    assert answer.label == 1
    assert answer.found
    # One motif edge less is class 0; two more are class 2.
    assert answer.best.size == 1
    assert answer.best.edits.removed < RING
    assert answer.best.label == 0
    for entry in answer.counterfactuals:
        assert explainer.oracle_.predict_proba([answer.edited_graph(entry)]).argmax() != 1
    assert ("denoised_edges" in answer.trace.notes) == denoise
    assert (explainer.predictor_.num_classes > 0) == one_hot


def test_with_one_hot_every_seen_class_but_the_present_one_is_asked_for():
    explainer = make_explainer(predictor=Told(), order="drawn", denoise=False)
    explainer.classes_ = torch.ones(3)
    explainer.explain(ring_and_tail())
    wanted = [classes[0].argmax().item() for _, classes in explainer.predictor_.asked]
    assert wanted == [0, 2]


def test_without_one_hot_the_predictor_is_asked_once_and_without_a_class():
    explainer = make_explainer(predictor=Told(), one_hot=False, order="drawn", denoise=False)
    answer = explainer.explain(ring_and_tail(), target=2)
    assert [classes for _, classes in explainer.predictor_.asked] == [None]
    assert "additions" in answer.trace.notes


@pytest.mark.parametrize("one_hot", [False, True])
@pytest.mark.parametrize("target", [0, 2])
def test_the_target_is_respected(one_hot, target):
    explainer = make_explainer(one_hot=one_hot)
    answer = explainer.explain(ring_and_tail(), target=target, keep=200)
    assert {entry.label for entry in answer.counterfactuals} == {target}
    assert answer.best.edits.added == ({(0, 2), (1, 3)} if target == 2 else set())


def test_the_predictor_is_conditioned_on_the_target_for_every_removal_set(monkeypatch):
    fixed_factual(monkeypatch)
    explainer = make_explainer(predictor=Told(), order="drawn", denoise=False)
    explainer.explain(ring_and_tail(), target=0)
    ((adjacency, classes),) = explainer.predictor_.asked
    # The empty set, four single edges and six pairs of them.
    assert len(adjacency) == 1 + 4 + 6
    assert torch.equal(classes, torch.tensor([1.0, 0.0, 0.0]).expand(11, 3))


def test_a_class_never_seen_in_training_is_sought_without_conditioning():
    explainer = make_explainer(predictor=Told(), order="drawn", denoise=False)
    assert explainer.classes_.tolist() == [1, 1, 0]
    answer = explainer.explain(ring_and_tail(), target=2)
    assert [classes for _, classes in explainer.predictor_.asked] == [None]
    assert answer.best.label == 2


# Algorithm 1.


def test_the_edges_that_may_go_are_those_of_the_factual_subgraph(monkeypatch):
    fixed_factual(monkeypatch, nodes=(0, 1, 2))
    explainer = make_explainer(kind=Recorded, denoise=False)
    graph = ring_and_tail()
    answer = explainer.explain(graph)
    removed = {edits & edge_pairs(graph) for edits in explainer.proposed}
    assert removed == {
        frozenset(),
        frozenset({(0, 1)}),
        frozenset({(1, 2)}),
        frozenset({(0, 1), (1, 2)}),
    }
    assert answer.factual.nodes == (0, 1, 2)
    assert answer.trace.notes["factual_nodes"] == 3


def test_each_removal_set_is_scored_on_the_graph_without_it(monkeypatch):
    fixed_factual(monkeypatch)
    explainer = make_explainer(predictor=Told(), order="drawn", denoise=False)
    graph = ring_and_tail()
    explainer.explain(graph)
    scored = {
        edge_pairs(graph) - {tuple(pair) for pair in matrix.triu().nonzero().tolist()}
        for matrix in explainer.predictor_.asked[0][0]
    }
    wanted = [frozenset(gone) for r in range(3) for gone in itertools.combinations(RING, r)]
    assert scored == set(wanted)


def test_additions_are_likely_non_edges_of_the_input_by_default():
    explainer = make_explainer(kind=Recorded)
    graph = ring_and_tail()
    explainer.explain(graph)
    # Rows hold each pair once, so what is removed is not added again within a row.
    assert len(explainer.proposed) > 1000
    edges, missing = edge_pairs(graph), non_edges(graph)
    assert max(len(edits & edges) for edits in explainer.proposed) == 2
    assert max(len(edits & missing) for edits in explainer.proposed) == 2


def test_an_edge_just_removed_may_come_back_only_where_asked(monkeypatch):
    fixed_factual(monkeypatch)
    rows = []

    class Raw(DRCFGNN):
        def _propose(self, problem):
            for block in super()._propose(problem):
                rows.extend(
                    [entry for entry in row if entry >= 0] for row in block.toggles.tolist()
                )
                yield block

    likely = {(0, 1): 0.9, (0, 2): 0.8}
    told = Told(likely, rest=0.1)
    options = {"predictor": told, "denoise": False, "one_hot": False, "threshold": 0.5}
    graph = ring_and_tail()
    back = PairSpace.of(graph).ids_of([(0, 1)]).item()
    answer = make_explainer(kind=Raw, may_undo=True, order="drawn", **options).explain(graph)
    twice = [row for row in rows if row.count(back) == 2]
    # Gone alone or with one of three others, then back alone or with (0, 2).
    assert len(twice) == (1 + 3) * 2
    assert all(row.count(entry) == 1 for row in rows for entry in row if entry != back)
    assert all(
        not set(entry.edits.added) & set(entry.edits.removed) for entry in answer.counterfactuals
    )
    rows.clear()
    make_explainer(kind=Raw, order="drawn", **options).explain(graph)
    assert rows
    assert all(row.count(back) <= 1 for row in rows)


def test_only_additions_above_the_threshold_are_tried():
    told = Told({(0, 2): 0.9, (1, 3): 0.7, (0, 7): 0.6, (0, 1): 0.99}, rest=0.6)
    explainer = make_explainer(kind=Recorded, predictor=told, denoise=False, threshold=0.6)
    graph = ring_and_tail()
    answer = explainer.explain(graph, target=0)
    added = added_edges(explainer, graph)
    assert added == {(0, 2), (1, 3)}
    assert answer.trace.notes["additions_to_0"] == 2


def test_of_too_many_candidates_the_most_likely_are_tried():
    told = Told({(0, 2): 0.9, (1, 3): 0.8, (0, 7): 0.7, (1, 7): 0.65}, rest=0.1)
    explainer = make_explainer(kind=Recorded, predictor=told, denoise=False, max_candidates=3)
    graph = ring_and_tail()
    explainer.explain(graph)
    added = added_edges(explainer, graph)
    assert added == {(0, 2), (1, 3), (0, 7)}


def test_a_small_space_is_tried_whole_and_each_choice_once(monkeypatch):
    fixed_factual(monkeypatch)
    told = Told({(0, 2): 0.9, (1, 3): 0.8}, rest=0.1)
    explainer = make_explainer(
        kind=Recorded, predictor=told, denoise=False, one_hot=False, threshold=0.5, minimal=False
    )
    answer = explainer.explain(ring_and_tail())
    assert len(explainer.proposed) == len(set(explainer.proposed)) == (1 + 4 + 6) * (1 + 2 + 1) - 1
    assert answer.trace.stopped_by == "exhausted"
    assert answer.trace.proposals == len(explainer.proposed)


def test_a_factual_subgraph_that_does_not_stand_alone_keeps_its_edges_when_asked(monkeypatch):
    fixed_factual(monkeypatch, nodes=(3, 4, 5, 6))
    for faithful in (False, True):
        explainer = make_explainer(kind=Recorded, denoise=False, require_faithful=faithful)
        graph = ring_and_tail()
        answer = explainer.explain(graph)
        removes = any(edits & edge_pairs(graph) for edits in explainer.proposed)
        assert removes == (not faithful)
        assert answer.trace.notes.get("unfaithful_factual", False) == faithful


def test_a_factual_subgraph_that_stands_alone_may_lose_edges(monkeypatch):
    fixed_factual(monkeypatch)
    explainer = make_explainer(kind=Recorded, denoise=False, require_faithful=True)
    graph = ring_and_tail()
    answer = explainer.explain(graph)
    assert any(edits & edge_pairs(graph) for edits in explainer.proposed)
    assert "unfaithful_factual" not in answer.trace.notes


def test_the_size_of_the_factual_subgraph_is_half_the_mean_graph_or_as_set():
    plain = DRCFGNN(dataclasses.replace(CONFIG, max_nodes=None))
    made = [random_graph(size, seed=3, density=0.6) for size in (12, 20, 22)]
    assert plain.fit(made, MotifEdges()).max_nodes_ == 9
    answer = plain.explain(random_graph(20, seed=4))
    assert len(answer.factual.nodes) <= 9
    assert learnt().max_nodes_ == 5


@pytest.mark.parametrize("factual", ["occlusion", "subgraphx"])
def test_either_factual_explainer_serves(factual):
    settings = {"rollouts": 3, "samples": 10, "tree_samples": 4} if factual == "subgraphx" else {}
    explainer = make_explainer(factual=factual, factual_settings=settings)
    answer = explainer.explain(ring_and_tail())
    assert answer.found
    assert 1 <= len(answer.factual.nodes) <= 5


# Denoising within the method.


NOISE = {(5, 6): 1e-5, (6, 7): 2e-5}


def test_denoised_edges_are_counted_and_left_out_for_the_factual_explainer_only(monkeypatch):
    seen = fixed_factual(monkeypatch, nodes=range(8))
    explainer = make_explainer(
        kind=Recorded,
        predictor=Told(unlikely=NOISE, rest=0.6),
        denoising=DenoiseConfig(share=0.001),
    )
    graph = ring_and_tail()
    answer = explainer.explain(graph, keep=200)
    assert answer.trace.notes["denoised_edges"] == 2
    assert edge_pairs(seen[0]) == edge_pairs(graph) - set(NOISE)
    assert edge_pairs(graph) == RING | TAIL
    # Left out, they are neither removed nor added: edits are those of the input graph.
    assert all(not edits & set(NOISE) for edits in explainer.proposed)
    for entry in answer.counterfactuals:
        after = edge_pairs(answer.edited_graph(entry))
        assert set(NOISE) <= after
        assert len(after ^ edge_pairs(graph)) == entry.size


def test_without_denoising_the_factual_explainer_sees_the_whole_graph(monkeypatch):
    seen = fixed_factual(monkeypatch)
    told = Told(unlikely=NOISE)
    make_explainer(predictor=told, denoise=False).explain(ring_and_tail())
    assert edge_pairs(seen[0]) == RING | TAIL


@pytest.mark.parametrize(("stop_at_first", "gone"), [(False, {(5, 6), (6, 7)}), (True, {(5, 6)})])
def test_an_edge_whose_removal_flips_stays_and_ends_the_step_only_as_published(
    monkeypatch, stop_at_first, gone
):
    seen = fixed_factual(monkeypatch)
    explainer = make_explainer(
        predictor=Told(unlikely={(5, 6): 1e-6, (0, 1): 2e-6, (6, 7): 3e-6}, rest=0.6),
        denoising=DenoiseConfig(share=0.001, stop_at_first=stop_at_first),
    )
    answer = explainer.explain(ring_and_tail())
    assert edge_pairs(seen[0]) == (RING | TAIL) - gone
    assert answer.trace.notes["denoised_edges"] == len(gone)
    assert answer.trace.stages["denoise"].oracle_calls > 0


@pytest.mark.parametrize("leave_one_out", [True, False])
def test_edges_are_scored_in_their_absence_or_in_place_and_without_a_class(leave_one_out):
    told = Told(rest=0.6)
    explainer = make_explainer(predictor=told, denoising=DenoiseConfig(leave_one_out=leave_one_out))
    graph = ring_and_tail()
    explainer.explain(graph)
    adjacency, classes = told.asked[0]
    assert classes is None
    missing = [
        edge_pairs(graph) - {tuple(pair) for pair in matrix.triu().nonzero().tolist()}
        for matrix in adjacency
    ]
    wanted = [{edge} for edge in sorted(edge_pairs(graph))] if leave_one_out else [set()]
    assert [set(entry) for entry in missing] == wanted


# Constraints.


@pytest.mark.parametrize("denoise", [False, True])
def test_constraints_are_kept(denoise):
    explainer = make_explainer(denoise=denoise)
    graph = ring_and_tail()
    frozen, forbidden = {(0, 1), (1, 2), (4, 5)}, {(0, 2)}
    free = explainer.explain(graph, keep=300)
    assert any(entry.edits.removed & frozen for entry in free.counterfactuals)
    assert any(entry.edits.added & forbidden for entry in free.counterfactuals)
    limits = Constraints(frozen_edges=frozen, forbidden_pairs=forbidden, frozen_nodes={7})
    answer = explainer.explain(graph, constraints=limits, keep=200)
    assert answer.found
    for entry in answer.counterfactuals:
        assert not entry.edits.removed & frozen
        assert not entry.edits.added & forbidden
        assert not any(7 in edge for edge in entry.edits.edges)


def test_additions_or_removals_can_be_ruled_out():
    explainer, graph = make_explainer(), ring_and_tail()
    only = explainer.explain(graph, constraints=Constraints(allow_additions=False), keep=100)
    assert only.found
    assert all(not entry.edits.added for entry in only.counterfactuals)
    only = explainer.explain(graph, constraints=Constraints(allow_removals=False), keep=100)
    assert only.found
    assert all(not entry.edits.removed for entry in only.counterfactuals)
    assert only.best.label == 2


def test_limits_on_the_number_of_edits_hold():
    explainer, graph = make_explainer(), ring_and_tail()
    limits = Constraints(max_edits=2, max_removed=1, max_added=1)
    answer = explainer.explain(graph, constraints=limits, keep=200)
    assert answer.found
    for entry in answer.counterfactuals:
        assert entry.size <= 2
        assert len(entry.edits.added) <= 1
        assert len(entry.edits.removed) <= 1


def test_frozen_edges_of_the_whole_factual_subgraph_leave_additions():
    explainer = make_explainer(kind=Recorded)
    graph = ring_and_tail()
    answer = explainer.explain(graph, constraints=Constraints(frozen_edges=RING | TAIL), target=2)
    assert answer.best.edits.added == {(0, 2), (1, 3)}
    assert all(not edits & edge_pairs(graph) for edits in explainer.proposed)


# Odd graphs.


def test_a_complete_graph_is_answered_by_removals():
    complete = make_graph(5, itertools.combinations(range(5), 2))
    answer = make_explainer().explain(complete)
    assert answer.label == 2
    assert answer.best.edits.removed < set(MOTIF_PAIRS)
    assert not answer.best.edits.added
    with pytest.raises(ConstraintError):
        make_explainer().explain(complete, constraints=Constraints(allow_removals=False))


def test_a_graph_without_edges_is_answered_by_additions():
    empty = make_graph(4, [])
    explainer = make_explainer(add=SizeConfig(alpha=0.001, beta=3.0, max=4))
    answer = explainer.explain(empty)
    assert answer.label == 0
    assert answer.best.size == 4
    assert answer.best.edits.added <= set(MOTIF_PAIRS)


def test_a_graph_of_one_edge_and_of_two_nodes_gets_an_answer():
    for graph in (path_graph(2), make_graph(2, []), path_graph(3)):
        answer = make_explainer().explain(graph)
        assert not answer.found
        assert answer.trace.status == "exhausted"


def test_isolated_nodes_and_two_components_are_no_obstacle():
    apart = make_graph(11, RING | {(5, 6), (6, 7), (5, 7)}, loops=(4,))
    joined = make_explainer(kind=Recorded, max_candidates=200, one_hot=False)
    answer = joined.explain(apart)
    assert answer.best.size == 1
    assert answer.best.edits.removed < RING
    added = added_edges(joined, apart)
    assert (0, 5) in added
    assert any(10 in edge for edge in added)


def test_a_huge_space_is_searched_until_the_iterations_are_used_up():
    graph = random_graph(50, seed=1, density=0.1)
    wide = SizeConfig(alpha=0.001, beta=4.0, max=7)
    explainer = make_explainer(
        add=wide, remove=wide, max_candidates=1500, iterations=3000, max_nodes=12, oracle=Stubborn()
    )
    answer = explainer.explain(graph)
    assert answer.trace.proposals == 3000
    assert answer.trace.status == "out_of_calls"


# How a search ends.


def test_a_target_out_of_reach_gives_an_empty_answer_that_says_why():
    explainer = make_explainer(oracle=Stubborn(), iterations=100_000)
    answer = explainer.explain(ring_and_tail(), target=1)
    assert not answer.found
    assert answer.best is None
    assert answer.trace.status == answer.trace.stopped_by == "exhausted"
    assert "factual subgraph" in answer.trace.message
    assert answer.trace.proposals > 100


@pytest.mark.parametrize("iterations", [1, 100, 200])
def test_the_iterations_end_the_search(iterations):
    explainer = make_explainer(kind=Recorded, iterations=iterations, oracle=Stubborn())
    answer = explainer.explain(ring_and_tail())
    assert answer.trace.stopped_by == answer.trace.status == "out_of_calls"
    assert answer.trace.proposals == len(explainer.proposed) == iterations
    assert "`iterations`" in answer.trace.message
    assert "Budget" not in answer.trace.message


def test_a_space_of_just_as_many_choices_as_iterations_is_exhausted():
    whole = make_explainer(kind=Recorded, iterations=10**6, oracle=Stubborn(), one_hot=False)
    whole.explain(ring_and_tail())
    count = len(whole.proposed)
    for iterations, ending in ((count, "exhausted"), (count - 1, "out_of_calls")):
        explainer = make_explainer(iterations=iterations, oracle=Stubborn(), one_hot=False)
        answer = explainer.explain(ring_and_tail())
        assert answer.trace.proposals == iterations
        assert answer.trace.stopped_by == ending


@pytest.mark.parametrize("one_hot", [True, False])
def test_small_candidates_come_first_unless_sizes_are_drawn(one_hot):
    tried = {}
    for order in ("smallest", "drawn"):
        settings = {"order": order, "one_hot": one_hot, "iterations": 10**6}
        explainer = make_explainer(kind=Recorded, oracle=Stubborn(), **settings)
        explainer.explain(ring_and_tail())
        tried[order] = explainer.proposed
    sizes = [len(choice) for choice in tried["smallest"]]
    assert sizes == sorted(sizes)
    assert [len(choice) for choice in tried["drawn"]] != sizes
    assert set(tried["drawn"]) == set(tried["smallest"])


def test_the_search_ends_when_nothing_larger_can_score_higher():
    whole = make_explainer(iterations=10**6).explain(ring_and_tail())
    early = make_explainer(iterations=10**6, stop_early=True).explain(ring_and_tail())
    assert whole.trace.stopped_by == "exhausted"
    assert early.trace.stopped_by == "best_possible"
    assert early.best == dataclasses.replace(whole.best, found_at=early.best.found_at)
    assert early.trace.proposals < whole.trace.proposals / 10
    # A ranking that likes large edits has no such end.
    greedy = make_explainer(iterations=10**6, stop_early=True)
    greedy.ranking = lambda fidelity, size: fidelity * size
    assert greedy.explain(ring_and_tail()).trace.stopped_by == "exhausted"
    assert greedy.explain(ring_and_tail()).best.size == 4


class Additions:
    """Adding edge X flips a little, X and Y fully, and so do A, B and C together; nothing else does."""

    num_classes = 2
    chances: ClassVar = {frozenset("X"): 0.49, frozenset("XY"): 0.0, frozenset("ABC"): 0.0}
    names: ClassVar = {(0, 2): "X", (1, 3): "Y", (0, 4): "A", (1, 5): "B", (2, 6): "C"}

    def predict_proba(self, graphs):
        chosen = [self.chances.get(self.added(graph), 1.0) for graph in graphs]
        return torch.tensor([[chance, 1 - chance] for chance in chosen])

    def added(self, graph):
        return frozenset(self.names[pair] for pair in edge_pairs(graph) & set(self.names))


def test_an_early_end_reckons_with_answers_that_are_left_out_later():
    settings = {
        "predictor": Told(dict.fromkeys(Additions.names, 0.9)),
        "oracle": Additions(),
        "add": SizeConfig(max=3),
        "one_hot": False,
        "threshold": 0.5,
        "minimal": True,
        "iterations": 10**6,
    }
    answers = [
        make_explainer(stop_early=early, **settings).explain(ring_and_tail())
        for early in (True, False)
    ]
    # X and Y score highest but hold X, which flips alone; A, B and C score higher than X.
    assert {len(answer.best.edits.added) for answer in answers} == {3}


@pytest.mark.parametrize("keep", [1, 5, 20])
def test_answers_are_minimal_however_few_are_kept_and_whatever_the_order(keep):
    oracle = MotifEdges()
    explainer = make_explainer(oracle=oracle, order="drawn", iterations=60, minimal=True)
    answer = explainer.explain(ring_and_tail(), keep=keep)
    assert not has_needless_edits(oracle, answer, answer.best)


def test_removal_sets_are_scored_only_when_single_edits_do_not_suffice(monkeypatch):
    fixed_factual(monkeypatch)
    for target, sets in ((0, [1]), (2, [1, 4])):
        likely = {(0, 2): 0.9, (1, 3): 0.9}
        settings = {"predictor": Told(likely), "threshold": 0.5, "stop_early": True}
        explainer = make_explainer(denoise=False, one_hot=False, max_nodes=4, **settings)
        answer = explainer.explain(ring_and_tail(), target=target)
        assert answer.best.size == target or answer.best.size == 1
        assert [len(adjacency) for adjacency, _ in explainer.predictor_.asked] == sets


def test_candidates_the_constraints_refuse_are_not_drawn():
    explainer = make_explainer(iterations=10**6, oracle=Stubborn())
    for limits in ({"max_edits": 1}, {"max_added": 1}, {"max_removed": 1}, {"max_edits": 2}):
        answer = explainer.explain(ring_and_tail(), constraints=Constraints(**limits))
        assert answer.trace.rejected == 0
        assert answer.trace.proposals > 0


@pytest.mark.serial
def test_the_deadline_ends_the_scoring_of_pairs_too(monkeypatch):
    explainer = make_explainer(one_hot=False)
    monkeypatch.setattr(link_predictor_module, "_PAIR_CELLS", 1)
    real, parts = explainer.predictor_.encode, []

    def slowly(*given):
        parts.append(given)
        time.sleep(0.02)
        return real(*given)

    monkeypatch.setattr(explainer.predictor_, "encode", slowly)
    answer = explainer.explain(ring_and_tail(), budget=Budget(seconds=0.1))
    assert answer.trace.stopped_by == "timeout"
    assert len(parts) < 10


def test_what_was_found_before_the_iterations_ended_is_returned():
    answer = make_explainer(iterations=300).explain(ring_and_tail())
    assert answer.trace.stopped_by == "out_of_calls"
    assert answer.trace.status == "found"


def test_oracle_calls_can_be_limited_as_well():
    oracle = MotifEdges()
    answer = make_explainer(oracle=oracle).explain(ring_and_tail(), budget=Budget(oracle_calls=60))
    assert answer.trace.stopped_by == "out_of_calls"
    spent = sum(
        stage.oracle_calls
        for name, stage in answer.trace.stages.items()
        if name in ("denoise", "deconstruct", "oracle")
    )
    assert spent == 60


@pytest.mark.serial
def test_a_deadline_ends_the_search_at_any_stage():
    answer = make_explainer().explain(ring_and_tail(), budget=Budget(seconds=1e-9))
    assert answer.trace.status == "timeout"
    slow = MotifEdges()
    slow.pause = 0.02
    explainer = make_explainer(oracle=slow, seconds=0.3, threshold=0.0, iterations=10**6)
    wide = make_graph(40, RING | {(node, node + 1) for node in range(3, 39)})
    answer = explainer.explain(wide)
    assert answer.trace.stopped_by == "timeout"
    assert answer.provenance.budget == {"oracle_calls": None, "seconds": 0.3}


# What is kept.


def has_needless_edits(oracle, answer, entry):
    """Whether some of the edits alone flip as well, asked on really edited graphs."""
    edges = sorted(entry.edits.edges)
    for count in range(1, len(edges)):
        for chosen in itertools.combinations(edges, count):
            some = EditSet(entry.edits.added & set(chosen), entry.edits.removed & set(chosen))
            if int(oracle.predict_proba([some.apply(answer.graph)]).argmax()) != answer.label:
                return True
    return False


def test_needless_edits_are_left_out_only_when_asked():
    graph = ring_and_tail()
    kept = {}
    for minimal in (False, True):
        explainer = make_explainer(minimal=minimal, one_hot=False, iterations=100_000)
        answer = explainer.explain(graph, keep=40)
        assert answer.trace.stopped_by == "exhausted"
        # The first one found may be wordy: how soon something is found is a result of its own.
        kept[minimal] = [
            has_needless_edits(explainer.oracle_, answer, entry)
            for entry in answer.counterfactuals
            if entry != answer.first
        ]
    assert any(kept[False])
    assert kept[True]
    assert not any(kept[True])


@pytest.mark.parametrize(("profile", "minimal"), [("paper", False), ("cpu", True)])
def test_the_paper_keeps_needless_edits_and_we_do_not(profile, minimal):
    for dataset in (None, *DATASETS):
        assert DRCFGNN.for_dataset(dataset, profile=profile).config.minimal == minimal


def test_the_trace_has_the_stages_with_seconds_and_calls():
    oracle = MotifEdges()
    answer = make_explainer(oracle=oracle).explain(ring_and_tail())
    stages = answer.trace.stages
    assert {"denoise", "deconstruct", "reconstruct", "oracle"} <= stages.keys()
    order = [name for name in stages if name in ("denoise", "deconstruct", "reconstruct", "oracle")]
    assert order == ["denoise", "deconstruct", "reconstruct", "oracle"]
    for name in order:
        assert stages[name].seconds > 0
    # Occlusion asks about the graph and about each of its eight edges.
    assert stages["deconstruct"].oracle_calls == 9
    assert stages["reconstruct"].oracle_calls == 0
    assert stages["oracle"].oracle_calls > 100
    assert answer.trace.oracle_calls == oracle.asked


def same_answers(one, other):
    return one.to_dict()["counterfactuals"] == other.to_dict()["counterfactuals"]


@cache
def example_explainer(seed=5, **settings):
    config = dataclasses.replace(CONFIG, threshold=0.3, **settings)
    return DRCFGNN(config).fit(example_graphs(12, seed=1), example_oracle(), seed=seed)


@pytest.mark.parametrize("one_hot", [True, False])
def test_saved_and_loaded_it_gives_the_same_answers(tmp_path, one_hot):
    fitted = example_explainer(one_hot=one_hot)
    fitted.save(tmp_path / "kept")
    loaded = DRCFGNN.load(tmp_path / "kept", example_oracle())
    assert loaded.config == fitted.config
    assert loaded.report_ == fitted.report_
    assert loaded.max_nodes_ == fitted.max_nodes_
    assert not loaded.predictor_.training
    for graph in example_graphs(2, seed=2):
        one, other = fitted.explain(graph, seed=3), loaded.explain(graph, seed=3)
        assert one.found
        assert same_answers(one, other)


def test_the_classes_seen_in_training_are_saved(tmp_path):
    loaded = DRCFGNN.load(learnt().save(tmp_path / "kept"), MotifEdges())
    assert loaded.classes_.tolist() == [1, 1, 0]
    assert "additions" in loaded.explain(ring_and_tail(), target=2).trace.notes


def test_another_oracle_is_refused_at_loading(tmp_path):
    example_explainer().save(tmp_path / "kept")
    with seeded(9):
        other = ModelOracle(GCNClassifier(4, 2, layers=(8, 8)), num_classes=2)
    with pytest.raises(ConfigError) as error:
        DRCFGNN.load(tmp_path / "kept", other)
    assert_sentence(error, "oracle")


def test_a_ranking_of_ones_own_must_be_given_again_at_loading(tmp_path, monkeypatch):
    ranking = SizeWeightedFidelity(gamma=0.1)
    fitted = example_explainer()
    monkeypatch.setattr(fitted, "ranking", ranking)
    fitted.save(tmp_path / "kept")
    with pytest.raises(ConfigError) as error:
        DRCFGNN.load(tmp_path / "kept", example_oracle())
    assert_sentence(error, "gamma=0.1")
    assert DRCFGNN.load(tmp_path / "kept", example_oracle(), ranking=ranking).ranking == ranking


def test_graphs_with_features_are_told_from_graphs_without():
    fitted = DRCFGNN(CONFIG).fit(train_graphs(), MotifEdges())
    bare = ring_and_tail()
    bare.x = None
    with pytest.raises(GraphError) as error:
        fitted.explain(bare)
    assert_sentence(error, "features")


class Listing(MotifEdges):
    """Answers with plain lists."""

    def predict_proba(self, graphs):
        return super().predict_proba(graphs).tolist()


def test_an_oracle_may_answer_with_lists():
    graphs = train_graphs()
    for graph in graphs:
        del graph.y
    answer = DRCFGNN(CONFIG).fit(graphs, Listing()).explain(ring_and_tail())
    assert answer.found


def test_graphs_of_differing_width_are_refused_at_fitting():
    graphs = [*train_graphs(3), random_graph(8, seed=3, features=5)]
    with pytest.raises(GraphError) as error:
        DRCFGNN(CONFIG).fit(graphs, MotifEdges())
    assert_sentence(error, "graph 3")


def test_the_same_seed_learns_and_answers_the_same():
    one = example_explainer()
    same = DRCFGNN(one.config).fit(example_graphs(12, seed=1), example_oracle(), seed=5)
    other = DRCFGNN(one.config).fit(example_graphs(12, seed=1), example_oracle(), seed=6)
    weights = [entry.predictor_.state_dict() for entry in (one, same, other)]
    assert all(torch.equal(value, weights[1][key]) for key, value in weights[0].items())
    assert not torch.equal(weights[0]["first.weight"], weights[2]["first.weight"])
    graph = example_graphs(1, seed=2)[0]
    assert same_answers(one.explain(graph, seed=1), same.explain(graph, seed=1))


def test_ctrl_c_while_fitting_leaves_a_usable_explainer(monkeypatch):
    real = LinkTrainer._epoch

    def interrupted(self, epoch):
        if epoch == 2:
            raise KeyboardInterrupt
        real(self, epoch)

    monkeypatch.setattr(LinkTrainer, "_epoch", interrupted)
    training = dataclasses.replace(CONFIG.training, epochs=9)
    explainer = DRCFGNN(dataclasses.replace(CONFIG, training=training))
    with pytest.raises(KeyboardInterrupt):
        explainer.fit(train_graphs(), MotifEdges())
    assert explainer.report_.stopped == "interrupted"
    assert explainer.report_.epochs == 2
    assert not explainer.predictor_.training
    assert explainer.explain(ring_and_tail()).found


def test_a_failed_second_fit_forgets_the_first(monkeypatch):
    explainer = DRCFGNN(CONFIG).fit(train_graphs(), MotifEdges())
    monkeypatch.setattr(LinkTrainer, "run", lambda self, **options: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        explainer.fit(train_graphs(), MotifEdges())
    with pytest.raises(NotFittedError):
        explainer.explain(ring_and_tail())


def test_labels_come_from_the_graphs_or_else_from_the_oracle():
    graphs = train_graphs()
    assert learnt().classes_.tolist() == [1, 1, 0]
    predicted = set(MotifEdges().predict_proba(graphs).argmax(dim=1).tolist())
    for graph in graphs:
        del graph.y
    fitted = DRCFGNN(CONFIG).fit(graphs, MotifEdges())
    assert {label for label in range(3) if fitted.classes_[label]} == predicted


def test_graphs_without_features_are_learnt_from_and_explained():
    graphs = train_graphs()
    for graph in graphs:
        del graph.x
        graph.num_nodes = 8
    fitted = DRCFGNN(CONFIG).fit(graphs, MotifEdges())
    assert fitted.predictor_.num_features == 1
    assert fitted.explain(ring_and_tail(features=0)).found


def test_explaining_changes_neither_graph_nor_predictor():
    explainer = make_explainer()
    graph = ring_and_tail(loops=(2,))
    before = {key: value.clone() for key, value in explainer.predictor_.state_dict().items()}
    edges, x = graph.edge_index.clone(), graph.x.clone()
    explainer.explain(graph)
    assert torch.equal(graph.edge_index, edges)
    assert torch.equal(graph.x, x)
    after = explainer.predictor_.state_dict()
    assert all(torch.equal(value, after[key]) for key, value in before.items())


def test_self_loops_are_no_edges_to_the_predictor():
    told = Told(rest=0.6)
    make_explainer(predictor=told).explain(ring_and_tail(loops=(0, 4)))
    assert all(float(matrix.diagonal().sum()) == 0 for matrix in told.asked[0][0])


# Settings.


@pytest.mark.parametrize(
    "wrong",
    [
        {"threshold": 1.5},
        {"remove": SizeConfig(max=0), "add": SizeConfig(max=0)},
        {"iterations": 0},
        {"max_removal_sets": 0},
        {"max_candidates": 0},
        {"max_nodes": 0},
    ],
)
def test_settings_that_leave_nothing_to_try_are_refused(wrong):
    with pytest.raises(ConfigError) as error:
        DRCFGNNConfig(**wrong)
    assert_sentence(error)


# Of the paper's table of settings: N', K, alpha_add, beta_add, tau.
PUBLISHED = {
    "ba_2motifs": (6, 2, 0.5, 1, 0.9),
    "ba_2motifs_3class": (8, 2, 0.5, 1, 0.8),
    "ba_3motifs": (6, 5, 0.01, 3, 0.9),
    "ba_4motifs": (6, 5, 0.01, 3, 0.9),
}


@pytest.mark.parametrize("dataset", DATASETS)
def test_the_paper_profile_is_the_published_table(dataset):
    config = DRCFGNN.for_dataset(dataset, profile="paper").config
    add = config.add
    assert (config.max_nodes, add.max, add.alpha, add.beta, config.threshold) == PUBLISHED[dataset]
    assert config.remove == SizeConfig(alpha=0.5, beta=1.0, max=2)
    assert config.factual == "subgraphx"
    shape = config.predictor
    assert (shape.encoder_layers, shape.encoder_width, shape.dropout) == (4, 200, 0.05)
    assert shape.decoder == (4000, 4000, 2000)
    assert not shape.symmetric
    assert not shape.structural
    training = config.training
    assert (training.epochs, training.batch_size, training.disjoint) == (150, 16, 0.3)
    assert (training.negative_ratio, training.disjoint_low) == (2.5, 0.3)


@pytest.mark.parametrize("dataset", [None, *DATASETS])
@pytest.mark.parametrize("profile", ["paper", "cpu", "smoke"])
def test_every_profile_can_be_built(dataset, profile):
    config = DRCFGNN.for_dataset(dataset, profile=profile).config
    assert load_preset(dataset, profile).method("dr-cfgnn")
    model = LinkPredictor(3, 2, dataclasses.replace(config.predictor, decoder=(4,)))
    assert model.num_classes == 2
    assert config.variant == ("+DeN +OH" if profile == "paper" else "-DeN +OH")


def test_the_ids_of_the_recorder_are_those_of_the_graph():
    # The recorder above is trusted by many tests: a proposal read back is an edit of the graph.
    explainer = make_explainer(kind=Recorded)
    graph = ring_and_tail()
    answer = explainer.explain(graph, keep=300)
    proposed = set(explainer.proposed)
    assert PairSpace.of(graph).num_pairs == 28
    assert {frozenset(entry.edits.edges) for entry in answer.counterfactuals} <= proposed
    assert len(answer.counterfactuals) == min(300, answer.trace.flips)


def test_needless_edits_are_left_out_of_the_answers(monkeypatch):
    fixed_factual(monkeypatch)
    told = Told({(0, 2): 0.9, (1, 3): 0.8}, rest=0.1)
    settings = {"predictor": told, "denoise": False, "one_hot": False, "threshold": 0.5}
    wordy = make_explainer(minimal=False, **settings).explain(ring_and_tail(), keep=200)
    terse = make_explainer(minimal=True, **settings).explain(ring_and_tail(), keep=200)

    def contains_another(entry, answer):
        edges = set(entry.edits.edges)
        return any(set(other.edits.edges) < edges for other in answer.counterfactuals)

    assert any(contains_another(entry, wordy) for entry in wordy.counterfactuals)
    wanted = [entry for entry in terse.counterfactuals if entry is not terse.first]
    assert wanted
    assert not any(contains_another(entry, terse) for entry in wanted)
    assert not contains_another(terse.best, wordy)
