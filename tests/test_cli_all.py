"""`edgeflip explain --all`: every graph into a folder, and on with it after an interruption."""

import json

import pytest

from edgeflip import read_answers
from edgeflip.cli import explain_all as command_module
from edgeflip.cli import main as command_line
from edgeflip.cli import names
from edgeflip.engines import ENGINES
from edgeflip.explainers.many.folder import FORMS
from edgeflip.explainers.many.writing import explain_into
from edgeflip.search import timeless

METHOD = ["--method", "random", "--calls", "200", "--profile", "smoke"]


def main(words):
    """The exit code of a command."""
    with pytest.raises(SystemExit) as end:
        command_line(words)
    return end.value.code


@pytest.fixture(scope="module")
def oracle(tmp_path_factory):
    folder = tmp_path_factory.mktemp("oracle") / "oracle"
    assert main(["train", "ba_2motifs", "--profile", "smoke", "--out", str(folder)]) == 0
    return ["--oracle", str(folder)]


def run(oracle, out, *more):
    return main(["explain", "ba_2motifs", "--all", "--out", str(out), *METHOD, *oracle, *more])


def test_all_graphs_go_into_a_folder_with_a_page_and_a_summary(oracle, tmp_path, capsys):
    assert run(oracle, tmp_path) == 0
    told = capsys.readouterr().out
    assert "100 graphs" in told
    assert max(map(len, told.splitlines())) <= 80 + len(str(tmp_path))
    assert len(list(read_answers(tmp_path))) == 100
    assert "<html" in (tmp_path / "gallery.html").read_text("utf-8")
    summary = json.loads((tmp_path / "summary.json").read_text("utf-8"))
    assert sum(summary["sizes"].values()) + sum(summary["without"].values()) == 100
    assert main(["gallery", str(tmp_path), "--no-pages", "--out", str(tmp_path / "all.html")]) == 0


def test_after_ctrl_c_the_same_command_goes_on(oracle, tmp_path, capsys, monkeypatch):
    calm, disturbed = tmp_path / "calm", tmp_path / "disturbed"
    assert run(oracle, calm) == 0

    def interrupted(explainer, graphs, *arguments, **options):
        def some():
            yield from graphs[:40]
            raise KeyboardInterrupt

        return explain_into(explainer, some(), *arguments, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(command_module, "explain_into", interrupted)
        assert run(oracle, disturbed) == 130
    assert "run the same command again" in capsys.readouterr().err
    assert run(oracle, disturbed) == 0
    assert "75 of them new" in capsys.readouterr().out
    one, other = (
        [timeless(each.answer.to_dict()) for each in read_answers(folder)]
        for folder in (calm, disturbed)
    )
    assert one == other


@pytest.mark.parametrize(
    "words",
    [
        ["--all"],
        ["--all", "--out", "answers.html"],
        ["--all", "--index", "0", "--out", "answers"],
        ["--all", "--out", "answers", "--json"],
        ["--index", "0", "--engine", "local"],
        ["--all", "--out", "answers", "--engine", "slow"],
        ["--all", "--out", "answers", "--form", "csv"],
    ],
)
def test_what_does_not_go_together_is_one_sentence(words, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["explain", "ba_2motifs", *words]) == 2
    captured = capsys.readouterr()
    assert captured.err.startswith("error: ")
    assert captured.err.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_the_names_of_options_are_those_of_the_library():
    assert set(names.ENGINES) == set(ENGINES)
    assert set(names.FORMS) == set(FORMS)
