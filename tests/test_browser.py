"""Pages in a real browser: edits that answer, steps, filters, accessibility. Elements are found by role."""

import json
import os
import re
from dataclasses import replace

import pytest
import torch

from bench_rows import TINY
from browser import Visit, browser
from edgeflip import (
    Constraints,
    EdgeFlip,
    EditSet,
    explain,
    load_dataset,
    molecule_constraints,
    molecule_graph,
    to_smiles,
)
from edgeflip.bench.report import write_report
from edgeflip.bench.run import run_bench
from edgeflip.bench.spec import MethodSpec
from edgeflip.draw import Exhibit, save_gallery
from edgeflip.draw.pages import resource
from edgeflip.testing import example_graphs, example_oracle

pytestmark = pytest.mark.serial


@pytest.fixture(scope="module")
def running():
    with browser() as started:
        yield started


@pytest.fixture(scope="module")
def several():
    """An answer with several edits, so that there is something to take back."""
    oracle = example_oracle()
    for seed in range(60):
        answer = EdgeFlip().fit([], oracle).explain(example_graphs(1, seed=seed)[0])
        if answer.found and answer.smallest.size >= 2 and len(answer) > 2:
            return answer
    raise AssertionError("no answer with two edits among the examples")


@pytest.fixture(scope="module")
def page_file(several, tmp_path_factory):
    return several.save(tmp_path_factory.mktemp("page") / "why.html", title="a graph")


def probability(visit):
    """Class and probability as the page shows them after the edits."""
    name, _, number = visit.page.locator("#after").inner_text().rpartition(" ")
    return name, float(number)


def test_an_edit_taken_back_shows_what_the_oracle_says(running, page_file, several):
    visit = Visit(running, page_file)
    oracle, entry = example_oracle(), several.smallest
    toggles = visit.page.locator("#edits").get_by_role("button")
    assert toggles.count() == entry.size
    data = json.loads(visit.page.locator("#data").text_content())
    for place in range(entry.size):
        toggles.nth(place).click()
        assert toggles.nth(place).get_attribute("aria-pressed") == "false"
        gone = data["choices"][0]["moves"][place]["key"]
        left = [edge for edge in entry.edits.edges if f"{edge[0]}-{edge[1]}" != gone]
        part = EditSet(added=entry.edits.added & set(left), removed=entry.edits.removed & set(left))
        wanted = oracle.predict_proba([part.apply(several.graph)])[0]
        name, number = probability(visit)
        assert name == several.class_name(int(wanted.argmax()))
        assert number == pytest.approx(float(wanted.max()), abs=0.00501)
        # The table itself is exact to three decimals.
        mask = sum(1 << move["bit"] for move in data["choices"][0]["moves"] if move["key"] != gone)
        assert data["choices"][0]["table"][mask][1] == pytest.approx(float(wanted.max()), abs=5e-4)
        toggles.nth(place).press("Enter")
        assert toggles.nth(place).get_attribute("aria-pressed") == "true"
        name, number = probability(visit)
        assert name == several.class_name(entry.label)
    visit.check()


def test_a_part_that_the_constraints_forbid_is_shown_and_said_to_be(running, tmp_path):
    def in_pairs_only(graph, edits):
        return len(edits) >= 2

    limits = Constraints(rules=(in_pairs_only,))
    answer = explain(example_oracle(), example_graphs(1, seed=4)[0], constraints=limits)
    entry = answer.smallest
    visit = Visit(running, answer.save(tmp_path / "ruled.html"))
    toggles = visit.page.locator("#edits").get_by_role("button")
    verdict = visit.page.get_by_role("status")
    told = "The constraints do not allow this part of the edits."
    assert told not in verdict.inner_text()
    for place in range(entry.size - 1):
        toggles.nth(place).click()
    # One edit is left: the model's word for it is there, and that it is not allowed.
    assert re.search(rf"With 1 of {entry.size} edits it is .*\(\.\d+\)", verdict.inner_text())
    assert told in verdict.inner_text()
    toggles.nth(entry.size - 1).click()
    assert told not in verdict.inner_text()
    # Another counterfactual starts with all of its edits.
    visit.page.keyboard.press("ArrowRight")
    assert told not in verdict.inner_text()
    assert "not allowed by the constraints" in visit.page.locator("#edits").inner_text()
    visit.check()


def test_the_smiles_of_the_counterfactual_is_marked_by_one_click(running, tmp_path):
    answer = molecule_answer(molecule_constraints)
    visit = Visit(running, answer.save(tmp_path / "molecule.html"))
    smiles = visit.page.locator("figure dd.mono:visible").last
    assert smiles.inner_text() == to_smiles(answer, answer.smallest)
    smiles.click()
    assert visit.page.evaluate("String(getSelection())").strip() == smiles.inner_text()
    visit.check()


def test_the_drawing_follows_the_toggles(running, page_file):
    visit = Visit(running, page_file)
    after = visit.page.locator("figure svg").last
    signs = after.locator("circle.s-added-badge:visible, circle.s-removed-badge:visible")
    before = signs.count()
    assert before >= 2
    visit.page.locator("#edits").get_by_role("button").first.click()
    assert signs.count() == before - 1
    visit.check()


