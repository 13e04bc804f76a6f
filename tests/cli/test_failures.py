"""What the installed ``psvm`` says and returns when it cannot: one line, and a code to script on.

The messages of every cell and format are tested in this process (test_commands, test_data);
here each kind of failure goes through the installed command once.
"""

import pickle

import pytest
from cli_data import FEATURES, psvm, write_iris, write_model

from psvm import PSVC
from psvm.persistence import save

HEADER = ",".join([*FEATURES, "species"])
ROWS = "5,3,1,0,setosa\n6,3,4,1,versicolor\n"


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """A folder with sound files, and with one of everything that can be wrong with them."""
    folder = tmp_path_factory.mktemp("shared")
    write_iris(folder, "csv")
    whole = write_model(folder).read_bytes()
    (folder / "cut.psvm").write_bytes(whole[: len(whole) // 2])
    (folder / "pickle.psvm").write_bytes(pickle.dumps({"harmless": True}))
    save(PSVC(), folder / "unfitted.psvm")
    (folder / "empty.csv").write_text("")
    (folder / "nan.csv").write_text(f"{HEADER}\n{ROWS}6,NaN,4,1,versicolor\n")
    (folder / "rose.csv").write_text(f"{HEADER}\n{ROWS}6,3,4,1,rose\n")
    (folder / "few.csv").write_text(f"{FEATURES[0]},species\n5,setosa\n6,versicolor\n")
    (folder / "uneven.csv").write_text(f"{HEADER}\n{ROWS}6,3\n")
    (folder / "one.csv").write_text(f"{HEADER}\n5,3,1,0,setosa\n")
    return folder


# Words; where a name in braces stands for a file of the folder. Then the exit code and the message.
FAILURES = {
    "no data": ("fit {gone.csv} -t species -o {m.psvm}", 1, "{gone.csv}: No such file"),
    "no model": ("predict {gone.psvm} {iris.csv}", 1, "{gone.psvm}"),
    "no fitted model": (
        "predict {unfitted.psvm} {iris.csv}",
        1,
        "{unfitted.psvm} has a PSVC that is not fitted: fit it before it is saved",
    ),
    "no such column": (
        "tune {iris.csv} -t specie -o {m.psvm}",
        1,
        "{iris.csv}: there is no column 'specie' (did you mean 'species'?); the columns are 'sepal",
    ),
    "no target": ("fit {iris.csv} -o {m.psvm}", 2, "--target which column has the labels"),
    "empty": ("fit {empty.csv} -t species -o {m.psvm}", 1, "{empty.csv}: the file is empty"),
    "one class": (
        "fit {one.csv} -t species -o {m.psvm}",
        1,
        "{one.csv}, column 'species': all labels are 'setosa': two classes are needed",
    ),
    "nan in a fit": (
        "fit {nan.csv} -t species -o {m.psvm}",
        1,
        "{nan.csv}, line 4, column 'sepal width': the value is missing: use --impute",
    ),
    "nan in a prediction": (
        "predict {iris.psvm} {nan.csv} -o {p.csv}",
        1,
        "{nan.csv}, line 4, column 'sepal width': the value is missing",
    ),
    "uneven lines": (
        "predict {iris.psvm} {uneven.csv} -o {p.csv}",
        1,
        "{uneven.csv}, line 4: 2 fields where there are 5 columns",
    ),
    "unknown label": (
        "evaluate {iris.psvm} {rose.csv} -t species",
        1,
        "{rose.csv}, line 4, column 'species': the model knows no class 'rose'",
    ),
    "missing columns": (
        "evaluate {iris.psvm} {few.csv} -t species",
        1,
        "the model expects the columns 'sepal width', 'petal length', 'petal width', which",
    ),
    "truncated model": ("info {cut.psvm}", 1, "{cut.psvm} is damaged or truncated"),
    "pickle": ("export {pickle.psvm} {m.json}", 1, "{pickle.psvm} is a pickle"),
    "no model at all": ("info {iris.csv}", 1, "{iris.csv} is not a psvm model file"),
    "unknown ending": ("export {iris.psvm} {m.txt}", 2, "must end in one of .onnx"),
    "no preprocessing": ("export {iris.psvm} {m.libsvm}", 1, "a LIBSVM model has no preprocessing"),
    "no folder": ("fit {iris.csv} -t species -o {no/m.psvm}", 1, "there is no folder"),
    "no probabilities": ("predict {iris.psvm} {iris.csv} --proba", 2, "knows no probabilities"),
    "exponent": ("fit {iris.csv} -t species -o {m.psvm} --p 0.5", 2, "at least 1, got 0.5"),
    "exponents": ("tune {iris.csv} -t species -o {m.psvm} --ps 1,0.5", 2, "at least 1, got 0.5"),
    "unknown option": ("predict {iris.psvm} {iris.csv} --fast", 2, "no such option: --fast"),
    "unknown command": ("forecast", 2, "no such command 'forecast'"),
    "no kernel": ("fit {iris.csv} -t species -o {m.psvm} --linear --gamma 1", 2, "--linear"),
}


@pytest.mark.slow  # a process each; the errors themselves are those of test_commands and test_data
@pytest.mark.parametrize("kind", FAILURES)
def test_it_is_told_in_one_line(shared, kind):
    words, code, message = FAILURES[kind]
    before = sorted(shared.iterdir())

    def named(text):
        return text.replace("{", f"{shared}/").replace("}", "")

    found, out, err = psvm(*(named(word) for word in words.split()))
    assert found == code, err
    assert out == ""
    assert err.startswith("psvm: ")
    assert err.count("\n") == 1
    assert named(message).lower() in err.lower()
    assert sorted(shared.iterdir()) == before  # nothing was left behind


def test_debug_shows_where(shared):
    code, _, err = psvm("fit", shared / "empty.csv", "-t", "y", "-o", shared / "m", "--debug")
    assert code == 1
    assert "Traceback" in err
    assert err.splitlines()[-1].endswith("the file is empty")
