# %% [markdown]
# # Which explainer is best on my model?
#
# Ask several the same question, and measure their answers with the same metrics.

# %%
from edgeflip import Budget, list_explainers, make_explainer
from edgeflip.metrics import METRICS, AnswerCase
from edgeflip.testing import example_graphs, example_oracle

print(list_explainers())

# %% [markdown]
# The model and the graphs of this example are small; put yours in their place.

# %%
oracle = example_oracle()
train, test = example_graphs(12, seed=1), example_graphs(6, seed=0)
shown = ["validity", "size", "fidelity", "minimality", "oracle_calls"]
table = {}
for name in ["random", "cf-gnnexplainer", "rsgg-ce", "edgeflip"]:
    explainer = make_explainer(name).fit(train, oracle)
    cases = [
        AnswerCase(explainer.explain(graph, budget=Budget(oracle_calls=500)), oracle)
        for graph in test
    ]
    table[name] = [METRICS[metric].average(cases).value for metric in shown]

# %%
print(f"{'':16}", *(f"{metric:>12}" for metric in shown))
for name, values in table.items():
    print(f"{name:16}", *(f"{value:12.2f}" for value in values))

# %% [markdown]
# For more than a handful of graphs use `edgeflip bench run`: it trains once, survives a crash, and
# writes a report.
