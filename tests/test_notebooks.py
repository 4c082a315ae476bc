"""The notebooks in examples/ are those of the scripts beside them, and run."""

import importlib.util
import json
import os
import re
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
spec = importlib.util.spec_from_file_location("notebooks", EXAMPLES / "notebooks.py")
notebooks = importlib.util.module_from_spec(spec)
spec.loader.exec_module(notebooks)
SCRIPTS = notebooks.scripts()
NEEDS_PYG_ROOM = importlib.util.find_spec("edgeflip.integrations") is None


def run(path, folder):
    """Run a notebook in a kernel of its own, without dataset files, and return it with outputs."""
    import nbformat
    from jupyter_client.kernelspec import KernelSpec
    from jupyter_client.manager import AsyncKernelManager
    from nbclient import NotebookClient

    class Manager(AsyncKernelManager):
        # This interpreter, whatever kernels are registered on the machine.
        @property
        def kernel_spec(self):
            command = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
            return KernelSpec(argv=command, display_name="Python 3", language="python")

    loaded = nbformat.read(path, as_version=4)
    nbformat.validate(loaded)
    manager = Manager()
    client = NotebookClient(
        loaded, km=manager, timeout=300, resources={"metadata": {"path": str(folder)}}
    )
    env = {name: value for name, value in os.environ.items() if name != "EDGEFLIP_DATA"}
    return client.execute(env=env | {"IPYTHONDIR": str(folder)})


def shown(loaded):
    """What the cells print, and the kinds of what they show."""
    outputs = [output for cell in loaded.cells for output in cell.get("outputs", [])]
    text = "".join(output.get("text", "") for output in outputs)
    return text, {kind for output in outputs for kind in output.get("data", {})}


def test_there_is_a_notebook_of_every_script_and_a_script_of_every_notebook():
    assert {path.stem for path in EXAMPLES.glob("*.ipynb")} == {path.stem for path in SCRIPTS}
    assert {"quickstart", "molecule", "compare", "add_method", "pyg_explain"} <= {
        path.stem for path in SCRIPTS
    }


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_a_notebook_is_its_script_and_small(script):
    path = script.with_suffix(".ipynb")
    assert path.read_text("utf-8") == notebooks.notebook(script.read_text("utf-8")), (
        "python examples/notebooks.py writes it anew"
    )
    assert path.stat().st_size < 10_000
    for cell in json.loads(path.read_text("utf-8"))["cells"]:
        assert not cell.get("outputs")


def test_the_first_notebook_runs_and_shows_an_answer(tmp_path):
    text, kinds = shown(run(EXAMPLES / "quickstart.ipynb", tmp_path))
    assert re.search(r"turns cycle \(.+\) into house", text)
    assert "text/html" in kinds


@pytest.mark.long
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_every_notebook_runs(script, tmp_path):
    if script.stem == "pyg_explain" and NEEDS_PYG_ROOM:
        pytest.skip("edgeflip.integrations is not here")
    if script.stem == "molecule":
        pytest.importorskip("rdkit")
    text, kinds = shown(run(script.with_suffix(".ipynb"), tmp_path))
    assert text or kinds
