"""Bad input: a bounded run of the fuzzer of benchmarks/, what it found before, and the fuzzer itself."""

import gzip
import json
import os
import re
import shutil
import time
from collections import Counter
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
import torch
from torch_geometric.data import HeteroData

import edgeflip
from edgeflip import (
    Constraints,
    DatasetBundle,
    EdgeFlip,
    EditSet,
    GCNClassifier,
    Mix,
    ModelOracle,
    Noise,
    SizeWeightedFidelity,
    load_graphs,
    read_graph,
)
from edgeflip.bench import load_spec
from edgeflip.cli.reading import read_overrides
from edgeflip.errors import DatasetError, EdgeflipError
from edgeflip.metrics import describe, wilson
from edgeflip.support import Journal
from edgeflip.testing import example_graphs, example_oracle
from fuzz import all_entries, ending
from fuzzing.corpus import make_corpus
from fuzzing.entry import Case, Entry, Room, WrongError
from fuzzing.mutation import nested
from fuzzing.reach import READERS, Tracer, lines_of_readers, own_lines, shares
from fuzzing.running import Plan, Tally, deep_stack, made_case, run_here, run_watched
from fuzzing.tables import BEGIN, END, Figures, write_between_markers
from fuzzing.words import dumped, signed

ENTRIES = {entry.name: entry for entry in all_entries()}
# Cases of every entry; fewer where one takes long, none where each starts a process.
CASES = dict.fromkeys(ENTRIES, 40) | {
    "TU folder": 25,
    "CSV of SMILES": 20,
    "explain": 20,
    "fit": 20,
    "odd paths": 60,
    "report of a run": 3,
    "run to go on with": 3,
    "commands": 25,
    "commands as processes": 0,
}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    return make_corpus(tmp_path_factory.mktemp("fuzz") / "corpus")


def plan(corpus, tmp_path, cases, seed=11):
    return Plan(corpus, tmp_path / "failures", seed, cases)


def told(tally):
    return [
        f"case {number}: {one.verdict}, {where}, {one.message}, {one.text}"
        for where, (number, one) in tally.failures.items()
    ]


@pytest.mark.parametrize("name", [name for name in ENTRIES if CASES[name]])
def test_bad_input_is_read_right_or_refused_in_a_sentence(name, corpus, tmp_path):
    tallies = run_here([ENTRIES[name]], plan(corpus, tmp_path, CASES[name]))
    assert told(tallies[name]) == []
    assert tallies[name].cases == CASES[name]


def test_the_files_that_mutations_begin_with_are_valid(corpus):
    for name in ("graph.json", "bare.json", "packed.json.gz", "link.json", "graph.gexf"):
        assert read_graph(corpus / name).num_nodes == 9
    for name in ("tu", "several", "molecules.csv"):
        assert isinstance(load_graphs(corpus / name), DatasetBundle)


ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "reliability.md").read_text("utf-8")


def test_every_promise_names_tests_that_exist():
    files = [*(ROOT / "tests").rglob("*.py"), *(ROOT / "src/edgeflip/testing").glob("*.py")]
    known = {
        name for file in files for name in re.findall(r"^def (\w+)", file.read_text("utf-8"), re.M)
    }
    promises = PAGE.partition("## Promises")[2].partition("\n## ")[0]
    rows = [row for row in promises.splitlines() if row.startswith("| ")][2:]
    assert len(rows) > 15
    named = [re.findall(r"`((?:test|check)_\w+)`", row.rpartition(" | ")[2]) for row in rows]
    assert [row for row, names in zip(rows, named, strict=True) if not names] == []
    assert sorted({name for names in named for name in names} - known) == []


def test_the_page_has_room_for_the_figures_and_those_it_has_name_every_entry():
    figures = PAGE.partition(BEGIN)[2].partition(END)[0]
    assert figures
    if "| **all** |" in figures:
        assert [name for name in ENTRIES if f"| {name} |" not in figures] == []


# What came through, or ended in a traceback, before; the name says what is wrong.
PLAIN = {
    "z of another length": {"z": [6] * 4},
    "z is a table": {"z": {}},
    "y is a list": {"y": [0, 0]},
    "y is infinite": {"y": float("inf")},
    "x is not a number": {"x": [[float("nan")]] * 3},
    "x is infinite in single precision": {"x": [[1e308]] * 3},
    "x has too many digits": {"x": [[10**400]] * 3},
    "an edge end is no whole number": {"edges": [[0, 1.7]]},
    "an edge end is a text": {"edges": [[0, "1"]]},
    "an edge end is true": {"edges": [[0, True]]},
    "an edge has three ends": {"edges": [[0, 1, 2]]},
    "num_nodes takes all memory": {"num_nodes": 10**10, "x": None},
    "num_nodes is a text": {"num_nodes": "3"},
    "x is deep": {"x": [[[[[1.0]]]]] * 3},
}


