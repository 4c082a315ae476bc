"""Names that an option may have, checked before anything slow is loaded.

What the library knows is asked there if asking is quick. The rest is listed here, and a test compares
the lists with the library's own.
"""

from __future__ import annotations

from collections.abc import Iterable
from importlib.resources import files

from edgeflip.errors import TargetError, unknown_name

PROFILES = ("paper", "cpu", "smoke")
SPLITS = ("test", "val", "train", "all")
RANKINGS = ("paper", "smallest", "confident", "plausible", "robust")
FACTUALS = ("subgraphx", "occlusion", "from-pyg")
ENGINES = ("inline", "local", "ray")
FORMS = ("parquet", "jsonl")


def check_name(kind: str, name: str | None, known: Iterable[str]) -> None:
    """Refuse a name that is not among those known, with the nearest one."""
    known = list(known)
    if name is not None and _spelt(name) not in map(_spelt, known):
        raise unknown_name(kind, name, known)


def _spelt(name: str) -> str:
    return name.strip().lower().replace("_", "-")


def check_ranking(ranking: str | None) -> None:
    """Refuse a ranking, or a mix of some, with a misspelt name."""
    for part in (ranking or "").split(",") if ranking is not None else ():
        check_name("ranking", part.partition("=")[0].strip(), RANKINGS)


def check_class(dataset: str | None, name: str | None) -> None:
    """Refuse a class that a dataset of the catalogue does not have."""
    from edgeflip.datasets import known_classes

    # A number, or a threshold such as >0.5, is for the model to judge.
    if dataset is None or name is None or name.lstrip("<>=+-. ")[:1].isdecimal():
        return
    classes = [each.lower() for each in known_classes(dataset)]
    if classes and name.lower() not in classes:
        raise TargetError(str(unknown_name("class", name, classes)))


def check_spec(spec: str) -> None:
    """Refuse a benchmark that is neither one of the package's nor a TOML file."""
    folder = files("edgeflip") / "bench" / "specs"
    known = [entry.name.removesuffix(".toml") for entry in folder.iterdir()]
    if not spec.endswith(".toml"):
        check_name("spec", spec, [name for name in known if not name.startswith("_")])
