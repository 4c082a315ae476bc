"""Pages, galleries and notebook cells: whole, small, and deaf to what strangers write."""

import json
import re

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_geometric.data import Data

from edgeflip import (
    Constraints,
    CounterfactualSet,
    EdgeFlip,
    EditSet,
    explain,
)
from edgeflip.draw import (
    Exhibit,
    answer_page,
    draw_answer,
    gallery_page,
    save_gallery,
)
from edgeflip.draw.symmetry import alike
from edgeflip.errors import ConfigError
from edgeflip.search import AnswerList
from edgeflip.testing import example_graphs, example_oracle
from page_parts import Tags, answer_of, data_of, pieces

EVIL = [
    "<img src=x onerror=alert(1)>",
    "</script><script>alert(1)</script>",
    "]]><svg onload=alert(1)>",
    '" onmouseover="alert(1)',
    "--><b>",
    "{{7*7}}",
    "\x00\x08\ud800",
]
NAMES = st.one_of(st.sampled_from(EVIL), st.text(max_size=30))


@pytest.fixture(scope="module")
def answer():
    return answer_of()


def test_a_page_needs_nothing_else(answer, tmp_path):
    page = answer.save(tmp_path / "why.html").read_text(encoding="utf-8")
    assert not re.search(r"(?:src|href)=[\"']?(?!#)[\w.:/]", page)
    # The namespace of SVG is a name and not an address.
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", page)
    assert "@import" not in page
    assert "url(" not in page
    assert len(page.encode()) < 300_000


def test_the_table_of_a_page_is_what_the_oracle_says(answer):
    oracle = example_oracle()
    data = data_of(answer_page(answer))
    entries = [answer.smallest, *answer.counterfactuals]
    for choice in data["choices"]:
        moves = choice["moves"]
        (entry,) = [
            each
            for each in {id(entry): entry for entry in entries}.values()
            if sorted(f"{u}-{v}" for u, v in each.edits.edges) == sorted(m["key"] for m in moves)
        ][:1]
        for mask, row in enumerate(choice["table"]):
            made = {move["key"] for move in moves if mask >> move["bit"] & 1}
            part = type(entry.edits)(
                added={edge for edge in entry.edits.added if f"{edge[0]}-{edge[1]}" in made},
                removed={edge for edge in entry.edits.removed if f"{edge[0]}-{edge[1]}" in made},
            )
            wanted = oracle.predict_proba([part.apply(answer.graph)])[0]
            assert row[0] == int(wanted.argmax())
            assert row[2:] == pytest.approx(wanted[data["columns"]].tolist(), abs=5e-4)


def test_an_answer_from_a_file_says_why_its_edits_cannot_be_switched(answer, tmp_path):
    path = tmp_path / "answer.json"
    answer.save_json(path)
    loaded = CounterfactualSet.load_json(path)
    page = answer_page(loaded)
    assert "nobody said which model it is about" in Tags(page).text
    assert "disabled" in Tags(page).attributes
    asked = answer_page(loaded, oracle=example_oracle())
    assert "disabled" not in Tags(asked).attributes
    assert data_of(asked)["choices"] == data_of(answer_page(answer))["choices"]


def test_an_answer_saved_with_its_table_needs_no_oracle(answer, tmp_path):
    loaded = CounterfactualSet.load_json(answer.save(tmp_path / "answer.json"))
    assert loaded.smallest.effects == answer.with_effects().smallest.effects
    assert "disabled" not in Tags(answer_page(loaded)).attributes


def test_another_oracle_is_refused(answer):
    class Other:
        num_classes = 2

        def predict_proba(self, graphs):
            return torch.tensor([[0.3, 0.7]] * len(graphs))

    loaded = CounterfactualSet.from_dict(answer.to_dict())
    with pytest.raises(ConfigError, match="expected the oracle of the answer"):
        answer_page(loaded, oracle=Other())


def test_an_oracle_that_agrees_on_the_input_only_is_refused(answer):
    class Stubborn:
        """Says of every graph what the answer's oracle says of the input."""

        num_classes = 2

        def predict_proba(self, graphs):
            return torch.tensor([answer.output] * len(graphs))

    loaded = CounterfactualSet.from_dict(answer.to_dict())
    with pytest.raises(ConfigError, match=r"which says .* of it after adding"):
        answer_page(loaded, oracle=Stubborn())


