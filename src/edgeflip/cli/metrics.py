"""What `edgeflip metrics` does: the table of metrics that benchmarks measure and report."""

from __future__ import annotations

from typing import Any

from edgeflip.cli.console import show, table
from edgeflip.cli.terminal import print_json
from edgeflip.metrics import METRICS, Metric


def list_metrics(*, as_json: bool) -> None:
    """Print every metric and which way is better."""
    rows = [_row(metric) for metric in METRICS.values()]
    if as_json:
        print_json(rows)
        return
    # Levels and averages are for programs: they stand in the JSON.
    shown = table("metric", "better", "needs", "what it is")
    for row in rows:
        better, needs = row["direction"] or "", ", ".join(row["needs"])
        shown.add_row(row["name"], better, needs, row["title"])
    show(shown)


def _row(metric: Metric) -> dict[str, Any]:
    return {
        "name": metric.name,
        "title": metric.title,
        "level": metric.level,
        "direction": metric.direction,
        "needs": list(metric.needs),
        "averaging": metric.averaging,
    }
