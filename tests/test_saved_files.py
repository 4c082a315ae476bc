"""Saved answers, oracles, explainers, specs and rows: whole when they are right, one sentence when not."""

import json

import pytest
import torch

from conftest import path_graph
from edgeflip import (
    CounterfactualSet,
    EdgeFlip,
    load_explainer,
    load_oracle,
    make_explainer,
    save_oracle,
    verify_certificate,
)
from edgeflip.bench.report.results import read_results
from edgeflip.bench.spec import load_spec
from edgeflip.errors import (
    ArtifactError,
    ConfigError,
)
from edgeflip.oracle import GCNClassifier, ModelOracle
from edgeflip.support import Journal, checksum, write_json
from edgeflip.testing import example_graphs, example_oracle
from test_bad_files import refused

# Point 7: saved answers are whole.


@pytest.fixture(scope="module")
def with_bonds():
    """A model that reads edge attributes, and an answer that adds an edge."""

    class Bonds(torch.nn.Module):
        def forward(self, x, edge_index, edge_attr, batch):
            count = int(batch.max()) + 1
            total = torch.zeros(count, dtype=edge_attr.dtype)
            total.index_add_(0, batch[edge_index[0]], edge_attr[:, 0])
            return torch.stack([4.5 - total, total - 4.5], dim=1)

    graph = path_graph(3)
    graph.edge_attr = torch.ones(graph.num_edges, 2, dtype=torch.float64)
    return graph, ModelOracle(Bonds(), num_classes=2)


FILLS = ["mode", 1.0, torch.tensor([1.0, 0.5]), [1, 0], {"edge_attr": "mean"}]


@pytest.mark.parametrize("fill", FILLS, ids=["name", "number", "row", "list", "by name"])
def test_a_saved_answer_keeps_its_fill_and_its_proof_can_be_checked(tmp_path, with_bonds, fill):
    graph, oracle = with_bonds
    answer = EdgeFlip().fit([], oracle).explain(graph, fill=fill)
    assert answer.best.edits.added
    again = CounterfactualSet.load_json(answer.save_json(tmp_path / "a.json"))
    assert json.dumps(again.to_dict()) == json.dumps(answer.to_dict())
    assert torch.equal(again.edited_graph().edge_attr, answer.edited_graph().edge_attr)
    assert verify_certificate(again, oracle) == verify_certificate(answer, oracle)


def test_a_function_as_fill_is_refused_when_the_answer_is_saved(tmp_path, with_bonds):
    graph, oracle = with_bonds
    answer = (
        EdgeFlip().fit([], oracle).explain(graph, fill=lambda graph, edge: torch.ones(2).double())
    )
    refused(lambda: answer.save_json(tmp_path / "a.json"), "a function", error=ArtifactError)
    assert not (tmp_path / "a.json").exists()


def test_json_that_is_written_has_the_numbers_of_a_list_on_one_line(tmp_path):
    payload = {"x": [[0.5] * 40, [1.5] * 40], "pairs": [[0, 1], [1, 2]], "deep": {"a": {"b": 1}}}
    text = write_json(tmp_path / "a.json", payload).read_text()
    assert {key: value for key, value in json.loads(text).items() if key in payload} == payload
    assert '"pairs": [[0, 1], [1, 2]]' in text
    assert len(text.splitlines()) == 9


# Point 12: saved things.


def saved_answer():
    graphs, oracle = example_graphs(8, seed=0), example_oracle()
    return json.loads(json.dumps(EdgeFlip().fit([], oracle).explain(graphs[0]).to_dict()))


def changed(payload, place, value):
    copy = json.loads(json.dumps(payload))
    copy.pop("checksum")
    *path, last = place
    inner = copy
    for part in path:
        inner = inner[part]
    if value is None:
        del inner[last]
    else:
        inner[last] = value
    return {**copy, "checksum": checksum(copy)}


WRONG_PARTS = [
    (("output",), [[]]),
    (("output",), None),
    (("goal", "before"), []),
    (("goal", "target"), 99),
    (("goal",), [0, 1]),
    (("goal", "kind"), {}),
    (("space",), "x"),
    (("space", "graph", "num_nodes"), 10**10),
    (("space", "graph", "tensors", "x", "dtype"), "load"),
    (("space", "graph", "tensors", "x", "shape"), [10**12]),
    (("space", "graph", "tensors", "x", "values", 0), {"not_finite": "x"}),
    (("space", "graph", "tensors", "edge_index", "values", 0, 0), 1.5),
    (("space", "constraints", "frozen_nodes"), [10**9]),
    (("space", "constraints", "room"), [[0]]),
    (("space", "constraints", "rule"), 1),
    (("space", "fill"), [1]),
    (("counterfactuals", 0, "output"), [0.5]),
    (("counterfactuals", 0, "edits"), {"added": [[0, 1.7]], "removed": []}),
    (("counterfactuals", 0, "ring"), []),
    (("trace", "stages"), []),
    (("trace", "status"), "lost"),
    (("provenance", "seed"), {}),
    (("certificate", "below"), []),
    (("certificate", "tried"), {"a": 1}),
    (("factual",), {"nodes": 3}),
    (("x" * 5000,), 1),
]


@pytest.fixture(scope="module")
def answer():
    return saved_answer()


