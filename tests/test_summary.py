"""An answer in words, and the smallest one beside the best."""

import dataclasses
import sys

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_geometric.data import Data

from chosen import EVERYTHING, Sets
from conftest import path_graph
from edgeflip import (
    Budget,
    Certificate,
    Constraints,
    CounterfactualSet,
    EdgeFlip,
    EditSet,
    explain,
    graph_from_networkx,
    list_explainers,
    make_explainer,
    verify_certificate,
)
from edgeflip.core.names import edits_in_words, node_names
from edgeflip.errors import CertificateError, ConfigError
from edgeflip.explainers.random_search import RandomConfig, RandomSearch
from edgeflip.search.minimal import contain_others
from edgeflip.testing import example_graphs, example_oracle

# 0.99 · cos²(0.25) = 0.93 against 0.7: the best has two edits, the smallest one.
TABLE = {((0, 2),): 0.6, ((0, 3),): 0.7, ((1, 3), (1, 4)): 0.99}


def both(**options):
    config = RandomConfig(stop_at_first=False, max_removed=0, max_added=2)
    return RandomSearch(config).fit([], Sets(TABLE)).explain(path_graph(6), **options)


def test_the_headline_is_the_smallest_answer_and_the_best_follows():
    answer = both()
    assert answer.best.edits.added == {(1, 3), (1, 4)}
    assert answer.smallest.edits.added == {(0, 3)}
    text = str(answer)
    assert text == answer.summary()
    assert text.startswith("Adding the edge 0–3 turns class 0 (1.00) into class 1 (.70). ")
    assert (
        "The best-scored answer has 2 edits: adding the edges 1–3 and 1–4 gives class 1 (.99)."
        in text
    )


def test_a_word_makes_the_smallest_the_best_for_one_call_or_for_all():
    for answer in (
        both(ranking="smallest"),
        RandomSearch(
            RandomConfig(stop_at_first=False, max_removed=0, max_added=2), ranking="smallest"
        )
        .fit([], Sets(TABLE))
        .explain(path_graph(6)),
    ):
        assert answer.best == answer.smallest
        assert "best-scored" not in str(answer)
        assert "SmallestFirst" in answer.provenance.selection["ranking"]


def test_one_line_takes_the_word_too():
    graph, model = example_graphs(1, seed=4)[0], example_oracle().model
    answer = explain(model, graph, ranking="smallest")
    assert answer.best.size == answer.smallest.size


@pytest.mark.parametrize("options", [{"keep": 1}, {"number": 1}, {"number": 2}, {}])
def test_smallest_and_first_are_known_however_few_are_kept(options):
    answer = both(**options)
    plain = both()
    assert answer.smallest.edits == plain.smallest.edits
    assert answer.first.edits == plain.first.edits
    rows = answer.to_rows()
    assert [row["smallest"] for row in rows].count(True) == 1
    unranked = [row for row in rows if row["rank"] is None]
    assert bool(unranked) == (answer.smallest not in answer.counterfactuals)
    again = CounterfactualSet.from_dict(answer.to_dict())
    assert (again.smallest, again.first) == (answer.smallest, answer.first)


def test_the_smallest_is_the_smallest_of_all_flips_by_brute_force():
    found = 0
    for graph in example_graphs(9, seed=3):
        answer = RandomSearch(EVERYTHING).fit([], example_oracle()).explain(graph, keep=1)
        if not answer.found:
            continue
        found += 1
        every = RandomSearch(EVERYTHING).fit([], example_oracle()).explain(graph, keep=5000)
        assert every.trace.flips == len(every)
        assert answer.smallest.size == min(entry.size for entry in every.counterfactuals)
        assert answer.first.found_at == min(entry.found_at for entry in every.counterfactuals)
    assert found >= 3


@pytest.mark.parametrize("name", list_explainers())
def test_no_method_hands_back_an_answer_that_contains_another(name):
    explainer = make_explainer(name, profile="smoke")
    graphs = example_graphs(12, seed=1)
    explainer.fit(graphs[:8] if explainer.learns else [], example_oracle())
    for graph in graphs[8:]:
        answer = explainer.explain(graph, number=3, budget=Budget(oracle_calls=3000))
        sets = [
            {(edge, True) for edge in entry.edits.added}
            | {(edge, False) for edge in entry.edits.removed}
            for entry in answer.counterfactuals
        ]
        assert not any(one < other for one in sets for other in sets)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sets(st.integers(0, 6), min_size=1, max_size=6), min_size=1, max_size=12))
def test_what_contains_another_is_found_as_by_python_sets(sets):
    width = max(map(len, sets))
    rows = torch.tensor([[*sorted(each), *[-1] * (width - len(each))] for each in sets])
    expected = [any(other < each for other in sets) for each in sets]
    assert contain_others(rows).tolist() == expected


def test_a_proof_is_told_in_words():
    graph = example_graphs(8, seed=0)[0]
    explainer = EdgeFlip().fit([], example_oracle())
    answer = explainer.explain(graph)
    assert answer.certificate is not None
    size = answer.smallest.size
    told = "Nothing smaller exists." if size == 1 else f"all {sum(answer.certificate.tried):,} were"
    assert told in answer.summary()
    if size > 1:
        nothing = explainer.explain(graph, constraints=Constraints(max_edits=size - 1))
        assert not nothing.found
        assert nothing.summary().startswith("Found no edits that turn ")
        assert (
            "Nothing that is allowed under the constraints (at most 1 edit) does: all"
            in nothing.summary()
        )


