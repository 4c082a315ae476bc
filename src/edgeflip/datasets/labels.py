"""Labels of graphs: texts and numbers become classes, and one column is chosen of several."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from decimal import Decimal, InvalidOperation

import torch
from torch import Tensor
from torch_geometric.data import Data

from edgeflip.errors import DatasetError, nearest, shown
from edgeflip.support import check_limit, reading

Label = str | int


def class_numbers(
    labels: Sequence[Label | None], class_names: Sequence[str] | None = None
) -> tuple[list[int], tuple[str, ...]]:
    """Numbers and names of classes from labels that are whole numbers or texts.

    Example:
        >>> class_numbers(["toxic", "safe", "toxic", "safe"])
        ([1, 0, 1, 0], ('safe', 'toxic'))
        >>> class_numbers([1, -1, -1, 1], ["no", "yes"])
        ([1, 0, 0, 1], ('no', 'yes'))
    """
    missing = [index for index, label in enumerate(labels) if label is None or label == ""]
    if missing:
        raise DatasetError(
            f"expected a label for every graph, got none for {len(missing)} of {len(labels)}, the first "
            f"is graph {missing[0]}; label them or leave them out."
        )
    texts = [_text(label) for label in labels if label is not None]
    distinct = set(texts)
    check_limit("classes", len(distinct), "the labels")
    all_whole = all(_WHOLE.fullmatch(text) for text in distinct)
    values: list[str] = sorted(distinct, key=int) if all_whole else sorted(distinct)
    with reading("class_names as a list of texts", advice="correct them"):
        named = None if class_names is None else tuple(str(entry) for entry in class_names)
    if named is not None and set(named) == set(values):
        values = list(named)
    names = named or tuple(values)
    if len(names) != len(values):
        raise DatasetError(
            f"expected {len(values)} class names for the labels {', '.join(values[:9])}, got "
            f"{len(names)}; name every class."
        )
    sizes = Counter(texts)
    for value in values:
        if sizes[value] < 2 or len(values) < 2:
            raise DatasetError(
                "expected two classes or more with two graphs or more each, got "
                f"{sizes[value]} of class '{value}' among {len(values)}; add graphs or leave it out."
            )
    place = {value: number for number, value in enumerate(values)}
    return [place[text] for text in texts], names


_WHOLE = re.compile(r"-?\d{1,40}", re.ASCII)


def _text(label: Label) -> str:
    """A label as text; 1.0 is 1, as spreadsheets write whole numbers so. No digit is lost."""
    text = str(label).strip()
    try:
        number = Decimal(text)
    except InvalidOperation:
        return text
    # A power of ten such as 1e999999 is a text: writing it out would take all memory.
    if not number.is_finite() or number.adjusted() > 30 or number != number.to_integral_value():
        return text
    return str(int(number))


def as_class(label: Label | float | None) -> Label | None:
    """A label as that of a class: numbers must be whole.

    Example:
        >>> as_class(1.0), as_class("toxic")
        (1, 'toxic')
    """
    if not isinstance(label, float):
        return label
    if label != int(label):
        raise DatasetError(
            f"expected one whole number as the label y of a graph, got {shown(label)}; correct y, pass "
            "labels, or pass task='regression' if it is a value."
        )
    return int(label)


def values_of(labels: Sequence[Label | float | None]) -> list[float]:
    """Labels that are values, refused where one is no finite number."""
    for place, label in enumerate(labels):
        if not isinstance(label, int | float) or not math.isfinite(label):
            raise DatasetError(
                f"expected a finite number as the value of every graph, got {shown(label)} for graph "
                f"{place}; correct it, or leave that graph out."
            )
    return [float(label) for label in labels if label is not None]


def label_of(graph: Data, column: int | None, tasks: Sequence[str], where: str) -> float | None:
    """The label of a graph: its y, or one column of it; None where it has none or NaN.

    Args:
        graph: the graph.
        column: which of several; None where there is one.
        tasks: what the columns are called, for errors.
        where: the graph in words, for errors.
    """
    if graph.y is None:
        return None
    if isinstance(graph.y, list | tuple | str):
        raise DatasetError(
            f"expected a number as the label y of {where}, got {shown(graph.y)}; pass labels."
        )
    values: Tensor = torch.as_tensor(graph.y).flatten()
    if column is None and values.numel() != 1:
        raise DatasetError(_several(values.numel(), graph, tasks, where))
    if (column or 0) >= values.numel():
        raise DatasetError(
            f"expected a column {column} in the labels y of {where}, got {values.numel()} columns; correct "
            "label_column."
        )
    value = values[column or 0].item()
    return None if value != value else value


def _several(found: int, graph: Data, tasks: Sequence[str], where: str) -> str:
    if found == graph.num_nodes and len(tasks) != found:
        return (
            f"expected one label per graph, got y with a label for each node of {where}; pass labels for "
            "whole graphs."
        )
    names = [f"'{name}'" for name in tasks[:8]] or [str(place) for place in range(min(found, 8))]
    more = ", …" if found > len(names) else ""
    return (
        f"expected one label per graph, got {found} in y of {where}; choose one with label_column="
        f"{names[0] if names else 0} (of {', '.join(names)}{more})."
    )


def label_column_of(wanted: int | str | None, tasks: Sequence[str]) -> int | None:
    """The column of a label by its name or number.

    Example:
        >>> label_column_of("nr-ar", ["NR-AR", "SR-p53"]), label_column_of(3, [])
        (0, 3)
    """
    if wanted is None or isinstance(wanted, int):
        if wanted is not None and wanted < 0:
            raise DatasetError(
                f"expected label_column as a name or a number from 0, got {wanted}; correct it."
            )
        return wanted
    for spelling in (str, str.lower):
        names = [spelling(name) for name in tasks]
        if spelling(wanted) in names:
            return names.index(spelling(wanted))
    if wanted.isdecimal() and len(wanted) < 6:
        return int(wanted)
    lower = {name.lower(): name for name in tasks}
    near = nearest(wanted, lower)
    known = ", ".join(tasks[:8]) + ", …" * (len(tasks) > 8) or "0, 1, …"
    hint = "name one of them" if near is None else f"write '{lower[near]}' if that is meant"
    raise DatasetError(f"expected one of the labels {known}, got {shown(wanted)}; {hint}.")
