"""The command line at first contact: mistakes, weak models, own models and data, and what to try next."""

import ast
import json
import re
import shlex
import sys
import textwrap
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch_geometric.data import Data

from edgeflip import Budget
from edgeflip.cli import commands, main
from edgeflip.cli.advice import next_commands
from edgeflip.cli.terminal import EXIT_CODES
from edgeflip.cli.wording import in_flags
from edgeflip.errors import EdgeflipError
from edgeflip.explainers import EdgeFlip, SearchInterrupted
from edgeflip.testing import example_graphs, example_oracle

ROOT = Path(__file__).parents[1]

MODEL = """
import torch
from torch import nn
from my_neighbour import WIDTH
from torch_geometric.nn import GCNConv, global_add_pool


class Model(nn.Module):
    def __init__(self, width):
        super().__init__()
        torch.manual_seed(3)
        self.first, self.last = GCNConv(width, 8), nn.Linear(8, 2)

    def forward(self, x, edge_index, batch):
        return self.last(global_add_pool(self.first(x, edge_index).relu(), batch))


def build():
    return Model(WIDTH)


def misfit():
    return Model(WIDTH + 3)


def leaves():
    raise SystemExit(3)
"""


def run(capsys, *arguments):
    """Exit code, stdout and stderr of one command."""
    with pytest.raises(SystemExit) as end:
        main([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    return end.value.code, captured.out, captured.err


@pytest.fixture(scope="module")
def oracle_folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("first") / "oracle"
    with pytest.raises(SystemExit):
        main(["train", "ba_3motifs", "--profile", "smoke", "--out", str(folder)])
    return folder


@pytest.fixture
def own_model(tmp_path):
    """A model in a file that imports its neighbour, and a graph with attributes on its edges."""
    (tmp_path / "my_neighbour.py").write_text("WIDTH = 2\n")
    (tmp_path / "my_model.py").write_text(MODEL)
    nodes = [{"id": node, "x": [1.0, node / 6]} for node in range(6)]
    links = [{"source": node, "target": node + 1} for node in range(5)]
    (tmp_path / "graph.json").write_text(json.dumps({"nodes": nodes, "links": links}))
    yield tmp_path
    sys.modules.pop("my_neighbour", None)


def explain(capsys, folder, *more):
    return run(capsys, "explain", "ba_3motifs", "--oracle", folder, "--profile", "smoke", *more)


# Exit codes.


def test_a_crash_ends_with_70_one_sentence_and_no_traceback(capsys, monkeypatch):
    def crash(*_, **__):
        raise ZeroDivisionError("what was\nnever meant to be")

    monkeypatch.setattr("edgeflip.cli.listing.print_methods", crash)
    monkeypatch.delenv("EDGEFLIP_DEBUG", raising=False)
    code, out, err = run(capsys, "methods")
    assert code == 70
    assert not out
    assert len(err.splitlines()) == 1
    assert "ZeroDivisionError: what was" in err
    assert "issue tracker" in err
    monkeypatch.setenv("EDGEFLIP_DEBUG", "1")
    code, _, err = run(capsys, "methods")
    assert code == 70
    assert "Traceback" in err


def test_help_and_docs_name_every_exit_code(capsys):
    _, shown, _ = run(capsys, "--help")
    documented = (ROOT / "docs" / "guides" / "cli.md").read_text()
    for code, meaning in EXIT_CODES.items():
        assert f"{code} {meaning}" in " ".join(shown.split())
        assert f"| {code} |" in documented


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("explian",), ("unknown command 'explian', did you mean 'explain'?",)),
        (("bench", "rum"), ("did you mean 'run'?",)),
        (("explain", "--indexx", 0), ("'--indexx', did you mean '--index'?",)),
        (("explain", "ba_2motifs", "--seed", "many"), ("a whole number for --seed, got 'many'",)),
        (("demo", "--graphs=0"), ("at least 1 for --graphs, got '0'",)),
        (("bench", "run", "smoke"), ("expected --out FOLDER, got none",)),
        (("bench", "run", "smok", "--out", "x"), ("did you mean 'smoke'?",)),
        (("explain", "ba_2motifs", "spare"), ("spare", "edgeflip explain --help")),
        (("explain", "ba_2motifs", "--index", 0, "--set", "beam.widht=3"), ("'beam.width'?",)),
        (("explain", "ba_2motifs", "--index", 0, "--weights", "w"), ("--model",)),
        (("explain", "--model", "no.py:build", "--index", 0), ("no file no.py",)),
        (("verify", "answer.json"), ("--oracle FOLDER or --model",)),
        (("train", "--data", "nowhere.csv"), ("--data", "nowhere.csv")),
    ],
)
def test_mistakes_in_use_look_like_all_other_errors(
    capsys, tmp_path, monkeypatch, arguments, words
):
    monkeypatch.chdir(tmp_path)
    code, out, err = run(capsys, *arguments)
    assert code == 2
    assert not out
    assert len(err.splitlines()) == 1
    assert err.startswith("error: ")
    for word in words:
        assert word in err


