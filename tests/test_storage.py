from __future__ import annotations

import errno
import json
import os
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from edgeflip.errors import ArtifactError
from edgeflip.support import storage
from edgeflip.support.storage import (
    checksum,
    read_artifact,
    read_json,
    write_artifact,
    write_json,
    write_lines,
)

CONFIG = {"layers": [20, 20], "rate": 0.1, "name": "Größe", "none": None}


def tensors(value: float = 1.0) -> dict[str, Tensor]:
    return {"weight": torch.full((2, 3), value), "steps": torch.tensor(7)}


def save(folder: Path, value: float = 1.0) -> Path:
    return write_artifact(folder, kind="oracle", config=CONFIG, tensors=tensors(value))


def leftovers(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir() if "tmp" in file.name)


def test_what_was_written_is_read_back(tmp_path: Path) -> None:
    folder = save(tmp_path / "deep" / "folder")
    config, weights = read_artifact(folder, "oracle")
    assert config == CONFIG
    assert weights.keys() == tensors().keys()
    assert all(torch.equal(weights[name], tensor) for name, tensor in tensors().items())
    assert sorted(file.name for file in folder.iterdir()) == ["config.json", "model.safetensors"]


def test_tensors_may_be_empty_shared_strided_or_none_at_all(tmp_path: Path) -> None:
    whole = torch.arange(6.0).reshape(2, 3)
    odd = {"empty": torch.empty(0, 4), "whole": whole, "view": whole[0], "turned": whole.t()}
    write_artifact(tmp_path / "odd", kind="oracle", config={}, tensors=odd)
    _, weights = read_artifact(tmp_path / "odd", "oracle")
    assert all(torch.equal(weights[name], tensor) for name, tensor in odd.items())
    write_artifact(tmp_path / "none", kind="oracle", config={}, tensors={})
    assert read_artifact(tmp_path / "none", "oracle") == ({}, {})


def test_a_second_artifact_replaces_the_first(tmp_path: Path) -> None:
    save(tmp_path, 1.0)
    save(tmp_path, 2.0)
    assert float(read_artifact(tmp_path, "oracle")[1]["weight"][0, 0]) == 2.0
    assert len(list(tmp_path.iterdir())) == 2


def test_a_missing_folder_or_file_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(ArtifactError, match=r"saved oracle at .*nowhere, found none"):
        read_artifact(tmp_path / "nowhere", "oracle")
    with pytest.raises(ArtifactError, match=r"config\.json, got none"):
        read_artifact(tmp_path, "oracle")
    save(tmp_path)
    (tmp_path / "model.safetensors").unlink()
    with pytest.raises(ArtifactError, match=r"model\.safetensors, got none"):
        read_artifact(tmp_path, "oracle")


@pytest.mark.parametrize("name", ["config.json", "model.safetensors"])
@pytest.mark.parametrize("damage", ["truncate", "flip", "empty", "noise"])
def test_damaged_files_are_one_sentence(tmp_path: Path, name: str, damage: str) -> None:
    save(tmp_path)
    place = tmp_path / name
    content = place.read_bytes()
    middle = len(content) // 2
    flipped = content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]
    changed = {"truncate": content[:middle], "flip": flipped, "empty": b"", "noise": b"\xff\x00{"}
    place.write_bytes(changed[damage])
    with pytest.raises(ArtifactError, match=r"^expected [^\n]*\.$"):
        read_artifact(tmp_path, "oracle")


def test_a_changed_setting_is_noticed(tmp_path: Path) -> None:
    save(tmp_path)
    place = tmp_path / "config.json"
    place.write_text(place.read_text("utf-8").replace("0.1", "0.2"), "utf-8")
    with pytest.raises(ArtifactError, match="changed"):
        read_artifact(tmp_path, "oracle")


def test_weights_of_another_model_are_noticed(tmp_path: Path) -> None:
    save(tmp_path / "a", 1.0)
    save(tmp_path / "b", 2.0)
    (tmp_path / "b" / "model.safetensors").replace(tmp_path / "a" / "model.safetensors")
    with pytest.raises(ArtifactError, match="does not belong to the config"):
        read_artifact(tmp_path / "a", "oracle")


def test_another_kind_is_refused(tmp_path: Path) -> None:
    save(tmp_path)
    with pytest.raises(ArtifactError, match=r"saved explainer in .*got a saved oracle"):
        read_artifact(tmp_path, "explainer")


def test_a_newer_format_asks_for_an_upgrade(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(storage, "FORMAT_VERSION", storage.FORMAT_VERSION + 1)
        save(tmp_path)
    with pytest.raises(ArtifactError, match=r"newer edgeflip, upgrade"):
        read_artifact(tmp_path, "oracle")


def test_an_older_format_asks_to_train_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(storage, "FORMAT_VERSION", 1)
        save(tmp_path)
    with pytest.raises(ArtifactError, match=r"older edgeflip, train or fit it again"):
        read_artifact(tmp_path, "oracle")


def test_json_that_is_no_artifact_is_refused(tmp_path: Path) -> None:
    write_json(tmp_path / "config.json", {"format": storage.FORMAT_VERSION, "kind": "oracle"})
    with pytest.raises(ArtifactError, match="describe a saved model"):
        read_artifact(tmp_path, "oracle")


def fail_on(monkeypatch: pytest.MonkeyPatch, call: int, error: BaseException) -> None:
    """Let the n-th file that is flushed to disk fail; folders are flushed too, but apart."""
    real, count = os.fsync, 0

    def fsync(handle: int) -> None:
        nonlocal count
        if not os.path.isdir(f"/proc/self/fd/{handle}"):
            count += 1
            if count == call:
                raise error
        real(handle)

    monkeypatch.setattr(storage.os, "fsync", fsync)


@pytest.mark.parametrize("call", [1, 2])
def test_a_full_disk_leaves_the_old_artifact_intact(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: int
) -> None:
    save(tmp_path, 1.0)
    with monkeypatch.context() as patch:
        fail_on(patch, call, OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)))
        with pytest.raises(ArtifactError, match="No space left on device"):
            save(tmp_path, 2.0)
    assert float(read_artifact(tmp_path, "oracle")[1]["weight"][0, 0]) == 1.0
    assert sorted(file.name for file in tmp_path.iterdir()) == ["config.json", "model.safetensors"]


