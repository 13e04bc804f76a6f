"""Steps before the classifier: ONNX and JSON compute what scikit-learn's transformers do."""

import numpy as np
import pandas as pd
import pytest
from export_checks import assert_exports_agree, in_onnx
from export_models import several_classes, words
from messages import assert_mentions
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA, IncrementalPCA, TruncatedSVD
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.feature_selection import (
    RFE,
    GenericUnivariateSelect,
    SelectFdr,
    SelectFpr,
    SelectFromModel,
    SelectFwe,
    SelectKBest,
    SelectorMixin,
    SelectPercentile,
    SequentialFeatureSelector,
    VarianceThreshold,
)
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    MinMaxScaler,
    Normalizer,
    PolynomialFeatures,
    PowerTransformer,
    StandardScaler,
)

from psvm import PSVC, LinearPSVC
from psvm.persistence import UnsupportedModelError, to_json, to_onnx
from psvm.persistence.operations import Branches, Products, width_after
from psvm.persistence.preprocessing import known_transformers, operations_of
from psvm.persistence.steps import named_steps_of

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

# --- numbers -------------------------------------------------------------------------------------

STEPS = [
    PCA(4),
    PCA(4, whiten=True),
    PCA(),
    IncrementalPCA(3),
    TruncatedSVD(4, random_state=0),
    Normalizer(),
    Normalizer("l1"),
    Normalizer("max"),
    PolynomialFeatures(2),
    PolynomialFeatures((2, 3), include_bias=False),
    PolynomialFeatures(3, interaction_only=True),
    SelectKBest(k=3),
    SelectPercentile(percentile=50),
    SelectFpr(),
    SelectFdr(),
    SelectFwe(),
    GenericUnivariateSelect(mode="k_best", param=4),
    SelectFromModel(ExtraTreesClassifier(10, random_state=0)),
    RFE(LinearPSVC(multi_class="ovr"), n_features_to_select=3),
    SequentialFeatureSelector(LinearPSVC(), n_features_to_select=2, cv=2),
    VarianceThreshold(0.5),
    Nystroem(n_components=20, random_state=0),
    Nystroem("laplacian", gamma=0.1, n_components=20, random_state=0),
    Nystroem("poly", n_components=20, random_state=0),
    Nystroem("polynomial", degree=2, coef0=0.5, gamma=0.1, n_components=20, random_state=0),
    Nystroem("sigmoid", gamma=0.02, n_components=20, random_state=0),
    Nystroem("rbf", kernel_params={"gamma": 0.3}, n_components=20, random_state=0),
    Nystroem("linear", n_components=6, random_state=0),
    Nystroem("cosine", n_components=6, random_state=0),
    RBFSampler(gamma=0.1, n_components=40, random_state=0),
    FeatureUnion(
        [("pca", PCA(2)), ("best", SelectKBest(k=2)), ("none", "drop"), ("all", "passthrough")],
        transformer_weights={"pca": 3.0},
    ),
    FunctionTransformer(),
]


@pytest.mark.parametrize("step", STEPS, ids=str)
def test_a_step_of_numbers(step):
    X, y = several_classes("wine")
    X = X[:, :8] + 0.25
    X[0] = 0.0  # no norm to divide by
    model = make_pipeline(step, PSVC(gamma=0.1)).fit(X[:90], words(y[:90]))
    assert_exports_agree(model, X)
    rough = in_onnx(model, X, "float32", arithmetic="float32")["decision"]
    np.testing.assert_allclose(rough, model.decision_function(X), atol=2e-3)


def test_too_few_digits_are_said():
    X, y = several_classes("wine")
    features = Nystroem("linear", n_components=20, random_state=0)  # of 8 features
    model = make_pipeline(features, PSVC()).fit(X[:, :8], y)
    with pytest.raises(UnsupportedModelError, match="arithmetic='float64'"):
        to_onnx(model, arithmetic="float32")
    assert_exports_agree(model, X[:, :8])


def test_steps_one_after_another():
    X, y = several_classes("wine")
    products = PolynomialFeatures(2, include_bias=False)
    steps = make_pipeline(StandardScaler(), products, SelectKBest(k=30), PCA(5), Normalizer())
    assert_exports_agree(make_pipeline(steps, LinearPSVC()).fit(X, y), X)


