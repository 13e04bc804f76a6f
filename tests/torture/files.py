"""Damaged and doctored files: the right answer or a clear refusal, in bounded memory and time."""

from __future__ import annotations

import contextlib
import io
import json
import os
import resource
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import psvm
from psvm.cli import main
from psvm.cli.train_and_test import UNFINISHED
from psvm.persistence import ModelFileError, info, read_libsvm
from torture import corpus
from torture.cases import one_of
from torture.fits import INTERNAL, attempt
from torture.mutations import damaged, doctored, misspelled
from torture.outcome import Outcome

MEMORY = 3 * 2**30  # bytes beyond those of the worker itself
SECONDS = 3.0  # of CPU, for files of some kilobytes

# What a line to the user must not contain.
_LEAKS = ("Traceback", "--debug shows where", "polars", "pyo3", "panicked", "skops.", *INTERNAL)


def run_file(seed: int) -> Outcome:
    """The file of a seed, read by whatever reads it."""
    outcome = Outcome(seed, "files")
    rng = np.random.default_rng(seed)
    corpus.models(), corpus.exports(), corpus.data_files()
    how = one_of(rng, _model_file, _doctored_file, _libsvm_model, _data_file, _model_by_command,
                 _export, weights=[4, 5, 3, 8, 2, 1])  # fmt: skip
    cpu = time.process_time()
    with limited_memory(MEMORY), warnings.catch_warnings(), quiet_stderr() as said:
        warnings.simplefilter("ignore")
        how(rng, outcome)
        told = said()
    outcome.findings = [replace(one, detail=one.detail + told) for one in outcome.findings]
    cpu = time.process_time() - cpu
    if cpu > SECONDS and how is not _export:
        outcome.found("slow", f"{cpu:.1f} s")
    return outcome


def warm_up() -> None:
    """Have skops import all of scikit-learn, as the first model file does."""
    with tempfile.TemporaryDirectory() as folder:
        psvm.save(psvm.PSVC(), Path(folder) / "m.psvm")


@contextlib.contextmanager
def quiet_stderr() -> Iterator[Callable[[], str]]:
    """What is written to descriptor 2 inside, for findings: Rust tells of panics it is over."""
    with tempfile.TemporaryFile() as kept:
        before = os.dup(2)
        os.dup2(kept.fileno(), 2)

        def said() -> str:
            kept.seek(0)
            text = kept.read().decode(errors="replace").strip()
            return f"\n{text[-2000:]}" if text else ""

        try:
            yield said
        finally:
            os.dup2(before, 2)
            os.close(before)


