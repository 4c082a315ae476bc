"""Is the oracle worth explaining? One that knows little more than the commonest class is not."""

from __future__ import annotations

from collections import Counter
from typing import Any

from edgeflip.datasets import DatasetBundle
from edgeflip.oracle import ModelOracle

# Of the way from always naming the commonest class to being always right.
_LEAST_SHARE = 0.2


def weakness_of(oracle: ModelOracle, bundle: DatasetBundle) -> str | None:
    """A sentence about an oracle whose accuracy is near that of always naming the commonest class.

    Args:
        oracle: The oracle.
        bundle: Its data; the graphs it was not trained on are asked about.
    """
    graphs = [graph for graph in (*bundle.val, *bundle.test) if graph.y is not None]
    if not graphs or not bundle.class_names or getattr(oracle, "task", None) == "regression":
        return None
    truth = [int(graph.y) for graph in graphs]
    hits = sum(a == b for a, b in zip(oracle.predict(graphs).tolist(), truth, strict=True))
    commonest, count = Counter(truth).most_common(1)[0]
    accuracy, majority = hits / len(truth), count / len(truth)
    if accuracy - majority >= _LEAST_SHARE * (1 - majority) and majority < 1:
        return None
    if accuracy < majority - 0.1:
        return (
            f"The oracle is right for only {accuracy:.0%} of the {len(truth)} validation and test graphs, "
            f"less than always saying '{bundle.class_names[commonest]}' ({majority:.0%}): was it trained for "
            "another label?"
        )
    return (
        f"The oracle is weak: it is right for {accuracy:.0%} of the {len(truth)} validation and test graphs, "
        f"and always saying '{bundle.class_names[commonest]}' would be for {majority:.0%}, so its "
        "explanations say little about the data."
    )


def tell_weakness(oracle: Any, bundle: DatasetBundle | None, tell: Any) -> None:
    """Say so, if the oracle is weak."""
    sentence = None if bundle is None else weakness_of(oracle, bundle)
    if sentence is not None:
        tell(sentence)
