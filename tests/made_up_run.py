"""A made-up run of a benchmark, whose means are worked out by hand."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from edgeflip.support import write_json
from edgeflip.support.journal import signed

VARIANT = "dr-cfgnn -DeN +OH"
DENOISED = "dr-cfgnn +DeN +OH"
ODD = "a_b & <c>"

Row = dict[str, Any]


def graph(method: str, seed: int, number: int, **more: Any) -> Row:
    """One line of a graph: not found, unless a size is given."""
    found = more.get("size") is not None
    row: Row = {
        "kind": "graph",
        "dataset": "ba_2motifs",
        "method": method,
        "explainer": method.split()[0],
        "seed": seed,
        "graph": number,
        "label": 0,
        "truth": 0,
        "status": "found" if found else "exhausted",
        "stopped_by": "exhausted",
        "message": "" if found else "Searched all 12 edit sets.",
        "error": None,
        "found": found,
        "to": 1 if found else None,
        "size": None,
        "first_size": None,
        "fidelity": 0.5 if found else None,
        "score": 0.5 if found else None,
        "minimality": 1.0 if found else None,
        "minimality_of_smallest": 0.5 if found else None,
        "motif_proximity": 1.0 if found else None,
        "flips": int(found),
        "proposals": 12,
        "oracle_calls": 10,
        "added": [],
        "removed": [],
        "added_likelihood": None,
        "removed_likelihood": None,
        "wall_seconds": 1.0,
        "cpu_seconds": 2.0,
        "stages": {},
        "notes": {},
        "noise": None,
        "targets": None,
    }
    return row | more


def noise(same: bool, jaccard: float, changes: int, kept: int, each: Sequence[float]) -> Row:
    return {
        "label_kept": True,
        "found": True,
        "same_change": same,
        "jaccard": jaccard,
        "changes": changes,
        "changes_kept": kept,
        "change_jaccards": list(each),
    }


def to(size: float | None) -> Row:
    """The answer to the question for one class."""
    found = size is not None
    worth = 0.5 if found else None
    return {
        "found": found,
        "size": size,
        "fidelity": worth,
        "minimality": worth,
        "motif_proximity": worth,
    }


def random_rows() -> list[Row]:
    return [
        graph("random", 0, 0, size=1, fidelity=0.5, noise=noise(True, 1.0, 2, 2, [1.0, 0.5])),
        graph("random", 0, 1, size=2, fidelity=0.7, noise=noise(True, 0.5, 2, 1, [0.3])),
        graph("random", 0, 2, size=3, fidelity=0.9, noise=noise(False, 0.0, 1, 0, [])),
        graph("random", 0, 3, status="timeout", stopped_by="timeout"),
        graph("random", 1, 0, size=1, fidelity=0.8, noise=noise(True, 0.25, 1, 1, [0.25])),
        graph("random", 1, 1, size=1, fidelity=0.8, noise=noise(True, 0.75, 1, 1, [0.75])),
        graph("random", 1, 2),
        graph("random", 1, 3, status="error", error="the file /data/me/x.pt is\nno <model>"),
    ]


def variant_rows() -> list[Row]:
    stages = {"deconstruct": {"seconds": 0.25, "oracle_calls": 4}}
    asked = [
        (0, 1.0, {"1": to(1), "2": to(None)}),
        (0, 2.0, {"1": to(3), "2": to(None)}),
        (1, 1.0, {"0": to(2), "2": to(4)}),
        (1, None, None),
    ]
    return [
        graph(VARIANT, 0, number, label=label, size=size, targets=targets, stages=stages)
        for number, (label, size, targets) in enumerate(asked)
    ]


def denoised_rows() -> list[Row]:
    stages = {
        "denoise": {"seconds": 0.5, "oracle_calls": 1},
        "deconstruct": {"seconds": 0.125, "oracle_calls": 2},
    }
    return [
        graph(DENOISED, 0, number, size=1, stages=stages, notes={"denoised_edges": edges})
        for number, edges in enumerate((2, 5))
    ]


def plausibility(method: str, mmd: float) -> Row:
    names = ("degree_mmd", "clustering_mmd", "spectrum_mmd")
    return {
        "kind": "plausibility",
        "dataset": "ba_2motifs",
        "method": method,
        "seed": 0,
        "graphs": 4,
        **dict.fromkeys(names, mmd),
        **{f"baseline_{name}": 0.125 for name in names},
    }


def other_rows() -> list[Row]:
    oracle: Row = {"kind": "oracle", "seconds": 9.0, "cpu_seconds": 9.0, "graphs": 4}
    oracle |= {"test_graphs": 100, "origin": "file", "class_names": ["cycle", "house", "clique"]}
    names = ("BA-2Motifs", True)
    return [
        oracle
        | dict(zip(("title", "has_motif"), names, strict=True))
        | {"dataset": "ba_2motifs", "seed": seed, "accuracy": accuracy}
        for seed, accuracy in ((0, 0.9), (1, 1.0))
    ] + [
        oracle
        | {"dataset": "mine", "seed": 0, "accuracy": 0.8, "title": "Mine", "has_motif": False},
        {"kind": "fit", "dataset": "ba_2motifs", "method": "random", "seed": 0, "seconds": 0.0}
        | {"learns": False, "explainer": "random", "cpu_seconds": 0.0, "notes": {}},
        {"kind": "fit", "dataset": "ba_2motifs", "method": VARIANT, "seed": 0, "seconds": 12.0}
        | {"learns": True, "explainer": "dr-cfgnn", "cpu_seconds": 20.0, "notes": {}},
        graph(ODD, 0, 0, dataset="mine", size=1),
        graph(ODD, 0, 1, dataset="mine", size=1, motif_proximity=None),
        plausibility("random", 0.5),
        plausibility(VARIANT, 0.25),
        {"kind": "skipped", "dataset": "bbbp", "reason": "no file at /data/sets/bbbp.csv"},
    ]


META = {
    "spec": {
        "title": "Made up <here>",
        "profile": "cpu",
        "datasets": ["ba_2motifs", "mine", "bbbp"],
        "seeds": [0, 1],
        "methods": [{"name": "random", "label": name} for name in ("random", VARIANT, DENOISED)],
    },
    "spec_name": "made-up",
    "spec_checksum": "0123456789abcdef",
    "versions": {"edgeflip": "0.1.0", "torch": "2.0"},
    "command": "edgeflip bench run made-up --out /somewhere/else/runs",
    "started": "2026-11-16T00:10:00Z",
    "machine": "Linux x86_64, 2 cores",
    "row_checksums": True,
    "sessions": [
        {"seconds": 60.0, "training": 30.0, "explaining": 20.0, "oracle": 4.0, "other": 6.0},
        {"seconds": 40.0, "training": 10.0, "explaining": 20.0, "oracle": 6.0, "other": 4.0},
    ],
}


def write_run(folder: Path, rows: Sequence[Row], tail: str = "", meta: Any = META) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    write_json(folder / "meta.json", meta)
    lines = "".join(f"{json.dumps(signed(row))}\n" for row in rows)
    (folder / "results.jsonl").write_text(lines + tail, encoding="utf-8")
    return folder


def made_up() -> list[Row]:
    return [*random_rows(), *variant_rows(), *denoised_rows(), *other_rows()]
