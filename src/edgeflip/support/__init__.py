"""What has nothing to do with graphs: files, seeds, settings, progress, threads, versions."""

from edgeflip.support.allocation import kept_memory
from edgeflip.support.arguments import (
    check_fields,
    checked_call,
)
from edgeflip.support.clock import (
    cpu_seconds,
)
from edgeflip.support.files import (
    as_path,
    check_name,
    file_name,
    read_file,
    read_packed,
    unpacked,
)
from edgeflip.support.journal import (
    RESULTS,
    Journal,
    Key,
    LineFile,
    ReadRows,
    Row,
    key_of,
    line_of,
    read_rows,
)
from edgeflip.support.limits import (
    LIMITS,
    check_limit,
    limit,
)
from edgeflip.support.locking import (
    locked,
)
from edgeflip.support.memory import (
    building,
)
from edgeflip.support.numbers import (
    LARGEST,
    STEEPEST,
    WIDEST,
    check_at_most,
    is_too_large,
    plain_number,
)
from edgeflip.support.plain_json import (
    parse_json,
    reading,
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
    first_problem,
    read_settings,
)
from edgeflip.support.shown_names import (
    TURNING,
    shown_name,
    without_turns,
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
    write_whole,
)
from edgeflip.support.threads import (
    one_thread,
)
from edgeflip.support.versions import (
    CHANGED,
    code_commit,
    code_version,
    package_version,
)

__all__ = [
    "CHANGED",
    "CONFIG_FILE",
    "LARGEST",
    "LIMITS",
    "RESULTS",
    "STEEPEST",
    "STRICT",
    "TURNING",
    "WEIGHTS_FILE",
    "WIDEST",
    "Journal",
    "Key",
    "LineFile",
    "ReadRows",
    "Row",
    "as_path",
    "building",
    "check_at_most",
    "check_fields",
    "check_limit",
    "check_name",
    "check_seed",
    "checked_call",
    "checksum",
    "code_commit",
    "code_version",
    "cpu_seconds",
    "file_name",
    "first_problem",
    "is_too_large",
    "kept_memory",
    "key_of",
    "limit",
    "line_of",
    "locked",
    "one_thread",
    "package_version",
    "parse_json",
    "plain_number",
    "progress_bar",
    "read_artifact",
    "read_file",
    "read_json",
    "read_packed",
    "read_rows",
    "read_settings",
    "read_tensors",
    "reading",
    "seeded",
    "shown_name",
    "unpacked",
    "without_turns",
    "write_artifact",
    "write_json",
    "write_lines",
    "write_tensors",
    "write_whole",
]
