"""What a target is taken for, and how its numbers are read."""

import warnings

import numpy as np
import polars as pl
import pytest
from small_data import data_dir

from psvm.cli.errors import DataError
from psvm.cli.files.kinds import Hints, kind_of, look_at
from psvm.cli.files.numbers import PLAIN, NumberFormat
from psvm.cli.files.open_data import ReadOptions
from psvm.cli.files.targets import Context, judge, known_numbers, read_target
from psvm.cli.files.training_set import Wanted, read_training
from psvm.cli.tasks import Task


def verdict(values):
    series = pl.Series("y", values)
    return judge(series, kind_of(series, look_at(series, Hints()), Hints(), None, ","))


def target(values, task=Task.auto, **known):
    context = Context("data.csv", lambda row: f"row {row + 1}", **known)
    return read_target(pl.Series("y", values), task, context)


def whole(different, each, first=0, step=1):
    return [first + step * i for i in range(different)] * each


@pytest.mark.parametrize(
    ("values", "task", "close"),
    [
        (["yes", "no", "yes"], "classification", False),
        ([True, False, True], "classification", False),
        (["01", "02", "03", "04"] * 30, "classification", False),
        (["2020-01-31", "2020-02-28"] * 4, "classification", False),
        ([0, 1], "classification", False),
        ([-1.0, 1.0] * 5, "classification", False),
        (["3", "4", "5", "6", "7", "8", "9"] * 9, "classification", False),
        (whole(10, 5), "classification", False),
        (whole(15, 5, first=1), "classification", False),
        (whole(15, 5, first=3), "classification", True),
        (whole(26, 10, first=1), "classification", True),
        (whole(26, 9, first=1), "regression", True),  # classes have more rows
        (whole(26, 10, first=2), "regression", True),  # and begin at 0 or 1
        (whole(60, 10, first=2), "regression", False),
        (whole(60, 10), "classification", True),
        ([5, 7, 12, 30], "regression", True),  # each of its own
        (np.arange(200) * 13, "regression", False),
        ([0.5, 1.5, 2.5] * 20, "regression", True),
        (np.linspace(0, 1, 50), "regression", False),
        (["1,5", "2,25", "3,125", *(f"{i},75" for i in range(20))], "regression", False),
        (["1.473,44 €", "84,90 €", "12,00 €", *(f"{i},50 €" for i in range(12))], "regression", 0),
    ],
)
def test_classes_or_numbers(values, task, close):
    found = verdict(values)
    assert (found.task, found.close) == (task, bool(close))


def test_what_was_found_out_is_told_in_a_line():
    assert target([f"{i}.5" for i in range(30)]).told == (
        "regression: the target 'y' has 30 different numbers in 30 rows"
    )
    assert target(["a", "b"]).told == "classification: the target 'y' holds texts"
    assert target(whole(3, 500)).told == (
        "classification: the target 'y' has 3 different whole numbers in 1,500 rows"
    )
    close = target(whole(28, 40, first=2))
    assert (close.told, close.doubts) == (
        "",
        [
            "regression: the target 'y' has 28 different whole numbers in 1,120 rows; that is a "
            "close call, and --task classification takes them for classes"
        ],
    )
    assert "--task regression takes them for amounts" in target(whole(26, 10)).doubts[0]


def test_what_is_asked_for_is_not_talked_about():
    for task in (Task.classification, Task.regression):
        found = target(whole(28, 40, first=2), task)
        assert (found.task, found.told, found.doubts, found.why) == (task, "", [], "")


def test_numbers_of_people():
    found = target(["1.473,44 €", "591,12 €", "2.409,55 €", "84,90 €"])
    assert found.task is Task.regression
    assert found.y.tolist() == [1473.44, 591.12, 2409.55, 84.9]
    assert found.reading == NumberFormat(",", ".", "€")
    assert "decimal comma, thousands '.', sign '€'" in found.notes[0]
    # Whole numbers alone do not tell; the other columns of the file do.
    found = target(["1.234", "5.678"], Task.regression, sign=",")
    assert found.y.tolist() == [1234.0, 5678.0]


