"""Valid files of every format, made at the start: mutations begin with them."""

from __future__ import annotations

import csv
import gzip
import io
import json
import pickle
from pathlib import Path

import networkx as nx
import numpy as np
import torch
from safetensors.torch import save_file
from torch_geometric.data import Data

from edgeflip import load_graphs, make_explainer, molecule_constraints, molecule_graph
from edgeflip.bench import load_spec, run_bench
from edgeflip.oracle import ModelOracle
from edgeflip.testing import example_graphs, example_oracle
from edgeflip.training import oracle_for, save_oracle
from fuzzing.chosen import PICKLES

MOLECULES = [
    ("CCO", "chain"),
    ("CCCC", "chain"),
    ("CCN(C)C", "chain"),
    ("OC(=O)CC", "chain"),
    ("C#N", "chain"),
    ("[Na+].[Cl-]", "chain"),
    ("c1ccccc1", "ring"),
    ("C1CCCC1O", "ring"),
    ("C1CC1", "ring"),
    ("c1ccncc1", "ring"),
    ("OC(=O)c1ccccc1", "ring"),
    ("C[C@H]1CCCCN1", "ring"),
]
SPEC = """\
title = "tiny"
profile = "smoke"
datasets = ["ba_2motifs", "ba_3motifs"]
seeds = [0, 1]
graphs = { ba_2motifs = 3 }
keep = 20
seconds = 5.0
noise = true
targets = false
plausibility = false
only_correct = true

[[methods]]
name = "random"

[[methods]]
name = "edgeflip"
label = "mine"
settings = { ranking = "sparse" }
datasets = ["ba_2motifs"]
profile = "smoke"
chemistry = false
noise = false
"""
TINY = """\
title = "tiny"
profile = "smoke"
datasets = ["ba_2motifs"]
graphs = 3
noise = true
methods = [{ name = "random" }, { name = "random", label = "again" }]
"""
MODEL = """\
import torch
from torch_geometric.nn import global_mean_pool


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = torch.nn.Linear(4, 2)

    def forward(self, x, edge_index, batch):
        gathered = torch.zeros_like(x).index_add(0, edge_index[1], x[edge_index[0]])
        return self.lin(global_mean_pool(gathered, batch)) * 50


def build():
    torch.manual_seed(0)
    return Model()


def one_logit():
    class One(Model):
        def forward(self, x, edge_index, batch):
            return super().forward(x, edge_index, batch)[:, :1]

    return One()


def word():
    return "house"


def broken():
    raise RuntimeError("no")
"""


def make_corpus(folder: Path) -> Path:
    """Write all of it; takes a few seconds."""
    folder.mkdir(parents=True, exist_ok=True)
    graphs = example_graphs(12, seed=4)
    _graph_files(folder, graphs)
    _tu(folder / "tu", graphs)
    _dig(folder / "dig", graphs)
    _tables(folder)
    oracle = example_oracle()
    save_oracle(oracle, folder / "oracle")
    _explainers(folder, graphs, oracle)
    _answers(folder, graphs[0], oracle)
    (folder / "spec.toml").write_text(SPEC)
    (folder / "model.py").write_text(MODEL)
    save_file(
        {"lin.weight": torch.ones(2, 4), "lin.bias": torch.zeros(2)}, folder / "w.safetensors"
    )
    (folder / "tiny.toml").write_text(TINY)
    name, tiny = load_spec(folder / "tiny.toml")
    run_bench(tiny, folder / "run", name=name)
    oracle_for(load_graphs(folder / "molecules.csv"), folder / "molecule_oracle", profile="smoke")
    return folder


def networkx_of(graph: Data) -> nx.Graph:
    """The graph as networkx has it, with two features and names for its nodes."""
    made = nx.Graph()
    for node, row in enumerate(graph.x.tolist()):
        made.add_node(f"n{node}", weight=row[0], height=row[1], kind="atom", known=True)
    pairs = graph.edge_index.t().tolist()
    made.add_edges_from((f"n{u}", f"n{v}", {"order": 1.0}) for u, v in pairs if u < v)
    return made


def plain_graph(graph: Data) -> dict[str, object]:
    """The graph as our own JSON has it, with everything that may stand there."""
    pairs = [pair for pair in graph.edge_index.t().tolist() if pair[0] < pair[1]]
    return {
        "num_nodes": graph.num_nodes,
        "edges": pairs,
        "x": graph.x.tolist(),
        "z": [6] * int(graph.num_nodes or 0),
        "y": int(graph.y),
        "edge_attr": [[1.0, 0.0]] * len(pairs),
    }


def _graph_files(folder: Path, graphs: list[Data]) -> None:
    plain = plain_graph(graphs[0])
    (folder / "graph.json").write_text(json.dumps(plain))
    (folder / "bare.json").write_text(json.dumps({"x": plain["x"], "edges": plain["edges"]}))
    molecule = {"num_nodes": 3, "edges": [[0, 1], [1, 2]], "x": [[1.0] * 4] * 3, "smiles": "CCO"}
    (folder / "molecule.json").write_text(json.dumps(molecule))
    with gzip.open(folder / "packed.json.gz", "wt") as file:
        json.dump(plain, file)
    made = networkx_of(graphs[0])
    (folder / "link.json").write_text(json.dumps(nx.node_link_data(made, edges="links")))
    vectors = nx.relabel_nodes(made, {node: index for index, node in enumerate(made)})
    for node in vectors:
        vectors.nodes[node].clear()
        vectors.nodes[node]["x"] = [1.0, float(node)]
    (folder / "vectors.json").write_text(json.dumps(nx.node_link_data(vectors, edges="links")))
    nx.write_graphml_xml(made, folder / "graph.graphml")
    nx.write_gexf(made, folder / "graph.gexf")
    several = folder / "several"
    several.mkdir()
    rows = [("file", "label")]
    for index, graph in enumerate(graphs[:6]):
        name = f"g{index}.json"
        if index < 3:
            pairs = plain_graph(graph)
            two = [row[:2] for row in graph.x.tolist()]
            content = {"edges": pairs["edges"], "x": two}
            (several / name).write_text(json.dumps(content))
        elif index < 5:
            name = f"g{index}.graphml"
            nx.write_graphml_xml(_two_numbers(graph), several / name)
        else:
            name = f"g{index}.gexf"
            nx.write_gexf(_two_numbers(graph), several / name)
        rows.append((name, str(index % 2)))
    (several / "labels.csv").write_text(csv_text(rows))


