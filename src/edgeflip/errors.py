"""Every error edgeflip raises on purpose: one sentence saying what was expected, what came, what to do."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class EdgeflipError(Exception):
    """Base of all errors that edgeflip raises on purpose; the command line turns it into exit code 2."""


class GraphError(EdgeflipError):
    """A graph that cannot be explained: empty, directed, with NaN features or duplicate edges."""


class EditError(EdgeflipError):
    """Edits that do not fit the graph, such as removing an edge that is not there."""


class ConstraintError(EdgeflipError):
    """Constraints that contradict themselves, or that leave nothing to edit."""


class TargetError(EdgeflipError):
    """A target class that does not exist or is predicted already."""


class OracleError(EdgeflipError):
    """A model that raised, or answered with NaN or with the wrong shape."""


class NotApplicableError(EdgeflipError):
    """A method that cannot work with this oracle or graph, such as a soft mask on a hard model."""


class CertificateError(EdgeflipError):
    """A proof of smallness that is missing, was changed, or is not so."""


class NotFittedError(EdgeflipError):
    """An explainer that was asked before `fit`."""


class TrainingError(EdgeflipError):
    """A training that went astray, such as a loss that is not a number."""


class ConfigError(EdgeflipError):
    """A setting, preset or profile that is unknown or out of range."""


class UnknownNameError(ConfigError):
    """A dataset, method, class or profile that does not exist; the nearest name is suggested."""


class DatasetError(EdgeflipError):
    """Dataset files that are missing, damaged or not what their checksum says."""


class ArtifactError(EdgeflipError):
    """A saved model, explainer or answer that cannot be read or written."""


class BudgetExhausted(EdgeflipError):  # noqa: N818 - an end, not a mistake
    """The oracle-call budget or the deadline ran out.

    Raised by `MeteredOracle` and caught by the search, so users only see it when they meter by hand.

    Attributes:
        reason: `"out_of_calls"` or `"timeout"`.
        advice: What to tell people who got no answer, for limits that are not the budget's.
    """

    def __init__(self, message: str, *, reason: str, advice: str = "") -> None:
        super().__init__(message)
        self.reason = reason
        self.advice = advice


def unknown_name(kind: str, name: str, known: Iterable[str]) -> UnknownNameError:
    """The error for a name that does not exist, with the nearest one that does.

    Example:
        >>> print(unknown_name("dataset", "ba_2motif", ["ba_2motifs", "ba_3motifs"]))
        unknown dataset 'ba_2motif', did you mean 'ba_2motifs'? Known: ba_2motifs, ba_3motifs.
    """
    names = sorted(known)
    near = difflib.get_close_matches(name.lower(), names, n=1, cutoff=0.4)
    hint = f", did you mean '{near[0]}'?" if near else "."
    return UnknownNameError(f"unknown {kind} '{name}'{hint} Known: {', '.join(names) or 'none'}.")
