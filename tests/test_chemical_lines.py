"""Small pictures, cards and tables of molecules name them by their SMILES."""

import pytest
import torch

from edgeflip import AnswerList, Budget, explain, molecule_constraints, molecule_graph, to_smiles
from edgeflip.draw import Words
from page_parts import Tags

pytest.importorskip("rdkit")

LONG = "C" * 45


class Apart:
    """An oracle that is sure of class 1 once the bond between the second and the third atom is gone."""

    num_classes = 2

    def predict_proba(self, graphs):
        there = [[1, 2] in graph.edge_index.t().tolist() for graph in graphs]
        return torch.tensor([[0.9, 0.1] if bond else [0.1, 0.9] for bond in there])


@pytest.fixture(scope="module")
def answers():
    graphs = [molecule_graph(text) for text in ("CCCCCCO", LONG)]
    made = explain(Apart(), graphs, budget=Budget(oracle_calls=2_000), chemistry=False)
    assert isinstance(made, AnswerList)
    assert [answer.smallest.size for answer in made] == [1, 1]
    return made


def test_cards_of_a_gallery_show_the_molecules_before_and_after(answers, tmp_path):
    page = answers.save(tmp_path / "gallery.html").read_text()
    told = Tags(page).text
    assert "0: CCCCCCO" in told
    assert "7 atoms" not in told
    assert f"becomes {to_smiles(answers[0])}, Tanimoto ." in told
    assert "C" * 39 + "…" in told
    assert LONG not in told
    assert f'title="{LONG}"' in page


def test_a_title_that_was_given_stays(answers):
    from edgeflip.draw import Exhibit, gallery_page

    told = Tags(gallery_page([Exhibit(answers[0], "hexanol")])).text
    assert "hexanol" in told
    assert "CCCCCCO" not in told


def test_grids_show_the_molecules_before_and_after(answers):
    written = [item for item in answers.draw().scene.items if isinstance(item, Words)]
    texts = ["".join(run.text for run in item.runs) for item in written]
    assert "CCCCCCO" in texts
    assert any(text.startswith(f"becomes {to_smiles(answers[0])}, Tanimoto .") for text in texts)
    cut = [item for item in written if item.title]
    assert LONG in [item.title for item in cut]
    assert any("…, Tanimoto ." in text for text in texts)
    named = answers.draw(titles=["one", "two"]).scene.items
    assert "CCCCCCO" not in [
        "".join(run.text for run in item.runs) for item in named if isinstance(item, Words)
    ]


def test_the_notebook_table_shows_the_molecules(answers):
    cell = answers._repr_html_()
    table = Tags(cell[cell.index("<table") :]).text
    assert "CCCCCCO" in table
    assert to_smiles(answers[0]) in table
    assert "Tanimoto ." in table
    assert f'title="{LONG}"' in cell[cell.index("<table") :]


def test_without_a_counterfactual_only_the_input_is_named():
    class Never(Apart):
        def predict_proba(self, graphs):
            return torch.tensor([[0.9, 0.1]]).repeat(len(graphs), 1)

    none = explain(Never(), [molecule_graph("CCO")], constraints=molecule_constraints)
    cell = none._repr_html_()
    assert "CCO" in Tags(cell).text
    assert "Tanimoto" not in Tags(cell).text
