"""What `edgeflip verify` does: a saved proof of smallness is checked again."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from edgeflip.cli.console import say
from edgeflip.cli.own_model import UserModel
from edgeflip.cli.terminal import counted
from edgeflip.core import Constraints
from edgeflip.datasets import molecule_constraints
from edgeflip.errors import ConstraintError, GraphError
from edgeflip.oracle import JointOracle, ModelOracle
from edgeflip.search import CounterfactualSet, verify_certificate
from edgeflip.support import progress_bar
from edgeflip.training import load_oracle


def verify_answer(answer: Path, folders: Sequence[Path], user_model: UserModel) -> None:
    """Check the certificate of a saved answer and print what was tried."""
    read = CounterfactualSet.load_json(answer)
    asked = [load_oracle(folder) for folder in folders] or user_model.oracles(
        user_model.build_all()
    )
    total = sum(read.certificate.tried) + len(read) if read.certificate else 0
    with progress_bar("checking", total=total, unit=" graphs", shown=True) as bar:
        # Of several models the first one counts: all are asked about the same graphs.
        counting: Any = _Counting(asked[0], bar)
        if len(asked) > 1:
            counting = JointOracle((counting, *asked[1:]))
        tried = verify_certificate(read, counting, constraints=_constraints_of(read))
    say(f"Verified by asking about {counted(tried, 'edited graph')} again: {read.certificate}.")


class _Counting:
    """The oracle, with every graph it is asked about shown on a bar."""

    def __init__(self, oracle: ModelOracle, bar: Any) -> None:
        self._oracle, self._bar = oracle, bar

    def __getattr__(self, name: str) -> Any:
        own = getattr(self._oracle, name)
        if name not in ("predict_proba", "predict_values"):
            return own

        def asked(graphs: Any) -> Any:
            self._bar.update(len(graphs))
            return own(graphs)

        return asked


def _constraints_of(answer: CounterfactualSet) -> Constraints:
    """The constraints an answer was made under; the rules of chemistry are made again."""
    plain = dict(answer.space.to_dict()["constraints"])
    try:
        return Constraints.from_dict(plain)
    except ConstraintError as error:
        try:
            made = molecule_constraints(answer.graph) & Constraints.from_dict(
                {**plain, "rules": ()}
            )
        except GraphError:
            raise error from None
        if made.to_dict() != plain:
            raise
        return made
