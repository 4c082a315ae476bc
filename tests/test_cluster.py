"""A Ray cluster of two nodes on this machine: the same answers, and what harms a worker is written down."""

import os
import signal

import pytest

from conftest import assert_sentence
from edgeflip import explain_stream, make_explainer
from edgeflip.errors import ConfigError
from edgeflip.explainers.random_search import RandomSearch
from edgeflip.search import timeless
from edgeflip.testing import example_graphs, example_oracle

ray = pytest.importorskip("ray", reason="needs Ray: pip install 'edgeflip[cluster]'")
pytestmark = [pytest.mark.serial, pytest.mark.long]

GRAPHS = example_graphs(60, seed=3)


@pytest.fixture(scope="module")
def address():
    cluster_utils = pytest.importorskip("ray.cluster_utils")
    room = {"num_cpus": 1, "object_store_memory": 100 * 2**20}
    cluster = cluster_utils.Cluster(initialize_head=True, head_node_args=room)
    cluster.add_node(**room)
    yield cluster.address
    ray.shutdown()
    cluster.shutdown()


def test_a_cluster_gives_the_answers_of_explain(address):
    explainer = make_explainer("random").fit([], example_oracle())
    wanted = [timeless(answer.to_dict()) for answer in explainer.explain_many(GRAPHS)]
    found = list(explain_stream(explainer, iter(GRAPHS), engine="ray", address=address))
    assert [each.place for each in found] == list(range(60))
    assert [timeless(each.answer.to_dict()) for each in found] == wanted


def test_a_graph_that_ends_its_worker_every_time_is_a_recorded_failure(address):
    victim = GRAPHS[7].x

    class Deadly(RandomSearch):
        name = "deadly"

        def _search(self, search):
            if search.space.input.x.equal(victim):
                os.kill(os.getpid(), signal.SIGKILL)
            return super()._search(search)

    explainer = Deadly().fit([], example_oracle())
    found = list(explain_stream(explainer, GRAPHS, engine="ray", address=address))
    assert [each.place for each in found if each.answer is None] == [7]
    assert found[7].failure.kind == "killed"


def test_a_cluster_that_is_too_small_is_refused_in_a_sentence(address):
    explainer = make_explainer("random").fit([], example_oracle())
    with pytest.raises(ConfigError) as error:
        list(explain_stream(explainer, GRAPHS, engine="ray", address=address, workers=5))
    assert_sentence(error, "room for 5 workers", "2 CPUs")


def test_an_address_where_there_is_no_cluster_is_refused_in_a_sentence():
    explainer = make_explainer("random").fit([], example_oracle())
    with pytest.raises(ConfigError) as error:
        list(explain_stream(explainer, GRAPHS, engine="ray", address="127.0.0.1:1"))
    assert_sentence(error, "ray start --head")