def _two_numbers(graph: Data) -> nx.Graph:
    made = networkx_of(graph)
    for node in made:
        del made.nodes[node]["known"]
    for u, v in made.edges:
        made.edges[u, v].clear()
    return made


def _tu(folder: Path, graphs: list[Data]) -> None:
    folder.mkdir()
    edges: list[str] = []
    indicator: list[str] = []
    kinds: list[str] = []
    numbers: list[str] = []
    for index, graph in enumerate(graphs, start=1):
        first = len(indicator) + 1
        edges += [f"{u + first}, {v + first}" for u, v in graph.edge_index.t().tolist()]
        indicator += [str(index)] * int(graph.num_nodes or 0)
        kinds += [str(node % 3) for node in range(int(graph.num_nodes or 0))]
        numbers += [", ".join(f"{value:.3f}" for value in row[:2]) for row in graph.x.tolist()]
    parts = {
        "A": edges,
        "graph_indicator": indicator,
        "graph_labels": [str(index % 2) for index in range(len(graphs))],
        "node_labels": kinds,
        "node_attributes": numbers,
    }
    for part, lines in parts.items():
        (folder / f"OWN_{part}.txt").write_text("\n".join(lines) + "\n")


def pickles() -> list[bytes]:
    """Pickles of arrays of many kinds, and of what is no array."""
    rows = np.arange(24, dtype=np.float32).reshape(12, 2)
    arrays: list[object] = [rows, np.asfortranarray(rows), rows.astype(">f8"), rows.astype(bool)]
    arrays += [rows.astype(object), rows[0], np.array(1.0), rows[:0], rows.astype("U3")]
    arrays += [np.zeros(2, dtype=[("a", "f4")]), rows.astype(np.complex64), [1.0, 2.0], {"a": rows}]
    arrays += [np.float32(1), "text", None, rows.astype("datetime64[s]"), print, np.ma.array(rows)]
    made = [pickle.dumps(one, protocol=number) for one in arrays for number in (0, 2, 4, 5)]
    return [*PICKLES, *made]


def _dig(folder: Path, graphs: list[Data]) -> None:
    folder.mkdir()
    nodes: list[list[float]] = []
    edges: list[list[int]] = []
    indicator: list[str] = []
    for index, graph in enumerate(graphs, start=1):
        edges += [[u + len(nodes), v + len(nodes)] for u, v in graph.edge_index.t().tolist()]
        nodes += graph.x.tolist()
        indicator += [str(index)] * int(graph.num_nodes or 0)
    # The published files are pickles of one array; edgeflip reads their bytes and runs nothing.
    content = pickle.dumps(np.array(nodes, dtype=np.float32), protocol=4)
    (folder / "own_node_features.pkl").write_bytes(content)
    texts = {
        "edge_index.txt": "\n".join(f"{u}, {v}" for u, v in edges),
        "node_indicator.txt": "\n".join(indicator),
        "graph_labels.txt": "\n".join(str(index % 2) for index in range(len(graphs))),
        "split_indices.txt": "\n".join(
            "0" if index < 8 else str(index % 2 + 1) for index in range(len(graphs))
        ),
        "sentence_tokens.json": json.dumps({"0": [f"w{node}" for node in range(9)]}),
    }
    for name, text in texts.items():
        (folder / f"own_{name}").write_text(text + "\n")


def csv_text(rows: object) -> str:
    """Rows as CSV."""
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerows(rows)  # type: ignore[arg-type]
    return buffer.getvalue()


def _tables(folder: Path) -> None:
    rows = [("smiles", "label", "weight"), *((s, label, "1.5") for s, label in MOLECULES)]
    (folder / "molecules.csv").write_text(csv_text(rows))


def _explainers(folder: Path, graphs: list[Data], oracle: ModelOracle) -> None:
    for method in ("edgeflip", "random", "cf2"):
        made = make_explainer(method, profile="smoke").fit(graphs, oracle)
        made.save(folder / f"explainer_{method}")


def _answers(folder: Path, graph: Data, oracle: ModelOracle) -> None:
    explainer = make_explainer("edgeflip").fit([], oracle)
    explainer.explain(graph, number=3, keep=4).save(folder / "answer.json")
    never = explainer.explain(graph, target=int(1 - oracle.predict_proba([graph]).argmax()))
    never.save_json(folder / "answer_targeted.json")
    molecule = molecule_graph("OC(=O)c1ccccc1", bonds=True)
    assert molecule is not None
    atoms = ModelOracle(lambda batch: torch.stack([_share(one) for one in batch]), num_classes=2)
    fitted = make_explainer("random").fit([], atoms)
    answer = fitted.explain(
        molecule, constraints=molecule_constraints(molecule), fill="zeros", robust=2
    )
    answer.save_json(folder / "answer_molecule.json")


def _share(graph: Data) -> torch.Tensor:
    share = min(1.0, graph.num_edges / 40)
    return torch.tensor([share, 0.4])
