"""``psvm tune``: the search from a file to a model."""

import html
import json
import re
import shutil
import subprocess

import numpy as np
import polars as pl
import pytest
from cli_data import FEATURES, SPECIES, TOLD, iris, write_iris

from psvm.cli import main

search = pytest.importorskip("psvm.search", reason="PSVCCV is not part of this version")

GRID = ["--ps", "1,2", "--Cs", "0.1,1,10", "--gammas", "0.1,1", "--cv", "3"]


@pytest.fixture
def words(tmp_path):
    path, model = write_iris(tmp_path, "csv"), tmp_path / "m.psvm"
    return ["tune", str(path), "-t", "species", "-o", str(model), *GRID]


def test_the_best_combination_becomes_the_model(words, tmp_path, capfd):
    assert main([*words, "--json", "--test-size", ".2"]) == 0
    out, err = capfd.readouterr()
    facts = json.loads(out)
    assert err == TOLD
    assert len(facts["search"]) == 2 * 3 * 2
    scores = [row["score"] for row in facts["search"]]
    assert scores == sorted(scores, reverse=True)
    first = facts["search"][0]
    assert first["chosen"]
    assert first["score"] == facts["best_score"]
    assert {name: first[name] for name in ("p", "C", "gamma")} == facts["best_parameters"]
    assert facts["parameters"]["p"] in (1, 2)
    assert facts["dual_gap"] <= 1e-4
    assert facts["test"]["rows"] == 30
    # The model has probabilities, and goes through the other commands like any other.
    data, model = str(tmp_path / "iris.csv"), str(tmp_path / "m.psvm")
    assert main(["predict", model, data, "--proba", "-q"]) == 0
    proba = pl.read_csv(capfd.readouterr().out.encode())[:, 1:]
    assert proba.columns == [f"proba_{name}" for name in SPECIES]
    np.testing.assert_allclose(proba.to_numpy().sum(axis=1), 1)
    assert main(["info", model]) == 0
    assert "relative duality gap" in capfd.readouterr().out


def test_scores_are_those_of_the_search_in_python(words, capfd):
    """Columns are scaled in every fold by its own training rows."""
    from sklearn.preprocessing import StandardScaler

    assert main([*words, "--json", "--scoring", "f1_macro", "--class-weight", "balanced"]) == 0
    found = json.loads(capfd.readouterr().out)
    twin = search.PSVCCV(
        [1, 2], [0.1, 1, 10], [0.1, 1], cv=3, scoring="f1_macro", class_weight="balanced"
    )
    twin.set_params(preprocessor=StandardScaler())
    table = iris()
    twin.fit(table.select(FEATURES), table["species"].to_numpy())
    scores = sorted(twin.cv_results_["mean_test_score"], reverse=True)
    assert [row["score"] for row in found["search"]] == pytest.approx(scores)


def test_what_is_learned_of_columns_is_learned_in_every_fold(tmp_path, capfd, monkeypatch):
    """Texts, missing values and scales: no fit of the preprocessing sees a held-out row."""
    from sklearn.impute import SimpleImputer

    rows, fit = [], SimpleImputer.fit
    monkeypatch.setattr(
        SimpleImputer, "fit", lambda self, X, y=None: (rows.append(len(X)), fit(self, X, y))[1]
    )
    table = iris().with_columns(
        pl.when(pl.int_range(150) % 7 > 0).then(pl.col(FEATURES[0])).alias(FEATURES[0]),
        pl.Series("garden", ["north", "south", None] * 50),
    )
    table.write_csv(tmp_path / "t.csv")
    model = str(tmp_path / "m.psvm")
    words = ["tune", str(tmp_path / "t.csv"), "-t", "species", "-o", model, *GRID, "--impute"]
    assert main([*words, "--json"]) == 0
    assert rows == [150, 150, *[100, 100] * 3]  # numbers and texts: all rows, then three folds
    assert json.loads(capfd.readouterr().out)["best_score"] > 0.9
    # The model finds its columns by name, and takes missing and new texts.
    later = table.drop("species").reverse().with_columns(garden=pl.lit("east"))[:, ::-1]
    later.write_csv(tmp_path / "new.csv")
    assert main(["predict", model, str(tmp_path / "new.csv"), "-q"]) == 0
    assert len(capfd.readouterr().out.splitlines()) == 151
    assert main(["export", model, str(tmp_path / "m.json")]) == 0


