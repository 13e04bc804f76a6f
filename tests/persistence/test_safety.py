"""Files that are no models, damaged, or made to do harm: refused, and nothing in them runs."""

import copy
import hashlib
import io
import json
import pickle
import subprocess
import sys
import zipfile
from dataclasses import replace

import joblib
import numpy as np
import pytest
import scipy.sparse as sp
from messages import assert_mentions
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from small_data import blobs, noisy, thin

from psvm import PSVC, PSVCCV, LinearPSVC
from psvm.persistence import ModelFileError, info, load, save
from psvm.persistence import container as container_module
from psvm.persistence import state as state_module

skops_io = pytest.importorskip("skops.io")

X, Y = noisy(n=20, d=2, seed=0)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Bytes of a sound file, and the decision values of its model."""
    path = tmp_path_factory.mktemp("whole") / "m.psvm"
    model = make_pipeline(StandardScaler(), PSVC()).fit(X, Y)
    save(model, path)
    return path.read_bytes(), model.decision_function(X)


def refusal(path, kind=ModelFileError, reader=load):
    with pytest.raises(kind) as caught:
        reader(path)
    return str(caught.value)


def written(tmp_path, content):
    path = tmp_path / "m.psvm"
    path.write_bytes(content)
    return path


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


# --- made to do harm: everything about the archive is right, checksum included -------------------


def parts(content):
    """Header and payload of a file."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return json.loads(archive.read("psvm.json")), archive.read("model.skops")


def assembled(tmp_path, header, payload):
    """A file of these parts."""
    path = tmp_path / "m.psvm"
    with zipfile.ZipFile(path, "w") as archive:
        text = header if isinstance(header, bytes) else json.dumps(header)
        archive.writestr("psvm.json", text)
        archive.writestr("model.skops", payload)
    return path


def sealed(tmp_path, whole, payload):
    """A file with this payload and a checksum that fits."""
    header, _ = parts(whole[0])
    header["payload"]["bytes"] = len(payload)
    header["payload"]["sha256"] = hashlib.sha256(payload).hexdigest()
    return assembled(tmp_path, header, payload)


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


# --- arrays that do not fit together would let compiled code read beyond them --------------------


def set_attribute(name, value):
    return lambda model: setattr(model, name, value(getattr(model, name)))


def out_of_bounds(vectors):
    vectors = vectors.copy()
    vectors.indices[0] = 10_000
    return vectors


UNSOUND_KERNEL = {
    "fewer vectors": set_attribute("support_vectors_", lambda v: v[:-1]),
    "wider vectors": set_attribute("support_vectors_", lambda v: np.hstack([v, v])),
    "integers": set_attribute("support_vectors_", lambda v: v.astype(int)),
    "objects": set_attribute("support_vectors_", lambda v: v.astype(object)),
    "nan": set_attribute("support_vectors_", lambda v: np.full_like(v, np.nan)),
    "no vectors": set_attribute("support_vectors_", lambda v: None),
    "coefficients": set_attribute("dual_coef_", lambda c: c[:, :-2]),
    "counts": set_attribute("n_support_", lambda n: n + 1),
    "negative counts": set_attribute("n_support_", lambda n: n - n.max() - 1),
    "intercepts": set_attribute("intercept_", lambda b: b[:-1]),
    "classes": set_attribute("classes_", lambda c: c[:1]),
    "features": set_attribute("n_features_in_", lambda n: n + 1),
    "multi_class": set_attribute("multi_class", lambda m: "ovr"),
    "kernel": set_attribute("kernel", lambda k: "precomputed"),
    "degree": lambda model: object.__setattr__(model._kernel, "degree", -3),
    "gamma": lambda model: object.__setattr__(model._kernel, "gamma", float("nan")),
    "function": lambda model: object.__setattr__(model._kernel, "function", "nothing"),
    "no kernel": lambda model: delattr(model, "_kernel"),
}


@pytest.mark.parametrize("change", UNSOUND_KERNEL)
def test_unsound_kernel_model_is_refused(change, tmp_path):
    X, y = blobs(n=30, classes=3, d=2)
    model = PSVC().fit(X, y)
    UNSOUND_KERNEL[change](model)
    save(model, tmp_path / "m.psvm")
    assert_mentions(refusal(tmp_path / "m.psvm"), "model", "altered")


@pytest.mark.parametrize(
    "change",
    [
        out_of_bounds,
        lambda v: sp.csc_matrix(v),
        lambda v: v[:, :5],
        lambda v: sp.csr_matrix((v.data, v.indices[::-1].copy(), v.indptr), shape=v.shape),
    ],
    ids=["index", "format", "narrow", "unsorted"],
)
def test_unsound_sparse_vectors_are_refused(change, tmp_path):
    X, y = thin()
    model = PSVC().fit(sp.csr_matrix(X), y)
    model.support_vectors_ = change(model.support_vectors_)
    save(model, tmp_path / "m.psvm")
    refusal(tmp_path / "m.psvm")


