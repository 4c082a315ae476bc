"""An answer as an explanation of PyG: a mask for what goes, edges for what comes."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

import torch
from torch import Tensor
from torch_geometric.data import Batch, Data
from torch_geometric.explain import Explanation
from torch_geometric.explain.config import ModelConfig

from edgeflip.core import PairEdits, edge_attributes
from edgeflip.errors import EdgeflipError, NotApplicableError
from edgeflip.integrations.pyg.inputs import Inputs
from edgeflip.oracle import ClassGoal
from edgeflip.search import AnswerList, Certificate, Counterfactual, CounterfactualSet

if TYPE_CHECKING:
    from edgeflip.draw import Picture

# What is ours, or PyG's own, and no input of the model.
_NO_INPUT = (
    "edge_mask",
    "node_mask",
    "added_edge_index",
    "record",
    "prediction",
    "target",
    "index",
)


# How PyG remembers what a batch was made of.
_OF_BATCHES = ("_num_graphs", "_slice_dict", "_inc_dict")


@dataclass(frozen=True, eq=False)
class Told:
    """An answer, and the counterfactual that an explanation is about.

    Attributes:
        answer: Everything that was found for a graph.
        entry: The counterfactual that is shown, None where none was found.
    """

    answer: CounterfactualSet
    entry: Counterfactual | None

    def plain(self) -> dict[str, Any]:
        """Plain values, as in an answer's JSON."""
        edits = None if self.entry is None else self.entry.edits.to_dict()
        return {"answer": self.answer.to_dict(), "edits": edits}

    @classmethod
    def read(cls, plain: Mapping[str, Any]) -> Told:
        """The inverse of `plain`."""
        answer = CounterfactualSet.from_dict(plain["answer"])
        entries = [*answer.counterfactuals, answer.smallest, answer.first]
        known = [entry for entry in entries if entry is not None]
        wanted = (entry for entry in known if entry.edits.to_dict() == plain["edits"])
        return cls(answer, next(wanted, None))