def test_what_is_said_of_the_choice(words, tmp_path, capfd):
    """How many are as good, the simplest of them, and that C is at the edge of its grid."""
    words = [*words, "--Cs", "0.01,0.1", "--ps", "1", "--gammas", "0.1"]
    assert main([*words, "--json"]) == 0
    out, err = capfd.readouterr()
    facts = json.loads(out)
    assert err == TOLD
    assert facts["edges"] == [{"parameter": "C", "value": 0.1, "add": pytest.approx(1.0)}]
    assert "largest of --Cs" in facts["remarks"][1]
    assert facts["within_one_error"] == 1
    assert main(words) == 0
    shown = " ".join(capfd.readouterr().out.split())
    assert all(remark in shown for remark in facts["remarks"])


def test_the_simpler_combination_is_the_one_that_the_rule_takes(tmp_path, capfd):
    from sklearn.datasets import load_wine

    X, y = load_wine(return_X_y=True)
    pl.DataFrame(X[:, :10]).with_columns(grape=pl.Series(y)).write_csv(tmp_path / "t.csv")
    words = ["tune", str(tmp_path / "t.csv"), "-t", "grape", "-o", str(tmp_path / "m")]
    words += ["--ps", "1,2", "--Cs", "1,10,100", "--gammas", "0.02,0.1", "--cv", "3"]
    assert main([*words, "--json"]) == 0
    found = json.loads(capfd.readouterr().out)
    simpler = found["simpler"]
    assert found["within_one_error"] > 1
    assert f"p = {simpler['p']:.4g}, C = {simpler['C']:.4g}" in found["remarks"][0]
    assert "--rule one_se" in found["remarks"][0]
    assert main([*words, "--json", "--rule", "one_se"]) == 0
    taken = json.loads(capfd.readouterr().out)
    assert taken["best_parameters"] == {name: simpler[name] for name in ("p", "C", "gamma")}
    assert taken["simpler"] is None
    assert "fewest support vectors" in taken["remarks"][0]


def test_the_chosen_p_beside_the_default(words, tmp_path, capfd):
    """One sentence on the terminal and in the report, numbers in JSON."""
    pytest.importorskip("jinja2")
    page = tmp_path / "r.html"
    words = [*words, "--ps", "1,1.5,2", "--report", str(page)]
    assert main([*words, "--json"]) == 0
    facts = json.loads(capfd.readouterr().out)
    beside = facts["p_beside_default"]
    assert beside["p"] == facts["best_parameters"]["p"]
    assert beside["default"] == 1.5
    rival = beside["compared_with"]
    assert 1.5 in (beside["p"], rival["p"])
    assert beside["difference"] == pytest.approx(facts["best_score"] - rival["score"])
    assert beside["within_one_error"] == (beside["difference"] <= beside["standard_error"])
    sentence = facts["remarks"][1]
    assert "the default p = 1.5" in sentence[0].lower() + sentence[1:]
    assert html.escape(sentence) in page.read_text()
    assert main(words) == 0
    assert sentence in " ".join(capfd.readouterr().out.split())
    assert main([*words, "--ps", "1,2", "--json"]) == 0  # nothing to compare with
    facts = json.loads(capfd.readouterr().out)
    assert facts["p_beside_default"] is None
    assert not any("default" in remark for remark in facts["remarks"])


def test_the_table_shows_the_chosen_row(words, capfd):
    assert main([*words, "--top", "3", "--rule", "one_se"]) == 0
    out = capfd.readouterr().out
    assert "12 combinations tried" in out
    assert out.count("→") == 1
    assert main([*words, "--quiet"]) == 0
    assert capfd.readouterr() == ("", "")


# --- the report ----------------------------------------------------------------------------------

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
CHROMIUM = next(filter(None, map(shutil.which, BROWSERS)), None)
needs_browser = pytest.mark.skipif(CHROMIUM is None, reason="needs chromium")

