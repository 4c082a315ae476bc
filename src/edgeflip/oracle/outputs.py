"""What models give back, as rows of class scores or probabilities."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from typing import Any, Literal, TypeAlias, cast

import torch
from torch import Tensor

from edgeflip.core import all_finite
from edgeflip.errors import ConfigError, OracleError, shown

Returns: TypeAlias = Literal["logits", "probabilities", "labels"]

Task: TypeAlias = Literal["classification", "regression"]

_ONE_COLUMN = (
    "The model's one output was read as the log-odds of class 1: pass task='regression' if it is a value, "
    "or class_names=['no', 'yes'] if it is a logit."
)
_PROBABILITIES = (
    "The model's output looks like probabilities but is read as logits: pass returns='probabilities' to "
    "ModelOracle (return_type='probs' to PyG's Explainer)."
)


class OutputReader:
    """What a model gives, as probabilities or values; it notices what looks like a misreading.

    Args:
        task: Whether outputs are scores of classes or values.
        returns: What the scores of classes are.
        num_columns: Classes or values per graph; learned from the first answer when None.
        class_names: Names of the classes, None if nobody gave them.

    Attributes:
        num_columns: Classes or values per graph, once known.
        doubts: What may have been misread so far, a sentence each.
    """

    def __init__(
        self,
        task: Task,
        returns: Returns,
        num_columns: int | None,
        class_names: Sequence[str] | None,
    ) -> None:
        self.task, self.returns, self.num_columns = task, returns, num_columns
        self.doubts: list[str] = []
        self._names = class_names
        # Who says how many classes there are has said that there are classes.
        self._is_told = num_columns is not None
        self._looked = 0

    def read(self, output: Any, count: int) -> Tensor:
        """Probabilities or values of graphs from whatever the model gave [count, columns].

        Raises:
            OracleError: If it cannot be read, with a sentence why not.
        """
        matrix = as_matrix(output, count).detach().cpu()
        self._check_whole(matrix)
        matrix = matrix if matrix.dtype == torch.float64 else matrix.float()
        if not all_finite(matrix):
            raise OracleError(
                "expected finite numbers from the model, got NaN or infinity; check its weights and input."
            )
        if self.task == "regression":
            self._check_columns(matrix, "value")
            values = matrix.float()
            if not all_finite(values):
                raise OracleError(
                    "expected values that single precision can hold, got larger ones; let the model return "
                    "smaller numbers."
                )
            return values
        if self.returns == "labels":
            return one_hot(matrix, self.num_columns)
        raw = matrix
        matrix = two_columns(matrix, self.returns)
        self._check_columns(matrix, "class")
        if self.returns == "probabilities":
            if not is_distribution(matrix):
                raise OracleError(
                    "expected probabilities (0 to 1, rows adding up to 1), got something else; "
                    "pass returns='logits' (return_type='raw' to PyG's Explainer)."
                )
            return matrix.float()
        self._look_at(raw)
        return softmax(matrix)

    def _check_whole(self, matrix: Tensor) -> None:
        """Refuse whole numbers that are predicted classes, which are no scores."""
        if matrix.is_floating_point() or self.task == "regression" or self.returns != "logits":
            return
        if matrix.size(1) == 1:
            raise OracleError(
                f"expected class scores, got whole numbers ({matrix.dtype}), which look like predicted "
                "classes; return the scores before argmax, or pass ModelOracle(model, returns='labels', "
                "num_classes=...)."
            )
        if is_distribution(matrix.float()):
            raise OracleError(
                f"expected class scores, got whole numbers ({matrix.dtype}) that are one-hot rows; return "
                "the scores before argmax, or pass ModelOracle(model, returns='probabilities')."
            )

    def _check_columns(self, matrix: Tensor, what: str) -> None:
        if self.num_columns is None:
            self.num_columns = matrix.size(1)
        if matrix.size(1) != self.num_columns:
            cause = "class_names" if self._names is not None else "num_classes"
            raise OracleError(
                f"expected {self.num_columns} columns, one per {what}, got {matrix.size(1)}; correct "
                f"{cause} or the model."
            )

    def _look_at(self, raw: Tensor) -> None:
        """Notice logits that look like something else; a few answers are enough to tell."""
        one_column = raw.size(1) == 1
        if one_column and not self._is_told and not self.doubts:
            self.doubts.append(_ONE_COLUMN)
        # Where one output was called a logit, edited versions of one graph may all lie in 0..1.
        if self._looked >= 3 or (one_column and (self._is_told or len(raw) < 8)):
            return
        self._looked += 1
        inside = bool(((raw >= 0) & (raw <= 1)).all())
        # Logits of one graph may add up to nearly 1 by chance; those of a softmax do to the last digits.
        if inside and (one_column or is_distribution(raw, tolerance=1e-5)):
            self._looked = 3
            self.doubts.append(_PROBABILITIES)
            warnings.warn(_PROBABILITIES, stacklevel=2)


def one_hot(labels: Tensor, num_classes: int | None) -> Tensor:
    """Probabilities of 0 and 1 for the numbers of predicted classes [graphs, C]."""
    assert num_classes is not None
    numbers = labels.long()
    right = labels.size(1) == 1 and bool((numbers == labels).all())
    if not right or not bool(((numbers >= 0) & (numbers < num_classes)).all()):
        raise OracleError(
            f"expected one class number in 0..{num_classes - 1} per graph, got others of shape "
            f"{list(labels.shape)}; correct num_classes or returns."
        )
    return torch.nn.functional.one_hot(numbers[:, 0], num_classes).float()


def checked_names(
    names: Sequence[str] | None, num_classes: int | None, model: object
) -> tuple[str, ...] | None:
    """Class names as a tuple, checked against the number of classes where one is known."""
    if names is None:
        return None
    listed = isinstance(names, Iterable) and not isinstance(names, str | Tensor)
    given = list(names) if listed else []
    if not given or not all(isinstance(name, str) for name in given):
        raise ConfigError(
            f"expected class_names as a list of texts, one each, got {shown(names)}; write ['no', 'yes']."
        )
    # A model that edgeflip made says so itself.
    own = getattr(getattr(model, "config", None), "num_classes", None)
    known = num_classes if num_classes is not None else own
    if isinstance(known, int) and len(given) != known:
        raise ConfigError(
            f"expected one class name per class ({known}), got {len(given)}; correct class_names."
        )
    return tuple(str(name) for name in given)


def as_matrix(output: Any, count: int) -> Tensor:
    """Whatever a model gave as one row of class scores per graph [count, C]."""
    # What is refused is said below.
    is_matrix = isinstance(output, Tensor) and output.dim() == 2 and output.numel() > 0
    if is_matrix and output.size(0) == count:
        return cast(Tensor, output)
    if not isinstance(output, Tensor):
        try:
            output = torch.as_tensor(output)
        except Exception as error:
            raise OracleError(
                f"expected a tensor of class scores, got {type(output).__name__}; pass call=, a "
                "function of model and batch that returns the scores alone."
            ) from error
    matrix: Tensor = output
    if matrix.dim() == 0 and count == 1:
        matrix = matrix[None]
    if matrix.dim() == 1 and matrix.numel() == count:
        matrix = matrix[:, None]
    if matrix.dim() != 2 or matrix.size(0) != count or not matrix.size(1):
        raise OracleError(
            f"expected one row of class scores per graph ([{count}, classes]), got "
            f"{list(matrix.shape)}; check that the model pools its nodes by batch, or pick one node's "
            "rows with a function that ModelOracle calls."
        )
    return matrix


def softmax(logits: Tensor) -> Tensor:
    """Probabilities in single precision with the largest where the model has it [graphs, C]."""
    proba = logits.softmax(dim=1).float()
    if logits.dtype == torch.float64:
        # Rounding may tie two classes; the model's own choice must stay the first of them.
        row = torch.arange(len(proba))
        best = logits.argmax(dim=1)
        proba[row, best] = torch.nextafter(proba.amax(dim=1), torch.tensor(2.0))
    return proba


def two_columns(matrix: Tensor, returns: Returns) -> Tensor:
    """A binary model's single column widened to two."""
    if matrix.size(1) > 1:
        return matrix
    first = torch.zeros_like(matrix) if returns == "logits" else 1 - matrix
    return torch.cat([first, matrix], dim=1)


def is_distribution(matrix: Tensor, *, tolerance: float = 1e-3) -> bool:
    """Whether every row is a probability distribution."""
    adds_up = ((matrix.sum(dim=1) - 1).abs() < tolerance).all()
    return bool(adds_up) and bool((matrix >= -1e-6).all())


def one_line(error: BaseException) -> str:
    """An error's message without its line breaks."""
    return " ".join(str(error).split())[:300] or "no message"
