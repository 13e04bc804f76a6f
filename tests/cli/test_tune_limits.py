"""``psvm tune`` with too little time, and stopped by Ctrl-C: the finished combinations decide."""

import json
import re
import signal
import time

import numpy as np
import pytest
from cli_data import psvm, start
from processes import UNIX

from psvm.persistence import info, load

pytestmark = UNIX


@pytest.fixture(scope="module")
def slow(tmp_path_factory):
    """Labels that are noise: with large C each combination takes longer than the one before."""
    path = tmp_path_factory.mktemp("slow") / "slow.npz"
    rng = np.random.default_rng(0)
    np.savez(path, X=rng.normal(size=(6000, 20)), y=rng.integers(0, 2, 6000))
    return path


@pytest.mark.slow
def test_max_time_takes_the_best_of_what_is_finished(tmp_path, slow):
    model = tmp_path / "m.psvm"
    words = ["tune", slow, "-o", model, "--max-time", "20", "--gammas", "0.01,0.05", "--json"]
    words += ["--Cs", "0.001,1e5,1e6,1e7"]  # the first is quick, the others would take minutes
    began = time.monotonic()
    code, out, err = psvm(*words)
    assert time.monotonic() - began < 60
    facts = json.loads(out)
    finished = len(facts["search"])
    assert code in (0, 3)  # 3 if the final fit was cut short, too
    assert 0 < finished < facts["combinations"] == 40
    assert all(row["score"] is not None for row in facts["search"])
    assert facts["best_score"] == facts["search"][0]["score"]
    assert f"stopped by --max-time 20: {finished} of 40 combinations were finished" in err
    # Off a terminal there are lines, at first one a second.
    lines = re.findall(r"^(\d+) of \d+ fits after \d+ s", err, re.M)
    assert 3 < len(lines) < 15
    assert load(model).classes_.tolist() == [0, 1]


def test_max_time_that_is_too_short_for_one_combination(tmp_path, slow):
    words = ["tune", slow, "-o", tmp_path / "m.psvm", "--max-time", "0.2", "--Cs", "1e5,1e6"]
    code, out, err = psvm(*words)
    assert (code, out) == (1, "")
    assert err.count("\n") == 2  # what the task is, and why it ended
    for part in ("--max-time 0.2", "nothing is written", "--Cs", "--linear"):
        assert part in err
    assert list(tmp_path.iterdir()) == []


def test_the_time_limit_of_a_linear_search_ends_single_fits(tmp_path, slow):
    model = tmp_path / "m.psvm"
    words = ["tune", slow, "-o", model, "--max-time", "3", "--kernel", "linear"]
    code, out, err = psvm(*words, "--Cs", "0.001,1e4", "--json", "--ps", "1,1.1,1.2,1.5,2,3,5")
    assert "Traceback" not in err
    if code != 1:  # a busy machine
        assert json.loads(out)["seconds"] < 30
        assert info(model)["model"]["classes"] == [0, 1]


def test_a_final_fit_that_is_cut_short_is_exit_code_3(tmp_path, slow):
    """Half of the rows in every fold, and labels that are noise: the final fit takes far longer."""
    model = tmp_path / "m.psvm"
    words = ["tune", slow, "-o", model, "--cv", "2", "--ps", "1", "--Cs", "3000"]
    code, out, err = psvm(*words, "--gammas", ".02", "--max-time", "6", "--json")
    assert code == 3, err
    facts = json.loads(out)
    assert not facts["finished"]
    assert facts["dual_gap"] > 1e-3
    assert "psvm: NOT finished: the relative duality gap is" in err
    assert str(model) in err
    assert load(model).predict(np.zeros((1, 20))).shape == (1,)


def test_combinations_that_are_not_solved_are_told_in_words_of_the_command_line(tmp_path, slow):
    words = ["tune", slow, "-o", tmp_path / "m.psvm", "--cv", "2", "--ps", "1", "--Cs", "30000"]
    _, _, err = psvm(*words, "--gammas", ".02", "--max-time", "8", "-q")
    if "was over before" not in err:  # a busy machine
        assert "warning: 1 of 1 combinations were solved only to a relative gap above 0.01" in err
        assert "smaller --Cs" in err
    assert "cv_results_" not in err


@pytest.mark.slow
def test_ctrl_c_keeps_the_best_of_what_is_finished(tmp_path, slow):
    model = tmp_path / "m.psvm"
    words = ["tune", slow, "-o", model, "--gammas", "0.05,5", "--Cs", "0.001,1e5,1e6"]
    process = start(*words, "--ps", "1,2")
    try:
        lines = []
        # The widest kernel is done first, and at once.
        while not lines or "cells, best" not in lines[-1]:
            lines.append(process.stderr.readline().decode())
            assert lines[-1], lines
        process.send_signal(signal.SIGINT)
        out, err = (part.decode() for part in process.communicate(timeout=300))
    finally:
        process.kill()
    assert process.returncode == 130
    assert "Stopping: the best of" in err
    said = re.search(r"stopped by Ctrl-C: (\d+) of 12 combinations were finished.* (\S+)\n", err)
    assert 6 <= int(said[1]) < 12
    assert said[2] == str(model)
    assert load(model).predict(np.zeros((1, 20))).shape == (1,)
    assert "combinations tried" in out