@pytest.mark.parametrize("name", PLAIN)
def test_a_graph_that_was_misread_before_is_refused(name, tmp_path):
    payload = {"num_nodes": 3, "edges": [[0, 1], [1, 2]], "x": [[1.0]] * 3, **PLAIN[name]}
    _refused(tmp_path / "g.json", json.dumps(payload))


LINKS = {
    "two nodes with one id": {"nodes": [{"id": 0}, {"id": 0}], "links": []},
    "an id that is a list": {"nodes": [{"id": [0]}, {"id": 1}], "links": []},
    "an end that is a table": {"nodes": [{"id": 0}], "links": [{"source": 0, "target": {}}]},
    "an end that is false": {"nodes": [{"id": 0}], "links": [{"source": 0, "target": False}]},
    "nodes that are a number": {"nodes": 3, "links": []},
    "a feature that is infinite": {"nodes": [{"id": 0, "x": 1e999}], "links": []},
}


@pytest.mark.parametrize("name", LINKS)
def test_node_link_json_that_was_misread_before_is_refused(name, tmp_path):
    _refused(tmp_path / "g.json", json.dumps(LINKS[name]))


@pytest.mark.parametrize(
    "text",
    ["", "[" * 100_000, '{"edges": ' + "[" * 5_000, "NaN", '"\\ud800"', "\x00", "null", "[]"],
    ids=["empty", "brackets", "nested", "NaN", "half a letter", "zero byte", "null", "list"],
)
def test_what_is_no_graph_at_all_is_refused(text, tmp_path):
    _refused(tmp_path / "g.json", text)


def test_an_xml_graph_with_an_infinite_attribute_or_another_namespace_is_refused(tmp_path):
    graph = nx.path_graph(3)
    nx.set_node_attributes(graph, float("inf"), "weight")
    nx.write_graphml_xml(graph, tmp_path / "g.graphml")
    _refused(tmp_path / "g.graphml", None)
    nx.write_gexf(nx.path_graph(3), tmp_path / "g.gexf")
    text = (tmp_path / "g.gexf").read_text().replace("http://www.gexf.net", "htt1.5p://www.gexf")
    _refused(tmp_path / "g.gexf", text)


def _refused(path, text):
    if text is not None:
        path.write_text(text)
    with pytest.raises(EdgeflipError) as error:
        read_graph(path)
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 1_000


@pytest.mark.parametrize("part", ["graph_indicator", "graph_labels", "node_labels"])
def test_an_empty_tu_file_is_refused(part, corpus, tmp_path):
    for file in (corpus / "tu").iterdir():
        content = b"" if file.name == f"OWN_{part}.txt" else file.read_bytes()
        (tmp_path / file.name).write_bytes(content)
    with pytest.raises(DatasetError):
        load_graphs(tmp_path)


def test_long_labels_stay_apart(corpus, tmp_path):
    for file in (corpus / "tu").iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    labels = tmp_path / "OWN_graph_labels.txt"
    count = len(labels.read_text().split())
    labels.write_text("\n".join(str(1_234_567 + index % 2) for index in range(count)))
    assert load_graphs(tmp_path).num_classes == 2


