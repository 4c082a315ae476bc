"""The help of the command line: it comes at once, fits a terminal, and groups its options."""

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar

import pytest
import typer

from edgeflip.cli import main
from edgeflip.cli.groups import OptionGroup
from edgeflip.cli.keywords import default_of, from_field
from edgeflip.cli.registration import command

HEAVY = ("torch", "torch_geometric", "numpy", "rdkit", "matplotlib", "networkx", "scipy", "sklearn")

# Runs the command line and prints which heavy packages were loaded by it.
PROGRAM = f"""
import sys
from edgeflip.cli import main
try:
    main()
finally:
    loaded = [name for name in {HEAVY!r} if name in sys.modules]
    print("loaded:", *loaded, file=sys.stderr)
"""

COMMANDS = (
    ("datasets",),
    ("methods",),
    ("metrics",),
    ("train",),
    ("explain",),
    ("demo",),
    ("summarize",),
    ("verify",),
    ("bench",),
    ("bench", "specs"),
    ("bench", "run"),
    ("bench", "report"),
    ("data",),
    ("data", "get"),
)


def help_of(capsys, *arguments):
    with pytest.raises(SystemExit) as end:
        main([*arguments, "--help"])
    assert end.value.code == 0
    return capsys.readouterr().out


def heavy_packages(*arguments, **variables):
    """The exit code of a command in a process of its own, and the heavy packages that it loaded."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **variables},
        check=False,
    )
    last = done.stderr.splitlines()[-1]
    assert last.startswith("loaded:"), done.stderr
    return done.returncode, last.split()[1:]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("--help",), 0),
        (("--version",), 0),
        (("explain", "--help"), 0),
        (("bench", "run", "--help"), 0),
        (("explain", "--indexx", "0"), 2),
        (("explain", "ba_2motifs", "--seed", "many"), 2),
        (("explian",), 2),
        (("explain", "ba_2motif", "--index", "0"), 2),
        (("explain", "ba_2motifs", "--index", "0", "--method", "randum"), 2),
        (("explain", "ba_2motifs", "--index", "0", "--target", "hause"), 2),
        (("explain", "ba_2motifs", "--index", "0", "--ranking", "papre"), 2),
        (("explain", "ba_2motifs", "--index", "0", "--oracle", "no/such/folder"), 2),
        (("bench", "run", "smok", "--out", "nowhere"), 2),
        (("train", "ba_2motifs", "--profile", "gpu"), 2),
    ],
)
def test_help_and_mistakes_in_options_load_no_torch(arguments, code):
    assert heavy_packages(*arguments) == (code, [])


def test_shell_completion_loads_no_torch():
    completing = {"_EDGEFLIP_COMPLETE": "complete_bash", "COMP_WORDS": "edgeflip expl"}
    assert heavy_packages(**completing, COMP_CWORD="1") == (0, [])


def test_python_dash_m_is_the_same_command():
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "edgeflip", "--help"],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert "Usage: edgeflip" in done.stdout
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "edgeflip.cli.commands" in imported
    assert not imported & set(HEAVY)


@pytest.mark.parametrize("arguments", [(), *COMMANDS], ids=" ".join)
def test_help_fits_a_terminal_of_80_columns(capsys, monkeypatch, arguments):
    monkeypatch.setenv("COLUMNS", "80")
    lines = help_of(capsys, *arguments).splitlines()
    assert max(map(len, lines)) <= 80
    cut_off = [line for line in lines[1:] if line.endswith("...")]
    assert not cut_off


@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
def test_options_name_what_they_take_in_words_of_users(capsys, arguments):
    assert "list[" not in help_of(capsys, *arguments)
    assert "<" not in help_of(capsys, *arguments)


def test_commands_that_share_a_group_describe_it_alike(capsys):
    def section(command):
        text = help_of(capsys, command)
        return text[text.index("\nData:") :].split("\n\n")[0]

    assert section("train") == section("explain") == section("summarize")


def test_help_lists_a_group_as_a_section_and_the_command_gets_it_whole(capsys):
    @dataclass(frozen=True)
    class Place(OptionGroup):
        title: ClassVar[str] = "Where"
        folder: Annotated[Path, typer.Option(help="A folder.")] = Path("here")
        depth: Annotated[int, typer.Option("--levels")] = 2

    seen = []
    app = typer.Typer(rich_markup_mode=None)

    @app.callback()
    def _root():
        pass

    def walk(place: Place, name: Annotated[str, typer.Option()], loud: bool = False) -> None:
        """Walk."""
        seen.append((place, name, loud))

    # Annotations of a function in a test cannot be found by name; those of modules can.
    walk.__annotations__["place"] = Place
    command(app)(walk)
    with pytest.raises(SystemExit):
        app(["walk", "--help"])
    shown = capsys.readouterr().out
    assert shown.index("Where:") < shown.index("--levels") < shown.index("Options:")
    with pytest.raises(SystemExit):
        app(["walk", "--levels", "5", "--name", "x"])
    assert seen == [(Place(Path("here"), 5), "x", False)]


@pytest.mark.parametrize("name", ["target", "keep", "number", "diversity", "robust", "seed"])
def test_options_of_explain_are_those_of_its_keywords(name):
    from edgeflip.explainers import OPTIONS, ExplainOptions

    assert set(OPTIONS) == set(ExplainOptions.__annotations__)
    assert default_of(name) == OPTIONS[name].default
    assert from_field(name, metavar="N").help == OPTIONS[name].help
