"""A fitted model as the commands see it: its estimator, and what columns it expects."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from psvm.cli.errors import DataError, listed, not_there
from psvm.cli.files.dates import DateFormat
from psvm.cli.files.matrices import MatrixBlock
from psvm.cli.files.open_data import Matrix, Table
from psvm.cli.files.readings import Readings, readings_from_json
from psvm.cli.files.training_set import refuse_entries


class Model:
    """A classifier or a regressor with its preprocessing.

    Parameters
    ----------
    estimator : fitted estimator
        A pipeline, a search, or a bare classifier or regressor.
    readings : dict, optional
        How columns of files are read that are neither plain numbers nor texts.
    """

    def __init__(self, estimator: Any, readings: Readings | None = None) -> None:
        self.estimator = estimator
        self.readings = readings or {}
        self.regression = not hasattr(estimator, "classes_")
        self.classes = np.empty(0) if self.regression else np.asarray(estimator.classes_)
        names = getattr(estimator, "feature_names_in_", None)
        self.columns = None if names is None else [str(name) for name in names]
        self.n_features = int(estimator.n_features_in_)
        parts = list(_parts(estimator))
        self.imputes = any(type(part).__name__.endswith("Imputer") for part in parts)
        self.categories, self.with_rare = _categories(parts)

    @classmethod
    def load(cls, path: Path) -> Model:
        """Read a model file."""
        from psvm.persistence import ModelFileError, info, load

        estimator = load(path)
        if not hasattr(estimator, "n_features_in_"):
            raise ModelFileError(
                f"{path} has a {type(estimator).__name__} that is not fitted: fit it before it is "
                f"saved, or fit and save one with `psvm fit`."
            )
        notes = info(path).get("notes")
        try:
            readings = readings_from_json(notes and notes.get("readings"))
        except (AttributeError, ValueError) as error:
            raise ModelFileError(f"{path} was altered: {error}.") from error
        return cls(estimator, readings)

    @property
    def innermost(self) -> Any:
        """The estimator of psvm inside."""
        return innermost(self.estimator)

    @property
    def texts(self) -> list[str]:
        """Columns that hold texts."""
        return list(self.categories)

    def decision(self, X: Any) -> Any:
        """Decision values; of the classifier inside, where probabilities were learned on top."""
        if hasattr(self.estimator, "decision_function"):
            return self.estimator.decision_function(X)
        if hasattr(self.estimator, "steps") and len(self.estimator.steps) > 1:
            X = self.estimator[:-1].transform(X)
        return self.innermost.decision_function(X)

    # --- rows of a file as the model wants them --------------------------------------------------

    @property
    def sources(self) -> list[str] | None:
        """The columns of a table that the model is made from; None if it knows no names."""
        if self.columns is None:
            return None
        parts = {
            part: name
            for name, reading in self.readings.items()
            if isinstance(reading, DateFormat)
            for part in reading.names(name)
        }
        return list(dict.fromkeys(parts.get(name, name) for name in self.columns))

    def columns_in(self, data: Table, target: str | None) -> list[str]:
        """The columns of a table to read, in the model's order; an error names the missing ones."""
        if self.sources is None:
            others = [name for name in data.columns if name != target]
            if len(others) != self.n_features:
                what = f"{len(others)} columns, but the model, which knows no names, expects"
                raise DataError(data.name, f"{what} {self.n_features}")
            return others
        if missing := [name for name in self.sources if name not in data.columns]:
            number = "column" if len(missing) == 1 else "columns"
            free = [name for name in data.columns if name not in self.sources]
            what = f"the model expects the {number} {not_there(missing, free)}, which the file"
            raise DataError(data.name, f"{what} has not; it has {listed(data.columns)}")
        return self.sources

    def check_matrix(self, data: Matrix) -> None:
        """Raise if a file without names is given to a model that goes by names."""
        if self.columns is None:
            return
        if data.feature_names is None:
            what = f"it names no columns, but the model expects {listed(self.columns)}"
            raise DataError(data.name, f"{what}; an NPZ file may have an array feature_names")
        if missing := [name for name in self.columns if name not in data.feature_names]:
            what = f"the model expects the columns {not_there(missing, data.feature_names)}"
            raise DataError(data.name, f"{what}, which the file has not")
        if self.texts:
            raise DataError(data.name, f"the model expects texts in {listed(self.texts)}")

    def matrix_rows(self, block: MatrixBlock, data: Matrix) -> Any:
        """Rows of a matrix, checked, as the estimator takes them."""
        X = block.X
        refuse_entries(X, block.place, data.name, may_miss=self.imputes)
        if self.columns is not None and data.feature_names is not None:
            where = {name: column for column, name in enumerate(data.feature_names)}
            dense = X.toarray() if data.sparse else X
            chosen = dense[:, [where[name] for name in self.columns]]
            return pl.DataFrame(chosen.astype(np.float64), schema=self.columns)
        if data.sparse:
            # Further features were always zero in the fit: like columns that are not the model's.
            X = X[:, : self.n_features]
            X.resize(X.shape[0], self.n_features)
        elif X.shape[1] != self.n_features:
            what = f"X has {X.shape[1]} columns, the model expects {self.n_features}"
            raise DataError(data.name, what)
        return X


def innermost(estimator: Any) -> Any:
    """The estimator of psvm inside pipelines, searches and calibration."""
    while True:
        if hasattr(estimator, "steps"):
            estimator = estimator.steps[-1][1]
        elif hasattr(estimator, "best_estimator_"):
            estimator = estimator.best_estimator_
        elif hasattr(estimator, "calibrated_classifiers_"):
            estimator = estimator.calibrated_classifiers_[0].estimator
        else:
            return estimator


def _parts(estimator: Any) -> Iterator[Any]:
    """All steps of a pipeline, those inside searches and column transformers too."""
    yield estimator
    for _, step in getattr(estimator, "steps", ()):
        yield from _parts(step)
    if hasattr(estimator, "best_estimator_"):
        yield from _parts(estimator.best_estimator_)
    for _, part, _ in getattr(estimator, "transformers_", ()):
        yield from _parts(part)


def _categories(parts: list[Any]) -> tuple[dict[str, list[str]], set[str]]:
    """Text columns with the texts that the fit saw; and those that have a category of rare ones."""
    found: dict[str, list[str]] = {}
    with_rare: set[str] = set()
    for part in parts:
        for _, inside, columns in getattr(part, "transformers_", ()):
            for step in _parts(inside):
                if not hasattr(step, "categories_"):
                    continue
                named = zip(columns, step.categories_, strict=True)
                found |= {str(name): [str(one) for one in known] for name, known in named}
                rare = getattr(step, "infrequent_categories_", [None] * len(columns))
                with_rare |= {
                    str(name) for name, some in zip(columns, rare, strict=True) if some is not None
                }
    return found, with_rare
