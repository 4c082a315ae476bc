"""Parts of large graphs: how many a page draws, and what it says of the others."""

import torch
from torch_geometric.data import Data

from edgeflip import EditSet
from edgeflip.draw.subject import subject_of
from edgeflip.draw.views import map_of, views_of


def far_edits():
    """Edits at ten stars in a row, each of which fills a drawing."""
    stars, leaves = 10, 50
    rays = [
        (star * leaves, star * leaves + leaf) for star in range(stars) for leaf in range(1, leaves)
    ]
    chain = [(star * leaves, (star + 1) * leaves) for star in range(stars - 1)]
    ends = torch.tensor(sorted(rays + chain)).t()
    graph = Data(x=torch.ones(500, 4), edge_index=torch.cat([ends, ends.flip(0)], dim=1))
    hubs = range(0, stars * leaves, leaves)
    return subject_of(graph, [EditSet(removed={(hub, hub + 1)}) for hub in hubs])


def test_a_page_draws_the_first_part_and_no_more_than_four_others():
    subject = far_edits()
    views = views_of(subject)
    assert len(views) == 5
    assert len(views[0].outside) == len(subject.choices) - 5
    served = sorted(place for view in views for place in view.choices)
    assert served == list(range(len(subject.choices)))
    for view in views:
        for choice in set(view.choices) - set(view.outside):
            assert {move.key for move in subject.choices[choice]} <= view.drawing.drawn
    assert min(views[0].outside) > max(views[-1].choices), "the first in rank are drawn"


def test_the_map_does_not_say_around_the_edits_where_these_lie_elsewhere():
    first = views_of(far_edits())[0]
    assert first.outside
    elsewhere = " ".join(map(str, first.outside))
    page = map_of(first)
    assert f'<p data-view="{elsewhere}" hidden>' in page
    told = page.partition(f'data-view="{elsewhere}" hidden>')[2].partition("</p>")[0]
    assert told.endswith("those around the edits of another counterfactual")
