"""The models of `trust.py`: GCNs from several seeds, and GINs, trained once and kept in a folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.nn import functional
from torch_geometric.loader import DataLoader
from torch_geometric.nn import GIN, global_add_pool

from edgeflip import DatasetBundle, ModelOracle
from edgeflip.support import seeded
from edgeflip.training import oracle_for

_WIDTH, _LAYERS, _BATCH, _RATE, _EPOCHS = 32, 3, 64, 0.003, 60


class GINClassifier(nn.Module):
    """Three layers of PyG's GIN, summed over the nodes: another kind of model than our GCN."""

    def __init__(self, features: int, classes: int) -> None:
        super().__init__()
        self.body: Any = GIN(features, _WIDTH, _LAYERS, norm="batch_norm", dropout=0.2)
        self.head = nn.Linear(_WIDTH, classes)

    def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor | None = None) -> Any:
        """Logits [graphs, C]."""
        return self.head(global_add_pool(self.body(x, edge_index), batch))


def gcn(bundle: DatasetBundle, folder: Path, seed: int, profile: str) -> ModelOracle:
    """The oracle of the dataset's preset, from a seed."""
    return oracle_for(bundle, folder / bundle.name / f"gcn-{seed}", profile=profile, seed=seed)


def gin(bundle: DatasetBundle, folder: Path, seed: int, profile: str) -> ModelOracle:
    """A GIN from a seed, of the epoch that is best on the validation graphs."""
    path = folder / bundle.name / f"gin-{seed}.safetensors"
    with seeded(seed):
        model = GINClassifier(bundle.num_features, bundle.num_classes)
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            save_file(_trained(model, bundle, 2 if profile == "smoke" else _EPOCHS), path)
    model.load_state_dict(load_file(path))
    model.eval()
    return ModelOracle(
        model, num_classes=bundle.num_classes, class_names=bundle.class_names or None
    )


def _trained(model: GINClassifier, bundle: DatasetBundle, epochs: int) -> dict[str, Tensor]:
    optimizer = torch.optim.Adam(model.parameters(), lr=_RATE)
    train: Any = DataLoader(bundle.train, batch_size=_BATCH, shuffle=True)
    val: Any = DataLoader(bundle.val, batch_size=512)
    best, state = -1.0, {}
    for _ in range(epochs):
        model.train()
        for batch in train:
            optimizer.zero_grad()
            loss = functional.cross_entropy(model(batch.x, batch.edge_index, batch.batch), batch.y)
            loss.backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            hits = sum(
                int((model(each.x, each.edge_index, each.batch).argmax(dim=1) == each.y).sum())
                for each in val
            )
        if hits > best:
            best = hits
            state = {name: value.clone() for name, value in model.state_dict().items()}
    return state
