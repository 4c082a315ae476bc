"""What the command line says where nothing was found or a folder is wrong: sentences that agree and help."""

from pathlib import Path

import pytest
import torch

from edgeflip import explain
from edgeflip.cli.advice import next_commands, nothing_found
from edgeflip.cli.explain import _effort
from edgeflip.cli.reading import check_oracle
from edgeflip.errors import ConfigError
from edgeflip.testing import example_graphs


class Stubborn:
    """An oracle that never changes its mind."""

    num_classes = 2

    def predict_proba(self, graphs):
        return torch.tensor([[0.9, 0.1]]).repeat(len(graphs), 1)


def test_no_sentence_says_that_all_was_tried_where_a_wider_search_is_advised():
    answer = explain(Stubborn(), example_graphs(1, seed=4)[0])
    commands = next_commands(["explain", "x"], answer, "--index 0", chemistry=False)
    assert any(command.endswith("# a wider search") for command in commands)
    told = f"{answer} {_effort(answer)}"
    assert "verything" not in told
    assert "all that it looks at" not in told
    assert "nothing within reach of the search does it" in told
    assert "it had no further candidates" in told


def test_all_graphs_without_an_answer_are_named_or_counted():
    titles = [f"graph {number}" for number in range(9)]
    assert nothing_found(titles[:1]).startswith("Nothing was found for graph 0. Try next,")
    assert "for graph 0, nor for graph 1. Try next for graph 0," in nothing_found(titles[:2])
    assert "nor for graph 1, graph 2, graph 3 and graph 4." in nothing_found(titles[:5])
    assert "nor for graph 1, graph 2, graph 3 and 5 more." in nothing_found(titles)


@pytest.fixture
def runs(tmp_path, monkeypatch):
    """The oracle of a CSV, where the command line keeps it."""
    folder = tmp_path / "runs" / "molecules-7c7bbb91-cpu-s0" / "oracle"
    folder.mkdir(parents=True)
    (folder / "config.json").write_text("{}")
    monkeypatch.chdir(tmp_path)
    return Path("runs")


@pytest.mark.parametrize(
    "wrong",
    [
        "molecules-cpu-s0/oracle",
        "molecules-7c7bbb91-cpu-s0/orcale",
        "molecules-7c7bbb91-cpu-s0",
        "molecules-cpu-s0",
    ],
)
def test_the_oracle_of_own_data_is_suggested_for_a_folder_like_it(runs, wrong):
    with pytest.raises(ConfigError) as error:
        check_oracle(runs / wrong)
    assert f"did you mean {runs / 'molecules-7c7bbb91-cpu-s0' / 'oracle'}?" in str(error.value)


def test_an_oracle_of_another_name_is_not_suggested(runs):
    with pytest.raises(ConfigError) as error:
        check_oracle(runs / "zebra" / "weights")
    assert "did you mean" not in str(error.value)


def test_several_graphs_without_an_answer_are_all_named_at_the_end(capsys, tmp_path):
    from edgeflip.cli import main

    (tmp_path / "never.py").write_text(NEVER)
    model = ("--model", f"{tmp_path / 'never.py'}:build")
    with pytest.raises(SystemExit):
        main(["explain", "ba_2motifs", "--index", "0", "--index", "1", "--calls", "20", *model])
    told = capsys.readouterr().err
    assert "ba_2motifs test graph 0, nor for ba_2motifs test graph 1." in " ".join(told.split())


NEVER = """
import torch


class Never(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.said = torch.nn.Parameter(torch.tensor([2.0, 0.0]))

    def forward(self, x, edge_index, batch):
        return self.said.repeat(int(batch.max()) + 1, 1)


def build():
    return Never()
"""
