"""A headless Chromium for tests of pages; where there is none, they say how to get one."""

import os
import shutil
from contextlib import contextmanager
from pathlib import Path

import pytest

HOW = "no Chromium found: apt-get install chromium, or name one with EDGEFLIP_CHROMIUM"
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def chromium():
    """Path of a Chromium; in CI there has to be one."""
    names = (os.environ.get("EDGEFLIP_CHROMIUM"), "chromium", "chromium-browser", "google-chrome")
    found = next((path for name in names if name and (path := shutil.which(name))), None)
    if found is None:
        if os.environ.get("CI") == "true":
            pytest.fail(HOW)
        pytest.skip(HOW)
    return found


def driver():
    """Playwright; in CI it has to be there."""
    try:
        from playwright import sync_api
    except ImportError:
        if os.environ.get("CI") == "true":
            pytest.fail("playwright is missing")
        pytest.skip("playwright is missing: pip install -c constraints.txt -e '.[dev]'")
    return sync_api


@contextmanager
def browser():
    """A running browser."""
    path = chromium()
    with driver().sync_playwright() as play:
        running = play.chromium.launch(executable_path=path, args=FLAGS)
        try:
            yield running
        finally:
            running.close()


class Visit:
    """A page from a file, with whatever it complained of or asked other hosts for."""

    def __init__(self, running, path, *, width=1280, dark=False):
        scheme = "dark" if dark else "light"
        self.context = running.new_context(
            viewport={"width": width, "height": 900}, color_scheme=scheme
        )
        self.page = self.context.new_page()
        self.complaints, self.requests = [], []
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(Path(path).resolve().as_uri())

    def check(self):
        """Nothing to complain of, and nothing asked but the page itself."""
        assert self.complaints == []
        assert all(url.startswith("file:") for url in self.requests)
        self.context.close()

    def violations(self):
        """What axe-core finds against accessibility, in lines."""
        axe = pytest.importorskip("axe_playwright_python.sync_playwright")
        found = axe.Axe().run(self.page).response["violations"]
        return [f"{entry['id']}: {entry['nodes'][0]['html'][:200]}" for entry in found]
