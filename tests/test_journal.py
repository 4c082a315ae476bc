"""The journal: a row is on the disk once it is written, and a line cut off is dropped."""

import json
import os

import pytest

from conftest import assert_sentence
from edgeflip.errors import ArtifactError
from edgeflip.support.journal import Journal


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
    assert json.loads((tmp_path / "results.jsonl").read_text()) == row(0)
