"""The main pages as people read them: dark, on paper, by keyboard, with weak eyes."""

import os
import re
from pathlib import Path

import pytest

MAIN_PAGES = [
    "index.html",
    "start.html",
    "using.html",
    "guide.html",
    "recipes.html",
    "math.html",
    "how-it-works.html",
    "performance.html",
    "playground.html",
    "command-line.html",
    "commands/fit.html",
    "gallery/index.html",
    "gallery/plot_01_exponent.html",
    "api/index.html",
    "api/names/psvm.PSVC.html",
    "results/kernel.html",
    "search.html",
]
JUDGED = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]


@pytest.fixture(scope="session")
def axe():
    file = os.environ.get("PSVM_AXE")
    if not file:
        pytest.skip("no axe-core: make test-docs")
    return Path(file).read_text(encoding="utf-8")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("path", MAIN_PAGES)
def test_contrast_and_structure(visit, axe, path, scheme):
    page = visit(path, color_scheme=scheme)
    page.evaluate(axe)
    # Formulas are MathJax's: assistive tools get MathML, and not what it draws.
    found = page.evaluate(
        """(values) =>
            axe.run({exclude: [["mjx-container"]]}, {runOnly: {type: "tag", values}})""",
        JUDGED,
    )
    faults = [
        f"{fault['id']}: {node['html'][:160]} {node['failureSummary']}"
        for fault in found["violations"]
        for node in fault["nodes"]
    ]
    assert not faults, "\n".join(faults[:10])


def luminance(page, selector, what="backgroundColor"):
    node = f"document.querySelector('{selector}')"
    colour = page.evaluate(f"getComputedStyle({node}).{what}")
    return sum(float(part) for part in re.findall(r"[\d.]+", colour)[:3])


def test_dark_mode_is_dark(visit):
    assert luminance(visit("index.html", color_scheme="dark"), "body") < 150
    assert luminance(visit("index.html", color_scheme="light"), "body") > 700


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("path", ["guide.html", "math.html", "playground.html", "performance.html"])
def test_print(visit, path, scheme):
    page = visit(path, color_scheme=scheme)
    page.emulate_media(media="print")
    assert luminance(page, "article p", "color") < 150
    assert luminance(page, "body") > 700
    for part in (".bd-header", ".bd-sidebar-primary", ".bd-footer"):
        shown = page.evaluate(
            f"[...document.querySelectorAll('{part}')].some((node) => node.getClientRects().length)"
        )
        assert not shown, part
    paper = page.pdf(format="A4")
    assert paper.startswith(b"%PDF")
    assert len(paper) > 20_000


def focused(page):
    return page.evaluate("document.activeElement.id || document.activeElement.textContent.trim()")


def test_the_first_tab_skips_to_the_content(visit):
    page = visit("guide.html")
    page.keyboard.press("Tab")
    assert focused(page) == "Skip to main content"
    page.keyboard.press("Enter")
    assert page.evaluate("location.hash") == "#main-content"


def test_search_finds(visit):
    page = visit("search.html?q=nystroem")
    page.wait_for_selector("#search-results li", timeout=20_000)
    assert "Guide" in page.inner_text("#search-results")
