"""EdgeFlip: rings from the near to the far, when each is opened, and when it is enough."""

from __future__ import annotations

import itertools
import math

import pytest
import torch

from edgeflip import (
    Budget,
    Certificate,
    Constraints,
    EditSet,
    make_explainer,
)
from edgeflip.core import edge_pairs
from edgeflip.explainers.edgeflip import explainer as explainer_module
from edgeflip.explainers.edgeflip import rings as rings_module
from edgeflip.explainers.edgeflip.config import BeamConfig
from edgeflip.pools import SizeConfig
from edgeflip.testing import example_graphs, example_oracle
from link_methods import Edges, narrow, nine_nodes


@pytest.mark.parametrize("needed", [1, 2, 3, 5])
def test_answers_beyond_the_papers_space_are_found_and_say_their_ring(needed):
    graph = nine_nodes()[0]
    oracle = Edges(graph, needed)
    wide = narrow(oracle).explain(graph)
    assert wide.found
    assert wide.best.size == needed
    rings = {entry.ring for entry in wide.counterfactuals if entry.ring is not None}
    assert rings <= {0, 1, 2, 3}
    if needed > 2:
        assert min(rings) >= 2


def test_one_of_several_classes_is_sought_further_in_the_papers_space():
    graph = nine_nodes()[0]

    class Third(Edges):
        """One more class that nothing leads to."""

        num_classes = 3
        class_names = ("as it was", "changed", "never")

        def _answer(self, edges):
            return torch.cat([super()._answer(edges), torch.zeros(1)])

    tried = {}
    for edits in (1, 3):
        made = narrow(Third(graph, 8), add=SizeConfig(max=2), threshold=0.0, ring0_edits=edits)
        for target in (None, 1):
            tried[edits, target] = made.explain(graph, target=target).trace.proposals
    assert tried[1, 1] == tried[3, 1]
    assert tried[1, None] < tried[3, None]


def test_a_good_answer_nearby_ends_the_search():
    graph = nine_nodes()[0]
    oracle = Edges(graph, 1)
    answer = narrow(oracle, max_nodes=6).explain(graph)
    assert answer.trace.stopped_by in ("best_possible", "good_enough")
    assert {entry.ring for entry in answer.counterfactuals} == {0}
    assert answer.trace.proposals < 40


def test_a_sure_single_removal_needs_no_link_predictor():
    graph = nine_nodes()[0]
    factual = narrow(Edges(graph, 1)).explain(graph).factual
    oracle = Edges(graph, 1, where=set(factual.edges))
    quick = narrow(oracle).explain(graph)
    thorough = narrow(oracle, early_tolerance=0.0, ring_tolerance=0.0).explain(graph)
    assert quick.best.size == thorough.best.size == 1
    assert quick.best.ring == 0
    assert "reconstruct" not in quick.trace.stages
    oracle.needed = 2
    wide = narrow(oracle).explain(graph).trace
    assert 2 in {step.ring for step in wide.steps}
    # The beam tries all single edits anyway, so nobody asks which are likely, unless likely sets are wanted.
    assert "reconstruct" not in wide.stages
    assert "reconstruct" in narrow(oracle, ring0_edits=2).explain(graph).trace.stages


class Traffic:
    """Three classes: an edge holds the first one up, and any addition leads to the third."""

    num_classes = 3
    class_names = ("as it was", "without the edge", "with another")

    def __init__(self, graph, held_by, left):
        self.before, self.held_by, self.left = edge_pairs(graph), held_by, left
        self.asked = set()

    def predict_proba(self, graphs):
        return torch.stack([self._answer(edge_pairs(graph)) for graph in graphs])

    def _answer(self, edges):
        self.asked.add(edges)
        if edges - self.before:
            return torch.tensor([0.0, 0.0, 1.0])
        if self.held_by in edges:
            return torch.tensor([0.95, 0.05, 0.0])
        return torch.tensor([self.left, 0.95 - self.left, 0.05])


@pytest.mark.parametrize(("left", "hurts"), [(0.6, True), (0.94, False)])
def test_where_any_class_will_do_additions_are_made_where_it_hurts(left, hurts):
    graph = nine_nodes()[0]
    edges = edge_pairs(graph)
    held_by = sorted(edges)[0]
    oracle = Traffic(graph, held_by, left)
    answer = narrow(oracle, max_nodes=6).explain(graph)
    assert answer.found
    added = {pair for now in oracle.asked for pair in now - edges if len(now - edges) == 1}
    beside = {pair for pair in added if set(pair) & set(held_by)}
    if hurts:
        assert "reconstruct" not in answer.trace.stages
        assert added == beside
    else:
        # No edge matters by itself, so additions are tried everywhere, by the beam.
        assert added > beside


def test_a_wanted_class_may_be_reached_by_additions_anywhere_in_the_factual_subgraph():
    graph = nine_nodes()[0]
    held_by = sorted(edge_pairs(graph))[0]
    oracle = Traffic(graph, held_by, 0.94)
    answer = narrow(oracle, max_nodes=6).explain(graph, target=2)
    assert answer.best.size == 1
    assert "reconstruct" not in answer.trace.stages


