"""Damage is damage, doctored files have right checksums, and wrong readers are found out."""

import io
import os
import sys

import numpy as np
import pytest

from psvm.persistence import ModelFileError, info, load
from torture import corpus, files
from torture.mutations import WORDS, damaged, doctored, misspelled
from torture.outcome import Outcome


@pytest.fixture(scope="module", autouse=True)
def folder(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TORTURE_FOLDER", str(tmp_path_factory.mktemp("torture")))
        for made in (corpus.folder, corpus.models, corpus.exports, corpus.data_files):
            made.cache_clear()
        yield


def test_a_doctored_file_differs_and_passes_the_checksum(tmp_path):
    content, differ = corpus.models()[0].content, 0
    for seed in range(30):
        path = tmp_path / "m.psvm"
        path.write_bytes(doctored(np.random.default_rng(seed), content))
        info(path)  # verifies the checksum
        differ += path.read_bytes() != content
    assert differ > 25


def test_damage_changes_bytes_and_misspelling_words():
    text = b"1 1:0.5 2:0.25\n-1 1:2\n"
    assert sum(damaged(np.random.default_rng(seed), text) != text for seed in range(50)) > 40
    changed = [misspelled(np.random.default_rng(seed), text) for seed in range(200)]
    assert sum(b"1e400" in one for one in changed) > 0
    assert len(WORDS) == len(set(WORDS))


@pytest.mark.parametrize("seed", range(16, 220, 20))
def test_the_files_of_some_seeds(seed):
    outcome = files.run_file(seed)
    assert [one for one in outcome.findings if one.what not in ("slow",)] == []


def refuse_badly(path):
    raise ZeroDivisionError


def answer_wrongly(path):
    model = load(path)
    model.intercept_ = model.intercept_ + 1
    return model


@pytest.mark.parametrize(
    ("reader", "what"), [(refuse_badly, "unclear error"), (answer_wrongly, "wrong answer")]
)
def test_a_wrong_reader_is_found_out(monkeypatch, reader, what):
    monkeypatch.setattr("psvm.load", reader)
    monkeypatch.setattr(files, "damaged", lambda rng, content: content)
    sound = corpus.models()[0]
    monkeypatch.setattr(corpus, "models", lambda: [sound])
    outcome = Outcome(0, "files")
    files._model_file(np.random.default_rng(0), outcome)
    assert [one.what for one in outcome.findings] == [what]


def test_what_is_written_to_stderr_is_kept_for_findings(monkeypatch, capfd):
    """Also by threads that are not Python's."""

    def panic(rng, outcome):
        os.write(2, b"thread panicked")
        if outcome.seed:
            outcome.found("wrong answer", "seen")

    monkeypatch.setattr(files, "one_of", lambda *choices, **_: panic)
    assert files.run_file(0).findings == []
    (found,) = files.run_file(1).findings
    assert found.detail == "seen\nthread panicked"
    assert "panicked" not in capfd.readouterr().err


def test_a_command_that_shows_its_inside_is_found_out(monkeypatch):
    def leak(words):
        sys.stderr.write("psvm: ValueError: brentq (--debug shows where)\n")
        return 1

    monkeypatch.setattr(files, "main", leak)
    outcome = Outcome(0, "files")
    assert files._run(["fit"], outcome) == 1
    assert [one.what for one in outcome.findings] == ["unclear error"]


def test_memory_is_limited():
    with pytest.raises(MemoryError), files.limited_memory(2**26):
        np.ones(2**25)
    np.ones(2**20)


def test_an_export_is_read_by_its_formula():
    outcome = Outcome(0, "files")
    for seed in range(8):
        files._export(np.random.default_rng(seed), outcome)
    assert outcome.findings == []


def test_refusals_are_model_file_errors():
    outcome = Outcome(0, "files")
    files._check_refusal(ModelFileError("m.psvm is damaged"), outcome)
    assert outcome.findings == []
    files._check_refusal(io.UnsupportedOperation("read"), outcome)
    assert [one.what for one in outcome.findings] == ["unclear error"]
