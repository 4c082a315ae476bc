"""Typed edits of molecules: how many are answered, how many edits it takes, how alike, how sure, how fast.

    python benchmarks/typed_edits.py bbbp               # test molecules; --split val while choosing settings
    python benchmarks/typed_edits.py stale              # edge answers whose features are then made anew
    python benchmarks/typed_edits.py mutag0             # whose bond orders follow, and answers for these
    python benchmarks/typed_edits.py exmol --number 40  # the same oracle for exmol; pip install exmol first
    python benchmarks/typed_edits.py brute              # 500 molecules and 500 graphs by brute force
    python benchmarks/typed_edits.py draw               # ten answers as docs/figures/molecules-ten.svg

With EDGEFLIP_DATA; `brute` needs no data. One thread; seconds are CPU seconds. The oracle is trained anew
with the preset of the dataset, or read from --oracle. Every answer is checked from its SMILES alone: read
anew, made a graph by PyG and put to the model, whatever the search said.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import torch
from rdkit import Chem, DataStructs, rdBase
from rdkit.Chem import rdFingerprintGenerator
from rich.console import Console
from rich.table import Table
from torch_geometric.data import Data

from edgeflip import (
    CounterfactualSet,
    EdgeFlip,
    EdgeFlipConfig,
    ModelOracle,
    MoleculeEdits,
    MoleculeMoves,
    load_dataset,
    load_preset,
    molecule_graph,
    to_smiles,
)
from edgeflip.datasets import accessibility
from edgeflip.errors import EdgeflipError
from edgeflip.metrics.intervals import wilson_ends
from edgeflip.training import load_oracle
from edgeflip.training.oracles import fit_classifier

_PRINTS = rdFingerprintGenerator.GetMorganGenerator(radius=2, fpSize=2048)


@dataclass(frozen=True)
class Judged:
    """What became of one molecule.

    Attributes:
        answered: Whether there is an answer.
        edits: How many edits the smallest takes.
        similarity: Tanimoto of input and answer.
        sane: Whether RDKit reads the answer's SMILES.
        holds: Whether the model changes its mind about the molecule read anew from that SMILES.
        accessibility: How hard input and answer are to make.
        seconds: CPU seconds.
    """

    answered: bool
    edits: int = 0
    similarity: float = 0.0
    sane: bool = False
    holds: bool = False
    accessibility: tuple[float, float] = (0.0, 0.0)
    seconds: float = 0.0


def main(argv: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("what", choices=("bbbp", "stale", "mutag0", "exmol", "brute", "draw"))
    parser.add_argument("--split", choices=("val", "test"), default="test")
    parser.add_argument("--oracle", type=Path, help="folder of a trained oracle")
    parser.add_argument("--number", type=int, help="molecules at most")
    arguments = parser.parse_args(argv)
    rdBase.DisableLog("rdApp.*")
    torch.set_num_threads(1)
    steps: dict[str, Callable[[argparse.Namespace], None]] = {
        "bbbp": bbbp,
        "stale": stale,
        "mutag0": mutag0,
        "exmol": beside_exmol,
        "brute": brute,
        "draw": draw,
    }
    steps[arguments.what](arguments)


def correctly_predicted(name: str, arguments: argparse.Namespace) -> tuple[Any, list[Data]]:
    """The oracle, and the graphs of a split whose class it predicts."""
    bundle = load_dataset(name)
    if arguments.oracle:
        oracle = load_oracle(arguments.oracle)
    else:
        trained = fit_classifier(bundle, load_preset(name, "cpu").oracle, 0)
        oracle = ModelOracle(trained.model, class_names=bundle.class_names)
    graphs = list(getattr(bundle, arguments.split))
    labels = oracle.predict(graphs).tolist()
    right = [g for g, label in zip(graphs, labels, strict=True) if label == int(g.y)]
    return oracle, right[: arguments.number]


def similarity(one: Any, other: Any) -> float:
    """Tanimoto of two molecules."""
    return float(DataStructs.TanimotoSimilarity(*map(_PRINTS.GetFingerprint, (one, other))))


def judged(answer: CounterfactualSet, oracle: Any, seconds: float) -> Judged:
    """An answer by its SMILES alone."""
    if answer.smallest is None:
        return Judged(False, seconds=seconds)
    text = to_smiles(answer, answer.smallest)
    mol, base = Chem.MolFromSmiles(text), Chem.MolFromSmiles(answer.graph.smiles)
    again = None if mol is None else oracle.predict([molecule_graph(text)])[0]
    return Judged(
        True,
        answer.smallest.size,
        similarity(base, mol),
        mol is not None,
        again is not None and int(again) != answer.label,
        (accessibility(base), accessibility(mol)),
        seconds,
    )


def explained(oracle: Any, graphs: Sequence[Data], **options: Any) -> list[Judged]:
    """Every molecule explained and judged."""
    explainer = EdgeFlip().fit([], oracle)
    found = []
    for graph in graphs:
        started = time.process_time()
        try:
            answer = explainer.explain(graph, **options)
        except EdgeflipError:
            found.append(Judged(False, seconds=time.process_time() - started))
            continue
        found.append(judged(answer, oracle, time.process_time() - started))
    return found


def columns(found: Sequence[Judged]) -> list[str]:
    """A row of figures, those of answers over answers alone."""
    told = [each for each in found if each.answered]
    if not told:
        return ["0", *["-"] * 7]
    low, high = wilson_ends(len(told) / len(found), len(found))
    edits = [each.edits for each in told]
    return [
        f"{len(told)} of {len(found)}: {len(told) / len(found):.3f} ({low:.3f} to {high:.3f})",
        interval(edits),
        f"{statistics.median(edits):g}",
        interval([each.similarity for each in told]),
        str(sum(each.sane for each in told)),
        str(sum(each.holds for each in told)),
        " → ".join(f"{statistics.fmean(e.accessibility[i] for e in told):.2f}" for i in (0, 1)),
        interval([each.seconds for each in found]),
    ]


def interval(values: Sequence[float]) -> str:
    """A mean with a 95 % bootstrap interval."""
    drawn = torch.tensor(list(map(float, values)))
    generator = torch.Generator().manual_seed(0)
    draws = torch.randint(len(drawn), (2000, len(drawn)), generator=generator)
    low, high = drawn[draws].mean(dim=1).quantile(torch.tensor([0.025, 0.975])).tolist()
    return f"{drawn.mean():.3f} ({low:.3f} to {high:.3f})"


ORGANIC = ("C", "N", "O", "F", "P", "S", "Cl", "Br", "I")

HEADS = (
    "search",
    "answered",
    "edits",
    "median",
    "Tanimoto",
    "sane",
    "hold from SMILES",
    "SA score",
    "CPU s a molecule",
)


def bbbp(arguments: argparse.Namespace) -> None:
    """Typed edits of BBBP, as they are and under limits."""
    oracle, graphs = correctly_predicted("bbbp", arguments)
    accessibility(Chem.MolFromSmiles("C"))  # its table is read once
    table = Table(
        *HEADS, title=f"BBBP, {len(graphs)} correctly predicted {arguments.split} molecules"
    )
    for name, moves in (
        ("typed edits", MoleculeMoves()),
        ("scaffold kept", MoleculeMoves(keep_scaffold=True)),
        ("with phosphorus", MoleculeMoves(elements=ORGANIC)),
        ("ring edits allowed", MoleculeMoves(rings=1)),
    ):
        row = columns(explained(oracle, graphs, edits=moves))
        print(name, *row, sep=" | ", file=sys.stderr, flush=True)
        table.add_row(name, *row)
    Console(width=200).print(table)


def draw(arguments: argparse.Namespace) -> None:
    """Ten answers as a picture: five that keep most of the molecule, and five that are hardest to make."""
    from edgeflip.draw import draw_grid

    arguments.number = arguments.number or 60
    oracle, graphs = correctly_predicted("bbbp", arguments)
    explainer = EdgeFlip().fit([], oracle)
    told = []
    for graph in graphs:
        answer = explainer.explain(graph)
        found = judged(answer, oracle, 0.0)
        # Small enough to be read in a grid.
        if found.answered and 8 <= graph.num_nodes <= 22:
            told.append((found, answer))
    good = sorted(told, key=lambda each: -each[0].similarity)[:5]
    bad = sorted(told, key=lambda each: each[0].accessibility[0] - each[0].accessibility[1])
    bad = [each for each in bad if each not in good][:5]
    titles = [
        f"Tanimoto {found.similarity:.2f}, SA {found.accessibility[0]:.1f} → {found.accessibility[1]:.1f}"
        for found, _ in [*good, *bad]
    ]
    picture = draw_grid([answer for _, answer in [*good, *bad]], titles=titles, columns=5)
    target = Path(__file__).resolve().parents[1] / "docs" / "figures" / "molecules-ten.svg"
    print(picture.save(target).name)
    for found, answer in [*good, *bad]:
        assert answer.smallest is not None
        what = answer.space.in_words(answer.smallest.edits)
        print(f"{answer.graph.smiles} → {to_smiles(answer, answer.smallest)}: {what}, {found}")


def stale(arguments: argparse.Namespace) -> None:
    """Edge answers, and what the model says of the molecules that they are."""
    arguments.number = arguments.number or 60
    oracle, graphs = correctly_predicted("bbbp", arguments)
    explainer = EdgeFlip().fit([], oracle)
    table = Table(
        "edges that come and go", "answered", "molecules", "still flip, features made anew"
    )
    for name, chemistry in (("any edges", False), ("the rules of chemistry first", True)):
        answers = [explainer.explain(g, edits="edges", chemistry=chemistry) for g in graphs]
        told = [answer for answer in answers if answer.found]
        real = [answer for answer in told if _written(answer)]
        flips = [
            a for a in real if int(oracle.predict([molecule_graph(_written(a))])[0]) != a.label
        ]
        table.add_row(name, f"{len(told)} of {len(graphs)}", str(len(real)), str(len(flips)))
    Console(width=120).print(table)


def _written(answer: CounterfactualSet) -> str:
    try:
        return to_smiles(answer, answer.smallest)
    except EdgeflipError:
        return ""


def mutag0(arguments: argparse.Namespace) -> None:
    """How many of Mutag0 have bond orders that follow, and typed answers for those that are mutagenic."""
    everything = load_dataset("mutag0").graphs
    typed = sum(_is_typed(graph) for graph in everything)
    print(f"bond orders follow for {typed} of {len(everything)} molecules of Mutag0")
    oracle, graphs = correctly_predicted("mutag0", arguments)
    explainer = EdgeFlip().fit([], oracle)
    wanted = [graph for graph in graphs if int(graph.y) == 0]
    kept = [graph for graph in wanted if _is_typed(graph)]
    edits, seconds = [], []
    for graph in kept:
        started = time.process_time()
        answer = explainer.explain(graph, edits="typed")
        seconds.append(time.process_time() - started)
        if answer.smallest is not None:
            edits.append(answer.smallest.size)
    low, high = wilson_ends(len(edits) / len(kept), len(kept))
    print(
        f"mutagenic {arguments.split} molecules, correctly predicted: {len(wanted)}, explainable "
        f"{len(kept)}, "
        f"answered {len(edits)} = {len(edits) / len(kept):.3f} ({low:.3f} to {high:.3f}), edits "
        f"{interval(edits)}, CPU s {interval(seconds)}"
    )


def _is_typed(graph: Data) -> bool:
    try:
        MoleculeEdits.of(graph)
    except EdgeflipError:
        return False
    return True


def beside_exmol(arguments: argparse.Namespace) -> None:
    """The same molecules and the same oracle for exmol, whose edits are of SELFIES."""
    try:
        exmol = import_module("exmol")
    except ImportError:
        raise SystemExit(
            "expected exmol for this comparison, got none installed; pip install exmol."
        ) from None
    oracle, graphs = correctly_predicted("bbbp", arguments)
    table = Table(*HEADS, title=f"{len(graphs)} correctly predicted {arguments.split} molecules")
    table.add_row("edgeflip", *columns(explained(oracle, graphs, edits="typed")))
    found = [_exmol_answer(exmol, oracle, graph) for graph in graphs]
    table.add_row("exmol", *columns(found))
    Console(width=200).print(table)


def _exmol_answer(exmol: Any, oracle: Any, graph: Data) -> Judged:
    label = int(oracle.predict([graph])[0])
    base = Chem.MolFromSmiles(graph.smiles)

    def classes(texts: Any, _: Any = None) -> Any:
        many = [texts] if isinstance(texts, str) else list(texts)
        graphs = []
        for text in many:
            try:
                graphs.append(molecule_graph(text))
            except EdgeflipError:
                graphs.append(graph)
        known = oracle.predict(graphs).numpy()
        return known[0] if isinstance(texts, str) else known

    started = time.process_time()
    try:
        space = exmol.sample_space(graph.smiles, classes, batched=True, quiet=True)
        told = [each for each in exmol.cf_explain(space, nmols=1) if not each.is_origin]
    except Exception as error:  # whatever exmol cannot take counts as no answer
        print(f"exmol: {type(error).__name__}: {error}", file=sys.stderr)
        told = []
    seconds = time.process_time() - started
    if not told:
        return Judged(False, seconds=seconds)
    text = told[0].smiles
    mol = Chem.MolFromSmiles(text)
    if mol is None:
        return Judged(True, seconds=seconds)
    holds = int(oracle.predict([molecule_graph(text)])[0]) != label
    hard = accessibility(base), accessibility(mol)
    return Judged(True, 0, similarity(base, mol), True, holds, hard, seconds)


def brute(arguments: argparse.Namespace) -> None:
    """Every claim that nothing is smaller, on 500 small molecules and 500 graphs with features."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
    small: Any = import_module("small_molecules")
    check_case: Any = import_module("test_feature_edits").check_case
    check_claim: Any = import_module("test_molecule_edits").check_claim
    number = arguments.number or 500
    oracle = small.random_oracle(1)
    explainer = EdgeFlip(EdgeFlipConfig(certify=1500)).fit([], oracle)
    for place, smiles in enumerate(small.small_smiles(number)):
        check_claim(explainer, oracle, smiles, small.all_moves(place) if place % 2 else None)
    print(f"{number} small molecules: no claim is wrong")
    claims = sum(check_case(seed) is not None for seed in range(number))
    print(f"{number} graphs with features, {claims} of which allow any move: no claim is wrong")


if __name__ == "__main__":
    main()
