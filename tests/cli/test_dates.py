"""Dates as people write them, and the numbers that are made of them."""

import datetime

import polars as pl
import pytest

from psvm.cli.files.dates import ORDERS, PARTS, DateFormat, orders_of, varying

LAST = datetime.datetime(2020, 1, 31)


def orders(*texts):
    found = orders_of(pl.Series(texts), pl.Series([1] * len(texts)), ORDERS)
    return {order for order, count in found.items() if count == len(texts)}


@pytest.mark.parametrize(
    ("text", "order", "date"),
    [
        ("2020-01-31", "ymd", LAST),
        ("2020/1/31", "ymd", LAST),
        ("31.01.2020", "dmy", LAST),
        ("31.1.20", "dmy", LAST),
        ("31/01/2020", "dmy", LAST),
        ("01/31/2020", "mdy", LAST),
        ("31 Jan 2020", "dmy", LAST),
        ("31-January-2020", "dmy", LAST),
        ("Jan 31, 2020", "dmy", LAST),
        ("Jan 31, 2020", "mdy", LAST),
        ("31-JAN-2020", "mdy", LAST),
        ("31.01.69", "dmy", datetime.datetime(1969, 1, 31)),
        ("2020-01-31 06:30", "ymd", LAST.replace(hour=6, minute=30)),
        ("2020-01-31T06:30:15.25Z", "ymd", datetime.datetime(2020, 1, 31, 6, 30, 15, 250_000)),
        ("2020-01-31T06:30:00+02:00", "ymd", LAST.replace(hour=6, minute=30)),
        ("01/31/2020 6:30 PM", "mdy", LAST.replace(hour=18, minute=30)),
        ("01/31/2020 12:05 am", "mdy", LAST.replace(minute=5)),
        ("2020-01", "ym", LAST.replace(day=1)),
        ("2020/12", "ym", datetime.datetime(2020, 12, 1)),
        ("6:30", "time", datetime.datetime(1970, 1, 1, 6, 30)),
        ("18:30:15", "time", datetime.datetime(1970, 1, 1, 18, 30, 15)),
        ("6:30 pm", "time", datetime.datetime(1970, 1, 1, 18, 30)),
    ],
)  # fmt: skip
def test_dates_are_read(text, order, date):
    assert DateFormat(order).parse(pl.Series([text])).to_list() == [date]
    assert order in orders(text)


@pytest.mark.parametrize(
    "text",
    [
        "2020-02-30",
        "31.13.2020",
        "1.5",
        "12",
        "abc",
        "2020-01-31 25:00",
        "2020-13",
        "1234-01",
        "2020-1",
        "25:00",
        "12:60",
        "16:9",
        "1.2.3.4",
        "may",
    ],
)
def test_what_is_no_date(text):
    assert orders(text) == set()


def test_the_order_is_found_where_it_can_be():
    assert orders("31/01/2020", "01/02/2020") == {"dmy"}
    assert orders("01/02/2020") == {"dmy", "mdy"}
    assert orders("1.2.2020") == {"dmy"}


def test_parts_that_differ_become_numbers():
    dates = pl.Series("when", ["2020-01-31", "2020-02-29 12:00", None])
    format = varying(dates, "ymd")
    assert format.parts == ("days", "month", "day", "weekday", "hour")
    found = {column.name: column.to_list()[:2] for column in format.expand(dates)}
    assert found == {
        "when.days": [18292.0, 18321.5],
        "when.month": [1.0, 2.0],
        "when.day": [31.0, 29.0],
        "when.weekday": [5.0, 6.0],
        "when.hour": [0.0, 12.0],
    }
    assert all(column.is_nan()[2] for column in format.expand(dates))
    assert varying(pl.Series("w", ["2020-01-01", "2020-02-01"]), "ymd").parts == (
        "days",
        "month",
        "weekday",
    )
    assert varying(pl.Series("w", ["2020-01-01"] * 2), "ymd").parts == ("days",)


def test_months_and_times_of_day_have_few_parts():
    months = pl.Series("month", ["2020-01", "2020-03", None])
    found = varying(months, "ym").expand(months)
    assert {column.name: column.to_list()[:2] for column in found} == {
        "month.days": [18262.0, 18322.0],
        "month.month": [1.0, 3.0],
    }
    for times in (
        pl.Series("at", ["06:30", "18:45:36"]),
        pl.Series("at", [datetime.time(6, 30), datetime.time(18, 45, 36)]),
    ):
        (hours,) = varying(times, "time").expand(times)
        assert hours.name == "at.hour"
        assert hours.to_list() == [6.5, 18.76]
    assert varying(pl.Series("at", ["06:30"] * 2), "time").parts == ("hour",)


def test_dates_that_a_file_declares():
    when = datetime.datetime(2020, 1, 31, 6)
    zone = pl.Series([when], dtype=pl.Datetime("ns", "Europe/Berlin"))
    for column in (pl.Series([when.date()]), pl.Series([when]), zone):
        found = DateFormat("ymd").parse(column)
        assert found.dt.date().to_list() == [when.date()]


def test_a_format_from_a_stranger_is_checked():
    assert DateFormat.from_json(DateFormat("dmy").as_json()) == DateFormat("dmy", PARTS)
    for values in (("ydm", PARTS), ("dmy", ("century",))):
        with pytest.raises(ValueError, match="no format of dates"):
            DateFormat(*values)
