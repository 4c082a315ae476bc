"""Small molecules made up by typed edits, and what a model says of every one that edits can make of them."""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import cache
from typing import Any

import torch

from edgeflip.datasets import MoleculeEdits, MoleculeMoves, molecule_graph
from edgeflip.oracle import GCNClassifier, ModelOracle

SEEDS = (
    "CCO",
    "CC(=O)N",
    "C1CC1",
    "c1ccco1",
    "CC#N",
    "CSC",
    "C=CCl",
    "C1CCNC1",
    "CC(C)(C)F",
    "c1ccncc1",
)


@cache
def small_smiles(count: int, most: int = 7) -> tuple[str, ...]:
    """Different molecules of at most so many atoms."""
    rng = random.Random("small molecules")
    found = dict.fromkeys(SEEDS)
    known = list(found)
    while len(found) < count:
        space = MoleculeEdits.of(molecule_graph(rng.choice(known)))
        ids = space.allowed[rng.randrange(len(space.allowed))].reshape(1, 1)
        smiles = space.smiles(space.edits(ids)[0])
        if smiles not in found and 2 <= molecule_graph(smiles).num_nodes <= most:
            found[smiles] = None
            known.append(smiles)
    return tuple(found)[:count]


def random_oracle(seed: int) -> ModelOracle:
    """An untrained network that tells molecules apart, its border in the middle of the small ones."""
    generator = torch.Generator().manual_seed(seed)
    model = GCNClassifier(num_features=9, num_classes=2, layers=(16, 16))
    with torch.no_grad():
        for weight in model.parameters():
            weight.copy_(torch.randn(weight.shape, generator=generator) * 0.15)
    oracle = ModelOracle(model)
    graphs = [molecule_graph(text) for text in small_smiles(40)]
    with torch.no_grad():
        proba = oracle.predict_proba(graphs).double().clamp(1e-9, 1 - 1e-9)
        odds = (proba[:, 1] / proba[:, 0]).log()
        model.classify.bias[1] -= odds.median().float()
    return oracle


def made_anew(space: MoleculeEdits, cost: int) -> Iterator[tuple[Any, Any]]:
    """Every set of a cost by code of its own, and the graph that its SMILES makes."""
    for edits in space.plainly(cost):
        yield edits, molecule_graph(space.smiles(edits))


def all_moves(seed: int) -> MoleculeMoves:
    """Moves of several prices, some of them switched off."""
    rng = random.Random(f"moves {seed}")
    price = {name: rng.choice((1, 1, 2, None)) for name in ("bond", "attach", "drop", "charge")}
    return MoleculeMoves(
        replace=rng.choice((1, 2)),
        rings=rng.choice((None, 1, 2)),
        elements=("C", "N", "O", "F", "S")[: rng.choice((3, 5))],
        **price,
    )
