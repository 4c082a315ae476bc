"""The README's examples work as printed."""

import re
from pathlib import Path

import pytest

from edgeflip.cli import main
from edgeflip.datasets import list_datasets

README = Path(__file__).parent.parent / "README.md"
BLOCKS = re.findall(r"```python\n(.*?)```", README.read_text(), flags=re.DOTALL)


def outcome(block, capsys):
    exec(compile(block, "README.md", "exec"), {"__name__": "readme"})
    return capsys.readouterr().out


def test_the_five_lines_are_five_and_print_an_answer(capsys):
    block = next(block for block in BLOCKS if "train_oracle" in block)
    lines = [line for line in block.splitlines() if line.strip() and not line.startswith("from")]
    assert len(lines) == 5
    assert " turns " in outcome(block, capsys)


@pytest.mark.parametrize("name", ["ba_4motifs", "bbbp", "mutag0"])
def test_the_five_lines_work_for_other_datasets(name, capsys):
    entry = next(entry for entry in list_datasets() if entry.name == name)
    if not entry.at_hand:
        pytest.skip(f"{name} is not at hand: {entry.note}")
    block = next(block for block in BLOCKS if "train_oracle" in block)
    said = outcome(block.replace("ba_2motifs", name), capsys)
    assert " turns " in said or "Found no edits" in said


def test_the_example_with_an_own_model_works(capsys):
    block = next(block for block in BLOCKS if "MyModel" in block)
    said = outcome(block, capsys)
    assert " turns " in said
    assert "(with at most 3 edits and node 0 frozen)" in said


def test_the_example_of_an_own_method_works(capsys):
    block = next(block for block in BLOCKS if "DropOneEdge" in block)
    assert "checks passed" in outcome(block, capsys)


def test_every_python_example_is_tested():
    assert len(BLOCKS) == 3


def test_every_command_in_the_readme_exists(capsys):
    consoles = "".join(re.findall(r"```console\n(.*?)```", README.read_text(), flags=re.DOTALL))
    commands = set(re.findall(r"^edgeflip (\w+)", consoles, flags=re.MULTILINE))
    assert {"datasets", "train", "explain"} <= commands
    for command in commands:
        with pytest.raises(SystemExit) as end:
            main([command, "--help"])
        assert end.value.code == 0, capsys.readouterr().err


def test_every_link_to_a_file_leads_somewhere():
    for target in re.findall(r"\]\(([^)#:]+)\)", README.read_text()):
        assert (README.parent / target).exists(), target
