"""The model that is explained, behind one small interface. No other code calls a model."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal, TypeAlias

import torch
from torch import Tensor, nn
from torch_geometric.data import Batch, Data

from edgeflip.core import (
    EditSpace,
    PairEdits,
    PairSpace,
    edge_attributes,
    no_graph,
)
from edgeflip.errors import ConfigError, GraphError, NotApplicableError, OracleError
from edgeflip.oracle.batch_sizes import DENSE_NODE_LIMIT, SPARSE_BATCH, graphs_per_call
from edgeflip.oracle.calling import (
    CallFunction,
    CallStyle,
    ModelCall,
    advice,
    bind_call,
    count_nodes,
    joined,
)
from edgeflip.oracle.dense_path import DenseVersions, binds_graphs, offers_dense_path
from edgeflip.oracle.modules import Freeze, bytes_of, state_of
from edgeflip.oracle.outputs import (
    OutputReader,
    Returns,
    Task,
    as_matrix,
    checked_names,
    one_line,
    two_columns,
)
from edgeflip.oracle.placing import Placement
from edgeflip.support import checked_call

Batching: TypeAlias = Literal["auto", "sparse", "dense"]

Model: TypeAlias = nn.Module | Callable[[list[Data]], Any]
"""What `ModelOracle` wraps."""


class ModelOracle:
    """Any PyG graph classifier, or regression model, as an oracle.

    Args:
        model: A module with `forward(x, edge_index, batch)`, optionally with `edge_attr` or
            `edge_weight`, or with `forward(data)`; or a plain function on a list of `Data`.
        num_classes: Number of classes; read off the first answer when left out.
        returns: Whether the model returns logits, probabilities or labels, the numbers of classes. One
            column of the first two is read as a binary classifier's and widened to two.
        call: How to call the model: `"tensors"`, `"data"`, `"graphs"` (a list), `"graph"` (one), or a
            function of model and batch that returns the output. Found out from the signature when
            left out; functions take a list.
        batch_size: Graphs per call of the model, at most; when left out, what is fastest: 1024 on the
            dense path, 256 on the sparse one, fewer of large graphs.
        memory: Bytes that the inputs and activations of one call may take, by a rough estimate;
            batches of large graphs are cut to fit.
        device: Where the model runs; the device of its parameters by default.
        path: `"dense"` batches edits as adjacency matrices (models with `project` and
            `dense_logits` only), `"sparse"` as one block-diagonal graph, `"auto"` takes the faster.
        class_names: Names of the classes, for tables and pictures.
        task: `"regression"` for a model that gives values; targets are then such as `">0.5"`.

    Example:
        >>> from edgeflip import GCNClassifier
        >>> oracle = ModelOracle(GCNClassifier(num_features=3, num_classes=2))
        >>> edge_index = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
        >>> oracle.predict_proba([Data(x=torch.ones(3, 3), edge_index=edge_index)]).shape
        torch.Size([1, 2])
    """

    @checked_call()
    def __init__(
        self,
        model: Model,
        *,
        num_classes: int | None = None,
        returns: Returns = "logits",
        call: CallStyle | CallFunction | None = None,
        batch_size: int | None = None,
        memory: int = 512 * 2**20,
        device: torch.device | str | None = None,
        path: Batching = "auto",
        class_names: Sequence[str] | None = None,
        task: Task = "classification",
    ) -> None:
        if (batch_size is not None and batch_size < 1) or memory < 1:
            raise ConfigError(
                f"expected batch_size and memory of at least 1, got {batch_size} and {memory}."
            )
        names = checked_names(class_names, num_classes, model)
        if task == "regression" and (names or num_classes is not None or returns != "logits"):
            raise ConfigError(
                "expected no class_names, num_classes or returns with task='regression', got some; leave "
                "them out."
            )
        self.model = model
        self.task: Task = task
        self.returns = returns
        self.batch_size = batch_size
        self.memory = memory
        self.path = path
        self.class_names = names
        self.call = call
        self._call: ModelCall = bind_call(model, call)
        known = num_classes if num_classes is not None or names is None else len(names)
        if returns == "labels" and known is None:
            raise ConfigError(
                "expected num_classes for a model whose answers are labels, got none; pass num_classes=."
            )
        self._reader = OutputReader(task, returns, known, names)
        self.place = Placement(model, device)
        self._users = 0
        self._before = Freeze()
        self._local: threading.local
        self._prepare_runtime()
        if path == "dense" and not self._is_dense_model:
            raise ConfigError(
                f"expected a model with project() and dense_logits() for path='dense', got "
                f"{type(model).__name__}; use path='auto'."
            )

    def __repr__(self) -> str:
        """Model, task, number of classes and path."""
        name = getattr(self.model, "__name__", type(self.model).__name__)
        values = self.task == "regression"
        what = "task='regression'" if values else f"num_classes={self._reader.num_columns}"
        return f"ModelOracle({name}, {what}, path={self.path!r})"

    @property
    def device(self) -> torch.device:
        """Where the model runs."""
        return self.place.device

    @property
    def num_classes(self) -> int:
        """Number of classes C."""
        if self.task == "regression":
            raise OracleError("expected a model of classes, got one of values (task='regression').")
        if self._reader.num_columns is None:
            raise OracleError(
                "expected the number of classes, which is not known before the first prediction; "
                "pass num_classes=."
            )
        return self._reader.num_columns

    @property
    def num_outputs(self) -> int:
        """Columns of an answer: classes, or values."""
        if self.task == "regression" and self._reader.num_columns is not None:
            return self._reader.num_columns
        # Nearly every model of values gives one; the first answer tells.
        return 1 if self.task == "regression" else self.num_classes

    @property
    def doubts(self) -> tuple[str, ...]:
        """What of the model's outputs may have been misread so far, a sentence each."""
        return tuple(self._reader.doubts)

    @property
    def _is_dense_model(self) -> bool:
        # A function around the model, or a forward of a subclass, would be passed by.
        return self.call in (None, "tensors") and offers_dense_path(type(self.model))

    def predict_proba(self, graphs: Sequence[Data]) -> Tensor:
        """Class probabilities of graphs [len(graphs), C]."""
        if self.task == "regression":
            raise OracleError(
                "expected a model of classes, got one of values (task='regression'); call predict_values."
            )
        return self._answers(graphs)

    def predict_values(self, graphs: Sequence[Data]) -> Tensor:
        """Values of graphs, of a model with `task="regression"` [len(graphs), num_outputs]."""
        if self.task != "regression":
            raise OracleError(
                "expected a model of values, got one of classes; pass task='regression' to ModelOracle."
            )
        return self._answers(graphs)

    def verified(self, graphs: Sequence[Data], most: int) -> Tensor:
        """Answers about versions of a graph, so many at a time whatever the batch size [graphs, C]."""
        return self._answers(graphs, most)

    def _answers(self, graphs: Sequence[Data], most: int | None = None) -> Tensor:
        wrong = next((graph for graph in graphs if not isinstance(graph, Data)), None)
        if wrong is not None:
            raise no_graph(wrong)
        if not len(graphs):
            return torch.empty(0, self._reader.num_columns or 0)
        answers = []
        with self.frozen(), torch.no_grad():
            # Whole graphs go through the sparse path, where smaller batches stay in the cache.
            step = min(self._chunk(graphs[0], most), most or self.batch_size or SPARSE_BATCH)
            for start in range(0, len(graphs), step):
                part = list(graphs[start : start + step])
                answers.append(self._reader.read(self._outputs(part), len(part)))
        return torch.cat(answers)

    def predict(self, graphs: Sequence[Data]) -> Tensor:
        """Predicted classes of graphs [len(graphs)]."""
        return self.predict_proba(graphs).argmax(dim=1)

    def predict_edits(self, space: EditSpace, rows: Tensor) -> Tensor:
        """Class probabilities, or values, of the edited graphs of a block [rows, C].

        Args:
            space: What is edited.
            rows: Normalised candidates [rows, width].
        """
        if getattr(self._local, "depth", 0) and not torch.is_grad_enabled():
            return self._edited_answers(space, rows)
        with self.frozen(), torch.no_grad():
            return self._edited_answers(space, rows)

    def _edited_answers(self, space: EditSpace, rows: Tensor) -> Tensor:
        step, count = self._step(space.input), len(rows)
        if 0 < count <= step:
            return self._reader.read(self._edited_outputs(space, rows), count)
        answers = [
            self._reader.read(self._edited_outputs(space, part), len(part))
            for part in rows.split(step)
            if len(part)
        ]
        return torch.cat(answers) if answers else torch.empty(0, self._reader.num_columns or 0)

    def soft_logits(
        self, x: Tensor, edge_index: Tensor, edge_weight: Tensor, batch: Tensor
    ) -> Tensor:
        """Logits of graphs with weighted edges, differentiable in the weights [graphs, C].

        Raises:
            NotApplicableError: If the model takes no `edge_weight`.
        """
        values = self.task == "regression"
        if values or not self._call.takes_edge_weight or self.returns != "logits":
            raise NotApplicableError(
                "expected a model whose forward takes edge_weight and returns logits, got "
                f"{type(self.model).__name__} without; use a method that needs no soft graphs."
            )
        data = Batch(x=x, edge_index=edge_index, edge_weight=edge_weight, batch=batch)
        data._num_graphs = int(batch.max()) + 1 if batch.numel() else 0
        placed = self.place.put(data)
        return self.logits_with(lambda: self._call.on_batch(placed), data._num_graphs)

    def logits_with(self, call: Callable[[], Any], count: int) -> Tensor:
        """Logits from a call that uses the model in a way of its own, differentiable [count, C]."""
        with self.frozen():
            output = self._guarded(call)
        return two_columns(as_matrix(output, count), "logits").cpu()

    def fingerprint(self) -> str:
        """A short hash of the model's weights, or of its name when it has none."""
        digest = hashlib.sha256(type(self.model).__name__.encode())
        if isinstance(self.model, nn.Module):
            for key, value in state_of(self.model):
                digest.update(key.encode())
                digest.update(bytes_of(value))
        return digest.hexdigest()[:16]

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """Evaluation mode without gradients for the parameters; everything as before on exit.

        Nested and concurrent uses share one freeze: the last to leave restores the model.
        """
        if not isinstance(self.model, nn.Module):
            yield
            return
        with self._lock:
            if not self._users:
                self._before = Freeze.before(self.model)
                try:
                    self._before.begin(self.model)
                except BaseException:
                    # Ctrl-C in between must not leave a model half frozen.
                    self._before.end()
                    raise
            self._users += 1
        self._local.depth = getattr(self._local, "depth", 0) + 1
        try:
            yield
        finally:
            self._local.depth -= 1
            with self._lock:
                self._users -= 1
                if not self._users:
                    self._before.end()
                    self._local = threading.local()

    def _prepare_runtime(self) -> None:
        self._lock = threading.Lock()
        self._local = threading.local()

    def __getstate__(self) -> dict[str, Any]:
        """All but what belongs to running threads, for copies and worker processes."""
        left_out = ("_call", "_lock", "_local", "_before")
        return {key: value for key, value in vars(self).items() if key not in left_out}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take back a copied state, with locks of its own and calls to its own model."""
        vars(self).update(state, _users=0, _before=Freeze())
        self._call = bind_call(self.model, self.call)
        self._prepare_runtime()

    def uses_dense_path(self, graph: Data) -> bool:
        """Whether blocks of edge edits of this graph go through the dense path."""
        nodes = int(graph.num_nodes or 0)
        fits = (
            self._is_dense_model
            and isinstance(graph.x, Tensor)
            and not edge_attributes(graph)
            and nodes <= (DENSE_NODE_LIMIT if self.path == "auto" else nodes)
        )
        if self.path == "dense" and not fits:
            raise NotApplicableError(
                "expected a graph with x and without edge attributes for path='dense', got other; "
                "use path='auto'."
            )
        return fits and self.path != "sparse"

    @property
    def is_small(self) -> bool:
        """Whether the model's matrices are too small for several threads to be of use."""
        layers = getattr(getattr(self.model, "config", None), "layers", (1000,))
        return self._is_dense_model and max(layers) <= 64

    def _edited_outputs(self, space: EditSpace, rows: Tensor) -> Any:
        if isinstance(space, PairEdits):
            versions = self._bound_to(space.pairs)
            if versions is None and self.uses_dense_path(space.input):
                versions = self._versions(space.pairs)
            if versions is not None:
                bound = versions
                return self._guarded(lambda: bound.logits(space, rows))
        if self._call.batched:
            batch = self.place.put(space.batch(rows, self.device))
            return self._guarded(lambda: self._call.on_batch(batch))
        return self._outputs(space.apply(rows))

    def dense_versions(self, space: PairEdits) -> DenseVersions | None:
        """A graph on the dense path of our own GCN; None for other models."""
        known = self._bound_to(space.pairs)
        if known is None:
            if not (self.uses_dense_path(space.input) and binds_graphs(type(self.model))):
                return None
            known = self._versions(space.pairs)
        return known if known.bound is not None else None

    def _versions(self, pairs: PairSpace) -> DenseVersions:
        """The model bound to a graph, once per graph and thread."""
        known = self._bound_to(pairs)
        if known is None:
            most, earlier = self._step(pairs.graph), getattr(self._local, "versions", None)
            known = self._guarded(
                lambda: DenseVersions(self.model, pairs, self.place, most, earlier)
            )
            self._local.versions = known
        return known

    def _bound_to(self, pairs: PairSpace) -> DenseVersions | None:
        known: DenseVersions | None = getattr(self._local, "versions", None)
        return known if known is not None and known.pairs is pairs else None

    def _outputs(self, graphs: list[Data]) -> Any:
        if not self._call.batched:
            # The model gets copies: one that works in place must not change the caller's graph.
            copies = [self.place.put(graph.clone()) for graph in graphs]
            return self._guarded(lambda: self._call.on_graphs(copies))
        try:
            batch = joined(graphs, self._call.reads)
        except Exception as error:
            raise GraphError(
                f"expected graphs with the same attributes and widths, got ones that cannot be batched: "
                f"{one_line(error)}"
            ) from error
        placed = self.place.put(batch)
        return self._guarded(lambda: self._call.on_batch(placed))

    @property
    def takes_batches(self) -> bool:
        """Whether the model is asked about many graphs at once."""
        return self._call.batched

    @property
    def takes_weights(self) -> bool:
        """Whether edge weights reach the model."""
        return self._call.takes_edge_weight

    def predict_batch(self, batch: Batch, count: int) -> Tensor:
        """Class probabilities of the graphs of a batch that is on the model's device [count, C]."""
        return self.predict_with(lambda: self._call.on_batch(batch), count)

    def predict_with(self, call: Callable[[], Any], count: int) -> Tensor:
        """Class probabilities from a call that uses the model in a way of its own [count, C]."""
        with self.frozen(), torch.no_grad():
            return self._reader.read(self._guarded(call), count)

    def _guarded(self, call: Callable[[], Any]) -> Any:
        try:
            return call()
        except OracleError:
            raise
        except Exception as error:
            raise OracleError(
                f"expected an answer from the model, got {type(error).__name__}: {one_line(error)}; "
                f"{advice(error, self.model, self.call)}."
            ) from error

    def _step(self, graph: Data) -> int:
        """Candidates per call, worked out once per graph and thread."""
        known = getattr(self._local, "step", None)
        if known is None or known[0] is not graph:
            known = self._local.step = (graph, self._chunk(graph))
        step: int = known[1]
        return step

    def _chunk(self, graph: Data, most: int | None = None) -> int:
        """Graphs per call: so many or the batch size, or fewer when graphs of this size would not fit."""
        dense = self._is_dense_model and self.path != "sparse"
        dense = dense and (self.path == "dense" or count_nodes(graph) <= DENSE_NODE_LIMIT)
        return graphs_per_call(graph, most or self.batch_size, memory=self.memory, dense=dense)
