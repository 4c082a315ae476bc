"""Many graphs: the same answers whoever works, and nothing that fails ends the run."""

import json
import multiprocessing
import os
import resource
import signal
import subprocess
import sys
import threading
import time

import pytest
import torch

from conftest import assert_sentence
from edgeflip import Budget, ModelOracle, explain_into, explain_stream, make_explainer, read_answers
from edgeflip.engines import local as local_module
from edgeflip.errors import ArtifactError, ConfigError, EdgeflipError, UnknownNameError
from edgeflip.explainers import GraphsFailedError, SearchInterrupted
from edgeflip.explainers.many import folder as folder_module
from edgeflip.explainers.many import stream as stream_module
from edgeflip.explainers.random_search import RandomSearch
from edgeflip.search import timeless
from edgeflip.testing import example_graphs, example_oracle

pytestmark = pytest.mark.serial

FORKS = multiprocessing.get_context("fork")
GRAPHS = example_graphs(12, seed=3)


@pytest.fixture
def forks(monkeypatch):
    """Workers that need not import torch, in pieces of two graphs."""
    monkeypatch.setattr(local_module, "_context", lambda: FORKS)
    monkeypatch.setattr(stream_module, "_CHUNK", 2)


@pytest.fixture
def explainer():
    return make_explainer("random").fit([], example_oracle())


def plain(answers):
    return [timeless(answer.to_dict()) for answer in answers]


def read(folder):
    return [
        timeless(each.answer.to_dict()) if each.answer else str(each.failure)
        for each in read_answers(folder)
    ]


# The same answers, in the order of the graphs.


def test_every_engine_gives_the_answers_of_explain_in_their_order(forks, explainer):
    wanted = plain(explainer.explain(graph) for graph in GRAPHS)
    assert plain(explainer.explain_many(GRAPHS)) == wanted
    assert plain(explainer.explain_many(GRAPHS, engine="inline", workers=1)) == wanted
    answers = explainer.explain_many(GRAPHS, engine="local", workers=2)
    assert plain(answers) == wanted
    assert all(answer.oracle is explainer.oracle_ for answer in answers)
    stream = explain_stream(explainer, iter(GRAPHS), engine="local", workers=2)
    assert [(each.place, timeless(each.answer.to_dict())) for each in stream] == list(
        enumerate(wanted)
    )


def test_a_stream_draws_graphs_when_there_is_room_for_them(forks, explainer):
    drawn = 0

    def endless():
        nonlocal drawn
        while True:
            drawn += 1
            yield GRAPHS[drawn % len(GRAPHS)]

    for engine, most in (("inline", 4), ("local", 60)):
        drawn = 0
        found = explain_stream(explainer, endless(), engine=engine, workers=1)
        assert [next(found).place for _ in range(3)] == [0, 1, 2]
        assert drawn <= most
        found.close()


# A folder of answers.


@pytest.mark.parametrize("form", ["parquet", "jsonl"])
def test_a_folder_holds_the_answers_and_goes_on_where_it_was_stopped(
    forks, explainer, tmp_path, monkeypatch, form
):
    monkeypatch.setattr(folder_module, "_SHARD", 5)
    monkeypatch.setattr("edgeflip.explainers.many.writing._AT_ONCE", 1)
    wanted = plain(explainer.explain_many(GRAPHS))

    def stopping():
        yield from GRAPHS[:9]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        explain_into(explainer, stopping(), tmp_path, form=form)
    assert read(tmp_path) == wanted[:8]  # the ninth was alone in its piece
    report = explain_into(explainer, GRAPHS, tmp_path, form=form, engine="local", workers=2)
    assert (report.graphs, report.explained, report.failed) == (12, 4, 0)
    assert read(tmp_path) == wanted
    assert sorted(path.name for path in tmp_path.glob("answers-*")) == [
        f"answers-{number:06d}.{form}" for number in range(3)
    ]
    assert explain_into(explainer, GRAPHS, tmp_path, form=form).explained == 0


def test_a_folder_refuses_other_graphs_another_job_and_changed_shards(explainer, tmp_path):
    explain_into(explainer, GRAPHS[:4], tmp_path)
    with pytest.raises(ConfigError) as error:
        explain_into(explainer, GRAPHS[1:5], tmp_path)
    assert_sentence(error, "in their order", "another folder")
    with pytest.raises(ConfigError) as error:
        explain_into(explainer, GRAPHS[:4], tmp_path, seed=1)
    assert_sentence(error, "seed", "another folder")
    with pytest.raises(ConfigError) as error:
        explain_into(explainer, GRAPHS[:4], tmp_path, form="jsonl")
    assert_sentence(error, "parquet")
    (shard,) = tmp_path.glob("answers-*.parquet")
    shard.write_bytes(shard.read_bytes()[:-1])
    with pytest.raises(ArtifactError) as error:
        list(read_answers(tmp_path))
    assert_sentence(error, "restore")


