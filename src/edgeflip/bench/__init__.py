"""Benchmarks: specs, runs that can be killed and resumed, and reports."""

from edgeflip.bench.costs import (
    costs_table,
)
from edgeflip.bench.packing import (
    Packed,
    pack_run,
    unpack_run,
)
from edgeflip.bench.planning import (
    Plan,
    PlannedWork,
    plan_bench,
)
from edgeflip.bench.report import (
    PublishedCell,
    published_cells,
    read_results,
    write_report,
)
from edgeflip.bench.report.exhibits import (
    is_run,
    run_exhibits,
)
from edgeflip.bench.report.redrawing import (
    redraw,
)
from edgeflip.bench.report.versus import (
    OURS,
)
from edgeflip.bench.run import (
    run_bench,
)
from edgeflip.bench.spec import (
    Split,
    list_specs,
    load_spec,
)
from edgeflip.draw import (
    draw_summary,
)

__all__ = [
    "OURS",
    "Packed",
    "Plan",
    "PlannedWork",
    "PublishedCell",
    "Split",
    "costs_table",
    "draw_summary",
    "is_run",
    "list_specs",
    "load_spec",
    "pack_run",
    "plan_bench",
    "published_cells",
    "read_results",
    "redraw",
    "run_bench",
    "run_exhibits",
    "unpack_run",
    "write_report",
]
