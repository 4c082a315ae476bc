# pyright: reportUnnecessaryTypeIgnoreComment=true
"""What a type checker sees of an installed edgeflip: each type must be so, and each error must be one."""

from typing import assert_type

import edgeflip
from edgeflip import (
    Budget,
    Certificate,
    Constraints,
    Counterfactual,
    CounterfactualSet,
    EdgeFlip,
    EditSet,
    ModelOracle,
    explain,
)
from edgeflip.testing import example_graphs, example_oracle

oracle = example_oracle()
graph = example_graphs(1, seed=4)[0]
answer = explain(oracle, graph, budget=Budget(oracle_calls=1_000))

assert_type(edgeflip.__version__, str)
assert_type(oracle, ModelOracle)
assert_type(answer, CounterfactualSet)
assert_type(answer.found, bool)
assert_type(answer[0], Counterfactual)
assert_type(answer[0].edits, EditSet)
assert_type(answer.certificate, Certificate | None)
assert_type(EdgeFlip().fit([graph], oracle), EdgeFlip)

# Types that are seen refuse these three; where they are not, the comments are what is reported.
explain(oracle, graph, budget="1000")  # type: ignore[arg-type]
Constraints(max_edits="3")  # type: ignore[arg-type]
print(answer.certficate)  # type: ignore[attr-defined]
