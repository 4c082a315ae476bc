"""Files that are wrong, hostile or large: refused in one sentence, or read right."""

import gzip
import json
import os
from pathlib import Path

import networkx as nx
import pytest

from conftest import assert_sentence, make_graph
from edgeflip import (
    CounterfactualSet,
    bundle_from,
    load_graphs,
    load_oracle,
    read_graph,
)
from edgeflip.datasets.chemistry import molecule_graph
from edgeflip.datasets.labels import class_numbers
from edgeflip.errors import (
    ArtifactError,
    ConfigError,
    DatasetError,
    EdgeflipError,
    GraphError,
)
from edgeflip.support import LIMITS, Journal, limit

EDGES = [[0, 1], [1, 2]]


def graph_file(folder, payload, name="g.json"):
    path = folder / name
    path.write_text(payload if isinstance(payload, str) else json.dumps(payload))
    return path


def plain(**changes):
    return {"num_nodes": 3, "edges": EDGES, **changes}


def refused(call, *words, error=DatasetError):
    with pytest.raises(error) as caught:
        call()
    assert_sentence(caught, *words)


def test_json_graphs_keep_their_edge_attributes(tmp_path):
    graph = read_graph(graph_file(tmp_path, plain(edge_attr=[[1, 2], [3, 4]])))
    assert graph.edge_index.tolist() == [[0, 1, 1, 2], [1, 0, 2, 1]]
    assert graph.edge_attr.tolist() == [[1, 2], [1, 2], [3, 4], [3, 4]]
    link = nx.path_graph(3)
    nx.set_edge_attributes(link, {(0, 1): 0.5, (1, 2): 2.0}, "weight")
    payload = nx.node_link_data(link, edges="links")
    linked = read_graph(graph_file(tmp_path, payload, "l.json"))
    assert linked.edge_attr.tolist() == [[0.5], [0.5], [2.0], [2.0]]
    bundle = bundle_from([link] * 4, ["a", "b"] * 2)
    assert bundle.graphs[0].edge_attr.size(1) == 1
    twice = plain(edges=[[0, 1], [1, 0]], edge_attr=[1, 2])
    refused(lambda: read_graph(graph_file(tmp_path, twice)), "two that differ for (1, 0)")


# Point 11: silent data errors.


def write_tu(folder, **parts):
    folder.mkdir(exist_ok=True)
    own = {
        "A": "1, 2\n2, 1\n3, 4\n4, 3\n5, 6\n7, 8",
        "graph_indicator": "1\n1\n2\n2\n3\n3\n4\n4",
        "graph_labels": "1000001\n1000002\n1000001\n1000002",
        **parts,
    }
    for part, text in own.items():
        (folder / f"T_{part}.txt").write_text(text + "\n")
    return folder


def test_labels_of_many_digits_stay_apart(tmp_path):
    bundle = load_graphs(write_tu(tmp_path / "tu"))
    assert bundle.class_names == ("1000001", "1000002")
    large = [str(2**53), str(2**53 + 1)] * 2
    assert class_numbers(large)[1] == tuple(large[:2])
    assert class_numbers(["1.0", "1", "-2", "-2.00"]) == ([1, 1, 0, 0], ("-2", "1"))
    assert class_numbers(["1e999999", "--5"] * 2)[1] == ("--5", "1e999999")
    digits = ["9" * 5000, "8" * 5000] * 2
    assert class_numbers(digits)[0] == [1, 0, 1, 0]


def test_tu_edges_go_both_ways_whatever_the_file_says(tmp_path):
    bundle = load_graphs(write_tu(tmp_path / "tu", node_labels="0\n5\n0\n5\n0\n5\n0\n10"))
    assert all(graph.edge_index.tolist() == [[0, 1], [1, 0]] for graph in bundle.graphs)
    assert bundle.graphs[3].x.tolist() == [[1, 0, 0], [0, 0, 1]]


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ({"A": "1.7, 2\n2, 1"}, "'1.7'"),
        ({"A": "1, 2, 3"}, "2 whole numbers"),
        ({"A": "0, 1"}, "node 0 of 8"),
        ({"A": "inf, 1"}, "'inf'"),
        ({"graph_indicator": "1\n1\n2\n2\n3\n3\n4"}, "node 8 of 7"),
        ({"graph_indicator": "1\n2\n1\n2\n3\n3\n4\n4"}, "earlier graph"),
        ({"graph_indicator": ""}, "of 0"),
        ({"graph_labels": ""}, "0 graph labels"),
        ({"node_labels": "0\n5"}, "got 2"),
        ({"node_attributes": "nan\n" * 7 + "1"}, "NaN"),
        ({"node_attributes": "1e300\n" * 8}, "single precision"),
        ({"node_attributes": "1\n1, 2"}, "rows of [1, 2]"),
        ({"node_attributes": "x\n" * 8}, "x"),
    ],
)
def test_a_tu_file_with_a_mistake_is_one_sentence(tmp_path, parts, words):
    refused(lambda: load_graphs(write_tu(tmp_path / "tu", **parts)), words)