def test_names_that_are_checked_early_are_those_of_the_library():
    from edgeflip.cli import names
    from edgeflip.factual import FACTUAL
    from edgeflip.presets import PROFILES
    from edgeflip.search.ranking import RANKINGS

    assert set(names.PROFILES) == set(PROFILES)
    assert set(names.RANKINGS) == set(RANKINGS)
    assert set(names.FACTUALS) == set(FACTUAL)


# Words of the command line.


def messages_of_the_library():
    """Every sentence that the library raises, with {} for what is filled in."""
    for file in sorted((ROOT / "src" / "edgeflip").rglob("*.py")):
        # Nothing of the integrations is reached from the command line.
        if file.parent.name in ("cli", "testing") or "integrations" in file.parts:
            continue
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
                yield from (text for part in node.exc.args if (text := text_of(part)))


def text_of(node):
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    if isinstance(node, ast.JoinedStr):
        return "".join(text_of(part) or "{}" for part in node.values)
    if isinstance(node, ast.BinOp):
        return (text_of(node.left) or "") + (text_of(node.right) or "")
    return ""


def test_advice_on_the_command_line_names_flags_and_no_keywords():
    from edgeflip.explainers.running import _LIMITS

    keyword = re.compile(
        r"Budget\(|Constraints\(|\bcall=|\breturns=|\bfill=|\blinks=|\bnum_classes=|data_dir"
        r"|smiles_column|label_column|skip_invalid|bundle_from|molecule_graph|random_split"
    )
    sentences = [*messages_of_the_library(), *_LIMITS.values()]
    assert len(sentences) > 150
    assert any(keyword.search(each) for each in sentences)
    left = [each for each in sentences if keyword.search(in_flags(each))]
    assert not left


def test_settings_keep_their_names():
    told = "expected width, max_edits and moves of at least 1, got 0; see --set key=value."
    assert in_flags(told) == told


def test_the_end_of_a_search_is_told_in_flags(capsys, oracle_folder):
    code, out, err = explain(capsys, oracle_folder, "--index", 0, "--calls", 0)
    assert code == 1
    assert "--calls" in out
    assert "Budget" not in out + err
    assert "out of calls" not in out
    assert "asked about 1 graph." in out
    assert "same answer" not in out


# What to try next.


def test_what_to_try_next_is_the_same_command_with_one_change(capsys, oracle_folder):
    limits = ("--index", 0, "--index", 1, "--target", "clique", "--calls", 0, "--method", "random")
    code, _, err = explain(capsys, oracle_folder, *limits, "--max-edits", 1)
    assert code == 1
    tried = [shlex.split(line, comments=True) for line in err.splitlines() if "  edgeflip" in line]
    assert all(line[:3] == ["edgeflip", "explain", "ba_3motifs"] for line in tried)
    assert all(line.count("--index") == 1 for line in tried)
    more_calls, default_method, any_class, more_edits = tried
    assert more_calls[more_calls.index("--calls") + 1] == "50000"
    assert "--method" not in default_method
    assert "--target" not in any_class
    assert "--max-edits" not in more_edits
    found, _, _ = run(capsys, *more_calls[1:], "--method", "edgeflip")
    assert found in (0, 1)


def test_a_search_that_ran_out_of_time_is_told_to_take_more():
    explainer = EdgeFlip().fit([], example_oracle())
    graph = example_graphs(1, seed=4)[0]
    answer = explainer.explain(graph, budget=Budget(oracle_calls=None, seconds=0))
    first = next_commands(["explain", "x", "--seconds", "0"], answer, "--index 0", chemistry=False)[
        0
    ]
    assert first.startswith("edgeflip explain x --index 0 --seconds 120")


# Oracles.


