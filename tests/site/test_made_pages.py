"""What ``docs/_ext`` makes of the package, the program and the results; no site is built."""

import importlib
import json
import pkgutil
import re
import shutil
import subprocess
from pathlib import Path, PurePosixPath

import pytest

import psvm

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
# What is nobody's business but psvm's; what is public of it is exported elsewhere.
INSIDE = {"cli", "estimators", "mathematics", "paper", "rows", "search", "solvers"}


@pytest.fixture
def made():
    """A module of ``docs/_ext``, by name."""

    def find(name):
        pytest.importorskip("sphinx") if name == "results" else None
        return importlib.import_module(name)

    return find


def test_every_module_is_public_or_inside(made):
    found = {
        one.name for one in pkgutil.iter_modules(psvm.__path__) if not one.name.startswith("_")
    }
    public = {name.removeprefix("psvm.") for name in made("api_pages").MODULES if name != "psvm"}
    assert found == public | INSIDE


def test_every_public_name_is_on_a_list(made):
    pages = made("api_pages")
    for module in pages.MODULES:
        text = pages.list_of(module)
        home = importlib.import_module(module)
        for name in getattr(home, "__all__", pages.names_of(module)):
            assert name.startswith("__") or re.search(rf"^   {name}$", text, re.M), (
                f"{module}.{name}"
            )


def test_every_list_is_in_the_table_of_contents(made):
    text = (DOCS / "api" / "index.md").read_text()
    listed = re.search(r"```\{toctree\}\n:maxdepth: 2\n\n(.*?)\n```", text, re.S)[1].split()
    assert listed == list(made("api_pages").MODULES)


def test_every_public_name_has_a_page(made, site):
    for name in made("api_pages").public_names():
        assert (site / "api" / "names" / f"{name}.html").exists(), name


def test_members_are_psvms_own(made):
    own = made("api_pages").own_members
    assert {"fit", "predict", "decision_function"} <= set(own("psvm.PSVC")["methods"])
    assert not {"get_params", "set_fit_request", "score"} & set(own("psvm.PSVC")["methods"])
    assert "fit_blocks" in own("psvm.LinearPSVC")["methods"]
    assert "from_path" in own("psvm.plotting.PathDisplay")["methods"]
    assert "predict_proba" in own("psvm.PSVCCV")["methods"]
    assert own("psvm.PSVC")["properties"] == []  # coef_ is explained with the attributes
    assert own("psvm.bounds.GeneralizationBound")["properties"] == ["total", "vacuous"]
    assert "CONVERGED" in own("psvm.solvers.ledger.Status")["values"]


def test_estimators_say_what_they_minimise(made):
    """With the formula, and those that choose or compute paths with a word on whose it is."""
    for name in made("api_pages").public_names():
        if re.search(r"PSV[CR]", name):
            module, _, last = name.rpartition(".")
            text = getattr(importlib.import_module(module), last).__doc__
            assert ".. math::" in text, name


def test_every_page_is_in_a_table_of_contents():
    toctrees = re.compile(r"```\{toctree\}\n(.*?)```", re.S)
    listed = {"index"}
    for page in DOCS.glob("*.md"):
        for block in toctrees.findall(page.read_text()):
            listed |= {line for line in block.split("\n") if line and not line.startswith(":")}
    assert {page.stem for page in DOCS.glob("*.md")} <= listed


def test_programs_of_the_gallery_are_short(site):
    """Under ten seconds; a page says how long its program took if that was longer."""
    pages = sorted((site / "gallery").glob("plot_*.html"))
    assert len(pages) == len(list((ROOT / "examples" / "gallery").glob("plot_*.py")))
    assert not [page.name for page in pages if "running time of the script" in page.read_text()]


def test_no_page_of_the_gallery_shows_where_an_object_is(site):
    pages = sorted((site / "gallery").glob("plot_*.html"))
    assert not [page.name for page in pages if re.search(r" at 0x[0-9a-f]+", page.read_text())]


# --- the command line ----------------------------------------------------------------------------


def test_every_option_of_every_command_is_on_its_page(made):
    pytest.importorskip("typer")
    pages = made("command_pages")
    assert {"fit", "tune", "predict", "evaluate", "info", "export"} <= set(pages.commands())
    for name, command in pages.commands().items():
        text = pages.page(name, command)
        assert text.startswith(f"# psvm {name}\n")
        for one in command.params:
            if one.param_type_name == "option" and not one.hidden:
                assert all(f"`{spelt}`" in text for spelt in one.opts), (name, one.opts)
                assert one.help, (name, one.opts)


