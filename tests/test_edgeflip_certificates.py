"""The proofs that EdgeFlip leaves behind, made and checked again by other means."""

from __future__ import annotations

import dataclasses
import itertools
import json
import math

import pytest
import torch
from torch_geometric.data import Data

from conftest import assert_sentence
from edgeflip import (
    Certificate,
    Constraints,
    CounterfactualSet,
    EditSet,
    fingerprint,
    verify_certificate,
)
from edgeflip.cli import main
from edgeflip.core import edge_pairs
from edgeflip.errors import ArtifactError, CertificateError, ConstraintError
from edgeflip.explainers.edgeflip import EdgeFlip
from edgeflip.explainers.edgeflip.config import BeamConfig
from edgeflip.testing import example_graphs, example_oracle
from edgeflip.testing.oracles import WrappedOracle
from link_methods import NARROW, Edges, narrow, nine_nodes


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


def told(answer):
    """How many different counterfactuals an answer has."""
    return len({*answer.counterfactuals, answer.smallest, answer.first} - {None})


@pytest.mark.parametrize("place", range(6))
def test_certificates_agree_with_brute_force(place):
    graph, oracle = nine_nodes()[place], example_oracle()
    answer = EdgeFlip(dataclasses.replace(NARROW, certify=500)).fit(nine_nodes()[6:], oracle)
    answer = answer.explain(graph)
    proof = answer.certificate
    assert len(proof.tried) == proof.below - 1
    for size in range(1, min(proof.below, 3)):
        assert not brute_force(oracle, graph, size)
        assert proof.tried[size - 1] == math.comb(math.comb(graph.num_nodes, 2), size)
    if answer.found:
        assert proof.below <= min(entry.size for entry in answer.counterfactuals)
    assert verify_certificate(answer, oracle) == sum(proof.tried) + told(answer)


def test_a_certificate_is_complete_where_its_budget_reaches():
    graph = nine_nodes()[0]
    oracle = Edges(graph, 3)
    pairs = math.comb(graph.num_nodes, 2)
    for budget, below in ((0, None), (pairs - 1, None), (pairs, 2), (10**6, 3)):
        proof = narrow(oracle, certify=budget).explain(graph).certificate
        assert (None if proof is None else proof.below) == below
    assert str(proof).startswith("no counterfactual with fewer than 3 edits exists: all ")
    assert str(Certificate(1)) == "there is a counterfactual of one edit, and nothing is smaller"


def test_trying_everything_finds_what_the_rings_missed():
    graph = nine_nodes()[0]
    only = frozenset({(0, 1), (2, 3)})

    class Hidden(Edges):
        """Two certain edits together, each of which alone says nothing."""

        def _answer(self, edges):
            hit = (edges ^ self.before) == only
            return torch.tensor([0.1, 0.9] if hit else [0.9, 0.1])

    beam = BeamConfig(width=1, moves=1, slope_moves=0, wide_width=1, promising=0, islands=0)
    settings = {"beam": beam}
    missed = narrow(Hidden(graph, 1), certify=0, **settings).explain(graph)
    found = narrow(Hidden(graph, 1), certify=10**5, **settings).explain(graph)
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
    graph = nine_nodes()[0]
    oracle = Edges(graph, 3)
    answer = narrow(oracle, certify=10**6).explain(graph, constraints=constraints)
    assert answer.certificate.below == 3
    assert verify_certificate(answer, oracle, constraints=constraints) > 0


def test_certificates_survive_json_and_tampering_is_noticed(tmp_path):
    graph, oracle = nine_nodes()[0], example_oracle()
    answer = narrow(oracle, certify=500).explain(graph)
    path = answer.save_json(tmp_path / "answer.json")
    again = CounterfactualSet.load_json(path)
    assert again.certificate == answer.certificate
    assert verify_certificate(again, oracle) == sum(answer.certificate.tried) + told(answer)
    payload = json.loads(path.read_text())
    payload["certificate"]["below"] += 1
    path.write_text(json.dumps(payload))
    with pytest.raises(ArtifactError, match="changed"):
        CounterfactualSet.load_json(path)


