"""Possible molecules come first; others are given only where none was found, and say so."""

import json
import sys

import pytest
import torch
from torch_geometric.data import Data

import edgeflip
from conftest import assert_sentence, make_graph
from edgeflip import (
    Budget,
    Constraints,
    CounterfactualSet,
    EdgeFlip,
    EditSet,
    ModelOracle,
    PairEdits,
    Problem,
    SearchInterrupted,
    make_explainer,
    molecule_constraints,
    molecule_graph,
    verify_certificate,
)
from edgeflip.datasets import chemist_for
from edgeflip.errors import ConfigError
from edgeflip.explainers.preferring import until_found
from edgeflip.metrics import METRICS, AnswerCase
from edgeflip.oracle import Allowance, ClassGoal
from edgeflip.search import Preference
from edgeflip.testing import same_answer
from edgeflip.testing.oracles import CountingOracle

pytest.importorskip("rdkit", reason="needs RDKit: pip install 'edgeflip[chem]'")


def explain(*arguments, **options):
    """Bonds alone come and go; typed edits never leave anything but a molecule."""
    return edgeflip.explain(*arguments, edits="edges", **options)


class Bonds(torch.nn.Module):
    """Class 1 while the atoms of an element have fewer bonds than a number."""

    def __init__(self, element, fewer):
        super().__init__()
        self.element, self.fewer = element, fewer

    def forward(self, x, edge_index, batch):
        hit = (x[edge_index[0], 0] == self.element).float()
        bonds = torch.zeros(int(batch.max()) + 1).index_add_(0, batch[edge_index[0]], hit)
        return torch.stack([bonds - self.fewer + 0.5, self.fewer - 0.5 - bonds], dim=1)


# Two bonds at its fluorine are what no molecule has.
FLUORIDE, TWO_AT_FLUORINE = molecule_graph("CC(C)(C)CCF"), Bonds(9, 2)
# Another bond at oxygen is possible, and only one of many that a carbon could have.
ALCOHOL, TWO_AT_OXYGEN = molecule_graph("CC(C)(C)CCCO"), Bonds(8, 2)


def possible_of(answer):
    return [entry.possible for entry in answer.counterfactuals]


def test_possible_molecules_come_first_though_others_are_as_good():
    answer, plain = (
        explain(TWO_AT_OXYGEN, ALCOHOL),
        explain(TWO_AT_OXYGEN, ALCOHOL, chemistry=False),
    )
    assert all(possible_of(answer))
    assert answer.smallest.possible
    assert answer.space.constraints.room
    assert "first_try" not in answer.trace.notes
    chemist = chemist_for(ALCOHOL)
    assert any(chemist.fault(entry.edits) for entry in plain.counterfactuals)
    assert set(possible_of(plain)) == {None}
    assert {entry.score for entry in plain.counterfactuals[:1]} == {answer.best.score}


def test_an_impossible_one_is_given_where_no_possible_one_was_found_and_says_why(tmp_path):
    answer = explain(TWO_AT_FLUORINE, FLUORIDE)
    assert answer.found
    assert not any(possible_of(answer))
    told = str(answer)
    assert "not a possible molecule, " in told
    assert "F (6) would have 2 bonds and has room for 1" in told
    assert "Nothing was found within the rules of chemistry" in told
    assert answer.to_rows()[0]["possible"] is False
    assert answer.draw().scene.label.count("not a possible molecule") == 1
    again = CounterfactualSet.load_json(answer.save_json(tmp_path / "answer.json"))
    assert str(again) == told
    assert again.best.fault == answer.best.fault
    assert again.trace.notes["first_try"] == answer.trace.notes["first_try"]
    # The proof is of the search without the rules, and so are the answers.
    assert answer.certificate.within == ""
    assert verify_certificate(again, ModelOracle(TWO_AT_FLUORINE)) >= len(answer)


def test_the_rules_can_be_switched_off_or_made_a_must():
    plain = explain(TWO_AT_FLUORINE, FLUORIDE, chemistry=False)
    assert plain.found
    assert "possible" not in str(plain)
    must = explain(TWO_AT_FLUORINE, FLUORIDE, constraints=molecule_constraints)
    assert not must.found
    assert "first_try" not in must.trace.notes
    with pytest.raises(ConfigError) as error:
        explain(TWO_AT_FLUORINE, FLUORIDE, chemistry="no")
    assert_sentence(error, "chemistry", "True or False", "'no'")