def test_an_oracle_that_disagrees_on_one_counterfactual_alone_is_refused(answer):
    own = example_oracle()
    last = answer.edited_graph(answer.counterfactuals[-1])

    class Almost:
        num_classes = 2

        def predict_proba(self, graphs):
            told = own.predict_proba(graphs)
            for place, graph in enumerate(graphs):
                if torch.equal(graph.edge_index, last.edge_index):
                    told[place] = told[place].flip(0)
            return told

    loaded = CounterfactualSet.from_dict(answer.to_dict())
    with pytest.raises(ConfigError, match="expected the oracle of the answer"):
        answer_page(loaded, oracle=Almost())


def test_a_table_of_another_shape_is_refused(answer):
    from edgeflip.errors import ArtifactError
    from edgeflip.support import checksum

    payload = json.loads(json.dumps(answer.with_effects().to_dict()))
    payload["counterfactuals"][0]["effects"].append([0.5, 0.5])
    del payload["checksum"]
    payload["checksum"] = checksum(payload)
    with pytest.raises(ArtifactError, match="a row of 2 numbers for every part"):
        CounterfactualSet.from_dict(payload)


def in_pairs_only(graph, edits):
    """A rule that allows no edit by itself."""
    return len(edits) >= 2


@pytest.fixture(scope="module")
def ruled():
    """An answer of two edits, neither of which the constraints allow by itself."""
    graph = example_graphs(1, seed=4)[0]
    limits = Constraints(rules=(in_pairs_only,))
    return explain(example_oracle(), graph, constraints=limits, ranking="smallest")


def test_parts_that_the_constraints_forbid_are_told_in_table_and_file(ruled, tmp_path):
    told = ruled.with_effects()
    for entry in (told.smallest, *told.counterfactuals):
        parts = [EditSet(*_sides(entry.edits, key)) for key in _parts(entry.edits.edges)]
        wanted = [
            number
            for number, part in enumerate(parts)
            if len(part) and not ruled.space.constraints.allows(ruled.graph, part)
        ]
        assert wanted
        assert list(entry.forbidden) == wanted
        assert len(entry.effects) == len(parts)
    loaded = CounterfactualSet.load_json(ruled.save(tmp_path / "answer.json"))
    assert loaded.smallest.forbidden == told.smallest.forbidden
    for page in (
        answer_page(ruled),
        answer_page(loaded),
        answer_page(loaded, oracle=example_oracle()),
    ):
        choice = data_of(page)["choices"][0]
        assert choice["forbidden"] == list(told.smallest.forbidden)
        assert choice["unjudged"] == ""
        assert "not allowed by the constraints" in Tags(page).text


def _sides(edits, edges):
    return edits.added & set(edges), edits.removed & set(edges)


def test_chemistry_forbids_a_part_that_splits_the_molecule():
    pytest.importorskip("rdkit")
    from edgeflip import molecule_constraints, molecule_graph

    class Apart:
        """An oracle that is sure of class 1 once the middle bond is gone."""

        num_classes = 2

        def predict_proba(self, graphs):
            there = [[2, 3] in graph.edge_index.t().tolist() for graph in graphs]
            return torch.tensor([[0.9, 0.1] if bond else [0.1, 0.9] for bond in there])

    graph = molecule_graph("CCCCCC")
    limits = molecule_constraints(graph)
    answer = explain(Apart(), graph, constraints=limits).with_effects()
    assert answer.found
    removal = [answer.smallest.edits.edges.index(edge) for edge in answer.smallest.edits.removed]
    # A removal alone makes two parts of the chain.
    assert {1 << bit for bit in removal} <= set(answer.smallest.forbidden)


def test_without_constraints_no_part_is_forbidden(answer):
    assert answer.with_effects().smallest.forbidden == ()
    page = answer_page(answer)
    assert "constraints" not in Tags(page).text
    assert all(choice["forbidden"] == [] for choice in data_of(page)["choices"])


def test_a_file_that_lost_the_rules_says_that_it_cannot_tell(ruled, tmp_path):
    path = tmp_path / "answer.json"
    ruled.save_json(path)
    loaded = CounterfactualSet.load_json(path)
    page = answer_page(loaded, oracle=example_oracle())
    assert "not known here whether the constraints allow" in Tags(page).text
    assert "not allowed by the constraints" not in Tags(page).text


def test_forbidden_parts_that_cannot_be_are_refused(ruled):
    from edgeflip.errors import ArtifactError
    from edgeflip.support import checksum

    payload = json.loads(json.dumps(ruled.with_effects().to_dict()))
    payload["smallest"]["forbidden"] = [2 ** len(ruled.smallest.edits)]
    del payload["checksum"]
    payload["checksum"] = checksum(payload)
    with pytest.raises(ArtifactError, match="forbidden parts"):
        CounterfactualSet.from_dict(payload)


