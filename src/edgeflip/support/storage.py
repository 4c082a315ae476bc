"""Files that are whole or not there: JSON with a checksum, and saved models without pickles.

Everything is first written beside its place, flushed to disk and then moved there in one step, so
that a full disk, a crash or Ctrl-C never leaves half a file under a good name. One process at a
time may write to a folder.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from safetensors import safe_open
from safetensors.torch import load as tensors_from_bytes
from safetensors.torch import save as bytes_from_tensors
from torch import Tensor, uint8

from edgeflip.errors import ArtifactError, shown
from edgeflip.support.files import as_path, check_file, read_packed
from edgeflip.support.plain_json import parse_json, reading

FORMAT_VERSION = 2
CONFIG_FILE = "config.json"
WEIGHTS_FILE = "model.safetensors"
# New weights wait under this name until the config that speaks of them is in place.
_PENDING_FILE = "model.safetensors.pending"
_LINE = 100


def checksum(payload: Any) -> str:
    """The sha256 of a payload's canonical JSON: the same before and after a trip through a file.

    Example:
        >>> checksum({"b": (1, 2), "a": None}) == checksum({"a": None, "b": [1, 2]})
        True
    """
    # Through JSON first: numbers as keys become strings there, and those sort differently.
    plain = json.loads(_dumps(payload))
    return hashlib.sha256(_encoded(_dumps(plain, sort_keys=True))).hexdigest()


def write_json(path: str | os.PathLike[str], payload: Mapping[str, Any]) -> Path:
    """Write a JSON file with a `checksum` of its content, whole or not at all.

    It is laid out for people: what is short is on one line, and so are the numbers of a list.

    Args:
        path: the file; its folder is made if need be.
        payload: plain values; a `checksum` it already has must be right and is kept.
    """
    location = as_path(path, ArtifactError)
    content = {key: value for key, value in payload.items() if key != "checksum"}
    own = checksum(content)
    if payload.get("checksum", own) != own:
        raise ArtifactError(
            f"expected a payload for {location} whose checksum is right, got one changed after it "
            "was taken; leave the checksum out to have it made."
        )
    text = _laid_out(json.loads(_dumps({**content, "checksum": own})))
    _write_bytes(location, _encoded(f"{text}\n"))
    return location


def read_json(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read a file that `write_json` wrote, its `checksum` included, and refuse a changed one."""
    location = as_path(path, ArtifactError)
    payload = parse_json(
        read_packed(location, error=ArtifactError),
        where=str(location),
        advice="write it again",
        error=ArtifactError,
    )
    if not isinstance(payload, dict) or "checksum" not in payload:
        raise ArtifactError(
            f"expected {location} to be written by edgeflip, got JSON without a checksum; write it "
            "again."
        )
    if checksum({key: payload[key] for key in payload if key != "checksum"}) != payload["checksum"]:
        raise ArtifactError(
            f"expected {location} as edgeflip wrote it, got one that was changed; write it again."
        )
    return payload


def write_lines(path: str | os.PathLike[str], lines: Iterable[str]) -> Path:
    """Write a text file line by line, whole or not at all; for JSON lines and tables."""
    location = as_path(path, ArtifactError)
    _write_bytes(location, _encoded("".join(f"{line}\n" for line in lines)))
    return location


def write_whole(path: str | os.PathLike[str], write: Callable[[str], object]) -> Path:
    """Let somebody else's code write a file, and put it in its place in one step.

    Args:
        path: The file; its folder is made if need be.
        write: Writes to the path it is given.
    """
    location = Path(path)
    temporary = _beside(location)
    try:
        location.parent.mkdir(parents=True, exist_ok=True)
        write(str(temporary))
        temporary.replace(location)
        _sync_folder(location.parent)
    except OSError as error:
        raise _unwritable(location, error) from error
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
    return location


