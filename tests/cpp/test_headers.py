"""The tests of the C++ core's headers, compiled into ``psvm_tests``: each a test of its own here.

``make test`` builds the executable and names it in ``PSVM_CPP_TESTS``; it must then be there.
"""

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NAMED = os.environ.get("PSVM_CPP_TESTS")


def find_executable():
    """The one named in the environment, else the one compiled last, if any."""
    if NAMED:
        return ROOT / NAMED
    built = list(ROOT.glob("build/*/psvm_tests"))
    return max(built, key=lambda path: path.stat().st_mtime, default=None)


EXECUTABLE = find_executable()


def run(*arguments, **environment):
    return subprocess.run(
        [EXECUTABLE, *arguments],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=300,
    )


def cases():
    """Names of tests, with the instruction sets to run each on: lower ones where they matter."""
    if EXECUTABLE is None:
        reason = "psvm_tests was not built: cmake -DPSVM_TESTS=ON, or make test"
        return [pytest.param("psvm_tests", "best", marks=pytest.mark.skip(reason=reason))]
    listed = [line.split() for line in run("--list").stdout.splitlines()]
    return [
        pytest.param(name, cpu, id=f"{name}-{cpu}" if per_cpu else name)
        for name, *per_cpu in listed
        for cpu in (("best", "avx2", "baseline") if per_cpu else ("best",))
    ]


@pytest.mark.parametrize(("name", "cpu"), cases())
def test_header(name, cpu):
    answer = run(name, PSVM_CPU=cpu)
    assert answer.returncode == 0, answer.stdout + answer.stderr


@pytest.mark.skipif(EXECUTABLE is None, reason="psvm_tests was not built")
def test_a_name_that_is_no_test_is_an_error():
    """A test that is spelled wrong does not pass by not running."""
    assert run("powers.no_such_test").returncode == 2
