"""Answers and their JSON form."""

import dataclasses
import json

import pytest
import torch

from edgeflip import CounterfactualSet, EditSet
from edgeflip.errors import ArtifactError, EdgeflipError
from edgeflip.explainers.random_search import RandomConfig, RandomSearch
from edgeflip.testing import example_graphs, example_oracle, same_answer


@pytest.fixture(scope="module")
def answer():
    explainer = RandomSearch(RandomConfig(stop_at_first=False, max_removed=1, max_added=1))
    return explainer.fit([], example_oracle()).explain(example_graphs(3, seed=21)[2], keep=20)


def test_best_has_the_highest_score_and_first_was_found_first(answer):
    assert answer.best.score == max(entry.score for entry in answer.counterfactuals)
    assert answer.first.found_at == min(entry.found_at for entry in answer.counterfactuals)


def test_rows_tell_the_changes_only(answer):
    rows = answer.to_rows()
    assert len(rows) == len(answer) == 20
    assert rows[0]["rank"] == 1
    assert rows[0]["size"] == len(rows[0]["added"]) + len(rows[0]["removed"])
    assert rows[0]["from"] != rows[0]["to"]
    json.dumps(rows)


def test_json_round_trip_through_a_file(answer, tmp_path):
    path = answer.save_json(tmp_path / "answer.json")
    again = CounterfactualSet.load_json(path)
    assert same_answer(answer, again)
    assert again.best.edits == answer.best.edits


@pytest.mark.parametrize("cut", [0, 1, 50, 300])
def test_a_truncated_file_is_refused_with_a_sentence(answer, tmp_path, cut):
    path = answer.save_json(tmp_path / "answer.json")
    path.write_text(path.read_text()[:cut])
    with pytest.raises(ArtifactError) as error:
        CounterfactualSet.load_json(path)
    assert "\n" not in str(error.value)


def test_a_tampered_answer_is_refused(answer):
    payload = json.loads(json.dumps(answer.to_dict()))
    payload["counterfactuals"][0]["fidelity"] = 0.999
    with pytest.raises(ArtifactError, match="changed afterwards"):
        CounterfactualSet.from_dict(payload)


def test_another_format_is_refused(answer):
    payload = {**answer.to_dict(), "format": 99}
    with pytest.raises(ArtifactError, match="format"):
        CounterfactualSet.from_dict(payload)


def test_the_answer_in_a_sentence_names_the_edits(answer):
    assert answer.space.in_words(answer.smallest.edits) in str(answer).lower()


def test_an_empty_answer_says_so_and_has_no_edited_graph(answer):
    empty = dataclasses.replace(answer, counterfactuals=())
    assert empty.smallest is None
    assert empty.first is None
    assert not empty.found
    assert empty.best is None
    assert "no edits" in str(empty)
    with pytest.raises(EdgeflipError, match="found"):
        empty.edited_graph()


def test_the_edited_graph_has_the_edits(answer):
    edited = answer.edited_graph()
    assert EditSet.between(answer.graph, edited) == answer.best.edits


def test_graphs_with_missing_labels_and_texts_survive_json():
    graph = example_graphs(3, seed=21)[2]
    graph.y = torch.tensor([float("nan"), float("inf")])
    graph.smiles = "CCO"
    graph.num_nodes = 9
    answer = RandomSearch().fit([], example_oracle()).explain(graph)
    again = CounterfactualSet.from_dict(json.loads(json.dumps(answer.to_dict())))
    assert again.to_dict() == answer.to_dict()
    assert again.graph.smiles == "CCO"
    assert bool(again.graph.y[0].isnan())


def test_another_graph_under_a_new_checksum_is_refused(answer):
    from edgeflip.support.storage import checksum

    payload = json.loads(json.dumps(answer.to_dict()))
    payload["space"]["graph"]["tensors"]["x"]["values"][0][0] = 7.0
    del payload["checksum"]
    payload["checksum"] = checksum(payload)
    with pytest.raises(ArtifactError, match="not the one"):
        CounterfactualSet.from_dict(payload)