def test_the_smallest_is_marked_and_those_alike_are_folded(answer):
    page = answer_page(answer)
    tags = Tags(page)
    assert tags.text.count("smallest") >= 1
    rows = page.count("<tr data-group=")
    assert rows <= len(data_of(page)["choices"])
    assert page.count('class="pick"') == len(data_of(page)["choices"])


class Certain:
    """An oracle that nothing changes."""

    num_classes = 2

    def predict_proba(self, graphs):
        return torch.tensor([[0.8, 0.2]] * len(graphs))


def test_a_page_without_a_counterfactual_says_so():
    nothing = explain(Certain(), example_graphs(1, seed=4)[0])
    assert not nothing.found
    tags = Tags(answer_page(nothing))
    assert "Found no edits" in tags.text
    assert "button" not in tags.names


def test_a_value_has_a_page_too():
    class Sums(torch.nn.Module):
        def forward(self, x, edge_index, batch):
            count = int(batch.max()) + 1
            degree = torch.zeros(len(x)).index_add_(
                0, edge_index[0], torch.ones(edge_index.size(1))
            )
            return torch.zeros(count, 1).index_add_(0, batch, degree[:, None] / 10)

    answer = explain(Sums(), example_graphs(1, seed=4)[0], task="regression", target="+0.3")
    data = data_of(answer_page(answer))
    assert data["kind"] == "value"
    assert "bars" not in answer_page(answer).partition("<main")[2].partition("<script")[0]
    assert "The model’s value" in answer_page(answer)
    assert answer._repr_html_()


def test_a_gallery_filters_by_what_tells_answers_apart(tmp_path):
    answers = explain(example_oracle(), example_graphs(4, seed=2))
    exhibits = [
        Exhibit(answer, f"graph {place}", data="one" if place % 2 else "two", mark="best")
        for place, answer in enumerate(answers)
    ]
    path = save_gallery(exhibits, tmp_path / "all.html", pages=True)
    page = path.read_text(encoding="utf-8")
    assert page.count('class="card"') == 4
    assert 'data-group="data" data-value="one"' in page
    assert page.count("all/000") == 4
    pages = sorted((tmp_path / "all").iterdir())
    assert len(pages) == 4
    assert 'href="../all.html"' in pages[0].read_text(encoding="utf-8")


def test_a_list_of_answers_is_saved_with_a_page_for_each(tmp_path):
    answers = explain(example_oracle(), example_graphs(3, seed=2))
    path = answers.save(tmp_path / "gallery.html")
    links = re.findall(r'<h2><a href="([^"]*)">', path.read_text(encoding="utf-8"))
    assert len(links) == 3
    for link in links:
        text = (tmp_path / link).read_text(encoding="utf-8")
        assert 'href="../gallery.html"' in text
        assert len(text.encode()) < 300_000


@given(NAMES, NAMES, st.lists(NAMES, min_size=3, max_size=3))
@settings(max_examples=15, deadline=None)
def test_what_strangers_write_stays_text(one, other, three):
    graph = example_graphs(1, seed=4)[0]
    count = graph.num_nodes
    plain = pieces(answer_of(names=("ring", "star"), node_names=[f"n{i}" for i in range(count)]))
    names = [three[node % 3] + str(node) for node in range(count)]
    evil = pieces(answer_of(names=(one or "a", other or "b"), node_names=names))
    for told, harmless in zip(evil, plain, strict=True):
        assert "\x00" not in told
        told.encode()
        tags, wanted = Tags(told), Tags(harmless)
        # Long names are placed otherwise, so numbers of elements differ; kinds do not.
        assert set(tags.names) == set(wanted.names)
        assert set(tags.attributes) <= set(wanted.attributes)


def test_words_of_a_sentence_stay_text_too():
    graph = example_graphs(1, seed=4)[0]
    tokens = [EVIL[node % len(EVIL)] + str(node) for node in range(graph.num_nodes)]
    for told in pieces(answer_of(tokens=tokens)):
        told.encode()
        assert "img" not in Tags(told).names
        assert "onload" not in Tags(told).attributes
        assert "onerror" not in Tags(told).attributes


