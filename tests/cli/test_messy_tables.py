"""Tables as spreadsheets write them: what is read, what is said, what is refused, all at once."""

import warnings

import numpy as np
import polars as pl
import pytest
import typer

from psvm.cli.errors import DataError, did_you_mean
from psvm.cli.files.dates import DateFormat
from psvm.cli.files.numbers import PLAIN, NumberFormat
from psvm.cli.files.open_data import ReadOptions
from psvm.cli.files.readings import readings_as_json, readings_from_json
from psvm.cli.files.training_set import Wanted, read_training

MANY = 60


def training(folder, columns, *, delimiter=";", decimal=None, date_order=None, **wanted):
    """Read a file of these columns and of labels y, without a word of doubt."""
    path = write(folder, columns, delimiter)
    options = ReadOptions(decimal=decimal, date_order=date_order)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return read_training(path, options, Wanted("y", **wanted))


def write(folder, columns, delimiter=";"):
    rows = len(next(iter(columns.values())))
    table = pl.DataFrame({**columns, "y": ["pq"[i % 2] for i in range(rows)]})
    table.write_csv(folder / "data.csv", separator=delimiter)
    return folder / "data.csv"


def refused(folder, columns, **how):
    with pytest.raises(DataError) as caught:
        training(folder, columns, **how)
    return str(caught.value).replace(str(folder), "")


# --- numbers -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cells", "format", "numbers"),
    [
        (["1,5", "2,25", "3"], NumberFormat(","), [1.5, 2.25, 3]),
        (["1,234.50", "12.00", "7"], NumberFormat(".", ","), [1234.5, 12, 7]),
        (["12 %", "7 %", "3 %"], NumberFormat(".", "", "%"), [12, 7, 3]),
        (["€ 3,50", "€ 1.000,00", "€ 2"], NumberFormat(",", ".", "€"), [3.5, 1000, 2]),
    ],
)
@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_numbers_are_no_categories(tmp_path, cells, format, numbers, delimiter):
    found = training(tmp_path, {"a": cells}, delimiter=delimiter)
    assert found.texts == []
    assert found.X["a"].to_list() == numbers
    assert found.readings == {"a": format}
    assert len(found.notes) == 1
    assert f"data.csv: column 'a': numbers as {max(cells, key=len)!r} (decimal" in found.notes[0]
    assert readings_from_json(readings_as_json(found.readings)) == found.readings


def test_plain_numbers_are_not_talked_about(tmp_path):
    found = training(tmp_path, {"a": ["1.5", "2", "-3e2"], "b": ["1", "2", "3"]}, delimiter=",")
    assert found.notes == []
    assert found.readings == {}


def test_columns_that_are_alike_share_a_line(tmp_path):
    columns = {name: ["1,5", "2,5", "3,5"] for name in ("a", "b", "c")}
    assert [note.split(": ", 1)[1] for note in training(tmp_path, columns).notes] == [
        "columns 'a', 'b', 'c': numbers as '1,5' (decimal comma)"
    ]


@pytest.mark.parametrize(
    "cells", [["1,234", "5,678"], ["950", "1,234"], [*"123456789", "1,5", "1.5"]]
)
def test_two_readings_are_refused(tmp_path, cells):
    message = refused(tmp_path, {"a": cells})
    assert "column 'a': " in message
    assert message.endswith('before the decimals: --decimal "." or --decimal ","')


@pytest.mark.parametrize(("cell", "decimal", "number"), [
    ("1,234", ".", 1234), ("1,234", ",", 1.234), ("1.234", ".", 1.234), ("1.234", ",", 1234)
])  # fmt: skip
def test_the_user_says_which(tmp_path, cell, decimal, number):
    found = training(tmp_path, {"a": [cell, "950"]}, decimal=decimal)
    assert found.X["a"].to_list() == [number, 950]


