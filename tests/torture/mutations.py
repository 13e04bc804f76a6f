"""Damage to files: bits, bytes, lengths, and words of text, by a generator."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from typing import Any

import numpy as np

from torture.cases import one_of

# What a number in a text may be replaced by.
WORDS = (
    b"nan", b"inf", b"-inf", b"1e400", b"-1e308", b"1e308", b"1e-320", b"0", b"-1", b"999999999",
    b"4294967296", b"99999999999999999999", b"", b" ", b"x", b"1:", b":1", b"0:1", b"1:1:1", b"\0",
    b"\xff\xfe", b"\xef\xbb\xbf", b"\"", b"'", b"#", b"1,5", b"\xc3", b"\r", b"\n\n", b"\t",
    b"0x10", b"1_000", b"+1", b"1e", b"True", b"null", "\u0663".encode(),
)  # fmt: skip


def damaged(rng: np.random.Generator, content: bytes) -> bytes:
    """Some bytes changed, lost, moved or added."""
    for _ in range(int(one_of(rng, 1, 2, 8, weights=[6, 2, 1]))):
        content = _damage_once(rng, content)
    return content


def _damage_once(rng: np.random.Generator, content: bytes) -> bytes:
    if not content:
        return content
    at = int(rng.integers(len(content)))
    size = int(min(len(content) - at, one_of(rng, 1, rng.integers(1, 64), rng.integers(1, 4096))))
    how = one_of(rng, "bit", "cut", "zero", "random", "drop", "repeat", "empty",
                 weights=[6, 2, 1, 1, 1, 1, 0.1])  # fmt: skip
    before, part, after = content[:at], content[at : at + size], content[at + size :]
    if how == "bit":
        return before + bytes([content[at] ^ (1 << int(rng.integers(8)))]) + content[at + 1 :]
    return {
        "cut": before,
        "zero": before + bytes(size) + after,
        "random": before + rng.bytes(size) + after,
        "drop": before + after,
        "repeat": before + part * int(rng.integers(2, 5)) + after,
        "empty": b"",
    }[how]


def misspelled(rng: np.random.Generator, content: bytes) -> bytes:
    """A text with a few of its words replaced, and now and then its lines moved."""
    words = content.replace(b",", b" , ").replace(b":", b" : ").replace(b"\n", b" \n ").split(b" ")
    for _ in range(int(rng.integers(1, 4))):
        words[int(rng.integers(len(words)))] = one_of(rng, *WORDS)
    text = b" ".join(words)
    for mark in (b",", b":", b"\n"):
        text = text.replace(b" " + mark + b" ", mark)
    if rng.random() < 0.2:
        lines = text.split(b"\n")
        i, j = rng.integers(len(lines), size=2)
        lines[i], lines[j] = lines[j], lines[i]
        text = b"\n".join(lines)
    if rng.random() < 0.05:
        text = b"\xef\xbb\xbf" + (b"" if rng.random() < 0.3 else text)
    return text


def doctored(rng: np.random.Generator, content: bytes) -> bytes:
    """A model file whose inner members are changed, and the checksum made right again."""
    outer = members_of(content)
    inner = members_of(outer["model.skops"])
    name = list(inner)[int(rng.integers(len(inner)))]
    if rng.random() < 0.6:
        name = "schema.json"
    if name == "schema.json":
        inner[name] = json.dumps(_changed(rng, json.loads(inner[name]))).encode()
    else:
        inner[name] = _other_array(rng, inner[name])
    payload = zipped(inner)
    header = json.loads(outer["psvm.json"])
    header["payload"] |= {"bytes": len(payload), "sha256": hashlib.sha256(payload).hexdigest()}
    return zipped({"psvm.json": json.dumps(header).encode(), "model.skops": payload})


def _changed(rng: np.random.Generator, tree: Any) -> Any:
    """A JSON tree with some of its leaves replaced, swapped or dropped."""
    places: list[tuple[Any, Any]] = []
    todo = [tree]
    while todo:
        item = todo.pop()
        for key, value in item.items() if isinstance(item, dict) else enumerate(item):
            places.append((item, key))
            if isinstance(value, dict | list):
                todo.append(value)
    for _ in range(int(one_of(rng, 1, 2, 5))):
        item, key = places[int(rng.integers(len(places)))]
        other, other_key = places[int(rng.integers(len(places)))]
        try:
            item[key] = one_of(
                rng, 0, -1, 2**31, 2**63, 1e308, "", "x", None, [], {}, True, other[other_key],
                weights=[1, 1, 1, 1, 1, 0.3, 1, 1, 0.5, 0.5, 1, 6],
            )  # fmt: skip
            json.dumps(tree)
        except (KeyError, IndexError, ValueError):
            item[key] = 0  # a tree that holds itself
    return tree


def _other_array(rng: np.random.Generator, content: bytes) -> bytes:
    """Another array in place of one: other type, shape, values, or a header that lies."""
    try:
        array = np.load(io.BytesIO(content), allow_pickle=False)
        assert isinstance(array, np.ndarray)
    except Exception:
        return damaged(rng, content)
    how = int(rng.integers(6))
    if how == 0:
        other = one_of(rng, np.float32, np.int64, np.int8, np.complex128, "U8", bool)
        array = array.astype("U9") if array.dtype.kind == "U" else array.astype(other)
    elif how == 1:
        array = array.reshape(-1)[: int(rng.integers(array.size + 1))]
    elif how == 2:
        array = array[None] if rng.random() < 0.5 else np.concatenate([array.ravel()] * 2)
    elif how == 3 and array.size and array.dtype.kind in "iuf":
        array = np.array(array)
        array.flat[int(rng.integers(array.size))] = one_of(rng, -1, 0, 127)
    elif how == 4 and array.size and array.dtype.kind == "f":
        array = array * one_of(rng, np.nan, np.inf, 1e300, -1.0, 0.0)
    else:
        big = b"%d" % (10 ** int(rng.integers(1, 15)))
        return content.replace(b"'shape': (", b"'shape': (" + big + b", ", 1)
    file = io.BytesIO()
    np.save(file, array, allow_pickle=False)
    return file.getvalue()


def members_of(content: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def zipped(members: dict[str, bytes]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return file.getvalue()
