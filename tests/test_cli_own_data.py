"""The command line on files of one's own."""

import pytest

from edgeflip.cli import main


def test_another_label_in_a_file_of_the_same_name_gets_a_model_of_its_own(
    tmp_path, capsys, monkeypatch
):
    pytest.importorskip("rdkit", reason="pip install 'edgeflip[chem]'")
    monkeypatch.chdir(tmp_path)
    texts = ["C" * size + "O" * (size % 2) for size in range(3, 43)]
    for folder, flip in (("one", 0), ("two", 1)):
        (tmp_path / folder).mkdir()
        lines = [f"{text},{(number + flip) % 2}" for number, text in enumerate(texts)]
        (tmp_path / folder / "mols.csv").write_text("smiles,label\n" + "\n".join(lines))
        arguments = [
            "explain",
            "--data",
            f"{folder}/mols.csv",
            "--index",
            "0",
            "--profile",
            "smoke",
        ]
        with pytest.raises(SystemExit):
            main([*arguments, "--method", "random", "--calls", "50"])
    capsys.readouterr()
    assert len(list((tmp_path / "runs").iterdir())) == 2


def test_a_misspelt_column_and_another_separator_are_named(tmp_path, capsys):
    pytest.importorskip("rdkit", reason="pip install 'edgeflip[chem]'")
    file = tmp_path / "mols.csv"
    file.write_text("SMILES,active\nCCO,1\nCC,0\n")
    for content, option, words in (
        ("SMILES,active\nCCO,1\nCC,0\n", "activ", "did you mean 'active'"),
        ("SMILES;active\nCCO;1\nCC;0\n", "active", "something else than commas"),
    ):
        file.write_text(content)
        with pytest.raises(SystemExit) as end:
            main(["explain", "--data", str(file), "--label-column", option, "--index", "0"])
        assert end.value.code == 2
        assert words in capsys.readouterr().err
