"""The report of ``psvm tune``: one HTML file that needs no network."""

from __future__ import annotations

import shlex
import sys
from datetime import datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape
from sklearn.base import clone

from psvm.cli.fitted_model import Model
from psvm.cli.output import output_stream
from psvm.cli.regression import (
    described_scores,
    described_spread,
    numbers_learned,
    regression_scores_of,
)
from psvm.cli.report_pictures import Draw, picture, residual_pictures
from psvm.cli.scores import scores_of
from psvm.cli.search_and_test import tried
from psvm.cli.tasks import Task
from psvm.cli.train_and_test import Fitted, Split, short
from psvm.mathematics.multiclass import predicted_codes
from psvm.paper.command_line import as_html
from psvm.persistence.steps import steps_of
from psvm.plotting import LearningProcessDisplay, SelectionDisplay

ROWS = 20
"""Combinations in the table."""

# The report of the paper has the style that this one shares.
TEMPLATES = [
    Path(__file__).with_name("templates"),
    Path(__file__).parents[1] / "paper" / "templates",
]

# What the picture of the growing score takes, in final fits: five sizes and three folds.
_LEARNING_FITS = 5


def write_report(
    path: Path, data: Path, target: str | None, tuned: Fitted, search: Any, rows: Split
) -> None:
    """Write the report of a search.

    Parameters
    ----------
    path : Path
        The file; it appears when it is complete.
    data : Path
        What was searched on, for the title.
    target : str or None
        The column that is learned, if it has a name.
    tuned : Fitted
        The model, and what is known about it.
    search : PSVCCV or PSVRCV
        The fitted search.
    rows : Split
        Training rows, and those of the test if there are any.
    """
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES), autoescape=True, undefined=StrictUndefined
    )
    environment.globals["facts_table"] = _facts_table
    page = environment.get_template("tune.html.j2").render(
        _content(data, target, tuned, search, rows)
    )
    with output_stream(path) as stream:
        stream.write(page.encode("utf-8"))


def _content(
    data: Path, target: str | None, tuned: Fitted, search: Any, rows: Split
) -> dict[str, Any]:
    """All that the template shows, by the names it uses."""
    facts = tuned.facts
    table = facts["search"]
    names = [name for name in table[0] if name not in ("score", "deviation", "chosen")]
    regression = rows.train.task is Task.regression
    of_task = _numbers_judged if regression else _classes_judged
    chosen = ", ".join(f"{name} = {value:.4g}" for name, value in facts["best_parameters"].items())
    kind = "regressor" if regression else "classifier"
    problems = {} if regression else {"binary problems": str(facts["problems"])}
    own = of_task(tuned, search, rows)
    return {
        "data_name": "standard input" if str(data) == "-" else data.name,
        "command": as_html(shlex.join(["psvm", *sys.argv[1:]])),
        "made": datetime.now().astimezone().strftime("%d %B %Y, %H:%M %Z"),
        "notice": _notice(tuned),
        "chosen": chosen,
        "combinations": tried(facts),
        "folds": search.n_splits_,
        "scoring": "" if search.scoring is None else f" of {search.scoring}",
        "cards": [
            (f"{facts['best_score']:.4f}", "score in the cross-validation"),
            *own.pop("cards"),
            (f"{facts['support_vectors']:,}", "support vectors"),
            (f"{facts['dual_gap']:.1e}", "relative duality gap"),
        ],
        "data": {"target": target or "that of the file", **_data_facts(rows)},
        "names": names,
        "rows": table[:ROWS],
        "pictures": _pictures(search, names),
        "remarks": facts["remarks"],
        **own,
        "certificate": {
            kind: facts[kind],
            "parameters": ", ".join(f"{k}={short(v)}" for k, v in facts["parameters"].items()),
            "preprocessing": _preprocessing(tuned.model),
            **problems,
            "relative duality gap": f"{facts['dual_gap']:.2e} at most: {facts['status']}",
            "support vectors": f"{facts['support_vectors']:,} of {rows.train.shape[0]:,} rows",
            "search and fit": f"{facts['seconds']:.1f} s",
            "versions": f"psvm {version('psvm')}, scikit-learn {version('scikit-learn')}",
        },
    }


