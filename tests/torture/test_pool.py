"""Cases are determined by their seeds, and the pool survives what they do."""

import gc
import os
import signal
import time

import numpy as np
import pytest
from processes import UNIX

from torture.cases import make_fit
from torture.kinds import kind_of, run_case
from torture.mutations import damaged, misspelled
from torture.outcome import Outcome
from torture.pool import Pool


def behave(kind, seed):
    """A case that does what its kind says."""
    if kind == "crash":
        os.kill(os.getpid(), signal.SIGSEGV)
    if kind == "exit":
        os._exit(3)
    if kind == "hang":
        time.sleep(60)
    if kind == "raise":
        raise ZeroDivisionError("here")
    return Outcome(seed, kind)


@UNIX
def test_crashes_and_hangs_are_findings_and_the_others_go_on(tmp_path):
    kinds = ["fine", "crash", "fine", "hang", "raise", "fine", "exit", "fine", "crash"]
    pool = Pool(behave, count=2, limit=1.0, folder=tmp_path)
    try:
        cases = iter([(kind, seed) for seed, kind in enumerate(kinds)])
        found = {outcome.seed: outcome for outcome in pool.outcomes(cases)}
    finally:
        pool.close()
    assert sorted(found) == list(range(len(kinds)))
    what = {
        "fine": [],
        "crash": ["crash"],
        "exit": ["crash"],
        "hang": ["hang"],
        "raise": ["harness"],
    }
    for seed, kind in enumerate(kinds):
        assert [one.what for one in found[seed].findings] == what[kind]
    assert f"signal {signal.SIGSEGV:d}" in found[1].findings[0].detail
    assert "test_pool.py" in found[3].findings[0].detail  # the stack of a hang
    assert "here" in found[4].findings[0].detail


@UNIX
def test_no_worker_outlives_the_pool(tmp_path):
    pool = Pool(behave, count=1, limit=60.0, folder=tmp_path)
    pid = pool._workers[0].pid
    pool.close()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_a_seed_determines_its_case():
    for seed in range(200):
        first, second = (make_fit(np.random.default_rng(seed)) for _ in range(2))
        assert str(first) == str(second)
        np.testing.assert_array_equal(first.data.values, second.data.values)
        for change in (damaged, misspelled):
            text = b"1 1:2 2:3\n-1 1:1\n"
            once, again = (change(np.random.default_rng(seed), text) for _ in range(2))
            assert once == again


def test_seeds_cover_what_is_meant_to_be_covered():
    cases = [make_fit(np.random.default_rng(seed)) for seed in range(1500)]
    assert {case.estimator for case in cases} == {"PSVC", "LinearPSVC", "psvm_path", "PSVCCV"}
    kernels = {str(case.parameters.get("kernel", "none")).split()[0] for case in cases}
    assert len(kernels) == 9
    assert len({case.data.form for case in cases}) > 15
    assert {1, 2, 3, 5} <= {len(np.unique(case.data.y)) for case in cases}
    assert any(np.isinf(case.parameters.get("C", 0)) for case in cases)
    assert any(case.before for case in cases)
    assert any(case.blocks for case in cases)
    assert {kind_of(seed) for seed in range(20)} == {"fits", "regressions", "files", "stress"}


def test_every_form_holds_the_same_numbers():
    for seed in range(300):
        data = make_fit(np.random.default_rng(seed)).data
        X = data.X.toarray() if hasattr(data.X, "toarray") else np.asarray(data.X)
        np.testing.assert_array_equal(X.astype(np.float64), data.values)


def test_what_a_case_leaves_behind_is_found(monkeypatch):
    def loud(kind, seed):
        np.seterr(over="ignore")
        return Outcome(seed, kind)

    monkeypatch.setattr("torture.kinds._run", loud)
    gc.collect()  # what other tests have left
    with np.errstate(over="warn"):  # not what it will be changed to
        outcome = run_case("fits", 0)
    assert [one.what for one in outcome.findings] == ["left behind"]
