"""Library calls about data, molecules, names and figures, as entries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from hypothesis import strategies as st

import edgeflip
from edgeflip import CounterfactualSet
from edgeflip.metrics import describe, mmd, wilson
from fuzzing.drawing import (
    GRAPHS,
    SETS,
    Calls,
    calls,
    choice,
    entries_of,
    graphs,
    mostly,
    numbers,
    odd,
    texts,
    with_fixed,
)
from fuzzing.entry import Entry
from fuzzing.rightness import require, sound_graph


def _bundled(given: dict[str, Any]) -> Any:
    return edgeflip.bundle_from(given.pop("graphs"), given.pop("labels", None), **given)


def _check_bundled(bundle: Any) -> None:
    for graph in bundle.graphs:
        require(bool(torch.isfinite(graph.x).all()), "x is not finite")
        require(0 <= int(graph.y) < bundle.num_classes, "a label has no class")


def _molecule(given: dict[str, Any]) -> Any:
    graph = edgeflip.molecule_graph(given.get("smiles", "CCO"), bonds=given.get("bonds", False))
    if graph is None:
        return None
    sound_graph(graph)
    edgeflip.molecule_constraints(graph)
    return edgeflip.to_smiles(graph)


def _chemistry(given: dict[str, Any]) -> Any:
    graph = given.pop("graph")
    if given.pop("smiles", False):
        return edgeflip.to_smiles(graph)
    return edgeflip.molecule_constraints(graph, **given)


def _measured(given: dict[str, Any]) -> Any:
    if "graphs" in given:
        some = describe(given["graphs"])
        return mmd(some, some)
    return wilson(given.get("hits", 1), given.get("count", 2))


_LOADED = ["preset", "dataset", "graph", "graphs", "oracle", "answer"]


def _loaded(given: dict[str, Any]) -> Any:
    what = given.pop("what")
    if what == "preset":
        return edgeflip.load_preset(given.get("name", "ba_2motifs"), given.get("profile", "smoke"))
    functions: dict[str, Callable[..., Any]] = {
        "dataset": edgeflip.load_dataset,
        "graph": edgeflip.read_graph,
        "graphs": edgeflip.load_graphs,
        "oracle": edgeflip.load_oracle,
        "answer": CounterfactualSet.load_json,
    }
    return functions[what](given.get("name", "nowhere"))


def _read_payload(given: dict[str, Any]) -> Any:
    return CounterfactualSet.from_dict(given["payload"])


def _table() -> Calls:
    some_graphs = st.one_of(choice(SETS), st.lists(graphs, min_size=1, max_size=5))
    labels = st.one_of(
        st.none(), odd, st.lists(st.one_of(st.integers(0, 1), texts, numbers), max_size=6)
    )
    return {
        "metrics": (
            st.one_of(
                calls(hits=st.integers(0, 5), count=st.integers(0, 9)),
                st.fixed_dictionaries({"graphs": st.lists(graphs, max_size=3)}),
            ),
            _measured,
            None,
        ),
        "bundle_from": (
            with_fixed(
                calls(
                    name=st.just("own"),
                    class_names=st.sampled_from([None, ["a", "b"]]),
                    split=st.sampled_from(["random", "stratified"]),
                    seed=st.integers(0, 3),
                    drawing=st.just("plain"),
                    labels=labels,
                ),
                graphs=mostly(some_graphs),
            ),
            _bundled,
            _check_bundled,
        ),
        "molecule_graph": (
            calls(
                smiles=st.one_of(texts, st.text("CNO()[]=#123456789.+-@Hc", max_size=20)),
                bonds=st.booleans(),
            ),
            _molecule,
            None,
        ),
        "molecule_constraints": (
            with_fixed(
                calls(
                    keep_connected=st.booleans(),
                    smallest_ring=st.integers(0, 9),
                    keep_aromatic=st.booleans(),
                ),
                graph=st.one_of(choice({"molecule": GRAPHS["molecule"]}), graphs),
                smiles=st.booleans(),
            ),
            _chemistry,
            None,
        ),
        "loading by name": (
            with_fixed(calls(name=texts, profile=st.just("smoke")), what=st.sampled_from(_LOADED)),
            _loaded,
            None,
        ),
        "answer from a table": (with_fixed(st.just({}), payload=odd), _read_payload, None),
    }


def data_call_entries() -> list[Entry]:
    """Everything that reads, makes or measures data."""
    return entries_of(_table(), {})
