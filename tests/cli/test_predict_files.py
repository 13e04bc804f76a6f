"""``psvm predict`` and ``evaluate``: files by their names, columns carried along, the target."""

import json
import re
import subprocess

import numpy as np
import polars as pl
import pytest
from cli_data import FEATURES, SPECIES, TOLD, command, iris, psvm, start
from processes import UNIX

from psvm.cli import predicted_files
from psvm.persistence import info


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """Iris with numbers of the rows that begin with zeros, and a model of it made by fit."""
    folder = tmp_path_factory.mktemp("shared")
    numbers = pl.Series("number", [f"{i:04d}" for i in range(150)])
    iris().with_columns(numbers).write_csv(folder / "iris.csv")
    words = ["fit", folder / "iris.csv", "-t", "species", "--drop", "number", "-q"]
    assert psvm(*words, "-o", folder / "iris.psvm")[0] == 0
    return folder


READERS = {
    "csv": lambda path: pl.read_csv(path, infer_schema=False),
    "csv.gz": lambda path: pl.read_csv(path, infer_schema=False),
    "tsv": lambda path: pl.read_csv(path, separator="\t", infer_schema=False),
    "parquet": pl.read_parquet,
    "arrow": pl.read_ipc,
    "feather": pl.read_ipc,
    "ndjson": pl.read_ndjson,
}


@pytest.mark.parametrize("kind", READERS)
def test_the_name_says_the_format_and_ids_are_carried_along(tmp_path, shared, kind):
    output = tmp_path / f"p.{kind}"
    words = ["predict", shared / "iris.psvm", shared / "iris.csv", "--id", "number", "-o", output]
    code, out, err = psvm(*words, "--decision")
    assert (code, out) == (0, "")
    assert err == f"150 rows predicted: {output}\n"
    found = READERS[kind](output)
    assert found.columns == ["number", "prediction", *(f"decision_{name}" for name in SPECIES)]
    assert found["number"].to_list() == [f"{i:04d}" for i in range(150)]
    assert np.mean(found["prediction"].to_numpy() == iris()["species"].to_numpy()) > 0.9
    assert (output.read_bytes()[:2] == b"\x1f\x8b") == (kind == "csv.gz")


def test_several_ids_and_blocks(shared, tmp_path, monkeypatch, capfd):
    from psvm.cli import main, predict_blocks

    monkeypatch.setattr(predict_blocks, "_AT_ONCE", 7)
    output = tmp_path / "p.csv"
    words = ["predict", shared / "iris.psvm", shared / "iris.csv", "--id", "species"]
    words += ["--id", FEATURES[0], "-o", output]
    assert main([str(word) for word in words]) == 0
    found = pl.read_csv(output)
    assert found.columns == ["species", FEATURES[0], "prediction"]
    assert found["species"].to_list() == iris()["species"].to_list()
    assert found[FEATURES[0]].to_list() == iris()[FEATURES[0]].to_list()


def test_ids_that_are_not_there(shared, tmp_path):
    words = ["predict", shared / "iris.psvm", shared / "iris.csv", "-o", tmp_path / "p.csv"]
    code, _, err = psvm(*words, "--id", "nummer")
    assert code == 1
    assert "--id: there is no column 'nummer' (did you mean 'number'?); the columns are" in err
    np.savez(tmp_path / "X.npz", X=np.zeros((3, 4)), feature_names=FEATURES)
    words[2] = tmp_path / "X.npz"
    code, _, err = psvm(*words, "--id", "number")
    assert code == 2
    assert "--id" in err
    code, _, err = psvm(*words[:-1], tmp_path / "p.parquet", "--json")
    assert code == 2
    assert ".ndjson" in err
    assert [path.name for path in tmp_path.iterdir()] == ["X.npz"]


def test_evaluate_and_info_know_the_target(shared):
    model = shared / "iris.psvm"
    code, out, err = psvm("evaluate", model, shared / "iris.csv", "--json")
    assert (code, err) == (0, "")
    assert json.loads(out)["accuracy"] > 0.9
    assert info(model)["model"]["target"] == "species"
    assert re.search(r"^target +species *$", psvm("info", model)[1], re.M)
    # Another one is a wish.
    code, _, err = psvm("evaluate", model, shared / "iris.csv", "-t", "number")
    assert code == 1
    assert "number" in err


