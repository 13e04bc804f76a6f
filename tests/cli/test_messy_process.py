"""Messy tables through the installed ``psvm``: from a spreadsheet's file to predictions."""

import json
import os
import re
import subprocess
import textwrap
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from cli_data import command, psvm
from processes import UNIX

ROWS = 120


def shop(rows=ROWS, seed=0):
    """A table whose numbers and dates decide the label."""
    rng = np.random.default_rng(seed)
    price, share = rng.uniform(1, 5000, rows).round(2), rng.uniform(0, 100, rows).round(1)
    day = rng.integers(0, 700, rows)
    good = (price / 5000 + share / 100 + day / 700) > 1.5
    return pl.DataFrame(
        {
            "price": price,
            "share": share,
            "sold": pl.Series(day.astype("datetime64[D]")).cast(pl.Date),
            "town": rng.choice(["Kiel", "Bonn"], rows),
            "good": np.where(good, "yes", "no"),
        }
    )


def german(table):
    """The same as a German spreadsheet writes it."""

    def money(value):
        return f"{value:,.2f} €".replace(",", "T").replace(".", ",").replace("T", ".")

    return table.with_columns(
        price=pl.Series([money(value) for value in table["price"]]),
        share=pl.Series([f"{value} %".replace(".", ",") for value in table["share"]]),
        sold=table["sold"].dt.strftime("%d.%m.%Y"),
    )


def write(folder, name, table, separator=","):
    table.write_csv(folder / name, separator=separator)
    return folder / name


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """The table as a computer and as a spreadsheet writes it, with a model of each."""
    folder = tmp_path_factory.mktemp("messy")
    write(folder, "plain.csv", shop())
    write(folder, "german.csv", german(shop()), ";")
    for name in ("plain", "german"):
        words = ["fit", folder / f"{name}.csv", "-t", "good", "-o", folder / f"{name}.psvm"]
        code, _, err = psvm(*words, "--dates", "expand")
        assert code == 0, err
        (folder / f"{name}.txt").write_text(err)
    return folder


def decisions(model, data, *words):
    code, out, err = psvm("predict", model, data, "--decision", *words)
    assert (code, err) == (0, "")
    return pl.read_csv(out.encode())["decision"].to_numpy()


def test_a_messy_file_gives_the_model_of_the_clean_one(tmp_path, shared):
    """In the fit, and for new rows, which are read as the fit's were."""
    new = write(tmp_path, "new.csv", shop(seed=1))
    messy = write(tmp_path, "messy.csv", german(shop(seed=1)), ";")
    expected = decisions(shared / "plain.psvm", new)
    np.testing.assert_allclose(decisions(shared / "german.psvm", messy), expected, atol=1e-9)


def test_what_was_understood_is_said(shared):
    task, *lines = (shared / "german.txt").read_text().splitlines()
    assert task == "psvm: classification: the target 'good' holds texts"
    assert all(line.startswith(f"psvm: {shared / 'german.csv'}: column ") for line in lines)
    told = [line.split(": ", 2)[2] for line in lines]
    assert told[0].startswith("column 'price': numbers as '1.")
    assert told[0].endswith("(decimal comma, thousands '.', sign '€')")
    assert told[1].startswith("column 'share': numbers as ")
    assert told[2].startswith("column 'sold': dates as ")
    assert told[2].endswith("(day, month, year) become days, month, day, weekday")
    assert len(told) == 3
    code, out, _ = psvm("info", shared / "german.psvm", "--json")
    assert code == 0
    assert json.loads(out)["notes"]["readings"]["price"] == {
        "kind": "numbers",
        "decimal": ",",
        "thousands": ".",
        "unit": "€",
    }
    code, out, _ = psvm("info", shared / "german.psvm")
    assert "'price' as numbers (decimal ,, thousands ., unit €)" in " ".join(out.split())