@contextlib.contextmanager
def limited_memory(more: int) -> Iterator[None]:
    """So many bytes of address space beyond what the process has."""
    size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (size + more, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


# --- models --------------------------------------------------------------------------------------


def _written(name: str, content: bytes) -> Path:
    path = corpus.folder() / name
    path.write_bytes(content)
    return path


def _model_file(rng: np.random.Generator, outcome: Outcome) -> None:
    """Damage without a right checksum: refused, or the answers are the same bit for bit."""
    sound = one_of(rng, *corpus.models())
    outcome.recipe = f"damaged model file of {sound.name}"
    path = _written("m.psvm", damaged(rng, sound.content))
    model, error = attempt(lambda: psvm.load(path))
    _check_refusal(error, outcome)
    if error is None and not np.array_equal(sound.answers(model), sound.own_answers):
        outcome.found("wrong answer", "a damaged model was loaded and decides otherwise")
    _, error = attempt(lambda: info(path))
    _check_refusal(error, outcome)


def _doctored_file(rng: np.random.Generator, outcome: Outcome) -> None:
    """A changed model with a right checksum: refused, or it answers something."""
    sound = one_of(rng, *corpus.models())
    outcome.recipe = f"doctored model file of {sound.name}"
    path = _written("m.psvm", doctored(rng, sound.content))
    model, error = attempt(lambda: psvm.load(path))
    _check_refusal(error, outcome)
    if error is None:
        outcome.counts["loaded"] += 1
        asked = ["predict", "fit"]
        asked[:0] = ["decision_function"] if hasattr(sound.model, "decision_function") else []
        for ask in asked:
            _, error = attempt(lambda ask=ask: _ask(model, ask, sound))
            if error is not None and not isinstance(error, ValueError | TypeError | AttributeError):
                outcome.found(
                    "unclear error", f"{ask} of a doctored model: {type(error).__name__}: {error}"
                )


def _ask(model: Any, what: str, sound: corpus.SoundModel) -> None:
    if what == "fit":
        if hasattr(model, "max_time"):
            model.set_params(max_time=1.0)
        model.fit(sound.X, np.arange(sound.X.shape[0]) % 2)
    else:
        getattr(model, what)(sound.X)


def _libsvm_model(rng: np.random.Generator, outcome: Outcome) -> None:
    """LIBSVM's text models, damaged or with other words in them."""
    texts = {name: text for name, text in corpus.exports().items() if name.endswith("libsvm")}
    name = one_of(rng, *texts)
    outcome.recipe = f"LIBSVM model, {name}"
    change = one_of(rng, damaged, misspelled)
    path = _written("m.libsvm", change(rng, texts[name]))
    model, error = attempt(lambda: read_libsvm(path))
    _check_refusal(error, outcome)
    if error is None:
        outcome.counts["loaded"] += 1
        X = np.ones((2, model.n_features_in_)) if model.n_features_in_ < 10**6 else None
        if X is not None:
            _, error = attempt(lambda: model.predict(X))
            if error is not None and not isinstance(error, ValueError):
                outcome.found("unclear error", f"predict: {type(error).__name__}: {error}")


def _check_refusal(error: BaseException | None, outcome: Outcome) -> None:
    if error is None:
        return
    outcome.counts["refused"] += 1
    if not isinstance(error, ModelFileError):
        outcome.found("unclear error", f"{type(error).__name__}: {str(error)[:300]}")


def _export(rng: np.random.Generator, outcome: Outcome) -> None:
    """A model written as JSON, read by its documented formula, decides as the model does."""
    sound = one_of(rng, *corpus.exported())
    outcome.recipe = f"JSON export of {sound.name}"
    rule = json.loads(corpus.exports()[f"{sound.name}.json"])
    X = sound.X.toarray() if hasattr(sound.X, "toarray") else sound.X
    values = np.column_stack([_problem_values(rule, problem, X) for problem in rule["problems"]])
    if rule["classes"] is None:
        mine = sound.own_answers[:, None]
    else:
        mine = sound.model._problem_decisions(sound.X)
    if not np.allclose(values, mine, rtol=1e-9, atol=1e-9 * np.abs(mine).max()):
        outcome.found("wrong answer", f"off by {np.abs(values - mine).max():.1e}")


def _problem_values(rule: dict[str, Any], problem: dict[str, Any], X: np.ndarray) -> np.ndarray:
    if "weights" in problem:
        return X @ np.array(problem["weights"]) + problem["intercept"]
    kernel = rule["kernel"]
    Z = np.array(rule["vectors"])[problem["support"]]
    gamma, product = kernel.get("gamma", 1.0), X @ Z.T
    difference = X[:, None, :] - Z[None, :, :]
    K = {
        "linear": lambda: product,
        "rbf": lambda: np.exp(-gamma * (difference**2).sum(axis=2)),
        "laplacian": lambda: np.exp(-gamma * np.abs(difference).sum(axis=2)),
        "poly": lambda: (gamma * product + kernel["coef0"]) ** kernel["degree"],
    }[kernel["name"]]()
    return K @ np.array(problem["coefficients"]) + problem["intercept"]


# --- the command line ----------------------------------------------------------------------------


def _data_file(rng: np.random.Generator, outcome: Outcome) -> None:
    """``psvm fit`` and the like on a damaged data file."""
    files = corpus.data_files()
    kind = one_of(rng, *files)
    text = kind in ("csv", "tsv", "svm")
    change = one_of(rng, damaged, misspelled) if text else damaged
    path = _written(f"data.{kind}", change(rng, files[kind]))
    output = corpus.folder() / "out.psvm"
    output.unlink(missing_ok=True)
    words = ["fit", path, "--output", output, "--max-time", "1"]
    if kind not in ("svm", "npz", "sparse.npz"):
        words += ["--target", one_of(rng, "species", "height", weights=[2, 1])]
    words += one_of(rng, [], ["--linear"], ["--impute"], ["--kernel", "linear"], ["--no-header"],
                    ["--test-size", ".3"], ["--json"], weights=[5, 3, 1, 1, 1, 1, 1])  # fmt: skip
    if kind == "svm" and rng.random() < 0.2:
        words.append("--zero-based")
    code = _run(words, outcome)
    if code in (0, UNFINISHED):
        if not output.exists():
            outcome.found("wrong answer", f"exit code {code}, and no model")
            return
        _run(["predict", output, path, "--output", corpus.folder() / "p.csv"], outcome)
    elif output.exists():
        outcome.found("wrong answer", "a failure, and a model")


def _model_by_command(rng: np.random.Generator, outcome: Outcome) -> None:
    """``psvm info``, ``predict`` and ``export`` of a damaged model."""
    sound = one_of(rng, *corpus.models())
    change = one_of(rng, damaged, doctored)
    path = _written("m.psvm", change(rng, sound.content))
    data = _written("data.csv", corpus.data_files()["csv"])
    output = corpus.folder() / "out.json"
    words = one_of(rng, ["info", path], ["info", path, "--json"], ["export", path, output],
                   ["predict", path, data], ["evaluate", path, data, "-t", "species"],
                   ["evaluate", path, data, "-t", "height"])  # fmt: skip
    _run(words, outcome)


def _run(words: list[Any], outcome: Outcome) -> int:
    """The exit code of a command, whose messages are checked."""
    outcome.recipe = " ".join(["psvm", *map(str, words)])
    out, err = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code, error = attempt(lambda: main([str(word) for word in words]))
    if error is not None:
        outcome.found("unclear error", f"escaped: {type(error).__name__}: {error}")
        return 1
    outcome.counts[f"exit {code}"] += 1
    told = err.getvalue()
    if code not in (0, 1, 2, UNFINISHED):
        outcome.found("exit code", f"{code}: {told[-300:]}")
    leaks = [word for word in _LEAKS if word in told]
    if leaks or (code != 0 and not told.strip().startswith("psvm:")):
        outcome.found("unclear error", f"exit {code}, {leaks}: {told[-400:]}")
    return int(code)
