"""The scripts under examples/ run, on smoke settings, and print what they promise."""

import runpy
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"


def test_every_script_is_tested_here_or_is_a_notebook_too():
    # Notebooks run in test_notebooks.py, which is also where `notebooks.py` is tested.
    scripts = {path.stem for path in EXAMPLES.glob("*.py")}
    notebooks = {path.stem for path in EXAMPLES.glob("*.ipynb")}
    assert scripts - notebooks == {"pyg_explainer", "notebooks"}


def test_edgeflip_beside_gnn_explainer_in_pygs_explainer(capsys, monkeypatch):
    monkeypatch.delenv("EDGEFLIP_DATA", raising=False)
    script = runpy.run_path(str(EXAMPLES / "pyg_explainer.py"))
    script["main"](["--smoke"])
    lines = capsys.readouterr().out.splitlines()
    start = next(place for place, line in enumerate(lines) if line.startswith("algorithm"))
    table = {
        line[:34].strip(): [float(number) for number in line[34:].split()]
        for line in lines[start + 1 : start + 5]
    }
    assert list(table) == [
        "edgeflip, edges that go",
        "edgeflip, edges that come or go",
        "GNNExplainer, as many edges",
        "GNNExplainer, its six best edges",
    ]
    for name, (edges, plus, valid, seconds) in table.items():
        # On average; a graph that edges going cannot change counts as none.
        assert 0 < edges <= 6, name
        assert seconds > 0, name
        if "come" not in name:
            # A GIN does not normalise: for it a masked edge is a removed edge.
            assert plus == pytest.approx(valid), name
    assert table["edgeflip, edges that go"][2] >= table["GNNExplainer, as many edges"][2]
    assert table["edgeflip, edges that come or go"][2] == 1.0
