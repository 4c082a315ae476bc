# %% [markdown]
# # Adding a method
#
# A method is plain code that asks about edits. Constraints, batching, repeats, budget, verification
# and ranking are shared by all methods.

# %%
from dataclasses import dataclass

import torch

from edgeflip import Constraints, CounterfactualExplainer
from edgeflip.testing import check_explainer, example_graphs, example_oracle

# %% [markdown]
# This one tries every single removal, and then the best of them with every other.


# %%
@dataclass(frozen=True)
class NoSettings:
    pass


class BestPair(CounterfactualExplainer[NoSettings]):
    name = "best-pair"
    config_type = NoSettings
    learns = False

    def _search(self, search):
        singles = search.space.groups["remove"]
        if not len(singles):
            return
        outputs = search.ask(singles[:, None]).outputs  # NaN where constraints refused
        margins = search.goal.margins(outputs).nan_to_num(nan=-torch.inf).amax(dim=1)
        best = singles[margins.argmax()]
        others = singles[singles != best]
        search.ask(torch.stack([best.expand_as(others), others], dim=1))


explainer = BestPair().fit([], example_oracle())
answer = explainer.explain(example_graphs(8, seed=4)[7])
answer

# %% [markdown]
# Constraints hold without a line of ours. The conformance suite tests everything that a method must
# keep.

# %%
print(explainer.explain(example_graphs(8, seed=4)[7], constraints=Constraints(max_edits=1)))
print(len(check_explainer(BestPair())), "checks passed")