def test_counterfactuals_are_stepped_through_by_keys_and_by_buttons(running, page_file, several):
    visit = Visit(running, page_file)
    first = visit.page.get_by_role("heading", level=1).inner_text()
    visit.page.keyboard.press("ArrowRight")
    second = visit.page.get_by_role("heading", level=1).inner_text()
    assert second != first
    assert visit.page.title() == second
    visit.page.keyboard.press("ArrowLeft")
    assert visit.page.get_by_role("heading", level=1).inner_text() == first
    picks = visit.page.locator("button.pick:visible")
    picks.nth(1).click()
    chosen = visit.page.get_by_role("heading", level=1).inner_text()
    assert chosen != first
    # Found by its place, for pressing it changes its state.
    assert picks.nth(1).get_attribute("aria-pressed") == "true"
    visit.check()


def test_without_script_the_answer_is_still_there(running, page_file):
    context = running.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(page_file.resolve().as_uri())
    assert "turns" in page.get_by_role("heading", level=1).inner_text()
    assert page.locator("figure svg").last.locator("circle:visible").count() > 3
    context.close()


@pytest.fixture(scope="module")
def gallery_file(tmp_path_factory):
    folder = tmp_path_factory.mktemp("gallery")
    answers = explain(example_oracle(), example_graphs(6, seed=2))
    exhibits = [
        Exhibit(answer, f"graph {place}", data="odd" if place % 2 else "even")
        for place, answer in enumerate(answers)
    ]
    return save_gallery(exhibits, folder / "all.html", pages=True)


def test_a_gallery_is_filtered_and_sorted(running, gallery_file):
    visit = Visit(running, gallery_file)
    cards = visit.page.locator("li.card:visible")
    assert cards.count() == 6
    visit.page.get_by_role("button", name=re.compile("^odd")).click()
    assert cards.count() == 3
    assert visit.page.get_by_role("status").inner_text() == "3 of 6 answers"
    visit.page.get_by_role("button", name=re.compile("^odd")).click()
    assert cards.count() == 6
    visit.page.get_by_label("Sort by").select_option("edits")
    sizes = [json.loads(card.get_attribute("data-card"))["order"]["edits"] for card in cards.all()]
    known = [size for size in sizes if size is not None]
    assert known == sorted(known)
    assert sizes[: len(known)] == known
    visit.page.get_by_role("link").first.click()
    visit.page.get_by_role("link", name="All answers").click()
    assert visit.page.locator("li.card").count() == 6
    visit.check()


@pytest.fixture(scope="module")
def report_file(tmp_path_factory):
    """The report of a small benchmark that was really run, with its answers drawn."""
    methods = (MethodSpec("random"), MethodSpec("cf2"))
    folder = tmp_path_factory.mktemp("bench") / "run"
    run_bench(replace(TINY, methods=methods), folder)
    place = write_report(folder)
    assert list((place / "figures").glob("answers-*.svg"))
    return place / "report.html"


def molecule_answer(limits=None):
    pytest.importorskip("rdkit")

    class Oxygens(torch.nn.Module):
        def forward(self, x, edge_index, batch):
            count = int(batch.max()) + 1
            degree = torch.zeros(len(x)).index_add_(
                0, edge_index[0], torch.ones(edge_index.size(1))
            )
            score = ((x[:, 0] == 8).float() * (degree - 1.5)).float()
            total = torch.zeros(count).index_add_(0, batch, score)
            return torch.stack([total, -total], dim=1)

    graph = molecule_graph("CC(=O)Oc1ccccc1C(=O)O")
    options = {} if limits is None else {"constraints": limits(graph)}
    return explain(Oxygens(), graph, class_names=["a", "b"], **options)


def sentence_answer():
    graph = example_graphs(1, seed=4)[0]
    graph.tokens = [
        "Watching",
        "<b>oprah</b>",
        "with",
        "Goldie",
        "Hawn",
        "on",
        "the",
        "big",
        "couch",
    ]
    return explain(example_oracle().model, graph, class_names=["negative", "positive"])


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("kind", ["graph", "molecule", "sentence", "gallery", "report"])
def test_nobody_is_shut_out_of_a_page(
    running, page_file, gallery_file, report_file, tmp_path, kind, width, dark
):
    files = {
        "graph": lambda: page_file,
        "gallery": lambda: gallery_file,
        "report": lambda: report_file,
        "molecule": lambda: molecule_answer().save(tmp_path / "molecule.html"),
        "sentence": lambda: sentence_answer().save(tmp_path / "sentence.html"),
    }
    visit = Visit(running, files[kind](), width=width, dark=dark)
    assert visit.violations() == []
    # Nothing is wider than the window.
    assert visit.page.evaluate("document.documentElement.scrollWidth") <= width
    visit.check()


