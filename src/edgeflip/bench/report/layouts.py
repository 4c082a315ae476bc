"""How the tables with a column per method are read, and which tables not every report has."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Layout:
    """A table with a column per method.

    Attributes:
        key: Its name, which metrics give as their place.
        note: How to read it.
        intro: What its title begins with, before the titles of its metrics.
    """

    key: str
    note: str
    intro: str = ""


QUALITY = Layout(
    "quality",
    "Validity is the share of all explained graphs with a counterfactual: errors and timeouts count "
    "against it. The rest are means over the graphs with one. The paper prints no first size for methods "
    "that make a single counterfactual. Connected: answers that leave the graph in no more parts than it "
    "has. Possible: answers that keep the rules of chemistry, asked of molecules alone.",
)
MOTIF = Layout("motif", "Share of the edits with an end in the motif that made the original class.")
FACTUAL_PROXIMITY = Layout(
    "factual_proximity",
    "Share of the edits with an end in the factual subgraph, which SubgraphX finds with the paper's "
    "settings. It stands in where no motif is known. The paper's values are in its appendix, and in lines "
    "that its source keeps as comments. Its own search removes edges of a factual subgraph only, so it has "
    "a head start.",
)
MINIMALITY = Layout(
    "minimality",
    "Share of the proper parts of the edits that leave the prediction as it is. First of the best "
    "counterfactual, as the paper defines it; then of the smallest one found, as the authors' code takes "
    "it. The paper's value stands beside both.",
)
NOISE = Layout(
    "noise",
    "VaN: share of the answered graphs that, with noise, still have a counterfactual to the same class; "
    "with Wilson's interval over all seeds. As the paper defines it, only noise that leaves the class alone "
    "counts; over all noise, a graph whose class it changes has kept nothing. ECaN: mean over the graphs "
    "that kept a counterfactual, of the largest overlap (Jaccard) "
    "of edits before and after. By change: as the authors' code counts, every pair of classes of a graph "
    "by itself. The paper prints VaN as a picture only.",
    "After noise: ",
)
TIMES = Layout(
    "times",
    "First what the paper prints: training / per graph without the factual subgraph, which it counts "
    "apart. Then all of it per graph: wall seconds / CPU seconds / oracle calls. The paper's seconds are "
    "of its own machine.",
    "Times: ",
)
TRUST = Layout(
    "trust",
    "Of the best answers. Transfer: the share of other models that predict the graph alike whose "
    "prediction the edits change as well. The nearest real graph is a training graph of the new class; 0 is "
    "the same surroundings of nodes, 1 none in common. Feasible is what has no more parts than before and, "
    "for molecules, is possible. Embeddings are those of the explained model, by cosine.",
    "Can it be believed: ",
)
OTHER = Layout("other", "Metrics that no other table shows.", "Other measures: ")

# The table of what is far has become part of the cells; reports of before have its file.
OPTIONAL = (
    "far",
    "verdicts",
    "cells",
    "labels",
    "additions",
    "versus",
    "aims",
    "replaced",
    "trust",
    "other",
    "factual_proximity",
    "links",
    "statistics",
    "causes",
)
"""Tables that not every report has."""

PLACES = {
    "quality",
    "replaced",
    "motif",
    "factual_proximity",
    "links",
    "minimality",
    "noise",
    "times",
    "factual",
    "plausibility",
    "trust",
}