def test_single_edits_are_tried_before_wider_rings_when_only_a_pair_flips():
    graph = nine_nodes()[0]
    edges = edge_pairs(graph)

    class Halves(Edges):
        """Two removals flip, not so surely that nothing better can be hoped for."""

        def _answer(self, now):
            flips = len(edges - now) == 2 and not now - edges
            return torch.tensor([0.07, 0.93] if flips else [1.0, 0.0])

    settings = {"remove": SizeConfig(max=2), "max_nodes": 9}
    answer = narrow(Halves(graph, 1), **settings).explain(graph)
    assert answer.best.size == 2
    assert answer.trace.stopped_by == "good_enough"
    assert "reconstruct" not in answer.trace.stages
    assert answer.certificate == Certificate(2, (math.comb(graph.num_nodes, 2),))
    # Without the certificate's single edits a better one might be among them.
    thorough = narrow(Halves(graph, 1), **settings, certify=0).explain(graph)
    assert thorough.trace.stopped_by == "exhausted"


@pytest.mark.parametrize("rules", [(), (lambda graph, edits: True,)])
def test_a_pair_with_a_needless_edit_does_not_end_the_search(rules, monkeypatch):
    graph = nine_nodes()[0]
    edges = edge_pairs(graph)

    class Needless(Edges):
        """One addition flips, and with a removal beside it so surely that nothing could be better."""

        def _answer(self, now):
            if not now - edges:
                return torch.tensor([1.0, 0.0])
            return torch.tensor([0.01, 0.99] if edges - now else [0.45, 0.55])

    def one_pair(search, *_):
        """An addition that is likely only after a removal."""
        removals, additions = search.space.groups["remove"], search.space.groups["add"]
        search.ask(torch.stack([removals[:1], additions[:1]], 1))

    monkeypatch.setattr(explainer_module, "ask_likely", one_pair)
    made = narrow(Needless(graph, 1), certify=0, remove=SizeConfig(max=0), add=SizeConfig(max=1))
    frozen = Constraints(
        rules=rules, forbidden_pairs=frozenset(itertools.combinations(range(4), 2)) - edges
    )
    monkeypatch.setattr(rings_module, "_additions_within", lambda search, _: torch.empty(0).long())
    answer = made.explain(graph, constraints=frozen)
    assert answer.best.size == 1
    assert answer.best.score < 0.6
    assert answer.trace.stopped_by == "exhausted"


def test_a_weak_single_edit_leaves_the_others_to_the_beam():
    graph = nine_nodes()[0]
    edges = edge_pairs(graph)
    factual = narrow(Edges(graph, 1)).explain(graph).factual
    weak = sorted(factual.edges)[0]

    class Weak(Edges):
        def _answer(self, now):
            if len(now - edges) == 1 and not edges - now:
                return torch.tensor([0.0, 1.0])
            return torch.tensor([0.45, 0.55] if weak not in now else [1.0, 0.0])

    frozen = Constraints(
        forbidden_pairs=frozenset(itertools.combinations(sorted(factual.nodes), 2)) - edges
    )
    answer = narrow(Weak(graph, 1), threshold=0.0).explain(graph, constraints=frozen)
    assert answer.best.ring == 2
    assert answer.best.edits.added
    assert answer.trace.stopped_by == "best_possible"


def test_no_tolerance_goes_through_all_rings():
    graph = nine_nodes()[0]
    oracle = example_oracle()
    thorough = narrow(oracle, ring_tolerance=0.0, early_tolerance=0.0)
    quick = narrow(oracle, ring_tolerance=0.99)
    a, b = thorough.explain(graph), quick.explain(graph)
    assert a.trace.stopped_by in ("exhausted", "best_possible")
    assert {step.ring for step in a.trace.steps} >= {step.ring for step in b.trace.steps} - {None}
    if b.found:
        assert a.best.score >= b.best.score


def test_it_is_deterministic_and_leaves_the_graph_alone():
    graph, oracle = nine_nodes()[0], example_oracle()
    before = graph.clone()
    made = narrow(oracle)
    one, two = made.explain(graph, seed=4), made.explain(graph, seed=4)
    assert one.to_rows() == two.to_rows()
    assert torch.equal(graph.edge_index, before.edge_index)


@pytest.mark.parametrize(
    "constraints",
    [
        Constraints(allow_additions=False),
        Constraints(allow_removals=False),
        Constraints(max_edits=2),
        Constraints(max_added=1, max_removed=1),
        Constraints(keep_connected=True),
        Constraints(room=dict.fromkeys(range(6), 0)),
    ],
)
def test_constraints_hold_in_every_ring(constraints):
    graph = nine_nodes()[0]
    oracle = Edges(graph, 2)
    answer = narrow(oracle).explain(graph, constraints=constraints)
    assert answer.found
    for entry in answer.counterfactuals:
        assert constraints.allows(graph, entry.edits)


