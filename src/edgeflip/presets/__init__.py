"""Presets are data: one TOML file per profile and dataset, read and checked by `load_preset`."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from importlib import resources
from typing import Any

from edgeflip.errors import ConfigError, unknown_name
from edgeflip.presets.schema import (
    DatasetStatistics,
    Expected,
    ExpectedResult,
    OracleSettings,
    Preset,
)
from edgeflip.support import checked_call, read_settings

__all__ = [
    "PROFILES",
    "DatasetStatistics",
    "Expected",
    "ExpectedResult",
    "OracleSettings",
    "Preset",
    "check_dataset",
    "load_preset",
    "preset_name",
    "read_preset",
]

PROFILES = ("paper", "cpu", "smoke")
_FALLBACK = "default"


@checked_call()
def preset_name(dataset: str | None, profile: str = "cpu") -> str | None:
    """The name under which a dataset has a preset, None if it has none of its own.

    Args:
        dataset: its name; case and `-` against `_` do not matter.
        profile: which presets are meant.

    Example:
        >>> preset_name("BA-2Motifs"), preset_name("a set of my own")
        ('ba_2motifs', None)
    """
    name = (dataset or "").strip().lower().replace("-", "_")
    return name if name in _names(profile) else None


def check_dataset(dataset: str | None, profile: str = "cpu") -> None:
    """Refuse the name of a dataset that has no preset, such as a misspelt one.

    Raises:
        UnknownNameError: With the nearest name there is.
    """
    if dataset is not None and (
        not isinstance(dataset, str) or preset_name(dataset, profile) is None
    ):
        error = unknown_name("dataset", str(dataset), _names(profile))
        raise type(error)(f"{error} For other data leave the dataset out.")


@checked_call()
def _names(profile: str) -> list[str]:
    """Names of the datasets that have a preset."""
    if profile not in PROFILES:
        raise unknown_name("profile", str(profile), PROFILES)
    # Compared with the names there are, never joined to a path: the name comes from outside.
    files = resources.files("edgeflip.presets").joinpath(profile).iterdir()
    names = [file.name.removesuffix(".toml") for file in files if file.name.endswith(".toml")]
    return sorted(name for name in names if name != _FALLBACK)


@checked_call()
def load_preset(dataset: str | None, profile: str = "cpu") -> Preset:
    """The preset of a dataset, or the one for any data if it has none of its own.

    Args:
        dataset: its name; case and `-` against `_` do not matter.
        profile: `"paper"` (the published values), `"cpu"` (what we recommend on two cores) or
            `"smoke"` (seconds, for tests).

    Example:
        >>> load_preset("BA-2Motifs", "paper").oracle.epochs
        800
        >>> load_preset("ba_3motifs").method("random")["max_added"]
        5
        >>> load_preset("a set of my own").dataset is None
        True
    """
    own_name = preset_name(dataset, profile)
    file_name = f"{own_name or _FALLBACK}.toml"
    text = resources.files("edgeflip.presets").joinpath(profile, file_name).read_text("utf-8")
    return read_preset(text, dataset=own_name, profile=profile, where=f"{profile}/{file_name}")


def read_preset(text: str, *, dataset: str | None, profile: str, where: str) -> Preset:
    """A preset from the text of a TOML file.

    Args:
        text: the TOML.
        dataset: the dataset it is for.
        profile: the profile it is for.
        where: the name of the file, for errors.
    """
    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"expected TOML in {where}, got {error}; correct the file.") from None
    for key, table in tables.items():
        if not isinstance(table, dict):
            raise ConfigError(
                f"expected {where} to hold tables only (oracle, expected, one per method), got "
                f"the value {table!r} for '{key}'; put it into a table."
            )
    oracle = read_settings(OracleSettings, tables.pop("oracle", {}), where=f"{where} [oracle]")
    expected = tables.pop("expected", None)
    return Preset(
        dataset=dataset,
        profile=profile,
        oracle=oracle,
        methods={name.replace("-", "_"): table for name, table in tables.items()},
        expected=None if expected is None else _read_expected(expected, where=where),
    )


def _read_expected(table: Mapping[str, Any], *, where: str) -> Expected:
    accuracy = table.get("oracle_accuracy")
    if accuracy is not None and not isinstance(accuracy, float):
        raise ConfigError(
            f"expected the oracle_accuracy under [expected] in {where} to be a number such as "
            f"0.98, got {accuracy!r}; correct it."
        )
    location = f"{where} [expected]"
    apart = ("oracle_accuracy", "by_class", "statistics")
    methods = {key: row for key, row in table.items() if key not in apart}
    told = table.get("statistics")
    statistics = (
        None
        if told is None
        else read_settings(DatasetStatistics, told, where=f"{location} statistics")
    )
    by_class = {}
    for method, rows in _tables(table.get("by_class", {}), where=location).items():
        inside = f'{where} [expected.by_class."{method}"]'
        by_class[method] = {_class(key, inside): row for key, row in _results(rows, inside).items()}
    return Expected(
        oracle_accuracy=accuracy,
        methods=_results(methods, location),
        by_class=by_class,
        statistics=statistics,
    )


def _results(table: Mapping[str, Any], where: str) -> dict[str, ExpectedResult]:
    rows = _tables(table, where=where)
    return {
        name: read_settings(ExpectedResult, row, where=f'{where} "{name}"')
        for name, row in rows.items()
    }


def _tables(table: Any, *, where: str) -> dict[str, Any]:
    if not isinstance(table, dict):
        raise ConfigError(
            f"expected results under {where} to be tables, got {table!r}; write them as one."
        )
    for name, row in table.items():
        if not isinstance(row, dict):
            raise ConfigError(
                f"expected results under {where} to be tables, got {row!r} for '{name}'; write "
                f'"{name}" = {{ validity = ... }}.'
            )
    return table


def _class(key: str, where: str) -> int:
    if not key.isdecimal():
        raise ConfigError(
            f"expected results under {where} by the numbers of classes, got '{key}'; write 0, 1, "
            "and so on."
        )
    return int(key)
