"""Noise on edited molecules: what a noisy copy lost, its edited versions lose as well."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch_geometric.data import Batch, Data

from edgeflip.core import edge_pairs, sorted_rows

if TYPE_CHECKING:
    from edgeflip.datasets.molecule_edits import MoleculeEdits


class NoisyMolecules:
    """Edited molecules with the noise of a copy: bonds that it lost, features that it changed.

    Args:
        space: The molecule.
        noisy: The copy with noise.
    """

    kind = "noisy molecule"

    def __init__(self, space: MoleculeEdits, noisy: Data) -> None:
        self._space, self.input = space, noisy
        before, after = edge_pairs(space.input), edge_pairs(noisy)
        self._lost, self._new = before - after, after - before
        self._other = (space.input.x != noisy.x).any(dim=1).nonzero().flatten().tolist()

    def apply(self, rows: Tensor) -> list[Data]:
        """The edited molecules, with noise."""
        graphs = []
        for graph, kept in zip(self._space.apply(rows), self._kept(rows), strict=True):
            x, edges = graph.x.clone(), set(edge_pairs(graph))
            for node in self._other:
                if node in kept:
                    x[kept[node]] = self.input.x[node].to(x.dtype)
            for pairs, there in ((self._lost, False), (self._new, True)):
                for u, v in pairs:
                    if u in kept and v in kept:
                        pair = (min(kept[u], kept[v]), max(kept[u], kept[v]))
                        (edges.add if there else edges.discard)(pair)
            both = sorted({*edges, *((v, u) for u, v in edges)})
            index = torch.tensor(both, dtype=torch.long).reshape(-1, 2).t().contiguous()
            noisy = Data(x=x, edge_index=index)
            if "z" in graph:
                noisy.z = graph.z
            graphs.append(noisy)
        return graphs

    def batch(self, rows: Tensor, device: torch.device | None = None) -> Batch:
        """The same as one batch."""
        made: Batch = Batch.from_data_list(self.apply(rows))
        return made if device is None else made.to(device)

    def _kept(self, rows: Tensor) -> list[dict[int, int]]:
        """Where each node of the input stands in each edited molecule, as far as it can be told."""
        space = self._space
        versions = space._versions(sorted_rows(rows).numpy())
        found = []
        for alive in versions.alive:
            places: dict[int, int] = {}
            if space.source.has_hydrogens:
                # Where hydrogens are nodes, atoms alone are followed up to the first that goes.
                limit = alive[: space.base.count].all()
                places = {int(node): int(node) for node in space.source.nodes} if limit else {}
            else:
                for node in alive[: space.base.count].nonzero()[0].tolist():
                    places[node] = len(places)
            found.append(places)
        return found
