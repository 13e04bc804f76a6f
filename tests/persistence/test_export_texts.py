"""Columns of texts: ONNX and JSON encode what scikit-learn's encoders do, and inputs by name."""

import numpy as np
import pandas as pd
import pytest
from export_checks import assert_exports_agree, in_onnx
from export_models import several_classes, words
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import (
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    StandardScaler,
)
from small_data import data_dir

from psvm import PSVC
from psvm.persistence import UnsupportedModelError, to_onnx

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")


@pytest.fixture(scope="module")
def people():
    """A frame of numbers, texts and gaps, and labels."""
    X, y = several_classes("wine")
    rng = np.random.default_rng(1)
    towns, shares = ["Aix", "Bonn", "Cork", "Delft", "Espoo"], [0.4, 0.3, 0.2, 0.06, 0.04]
    frame = pd.DataFrame(
        {
            "age": np.where(rng.random(len(y)) < 0.1, np.nan, X[:, 0]),
            "town": rng.choice(towns, len(y), p=shares),
            "income": X[:, 1] * 1000.0,
            "work": rng.choice(["none", "part", "full"], len(y)),
            "decision": X[:, 2],  # the name of an output
            "children": rng.integers(0, 4, len(y)).astype(float),
        }
    )
    frame["town"] = frame["town"].astype(object)
    frame["work"] = frame["work"].astype(object)
    return frame, words(y)


def table_model(encoder, columns=("town", "work"), **rest):
    numbers = make_pipeline(SimpleImputer(), StandardScaler())
    return Pipeline(
        [
            (
                "table",
                ColumnTransformer(
                    [("texts", encoder, list(columns)), ("age", numbers, ["age"])],
                    **{"remainder": "drop", **rest},
                ),
            ),
            ("model", PSVC(p=1.5)),
        ]
    )


ENCODERS = [
    OneHotEncoder(handle_unknown="ignore"),
    OneHotEncoder(handle_unknown="ignore", drop="first"),
    OneHotEncoder(handle_unknown="ignore", drop=["Bonn", "full"]),
    OneHotEncoder(handle_unknown="infrequent_if_exist", max_categories=3),
    OneHotEncoder(handle_unknown="infrequent_if_exist", min_frequency=0.1, drop="first"),
    OneHotEncoder(handle_unknown="ignore", max_categories=3),
    OneHotEncoder(handle_unknown="infrequent_if_exist"),  # nothing is rare
    OneHotEncoder(handle_unknown="infrequent_if_exist", max_categories=1),  # everything is
    OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1),
    OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=9, max_categories=3),
]


@pytest.mark.parametrize("encoder", ENCODERS, ids=str)
@pytest.mark.filterwarnings("ignore:Found unknown categories")
def test_encoded_texts(encoder, people):
    frame, y = people
    model = table_model(encoder).fit(frame, y)
    new = frame.copy()
    new.loc[:9, "town"] = "Ghent"  # not there in training
    assert_exports_agree(model, new)


@pytest.mark.parametrize(
    "encoder",
    [
        OneHotEncoder(handle_unknown="ignore"),
        OneHotEncoder(handle_unknown="infrequent_if_exist", max_categories=3),
        OneHotEncoder(handle_unknown="ignore", drop="if_binary"),
        OrdinalEncoder(
            handle_unknown="use_encoded_value", unknown_value=-1, encoded_missing_value=-2
        ),
        OrdinalEncoder(
            handle_unknown="use_encoded_value",
            unknown_value=-1,
            encoded_missing_value=-2,
            min_frequency=20,
        ),
        SimpleImputer(strategy="most_frequent"),
        SimpleImputer(strategy="most_frequent", add_indicator=True),
    ],
    ids=str,
)
@pytest.mark.parametrize("gap", [None, np.nan])
@pytest.mark.filterwarnings("ignore:Found unknown categories")
def test_missing_texts_and_columns_of_both_kinds(encoder, gap, people):
    frame, y = people
    frame = frame.copy()
    frame.loc[::7, "town"] = gap
    frame.loc[::9, "children"] = np.nan
    if isinstance(encoder, SimpleImputer):
        encoder = encoder.set_params(missing_values=gap if gap is not None else np.nan)
        frame["town"] = frame["town"].where(frame["town"].notna(), np.nan)
        encoder = make_pipeline(encoder, OneHotEncoder(handle_unknown="ignore"))
    model = table_model(encoder, ("town", "children", "work"), remainder="passthrough")
    assert_exports_agree(model.fit(frame, y), frame)


def test_a_table_inside_a_table(people):
    frame, y = people
    frame = frame.copy()
    frame.loc[::7, "town"] = np.nan
    texts, numbers = (make_column_selector(dtype_include=kind) for kind in (object, float))
    first = ColumnTransformer(
        [
            ("texts", SimpleImputer(strategy="most_frequent"), texts),
            ("numbers", SimpleImputer(), numbers),
        ]
    )
    second = ColumnTransformer(
        [("encode", OneHotEncoder(), [0, 1]), ("scale", StandardScaler(), slice(2, None))]
    )
    model = make_pipeline(first, second, PSVC()).fit(frame, y)
    assert_exports_agree(model, frame)
    slices = ColumnTransformer([("some", "passthrough", slice("work", "children"))])
    encode = ColumnTransformer([("encode", OneHotEncoder(), [0])], remainder="passthrough")
    assert_exports_agree(make_pipeline(slices, encode, PSVC()).fit(frame, y), frame)
    inner = ColumnTransformer([("encode", OneHotEncoder(), ["work"])], remainder="passthrough")
    outer = ColumnTransformer([("inner", inner, ["work", "income"]), ("rest", "drop", ["town"])])
    assert_exports_agree(make_pipeline(outer, PSVC()).fit(frame, y), frame)


