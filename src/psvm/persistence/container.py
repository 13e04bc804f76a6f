"""The model file: a zip archive of a readable header and a payload with its checksum.

==================  ================================================================
member              content
==================  ================================================================
``psvm.json``       the header: format, versions, checksum, a summary of the model
``model.skops``     the model, as written by skops: ``schema.json`` and NumPy arrays
==================  ================================================================

This module knows bytes only; what they mean is the business of `psvm.persistence.model_file`.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import struct
import zipfile
import zlib
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from psvm.persistence.atomic import replacing
from psvm.persistence.errors import ModelFileError

# What the zip and JSON readers raise on damaged input, one by one, so that a mistake here is not
# taken for a damaged file.
DAMAGED = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    NotImplementedError,  # a compression method that does not exist
    UnicodeDecodeError,
    RuntimeError,  # a member marked as encrypted
    struct.error,
    OverflowError,
)

FORMAT = "psvm model"
FORMAT_VERSION = 3
"""Raise it when an older psvm could not read the file, and add a step to `state.UPGRADES`."""

HEADER = "psvm.json"
PAYLOAD = "model.skops"

# A header is some kilobytes, or megabytes with very many feature names.
_MAX_HEADER = 256 * 2**20


@dataclass(frozen=True)
class ModelFile:
    """The content of a model file, its checksum verified."""

    header: dict[str, Any]
    payload: bytes

    @property
    def format_version(self) -> int:
        """Version of the format the file was written in."""
        return int(self.header["format_version"])


def write_container(
    path: str | os.PathLike[str],
    payload: bytes,
    summary: dict[str, Any],
    notes: dict[str, Any] | None = None,
) -> None:
    """Write a payload with its header, atomically.

    Parameters
    ----------
    path : path-like
        The file.
    payload : bytes
        The model.
    summary : dict
        What a reader may want to know without loading the model; JSON values only.
    notes : dict, optional
        What the writer wants to know again; JSON values only.
    """
    header = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "payload": {
            "member": PAYLOAD,
            "bytes": len(payload),
            "sha256": hashlib.sha256(payload).hexdigest(),
        },
        "versions": _versions(),
        "model": summary,
        **({"notes": notes} if notes else {}),
    }
    text = json.dumps(header, indent=1, ensure_ascii=False, allow_nan=False)
    with replacing(path) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        # A fixed date: equal content should not differ by the clock.
        for name, content in ((HEADER, text.encode("utf-8")), (PAYLOAD, payload)):
            member = zipfile.ZipInfo(name)
            member.external_attr = 0o644 << 16  # `unzip` makes readable files
            archive.writestr(member, content)


def read_container(path: str | os.PathLike[str]) -> ModelFile:
    """Read a model file and verify its checksum; nothing in it is interpreted but the header.

    Parameters
    ----------
    path : path-like
        The file.

    Returns
    -------
    ModelFile

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ModelFileError
        If it is not a model file, of a newer format, truncated or damaged.
    """
    path = Path(path)
    if path.is_dir():
        raise ModelFileError(f"{path} is a folder, not a psvm model file.")
    try:
        content = path.open("rb")
    except FileNotFoundError:
        raise FileNotFoundError(
            f"There is no file {path}; check the name and the folder."
        ) from None
    with content as file:
        _check_kind(path, file.read(4))
        try:
            with zipfile.ZipFile(file) as archive:
                header = _read_header(path, archive)
                return ModelFile(header, _read_payload(path, archive, header))
        except OSError as error:
            if error.errno != errno.EINVAL:  # a place before the beginning of the file
                raise
            raise _damaged(path, "it is not a whole zip archive") from error
        except DAMAGED as error:
            raise _damaged(path, f"it is not a whole zip archive ({error})") from error


def info(path: str | os.PathLike[str]) -> dict[str, Any]:
    """What a model file says about itself, without loading the model.

    Parameters
    ----------
    path : path-like
        The file; its checksum is verified.

    Returns
    -------
    dict
        ``path``, ``bytes``, ``format_version``, ``versions`` of the packages that wrote it,
        ``payload`` (bytes and SHA-256), and ``model``: ``saved``, ``estimator``, ``steps``,
        ``parameters``, ``classes``, ``n_features``, ``feature_names``, ``n_support``, ``dual_gap``,
        ``status`` and the like, as far as they apply. ``notes``, if some were given to ``save``.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ModelFileError
        If it is not a model file, of a newer format, truncated or damaged.
    """
    header = read_container(path).header
    return {"path": str(path), "bytes": Path(path).stat().st_size, **header}


def _check_kind(path: Path, magic: bytes) -> None:
    """Refuse what is not a zip archive, and say what it seems to be."""
    if magic.startswith(b"PK"):
        return
    if not magic:
        raise ModelFileError(f"{path} is empty, not a psvm model file; save the model again.")
    if magic[0] == 0x80:  # how every pickle since protocol 2 begins
        raise ModelFileError(
            f"{path} is a pickle. It was not opened: a pickle runs any code its author put in. If "
            "you made it yourself, unpickle it and write it with psvm.save(model, path)."
        )
    raise ModelFileError(
        f"{path} is not a psvm model file. Files made by psvm.save or `psvm fit` are; "
        "LIBSVM's text models are read by psvm.persistence.read_libsvm."
    )


def _read_header(path: Path, archive: zipfile.ZipFile) -> dict[str, Any]:
    """The header, its format and version checked."""
    names = archive.namelist()
    if HEADER not in names:
        hint = "a skops file without psvm's header" if "schema.json" in names else "a zip archive"
        raise ModelFileError(f"{path} is {hint}, not a psvm model file; write it with psvm.save.")
    if archive.getinfo(HEADER).file_size > _MAX_HEADER:
        raise _damaged(path, "its header is larger than any real one")
    try:
        header = json.loads(archive.read(HEADER))
        found, version_found = header["format"], header["format_version"]
        readable = found == FORMAT and type(version_found) is int and version_found >= 1
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise _damaged(path, f"its header cannot be read ({error})") from error
    if not readable:
        raise _damaged(path, f"its header says format {found!r}, version {version_found!r}")
    if version_found > FORMAT_VERSION:
        writer = header.get("versions", {}).get("psvm", "a newer one")
        raise ModelFileError(
            f"{path} has format {version_found}, written by psvm {writer}; psvm "
            f"{version('psvm')} reads formats up to {FORMAT_VERSION}. "
            "Install a newer psvm: pip install --upgrade psvm."
        )
    return dict(header)


def _read_payload(path: Path, archive: zipfile.ZipFile, header: dict[str, Any]) -> bytes:
    """The payload, equal to its checksum."""
    try:
        expected, size = header["payload"]["sha256"], header["payload"]["bytes"]
        info = archive.getinfo(PAYLOAD)
    except (KeyError, TypeError) as error:
        raise _damaged(path, f"it has no payload with a checksum ({error})") from error
    if info.compress_type != zipfile.ZIP_STORED or info.file_size != size:
        raise _damaged(path, f"its payload should have {size} bytes and has {info.file_size}")
    payload = archive.read(info)
    found = hashlib.sha256(payload).hexdigest()
    if found != expected:
        raise _damaged(path, f"its checksum is {found[:12]}…, not {str(expected)[:12]}…")
    return payload


def _damaged(path: Path, why: str) -> ModelFileError:
    return ModelFileError(
        f"{path} is damaged or truncated: {why}. Copy it again from where it was made, or save the "
        "model again."
    )


def _versions() -> dict[str, str]:
    """Versions of what wrote the file."""
    found = {}
    for package in ("psvm", "scikit-learn", "numpy", "scipy", "skops"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:  # vendored, or run from a source tree
            found[package] = "unknown"
    return found
