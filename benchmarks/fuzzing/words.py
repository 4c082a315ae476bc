"""Files in words for people, and JSON as it is written and signed."""

from __future__ import annotations

import json
import random
import shutil
from pathlib import Path
from typing import Any

from edgeflip.support import checksum
from fuzzing.entry import Room
from fuzzing.mutation import mutated_bytes, mutated_tree


def changed_json(content: bytes, rng: random.Random) -> bytes:
    """JSON with other values, or other bytes."""
    if rng.random() < 0.3:
        return mutated_bytes(content, rng)
    return dumped(mutated_tree(json.loads(content), rng))


def dumped(payload: Any) -> bytes:
    """JSON as careless programs write it: with infinities, and with halves of characters."""
    return json.dumps(payload).encode()


def shown(content: bytes) -> str:
    """The beginning of a file, for people."""
    return repr(content[:400]) + (f" … {len(content)} bytes" if len(content) > 400 else "")


def copied(room: Room, name: str) -> Path:
    target = room.work / name
    shutil.copytree(room.corpus / name, target)
    return target


def signed(payload: Any) -> Any:
    """The payload with the right checksum, so that the reader looks further."""
    if not isinstance(payload, dict):
        return payload
    try:
        rest = {key: value for key, value in payload.items() if key != "checksum"}
        return {**rest, "checksum": checksum(rest)}
    except Exception:
        return payload


def changes(before: Any, content: bytes) -> str:
    """Where a JSON file differs from the valid one."""
    try:
        after = json.loads(content)
    except (ValueError, RecursionError):
        return shown(content)
    found: list[str] = []
    _compare(before, after, "", found)
    return "; ".join(found[:4]) or "nothing"


def _compare(before: Any, after: Any, path: str, found: list[str]) -> None:
    if isinstance(before, dict) and isinstance(after, dict):
        for key in sorted({*before, *after}):
            if key == "checksum":
                continue
            if key not in after:
                found.append(f"{path}.{key} missing")
            elif key not in before:
                found.append(f"{path}.{key} = {_short(after[key])} is new")
            else:
                _compare(before[key], after[key], f"{path}.{key}", found)
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for index, (one, other) in enumerate(zip(before, after, strict=True)):
            _compare(one, other, f"{path}[{index}]", found)
    elif type(before) is not type(after) or before != after:
        found.append(f"{path or 'all'} = {_short(after)}")


def _short(value: Any) -> str:
    try:
        return repr(value)[:80]
    except RecursionError:
        return "deeply nested"
