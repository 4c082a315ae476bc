"""How to call a model: by tensors, by one `Data` object, or with a list of graphs."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
import torch
from torch import Tensor, nn
from torch_geometric.data import Batch, Data

from edgeflip.errors import ConfigError, OracleError

CallStyle: TypeAlias = Literal["tensors", "data", "graphs", "graph"]
CallFunction: TypeAlias = Callable[[Any, Batch], Any]

_BATCH_NAMES = ("batch", "batch_index", "batch_idx", "batch_vector", "batch_vec", "batch_ids")

# The arguments of a forward in the order in which PyG's own models and examples have them.
_ORDER = ("x", "edge_index", "batch")

# Names that say what they want, so that they are never taken by their place.
_OWN_NAMES = ("edge_attr", "edge_weight", "pos", "z", "num_nodes", "num_graphs", "batch_size")

_EXAMPLE = "call=lambda model, batch: model(batch.x, batch.edge_index, batch.batch)"


@dataclass(frozen=True)
class ModelCall:
    """A model bound to its way of being called.

    Attributes:
        on_batch: Asks about a whole PyG batch, or about the tensors of one by name where `reads` is known.
        on_graphs: Asks about a list of graphs.
        batched: Whether one call can answer for many graphs in a batch.
        takes_edge_weight: Whether edge weights reach the model.
        reads: Names of the tensors of a graph that it reads, None if nobody knows.
    """

    on_batch: Callable[[Any], Any]
    on_graphs: Callable[[list[Data]], Any]
    batched: bool
    takes_edge_weight: bool
    reads: tuple[str, ...] | None = None


def bind_call(
    model: nn.Module | Callable[[list[Data]], Any], call: CallStyle | CallFunction | None
) -> ModelCall:
    """Work out how a model wants to be called.

    Raises:
        ConfigError: If the signature does not tell and `call` does not say.
    """
    if isinstance(model, type):
        raise ConfigError(
            f"expected a trained model, got the class {model.__name__}; pass an instance of it."
        )
    if not callable(model):
        hint = "pass its predict_proba with returns='probabilities'"
        raise ConfigError(
            f"expected a torch module or a function as model, got {type(model).__name__}; "
            f"{hint if hasattr(model, 'predict_proba') else 'pass the trained model itself'}."
        )
    if call is None:
        call = _guess_style(model)
    if call == "graphs":
        return ModelCall(_no_batches, model, batched=False, takes_edge_weight=False)
    if call == "graph":
        return ModelCall(
            _no_batches,
            lambda graphs: _rows([model(graph) for graph in graphs]),
            batched=False,
            takes_edge_weight=False,
        )
    if call == "data":
        return ModelCall(model, _no_batches, batched=True, takes_edge_weight=False)
    if call == "tensors":
        return _bind_tensors(model)
    if callable(call):
        function = call
        return ModelCall(
            lambda batch: function(model, batch), _no_batches, batched=True, takes_edge_weight=False
        )
    raise ConfigError(
        f"expected call to be 'tensors', 'data', 'graphs', 'graph' or a function, got {call!r}."
    )


def _guess_style(model: Any) -> CallStyle:
    if not isinstance(model, nn.Module):
        return "graphs"
    parameters = _forward_parameters(model)
    names = [parameter.name for parameter in parameters]
    variadic = any(parameter.kind is parameter.VAR_POSITIONAL for parameter in parameters)
    if "edge_index" in names or variadic:
        return "tensors"
    required = [parameter for parameter in parameters if parameter.default is parameter.empty]
    if len(required) == 1 or (names and names[0] in ("data", "graph", "graphs")):
        return "data"
    if "edge_index" in _places(parameters).values():
        return "tensors"
    raise ConfigError(
        f"expected forward(x, edge_index, batch) or forward(data), got forward({', '.join(names)}); "
        f"pass {_EXAMPLE}, in the order of your forward."
    )


def _places(parameters: list[inspect.Parameter]) -> dict[str, str]:
    """What arguments with names of their own stand for, by their place: x, edge_index, batch.

    Empty where the names tell enough, or where there are more of them than places.
    """
    named = {"batch" if each.name in _BATCH_NAMES else each.name for each in parameters}
    if "edge_index" in named:
        return {}
    unknown = [
        each.name
        for each in parameters
        if each.default is each.empty
        and each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)
        and each.name not in (*_ORDER, *_OWN_NAMES, *_BATCH_NAMES)
    ]
    places = [place for place in _ORDER if place not in named]
    if len(unknown) > len(places):
        return {}
    return dict(zip(unknown, places, strict=False))


def _forward_parameters(model: Any) -> list[inspect.Parameter]:
    target = model.forward if isinstance(model, nn.Module) else model
    try:
        return list(inspect.signature(target).parameters.values())
    except (TypeError, ValueError) as error:
        raise ConfigError(
            f"expected a model whose signature can be read, got {type(model).__name__}; "
            f"pass {_EXAMPLE}."
        ) from error


def _bind_tensors(model: Any) -> ModelCall:
    parameters = _forward_parameters(model)
    if any(parameter.kind is parameter.VAR_POSITIONAL for parameter in parameters):
        # The signature hides the names, as PyG's own Sequential does: take the usual order.
        def positional(batch: Batch) -> Any:
            return model(batch.x, batch.edge_index, batch.batch)

        return ModelCall(positional, _no_batches, batched=True, takes_edge_weight=False)
    places = _places(parameters)
    names = [
        places.get(p.name, "batch" if p.name in _BATCH_NAMES else p.name)
        for p in parameters
        if p.kind is not p.VAR_KEYWORD
    ]
    batched = "batch" in names
    weighted = "edge_weight" in names

    arguments = [
        _Argument(
            each.name,
            places.get(each.name, each.name),
            by_place=each.kind is each.POSITIONAL_ONLY,
            needed=each.default is each.empty,
        )
        for each in parameters
        if each.kind not in (each.VAR_KEYWORD, each.VAR_POSITIONAL)
    ]

    def on_batch(data: Data | Mapping[str, Tensor]) -> Any:
        first, named = _given(arguments, data)
        return model(*first, **named)

    def one_by_one(graphs: list[Data]) -> Any:
        return torch.cat([_one_row(on_batch(graph)) for graph in graphs])

    if batched:
        known = tuple(name for name in names if name != "batch")
        reads = None if places else known
        return ModelCall(
            on_batch, _no_batches, batched=True, takes_edge_weight=weighted, reads=reads
        )
    return ModelCall(on_batch, one_by_one, batched=False, takes_edge_weight=weighted)


@dataclass(frozen=True)
class _Argument:
    """An argument of a forward.

    Attributes:
        own_name: Its name there.
        name: The attribute of a graph that it stands for.
        by_place: Whether it can only be given by its place.
        needed: Whether it has no default.
    """

    own_name: str
    name: str
    by_place: bool
    needed: bool


def _given(
    arguments: Sequence[_Argument], data: Data | Mapping[str, Tensor]
) -> tuple[list[Any], dict[str, Any]]:
    """The forward arguments, each the graph attribute of its name or place: by position, by name."""
    first: list[Any] = []
    named: dict[str, Any] = {}
    for each in arguments:
        if each.name != each.own_name and each.own_name in data:
            raise OracleError(
                f"expected to know what forward's '{each.own_name}' is, got graphs with an attribute of "
                f"this name where {each.name} has its place; pass ModelOracle(model, {_EXAMPLE}) as you "
                "mean it."
            )
        value = _attribute(data, "batch" if each.name in _BATCH_NAMES else each.name)
        if value is not None and each.by_place:
            first.append(value)
        elif value is not None:
            named[each.own_name] = value
        elif each.needed:
            raise OracleError(
                f"expected a graph with '{each.name}', which the model's forward asks for, got "
                f"{', '.join(sorted(data.keys()))}; add it to the graph, or pass ModelOracle(model, "
                f"{_EXAMPLE}) in the order of your forward."
            )
    return first, named


def _attribute(data: Data | Mapping[str, Tensor], name: str) -> Any:
    """A graph's own attribute or count, but never a method that happens to have the name."""
    if name in data:
        return data[name]
    return getattr(data, name, None) if name in ("num_nodes", "num_graphs", "batch_size") else None


