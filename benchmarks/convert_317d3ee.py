"""Oracles and fits that commit 317d3ee saved, in the form of today, for `golden.py`.

    python benchmarks/convert_317d3ee.py OLD_MODELS runs/golden

OLD_MODELS is the folder `models` of `edgeflip bench run ba` and `real` at that commit. What belongs to
which dataset is read from the files themselves. The package itself refuses such files.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file
from torch import Tensor

from edgeflip.support import write_artifact

LINK_METHODS = ("dr-cfgnn", "edgeflip")


def main(argv: Sequence[str] | None = None) -> None:
    """Convert every folder, and say what became of it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    options = parser.parse_args(argv)
    artifacts = [_read(path.parent) for path in sorted(options.old.glob("*/config.json"))]
    datasets = {}
    for kind, config, tensors in artifacts:
        if kind == "oracle":
            dataset = config["report"]["dataset"]
            datasets[_fingerprint(tensors)] = dataset
            write_artifact(
                options.new / dataset / "oracle", kind=kind, config=config, tensors=tensors
            )
            print(f"{dataset}: oracle")
    for kind, config, tensors in artifacts:
        if kind == "explainer" and config["oracle"] in datasets:
            folder = options.new / datasets[config["oracle"]]
            for name, form, state in _converted(config, tensors):
                write_artifact(folder / name, kind=kind, config=form, tensors=state)
                print(f"{folder.name}: {name}")


def _read(folder: Path) -> tuple[str, dict[str, Any], dict[str, Tensor]]:
    document = json.loads((folder / "config.json").read_text())
    if document["format"] != 1:
        raise SystemExit(
            f"expected artifacts of format 1, as 317d3ee wrote them, got {document['format']} in {folder}."
        )
    return document["kind"], document["config"], load_file(folder / "model.safetensors")


def _converted(
    config: dict[str, Any], tensors: dict[str, Tensor]
) -> list[tuple[str, dict[str, Any], dict[str, Tensor]]]:
    """An explainer by the names it has today; a link predictor serves two methods."""
    method = config["method"]
    if method != "dr-cfgnn":
        return [(method, config, tensors)]
    features, classes, max_nodes = tensors.pop("sizes").tolist()
    state = {
        **{key: value for key, value in tensors.items() if key.startswith("predictor.")},
        "known": tensors["classes"],
        "report": tensors["report"],
        "stopped": tensors["stopped"],
        "sizes": torch.tensor([features, classes]),
        # Not kept then; the size that was worked out from it was.
        "mean_nodes": torch.tensor(2.0 * max_nodes, dtype=torch.float64),
        "max_nodes": torch.tensor(max_nodes),
    }
    variant = "+OH" if config["config"]["one_hot"] else "-OH"
    return [(f"{name}{variant}", {**config, "method": name}, state) for name in LINK_METHODS]


def _fingerprint(tensors: dict[str, Tensor]) -> str:
    """As `ModelOracle.fingerprint` of a `GCNClassifier` with these weights."""
    digest = hashlib.sha256(b"GCNClassifier")
    for key, value in sorted(tensors.items()):
        digest.update(key.encode())
        flat = value.contiguous().flatten()
        digest.update(flat.view(torch.uint8).numpy().tobytes() if flat.numel() else b"")
    return digest.hexdigest()[:16]


if __name__ == "__main__":
    main()
