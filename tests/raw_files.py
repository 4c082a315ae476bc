"""Small data sets in the files that PyG's and OGB's own classes read."""

import gzip

import torch

TOX21 = (
    "NR-AR,NR-AR-LBD,NR-AhR,NR-Aromatase,NR-ER,NR-ER-LBD,NR-PPAR-gamma,SR-ARE,SR-ATAD5,SR-HSE,SR-MMP,"
    "SR-p53"
)


def write_tu(root, name="TINY", *, parts=(), both_ways=False, graphs=40):
    """Rings (label 1) and paths (label -1) of four to six nodes.

    Args:
        parts: which of node_labels, node_attributes, edge_labels and edge_attributes there are.
        both_ways: whether every edge stands there in both directions.
    """
    raw = root / "tu" / name / "raw"
    raw.mkdir(parents=True)
    edges, owners, count = [], [], 0
    for graph in range(graphs):
        nodes, ring = 4 + graph % 3, graph % 2
        ends = [(count + i + 1, count + (i + 1) % nodes + 1) for i in range(nodes - (not ring))]
        edges += [pair for end in ends for pair in ((end, end[::-1]) if both_ways else (end,))]
        owners += [graph + 1] * nodes
        count += nodes
    tables = {
        "A": [f"{u}, {v}" for u, v in edges],
        "graph_indicator": owners,
        "graph_labels": [1 if graph % 2 else -1 for graph in range(graphs)],
        "node_labels": [node % 3 for node in range(count)],
        "node_attributes": [f"{node / 7}, {node % 5}" for node in range(count)],
        "edge_labels": [min(edge) % 2 for edge in edges],
        "edge_attributes": [sum(edge) / 8 for edge in edges],
    }
    for part in ("A", "graph_indicator", "graph_labels", *parts):
        rows = "".join(f"{row}\n" for row in tables[part])
        (raw / f"{name}_{part}.txt").write_text(rows, encoding="utf-8")
    return raw


def small_smiles(count):
    return ["C" * (place % 8 + 2) + "ON"[place % 2] for place in range(count)]


def write_moleculenet(root, name, rows):
    """The table of a data set of MoleculeNet: `esol` or `tox21`."""
    file, head = {
        "esol": ("delaney-processed.csv", "Compound ID,x,measured log solubility,smiles"),
        "tox21": ("tox21.csv", f"{TOX21},mol_id,smiles"),
    }[name]
    raw = root / "moleculenet" / name / "raw"
    raw.mkdir(parents=True)
    (raw / file).write_text("\n".join([head, *rows]) + "\n", encoding="utf-8")
    return raw


def write_esol(root, count=20):
    rows = [f"m{i},0,{-0.5 * i},{smiles}" for i, smiles in enumerate(small_smiles(count))]
    return write_moleculenet(root, "esol", rows)


def write_tox21(root, count=40):
    """Each of the twelve labels is missing in every fifth row; the last row is no molecule."""
    rows = []
    for place, smiles in enumerate(small_smiles(count)):
        labels = [str((place + task) % 2) if (place + task) % 5 else "" for task in range(12)]
        rows.append(f"{','.join(labels)},TOX{place},{smiles}")
    return write_moleculenet(root, "tox21", [*rows, f"{','.join('1' * 12)},TOX,C1CC"])


def write_superpixels(root, name="MNIST", sizes=(20, 4, 6)):
    """The three parts of MNIST or CIFAR10: each node sends to the next, whose distance the edge has."""
    raw = root / "gnnbench" / name / "raw"
    raw.mkdir(parents=True)
    parts = []
    for size in sizes:
        graphs = []
        for place in range(size):
            nodes = torch.arange(5 + place % 2)
            graphs.append(
                {
                    "x": torch.rand(len(nodes), 1),
                    "edge_index": torch.stack([nodes[:-1], nodes[1:]]),
                    "edge_attr": torch.full((len(nodes) - 1,), 0.25),
                    "y": torch.tensor([place % 2]),
                    "pos": torch.rand(len(nodes), 2),
                }
            )
        parts.append(graphs)
    torch.save(parts, raw / f"{name}_v2.pt")


def write_ogb(root, name, smiles, labels, tasks, graphs):
    """A data set of molecules of OGB, and its split: four graphs for validation, four for the test."""
    folder = root / "ogb" / f"ogbg_{name}"

    def write(part, rows):
        file = folder / f"{part}.csv.gz"
        file.parent.mkdir(parents=True, exist_ok=True)
        with gzip.open(file, "wt", encoding="utf-8") as table:
            table.writelines(",".join(map(str, row)) + "\n" for row in rows)

    edges = [graph["edge_index"].T[::2].tolist() for graph in graphs]
    write("raw/num-node-list", [[graph["num_nodes"]] for graph in graphs])
    write("raw/num-edge-list", [[len(own)] for own in edges])
    write("raw/edge", [edge for own in edges for edge in own])
    write("raw/node-feat", [row for graph in graphs for row in graph["node_feat"].tolist()])
    write("raw/edge-feat", [row for graph in graphs for row in graph["edge_feat"][::2].tolist()])
    write("raw/graph-label", labels)
    rows = [
        [*own, text, place] for place, (own, text) in enumerate(zip(labels, smiles, strict=True))
    ]
    write("mapping/mol", [[*tasks, "smiles", "mol_id"], *rows])
    for part, places in (
        ("train", range(8, len(smiles))),
        ("valid", range(4)),
        ("test", range(4, 8)),
    ):
        write(f"split/scaffold/{part}", [[place] for place in places])
    (folder / "RELEASE_v1.txt").write_text("", encoding="utf-8")
