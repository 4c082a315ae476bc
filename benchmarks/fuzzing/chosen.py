"""Changes that chance hardly ever makes: the first cases of an entry, one after the other."""

from __future__ import annotations

from typing import Any

Way = tuple[str | int, ...]

_GRAPH: Way = ("space", "graph")
_X: Way = (*_GRAPH, "tensors", "x")

ANSWERS: tuple[tuple[Way, Any], ...] = (
    (("space", "constraints", "rules"), ["mine"]),
    (("space", "constraints", "nothing"), 1),
    (("space", "constraints", "room"), [[0, 1, 2]]),
    (("space", "constraints"), []),
    ((*_GRAPH, "others"), {"a": [1]}),
    ((*_GRAPH, "others"), {"a": {"not_finite": "NaN"}, "names": ["a", "b"]}),
    ((*_GRAPH, "others"), {"num_nodes": 3}),
    ((*_GRAPH, "num_nodes"), 10**9),
    ((*_GRAPH, "num_nodes"), 9),
    ((*_GRAPH, "tensors", ""), {"dtype": "int64", "values": [1], "shape": [1]}),
    ((*_X, "shape"), [7]),
    ((*_X, "shape"), [1] * 12),
    ((*_X, "dtype"), "int64"),
    (_X, {"dtype": "int64", "values": [2**70], "shape": [1]}),
    (_X, {"dtype": "int64", "values": [1.5], "shape": [1]}),
    (_X, {"dtype": "float32", "values": [None], "shape": [1]}),
    (_X, {"dtype": "float32", "values": [{"not_finite": "x"}], "shape": [1]}),
    (_X, {"dtype": "float32", "values": {"not_finite": "NaN"}, "shape": []}),
    (("space", "kind"), "triples"),
    (("space",), {"kind": "pairs"}),
    (("goal", "kind"), "nothing"),
    (("goal", "target"), 7),
    (("goal", "before"), [0.5]),
    (("goal",), {"kind": "value"}),
    (("counterfactuals", 0, "edits", "added"), [[0, 0]]),
    (("counterfactuals", 0, "edits", "added"), [[0, 99]]),
    (("counterfactuals", 0, "edits", "removed"), [[0, 1], [0, 1]]),
    (("counterfactuals", 0, "edits"), {"added": 1}),
    (("counterfactuals", 0, "output"), [1.0]),
    (("format",), 99),
)
"""Places in an answer, and what is put there."""

EXPLAINERS: tuple[tuple[Way, Any], ...] = (
    (("config", "num_classes"), 7),
    (("config", "oracle"), "another"),
    (("config", "method"), "cf-gnnexplainer"),
    (("config", "method"), "nothing"),
    (("config", "num_features"), 99),
    (("kind",), "oracle"),
)
"""Places in the description of an explainer, and what is put there."""

# Of the right type, and senseless all the same.
SPEC_VALUES: dict[str, list[Any]] = {
    "datasets": [[], ["ba_2motifs", "BA-2Motifs"], ["nowhere"], ["ba_4motifs"]],
    "seeds": [[], [-1], [0, 0], [2**70]],
    "graphs": [0, -3, {"ba_9": 2}, {"ba_2motifs": 0}, 10**12],
    "keep": [0, -1, 10**12],
    "seconds": [0.0, -1.0, 1e999, 1e-300],
    "profile": ["", "fast", "paper"],
    "data": [
        {"own": {"path": "nowhere.csv"}},
        {"own": {"path": "."}},
        {"own": {"path": ".", "nothing": 1}},
        {"ba_2motifs": {"path": "."}},
        {"own": 3},
    ],
    "methods": [
        [],
        [3],
        [{"name": "random"}, {"name": "random"}],
        [{"name": "nothing"}],
        [{"name": "random", "datasets": ["ba_9"]}],
        [{"name": "random", "datasets": []}],
        [{"name": "random", "settings": {"nothing": 1}}],
        [{"name": "edgeflip", "label": "dr-cfgnn -DeN +OH"}],
        [{"name": "dr-cfgnn", "label": "dr-cfgnn -DeN +OH"}],
        [{"name": "random", "profile": "fast"}],
    ],
}

SPECS: tuple[tuple[str, Any], ...] = tuple(
    (key, value) for key, values in reversed(SPEC_VALUES.items()) for value in values
)

_ARRAY = b"cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\n(I0\ntVb\ntR"
_TYPE = b"cnumpy\ndtype\n(Vf4\nI0\nI1\ntR(I3\nV<\nNNNI-1\nI-1\nI0\ntb"

PICKLES: tuple[bytes, ...] = (
    b"cos\nsystem\n(S'true'\ntR.",
    b"\x80\x04N.",
    b"\x80\x04]\x94.",
    b"cnumpy\ndtype\n(S'O8'\nI0\nI1\ntR.",
    b"cnumpy\ndtype\n(VO8\nI0\nI1\ntR.",
    b"c_codecs\nencode\n(Vx\nVutf-8\ntR.",
    b"cnumpy\nndarray\n.",
    b"cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\n(I3\ntVb\ntR.",
    b"cnumpy.core.numeric\n_frombuffer\n(I1\nI1\nI1\nVK\ntR.",
    b"cnumpy\ndtype\n(Vf4\nI0\nI1\ntR(I3\nV?\nNNNI-1\nI-1\nI0\ntb.",
    b"I1\n(Vx\ntR.",
    b"I1\n(Vx\ntb.",
    _ARRAY + b"(I1\n(I-1\nt" + _TYPE + b"I00\nC\x04abcdtb.",
    _ARRAY + b"(I1\n(I3\nt" + _TYPE + b"I00\nC\x04abcdtb.",
    _ARRAY + b"(I1\n(I1\nt" + _TYPE + b"I00\nC\x04abcdtb.",
    _ARRAY + b"(I1\n(I1\nt" + _TYPE + b"I00\nNtb.",
    b"\x80\x04" + b"N" * 200_000 + b".",
)
"""Pickles by hand."""

_OWN = "explain --graph graph.json --profile smoke --calls 30 --model"
LINES: tuple[str, ...] = (
    f"{_OWN} model.py:build --weights w.safetensors",
    f"{_OWN} model.py:build --weights nowhere",
    f"{_OWN} model.py:build --weights graph.json",
    f"{_OWN} model.py:one_logit",
    f"{_OWN} model.py:nothing",
    f"{_OWN} model.py:broken",
    f"{_OWN} model.py:word",
    f"{_OWN} nowhere.py:build",
    "bench run quick --out graph.json",
)
"""Command lines that are taken as they are."""


def put(tree: Any, way: Way, value: Any) -> Any:
    """A tree with another value at one place; as it was if there is no such place."""
    part = tree
    try:
        for key in way[:-1]:
            part = part[key]
        part[way[-1]] = value
    except (KeyError, IndexError, TypeError):
        pass
    return tree