def test_a_typo_in_the_folder_of_the_oracle_trains_nothing(capsys, oracle_folder):
    typo = oracle_folder.parent / "orcale"
    code, out, err = explain(capsys, typo, "--index", 0)
    assert code == 2
    assert not out
    assert f"did you mean {oracle_folder}?" in err
    assert f"--out {typo}" in err
    assert not typo.exists()


def test_a_weak_oracle_is_said_in_one_sentence(capsys, tmp_path):
    # Nothing tells these molecules' classes apart.
    rows = [f"{'C' * (place % 7 + 2)}O,{place * 7919 % 2}" for place in range(40)]
    table = tmp_path / "random.csv"
    table.write_text("\n".join(["SMILES,Label", *rows]))
    options = ("--data", table, "--profile", "smoke", "--out", tmp_path / "oracle")
    code, _, err = run(capsys, "train", *options)
    assert code == 0
    (sentence,) = [line for line in err.splitlines() if "weak" in line]
    assert "always saying" in sentence


def test_a_good_oracle_is_not_called_weak(capsys, oracle_folder):
    _, _, err = explain(capsys, oracle_folder, "--index", 0, "--calls", 0)
    assert "weak" not in err


# Own models.


def test_the_file_of_a_model_may_import_its_neighbours(capsys, own_model):
    before = list(sys.path)
    options = ("--model", own_model / "my_model.py:build", "--graph", own_model / "graph.json")
    code, out, err = run(capsys, "explain", *options, "--out", own_model / "answers")
    assert code in (0, 1), err
    assert "graph.json" in out
    assert sys.path == before
    answer = own_model / "answers" / "graph-answer.json"
    code, out, err = run(capsys, "verify", answer, *options[:2])
    assert code == 0, err
    assert out.startswith("Verified by asking about")
    code, _, err = run(capsys, "verify", answer, *options[:2], "--oracle", own_model)
    assert code == 2
    assert "got both" in err


@pytest.mark.parametrize(("function", "word"), [("misfit", "--model"), ("leaves", "SystemExit")])
def test_a_model_that_does_not_fit_is_found_out_before_anything_is_learned(
    capsys, own_model, monkeypatch, function, word
):
    def slow(*_, **__):
        raise AssertionError("something slow began")

    monkeypatch.setattr("edgeflip.explainers.EdgeFlip.fit", slow)
    options = ("--model", own_model / f"my_model.py:{function}", "--graph")
    code, _, err = run(capsys, "explain", *options, own_model / "graph.json")
    assert code == 2
    assert word in err


def test_added_edges_get_the_attributes_that_fill_names(capsys, own_model, monkeypatch):
    path = torch.tensor([[0, 1, 2, 3, 1, 2, 3, 4], [1, 2, 3, 4, 0, 1, 2, 3]])
    graph = Data(x=torch.ones(5, 2), edge_index=path, edge_attr=torch.ones(8, 1))
    monkeypatch.setattr("edgeflip.cli.explain.read_graph", lambda _: graph)
    options = ("--model", own_model / "my_model.py:build", "--graph", "graph.json")
    code, _, err = run(capsys, "explain", *options)
    assert code == 2
    assert "--fill mode" in err
    assert "--no-additions" in err
    for value in ("mode", "0.5", "[0.5]"):
        code, _, err = run(capsys, "explain", *options, "--fill", value)
        assert code in (0, 1), err


# Ctrl-C.


def test_each_class_keeps_finished_classes_on_ctrl_c(capsys, oracle_folder, monkeypatch, tmp_path):
    whole, calls = EdgeFlip.explain, []

    def interrupted_at_the_second(explainer, graph, **options):
        calls.append(options["target"])
        answer = whole(explainer, graph, **options)
        if len(calls) == 2:
            trace = replace(answer.trace, stopped_by="interrupted")
            raise SearchInterrupted(replace(answer, trace=trace))
        return answer

    monkeypatch.setattr(EdgeFlip, "explain", interrupted_at_the_second)
    options = ("--each-class", "--json", "--out", tmp_path / "kept")
    code, out, err = explain(capsys, oracle_folder, "--index", 0, "--index", 1, *options)
    assert code == 130
    assert "interrupted" in err
    assert [json.loads(line)["target"] for line in out.splitlines()] == calls
    kept = sorted(path.name for path in (tmp_path / "kept").iterdir())
    assert kept == [f"ba_3motifs-test-0-to-{target}.json" for target in sorted(calls)]