# Library calls that ended in a TypeError, an AttributeError or worse.
DEEP = "[" * 3_000 + "]" * 3_000
CALLS = {
    "explain a hetero graph": lambda: edgeflip.explain(example_oracle(), HeteroData()),
    "fit on a number": lambda: EdgeFlip().fit(-1, example_oracle()),
    "fit on a text": lambda: EdgeFlip().fit("CCO", example_oracle()),
    "batch_size": lambda: ModelOracle(example_oracle().model, batch_size="x"),
    "class_names": lambda: ModelOracle(example_oracle().model, class_names=5),
    "device": lambda: ModelOracle(example_oracle().model, device=0.5),
    "returns": lambda: ModelOracle(example_oracle().model, returns=np.ones(2)),
    "predict a text": lambda: example_oracle().predict_proba(["CCO"]),
    "rules": lambda: Constraints(rules=-0.6),
    "frozen_nodes": lambda: Constraints(frozen_nodes=[float("inf")]),
    "added None": lambda: EditSet(added=None),
    "added 5": lambda: EditSet(added=5),
    "edge_share": lambda: Noise(edge_share=None),
    "sigma": lambda: Noise(sigma=(1, 2)),
    "noise edges": lambda: Noise(edges=np.ones(3)),
    "gamma": lambda: SizeWeightedFidelity(None),
    "weights": lambda: Mix(frozenset()),
    "method": lambda: edgeflip.make_explainer(4),
    "overrides": lambda: edgeflip.make_explainer("random", overrides=True),
    "dataset": lambda: edgeflip.load_dataset(10),
    "preset": lambda: edgeflip.load_preset(True),
    "bundle of false": lambda: edgeflip.bundle_from(False),
    "labels": lambda: edgeflip.bundle_from(example_graphs(4, seed=2), 3),
    "seed": lambda: edgeflip.bundle_from(example_graphs(8, seed=2), [0, 1] * 4, seed=None),
    "SMILES": lambda: edgeflip.molecule_graph(0.01),
    "to_smiles": lambda: edgeflip.to_smiles(nx.DiGraph()),
    "dropout": lambda: GCNClassifier(4, 2, dropout=None),
    "layers": lambda: GCNClassifier(4, 2, layers=None),
    "features": lambda: GCNClassifier(10**12, 2),
    "wilson": lambda: wilson(1, None),
    "describe": lambda: describe([nx.path_graph(3)]),
    "path": lambda: read_graph([1]),
    "folder": lambda: edgeflip.load_oracle(10),
    "--set": lambda: edgeflip.make_explainer(
        "edgeflip", overrides=read_overrides([f"beam={DEEP}"])
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_call_that_crashed_before_is_refused(name):
    with pytest.raises(EdgeflipError) as error:
        CALLS[name]()
    assert "\n" not in str(error.value)


# What edgeflip wrote, changed afterwards with the right checksum: the place, and the new value.
ANSWERS = {
    "no output": (("output",), [[]]),
    "a text as output": (("output", 0), "x"),
    "no space": (("space",), "x"),
    "a list as goal": (("goal",), [0, 1]),
    "an odd proof": (("certificate", "below"), []),
    "a count that is a table": (("certificate", "tried"), {"a": 1}),
    "half a letter": (("provenance", "method"), "\ud800"),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_an_answer_that_crashed_later_is_refused_when_it_is_read(name, corpus, tmp_path):
    payload = json.loads((corpus / "answer.json").read_bytes())
    (*way, last), value = ANSWERS[name]
    part = payload
    for key in way:
        part = part[key]
    part[last] = value
    path = tmp_path / "answer.json"
    path.write_bytes(dumped(signed(payload)))
    with pytest.raises(EdgeflipError):
        edgeflip.CounterfactualSet.load_json(path)


@pytest.mark.parametrize("key", ["method", "seed", "oracle", "ranking", "num_classes", "config"])
def test_an_explainer_that_lacks_a_part_is_refused(key, corpus, tmp_path):
    folder = shutil.copytree(corpus / "explainer_random", tmp_path / "e")
    document = json.loads((folder / "config.json").read_bytes())
    del document["config"][key]
    (folder / "config.json").write_bytes(dumped(signed(document)))
    with pytest.raises(EdgeflipError):
        edgeflip.load_explainer(folder, example_oracle())


ROWS = {"infinite seed": ("seed", 1e999), "nested": ("added", nested(3_000, "list"))}


@pytest.mark.parametrize("name", ROWS)
def test_a_row_that_cannot_be_is_refused_or_measured_again(name, corpus, tmp_path):
    lines = (corpus / "run" / "results.jsonl").read_bytes().splitlines()
    key, value = ROWS[name]
    with deep_stack():
        lines[0] = dumped({**json.loads(lines[0]), key: value})
    path = tmp_path / "results.jsonl"
    path.write_bytes(b"\n".join(lines) + b"\n")
    with pytest.raises(EdgeflipError):
        Journal(path)


def test_a_spec_that_is_nested_deeply_is_refused(tmp_path):
    path = tmp_path / "spec.toml"
    path.write_text("title = " + '{ "a" = ' * 3_000 + "1" + " }" * 3_000)
    with pytest.raises(EdgeflipError):
        load_spec(path)


# The fuzzer itself: what it must notice, and that it draws the same again.


def planted(run, check=None, seconds=5.0):
    return Entry("planted", "files", lambda rng, room, number: Case(run, "x", check), seconds)


def raised():
    raise KeyError("nothing foresaw this")


def refused():
    raise DatasetError("expected a graph, got none; write one.")


def lied(result):
    raise WrongError("two nodes became one")


@pytest.mark.parametrize(
    ("entry", "verdict"),
    [
        (planted(raised), "traceback"),
        (planted(refused), "refused"),
        (planted(lambda: 1), "accepted"),
        (planted(lambda: 1, lied), "wrong"),
        (planted(lambda: time.sleep(5), seconds=0.05), "hang"),
        (planted(lambda: torch.empty(10**14)), "memory"),
        (planted(lambda: bytearray(10**14)), "memory"),
        (planted(lambda: exit(70)), "traceback"),
    ],
    ids=["traceback", "refused", "accepted", "wrong", "hang", "memory", "python memory", "exit"],
)
def test_every_kind_of_end_is_told_apart(entry, verdict, tmp_path):
    tallies = run_here([entry], plan(tmp_path, tmp_path, 1))
    assert tallies["planted"].verdicts == {verdict: 1}


def test_watched_processes_keep_failing_cases_and_outlive_a_crash(tmp_path):
    def make(rng, room, number):
        (room.work / "input.txt").write_text("bad")
        return Case((raised, lambda: os._exit(9), lambda: 1)[number], "x")

    chosen = plan(tmp_path, tmp_path, 3)
    tallies, _ = run_watched([Entry("planted", "files", make)], chosen, workers=1)
    assert tallies["planted"].verdicts == {"traceback": 2, "accepted": 1}
    (folder,) = chosen.failures.iterdir()
    assert (folder / "input.txt").read_text() == "bad"
    assert "--case 'planted:0'" in (folder / "case.txt").read_text()


def test_the_same_seed_draws_the_same_cases_and_another_does_not(corpus, tmp_path):
    for name in ("graph JSON", "EditSet", "commands"):
        first, again, other = (
            [
                _text_of(name, corpus, tmp_path / f"{name}-{run}-{number}", seed, number)
                for number in range(50, 55)
            ]
            for run, seed in enumerate((1, 1, 2))
        )
        assert first == again
        assert first != other


def _text_of(name, corpus, work, seed, number):
    work.mkdir()
    return made_case(ENTRIES[name], Room(corpus, work, seed), number).text


def test_every_reader_has_lines_and_they_are_seen_when_reached(tmp_path):
    assert all(codes for codes in lines_of_readers().values())
    path = tmp_path / "g.json.gz"
    path.write_bytes(gzip.compress(b'{"edges": [[0, 1]], "num_nodes": 2}'))
    tracer = Tracer()
    with tracer.watching():
        read_graph(path)
    reached = shares(set(tracer.taken()))
    found, total, left = reached["graphs from files"]
    assert 0 < found < total == found + len(left)
    assert reached["downloads"][0] == 0


@pytest.mark.parametrize("place", ["edgeflip.datasets.tu:gone", "edgeflip.datasets.gone"])
def test_a_reader_that_is_gone_is_noticed(place, monkeypatch):
    monkeypatch.setitem(READERS, "TU folders", (place,))
    with pytest.raises((AttributeError, ModuleNotFoundError), match="gone"):
        lines_of_readers()


def test_a_whole_run_that_reaches_too_few_lines_ends_with_another_code(tmp_path, capsys):
    lines = {
        (code.co_filename, line)
        for codes in lines_of_readers().values()
        for code in codes.values()
        for line in own_lines(code)
    }
    few = {line for line in lines if not line[0].endswith("datasets/tu.py")}
    failed = {"planted": Tally(Counter(traceback=1))}
    ends = [
        ending(Figures([], tallies, reached, 0, 1.0), tmp_path, everything=everything)
        for tallies, reached, everything in [
            ({}, lines, True),
            ({}, few, True),
            ({}, few, False),
            (failed, lines, True),
        ]
    ]
    assert ends == [0, 3, 0, 1]
    assert "90% of the lines were reached of: TU folders\n" in capsys.readouterr().err


def test_figures_are_put_between_the_markers_of_a_page(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(f"before\n{BEGIN}\nfigures of yesterday\n{END}\nafter\n")
    figures = Figures(list(ENTRIES.values()), dict.fromkeys(ENTRIES, Tally()), set(), 0, 1.0)
    write_between_markers(page, figures.as_markdown())
    text = page.read_text()
    assert "yesterday" not in text
    assert text.startswith("before\n")
    assert text.endswith("after\n")
    assert "| graph JSON | 0 |" in text