def test_full_nodes_change_one_edge_for_another():
    graph = nine_nodes()[0]
    edges = edge_pairs(graph)
    u, v = sorted(edges)[0]
    w = next(node for node in range(9) if node != u and (min(u, node), max(u, node)) not in edges)
    new = (min(u, w), max(u, w))

    class Exchange(Edges):
        """One edge in place of another; the new one alone does nothing."""

        def _answer(self, now):
            gone = (u, v) not in now
            log_odds = 4 - gone - 6 * (gone and new in now)
            return torch.tensor([float(log_odds), 0.0]).softmax(dim=0)

    made = narrow(Exchange(graph, 1), certify=0)
    full = Constraints(room=dict.fromkeys(range(9), 0) | {v: 1, w: 1}, keep_connected=True)
    answer = made.explain(graph, constraints=full)
    assert answer.found
    assert answer.best.edits == EditSet(added={new}, removed={(u, v)})


def test_a_pair_is_not_called_the_best_before_all_single_edits_were_tried():
    graph = nine_nodes()[0]
    edges = edge_pairs(graph)
    far = next(pair for pair in itertools.combinations(range(9), 2) if pair not in edges)

    class Pairs(Edges):
        """Two removals do, and so does one addition."""

        def _answer(self, now):
            flips = len(edges - now) >= 2 or far in now
            return torch.tensor([0.0, 1.0] if flips else [0.99, 0.01])

    for certify in (0, 3, 2000):
        settings = {"remove": SizeConfig(max=2), "max_nodes": 9, "certify": certify}
        answer = narrow(Pairs(graph, 1), ranking="smallest", **settings).explain(graph)
        assert set(answer.best.edits.added) == {far}
        assert answer.trace.stopped_by == "best_possible"


def test_many_factual_edges_are_not_tried_in_all_pairs():
    graph = nine_nodes()[0]
    edges = edge_pairs(graph)

    class Counts(Edges):
        def _answer(self, now):
            if len(edges - now) == 2 and not now - edges:
                asked.add(now)
            return torch.tensor([0.9, 0.1])

    for near, every_pair in ((5, False), (3000, True)):
        asked: set[frozenset[tuple[int, int]]] = set()
        beam = BeamConfig(promising=0, width=1, max_edits=2)
        settings = {"remove": SizeConfig(max=2), "max_nodes": 9, "certify": 0, "beam": beam}
        settings["ring0_pairs"] = near
        narrow(Counts(graph, 1), **settings).explain(graph)
        assert (len(asked) == math.comb(len(edges), 2)) is every_pair


def test_an_end_short_of_the_best_is_not_called_the_best():
    graph = nine_nodes()[0]
    edges = edge_pairs(graph)
    far = next(pair for pair in itertools.combinations(range(9), 2) if pair not in edges)

    class Hint(Edges):
        """Any removal nearly does; one addition does more."""

        def _answer(self, now):
            if now - edges == {far} and not edges - now:
                return torch.tensor([0.0, 1.0])
            return torch.tensor([0.08, 0.92] if edges - now else [0.99, 0.01])

    answer = narrow(Hint(graph, 1), max_nodes=9).explain(graph)
    assert answer.trace.stopped_by == "good_enough"
    keen = narrow(Hint(graph, 1), max_nodes=9, ring_tolerance=0.0).explain(graph)
    assert keen.trace.stopped_by == "best_possible"
    assert set(keen.best.edits.added) == {far}


def test_the_factual_subgraph_is_that_of_the_first_ring_whatever_ends_the_search():
    class Never(Edges):
        def _answer(self, edges):
            return torch.tensor([0.9, 0.1])

    graph = nine_nodes()[0]
    made = narrow(Never(graph, 1), max_nodes=3)
    for calls in (20, 40, 60, 100, 400):
        answer = made.explain(graph, budget=Budget(oracle_calls=calls))
        assert len(answer.factual.nodes) <= 3
        assert not answer.found
        proof = answer.certificate
        assert proof is None or proof.below > 1


def test_rules_are_asked_about_every_flip_while_there_is_no_answer():
    graph = example_graphs(1, seed=5, num_nodes=14)[0]
    edges = edge_pairs(graph)
    wanted = frozenset(
        itertools.islice((p for p in itertools.combinations(range(14), 2) if p not in edges), 2)
    )

    class Last(Edges):
        """All pairs of edits flip; the one that is allowed flips least."""

        def _answer(self, now):
            if len(now ^ edges) < 2:
                return torch.tensor([0.99, 0.01])
            return torch.tensor([0.45, 0.55] if wanted <= now else [0.01, 0.99])

    only = Constraints(rules=(lambda graph, edits: set(edits.edges) == wanted,), max_edits=2)
    search = make_explainer("random", overrides={"stop_at_first": False})
    answer = search.fit([], Last(graph, 1)).explain(graph, constraints=only)
    assert answer.found
    assert set(answer.best.edits.edges) == wanted
