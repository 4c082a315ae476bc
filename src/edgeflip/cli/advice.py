"""What to try next when nothing was found: the user's own command with one change, best hope first."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from edgeflip.search import CounterfactualSet

_MOST = 4

# Other graphs that are named; of more it is said how many there are.
_NAMED = 4

# Options that have no value.
_SWITCHES = ("--no-additions", "--no-removals", "--each-class", "--no-chemistry")


def next_commands(
    arguments: Sequence[str], answer: CounterfactualSet, graph: str, *, chemistry: bool
) -> list[str]:
    """Commands worth trying after an answer without counterfactuals, the most promising first.

    Args:
        arguments: What the user wrote after `edgeflip`.
        answer: The answer.
        graph: The option that chose its graph, such as `--index 3`; other graphs are left out.
        chemistry: Whether a first try within the rules of chemistry took its part of the budget.
    """
    base = without(arguments, "--index", "--graph", "--smiles", "--each-class")
    base += shlex.split(graph)
    if "--each-class" in arguments:
        base = with_value(base, "--target", str(getattr(answer.goal, "target", "")))
    budget, status = answer.provenance.budget, answer.trace.status
    found: list[tuple[str, list[str]]] = []
    if status == "timeout":
        seconds = max(120, round(4 * (budget.get("seconds") or 0)))
        found.append(("more time", with_value(base, "--seconds", str(seconds))))
    if status == "out_of_calls":
        calls = max(50_000, 10 * (budget.get("oracle_calls") or 0))
        found.append(("more calls", with_value(base, "--calls", str(calls))))
    if answer.provenance.method != "edgeflip":
        found.append(
            ("the default method", without(base, "--method", "--set", "--calls", "--seconds"))
        )
    several = len(answer.output) > 2 or "--each-class" not in arguments
    if answer.goal.kind == "class" and several and _has(base, "--target"):
        found.append(("any other class", without(base, "--target")))
    for flag, why in (
        ("--no-additions", "edges may come, too"),
        ("--no-removals", "edges may go, too"),
        ("--max-edits", "more edits"),
        ("--within", "edits anywhere"),
    ):
        if _has(base, flag):
            found.append((why, without(base, flag)))
    proof = answer.certificate
    everything = proof is not None and proof.below > answer.space.max_cost
    wide = any("beam.reach_factor" in argument for argument in arguments)
    if (
        status == "exhausted"
        and answer.provenance.method == "edgeflip"
        and not (everything or wide)
    ):
        wider = [*base, "--set", "beam.width=48", "--set", "beam.reach_factor=6"]
        found.append(("a wider search", with_value(wider, "--seconds", "600")))
    if chemistry and status in ("timeout", "out_of_calls"):
        found.append(("all of it for one search, without rules", [*base, "--no-chemistry"]))
    return [f"edgeflip {shlex.join(command)}  # {why}" for why, command in found[:_MOST]]


def nothing_found(titles: Sequence[str]) -> str:
    """For which graphs nothing was found, before the commands that may help with the first.

    Example:
        >>> nothing_found(["A", "B", "C"])
        'Nothing was found for A, nor for B and C. Try next for A, the best hope first:'
    """
    first, *others = titles
    if not others:
        return f"Nothing was found for {first}. Try next, the best hope first:"
    named = others if len(others) <= _NAMED else others[: _NAMED - 1]
    if len(named) < len(others):
        named = [*named, f"{len(others) - len(named)} more"]
    *most, last = named
    told = f"{', '.join(most)} and {last}" if most else last
    return (
        f"Nothing was found for {first}, nor for {told}. Try next for {first}, the best hope first:"
    )


def without(arguments: Sequence[str], *flags: str) -> list[str]:
    """A command line without some options and their values.

    Example:
        >>> without(
        ...     ["explain", "bbbp", "--index", "1", "--target=0", "--no-removals"],
        ...     "--index",
        ...     "--target",
        ... )
        ['explain', 'bbbp', '--no-removals']
    """
    kept: list[str] = []
    skip = False
    for argument in arguments:
        if skip:
            skip = False
        elif argument in flags:
            skip = argument not in _SWITCHES
        elif argument.partition("=")[0] not in flags:
            kept.append(argument)
    return kept


def with_value(arguments: Sequence[str], flag: str, value: str) -> list[str]:
    """A command line with a value for an option, in place of the one it had.

    Example:
        >>> with_value(["explain", "bbbp", "--seconds", "5"], "--seconds", "120")
        ['explain', 'bbbp', '--seconds', '120']
    """
    return [*without(arguments, flag), flag, value]


def _has(arguments: Sequence[str], flag: str) -> bool:
    return any(argument.partition("=")[0] == flag for argument in arguments)