def test_our_method_has_the_rules_by_default_and_those_of_papers_when_told():
    assert EdgeFlip().fit([], TWO_AT_OXYGEN).explain(ALCOHOL).best.possible
    published = make_explainer("random").fit([], TWO_AT_OXYGEN)
    assert published.explain(ALCOHOL).best.possible is None
    assert published.explain(ALCOHOL, chemistry=True).best.possible
    assert explain(TWO_AT_OXYGEN, ALCOHOL, method="random").best.possible


@pytest.mark.parametrize("method", ["edgeflip", "random"])
@pytest.mark.parametrize("calls", [0, 1, 2, 60, 200, 2_000])
def test_both_tries_share_one_budget(method, calls):
    oracle = CountingOracle(ModelOracle(TWO_AT_FLUORINE))
    answer = explain(oracle, FLUORIDE, method=method, budget=Budget(oracle_calls=calls))
    stages = answer.trace.stages
    assert answer.trace.oracle_calls == oracle.calls
    assert oracle.calls - stages["predict"].oracle_calls - stages["verify"].oracle_calls <= calls
    if calls >= 200:
        assert answer.found
    if calls > 1:
        first = answer.trace.notes["first_try"]
        assert first["oracle_calls"] <= calls // 2 + 1


def test_the_same_call_gives_the_same_answer_and_the_graph_is_left_as_it_was():
    keys = set(FLUORIDE.to_dict())
    answers = [explain(TWO_AT_FLUORINE, FLUORIDE) for _ in range(2)]
    assert same_answer(*answers)
    assert set(FLUORIDE.to_dict()) == keys


def test_what_was_found_early_may_spend_the_whole_budget():
    budget = Budget(oracle_calls=400)
    answer = explain(TWO_AT_OXYGEN, ALCOHOL, budget=budget, number=5)
    assert all(possible_of(answer))
    assert answer.trace.oracle_calls > 200
    assert until_found(Allowance(3, 4.0)) == Allowance(2, 2.0)
    assert until_found(Allowance(None, None)) == Allowance(None, None)


@pytest.mark.parametrize(
    "options", [{"number": 3}, {"keep": 50}, {"robust": 2}, {"ranking": "smallest"}]
)
def test_possible_and_impossible_answers_are_not_mixed(options):
    for model, graph, wanted in (
        (TWO_AT_OXYGEN, ALCOHOL, True),
        (TWO_AT_FLUORINE, FLUORIDE, False),
    ):
        answer = explain(model, graph, **options)
        told = {*answer.counterfactuals, answer.smallest, answer.first}
        assert {entry.possible for entry in told} == {wanted}


def test_many_graphs_of_every_kind_are_explained_in_their_order():
    plain = make_graph(5, [(0, 1), (1, 2), (2, 3), (3, 4)])
    plain.x = torch.full((5, 9), 8.0)
    model = Bonds(8, 9)
    answers = explain(model, [ALCOHOL, plain], method="cf-gnnexplainer")
    assert len(answers) == 2
    assert all(entry.possible is None for entry in answers[1].counterfactuals)


def test_a_watcher_sees_one_search_and_may_end_it_in_the_first_try():
    steps = []
    answer = explain(TWO_AT_FLUORINE, FLUORIDE, watch=steps.append)
    calls = [step.calls for step in steps]
    assert calls == sorted(calls)
    assert calls[-1] <= answer.trace.oracle_calls
    assert answer.trace.steps == tuple(sorted(answer.trace.steps, key=lambda step: step.calls))
    ended = explain(TWO_AT_FLUORINE, FLUORIDE, watch=lambda step: False)
    assert ended.trace.stopped_by == "cancelled"
    assert "first_try" not in ended.trace.notes


def test_an_interruption_in_the_second_try_keeps_what_was_found():
    def interrupt(step):
        if step.smallest is not None:
            raise KeyboardInterrupt

    with pytest.raises(SearchInterrupted) as interruption:
        explain(TWO_AT_FLUORINE, FLUORIDE, watch=interrupt)
    partial = interruption.value.partial
    assert partial.trace.stopped_by == "interrupted"
    assert partial.found
    assert "not a possible molecule" in str(partial)
    assert partial.trace.notes["first_try"]["stopped_by"] == "exhausted"


