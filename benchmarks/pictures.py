"""The pictures of README and docs: a graph, a molecule and a tweet, and the page as a browser shows it.

    python benchmarks/pictures.py                          # docs/figures/*.svg; trains what is not there
    python benchmarks/pictures.py --only graph --profile smoke --out pictures
    python benchmarks/pictures.py --only screens           # two PNG of a page, in headless Chromium

Oracles are kept in --models and read from there ever after. Molecules and tweets need the dataset files
(EDGEFLIP_DATA).
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from edgeflip import Budget, CounterfactualSet, EdgeFlip, ModelOracle, load_dataset
from edgeflip.datasets import DatasetBundle
from edgeflip.training import oracle_for

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "figures"
_CALLS = 4000


class Maker:
    """Makes pictures, with oracles that are trained once.

    Args:
        models: Where oracles are kept.
        profile: Their preset.
        out: Where pictures go.
    """

    def __init__(self, models: Path, profile: str, out: Path) -> None:
        self.models, self.profile, self.out = models, profile, out

    def ask(self, dataset: str) -> tuple[DatasetBundle, ModelOracle]:
        """A dataset and its oracle."""
        bundle = load_dataset(dataset)
        place = self.models / f"{dataset}-{self.profile}"
        return bundle, oracle_for(bundle, place, profile=self.profile, seed=0)

    def graph(self) -> CounterfactualSet:
        """A graph of BA-3Motifs whose clique has to lose two edges."""
        bundle, oracle = self.ask("ba_3motifs")
        explainer = EdgeFlip().fit([], oracle)
        answers = (explainer.explain(graph) for graph in bundle.test)
        return next(answer for answer in answers if answer.smallest and answer.smallest.size > 1)

    def molecule(self) -> CounterfactualSet:
        """A molecule of BBBP, with edits that leave it a molecule."""
        bundle, oracle = self.ask("bbbp")
        explainer = EdgeFlip().fit([], oracle)
        for graph in bundle.test:
            if not 12 <= int(graph.num_nodes or 0) <= 28:
                continue
            answer = explainer.explain(
                graph,
                constraints=bundle.constraints_for(graph),
                budget=Budget(oracle_calls=_CALLS),
            )
            if answer.smallest is not None and answer.smallest.size <= 2:
                return answer
        raise SystemExit("expected a molecule with an answer of two edits, found none")

    def tweet(self) -> CounterfactualSet:
        """A tweet that fits on a line."""
        bundle, oracle = self.ask("graph_twitter")
        explainer = EdgeFlip().fit([], oracle)
        for graph in bundle.test:
            plain = all(word.isalpha() and len(word) < 12 for word in graph.tokens)
            if not plain or not 7 <= len(graph.tokens) <= 11:
                continue
            answer = explainer.explain(graph, budget=Budget(oracle_calls=_CALLS))
            smallest = answer.smallest
            # One that shows both, what comes and what goes.
            if smallest is not None and smallest.size == 2 and len(smallest.edits.added) == 1:
                return answer
        raise SystemExit("expected a tweet with an answer of two edits, found none")

    def screens(self) -> None:
        """The page of the graph and of the molecule, light and dark, as PNG."""
        from playwright.sync_api import sync_playwright

        path = shutil.which("chromium") or shutil.which("google-chrome")
        if path is None:
            raise SystemExit("expected a Chromium, found none; apt-get install chromium")
        with tempfile.TemporaryDirectory() as folder, sync_playwright() as play:
            browser = play.chromium.launch(executable_path=path, args=["--no-sandbox"])
            shots: list[tuple[str, Callable[[], CounterfactualSet], bool]] = [
                ("page", self.graph, False),
                ("page-molecule-dark", self.molecule, True),
            ]
            for name, make, dark in shots:
                page = make().save(Path(folder) / f"{name}.html")
                view = browser.new_page(
                    viewport={"width": 1180, "height": 800},
                    color_scheme="dark" if dark else "light",
                )
                view.goto(page.as_uri())
                view.screenshot(path=self.out / f"{name}.png")
                print(f"drawn in {self.out / name}.png")
            browser.close()


PICTURES = {"graph": "answer.svg", "molecule": "molecule.svg", "tweet": "tweet.svg"}


def main(argv: Sequence[str] | None = None) -> None:
    """Make the pictures that are asked for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", choices=[*PICTURES, "screens"], action="append")
    parser.add_argument("--profile", default="cpu", help="preset of the oracles")
    parser.add_argument("--models", type=Path, default=Path("runs/pictures"))
    parser.add_argument("--out", type=Path, default=FOLDER)
    options = parser.parse_args(argv)
    options.out.mkdir(parents=True, exist_ok=True)
    maker = Maker(options.models, options.profile, options.out)
    for name in options.only or PICTURES:
        if name == "screens":
            maker.screens()
            continue
        answer: CounterfactualSet = getattr(maker, name)()
        print(answer)
        print(f"drawn in {answer.save(options.out / PICTURES[name])}")


if __name__ == "__main__":
    main()