def test_columns_passed_and_dropped():
    X, y = several_classes("wine")
    for columns in (
        ColumnTransformer([("scale", StandardScaler(), [2, 0])], remainder="passthrough"),
        ColumnTransformer([("a", "passthrough", slice(1, 4)), ("b", "drop", [0])]),
        ColumnTransformer(
            [("a", PCA(2), [True] * 5 + [False] * 8), ("b", "passthrough", [-1])],
            remainder=MinMaxScaler(),
            transformer_weights={"a": 0.5, "b": 2.0},
        ),
        ColumnTransformer([("none", StandardScaler(), []), ("all", "passthrough", slice(0, 13))]),
    ):
        assert_exports_agree(make_pipeline(columns, PSVC()).fit(X, y), X)


@pytest.mark.filterwarnings("ignore:Skipping features without any observed values")
def test_what_is_missing():
    X, y = several_classes("wine")
    X = X[:, :5].copy()
    rng = np.random.default_rng(0)
    X[rng.random(X.shape) < 0.2] = np.nan
    X[:, 2] = np.nan  # never there
    filled = np.where(np.isnan(X), -99.0, X)
    for step, rows in (
        (SimpleImputer(), X),
        (SimpleImputer(strategy="median", keep_empty_features=True), X),
        (SimpleImputer(add_indicator=True), X),
        (SimpleImputer(missing_values=-99), filled),
        (FeatureUnion([("i", SimpleImputer()), ("m", MissingIndicator())]), X),
    ):
        assert_exports_agree(make_pipeline(step, PSVC()).fit(rows, y), rows)


# --- what is refused -----------------------------------------------------------------------------


class Every(SelectorMixin, StandardScaler):
    """A selector of one's own that does something else."""

    def transform(self, X):
        return X

    def _get_support_mask(self):
        return np.ones(self.n_features_in_, dtype=bool)


def test_what_is_refused_is_named_as_its_author_named_it():
    X, y = several_classes("wine")
    X = pd.DataFrame(X[:, :2], columns=["income", "age"])
    power = Pipeline([("bend it", PowerTransformer()), ("model", PSVC())])
    inside = ColumnTransformer(
        [("few", Pipeline([("bins", KBinsDiscretizer(quantile_method="linear"))]), ["income"])]
    )
    for model, *mentioned in (
        (
            power,
            "'bend it'",
            "PowerTransformer",
            "PCA",
            "StandardScaler",
            "get_support",
            "skl2onnx",
        ),
        (
            Pipeline([("table", inside), ("model", PSVC())]),
            "'table' > 'few' > 'bins' (KBinsDiscretizer)",
        ),
        (make_pipeline(FunctionTransformer(np.abs), PSVC()), "'functiontransformer'", "code"),
        (make_pipeline(Every(), PSVC()), "'every' (Every)"),
        (make_pipeline(MinMaxScaler(), Nystroem("chi2", n_components=5), PSVC()), "chi2", "rbf"),
    ):
        model.fit(X, y)
        for export in (to_json, to_onnx):
            with pytest.raises(UnsupportedModelError) as caught:
                export(model)
            assert_mentions(str(caught.value), *mentioned)


def test_known_transformers_are_in_the_docs():
    from export_checks import PAGE

    page = PAGE.read_text()
    for name in known_transformers():
        assert name in page, f"docs/model-files.md does not name {name}"


# --- the parts -----------------------------------------------------------------------------------


def test_operations_know_their_widths():
    X, y = several_classes("wine")
    for step in STEPS:
        model = make_pipeline(step, "passthrough").fit(X, y)
        operations = operations_of(named_steps_of(model))
        assert width_after(operations, X.shape[1]) == model.transform(X).shape[1], step


def test_versions_of_the_format():
    X, y = several_classes("wine")
    old = make_pipeline(StandardScaler(), SelectKBest(k=3), PSVC()).fit(X, y)
    assert to_json(old)["version"] == 1  # readers of the first version understand it
    new = make_pipeline(PCA(2), PSVC()).fit(X, y)
    assert to_json(new)["version"] == 2
    assert Branches([np.arange(2)], [[Products([(0, 1)])]]).version == 2