# What can be joined without PyG's help: one row per node, and columns of node numbers.
_PLAIN = ("x", "edge_index", "edge_attr", "edge_weight")


def _joinable(
    graphs: list[Data], stores: list[dict[str, Any]], reads: tuple[str, ...]
) -> list[str] | None:
    """Which of the tensors that a model reads the graphs have; None where joining them takes PyG."""
    if "x" not in reads or not all(name in _PLAIN for name in reads):
        return None
    names = [name for name in reads if name in stores[0]]
    for graph, store in zip(graphs, stores, strict=True):
        # A subclass may join its attributes in a way of its own.
        if type(graph) is not Data or not isinstance(store.get("x"), Tensor):
            return None
        if getattr(store.get("edge_index"), "dtype", None) != torch.long:
            return None
        if [name for name in reads if name in store] != names:
            return None
    return names


def joined(graphs: list[Data], reads: tuple[str, ...] | None) -> Batch | dict[str, Tensor]:
    """Graphs as one batch, with all their attributes; where it is known, the tensors that a model reads.

    Joining a few tensors takes a fraction of the time that PyG's own batching of everything takes.
    """
    stores = [graph.to_dict() for graph in graphs]
    names = None if reads is None else _joinable(graphs, stores, reads)
    if names is None:
        return Batch.from_data_list(graphs)
    sizes = np.array([store["x"].size(0) for store in stores])
    device = stores[0]["x"].device
    parts = {
        name: torch.cat([store[name] for store in stores]) for name in names if name != "edge_index"
    }
    if "edge_index" in names:
        edges = [store["edge_index"] for store in stores]
        starts = (sizes.cumsum() - sizes).repeat([each.size(1) for each in edges])
        parts["edge_index"] = torch.cat(edges, dim=1) + torch.from_numpy(starts).to(device)
    owners = np.arange(len(graphs)).repeat(sizes)
    parts["batch"] = torch.from_numpy(owners).to(device)
    return parts


