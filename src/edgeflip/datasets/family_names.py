"""Names of data sets of PyG and OGB, such as `tu:PROTEINS`; nothing is imported or read for them."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from edgeflip.errors import DatasetError, UnknownNameError, shown, unknown_name

_MOLECULENET = [
    "bace",
    "bbbp",
    "clintox",
    "esol",
    "freesolv",
    "hiv",
    "lipo",
    "muv",
    "pcba",
    "sider",
    "tox21",
    "toxcast",
]
_SUPERPIXELS = ("MNIST", "CIFAR10")
_OGB = [
    "molbace",
    "molbbbp",
    "molchembl",
    "molclintox",
    "molesol",
    "molfreesolv",
    "molhiv",
    "mollipo",
    "molmuv",
    "molpcba",
    "molsider",
    "moltox21",
    "moltoxcast",
    "ppa",
]

# What PyG and OGB have as graphs with a label each, and why edgeflip does not take it.
_REFUSED = {
    ("gnnbench", "CSL"): "its files are pickles, which can run code when read",
    ("gnnbench", "PATTERN"): "its labels are those of nodes",
    ("gnnbench", "CLUSTER"): "its labels are those of nodes",
    ("gnnbench", "TSP"): "its labels are those of edges",
    ("ogb", "ogbg-code2"): "its labels are sequences of words",
}

FAMILIES = {
    "tu": "PyG's TUDataset, such as tu:PROTEINS",
    "moleculenet": "PyG's MoleculeNet, such as moleculenet:BACE or moleculenet:Tox21/NR-AR",
    "gnnbench": "PyG's GNNBenchmarkDataset: gnnbench:MNIST, gnnbench:CIFAR10",
    "ogb": "OGB's graph sets, such as ogb:molhiv or ogb:moltox21/NR-AR; needs pip install ogb",
}
"""What comes before the colon, and what that is."""

_TU_NAME = re.compile(r"[A-Za-z0-9][\w.+-]{0,99}", re.ASCII)


@dataclass(frozen=True)
class FamilyName:
    """A data set of PyG or OGB.

    Attributes:
        family: `tu`, `moleculenet`, `gnnbench` or `ogb`.
        name: as the family's own class takes it.
        task: the column of the labels, for sets with several; empty for none.
    """

    family: str
    name: str
    task: str = ""

    def __str__(self) -> str:
        """The name as it is written."""
        return f"{self.family}:{self.name}" + (f"/{self.task}" if self.task else "")


def is_family_name(name: str) -> bool:
    """Whether a name has the form of a data set of PyG or OGB.

    Example:
        >>> is_family_name("TU:PROTEINS"), is_family_name("bbbp")
        (True, False)
    """
    return ":" in str(name)


def family_name(name: str) -> FamilyName:
    """The parts of a name.

    Raises:
        UnknownNameError: If there is no such family, or it is known to have no such data set.
        DatasetError: If edgeflip cannot take the data set.

    Example:
        >>> family_name("MoleculeNet:Tox21/NR-AR")
        FamilyName(family='moleculenet', name='tox21', task='NR-AR')
        >>> str(family_name("ogb:molhiv"))
        'ogb:ogbg-molhiv'
    """
    family, _, rest = str(name).strip().partition(":")
    family = family.strip().lower()
    own, _, task = (part.strip() for part in rest.partition("/"))
    if family not in FAMILIES:
        raise unknown_name("family of data sets", family, FAMILIES)
    if not own:
        raise UnknownNameError(
            f"expected the name of a data set after '{family}:', got none; write {FAMILIES[family]}."
        )
    own = _SPELLING[family](own)
    if reason := _REFUSED.get((family, own)):
        raise DatasetError(
            f"expected a data set with one label per graph in files that only hold data, got "
            f"{family}:{own} ({reason}); choose another one."
        )
    known = _KNOWN.get(family)
    if known is not None and own not in known:
        raise unknown_name(f"data set of {family}", own, known)
    if known is None and not _TU_NAME.fullmatch(own):
        raise UnknownNameError(
            f"expected a name of the TU collection such as PROTEINS, got {shown(own)}; write tu:PROTEINS."
        )
    return FamilyName(family, own, task)


def _ogb_name(name: str) -> str:
    plain = name.lower().replace("_", "-").removeprefix("ogbg-")
    return f"ogbg-{plain}"


_SPELLING: dict[str, Callable[[str], str]] = {
    "tu": str,  # the names of files: case counts
    "moleculenet": str.lower,
    "gnnbench": str.upper,
    "ogb": _ogb_name,
}
_KNOWN = {
    "moleculenet": _MOLECULENET,
    "gnnbench": list(_SUPERPIXELS),
    "ogb": [f"ogbg-{name}" for name in _OGB],
}
