"""From columns to an estimator: the preprocessing that travels inside a model."""

from __future__ import annotations

from typing import Any

from psvm.cli.files.training_set import TrainingSet
from psvm.cli.tasks import Task


def last_step(training: TrainingSet) -> str:
    """Name of the last step."""
    return "regressor" if training.task is Task.regression else "classifier"


def with_preprocessing(
    estimator: Any, training: TrainingSet, *, scale: bool | None, impute: bool
) -> Any:
    """The estimator after what its columns need, as a scikit-learn pipeline.

    Parameters
    ----------
    estimator : estimator
        The last step, a classifier, a regressor or a search.
    training : TrainingSet
        Says which columns are texts, and how many categories each may have.
    scale : bool or None
        Whether numbers get mean 0 and variance 1; None does it unless the data is sparse.
    impute : bool
        Whether missing values are filled in.

    Returns
    -------
    estimator
        The estimator itself if nothing goes before it.
    """
    from sklearn.compose import ColumnTransformer
    from sklearn.pipeline import Pipeline

    scale = not training.sparse if scale is None else scale
    numeric = _numeric_steps(scale=scale, impute=impute, sparse=training.sparse)
    if not training.texts:
        return Pipeline([*numeric, (last_step(training), estimator)]) if numeric else estimator
    parts: list[tuple[str, Any, list[str]]] = []
    if training.numbers:
        numbers = Pipeline(numeric) if numeric else "passthrough"
        parts.append(("numbers", numbers, training.numbers))
    # Only columns with rare texts are counted: scikit-learn takes seconds to count long columns.
    many = _with_rare_texts(training)
    few = [name for name in training.texts if name not in many]
    for name, texts, most in (("texts", few, None), ("many_texts", many, training.max_categories)):
        if texts:
            parts.append((name, Pipeline(_text_steps(impute=impute, most=most)), texts))
    columns = ColumnTransformer(parts, verbose_feature_names_out=False)
    return Pipeline([("columns", columns), (last_step(training), estimator)])


def _numeric_steps(*, scale: bool, impute: bool, sparse: bool) -> list[tuple[str, Any]]:
    from sklearn.impute import SimpleImputer
    from sklearn.preprocessing import StandardScaler

    steps: list[tuple[str, Any]] = []
    if impute:
        steps.append(("impute", SimpleImputer(strategy="median")))
    if scale:
        # Without the mean, zeros stay zeros.
        steps.append(("scale", StandardScaler(with_mean=not sparse)))
    return steps


def _with_rare_texts(training: TrainingSet) -> list[str]:
    """The columns that have more different texts than categories."""
    most = training.max_categories
    if most is None:
        return []
    return [
        name
        for name in training.texts
        if training.X.get_column(name).drop_nulls().n_unique() > most
    ]


def _text_steps(*, impute: bool, most: int | None) -> list[tuple[str, Any]]:
    from sklearn.impute import SimpleImputer
    from sklearn.preprocessing import OneHotEncoder

    steps: list[tuple[str, Any]] = []
    if impute:
        steps.append(("impute", SimpleImputer(missing_values=None, strategy="most_frequent")))
    # A text that was not there in the fit is as rare as the rare ones; where there are none it is
    # none of the categories, all zeros.
    unknown = "ignore" if most is None else "infrequent_if_exist"
    steps.append(("encode", OneHotEncoder(handle_unknown=unknown, max_categories=most)))
    return steps