def _one_row(output: Any) -> Any:
    """The class scores of one graph as a row [1, classes]."""
    if (
        not isinstance(output, torch.Tensor)
        or output.dim() > 2
        or (output.dim() == 2 and len(output) != 1)
    ):
        raise OracleError(
            "expected one row of class scores from a model that takes no batch, got "
            f"{list(output.shape) if isinstance(output, torch.Tensor) else type(output).__name__}; "
            "check that it pools its nodes, or pick one node's row with a function that ModelOracle calls."
        )
    return output.reshape(1, -1)


def _rows(outputs: list[Any]) -> Any:
    """What a function said of one graph after the other, as rows."""
    try:
        return torch.cat([_one_row(torch.as_tensor(output)) for output in outputs])
    except (TypeError, ValueError) as error:
        raise OracleError(
            f"expected numbers from a function of one graph, got {type(outputs[0]).__name__}; return the "
            "scores of the classes."
        ) from error


def advice(error: Exception, model: object, call: object) -> str:
    """What to look at when a model raised."""
    text = str(error)
    if "indices" in text and "scalar types" in text:
        return "its embedding wants whole numbers: set graph.x = graph.x.long()"
    if "dtype" in text or "scalar type" in text:
        return "its layers want node features of their own type: set graph.x = graph.x.float()"
    if not isinstance(model, nn.Module) and call in (None, "graphs"):
        return "a function gets a list of graphs: pass ModelOracle(function, call='graph') if yours takes one"
    return "check that the graph has the features the model was trained on"


def _no_batches(_: Any) -> Any:
    raise OracleError("expected another way of calling the model; pass call= to ModelOracle.")


def count_nodes(graph: Data) -> int:
    """Nodes of a graph with features; PyG's own count looks at all there is in it."""
    x: Any = graph.x
    return x.size(0) if isinstance(x, Tensor) and x.dim() else int(graph.num_nodes or 0)


def count_edges(graph: Data) -> int:
    """Columns of its edges."""
    edges: Any = graph.edge_index
    return edges.size(-1) if isinstance(edges, Tensor) and edges.dim() else 0
