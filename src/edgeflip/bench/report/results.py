"""What a run folder holds: `meta.json` and the lines of `results.jsonl`, by kind."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from edgeflip.bench.folder import check_rows_are_there, read_meta, split_of
from edgeflip.bench.report.epochs import epoch_labels, relabelled, relabelled_meta
from edgeflip.bench.report.older import modern
from edgeflip.bench.report.published import Paper, label
from edgeflip.bench.shapes import check_row
from edgeflip.bench.spec import Split
from edgeflip.errors import ArtifactError
from edgeflip.support import RESULTS, ReadRows, as_path, key_of, read_rows

Row = Mapping[str, Any]

# Two folders or more after a slash (or a drive) at the start of a word.
_PATH = re.compile(r"(?<![\w./~])(?:~?/|[A-Za-z]:[\\/])(?:[^\s/\\'\":;,]+[\\/])+")


@dataclass(frozen=True)
class Results:
    """The results of a run, complete or not.

    Attributes:
        meta: What `meta.json` says.
        graphs: One row per graph, method and seed.
        oracles: One row per dataset and seed.
        fits: One row per dataset, method and seed.
        plausibility: One row per dataset, method and seed, where measured.
        skipped: One row per dataset that was not at hand.
        notes: What had to be left out when reading, and what cannot be told of the rest.
    """

    meta: Mapping[str, Any]
    graphs: tuple[Row, ...] = ()
    oracles: tuple[Row, ...] = ()
    fits: tuple[Row, ...] = ()
    plausibility: tuple[Row, ...] = ()
    skipped: tuple[Row, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def spec(self) -> Mapping[str, Any]:
        """The spec of the run as a plain table."""
        return self.meta.get("spec") or {}

    @property
    def split(self) -> Split:
        """Which graphs were explained."""
        return split_of(self.meta)

    @property
    def paper(self) -> Paper:
        """What was published of the same graphs, which are the test graphs."""
        return Paper(comparable=self.split == "test")

    @property
    def datasets(self) -> tuple[str, ...]:
        """Datasets in the order of the spec, then others in the order measured; no skipped ones."""
        measured = [row["dataset"] for row in (*self.oracles, *self.fits, *self.graphs)]
        gone = {row["dataset"] for row in self.skipped} - set(measured)
        return _distinct(
            name for name in [*(self.spec.get("datasets") or ()), *measured] if name not in gone
        )

    @property
    def methods(self) -> tuple[str, ...]:
        """Methods with at least one row, in the order of the spec, then in the order measured."""
        measured = [row["method"] for row in (*self.fits, *self.graphs)]
        labels = [method.get("label") for method in self.spec.get("methods") or ()]
        return _distinct([*(label for label in labels if label in measured), *measured])

    @cached_property
    def _seeds(self) -> Mapping[str, Sequence[int]]:
        """With how many seeds each method was run, as the datasets have it."""
        found: dict[str, dict[str, set[Any]]] = {}
        for row in self.graphs:
            seeds = found.setdefault(row["method"], {}).setdefault(row["dataset"], set())
            seeds.add(row.get("seed"))
        return {
            method: sorted({len(seeds) for seeds in by_dataset.values()})
            for method, by_dataset in found.items()
        }

    def label(self, method: str) -> str:
        """How a method is called in tables; if it was run with fewer seeds than the run, it says so.

        Example:
            >>> rows = ({"method": "cf2", "dataset": "mine", "seed": 0},)
            >>> Results({"spec": {"seeds": [0, 1]}}, rows).label("cf2")
            'CF² (1 of 2 seeds)'
        """
        counts, whole = self._seeds.get(method, ()), len(self.spec.get("seeds") or ())
        if not counts or min(counts) >= whole:
            return label(method)
        return f"{label(method)} ({'–'.join(map(str, counts))} of {whole} seeds)"

    def title(self, dataset: str) -> str:
        """How a dataset is called in tables."""
        titles = [row["title"] for row in self._oracles(dataset) if row.get("title")]
        return str(titles[0]) if titles else dataset

    def class_name(self, dataset: str, number: int) -> str:
        """The number of a class, with its name where it has one."""
        names = next(
            (row["class_names"] for row in self._oracles(dataset) if "class_names" in row), ()
        )
        known = number < len(names or ()) and str(names[number]) != str(number)
        return f"{number} ({names[number]})" if known else str(number)

    def has_motif(self, dataset: str) -> bool:
        """Whether the dataset has motifs, as far as is known."""
        return all(row.get("has_motif", True) for row in self._oracles(dataset))

    def _oracles(self, dataset: str) -> list[Row]:
        return [row for row in self.oracles if row["dataset"] == dataset]


def read_results(folder: str | os.PathLike[str]) -> Results:
    """Read the folder of a run.

    Args:
        folder: Where `edgeflip bench run` wrote.

    Raises:
        ArtifactError: If it is no such folder, damaged elsewhere than in its last line, or edited.
    """
    location = as_path(folder, ArtifactError)
    meta = read_meta(location)
    check_rows_are_there(meta, location)
    path = location / RESULTS
    read = read_rows(path, all_signed=bool(meta.get("row_checksums")))
    for row in read.rows:
        check_row(row, path, split_of(meta))
    kinds: dict[str, list[Row]] = {}
    rows = {key_of(row): row for row in read.rows}
    for row in rows.values():
        today = modern(row)
        if today is not row:
            # Of an older row some values stood elsewhere.
            check_row(today, path, split_of(meta))
        kinds.setdefault(str(row["kind"]), []).append(today)
    names = epoch_labels(kinds.get("fit", ()))
    return Results(
        meta=relabelled_meta(meta, names),
        graphs=relabelled(kinds.get("graph", ()), names),
        oracles=tuple(kinds.get("oracle", ())),
        fits=relabelled(kinds.get("fit", ()), names),
        plausibility=relabelled(kinds.get("plausibility", ()), names),
        skipped=tuple(kinds.get("skipped", ())),
        notes=tuple(_notes(read, missing=(meta.get("rows") or 0) - len(rows))),
    )


def has_size(row: Row) -> bool:
    """Whether a graph was answered and the answer's edits are counted; rating may have failed."""
    return bool(row.get("found")) and row.get("size") is not None


def _notes(read: ReadRows, *, missing: int) -> Iterator[str]:
    """What a reader of the report must know of its rows."""
    if read.cut_off:
        yield f"The last line of {RESULTS} is incomplete: left out."
    if missing > 0:
        yield (
            f"{missing} row{'s'[: missing != 1]} that the run wrote "
            f"{'is' if missing == 1 else 'are'} no longer in {RESULTS}."
        )
    if read.unsigned:
        yield (
            f"{read.unsigned} row{'s'[: read.unsigned != 1]} of {RESULTS} "
            f"{'is' if read.unsigned == 1 else 'are'} from before rows had checksums: whether "
            "somebody changed them cannot be told."
        )


def without_paths(text: str) -> str:
    """A text in which absolute paths are cut to their last part, for reports that travel.

    Example:
        >>> without_paths("expected /data/sets/ba.pkl, found none")
        'expected …/ba.pkl, found none'
    """
    return _PATH.sub("…/", text)


def _distinct(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))
