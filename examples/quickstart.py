# %% [markdown]
# # Which few edges would make a model change its mind?
#
# We train a small graph neural network to tell cycles from houses, and ask edgeflip which edges
# would have to come or go for its prediction to change.

# %%
from edgeflip import Budget, Constraints, EdgeFlip, load_dataset, train_oracle, verify_certificate

bundle = load_dataset("ba_2motifs")  # a tree of 20 nodes, with a cycle or a house hanging from it
bundle

# %% [markdown]
# The model that is explained is called the oracle. `profile="smoke"` trains for seconds; leave it
# out for a model worth explaining.

# %%
oracle = train_oracle(bundle, profile="smoke")
explainer = EdgeFlip.for_dataset("ba_2motifs", profile="smoke").fit(bundle.train, oracle)
answer = explainer.explain(bundle.test[0])
answer

# %% [markdown]
# `answer.smallest` has the fewest edits, `answer.best` the best score. Each was made on a real copy
# of the graph and shown to the model again. The certificate says what is proven, and can be
# checked.

# %%
print(answer)
print(answer.smallest.edits, answer.best.edits)
print(answer.certificate)
print(verify_certificate(answer, oracle), "edit sets tried again")

# %% [markdown]
# Ask for something else: removals only, several answers that differ, a limit.

# %%
graph = bundle.test[0]
print(explainer.explain(graph, constraints=Constraints(allow_additions=False)))
for entry in explainer.explain(graph, number=3, budget=Budget(oracle_calls=5_000)).counterfactuals:
    print(entry.edits, f"{entry.score:.2f}")

# %% [markdown]
# `answer.save("why.html")` writes a page that answers back: take an edit away, and see what the
# model says then. To explain a model of your own, `edgeflip.explain(model, graph)` is enough.
