"""Answers: counterfactuals, how they were found, and their way to JSON and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias

import torch
from torch import Tensor
from torch_geometric.data import Data

from edgeflip.core import EdgeFill, EditSet, PairSpace, fingerprint
from edgeflip.errors import ArtifactError, EdgeflipError
from edgeflip.support import checksum, read_json, write_json

StopReason: TypeAlias = Literal[
    "first_flip",
    "good_enough",
    "enough_flips",
    "best_possible",
    "exhausted",
    "timeout",
    "out_of_calls",
    "interrupted",
    "not_applicable",
]
Status: TypeAlias = Literal[
    "found", "exhausted", "timeout", "out_of_calls", "interrupted", "not_applicable"
]

FORMAT = 1
"""Version of the JSON form of an answer."""


@dataclass(frozen=True)
class Counterfactual:
    """Edits that change the oracle's prediction, re-checked on the really edited graph.

    Attributes:
        edits: The edges that come and go.
        proba: The oracle's class probabilities after the edits.
        fidelity: How far the probability of the original class fell.
        score: The ranking policy's score; higher is better.
        found_at: Which proposal it was, counted from 0.
        ring: How far from its first candidates the search was when it found it, for methods that
            widen theirs; 0 is the paper's space. None for other methods, and for what was found after
            the search, while needless edits were undone or smaller edit sets were tried.
        robustness: On what share of noisy copies of the graph the class still changed as asked; None
            when none were tried.
    """

    edits: EditSet
    proba: tuple[float, ...]
    fidelity: float
    score: float
    found_at: int
    ring: int | None = None
    robustness: float | None = None

    @property
    def label(self) -> int:
        """The class predicted after the edits."""
        return max(range(len(self.proba)), key=self.proba.__getitem__)

    @property
    def size(self) -> int:
        """Number of edits."""
        return len(self.edits)

    @property
    def margin(self) -> float:
        """Probability of the new class minus the largest other one."""
        others = [p for label, p in enumerate(self.proba) if label != self.label]
        return self.proba[self.label] - max(others, default=0.0)


@dataclass(frozen=True)
class FactualSubgraph:
    """The part of a graph that carries its prediction.

    Attributes:
        nodes: Its nodes.
        edges: Its edges.
        score: What the factual explainer gave it.
    """

    nodes: tuple[int, ...]
    edges: tuple[tuple[int, int], ...]
    score: float


@dataclass(frozen=True)
class Certificate:
    """A proof that nothing smaller changes the prediction: all of it was tried.

    Attributes:
        below: No counterfactual with fewer edits than this exists within the constraints.
        tried: How many edit sets of one edit, of two and so on the constraints allow, all of which
            were tried; `below - 1` numbers. Rules in Python were asked about those that flip.

    Example:
        >>> print(Certificate(below=2, tried=(300,)))
        no counterfactual with fewer than 2 edits exists: all 300 smaller allowed edit sets were tried
    """

    below: int
    tried: tuple[int, ...] = ()

    def __str__(self) -> str:
        """The claim in a sentence."""
        if self.below <= 1:
            return "there is a counterfactual of one edit, and nothing is smaller"
        return (
            f"no counterfactual with fewer than {self.below} edits exists: all {sum(self.tried):,} "
            "smaller allowed edit sets were tried"
        )


@dataclass(frozen=True)
class Stage:
    """Time and oracle calls of one stage of the search.

    Attributes:
        seconds: Wall-clock seconds.
        oracle_calls: Graphs the oracle was asked about.
        cpu_seconds: CPU seconds of the process, all its threads together: those of the whole search
            shared out by wall-clock seconds.
    """

    seconds: float = 0.0
    oracle_calls: int = 0
    cpu_seconds: float = 0.0

    def __add__(self, other: Stage) -> Stage:
        """Both together."""
        return Stage(
            self.seconds + other.seconds,
            self.oracle_calls + other.oracle_calls,
            self.cpu_seconds + other.cpu_seconds,
        )

    def __sub__(self, other: Stage) -> Stage:
        """What came since."""
        return Stage(
            self.seconds - other.seconds,
            self.oracle_calls - other.oracle_calls,
            self.cpu_seconds - other.cpu_seconds,
        )


@dataclass(frozen=True)
class Trace:
    """How a search went.

    Attributes:
        status: `"found"`, or why there is no counterfactual.
        stopped_by: What ended the search.
        stages: Seconds and oracle calls per stage, in order of first use.
        proposals: Candidates the method proposed.
        rejected: Of these, how many the constraints refused.
        flips: How many distinct candidates changed the prediction as asked.
        message: A sentence for people, such as why a method is not applicable.
        notes: The method's own figures, such as how many edges were left out as noise.
    """

    status: Status
    stopped_by: StopReason
    stages: Mapping[str, Stage] = field(default_factory=dict)
    proposals: int = 0
    rejected: int = 0
    flips: int = 0
    message: str = ""
    notes: Mapping[str, Any] = field(default_factory=dict)

    @property
    def seconds(self) -> float:
        """Seconds of all stages."""
        return sum(stage.seconds for stage in self.stages.values())

    @property
    def oracle_calls(self) -> int:
        """Graphs the oracle was asked about in all stages."""
        return sum(stage.oracle_calls for stage in self.stages.values())


@dataclass(frozen=True)
class Provenance:
    """What made an answer: enough to make it again.

    Attributes:
        method: Name of the explainer.
        config: Its settings.
        seed: The seed of the call.
        batch_size: Graphs per model call; it can move the last digits of a probability.
        oracle: Fingerprint of the oracle's weights.
        constraints: The constraints of the call.
        budget: The budget of the call.
        versions: Versions of edgeflip, torch and torch_geometric.
        choice: How the answers were chosen among the flips: ranking, number, diversity, noise.
    """

    method: str
    config: Mapping[str, Any]
    seed: int
    batch_size: int | None
    oracle: str
    constraints: Mapping[str, Any]
    budget: Mapping[str, Any]
    versions: Mapping[str, str]
    choice: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class CounterfactualSet:
    """Everything an explainer found for one graph.

    Attributes:
        graph: The input graph.
        proba: The oracle's class probabilities on it.
        target: The wanted class, None for any other.
        counterfactuals: Best first; empty when none was found.
        trace: How the search went.
        provenance: What made the answer.
        factual: The factual subgraph, when the method used one.
        class_names: Names of the classes, when known.
        fill: The attributes of added edges, as given to `explain`.
        certificate: Up to which size it is proven that there is no counterfactual, when that was
            tried; check it again with `verify_certificate`.
    """

    graph: Data
    proba: tuple[float, ...]
    target: int | None
    counterfactuals: tuple[Counterfactual, ...]
    trace: Trace
    provenance: Provenance
    factual: FactualSubgraph | None = None
    class_names: tuple[str, ...] | None = None
    fill: EdgeFill | None = None
    certificate: Certificate | None = None

    @property
    def label(self) -> int:
        """The class predicted for the input."""
        return max(range(len(self.proba)), key=self.proba.__getitem__)

    @property
    def found(self) -> bool:
        """Whether there is a counterfactual."""
        return bool(self.counterfactuals)

    @property
    def best(self) -> Counterfactual | None:
        """The counterfactual that ranks first."""
        return self.counterfactuals[0] if self.counterfactuals else None

    @property
    def first(self) -> Counterfactual | None:
        """The counterfactual that was found first."""
        return min(self.counterfactuals, key=lambda entry: entry.found_at, default=None)

    def __len__(self) -> int:
        """Number of counterfactuals."""
        return len(self.counterfactuals)

    def class_name(self, label: int) -> str:
        """A class by name where names are known, else by number."""
        return self.class_names[label] if self.class_names else str(label)

    def edited_graph(self, counterfactual: Counterfactual | None = None) -> Data:
        """The graph after the edits of a counterfactual, by default the best one."""
        chosen = counterfactual or self.best
        if chosen is None:
            raise EdgeflipError(
                "expected an answer with a counterfactual, got none "
                f"(status '{self.trace.status}'); check answer.found first."
            )
        return chosen.edits.apply(self.graph, fill=self.fill)

    def __str__(self) -> str:
        """The best answer in a sentence."""
        before = f"{self.class_name(self.label)} ({self.proba[self.label]:.2f})"
        best = self.best
        if best is None:
            wanted = "another class" if self.target is None else self.class_name(self.target)
            reason = self.trace.message or self.trace.status.replace("_", " ")
            return f"{before}: no edits to {wanted} found ({reason})"
        after = f"{self.class_name(best.label)} ({best.proba[best.label]:.2f})"
        return (
            f"{before} becomes {after} with {best.size} edit{'s'[: best.size != 1]}: {best.edits}"
        )

    def to_rows(self) -> list[dict[str, Any]]:
        """A table of changes only: one plain row per counterfactual, best first."""
        return [
            {
                "rank": rank,
                "added": [list(edge) for edge in sorted(entry.edits.added)],
                "removed": [list(edge) for edge in sorted(entry.edits.removed)],
                "size": entry.size,
                "from": self.label,
                "to": entry.label,
                "fidelity": entry.fidelity,
                "probability": entry.proba[entry.label],
                "score": entry.score,
                "found_at": entry.found_at,
                "ring": entry.ring,
                "margin": entry.margin,
                "robustness": entry.robustness,
            }
            for rank, entry in enumerate(self.counterfactuals, start=1)
        ]

    def to_dict(self) -> dict[str, Any]:
        """The whole answer as plain values for JSON, with a checksum against tampering."""
        payload: dict[str, Any] = {
            "format": FORMAT,
            "graph": graph_to_dict(self.graph),
            "fingerprint": fingerprint(self.graph),
            "proba": list(self.proba),
            "target": self.target,
            "counterfactuals": [
                {**asdict(entry), "edits": entry.edits.to_dict(), "proba": list(entry.proba)}
                for entry in self.counterfactuals
            ],
            "factual": asdict(self.factual) if self.factual else None,
            "trace": asdict(self.trace),
            "provenance": asdict(self.provenance),
            "class_names": list(self.class_names) if self.class_names else None,
            "certificate": asdict(self.certificate) if self.certificate else None,
        }
        payload["checksum"] = checksum(payload)
        return payload

    @classmethod
    def from_dict(cls, payload: Mapping[str, Any]) -> CounterfactualSet:
        """The inverse of `to_dict`; a fill given as a function or tensor is not kept.

        Raises:
            ArtifactError: If the payload is incomplete, of another format, or was changed.
        """
        _check_payload(payload)
        try:
            return _read_answer(payload)
        except (KeyError, TypeError, ValueError, RuntimeError, EdgeflipError) as error:
            raise ArtifactError(
                f"expected an answer written by CounterfactualSet.to_dict, got one that cannot be read "
                f"({type(error).__name__}: {error}); explain the graph again."
            ) from error

    def save_json(self, path: str | Path) -> Path:
        """Write the answer to a JSON file, whole or not at all."""
        return write_json(Path(path), self.to_dict())

    @classmethod
    def load_json(cls, path: str | Path) -> CounterfactualSet:
        """Read an answer that `save_json` wrote."""
        return cls.from_dict(read_json(Path(path)))


def graph_to_dict(graph: Data) -> dict[str, Any]:
    """What a model can read of a graph, for JSON: tensors with their types, and plain values.

    Numbers that JSON has no word for are written as text.
    """
    tensors = {
        key: {
            "dtype": str(value.dtype).removeprefix("torch."),
            "values": _speakable(value.detach().cpu().tolist()),
        }
        | {"shape": list(value.shape)}
        for key, value in graph.to_dict().items()
        if isinstance(value, Tensor)
    }
    others = {
        key: _speakable(value)
        for key, value in graph.to_dict().items()
        if isinstance(value, str | int | float | bool) and key != "num_nodes"
    }
    named = "num_nodes" in graph.to_dict() or graph.x is None
    count = int(graph.num_nodes or 0) if named else None
    return {"num_nodes": count, "tensors": tensors, "others": others}


def graph_from_dict(payload: Mapping[str, Any]) -> Data:
    """The inverse of `graph_to_dict`."""
    graph = Data()
    for key, entry in payload["tensors"].items():
        dtype = getattr(torch, entry["dtype"])
        if not isinstance(dtype, torch.dtype):
            raise ValueError(f"{entry['dtype']!r} is no tensor type")
        values = _spoken(entry["values"])
        graph[key] = torch.tensor(values, dtype=dtype).reshape(entry["shape"])
    for key, value in payload["others"].items():
        graph[key] = _spoken(value)
    if payload["num_nodes"] is not None:
        graph.num_nodes = int(payload["num_nodes"])
    return graph


_WORDS = {"NaN": float("nan"), "Infinity": float("inf"), "-Infinity": float("-inf")}


def _speakable(value: Any) -> Any:
    """Nested lists with NaN and infinities as text."""
    if isinstance(value, list):
        return [_speakable(entry) for entry in value]
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return {"not_finite": "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"}
    return value


def _spoken(value: Any) -> Any:
    if isinstance(value, list):
        return [_spoken(entry) for entry in value]
    if isinstance(value, dict):
        return _WORDS[value["not_finite"]]
    return value


def _check_payload(payload: Mapping[str, Any]) -> None:
    if not isinstance(payload, Mapping) or "checksum" not in payload:
        raise ArtifactError(
            "expected an answer written by CounterfactualSet.to_dict, got something without a checksum; "
            "explain the graph again."
        )
    if payload.get("format") != FORMAT:
        raise ArtifactError(
            f"expected an answer of format {FORMAT}, got {payload.get('format')!r}; "
            "read it with the edgeflip version that wrote it."
        )
    rest = {key: value for key, value in payload.items() if key != "checksum"}
    if checksum(rest) != payload["checksum"]:
        raise ArtifactError(
            "expected an answer as edgeflip wrote it, got one that was changed afterwards; "
            "explain the graph again."
        )


def _read_answer(payload: Mapping[str, Any]) -> CounterfactualSet:
    graph = graph_from_dict(payload["graph"])
    if fingerprint(graph) != payload["fingerprint"]:
        raise ValueError("the graph is not the one that was explained")
    space = PairSpace.of(graph)
    entries = []
    for entry in payload["counterfactuals"]:
        edits = EditSet.from_dict(entry["edits"])
        space.ids_of(edits.edges)
        plain = {**entry, "edits": edits, "proba": tuple(entry["proba"])}
        entries.append(Counterfactual(**plain))
    trace = dict(payload["trace"])
    trace["stages"] = {name: Stage(**stage) for name, stage in trace["stages"].items()}
    factual = payload["factual"]
    names = payload["class_names"]
    proof = payload.get("certificate")
    return CounterfactualSet(
        graph=graph,
        proba=tuple(payload["proba"]),
        target=payload["target"],
        counterfactuals=tuple(entries),
        trace=Trace(**trace),
        provenance=Provenance(**payload["provenance"]),
        factual=None if factual is None else _read_factual(factual),
        class_names=None if names is None else tuple(names),
        certificate=None if proof is None else Certificate(proof["below"], tuple(proof["tried"])),
    )


def _read_factual(payload: Mapping[str, Any]) -> FactualSubgraph:
    edges = tuple((int(u), int(v)) for u, v in payload["edges"])
    return FactualSubgraph(tuple(payload["nodes"]), edges, payload["score"])
