"""Files that are no models, or made to do harm: refused, and nothing in them runs."""

import io
import json
import pickle
import sys
import zipfile

import joblib
import numpy as np
import pytest
from messages import assert_mentions
from model_files import parts, refusal, sealed, written

from psvm import PSVC
from psvm.persistence import container as container_module
from psvm.persistence import info, load

skops_io = pytest.importorskip("skops.io")


# --- not a model ---------------------------------------------------------------------------------


class Bomb:
    """Unpickling it makes a file: the trace of code that ran."""

    def __init__(self, trace):
        self.trace = trace

    def __reduce__(self):
        return open, (str(self.trace), "w")


@pytest.mark.parametrize("reader", [load, info])
def test_pickle_is_refused_and_not_run(tmp_path, reader):
    trace = tmp_path / "trace"
    path = written(tmp_path, pickle.dumps(Bomb(trace)))
    assert_mentions(refusal(path, reader=reader), str(path), "pickle", "not opened", "psvm.save")
    joblib.dump(Bomb(trace), path, compress=3)
    assert_mentions(refusal(path, reader=reader), "not a psvm model file")
    assert not trace.exists()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", ["is empty"]),
        (b"svm_type c_svc\nkernel_type rbf\n", ["not a psvm model", "read_libsvm"]),
        (b"\x00\x01\x02", ["not a psvm model"]),
        (b"PK", ["damaged or truncated"]),
    ],
)
def test_other_files_are_named_for_what_they_are(tmp_path, content, words):
    assert_mentions(refusal(written(tmp_path, content)), *words)


def test_missing_file_and_folder(tmp_path):
    assert_mentions(refusal(tmp_path / "none.psvm", FileNotFoundError), "none.psvm", "check")
    assert_mentions(refusal(tmp_path), "is a folder")


def test_other_zip_archives(tmp_path):
    path = written(tmp_path, skops_io.dumps(PSVC()))
    assert_mentions(refusal(path), "skops", "psvm.save")
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.txt", "a")
    assert_mentions(refusal(path), "a zip archive")


# --- made to do harm: everything about the archive is right, checksum included -------------------