def test_columns_are_inputs_by_name(people):
    frame, y = people
    model = table_model(OneHotEncoder(), remainder="passthrough").fit(frame, y)
    graph = to_onnx(model).graph
    assert [value.name for value in graph.input] == [
        *("age", "town", "income", "work"),
        "decision_",  # an output is called so
        "children",
    ]
    shapes = {len(value.type.tensor_type.shape.dim) for value in graph.input}
    assert shapes == {2}
    array = to_onnx(model, inputs="array").graph
    assert [value.name for value in array.input] == ["X", "texts"]
    only = table_model(OneHotEncoder()).fit(frame, y)
    assert [value.name for value in to_onnx(only).graph.input] == ["age", "town", "work"]


def test_names_that_are_taken(people):
    frame, y = people
    frame = frame[["town", "work", "income", "age"]].fillna(0.0)
    frame.columns = ["label", "label_", "psvm.add_1", "add_1"]
    encoder = ColumnTransformer(
        [("texts", OneHotEncoder(), ["label", "label_"])], remainder="passthrough"
    )
    model = make_pipeline(encoder, PSVC()).fit(frame, y)
    names = [value.name for value in to_onnx(model).graph.input]
    assert names == ["label__", "label_", "_psvm.add_1", "add_1"]
    assert_exports_agree(model, frame)


def test_columns_of_numbers_by_name_on_request(people):
    frame, y = people
    numbers = frame[["income", "decision"]]
    model = make_pipeline(StandardScaler(), PSVC(kernel="laplacian")).fit(numbers, y)
    assert [value.name for value in to_onnx(model).graph.input] == ["X"]
    found = in_onnx(model, numbers, inputs="columns")
    np.testing.assert_allclose(found["decision"], model.decision_function(numbers), atol=1e-9)
    X, labels = several_classes("iris")
    with pytest.raises(ValueError, match=r"no names .* inputs='array'"):
        to_onnx(PSVC().fit(X, labels), inputs="columns")
    with pytest.raises(ValueError, match="`inputs` must be"):
        to_onnx(PSVC().fit(X, labels), inputs="frames")


def test_an_unknown_category_without_a_number_has_no_decision(people):
    frame, y = people
    model = table_model(OrdinalEncoder()).fit(frame, y)
    new = frame.head(5).assign(town="Ghent")
    assert np.isnan(in_onnx(model, new)["decision"]).all()


def test_numbers_as_categories_as_float32_holds_them():
    X, y = several_classes("wine")
    X = np.round(X[:, :3], 1)  # tenths, which float32 rounds
    model = make_pipeline(OneHotEncoder(handle_unknown="ignore"), PSVC()).fit(X, y)
    assert not (X.astype("float32") == X).all()
    found = in_onnx(model, X, "float32")
    np.testing.assert_allclose(found["decision"], model.decision_function(X), atol=1e-5)
    ordered = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    model = make_pipeline(ordered, PSVC()).fit(X, y)
    found = in_onnx(model, X, "float32")
    np.testing.assert_allclose(found["decision"], model.decision_function(X), atol=1e-5)
    numbers = 2.0**24 + np.arange(len(y))[:, None] % 3
    model = make_pipeline(OneHotEncoder(), PSVC()).fit(numbers, y)
    with pytest.raises(UnsupportedModelError, match="float64"):
        to_onnx(model)
    np.testing.assert_allclose(
        in_onnx(model, numbers)["decision"], model.decision_function(numbers), atol=1e-9
    )


def test_a_norm_beside_texts(people):
    """Operators have other forms in the opset that knows texts."""
    frame, y = people
    table = ColumnTransformer(
        [("n", Normalizer("max"), ["income", "decision"]), ("t", OneHotEncoder(), ["work"])]
    )
    assert_exports_agree(make_pipeline(table, PSVC()).fit(frame, y), frame)


@pytest.mark.parametrize("name", ["titanic", "german_credit", "penguins", "toronto_arrests"])
@pytest.mark.filterwarnings("ignore:Found unknown categories")
def test_real_tables(name):
    folder = data_dir()
    if folder is None or not (folder / "study" / f"{name}.parquet").exists():
        pytest.skip("no shared data: set PSVM_DATA_DIR")
    frame = pd.read_parquet(folder / "study" / f"{name}.parquet").sample(300, random_state=0)
    y = frame.pop(frame.columns[-1]).astype(str).to_numpy()
    numbers = frame.select_dtypes("number").columns
    texts = [column for column in frame if column not in numbers]
    frame = frame.astype(dict.fromkeys(numbers, float) | dict.fromkeys(texts, object))
    frame[texts] = frame[texts].where(frame[texts].notna(), np.nan)
    encoder = OneHotEncoder(handle_unknown="infrequent_if_exist", max_categories=6)
    table = ColumnTransformer(
        [
            ("texts", encoder, texts),
            (
                "numbers",
                make_pipeline(SimpleImputer(add_indicator=True), StandardScaler()),
                numbers,
            ),
        ]
    )
    model = make_pipeline(table, PSVC(p=1.5)).fit(frame[:200], y[:200])
    assert_exports_agree(model, frame[200:])
