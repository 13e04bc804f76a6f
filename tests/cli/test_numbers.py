"""Numbers as people write them: which sign is before the decimals, and what else is there."""

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from psvm.cli.files.numbers import (
    PLAIN,
    UNITS,
    NumberFormat,
    any_thousands,
    evidence_of,
    format_of,
    readable,
)


def seen(*texts):
    return evidence_of(pl.Series(texts), pl.Series([1] * len(texts)))


@pytest.mark.parametrize(
    ("texts", "format", "numbers"),
    [
        (["1,5", "2", "-3,25"], NumberFormat(","), [1.5, 2.0, -3.25]),
        (["1.234,50", "12,5"], NumberFormat(",", "."), [1234.5, 12.5]),
        (["1,234.50", "12"], NumberFormat(".", ","), [1234.5, 12.0]),
        (["1.234.567", "1"], NumberFormat(",", "."), [1234567.0, 1.0]),
        (["1 234,5", "1\u202f234,5"], NumberFormat(",", " "), [1234.5, 1234.5]),
        (["1'234.50", "1’234.50"], NumberFormat(".", "'"), [1234.5, 1234.5]),
        (["12 %", "3.5%"], NumberFormat(".", "", "%"), [12.0, 3.5]),
        (["€ 3,50", "-1.000,00 €"], NumberFormat(",", ".", "€"), [3.5, -1000.0]),
        (["$1,234.50", "-$2.25", "$-2.25"], NumberFormat(".", ",", "$"), [1234.5, -2.25, -2.25]),
        (["12,50 EUR", "EUR 3,50"], NumberFormat(",", "", "EUR"), [12.5, 3.5]),
        (["(3.5)", "1,000,000", "−2"], NumberFormat(".", ","), [-3.5, 1e6, -2.0]),
        (["1,5e3", ",5", "2,"], NumberFormat(","), [1500.0, 0.5, 2.0]),
    ],
)
def test_the_format_is_found_and_read(texts, format, numbers):
    evidence = seen(*texts)
    unit = next(iter(evidence.units), "")
    found = format_of(pl.Series(texts), evidence.decimal or ".", unit)
    assert found == format
    assert found.parse(pl.Series(texts)).to_list() == numbers
    assert NumberFormat.from_json(found.as_json()) == found


@pytest.mark.parametrize(
    ("text", "format"),
    [
        ("1,23,4", NumberFormat(".", ",")),
        ("12,34", NumberFormat(".", ",")),
        ("1.5", NumberFormat(",", ".")),
        ("1,5", PLAIN),
        ("3 $", NumberFormat(".", "", "€")),
        ("(3", PLAIN),
        ("1)", PLAIN),
        ("12 kg", PLAIN),
        ("31.12.2020", NumberFormat(",", ".")),
        ("1 2", NumberFormat(".", " ")),
        ("", NumberFormat(",")),
        ("€", NumberFormat(",", "", "€")),
    ],
)
def test_what_does_not_fit_is_none(text, format):
    assert format.parse(pl.Series([text])).to_list() == [None]


def test_what_tells_the_decimal_sign():
    assert seen("1,5", "1,234").decimal == ","
    assert seen("0,123").decimal == ","
    assert seen("1234,567").decimal == ","
    assert seen("1,234.5").decimal == "."
    assert seen("1,234,567").decimal == "."
    assert seen("1.5", "2.5", "1,5").decimal == "."
    for doubtful in (["1,234"], ["1.234", "950"], ["1,5", "1.5"]):
        assert seen(*doubtful).decimal is None
        assert seen(*doubtful).ambiguous
    assert not seen("12", "13").ambiguous


def test_a_format_from_a_stranger_is_checked():
    for values in (("x", "", ""), (".", ".", ""), (".", "a", ""), (".", "", "kg")):
        with pytest.raises(ValueError, match="no format of numbers"):
            NumberFormat(*values)


@given(
    st.integers(-(10**9), 10**9),
    st.integers(0, 2),
    st.sampled_from([(".", ","), (",", "."), (",", " "), (".", "'"), (".", "")]),
    st.sampled_from(["", *UNITS]),
    st.booleans(),
)
def test_written_numbers_come_back(cents, digits, signs, unit, before):
    decimal, thousands = signs
    value = cents / 10**digits
    text = f"{value:,.{digits}f}".replace(",", "T").replace(".", decimal).replace("T", thousands)
    text = f"{unit} {text}" if before and unit else f"{text} {unit}".strip()
    texts = pl.Series([text])
    assert readable(texts, decimal).all()
    for format in (NumberFormat(decimal, thousands, unit), any_thousands(decimal, unit)):
        assert format.parse(texts).to_list() == [value]