@pytest.mark.parametrize(
    ("values", "task", "told"),
    [
        (["1.5", "", "2.5"], "auto", "row 2: the target is missing: fill it in"),
        (["1.5", None, "2.5", "NA"], "regression", "2 of 4 targets are missing"),
        (["yes", "", "no"], "auto", "row 2: the label is missing"),
        ([1.5, float("inf"), 2.0], "regression", "row 2: the target is infinite"),
        (["a", "b"], "regression", r"2 of 2 cells are no numbers \('a', 'b'\)"),
        ([f"{i}.25" for i in range(30)] + ["4o"], "auto", "row 31: 1 of 31 cells is no number"),
        ([1.5, 1.5], "regression", "all targets are 1.5: there is nothing to learn"),
        (["1.234", "5.678", "5"], "regression", "--decimal"),
        ([1.5, 2.25], "classification", "1.5 is a measurement and no class: say --task regression"),
        ([3, 3], "auto", "all labels are 3: two classes are needed"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(values, task, told):
    found = target(values, Task(task))
    sentences = "; ".join(f"{one.place}: {one.sentence()}" for one in found.problems)
    assert pl.Series([sentences]).str.contains(told)[0], sentences


def test_targets_to_evaluate_with_are_read_as_those_of_the_fit():
    def place(row):
        return f"line {row + 2}"

    values = pl.Series("y", ["1.473,44 €", "12,5 €"])
    assert known_numbers(values, NumberFormat(",", ".", "€"), place, "f").tolist() == [
        1473.44,
        12.5,
    ]
    with pytest.raises(DataError, match=r"line 2, column 'y': the model expects a number, not"):
        known_numbers(values, PLAIN, place, "f")
    with pytest.raises(DataError, match="line 3, column 'y': the target is missing"):
        known_numbers(pl.Series("y", [1.0, None]), PLAIN, place, "f")


@pytest.mark.parametrize("name", ["data.svm", "data.npz"])
def test_matrices_have_targets_too(tmp_path, name):
    path = tmp_path / name
    y = np.linspace(0.5, 9.5, 40)
    if name.endswith("npz"):
        np.savez(path, X=np.arange(80.0).reshape(40, 2), y=y)
    else:
        path.write_text("".join(f"{v!r} 1:{i} 2:1\n" for i, v in enumerate(y.tolist())))
    found = read_training(path, ReadOptions(), Wanted(None))
    assert (found.task, found.told) == (
        "regression",
        "regression: the target 'y' has 40 different numbers in 40 rows",
    )
    np.testing.assert_array_equal(found.y, y)
    with pytest.raises(DataError, match="measurement and no class"):
        read_training(path, ReadOptions(), Wanted(None, task=Task.classification))


@pytest.mark.skipif(data_dir() is None, reason="no shared data: set PSVM_DATA_DIR")
def test_real_tables_are_taken_for_what_they_are():
    """Amounts are numbers but for marks from 3 to 9, which may be either."""
    taken = {}
    for path in sorted((data_dir() / "regression").glob("*.parquet")):
        column = pl.read_parquet(path).get_columns()[-1]
        taken[path.stem] = judge(column, kind_of(column, None, Hints(), None, ""))
    amounts = {name for name, found in taken.items() if found.task is Task.regression}
    assert set(taken) - amounts <= {"wine_quality", "skillcraft"}
    assert taken["abalone"].close


def test_close_calls_are_warnings(tmp_path):
    path = tmp_path / "data.csv"
    rows = "".join(f"{i},{i % 28 + 2}\n" for i in range(200))
    path.write_text(f"x,y\n{rows}")
    with pytest.warns(UserWarning, match="close call"):
        read_training(path, ReadOptions(), Wanted("y"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert read_training(path, ReadOptions(), Wanted("y", task=Task.regression)).y.max() == 29
