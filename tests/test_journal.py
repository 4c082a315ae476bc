"""The journal: a row is on the disk once it is written, and a line cut off is dropped."""

import json
import os

import pytest

from conftest import assert_sentence
from edgeflip.errors import ArtifactError
from edgeflip.support.journal import Journal, read_rows, signed


def row(graph):
    return {"kind": "graph", "dataset": "d", "method": "m", "seed": 0, "graph": graph}


@pytest.mark.parametrize("rest", [b'{"kind": "gra', b"\x00\x00\x00", b'{"kind": 1}\n', b"[]\n"])
def test_a_last_line_cut_off_by_a_crash_is_dropped(tmp_path, rest):
    path = tmp_path / "results.jsonl"
    journal = Journal(path)
    for graph in range(3):
        journal.append(row(graph))
    journal.close()
    whole = path.read_bytes()
    path.write_bytes(whole + rest)
    repaired = Journal(path)
    assert repaired.repaired
    assert path.read_bytes() == whole
    repaired.append(row(3))
    repaired.close()
    assert [entry["graph"] for entry in Journal(path).rows.values()] == [0, 1, 2, 3]


def test_a_broken_line_further_up_is_not_passed_over(tmp_path):
    path = tmp_path / "results.jsonl"
    path.write_bytes(b'{"kind": "gra\n' + json.dumps(row(0)).encode() + b"\n")
    with pytest.raises(ArtifactError) as error:
        Journal(path)
    assert_sentence(error, "line 1")


def test_a_row_is_on_the_disk_when_append_returns(tmp_path, monkeypatch):
    synced = []
    monkeypatch.setattr(os, "fsync", lambda number: synced.append(number))
    journal = Journal(tmp_path / "results.jsonl")
    journal.append(row(0))
    assert len(synced) == 1
    assert json.loads((tmp_path / "results.jsonl").read_text()) == signed(row(0))


# Checksums.


def three_rows(tmp_path):
    journal = Journal(tmp_path / "results.jsonl")
    for graph in range(3):
        journal.append(row(graph) | {"score": 0.25, "name": "Zürich", "notes": {"a": None}})
    journal.close()
    return journal.path


@pytest.mark.parametrize("line", [0, 1, 2])
@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b'"score": 0.25', b'"score": 0.26'),
        (b'"seed": 0, ', b'"seed": 0, "added": [], '),
        (b', "name": "Z\xc3\xbcrich"', b""),
        (b'"checksum": "', b'"checksum": "0'),
        (b'"checksum"', b'"check"'),
    ],
)
def test_an_edited_row_is_noticed_and_named(tmp_path, line, before, after):
    path = three_rows(tmp_path)
    lines = path.read_bytes().splitlines(keepends=True)
    assert before in lines[line]
    lines[line] = lines[line].replace(before, after)
    path.write_bytes(b"".join(lines))
    whole = path.read_bytes()
    for read in (Journal, lambda place: read_rows(place, all_signed=True)):
        with pytest.raises(ArtifactError) as error:
            read(path)
        assert_sentence(error, f"line {line + 1}", f"graph {line}, d, m, seed 0", "remove it")
    # Nothing is repaired that was no crash.
    assert path.read_bytes() == whole


def test_a_row_means_the_same_however_its_keys_are_ordered_and_loses_its_checksum(tmp_path):
    path = three_rows(tmp_path)
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    path.write_text("".join(f"{json.dumps(line, sort_keys=True)}\n" for line in lines))
    assert "checksum" not in next(iter(Journal(path).rows.values()))


def test_rows_may_be_taken_out(tmp_path):
    path = three_rows(tmp_path)
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[::2]))
    assert [entry["graph"] for entry in Journal(path).rows.values()] == [0, 2]


def test_rows_of_older_runs_are_read_and_counted(tmp_path):
    path = tmp_path / "results.jsonl"
    path.write_text(f"{json.dumps(row(0))}\n{json.dumps(signed(row(1)))}\n")
    read = read_rows(path, all_signed=False)
    assert (read.rows, read.unsigned, read.cut_off) == ([row(0), row(1)], 1, False)
    path.write_text(f"{json.dumps(row(0))}\n{json.dumps(signed(row(1)) | {'graph': 2})}\n")
    with pytest.raises(ArtifactError, match="line 2"):
        read_rows(path, all_signed=False)