class AnswerRecord:
    """Answers on their way through PyG, which copies, batches and pickles what an explanation holds.

    Copies share the answers. What is pickled is plain values: no code, no model.
    """

    def __init__(self, told: Sequence[Told]) -> None:
        self._told: tuple[Told, ...] | None = tuple(told)
        self._plain: list[dict[str, Any]] = []

    @property
    def told(self) -> tuple[Told, ...]:
        """The answers, read again where they come from a file."""
        if self._told is None:
            self._told = tuple(Told.read(each) for each in self._plain)
        return self._told

    def plain(self) -> list[dict[str, Any]]:
        """The answers as plain values."""
        return self._plain if self._told is None else [each.plain() for each in self._told]

    def __repr__(self) -> str:
        """How many there are."""
        count = len(self._plain if self._told is None else self._told)
        return f"{count} answer{'s' * (count != 1)}"

    def __deepcopy__(self, memo: dict[int, Any]) -> AnswerRecord:
        """Answers do not change, so that copies share them."""
        return self

    def __getstate__(self) -> dict[str, Any]:
        """Plain values."""
        return {"plain": self.plain()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """The inverse; answers are read when somebody asks for them."""
        self._told, self._plain = None, state["plain"]


class EditExplanation(Explanation):  # type: ignore[misc]  # PyG has no types
    """Counterfactual edits as an explanation of PyG; of several graphs, those of each.

    Attributes:
        edge_mask: 1 for edges that go, in both directions, 0 for all others [m].
        added_edge_index: Edges that come, in both directions [2, 2 · added].
        cf_edge_index: The edges after the edits; `cf_edge_attr` and the like go with them.
        cf_prediction: The model's output after the edits, in the form of `prediction`.
        cf_found: Whether there is a counterfactual, for each graph [graphs].
    """

    @property
    def answers(self) -> AnswerList:
        """The whole answers, one for each graph that was explained."""
        return AnswerList(each.answer for each in self._told())

    @property
    def answer(self) -> CounterfactualSet:
        """The whole answer, where one graph was explained."""
        return self._one().answer

    @property
    def counterfactual(self) -> Counterfactual | None:
        """The edits that the masks show, where one graph was explained; None where none were found."""
        return self._one().entry

    @property
    def certificate(self) -> Certificate | None:
        """Up to which size it is proven that there is no counterfactual; None where nothing is."""
        return self._one().answer.certificate

    def counterfactual_graph(self) -> Data:
        """The graph after the edits, with everything that the model reads; several graphs with `batch`.

        Raises:
            EdgeflipError: If no counterfactual was found.
        """
        if not bool(self.cf_found.any()):
            raise EdgeflipError(
                "expected an explanation with a counterfactual, got none; check explanation.cf_found first."
            )
        graph = Data()
        for key, value in self.to_dict().items():
            if not is_taken(key):
                graph[key] = self.get(f"cf_{key}", value)
        return graph

    def draw(self, **options: Any) -> Picture:
        """A picture, before and after; of several graphs a grid. See `edgeflip.draw.draw_answer`."""
        told = self._told()
        if len(told) == 1:
            return told[0].answer.draw(told[0].entry, **options)
        # A grid shows the smallest; here it is to show what the masks do.
        return AnswerList(
            replace(
                each.answer,
                counterfactuals=(each.entry,) if each.entry else (),
                smallest=each.entry,
            )
            for each in told
        ).draw(**options)

    def visualize_graph(self, *args: Any, **options: Any) -> None:
        """PyG's picture of the mask; it warns where edges come, which a mask cannot show."""
        come = self.added_edge_index.size(1) // 2
        if come:
            warnings.warn(
                f"PyG's picture shows edges that go, and not the {come} that come: look at "
                "explanation.draw().",
                stacklevel=2,
            )
        super().visualize_graph(*args, **options)

    def _told(self) -> list[Told]:
        records = self.get("record")
        if records is None:
            raise EdgeflipError(
                "expected an explanation with its answers, got one without 'record'; keep that key when "
                "you take an explanation apart."
            )
        several = records if isinstance(records, list) else [records]
        return [each for record in several for each in record.told]

    def _one(self) -> Told:
        told = self._told()
        if len(told) != 1:
            raise EdgeflipError(
                f"expected an explanation of one graph, got one of {len(told)}; use explanation.answers."
            )
        return told[0]

    def is_edge_attr(self, key: str) -> bool:
        """Whether PyG may cut it to a part of the edges; never what belongs to the edited graph."""
        return not _is_ours(key) and bool(super().is_edge_attr(key))

    def is_node_attr(self, key: str) -> bool:
        """Whether PyG may cut it to a part of the nodes; never what belongs to the edited graph."""
        return not _is_ours(key) and bool(super().is_node_attr(key))

    def _threshold_mask(self, mask: Tensor | None, threshold_config: Any) -> Tensor | None:
        """PyG's thresholds, none of which may mark an edge that stays."""
        cut: Tensor | None = super()._threshold_mask(mask, threshold_config)
        return cut if cut is None or mask is None else cut * (mask > 0)

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        """Tensors and plain values, which `torch.load` reads without unpickling anything else.

        A batch of PyG has a `__reduce__` of its own, which stands before ours.
        """
        values = self.to_dict()
        records = values.pop("record", None)
        several = records if isinstance(records, list) else [records]
        config = self._store.__dict__.get("_model_config")
        plain = {
            "values": values,
            "told": None if records is None else [record.plain() for record in several],
            "batch": {name: self._store.__dict__[name] for name in _OF_BATCHES}
            if isinstance(self, Batch)
            else None,
            "model_args": self._store.__dict__.get("_model_args"),
            "model_config": None
            if config is None
            else [config.mode.value, config.task_level.value, config.return_type.value],
        }
        return _restored, (plain,)


def _is_ours(key: str) -> bool:
    return key == "added_edge_index" or key.startswith("cf_")


def is_taken(key: str) -> bool:
    """Whether an explanation has something else of that name than an input of the model."""
    return key in _NO_INPUT or _is_ours(key)


def _restored(plain: dict[str, Any]) -> Any:
    """An explanation, or a batch of some, from what its `__reduce_ex__` gave."""
    of_batch = plain["batch"]
    explanation: Any = EditExplanation() if of_batch is None else Batch(_base_cls=EditExplanation)
    for key, value in plain["values"].items():
        explanation[key] = value
    if plain["told"] is not None:
        records = [AnswerRecord(()) for _ in plain["told"]]
        for record, told in zip(records, plain["told"], strict=True):
            record.__setstate__({"plain": told})
        explanation["record"] = records if of_batch is not None else records[0]
    for name, value in (of_batch or {}).items():
        setattr(explanation, name, value)
    if plain["model_args"] is not None:
        explanation._model_args = plain["model_args"]
    if plain["model_config"] is not None:
        explanation._model_config = ModelConfig(*plain["model_config"])
    return explanation


# So that `torch.load` reads explanations as it reads tensors, with `weights_only=True`.
torch.serialization.add_safe_globals([_restored])


def explanation_of(inputs: Inputs, told: Mapping[int, Told]) -> EditExplanation:
    """The edits of graphs as one explanation; `cf_prediction` is left to the caller.

    Args:
        inputs: The graphs.
        told: The answers for some of them, or for all, in the order of the graphs.
    """
    edges = inputs.edge_index
    mask = torch.zeros(edges.size(1))
    added, after = [edges[:, :0].cpu()], []
    for place in range(inputs.count):
        nodes, one = inputs.nodes[place], told.get(place)
        if one is None or one.entry is None:
            after.append(inputs.graph(place))
            continue
        after.append(one.answer.edited_graph(one.entry))
        edits, pairs = one.entry.edits, cast(PairEdits, one.answer.space).pairs
        gone = pairs.columns[pairs.slots(pairs.ids_of(edits.removed))]
        mask[inputs.columns[place][gone]] = 1.0
        new = pairs.ends(pairs.ids_of(sorted(edits.added)))
        added.append(nodes[torch.cat([new, new.flip(0)], dim=1)])
    explanation = EditExplanation(edge_mask=mask.to(edges.device))
    explanation.added_edge_index = torch.cat(added, dim=1).to(edges)
    explanation.cf_edge_index = torch.cat(
        [nodes[graph.edge_index] for nodes, graph in zip(inputs.nodes, after, strict=True)], dim=1
    ).to(edges)
    for name in inputs.names("edge"):
        rows = torch.cat([graph[name] for graph in after])
        explanation[f"cf_{name}"] = rows.to(inputs.keywords[name])
    explanation.cf_found = torch.tensor(
        [place in told and told[place].answer.found for place in range(inputs.count)],
        device=edges.device,
    )
    explanation["record"] = AnswerRecord(list(told.values()))
    return explanation


def to_pyg(
    answer: CounterfactualSet,
    counterfactual: Counterfactual | None = None,
    *,
    model_args: Sequence[str] = (),
) -> EditExplanation:
    """An answer as an explanation of PyG, for PyG's own metrics and pictures.

    `cf_prediction` is what the oracle says: probabilities or values, whatever the model itself gives.

    Args:
        answer: An answer about edges.
        counterfactual: Which of its counterfactuals; the smallest by default.
        model_args: The attributes of the graph that the model takes as keywords, which PyG's metrics
            pass on, such as `["edge_attr", "batch"]`.

    Raises:
        NotApplicableError: If the answer is about something else than edges.

    Example:
        >>> from edgeflip import explain
        >>> from edgeflip.testing import example_graphs, example_oracle
        >>> answer = explain(example_oracle(), example_graphs(1, seed=4)[0])
        >>> to_pyg(answer).added_edge_index.shape
        torch.Size([2, 2])
    """
    if not isinstance(answer.space, PairEdits):
        raise NotApplicableError(
            f"expected an answer about edges, got one about '{answer.space.kind}'; save it as JSON."
        )
    graph, entry = answer.graph, counterfactual or answer.smallest
    if "batch" in model_args and "batch" not in graph:
        graph = graph.clone()
        graph.batch = torch.zeros(int(graph.num_nodes or 0), dtype=torch.long)
    x = graph.x if isinstance(graph.x, Tensor) else torch.zeros(int(graph.num_nodes or 0), 0)
    names = [name for name in edge_attributes(graph) if not is_taken(name)]
    inputs = Inputs.of(x, graph.edge_index, {name: graph[name] for name in names})
    explanation = explanation_of(inputs, {0: Told(answer, entry)})
    for key, value in graph.to_dict().items():
        # A graph of PyG's ExplainerDataset has masks of its own, which are not what was found.
        if not is_taken(key):
            explanation[key] = value
    output = answer.output if entry is None else entry.output
    explanation.cf_prediction = torch.tensor([output])
    if isinstance(answer.goal, ClassGoal):
        explanation.target = torch.tensor([answer.predicted])
    explanation._model_args = list(model_args)
    return explanation
