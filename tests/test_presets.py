from __future__ import annotations

from importlib import resources

import pytest

from edgeflip.datasets import list_datasets
from edgeflip.errors import ConfigError, UnknownNameError
from edgeflip.presets import PROFILES, ExpectedResult, OracleSettings, load_preset, read_preset

FILES = [
    (profile, file.name.removesuffix(".toml"))
    for profile in PROFILES
    for file in resources.files("edgeflip.presets").joinpath(profile).iterdir()
    if file.name.endswith(".toml")
]
BA_SETS = ("ba_2motifs", "ba_2motifs_3class", "ba_3motifs", "ba_4motifs")
TABLE_ONE = {
    "random",
    "gcfexplainer",
    "cf2",
    "d4explainer",
    "rsgg-ce",
    "gist",
    "dr-cfgnn -DeN -OH",
    "dr-cfgnn +DeN -OH",
    "dr-cfgnn -DeN +OH",
    "dr-cfgnn +DeN +OH",
}


@pytest.mark.parametrize(("profile", "name"), FILES)
def test_every_preset_can_be_loaded(profile: str, name: str) -> None:
    preset = load_preset(name, profile)
    assert preset.profile == profile
    assert preset.dataset == (None if name == "default" else name)
    assert (preset.expected is not None) == (profile == "paper" and name != "default")


def test_every_dataset_and_profile_has_a_file() -> None:
    for profile in PROFILES:
        assert (profile, "default") in FILES
        assert all((profile, name) in FILES for name in BA_SETS)
    assert set(BA_SETS) <= {entry.name for entry in list_datasets()}


@pytest.mark.parametrize("name", BA_SETS)
def test_the_paper_profile_has_the_published_settings(name: str) -> None:
    settings = load_preset(name, "paper").oracle
    assert settings == OracleSettings(
        layers=(20, 20, 20),
        readout="mean",
        normalize=False,
        epochs=800,
        batch_size=64,
        learning_rate=0.001,
        weight_decay=0.0,
        patience=None,
        clip_value=2.0,
        tie_break="first",
    )


@pytest.mark.parametrize("name", BA_SETS)
def test_the_paper_profile_has_a_result_for_every_method(name: str) -> None:
    expected = load_preset(name, "paper").expected
    assert expected is not None
    assert set(expected.methods) == TABLE_ONE | {"dr-cfgnn"}
    for method in TABLE_ONE:
        result = expected.methods[method]
        for value in (result.validity, result.fidelity, result.motif_proximity, result.minimality):
            assert value is not None
            assert 0 <= value <= 1
        assert result.size is not None
        assert result.size >= 1


def test_a_few_published_results_are_as_printed() -> None:
    expected = load_preset("ba_2motifs", "paper").expected
    assert expected is not None
    assert expected.oracle_accuracy == 0.98
    random = expected.methods["random"]
    assert (random.validity, random.fidelity, random.size, random.seconds) == (
        1.0,
        0.82,
        1.0,
        0.197,
    )
    best = expected.methods["dr-cfgnn +DeN +OH"]
    assert (best.validity, best.size, best.first_size) == (0.93, 1.33, None)
    assert expected.methods["dr-cfgnn"].ecan == 0.92


def test_the_appendix_and_the_dropped_edges_are_as_printed() -> None:
    dropped = []
    for name in BA_SETS:
        expected = load_preset(name, "paper").expected
        assert expected is not None
        assert set(expected.by_class) == {"dr-cfgnn -DeN +OH", "dr-cfgnn +DeN +OH"}
        dropped += [expected.methods[f"dr-cfgnn +DeN {hot}OH"].dropped_edges for hot in "-+"]
        assert expected.methods["dr-cfgnn -DeN +OH"].dropped_edges is None
    assert dropped == [3.55, 3.55, 2.28, 2.28, 6.69, 6.69, 4.98, 4.98]
    expected = load_preset("ba_4motifs", "paper").expected
    assert expected is not None
    assert set(expected.by_class["dr-cfgnn -DeN +OH"]) == {0, 1, 2, 3}
    clique = expected.by_class["dr-cfgnn +DeN +OH"][3]
    assert clique == ExpectedResult(
        validity=0.743, fidelity=0.85, size=3.23, minimality=0.21, motif_proximity=0.91
    )
    two = load_preset("ba_2motifs", "paper").expected
    assert two is not None
    assert two.by_class["dr-cfgnn -DeN +OH"][0] == ExpectedResult(
        validity=0.860, fidelity=0.96, size=1.45, minimality=1.0, motif_proximity=0.80
    )