def test_other_columns_say_which(tmp_path):
    doubtful = ["1,234", "950"]
    found = training(tmp_path, {"a": doubtful, "b": ["0,5", "1,5"]})
    assert found.X["a"].to_list() == [1.234, 950]
    found = training(tmp_path, {"a": doubtful, "b": ["0.5", "1.5"]})
    assert found.X["a"].to_list() == [1234, 950]
    assert any("'a': numbers as '1,234' (decimal point, thousands ',')" in n for n in found.notes)
    columns = {"a": doubtful, "b": ["0,5", "1,5"], "c": ["0.5", "1.5"]}
    assert "column 'a': '1,234' is a thousand" in refused(tmp_path, columns)


def test_a_point_before_three_decimals_is_a_choice_that_is_said(tmp_path):
    path = write(tmp_path, {"a": ["1.234", "5.678"]}, ",")
    with pytest.warns(
        UserWarning, match=r"column 'a': '1.234' is read with a decimal point; --dec"
    ):
        found = read_training(path, ReadOptions(), Wanted("y"))
    assert found.X["a"].to_list() == [1.234, 5.678]
    # With whole numbers beside it, or among semicolons, it may as well be thousands.
    assert "'1.234' is a thousand" in refused(tmp_path, {"a": ["1.234", "950"]}, delimiter=",")
    assert "'1.234' is a thousand" in refused(tmp_path, {"a": ["1.234", "5.678"]})
    assert training(tmp_path, {"a": ["1.234", "0.5"]}, delimiter=",").readings == {}


def test_a_decimal_sign_that_cannot_be(tmp_path):
    for cells, decimal in ((["1.5", "2.5"], ","), (["1,5", "2,5"], ".")):
        message = refused(tmp_path, {"a": cells}, decimal=decimal)
        assert f"most numbers cannot have the decimal sign {decimal!r}: leave --decimal" in message
    mixed = ["1,5"] * 6 + ["1.5"] * 5
    assert "5 cells have a decimal point, 6 a decimal comma" in refused(tmp_path, {"a": mixed})
    mixed = ["3 $"] * 6 + ["3 €"] * 5
    assert "'$' in 6 cells, '€' in 5 cells: convert" in refused(tmp_path, {"a": mixed})


def measurements(*odd):
    return [f"{i},5" for i in range(MANY - len(odd))] + list(odd)


def test_mistakes_among_numbers(tmp_path):
    column = measurements("abc", "abc", "-")
    message = refused(tmp_path, {"a": column})
    assert "2 problems" in message
    assert "column 'a', line 59: 2 of 60 cells are no numbers ('abc')" in message
    assert "column 'a', line 61: the value is missing" in message
    path = write(tmp_path, {"a": column})
    with pytest.warns(UserWarning, match=r"'a': 2 of 60 cells are no numbers, taken for missing"):
        found = read_training(path, ReadOptions(), Wanted("y", impute=True))
    assert np.isnan(found.X["a"].to_numpy()).sum() == 3
    assert found.notes[-1].endswith("missing values to fill in: 'a' 1 ('-')")
    assert training(tmp_path, {"a": column}, as_text=["a"], max_categories=99).texts == ["a"]


def test_markers_among_numbers_are_missing_and_counted(tmp_path):
    column = measurements("-", "-", "?", "n/a", "", "#DIV/0!")
    assert "6 of 60 values are missing" in refused(tmp_path, {"a": column})
    found = training(tmp_path, {"a": column}, impute=True)
    assert np.isnan(found.X["a"].to_numpy()).sum() == 6
    assert "'a' 6 ('-' 2 times, empty, ...)" in found.notes[-1]
    # Among texts a dash is a text like others.
    assert training(tmp_path, {"a": ["x", "-", "x", "-"]}).X["a"].to_list() == ["x", "-", "x", "-"]


def test_codes_with_few_texts_stay_categories_which_is_said(tmp_path):
    column = ["0", "1", "2", "3+"] * 15
    found = training(tmp_path, {"a": column})
    assert found.texts == ["a"]
    assert "'a': categories, though 75% of the cells are numbers; others are '3+'" in found.notes[0]
    path = write(tmp_path, {"a": column})
    with pytest.warns(UserWarning, match="15 of 60 cells are no numbers"):
        found = read_training(path, ReadOptions(), Wanted("y", impute=True, as_number=["a"]))
    assert found.numbers == ["a"]


