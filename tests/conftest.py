"""What the tests share: one thread, repeatable hypothesis runs, trained models, small graphs."""

import itertools
import re

import pytest
import torch
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from torch_geometric.data import Data

from edgeflip.core.edits import EditSet
from edgeflip.core.graphs import edge_pairs

torch.set_num_threads(1)

# The same examples on every machine: a red build can be repeated, and none is red by luck.
settings.register_profile(
    "edgeflip",
    deadline=None,
    derandomize=True,
    max_examples=60,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("edgeflip")


@pytest.fixture(scope="session")
def models(tmp_path_factory):
    """One place for trained models, so that they are trained once for all benchmarks here."""
    return tmp_path_factory.mktemp("models")


def make_graph(
    num_nodes, edges, *, loops=(), features=3, edge_attr=None, edge_weight=False, seed=0
):
    """A graph with random features, its edge columns in random order.

    Both directions of an edge carry the same attributes. `edge_attr` is the width of the rows.
    """
    generator = torch.Generator().manual_seed(seed)
    pairs = sorted((min(u, v), max(u, v)) for u, v in edges)
    columns = [*pairs, *((v, u) for u, v in pairs), *((node, node) for node in loops)]
    order = torch.randperm(len(columns), generator=generator)
    edge_index = torch.tensor(columns, dtype=torch.long).reshape(-1, 2).t()[:, order].contiguous()
    graph = Data(edge_index=edge_index, num_nodes=num_nodes)
    if features:
        graph.x = torch.randn(num_nodes, features, generator=generator)
    if edge_attr is not None:
        rows = torch.randn(len(pairs), edge_attr, generator=generator)
        own = torch.randn(len(tuple(loops)), edge_attr, generator=generator)
        graph.edge_attr = torch.cat([rows, rows, own])[order]
    if edge_weight:
        rows = torch.rand(len(pairs), generator=generator) + 0.5
        own = torch.rand(len(tuple(loops)), generator=generator) + 0.5
        graph.edge_weight = torch.cat([rows, rows, own])[order]
    return graph


def random_graph(num_nodes=7, *, density=0.4, loops=(), seed=0, **options):
    """A graph in which every pair is an edge with the same probability."""
    generator = torch.Generator().manual_seed(1000 + seed)
    pairs = list(itertools.combinations(range(num_nodes), 2))
    chosen = torch.rand(len(pairs), generator=generator) < density
    edges = [pair for pair, keep in zip(pairs, chosen.tolist(), strict=True) if keep]
    return make_graph(num_nodes, edges, loops=loops, seed=seed, **options)


def random_toggles(space, *, candidates=20, width=3, seed=0):
    """Normalised rows of distinct pair ids, some shorter than the others."""
    space = getattr(space, "pairs", space)
    generator = torch.Generator().manual_seed(seed)
    width = min(width, space.num_pairs)
    rows = torch.stack(
        [torch.randperm(space.num_pairs, generator=generator)[:width] for _ in range(candidates)]
    )
    length = torch.randint(1, width + 1, (candidates, 1), generator=generator)
    rows[torch.arange(width) >= length] = -1
    return rows.sort(dim=1, descending=True).values


def edited_graphs(space, toggles, *, fill=None):
    """The edited graphs of a block, one at a time and by way of `EditSet`."""
    space = getattr(space, "pairs", space)
    edges = edge_pairs(space.graph)
    graphs = []
    for row in toggles.tolist():
        pairs = [space.edges_of(torch.tensor([entry]))[0] for entry in row if entry >= 0]
        added = [pair for pair in pairs if pair not in edges]
        removed = [pair for pair in pairs if pair in edges]
        graphs.append(EditSet(added, removed).apply(space.graph, fill=fill))
    return graphs


@st.composite
def graphs(draw, *, min_nodes=2, max_nodes=8, attributes=True):
    """Undirected graphs, with and without self-loops and edge attributes."""
    num_nodes = draw(st.integers(min_nodes, max_nodes))
    pairs = list(itertools.combinations(range(num_nodes), 2))
    edges = draw(st.sets(st.sampled_from(pairs)))
    loops = draw(st.sets(st.integers(0, num_nodes - 1)))
    return make_graph(
        num_nodes,
        edges,
        loops=sorted(loops),
        edge_attr=draw(st.sampled_from([None, 2])) if attributes else None,
        edge_weight=draw(st.booleans()) if attributes else False,
        seed=draw(st.integers(0, 1000)),
    )


@st.composite
def graphs_and_edits(draw, **options):
    """A graph and an edit set that fits it."""
    graph = draw(graphs(**options))
    pairs = list(itertools.combinations(range(graph.num_nodes), 2))
    edges = edge_pairs(graph)
    chosen = draw(st.sets(st.sampled_from(pairs), max_size=6))
    return graph, EditSet(chosen - edges, chosen & edges)


def attribute_rows(graph, key):
    """The rows of an edge-level attribute by directed edge."""
    columns = zip(*graph.edge_index.tolist(), strict=True)
    return dict(zip(columns, graph[key].tolist(), strict=True))


def fill_like(graph):
    """A fill that gives every pair the attributes it has in this graph, and others zeros."""
    fill = {}
    for key in ("edge_attr", "edge_weight"):
        if key in graph:
            rows, shape = attribute_rows(graph, key), graph[key].shape[1:]

            def value(_, edge, rows=rows, shape=shape):
                return torch.tensor(rows[edge]) if edge in rows else torch.zeros(shape)

            fill[key] = value
    return fill


def snapshot(graph):
    """A deep copy of everything a graph holds, to compare with later."""
    return {
        key: value.clone() if isinstance(value, torch.Tensor) else value
        for key, value in graph.to_dict().items()
    }


def same_content(before, after):
    """Whether two snapshots hold the same, bit by bit."""
    return before.keys() == after.keys() and all(
        torch.equal(value, after[key]) and value.dtype == after[key].dtype
        if isinstance(value, torch.Tensor)
        else value == after[key]
        for key, value in before.items()
    )


def assert_sentence(error, *words):
    """An error message in the house form: expected this, got that, on one line."""
    message = str(error.value)
    assert "\n" not in message
    assert "Traceback" not in message
    assert re.fullmatch(r"expected .+ got .+\.", message), message
    for word in words:
        assert word in message, message


def path_graph(num_nodes=4, **options):
    """0 – 1 – 2 – …"""
    return make_graph(num_nodes, [(node, node + 1) for node in range(num_nodes - 1)], **options)