def test_random_may_add_more_where_cliques_are_wanted() -> None:
    limits = {name: load_preset(name, "paper").method("random") for name in BA_SETS}
    assert [limits[name]["max_added"] for name in BA_SETS] == [2, 2, 5, 5]
    assert {table["max_removed"] for table in limits.values()} == {2}
    assert {table["seconds"] for table in limits.values()} == {120}
    assert load_preset("ba_4motifs").method("random") == limits["ba_4motifs"] | {
        "oracle_calls": 1_000_000,
        "seconds": 60,
    }


@pytest.mark.parametrize("dataset", [None, "my own", "../cpu/ba_2motifs", "default", ""])
def test_data_without_a_preset_get_the_default(dataset: str | None) -> None:
    preset = load_preset(dataset)
    assert preset.dataset is None
    assert preset.oracle.normalize


def test_names_are_matched_leniently() -> None:
    assert load_preset("BA-2Motifs-3Class").dataset == "ba_2motifs_3class"
    preset = read_preset("[dr-cfgnn]\nbeta = 1", dataset=None, profile="cpu", where="a.toml")
    assert preset.method("dr_cfgnn") == preset.method("DR-CFGNN") == {"beta": 1}


def test_a_method_without_a_table_has_no_settings() -> None:
    assert load_preset("ba_2motifs").method("no such method") == {}


def test_changing_a_method_table_does_not_change_the_preset() -> None:
    preset = load_preset("ba_2motifs")
    preset.method("random")["max_added"] = 99
    assert preset.method("random")["max_added"] == 2


def test_an_unknown_profile_suggests_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="unknown profile 'papers', did you mean 'paper'"):
        load_preset("ba_2motifs", "papers")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[oracle]\nepoch = 3", r"a\.toml \[oracle\].*unknown key 'epoch', did you mean 'epochs'"),
        ("[oracle]\nepochs = 'many'", "'many' for 'epochs'"),
        ("[oracle]\nepochs = 0", "epochs to be at least 1, got 0"),
        ("[oracle]\nlearning_rate = -1.0", "learning_rate to be above 0"),
        ("[oracle]\nlearning_rate = nan", "learning_rate to be above 0"),
        ("[oracle]\nlayers = []", "layers to be widths"),
        ("[oracle]\nreadout = 'median'", "median"),
        ("[oracle]\npatience = 0", "patience to be at least 1"),
        ("[expected]\nrandom = { valid = 1.0 }", r"\[expected\] \"random\".*unknown key 'valid'"),
        ("[expected]\nrandom = 1.0", "to be tables, got 1.0 for 'random'"),
        ("[expected]\noracle_accuracy = 'high'", "oracle_accuracy"),
        ("[expected]\nby_class = 1.0", "to be tables, got 1.0"),
        ("[expected.by_class.random]\none = { size = 1.0 }", "numbers of classes, got 'one'"),
        ("[expected.by_class.random]\n1 = { sizes = 1.0 }", "unknown key 'sizes'"),
        ("epochs = 3", "tables only .*'epochs'"),
        ("[oracle", "expected TOML in a.toml"),
    ],
)
def test_a_preset_with_a_mistake_is_one_sentence(text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        read_preset(text, dataset=None, profile="cpu", where="a.toml")
    assert "\n" not in str(caught.value)


def test_settings_made_by_hand_are_checked_too() -> None:
    with pytest.raises(ConfigError, match="batch_size"):
        OracleSettings(batch_size=0)
