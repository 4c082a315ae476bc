"""What a notebook shows stays small, whatever is shown."""

import networkx as nx
import pytest
import torch
from torch_geometric.data import Data

from browser import Visit, browser
from edgeflip import Budget, Constraints, bundle_from, explain
from edgeflip.draw import answers_html
from edgeflip.search import AnswerList
from edgeflip.testing import example_graphs, example_oracle
from page_parts import Tags, answer_of


@pytest.fixture(scope="module")
def answer():
    return answer_of()


def test_notebook_cells_are_small_and_have_no_script(answer):
    answers = explain(example_oracle(), example_graphs(4, seed=2))
    bundle = bundle_from(example_graphs(20, seed=1), class_names=["a", "b"])
    for cell in (answer._repr_html_(), answers._repr_html_(), bundle._repr_html_()):
        assert len(cell.encode()) < 60_000
        tags = Tags(cell)
        assert "script" not in tags.names
        assert "svg" in tags.names
        assert "table" in tags.names
        assert not [name for name in tags.attributes if name.startswith("on")]


def dense(count, kind):
    """A graph with many edges, or with many nodes."""
    made = {
        "complete": nx.complete_graph,
        "grown": lambda nodes: nx.barabasi_albert_graph(nodes, 4, seed=0),
        "sparse": lambda nodes: nx.barabasi_albert_graph(nodes, 1, seed=0),
    }[kind](count)
    ends = torch.tensor(sorted(made.edges)).t()
    both = torch.cat([ends, ends.flip(0)], dim=1)
    return Data(x=torch.ones(count, 4), edge_index=both, y=torch.tensor([0]))


class Short(torch.nn.Module):
    """The second class as soon as an edge is gone."""

    def __init__(self, graph):
        super().__init__()
        self.least = graph.edge_index.size(1) - 0.5

    def forward(self, x, edge_index, batch):
        ones = torch.ones(edge_index.size(1))
        edges = torch.zeros(int(batch.max()) + 1).index_add_(0, batch[edge_index[0]], ones)
        return torch.stack([edges - self.least, self.least - edges], dim=1)


def small(cell):
    assert len(cell.encode()) < 60_000
    return Tags(cell)


@pytest.mark.parametrize(
    ("count", "kind", "drawn"),
    [(60, "grown", 6), (60, "complete", 1), (700, "sparse", 6)],
)
def test_a_cell_stays_small_however_large_the_graphs(count, kind, drawn):
    graph = dense(count, kind)
    few = Constraints(allow_additions=False, frozen_nodes=frozenset(range(4, count)))
    options = {"constraints": few, "budget": Budget(oracle_calls=200)}
    alone = small(explain(Short(graph), graph, **options)._repr_html_())
    assert ("svg" in alone.names) == (kind != "complete")
    assert "table" in alone.names
    assert ("too large for a notebook" in alone.text) == (kind == "complete")
    several = small(explain(Short(graph), [graph] * 6, **options)._repr_html_())
    assert "6 answers" in several.text
    assert {"svg", "table"} <= set(several.names)
    assert several.text.count("→") == drawn
    bundle = bundle_from([graph] * 4 + example_graphs(20, seed=1), class_names=["a", "b"])
    assert "svg" in small(bundle._repr_html_()).names


def test_a_picture_that_no_cell_bears_is_left_to_a_file(answer, monkeypatch):
    monkeypatch.setattr("edgeflip.draw.notebook._MOST", 3000)
    tags = Tags(answer._repr_html_())
    assert "svg" not in tags.names
    assert str(answer) in tags.text
    assert 'answer.save("why.svg") keeps it in a file' in tags.text


def test_long_names_leave_a_cell_small():
    graph = example_graphs(1, seed=4)[0]
    graph.tokens = ["a" * 20_000, *map(str, range(8))]
    answer = explain(Short(graph), graph, class_names=["c" * 9000, "d" * 9000])
    assert "svg" in small(answer._repr_html_()).names
    assert small(answers_html(AnswerList([answer] * 6)))


def test_the_table_of_an_answer_names_nodes_as_its_sentence_does():
    count = example_graphs(1, seed=4)[0].num_nodes
    answer = answer_of(node_names=[f"person {chr(65 + node)}" for node in range(count)])
    cell = answer._repr_html_()
    table = Tags(cell[cell.index("<table") :]).text
    u, v = answer.best.edits.edges[0]
    assert f"person {chr(65 + u)}–person {chr(65 + v)}" in table
    assert f"{u}–{v}" not in table


@pytest.mark.serial
def test_in_a_narrow_window_cells_and_pictures_are_no_wider_than_it(answer, tmp_path):
    with browser() as running:
        for name, shown in (("picture", answer.draw().svg), ("cell", answer._repr_html_())):
            path = tmp_path / f"{name}.html"
            path.write_text(f"<!doctype html><meta charset=utf-8><body>{shown}", encoding="utf-8")
            for width in (390, 1280):
                visit = Visit(running, path, width=width)
                assert visit.page.evaluate("document.documentElement.scrollWidth") <= width
                drawn = visit.page.locator("svg").bounding_box()
                assert drawn["width"] <= width
                if name == "cell":
                    # The headline in letters that can be read, in as many lines as it takes.
                    assert visit.page.locator("p.narrow").is_visible() == (width == 390)
                visit.check()
