"""Models whose arrays do not fit together: compiled code would read beyond them."""

import copy
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from messages import assert_mentions
from model_files import X, Y, refusal
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from small_data import blobs, thin

from psvm import PSVC, PSVCCV, LinearPSVC
from psvm.persistence import ModelFileError, load, save
from psvm.persistence.soundness import check_sound

pytest.importorskip("skops.io")


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


@pytest.mark.parametrize(
    "steps",
    [[], [str], None, [("scaler", StandardScaler())] * 2 + [("machine", PSVC)], [(1, PSVC())]],
)
def test_unsound_steps_of_a_pipeline_are_refused(steps):
    check_sound(Pipeline, vars(make_pipeline(StandardScaler(), PSVC())), "model")
    with pytest.raises(ModelFileError, match=r"model \(Pipeline\) was not written by psvm"):
        check_sound(Pipeline, {"steps": steps}, "model")


@pytest.mark.parametrize("change", UNSOUND_SEARCH)
def test_unsound_search_is_refused(change, chosen, tmp_path):
    search = copy.deepcopy(chosen)
    save(search, tmp_path / "m.psvm")
    assert load(tmp_path / "m.psvm").best_params_ == chosen.best_params_
    UNSOUND_SEARCH[change](search)
    save(search, tmp_path / "m.psvm")
    assert_mentions(refusal(tmp_path / "m.psvm"), "model", "altered")
