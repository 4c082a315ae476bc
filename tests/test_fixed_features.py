"""Where no edit of bonds helps, it is said that features of atoms stay as they are."""

import pytest
import torch

from edgeflip import Constraints, GCNClassifier, ModelOracle, explain, molecule_graph

pytest.importorskip("rdkit")


def oracle(lean):
    """An untrained oracle of ours that leans to class 0 by so much."""
    torch.manual_seed(0)
    model = GCNClassifier(9, 2).eval()
    with torch.no_grad():
        model.classify.bias += torch.tensor([lean, 0.0])
    return ModelOracle(model)


def told(answer):
    return [text for text in answer.trace.notes.get("warnings", []) if "features of atoms" in text]


def test_nothing_found_for_our_own_oracle_of_atoms_is_explained_in_one_sentence():
    answer = explain(oracle(50.0), molecule_graph("CCO"), edits="edges")
    assert not answer.found
    (sentence,) = told(answer)
    assert "number of hydrogens" in sentence
    assert sentence.count(".") == 1
    assert sentence in str(answer)
    assert "features of atoms" in answer._repr_html_()


def test_other_models_and_graphs_of_which_nothing_is_known_are_left_alone():
    sure = oracle(50.0)
    assert not told(
        explain(
            lambda graphs: sure.predict_proba(graphs).log(), molecule_graph("CCO"), edits="edges"
        )
    )
    bare = molecule_graph("CCO")
    del bare.smiles
    assert not told(explain(sure, bare, edits="edges"))


def test_an_answer_has_no_such_note():
    graph = molecule_graph("CCCCO")
    no, yes = oracle(0.0).predict_proba([graph]).log()[0].tolist()
    found = [
        explain(oracle(yes - no + lean), graph, edits="edges", constraints=Constraints(max_edits=2))
        for lean in (1e-3, -1e-3)
    ]
    assert any(answer.found for answer in found)
    assert all(answer.found != bool(told(answer)) for answer in found)
