"""Model files written before are read as ever, also where classes have moved since."""

import io
import json
import zipfile
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone
from small_data import noisy

from psvm import PSVC
from psvm.persistence import load, save
from psvm.persistence.allowed import allow_list
from psvm.persistence.container import FORMAT_VERSION, read_container
from psvm.persistence.payload import MOVED, nodes_of, read_payload

pytest.importorskip("skops.io")

# Written by the psvm of format 1, whose modules lay in one folder; small data, three features.
BEFORE = Path(__file__).parent / "written_before"
EXPECTED = np.load(BEFORE / "expected.npz")
FILES = sorted(BEFORE.glob("*.psvm"))
# Regressors, written by the first psvm that had any; small data, three features.
REGRESSORS = sorted((BEFORE / "format_3").glob("*.psvm"))
TARGETS = np.load(BEFORE / "format_3" / "expected.npz")


def names_in(schema):
    return {f"{node.get('__module__')}.{node.get('__class__')}" for node in nodes_of(schema)}


def archive_of(schema, **members):
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for name, value in members.items():
            archive.writestr(name, value)
        archive.writestr("schema.json", json.dumps(schema))
    return content.getvalue()


def node(loader, module, name):
    return {"__loader__": loader, "__module__": module, "__class__": name}


# StandardScaler says so if it was saved by another version of scikit-learn.
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.InconsistentVersionWarning")
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_file_of_format_1_gives_the_same_decisions(path):
    assert read_container(path).format_version == 1
    model, rows = load(path), EXPECTED["rows"]
    np.testing.assert_allclose(
        model.decision_function(rows), EXPECTED[path.stem], rtol=1e-10, atol=1e-12
    )
    if path.stem == "search":
        np.testing.assert_allclose(model.predict_proba(rows), EXPECTED["search_proba"], rtol=1e-9)


def test_a_file_of_format_2_has_its_pairs_by_their_new_name():
    """The weights of pairs were ``coef_``, and the pairs were the default."""
    path = BEFORE / "format_2" / "linear_pairs.psvm"
    assert read_container(path).format_version == 2
    model, expected = load(path), np.load(path.with_suffix(".npz"))
    np.testing.assert_array_equal(model.pair_coef_, expected["coef"])
    np.testing.assert_array_equal(model.pair_intercept_, expected["intercept"])
    np.testing.assert_array_equal(model.decision_function(EXPECTED["rows"]), expected["decision"])
    assert not hasattr(model, "coef_")
    assert model.multi_class == "ovo"
    cold = clone(model).fit(EXPECTED["X"], EXPECTED["y"])
    assert model.fit(EXPECTED["X"], EXPECTED["y"]).n_iter_.sum() < cold.n_iter_.sum()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.InconsistentVersionWarning")
@pytest.mark.parametrize("path", REGRESSORS, ids=lambda path: path.stem)
def test_a_regressor_of_format_3_gives_the_same_predictions(path):
    assert read_container(path).format_version == 3
    model, rows = load(path), TARGETS["rows"]
    np.testing.assert_allclose(model.predict(rows), TARGETS[path.stem], rtol=1e-10, atol=1e-10)


def test_the_regressors_of_format_3_are_of_every_kind():
    kinds = {type(load(path)).__name__ for path in REGRESSORS}
    assert kinds == {"PSVR", "LinearPSVR", "PSVRCV", "PSVRQuantiles", "Pipeline"}


@pytest.mark.parametrize("name", ["psvr_warm", "linear_psvr_warm"])
def test_a_warm_start_of_format_3_still_is_one(name):
    model = load(BEFORE / "format_3" / f"{name}.psvm")
    weight = TARGETS["weight"] if name == "psvr_warm" else None
    cold = clone(model).fit(TARGETS["X"], TARGETS["y"], sample_weight=weight)
    model.fit(TARGETS["X"], TARGETS["y"], sample_weight=weight)
    assert model.n_iter_.sum() < cold.n_iter_.sum()


def test_a_linear_warm_start_of_format_1_still_is_one():
    model = load(BEFORE / "linear_warm.psvm")
    cold = clone(model).fit(EXPECTED["X"], EXPECTED["y"])
    model.fit(EXPECTED["X"], EXPECTED["y"])
    assert model.n_iter_.sum() < cold.n_iter_.sum()