def write_artifact(
    folder: str | os.PathLike[str],
    *,
    kind: str,
    config: Mapping[str, Any],
    tensors: Mapping[str, Tensor],
) -> Path:
    """Save a model as `config.json` and `model.safetensors`, both or neither.

    What the folder held before stays readable until the new pair is complete. The config is the
    turning point: it is moved into place when the new weights already lie beside the old ones, and
    `read_artifact` takes the weights the config speaks of.

    Args:
        folder: made if need be.
        kind: what it is, such as `"oracle"`; asked for again when reading.
        config: plain values.
        tensors: weights by name; may be none, and may be empty.
    """
    location = as_path(folder, ArtifactError)
    # Copies, because safetensors refuses tensors that share memory.
    weights = bytes_from_tensors(
        {name: tensor.detach().cpu().clone().contiguous() for name, tensor in tensors.items()}
    )
    document = {
        "format": FORMAT_VERSION,
        "kind": kind,
        "config": dict(config),
        "weights": {"file": WEIGHTS_FILE, "sha256": hashlib.sha256(weights).hexdigest()},
    }
    checksum(document)  # raises before anything is written
    pending = location / _PENDING_FILE
    _write_bytes(pending, weights)
    try:
        write_json(location / CONFIG_FILE, document)
    except BaseException:
        with suppress(OSError):
            pending.unlink()
        raise
    try:
        pending.replace(location / WEIGHTS_FILE)
    except OSError as error:
        raise _unwritable(location / WEIGHTS_FILE, error) from error
    return location


def read_artifact(
    folder: str | os.PathLike[str], kind: str
) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """Read config and weights that `write_artifact` saved.

    Args:
        folder: where they are.
        kind: what they must be.

    Raises:
        ArtifactError: if either file is missing, damaged, changed, of another kind, or written by
            a newer edgeflip.
    """
    location = as_path(folder, ArtifactError)
    if not os.path.isdir(location):
        raise ArtifactError(
            f"expected a folder with a saved {kind} at {location}, found none; check the path or save "
            "one there."
        )
    document = _read_document(location / CONFIG_FILE)
    if document["kind"] != kind:
        raise ArtifactError(
            f"expected a saved {kind} in {location}, got a saved {document['kind']}; give the folder "
            f"that holds the {kind}."
        )
    return document["config"], _read_tensors(location, document["weights"]["sha256"])


def write_tensors(path: str | os.PathLike[str], tensors: Mapping[str, Tensor]) -> Path:
    """Write tensors as one safetensors file with a checksum of their content, whole or not at all."""
    location = as_path(path, ArtifactError)
    whole = {name: tensor.detach().cpu().clone().contiguous() for name, tensor in tensors.items()}
    _write_bytes(location, bytes_from_tensors(whole, metadata={"sha256": _tensor_checksum(whole)}))
    return location


def read_tensors(path: str | os.PathLike[str]) -> dict[str, Tensor]:
    """Read tensors that `write_tensors` wrote.

    Raises:
        ArtifactError: if the file is missing, damaged or changed.
    """
    location = as_path(path, ArtifactError)
    check_file(location, error=ArtifactError, most="array_bytes")
    with (
        reading(f"tensors in {location}", advice="write the file again", error=ArtifactError),
        safe_open(location, framework="pt") as file,
    ):
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - no dict
        expected = (file.metadata() or {}).get("sha256")
    if _tensor_checksum(tensors) != expected:
        raise ArtifactError(
            f"expected {location} as edgeflip wrote it, got one that was changed; write it again."
        )
    return tensors


def _tensor_checksum(tensors: Mapping[str, Tensor]) -> str:
    digest = hashlib.sha256()
    for name, tensor in sorted(tensors.items()):
        digest.update(f"{name}:{tensor.dtype}:{tuple(tensor.shape)}".encode())
        if tensor.numel():
            digest.update(tensor.flatten().view(uint8).numpy().data)
    return digest.hexdigest()


