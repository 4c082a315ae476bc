"""What has nothing to do with graphs: files, seeds, settings, progress, threads, versions."""

from edgeflip.support.clock import (
    cpu_seconds,
)
from edgeflip.support.journal import (
    RESULTS,
    Journal,
    Key,
    ReadRows,
    Row,
    key_of,
    read_rows,
)
from edgeflip.support.numbers import (
    plain_number,
)
from edgeflip.support.progress import (
    progress_bar,
)
from edgeflip.support.seeding import (
    check_seed,
    seeded,
)
from edgeflip.support.settings import (
    STRICT,
    read_settings,
)
from edgeflip.support.storage import (
    CONFIG_FILE,
    WEIGHTS_FILE,
    checksum,
    read_artifact,
    read_json,
    read_tensors,
    write_artifact,
    write_json,
    write_lines,
    write_tensors,
)
from edgeflip.support.threads import (
    one_thread,
)
from edgeflip.support.versions import (
    code_version,
    package_version,
)

__all__ = [
    "CONFIG_FILE",
    "RESULTS",
    "STRICT",
    "WEIGHTS_FILE",
    "Journal",
    "Key",
    "ReadRows",
    "Row",
    "check_seed",
    "checksum",
    "code_version",
    "cpu_seconds",
    "key_of",
    "one_thread",
    "package_version",
    "plain_number",
    "progress_bar",
    "read_artifact",
    "read_json",
    "read_rows",
    "read_settings",
    "read_tensors",
    "seeded",
    "write_artifact",
    "write_json",
    "write_lines",
    "write_tensors",
]
