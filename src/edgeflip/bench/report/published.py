"""The paper's columns and values, as the presets hold them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cache

from edgeflip.bench.labels import VARIANTS as VARIANTS
from edgeflip.metrics import Metric
from edgeflip.presets import Expected, ExpectedResult, load_preset

LABELS = {
    "random": "Random",
    "gcfexplainer": "GCFExplainer",
    "cf2": "CF²",
    "d4explainer": "D4Explainer",
    "rsgg-ce": "RSGG-CE",
    "gist": "GIST",
    **{name: name.replace("dr-cfgnn", "DR-CFGNN") for name in VARIANTS},
}
"""The paper's columns in its order, and how it calls them."""

_ALL_VARIANTS = "dr-cfgnn"
_AUTHORS = {
    **LABELS,
    _ALL_VARIANTS: "DR-CFGNN",
    "cf-gnnexplainer": "CF-GNNExplainer",
    "c2explainer": "C2Explainer",
    "xplore": "XPlore",
}


def columns(measured: Sequence[str]) -> tuple[str, ...]:
    """The paper's methods in its order, then the other measured ones."""
    return (*LABELS, *(method for method in measured if method not in LABELS))


def label(method: str) -> str:
    """How a method is called in tables and pictures."""
    return LABELS.get(method, method)


def display_name(method: str) -> str:
    """How a method is called in pictures: as its authors write it, whatever follows its name.

    Example:
        >>> display_name("d4explainer (118–231 epochs)"), display_name("edgeflip")
        ('D4Explainer (118–231 epochs)', 'edgeflip')
    """
    if method in LABELS:
        return LABELS[method].replace(" -", " −")
    name, blank, rest = method.partition(" ")
    return f"{_AUTHORS.get(name, name)}{blank}{rest}"


@dataclass(frozen=True)
class Paper:
    """The published values, all of which are of test graphs.

    Attributes:
        comparable: Whether they stand beside those of a run; otherwise there are none.

    Example:
        >>> Paper().value("ba_2motifs", "dr-cfgnn -DeN +OH", "ecan")
        0.92
        >>> Paper().value("a set of my own", "random", "size") is None
        True
        >>> Paper(comparable=False).value("ba_2motifs", "random", "size") is None
        True
    """

    comparable: bool = True

    def value(self, dataset: str, method: str, metric: str) -> float | None:
        """A printed value; what is printed once for DR-CFGNN stands for each of its variants."""
        methods = self._expected(dataset).methods
        # What is printed for all variants together is no column of its own.
        rows = [methods.get(method)] if method != _ALL_VARIANTS else []
        if method in VARIANTS:
            rows.append(methods.get(_ALL_VARIANTS))
        return next((value for row in rows if (value := _value(row, metric)) is not None), None)

    def printed_for(self, dataset: str, method: str, metric: Metric) -> float | None:
        """What is printed for a metric, under whatever name."""
        return None if metric.published is None else self.value(dataset, method, metric.published)

    def by_class(self, dataset: str, method: str, target: int, metric: str) -> float | None:
        """A printed value of the appendix, where graphs are asked for one class."""
        classes = self._expected(dataset).by_class
        # What is printed without saying for which variant stands for each of them.
        names = (method, _ALL_VARIANTS) if method in VARIANTS else (method,)
        rows = [classes[name].get(target) for name in names if name in classes]
        return next((value for row in rows if (value := _value(row, metric)) is not None), None)

    def classes(self, dataset: str) -> set[int]:
        """The classes for which the appendix has values."""
        return {number for rows in self._expected(dataset).by_class.values() for number in rows}

    def accuracy(self, dataset: str) -> float | None:
        """The printed test accuracy of the oracle."""
        return self._expected(dataset).oracle_accuracy

    def statistics(self, dataset: str) -> dict[str, float]:
        """The printed statistics of a dataset, by the names of `DatasetStatistics`."""
        told = self._expected(dataset).statistics
        return {} if told is None else asdict(told)

    def _expected(self, dataset: str) -> Expected:
        return _expected(dataset) if self.comparable else Expected()


def _value(row: ExpectedResult | None, metric: str) -> float | None:
    value: float | None = getattr(row, metric, None)
    return value


@cache
def _expected(dataset: str) -> Expected:
    return load_preset(dataset, "paper").expected or Expected()
