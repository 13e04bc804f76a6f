"""Allocations and writes that fail when they are told to; the command from end to end."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from processes import LINUX

from torture.failing_calls import compiled, environment

TESTS = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def preloaded(tmp_path_factory):
    library = compiled(tmp_path_factory.mktemp("library"))
    if library is None:
        pytest.skip("no compiler")
    return {**os.environ, **environment(library), "PYTHONPATH": str(TESTS)}


def run(body, env):
    command = [sys.executable, "-c", textwrap.dedent(body)]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


@LINUX
def test_the_first_allocation_fails_and_the_next_fit_does_not(preloaded):
    body = """
        import numpy as np
        from psvm import LinearPSVC
        from torture.failing_calls import failing_allocation

        X = np.random.default_rng(0).normal(size=(40, 3))
        model = LinearPSVC()
        with failing_allocation(0) as library:
            model.fit(X, X[:, 0] > 0)
            total = library.torture_allocations()
        before = dict(model.__dict__)
        try:
            with failing_allocation(1):
                model.fit(X, X[:, 0] > 0)
        except MemoryError:
            print(total > 0, before == model.__dict__)
        model.fit(X, X[:, 0] > 0)
    """
    assert run(body, preloaded) == "True True\n"


@LINUX
def test_a_write_fails_with_the_error_that_is_told(preloaded, tmp_path):
    body = f"""
        import errno
        from torture.failing_calls import failing_write

        with open({str(tmp_path / "file")!r}, "wb", buffering=0) as file:
            with failing_write(2, errno.ENOSPC):
                file.write(b"1")
                try:
                    file.write(b"2")
                except OSError as error:
                    print(error.errno == errno.ENOSPC)
                file.write(b"3")
    """
    assert run(body, preloaded) == "True\n"
    assert (tmp_path / "file").read_bytes() == b"13"


@LINUX
@pytest.mark.slow  # a process that imports everything, and three workers
def test_the_command_prints_its_seeds_and_counts():
    command = [sys.executable, "-m", "torture", "--base", "40", "--fits", "4", "--stress", "1"]
    env = {**os.environ, "PYTHONPATH": str(TESTS), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=300)
    assert done.returncode in (0, 1)  # 1: there were findings
    assert "seeds from 40 on" in done.stdout
    assert "4 cases" in done.stdout
    assert "5 cases in" in done.stdout