def test_a_deadline_holds_for_both_tries_together():
    import time

    class Slow(Bonds):
        def forward(self, x, edge_index, batch):
            time.sleep(0.02)
            return super().forward(x, edge_index, batch)

    oracle = ModelOracle(Slow(9, 3), batch_size=4)
    started = time.perf_counter()
    answer = explain(oracle, FLUORIDE, budget=Budget(seconds=1.0))
    assert time.perf_counter() - started < 3.0
    assert answer.trace.notes["first_try"]["stopped_by"] == "timeout"
    assert "another run may get further" in answer.trace.notes["clock"]


def test_where_the_rules_allow_no_edit_they_are_set_aside_at_once():
    full = molecule_graph("FC(F)(F)F")
    answer = explain(Bonds(9, 5), full, constraints=Constraints(allow_removals=False))
    assert answer.found
    assert not answer.best.possible
    assert "There is no edit within the rules of chemistry" in str(answer)


def test_nothing_at_all_says_that_both_was_tried():
    answer = explain(Bonds(9, 99), FLUORIDE)
    assert not answer.found
    assert "It was tried within the rules of chemistry and without them." in str(answer)


def atoms(numbers, bonds):
    graph = make_graph(len(numbers), bonds)
    graph.x = torch.tensor(numbers).float()[:, None].repeat(1, 9)
    graph.z = torch.tensor(numbers)
    return graph


def test_a_molecule_that_is_impossible_itself_is_explained_without_rules():
    # Fluorine with three bonds, as some graphs of Mutag0 have it.
    odd = atoms([6, 9, 6, 6], [(0, 1), (1, 2), (1, 3)])
    assert chemist_for(odd) is None
    answer = explain(Bonds(9, 3), odd)
    assert answer.best.possible is None
    assert "RDKit cannot read the graph as a possible molecule" in str(answer)


@pytest.mark.parametrize("numbers", [[1, 2, 3, 2], [1, 1, 1, 1], [0, 0, 0, 0]])
def test_numbers_of_nodes_that_are_no_atoms_make_no_molecule(numbers):
    ring = atoms(numbers, [(0, 1), (1, 2), (2, 3), (0, 3)])
    assert chemist_for(ring) is None
    answer = explain(Bonds(99, 1), ring)
    assert "first_try" not in answer.trace.notes
    assert ("RDKit cannot read" in str(answer)) == (0 not in numbers)


def test_a_smiles_of_another_molecule_is_no_hindrance():
    graph = molecule_graph("CCCO")
    graph.smiles = "CC"
    assert explain(Bonds(8, 2), graph).best.possible is None


def test_without_rdkit_a_note_says_that_nobody_looked(monkeypatch):
    monkeypatch.setitem(sys.modules, "rdkit", None)
    answer = explain(TWO_AT_OXYGEN, ALCOHOL)
    assert answer.found
    assert "pip install 'edgeflip[chem]'" in str(answer)


@pytest.mark.parametrize(
    ("smiles", "edits", "fault"),
    [
        ("CC(C)(C)C.F", EditSet(added={(0, 4)}), "strained by a new ring of 3 atoms"),
        ("CC(C)(C)CCF", EditSet(removed={(5, 6)}), "not one molecule, it falls into 2 parts"),
        (
            "CC(C)(C)CCF",
            EditSet(added={(0, 6)}, removed={(0, 1)}),
            "not a possible molecule, F (6) would have 2 bonds and has room for 1",
        ),
        ("CCCCCF", EditSet(added={(0, 4)}), ""),
    ],
)
def test_a_chemist_says_what_is_wrong(smiles, edits, fault):
    assert chemist_for(molecule_graph(smiles)).fault(edits) == fault


def test_validity_of_possible_molecules_stands_beside_validity():
    of = METRICS["validity_possible"].of
    plain = explain(TWO_AT_OXYGEN, ALCOHOL, chemistry=False, keep=200)
    impossible = explain(TWO_AT_FLUORINE, FLUORIDE, chemistry=False)
    assert of(AnswerCase(answer=plain, molecules=True)) == 1.0
    assert of(AnswerCase(answer=impossible, molecules=True)) == 0.0
    assert of(AnswerCase(molecules=True)) == 0.0
    assert of(AnswerCase(answer=plain)) is None


