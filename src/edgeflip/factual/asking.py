"""What every factual explainer checks before it asks."""

from __future__ import annotations

from edgeflip.errors import TargetError
from edgeflip.oracle import Oracle


def check_label(oracle: Oracle, label: int) -> None:
    """Refuse a class that the oracle does not have."""
    try:
        classes = oracle.num_classes
    except Exception:  # some oracles know it only after their first answer
        return
    if isinstance(label, bool) or not isinstance(label, int) or not 0 <= label < classes:
        raise TargetError(
            f"expected a class in 0..{classes - 1} to explain, got {label!r}; usually the predicted one."
        )
