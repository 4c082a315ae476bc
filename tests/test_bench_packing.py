"""A run that a repository keeps: packed as it grows, unpacked elsewhere, and gone on with."""

import json
import lzma
import subprocess
from pathlib import Path
from runpy import run_path

import pytest

from bench_rows import TINY, rows_of, timeless
from conftest import assert_sentence
from edgeflip.bench import pack_run, packing, unpack_run
from edgeflip.bench.run import run_bench
from edgeflip.bench.spec import BenchSpec, MethodSpec
from edgeflip.errors import ArtifactError, ConfigError
from edgeflip.support import read_json, write_json
from edgeflip.support.journal import signed

ROOT = Path(__file__).parents[1]
TWO = BenchSpec(**{**vars(TINY), "methods": (MethodSpec("random"), MethodSpec("cf-gnnexplainer"))})


def test_a_run_packed_twice_and_unpacked_is_gone_on_with_as_if_nothing_had_happened(
    tmp_path, models
):
    run, kept, other = tmp_path / "run", tmp_path / "kept", tmp_path / "other"
    run_bench(TWO, run, models=models, methods=["random"])
    first = pack_run(run, kept)
    rows = (run / "results.jsonl").read_text("utf-8").splitlines(keepends=True)
    assert first.rows == len(rows)
    assert pack_run(run, kept).rows == len(rows)
    assert [path.name for path in sorted(kept.glob("rows*"))] == ["rows-0001.jsonl.xz"]
    unpack_run(kept, other)
    assert (other / "results.jsonl").read_text("utf-8") == "".join(rows)
    report = run_bench(TWO, other, models=models)
    assert (report.rows, report.measured) == (6, 3)
    run_bench(TWO, run, models=models)
    assert list(map(timeless, rows_of(run))) == list(map(timeless, rows_of(other)))

    pack_run(run, kept)
    names = [path.name for path in sorted(kept.glob("rows*"))]
    assert names == ["rows-0001.jsonl.xz", "rows-0002.jsonl.xz"]
    whole = b"".join(lzma.decompress((kept / name).read_bytes()) for name in names)
    assert whole == (run / "results.jsonl").read_bytes()


def test_a_row_that_is_being_written_is_packed_when_it_is_whole(tmp_path, models):
    run_bench(TINY, tmp_path / "run", models=models)
    path = tmp_path / "run" / "results.jsonl"
    content = path.read_bytes()
    path.write_bytes(content[:-20])
    kept = pack_run(tmp_path / "run", tmp_path / "kept")
    path.write_bytes(content)
    assert pack_run(tmp_path / "run", tmp_path / "kept").rows == kept.rows + 1


def test_rows_of_another_run_are_not_added_to_a_packed_one(tmp_path, models):
    run_bench(TINY, tmp_path / "one", models=models)
    run_bench(TINY, tmp_path / "two", models=models)
    pack_run(tmp_path / "one", tmp_path / "kept")
    with pytest.raises(ArtifactError, match="to hold the first rows") as caught:
        pack_run(tmp_path / "two", tmp_path / "kept")
    assert_sentence(caught)


def test_oracles_and_dear_small_fits_are_kept_and_others_learned_again(tmp_path, monkeypatch):
    spec = BenchSpec(**{**vars(TINY), "methods": (MethodSpec("gcfexplainer"),)})
    run_bench(spec, tmp_path / "run")
    assert pack_run(tmp_path / "run", tmp_path / "cheap").models == 1
    monkeypatch.setattr(packing, "_DEAR_SECONDS", 0.0)
    assert pack_run(tmp_path / "run", tmp_path / "dear").models == 2
    unpack_run(tmp_path / "dear", tmp_path / "again")
    names = sorted(path.name.partition("-")[0] for path in (tmp_path / "again/models").iterdir())
    assert names == ["gcfexplainer", "oracle"]
    monkeypatch.setattr(packing, "_SMALL_BYTES", 10)
    assert pack_run(tmp_path / "run", tmp_path / "large").models == 0


