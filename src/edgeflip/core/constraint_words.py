"""Constraints in words: exactly, for certificates and whoever checks them, and shortly, for readers."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from edgeflip.core.constraints import Constraints
    from edgeflip.core.graphs import Edge

# What `molecule_constraints` asks; rules of saved answers are known by their names alone.
_CHEMISTRY = frozenset({"NoSmallRing", "PossibleMolecule"})
# So many nodes, ranges of nodes or pairs are named; more are counted.
_NAMED = 4


def in_words(limits: Constraints, lost_rules: Iterable[str] = ()) -> str:
    """What constraints ask, joined by commas and a last "and"; rules that were lost go by their names."""
    parts = [*_numbers(limits), *_places(limits), *_tests(limits, lost_rules)]
    return _listed(parts)


def in_short(
    limits: Constraints, lost_rules: Iterable[str] = (), nouns: tuple[str, str] = ("node", "edge")
) -> str:
    """Under what something holds, to follow a verb: `under the rules of chemistry`.

    The limits that chemistry sets are not listed one by one; `in_words` does that.

    Args:
        limits: The constraints.
        lost_rules: Names of rules that are not at hand any more.
        nouns: What a node and an edge are called.
    """
    names = [*_rule_names(limits), *lost_rules]
    chemistry = bool(_CHEMISTRY.intersection(names))
    asked = _numbers(limits) + _places_in_short(limits, nouns, room=not chemistry)
    if "stays_connected" in names and not chemistry:
        asked.append("no further parts")
    own = [_rule(name) for name in names if name not in _CHEMISTRY | {"stays_connected"}]
    asked += [f"the rule{'s'[: len(own) != 1]} {_listed(own)}"] if own else []
    if not chemistry:
        return f"under the constraints ({_listed(asked)})" if asked else ""
    more = f" and the constraints ({_listed(asked)})" if asked else ""
    return f"under the rules of chemistry{more}"


def _places_in_short(limits: Constraints, nouns: tuple[str, str], *, room: bool) -> list[str]:
    node, edge = nouns
    words = _region(limits, node)
    if limits.frozen_nodes:
        words.append(f"{_nodes(limits.frozen_nodes, node)} left alone")
    if limits.frozen_edges:
        words.append(f"{_pairs(limits.frozen_edges, edge)} kept")
    if limits.forbidden_pairs:
        words.append(f"{_pairs(limits.forbidden_pairs, 'pair')} kept apart")
    if limits.room and room:
        words.append(f"a limit on new {edge}s at {_nodes(limits.room, node)}")
    return words


def _rule_names(limits: Constraints) -> list[str]:
    return [getattr(rule, "__name__", type(rule).__name__) for rule in limits.rules]


def _numbers(limits: Constraints) -> list[str]:
    """How many edits there may be."""
    words = []
    for most, allowed, name in (
        (limits.max_added, limits.allow_additions, "addition"),
        (limits.max_removed, limits.allow_removals, "removal"),
        (limits.max_edits, True, "edit"),
    ):
        if not allowed or most == 0:
            words.append(f"no {name}s")
        elif most is not None:
            words.append(f"at most {most} {name}{'s'[: most != 1]}")
    return words


def _places(limits: Constraints) -> list[str]:
    """Where they may be, and where not."""
    words = _region(limits)
    if limits.frozen_nodes:
        words.append(f"{_nodes(limits.frozen_nodes)} frozen")
    if limits.frozen_edges:
        words.append(f"{_pairs(limits.frozen_edges, 'edge')} kept")
    if limits.forbidden_pairs:
        words.append(f"{_pairs(limits.forbidden_pairs, 'pair')} kept apart")
    if limits.room:
        words.append(f"limited room for new edges at {_nodes(limits.room)}")
    return words


def _region(limits: Constraints, name: str = "node") -> list[str]:
    """Where alone they may be."""
    if limits.within is None:
        return []
    return [f"edits only among {_nodes(limits.within, name)}"]


def _tests(limits: Constraints, lost_rules: Iterable[str]) -> list[str]:
    """What is asked of a whole edit set."""
    names = [*_rule_names(limits), *lost_rules]
    words = ["no further parts"] if "stays_connected" in names else []
    others = [name for name in names if name != "stays_connected"]
    if others:
        words.append(
            f"the rule{'s'[: len(others) != 1]} {_listed([_rule(name) for name in others])}"
        )
    return words


def _rule(name: str) -> str:
    """The name of a rule as words in quotes: `NoSmallRing` is “no small ring”."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name.strip("_<>")).replace("_", " ")
    return f"“{spaced.lower()}”"


def _nodes(nodes: Iterable[int], name: str = "node") -> str:
    """Nodes by their numbers, those in a row as a range; counted where that gets long."""
    ordered = sorted(nodes)
    ranges: list[tuple[int, int]] = []
    for node in ordered:
        if ranges and node == ranges[-1][1] + 1:
            ranges[-1] = (ranges[-1][0], node)
        else:
            ranges.append((node, node))
    if len(ranges) > _NAMED:
        return f"{len(ordered)} {name}s"
    names = [str(first) if first == last else f"{first}–{last}" for first, last in ranges]
    return f"{name}{'s'[: len(ordered) != 1]} {_listed(names)}"


def _pairs(pairs: Collection[Edge], name: str) -> str:
    """Pairs by their ends; counted where that gets long."""
    if len(pairs) > _NAMED:
        return f"{len(pairs)} {name}s"
    names = [f"({u}, {v})" for u, v in sorted(pairs)]
    return f"{name}{'s'[: len(pairs) != 1]} {_listed(names)}"


def _listed(words: list[str]) -> str:
    *first, last = words or [""]
    return f"{', '.join(first)} and {last}" if first else last