KILLED = """
import sys
from edgeflip import explain_into, make_explainer
from edgeflip.explainers.many import writing
from edgeflip.testing import example_graphs, example_oracle

writing._AT_ONCE = 1
explainer = make_explainer("random").fit([], example_oracle())
explain_into(explainer, example_graphs(400, seed=3), sys.argv[1])
"""


def test_a_run_that_is_killed_goes_on_with_the_same_answers(explainer, tmp_path):
    graphs = example_graphs(400, seed=3)
    process = subprocess.Popen([sys.executable, "-c", KILLED, str(tmp_path)])
    journal = tmp_path / "answers.jsonl"
    while process.poll() is None and not (journal.exists() and journal.stat().st_size > 200_000):
        time.sleep(0.01)
    process.kill()
    process.wait()
    assert 0 < len(read(tmp_path)) < 400
    report = explain_into(explainer, graphs, tmp_path)
    assert report.graphs == 400
    assert report.explained < 400
    assert read(tmp_path) == plain(explainer.explain_many(graphs))


FULL = """
import resource, sys
from edgeflip import EdgeflipError, explain_into, make_explainer
from edgeflip.testing import example_graphs, example_oracle

explainer = make_explainer("random").fit([], example_oracle())
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, resource.RLIM_INFINITY))
try:
    explain_into(explainer, example_graphs(40, seed=3), sys.argv[1])
except EdgeflipError as error:
    print(error)
"""


def test_a_full_disk_ends_the_run_in_a_sentence_and_it_goes_on_when_there_is_room(
    explainer, tmp_path
):
    told = subprocess.run(
        [sys.executable, "-c", FULL, str(tmp_path)], capture_output=True, text=True, check=True
    )
    assert "check free space" in told.stdout
    assert "Traceback" not in told.stderr
    graphs = example_graphs(40, seed=3)
    assert explain_into(explainer, graphs, tmp_path).repaired
    assert read(tmp_path) == plain(explainer.explain_many(graphs))


def test_a_folder_that_cannot_be_written_is_refused_in_a_sentence(explainer, tmp_path):
    file = tmp_path / "file"
    file.touch()
    for place in (file, file / "below", "/proc/answers"):
        with pytest.raises(EdgeflipError) as error:
            explain_into(explainer, GRAPHS[:1], place)
        assert_sentence(error, "folder")


def test_a_clock_that_jumps_changes_no_answer(explainer, tmp_path, monkeypatch):
    wanted = plain(explainer.explain_many(GRAPHS, budget=Budget(seconds=100)))
    jumps = iter(range(0, -(10**9), -(10**5)))
    monkeypatch.setattr(time, "time", lambda: next(jumps))
    explain_into(explainer, GRAPHS, tmp_path, budget=Budget(seconds=100))
    assert read(tmp_path) == wanted


# What fails.


class Faulty(RandomSearch):
    """Random, but the third graph does harm."""

    name = "faulty"
    harm = staticmethod(lambda: None)

    def _search(self, search):
        if torch.equal(search.space.input.x, GRAPHS[2].x):
            type(self).harm()
        return super()._search(search)


@pytest.fixture
def faulty(forks, monkeypatch):
    def made(harm):
        monkeypatch.setattr(Faulty, "harm", staticmethod(harm))
        return Faulty().fit([], example_oracle())

    return made


def ended():
    assert multiprocessing.parent_process() is not None, "only workers may be killed"
    os.kill(os.getpid(), signal.SIGKILL)


def hung():
    time.sleep(600)


def short_of_memory():
    limit = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (2**20, limit[1]))
    try:
        bytearray(2**30)
    finally:
        resource.setrlimit(resource.RLIMIT_AS, limit)


def raised():
    raise ZeroDivisionError("of no use")


@pytest.mark.parametrize(
    ("harm", "kind", "deadline"),
    [
        (ended, "killed", None),
        (hung, "deadline", 1.0),
        (short_of_memory, "MemoryError", None),
        (raised, "ZeroDivisionError", None),
    ],
)
def test_a_graph_that_does_harm_is_a_recorded_failure_and_the_rest_is_explained(
    faulty, explainer, harm, kind, deadline
):
    wanted = plain(explainer.explain_many(GRAPHS))
    found = list(explain_stream(faulty(harm), GRAPHS, engine="local", workers=2, deadline=deadline))
    failures = {each.place: each.failure.kind for each in found if each.failure}
    assert failures == {2: kind}
    # Under another name, so without what says who found it.
    for each, other in zip(found, wanted, strict=True):
        if each.answer is not None:
            mine = timeless(each.answer.to_dict())
            assert mine["counterfactuals"] == other["counterfactuals"]


def test_a_deadline_holds_within_two_seconds(faulty):
    explainer = faulty(hung)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Faulty, "harm", staticmethod(lambda: None))
        started = time.monotonic()
        list(explain_stream(explainer, GRAPHS[2:3], engine="local", workers=1))
        calm = time.monotonic() - started
    started = time.monotonic()
    list(explain_stream(explainer, GRAPHS[2:3], engine="local", workers=1, deadline=1))
    # Two tries, each of which may take its deadline and two seconds.
    assert time.monotonic() - started < calm + 2 * (1 + 2)


