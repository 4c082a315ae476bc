"""What `edgeflip verify` does: a saved proof of smallness is checked again."""

from __future__ import annotations

from pathlib import Path

from edgeflip.cli.console import say
from edgeflip.core import Constraints
from edgeflip.datasets import molecule_constraints
from edgeflip.errors import ConstraintError, GraphError
from edgeflip.search import CounterfactualSet, verify_certificate
from edgeflip.training import load_oracle


def verify_answer(answer: Path, oracle: Path) -> None:
    """Check the certificate of a saved answer and print what was tried."""
    read = CounterfactualSet.load_json(answer)
    tried = verify_certificate(read, load_oracle(oracle), constraints=_constraints_of(read))
    say(f"Verified with {tried:,} edited graph{'s'[: tried != 1]}: {read.certificate}.")


def _constraints_of(answer: CounterfactualSet) -> Constraints:
    """The constraints an answer was made under; the rules of chemistry are made again."""
    plain = dict(answer.space.to_dict()["constraints"])
    try:
        return Constraints.from_dict(plain)
    except ConstraintError as error:
        limits = {key: plain[key] for key in ("max_added", "max_removed", "max_edits")}
        allow = {key: plain[key] for key in ("allow_additions", "allow_removals")}
        try:
            made = molecule_constraints(answer.graph) & Constraints(**limits, **allow)
        except GraphError:
            raise error from None
        if made.to_dict() != plain:
            raise
        return made
