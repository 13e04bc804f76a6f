"""Files that are damaged, or of another version: found out, and said."""

import subprocess
import sys

import numpy as np
import pytest
from messages import assert_mentions
from model_files import X, Y, assembled, parts, refusal, written

from psvm import PSVC
from psvm.persistence import ModelFileError, info, load, save
from psvm.persistence import container as container_module
from psvm.persistence import state as state_module

pytest.importorskip("skops.io")


# --- damaged -------------------------------------------------------------------------------------


def test_every_truncation_is_found(whole, tmp_path):
    content, _ = whole
    for length in [*range(1, 200), *range(200, len(content), 97), len(content) - 1]:
        message = refusal(written(tmp_path, content[:length]))
        assert_mentions(message, "m.psvm")


def test_a_changed_byte_is_found_or_harmless(whole, tmp_path):
    content, decisions = whole
    rng = np.random.default_rng(0)
    found = 0
    places = [*range(80), *rng.integers(80, len(content), 100), *range(-100, 0)]
    for place in places:
        changed = bytearray(content)
        changed[place] ^= 1 << rng.integers(8)
        path = written(tmp_path, bytes(changed))
        try:
            info(path)  # reads and verifies all that load does, without building the model
        except ModelFileError:
            found += 1
            continue
        # Dates and the like in the archive's own tables: what counts is the same.
        np.testing.assert_array_equal(load(path).decision_function(X), decisions)
    assert found > 0.7 * len(places)


def test_checksum_is_of_the_payload(whole, tmp_path):
    header, payload = parts(whole[0])
    header["payload"]["sha256"] = "0" * 64
    assert_mentions(refusal(assembled(tmp_path, header, payload)), "checksum", "damaged")
    header["payload"] = {}
    assert_mentions(refusal(assembled(tmp_path, header, payload)), "checksum")


@pytest.mark.parametrize(
    "header",
    [b"{", b"[]", b'{"format": "psvm model"}', b'{"format": "x", "format_version": 1}',
     b'{"format": "psvm model", "format_version": "1"}',
     b'{"format": "psvm model", "format_version": true}', b"\xff\xfe", b"[" * 100_000],
    ids=range(8),
)  # fmt: skip
def test_nonsense_in_the_header(whole, tmp_path, header):
    _, payload = parts(whole[0])
    assert_mentions(refusal(assembled(tmp_path, header, payload)), "damaged", "header")


# --- versions ------------------------------------------------------------------------------------


def test_newer_format_asks_for_a_newer_psvm(whole, tmp_path):
    header, payload = parts(whole[0])
    header["format_version"], header["versions"]["psvm"] = 7, "9.9"
    message = refusal(assembled(tmp_path, header, payload))
    assert_mentions(message, "format 7", "psvm 9.9", "--upgrade")


def test_older_format_is_brought_up_to_date(tmp_path, monkeypatch):
    """A file in which the intercept has another name and sign, read by the next format."""
    now = container_module.FORMAT_VERSION
    model = PSVC().fit(X, Y)
    decisions = model.decision_function(X)
    old = PSVC()
    vars(old).update(vars(model))
    old.rho_ = -vars(old).pop("intercept_")
    path = tmp_path / "old.psvm"
    save(old, path)

    def rename(kind, attributes):
        if kind == "PSVC":
            attributes["intercept_"] = -attributes.pop("rho_")
        return attributes

    assert_mentions(refusal(path), "intercept_")  # the present format has no such attribute
    monkeypatch.setattr(container_module, "FORMAT_VERSION", now + 1)
    assert_mentions(refusal(path), f"format {now}", "not read any more", "export")
    monkeypatch.setitem(state_module.UPGRADES, now, rename)
    loaded = load(path)
    np.testing.assert_array_equal(loaded.decision_function(X), decisions)
    assert not hasattr(loaded, "rho_")
    save(loaded, path)  # and is written in the present format
    assert info(path)["format_version"] == now + 1


def test_skops_brings_no_array_library_along(tmp_path):
    """Loading a model must not import torch, nor fail where it is broken."""
    save(PSVC(), tmp_path / "m.psvm")
    broken = tmp_path / "torch"
    broken.mkdir()
    (broken / "__init__.py").write_text("raise OSError('broken')")
    program = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n"
        f"from psvm.persistence import load; load({str(tmp_path / 'm.psvm')!r})\n"
        "assert 'torch' not in sys.modules\n"
        "assert 'sklearn.externals.array_api_compat.torch' not in sys.modules\n"
    )
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert answer.returncode == 0, answer.stderr


def test_missing_package_is_named(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "skops", None)
    monkeypatch.setitem(sys.modules, "skops.io", None)
    for call in (lambda: save(PSVC(), tmp_path / "m"), lambda: load(tmp_path / "m")):
        with pytest.raises(ModuleNotFoundError, match=r"'\.\[files\]'"):
            call()
