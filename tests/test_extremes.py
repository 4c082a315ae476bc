"""Numbers of any size, objects without a truth, and rows with holes: taken, or refused in a sentence.

The fuzzer found one of each kind; here are the others of the kind.
"""

import inspect
import json
import random
import shutil
from dataclasses import asdict, dataclass, fields, is_dataclass

import numpy as np
import pytest
import torch

import edgeflip
from edgeflip import Budget, Constraints, EditSet, MeteredOracle, Noise
from edgeflip.bench import load_spec, run_bench
from edgeflip.bench.report import read_results, summarize_run
from edgeflip.bench.report.contents import all_tables
from edgeflip.bench.timing import hard_limit
from edgeflip.cli.commands import app, bench, data
from edgeflip.core import add_noise
from edgeflip.datasets.bundle import random_split
from edgeflip.errors import ArtifactError, ConfigError, ConstraintError, EdgeflipError
from edgeflip.links import fit_links
from edgeflip.metrics import METRICS
from edgeflip.oracle import Allowance, ClassGoal, ValueGoal
from edgeflip.presets.schema import OracleSettings
from edgeflip.testing import example_graphs, example_oracle
from fuzzing.commands import in_process
from fuzzing.corpus import make_corpus
from fuzzing.places import _renamed
from made_up_run import made_up, write_run

HUGE = 10**30
GRAPH = example_graphs(1, seed=4)[0]
MANY = torch.ones(2, 2)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    return make_corpus(tmp_path_factory.mktemp("extremes") / "corpus")


# Command lines: every option that takes a number.

LINES = {
    "explain": "explain --model model.py:build --graph graph.json --fill mode --profile smoke --calls 30",
    "demo": "demo --profile smoke --graphs 2 --out demo",
    "train": "train --data tu --profile smoke --out trained",
    "summarize": "summarize --data tu --from-class 1 --steps 3 --profile smoke",
    "run": "bench run tiny.toml --out run",
}


def numeric_options():
    for part in (app, bench, data):
        for command in part.registered_commands:
            for name, option in inspect.signature(command.callback).parameters.items():
                kind = str(getattr(option.annotation, "__origin__", option.annotation))
                if "int" in kind or "float" in kind:
                    yield command.callback.__name__, f"--{name.replace('_', '-')}"


@pytest.mark.parametrize(("command", "option"), list(numeric_options()))
def test_an_option_takes_a_number_of_any_size_or_refuses_it_in_a_sentence(
    command, option, corpus, tmp_path
):
    for value in (str(HUGE), "9" * 5_000, "-1"):
        folder = shutil.copytree(corpus, tmp_path / value[:40])
        code, _, err = in_process([*LINES[command].split(), option, value], folder)
        assert code in (0, 1, 2), err
        assert "edgeflip made a mistake" not in err
        if code == 2:
            assert err.strip().splitlines()[-1].startswith("error: ")


def test_every_command_with_numbers_is_looked_at():
    found = {command for command, _ in numeric_options()}
    assert found == set(LINES)
    assert ("run", "--workers") in set(numeric_options())


@pytest.mark.parametrize("workers", [0, -1, 1_025, 2**63, HUGE, True, "2", None, 1.5])
def test_a_number_of_workers_that_cannot_be_is_refused(workers, corpus, tmp_path):
    _, spec = load_spec(corpus / "tiny.toml")
    with pytest.raises(ConfigError, match="workers"):
        run_bench(spec, tmp_path, workers=workers)


# Settings and arguments.


def numbers_in(config, way=()):
    for item in fields(config):
        value = getattr(config, item.name)
        if is_dataclass(value):
            yield from numbers_in(value, (*way, item.name))
        elif isinstance(value, int | float) and not isinstance(value, bool):
            yield (*way, item.name)


@pytest.mark.parametrize("method", edgeflip.list_explainers())
def test_a_setting_of_more_than_64_bits_is_refused_by_its_name(method):
    plain = asdict(edgeflip.make_explainer(method, profile="smoke").config)
    for first, *rest in numbers_in(edgeflip.make_explainer(method, profile="smoke").config):
        value = json.loads(json.dumps(plain[first])) if rest else HUGE
        part = value
        for key in rest[:-1]:
            part = part[key]
        if rest:
            part[rest[-1]] = HUGE
        with pytest.raises(ConfigError, match=rest[-1] if rest else first):
            edgeflip.make_explainer(method, profile="smoke", overrides={first: value})


