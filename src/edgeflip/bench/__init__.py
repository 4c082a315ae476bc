"""Benchmarks: specs, runs that can be killed and resumed, and reports."""

from edgeflip.bench.exhibits import (
    is_run,
    run_exhibits,
)
from edgeflip.bench.report import (
    write_report,
)
from edgeflip.bench.report.drawing import (
    require_matplotlib,
)
from edgeflip.bench.report.patterns import (
    draw_summary,
)
from edgeflip.bench.report.versus import (
    OURS,
)
from edgeflip.bench.run import (
    run_bench,
)
from edgeflip.bench.spec import (
    list_specs,
    load_spec,
)

__all__ = [
    "OURS",
    "draw_summary",
    "is_run",
    "list_specs",
    "load_spec",
    "require_matplotlib",
    "run_bench",
    "run_exhibits",
    "write_report",
]
