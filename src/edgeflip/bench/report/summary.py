"""Means per dataset and method: over the graphs of a seed first, then over the seeds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from statistics import fmean, stdev
from typing import Any

from edgeflip.bench.report.results import Results, Row, without_paths
from edgeflip.metrics import wilson

Rows = Sequence[Row]

CLASS_METRICS = ("validity", "fidelity", "size", "minimality", "motif_proximity")


@dataclass(frozen=True)
class Mean:
    """A mean over seeds; undefined values are none.

    Attributes:
        value: The mean of the seeds' means.
        sd: Their standard deviation; none with fewer than two seeds.
    """

    value: float | None = None
    sd: float | None = None


@dataclass(frozen=True)
class Summary:
    """What a method did on a dataset.

    Attributes:
        graphs: How many graphs were explained, every seed counted.
        statuses: How many of them ended how.
        values: Means by name.
        van_interval: Wilson's 95 % interval of VaN, over all seeds.
        classes: The same for every target class.
    """

    graphs: int = 0
    statuses: Mapping[str, int] = field(default_factory=dict)
    values: Mapping[str, Mean] = field(default_factory=dict)
    van_interval: tuple[float, float] | None = None
    classes: Mapping[int, Mapping[str, Mean]] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Mean:
        """A mean by its name; undefined if it was not measured."""
        return self.values.get(name, Mean())


@dataclass(frozen=True)
class Failure:
    """Graphs without a counterfactual, for the same reason.

    Attributes:
        reason: What the method or the error said about the first of them.
        graphs: Their places in the test set; the same place under two seeds counts twice.
    """

    dataset: str
    method: str
    status: str
    reason: str
    graphs: tuple[int, ...]


def over_seeds(values: Iterable[float | None]) -> Mean:
    """Mean and standard deviation of the values that are defined.

    Example:
        >>> over_seeds([1.0, None, 3.0]).value
        2.0
        >>> over_seeds([1.0]).sd is None
        True
    """
    defined = [value for value in values if value is not None]
    if not defined:
        return Mean()
    return Mean(fmean(defined), stdev(defined) if len(defined) > 1 else None)


def summarize(results: Results) -> dict[tuple[str, str], Summary]:
    """The summary of every dataset and method of a run."""
    return {
        (dataset, method): summarize_methods(results, dataset, (method,))
        for dataset in results.datasets
        for method in results.methods
    }


def summarize_methods(results: Results, dataset: str, methods: Sequence[str]) -> Summary:
    """The summary of one method on a dataset, or of several put together."""

    def own(rows: Iterable[Row]) -> list[Row]:
        return [row for row in rows if row["dataset"] == dataset and row["method"] in methods]

    graphs = own(results.graphs)
    seeds = _by_seed(graphs)
    values = {
        name: over_seeds(measure(rows) for rows in seeds) for name, measure in _MEASURES.items()
    }
    values["training_seconds"] = over_seeds(
        _mean(row.get("seconds") for row in rows if row.get("learns"))
        for rows in _by_seed(own(results.fits))
    )
    for name in _PLAUSIBILITY:
        values[name] = over_seeds(
            _mean(row.get(name) for row in rows) for rows in _by_seed(own(results.plausibility))
        )
    van = wilson(*_noise_counts(graphs))
    values["van"] = Mean(van.value if van.trials else None)
    return Summary(
        graphs=len(graphs),
        statuses=dict(Counter(str(row.get("status")) for row in graphs)),
        values=values,
        van_interval=(van.low, van.high) if van.trials else None,
        classes=_by_class(seeds),
    )


def failures(results: Results) -> list[Failure]:
    """Graphs without a counterfactual, or with an error later on, grouped by how and why it ended."""
    groups: dict[tuple[str, str, str, str], list[Row]] = {}
    for row in results.graphs:
        if not row.get("found") or row.get("error"):
            status = "error" if row.get("found") else str(row.get("status"))
            apart = _reason(row) if status == "error" else str(row.get("stopped_by") or "")
            key = (row["dataset"], row["method"], status, apart)
            groups.setdefault(key, []).append(row)
    order = {key: place for place, key in enumerate(product(results.datasets, results.methods))}
    ordered = sorted(groups.items(), key=lambda group: order[group[0][:2]])
    return [
        Failure(*key[:3], _reason(rows[0]), tuple(sorted(int(row["graph"]) for row in rows)))
        for key, rows in ordered
    ]


def time_shares(results: Results) -> dict[str, tuple[float, float]]:
    """Where the time of all sessions went: seconds and share by name; empty if nothing was timed."""
    sessions = results.meta.get("sessions") or ()
    total = sum(float(session.get("seconds") or 0) for session in sessions)
    if total <= 0:
        return {}
    spent = {
        name: sum(float(session.get(name) or 0) for session in sessions)
        for name in ("training", "explaining", "oracle", "other")
    }
    return {name: (seconds, seconds / total) for name, seconds in spent.items()}


def _reason(row: Row) -> str:
    said = row.get("error") or row.get("message") or row.get("stopped_by") or ""
    return without_paths(" ".join(str(said).split()))


def _by_seed(rows: Rows) -> list[list[Row]]:
    seeds: dict[Any, list[Row]] = {}
    for row in rows:
        seeds.setdefault(row.get("seed"), []).append(row)
    return list(seeds.values())


def _mean(values: Iterable[float | None]) -> float | None:
    defined = [float(value) for value in values if value is not None]
    return fmean(defined) if defined else None


def _validity(rows: Rows) -> float | None:
    return _mean(float(bool(row.get("found"))) for row in rows)


def _column(name: str) -> Callable[[Rows], float | None]:
    return lambda rows: _mean(row.get(name) for row in rows)


def _of_found(name: str) -> Callable[[Rows], float | None]:
    return lambda rows: _mean(row.get(name) for row in rows if row.get("found"))


def _stage(row: Row, name: str) -> float | None:
    stage = (row.get("stages") or {}).get(name)
    return None if stage is None else float(stage["seconds"])


def _search_seconds(rows: Rows) -> float | None:
    return _mean(
        row["wall_seconds"] - (_stage(row, "deconstruct") or 0.0)
        for row in rows
        if row.get("wall_seconds") is not None
    )


def _noisy(rows: Rows) -> list[Mapping[str, Any]]:
    """What noise did to the answers there were."""
    return [row["noise"] for row in rows if row.get("found") and row.get("noise")]


def _noise_counts(rows: Rows) -> tuple[int, int]:
    noisy = _noisy(rows)
    return sum(bool(noise.get("same_change")) for noise in noisy), len(noisy)


def _ecan(rows: Rows) -> float | None:
    return _mean(noise.get("jaccard") for noise in _noisy(rows) if noise.get("same_change"))


def _van_by_change(rows: Rows) -> float | None:
    changes = sum(noise.get("changes") or 0 for noise in _noisy(rows))
    kept = sum(noise.get("changes_kept") or 0 for noise in _noisy(rows))
    return kept / changes if changes else None


def _ecan_by_change(rows: Rows) -> float | None:
    return _mean(
        jaccard for noise in _noisy(rows) for jaccard in noise.get("change_jaccards") or ()
    )


def _by_class(seeds: Sequence[Rows]) -> dict[int, dict[str, Mean]]:
    """Means by target class; a graph counts unless it is of that class already."""
    asked = [rows for rows in seeds if any(row.get("targets") for row in rows)]
    classes = {int(key) for rows in asked for row in rows for key in row.get("targets") or ()}
    tables = {}
    for number in sorted(classes):
        answers = [
            [
                (row.get("targets") or {}).get(str(number)) or {}
                for row in rows
                if row.get("label") is not None and row["label"] != number
            ]
            for rows in asked
        ]
        tables[number] = {
            name: over_seeds(_MEASURES[name](rows) for rows in answers) for name in CLASS_METRICS
        }
    return tables


_MMDS = ("degree_mmd", "clustering_mmd", "spectrum_mmd")
_COMPARED = (*_MMDS, "valid_molecules")
_PLAUSIBILITY = (*_COMPARED, *(f"baseline_{name}" for name in _COMPARED))
_MEASURES: dict[str, Callable[[Rows], float | None]] = {
    "validity": _validity,
    "fidelity": _of_found("fidelity"),
    "size": _of_found("size"),
    "first_size": _of_found("first_size"),
    "motif_proximity": _of_found("motif_proximity"),
    "minimality": _of_found("minimality"),
    "minimality_of_smallest": _of_found("minimality_of_smallest"),
    "score": _of_found("score"),
    "added_likelihood": _of_found("added_likelihood"),
    "removed_likelihood": _of_found("removed_likelihood"),
    "ecan": _ecan,
    "van_by_change": _van_by_change,
    "ecan_by_change": _ecan_by_change,
    "seconds": _column("wall_seconds"),
    "cpu_seconds": _column("cpu_seconds"),
    "oracle_calls": _column("oracle_calls"),
    "search_seconds": _search_seconds,
    "factual_seconds": lambda rows: _mean(_stage(row, "deconstruct") for row in rows),
    "denoise_seconds": lambda rows: _mean(_stage(row, "denoise") for row in rows),
    "dropped_edges": lambda rows: _mean(
        (row.get("notes") or {}).get("denoised_edges") for row in rows
    ),
}
