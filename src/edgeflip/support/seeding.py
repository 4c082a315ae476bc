"""Randomness with a beginning and an end: seed everything, and put the old state back afterwards."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch

from edgeflip.errors import ConfigError, shown


def check_seed(seed: int) -> None:
    """Refuse what is no seed.

    Raises:
        ConfigError: If it is not a whole number from 0 to 2**63 - 1.
    """
    if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < 2**63:
        raise ConfigError(f"expected a seed from 0 to 2**63 - 1, got {shown(seed)}; give one.")


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Seed Python, NumPy and torch inside the block; restore their states on exit.

    All three are needed: PyG's negative sampling draws from Python's `random`, so seeding torch
    alone leaves it unseeded.

    Example:
        >>> with seeded(7):
        ...     first = random.random()
        >>> with seeded(7):
        ...     second = random.random()
        >>> first == second
        True
    """
    python_state = random.getstate()
    numpy_state = np.random.get_state()
    torch_state = torch.random.get_rng_state()
    cuda_states = torch.cuda.get_rng_state_all() if torch.cuda.is_available() else []
    check_seed(seed)
    try:
        random.seed(seed)
        np.random.seed(seed % 2**32)
        _seed_torch(seed)
        yield
    finally:
        random.setstate(python_state)
        np.random.set_state(numpy_state)
        torch.random.set_rng_state(torch_state)
        if cuda_states:
            torch.cuda.set_rng_state_all(cuda_states)


def _seed_torch(seed: int) -> None:
    """As `torch.manual_seed`, which on machines without an accelerator takes far longer than its work."""
    accelerator = getattr(torch, "accelerator", None)  # from torch 2.6 on
    if accelerator is not None and not accelerator.is_available():
        torch.default_generator.manual_seed(seed)
    else:
        torch.manual_seed(seed)
