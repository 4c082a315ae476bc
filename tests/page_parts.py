"""What tests of pages share: a page taken apart, and answers to make pages of."""

import json
from html.parser import HTMLParser

from edgeflip import explain
from edgeflip.draw import Exhibit, answer_page, answers_html, gallery_page
from edgeflip.search import AnswerList
from edgeflip.testing import example_graphs, example_oracle


class Tags(HTMLParser):
    """What a browser would make of a page: its elements, their attributes and its visible text."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.names, self.attributes, self.texts, self.data = [], [], [], {}
        self._script = None
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.names.append(tag)
        self.attributes += [name for name, _ in attrs]
        self._script = dict(attrs).get("id", "") if tag == "script" else None

    def handle_data(self, data):
        if self._script is not None:
            self.data[self._script] = self.data.get(self._script, "") + data
        else:
            self.texts.append(data)

    @property
    def text(self):
        return "".join(self.texts)


def answer_of(seed=4, names=("ring", "star"), **more):
    graph = example_graphs(1, seed=seed)[0]
    for key, value in more.items():
        graph[key] = value
    return explain(example_oracle().model, graph, class_names=list(names))


def data_of(page):
    return json.loads(Tags(page).data["data"])


def pieces(answer):
    """Everything that shows an answer: page, gallery, cell, list of cells, picture."""
    exhibit = Exhibit(answer, answer.class_name(0), data=answer.class_name(1), href="x.html")
    return [
        answer_page(answer, title=answer.class_name(0), home="index.html"),
        gallery_page([exhibit, exhibit], title=answer.class_name(0), about=answer.class_name(1)),
        answer._repr_html_(),
        answers_html(AnswerList([answer, answer])),
        answer.draw(title=answer.class_name(0)).svg,
    ]
