"""The command line: what it prints where, and how it ends."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from edgeflip.cli import main


def run(capsys, *arguments):
    """Exit code, stdout and stderr of one command."""
    with pytest.raises(SystemExit) as end:
        main([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    return end.value.code, captured.out, captured.err


@pytest.fixture(scope="module")
def oracle_folder(tmp_path_factory):
    """A quickly trained oracle, made once by the command itself."""
    folder = tmp_path_factory.mktemp("oracle") / "oracle"
    with pytest.raises(SystemExit) as end:
        main(["train", "ba_2motifs", "--profile", "smoke", "--out", str(folder)])
    assert end.value.code == 0
    return folder


def explain(capsys, folder, *more):
    common = ("explain", "ba_2motifs", "--oracle", folder, "--profile", "smoke")
    return run(capsys, *common, *more)


def test_datasets_are_listed_with_size_classes_and_whether_at_hand(capsys):
    code, out, _ = run(capsys, "datasets")
    assert code == 0
    for name in ("ba_2motifs", "ba_2motifs_3class", "ba_3motifs", "ba_4motifs"):
        assert name in out
    assert "1000" in out
    assert "yes" in out or "generated" in out
    _, out, _ = run(capsys, "datasets", "--json")
    assert {entry["name"] for entry in json.loads(out)} >= {"ba_2motifs", "ba_4motifs"}


def test_methods_are_listed(capsys):
    code, out, _ = run(capsys, "methods", "--json")
    assert code == 0
    assert "random" in json.loads(out)


def test_training_prints_accuracies_and_leaves_two_files(capsys, oracle_folder):
    assert sorted(path.name for path in oracle_folder.iterdir()) == [
        "config.json",
        "model.safetensors",
    ]


def test_explain_prints_a_table_and_ends_with_zero(capsys, oracle_folder):
    code, out, _ = explain(capsys, oracle_folder, "--index", 0)
    assert code == 0
    assert "turns" in out
    assert "The search took" in out


def test_json_answers_are_one_line_each_on_stdout(capsys, oracle_folder):
    code, out, _ = explain(capsys, oracle_folder, "--index", 0, "--index", 1, "--json")
    assert code == 0
    first, second = (json.loads(line) for line in out.splitlines())
    assert (first["index"], second["index"]) == (0, 1)
    assert first["answer"]["counterfactuals"]


def test_answers_can_be_written_to_a_folder(capsys, oracle_folder, tmp_path):
    from edgeflip import CounterfactualSet

    explain(capsys, oracle_folder, "--index", 0, "--out", tmp_path / "answers")
    (path,) = (tmp_path / "answers").iterdir()
    assert CounterfactualSet.load_json(path).found


def test_a_class_can_be_named(capsys, oracle_folder):
    code, out, _ = explain(capsys, oracle_folder, "--index", 0, "--json")
    answer = json.loads(out)["answer"]
    label = max(range(2), key=answer["output"].__getitem__)
    other = ("cycle", "house")[1 - label]
    code, out, _ = explain(capsys, oracle_folder, "--index", 0, "--target", other)
    assert code == 0
    assert other in out


def test_no_counterfactual_ends_with_one(capsys, oracle_folder):
    code, out, _ = explain(capsys, oracle_folder, "--index", 0, "--calls", 0)
    assert code == 1
    assert "no edits" in out


def test_settings_and_limits_reach_the_method(capsys, oracle_folder):
    options = ("--method", "random", "--set", "stop_at_first=false", "--set", "max_added=0")
    options += ("--max-edits", 1, "--json")
    _, out, _ = explain(capsys, oracle_folder, "--index", 0, *options)
    answer = json.loads(out)["answer"]
    assert answer["provenance"]["config"]["max_added"] == 0
    assert all(not entry["edits"]["added"] for entry in answer["counterfactuals"])


def test_several_robust_and_ranked_answers(capsys, oracle_folder):
    options = ("--method", "random", "--set", "stop_at_first=false")
    options += ("--set", "max_added=1", "--set", "max_removed=1")
    chosen = (
        "--number",
        2,
        "--diversity",
        0.7,
        "--robust",
        3,
        "--ranking",
        "smallest=1,confident=1",
    )
    _, out, _ = explain(capsys, oracle_folder, "--index", 0, *options, *chosen, "--json")
    answer = json.loads(out)["answer"]
    assert len(answer["counterfactuals"]) == 2
    assert all(0 <= entry["robustness"] <= 1 for entry in answer["counterfactuals"])
    choice = answer["provenance"]["selection"]
    assert (choice["number"], choice["diversity"], choice["robust"]) == (2, 0.7, 3)
    assert "confident" in choice["ranking"]
    _, out, _ = explain(capsys, oracle_folder, "--index", 0, *options, *chosen)
    assert "robustness" in out


def test_each_class_has_an_answer_and_a_file(capsys, oracle_folder, tmp_path):
    options = ("--each-class", "--json", "--out", tmp_path / "answers")
    code, out, _ = explain(capsys, oracle_folder, "--index", 0, *options)
    assert code == 0
    (answer,) = (json.loads(line)["answer"] for line in out.splitlines())
    (file,) = (tmp_path / "answers").iterdir()
    assert file.name == f"ba_2motifs-test-0-to-{answer['goal']['target']}.json"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("explain", "ba_2motif", "--index", 0), ("unknown dataset", "did you mean 'ba_2motifs'")),
        (("train", "nothing_like_it"), ("unknown dataset",)),
        (
            ("explain", "ba_2motifs", "--index", 0, "--method", "randum"),
            ("unknown method", "did you mean 'random'"),
        ),
        (("explain", "ba_2motifs", "--index", 100), ("0..99", "got 100")),
        (("explain", "ba_2motifs", "--index", -1), ("0..99",)),
        (("explain", "ba_2motifs", "--index", 0, "--split", "tests"), ("did you mean 'test'",)),
        (("explain", "ba_2motifs", "--index", 0, "--target", "hause"), ("did you mean 'house'",)),
        (("explain", "ba_2motifs", "--index", 0, "--profile", "gpu"), ("unknown profile",)),
        (("explain", "ba_2motifs", "--index", 0, "--set", "certif=1"), ("certif", "certify")),
        (("explain", "ba_2motifs", "--index", 0, "--set", "certify"), ("key=value",)),
        (("explain", "ba_2motifs", "--index", 0, "--set", "certify=many"), ("certify",)),
        (("explain", "ba_2motifs", "--index", 0, "--number", 0), ("number", "at least 1")),
        (("explain", "ba_2motifs", "--index", 0, "--diversity", 2), ("diversity", "0 to 1")),
        (("explain", "ba_2motifs", "--index", 0, "--ranking", "papre"), ("did you mean 'paper'",)),
        (
            ("explain", "ba_2motifs", "--index", 0, "--method", "random", "--ranking", "plausible"),
            ("edgeflip",),
        ),
        (
            ("explain", "ba_2motifs", "--index", 0, "--each-class", "--target", "house"),
            ("--target", "--each-class"),
        ),
        (("datasets", "--data-dir", "/no/such/folder"), ("/no/such/folder",)),
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_two(
    capsys, tmp_path, monkeypatch, arguments, words
):
    monkeypatch.chdir(tmp_path)
    code, out, err = run(capsys, *arguments)
    assert code == 2
    assert not out
    lines = [line for line in err.splitlines() if line.strip()]
    assert len(lines) == 1, err
    assert lines[0].startswith("error: ")
    for word in words:
        assert word in lines[0]
    assert not list(tmp_path.iterdir()), "something was written before the input was checked"


@pytest.mark.parametrize("target", ["7", "label"])
def test_a_senseless_target_is_refused(capsys, oracle_folder, target):
    if target == "label":
        _, out, _ = explain(capsys, oracle_folder, "--index", 0, "--json")
        proba = json.loads(out)["answer"]["output"]
        target = str(max(range(2), key=proba.__getitem__))
    code, out, err = explain(capsys, oracle_folder, "--index", 0, "--target", target)
    assert code == 2
    assert "target" in err
    assert not out


def test_unknown_options_end_with_two(capsys):
    code, _, err = run(capsys, "explain", "ba_2motifs", "--indexx", 0)
    assert code == 2
    assert "indexx" in err


def test_help_has_examples(capsys):
    for command in ("datasets", "methods", "train", "explain", "demo"):
        code, out, _ = run(capsys, command, "--help")
        assert code == 0
        assert f"edgeflip {command}" in out
        assert "Example" in out


@pytest.mark.parametrize("name", ["config.json", "model.safetensors"])
@pytest.mark.parametrize("damage", ["truncate", "tamper", "remove"])
def test_a_damaged_oracle_is_refused(capsys, oracle_folder, tmp_path, name, damage):
    folder = tmp_path / "copy"
    folder.mkdir()
    for path in oracle_folder.iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    victim = folder / name
    content = bytearray(victim.read_bytes())
    if damage == "truncate":
        victim.write_bytes(content[: len(content) // 2])
    elif damage == "tamper":
        content[len(content) * 3 // 4] ^= 1
        victim.write_bytes(content)
    else:
        victim.unlink()
    code, out, err = explain(capsys, folder, "--index", 0)
    assert code == 2, err
    assert err.startswith("error: ")
    assert len(err.strip().splitlines()) == 1
    assert not out


def test_an_unwritable_folder_is_refused(capsys, tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("in the way")
    code, _, err = run(
        capsys, "train", "ba_2motifs", "--profile", "smoke", "--out", blocked / "oracle"
    )
    assert code == 2
    assert "error: " in err
    assert blocked.read_text() == "in the way"


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no /dev/full")
def test_a_full_disk_is_one_sentence(capsys, tmp_path, monkeypatch):
    import edgeflip.support.storage as storage

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(storage.os, "fsync", full)
    target = tmp_path / "oracle"
    code, _, err = run(capsys, "train", "ba_2motifs", "--profile", "smoke", "--out", target)
    assert code == 2
    assert "No space left" in err
    assert not target.exists() or not list(target.iterdir())


def test_demo_explains_and_says_where_its_files_are(capsys, tmp_path):
    out_folder = tmp_path / "demo"
    options = ("--profile", "smoke", "--graphs", 3, "--out", out_folder)
    code, out, _ = run(capsys, "demo", *options)
    assert code == 0
    for word in ("validity", "size", "fidelity", "s/graph", str(out_folder)):
        assert word in out
    assert f"{out_folder / 'answers.svg'} (the first of them in a grid)" in " ".join(out.split())
    lines = (out_folder / "answers.jsonl").read_text().splitlines()
    summary = json.loads((out_folder / "summary.json").read_text())
    assert len(lines) == summary["graphs"] == 3
    code, _, _ = run(capsys, "demo", *options)
    assert code == 0


@pytest.mark.serial
def test_ctrl_c_while_training_ends_with_130_and_no_traceback(tmp_path):
    program = "from edgeflip.cli import main; main()"
    command = [sys.executable, "-c", program, "train", "ba_2motifs", "--profile", "paper"]
    process = subprocess.Popen(
        [*command, "--out", str(tmp_path / "oracle")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
        # A test run in the background may have been told to ignore Ctrl-C; a user's shell is not.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    # The first byte is that of the progress bar: training has begun, and lasts far longer than this.
    process.stderr.read(1)
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert b"Traceback" not in err
    assert b"interrupted" in err


def test_learning_is_told_in_words():
    from edgeflip.cli.train import describe_learning
    from edgeflip.explainers.rsgg_ce.training import GanReport

    assert describe_learning(None) == "nothing to learn"
    told = describe_learning((GanReport(3, 0.125, 0.25), GanReport(4, 0.5, 0.5)))
    assert told.count(";") == 1
    assert "3" in told
    assert "0.125" in told


def test_brackets_and_colons_are_printed_as_they_are(capsys):
    from edgeflip.cli.console import say, show, table

    name = "C[bold]c:smile:c"
    rows = table("molecule")
    rows.add_row(name)
    show(rows)
    say(name)
    assert capsys.readouterr().out.count(name) == 2


def test_edges_are_never_cut_off_in_a_narrow_terminal(capsys, monkeypatch):
    from edgeflip.cli import console

    monkeypatch.setattr(console, "_WIDTH_OF_FILES", 40)
    rows = console.table("rank", "added", "probability", "robustness", numbers=["rank"])
    rows.add_row("1", console.edge_list([(10, 21), (11, 22), (12, 23)]), "0.1", "0.2")
    console.show(rows)
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= 40
    for edge in ("10-21", "11-22", "12-23"):
        assert edge in out
