"""What PyG's `Explainer` passes, taken apart into graphs, and the model called as PyG calls it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, TypeAlias

import torch
from torch import Tensor, nn
from torch_geometric.data import Batch, Data
from torch_geometric.explain.config import ModelConfig, ModelMode, ModelReturnType

from edgeflip.core import check_edges
from edgeflip.errors import GraphError, NotApplicableError, OracleError, TargetError, shown
from edgeflip.oracle import ModelOracle, OutputReader, check_unmasked

Level: TypeAlias = Literal["owner", "count", "edge", "node", "graph", "constant"]
"""What a keyword of the model is about; a `count` follows from the graphs and is worked out anew."""

# Keywords that follow from the graphs, and what they are of a batch of edited ones.
_COUNTS: Mapping[str, Callable[[Batch], Any]] = {
    "num_nodes": lambda batch: batch.num_nodes,
    "num_graphs": lambda batch: batch.num_graphs,
    "batch_size": lambda batch: batch.num_graphs,
    "size": lambda batch: batch.num_graphs,
    "ptr": lambda batch: batch.ptr,
}


_WHOLE = (torch.long, torch.int, torch.short, torch.int8, torch.uint8)


@dataclass(frozen=True, eq=False)
class Inputs:
    """The arguments of one call of PyG's `Explainer`: one graph, or several with `batch=`.

    Attributes:
        x: Node features [n, …].
        edge_index: Edges [2, m].
        keywords: All further arguments of the model.
        owner: Which graph each node belongs to [n].
        count: Number of graphs.
    """

    x: Tensor
    edge_index: Tensor
    keywords: Mapping[str, Any]
    owner: Tensor
    count: int

    @classmethod
    def of(cls, x: Any, edge_index: Any, keywords: Mapping[str, Any]) -> Inputs:
        """The arguments of a call, checked.

        Raises:
            NotApplicableError: If the graph is heterogeneous.
            GraphError: If edges or `batch` do not fit the nodes.
        """
        if isinstance(x, Mapping) or isinstance(edge_index, Mapping):
            raise NotApplicableError(
                "expected a graph of one type of nodes and edges, got a heterogeneous one; explain "
                "data.to_homogeneous() with a model that reads it."
            )
        if not isinstance(x, Tensor):
            raise GraphError(
                f"expected node features x as a tensor, got {type(x).__name__}; pass "
                "explainer(data.x, data.edge_index)."
            )
        check_edges(Data(x=x, edge_index=edge_index), len(x))
        name = next((key for key in keywords if _names_owner(key, keywords[key], len(x))), None)
        owner = torch.zeros(len(x), dtype=torch.long)
        if name is not None:
            owner = keywords[name].detach().cpu().long()
        ends = owner[edge_index.cpu()]
        if bool((ends[0] != ends[1]).any()) or bool((owner < 0).any()):
            raise GraphError(
                f"expected edges within the graphs that '{name}' names, got some between two of them; "
                "correct it."
            )
        return cls(x, edge_index, keywords, owner, int(owner.max()) + 1 if len(owner) else 0)

    def level(self, name: str) -> Level:
        """What a keyword is about: by its name where that tells, else by its length."""
        value = self.keywords[name]
        if name in _COUNTS:
            return "count"
        if _names_owner(name, value, len(self.x)):
            return "owner"
        if not isinstance(value, Tensor) or not value.dim():
            return "constant"
        edges = self.edge_index.size(1)
        if "edge" in name and value.size(0) == edges:
            return "edge"
        if value.size(0) == len(self.x):
            return "node"
        if value.size(0) == self.count:
            return "graph"
        if value.size(0) == edges:
            raise GraphError(
                f"expected a keyword about edges to have 'edge' in its name, got '{name}', as long as "
                "edge_index; rename it in the model's forward."
            )
        return "constant"

    def names(self, level: Level) -> list[str]:
        """The keywords that are about something."""
        return [name for name in self.keywords if self.level(name) == level]

    @cached_property
    def nodes(self) -> Sequence[Tensor]:
        """The nodes of every graph."""
        return _members(self.owner, self.count)

    @cached_property
    def columns(self) -> Sequence[Tensor]:
        """The columns of `edge_index` of every graph."""
        return _members(self.owner[self.edge_index[0].cpu()], self.count)

    def graph(self, place: int) -> Data:
        """One of the graphs, on the CPU, with what the model reads of it."""
        nodes, columns = self.nodes[place], self.columns[place]
        number = torch.empty(len(self.x), dtype=torch.long)
        number[nodes] = torch.arange(len(nodes))
        graph = Data(
            x=self.x.detach().cpu()[nodes], edge_index=number[self.edge_index.cpu()[:, columns]]
        )
        parts = {"node": nodes, "edge": columns, "graph": torch.tensor([place])}
        for name, value in self.keywords.items():
            chosen = parts.get(self.level(name))
            if chosen is not None:
                graph[name] = value.detach().cpu()[chosen]
        return graph

    def chosen(self, index: Any) -> list[int]:
        """The graphs that `index=` asks about; all of them where it is left out.

        Raises:
            GraphError: If `index` names no graphs, or one of a batch has no pair of nodes to edit.
        """
        wanted = list(range(self.count)) if index is None else self._named(index)
        small = [place for place in wanted if len(self.nodes[place]) < 2]
        if small and self.count > 1:
            raise GraphError(
                f"expected graphs with at least two nodes, got {len(self.nodes[small[0]])} in graph "
                f"{small[0]} of the batch; name the others with index=."
            )
        return wanted

    def _named(self, index: Any) -> list[int]:
        try:
            places = torch.as_tensor(index).flatten()
        except (TypeError, ValueError, RuntimeError):
            places = torch.empty(0)
        if places.dtype == torch.bool and len(places) == self.count:
            places = places.nonzero().flatten()
        whole = not places.is_floating_point() and places.dtype != torch.bool
        wanted: list[int] = [int(place) for place in places] if whole else []
        if not wanted or not all(0 <= place < self.count for place in wanted):
            raise GraphError(
                f"expected index to name graphs in 0..{self.count - 1}, got {shown(_plain(index))}; pass a "
                f"number, several, or a mask of {self.count}."
            )
        return sorted(set(wanted))

    def ask(
        self,
        model: nn.Module,
        edge_index: Tensor | None = None,
        changed: Mapping[str, Tensor] | None = None,
    ) -> Tensor:
        """What the model gives, on other edges and keywords where some are passed.

        PyG has put the model in evaluation mode.

        Raises:
            OracleError: If masks of an earlier call are in it.
        """
        check_unmasked(model.modules())
        edges = self.edge_index if edge_index is None else edge_index
        with torch.no_grad():
            output: Tensor = model(self.x, edges, **{**self.keywords, **(changed or {})})
        return output


def _plain(index: Any) -> Any:
    return index.tolist() if isinstance(index, Tensor) else index


def _names_owner(name: str, value: Any, num_nodes: int) -> bool:
    """Whether a keyword is PyG's `batch`, whatever the model calls it."""
    return (
        "batch" in name
        and isinstance(value, Tensor)
        and value.dtype in _WHOLE
        and value.shape == (num_nodes,)
    )


