"""What a fresh install does, seen from a folder that holds nothing of edgeflip's.

python smoke.py                # without extras: each is missed in a sentence that names it
python smoke.py chem draw      # with these
"""

import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import edgeflip

# Loaded when somebody needs them, so that a start stays quick.
LATE = {"matplotlib", "networkx", "rdkit", "scipy", "sklearn", "torch", "transformers"}
assert not LATE & set(sys.modules), f"import edgeflip loads {LATE & set(sys.modules)}"

from edgeflip import CounterfactualSet, EdgeflipError, explain, verify_certificate  # noqa: E402
from edgeflip.testing import example_graphs, example_oracle  # noqa: E402

SPEC = """
title = "One graph"
profile = "smoke"
datasets = ["ba_2motifs"]
graphs = 1
[[methods]]
name = "random"
"""


def command(*words: str) -> str:
    """What `edgeflip` writes to stdout; an error if it does not end with 0."""
    program = Path(sys.executable).parent / "edgeflip"
    done = subprocess.run([program, *words], capture_output=True, text=True, check=False)
    if done.returncode:
        raise EdgeflipError(f"exit code {done.returncode}: {done.stderr}")
    return done.stdout


def start(folder: Path) -> None:
    """The version, an answer, its files and its proof."""
    assert command("--version").strip() == edgeflip.__version__
    assert "edgeflip" in command("methods")
    oracle, graph = example_oracle(), example_graphs(1, seed=4)[0]
    answer = explain(oracle, graph)
    assert answer.found, answer
    for name in ("answer.svg", "answer.html"):
        answer.save(folder / name)
        assert (folder / name).stat().st_size > 1000
    answer.save_json(folder / "answer.json")
    verify_certificate(CounterfactualSet.load_json(folder / "answer.json"), oracle)


def chem(folder: Path) -> None:
    """A molecule from SMILES and back."""
    from edgeflip import molecule_graph, to_smiles

    assert to_smiles(molecule_graph("CCO")) == "CCO"


def draw(folder: Path) -> None:
    """A picture in pixels."""
    explain(example_oracle(), example_graphs(1, seed=4)[0]).save(folder / "answer.png")


def bench(folder: Path) -> None:
    """A run of one graph, with its Parquet file."""
    (folder / "one.toml").write_text(SPEC, encoding="utf-8")
    command("bench", "run", str(folder / "one.toml"), "--out", str(folder / "run"))
    assert (folder / "run" / "results.parquet").stat().st_size


def text(folder: Path) -> None:
    """The encoder's package; its weights would be fetched from the network."""
    from edgeflip.datasets.encoder import EncoderSettings, load_encoder

    try:
        load_encoder(EncoderSettings())
    except EdgeflipError as error:
        if "edgeflip[text-offline]" not in str(error) or "edgeflip[text]" in str(error):
            raise


def text_offline(folder: Path) -> None:
    """Vectors of words with the weights that a package brings."""
    from edgeflip.datasets.encoder import EncoderSettings, load_encoder

    (vectors,) = load_encoder(EncoderSettings()).encode([["good", "film"]])
    assert len(vectors) == 2


PARTS: dict[str, Callable[[Path], None]] = {
    "bench": bench,
    "chem": chem,
    "draw": draw,
    "text": text,
    "text-offline": text_offline,
}
# What an extra brings along.
ALSO = {"text-offline": {"text"}}


def main(extras: set[str]) -> None:
    """Use what is there, and see that the rest is missed with the extra's name."""
    there = extras.union(*(ALSO.get(extra, set()) for extra in extras))
    with tempfile.TemporaryDirectory() as name:
        start(Path(name))
        for extra, use in PARTS.items():
            folder = Path(name) / extra
            folder.mkdir()
            if extra in there:
                use(folder)
                continue
            try:
                use(folder)
            except EdgeflipError as error:
                if "edgeflip[" not in str(error):
                    raise
            else:
                raise AssertionError(f"'{extra}' works, although it is not installed")
    print(f"{len(there) + 1} parts work, {len(PARTS) - len(there)} are missed in a sentence")


if __name__ == "__main__":
    main(set(sys.argv[1:]))