# Shows the report in a frame of a given width and puts what a reader would notice into the title.
FRAME = """<!doctype html><iframe id="page" width="{width}" height="900" srcdoc="{page}"></iframe>
<script>
document.getElementById("page").onload = (event) => {{
  const page = event.target.contentDocument, images = [...page.images];
  document.title = JSON.stringify({{
    images: images.length,
    shown: images.filter((one) => one.complete && one.naturalWidth > 100).length,
    over: page.documentElement.scrollWidth - page.documentElement.clientWidth,
    cut: [...page.querySelectorAll(".drawing")]
      .filter((one) => one.scrollWidth > one.clientWidth).length,
    text: page.querySelector("h1").textContent,
  }});
}};
</script>"""


def browse(tmp_path, *words):
    """What the browser writes, and the lines of its console."""
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr"]
    options += ["--disable-background-networking", "--disable-component-update", "--no-first-run"]
    options += ["--virtual-time-budget=5000", f"--user-data-dir={tmp_path / 'profile'}"]
    done = subprocess.run(
        [CHROMIUM, *options, *map(str, words)], capture_output=True, text=True, timeout=300
    )
    return done.stdout, [line for line in done.stderr.splitlines() if "CONSOLE" in line]


def seen(tmp_path, page, width):
    """What a reader of a page of this width notices, and the lines of the console."""
    frame = tmp_path / "frame.html"
    frame.write_text(FRAME.format(width=width, page=html.escape(page)))
    document, console = browse(tmp_path, "--dump-dom", frame.as_uri())
    return json.loads(html.unescape(re.search(r"<title>(.*?)</title>", document)[1])), console


@pytest.fixture(scope="module", params=[2, 3], ids=["two classes", "three classes"])
def report(request, tmp_path_factory):
    """A report with a test part for two classes, and without one for three."""
    pytest.importorskip("jinja2")
    pytest.importorskip("matplotlib")
    folder = tmp_path_factory.mktemp("report")
    iris()[: 50 * request.param].write_csv(folder / "<iris>.csv")
    words = ["tune", str(folder / "<iris>.csv"), "-t", "species", "-o", str(folder / "m.psvm")]
    words += [*GRID, "--quiet", "--report", str(folder / "r.html")]
    assert main([*words, "--test-size", ".3"] if request.param == 2 else words) == 0
    return folder / "r.html", request.param


def test_the_report_holds_all_and_needs_no_network(report):
    path, classes = report
    text = path.read_text()
    assert not re.findall(r"(?:src|href)=\"(?!data:)", text)
    assert "<script" not in text
    assert "<h1>psvm tune: &lt;iris&gt;.csv</h1>" in text
    # Two maps, support vectors over p, the learning curve, and for two classes the ROC curve.
    assert text.count("<img ") == (5 if classes == 2 else 4)
    for word in ("Confusion matrix", "relative duality gap", "psvm ", "versicolor", "chosen"):
        assert word in text
    each = 50 if classes == 3 else 35
    for row in (
        'target</th><td class="text">species',
        "always the largest class</th>",
        f"setosa: {each}, versicolor: {each}",
    ):
        assert row in text
    assert re.search(r"Made \d\d \w+ 20\d\d, \d\d:\d\d", text)
    assert re.search(r"<strong>0\.\d+</strong>accuracy of the largest class alone", text)
    assert 'class="notice"' not in text  # all of it was finished
    assert "within one standard error" in text
    assert ">StandardScaler</td>" in text
    assert ("Of the 30 test rows" in text) == (classes == 2)
    assert ("--test-size keeps some" in text) == (classes == 3)


def test_a_report_of_a_search_that_was_cut_short_says_so(monkeypatch, words, tmp_path, capfd):
    pytest.importorskip("jinja2")
    from psvm.search.table import ScoreTable

    results = ScoreTable.results

    def without_the_worst(self):
        found = results(self)
        found["mean_test_score"][np.argmin(found["mean_test_score"])] = np.nan
        return found

    monkeypatch.setattr(ScoreTable, "results", without_the_worst)
    path = tmp_path / "r.html"
    assert main([*words, "--report", str(path), "--max-time", "600"]) == 0
    assert "chosen among 11 of 12 combinations" in path.read_text()
    assert "Stopped early: only 11 of 12 combinations have a score" in path.read_text()
    out, err = capfd.readouterr()
    assert "11 of 12 combinations tried" in out
    assert "stopped by --max-time 600: 11 of 12 combinations were finished" in err


