"""The explainers, one module each; `edgeflip.make_explainer` finds them by name."""