def test_what_happens_once_costs_a_retry(faulty, tmp_path):
    once = tmp_path / "once"

    def harm_once():
        try:
            once.touch(exist_ok=False)
        except FileExistsError:
            return
        ended()

    told = []
    found = list(
        explain_stream(faulty(harm_once), GRAPHS, engine="local", workers=2, tell=told.append)
    )
    assert not [each for each in found if each.failure]
    assert ["tried again" in text for text in told] == [True]


def test_explain_many_hands_out_the_rest_with_its_error(faulty):
    explainer = faulty(raised)
    with pytest.raises(GraphsFailedError) as error:
        explainer.explain_many(GRAPHS, engine="local", workers=2)
    assert_sentence(error, "12 graphs", "none for 1", "ZeroDivisionError")
    assert sorted(error.value.finished) == [place for place in range(12) if place != 2]
    assert list(error.value.failures) == [2]


def test_a_model_that_raises_at_random_or_gives_nan_costs_only_its_graphs(forks):
    calm = example_oracle()

    class Moody(torch.nn.Module):
        def forward(self, x, edge_index, batch):
            if torch.equal(x, GRAPHS[4].x):
                return torch.full((1, 2), torch.nan)
            if torch.equal(x, GRAPHS[6].x):
                raise RuntimeError("not today")
            return calm.model(x, edge_index, batch)

    explainer = make_explainer("random").fit([], ModelOracle(Moody(), num_classes=2))
    found = list(explain_stream(explainer, GRAPHS, engine="local", workers=2))
    failures = {each.place: each.failure for each in found if each.failure}
    assert {place: each.kind for place, each in failures.items()} == {
        4: "OracleError",
        6: "OracleError",
    }


def test_ctrl_c_leaves_what_was_finished(forks, explainer):
    def interrupted():
        raise KeyboardInterrupt

    calls = iter([None, None, interrupted])

    class Graphs(list):
        def __iter__(self):
            for place, graph in enumerate(super().__iter__()):
                if place == 8:
                    next(calls, None)
                    raise KeyboardInterrupt
                yield graph

    how = stream_module.How("inline", 1)
    with pytest.raises(SearchInterrupted) as error:
        stream_module.explain_elsewhere(how, explainer, Graphs(GRAPHS), stream_module.complete({}))
    assert sorted(error.value.finished) == list(range(8))


# What cannot be.


def test_what_an_engine_cannot_do_is_refused_in_a_sentence(explainer):
    with pytest.raises(UnknownNameError) as error:
        explainer.explain_many(GRAPHS, engine="locl")
    assert "did you mean 'local'" in str(error.value)
    for options in (
        {"engine": "local", "workers": 0},
        {"engine": "inline", "workers": 3},
        {"engine": "local", "watch": print},
    ):
        with pytest.raises(ConfigError) as error:
            explainer.explain_many(GRAPHS, **options)
        assert_sentence(error, "expected")
    for options in (
        {"deadline": 3},
        {"engine": "local", "deadline": -1},
        {"engine": "local", "address": "auto"},
    ):
        with pytest.raises(ConfigError) as error:
            explain_stream(explainer, GRAPHS, **options)
        assert_sentence(error, "expected")


def test_a_model_that_cannot_travel_is_refused_in_a_sentence(explainer):
    explainer.oracle_.model.lock = threading.Lock()
    with pytest.raises(ConfigError) as error:
        explainer.explain_many(GRAPHS, engine="local", workers=2)
    assert_sentence(error, "travel", "inline")


SCRIPT = """
import torch
from edgeflip import ModelOracle, make_explainer
from edgeflip.testing import example_graphs

class Mine(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.out = torch.nn.Linear(1, 2)

    def forward(self, x, edge_index, batch):
        edges = torch.bincount(batch[edge_index[0]], minlength=int(batch.max()) + 1)
        return self.out(edges[:, None].float() - 20)

graphs = example_graphs(4, seed=3)
explainer = make_explainer("random").fit([], ModelOracle(Mine(), num_classes=2))
answers = explainer.explain_many(graphs, engine="local", workers=1)
print([answer.found for answer in answers] == [a.found for a in explainer.explain_many(graphs)])
"""


def test_a_script_needs_no_guard_around_its_main_part(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, check=False
    )
    assert done.stdout.strip() == "True", done.stderr


def test_rows_are_signed(explainer, tmp_path):
    with pytest.raises(KeyboardInterrupt):
        explain_into(explainer, _stopping_after(26), tmp_path)
    journal = tmp_path / "answers.jsonl"
    lines = journal.read_text().splitlines()
    row = json.loads(lines[0])
    row["found"] = not row["found"]
    journal.write_text("\n".join([json.dumps(row), *lines[1:]]) + "\n")
    with pytest.raises(ArtifactError) as error:
        explain_into(explainer, example_graphs(40, seed=3), tmp_path)
    assert_sentence(error, "changed afterwards")


def _stopping_after(count):
    yield from example_graphs(40, seed=3)[:count]
    raise KeyboardInterrupt
