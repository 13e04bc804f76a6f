"""``psvm`` on a terminal: bars that move, and Ctrl-C while they do.

Nothing here depends on how busy the machine is: a bar is drawn when it appears and once more when
it ends, whatever happens between, and what is interrupted takes minutes otherwise.
"""

import os
import re

import numpy as np
import pytest
from cli_data import command, write_iris
from processes import UNIX

from psvm.persistence import load

pexpect = pytest.importorskip("pexpect")
pytestmark = UNIX

PATIENCE = 300  # seconds until something must have been seen


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """Iris, and labels that are noise: of some rows, and of so many that it takes minutes."""
    folder = tmp_path_factory.mktemp("shared")
    write_iris(folder, "csv")
    rng = np.random.default_rng(0)
    for name, n in (("noise", 1000), ("slow", 6000)):
        np.savez(folder / f"{name}.npz", X=rng.normal(size=(n, 20)), y=rng.integers(0, 2, n))
    return folder


@pytest.fixture
def spawn():
    """Starts ``psvm`` on a terminal of 140 columns, and ends it with the test."""
    started = []

    def start(*words):
        first, *rest = command()
        environment = {**os.environ, "TERM": "xterm", "OMP_NUM_THREADS": "1"}
        child = pexpect.spawn(
            first,
            [*rest, *map(str, words)],
            env=environment,
            timeout=PATIENCE,
            dimensions=(30, 140),
            encoding="utf-8",
        )
        started.append(child)
        return child

    yield start
    for child in started:
        child.close(force=True)


def whole(child):
    """All that the terminal was sent, without colours, of a command that ends well."""
    child.expect(pexpect.EOF)
    text = re.sub(r"\x1b\[[\d;]*m", "", child.before)
    child.close()
    assert child.exitstatus == 0, text
    return text


def interrupted(child):
    """What the terminal is sent from Ctrl-C to the end."""
    child.sendintr()
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 130, child.before
    assert "Traceback" not in child.before
    return re.sub(r"\s+", " ", child.before)


def test_fit_shows_the_falling_gap(tmp_path, shared, spawn):
    model = tmp_path / "m.psvm"
    text = whole(spawn("fit", shared / "noise.npz", "-o", model, "--C", "10", "--tol", "1e-6"))
    assert re.search(r"fit +━+ gap \d\.\de[+-]\d\d → 1e-06", text)
    gaps = [float(gap) for gap in re.findall(r"gap (\d\.\de[+-]\d\d) →", text)]
    assert gaps[0] > 0.01
    assert gaps[-1] <= 1e-6
    assert "\x1b[2K" in text.rpartition("→")[2]  # the bar is wiped away
    assert "relative duality gap" in text.rpartition("→")[2]
    assert load(model)[-1].dual_gap_.max() <= 1e-6


def test_fit_counts_binary_problems(tmp_path, shared, spawn):
    words = ["fit", shared / "iris.csv", "-t", "species", "-o", tmp_path / "m.psvm"]
    text = whole(spawn(*words))
    assert "reading iris.csv" in text
    assert "3/3 problems" in text


def test_ctrl_c_in_a_fit_leaves_no_file(tmp_path, shared, spawn):
    # With a large C and p = 1 the gap of noise falls, but takes long to its end.
    words = ["fit", shared / "slow.npz", "-o", tmp_path / "m.psvm", "--C", "1e3", "--p", "1"]
    child = spawn(*words, "--tol", "1e-9")
    child.expect(r"fit.*━.*gap .*→ 1e-09")
    assert f"stopped by Ctrl-C; {tmp_path / 'm.psvm'} is not written" in interrupted(child)
    assert list(tmp_path.iterdir()) == []


def test_tune_shows_fits_and_the_best_so_far(tmp_path, shared, spawn):
    words = ["tune", shared / "iris.csv", "-t", "species", "-o", tmp_path / "m.psvm"]
    words += ["--ps", "1,2", "--Cs", "0.1,1", "--gammas", "0.1,1", "--cv", "3"]
    text = whole(spawn(*words))
    done, total, left = re.findall(r"fits +(\d+)/(\d+) [━╸╺ ]+ (\S+)", text)[-1]
    pattern = r"(final fit, )?(\d+) of 8 cells, best (\S+) at (\S+, \S+, p=[12])"
    stage, cells, best, at = re.findall(pattern, text)[-1]
    assert (stage, cells) == ("final fit, ", "8")
    # Every cell, split and pair of classes, and the best again with a smaller tolerance.
    assert 0 < int(done) <= int(total)
    assert int(total) > 2 * 2 * 2 * 3 * 3
    assert re.fullmatch(r"[\d-]:[\d-]{2}:[\d-]{2}", left)  # unknown if it was quick
    assert float(best) > 0.9
    assert re.fullmatch(r"C=\S+, gamma=\S+, p=[12]", at)
    assert "8 combinations tried" in text
    # Nothing of it when it is not wanted.
    assert whole(spawn(*words, "--quiet")) == ""


def test_tune_shows_the_time_left_and_ctrl_c_leaves_no_file(tmp_path, shared, spawn):
    # Before any combination is finished; what is kept then is in test_tune_limits.
    words = ["tune", shared / "slow.npz", "-o", tmp_path / "m.psvm", "--Cs", "1e6"]
    child = spawn(*words, "--ps", "1,2", "--report", tmp_path / "r.html")
    child.expect(r"fits.*\d/\d.*[\d-]:[\d-]{2}:[\d-]{2}")
    assert f"{tmp_path / 'm.psvm'} is not written" in interrupted(child)
    assert list(tmp_path.iterdir()) == []
