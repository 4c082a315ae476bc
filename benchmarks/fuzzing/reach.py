"""Which lines of the readers were reached: a tracer that looks at nothing else."""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import CodeType, FrameType, FunctionType, ModuleType
from typing import Any

# Whole modules, or some of their functions and classes after a colon.
READERS: dict[str, tuple[str, ...]] = {
    "graphs from files": (
        "edgeflip.datasets.formats",
        "edgeflip.datasets.building",
        "edgeflip.datasets.json_graphs",
        "edgeflip.datasets.xml_graphs",
    ),
    "TU folders": ("edgeflip.datasets.tu",),
    "datasets from paths": (
        "edgeflip.datasets.user_graphs",
        "edgeflip.datasets.labels:class_numbers",
    ),
    "files, gzip and their limits": (
        "edgeflip.support.files",
        "edgeflip.support.limits",
        "edgeflip.datasets.catalogue:RequiredFile.read,RequiredFile.place",
    ),
    "plain JSON": ("edgeflip.support.plain_json",),
    "downloads": ("edgeflip.datasets.download:fetch_file,_download",),
    "DIG folders": ("edgeflip.datasets.dig",),
    "arrays in pickles": ("edgeflip.datasets.pickled_array",),
    "SMILES": ("edgeflip.datasets.chemistry:molecule_graph",),
    "answers": (
        "edgeflip.search.reading",
        "edgeflip.search.result:CounterfactualSet.from_dict,CounterfactualSet.load_json",
        "edgeflip.core.graph_json:graph_from_dict,tensor_from_dict,_flatten,_decode_nonfinite",
        "edgeflip.core.pair_edits:PairEdits.from_dict,PairEdits.read",
        "edgeflip.core.space:space_from_dict",
        "edgeflip.oracle.goal:goal_from_dict,ClassGoal.from_dict",
        "edgeflip.core.edits:EditSet.from_dict",
        "edgeflip.core.constraints:Constraints.from_dict",
    ),
    "JSON with a checksum, artifacts": (
        "edgeflip.support.storage:checksum,read_json,read_artifact,read_tensors,_read_document,"
        "_read_tensors,_tensor_checksum",
    ),
    "oracles": ("edgeflip.training.oracles:load_oracle,_read,_rebuild",),
    "explainers": (
        "edgeflip.explainers.saving:read_saved,saved_method,_read,saved_state,_check_method",
        "edgeflip.explainers.registry:load_explainer",
    ),
    "bench specs": (
        "edgeflip.bench.spec:load_spec,BenchSpec.__post_init__,MethodSpec.__post_init__",
    ),
    "settings": ("edgeflip.support.settings:read_settings", "edgeflip.cli.reading:read_overrides"),
    "journal": ("edgeflip.support.journal:key_of,Journal.__init__,read_rows,_whole_lines,_parsed",),
    "meta.json": (
        "edgeflip.bench.report.results:read_results,_notes",
        "edgeflip.bench.folder:open_meta,read_meta,check_rows_are_there",
        "edgeflip.bench.shapes:check_row,check_meta",
    ),
    "own models": ("edgeflip.cli.user_model",),
}

Line = tuple[str, int]


def lines_of_readers() -> dict[str, dict[int, CodeType]]:
    """The code of every reader, by the id of each of its functions."""
    found: dict[str, dict[int, CodeType]] = {}
    for reader, places in READERS.items():
        codes: dict[int, CodeType] = {}
        for place in places:
            name, _, functions = place.partition(":")
            module = importlib.import_module(name)
            wanted = functions.split(",") if functions else None
            for code in _codes(module, wanted):
                codes[id(code)] = code
        found[reader] = codes
    return found


def _codes(module: ModuleType, wanted: list[str] | None) -> Iterator[CodeType]:
    if wanted is not None:
        for name in wanted:
            value: Any = module
            for part in name.split("."):
                # A name that is gone must not pass for a reader that is reached.
                value = inspect.getattr_static(value, part)
            yield from _nested(_function(value).__code__)
        return
    for value in vars(module).values():
        if getattr(value, "__module__", None) != module.__name__:
            continue
        if isinstance(value, type):
            for member in vars(value).values():
                inner = _function(member)
                # What a dataclass makes of itself stands in no file.
                if (
                    isinstance(inner, FunctionType)
                    and inner.__code__.co_filename == module.__file__
                ):
                    yield from _nested(inner.__code__)
        elif isinstance(_function(value), FunctionType):
            yield from _nested(_function(value).__code__)


def _function(value: Any) -> Any:
    if isinstance(value, property):
        return value.fget
    return inspect.unwrap(getattr(value, "__func__", value))


def _nested(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _nested(constant)


def own_lines(code: CodeType) -> set[int]:
    """The lines of a function, without the one that defines it."""
    lines = {line for _, _, line in code.co_lines() if line is not None}
    return lines - {code.co_firstlineno}


class Tracer:
    """Notes lines of readers when they are reached for the first time."""

    def __init__(self) -> None:
        self.missing: dict[int, set[int]] = {}
        self.files: dict[int, str] = {}
        for codes in lines_of_readers().values():
            for key, code in codes.items():
                self.missing[key] = own_lines(code)
                self.files[key] = code.co_filename
        self.new: list[Line] = []

    def _call(self, frame: FrameType, event: str, argument: Any) -> Any:
        return self._line if self.missing.get(id(frame.f_code)) else None

    def _line(self, frame: FrameType, event: str, argument: Any) -> Any:
        if event == "line":
            missing, line = self.missing[id(frame.f_code)], frame.f_lineno
            if line in missing:
                missing.discard(line)
                self.new.append((frame.f_code.co_filename, line))
        return self._line

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Trace what happens inside."""
        sys.settrace(self._call)
        try:
            yield
        finally:
            sys.settrace(None)

    def taken(self) -> tuple[Line, ...]:
        """The lines since the last time."""
        new, self.new = tuple(self.new), []
        return new


def shares(reached: set[Line]) -> dict[str, tuple[int, int, list[str]]]:
    """For every reader how many of its lines were reached, how many there are, and which are left."""
    result = {}
    for reader, codes in lines_of_readers().items():
        lines = {(code.co_filename, line) for code in codes.values() for line in own_lines(code)}
        left = sorted(lines - reached)
        names = [f"{file.rpartition('/')[2]}:{line}" for file, line in left]
        result[reader] = (len(lines) - len(left), len(lines), names)
    return result
