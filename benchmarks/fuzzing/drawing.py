"""Arguments of library calls, drawn by hypothesis: right ones, odd ones, and graphs and models."""

from __future__ import annotations

import math
import random
import zlib
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

import hypothesis
import networkx as nx
import numpy as np
import torch
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from torch_geometric.data import Batch, Data, HeteroData

from edgeflip import molecule_graph
from edgeflip.oracle import GCNClassifier
from edgeflip.testing import example_graphs, example_oracle
from fuzzing.entry import Case, Entry, Room

Strategy = st.SearchStrategy[Any]

_BATCH = 25


@lru_cache(maxsize=32)
def _batch(strategy: Strategy, seed: int) -> list[Any]:
    found: list[Any] = []

    @hypothesis.seed(seed)
    @settings(
        max_examples=_BATCH,
        database=None,
        deadline=None,
        phases=(Phase.generate,),
        suppress_health_check=list(HealthCheck),
    )
    @given(strategy)
    def collect(value: Any) -> None:
        found.append(value)

    collect()
    return found


def drawn(strategy: Strategy, seed: int, number: int) -> Any:
    """The value of one place: hypothesis draws a batch of them at a time."""
    values = _batch(strategy, seed + number // _BATCH)
    return values[number % len(values)]


class Odd:
    """An object that nobody expects."""

    def __repr__(self) -> str:
        return "Odd()"


# Made anew for every example: what is drawn may be changed by those who get it.
_ODD: dict[str, Callable[[], Any]] = {
    "tensor": lambda: torch.tensor(1),
    "tensors": lambda: torch.ones(2, 2),
    "nan tensor": lambda: torch.tensor(math.nan),
    "numpy int": lambda: np.int64(1),
    "numpy float": lambda: np.float32(0.5),
    "array": lambda: np.ones(3),
    "object": Odd,
    "type": lambda: int,
    "function": lambda: len,
    "set": lambda: {1},
    "frozenset": lambda: frozenset({(0, 1)}),
    "bytes": lambda: b"x",
    "complex": lambda: 1j,
    "range": lambda: range(3),
    "generator": lambda: (value for value in (1, 2)),
    "data": Data,
    "lone half": lambda: "\ud800",
    "ellipsis": lambda: ...,
}


class Made:
    """A value that is made when it is used, with a name for people."""

    def __init__(self, name: str, make: Callable[[], Any]) -> None:
        self.name, self.make = name, make

    def __repr__(self) -> str:
        return f"<{self.name}>"


def built(value: Any) -> Any:
    """The value itself, with everything in it made."""
    if isinstance(value, Made):
        return value.make()
    if isinstance(value, dict):
        return {key: built(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [built(entry) for entry in value]
    return value


numbers: Strategy = st.one_of(
    st.integers(-3, 12),
    st.sampled_from(
        [math.inf, -math.inf, math.nan, 1e308, 10**30, -(10**30), 2**31, 2**63, 10**10, 0.5, -0.5]
    ),
    st.floats(),
    st.integers(),
)
texts: Strategy = st.one_of(st.sampled_from(["", "x", "1", "nan", "n" * 5_000, "\x00"]), st.text())
odd: Strategy = st.one_of(
    st.none(),
    st.booleans(),
    numbers,
    texts,
    st.lists(numbers, max_size=3),
    st.tuples(numbers, numbers),
    st.dictionaries(st.one_of(texts, st.integers(-2, 5)), numbers, max_size=2),
    st.sampled_from([Made(name, make) for name, make in _ODD.items()]),
)


def mostly(good: Strategy) -> Strategy:
    """A right value two times out of three."""
    return st.one_of(good, good, odd)


def calls(**keywords: Strategy) -> Strategy:
    """Some of the keywords, most of them right, none, one or two of them odd."""
    right = st.fixed_dictionaries({}, optional=dict(keywords))
    wrong = st.dictionaries(st.sampled_from(sorted(keywords)), odd, max_size=2)
    return st.builds(lambda one, other: {**one, **other}, right, wrong)


def choice(options: Mapping[str, Callable[[], Any]]) -> Strategy:
    """One of these, made anew."""
    return st.sampled_from([Made(name, make) for name, make in options.items()])


def _graph(**changes: Any) -> Data:
    graph = example_graphs(1, seed=4)[0]
    for key, value in changes.items():
        graph[key] = value
    return graph


def _edges(*pairs: tuple[Any, Any], dtype: torch.dtype = torch.long) -> torch.Tensor:
    return torch.tensor(pairs, dtype=dtype).reshape(-1, 2).t()


def _hetero() -> HeteroData:
    graph = HeteroData()
    graph["a"].x = torch.ones(2, 4)
    return graph


_OWN = example_graphs(1, seed=4)[0]
GRAPHS: dict[str, Callable[[], Any]] = {
    "graph": _graph,
    "another graph": lambda: example_graphs(1, seed=9)[0],
    "graph without x": lambda: Data(edge_index=_OWN.edge_index, num_nodes=9),
    "x of one dimension": lambda: _graph(x=torch.ones(9)),
    "x of three dimensions": lambda: _graph(x=torch.ones(9, 4, 1)),
    "x too short": lambda: _graph(x=torch.ones(3, 4)),
    "x too wide": lambda: _graph(x=torch.ones(9, 7)),
    "x with NaN": lambda: _graph(x=torch.full((9, 4), math.nan)),
    "x infinite": lambda: _graph(x=torch.full((9, 4), math.inf)),
    "x of integers": lambda: _graph(x=torch.ones(9, 4, dtype=torch.long)),
    "x of doubles": lambda: _graph(x=torch.ones(9, 4, dtype=torch.float64)),
    "x boolean": lambda: _graph(x=torch.ones(9, 4, dtype=torch.bool)),
    "x complex": lambda: _graph(x=torch.ones(9, 4, dtype=torch.complex64)),
    "x sparse": lambda: _graph(x=torch.ones(9, 4).to_sparse()),
    "x a list": lambda: _graph(x=[[1.0] * 4] * 9),
    "x None": lambda: _graph(x=None),
    "edges as floats": lambda: _graph(edge_index=_OWN.edge_index.float()),
    "edges as int32": lambda: _graph(edge_index=_OWN.edge_index.int()),
    "edges out of range": lambda: _graph(edge_index=_edges((0, 99), (99, 0))),
    "edges negative": lambda: _graph(edge_index=_edges((0, -1), (-1, 0))),
    "edges one way": lambda: _graph(edge_index=_edges((0, 1), (1, 2))),
    "edges twice": lambda: _graph(edge_index=_edges((0, 1), (1, 0), (0, 1), (1, 0))),
    "edges transposed": lambda: _graph(edge_index=_OWN.edge_index.t()),
    "edges a list": lambda: _graph(edge_index=[[0, 1], [1, 0]]),
    "edges None": lambda: _graph(edge_index=None),
    "no edges": lambda: _graph(edge_index=_edges()),
    "all edges": lambda: _graph(edge_index=(1 - torch.eye(9)).nonzero().t().contiguous()),
    "self-loops": lambda: _graph(edge_index=_edges((0, 0), (0, 1), (1, 0))),
    "no nodes": lambda: Data(x=torch.ones(0, 4), edge_index=_edges()),
    "one node": lambda: Data(x=torch.ones(1, 4), edge_index=_edges()),
    "two nodes": lambda: Data(x=torch.ones(2, 4), edge_index=_edges((0, 1), (1, 0))),
    "empty": Data,
    "many nodes in name": lambda: Data(edge_index=_edges((0, 1), (1, 0)), num_nodes=10**10),
    "num_nodes too small": lambda: Data(edge_index=_edges((0, 5), (5, 0)), num_nodes=2),
    "num_nodes wrong": lambda: _graph(num_nodes=3),
    "num_nodes a text": lambda: Data(edge_index=_edges((0, 1), (1, 0)), num_nodes="3"),
    "edge_attr": lambda: _graph(edge_attr=torch.ones(_OWN.num_edges, 2)),
    "edge_attr too short": lambda: _graph(edge_attr=torch.ones(2, 2)),
    "edge_weight": lambda: _graph(edge_weight=torch.ones(_OWN.num_edges)),
    "edge_weight NaN": lambda: _graph(edge_weight=torch.full((_OWN.num_edges,), math.nan)),
    "y of three": lambda: _graph(y=torch.tensor([0, 1, 2])),
    "y NaN": lambda: _graph(y=torch.tensor([math.nan])),
    "y infinite": lambda: _graph(y=torch.tensor([math.inf])),
    "y a text": lambda: _graph(y="house"),
    "smiles of another": lambda: _graph(smiles="CCO"),
    "z too short": lambda: _graph(z=torch.tensor([6, 6])),
    "z impossible": lambda: _graph(z=torch.full((9,), 500)),
    "molecule": lambda: molecule_graph("OC(=O)c1ccccc1"),
    "batch": lambda: Batch.from_data_list(example_graphs(2, seed=1)),
    "hetero": _hetero,
    "networkx": lambda: nx.path_graph(5),
    "networkx directed": lambda: nx.DiGraph([(0, 1)]),
    "networkx multigraph": lambda: nx.MultiGraph([(0, 1), (0, 1)]),
    "networkx empty": nx.Graph,
    "networkx odd x": lambda: nx.Graph([(0, 1, {"x": Odd()})]),
    "SMILES": lambda: "CCO",
    "list of graphs": lambda: example_graphs(2, seed=3),
    "empty list": list,
    "list of a text": lambda: ["x"],
    "tuple": lambda: (_OWN.x, _OWN.edge_index),
}
graphs: Strategy = st.one_of(
    choice({"graph": _graph, "another graph": GRAPHS["another graph"]}), choice(GRAPHS)
)


def labelled(count: int) -> list[Data]:
    """Graphs of two classes."""
    made = example_graphs(count, seed=2)
    for index, graph in enumerate(made):
        graph.y = torch.tensor([index % 2])
    return made


SETS: dict[str, Callable[[], Any]] = {
    "eight graphs": lambda: labelled(8),
    "eight graphs in a tuple": lambda: tuple(labelled(8)),
    "eight networkx graphs": lambda: [nx.path_graph(4 + index) for index in range(8)],
    "graphs without labels": lambda: [
        Data(x=one.x, edge_index=one.edge_index) for one in labelled(4)
    ],
    "graphs of several widths": lambda: [
        *labelled(6),
        Data(x=torch.ones(2, 7), y=torch.tensor([0])),
    ],
    "graphs with halves as labels": lambda: [_with_label(one, 0.5) for one in labelled(4)],
    "graphs with infinite labels": lambda: [_with_label(one, math.inf) for one in labelled(4)],
    "one class": lambda: [_with_label(one, 0.0) for one in labelled(4)],
}


def _with_label(graph: Data, label: float) -> Data:
    graph.y = torch.tensor([label])
    return graph


class _Constant(torch.nn.Module):
    """A model that gives the same shape of answer whatever it is asked."""

    def __init__(self, make: Callable[[int], Any]) -> None:
        super().__init__()
        self.make = make

    def forward(self, x: torch.Tensor, edge_index: torch.Tensor, batch: torch.Tensor) -> Any:
        return self.make(int(batch.max()) + 1 if batch.numel() else 1)


class _Silent(torch.nn.Module):
    """A module without a forward."""


def _raises(value: Any) -> Any:
    raise RuntimeError("mat1 and mat2 shapes cannot be multiplied")


MODELS: dict[str, Callable[[], Any]] = {
    "oracle": example_oracle,
    "model": lambda: example_oracle().model,
    "GCN of other width": lambda: GCNClassifier(7, 2),
    "GCN of three classes": lambda: GCNClassifier(4, 3, layers=(8,)),
    "one logit": lambda: _Constant(lambda n: torch.linspace(-1, 1, n)[:, None]),
    "no columns": lambda: _Constant(lambda n: torch.ones(n, 0)),
    "NaN": lambda: _Constant(lambda n: torch.full((n, 2), math.nan)),
    "infinite": lambda: _Constant(lambda n: torch.full((n, 2), math.inf)),
    "one value": lambda: _Constant(lambda n: torch.tensor(1.0)),
    "a row too many": lambda: _Constant(lambda n: torch.ones(n + 1, 2)),
    "three dimensions": lambda: _Constant(lambda n: torch.ones(n, 2, 2)),
    "integers": lambda: _Constant(lambda n: torch.ones(n, dtype=torch.long)),
    "random": lambda: _Constant(lambda n: torch.rand(n, 2)),
    "constant": lambda: _Constant(lambda n: torch.zeros(n, 2)),
    "a text": lambda: _Constant(lambda n: "house"),
    "nothing": lambda: _Constant(lambda n: None),
    "a list": lambda: _Constant(lambda n: [[0.1, 0.9]] * n),
    "a tuple": lambda: _Constant(lambda n: (torch.ones(n, 2), torch.ones(n))),
    "numpy": lambda: _Constant(lambda n: np.ones((n, 2))),
    "complex": lambda: _Constant(lambda n: torch.ones(n, 2, dtype=torch.complex64)),
    "raises": lambda: _raises,
    "function": lambda: lambda batch: torch.tensor([[0.2, 0.8]] * len(batch)),
    "silent": _Silent,
    "class": lambda: GCNClassifier,
    "linear": lambda: torch.nn.Linear(4, 2),
}
models: Strategy = st.one_of(choice({"oracle": example_oracle}), choice(MODELS))


Calls = dict[str, tuple[Strategy, Callable[[dict[str, Any]], Any], Any]]
"""Library calls by name: what draws the arguments, what calls, and what checks the result."""


def with_fixed(keywords: Strategy, **fixed: Strategy) -> Strategy:
    """The keywords, and others that are always there."""
    return st.builds(lambda some, rest: {**some, **rest}, keywords, st.fixed_dictionaries(fixed))


def entries_of(table: Calls, weights: Mapping[str, float]) -> list[Entry]:
    """The entries of library calls."""
    return [
        Entry(name, "library", _maker(name, strategy, run, check), weight=weights.get(name, 0.7))
        for name, (strategy, run, check) in table.items()
    ]


def _maker(
    name: str,
    strategy: Strategy,
    run: Callable[[dict[str, Any]], Any],
    check: Callable[[Any], None] | None,
) -> Callable[[random.Random, Room, int], Case]:
    def make(rng: random.Random, room: Room, number: int) -> Case:
        # Hypothesis draws whole batches, so the numbers of one case are of no use here.
        seed = zlib.crc32(name.encode()) + room.seed * 1_000_003
        given = drawn(strategy, seed, number)
        if not isinstance(given, dict):
            given = {"payload": given}
        return Case(lambda: run(built(dict(given))), f"{name} {_words(given)}", check)

    return make


def _words(given: Any) -> str:
    return repr(given)[:600]