@pytest.mark.parametrize(
    ("claim", "fault"),
    [
        (Certificate(3, (5,)), "for every cost below 3"),
        (Certificate(2, (7,)), "expected 7 sets of cost 1 as certified"),
        (Certificate(4, (45, 990, 14190)), "got one with 3 in the same answer"),
        (Certificate(1), "expected a counterfactual of one edit"),
        (None, "got one without"),
    ],
)
def test_a_claim_that_is_not_so_is_refused_whatever_its_checksum(claim, fault):
    graph = nine_nodes()[0]
    oracle = Edges(graph, 3)
    answer = narrow(oracle, certify=10**6).explain(graph)
    with pytest.raises(CertificateError, match=fault):
        verify_certificate(dataclasses.replace(answer, certificate=claim), oracle)


def test_a_single_edit_that_is_claimed_must_be_there():
    graph, oracle = nine_nodes()[0], Edges(nine_nodes()[0], 1)
    answer = narrow(oracle, certify=500).explain(graph)
    assert answer.certificate == Certificate(1)
    larger = dataclasses.replace(answer.best, edits=EditSet(removed=edge_pairs(graph)))
    assert larger.size > 1
    shown = dataclasses.replace(answer, counterfactuals=(larger,))
    assert verify_certificate(shown, oracle) >= 2
    for kept, smallest in (((larger,), larger), ((), None)):
        claim = dataclasses.replace(answer, counterfactuals=kept, smallest=smallest, first=smallest)
        with pytest.raises(CertificateError, match="expected a counterfactual of one edit"):
            verify_certificate(claim, oracle)


def test_a_smaller_counterfactual_is_named():
    graph = nine_nodes()[0]
    answer = narrow(Edges(graph, 3), certify=10**6).explain(graph)
    with pytest.raises(CertificateError, match="got changed"):
        verify_certificate(answer, Edges(graph, 2))
    # Without answers, whose figures would give it away, the proof itself is tried again.
    alone = dataclasses.replace(answer, counterfactuals=())
    with pytest.raises(CertificateError, match="expected no counterfactual of cost 2"):
        verify_certificate(alone, Edges(graph, 2))


def test_other_oracles_and_constraints_are_refused():
    graph, oracle = nine_nodes()[0], example_oracle()
    answer = narrow(oracle, certify=500).explain(graph)
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
    explain = ["explain", "ba_2motifs", "--index", "0", "--method", "edgeflip", *small]
    with pytest.raises(SystemExit):
        main(["train", "ba_2motifs", "--profile", "smoke", "--out", str(folder)])
    with pytest.raises(SystemExit) as end:
        main([*explain, "--max-edits", "4", "--set", "certify=400"])
    assert end.value.code in (0, 1)
    capsys.readouterr()
    (path,) = (tmp_path / "answers").glob("*.json")
    with pytest.raises(SystemExit) as end:
        main(["verify", str(path), "--oracle", str(folder)])
    assert end.value.code == 0, capsys.readouterr().err
    said = capsys.readouterr().out
    assert said.startswith("Verified by asking about ")
    assert "(with at most 4 edits)" in said


def single_removal(graph):
    """An answer of one removal, additions not allowed, and its oracle: both directions of one edge flip."""
    oracle = example_oracle()
    explainer = EdgeFlip(NARROW).fit([], oracle)
    for each in nine_nodes():
        answer = explainer.explain(each, constraints=Constraints(max_edits=1))
        if answer.found and answer.best.edits.removed:
            return answer, oracle
    raise AssertionError("no graph with such an answer")


def test_answers_outside_the_constraints_are_refused():
    answer, oracle = single_removal(None)
    frozen = Constraints(max_edits=1, frozen_edges=answer.best.edits.removed)
    space = dataclasses.replace(answer.space, constraints=frozen)
    with pytest.raises(CertificateError, match="names others"):
        verify_certificate(dataclasses.replace(answer, space=space), oracle)
    proof = dataclasses.replace(answer.certificate, within=frozen.describe())
    forged = dataclasses.replace(answer, space=space, certificate=proof)
    with pytest.raises(CertificateError, match="within the constraints"):
        verify_certificate(forged, oracle)


def path_of_four():
    return Data(x=torch.eye(4), edge_index=torch.tensor([[0, 1, 1, 2, 2, 3], [1, 0, 2, 1, 3, 2]]))


def test_where_nothing_could_be_tried_nothing_is_certified_or_verified():
    graph, oracle = path_of_four(), Edges(path_of_four(), 1)
    # Every edge is a bridge, and nothing may be added in its place.
    tree = Constraints(keep_connected=True, allow_additions=False)
    answer = narrow(oracle, certify=500).explain(graph, constraints=tree)
    assert not answer.found
    assert answer.certificate is None
    empty = Certificate(2, (0,), tree.describe())
    with pytest.raises(CertificateError) as error:
        verify_certificate(dataclasses.replace(answer, certificate=empty), oracle)
    assert_sentence(error, "nothing to try", "no further parts", "wider constraints")