class Edges(torch.nn.Module):
    """Class 1 while there are fewer edges than a number."""

    def __init__(self, fewer):
        super().__init__()
        self.fewer = fewer

    def forward(self, x, edge_index, batch):
        ones = torch.ones(edge_index.size(1)) / 2
        count = torch.zeros(int(batch.max()) + 1).index_add_(0, batch[edge_index[0]], ones)
        return torch.stack([count - self.fewer + 0.5, self.fewer - 0.5 - count], dim=1)


def preferring(fault):
    """An answer to a problem of plain graphs that prefers removals, and has to set that aside."""
    graph = Data(x=torch.ones(4, 1), edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
    oracle, space = ModelOracle(Edges(3)), PairEdits.of(graph)
    first = PairEdits.of(graph, Constraints(allow_additions=False))
    output = oracle.predict_proba([graph])[0]
    goal = ClassGoal(tuple(output.tolist()))
    preference = Preference("removals", space, fault)
    problem = Problem(first, goal, output, oracle, preference=preference)
    return EdgeFlip().fit([], oracle).solve(problem)


def test_any_preference_is_searched_first_and_set_aside_where_nothing_keeps_it():
    answer = preferring(lambda edits: "not a removal, it adds")
    assert answer.found
    assert answer.trace.notes["first_try"]["within"] == "removals"
    assert "not a removal" in str(answer)
    assert answer.space.constraints.allow_additions


def test_what_has_no_fault_in_a_second_try_is_kept_alone():
    def fault(edits):
        return "" if (0, 3) in edits.added else "not at the ends, it is elsewhere"

    answer = preferring(fault)
    assert possible_of(answer) == [True] * len(answer)
    assert answer.smallest.possible
    assert "set aside" not in str(answer)


def test_the_page_and_the_gallery_mark_what_is_impossible(tmp_path):
    answer = explain(TWO_AT_FLUORINE, FLUORIDE)
    page = answer.save(tmp_path / "why.html").read_text("utf-8")
    assert ": not a possible molecule." in page
    assert "Nothing was found within the rules of chemistry" in page
    from edgeflip.draw import Exhibit, gallery_page

    assert "<b>not possible</b>" in gallery_page([Exhibit(answer, "fluoride")])


def run(capsys, *arguments):
    """Exit code and stdout of one command."""
    from edgeflip.cli import main

    with pytest.raises(SystemExit) as end:
        main([str(argument) for argument in arguments])
    return end.value.code or 0, capsys.readouterr().out


@pytest.mark.parametrize(
    ("element", "smiles", "possible"),
    [("fluorine", "CC(C)(C)CCF", False), ("oxygen", "CC(C)(C)CCCO", True)],
)
def test_the_command_line_marks_it_and_verifies_either_answer(
    capsys, tmp_path, element, smiles, possible
):
    (tmp_path / "mine.py").write_text(MODEL)
    model = ("--model", f"{tmp_path / 'mine.py'}:{element}")
    file = tmp_path / "answer.json"
    code, out = run(capsys, "explain", "--smiles", smiles, *model, "--edges", "--out", file)
    assert code == 0
    assert ("not a possible molecule" in " ".join(out.split())) is not possible
    assert CounterfactualSet.load_json(file).best.possible is possible
    code, out = run(capsys, "verify", file, *model)
    assert code == 0
    assert "Verified by asking" in out
    _, out = run(
        capsys, "explain", "--smiles", smiles, *model, "--edges", "--no-chemistry", "--json"
    )
    entries = json.loads(out)["answer"]["counterfactuals"]
    assert not any("fault" in entry for entry in entries)


MODEL = """
import torch


class TwoBonds(torch.nn.Module):
    def __init__(self, element):
        super().__init__()
        self.element = element

    def forward(self, x, edge_index, batch):
        hit = (x[edge_index[0], 0] == self.element).float()
        bonds = torch.zeros(int(batch.max()) + 1).index_add_(0, batch[edge_index[0]], hit)
        return torch.stack([bonds - 1.5, 1.5 - bonds], dim=1)


def fluorine():
    return TwoBonds(9)


def oxygen():
    return TwoBonds(8)
"""
