"""The search names nothing of what it edits and wants: no pair, edge, addition, removal, class or label."""

import io
import re
import tokenize
from pathlib import Path

import pytest

import edgeflip.search

FILES = sorted(Path(edgeflip.search.__file__).parent.glob("*.py"))
FOREIGN = re.compile(
    r"nodes?|pairs?|edges?|additions?|removals?|class|classes|labels?", re.IGNORECASE
)
# Words of the language, not ours.
KEYWORDS = {"class", "classmethod", "ClassVar", "dataclass"}


def words_of(token):
    """The words of a token: parts of a name by underscores and capitals, whole words of a text."""
    if token.type == tokenize.NAME:
        return re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z0-9]+", token.string)
    # In texts `EdgeFlip` and `edge_attr` are names; the names of a text are checked where they are used.
    return re.findall(r"[A-Za-z0-9_]+", token.string)


def foreign_words(source):
    """Line and word wherever the source speaks of what it should not know."""
    texts = {tokenize.STRING, tokenize.COMMENT, getattr(tokenize, "FSTRING_MIDDLE", -1)}
    return [
        (token.start[0], word)
        for token in tokenize.generate_tokens(io.StringIO(source).readline)
        if token.type in {tokenize.NAME, *texts}
        and not (token.type == tokenize.NAME and token.string in KEYWORDS)
        for word in words_of(token)
        if FOREIGN.fullmatch(word)
    ]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_the_search_knows_nothing_of_what_it_edits(path):
    assert foreign_words(path.read_text(encoding="utf-8")) == []


def test_all_files_of_the_search_are_looked_at():
    assert {"session.py", "finish.py", "result.py", "ranking.py"} <= {path.name for path in FILES}


@pytest.mark.parametrize(
    "source",
    [
        "num_pairs = 1",
        "x = PairSpace",
        "# an edge that goes",
        '"""Additions first."""',
        'f"the label {x} is"',
        "self.is_edge(x)",
        "class_names = 0",
    ],
)
def test_a_foreign_word_is_seen_wherever_it_stands(source):
    assert foreign_words(source)


@pytest.mark.parametrize(
    "source", ["class Search: pass", "@classmethod", "repair = knowledge", '"""See `EdgeFlip`."""']
)
def test_other_words_are_let_pass(source):
    assert not foreign_words(source)