LARGE = {
    "edgeflip": {
        "beam": {"max_edits": 2**31},
        "remove": {"max": 2**31},
        "add": {"alpha": 1e308},
        "predictor": {"encoder_width": 2**31},
        "training": {"learning_rate": 1e308},
    },
    "dr-cfgnn": {"predictor": {"decoder": [2**31]}, "remove": {"max": 2**62}},
    "d4explainer": {
        "levels": 2**31,
        "denoiser": {"width": 2**31},
        "training": {"levels": 2**31},
    },
    "gist": {"hidden": 2**31, "edge_width": 2**40, "weight_decay": 1e308},
    "rsgg-ce": {"discriminator_width": 2**31, "learning_rate": 1e308},
    "cf2": {"learning_rate": 1e308},
    "cf-gnnexplainer": {"learning_rate": 1e308},
    "c2explainer": {"learning_rate": 1e308},
    "xplore": {"learning_rate": 1e308},
    "gcfexplainer": {"max_inputs": 0},
}


@pytest.mark.parametrize(
    ("method", "key"), [(method, key) for method, table in LARGE.items() for key in table]
)
def test_a_setting_that_took_all_memory_is_refused_before(method, key):
    with pytest.raises(ConfigError):
        edgeflip.make_explainer(method, profile="smoke", overrides={key: LARGE[method][key]})


CALLS = {
    "sigma of too many digits": lambda: Noise(sigma=10**400),
    "sigma beyond the features": lambda: add_noise(GRAPH, Noise(sigma=1e308), seed=0),
    "room": lambda: Constraints(room={3: HUGE}),
    "max_edits": lambda: Constraints(max_edits=HUGE),
    "calls": lambda: Budget(oracle_calls=HUGE),
    "seconds": lambda: Budget(seconds=HUGE),
    "oracle": lambda: OracleSettings(learning_rate=1e308),
    "split": lambda: random_split(HUGE),
    "keep": lambda: edgeflip.explain(example_oracle(), GRAPH, keep=HUGE),
    "seed": lambda: edgeflip.explain(example_oracle(), GRAPH, seed=HUGE),
    "batch_size": lambda: edgeflip.ModelOracle(example_oracle().model, batch_size=HUGE),
    # What has no truth of its own.
    "stratified": lambda: edgeflip.load_graphs("x.csv", stratified=MANY),
    "name": lambda: edgeflip.load_graphs("x.csv", name=np.ones(3)),
    "split of tensors": lambda: edgeflip.bundle_from([GRAPH] * 4, [0, 1] * 2, split=MANY),
    "settings": lambda: fit_links([GRAPH] * 4, example_oracle(), MANY),
    "required_edges": lambda: edgeflip.EdgeFlip(required_edges="ab"),
    "half a node": lambda: edgeflip.EdgeFlip(forbidden_pairs=[(0, 1.7)]),
    "budget": lambda: MeteredOracle(example_oracle(), MANY),
    "noise": lambda: add_noise(GRAPH, MANY, seed=0),
    "task": lambda: edgeflip.explain(example_oracle(), GRAPH, task=np.ones(3)),
    "data_dir": lambda: edgeflip.list_datasets(MANY),
    "folder": lambda: edgeflip.save_oracle(example_oracle(), MANY),
    "half a letter": lambda: edgeflip.save_oracle(example_oracle(), "\ud800"),
    "spec": lambda: run_bench(MANY, "nowhere"),
    "networkx": lambda: edgeflip.graph_from_networkx(MANY),
    "fingerprint": lambda: edgeflip.fingerprint(MANY),
}


@pytest.mark.parametrize("name", CALLS)
def test_an_argument_that_crashed_before_is_refused(name):
    with pytest.raises(EdgeflipError) as error:
        CALLS[name]()
    assert str(error.value).startswith("expected ")


def test_a_whole_number_stands_for_a_float_however_large_it_is():
    assert Noise(sigma=HUGE).sigma == 1e30
    assert add_noise(GRAPH, Noise(sigma=HUGE), seed=0).x.isfinite().all()
    with hard_limit(Allowance(seconds=1e308), graphs=2):
        pass


