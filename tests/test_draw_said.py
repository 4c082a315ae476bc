"""What is not drawn is said, and figures have the same digits everywhere."""

import re
from dataclasses import replace

import pytest
import torch
from torch_geometric.data import Data

from edgeflip import Constraints, explain
from edgeflip.draw import Canvas, Line, drawing_of, subject_of


class Few(torch.nn.Module):
    """The fewer edges, the likelier class 1; close to the border both are about as likely."""

    def __init__(self, most, slope):
        super().__init__()
        self.most, self.slope = most, slope

    def forward(self, x, edge_index, batch):
        ones = torch.ones(edge_index.shape[1])
        count = torch.zeros(int(batch.max()) + 1).index_add_(0, batch[edge_index[0]], ones) / 2
        return torch.stack([count - self.most, self.most - count], 1) * self.slope


def square(loops=(), **more):
    pairs = [(0, 1), (1, 2), (2, 3), (0, 3)]
    ends = [*pairs, *((v, u) for u, v in pairs), *((node, node) for node in loops)]
    return Data(x=torch.ones(4, 1), edge_index=torch.tensor(ends).t().contiguous(), **more)


@pytest.mark.parametrize("words", [{}, {"tokens": ["a", "b", "c", "d"]}], ids=["graph", "sentence"])
@pytest.mark.parametrize("small", [False, True])
def test_self_loops_that_are_not_drawn_are_said(words, small):
    captions = {
        count: drawing_of(
            subject_of(square(range(count), **words), []), Canvas(small=small)
        ).caption
        for count in (0, 1, 3)
    }
    assert "self-loop" not in captions[0]
    assert captions[1] == f"{captions[0]} A self-loop is not drawn.".strip()
    assert captions[3] == f"{captions[0]} 3 self-loops are not drawn.".strip()


def test_no_line_is_without_length():
    drawing = drawing_of(subject_of(square([1, 3]), []))
    lines = [item for panel in drawing.panels for item in panel.items if isinstance(item, Line)]
    assert len(lines) == 8
    assert all(len(set(line.points)) > 1 for line in lines)


def test_the_notebooks_table_has_the_digits_of_the_picture():
    only = Constraints(allow_additions=False)
    answer = explain(Few(3.01, 0.06), square(), constraints=only, class_names=["many", "few"])
    told = answer.goal.describe(answer.smallest.output)
    figure = re.fullmatch(r"few \((\.\d+)\)", told)[1]
    assert len(figure) > 3
    assert f"({figure})" in answer.draw().svg
    rows = re.findall(r"<tr>(.*?)</tr>", answer._repr_html_())[1:]
    assert len(rows) == len(answer.to_rows())
    cells = [re.findall(r"<td>(.*?)</td>", row) for row in rows]
    expected = [answer.goal.describe(entry.output) for entry in answer.counterfactuals]
    assert [row[3] for row in cells] == [re.sub(r"[()]", "", each) for each in expected]
    assert f"few {figure}" in [row[3] for row in cells]


def test_the_notebooks_table_of_a_smallest_that_was_not_kept_names_its_own_output():
    answer = explain(Few(3.01, 0.06), square(), constraints=Constraints(allow_additions=False))
    smallest = replace(answer.smallest, output=(0.25, 0.75), score=0.125)
    other = replace(answer, smallest=smallest)
    rows = re.findall(r"<tr>(.*?)</tr>", other._repr_html_())[1:]
    last = re.findall(r"<td>(.*?)</td>", rows[-1])
    assert (last[0], last[3]) == ("–", "class 1 .75")
