"""Every script of benchmarks/ runs, with settings so small that its figures say nothing."""

from __future__ import annotations

import importlib.util
import shlex
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest
import torch

from edgeflip import load_dataset, train_oracle
from edgeflip.core import EditSet
from edgeflip.draw import TEXTS, Disc, Words
from edgeflip.support import write_artifact
from edgeflip.training import oracle_for

FOLDER = Path(__file__).parents[1] / "benchmarks"
SMALL = "--profile smoke --datasets ba_2motifs --graphs 2"

# Scripts that start processes, each of which imports torch.
STARTING = ("engines", "scaling")

# Arguments of every script, and a word that it prints.
ARGUMENTS = {
    "pictures": ("--only graph --profile smoke --models {tmp} --out {tmp}", "drawn in"),
    "certificates": (f"{SMALL} --models {{tmp}} --json", "forgeries_passed"),
    "choices": (
        "gist --profile smoke --datasets ba_2motifs --graphs 2 --out {tmp} --json",
        "Taken: across the graphs",
    ),
    "convert_317d3ee": ("{old} {tmp}", "ba_2motifs: dr-cfgnn+OH"),
    "costs": (f"{FOLDER.parent / 'docs' / 'results' / 'ba'}", "ba_2motifs,edgeflip,cpu,"),
    "d4": (
        f"{FOLDER.parent / 'src'} --profile smoke --datasets ba_2motifs --graphs 12 --batches 1 --json",
        '"ratio": ',
    ),
    "encode": ("graph_twitter", "load from the cache"),
    "engines": (
        "--out {tmp} --profile smoke --dataset ba_2motifs --graphs 12 --rounds 1",
        "Overhead of local",
    ),
    "engine": ("--rounds 1 --json", "share_of_bare_model"),
    "figures": ("--quick --graphs 2 --out {tmp} --json", "link_predictor_auc"),
    "fuzz": ("--cases 2 --entries GEXF --workers 1 --out {tmp} --json", "graphs from files"),
    "gist_features": (f"{SMALL} --models {{tmp}}", "| ba_2motifs | 2 |"),
    "golden": (
        f"{{tmp}} {SMALL} --methods random edgeflip --golden {{tmp}}.json --record",
        "| ba_2motifs | edgeflip | 2 |",
    ),
    "guided": (
        f"{FOLDER.parent / 'src'} {SMALL} --models {{tmp}} --split val --noise --rows {{tmp}}.jsonl",
        "| ba_2motifs | ",
    ),
    "large": (
        "--smoke --ways gradient random --models {tmp} --rows {tmp}/rows.jsonl",
        "| 600 | random | ",
    ),
    "scaling": (
        "--out {tmp} --profile smoke --graphs 4 8 --nodes 12 25 --each 1 --figure {tmp}/growth.svg",
        "of the graphs",
    ),
    "masks": (f"{SMALL} --methods cf2 --alone", "cf2"),
    "memory": ("--profile smoke --dataset ba_2motifs --graphs 2", "of 2 answered"),
    "oracles": ("--profile smoke --datasets ba_2motifs --seeds 1 --json", "test_accuracy"),
    "passes": (
        f"{SMALL} --methods edgeflip random cf2 --budgets 20 200 --models {{tmp}} "
        "--rows {tmp}/rows.jsonl --out {tmp}",
        "| cf2 | ",
    ),
    "padding": (
        f"{FOLDER.parent / 'src'} --profile smoke --graphs 40 --work links --seeds 1 --json",
        "| molecules | links | other | ",
    ),
    "pipeline": ("--profile smoke --out {tmp}.svg", "6. Rank: The first"),
    "probe": (
        "smoke --datasets ba_2motifs --methods random --graphs 2 --out {tmp}",
        "ba_2motifs,random,smoke,",
    ),
    "profile_explain": (f"{SMALL} --models {{tmp}} --json", "oracle_share"),
    "reach": (
        f"{FOLDER.parent / 'src'} --profile smoke --datasets ba_2motifs most_ties --graphs 2 "
        "--models {tmp} --rows {tmp}/rows.jsonl --missed {tmp}/missed.jsonl",
        "| most_ties | ",
    ),
    "redraw": ("{report}", "size.svg"),
    "speed": (f"{SMALL} --rounds 1 --other random --models {{tmp}}", "| ba_2motifs | 2 |"),
    "stable": (f"{SMALL} --models {{tmp}}", "stable=8"),
    "startup": ("--rounds 1 --only 'edgeflip --version'", "| edgeflip --version |"),
    "together": (f"{SMALL} --rounds 1 --models {{tmp}}", "| ba_2motifs | 2 |"),
    "trust": (f"{SMALL} --models {{tmp}} --json", '"confirmed": '),
    "typed_edits": ("brute --number 3", "3 small molecules: no claim is wrong"),
    "two_versions": (f"{FOLDER.parent / 'src'} {SMALL} --rounds 1 --methods random", "| random |"),
    "subgraphx": ("--profile smoke --graphs 1 --rollouts 1 --json", "explain_speedup"),
}