def test_a_script_in_a_name_is_shown_and_not_run(running, tmp_path):
    graph = example_graphs(1, seed=4)[0]
    evil = "<img src=x onerror=\"document.title='run'\">"
    graph.node_names = [f"{evil}{node}" for node in range(graph.num_nodes)]
    names = [evil, "</script><script>document.title='run'</script>"]
    answer = explain(example_oracle().model, graph, class_names=names)
    for path in (
        answer.save(tmp_path / "why.html", title=evil),
        save_gallery([Exhibit(answer, evil, data=evil, mark=evil)] * 2, tmp_path / "all.html"),
    ):
        visit = Visit(running, path)
        visit.page.keyboard.press("ArrowRight")
        assert visit.page.title() != "run"
        assert visit.page.locator("img").count() == 0
        assert evil in visit.page.locator("body").inner_text()
        visit.check()


# The scripts by themselves: their functions are plain, so that they can be asked here.


@pytest.fixture(scope="module")
def scripts(running):
    page = running.new_page()
    page.goto("about:blank")
    for name in ("answer", "gallery"):
        page.evaluate(
            "([name, text]) => { const module = {exports: {}}; new Function('module', text)(module);"
            " window[name + 'Script'] = module.exports; }",
            [name, resource(f"{name}.js")],
        )
    yield page
    page.close()


def test_the_script_agrees_on_when_something_is_shown(scripts):
    from itertools import product

    from edgeflip.draw import When

    sets = [[], ["a"], ["a", "b"]]
    for every, some, none, made in product(sets, sets, [[], ["c"], ["b"]], [[], ["a"], ["a", "c"]]):
        told = scripts.evaluate(
            "([all, any, none, made]) => answerScript.holds(all, any, none, new Set(made))",
            [every, some, none, made],
        )
        assert told == When(frozenset(every), frozenset(some), frozenset(none)).holds(made)


def test_the_script_says_what_is_left_of_an_answer(scripts):
    text = json.dumps(
        {
            "kind": "class",
            "names": ["cycle", "house"],
            "columns": [0, 1],
            "before": [0, 0.9, 0.9, 0.1],
            "figures": [".90", ".10"],
            "choices": [
                {
                    "moves": [{"key": "a", "bit": 0}, {"key": "b", "bit": 1}],
                    "output": [1, 0.8, 0.2, 0.8],
                    "table": [
                        [0, 0.9, 0.9, 0.1],
                        [0, 0.6, 0.6, 0.4],
                        [1, 0.55, 0.45, 0.55],
                        [1, 0.8, 0.2, 0.8],
                    ],
                    "figures": [
                        [".20", ".80"],
                        [".90", ".10"],
                        [".60", ".40"],
                        [".45", ".55"],
                        [".20", ".80"],
                    ],
                }
            ],
        }
    )
    verdict = """([text, mask]) => {
        const data = answerScript.read(text);
        return answerScript.verdict(data, data.choices[0], mask);
    }"""
    assert scripts.evaluate(verdict, [text, 0]) == "With no edit it is cycle (.90)."
    assert scripts.evaluate(verdict, [text, 1]) == "With 1 of 2 edits it is still cycle (.60)."
    assert scripts.evaluate(verdict, [text, 2]) == "With 1 of 2 edits it is already house (.55)."
    assert scripts.evaluate(verdict, [text, 3]) == "With both edits the model says house (.80)."


def test_the_script_draws_no_bar_for_what_is_written_as_nothing(scripts):
    share = "([figure, value]) => answerScript.shareOf({ figures: [figure], shares: [value] }, 0)"
    assert scripts.evaluate(share, [".00", 0.0031]) == 0
    assert scripts.evaluate(share, [".01", 0.0062]) == 0.0062
    assert scripts.evaluate(share, ["1.00", 0.9999]) == 0.9999


def test_the_gallery_script_chooses_and_orders(scripts):
    shown = "([card, chosen]) => galleryScript.shown(card, {edits: new Set(chosen)})"
    assert scripts.evaluate(shown, [{"edits": ["1"]}, []])
    assert scripts.evaluate(shown, [{"edits": ["1"]}, ["1", "2"]])
    assert not scripts.evaluate(shown, [{"edits": ["3"]}, ["1", "2"]])
    order = "([a, b]) => galleryScript.compare({order: {k: a}, place: 0}, {order: {k: b}, place: 1}, 'k')"
    assert scripts.evaluate(order, [1, 2]) < 0
    assert scripts.evaluate(order, [None, 2]) > 0
    assert scripts.evaluate(order, [2, 2]) < 0


def test_the_page_of_a_real_graph_is_small(running, tmp_path):
    bundle = load_dataset("ba_2motifs")
    answer = EdgeFlip().fit([], bundle_oracle(bundle)).explain(bundle.test[0])
    path = answer.save(tmp_path / "ba.html")
    assert os.path.getsize(path) < 300_000
    visit = Visit(running, path)
    assert visit.page.get_by_role("heading", level=1).count() == 1
    visit.check()


def bundle_oracle(bundle):
    from edgeflip import GCNClassifier, ModelOracle

    torch.manual_seed(0)
    return ModelOracle(GCNClassifier(bundle.num_features, 2, layers=(8,)), num_classes=2)
