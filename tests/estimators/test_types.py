"""What a type checker sees of the estimators."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("mypy")

SNIPPET = """\
from psvm import PSVC, PSVCCV, PSVR, PSVRCV, LinearPSVC, LinearPSVR

X, y = [[0.0], [1.0]], [0, 1]
reveal_type(PSVC().fit(X, y))
reveal_type(LinearPSVC().fit(X, y, sample_weight=[1, 2]))
reveal_type(LinearPSVC().fit_blocks([(X, y)]))
reveal_type(PSVCCV().fit(X, y))
reveal_type(PSVRCV().fit(X, y))
reveal_type(PSVR(quantile=0.9).fit(X, y))
reveal_type(LinearPSVR(solver="auto").fit_blocks([(X, y)]))
reveal_type(PSVC().fit(X, y).n_jobs)
PSVC().fit(X)
"""


def test_fit_returns_its_own_type(tmp_path):
    """Not Any, which the decorator for callbacks would make of it."""
    path = tmp_path / "snippet.py"
    path.write_text(SNIPPET, encoding="utf-8")
    command = [sys.executable, "-m", "mypy", "--no-incremental", "--ignore-missing-imports"]
    command += ["--config-file", os.devnull, "--follow-imports", "silent", path.name]
    source = str(Path(__file__).parents[2] / "src")
    found = subprocess.run(
        command,
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "MYPYPATH": source},
        check=False,
    )
    lines = found.stdout.splitlines()
    revealed = [line.split('"')[1] for line in lines if "Revealed type" in line]
    assert revealed == [
        "psvm.estimators.svc.PSVC",
        "psvm.estimators.linear_svc.LinearPSVC",
        "psvm.estimators.linear_svc.LinearPSVC",
        "psvm.search.estimator.PSVCCV",
        "psvm.search.regressor.PSVRCV",
        "psvm.estimators.svr.PSVR",
        "psvm.estimators.linear_svr.LinearPSVR",
        "int | None",
    ], found.stdout + found.stderr
    errors = [line for line in lines if "error" in line and line.startswith("snippet.py")]
    assert len(errors) == 1, found.stdout
    assert "y" in errors[0]  # the argument that is missing