def _members(owner: Tensor, count: int) -> Sequence[Tensor]:
    order = owner.argsort(stable=True)
    members: Sequence[Tensor] = order.split(owner.bincount(minlength=count).tolist())
    return members


def reader_for(prediction: Tensor, config: ModelConfig) -> OutputReader:
    """What reads the outputs of a model as PyG's `ModelConfig` describes them.

    Raises:
        OracleError: If it gives another number of outputs than its mode says.
    """
    width = prediction.size(-1) if prediction.dim() > 1 else 1
    if config.mode == ModelMode.regression:
        return OutputReader("regression", "logits", None, None)
    binary = config.mode == ModelMode.binary_classification
    # One graph may come without a row of its own.
    if not binary and prediction.dim() == 1:
        width = len(prediction)
    if binary != (width == 1):
        raise OracleError(
            f"expected {'one output' if binary else 'an output for each class'} per graph with "
            f"mode='{config.mode.value}', got {width}; correct the ModelConfig."
        )
    probs = config.return_type == ModelReturnType.probs
    # Of log-probabilities a softmax makes probabilities, as it does of logits.
    returns: Literal["logits", "probabilities"] = "probabilities" if probs else "logits"
    return OutputReader("classification", returns, 2 if binary else width, None)


def read(prediction: Tensor, count: int, config: ModelConfig) -> Tensor:
    """A model's prediction as edgeflip's oracles give it: probabilities, or values [count, columns]."""
    reader = reader_for(prediction, config)
    if prediction.dim() > 1 and len(prediction) != count:
        raise OracleError(
            f"expected a row of outputs for each of {count} graphs, got {len(prediction)}; pool the nodes of "
            "each graph, and pass the vector of graphs as batch=."
        )
    if count == 1:
        prediction = prediction.reshape(1, -1)
    return reader.read(prediction, count)