def test_tune_remembers_the_target_too(shared, tmp_path):
    words = ["tune", shared / "iris.csv", "-t", "species", "--drop", "number", "-q"]
    words += ["--ps", "1", "--Cs", "1", "-o", tmp_path / "m.psvm", "--linear"]
    assert psvm(*words) == (0, "", "")
    assert info(tmp_path / "m.psvm")["model"]["target"] == "species"
    assert psvm("evaluate", tmp_path / "m.psvm", shared / "iris.csv")[0] == 0


@UNIX
def test_head_gets_its_line_and_all_is_well(shared, tmp_path):
    pl.concat([iris()] * 3000).write_csv(tmp_path / "long.csv")
    words = [*command(), "predict", shared / "iris.psvm", tmp_path / "long.csv", "--id", "species"]
    first = subprocess.Popen(list(map(str, words)), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    with first:
        second = subprocess.run(
            ["head", "-1"], stdin=first.stdout, capture_output=True, text=True, timeout=120
        )
        first.stdout.close()
        assert first.stderr.read() == b""
        assert first.wait(120) == 0
    assert second.stdout == "species,prediction\n"
    # So it is after a fit whose summary nobody reads; the model is there.
    model = tmp_path / "m.psvm"
    process = start("fit", shared / "iris.csv", "-t", "species", "--drop", "number", "-o", model)
    process.stdout.close()
    with process:
        assert process.wait(120) == 0
        assert process.stderr.read() == TOLD.encode()
    assert model.exists()


@UNIX
def test_a_bar_over_the_rows(shared, tmp_path):
    pexpect = pytest.importorskip("pexpect")
    pl.concat([iris()] * 400).write_parquet(tmp_path / "long.parquet")
    first, *rest = command()
    words = ["predict", shared / "iris.psvm", tmp_path / "long.parquet"]
    words += ["-o", tmp_path / "p.csv"]
    child = pexpect.spawn(
        first, [*rest, *map(str, words)], encoding="utf-8", timeout=120, dimensions=(30, 100)
    )
    child.expect(r"predict.*/60000.* rows")
    child.expect("60000 rows predicted")
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 0


def test_text_files_are_judged_by_their_first_lines(shared, tmp_path):
    from psvm.cli.files.open_data import ReadOptions
    from psvm.cli.predict_blocks import rows_in

    assert rows_in(shared / "iris.csv", ReadOptions()) == pytest.approx(150, abs=2)
    iris().write_parquet(tmp_path / "iris.parquet")
    assert rows_in(tmp_path / "iris.parquet", ReadOptions()) == 150
    assert not predicted_files.is_table_file(None)


@pytest.mark.parametrize("name", ["fit", "tune", "predict", "evaluate", "info", "reproduce", ""])
def test_flags_take_no_value_in_the_help(name):
    code, out, _ = psvm(*filter(None, [name]), "--help")
    assert code == 0
    assert "--help" in out
    for noise in ("<bool>", "BOOLEAN", "--no-quiet", "--no-json", "--no-debug", "--no-linear"):
        assert noise not in out


@pytest.mark.parametrize("name", ["fit", "tune", "predict", "evaluate", "export", "reproduce"])
def test_options_have_their_whole_names_on_a_narrow_terminal(name, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    code, out, _ = psvm(name, "--help")
    assert code == 0
    assert max(map(len, out.splitlines())) <= 60
    assert "…" not in out
    assert "list[str]" not in out


@pytest.mark.parametrize("name", ["p.xlsx", "p.json", "p.csv.zip", "p.npz"])
def test_predictions_are_not_written_under_the_name_of_another_format(shared, tmp_path, name):
    code, out, err = psvm(
        "predict", shared / "iris.psvm", shared / "iris.csv", "-o", tmp_path / name
    )
    assert (code, out) == (2, "")
    assert "name it .csv, .tsv, .ndjson, .parquet, .arrow or .feather" in err
    assert list(tmp_path.iterdir()) == []


def test_json_may_be_asked_for_by_option_and_name(shared, tmp_path):
    words = ["predict", shared / "iris.psvm", shared / "iris.csv", "--json"]
    assert psvm(*words, "-o", tmp_path / "p.json")[0] == 0
    assert (tmp_path / "p.json").read_text().startswith('{"prediction":')