def test_a_file_that_is_written_in_another_way(tmp_path, shared):
    """It is refused, and read when its sign is said."""
    table = german(shop(seed=1)).with_columns(
        price=shop(seed=1)["price"], share=shop(seed=1)["share"]
    )
    other = write(tmp_path, "other.csv", table)
    code, out, err = psvm("evaluate", shared / "german.psvm", other, "-t", "good")
    assert (code, out) == (1, "")
    assert "2 problems" in err
    assert (
        "column 'price', line 2: the model expects a number (decimal comma, thousands '.', " in err
    )
    assert "say --decimal if this file writes numbers in another way" in err
    expected = decisions(shared / "plain.psvm", write(tmp_path, "new.csv", shop(seed=1)))
    found = decisions(shared / "german.psvm", other, "--decimal", ".")
    np.testing.assert_allclose(found, expected, atol=1e-9)
    american = table.with_columns(sold=shop(seed=1)["sold"].dt.strftime("%m/%d/%Y"))
    words = ["--decimal", ".", "--date-order", "mdy"]
    found = decisions(shared / "german.psvm", write(tmp_path, "us.csv", american), *words)
    np.testing.assert_allclose(found, expected, atol=1e-9)


def test_all_problems_in_one_message(tmp_path, shared):
    table = german(shop()).with_columns(
        note=pl.Series([f"n{i}" for i in range(ROWS)]),
        age=pl.Series([None, None, *range(ROWS - 2)]),
    )
    path = write(tmp_path, "bad.csv", table, ";")
    code, out, err = psvm("fit", path, "-t", "good", "-o", tmp_path / "m.psvm")
    assert (code, out) == (1, "")
    assert err.splitlines() == [
        f"psvm: {path}: 3 problems",
        f"  column 'sold': dates as {min(table['sold'])!r} (day, month, year)",
        "    → say --dates expand (to days, months, weekdays, hours) or --dates drop; --text sold "
        "takes them for categories",
        "  column 'note', line 2: 'n0' is no number, and 120 different texts in 120 rows are "
        "names, too many for categories",
        "    → leave the column out (--drop note)",
        "  column 'age', line 2: 2 of 120 values are missing",
        "    → use --impute, leave the column out (--drop age), or fill it in",
    ]
    assert not (tmp_path / "m.psvm").exists()
    words = ["--dates", "drop", "--drop", "note", "--impute", "--quiet"]
    assert psvm("fit", path, "-t", "good", "-o", tmp_path / "m.psvm", *words) == (0, "", "")


@pytest.mark.slow  # several processes, whose messages are those of other tests
def test_mistakes_in_new_rows_count_as_missing_where_the_model_fills_in(tmp_path):
    table = german(shop()).drop("sold")
    model, data = tmp_path / "m.psvm", write(tmp_path, "data.csv", table, ";")
    words = ["fit", data, "-t", "good", "-o", model, "-q"]
    prices = ["abc", "-", *table["price"][2:]]
    odd = write(tmp_path, "odd.csv", table.with_columns(price=pl.Series(prices)), ";")
    assert psvm(*words)[0] == 0
    code, _, err = psvm("predict", model, odd)
    assert code == 1
    assert "column 'price', line 2: the model expects a number (decimal comma" in err
    assert "column 'price', line 3: the value is missing" in err
    assert psvm(*words, "--impute")[0] == 0
    code, out, err = psvm("predict", model, odd)
    assert code == 0
    assert out.count("\n") == ROWS + 1
    assert err == (
        f"psvm: warning: {odd}, column 'price': 1 of {ROWS} cells is no number, taken for missing\n"
    )


def test_rare_texts_are_one_category(tmp_path):
    rng = np.random.default_rng(0)
    town = [*rng.choice(["Kiel", "Bonn"], 100).tolist(), *(f"village {i}" for i in range(20))]
    good = ["no" if name == "Bonn" else "yes" for name in town]
    size = rng.normal(size=120).round(3).tolist()
    data = write(tmp_path, "t.csv", pl.DataFrame({"town": town, "size": size, "good": good}))
    words = ["fit", data, "-t", "good", "-o", tmp_path / "m.psvm", "--max-categories", "3"]
    code, out, err = psvm(*words, "--json")
    assert code == 0
    assert err == (
        "psvm: classification: the target 'good' holds texts\n"
        f"psvm: {data}: column 'town': 22 different texts: the 20 rarest, 20 cells, become one "
        "category (--max-categories 3)\n"
    )
    assert json.loads(out)["train"]["accuracy"] > 0.9
    new = pl.DataFrame({"town": ["Atlantis", "village 3", "Bonn"], "size": [0.0, 0.0, 0.0]})
    code, out, err = psvm("predict", tmp_path / "m.psvm", write(tmp_path, "new.csv", new))
    assert out.split() == ["prediction", "yes", "yes", "no"]
    assert "column 'town': 1 values that the fit did not see; they count like its rare texts" in err


