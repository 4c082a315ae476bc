"""Rows as a pandas table, where pandas is installed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from edgeflip.errors import ConfigError


def frame_of(rows: Sequence[dict[str, Any]]) -> Any:
    """Rows as a pandas table.

    Raises:
        ConfigError: Where pandas is not installed.
    """
    try:
        from pandas import DataFrame
    except ImportError:
        raise ConfigError(
            "expected pandas for a table, got none installed; run pip install pandas, or use to_rows."
        ) from None
    return DataFrame(rows)
