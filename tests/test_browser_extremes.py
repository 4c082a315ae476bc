"""Pages in a real browser where things are many, long, near or far."""

import json
from dataclasses import replace

import pytest
import torch
from torch_geometric.data import Data

from browser import Visit, browser
from edgeflip import Constraints, EditSet, explain
from edgeflip.draw import save_answers
from edgeflip.draw.story import figure, predicted, ranked
from edgeflip.oracle import as_oracle
from edgeflip.testing import example_graphs

pytestmark = pytest.mark.serial


@pytest.fixture(scope="module")
def running():
    with browser() as started:
        yield started


class FewerEdges(torch.nn.Module):
    """The second class for graphs with fewer edges than this."""

    def __init__(self, least):
        super().__init__()
        self.least = least

    def forward(self, x, edge_index, batch):
        ones = torch.ones(edge_index.size(1)) / 2
        edges = torch.zeros(int(batch.max()) + 1).index_add_(0, batch[edge_index[0]], ones)
        return torch.stack([edges - self.least, self.least - edges], dim=1) / 5


@pytest.mark.parametrize("count", [11, 31, 32, 33, 54, 60])
def test_however_many_edits_there_are_all_are_drawn(running, tmp_path, count):
    pairs = [(u, v) for u in range(13) for v in range(u + 1, 13)]
    ends = torch.tensor(pairs + [(v, u) for u, v in pairs]).t()
    oracle = as_oracle(FewerEdges(len(pairs) - count + 0.5))
    graph = Data(x=torch.ones(13, 4), edge_index=ends)
    found = explain(FewerEdges(len(pairs) - 0.5), graph, number=2)
    entries = []
    for edges in (pairs[:count], pairs[-count:]):
        edits = EditSet(removed=set(edges))
        output = tuple(oracle.predict_proba([edits.apply(graph)])[0].tolist())
        entries.append(replace(found.smallest, edits=edits, output=output))
    goal = replace(found.goal, before=tuple(oracle.predict_proba([graph])[0].tolist()))
    answer = replace(
        found,
        counterfactuals=tuple(entries),
        smallest=entries[0],
        first=entries[0],
        certificate=None,
        goal=goal,
        oracle=oracle,
    )
    visit = Visit(running, answer.save(tmp_path / "many.html"))
    drawn = visit.page.locator("figure svg").last.locator("path.s-ghost:visible")
    for _ in range(3):
        subpaths = "paths => paths.reduce((n, path) => n + path.getAttribute('d').split('M').length - 1, 0)"
        assert drawn.evaluate_all(subpaths) == count
        visit.page.keyboard.press("ArrowRight")
    visit.check()


class ByRemovals(torch.nn.Module):
    """A class for each number of edges that are gone."""

    def __init__(self, edges):
        super().__init__()
        self.edges = edges

    def forward(self, x, edge_index, batch):
        ones = torch.ones(edge_index.size(1)) / 2
        edges = torch.zeros(int(batch.max()) + 1).index_add_(0, batch[edge_index[0]], ones)
        gone = self.edges - edges
        return -3 * torch.stack([gone**2, (gone - 1) ** 2, (gone - 2) ** 2], dim=1)


def test_a_class_on_the_way_to_the_wanted_one_is_not_called_the_answer(running, tmp_path):
    graph = example_graphs(1, seed=4)[0]
    answer = explain(
        ByRemovals(graph.edge_index.size(1) / 2),
        graph,
        class_names=["A", "B", "C"],
        target="C",
        constraints=Constraints(allow_additions=False),
    )
    assert answer.smallest.size == 2
    visit = Visit(running, answer.save(tmp_path / "why.html"))
    toggles, verdict = visit.page.locator("#edits button"), visit.page.locator("#verdict")
    toggles.first.click()
    assert verdict.inner_text() == "With 1 of 2 edits it is B (.91), but not the wanted C."
    toggles.last.click()
    assert verdict.inner_text() == "With no edit it is A (.95)."
    visit.check()


FOCUSED = """() => {
    const active = document.activeElement;
    return [active.className, [...document.querySelectorAll('#edits button')].indexOf(active),
            active.dataset.choice];
}"""