def test_a_certificate_names_the_constraints_it_holds_under(tmp_path):
    graph, oracle = nine_nodes()[0], Edges(nine_nodes()[0], 3)
    limits = Constraints(frozen_nodes={0, 1, 2}, max_edits=4)
    answer = narrow(oracle, certify=10**6).explain(graph, constraints=limits)
    assert str(answer.certificate).endswith("(with at most 4 edits and nodes 0–2 frozen)")
    again = CounterfactualSet.load_json(answer.save_json(tmp_path / "answer.json"))
    assert again.certificate == answer.certificate
    free = narrow(oracle, certify=10**6).explain(graph)
    assert "with fewer" in str(free.certificate)
    assert "(with" not in str(free.certificate)


def test_a_rule_that_was_lost_on_the_way_is_still_named(tmp_path):
    def even(graph, edits):
        return len(edits) % 2 == 0

    graph, oracle = nine_nodes()[0], Edges(nine_nodes()[0], 2)
    limits = Constraints(rules=(even,))
    answer = narrow(oracle, certify=10**6).explain(graph, constraints=limits)
    again = CounterfactualSet.load_json(answer.save_json(tmp_path / "answer.json"))
    assert again.certificate == answer.certificate
    assert "(with the rule “even”)" in str(again.certificate)
    assert verify_certificate(again, oracle, constraints=limits) > 0


@pytest.mark.parametrize("field", ["output", "fidelity"])
def test_figures_that_the_oracle_does_not_give_are_refused(field):
    answer, oracle = single_removal(None)
    assert verify_certificate(answer, oracle) > 0
    value = (0.5, 0.5) if field == "output" else 0.01
    first = dataclasses.replace(answer.best, **{field: value})
    forged = dataclasses.replace(answer, counterfactuals=(first, *answer.counterfactuals[1:]))
    with pytest.raises(CertificateError, match="answer was changed"):
        verify_certificate(forged, oracle)


def test_every_answer_is_asked_again_and_must_fit_the_graph():
    answer, oracle = single_removal(None)
    edges = sorted(edge_pairs(answer.graph))
    for edits in (EditSet(added={edges[0]}), EditSet(removed={(0, 8), (1, 8), (2, 8)})):
        wrong = dataclasses.replace(answer.best, edits=edits)
        forged = dataclasses.replace(answer, counterfactuals=(*answer.counterfactuals, wrong))
        with pytest.raises(CertificateError):
            verify_certificate(forged, oracle)


class Nudged(WrappedOracle):
    """A model whose quick way to single edits falls on the other side of a tie."""

    def _predict_edits(self, space, rows):
        outputs = torch.tensor([[0.5001, 0.4999]]).repeat(len(rows), 1)
        return outputs.flip(1).where((rows >= 0).sum(dim=1, keepdim=True) == 1, outputs)

    def predict_proba(self, graphs):
        return torch.tensor([[0.5001, 0.4999]]).repeat(len(graphs), 1)


def test_no_single_edit_is_certified_that_was_not_confirmed():
    answer = EdgeFlip().fit([], Nudged(example_oracle())).explain(example_graphs(1, seed=4)[0])
    assert answer.trace.flips
    assert not answer.found
    assert answer.certificate is None


class Tilted(WrappedOracle):
    """A model that puts whatever kept its class beyond the border, by so much; but for the input."""

    def __init__(self, oracle, graph, by):
        super().__init__(oracle)
        self.input, self.by = fingerprint(graph), by

    def predict_proba(self, graphs):
        outputs = super().predict_proba(graphs)
        edited = torch.tensor([fingerprint(graph) != self.input for graph in graphs])
        kept = edited & (outputs.argmax(dim=1) == 1)
        return torch.where(kept[:, None], torch.tensor([0.5 + self.by, 0.5 - self.by]), outputs)


def test_what_rounding_could_move_over_the_border_is_no_counterexample():
    oracle, graph = example_oracle(), example_graphs(4, seed=0)[0]
    answer = EdgeFlip().fit([], oracle).explain(graph)
    assert answer.certificate.below == 2
    assert verify_certificate(answer, Tilted(oracle, graph, 1e-6)) > 0
    with pytest.raises(CertificateError, match="the certificate is wrong"):
        verify_certificate(answer, Tilted(oracle, graph, 1e-3))