def test_a_warm_start_by_place_is_forgotten():
    model = load(BEFORE / "psvc_ovo_warm.psvm")
    cold = clone(model).fit(EXPECTED["X"], EXPECTED["y"])
    model.fit(EXPECTED["X"], EXPECTED["y"])
    np.testing.assert_array_equal(model.dual_coef_, cold.dual_coef_)
    assert model.fit(EXPECTED["X"], EXPECTED["y"]).n_iter_.sum() < cold.n_iter_.sum()


def test_the_files_hold_every_class_that_moved():
    """So that each line of the table is tested; a line for a later place may have no file."""
    schemas = []
    for path in FILES:
        with zipfile.ZipFile(io.BytesIO(read_container(path).payload)) as archive:
            schemas.append(json.loads(archive.read("schema.json")))
    written = {name for schema in schemas for name in names_in(schema)}
    of_format_1 = {name for name in MOVED if name.count(".") == 2}
    assert of_format_1 == {name for name in written if name in MOVED}
    here = allow_list().by_loader["ObjectNode"]
    assert {name for name in written if name.startswith("psvm.")} <= here | set(MOVED)


@pytest.mark.parametrize("old", MOVED)
def test_a_moved_class_is_where_the_table_says(old):
    module, _, name = MOVED[old].rpartition(".")
    assert getattr(import_module(module), name).__module__ == module
    assert MOVED[old] in allow_list().by_loader["ObjectNode"]
    assert MOVED[old] not in MOVED, "the right side is the present place"
    assert old not in allow_list().names, "a name at the left is never used again"


def test_present_names_are_written(tmp_path):
    X, y = noisy(n=20, d=2, seed=0)
    save(PSVC(warm_start=True).fit(X, y), tmp_path / "m.psvm")
    file = read_container(tmp_path / "m.psvm")
    payload = read_payload(file.payload)
    assert file.format_version == FORMAT_VERSION
    assert payload.content is file.payload  # nothing to rename, nothing copied
    assert not names_in(payload.schema) & set(MOVED)


def test_only_exact_names_are_mapped():
    others = [
        node("ObjectNode", "psvm.svc", "PSVC2"),
        node("ObjectNode", "psvm.svc.PSVC", "fit"),
        node("ObjectNode", "evil.psvm.svc", "PSVC"),
        {"__module__": "psvm.svc", "__class__": "PSVC"},  # no loader: not a class to make
    ]
    content = archive_of({"content": others})
    payload = read_payload(content)
    assert payload.content is content
    assert payload.schema == {"content": others}
    assert len(allow_list().refused(payload.schema)) == 3


def test_a_moved_name_is_allowed_only_where_its_class_is():
    """The table says where a class is, not what may be done with it."""
    payload = read_payload(archive_of(node("FunctionNode", "psvm.kernels", "Kernel")))
    assert allow_list().refused(payload.schema) == ["psvm.rows.kernel.Kernel"]


def test_the_copy_for_skops_has_all_other_members_as_they_were():
    content = archive_of(node("ObjectNode", "psvm.svc", "PSVC"), a=b"\x00\xff", b="text")
    payload = read_payload(content)
    with zipfile.ZipFile(io.BytesIO(payload.content)) as archive:
        assert sorted(archive.namelist()) == ["a", "b", "schema.json"]
        assert (archive.read("a"), archive.read("b")) == (b"\x00\xff", b"text")
        assert json.loads(archive.read("schema.json")) == payload.schema
    assert names_in(payload.schema) == {"psvm.estimators.svc.PSVC"}


def test_the_list_knows_modules_of_inner_folders(tmp_path, monkeypatch):
    """A part of a model may be defined however deep; front ends are not imported for it."""
    from psvm.persistence import allowed

    deep = tmp_path / "deep_parts" / "inner" / "innermost"
    deep.mkdir(parents=True)
    for folder in (deep, deep.parent, deep.parent.parent):
        (folder / "__init__.py").write_text("")
    (deep / "part.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    found = [module.__name__ for module in allowed._with_inner_modules("deep_parts")]
    assert found[-1] == "deep_parts.inner.innermost.part"
