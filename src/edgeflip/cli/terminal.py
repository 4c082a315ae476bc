"""What every command needs before any work is done: exit codes, notes to people, JSON for programs."""

from __future__ import annotations

import json
import sys
from typing import Any

NOTHING_FOUND, BAD_INPUT, INTERRUPTED = 1, 2, 130


def note(text: str) -> None:
    """Tell people something that is no result."""
    print(text, file=sys.stderr)


def print_json(payload: Any) -> None:
    """One JSON value on a line."""
    print(json.dumps(payload), flush=True)
