"""BBBP and Mutag0: what the files hold, how it is split, and what happens without files or RDKit."""

import gzip
import hashlib
import http.server
import os
import sys
import threading
from collections import Counter
from pathlib import Path

import pytest

from conftest import assert_sentence
from edgeflip import load_preset
from edgeflip.datasets import load_dataset
from edgeflip.datasets.catalogue import RequiredFile, catalogue
from edgeflip.datasets.download import fetch_dataset, fetch_file
from edgeflip.errors import ConfigError, DatasetError

DATA_DIR = os.environ.get("EDGEFLIP_DATA")
needs_files = pytest.mark.skipif(
    not DATA_DIR
    or bool(catalogue()["bbbp"].missing(Path(DATA_DIR)))
    or bool(catalogue()["mutag0"].missing(Path(DATA_DIR))),
    reason="set EDGEFLIP_DATA to a folder with bbbp/ and mutag0/; see docs/guides/data.md",
)


def split_checksum(bundle):
    return hashlib.sha256(repr(bundle.split).encode()).hexdigest()


@needs_files
def test_bbbp_is_the_published_set():
    pytest.importorskip("rdkit", reason="needs RDKit: pip install 'edgeflip[chem]'")
    bundle = load_dataset("bbbp", DATA_DIR)
    assert Counter(int(graph.y) for graph in bundle.graphs) == {1: 1560, 0: 479}
    assert bundle.split.sizes == catalogue()["bbbp"].split == (1631, 203, 205)
    assert bundle.split.test[:5] == (894, 344, 1856, 875, 810)
    assert split_checksum(bundle).startswith("a0fb6749ae5faf70")
    assert bundle.num_features == 9
    assert bundle.drawing == "molecule"
    assert round(sum(graph.num_nodes for graph in bundle.graphs) / 2039, 2) == 24.06
    assert all(graph.edge_attr is None and graph.smiles for graph in bundle.graphs)
    assert bundle.motif_nodes is None


@needs_files
def test_mutag0_is_the_published_set_and_class_0_is_mutagenic():
    bundle = load_dataset("mutag0", DATA_DIR)
    assert Counter(int(graph.y) for graph in bundle.graphs) == {0: 448, 1: 1853}
    assert bundle.class_names == ("mutagenic", "not mutagenic")
    assert bundle.split.sizes == catalogue()["mutag0"].split == (1840, 230, 231)
    assert bundle.split.test[:5] == (1221, 75, 674, 92, 72)
    assert split_checksum(bundle).startswith("c358d4f1a30af14e")
    assert all(bool((graph.x.sum(dim=1) == 1).all()) for graph in bundle.graphs)
    assert sum(graph.num_edges for graph in bundle.graphs) == 142566
    with_motif = [graph for graph in bundle.graphs if bundle.motif_nodes(graph)]
    assert Counter(int(graph.y) for graph in with_motif) == {0: 448, 1: 14}
    # The motif of the first mutagenic graph holds carbon, nitrogen and oxygen.
    first = next(graph for graph in bundle.graphs if int(graph.y) == 0)
    assert {6, 7, 8} == {int(first.z[node]) for node in bundle.motif_nodes(first)}


def test_without_a_data_folder_one_sentence_says_how_to_get_the_files(monkeypatch, tmp_path):
    monkeypatch.delenv("EDGEFLIP_DATA", raising=False)
    with pytest.raises(DatasetError) as error:
        load_dataset("mutag0")
    assert_sentence(error, "EDGEFLIP_DATA", "chrisjtan/gnn_cff")
    with pytest.raises(DatasetError, match="edgeflip data get bbbp"):
        load_dataset("bbbp", tmp_path)


def test_missing_rdkit_names_the_extra(monkeypatch):
    from edgeflip.datasets.chemistry import molecule_graph

    monkeypatch.setitem(sys.modules, "rdkit", None)
    with pytest.raises(ConfigError) as error:
        molecule_graph("CCO")
    assert_sentence(error, "pip install 'edgeflip[chem]'")


@pytest.mark.parametrize("name", ["bbbp", "mutag0"])
def test_presets_are_there_in_all_profiles(name):
    paper = load_preset(name, "paper")
    assert paper.oracle.layers == (128, 128, 128)
    assert (paper.oracle.readout, paper.oracle.normalize) == ("max", True)
    assert all(load_preset(name, profile).dataset == name for profile in ("cpu", "smoke"))