def test_remarks_and_report_of_one_combination(tmp_path, capfd):
    pytest.importorskip("jinja2")
    data, page = write_iris(tmp_path, "csv"), tmp_path / "r.html"
    words = ["tune", str(data), "-t", "species", "-o", str(tmp_path / "m.psvm")]
    words += ["--ps", "1", "--Cs", "1", "--gammas", "0.1", "--report", str(page)]
    assert main(words) == 0
    out, _ = capfd.readouterr()
    assert "1 combination tried" in out
    assert "nothing to choose from" in out
    text = page.read_text()
    assert "chosen among 1 combination by 5 folds" in text
    assert text.count("<img ") == 1  # how the score grows with the rows; no map of one cell


def test_remarks_count_what_was_finished(tmp_path):
    from psvm.cli.search_remarks import remarks_of

    X, y = iris().select(FEATURES).to_numpy(), iris()["species"].to_numpy()
    model = search.PSVCCV((1, 2), (1, 10), (0.1,), cv=3).fit(X, y)
    results = model.cv_results_
    for key in results:
        if key.endswith("test_score"):
            results[key] = np.where(np.arange(4) == 3, np.nan, results[key])
    assert " of 3 combinations are within" in remarks_of(model)["remarks"][0]


def test_options_in_a_command_stay_whole():
    from psvm.paper.command_line import as_html

    found = as_html("psvm tune 'my <data>.csv' --target y -q --test-size .2")
    words = [html.unescape(one) for one in re.findall(r'<span class="word">(.*?)</span>', found)]
    assert words == ["psvm", "tune", "'my <data>.csv'", "--target y", "-q", "--test-size .2"]


@needs_browser
@pytest.mark.parametrize("width", [1200, 390])
def test_a_browser_shows_the_report(report, tmp_path, width):
    path, classes = report
    told, console = seen(tmp_path, path.read_text(), width)
    assert console == []
    assert told["images"] == told["shown"] == (5 if classes == 2 else 4)
    assert told["over"] <= 0  # nothing to scroll sideways
    assert told["cut"] == 0  # pictures are seen as a whole
    assert told["text"] == "psvm tune: <iris>.csv"


@needs_browser
def test_the_browser_would_notice(tmp_path):
    """The control of the test above: a page with everything wrong that it looks for."""
    page = """<!doctype html><h1 style="width: 2000px">Wide</h1>
    <div class="drawing" style="width: 100px; overflow: auto"><p style="width: 200px">.</p></div>
    <img src="data:image/svg+xml;base64,AAAA"><script>console.error("not well")</script>"""
    told, console = seen(tmp_path, page, 390)
    assert (told["images"], told["shown"]) == (1, 0)
    assert told["over"] > 1000
    assert told["cut"] == 1
    assert any("not well" in line for line in console)


@needs_browser
def test_the_report_prints(report, tmp_path):
    path, _ = report
    _, console = browse(tmp_path, f"--print-to-pdf={tmp_path / 'r.pdf'}", path.as_uri())
    assert console == []
    content = (tmp_path / "r.pdf").read_bytes()
    assert content.startswith(b"%PDF")
    assert len(content) > 20_000


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["--ps", "1,x"], "'x' is no number"),
        (["--ps", "0.5"], "at least 1, got 0.5"),
        (["--Cs", "1,0"], "above 0 and finite, got 0"),
        (["--gammas", "inf"], "above 0 and finite, got inf"),
        (["--cv", "1"], "--cv"),
        (["--rule", "worst"], "--rule"),
    ],
)
def test_wrong_usage(words, capfd, given, message):
    assert main([*words, *given]) == 2
    err = capfd.readouterr().err
    assert message in err
    assert err.count("\n") == 1
