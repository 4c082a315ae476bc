# pyright: reportUnnecessaryTypeIgnoreComment=true
"""What a type checker sees of an installed edgeflip: each type must be so, and each error must be one."""

from typing import assert_type

import edgeflip
from edgeflip import (
    AnswerList,
    Budget,
    Certificate,
    Constraints,
    Counterfactual,
    CounterfactualSet,
    EdgeFlip,
    ModelOracle,
    explain,
)
from edgeflip.testing import example_graphs, example_oracle

oracle = example_oracle()
graphs = example_graphs(2, seed=4)
explainer = EdgeFlip().fit(graphs, oracle)
answer = explainer.explain(graphs[0], budget=Budget(oracle_calls=1_000))

assert_type(edgeflip.__version__, str)
assert_type(oracle, ModelOracle)
assert_type(explainer, EdgeFlip)
assert_type(answer, CounterfactualSet)
assert_type(answer.found, bool)
assert_type(answer.counterfactuals[0], Counterfactual)
assert_type(answer.best, Counterfactual | None)
assert_type(answer.certificate, Certificate | None)
assert_type(explainer.explain_many(graphs), AnswerList)
# PyG has no types for mypy, which therefore cannot tell one graph from a list of them.
one: CounterfactualSet = explain(oracle, graphs[0])
many: AnswerList = explain(oracle, graphs)

# Types that are seen refuse these three; where they are not, the comments are what is reported.
explainer.explain(graphs[0], budget="1000")  # type: ignore[arg-type]
Constraints(max_edits="3")  # type: ignore[arg-type]
print(answer.certficate)  # type: ignore[attr-defined]