def test_numbers_where_there_are_none(tmp_path):
    for impute in (False, True):
        message = refused(tmp_path, {"a": ["u", "v", "w"]}, as_number=["a"], impute=impute)
        assert "column 'a': no cell is a number ('u', 'v', 'w'): leave the column out" in message


def test_declared_categories_are_no_numbers(tmp_path):
    table = pl.DataFrame({"a": ["1", "2", "1", "2"], "y": [0, 1, 0, 1]})
    table.with_columns(pl.col("a").cast(pl.Categorical)).write_parquet(tmp_path / "t.parquet")
    assert read_training(tmp_path / "t.parquet", ReadOptions(), Wanted("y")).texts == ["a"]
    table.write_parquet(tmp_path / "t.parquet")
    assert read_training(tmp_path / "t.parquet", ReadOptions(), Wanted("y")).numbers == ["a"]
    found = read_training(tmp_path / "t.parquet", ReadOptions(), Wanted("y", as_text=["a"]))
    assert found.texts == ["a"]


def test_numbers_that_may_be_codes_are_said(tmp_path):
    found = training(tmp_path, {"zip": ["01067", "24103", "53111"]})
    assert found.numbers == ["zip"]
    assert "'zip': numbers, though '01067' may be a code; --text has it" in found.notes[0]
    assert training(tmp_path, {"zip": ["01067", "24103"]}, as_text=["zip"]).notes == []


# --- dates ---------------------------------------------------------------------------------------

DATES = {
    "iso": [f"2020-03-{i:02d}" for i in range(1, 31)],
    "dots": [f"{i}.3.2020" for i in range(1, 31)],
}


@pytest.mark.parametrize("kind", DATES)
def test_dates_are_no_categories(tmp_path, kind):
    columns = {"when": DATES[kind], "a": [str(i) for i in range(30)]}
    message = refused(tmp_path, columns)
    assert "column 'when': dates as" in message
    assert "say --dates expand" in message
    found = training(tmp_path, columns, dates="expand")
    assert found.X.columns == ["when.days", "when.day", "when.weekday", "a"]
    assert found.X["when.days"][0] == 18322
    assert isinstance(found.readings["when"], DateFormat)
    assert "become days, day, weekday" in found.notes[0]
    found = training(tmp_path, columns, dates="drop")
    assert found.X.columns == ["a"]
    assert found.notes[0].endswith("left out (--dates drop): 'when'")
    assert training(tmp_path, columns, as_text=["when"]).texts == ["when"]


def test_days_or_months_first(tmp_path):
    columns = {"when": [f"{i}/{i + 1}/2020" for i in range(1, 11)]}
    message = refused(tmp_path, columns, dates="expand")
    assert "'1/2/2020' begins with a day or with a month: say which: --date-order dmy" in message
    days = [
        training(tmp_path, columns, dates="expand", date_order=order).X["when.days"][0]
        for order in ("dmy", "mdy")
    ]
    assert days == [18293, 18263]


def test_an_order_of_dates_that_cannot_be(tmp_path):
    columns = {"when": [f"{i}/3/2020" for i in range(1, 31)]}
    assert training(tmp_path, columns, dates="expand").readings["when"].order == "dmy"
    message = refused(tmp_path, columns, dates="expand", date_order="mdy")
    assert "most dates, as '1/3/2020', cannot have the order mdy: leave --date-order out" in message
    found = training(tmp_path, {"when": DATES["iso"]}, dates="expand", date_order="mdy")
    assert found.readings["when"].order == "ymd"


def test_names_that_parts_of_dates_take(tmp_path):
    columns = {"when": DATES["iso"], "when.days": [str(i) for i in range(30)]}
    assert "both called 'when.days'" in refused(tmp_path, columns, dates="expand")


# --- all at once ---------------------------------------------------------------------------------