def with_schema(payload, change):
    """A payload whose schema was changed in place."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(payload)) as old, zipfile.ZipFile(out, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            if name == "schema.json":
                schema = json.loads(content)
                schema = change(schema) or schema
                content = json.dumps(schema)
            new.writestr(name, content)
    return out.getvalue()


def node(loader, module, name, **more):
    return {"__loader__": loader, "__module__": module, "__class__": name, "__id__": 1, **more}


def text(value):
    return node("JsonNode", "builtins", "str", content=json.dumps(value), is_json=True, __id__=2)


def call_of(trace):
    """A tuple node of the arguments that would make a file."""
    return node("TupleNode", "builtins", "tuple", content=[text(str(trace)), text("w")], __id__=3)


HARMFUL = {
    "constructor": lambda t: node("ConstructorFromReduceNode", "io", "open", content=call_of(t)),
    "partial": lambda t: node(
        "PartialNode", "functools", "partial",
        content={"func": node("FunctionNode", "io", "open"), "args": call_of(t),
                 "kwds": text({}), "namespace": text(None)},
    ),
    "operator": lambda t: node("OperatorFuncNode", "operator", "methodcaller", attrs=call_of(t)),
    "function": lambda t: node("FunctionNode", "os", "system"),
    "type": lambda t: node("TypeNode", "subprocess", "Popen"),
    "list": lambda t: node("ListNode", "subprocess", "Popen", content=[text(f"touch {t}")]),
    "set": lambda t: node("SetNode", "os", "system", content=[]),
    "dict": lambda t: node(
        "DictNode", "builtins", "dict", content={str(t): text(1)},
        key_types=node("ListNode", "builtins", "list",
                       content=[node("FunctionNode", "os", "mkdir")]),
    ),
    "method": lambda t: node(
        "MethodNode", "pathlib", "Path",
        content={"func": "touch", "obj": node("ConstructorFromReduceNode", "pathlib", "Path",
                                              content=call_of(t))},
    ),
    "front end": lambda t: node("ObjectNode", "psvm.cli.__main__", "main"),
    "function of psvm": lambda t: node("FunctionNode", "psvm.persistence.atomic", "replacing"),
    "imported name": lambda t: node("ObjectNode", "psvm.estimators.svc", "KernelProblem"),
    "tree": lambda t: node("TreeNode", "sklearn.tree._tree", "Tree"),
    "bytes": lambda t: node("BytesNode", "builtins", "bytes", file="schema.json"),
    "array": lambda t: node("NdArrayNode", "subprocess", "Popen", type="numpy", file="a.npy"),
    "unknown": lambda t: node("NoSuchNode", "builtins", "dict"),
    "old protocol": lambda t: node("FunctionNode", "os", "system", protocol=0),
}  # fmt: skip


@pytest.mark.parametrize("kind", HARMFUL)
@pytest.mark.parametrize("place", ["root", "attribute"])
def test_doctored_file_runs_nothing(whole, tmp_path, kind, place):
    trace = tmp_path / "trace"
    bad = HARMFUL[kind](trace)

    def change(schema):
        if place == "root":
            return {**bad, "protocol": bad.get("protocol", schema["protocol"])}
        schema["content"]["content"]["extra"] = bad
        schema["content"]["key_types"]["content"].append(
            node("TypeNode", "builtins", "str", __id__=4)
        )
        return None

    _, payload = parts(whole[0])
    before = set(sys.modules)
    path = sealed(tmp_path, whole, with_schema(payload, change))
    message = refusal(path)
    assert not trace.exists()
    assert_mentions(message, "nothing in it was run", "may not contain")
    assert "psvm.cli.__main__" not in set(sys.modules) - before
    assert (
        info(path)["format_version"] == container_module.FORMAT_VERSION
    )  # the header alone is harmless


def test_the_same_change_without_harm_loads(whole, tmp_path):
    """The tests above fail for the right reason: a harmless node in the same place is fine."""

    def change(schema):
        schema["content"]["content"]["extra"] = text("hello")
        schema["content"]["key_types"]["content"].append(
            node("TypeNode", "builtins", "str", __id__=4)
        )

    _, payload = parts(whole[0])
    assert load(sealed(tmp_path, whole, with_schema(payload, change))).extra == "hello"


@pytest.mark.parametrize("payload", [b"", b"PK", b"nonsense"])
def test_payload_that_is_no_archive(whole, tmp_path, payload):
    assert_mentions(refusal(sealed(tmp_path, whole, payload)), "altered")


@pytest.mark.parametrize("schema", ["{", "[]", "3", "[" * 100_000, '{"protocol": 99}', "{}"])
def test_nonsense_in_the_schema(whole, tmp_path, schema):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("schema.json", schema)
    assert_mentions(refusal(sealed(tmp_path, whole, out.getvalue())), "altered")


def test_a_compressed_array_that_is_damaged(whole, tmp_path):
    """The checksum is right, as whoever changes a file can make it: zlib's error came through."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("1.npy", bytes(1000))
        archive.writestr("schema.json", "{}")
    payload = bytearray(out.getvalue())
    payload[30 + len("1.npy")] = 0xFF  # the first byte after the member's header: no kind of block
    assert_mentions(refusal(sealed(tmp_path, whole, bytes(payload))), "altered", "decompressing")


def test_archive_that_swells_is_refused(whole, tmp_path):
    swelling, around = io.BytesIO(), io.BytesIO()
    with zipfile.ZipFile(swelling, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr("schema.json", "{}")
        with archive.open("data.npy", "w") as member:
            for _ in range(257):  # megabytes; more than 256 are refused
                member.write(bytes(2**20))
    with zipfile.ZipFile(around, "w") as archive:
        archive.writestr("schema.json", "{}")
        archive.writestr("1.npz", swelling.getvalue())
    for out in (swelling, around):
        assert_mentions(refusal(sealed(tmp_path, whole, out.getvalue())), "more than any model")


def test_an_array_that_declares_terabytes_is_refused(whole, tmp_path):
    """The header says 7 TiB; nobody asks the system for them."""
    payload = parts(whole[0])[1]
    changed = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(payload)) as old, zipfile.ZipFile(changed, "w") as new:
        arrays = [name for name in old.namelist() if name.endswith(".npy")]
        assert arrays
        for name in old.namelist():
            content = old.read(name)
            if name == arrays[0]:
                declared = io.BytesIO()
                fields = {"descr": "<f8", "fortran_order": False, "shape": (10**12,)}
                np.lib.format.write_array_header_1_0(declared, fields)
                content = declared.getvalue()
            new.writestr(name, content)
    message = refusal(sealed(tmp_path, whole, changed.getvalue()))
    assert_mentions(message, "altered", "declares 8000000000000 bytes")
