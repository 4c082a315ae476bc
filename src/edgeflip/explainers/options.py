"""The keywords of `explain`, written once: for Python, for many graphs and for the command line.

This file loads nothing heavy, so that the command line can read its help texts without torch.
"""

from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, TypedDict, cast, get_args

from edgeflip.errors import ConfigError, unknown_name

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch_geometric.data import Data

    from edgeflip.core import Constraints, EdgeFill, Noise
    from edgeflip.oracle import AnyModel, Budget
    from edgeflip.search import Ranking, Watch


class Option(NamedTuple):
    """What is to be known of one keyword.

    Attributes:
        default: Its value when it is left out.
        help: What it does, in a sentence.
    """

    default: Any
    help: str


class ExplainOptions(TypedDict, total=False):
    """Keywords of `explain`, `explain_many` and `explain_each_class`.

    Example:
        >>> OPTIONS["keep"].default
        20
    """

    target: Annotated[
        "int | str | None",
        Option(
            None,
            "The wanted class, by number or name; any other class by default. For a model of values such "
            "as '>0.5' or '+0.3'.",
        ),
    ]
    margin: Annotated[
        "float",
        Option(
            0.0,
            "How clearly the class must change: by how much the new one leads, in log-odds (1 is .73 against "
            ".27, 3 is .95 against .05).",
        ),
    ]
    agree: Annotated[
        "int | None",
        Option(None, "Of several models, how many must change their mind; all by default."),
    ]
    check: Annotated[
        "AnyModel | None",
        Option(
            None,
            "Other models of the same task, or an empty list: how far each answer can be believed is told as "
            "its trust.",
        ),
    ]
    constraints: Annotated[
        "Constraints | Callable[[Data], Constraints | None] | None",
        Option(None, "What may change, or a function that tells it of each graph."),
    ]
    chemistry: Annotated[
        "bool | None",
        Option(
            None,
            "Whether possible molecules come first, and others only where none was found; by default the "
            "method's own.",
        ),
    ]
    edits: Annotated[
        "Any",
        Option(
            None,
            "What may be edited: 'edges', 'typed' for what a chemist would change in a molecule, "
            "MoleculeMoves(...), or FeatureMoves(...); by default typed edits of molecules where the method "
            "can make them and chemistry is wanted, and edges of other graphs.",
        ),
    ]
    budget: Annotated[
        "Budget | None", Option(None, "How much to spend; by default the method's own.")
    ]
    fill: Annotated["EdgeFill | None", Option(None, "Attributes of added edges.")]
    ranking: Annotated[
        "Ranking | str | None",
        Option(
            None,
            "What counts as best: paper, smallest, confident, plausible, robust, or a mix; by default "
            "the method's own.",
        ),
    ]
    keep: Annotated[int, Option(20, "At most this many counterfactuals are kept, the best ones.")]
    number: Annotated[
        "int | None",
        Option(None, "At most this many, chosen to be good and different from each other."),
    ]
    diversity: Annotated[
        float, Option(0.5, "How much being different counts beside the score, from 0 to 1.")
    ]
    robust: Annotated[
        int,
        Option(0, "Try the best on this many noisy copies of the graph; robust ones come first."),
    ]
    stable: Annotated[
        int,
        Option(
            0,
            "Try the smallest on this many noisy copies of the graph; of those that are equally small the "
            "steadiest come first.",
        ),
    ]
    noise: Annotated["Noise | None", Option(None, "The noise of these copies.")]
    seed: Annotated[int, Option(0, "Same seed, same result.")]
    watch: Annotated[
        "Watch | None",
        Option(None, "Called with every step of the search; returns False to end it."),
    ]


OPTIONS: dict[str, Option] = {
    name: next(part for part in get_args(hint) if isinstance(part, Option))
    for name, hint in ExplainOptions.__annotations__.items()
}
"""Every keyword with its default and what it does."""


# Keywords whose values may be numbers of NumPy or torch.
_NUMBERS = ("target", "margin", "agree", "keep", "number", "diversity", "robust", "stable", "seed")


def complete(options: ExplainOptions, *, without: tuple[str, ...] = ()) -> ExplainOptions:
    """Options with all defaults filled in.

    Args:
        options: What the caller gave.
        without: Keywords that mean nothing here.

    Raises:
        UnknownNameError: For a keyword that does not exist, with the nearest one.
        ConfigError: For one that means nothing here.
    """
    for name in options:
        if name in without:
            raise ConfigError(f"expected no '{name}' in this call, got one; leave it out.")
        if name not in OPTIONS:
            raise unknown_name("keyword", name, OPTIONS)
    from edgeflip.support import plain_number

    defaults = {name: option.default for name, option in OPTIONS.items()}
    given = {
        name: plain_number(value) if name in _NUMBERS else value for name, value in options.items()
    }
    return cast(ExplainOptions, {**defaults, **given})