def load(name: str, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"benchmark_{name}", FOLDER / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # Dataclasses look their module up by its name.
    monkeypatch.setitem(sys.modules, spec.name, module)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def threads() -> Iterator[None]:
    """The scripts set the number of threads, which is theirs to do."""
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


@pytest.fixture
def old_models(tmp_path: Path) -> Callable[[], Path]:
    """Folders as commit 317d3ee wrote them: an oracle and a DR-CFGNN."""

    def make() -> Path:
        bundle = load_dataset("ba_2motifs")
        oracle = oracle_for(bundle, tmp_path / "old" / "oracle", profile="smoke")
        predictor = {"predictor.weight": torch.ones(2)}
        numbers = {
            "sizes": torch.tensor([10, 2, 6]),
            "classes": torch.ones(2),
            "report": torch.ones(4),
            "stopped": torch.tensor(0),
        }
        config = {
            "method": "dr-cfgnn",
            "config": {"one_hot": True},
            "oracle": oracle.fingerprint(),
        }
        write_artifact(
            tmp_path / "old" / "fit",
            kind="explainer",
            config=config,
            tensors={**predictor, **numbers},
        )
        for path in (tmp_path / "old").glob("*/config.json"):
            path.write_text(path.read_text().replace('"format": 2', '"format": 1'))
        return tmp_path / "old"

    return make


def test_one_level_of_noise_is_compared_with_several(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], threads: None
) -> None:
    text = "--experiment one-level --profile smoke --datasets ba_2motifs --graphs 6 --epochs 2"
    load("d4", monkeypatch).main(shlex.split(text))
    rows = [line.split(" | ") for line in capsys.readouterr().out.splitlines()]
    assert [row[1:3] for row in rows[2:4]] == [["2", "2"], ["1", "2"]]
    assert len(rows) == 5


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.long] if name in STARTING else [])
        for name in sorted(ARGUMENTS)
    ],
)
@pytest.mark.usefixtures("threads")
def test_a_script_runs_and_prints_what_it_measured(
    name: str,
    tmp_path: Path,
    old_models: Callable[[], Path],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    text, word = ARGUMENTS[name]
    module = load(name, monkeypatch)
    if name == "encode":
        # Encoding takes a language model, which has tests of its own.
        motifs = load_dataset("ba_2motifs")
        monkeypatch.setattr(module, "load_sentences", lambda *names, **settings: motifs)
    old = old_models() if "{old}" in text else ""
    report = tmp_path / "report"
    report.mkdir()
    committed = FOLDER.parent / "docs" / "results" / "text_by_class" / "results.csv"
    (report / "results.csv").write_bytes(committed.read_bytes())
    module.main(shlex.split(text.format(tmp=tmp_path / "made", old=old, report=report)))
    assert word in capsys.readouterr().out


def test_the_pipeline_is_six_panels_in_the_order_of_the_stages(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    module = load("pipeline", monkeypatch)
    bundle = load_dataset("ba_3motifs")
    explainer = module.Watched.for_dataset("ba_3motifs", profile="smoke")
    explainer.fit(bundle.train[::10], train_oracle(bundle, profile="smoke"))
    answers = (explainer.explain(graph) for graph in bundle.test)
    # A predictor of few graphs does not find an answer for each.
    answer = next(answer for answer in answers if answer.found)
    stages = module.stages_of(explainer, answer)
    panels = module.panels_of(stages)
    names = ["Denoise", "Deconstruct", "Reconstruct", "Sample", "Verify", "Rank"]
    assert [name for name, _, _ in panels] == names
    # Nothing moves from panel to panel; the last one is a table.
    places = [
        [item.at for item in items if isinstance(item, Disc) and item.title]
        for _, _, items in panels[:5]
    ]
    assert all(each == places[0] for each in places)
    assert len(places[0]) == answer.graph.num_nodes
    # What was drawn is what was asked: the best one stands where the answer says it was found.
    drawn = torch.cat([answer.space.normalise(rows) for rows in explainer.drawn])
    assert answer.space.edits(drawn[answer.best.found_at][None]) == [answer.best.edits]
    assert stages.different == len(set(answer.space.edits(drawn)) - {EditSet()})
    scene = module.picture_of(panels, "stages").scene
    assert scene.width <= 908
    texts = [run for item in scene.items if isinstance(item, Words) for run in item.runs]
    assert [run.text for run in texts if run.style == "title"] == names
    assert min(TEXTS[run.style].size for run in texts) >= 12


def test_every_script_has_a_line_in_the_index_and_a_test() -> None:
    scripts = sorted(path.stem for path in FOLDER.glob("*.py"))
    assert scripts == sorted(ARGUMENTS)
    index = (FOLDER / "README.md").read_text("utf-8")
    assert [name for name in scripts if f"[{name}.py]({name}.py)" not in index] == []