@pytest.mark.parametrize("number", range(len(WRONG_PARTS)))
def test_an_answer_with_a_wrong_part_is_one_sentence(answer, number):
    place, value = WRONG_PARTS[number]
    payload = changed(answer, place, value)
    with pytest.raises(ArtifactError) as caught:
        CounterfactualSet.from_dict(payload)
    message = str(caught.value)
    assert message.startswith("expected ")
    assert "\n" not in message
    assert len(message) < 1600


@pytest.mark.parametrize(
    "content",
    [b"", b"\xff\xfe", b'{"a": Infinity, "checksum": ""}', b'{"a": "\\ud800", "checksum": ""}'],
)
def test_saved_json_that_is_none_is_one_sentence(tmp_path, content):
    (tmp_path / "a.json").write_bytes(content)
    refused(lambda: CounterfactualSet.load_json(tmp_path / "a.json"), "a.json", error=ArtifactError)


def test_half_a_letter_is_refused_before_anything_is_written(tmp_path):
    refused(lambda: write_json(tmp_path / "a.json", {"a": "\ud800"}), error=ArtifactError)
    assert not list(tmp_path.iterdir())


def resaved(folder, change):
    config = json.loads((folder / "config.json").read_text())
    config.pop("checksum")
    change(config["config"])
    write_json(folder / "config.json", config)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda config: config.update(batch_size={}), "batch_size"),
        (lambda config: config.update(class_names=False), "class_names"),
        (lambda config: config.update(class_names=["a"]), "class name"),
        (lambda config: config.pop("model"), "'model'"),
        (lambda config: config["model"].update(num_features=10**9), "numbers"),
        (lambda config: config["model"].update(layers=[20] * 5000), "layers"),
        (lambda config: config["model"].update(readout="median"), "readout"),
    ],
)
def test_an_oracle_whose_description_is_wrong_is_one_sentence(tmp_path, change, words):
    save_oracle(ModelOracle(GCNClassifier(3, 2), num_classes=2), tmp_path)
    resaved(tmp_path, change)
    refused(lambda: load_oracle(tmp_path), words, error=ArtifactError)


@pytest.mark.parametrize(
    "key", ["method", "seed", "oracle", "ranking", "num_classes", "num_features"]
)
def test_an_explainer_without_one_of_its_parts_is_one_sentence(tmp_path, key):
    oracle = example_oracle()
    make_explainer("random").fit([], oracle).save(tmp_path)
    resaved(tmp_path, lambda config: config.pop(key))
    refused(lambda: load_explainer(tmp_path, oracle), f"nothing for '{key}'", error=ArtifactError)


@pytest.mark.parametrize(
    "text", ["x = " + "[" * 5000, "a = 1\n" * 2, "\ud800", "title = 5", "methods = 1", "= 1"]
)
def test_a_spec_that_is_none_is_one_sentence(tmp_path, text):
    (tmp_path / "s.toml").write_text(text, errors="surrogatepass")
    with pytest.raises(ConfigError) as caught:
        load_spec(tmp_path / "s.toml")
    assert str(caught.value).startswith("expected ")


def test_a_journal_of_wrong_rows_is_one_sentence(tmp_path):
    path = tmp_path / "results.jsonl"
    for row in ('{"kind": "graph", "dataset": "d", "seed": 1e999}', "[" * 5000, '{"a": NaN}'):
        path.write_text(f"{row}\n{row}\n")
        refused(lambda: Journal(path), "line 1", error=ArtifactError)


META = {"spec": {"datasets": ["d"], "methods": [{"name": "random"}]}, "sessions": []}
ROW = {"kind": "graph", "dataset": "d", "method": "m", "seed": 0, "graph": 0, "found": False}


@pytest.mark.parametrize(
    ("meta", "row"),
    [
        ({"spec": "x"}, {}),
        ({"spec": {"methods": [{"label": "a"}]}}, {}),
        ({"spec": {"datasets": [0.0]}}, {}),
        ({"sessions": {}}, {}),
        ({"sessions": [{"seconds": "2026"}]}, {}),
        ({"sessions": [{"explaining": {}}]}, {}),
        ({"versions": [[0, 1]]}, {}),
        ({}, {"flips": {}}),
        ({}, {"van": [[1]]}),
        ({}, {"factual_seconds": {}}),
        ({}, {"seconds": [None]}),
        ({}, {"method": ["again"]}),
        ({}, {"dataset": 8}),
        ({}, {"targets": {"x": {}}}),
        ({}, {"stages": []}),
        ({}, {"added": [[1]]}),
    ],
    ids=str,
)
def test_a_run_of_wrong_types_is_one_sentence(tmp_path, meta, row):
    write_json(tmp_path / "meta.json", {**META, **meta})
    journal = Journal(tmp_path / "results.jsonl")
    journal.append({**ROW, **row})
    journal.close()
    refused(lambda: read_results(tmp_path), str(tmp_path), error=ArtifactError)


def test_a_run_of_right_types_is_read(tmp_path):
    write_json(tmp_path / "meta.json", META)
    journal = Journal(tmp_path / "results.jsonl")
    journal.append({**ROW, "seconds": 1.5, "targets": {"1": {"validity": 0.0, "found": False}}})
    journal.close()
    assert len(read_results(tmp_path).graphs) == 1