# Tables that are read.

TABLES = {
    "rules as a tensor": lambda: Constraints.from_dict({"rules": MANY}),
    "rules of arrays": lambda: Constraints.from_dict({"rules": [np.ones(3)]}),
    "rules None": lambda: Constraints.from_dict({"rules": None}),
    "no table": lambda: Constraints.from_dict(5),
    "edits of no table": lambda: EditSet.from_dict(5),
    "edits of a sparse tensor": lambda: EditSet.from_dict(
        {"added": MANY.to_sparse(), "removed": []}
    ),
    "goal": lambda: ClassGoal.from_dict(MANY),
    "value goal": lambda: ValueGoal.from_dict({"relation": MANY, "before": [1], "threshold": 1}),
    "value goal without parts": lambda: ValueGoal.from_dict({}),
    "value goal of many digits": lambda: ValueGoal.from_dict(
        {"relation": ">", "before": [10**400], "threshold": 1}
    ),
}


@pytest.mark.parametrize("name", TABLES)
def test_a_table_of_odd_objects_is_refused(name):
    with pytest.raises(EdgeflipError):
        TABLES[name]()


def test_rules_without_a_hash_may_be_combined():
    @dataclass
    class Few:
        most: int

        def __call__(self, graph, edits):
            return len(edits) <= self.most

    one, two = Few(1), Few(2)
    both = Constraints(rules=(one,)) & Constraints(rules=(two, one))
    assert both.rules == (one, two)
    with pytest.raises(ConstraintError):
        Constraints.from_dict(both.to_dict())


# Rows of a run.


def reported(folder, rows):
    results = read_results(write_run(folder, rows))
    return all_tables(results, summarize_run(results))


def answered(method, number, **more):
    """A row as runs write it now: every metric by its name."""
    row = next(row for row in made_up() if row.get("found"))
    values = {name: 0.5 for name, metric in METRICS.items() if metric.level == "answer"}
    return {
        **row,
        **values,
        "method": method,
        "graph": number,
        "validity": 1.0,
        "size": 2,
        "added": [[0, 1]],
        **more,
    }


KEYS = sorted(set(answered("edgeflip", 0)) - {"kind", "dataset", "method", "graph"})


@pytest.mark.parametrize("key", KEYS)
def test_a_report_is_written_whatever_a_row_lacks(key, tmp_path):
    lacking = answered("edgeflip", 0)
    del lacking[key]
    empty = answered("edgeflip", 1, **{key: None})
    for dataset in ("ba_2motifs", "mutag0", "graph_sst5"):
        rows = [{**row, "dataset": dataset} for row in (lacking, answered("edgeflip", 2))]
        assert reported(tmp_path / dataset, [*made_up(), *rows])
    try:
        assert reported(tmp_path / "none", [*made_up(), empty])
    except ArtifactError as error:
        assert key in str(error)  # noqa: PT017 - refused or written, never anything else


VALUES = (HUGE, 1e308, -1e308, "x", [1.0, 1e308], {"a": 1}, -5)


@pytest.mark.parametrize("key", KEYS)
def test_a_row_with_an_odd_value_is_refused_or_reported(key, tmp_path):
    for place, value in enumerate(VALUES):
        rows = [*made_up(), answered("edgeflip", 0, **{key: value}), answered("edgeflip", 1)]
        try:
            reported(tmp_path / str(place), rows)
        except ArtifactError as error:
            assert "remove that" in str(error)  # noqa: PT017 - see above


OLDER = {
    "changes": ("noise", {"changes": 10**12, "changes_kept": 10**12}),
    "kept": ("noise", {"changes": "x"}),
    "denoised": ("notes", {"denoised_edges": "x"}),
    "label": ("label", -5),
}


@pytest.mark.parametrize("name", OLDER)
def test_an_older_row_that_crashed_is_refused(name, tmp_path):
    key, value = OLDER[name]
    rows = made_up()
    rows[0][key] = value
    with pytest.raises(ArtifactError, match="remove that row"):
        reported(tmp_path, rows)


# The fuzzer itself.


def test_a_file_whose_name_is_an_ending_can_be_renamed(tmp_path):
    for number in range(40):
        path = tmp_path / ".lock"
        path.touch()
        assert _renamed(path, random.Random(number)).exists()
