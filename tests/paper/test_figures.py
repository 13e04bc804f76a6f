"""The paper's figures: their data, and that they are drawn and written."""

import json
import subprocess
import sys

import numpy as np
import paper_data
import pytest
from PIL import Image

from psvm.paper import figures
from psvm.paper.published import EXPONENTS, table1
from psvm.paper.recipe import fit_published, split


def lines_of(axes):
    """Label -> (x, y) of the lines of a panel."""
    return {line.get_label(): line.get_data() for line in axes.get_lines()}


@pytest.fixture(scope="module")
def wine():
    paper_data.require("wine")
    return figures.figure2_data(quick=True)


@pytest.fixture(scope="module")
def usps():
    paper_data.require("usps")
    return figures.figure3_data(quick=True)


def test_figure1_shows_the_margin_loss():
    """1 left of 0, 0 right of rho, (1 - x)^p in between."""
    (axes,) = figures.figure1().axes
    lines = lines_of(axes)
    assert len(lines) == 6
    for label, (x, y) in lines.items():
        p = float(label.removeprefix("p = "))
        assert np.allclose(y, np.clip(1.0 - x, 0.0, 1.0) ** p)


def test_figure2_data(wine):
    """The quick points are those of the published model on the first rows."""
    assert wine["p"] == [1.0, 1.5, 2.0]
    assert json.loads(json.dumps(wine)) == wine
    data = split("wine")
    for t, p in enumerate(wine["p"]):
        for s, k in enumerate(wine["size"]):
            assert wine["share"][s] == k / 649
            model = fit_published(data.X_train[:k], data.y_train[:k], p=p, C=0.5)
            right = np.mean(model.predict(data.X_test) == data.y_test)
            assert wine["test_accuracy"][t][s] == pytest.approx(100 * right)
            assert wine["nsv"][t][s] == pytest.approx(100 * model.dual_coef.size / k)
    assert wine["train_accuracy"][0] == [100.0] * 3  # the hard margin makes no error


# p = 3 has another C in the table.
@pytest.mark.parametrize("p", [p for p in EXPONENTS if p != 3.0])
def test_figure2_ends_at_table_1(p):
    """With all training rows, accuracy and support vectors are those of Table 1."""
    paper_data.require("wine")
    (cell,) = [cell for cell in table1() if (cell.dataset, cell.p) == ("wine", p)]
    assert cell.C_best in (None, figures.FIGURE2_C)
    sizes = figures.training_sizes(cell.n_train)
    assert sizes[:3] + sizes[-2:] == [4, 29, 54, 629, 649]
    point = figures.published_point(split("wine"), sizes[-1], p)
    assert point["test_accuracy"] == pytest.approx(cell.accuracy_percent, abs=0.11)
    assert point["nsv"] == pytest.approx(cell.nsv_percent, abs=3.5)


def test_figure2_has_a_panel_per_exponent(wine):
    figure = figures.figure2(wine)
    assert [axes.get_title() for axes in figure.axes] == [
        "p = 1 (hard margin)",
        "p = 1.5",
        "p = 2",
    ]
    for t, axes in enumerate(figure.axes):
        lines = lines_of(axes)
        assert list(lines) == ["training accuracy", "test accuracy", "support vectors"]
        assert lines["support vectors"][1].tolist() == wine["nsv"][t]


def test_figure3_data(usps):
    """Accuracy and objective rise towards the optimum, which stays above."""
    assert json.loads(json.dumps(usps)) == usps
    assert usps["steps"] == [100, 200, 500, 1000, 2000, 3000]
    objective = usps["dual_objective"]
    assert objective == sorted(objective)
    assert 0.5 < objective[-1] / usps["exact"]["dual_objective"] < 1.0
    assert usps["train_accuracy"][0] < usps["train_accuracy"][-1] <= 100.0
    assert usps["test_accuracy"][-1] == pytest.approx(usps["exact"]["test_accuracy"], abs=3.0)
    assert usps["support_vectors"][-1] < 45 * 2 * 200
    assert usps["exact"]["support_vectors"] > 45


def test_figure3_reports_its_progress(monkeypatch):
    paper_data.require("usps")
    monkeypatch.setattr(figures, "_states", lambda K, y, steps, rng: [])
    monkeypatch.setattr(figures, "_exact_optimum", lambda data: {})
    calls = []
    figures.figure3_data(quick=True, progress=lambda *call: calls.append(call))
    assert calls == [(done, 45) for done in range(1, 46)]


def test_figure3_is_drawn_with_the_optimum_as_a_line(usps):
    figure = figures.figure3(usps)
    accuracy, objective, support = figure.axes
    lines = lines_of(accuracy)
    assert lines["test rows"][1].tolist() == usps["test_accuracy"]
    assert set(lines["test rows, exact optimum"][1]) == {usps["exact"]["test_accuracy"]}
    assert set(lines_of(support)["exact optimum"][1]) == {usps["exact"]["support_vectors"]}
    (distance,) = (line.get_ydata() for line in objective.get_lines())
    assert (np.diff(distance) < 0).all()
    assert (np.asarray(distance) > 0).all()


def test_files_are_written(tmp_path):
    """PNG and SVG, and the same bytes when drawn again."""
    files = figures.save(figures.figure1(), tmp_path / "new", "figure1")
    assert [file.name for file in files] == ["figure1.png", "figure1.svg"]
    with Image.open(files[0]) as image:
        assert image.size == (900, 600)
    assert "<svg" in files[1].read_text(encoding="utf-8")
    again = figures.save(figures.figure1(), tmp_path, "figure1")
    assert [file.read_bytes() for file in files] == [file.read_bytes() for file in again]


def test_matplotlib_is_not_imported_before_drawing():
    program = "import psvm.paper.figures, sys; print('matplotlib' in sys.modules)"
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert answer.stdout.strip() == "False", answer.stderr