def fewer_edges(**options):
    """An answer with several counterfactuals of two edits each."""
    graph = example_graphs(1, seed=4)[0]
    model = FewerEdges(graph.edge_index.size(1) / 2 - 1.5)
    return explain(model, graph, constraints=Constraints(allow_additions=False), **options)


def test_stepping_by_keys_keeps_the_focus_on_the_same_control(running, tmp_path):
    answer = fewer_edges(number=4)
    visit = Visit(running, answer.save(tmp_path / "why.html"))
    visit.page.locator("#edits button").nth(1).focus()
    for _ in range(3):
        visit.page.keyboard.press("ArrowRight")
        assert visit.page.evaluate(FOCUSED)[1] == 1
    visit.page.keyboard.press("Space")
    assert visit.page.locator("#edits button").nth(1).get_attribute("aria-pressed") == "false"
    visit.page.evaluate(
        "document.querySelectorAll('details.alike').forEach(each => each.open = true)"
    )
    visit.page.locator(".pick").first.focus()
    visit.page.keyboard.press("ArrowRight")
    shown = visit.page.locator(".pick[aria-pressed=true]").get_attribute("data-choice")
    assert visit.page.evaluate(FOCUSED)[::2] == ["pick", shown]
    visit.check()


def test_the_focus_goes_to_the_list_where_the_next_edits_cannot_be_pressed(running, tmp_path):
    answer = fewer_edges(number=3)
    mixed = answer.with_effects()
    others = [
        replace(entry, effects=None) if entry.edits != mixed.smallest.edits else entry
        for entry in mixed.counterfactuals
    ]
    page = replace(mixed, counterfactuals=tuple(others), oracle=None).save(tmp_path / "why.html")
    visit = Visit(running, page)
    visit.page.locator("#edits button").first.focus()
    visit.page.keyboard.press("ArrowRight")
    assert visit.page.locator("#edits button").first.is_disabled()
    assert visit.page.evaluate("document.activeElement.matches('.pick, summary')")
    visit.check()


class Spread(torch.nn.Module):
    """Classes of nearly the same probability, which removals shift by so many."""

    def __init__(self, classes, edges, step):
        super().__init__()
        self.classes, self.edges, self.step = classes, edges, step

    def forward(self, x, edge_index, batch):
        ones = torch.ones(edge_index.size(1)) / 2
        edges = torch.zeros(int(batch.max()) + 1).index_add_(0, batch[edge_index[0]], ones)
        gone = (self.edges - edges)[:, None]
        places = torch.arange(self.classes)[None]
        return -0.01 * (gone * self.step - places) ** 2 - 0.0004 * places


class Value(torch.nn.Module):
    """A value for each edge."""

    def __init__(self, scale):
        super().__init__()
        self.scale = scale

    def forward(self, x, edge_index, batch):
        ones = self.scale * torch.ones(edge_index.size(1)) / 2
        return torch.zeros(int(batch.max()) + 1).index_add_(0, batch[edge_index[0]], ones)[:, None]


def close_answer(kind, size):
    """An answer of two edits whose figures need care."""
    graph = example_graphs(1, seed=4)[0]
    edges = graph.edge_index.size(1) / 2
    limits = Constraints(allow_additions=False)
    if kind == "classes":
        target = size - 1
        # Of twelve classes, the two that are likeliest after one edit are not among those shown.
        model = Spread(size, edges, 1 if size == 3 else 7.5)
        return explain(model, graph, constraints=limits, target=target, number=3)
    target = f"<{(edges - 1.5) * size!r}"
    return explain(Value(size), graph, task="regression", target=target, constraints=limits)


