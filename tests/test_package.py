"""What is published: archives, claims, workflows, forms and notes."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from packaging.version import Version

from audit import CLEAN, UNKNOWN, VULNERABLE, judged
from compat import BEGIN, END, OLDEST, TESTS, Outcome, table, written
from environments import (
    CONSTRAINTS,
    EXTRAS_FOR_USERS,
    PROJECT,
    TOOL_PINS,
    claims,
    lower_bound,
    pins,
)
from notes import check_tag, section
from package import tracked, wrong_in_source, wrong_in_wheel

ROOT = Path(__file__).resolve().parents[1]
GITHUB = ROOT / ".github"
WORKFLOWS = sorted((GITHUB / "workflows").glob("*.yml"))
FORMS = sorted(path for path in (GITHUB / "ISSUE_TEMPLATE").glob("*.yml") if path.stem != "config")
TARGETS = re.findall(
    r"^([a-z-]+):.*## ", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE
)


def read(path):
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def versions_page():
    page = (ROOT / "docs" / "reliability.md").read_text(encoding="utf-8")
    rows = page.partition(BEGIN)[2].partition(END)[0].strip().splitlines()
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]


def pythons_claimed():
    prefix = "Programming Language :: Python :: 3."
    return {name[len(prefix) - 2 :] for name in PROJECT["classifiers"] if name.startswith(prefix)}


# Archives


def test_a_file_too_many_or_too_few_in_a_wheel_is_named():
    files = {"src/edgeflip/__init__.py", "src/edgeflip/py.typed", "tests/test_one.py"}
    whole = {"edgeflip/__init__.py", "edgeflip/py.typed", "edgeflip-0.2.0.dist-info/METADATA"}
    assert not wrong_in_wheel(whole, files)
    assert wrong_in_wheel(whole - {"edgeflip/py.typed"}, files) == [
        "the wheel lacks edgeflip/py.typed"
    ]
    assert wrong_in_wheel(whole | {"tests/test_one.py"}, files) == [
        "the wheel has tests/test_one.py"
    ]


def test_a_file_too_many_or_too_few_in_a_source_archive_is_named():
    files = {"pyproject.toml", "tests/test_one.py"}
    whole = files | {"PKG-INFO", "setup.cfg", "src/edgeflip.egg-info/SOURCES.txt"}
    assert not wrong_in_source(whole, files)
    assert wrong_in_source(whole - {"tests/test_one.py"}, files) == [
        "the source archive lacks tests/test_one.py"
    ]
    assert wrong_in_source(whole | {"answer.svg"}, files) == ["the source archive has answer.svg"]


@pytest.mark.long
def test_archives_are_built_and_hold_what_the_repository_does():
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    done = subprocess.run(
        [sys.executable, ROOT / "tools" / "package.py", "--only", "built"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"edgeflip-{PROJECT['version']}-py3-none-any.whl" in done.stdout


def test_everything_at_the_top_of_the_repository_is_in_the_manifest():
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    named = set((ROOT / "MANIFEST.in").read_text(encoding="utf-8").split())
    assert {name.partition("/")[0] for name in tracked()} <= named


# Claims


def test_every_package_that_users_install_has_tests_that_depend_on_it():
    assert set(TESTS) == set(claims())
    for name in {name for names in TESTS.values() for name in names}:
        file, _, test = name.partition("::")
        assert not test or f"\ndef {test}(" in (ROOT / file).read_text(encoding="utf-8"), name
        assert (ROOT / file).is_file()


def test_lower_bounds_are_the_oldest_versions_that_were_run():
    (header, _, *rows) = versions_page()
    column = header.index(OLDEST)
    oldest = {row[0]: row[column] for row in rows if row[0] in TESTS}
    assert set(oldest) == set(TESTS)
    for name, claim in claims().items():
        bound, ran = Version(lower_bound(claim)), Version(oldest[name])
        assert (bound.major, bound.minor) == (ran.major, ran.minor), name
        assert claim.specifier.contains(oldest[name]), name


def test_every_claimed_python_was_run_and_every_environment_passed():
    rows = {row[0]: row[1:] for row in versions_page()}
    assert {version.rpartition(".")[0] for version in rows["Python"]} == pythons_claimed()
    assert all(re.fullmatch(r"\d+ passed(, \d+ \w+)*", said) for said in rows["**tests**"])
    assert not any("failed" in said or "error" in said for said in rows["**tests**"])


def test_an_extra_for_users_is_none_for_developers():
    assert {"chem", "draw"} <= set(EXTRAS_FOR_USERS)
    assert not {"all", "dev"} & set(EXTRAS_FOR_USERS)


def test_the_table_of_versions_has_the_oldest_first_and_goes_between_its_marks(tmp_path):
    ran = [
        Outcome(which, python, dict.fromkeys(TESTS, "1.0"), "9 passed", True, 1.25)
        for which, python in (("newest", "3.12.1"), ("newest", "3.11.7"), ("oldest", "3.11.7"))
    ]
    lines = table(ran).splitlines()
    assert lines[0] == "|  | oldest | newest | newest |"
    assert lines[2] == "| Python | 3.11.7 | 3.11.7 | 3.12.1 |"
    assert len(lines) == len(TESTS) + 5
    page = tmp_path / "page.md"
    page.write_text(f"Before {BEGIN}\nan older table\n{END} after")
    written(page, table(ran))
    assert page.read_text() == f"Before {BEGIN}\n\n{table(ran)}\n\n{END} after"
    page.write_text("no marks")
    with pytest.raises(SystemExit, match="expected <!-- compat: begin -->"):
        written(page, "")


# Pins


def test_pins_of_tools_are_exact_sorted_and_agree_with_the_constraints():
    tools, constraints = pins(TOOL_PINS), pins(CONSTRAINTS)
    assert list(tools) == sorted(tools)
    assert {"build", "mypy", "pip-audit", "pyright", "twine"} <= set(tools)
    assert all(constraints[name] == tools[name] for name in set(tools) & set(constraints))


def test_only_pins_that_were_all_looked_up_are_called_clean():
    pinned = {"one": "1.0", "two": "2.0"}
    hole = {"id": "PYSEC-1", "fix_versions": ["1.1", "2.0"]}
    clean = [{"name": "one", "vulns": []}, {"name": "two", "vulns": []}]
    assert judged(clean, pinned).code == CLEAN
    assert judged([{"name": "one", "vulns": [hole]}, clean[1]], pinned).code == VULNERABLE
    assert "one 1.0: PYSEC-1, fixed in 1.1, 2.0" in str(
        judged([{"name": "one", "vulns": [hole]}], pinned)
    )
    skipped = judged([clean[0], {"name": "two", "skip_reason": "not found"}], pinned)
    assert skipped.code == UNKNOWN
    assert "did not answer for: two" in str(skipped)
    nothing = judged([], pinned)
    assert nothing.code == UNKNOWN
    assert "nothing was checked" in str(nothing)


# Workflows and forms


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_runs_make_targets_that_exist(path):
    jobs = read(path)["jobs"]
    commands = [step["run"] for job in jobs.values() for step in job["steps"] if "run" in step]
    made = [command for command in commands if not command.startswith("gh release create ")]
    assert made
    for command in made:
        make, *targets = command.split()
        assert make == "make"
        assert targets
        assert set(targets) <= set(TARGETS)


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_keeps_no_secrets_and_may_only_read_unless_a_job_says_more(path):
    text, workflow = path.read_text(encoding="utf-8"), read(path)
    assert "secrets." not in text
    assert workflow["permissions"] == {"contents": "read"}
    for job in workflow["jobs"].values():
        for step in job["steps"]:
            assert ("run" in step) != ("uses" in step)
            # What somebody else may have written, a branch or a title, is never part of a command.
            assert "${{" not in step.get("run", "")
            assert re.fullmatch(r"[\w./-]+@[\w./-]+", step.get("uses", "a@1"))


def test_the_matrix_tests_every_claimed_python():
    matrix = read(GITHUB / "workflows" / "test.yml")["jobs"]["test"]["strategy"]["matrix"]
    assert set(matrix["python-version"]) == pythons_claimed()


def test_a_release_is_tested_before_it_is_published_and_published_by_trust():
    jobs = read(GITHUB / "workflows" / "release.yml")["jobs"]
    before = [step.get("run") for step in jobs["build"]["steps"]]
    assert before.index("make notes") < before.index("make test") < before.index("make package")
    assert jobs["pypi"]["needs"] == "build"
    assert jobs["pypi"]["permissions"] == {"id-token": "write"}
    assert not any("with" in step and "password" in step["with"] for step in jobs["pypi"]["steps"])


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.stem)
def test_a_form_has_what_github_asks_for(path):
    form = read(path)
    assert form["name"]
    assert form["description"]
    fields = [field for field in form["body"] if field["type"] != "markdown"]
    ids = [field["id"] for field in fields]
    assert len(ids) == len(set(ids)) > 0
    assert all(field["attributes"]["label"] for field in fields)
    assert any(field.get("validations", {}).get("required") for field in fields)


def test_there_is_a_form_for_bugs_features_and_methods():
    assert [path.stem for path in FORMS] == ["bug", "feature", "method"]


def test_the_security_policy_names_a_private_way_and_no_address():
    policy = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    assert "Report a vulnerability" in policy
    assert not re.search(r"https?://|\S@\S", policy)


# Notes


def test_this_version_has_notes_that_say_what_is_new_first():
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert section(changelog, PROJECT["version"]).startswith("### What's new\n")
    assert re.findall(r"^## \[(.+?)\]", changelog, re.MULTILINE)[:2] == [
        "Unreleased",
        PROJECT["version"],
    ]


def test_notes_end_where_the_next_version_begins_and_missing_ones_are_refused():
    changelog = "# Changes\n\n## [Unreleased]\n\n## [0.2.0] - today\n\nNew.\n\n## [0.1.0]\n\nOld.\n"
    assert section(changelog, "0.2.0") == "New.\n"
    assert section(changelog, "0.1.0") == "Old.\n"
    for version in ("0.3.0", "0.2", "Unreleased"):
        with pytest.raises(SystemExit, match="expected a section"):
            section(changelog, version)


def test_a_tag_of_another_version_is_refused():
    check_tag("v0.2.0", "0.2.0")
    with pytest.raises(SystemExit, match=r"expected the tag v0\.2\.0"):
        check_tag("v0.3.0", "0.2.0")
