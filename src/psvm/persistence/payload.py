"""The payload of a model file: a zip archive by skops, in which ``schema.json`` names classes.

Files outlive the places of classes. A name in `MOVED` is read as the name at its right, before it
is compared with the list of allowed types and before skops sees it; no other name is touched.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO
from typing import Any
from zipfile import ZIP_STORED, ZipFile

from psvm.persistence.npy_header import check_npy_members

SCHEMA = "schema.json"

MOVED = {
    # as written by format 1: where the class is now
    "psvm.kernels.Kernel": "psvm.rows.kernel.Kernel",
    "psvm.linear.LinearPSVC": "psvm.estimators.linear_svc.LinearPSVC",
    "psvm.problem.LinearStart": "psvm.mathematics.problem.LinearStart",
    "psvm.svc.PSVC": "psvm.estimators.svc.PSVC",
    "psvm.warm_start.LinearWarmStart": "psvm.estimators.starts.LinearWarmStart",
    "psvm.warm_start.WarmStart": "psvm.estimators.starts.WarmStart",
}
"""To move a class that model files hold, change the right side and add a line for its last place.

A name at the left is never given to another class. Where the attributes change too, they need a
new format and a step in `state.UPGRADES`.
"""

# Beyond this, and this many times the size of the file, a member is a trap and not a model.
_EXPANDED = 256 * 2**20
_TIMES = 200


@dataclass(frozen=True)
class Payload:
    """What skops reads, and its parsed schema; both name classes by their present places."""

    content: bytes
    schema: Any


def read_payload(content: bytes) -> Payload:
    """Read the schema of a payload whose members are of sane size; nothing in it is made.

    Parameters
    ----------
    content : bytes
        A zip archive as skops writes it, from any version of psvm.

    Returns
    -------
    Payload
        ``content`` itself, or where classes have moved a copy with their present names.
    """
    with ZipFile(BytesIO(content)) as archive:
        _check_expansion(archive, len(content))
        check_npy_members(archive)
        for member in archive.namelist():
            if member.endswith(".npz"):  # a zip archive in the archive
                inner_content = archive.read(member)
                with ZipFile(BytesIO(inner_content)) as inner:
                    _check_expansion(inner, len(inner_content))
                    check_npy_members(inner)
        schema = json.loads(archive.read(SCHEMA))
        if _rename_moved(schema):
            content = _with_schema(archive, schema)
    return Payload(content, schema)


def nodes_of(schema: Any) -> Iterator[dict[str, Any]]:
    """Every part of a schema that names a loader."""
    todo = [schema]
    while todo:
        item = todo.pop()
        if isinstance(item, dict):
            if isinstance(item.get("__loader__"), str):
                yield item
            todo.extend(item.values())
        elif isinstance(item, list):
            todo.extend(item)


def _check_expansion(archive: ZipFile, size: int) -> None:
    expanded = sum(info.file_size for info in archive.infolist())
    if expanded > max(_EXPANDED, _TIMES * size):
        raise ValueError(f"{size} bytes would become {expanded}, more than any model does")


def _rename_moved(schema: Any) -> bool:
    """Name the classes of a schema by their present places; whether any had moved."""
    found = False
    for node in nodes_of(schema):
        name = MOVED.get(f"{node.get('__module__')}.{node.get('__class__')}")
        if name is not None:
            node["__module__"], _, node["__class__"] = name.rpartition(".")
            found = True
    return found


def _with_schema(archive: ZipFile, schema: Any) -> bytes:
    """The archive again, every member once, with another schema; it stays in memory."""
    copy = BytesIO()
    with ZipFile(copy, "w", ZIP_STORED) as changed:
        for member in dict.fromkeys(archive.namelist()):
            if member != SCHEMA:
                changed.writestr(member, archive.read(member))
        changed.writestr(SCHEMA, json.dumps(schema))
    return copy.getvalue()
