"""What became of one graph among many."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from edgeflip.errors import ArtifactError, EdgeflipError, one_line
from edgeflip.search import CounterfactualSet
from edgeflip.support import Row, parse_json


@dataclass(frozen=True)
class Failure:
    """Why there is no answer for a graph.

    Attributes:
        kind: The kind of error, such as `"OracleError"`; `"killed"` where the process ended.
        message: What was said, on one line.
    """

    kind: str
    message: str

    @classmethod
    def of(cls, error: BaseException) -> Failure:
        """What an exception says."""
        return cls(type(error).__name__, one_line(error))

    def __str__(self) -> str:
        """Kind and message."""
        return f"{self.kind}: {self.message}"


@dataclass(frozen=True)
class Explained:
    """What became of one graph.

    Attributes:
        place: The place of the graph among those that were given.
        answer: Its answer; None where there is none.
        failure: Why there is none.
    """

    place: int
    answer: CounterfactualSet | None = None
    failure: Failure | None = None

    @classmethod
    def from_row(cls, row: Row) -> Explained:
        """A row of a folder of answers, read."""
        if row["error"] is not None:
            return cls(row["graph"], failure=Failure(row["status"], row["error"]))
        where = f"the answer to graph {row['graph']}"
        plain = parse_json(
            row["answer"].encode(), where=where, advice="restore the folder", error=ArtifactError
        )
        return cls(row["graph"], CounterfactualSet.from_dict(plain))


class GraphsFailedError(EdgeflipError):
    """Some of many graphs got no answer; all others did.

    Attributes:
        finished: The answers, by the places of their graphs.
        failures: Why others have none, by their places.
    """

    def __init__(
        self,
        finished: Mapping[int, CounterfactualSet],
        failures: Mapping[int, Failure],
    ) -> None:
        place, failure = next(iter(failures.items()))
        count = len(finished) + len(failures)
        super().__init__(
            f"expected an answer for each of {count:,} graphs, got none for {len(failures):,} (graph "
            f"{place}: {failure}); the others are in this error's finished, and explain_stream goes on "
            "where a graph fails."
        )
        self.finished, self.failures = dict(finished), dict(failures)


def row_of(explained: Explained, fingerprint: str) -> dict[str, Any]:
    """A line of a folder of answers: what a table wants to know, and the whole answer."""
    answer, failure = explained.answer, explained.failure
    least = None if answer is None else answer.smallest
    row: dict[str, Any] = {
        "kind": "graph",
        "dataset": "",
        "graph": explained.place,
        "input": fingerprint,
        "status": failure.kind if failure else answer.trace.status if answer else "",
        "error": failure.message if failure else None,
        "found": least is not None,
        "size": None if least is None else least.size,
        "added": None if least is None else least.edits.to_dict().get("added"),
        "removed": None if least is None else least.edits.to_dict().get("removed"),
        "calls": None if answer is None else answer.trace.oracle_calls,
        "seconds": None if answer is None else answer.trace.seconds,
        # As text: it is looked into by whoever wants the answer, not by whoever moves the row.
        "answer": None if answer is None else json.dumps(answer.to_dict(), ensure_ascii=False),
    }
    return row
