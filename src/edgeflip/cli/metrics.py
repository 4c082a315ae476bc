"""`edgeflip metrics`: the table of metrics that benchmarks measure and report."""

from __future__ import annotations

from typing import Any

from rich.table import Table

from edgeflip.cli.options import AsJson
from edgeflip.cli.terminal import print_json, stdout
from edgeflip.metrics import METRICS, Metric


def metrics(as_json: AsJson = False) -> None:
    """List every metric that a benchmark measures, and which way is better.

    Example: edgeflip metrics
    """
    rows = [_row(metric) for metric in METRICS.values()]
    if as_json:
        print_json(rows)
        return
    table = Table("metric", "title", "of", "better", "needs", "average")
    for row in rows:
        table.add_row(
            row["name"],
            row["title"],
            row["level"],
            row["direction"] or "",
            ", ".join(row["needs"]),
            row["averaging"],
        )
    stdout().print(table)


def _row(metric: Metric) -> dict[str, Any]:
    return {
        "name": metric.name,
        "title": metric.title,
        "level": metric.level,
        "direction": metric.direction,
        "needs": list(metric.needs),
        "averaging": metric.averaging,
    }
