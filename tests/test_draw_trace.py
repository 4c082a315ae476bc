"""How a search went, drawn for every method, and said in a sentence where it kept no steps."""

from dataclasses import replace
from xml.etree import ElementTree

import pytest

from edgeflip import explain
from edgeflip.draw import Words, draw_trace
from edgeflip.explainers import make_explainer
from edgeflip.testing import example_graphs, example_oracle
from edgeflip.testing.oracles import ConstantOracle


def texts_of(picture):
    ElementTree.fromstring(picture.svg)
    return [item.text for item in picture.scene.items if isinstance(item, Words)]


@pytest.mark.parametrize("method", ["c2explainer", "cf2", "cf-gnnexplainer", "random", "xplore"])
@pytest.mark.parametrize("stubborn", [False, True])
def test_the_trace_of_every_method_is_drawn(method, stubborn):
    graphs = example_graphs(6, seed=3)
    made = make_explainer(method).fit(graphs, ConstantOracle(2) if stubborn else example_oracle())
    for answer in [made.explain(graph) for graph in graphs[:3]]:
        texts = texts_of(draw_trace(answer))
        assert answer.found == texts[0].startswith("Reached")
        assert ("model passes" in texts) == bool(answer.trace.steps)
        assert (texts[1:] == ["No steps of this search were recorded."]) == (not answer.trace.steps)


def test_an_answer_that_lost_its_steps_says_what_was_reached():
    answer = explain(example_oracle(), example_graphs(1, seed=4)[0])
    bare = replace(answer, trace=replace(answer.trace, steps=()))
    texts = texts_of(draw_trace(bare))
    assert texts[0].startswith(f"Reached in {answer.trace.oracle_calls:,} model passes, with ")
    assert texts[1] == "No steps of this search were recorded."