def test_what_cannot_be_unpacked_is_one_sentence(tmp_path, models):
    run_bench(TINY, tmp_path / "run", models=models)
    kept = pack_run(tmp_path / "run", tmp_path / "kept").folder
    with pytest.raises(ConfigError, match="expected an empty folder") as caught:
        unpack_run(kept, tmp_path / "run")
    assert_sentence(caught)
    with pytest.raises(ArtifactError):
        unpack_run(tmp_path, tmp_path / "new")
    (kept / "rows-0001.jsonl.xz").write_bytes(b"no rows")
    with pytest.raises(ArtifactError, match="restore the file") as caught:
        unpack_run(kept, tmp_path / "new")
    assert_sentence(caught)


def test_a_run_knows_its_commit_and_says_where_it_can_be_gone_on_with(
    tmp_path, models, monkeypatch
):
    from edgeflip.bench import folder

    monkeypatch.setattr(folder, "code_commit", lambda: "0123456789abcdef")
    run_bench(TINY, tmp_path, models=models)
    assert read_json(tmp_path / "meta.json")["commit"] == "0123456789abcdef"
    monkeypatch.setattr(folder, "code_version", lambda: "other")
    with pytest.raises(ConfigError, match="from git commit 0123456789ab") as caught:
        run_bench(TINY, tmp_path, models=models)
    assert_sentence(caught)


def test_a_long_run_goes_on_in_a_later_clone_from_what_the_repository_holds(
    tmp_path, monkeypatch, capsys
):
    for name in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{name}_NAME", "a")
        monkeypatch.setenv(f"GIT_{name}_EMAIL", "a@b.c")

    def git(place, *words):
        command = ["git", "-C", str(place), *words]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    # A repository with nothing in it but a package that adds a row whenever it is run.
    repository, rows = tmp_path / "repository", tmp_path / "rows"
    package = repository / "src" / "edgeflip"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "__main__.py").write_text(_ADDS_A_ROW)
    git(tmp_path, "init", "--quiet", str(repository))
    git(repository, "add", ".")
    git(repository, "commit", "--quiet", "-m", "first")
    rows.mkdir()
    write_json(rows / "meta.json", {"commit": git(repository, "rev-parse", "HEAD")})
    told = ({"kind": "graph", "dataset": "d", "method": "m", "graph": k} for k in range(2))
    (rows / "results.jsonl").write_text("".join(json.dumps(signed(row)) + "\n" for row in told))
    monkeypatch.setenv("ROWS", str(rows))

    def long_run(home):
        words = [
            "fake",
            "--commit",
            "--home",
            str(tmp_path / home),
            "--repository",
            str(repository),
        ]
        assert run_path(str(ROOT / "tools" / "long_run.py"))["main"](words) == 0
        return capsys.readouterr().out

    assert "1 rows" in long_run("home")
    (package / "__main__.py").write_text("raise SystemExit('the code of another commit')")
    git(repository, "add", "src")
    git(repository, "commit", "--quiet", "-m", "second")
    assert "unpacked to" in long_run("later")
    got = (tmp_path / "later" / "fake" / "results.jsonl").read_text("utf-8").splitlines()
    assert [json.loads(line)["graph"] for line in got] == [0, 1]
    log = git(repository, "log", "--format=%s").splitlines()
    assert log == [
        "Journal of the run 'fake': 2 rows",
        "second",
        "Journal of the run 'fake': 1 rows",
        "first",
    ]


_ADDS_A_ROW = """
import os, shutil, sys
from pathlib import Path

folder, rows = Path(sys.argv[sys.argv.index("--out") + 1]), Path(os.environ["ROWS"])
folder.mkdir(exist_ok=True)
shutil.copy(rows / "meta.json", folder)
path = folder / "results.jsonl"
done = path.read_text().count("\\n") if path.exists() else 0
with path.open("a") as file:
    file.write((rows / "results.jsonl").read_text().splitlines(keepends=True)[done])
"""
