"""The search that widens, and the proofs it leaves behind."""

from __future__ import annotations

import dataclasses
import itertools
import json
import math
from functools import cache

import pytest
import torch

from edgeflip import (
    DRCFGNN,
    Budget,
    Certificate,
    Constraints,
    CounterfactualSet,
    EditSet,
    make_explainer,
    verify_certificate,
)
from edgeflip.cli import main
from edgeflip.core.candidates import ProposalBlock
from edgeflip.core.graphs import edge_pairs
from edgeflip.errors import ArtifactError, CertificateError, ConfigError, ConstraintError
from edgeflip.explainers.dr_cfgnn import DRCFGNNConfig, levels
from edgeflip.explainers.dr_cfgnn.widening import WideningConfig, combinations
from edgeflip.links.predictor import PredictorConfig
from edgeflip.links.training import LinkTrainingConfig
from edgeflip.pools.sampling import SizeConfig
from edgeflip.testing import example_graphs, example_oracle

CONFIG = DRCFGNNConfig(
    denoise=False,
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


@cache
def graphs():
    return example_graphs(12, seed=3)


def explainer(oracle, **settings):
    made = DRCFGNN(dataclasses.replace(CONFIG, **settings))
    return made.fit(graphs()[1:], oracle)


def brute_force(oracle, graph, size, constraints=None):
    """Whether any edit set of a size changes the class, by trying all of them one by one."""
    label = int(oracle.predict_proba([graph])[0].argmax())
    nodes = range(graph.num_nodes)
    edges = edge_pairs(graph)
    for pairs in itertools.combinations(itertools.combinations(nodes, 2), size):
        edits = EditSet(added=set(pairs) - edges, removed=set(pairs) & edges)
        if constraints is not None and not constraints.allows(graph, edits):
            continue
        if int(oracle.predict_proba([edits.apply(graph)])[0].argmax()) != label:
            return True
    return False


@pytest.mark.parametrize("needed", [1, 2, 3, 5])
def test_answers_beyond_the_papers_space_are_found_and_say_their_ring(needed):
    graph = graphs()[0]
    oracle = Edges(graph, needed)
    near = explainer(oracle, search="paper").explain(graph)
    wide = explainer(oracle).explain(graph)
    assert wide.found
    assert wide.best.size == needed
    assert near.found == (needed == 1) or near.best.size <= 2
    rings = {entry.ring for entry in wide.counterfactuals if entry.ring is not None}
    assert rings <= {0, 1, 2, 3}
    if needed > 2:
        assert min(rings) >= 2
    assert all(entry.ring is None for entry in near.counterfactuals)


def test_one_of_several_classes_is_sought_further_in_the_papers_space():
    graph = graphs()[0]

    class Third(Edges):
        """One more class that nothing leads to."""

        num_classes = 3
        class_names = ("as it was", "changed", "never")

        def _answer(self, edges):
            return torch.cat([super()._answer(edges), torch.zeros(1)])

    tried = {}
    for near_edits in (1, 3):
        widening = WideningConfig(near_edits=near_edits)
        made = explainer(Third(graph, 8), add=SizeConfig(max=2), threshold=0.0, widening=widening)
        for target in (None, 1):
            tried[near_edits, target] = made.explain(graph, target=target).trace.proposals
    assert tried[1, 1] == tried[3, 1]
    assert tried[1, None] < tried[3, None]


def test_a_good_answer_nearby_ends_the_search():
    graph = graphs()[0]
    oracle = Edges(graph, 1)
    answer = explainer(oracle, max_nodes=6).explain(graph)
    assert answer.trace.stopped_by in ("best_possible", "good_enough")
    assert {entry.ring for entry in answer.counterfactuals} == {0}
    assert answer.trace.proposals < 40


def test_a_sure_single_removal_needs_no_link_predictor():
    graph = graphs()[0]
    factual = explainer(Edges(graph, 1)).explain(graph).factual
    oracle = Edges(graph, 1, where=set(factual.edges))
    quick = explainer(oracle).explain(graph)
    thorough = explainer(oracle, widening=WideningConfig(sure=0.0, worth=0.0)).explain(graph)
    assert quick.best.size == thorough.best.size == 1
    assert quick.best.ring == 0
    assert "reconstruct" not in quick.trace.stages
    oracle.needed = 2
    assert "reconstruct" in explainer(oracle).explain(graph).trace.stages


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
    graph = graphs()[0]
    edges = edge_pairs(graph)
    held_by = sorted(edges)[0]
    oracle = Traffic(graph, held_by, left)
    answer = explainer(oracle, max_nodes=6).explain(graph)
    assert answer.found
    added = {pair for now in oracle.asked for pair in now - edges if len(now - edges) == 1}
    beside = {pair for pair in added if set(pair) & set(held_by)}
    if hurts:
        assert "reconstruct" not in answer.trace.stages
        assert added == beside
    else:
        # No edge matters by itself, so the link predictor says where to add.
        assert "reconstruct" in answer.trace.stages


def test_a_wanted_class_may_be_reached_by_additions_anywhere_in_the_factual_subgraph():
    graph = graphs()[0]
    held_by = sorted(edge_pairs(graph))[0]
    oracle = Traffic(graph, held_by, 0.94)
    answer = explainer(oracle, max_nodes=6).explain(graph, target=2)
    assert answer.best.size == 1
    assert "reconstruct" not in answer.trace.stages


def test_single_edits_are_tried_before_wider_rings_when_only_a_pair_flips():
    graph = graphs()[0]
    edges = edge_pairs(graph)

    class Halves(Edges):
        """Two removals flip, not so surely that nothing better can be hoped for."""

        def _answer(self, now):
            flips = len(edges - now) == 2 and not now - edges
            return torch.tensor([0.07, 0.93] if flips else [1.0, 0.0])

    settings = {"remove": SizeConfig(max=2), "max_nodes": 9}
    answer = explainer(Halves(graph, 1), **settings).explain(graph)
    assert answer.best.size == 2
    assert answer.trace.stopped_by == "good_enough"
    assert "reconstruct" not in answer.trace.stages
    assert answer.certificate == Certificate(2, (math.comb(graph.num_nodes, 2),))
    # Without the certificate's single edits a better one might be among them.
    thorough = explainer(Halves(graph, 1), **settings, certify=0).explain(graph)
    assert "reconstruct" in thorough.trace.stages


@pytest.mark.parametrize("rules", [(), (lambda graph, edits: True,)])
def test_a_pair_with_a_needless_edit_does_not_end_the_search(rules, monkeypatch):
    graph = graphs()[0]
    edges = edge_pairs(graph)

    class Needless(Edges):
        """One addition flips, and with a removal beside it so surely that nothing could be better."""

        def _answer(self, now):
            if not now - edges:
                return torch.tensor([1.0, 0.0])
            return torch.tensor([0.01, 0.99] if edges - now else [0.45, 0.55])

    def one_pair(self, problem, *_):
        """An addition that is likely only after a removal."""
        yield ProposalBlock(
            torch.stack([problem.allowed.removals[:1], problem.allowed.additions[:1]], 1)
        )
        return "exhausted"

    monkeypatch.setattr(DRCFGNN, "_candidates", one_pair)
    made = explainer(Needless(graph, 1), certify=0, remove=SizeConfig(max=0), add=SizeConfig(max=1))
    frozen = Constraints(
        rules=rules, forbidden_pairs=frozenset(itertools.combinations(range(4), 2)) - edges
    )
    monkeypatch.setattr(levels, "_additions_within", lambda problem, _: torch.empty(0).long())
    answer = made.explain(graph, constraints=frozen)
    assert answer.best.size == 1
    assert answer.best.score < 0.6
    assert answer.trace.stopped_by == "exhausted"


def test_a_weak_single_edit_leaves_the_others_to_the_link_predictor():
    graph = graphs()[0]
    edges = edge_pairs(graph)
    factual = explainer(Edges(graph, 1)).explain(graph).factual
    weak = sorted(factual.edges)[0]

    class Weak(Edges):
        def _answer(self, now):
            if len(now - edges) == 1 and not edges - now:
                return torch.tensor([0.0, 1.0])
            return torch.tensor([0.45, 0.55] if weak not in now else [1.0, 0.0])

    frozen = Constraints(
        forbidden_pairs=frozenset(itertools.combinations(sorted(factual.nodes), 2)) - edges
    )
    answer = explainer(Weak(graph, 1), threshold=0.0).explain(graph, constraints=frozen)
    assert answer.best.ring == 0
    assert answer.best.edits.added
    assert answer.trace.stopped_by == "best_possible"


def test_worth_nothing_goes_through_all_rings():
    graph = graphs()[0]
    oracle = example_oracle()
    thorough = explainer(oracle, widening=WideningConfig(worth=0.0), stop_early=False)
    quick = explainer(oracle, widening=WideningConfig(worth=0.99))
    a, b = thorough.explain(graph), quick.explain(graph)
    assert a.trace.proposals >= b.trace.proposals
    if b.found:
        assert a.best.score >= b.best.score


def test_it_is_deterministic_and_leaves_the_graph_alone():
    graph, oracle = graphs()[0], example_oracle()
    before = graph.clone()
    made = explainer(oracle)
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
    graph = graphs()[0]
    oracle = Edges(graph, 2)
    answer = explainer(oracle).explain(graph, constraints=constraints)
    assert answer.found
    for entry in answer.counterfactuals:
        assert constraints.allows(graph, entry.edits)


def test_the_beam_takes_all_edges_of_a_node_at_once():
    graph = graphs()[0]
    edges = edge_pairs(graph)
    node = max(range(graph.num_nodes), key=lambda n: sum(n in edge for edge in edges))
    wanted = frozenset(edge for edge in edges if node in edge)

    class Isolated(Edges):
        """Only the loss of all edges of one node helps: no single step shows the way."""

        def _answer(self, edges):
            return torch.tensor([0.1, 0.9] if not edges & wanted else [0.9, 0.1])

    answer = explainer(Isolated(graph, 1), widening=WideningConfig(width=2)).explain(graph)
    assert answer.found
    assert frozenset(answer.best.edits.removed) == wanted


def test_full_nodes_get_three_edits_in_the_papers_space(monkeypatch):
    seen = []
    drawn = DRCFGNN._candidates

    def noted(self, problem, removable, best, most, most_edits):
        seen.append(most_edits)
        return drawn(self, problem, removable, best, most, most_edits)

    monkeypatch.setattr(DRCFGNN, "_candidates", noted)
    graph = graphs()[0]
    two = {"remove": SizeConfig(max=2), "add": SizeConfig(max=2)}
    made = explainer(Edges(graph, 9), widening=WideningConfig(near_edits=1, max_edits=3), **two)
    for room, edits in (({}, 1), (dict.fromkeys(range(6), 0), 3)):
        seen.clear()
        made.explain(graph, constraints=Constraints(room=room))
        assert seen[0] == edits


def test_a_beam_without_hope_ends_early():
    graph = graphs()[0]

    class Slow(Edges):
        """Every edit brings the same small step towards another class."""

        def _answer(self, edges):
            log_odds = 10 - 0.2 * len(edges ^ self.before)
            return torch.tensor([log_odds, 0.0]).softmax(dim=0)

    def calls(hope):
        made = explainer(Slow(graph, 1), widening=WideningConfig(hope=hope, promising=0))
        answer = made.explain(graph)
        assert not answer.found
        return answer.trace.oracle_calls

    assert calls(1.5) < calls(50.0) / 2


def test_a_pair_is_not_called_the_best_before_all_single_edits_were_tried():
    graph = graphs()[0]
    edges = edge_pairs(graph)
    far = next(pair for pair in itertools.combinations(range(9), 2) if pair not in edges)

    class Pairs(Edges):
        """Two removals do, and so does one addition."""

        def _answer(self, now):
            flips = len(edges - now) >= 2 or far in now
            return torch.tensor([0.0, 1.0] if flips else [0.99, 0.01])

    for certify in (0, 3, 2000):
        made = DRCFGNN(
            dataclasses.replace(CONFIG, remove=SizeConfig(max=2), max_nodes=9, certify=certify),
            ranking="sparse",
        )
        answer = made.fit(graphs()[1:], Pairs(graph, 1)).explain(graph)
        assert set(answer.best.edits.added) == {far}
        assert answer.trace.stopped_by == "best_possible"


def test_many_factual_edges_are_not_tried_in_all_pairs():
    graph = graphs()[0]
    edges = edge_pairs(graph)

    class Counts(Edges):
        def _answer(self, now):
            if len(edges - now) == 2 and not now - edges:
                asked.add(now)
            return torch.tensor([0.9, 0.1])

    for near, every_pair in ((5, False), (3000, True)):
        asked: set[frozenset[tuple[int, int]]] = set()
        reach = WideningConfig(near=near, promising=0, width=1, max_edits=2)
        settings = {"remove": SizeConfig(max=2), "max_nodes": 9, "certify": 0, "widening": reach}
        explainer(Counts(graph, 1), **settings).explain(graph)
        assert (len(asked) == math.comb(len(edges), 2)) is every_pair


def test_one_edit_at_most_is_searched_and_not_crashed_on():
    graph = graphs()[0]
    made = explainer(
        Edges(graph, 3),
        remove=SizeConfig(max=1),
        add=SizeConfig(max=0),
        widening=WideningConfig(max_edits=1),
    )
    answer = made.explain(graph)
    assert not answer.found
    assert answer.trace.status == "exhausted"


def test_a_ranking_that_is_undefined_for_large_sets_does_not_end_the_search():
    graph = graphs()[0]

    def rank(fidelity, size):
        return fidelity * torch.sqrt(5.0 - size)

    made = DRCFGNN(dataclasses.replace(CONFIG, certify=0), ranking=rank)
    answer = made.fit(graphs()[1:], Edges(graph, 2)).explain(graph)
    assert answer.found
    assert answer.best.ring is not None


@pytest.mark.parametrize("needed", [4, 5])
def test_an_oracle_that_tells_nothing_on_the_way_is_searched_on(needed):
    graph = graphs()[0]

    class Plateau(Edges):
        def _answer(self, now):
            return torch.tensor([0.0, 1.0] if len(now ^ self.before) >= self.needed else [1.0, 0.0])

    answer = explainer(Plateau(graph, needed)).explain(
        graph, constraints=Constraints(max_removed=0)
    )
    assert answer.found
    assert answer.best.size == needed


def test_states_grow_by_edits_that_help_beside_another():
    graph = graphs()[0]
    edges = edge_pairs(graph)
    missing = [p for p in itertools.combinations(range(graph.num_nodes), 2) if p not in edges]
    wanted = set(missing[:3])

    class Together(Edges):
        """The third edit helps only beside the first."""

        def _answer(self, now):
            new = wanted & now
            log_odds = 4 - 3 * (missing[0] in new) - 2 * (len(new) >= 2 and missing[0] in new)
            log_odds = log_odds - 2 * (len(new) == 3)
            return torch.tensor([float(log_odds), 0.0]).softmax(dim=0)

    made = explainer(
        Together(graph, 1), widening=WideningConfig(width=2, moves=3, promising=0, prior=0.0)
    )
    assert set(made.explain(graph).best.edits.added) <= wanted


def test_large_answers_lose_their_needless_edits():
    graph = graphs()[0]
    where = frozenset(itertools.combinations(range(6), 2))
    oracle = Edges(graph, 12, where=where)
    answer = explainer(oracle, widening=WideningConfig(width=3)).explain(graph)
    assert answer.found
    assert answer.best.size == 12
    assert all(set(entry.edits.edges) <= where for entry in answer.counterfactuals)


def test_combinations_are_pairs_and_triples_of_the_best():
    settings = WideningConfig(promising=6)
    ids = torch.tensor([9, 4, 7, 1, 3, 8, 2])
    pairs, *more = list(combinations(ids, settings, largest=3))
    assert len(pairs) == math.comb(6, 2)
    assert 2 not in pairs
    assert not more  # a third of six is two, and they make no triple
    assert not list(combinations(ids, settings, largest=1))


@pytest.mark.parametrize(
    "wrong",
    [
        {"worth": 1.0},
        {"prior": -1.0},
        {"width": 0},
        {"patience": -1},
        {"lower": 2.0},
        {"moves": 0},
        {"hope": 0.0},
        {"hope": math.nan},
    ],
)
def test_settings_that_mean_nothing_are_refused(wrong):
    with pytest.raises(ConfigError, match="expected"):
        WideningConfig(**wrong)
    with pytest.raises(ConfigError, match="certify"):
        dataclasses.replace(CONFIG, certify=-1)


# Certificates.


@pytest.mark.parametrize("place", range(6))
def test_certificates_agree_with_brute_force(place):
    graph, oracle = graphs()[place], example_oracle()
    answer = DRCFGNN(dataclasses.replace(CONFIG, certify=500)).fit(graphs()[6:], oracle)
    answer = answer.explain(graph)
    proof = answer.certificate
    assert len(proof.tried) == proof.below - 1
    for size in range(1, min(proof.below, 3)):
        assert not brute_force(oracle, graph, size)
        assert proof.tried[size - 1] == math.comb(math.comb(graph.num_nodes, 2), size)
    if answer.found:
        assert proof.below <= min(entry.size for entry in answer.counterfactuals)
    assert verify_certificate(answer, oracle) == sum(proof.tried) + answer.found


def test_a_certificate_is_complete_where_its_budget_reaches():
    graph = graphs()[0]
    oracle = Edges(graph, 3)
    pairs = math.comb(graph.num_nodes, 2)
    for budget, below in ((0, None), (pairs - 1, None), (pairs, 2), (10**6, 3)):
        proof = explainer(oracle, certify=budget).explain(graph).certificate
        assert (None if proof is None else proof.below) == below
    assert str(proof).startswith("no counterfactual with fewer than 3 edits exists: all ")
    assert str(Certificate(1)) == "there is a counterfactual of one edit, and nothing is smaller"


def test_trying_everything_finds_what_the_rings_missed():
    graph = graphs()[0]
    only = frozenset({(0, 1), (2, 3)})

    class Hidden(Edges):
        """Two certain edits together, each of which alone says nothing."""

        def _answer(self, edges):
            hit = (edges ^ self.before) == only
            return torch.tensor([0.1, 0.9] if hit else [0.9, 0.1])

    settings = {"widening": WideningConfig(width=1, promising=2)}
    missed = explainer(Hidden(graph, 1), certify=0, **settings).explain(graph)
    found = explainer(Hidden(graph, 1), certify=10**5, **settings).explain(graph)
    assert not missed.found
    assert set(found.best.edits.edges) == only
    assert found.certificate.below == 2


@pytest.mark.parametrize(
    "constraints",
    [
        Constraints(max_added=0),
        Constraints(frozen_nodes={0, 1}, forbidden_pairs={(2, 3), (4, 5)}),
        Constraints(keep_connected=True, max_edits=4),
        Constraints(room={0: 0, 1: 0, 2: 1}),
        Constraints(rules=(lambda graph, edits: len(edits.removed) != 1,)),
    ],
)
def test_certificates_count_what_the_constraints_allow(constraints):
    graph = graphs()[0]
    oracle = Edges(graph, 3)
    answer = explainer(oracle, certify=10**6).explain(graph, constraints=constraints)
    assert answer.certificate.below == 3
    assert verify_certificate(answer, oracle, constraints=constraints) > 0


def test_certificates_survive_json_and_tampering_is_noticed(tmp_path):
    graph, oracle = graphs()[0], example_oracle()
    answer = explainer(oracle, certify=500).explain(graph)
    path = answer.save_json(tmp_path / "answer.json")
    again = CounterfactualSet.load_json(path)
    assert again.certificate == answer.certificate
    assert verify_certificate(again, oracle) == sum(answer.certificate.tried) + 1
    payload = json.loads(path.read_text())
    payload["certificate"]["below"] += 1
    path.write_text(json.dumps(payload))
    with pytest.raises(ArtifactError, match="changed"):
        CounterfactualSet.load_json(path)


@pytest.mark.parametrize(
    ("claim", "fault"),
    [
        (Certificate(3, (5,)), "for every size below 3"),
        (Certificate(2, (7,)), "expected 7 edit sets of 1 edits as certified"),
        (Certificate(4, (45, 990, 14190)), "got one with 3 in the same answer"),
        (Certificate(1), "expected a counterfactual of one edit"),
        (None, "got one without"),
    ],
)
def test_a_claim_that_is_not_so_is_refused_whatever_its_checksum(claim, fault):
    graph = graphs()[0]
    oracle = Edges(graph, 3)
    answer = explainer(oracle, certify=10**6).explain(graph)
    with pytest.raises(CertificateError, match=fault):
        verify_certificate(dataclasses.replace(answer, certificate=claim), oracle)


def test_a_single_edit_that_was_not_kept_is_looked_for():
    graph, oracle = graphs()[0], Edges(graphs()[0], 1)
    answer = explainer(oracle, certify=500).explain(graph)
    assert answer.certificate == Certificate(1)
    larger = dataclasses.replace(answer.best, edits=EditSet(removed=edge_pairs(graph)))
    assert larger.size > 1
    shown = dataclasses.replace(answer, counterfactuals=(larger,))
    assert verify_certificate(shown, oracle) > 1
    nothing = dataclasses.replace(answer, counterfactuals=())
    assert verify_certificate(nothing, oracle) >= 1


def test_a_smaller_counterfactual_is_named():
    graph = graphs()[0]
    answer = explainer(Edges(graph, 3), certify=10**6).explain(graph)
    with pytest.raises(CertificateError, match="expected no counterfactual of 2 edits"):
        verify_certificate(answer, Edges(graph, 2))


def test_other_oracles_and_constraints_are_refused():
    graph, oracle = graphs()[0], example_oracle()
    answer = explainer(oracle, certify=500).explain(graph)
    other = example_oracle()
    with torch.no_grad():
        other.model.classify.bias.add_(0.01)
    with pytest.raises(CertificateError, match="weights differ"):
        verify_certificate(answer, other)
    with pytest.raises(CertificateError, match="constraints"):
        verify_certificate(answer, oracle, constraints=Constraints(max_edits=1))


def test_constraints_come_back_from_an_answer():
    limits = Constraints(
        max_edits=3, frozen_nodes={1}, frozen_edges={(0, 2)}, room={4: 1}, keep_connected=True
    )
    assert Constraints.from_dict(limits.to_dict()) == limits
    ruled = Constraints(rules=(lambda graph, edits: True,))
    with pytest.raises(ConstraintError, match="rules in Python"):
        Constraints.from_dict(ruled.to_dict())
    with pytest.raises(ConstraintError, match="written by to_dict"):
        Constraints.from_dict({"surprise": 1})


def test_a_saved_answer_is_verified_on_the_command_line(tmp_path, capsys):
    folder = tmp_path / "oracle"
    small = ["--profile", "smoke", "--oracle", str(folder), "--out", str(tmp_path / "answers")]
    explain = ["explain", "ba_2motifs", "--index", "0", "--method", "dr-cfgnn", *small]
    with pytest.raises(SystemExit) as end:
        main([*explain, "--max-edits", "4", "--set", "certify=400"])
    assert end.value.code in (0, 1)
    capsys.readouterr()
    (path,) = (tmp_path / "answers").glob("*.json")
    with pytest.raises(SystemExit) as end:
        main(["verify", str(path), "--oracle", str(folder)])
    assert end.value.code == 0, capsys.readouterr().err
    assert capsys.readouterr().out.startswith("Verified with ")


def test_an_end_short_of_the_best_is_not_called_the_best():
    graph = graphs()[0]
    edges = edge_pairs(graph)
    far = next(pair for pair in itertools.combinations(range(9), 2) if pair not in edges)

    class Hint(Edges):
        """Any removal nearly does; one addition does more."""

        def _answer(self, now):
            if now - edges == {far} and not edges - now:
                return torch.tensor([0.0, 1.0])
            return torch.tensor([0.08, 0.92] if edges - now else [0.99, 0.01])

    answer = explainer(Hint(graph, 1), max_nodes=9).explain(graph)
    assert answer.trace.stopped_by == "good_enough"
    keen = explainer(Hint(graph, 1), max_nodes=9, widening=WideningConfig(worth=0.0)).explain(graph)
    assert keen.trace.stopped_by == "best_possible"
    assert set(keen.best.edits.added) == {far}


def test_the_factual_subgraph_is_that_of_the_first_ring_whatever_ends_the_search():
    class Never(Edges):
        def _answer(self, edges):
            return torch.tensor([0.9, 0.1])

    graph = graphs()[0]
    made = explainer(Never(graph, 1), max_nodes=3)
    for calls in (20, 40, 60, 100, 400):
        answer = made.explain(graph, budget=Budget(oracle_calls=calls))
        assert len(answer.factual.nodes) <= 3
        assert not answer.found
        proof = answer.certificate
        assert proof is None or proof.below > 1


def test_small_flips_are_found_among_very_many_larger_ones():
    graph = graphs()[0]
    edges = edge_pairs(graph)

    class Eager(Edges):
        """Every addition flips, and more edits make it surer: most flips are needlessly large."""

        def _answer(self, now):
            if not now - edges:
                return torch.tensor([0.99, 0.01])
            return torch.tensor([0.45, 0.55] if len(now ^ edges) == 1 else [0.01, 0.99])

    made = explainer(Eager(graph, 1), widening=WideningConfig(patience=3, width=40))
    answer = made.explain(graph, keep=1)
    assert answer.trace.flips > 2000
    assert answer.found
    assert answer.best.size == 1


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