def _judged_on(rows: Split) -> str:
    """What predictions are judged by: the test, or the rows that were held out in turn."""
    if rows.test is not None:
        return f"Of the {rows.test.shape[0]:,} test rows, which no part of the search has seen."
    return (
        "Of every training row by the fit of the chosen combination that did not see it. Because "
        "the combination was chosen by these rows, new ones will do slightly worse; --test-size "
        "keeps some for a test."
    )


def _where(rows: Split) -> str:
    return "test rows" if rows.test is not None else "rows held out"


def _classes_judged(tuned: Fitted, search: Any, rows: Split) -> dict[str, Any]:
    """What the template shows of predicted classes."""
    classes = search.classes_
    if rows.test is not None:
        decision, y = Model(tuned.model).decision(rows.test.X), rows.test.y
        scores = tuned.facts["test"]
    else:
        decision, y = np.asarray(search.cross_val_decision_), rows.train.y
        scores = scores_of(y, classes[predicted_codes(decision)], decision, classes)
    where = _where(rows)
    return {
        "cards": [
            (f"{scores['accuracy']:.4f}", f"accuracy, {where}"),
            (f"{_majority(scores):.4f}", f"accuracy of the largest class alone, {where}"),
        ],
        "judged": _judged_on(rows),
        "scores": {
            "rows": f"{scores['rows']:,}",
            "accuracy": f"{scores['accuracy']:.4f}",
            "always the largest class": f"{_majority(scores):.4f}",
            "balanced accuracy": f"{scores['balanced_accuracy']:.4f}",
            "F1, mean": f"{scores['f1']:.4f}",
            "ROC AUC": "—" if scores["roc_auc"] is None else f"{scores['roc_auc']:.4f}",
        },
        "classes": scores["classes"],
        "confusion": scores["confusion"],
        "curves": _curves(search, rows, decision, y),
    }


def _numbers_judged(tuned: Fitted, search: Any, rows: Split) -> dict[str, Any]:
    """What the template shows of predicted numbers."""
    if rows.test is not None:
        y, predicted = rows.test.y, np.asarray(tuned.model.predict(rows.test.X))
    else:
        y, predicted = rows.train.y, np.asarray(search.cross_val_prediction_)
    scores = regression_scores_of(y, predicted, search.quantile)
    where = _where(rows)
    return {
        "cards": [
            ("—" if scores["r2"] is None else f"{scores['r2']:.4f}", f"R², {where}"),
            (f"{scores['mae']:.4g}", f"mean absolute error, {where}"),
        ],
        "judged": _judged_on(rows),
        "scores": {"rows": f"{scores['rows']:,}", **described_scores(scores)},
        "classes": [],
        "confusion": [],
        "curves": [*residual_pictures(y, predicted), *_learning_curve(search, rows)],
    }


def _majority(scores: dict[str, Any]) -> float:
    """The accuracy of whoever always says the largest class."""
    return float(max(one["rows"] for one in scores["classes"]) / scores["rows"])


def _notice(tuned: Fitted) -> str:
    """What a reader must know first of a search or a fit that was cut short."""
    facts, said = tuned.facts, []
    if len(facts["search"]) < facts["combinations"]:
        said.append(f"Stopped early: only {tried(facts)} have a score.")
    if not facts["finished"]:
        said.append(
            f"The final fit is not finished: its relative duality gap is {facts['dual_gap']:.2g}, "
            f"and a finished one may predict otherwise."
        )
    return " ".join(said)


