"""Fetching the data sets from UCI and OpenML."""

from __future__ import annotations

import io
import os
import sys
import tempfile
import warnings
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
from sklearn.datasets import fetch_openml

from psvm.data.files import cache_folder, places, store
from psvm.data.sources import (
    SOURCES,
    UCI,
    Archive,
    Array,
    DataUnavailableError,
    Labels,
    OpenML,
    content_digest,
    difference,
)

_ATTEMPTS = 3
_TIMEOUT_SECONDS = 30


def fetch(name: str, progress: bool) -> tuple[Array, Labels]:
    """Fetch a set from its origin, check it, and keep it in the cache.

    Parameters
    ----------
    name : str
        A key of ``SOURCES``.
    progress : bool
        Whether to report on standard error.

    Returns
    -------
    (X, y)
        Values and labels of the source.
    """
    source = SOURCES[name]
    if isinstance(source.origin, OpenML):
        where = f"OpenML (data set {source.origin.data_id})"
        X, y = _fetch_openml(name, source.origin, where, progress)
    else:
        where = f"{UCI}/{source.origin.path}"
        X, y = _unpack(_download(name, where, progress), source.origin, where)
    wrong = difference(source, X, y)
    if wrong is None and source.sha256 not in (None, content_digest(X, y)):
        wrong = f"the SHA-256 of its values must be {source.sha256}, got {content_digest(X, y)}"
    if wrong is not None:
        raise DataUnavailableError(
            f"What {where} serves as {name!r} is not the data set of the paper: {wrong}. It "
            f"has changed there, or was changed on the way; nothing was kept. If you have the "
            f"right one, put it as {name}.npz (arrays X and y) into a folder and name the folder "
            f"in the environment variable PSVM_DATA."
        )
    path = cache_folder() / f"{name}.npz"
    try:
        store(path, X, y)
    except OSError as error:
        warnings.warn(
            f"The data set {name!r} could not be kept as {path} ({error}): the next load will "
            f"fetch it again.",
            RuntimeWarning,
            stacklevel=3,
        )
    return X, y


def _unreachable(name: str, where: str, reason: str) -> DataUnavailableError:
    """The error for a set that is nowhere."""
    looked = " and ".join(str(path) for path in places(name))
    unset = "" if os.environ.get("PSVM_DATA") else " (the environment variable PSVM_DATA is unset)"
    return DataUnavailableError(
        f"The data set {name!r} is not on this machine and could not be fetched. Looked for "
        f"{looked}{unset}, then asked {where}: {reason}. Try again with a network; or, on a "
        f'machine that has one, run python -c "import psvm.data; psvm.data.load({name!r})", copy '
        f"{name}.npz from its cache folder ({cache_folder()} here) into a folder of this machine, "
        f"and name this folder in PSVM_DATA."
    )


def _download(name: str, url: str, progress: bool) -> bytes:
    """The bytes at a URL, asked for up to three times."""
    try:
        import pooch
    except ImportError as error:
        reason = "fetching needs the package pooch; pip install '.[paper]' in a clone installs it"
        raise _unreachable(name, url, reason) from error
    log = pooch.get_logger()
    level = log.level
    log.setLevel("INFO" if progress else "WARNING")
    try:
        with tempfile.TemporaryDirectory() as folder:
            files = pooch.create(
                folder,
                base_url="",
                registry={"archive": None},
                urls={"archive": url},
                retry_if_failed=_ATTEMPTS - 1,
            )
            meter = _Meter(f"psvm: {url.rsplit('/', 1)[-1]}") if progress else False
            http = pooch.HTTPDownloader(progressbar=meter, timeout=_TIMEOUT_SECONDS)
            path = files.fetch("archive", downloader=_closing(http))
            return Path(path).read_bytes()
    except OSError as error:  # what requests raises is one, too
        answered = getattr(error, "response", None) is not None
        reason = str(error) if answered else f"no connection to {urlsplit(url).hostname}"
        raise _unreachable(name, url, f"{reason}, {_ATTEMPTS} times") from error
    finally:
        log.setLevel(level)


def _closing(downloader: Callable[..., Any]) -> Callable[..., Any]:
    """A downloader of pooch that closes the connection also when the answer is an error."""

    def download(*arguments: Any) -> Any:
        try:
            return downloader(*arguments)
        except OSError as error:
            response = getattr(error, "response", None)
            if response is not None:
                response.close()
            raise

    return download


def _unpack(archive: bytes, origin: Archive, where: str) -> tuple[Array, Labels]:
    """X and y from the bytes of an archive."""
    try:
        with zipfile.ZipFile(io.BytesIO(archive)) as files:
            parts = [origin.parse(files.read(member)) for member in origin.members]
        X, y = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
        if origin.drop_row is not None:
            X, y = np.delete(X, origin.drop_row, axis=0), np.delete(y, origin.drop_row)
    except (zipfile.BadZipFile, zlib.error, LookupError, ValueError) as error:
        raise DataUnavailableError(
            f"What {where} serves is not the archive it was: {error}. It should be a zip file with "
            f"{', '.join(origin.members)} in the layout of UCI; nothing was kept."
        ) from error
    return X, y


def _fetch_openml(name: str, origin: OpenML, where: str, progress: bool) -> tuple[Array, Labels]:
    """X and y from OpenML, which checks the transfer and tries three times again."""
    if progress:
        sys.stderr.write(f"psvm: fetching {name} from {where}\n")
    try:
        # The parser that needs no pandas.
        X, y = fetch_openml(
            data_id=origin.data_id,
            as_frame=False,
            return_X_y=True,
            cache=False,
            parser="liac-arff",
            n_retries=_ATTEMPTS,
        )
    except (OSError, ValueError) as error:  # a ValueError is a wrong MD5
        raise _unreachable(name, where, f"no good answer ({error})") from error
    # OpenML's labels of USPS are digit + 1.
    digits = y.astype(np.int64)
    return np.asarray(X, dtype=np.float64), digits - digits.min()


class _Meter:
    """A progress line on standard error, with the interface that pooch asks for."""

    def __init__(self, title: str) -> None:
        self.title = title
        self.total = 0
        self.done = 0

    def update(self, size: int) -> None:
        """Some more bytes came."""
        self.done = min(self.done + size, self.total) if self.total else self.done + size
        of = f" of {self.total / 1024:.0f}" if self.total else ""
        sys.stderr.write(f"\r{self.title} {self.done / 1024:.0f}{of} kB")

    def reset(self) -> None:
        """Count from 0 again."""
        self.done = 0

    def close(self) -> None:
        """The line is over."""
        sys.stderr.write("\n")
