"""Models from files: none may be larger than the weights that came with it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from edgeflip.errors import ArtifactError
from edgeflip.support.plain_json import reading

# Positions, masks and the like are no weights.
_BESIDE = 1_000_000


class _Bounded(TorchDispatchMode):
    """Refuses to make a tensor of more numbers than allowed, before it takes memory."""

    def __init__(self, most: int) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.most = most

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        shape = args[0] if args else ()
        if isinstance(shape, list | tuple) and all(isinstance(size, int) for size in shape):
            size = math.prod(shape)
            if size > self.most:
                raise ValueError(f"a tensor of {size:,} numbers, more than its weights have")
        return func(*args, **(kwargs or {}))


@contextmanager
def building(what: str, tensors: Mapping[str, Tensor], *, advice: str) -> Iterator[None]:
    """Build a model that a file describes, no larger than its weights.

    Args:
        what: What was expected and where.
        tensors: The weights that were read.
        advice: What to do if they do not fit, as the end of a sentence.

    Raises:
        ArtifactError: If description and weights do not fit.
    """
    most = sum(tensor.numel() for tensor in tensors.values()) + _BESIDE
    with reading(what, advice=advice, error=ArtifactError), _Bounded(most):
        yield