def test_defaults_and_choices_are_told(made):
    pytest.importorskip("typer")
    text = made("command_pages").page("fit", made("command_pages").commands()["fit"])
    assert re.search(r"^\| `--p` float \| Exponent of the loss.*default: 1\.5", text, re.M | re.I)
    assert re.search(r"^\| `--kernel` .*rbf.*laplacian", text, re.M)
    assert re.search(r"^    psvm fit iris\.csv --target", text, re.M)


# --- links and results ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("link", "turned"),
    [
        ("guide.md", "guide.md"),
        ("guide.md#weights", "guide.md#weights"),
        ("../CHANGELOG.md", "project/changelog.md"),
        ("../SECURITY.md#scope", "project/security.md#scope"),
        ("../benchmarks/results/search.md", "results/search.md"),
        ("../benchmarks/results/kernel.png", "../benchmarks/results/kernel.png"),
        ("https://example.org/a.md", "https://example.org/a.md"),
        ("#weights", "#weights"),
    ],
)
def test_links_out_of_docs_are_turned(made, link, turned):
    pages = made("repository_pages")
    here = PurePosixPath("docs"), PurePosixPath("."), pages.copies()
    assert pages.relinked(f"a [b]({link}) c", *here) == f"a [b]({turned}) c"


def test_links_of_copies_are_turned(made):
    pages = made("repository_pages")
    text = "[a](docs/scale.md) [b](CONTRIBUTING.md) [c](benchmarks/README.md) [d](LICENSE)"
    found = pages.relinked(text, PurePosixPath("."), PurePosixPath("project"), pages.copies())
    assert (
        found
        == "[a](../scale.md) [b](contributing.md) [c](../results/benchmarks.md) [d](../../LICENSE)"
    )


def test_results_are_those_of_the_file(made):
    results = made("results")
    text = (ROOT / "benchmarks" / "results" / "kernel.md").read_text()
    speed = results.tables_of(text, "Speed")
    assert "psvm is faster than" in speed
    assert speed.strip() in text
    assert "| n = 10,000 |" in results.tables_of(
        (ROOT / "benchmarks" / "results" / "growth.md").read_text(), None
    )
    with pytest.raises(ValueError, match="no section 'Sped'; there are"):
        results.tables_of(text, "Sped")


def test_every_result_on_the_page_of_performance_exists(made):
    results = made("results")
    text = (DOCS / "performance.md").read_text()
    found = re.findall(r"```\{result\} (\S+)\n(?::section: (.+)\n)?```", text)
    assert len(found) >= 8
    for name, section in found:
        page = (ROOT / "benchmarks" / "results" / name).read_text()
        assert "|---" in results.tables_of(page, section or None)


# --- JSON in another language --------------------------------------------------------------------


def test_the_javascript_of_the_recipes_evaluates_a_model(tmp_path):
    node = shutil.which("node")
    if not node:
        pytest.skip("no node")
    from sklearn.datasets import load_breast_cancer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    from psvm.persistence import export

    X, y = load_breast_cancer(return_X_y=True)
    model = make_pipeline(StandardScaler(), psvm.PSVC()).fit(X, y)
    export(model, tmp_path / "model.json")
    code = re.search(r"```js\n(.*?)```", (DOCS / "recipes.md").read_text(), re.S)[1]
    (tmp_path / "rows.json").write_text(json.dumps(X[:20].tolist()))
    (tmp_path / "run.js").write_text(
        f"{code}\nconst read = (name) => JSON.parse(require('fs').readFileSync(name));\n"
        "const model = read('model.json');\n"
        "console.log(JSON.stringify(read('rows.json').map((row) => decide(model, row))));\n"
    )
    answer = subprocess.run(
        [node, "run.js"], cwd=tmp_path, capture_output=True, text=True, check=True, timeout=60
    )
    found = json.loads(answer.stdout)
    assert [one["decision"] for one in found] == pytest.approx(model.decision_function(X[:20]))
    assert [one["label"] for one in found] == model.predict(X[:20]).tolist()