def test_many_answers_and_those_of_each_class_survive_ctrl_c_in_python(monkeypatch):
    explainer = EdgeFlip().fit([], example_oracle())
    graphs = example_graphs(3, seed=4)
    search, calls = EdgeFlip._search, []

    def interrupted_at_the_second(self, asked):
        calls.append(asked)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return search(self, asked)

    monkeypatch.setattr(EdgeFlip, "_search", interrupted_at_the_second)
    with pytest.raises(SearchInterrupted) as end:
        explainer.explain_many(graphs)
    assert list(end.value.finished) == [0]
    assert end.value.finished[0].found
    assert end.value.partial.trace.stopped_by == "interrupted"


# Own data.


def test_own_data_stand_in_a_bench_spec_from_run_to_report(capsys, tmp_path):
    molecules = [f"{'C' * (place % 9 + 2)}{'O' if place % 2 else 'N'}" for place in range(40)]
    rows = [f"{text},{'oxygen' if 'O' in text else 'nitrogen'}" for text in molecules]
    (tmp_path / "mine.csv").write_text("\n".join(["Smiles,KIND", *rows]))
    folder = tmp_path / "graphs"
    folder.mkdir()
    labels = ["file,label"]
    for place in range(20):
        edges = [[node, node + 1] for node in range(4)] + ([[0, 4]] if place % 2 else [])
        (folder / f"g{place}.json").write_text(json.dumps({"num_nodes": 5, "edges": edges}))
        labels.append(f"g{place}.json,{'ring' if place % 2 else 'path'}")
    (folder / "labels.csv").write_text("\n".join(labels))
    spec = tmp_path / "spec.toml"
    spec.write_text(
        textwrap.dedent("""
        title = "Mine"
        profile = "smoke"
        datasets = ["mine", "shapes"]
        graphs = 1
        only_correct = false
        [data.mine]
        path = "mine.csv"
        label_column = "kind"
        [data.shapes]
        path = "graphs"
        [[methods]]
        name = "random"
        """)
    )
    out = tmp_path / "run"
    code, printed, err = run(capsys, "bench", "run", spec, "--out", out)
    assert code == 0, err
    assert "2 results" in printed
    code, _, err = run(capsys, "bench", "report", out)
    assert code == 0, err
    text = (out / "report" / "report.md").read_text()
    assert "mine" in text
    assert "shapes" in text
    (tmp_path / "lost.toml").write_text(spec.read_text().replace("mine.csv", "lost.csv"))
    code, _, err = run(capsys, "bench", "run", tmp_path / "lost.toml", "--out", tmp_path / "lost")
    assert code == 2
    assert "lost.csv, got none" in err
    # Other data under the same name is another benchmark.
    (tmp_path / "mine.csv").write_text("\n".join(["Smiles,KIND", *rows, "CCC,nitrogen"]))
    code, _, err = run(capsys, "bench", "run", spec, "--out", out)
    assert code == 2
    assert "give another folder" in err


def test_a_name_of_a_known_dataset_is_not_given_to_own_data():
    from edgeflip.bench.spec import BenchSpec, MethodSpec, OwnData

    methods = (MethodSpec("random"),)
    own = {"ba_2motifs": OwnData("mine.csv")}
    with pytest.raises(EdgeflipError, match="name of its own"):
        BenchSpec("x", ("ba_2motifs",), methods, data=own)
    with pytest.raises(EdgeflipError, match="among the datasets"):
        BenchSpec("x", ("ba_2motifs",), methods, data={"mine": OwnData("mine.csv")})


# Progress.


def test_progress_appears_only_after_two_seconds_and_never_on_stdout(capsys, monkeypatch):
    from edgeflip.support import progress

    def shown(patience):
        monkeypatch.setattr(progress, "_PATIENCE", patience)
        with progress.progress_bar("working", total=2, unit="step", shown=True) as bar:
            bar.update()
        return capsys.readouterr()

    assert shown(2.0).err == ""
    late = shown(0.0)
    assert "working" in late.err
    assert late.out == ""


def test_every_slow_command_says_what_it_waits_for():
    source = Path(commands.__file__).read_text()
    for module in ("train", "explain", "summarize", "verify", "bench"):
        imports = re.findall(rf"(.*)\n +from edgeflip\.cli\.{module} import", source)
        assert imports
        assert all("with starting():" in line for line in imports)