def test_all_problems_in_one_message(tmp_path):
    columns = {
        "age": ["", "", *("1" for _ in range(MANY - 2))],
        "price": ["1,234"] * MANY,
        "when": (DATES["iso"] * 2)[:MANY],
        "name": [f"n{i}" for i in range(MANY)],
        "none": [""] * MANY,
        "wide": ["inf", "1"] * (MANY // 2),
        "good": ["1"] * MANY,
    }
    path = write(tmp_path, columns)
    text = path.read_text().splitlines()
    text[3] = text[3][:-1]  # no label
    path.write_text("\n".join(text))
    with pytest.raises(DataError) as caught:
        read_training(path, ReadOptions(), Wanted("y"))
    lines = str(caught.value).splitlines()
    assert lines[0] == f"{path}: 7 problems"
    told = "\n".join(lines)
    for part in (
        "column 'y', line 4: the label is missing",
        "column 'age', line 2: 2 of 60 values are missing",
        "column 'price': '1,234' is a thousand",
        "column 'when': dates as",
        "column 'name', line 2: 'n0' is no number, and 60 different texts in 60 rows are names",
        "column 'none': all values are missing",
        "column 'wide', line 2: 30 of 60 values are infinite",
    ):
        assert part in told
    assert "good" not in told


def test_all_names_that_are_wrong(tmp_path):
    (tmp_path / "data.csv").write_text("a,,a,y,,y\n1,2,3,4,5,6\n")
    with pytest.raises(DataError) as caught:
        read_training(tmp_path / "data.csv", ReadOptions(), Wanted("y"))
    assert [line.strip() for line in str(caught.value).splitlines()[1:]] == [
        "line 1: column 2 has no name",
        "line 1: column 5 has no name",
        "line 1: two columns are called 'a'",
        "line 1: two columns are called 'y'",
        "→ rename them, or use --no-header",
    ]


def test_very_many_problems_of_one_kind_are_shortened(tmp_path):
    message = refused(tmp_path, {f"c{i}": ["1", "", "2"] for i in range(90)})
    assert message.count("the value is missing") == 20
    assert message.count("use --impute") == 1
    assert "and likewise 'c20', 'c21'" in message


def test_constant_columns_are_said(tmp_path):
    columns = {"a": ["1", "1", "1"], "b": ["u", "u", "u"], "c": ["1", "2", "3"]}
    notes = training(tmp_path, columns).notes
    assert [note.split(": ", 1)[1] for note in notes] == [
        "the same value in all rows, which tells nothing: 'a', 'b'"
    ]


# --- rare texts ----------------------------------------------------------------------------------


def test_rare_texts_are_one_category(tmp_path):
    common = ["red"] * 30 + ["blue"] * 20
    found = training(tmp_path, {"a": [*common, *(f"r{i}" for i in range(10))]}, max_categories=3)
    assert found.notes[0].endswith(
        "12 different texts: the 10 rarest, 10 cells, become one category (--max-categories 3)"
    )
    assert found.max_categories == 3


# --- names ---------------------------------------------------------------------------------------


def test_names_that_were_mistyped(tmp_path):
    path = write(tmp_path, {"Price": ["1", "2"], "size": ["3", "4"]})

    def told(**wanted):
        with pytest.raises((DataError, typer.BadParameter)) as caught:
            read_training(path, ReadOptions(), Wanted(**wanted))
        return str(caught.value)

    assert "there is no column 'Y' (did you mean 'y'?)" in told(target="Y")
    assert "has no column 'prise' (did you mean 'Price'?)" in told(target="y", drop=["prise"])
    message = told(target="Y", drop=["siez", "zzz"], as_text=["prise"])
    assert "--target: " in message
    assert "--drop: " in message
    assert "'siez' (did you mean 'size'?), 'zzz'" in message
    assert "--text: " in message
    assert did_you_mean("zzz", ["Price", "size"]) == ""


def test_a_reading_from_a_stranger_is_checked():
    assert readings_from_json(None) == {}
    for values in ({"a": {"kind": "spells"}}, {"a": 1}, {"a": {"kind": "numbers"}}, "x"):
        with pytest.raises(ValueError, match=r"."):
            readings_from_json(values)
    assert readings_from_json(readings_as_json({"a": PLAIN})) == {"a": PLAIN}