WRONG_GRAPHS = {
    "float end": (plain(edges=[[0, 1.7]]), "1.7"),
    "bool end": (plain(edges=[[0, True]]), "True"),
    "text end": (plain(edges=[[0, "1"]]), "'1'"),
    "three ends": (plain(edges=[[0, 1, 2]]), "[0, 1, 2]"),
    "z too long": (plain(z=[6] * 4), "z with one atomic number for each of 3 nodes"),
    "z no element": (plain(z=[6, 6, 900]), "900"),
    "z no list": (plain(z={}), "'z'"),
    "x too short": (plain(x=[[1], [2]]), "2 rows"),
    "x too large": (plain(x=[[1], [2], [1e300]]), "1e+300"),
    "x large whole": (plain(x=[[1], [2], [10**400]]), "finite"),
    "x infinite": ('{"num_nodes": 1, "edges": [], "x": [[1e999]]}', "1e999"),
    "x NaN": ('{"num_nodes": 1, "edges": [], "x": [[NaN]]}', "NaN"),
    "edge_attr short": (plain(edge_attr=[[1]]), "for 2 edges"),
    "y a list": (plain(y=[1]), "'y"),
    "y a part": (plain(y=1.5), "1.5"),
    "y large": (plain(y=10**40), "class y"),
    "key twice": ('{"num_nodes": 1, "num_nodes": 2, "edges": []}', "twice"),
    "misspelt": (plain(edge_atr=[1, 2]), "'edge_attr'"),
    "unread list": (plain(features=[1, 2, 3]), "'features'"),
    "surrogate": ('{"num_nodes": 2, "edges": [], "smiles": "\\ud800"}', "half a letter"),
    "no nodes": ({"edges": []}, "num_nodes or x"),
    "deep": ("[" * 100_000, "JSON"),
    "nested": (plain(x=json.loads("[" * 90 + "]" * 90)), "64 levels"),
    "empty": ("", "no JSON"),
    "long name": (plain(**{"x" * 5000: [1]}), "…"),
    "double id": ({"nodes": [{"id": 1}, {"id": 1}], "links": []}, "id 1 again"),
    "id a list": ({"nodes": [{"id": []}], "links": []}, "nodes.0.id"[6:]),
    "bool for 0": (
        {"nodes": [{"id": 0}, {"id": 1}], "links": [{"source": False, "target": 1}]},
        "False",
    ),
    "no links": ({"nodes": [{"id": 0}]}, "links"),
    "infinite mass": ({"nodes": [{"id": 0, "mass": 10**400}], "links": []}, "finite"),
}


@pytest.mark.parametrize("name", WRONG_GRAPHS)
def test_a_json_graph_with_a_mistake_is_one_sentence(tmp_path, name):
    payload, words = WRONG_GRAPHS[name]
    refused(lambda: read_graph(graph_file(tmp_path, payload)), words)


GRAPHML = (
    '<graphml><key id="m" for="node" attr.name="mass" attr.type="{kind}"/>'
    '<graph edgedefault="undirected"><node id="a"><data key="m">{mass}</data></node>'
    '<node id="{second}"/></graph>{more}</graphml>'
)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"second": "a"}, "'a' again"),
        ({"more": '<graph edgedefault="undirected"/>'}, "one graph"),
        ({"kind": "int", "mass": "1.7"}, "1.7"),
        ({"more": "<a>" * 200 + "</a>" * 200}, "64 levels"),
    ],
)
def test_graphml_with_a_mistake_is_one_sentence(tmp_path, changes, words):
    text = GRAPHML.format(**{"second": "b", "kind": "double", "mass": "1", "more": "", **changes})
    refused(lambda: read_graph(graph_file(tmp_path, text, "g.graphml")), words)


def test_graphml_features_that_are_not_finite_are_refused(tmp_path):
    text = GRAPHML.format(second="b", kind="double", mass="nan", more="").replace(
        '<node id="b"/>', ""
    )
    refused(lambda: read_graph(graph_file(tmp_path, text, "g.graphml")), "nan")


def test_a_dtd_in_another_encoding_is_seen(tmp_path):
    text = '<?xml version="1.0" encoding="utf-16"?><!DOCTYPE x [<!ENTITY a "b">]><graphml/>'
    (tmp_path / "g.graphml").write_bytes(text.encode("utf-16"))
    refused(lambda: read_graph(tmp_path / "g.graphml"), "DTD")


