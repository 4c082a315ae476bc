"""What models give back, as rows of class scores or probabilities."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import torch
from torch import Tensor

from edgeflip.errors import OracleError

Returns: TypeAlias = Literal["logits", "probabilities"]


def as_matrix(output: Any, count: int) -> Tensor:
    """Whatever a model gave as one row of class scores per graph [count, C]."""
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
            f"{list(matrix.shape)}; check that the model pools its nodes by batch."
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


def is_distribution(matrix: Tensor) -> bool:
    """Whether every row is a probability distribution."""
    adds_up = ((matrix.sum(dim=1) - 1).abs() < 1e-3).all()
    return bool(adds_up) and bool((matrix >= -1e-6).all())


def one_line(error: BaseException) -> str:
    """An error's message without its line breaks."""
    return " ".join(str(error).split())[:300] or "no message"