@pytest.mark.slow  # several processes, whose messages are those of other tests
def test_names_that_are_not_there(tmp_path, shared):
    words = ["fit", shared / "plain.csv", "-o", tmp_path / "m.psvm"]
    code, _, err = psvm(*words, "-t", "goood")
    assert code == 1
    assert "there is no column 'goood' (did you mean 'good'?)" in err
    code, _, err = psvm(*words, "-t", "good", "--drop", "prise", "--text", "twon")
    assert code == 2
    assert "has no column 'prise' (did you mean 'price'?)" in err
    assert "has no column 'twon' (did you mean 'town'?)" in err
    renamed = shop().rename({"price": "prices", "share": "part", "sold": "Sold"})
    few = write(tmp_path, "few.csv", renamed)
    code, _, err = psvm("predict", shared / "plain.psvm", few)
    assert code == 1
    assert (
        "the model expects the columns 'price' (did you mean 'prices'?), 'share', 'sold' (did you "
        "mean 'Sold'?), which the file has not"
    ) in err


@pytest.mark.slow  # several processes, whose messages are those of other tests
def test_a_header_that_was_altered_is_refused(tmp_path, shared):
    import zipfile

    bad = tmp_path / "bad.psvm"
    with zipfile.ZipFile(shared / "german.psvm") as old, zipfile.ZipFile(bad, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            new.writestr(
                name, content.replace(b'"numbers"', b'"spells"') if "json" in name else content
            )
    code, _, err = psvm("predict", bad, shared / "german.csv")
    assert code == 1
    assert err.startswith(f"psvm: {bad} was altered: its header does not say how columns are read")


@UNIX
def test_the_documentation_shows_what_is_printed(tmp_path):
    page = Path(__file__).parents[2] / "docs" / "command-line.md"
    section = page.read_text(encoding="utf-8").split("## Messy tables\n")[1].split("\n## ")[0]
    blocks = [
        textwrap.dedent(one) for one in re.findall(r"(?:^    .*\n)+", section, flags=re.MULTILINE)
    ]
    (tmp_path / "orders.csv").write_text(blocks[0], encoding="utf-8")
    shown = [block.split("\n", 1) for block in blocks[1:]]
    assert len(shown) == 2
    for line, expected in shown:
        words = line.removeprefix("$ psvm ")
        done = subprocess.run(
            f"{' '.join(command())} {words}",
            shell=True,
            cwd=tmp_path,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
            capture_output=True,
            encoding="utf-8",
        )
        assert done.stdout == ""
        assert done.stderr == expected
    assert json.loads((tmp_path / "fit.json").read_text())["text_columns"] == ["town"]


def test_months_and_times_of_day_are_dates(tmp_path):
    rng = np.random.default_rng(0)
    hours = rng.integers(0, 24, ROWS)
    table = pl.DataFrame(
        {
            "at": [f"{hour:02d}:{minute:02d}" for hour, minute in zip(hours, hours, strict=True)],
            "month": [
                f"20{year:02d}-{month:02d}" for year, month in rng.integers(1, 13, (ROWS, 2))
            ],
            "good": np.where(hours < 12, "yes", "no"),
        }
    )
    data, model = write(tmp_path, "times.csv", table), tmp_path / "m.psvm"
    code, _, err = psvm("fit", data, "-t", "good", "-o", model)
    assert code == 1
    assert "2 problems" in err
    assert "(time of day)" in err
    assert "(year, month)" in err
    assert "--dates expand" in err
    code, out, _ = psvm("fit", data, "-t", "good", "-o", model, "--dates", "expand", "--json")
    assert code == 0
    assert json.loads(out)["train"]["accuracy"] > 0.95
    _, out, _ = psvm("info", model)
    assert "3: 'at.hour', 'month.days', 'month.month'" in " ".join(out.split())
    code, out, _ = psvm("evaluate", model, data, "--json")
    assert json.loads(out)["accuracy"] > 0.95