def test_features_that_are_not_finite_are_refused_when_a_dataset_is_made():
    graphs = [make_graph(4, [(0, 1), (1, 2)], seed=seed) for seed in range(4)]
    graphs[2].x[0, 0] = float("nan")
    refused(lambda: bundle_from(graphs, [0, 1] * 2), "graph 2")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("smiles,label\nCC,1,2\n", "row 1"),
        ("smiles,label,label\nCC,1,2\n", "one column 'label'"),
        ('smiles,label\n"CC,1\n', "CSV"),
        ("smiles,label\nCC,\ud800\n", "CSV in UTF-8"),
        ("", "0 rows"),
    ],
)
def test_a_csv_with_a_mistake_is_one_sentence(tmp_path, text, words):
    (tmp_path / "m.csv").write_text(text, errors="surrogatepass")
    refused(lambda: load_graphs(tmp_path / "m.csv"), words)


@pytest.mark.parametrize("path", [7, None, "x" * 5000, "a\0b", "\ud800", ""])
def test_a_path_that_is_none_is_one_sentence(path):
    for call in (read_graph, load_graphs, load_oracle, CounterfactualSet.load_json):
        with pytest.raises(EdgeflipError) as caught:
            call(path)
        message = str(caught.value)
        assert message.startswith("expected ")
        message.encode()
        assert len(message) < 1600


# Point 13: small files, large memory.


def test_every_limit_is_documented_with_its_default_and_variable():
    text = (Path(__file__).parent.parent / "docs" / "guides" / "own_data.md").read_text(
        encoding="utf-8"
    )
    for name, (default, _) in LIMITS.items():
        assert f"| `EDGEFLIP_MAX_{name.upper()}` | {default:,}" in text
        assert limit(name) == default


@pytest.mark.parametrize(
    ("payload", "words"),
    [
        (plain(num_nodes=10**10), "EDGEFLIP_MAX_NODES"),
        (plain(num_nodes=10**400), "far more"),
        (plain(x=[[0.5] * 20_000] * 3), "EDGEFLIP_MAX_COLUMNS"),
    ],
)
def test_a_graph_of_more_than_allowed_is_refused_before_memory_is_taken(tmp_path, payload, words):
    refused(lambda: read_graph(graph_file(tmp_path, payload)), words)


def test_a_limit_is_raised_by_its_variable(tmp_path, monkeypatch):
    path = graph_file(tmp_path, {"num_nodes": 10_001, "edges": []})
    refused(lambda: read_graph(path), "at most 10,000 nodes", "EDGEFLIP_MAX_NODES")
    monkeypatch.setenv("EDGEFLIP_MAX_NODES", "20_000")
    assert read_graph(path).num_nodes == 10_001
    monkeypatch.setenv("EDGEFLIP_MAX_NODES", "many")
    refused(lambda: read_graph(path), "EDGEFLIP_MAX_NODES", "'many'", error=ConfigError)


def test_a_packed_bomb_of_brackets_is_refused(tmp_path):
    path = tmp_path / "g.json.gz"
    path.write_bytes(gzip.compress(b"[" * 30_000_000, compresslevel=1))
    refused(lambda: read_graph(path), "EDGEFLIP_MAX_VALUES")
    path.write_bytes(gzip.compress(b" " * 1000) * 3 + b"rest")
    refused(lambda: read_graph(path), "gzip")
    path.write_bytes(gzip.compress(b'{"num_nodes": 2, ') + gzip.compress(b'"edges": [[0, 1]]}'))
    assert read_graph(path).num_edges == 2


def test_one_hot_labels_beyond_the_limit_are_refused(tmp_path):
    count = 12_000
    parts = {
        "A": "1, 2",
        "graph_indicator": "\n".join(str(1 + node // 3_000) for node in range(count)),
        "node_labels": "\n".join(map(str, range(count))),
    }
    folder = write_tu(tmp_path / "tu", **parts)
    refused(lambda: load_graphs(folder), "10,000 columns", "got 12,000", "EDGEFLIP_MAX_COLUMNS")


def test_a_pipe_or_folder_in_place_of_a_file_is_refused_and_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "g.json")
    refused(lambda: read_graph(tmp_path / "g.json"), "a pipe or device")
    (tmp_path / "h.json").mkdir()
    refused(lambda: read_graph(tmp_path / "h.json"), "a folder")
    os.mkfifo(tmp_path / "results.jsonl")
    refused(lambda: Journal(tmp_path / "results.jsonl"), "a pipe", error=ArtifactError)
    os.mkfifo(tmp_path / "m.csv")
    refused(lambda: load_graphs(tmp_path / "m.csv"), "a pipe")


def test_a_smiles_of_too_many_atoms_is_refused_before_it_is_read():
    pytest.importorskip("rdkit", reason="needs RDKit: pip install 'edgeflip[chem]'")
    for smiles in ("C" * 60_000, "C(" * 30_000, "[13CH4]." * 2_000):
        refused(lambda smiles=smiles: molecule_graph(smiles), "atoms", error=GraphError)
