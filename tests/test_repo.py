"""The files around the package agree with each other and with the package."""

import ast
import os
import re
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

import edgeflip

ROOT = Path(__file__).resolve().parents[1]
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = SETTINGS["project"]
EXTRAS = PROJECT["optional-dependencies"]
RUNTIME_EXTRAS = {"bench", "chem", "cluster", "draw", "text", "text-offline"}
PAPER = (
    "A Completion-Aware Framework for Impactful Counterfactual Explainability "
    "in Graph Neural Networks"
)
# Written so that the pattern does not match itself.
MACHINE_PATH = re.compile(r"(?<![\w.~-])/(?:home|root|Users|work)/\w|[A-Za-z]:\\Users\\")


def _pins() -> dict[str, Requirement]:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pins = [Requirement(line) for line in lines if line and not line.startswith("#")]
    return {canonicalize_name(pin.name): pin for pin in pins}


def _requirements() -> list[Requirement]:
    lines = [*PROJECT["dependencies"], *(line for extra in EXTRAS.values() for line in extra)]
    requirements = [Requirement(line) for line in lines]
    return [requirement for requirement in requirements if requirement.name != PROJECT["name"]]


def test_every_promised_extra_exists() -> None:
    assert set(EXTRAS) == RUNTIME_EXTRAS | {"all", "dev", "docs"}


def test_the_extra_all_is_the_sum_of_the_runtime_extras() -> None:
    (line,) = EXTRAS["all"]
    assert Requirement(line).name == PROJECT["name"]
    assert Requirement(line).extras == RUNTIME_EXTRAS


@pytest.mark.parametrize("requirement", _requirements(), ids=str)
def test_a_requirement_is_pinned_inside_its_range(requirement: Requirement) -> None:
    pin = _pins()[canonicalize_name(requirement.name)]
    (specifier,) = pin.specifier
    assert requirement.specifier.contains(specifier.version)


def test_constraints_are_exact_public_versions_in_alphabetical_order() -> None:
    pins = _pins()
    for pin in pins.values():
        assert pin.url is None
        (specifier,) = pin.specifier
        assert specifier.operator == "=="
        # pip matches "2.13.0" with an installed "2.13.0+cpu", but not the other way round.
        assert Version(specifier.version).local is None
    assert list(pins) == sorted(pins)


def test_the_version_is_the_same_everywhere() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert edgeflip.__version__ == PROJECT["version"] == citation["version"]


def test_the_citation_file_cites_the_paper_with_its_authors() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["cff-version"] == "1.2.0"
    (paper,) = (entry for entry in citation["references"] if entry["title"] == PAPER)
    names = [author["family-names"] for author in paper["authors"]]
    assert names == ["Villia", "Gouidis", "Patkos", "Trahanias"]


def test_no_file_names_a_path_of_one_machine() -> None:
    listing = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=False,
    )
    if listing.returncode != 0:
        pytest.skip("not a git checkout")
    found = []
    for name in filter(None, listing.stdout.decode().split("\0")):
        path = ROOT / name
        if path.is_file() and MACHINE_PATH.search(path.read_bytes().decode("utf-8", "replace")):
            found.append(name)
    assert not found


def test_ci_runs_make_test() -> None:
    script = ROOT / ".ci" / "run"
    assert os.access(script, os.X_OK)
    assert "make test" in script.read_text(encoding="utf-8").splitlines()


def test_every_marker_is_on_some_test_and_named_by_make() -> None:
    tests = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("*.py"))
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for line in SETTINGS["tool"]["pytest"]["ini_options"]["markers"]:
        name = line.partition(":")[0]
        assert f"pytest.mark.{name}\n" in tests
        assert re.search(rf"-m '?[a-z ]*\b{name}\b", makefile)


def test_no_module_imports_the_names_that_the_package_re_exports() -> None:
    """The layers contract ignores what `edgeflip` imports, so nobody may go through it."""
    package = ROOT / "src" / "edgeflip"
    found = []
    for path in package.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(node, ast.ImportFrom) and node.module == "edgeflip":
                names = {alias.name for alias in node.names} - {"__version__"}
            elif isinstance(node, ast.Import):
                names = {alias.name for alias in node.names} & {"edgeflip"}
            else:
                continue
            for name in names:
                module = package / name
                if not (module.is_dir() or module.with_suffix(".py").is_file()):
                    found.append(f"{path.relative_to(ROOT)}:{node.lineno} imports {name}")
    assert not found


def _lazy_names(path: Path) -> tuple[dict[str, str], dict[str, str], list[str]]:
    """What a lazy package imports for type checkers, what it loads on first use, and what it lists."""
    tree = ast.parse(path.read_bytes())
    typed, loaded, listed = {}, {}, []
    for node in tree.body:
        if isinstance(node, ast.If):
            for entry in node.body:
                assert isinstance(entry, ast.ImportFrom)
                typed.update({alias.name: str(entry.module) for alias in entry.names})
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Dict):
            loaded = ast.literal_eval(node.value)
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.List):
            listed = ast.literal_eval(node.value)
    return typed, loaded, listed


@pytest.mark.parametrize("package", ["", "explainers"])
def test_a_lazy_package_offers_what_type_checkers_see(package: str) -> None:
    path = ROOT / "src" / "edgeflip" / package / "__init__.py"
    typed, loaded, listed = _lazy_names(path)
    assert typed == loaded
    assert sorted(listed) == sorted(loaded)
    for name in listed:
        module = edgeflip if not package else __import__("edgeflip.explainers", fromlist=["x"])
        assert getattr(module, name) is not None


def test_no_file_has_more_than_450_lines_and_no_function_more_than_60() -> None:
    too_long = []
    for path in [*(ROOT / "src").rglob("*.py"), *(ROOT / "tests").rglob("*.py")]:
        text = path.read_text(encoding="utf-8")
        if text.count("\n") > 450:
            too_long.append(f"{path.relative_to(ROOT)}")
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef):
                body = node.body[1:] if ast.get_docstring(node) else node.body
                if body and (node.end_lineno or 0) - body[0].lineno + 1 > 60:
                    too_long.append(f"{path.relative_to(ROOT)}:{node.name}")
    assert not too_long