def _data_facts(rows: Split) -> dict[str, str]:
    train = rows.train
    facts = {
        "training rows": f"{train.shape[0]:,}",
        "test rows": "none" if rows.test is None else f"{rows.test.shape[0]:,}",
        "columns": f"{train.shape[1]:,}",
    }
    if train.task is Task.regression:
        facts["values of the target"] = described_spread(numbers_learned(train.y))
    else:
        labels, counts = np.unique(train.y, return_counts=True)
        named = zip(labels, counts, strict=True)
        facts["classes"] = ", ".join(f"{name}: {count:,}" for name, count in named)
    if isinstance(train.X, pl.DataFrame):
        holes = {
            column.name: column.null_count()
            if column.name in train.texts
            else column.fill_nan(None).null_count()
            for column in train.X.get_columns()
        }
        facts["text columns"] = ", ".join(train.texts) or "none"
        missing = [f"{name}: {count:,}" for name, count in holes.items() if count]
        facts["missing values"] = ", ".join(missing) or "none"
    return facts


def _preprocessing(model: Any) -> str:
    steps = [type(step).__name__ for step in steps_of(model)[:-1]]
    return " → ".join(steps) or "none"


# --- pictures ------------------------------------------------------------------------------------


def _pictures(search: Any, names: list[str]) -> list[dict[str, str]]:
    """Scores over p and C, C and gamma, C and epsilon, and support vectors over p, as searched."""

    def selection(**options: Any) -> Draw:
        return lambda ax: SelectionDisplay.from_estimator(search, ax=ax, **options)

    found: list[dict[str, str]] = []
    several = {name for name in names if len(set(search.cv_results_[f"param_{name}"])) > 1}
    if not several:
        return found
    if {"p", "C"} <= set(names):
        found.append(picture(selection(x="C", y="p"), "Score over C and p."))
    if {"gamma", "C"} <= set(names):
        found.append(picture(selection(x="C", y="gamma"), "Score over C and gamma."))
    if "epsilon" in several and "C" in names:
        found.append(picture(selection(x="C", y="epsilon"), "Score over C and epsilon."))
    if "p" in several and "mean_n_support" in search.cv_results_:
        caption = "Support vectors of the best combination of every p, mean over the folds."
        found.append(picture(selection(x="p", y=None, value="support"), caption))
    return found


def _curves(search: Any, rows: Split, decision: Any, y: Any) -> list[dict[str, str]]:
    """The ROC curve of two classes, and how the score grows with the rows."""
    found = []
    classes = search.classes_
    if classes.size == 2 and np.unique(y).size == 2:
        from sklearn.metrics import RocCurveDisplay

        def roc(ax: Any) -> None:
            RocCurveDisplay.from_predictions(
                y == classes[1], decision, ax=ax, name="model", plot_chance_level=True
            )
            ax.set(xlabel="share of the other class taken", ylabel=f"share of {classes[1]} found")

        found.append(picture(roc, f"ROC curve of the class {classes[1]}."))
    return [*found, *_learning_curve(search, rows)]


def _learning_curve(search: Any, rows: Split) -> list[dict[str, str]]:
    """How the score grows with the rows, if there is time for that."""
    if search.max_time is not None and _LEARNING_FITS * search.refit_time_ > search.max_time:
        return []
    model = clone(search.best_estimator_)

    def learning(ax: Any) -> None:
        LearningProcessDisplay.from_estimator(
            model, rows.train.X, rows.train.y, train_sizes=5, cv=3, ax=ax
        )

    caption = "Score and support vectors of the chosen combination against the number of rows."
    return [picture(learning, caption)]


def _facts_table(facts: dict[str, str]) -> Markup:
    """Names and values below each other."""
    rows = "".join(
        f'<tr><th scope="row">{escape(name)}</th><td class="text">{escape(value)}</td></tr>'
        for name, value in facts.items()
    )
    return Markup(f'<div class="scroll" tabindex="0"><table class="plain">{rows}</table></div>')
