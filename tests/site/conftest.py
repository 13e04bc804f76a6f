"""The site as ``make docs`` built it, served on loopback, in the chromium of the system.

Tests that need it run where ``PSVM_SITE`` names it, as in ``make test-docs``, and not elsewhere.
"""

import functools
import http.server
import os
import shutil
import sys
import threading
from pathlib import Path

import pytest
from site_crawl import Crawl

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "docs" / "_ext"))
if "PSVM_SITE" not in os.environ:
    collect_ignore = ["test_every_page.py", "test_playground.py", "test_reading.py"]
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        """Requests are nobody's news."""


@pytest.fixture(scope="session")
def site():
    """The folder of the built site."""
    if "PSVM_SITE" not in os.environ:
        pytest.skip("the site is not built: make test-docs")
    folder = Path(os.environ["PSVM_SITE"]).resolve()
    assert (folder / "index.html").exists(), f"there is no site in {folder}"
    return folder


@pytest.fixture(scope="session")
def address(site):
    """Where the site is served."""
    serve = functools.partial(Quiet, directory=str(site))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), serve) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/"
        server.shutdown()


@pytest.fixture(scope="session")
def browser():
    playwright = pytest.importorskip("playwright.sync_api")
    program = os.environ.get("PSVM_CHROMIUM") or next(filter(None, map(shutil.which, BROWSERS)), "")
    if not program:
        pytest.skip("no chromium")
    with playwright.sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield chromium
        chromium.close()


@pytest.fixture
def visit(browser, address):
    """Opens a page; errors of its console end up in ``page.complaints``."""
    contexts = []

    def visit(path, width=1280, height=900, **options):
        context = browser.new_context(viewport={"width": width, "height": height}, **options)
        contexts.append(context)
        page = context.new_page()
        page.complaints = complaints = []
        page.on("console", lambda said: said.type == "error" and complaints.append(said.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(address + path, wait_until="load")
        return page

    yield visit
    for context in contexts:
        context.close()


@pytest.fixture(scope="session")
def crawl(browser, address, site):
    """What was seen on every page, on a screen of 390 pixels."""
    return Crawl(browser, address, site).run()