def test_published_results_are_as_printed():
    bbbp = load_preset("bbbp", "paper").expected
    assert bbbp.oracle_accuracy == 0.8195
    assert bbbp.methods["d4explainer"].first_size == 18.97
    assert bbbp.by_class["dr-cfgnn -DeN +OH"][1].validity == 0.743
    mutag0 = load_preset("mutag0", "paper")
    assert mutag0.method("dr_cfgnn")["add"] == {"max": 0}
    assert mutag0.method("dr_cfgnn")["remove"]["max"] == 1
    assert mutag0.expected.by_class["dr-cfgnn"][1].fidelity == 0.78


def required(content, url=None):
    return RequiredFile("set/file.txt", hashlib.sha256(content).hexdigest(), url)


def test_a_packed_file_is_read_and_a_bomb_is_not(tmp_path, monkeypatch):
    (tmp_path / "set").mkdir()
    content = b"0, 1\n" * 100
    (tmp_path / "set" / "file.txt.gz").write_bytes(gzip.compress(content))
    assert required(content).read(tmp_path, otherwise="") == content
    monkeypatch.setenv("EDGEFLIP_MAX_FILE_BYTES", "300")
    with pytest.raises(DatasetError) as error:
        required(content).read(tmp_path, otherwise="")
    assert_sentence(error, "300 bytes")


def test_a_link_out_of_the_data_folder_is_refused(tmp_path):
    (tmp_path / "data" / "set").mkdir(parents=True)
    (tmp_path / "secret").write_bytes(b"x")
    (tmp_path / "data" / "set" / "file.txt").symlink_to(tmp_path / "secret")
    with pytest.raises(DatasetError) as error:
        required(b"x").read(tmp_path / "data", otherwise="")
    assert_sentence(error, "a link to")


class Handler(http.server.BaseHTTPRequestHandler):
    content = bytes(range(256)) * 400
    ranges = True
    asked: list[str] = []  # noqa: RUF012

    def do_GET(self):
        wanted = self.headers.get("Range")
        self.asked.append(wanted)
        start = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted and self.ranges else 0
        self.send_response(206 if wanted and self.ranges else 200)
        self.send_header("Content-Length", str(len(self.content) - start))
        self.end_headers()
        self.wfile.write(self.content[start:])

    def log_message(self, *args):
        pass


@pytest.fixture
def server():
    Handler.asked, Handler.ranges = [], True
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        threading.Thread(target=running.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{running.server_port}/file.txt"
        running.shutdown()


@pytest.mark.parametrize("ranges", [True, False])
def test_a_download_goes_on_where_it_was_cut_off(tmp_path, server, ranges):
    Handler.ranges = ranges
    (tmp_path / "set").mkdir()
    part = tmp_path / "set" / "file.txt.part"
    part.write_bytes(Handler.content[:1000])
    place = fetch_file(required(Handler.content, server), tmp_path)
    assert place.read_bytes() == Handler.content
    assert Handler.asked == ["bytes=1000-"]
    assert not part.exists()


def test_another_file_than_the_pinned_one_is_not_kept(tmp_path, server):
    with pytest.raises(DatasetError) as error:
        fetch_file(required(b"other", server), tmp_path)
    assert_sentence(error, "sha256")
    assert not any(path.is_file() for path in tmp_path.rglob("*"))


def test_line_ends_may_differ(tmp_path, server, monkeypatch):
    monkeypatch.setattr(Handler, "content", b"a,b\r\n1,2\r\n")
    assert fetch_file(required(b"a,b\n1,2\n", server), tmp_path).read_bytes() == b"a,b\n1,2\n"


def test_a_server_that_is_not_there_is_one_sentence(tmp_path):
    with pytest.raises(DatasetError) as error:
        fetch_file(required(b"x", "http://127.0.0.1:9/file.txt"), tmp_path)
    assert_sentence(error, "check the network")


def test_what_cannot_be_downloaded_says_where_to_put_the_files(tmp_path):
    with pytest.raises(DatasetError) as error:
        fetch_dataset("mutag0", tmp_path)
    assert_sentence(error, "chrisjtan/gnn_cff")
