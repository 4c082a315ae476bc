"""What may be edited in a graph: its edges, or what a chemist would change in a molecule."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Any

from torch_geometric.data import Data

from edgeflip.core import FREE, Constraints, EditSpace, PairEdits, PairSpace
from edgeflip.datasets import MoleculeEdits, MoleculeMoves, is_molecule
from edgeflip.errors import ConfigError, ConstraintError, EdgeflipError, NotApplicableError, shown
from edgeflip.explainers.checking import constraints_on
from edgeflip.explainers.options import ExplainOptions

if TYPE_CHECKING:
    from edgeflip.explainers.base import CounterfactualExplainer

EDGES, TYPED = "edges", "typed"


def space_of(
    explainer: CounterfactualExplainer[Any], graph: Data, given: ExplainOptions
) -> EditSpace:
    """The space that a call asks for; typed edits of a molecule where it leaves the choice.

    Raises:
        ConfigError: If `edits` is nothing that makes a space.
        NotApplicableError: If the method cannot make such edits.
    """
    wanted: Any = given["edits"]
    constraints = constraints_on(graph, given)
    if wanted is None:
        typed = _typed_by_default(explainer, graph, constraints, given)
        return PairEdits.of(graph, constraints, given["fill"]) if typed is None else typed
    if wanted == EDGES:
        return PairEdits.of(graph, constraints, given["fill"])
    if wanted == TYPED:
        wanted = MoleculeMoves()
    if not hasattr(wanted, "space_of") or isinstance(wanted, type):
        raise ConfigError(
            f"expected edits as 'edges', 'typed', MoleculeMoves(...) or FeatureMoves(...), got "
            f"{shown(wanted)}; import these from edgeflip."
        )
    space: EditSpace = wanted.space_of(graph, constraints, given["fill"])
    if explainer.spaces is not None and space.kind not in explainer.spaces:
        raise NotApplicableError(
            f"expected a method that makes edits of the sort '{space.kind}', got '{explainer.name}', which "
            f"makes {' and '.join(explainer.spaces)}; use 'edgeflip' or 'random', or edits='edges'."
        )
    return space


def _typed_by_default(
    explainer: CounterfactualExplainer[Any],
    graph: Data,
    constraints: Constraints,
    given: ExplainOptions,
) -> MoleculeEdits | None:
    """Typed edits where chemistry is wanted, the method can make them, and nothing speaks of edges."""
    chemistry = explainer.chemistry if given["chemistry"] is None else given["chemistry"]
    able = explainer.spaces is None or MoleculeEdits.kind in explainer.spaces
    if not (chemistry and able) or not isinstance(graph, Data) or not is_molecule(graph):
        return None
    if _speak_of_edges(constraints):
        return None
    try:
        return MoleculeEdits.of(graph, None, constraints)
    except ConstraintError:
        raise
    except EdgeflipError:
        # No RDKit, features of another sort, or bond orders that do not follow: then bonds come and go.
        return None


def _speak_of_edges(constraints: Constraints) -> bool:
    """Whether constraints were made for edges that come and go, such as those of `molecule_constraints`."""
    if constraints is FREE:
        return False
    only = (constraints.max_added, constraints.max_removed)
    own = constraints.room or constraints.forbidden_pairs or constraints.own_rules
    return bool(own) or any(limit is not None for limit in only)


def stream_of(space: EditSpace, seed: int) -> str:
    """What random numbers come from: graphs explained with one seed still get draws of their own."""
    pairs = space.pairs if isinstance(space, PairEdits) else PairSpace.of(space.input)
    edges = zlib.crc32(pairs.edge_ids.numpy().tobytes())
    return f"{seed} {pairs.num_nodes} {edges}"
