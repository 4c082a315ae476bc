"""Explaining many graphs into a folder, and going on where that was stopped."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from torch_geometric.data import Data

from edgeflip.core import Constraints
from edgeflip.engines import Engine
from edgeflip.errors import ArtifactError, one_line
from edgeflip.explainers.beginning import selection_of
from edgeflip.explainers.checking import allowance, fingerprint_of, listed, ranking_words
from edgeflip.explainers.many.folder import AnswerFolder, Form
from edgeflip.explainers.many.job import ExplainJob, Outcome
from edgeflip.explainers.many.stream import How, outcomes
from edgeflip.explainers.options import ExplainOptions, complete
from edgeflip.support import as_path, checksum, locked

if TYPE_CHECKING:
    from edgeflip.explainers.base import CounterfactualExplainer

# Answers that are put on the disk at once: a power cut costs at most these.
_AT_ONCE = 25


@dataclass(frozen=True)
class FolderReport:
    """How explaining into a folder went.

    Attributes:
        folder: The folder.
        graphs: Graphs that it holds, of this and earlier calls.
        explained: How many of them this call added.
        found: For how many of all there is a counterfactual.
        failed: How many of all have no answer.
        repaired: Whether a line that a crash had cut off was dropped.
    """

    folder: Path
    graphs: int
    explained: int
    found: int
    failed: int
    repaired: bool


def explain_into(
    explainer: CounterfactualExplainer[Any],
    graphs: Iterable[Data],
    folder: str | os.PathLike[str],
    *,
    form: Form = "parquet",
    engine: Engine = "inline",
    workers: int | None = None,
    address: str | None = None,
    deadline: float | None = None,
    progress: bool = False,
    tell: Callable[[str], None] = lambda text: None,
    **options: Unpack[ExplainOptions],
) -> FolderReport:
    """Explain many graphs into a folder, or the rest of them.

    Killed or interrupted, the same call goes on where it was. Memory does not grow with the number of
    graphs. `read_answers` reads the folder.

    Args:
        explainer: The method, fitted.
        graphs: The graphs, in the same order each time; may be a generator.
        folder: Where the answers go.
        form: Of the files: `"parquet"`, or `"jsonl"` for a JSON line per graph.
        engine: `"inline"` for this process, `"local"` for several, `"ray"` for a cluster.
        workers: How many processes; one for each core when left out.
        address: The address of the Ray cluster.
        deadline: Seconds after which a graph's process is ended, for models that may hang.
        progress: Whether to show progress and an estimate.
        tell: Takes notes for people.
        options: As for `explain`, the same for all graphs.

    Raises:
        ConfigError: If the folder belongs to another job or version, or is in use.
    """
    explainer._check_fitted()
    given = complete(options)
    how = How(engine, workers, address, deadline, progress, tell)
    how.check(given)
    if isinstance(graphs, Data | str):
        listed(graphs, "put it into a list")
    path = as_path(folder, ArtifactError)
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ArtifactError(
            f"expected a folder for the answers at {path}, got '{error.strerror or error}'; give another."
        ) from error
    with locked(path, "another run"):
        kept = AnswerFolder(path, describe(explainer, given), form)
        if kept.repaired:
            tell("a last line that a crash had cut off was dropped; its graph is explained again")
        before = kept.done
        with closing(kept):
            _explain_rest(
                ExplainJob(explainer, given, as_lines=True, seconds=deadline), graphs, how, kept
            )
    return FolderReport(path, kept.done, kept.done - before, kept.found, kept.failed, kept.repaired)


def _explain_rest(job: ExplainJob, graphs: Iterable[Data], how: How, kept: AnswerFolder) -> None:
    drawn = iter(graphs)
    kept.pass_by(drawn)
    rest = _Rest(graphs, drawn, kept.done) if isinstance(graphs, Sequence) else drawn
    waiting: list[Outcome] = []
    try:
        with closing(outcomes(job, rest, how, first=kept.done)) as found:
            for outcome in found:
                waiting.append(outcome)
                if len(waiting) >= _AT_ONCE:
                    some, waiting = waiting, []
                    kept.extend(some)
    finally:
        # On Ctrl-C, too: what is explained need not be explained again.
        kept.extend(waiting)
    kept.close_shard()


class _Rest(Sequence[Data]):
    """What is left of a sequence, whose length is known."""

    def __init__(self, graphs: Sequence[Data], drawn: Iterable[Data], done: int) -> None:
        self._drawn, self._left = drawn, len(graphs) - done

    def __len__(self) -> int:
        return self._left

    def __iter__(self) -> Any:
        return iter(self._drawn)

    def __getitem__(self, place: Any) -> Any:
        raise TypeError("graphs that are left are drawn one after the other")


def describe(explainer: CounterfactualExplainer[Any], given: ExplainOptions) -> dict[str, Any]:
    """What tells a job from others: its model, its method with what it learned, and the options."""
    ranking = explainer._ranking_for(given["ranking"])
    budget = vars(allowance(explainer, given["budget"]))
    return {
        "method": explainer.name,
        "settings": explainer._plain_config(),
        "learned": checksum({name: _digest(each) for name, each in explainer._state().items()}),
        "oracle": fingerprint_of(explainer.oracle_),
        "seed": given["seed"],
        "target": given["target"],
        "budget": {name: _plain(value) for name, value in budget.items()},
        "constraints": _plain(given["constraints"]),
        "chemistry": given["chemistry"],
        "fill": _plain(given["fill"]),
        "noise": _plain(given["noise"]),
        "selection": {"ranking": ranking_words(ranking), **selection_of(given, ranking).to_dict()},
    }


def _digest(tensor: Any) -> str:
    return checksum([str(tensor.dtype), tensor.tolist()])


def _plain(value: Any) -> Any:
    """A value as JSON can hold it; a function by its name."""
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, Constraints):
        return value.to_dict()
    if callable(value):
        return getattr(value, "__qualname__", type(value).__name__)
    return one_line(repr(value))