def test_precomputed_support_beyond_the_rows_is_refused(tmp_path):
    model = PSVC(kernel="precomputed").fit(X @ X.T, Y)
    model.support_ = model.support_ + 100
    save(model, tmp_path / "m.psvm")
    assert_mentions(refusal(tmp_path / "m.psvm"), "support_")


@pytest.mark.parametrize("name", ["coef_", "intercept_"])
def test_unsound_linear_model_is_refused(name, tmp_path):
    model = LinearPSVC().fit(X, Y)
    setattr(model, name, getattr(model, name)[..., :0])
    save(model, tmp_path / "m.psvm")
    assert_mentions(refusal(tmp_path / "m.psvm"), name)


@pytest.mark.parametrize("name", ["pair_coef_", "pair_intercept_"])
def test_unsound_linear_model_of_pairs_is_refused(name, tmp_path):
    model = LinearPSVC(multi_class="ovo").fit(*blobs(n=30, classes=3, d=2))
    setattr(model, name, getattr(model, name)[..., :0])
    save(model, tmp_path / "m.psvm")
    assert_mentions(refusal(tmp_path / "m.psvm"), name)


@pytest.fixture(scope="module")
def chosen():
    """A search over three classes."""
    X, y = blobs(n=30, classes=3, d=2)
    return PSVCCV((1, 2), (1,), (0.1, 1), cv=2).fit(X, y)


def set_calibration(**changes):
    return set_attribute("_calibration", lambda c: replace(c, **changes))


def set_sigmoid(**changes):
    def change(calibration):
        first, *rest = calibration.sigmoids
        return replace(calibration, sigmoids=[replace(first, **changes), *rest])

    return set_attribute("_calibration", change)


UNSOUND_SEARCH = {
    "another model": set_attribute("best_estimator_", lambda m: StandardScaler()),
    "no fitted model": set_attribute("best_estimator_", lambda m: PSVC()),
    "a damaged model": lambda s: setattr(s.best_estimator_, "intercept_", np.zeros(1)),
    "model of the rest": lambda s: setattr(s.best_estimator_, "multi_class", "ovr"),
    "order of the classes": set_attribute("classes_", lambda c: c[::-1]),
    "fewer classes": set_attribute("classes_", lambda c: c[:2]),
    "no number of features": set_attribute("n_features_in_", lambda n: None),
    "more features": set_attribute("n_features_in_", lambda n: n + 1),
    "no calibration": set_attribute("_calibration", lambda c: None),
    "classes of the calibration": set_calibration(n_classes=2),
    "coupling": set_calibration(pairwise=False),
    "too few sigmoids": set_attribute(
        "_calibration", lambda c: replace(c, sigmoids=c.sigmoids[:-1])
    ),
    "no sigmoid": set_calibration(sigmoids=[None] * 3),
    "slope": set_sigmoid(slope=float("nan")),
    "offset": set_sigmoid(offset="0"),
}


def set_step(place, step):
    def change(search):
        search.best_estimator_.steps[place] = ("changed", step)

    return change


UNSOUND_PREPARED_SEARCH = {
    "another preprocessor": set_attribute("preprocessor_", lambda _: StandardScaler()),
    "no preprocessor": lambda s: delattr(s, "preprocessor_"),
    "one more step": lambda s: s.best_estimator_.steps.insert(0, ("more", StandardScaler())),
    "another last step": set_step(-1, StandardScaler()),
    "no fitted model": set_step(-1, PSVC()),
}


@pytest.mark.parametrize("change", UNSOUND_PREPARED_SEARCH)
def test_unsound_search_with_a_preprocessor_is_refused(change, tmp_path):
    X, y = blobs(n=30, classes=3, d=2)
    search = PSVCCV((1,), (1,), (0.1,), cv=2, preprocessor=StandardScaler()).fit(X, y)
    save(search, tmp_path / "m.psvm")
    loaded = load(tmp_path / "m.psvm")
    assert loaded.best_estimator_[0] is loaded.preprocessor_
    UNSOUND_PREPARED_SEARCH[change](search)
    save(search, tmp_path / "m.psvm")
    assert_mentions(refusal(tmp_path / "m.psvm"), "was not written by psvm")


@pytest.mark.parametrize("change", UNSOUND_SEARCH)
def test_unsound_search_is_refused(change, chosen, tmp_path):
    search = copy.deepcopy(chosen)
    save(search, tmp_path / "m.psvm")
    assert load(tmp_path / "m.psvm").best_params_ == chosen.best_params_
    UNSOUND_SEARCH[change](search)
    save(search, tmp_path / "m.psvm")
    assert_mentions(refusal(tmp_path / "m.psvm"), "model", "altered")


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