def test_words_for_a_gap_between_proof_and_answer():
    config = RandomConfig(stop_at_first=False, max_removed=0, max_added=3)
    oracle = Sets({((0, 2), (0, 3), (1, 3)): 0.9})
    answer = RandomSearch(config).fit([], oracle).explain(path_graph(5))
    assert answer.smallest.size == 3
    told = dataclasses.replace(answer, certificate=Certificate(2, (10,))).summary()
    assert "No single edit does: all 10 were tried. Larger sets were tried only in part." in told
    told = dataclasses.replace(answer, certificate=Certificate(3, (10, 45))).summary()
    assert "No set of up to 2 edits does: all 55 were tried." in told
    told = dataclasses.replace(answer, certificate=None).summary()
    assert "Smaller sets of edits were not all tried." in told


def test_a_changed_smallest_answer_is_refused_by_the_verifier():
    graph = example_graphs(8, seed=0)[0]
    oracle = example_oracle()
    answer = EdgeFlip().fit([], oracle).explain(graph)
    verify_certificate(answer, oracle)
    edges = tuple(zip(*graph.edge_index.tolist(), strict=True))
    larger = dataclasses.replace(answer.smallest, edits=EditSet(removed=edges))
    assert larger.size > answer.smallest.size
    with pytest.raises(CertificateError, match="smallest"):
        verify_certificate(dataclasses.replace(answer, smallest=larger), oracle)
    changed = dataclasses.replace(answer.smallest, output=(0.5, 0.5))
    with pytest.raises(CertificateError, match="changed"):
        verify_certificate(dataclasses.replace(answer, smallest=changed), oracle)


def test_nodes_are_called_by_their_names_words_or_atoms():
    atoms = Data(num_nodes=3, z=torch.tensor([6, 8, 1]))
    assert edits_in_words(atoms, EditSet(removed={(0, 1)})) == "removing the bond C (0)–O (1)"
    words = Data(num_nodes=3, tokens=["not", "so", "good"])
    assert edits_in_words(words, EditSet(added={(0, 2)})) == "adding the link not–good"
    named = Data(num_nodes=3, node_names=["Ann", "Bob", "Ann"])
    assert node_names(named) == ("Ann (0)", "Bob", "Ann (2)")
    # Names that do not fit are no names.
    assert node_names(Data(num_nodes=2, tokens=["one"])) == ("0", "1")
    assert node_names(Data(num_nodes=2, z=torch.tensor([6, 500]))) == ("0", "1")


def test_many_edits_are_counted_and_not_listed():
    edits = EditSet(added={(0, node) for node in range(1, 14)}, removed={(1, 2), (1, 3)})
    assert edits_in_words(Data(num_nodes=19), edits) == "adding 13 and removing 2 edges"


def test_rows_have_the_names_of_classes_and_make_a_table(monkeypatch):
    graph = example_graphs(1, seed=4)[0]
    answer = explain(example_oracle().model, graph, class_names=["quiet", "loud"])
    rows = answer.to_rows()
    assert {rows[0]["from"], rows[0]["to"]} == {"quiet", "loud"}
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ConfigError, match="pip install pandas"):
        answer.to_frame()


def test_a_table_of_pandas_has_the_rows():
    pandas = pytest.importorskip("pandas", reason="pip install pandas")
    answer = both()
    frame = answer.to_frame()
    assert isinstance(frame, pandas.DataFrame)
    assert frame["to"].tolist() == [row["to"] for row in answer.to_rows()]


def test_answers_show_themselves_in_a_line():
    answer = both()
    assert repr(answer) == "<CounterfactualSet: class 0 (1.00) → class 1 (.70) by 1 edit, 20 kept>"
    assert len(repr(answer.best)) < 120


def test_several_answers_are_told_one_after_the_other():
    answer = both(number=3)
    assert len(answer) == 3
    assert "Or else: adding the edge 0–2 gives class 1 (.60)." in str(answer)
    assert "Or else" not in str(both())


def test_classes_whose_names_are_numbers_are_called_classes():
    graph = example_graphs(1, seed=4)[0]
    answer = explain(example_oracle().model, graph, class_names=["0", "1"])
    assert "class 0 (" in str(answer)


def test_a_bare_model_and_swapped_arguments_are_understood_by_the_verifier():
    graph, oracle = example_graphs(8, seed=0)[0], example_oracle()
    answer = EdgeFlip().fit([], oracle).explain(graph)
    assert verify_certificate(answer, oracle.model) == verify_certificate(answer, oracle)
    with pytest.raises(CertificateError, match=r"verify_certificate\(answer, oracle\)"):
        verify_certificate(oracle, answer)


def test_names_of_a_networkx_graph_are_told():
    networkx = pytest.importorskip("networkx")
    graph = graph_from_networkx(
        networkx.relabel_nodes(networkx.path_graph(4), dict(enumerate("abcd")))
    )
    assert edits_in_words(graph, EditSet(added={(0, 2)})) == "adding the edge a–c"
    assert "node_names" not in graph_from_networkx(networkx.path_graph(4))


def test_a_strange_number_in_a_saved_answer_does_not_break_its_words():
    answer = both()
    selection = {**answer.provenance.selection, "number": [3]}
    provenance = dataclasses.replace(answer.provenance, selection=selection)
    assert dataclasses.replace(answer, provenance=provenance).summary() == answer.summary()