def _read_document(path: Path) -> dict[str, Any]:
    document = read_json(path)
    version = document.get("format")
    if isinstance(version, int) and version > FORMAT_VERSION:
        raise ArtifactError(
            f"expected format {FORMAT_VERSION} in {path}, got {shown(version)}; it was written by a newer "
            "edgeflip, upgrade to read it."
        )
    if isinstance(version, int) and version < FORMAT_VERSION:
        raise ArtifactError(
            f"expected format {FORMAT_VERSION} in {path}, got {version}; it was written by an older "
            "edgeflip, train or fit it again."
        )
    weights = document.get("weights")
    has_weights = isinstance(weights, dict) and isinstance(weights.get("sha256"), str)
    is_described = isinstance(document.get("kind"), str) and isinstance(
        document.get("config"), dict
    )
    if version != FORMAT_VERSION or not has_weights or not is_described:
        raise ArtifactError(
            f"expected {path} to describe a saved model, got other JSON; give the folder of one."
        )
    return document


def _read_tensors(folder: Path, sha256: str) -> dict[str, Tensor]:
    weights, pending = folder / WEIGHTS_FILE, folder / _PENDING_FILE
    # A crash after the config was moved into place leaves the weights it speaks of pending.
    candidates = [weights, pending] if os.path.exists(weights) else [pending]
    found_there = [file for file in candidates if os.path.exists(file)] or [weights]
    contents = [read_packed(file, error=ArtifactError, most="array_bytes") for file in found_there]
    matching = [found for found in contents if hashlib.sha256(found).hexdigest() == sha256]
    if not matching:
        raise ArtifactError(
            f"expected {weights} to have sha256 {sha256}, got another: the file is damaged or "
            "does not belong to the config beside it; save the model again."
        )
    with reading(f"tensors in {weights}", advice="save the model again", error=ArtifactError):
        return dict(tensors_from_bytes(matching[0]))


def _dumps(payload: Any, **options: Any) -> str:
    try:
        return json.dumps(payload, allow_nan=False, ensure_ascii=False, **options)
    except (TypeError, ValueError, RecursionError, OverflowError) as error:
        raise ArtifactError(
            "expected plain values (texts, finite numbers, lists, tables) to write as JSON, "
            f"got others ({error}); convert them first."
        ) from None


def _encoded(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise ArtifactError(
            "expected Unicode text to write, got half a letter (a lone surrogate); correct the text."
        ) from None


def _laid_out(value: Any, indent: str = "") -> str:
    """JSON in lines: short values and the plain values of a list on one, the rest indented."""
    if not isinstance(value, list | dict) or not value:
        return _dumps(value)
    if isinstance(value, list) and not any(isinstance(entry, list | dict) for entry in value):
        return _dumps(value)
    inner = f"{indent}  "
    if isinstance(value, list):
        opening, closing = "[]"
        parts = [_laid_out(entry, inner) for entry in value]
    else:
        opening, closing = "{}"
        parts = [f"{_dumps(key)}: {_laid_out(entry, inner)}" for key, entry in value.items()]
    if sum(map(len, parts)) + 2 * len(parts) + len(indent) <= _LINE and "\n" not in "".join(parts):
        return f"{opening}{', '.join(parts)}{closing}"
    lines = f",\n{inner}".join(parts)
    return f"{opening}\n{inner}{lines}\n{indent}{closing}"


def _write_bytes(path: Path, content: bytes) -> None:
    """Put `content` at `path` in one step; on any failure nothing is left behind."""
    temporary = _beside(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with temporary.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
        _sync_folder(path.parent)
    except OSError as error:
        raise _unwritable(path, error) from error
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


def _beside(path: Path) -> Path:
    """A name of its own in the same folder."""
    return path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")


def _unwritable(path: Path, error: OSError) -> ArtifactError:
    return ArtifactError(
        f"expected to write {path}, got '{error.strerror or error}'; nothing was changed there, "
        "check free space and permissions."
    )


def _sync_folder(folder: Path) -> None:
    """Make a rename last through a power cut, where the system lets folders be synced."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