def test_effects_are_asked_once_for_every_part(answer):
    class Counting:
        def __init__(self):
            self.oracle, self.asked = example_oracle(), 0
            self.num_classes = self.oracle.num_classes

        def predict_proba(self, graphs):
            self.asked += len(graphs)
            return self.oracle.predict_proba(graphs)

    counting = Counting()
    known = EdgeFlip().fit([], counting).explain(example_graphs(1, seed=4)[0])
    counting.asked = 0
    told = known.with_effects()
    parts = {
        frozenset(key)
        for entry in (*told.counterfactuals, told.smallest, told.first)
        if entry.effects
        for key in _parts(entry.edits.edges)
    }
    assert counting.asked == len(parts)
    # The table does not make another answer of it.
    assert told.counterfactuals == known.counterfactuals


def _parts(edges):
    return [
        [edge for place, edge in enumerate(edges) if mask >> place & 1]
        for mask in range(2 ** len(edges))
    ]


def test_only_a_symmetry_of_the_graph_makes_counterfactuals_alike():
    square = torch.tensor([[0, 1, 2, 3, 1, 2, 3, 0], [1, 2, 3, 0, 0, 1, 2, 3]])
    corners = [EditSet(removed={pair}) for pair in ((0, 1), (1, 2), (2, 3), (0, 3))]
    plain = Data(x=torch.ones(4, 1), edge_index=square)
    assert alike(plain, [*corners, EditSet(added={(0, 2)})]) == [[0, 1, 2, 3], [4]]
    # A node that is not like the others leaves one mirror.
    odd = Data(x=torch.tensor([[2.0], [1.0], [1.0], [1.0]]), edge_index=square)
    assert alike(odd, corners) == [[0, 3], [1, 2]]
    marked = Data(x=torch.ones(4, 1), edge_index=square, edge_attr=torch.eye(4).repeat(2, 1))
    assert alike(marked, corners) == [[0], [1], [2], [3]]
    # Equal outputs do not make them alike.
    path = torch.tensor([[0, 1, 2, 3, 1, 2, 3, 4], [1, 2, 3, 4, 0, 1, 2, 3]])
    ends = [EditSet(added={pair}) for pair in ((0, 2), (0, 4), (2, 4))]
    assert alike(Data(x=torch.ones(5, 1), edge_index=path), ends) == [[0, 2], [1]]


def test_only_counterfactuals_of_the_answer_are_drawn():
    first, second = (explain(example_oracle(), graph) for graph in example_graphs(2, seed=4))
    with pytest.raises(ConfigError, match="of this answer"):
        first.draw(second.best)
    with pytest.raises(ConfigError, match="of this answer"):
        first.draw(5)
    with pytest.raises(ConfigError, match="draw_grid"):
        draw_answer([first, second])


def test_edits_that_nobody_can_draw_have_a_card_without_a_page(answer, tmp_path):
    from toy_space import AskEverything, polynomial, problem

    switches = next(
        found
        for seed in range(20)
        if (found := AskEverything().fit([], polynomial(seed)).solve(problem(seed))).found
    )
    page = AnswerList([switches, answer]).save(tmp_path / "all.html").read_text(encoding="utf-8")
    assert page.count('class="card"') == 2
    assert len(re.findall(r'<h2><a href="', page)) == 1


TURNS = "\u202eevil\u2066"


@pytest.mark.parametrize("kind", ["tokens", "node_names"])
def test_a_mark_in_a_name_does_not_turn_the_words_around_it(kind, tmp_path):
    from edgeflip.draw import answer_in_terminal, save_answers

    count = example_graphs(1, seed=4)[0].num_nodes
    names = {kind: [f"{TURNS}{node}" for node in range(count)]}
    answer = answer_of(names=(f"{TURNS}A", f"{TURNS}B"), **names)
    marks = set(TURNS) - set("evil")
    gallery = save_answers([answer, answer], tmp_path / "all.html", titles=[TURNS, TURNS])
    told = [
        *pieces(answer),
        gallery.read_text(encoding="utf-8"),
        json.dumps(data_of(answer_page(answer)), ensure_ascii=False),
        str(answer),
        repr(answer),
        answer_in_terminal(answer),
    ]
    for text in told:
        assert "evil" in text
        assert not marks & set(text)
        assert "\\u202e" not in text


def test_a_gallery_filters_by_names_as_they_are_shown(answer):
    from html import unescape

    exhibits = [Exhibit(answer, "a", data=TURNS), Exhibit(answer, "b", data="plain\x00")]
    page = gallery_page(exhibits)
    buttons = re.findall('data-group="data" data-value="(.*?)"', page)
    cards = [json.loads(unescape(card)) for card in re.findall('data-card="(.*?)"', page)]
    assert [card["groups"]["data"] for card in cards] == [[unescape(value)] for value in buttons]