@pytest.mark.parametrize("call", [1, 2])
def test_an_interruption_leaves_the_old_artifact_intact(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: int
) -> None:
    save(tmp_path, 1.0)
    with monkeypatch.context() as patch:
        fail_on(patch, call, KeyboardInterrupt())
        with pytest.raises(KeyboardInterrupt):
            save(tmp_path, 2.0)
    assert float(read_artifact(tmp_path, "oracle")[1]["weight"][0, 0]) == 1.0
    assert not leftovers(tmp_path)


@pytest.mark.parametrize(
    ("surviving_renames", "expected"), [(0, 1.0), (1, 1.0), (2, 2.0), (3, 2.0)]
)
def test_a_crash_between_any_two_renames_leaves_one_whole_artifact(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, surviving_renames: int, expected: float
) -> None:
    class PowerCut(BaseException):
        pass

    save(tmp_path, 1.0)
    real, left = Path.replace, surviving_renames

    def replace(self: Path, target: Path) -> Path:
        nonlocal left
        if left == 0:
            raise PowerCut
        left -= 1
        return real(self, target)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", replace)
        patch.setattr(Path, "unlink", lambda self, missing_ok=False: None)  # nobody cleans up
        with pytest.raises(PowerCut) if surviving_renames < 3 else monkeypatch.context():
            save(tmp_path, 2.0)
    assert float(read_artifact(tmp_path, "oracle")[1]["weight"][0, 0]) == expected
    save(tmp_path, 3.0)
    assert float(read_artifact(tmp_path, "oracle")[1]["weight"][0, 0]) == 3.0


def test_a_folder_that_cannot_be_made_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(ArtifactError, match="expected to write"):
        save(tmp_path / "file" / "folder")
    with pytest.raises(ArtifactError, match="expected to write"):
        write_json(tmp_path, {})


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_without_permission_is_one_sentence(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(ArtifactError, match="Permission denied"):
        save(tmp_path)
    tmp_path.chmod(0o700)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), {1, 2}, object(), torch.ones(1)])
def test_values_json_does_not_know_are_refused_before_anything_is_written(
    tmp_path: Path, value: Any
) -> None:
    with pytest.raises(ArtifactError, match="plain values"):
        write_artifact(tmp_path / "a", kind="oracle", config={"value": value}, tensors={})
    with pytest.raises(ArtifactError, match="plain values"):
        write_json(tmp_path / "a" / "b.json", {"value": value})
    assert not (tmp_path / "a").exists()


def test_json_is_read_back_with_its_checksum(tmp_path: Path) -> None:
    place = write_json(tmp_path / "deep" / "answer.json", {"size": 1, "edges": ((0, 1),)})
    payload = read_json(place)
    assert payload.pop("checksum") == checksum(payload)
    assert payload == {"size": 1, "edges": [[0, 1]]}
    assert json.loads(place.read_text("utf-8"))["size"] == 1


def test_a_payload_may_bring_its_own_checksum_if_it_is_right(tmp_path: Path) -> None:
    payload = {"size": 1}
    payload_with_checksum = {**payload, "checksum": checksum(payload)}
    assert (
        read_json(write_json(tmp_path / "a.json", payload_with_checksum)) == payload_with_checksum
    )
    with pytest.raises(ArtifactError, match="checksum is right"):
        write_json(tmp_path / "a.json", {**payload_with_checksum, "size": 2})


@pytest.mark.parametrize(
    "text", ["", "{", "[1]", "7", '{"size": 1}', '{"checksum": null}', "[" * 9999]
)
def test_json_that_is_not_ours_is_one_sentence(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.json").write_text(text)
    with pytest.raises(ArtifactError, match=r"a\.json"):
        read_json(tmp_path / "a.json")
    with pytest.raises(ArtifactError, match="expected to read"):
        read_json(tmp_path)


plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(max_size=3), inner) | st.tuples(inner)
    | st.dictionaries(st.integers(0, 200), inner),
    max_leaves=10,
)  # fmt: skip


@settings(max_examples=40, deadline=None)
@given(payload=plain)
def test_the_checksum_survives_a_trip_through_json(payload: Any) -> None:
    assert checksum(payload) == checksum(json.loads(json.dumps(payload)))


def test_lines_are_written_whole_or_not_at_all(tmp_path: Path) -> None:
    place = write_lines(tmp_path / "rows.jsonl", (f"row {number}" for number in range(3)))
    assert place.read_text() == "row 0\nrow 1\nrow 2\n"

    def failing() -> Any:
        yield "new"
        raise RuntimeError

    with pytest.raises(RuntimeError):
        write_lines(place, failing())
    assert place.read_text() == "row 0\nrow 1\nrow 2\n"
    assert not leftovers(tmp_path)