def oracle_for(
    model: nn.Module,
    inputs: Inputs,
    prediction: Tensor,
    config: ModelConfig,
    class_names: Sequence[str] | None,
) -> ModelOracle:
    """The model as an oracle that is called as PyG calls it."""
    reader = reader_for(prediction, config)
    values = reader.task == "regression"
    return ModelOracle(
        model,
        num_classes=None if values else reader.num_columns,
        returns=reader.returns,
        call=_call_for(model, inputs, prediction),
        class_names=class_names,
        task=reader.task,
    )


def _call_for(
    model: nn.Module, inputs: Inputs, prediction: Tensor
) -> Callable[[Any, Batch], Tensor] | None:
    """How the model takes a batch of edited graphs; None where its signature tells everything."""
    parameters = list(inspect.signature(model.forward).parameters.values())
    known = [each.name for each in parameters]
    plain = all(each.kind in (each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY) for each in parameters)
    constants = {name: inputs.keywords[name] for name in inputs.names("constant")}
    takes = set(inputs.keywords) - set(inputs.names("owner")) <= set(known)
    counts = inputs.names("count")
    # Of one graph a model may give its outputs without a row.
    rows = prediction.dim() > 1 or inputs.count > 1 or prediction.numel() == 1
    told = plain and takes and known[:2] == ["x", "edge_index"]
    if told and rows and not constants and not counts:
        return None
    tensors = [name for name in inputs.keywords if inputs.level(name) in ("node", "edge", "graph")]
    owner = next(iter(inputs.names("owner")), None)
    if owner is None:
        owner = next((name for name in known if "batch" in name and name not in _COUNTS), None)

    def call(asked: Any, batch: Batch) -> Tensor:
        given = {name: batch[name] for name in tensors} | constants
        given |= {name: _COUNTS[name](batch) for name in counts}
        if owner is not None:
            output: Tensor = asked(batch.x, batch.edge_index, **{**given, owner: batch.batch})
            return output.reshape(1, -1) if batch.num_graphs == 1 else output
        # A model that knows of no batches gets the graphs one by one.
        parts = Inputs.of(
            batch.x,
            batch.edge_index,
            {**{name: batch[name] for name in tensors}, "batch": batch.batch},
        )
        rows = []
        for place in range(parts.count):
            graph = parts.graph(place).to(batch.x.device)
            own = {name: graph[name] for name in tensors} | constants
            alone = Batch.from_data_list([graph])
            own |= {name: _COUNTS[name](alone) for name in counts}
            rows.append(asked(graph.x, graph.edge_index, **own).reshape(1, -1))
        return torch.cat(rows)

    return call


def labels_of(target: Any, inputs: Inputs, num_classes: int) -> list[int]:
    """The class of each graph that PyG's `target` names.

    Raises:
        TargetError: If it does not name a class for each graph.
    """
    labels = torch.as_tensor(target).flatten()
    whole = bool((labels == labels.long()).all()) if labels.numel() else False
    if (
        len(labels) != inputs.count
        or not whole
        or not 0 <= int(labels.min()) <= int(labels.max()) < num_classes
    ):
        raise TargetError(
            f"expected a target class in 0..{num_classes - 1} for each of {inputs.count} graphs, got "
            f"{labels.tolist()}; pass target=data.y."
        )
    return [int(label) for label in labels]