@pytest.mark.parametrize(
    ("kind", "size"),
    [("classes", 3), ("classes", 12)]
    + [("value", scale) for scale in (1e-6, 1e-3, 1.2345678, 1e6, 1e9)],
)
def test_every_figure_on_a_page_is_the_one_of_its_goal(running, tmp_path, kind, size):
    answer = close_answer(kind, size)
    ask = answer.oracle.predict_proba if kind == "classes" else answer.oracle.predict_values
    visit = Visit(running, answer.save(tmp_path / "why.html"))
    toggles, goal = visit.page.locator("#edits button"), answer.goal
    columns = json.loads(visit.page.locator("#data").text_content())["columns"]
    entry = ranked(answer)[0]
    assert entry.size == 2
    for mask in (2, 0, 1, 3):
        changed = {2: [0], 0: [1], 1: [0], 3: [1]}[mask]
        for place in changed:
            toggles.nth(place).click()
        part = {edge for place, edge in enumerate(entry.edits.edges) if mask >> place & 1}
        edited = EditSet(removed=part).apply(answer.graph)
        output = ask([edited])[0].tolist()
        after = " ".join(predicted(goal, output)).strip()
        assert visit.page.locator("#after").inner_text() == after
        assert goal.describe(output) in visit.page.locator("#verdict").inner_text()
        for place, column in enumerate(columns):
            told = visit.page.locator(f"#value-{place}").inner_text()
            assert told == figure(goal, output, column)
    visit.page.keyboard.press("ArrowRight")
    visit.page.keyboard.press("ArrowLeft")
    left = answer.with_effects().smallest.effects[2]
    told = visit.page.locator(".without").first.inner_text()
    assert told.removeprefix("Without it: ").removeprefix("still ") == goal.describe(left)
    visit.check()


@pytest.mark.parametrize("kind", ["graph", "sentence"])
@pytest.mark.parametrize("parts", [20, 2])
def test_edits_far_from_the_first_are_drawn_or_said_to_lie_elsewhere(
    running, tmp_path, monkeypatch, kind, parts
):
    monkeypatch.setattr("edgeflip.draw.views._MOST", parts)
    count = 300
    path = torch.stack([torch.arange(count - 1), torch.arange(1, count)])
    graph = Data(x=torch.ones(count, 4), edge_index=torch.cat([path, path.flip(0)], dim=1))
    if kind == "sentence":
        graph.tokens = [f"w{node}" for node in range(count)]
    kept = frozenset((node, node + 1) for node in range(count - 1) if node % 40)
    limits = Constraints(allow_additions=False, frozen_edges=kept)
    answer = explain(FewerEdges(count - 1.5), graph, number=8, constraints=limits)
    assert len(answer) > 5
    visit = Visit(running, answer.save(tmp_path / "far.html"))
    told = 0
    for _ in ranked(answer):
        ghosts = visit.page.locator("figure svg:visible").last.locator("path.s-ghost:visible")
        said = visit.page.locator(".outside:visible").count()
        assert ghosts.count() + said == visit.page.locator("#edits button").count()
        assert visit.page.locator(".map:visible").count() == 1
        if kind == "graph":
            note = visit.page.locator(".map p:visible").inner_text()
            assert "around the edits" in note
            assert note.endswith("of another counterfactual") == bool(said)
        told += said
        visit.page.keyboard.press("ArrowRight")
    if kind == "graph":
        assert (told > 0) == (parts == 2)
    visit.check()


LONG = {
    "nodes": lambda graph: setattr(graph, "node_names", ["n" * 150 + str(i) for i in range(9)]),
    "words": lambda graph: setattr(
        graph, "tokens", [f"https://a.b/{'way-' * 9}{i}" for i in range(9)]
    ),
    "classes": lambda graph: None,
}


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("kind", LONG)
def test_long_names_are_no_wider_than_the_window(running, tmp_path, kind, width):
    graph = example_graphs(1, seed=4)[0]
    LONG[kind](graph)
    names = ["x" * 180, "y" * 180] if kind == "classes" else ["one", "other"]
    model = FewerEdges(graph.edge_index.size(1) / 2 - 0.5)
    answer = explain(model, graph, class_names=names, number=6)
    page = answer.save(tmp_path / "why.html", title="t" * 300)
    gallery = save_answers([answer, answer], tmp_path / "all.html", titles=["t" * 300, "y"])
    for path in (page, gallery):
        visit = Visit(running, path, width=width)
        assert visit.page.evaluate("document.documentElement.scrollWidth") <= width
        # What is cut could not be read.
        outside = """() => [...document.querySelectorAll('main *')].filter(
            each => !each.closest('svg, .sr, thead') && each.getBoundingClientRect().right > innerWidth + 1
        ).map(each => each.outerHTML.slice(0, 80))"""
        assert visit.page.evaluate(outside) == []
        visit.check()
