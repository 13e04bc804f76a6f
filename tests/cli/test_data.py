"""Data files as the command line reads them: every format, in blocks, and what is refused."""

import csv
import datetime
import gzip
import io
import sys
import types
import zipfile
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp
import typer
from cli_data import FEATURES, MATRICES, TABLES, iris, write_iris
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_iris

from psvm.cli.errors import DataError
from psvm.cli.files.delimited import DelimitedFile
from psvm.cli.files.labels import canonical
from psvm.cli.files.open_data import ReadOptions, open_data
from psvm.cli.files.sources import Format, Source
from psvm.cli.files.training_set import Wanted, read_training

# Files are read whole, or some rows at a time.
LARGE_BLOCKS, SMALL_BLOCKS = ReadOptions(), ReadOptions(block_bytes=64, block_cells=32)


def training(path, target="species", options=LARGE_BLOCKS, **wanted):
    return read_training(Path(path), options, Wanted(target, **wanted))


def rows_of(path, columns, **options):
    with open_data(Path(path), ReadOptions(**options)) as data:
        return [block.frame.rows() for block in data.blocks(columns)]


def file(folder, text, name="data.csv"):
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


# --- formats -------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", TABLES)
def test_tables_are_read_alike(tmp_path, kind):
    found = training(write_iris(tmp_path, kind))
    assert found.X.equals(iris().select(FEATURES))
    assert found.y.tolist() == iris()["species"].to_list()
    assert found.numbers == FEATURES
    assert found.texts == []


@pytest.mark.parametrize("kind", TABLES)
def test_names_of_files_are_no_patterns(tmp_path, kind):
    path = write_iris(tmp_path, kind)
    odd = path.rename(tmp_path / f"iris [1]* {{a}}?.{kind}")
    assert training(odd).shape == (150, 4)


@pytest.mark.parametrize("kind", MATRICES)
def test_matrices_are_read_alike(tmp_path, kind):
    found = training(write_iris(tmp_path, kind), None)
    X, y = load_iris(return_X_y=True)
    assert found.sparse == (kind != "npz")
    np.testing.assert_array_equal(found.X.toarray() if found.sparse else found.X, X)
    assert found.y.tolist() == y.tolist()


@pytest.mark.parametrize("kind", TABLES + MATRICES)
def test_blocks_together_are_the_file(tmp_path, kind):
    path = write_iris(tmp_path, kind)
    X, y = load_iris(return_X_y=True)
    with open_data(path, SMALL_BLOCKS) as data:
        if kind in TABLES:
            blocks = [block.frame for block in data.blocks(FEATURES)]
            found = pl.concat(blocks).cast(pl.Float64).to_numpy()
        else:
            both = [(block.X, block.y) for block in data.blocks()]
            blocks = [one for one, _ in both if one.shape[0]]
            found = np.vstack([one.toarray() if sp.issparse(one) else one for one in blocks])
            assert np.concatenate([labels for _, labels in both]).tolist() == y.tolist()
    assert len(blocks) > 5
    np.testing.assert_array_equal(found, X)


@pytest.mark.parametrize("kind", TABLES + MATRICES)
def test_standard_input_is_read_like_a_file(tmp_path, kind, monkeypatch):
    content = write_iris(tmp_path, kind).read_bytes()
    monkeypatch.setattr(sys, "stdin", types.SimpleNamespace(buffer=io.BytesIO(content)))
    found = training("-", "species" if kind in TABLES else None)
    assert found.shape == (150, 4)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a,b\n1,2\n", Format.DELIMITED),
        ("1 1:0.5 3:1e-3\n-1 2:2\n", Format.LIBSVM),
        ("# comment\n+1 1:1 # why\n", Format.LIBSVM),
        ("3 qid:1 1:2\n", Format.LIBSVM),
        ("1\n2\n", Format.DELIMITED),
        ("time,x\n12:30,1\n", Format.DELIMITED),
        ("x 1:2\n", Format.DELIMITED),
    ],
)
def test_the_content_tells_the_format(tmp_path, text, found):
    source = Source(file(tmp_path, text, "data"), block_bytes=1 << 16)
    assert source.format is found
    source.close()


def test_a_first_line_longer_than_what_is_looked_at(tmp_path):
    line = "1 " + " ".join(f"{i}:0.5" for i in range(1, 20_000))
    X = training(file(tmp_path, f"{line}\n-1 3:1\n"), None).X
    assert X.shape == (2, 19_999)
    header = ",".join(f"feature{i}" for i in range(10_000))
    wide = file(tmp_path, f"{header}\n{','.join(['1'] * 10_000)}\n")
    with open_data(wide, ReadOptions()) as data:
        assert len(data.columns) == 10_000


# --- CSV -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("delimiter", [",", "\t", ";", "|"])
def test_the_delimiter_is_found(tmp_path, delimiter):
    text = "a,b\n1,x\n2,y\n".replace(",", delimiter)
    assert rows_of(file(tmp_path, text), ["b", "a"]) == [[("x", "1"), ("y", "2")]]


def test_the_delimiter_is_not_taken_from_inside_the_fields(tmp_path):
    path = file(tmp_path, 'a;b\n"1,5";"x, y"\n"2,5";"z, w"\n')
    assert rows_of(path, ["a", "b"]) == [[("1,5", "x, y"), ("2,5", "z, w")]]
    assert rows_of(file(tmp_path, "a:b\n1:2\n"), ["b"], delimiter=":") == [[("2",)]]


def test_quotes_line_ends_marks_and_blanks(tmp_path):
    text = b'\xef\xbb\xbf"a ""x""", b\r\n"1\r\n2",3\r\n4,"5"\r\n\r\n'
    assert rows_of(file(tmp_path, text), ['a "x"', "b"]) == [[("1\r\n2", "3"), ("4", "5")]]


def test_a_last_line_without_an_end(tmp_path):
    assert rows_of(file(tmp_path, "a,b\n1,2\n3,4"), ["a"]) == [[("1",)], [("3",)]]


def test_without_a_header_columns_are_numbers(tmp_path):
    path = file(tmp_path, "1.5,x\n2.5,y\n")
    assert rows_of(path, ["2", "1"], header=False) == [[("x", "1.5"), ("y", "2.5")]]


@settings(max_examples=25)
@given(
    st.lists(st.text(alphabet='ab,;"\n\t ', max_size=6), min_size=2, max_size=12),
    st.integers(8, 60),
)
def test_records_are_never_cut(cells, size):
    """Whatever is quoted, and wherever the blocks end, the cells come back."""
    cells = [cell or "empty" for cell in cells]
    text = io.StringIO()
    writer = csv.writer(text, quoting=csv.QUOTE_ALL, lineterminator="\n")
    writer.writerow(["x", "y"])
    writer.writerows(zip(cells, reversed(cells), strict=True))
    source = types.SimpleNamespace(name="data", head=b"x")
    content = text.getvalue().encode()
    source.pieces = lambda: (content[i : i + size] for i in range(0, len(content), size))
    data = DelimitedFile(source, delimiter=",")
    blocks = [block.frame for block in data.blocks(["x", "y"])]
    assert pl.concat(blocks).rows() == list(zip(cells, reversed(cells), strict=True))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the file is empty"),
        ("\n\n", "the file is empty"),
        ("a,y\n", "there are names of columns, but no rows"),
        ("a,y\n1,p\n2,q,r\n3,p\n", "line 3: 3 fields where there are 2 columns"),
        ("a,b,y\n1,2,p\n2,q\n", "line 3: 2 fields where there are 3 columns"),
        ("a,y\n1,p\n\n2,q\n", "line 3: the line is blank"),
        ("a,y\n1,p\n2\n3,q\n4,q,r\n", "in it (likewise line 5)"),
        ('a,y\n1,p\n"2,q\n', "line 3 or later: the quotes are wrong"),
        (",y\n1,p\n", "line 1: column 1 has no name"),
        ("a,a,y\n1,2,p\n", "line 1: two columns are called 'a'"),
        (b"a,y\n1,p\n2,\xe9\n", "line 3: the text is not UTF-8"),
        ("a,y\n1,p\n2,q\n".encode("utf-16"), "the text is not UTF-8"),
        ("y\np\nq\n", "there is no column beside the target 'y'"),
        ("a,y\n1,p\n,q\n", "line 3, column 'a': the value is missing: use --impute"),
        ("a,y\n1,p\nNA,q\n", "line 3, column 'a': the value is missing"),
        ('a,y\n"1",p\n"x\n\ny",q\n?,q\n', "line 6, column 'a': the value is missing"),
        ("a,b,y\n1,,p\n2,,q\n", "column 'b': all values are missing: leave the column out"),
        ("a,y\n1,p\ninf,q\n", "line 3, column 'a': the value is infinite"),
        ("a,y\n1,p\n2,\n3,q\n", "line 3, column 'y': the label is missing"),
        ("a,y\n1,p\n2,p\n", "column 'y': all labels are 'p': two classes are needed"),
        ("a,z\n1,p\n", "there is no column 'y'; the columns are 'a', 'z'"),
        ("1,2\n3,4\n", "use --no-header"),
        (
            "a,y\n" + "".join(f"t{i},{'pq'[i % 2]}\n" for i in range(60)),
            "line 2, column 'a': 't0' is no number, and 60 different texts in 60 rows are names",
        ),
        (gzip.compress(b"a,y\n1,p\n" * 90, mtime=0)[:-9], "the gzip data is damaged"),
        (b"PAR1" + bytes(60), "the Parquet data is damaged"),
        (b"ARROW1" + bytes(60), "the Arrow data is damaged"),
        (b"PK\x03\x04" + bytes(60), "the NPZ data is damaged"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(tmp_path, text, message):
    path = file(tmp_path, text)
    with pytest.raises(ValueError) as caught:
        training(path, "y")
    assert str(caught.value).startswith(f"{path}")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_lines_are_counted_through_blocks(tmp_path):
    text = "a,y\n" + '"1\n",p\n"2",q\n' * 50 + "?,q\n"
    with pytest.raises(ValueError, match="line 152, column 'a'"):
        training(file(tmp_path, text), "y", SMALL_BLOCKS)


def test_the_target_must_be_named(tmp_path):
    with pytest.raises(
        typer.BadParameter, match=r"--target which column has the labels; .*'a', 'y'"
    ):
        training(file(tmp_path, "a,y\n1,p\n"), None)


# --- kinds of columns ----------------------------------------------------------------------------


def test_texts_missing_values_and_what_is_left_out(tmp_path):
    text = "id,size,colour,flag,y\na1,1,red,true,p\na2,?,,false,q\na3, 3 , red ,true,p\n"
    found = training(file(tmp_path, text), "y", drop=["id"], impute=True)
    assert found.numbers == ["size"]
    assert found.texts == ["colour", "flag"]
    assert found.X["size"].to_list() == pytest.approx([1.0, float("nan"), 3.0], nan_ok=True)
    assert found.X["colour"].to_list() == ["red", None, "red"]


def test_types_of_a_parquet_file(tmp_path):
    table = pl.DataFrame(
        {"n": [1, 2], "b": [True, False], "f": [0.5, None], "c": ["u", "v"], "y": [1, 0]},
        schema_overrides={"c": pl.Categorical, "n": pl.Int8, "f": pl.Float32},
    )
    table.write_parquet(tmp_path / "t.parquet")
    found = training(tmp_path / "t.parquet", "y", impute=True)
    assert found.numbers == ["n", "f"]
    assert found.texts == ["b", "c"]
    assert found.X["b"].to_list() == ["true", "false"]
    assert found.y.tolist() == [1, 0]


def test_dates_are_refused_by_name(tmp_path):
    days = [datetime.date(2020, 1, 1), datetime.date(2020, 1, 2)]
    pl.DataFrame({"when": days, "y": [1, 2]}).write_parquet(tmp_path / "t.parquet")
    with pytest.raises(ValueError, match=r"column 'when': dates: say --dates expand .* drop"):
        training(tmp_path / "t.parquet", "y")


def test_types_that_are_neither_are_refused_by_name(tmp_path):
    table = pl.DataFrame({"tags": [["a"], ["b"]], "y": [1, 2]})
    table.write_parquet(tmp_path / "t.parquet")
    with pytest.raises(ValueError, match=r"column 'tags': values of type List.*--drop tags"):
        training(tmp_path / "t.parquet", "y")


def test_a_column_to_leave_out_must_exist(tmp_path):
    with pytest.raises(typer.BadParameter, match=r"--drop: .* has no column 'b'"):
        training(file(tmp_path, "a,y\n1,p\n"), "y", drop=["b"])


@pytest.mark.parametrize(
    ("labels", "found"),
    [
        (["1", "2"], [1, 2]),
        (["+1", "-1"], [1, -1]),
        (["1.0", "0.0"], [1, 0]),
        (["01", "02"], ["01", "02"]),
        (["1", "b"], ["1", "b"]),
        (["true", "false"], ["true", "false"]),
    ],
)
def test_labels_keep_their_meaning(tmp_path, labels, found):
    text = "a,y\n" + "".join(f"{i},{label}\n" for i, label in enumerate(labels))
    assert training(file(tmp_path, text), "y").y.tolist() == found


@pytest.mark.parametrize(
    ("text", "same"),
    [("1", "1"), ("1.0", "1"), ("-2e0", "-2"), ("01", "01"), ("1.5", "1.5"), ("x", "x")],
)
def test_equal_labels_have_one_text(text, same):
    assert canonical(text) == same


# --- matrices ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 1:1 2:x\n-1 1:2\n", "line 1: not a label and index:value pairs"),
        ("1 1:1\n-1 0:1 1:2\n", "line 2: LIBSVM counts features from 1"),
        ("1 1:1\n\n# why\n-1 3:1 2:2\n", "line 4: the indices must increase"),
        ("1 1:1\n-1 1:nan\n", "line 2: feature 1 is missing"),
        ("1 1:1\n-1 2:inf\n", "line 2: feature 2 is infinite"),
        ("1 1:1\n1 2:1\n", "all labels are 1"),
    ],
)
def test_libsvm_lines_are_refused_by_number(tmp_path, text, message):
    if "x" in text or "nan" in text or "inf" in text:  # not to be taken for a table
        text = "1 1:1\n" * 20 + text
        number = int(message.split()[1].rstrip(":"))
        message = message.replace(f"line {number}", f"line {number + 20}")
    with pytest.raises(ValueError) as caught:
        training(file(tmp_path, text), None)
    assert message in str(caught.value)


def test_libsvm_may_count_from_zero(tmp_path):
    path = file(tmp_path, "1 0:5 2:1\n-1 1:2\n")
    found = read_training(path, ReadOptions(zero_based=True), Wanted(None))
    np.testing.assert_array_equal(found.X.toarray(), [[5, 0, 1], [0, 2, 0]])
    with pytest.raises(typer.BadParameter, match="leave --target out"):
        training(path, "y")


@pytest.mark.parametrize("wanted", ["drop", "as_text", "as_number", "dates"])
def test_what_is_said_of_columns_is_not_for_matrices(tmp_path, wanted):
    with pytest.raises(typer.BadParameter, match=r"names of columns|numbers only"):
        training(file(tmp_path, "1 1:5\n-1 1:2\n"), None, **{wanted: ["expand"]})


def savez(path, **arrays):
    np.savez(path, **arrays)
    return path


def test_npz_with_names_is_a_table(tmp_path):
    X, y = load_iris(return_X_y=True)
    path = savez(tmp_path / "t.npz", X=X, label=y, feature_names=np.array(FEATURES))
    found = training(path, "label")
    assert found.X.columns == FEATURES
    assert found.y.tolist() == y.tolist()


@pytest.mark.parametrize("order", ["C", "F"])
def test_npz_may_lie_by_columns_and_hold_integers(tmp_path, order):
    X = np.asarray([[1, 2], [3, 4], [5, 6]], order=order)
    found = training(savez(tmp_path / "t.npz", X=X, y=np.array(["a", "b", "a"])), None)
    np.testing.assert_array_equal(found.X, X)
    assert found.X.dtype == np.float64


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"A": np.ones((2, 2)), "y": [0, 1]}, "there is no array 'X' in it, only 'A', 'y'"),
        ({"X": np.ones((2, 2))}, "there is no array 'y' with the labels"),
        ({"X": np.ones((2, 2)), "y": [0, 1, 0]}, "2 rows in X, but 3 labels"),
        ({"X": np.ones(3), "y": [0, 1, 0]}, "X must be a matrix of numbers"),
        ({"X": np.array([["a"], ["b"]]), "y": [0, 1]}, "X must be a matrix of numbers"),
        ({"X": np.array([[1, np.nan], [0, 1]]), "y": [0, 1]}, "row 1: feature 2 is missing"),
        ({"X": np.array([[1, 2], [np.inf, 1]]), "y": [0, 1]}, "row 2: feature 1 is infinite"),
        ({"X": np.array([[1, np.nan], [np.inf, 1]]), "y": [0, 1]}, "(and 1 more entries are"),
        ({"X": np.ones((2, 2)), "y": np.ones((2, 2))}, "must be a vector"),
        ({"X": np.array([[{}]], dtype=object), "y": [0]}, "an array cannot be read"),
    ],
)
def test_npz_that_cannot_be_used(tmp_path, arrays, message):
    with pytest.raises(ValueError) as caught:
        training(savez(tmp_path / "t.npz", **arrays), None)
    assert message in str(caught.value)


# --- past findings -------------------------------------------------------------------------------


@pytest.mark.parametrize("content", [b"\xef\xbb\xbf", b"\xef\xbb\xbf \n\n"])
def test_a_file_of_a_mark_only_is_empty(tmp_path, content):
    (tmp_path / "mark.csv").write_bytes(content)
    with pytest.raises(DataError, match="the file is empty"):
        training(tmp_path / "mark.csv")


@pytest.mark.parametrize(("label", "told"), [("1e308", r"1e\+308"), ("1e400", "inf")])
@pytest.mark.parametrize("text", ["x,y\n1,{0}\n2,1\n3,{0}\n", "{0} 1:1\n1 1:2\n{0} 1:3\n"])
def test_labels_beyond_all_integers_are_no_classes(tmp_path, text, label, told):
    path = file(tmp_path, text.format(label))
    target = "y" if text.startswith("x") else None
    with pytest.raises(DataError, match=f"{told} is a measurement and no class"):
        training(path, target)


def test_labels_of_very_many_digits_are_names(tmp_path):
    """As float64 the first two would be one."""
    path = file(tmp_path, "x,y\n1,9007199254740993\n2,9007199254740992\n3,1\n")
    assert training(path, "y").y.tolist() == ["9007199254740993", "9007199254740992", "1"]


@pytest.mark.timeout(20)
@pytest.mark.parametrize("index", [10**9, 2**31 - 1])
def test_a_wide_libsvm_file_takes_no_memory(tmp_path, index):
    path = file(tmp_path, f"1 1:0.5 {index}:1\n-1 1:-0.5 3:1\n")
    assert training(path, None).shape == (2, index)


@pytest.mark.parametrize("index", [2**31, 2**63, 10**30])
def test_an_index_that_nobody_counts_to(tmp_path, index):
    path = file(tmp_path, f"-1 1:2\n1 1:0.5 {index}:1\n")
    with pytest.raises(DataError, match=rf"line 2: features are numbered up to .* got {index}"):
        training(path, None)


def test_a_malformed_matrix_in_an_npz_file(tmp_path):
    X, y = load_iris(return_X_y=True)
    parts = sp.csr_matrix(X)
    parts.indices[5] = 10**6
    arrays = {"data": parts.data, "indices": parts.indices, "indptr": parts.indptr}
    np.savez(tmp_path / "bad.npz", **arrays, shape=parts.shape, y=y)
    with pytest.raises(DataError, match="malformed CSR matrix"):
        training(tmp_path / "bad.npz", "y")


@pytest.mark.parametrize("name", ["X", "y"])
def test_an_array_that_declares_terabytes(tmp_path, name):
    with zipfile.ZipFile(tmp_path / "large.npz", "w") as archive:
        for member in ("X", "y"):
            shape = (10**12 if member == name else 3, *([2] if member == "X" else []))
            content = io.BytesIO()
            fields = {"descr": "<f8", "fortran_order": False, "shape": shape}
            np.lib.format.write_array_header_1_0(content, fields)
            archive.writestr(f"{member}.npy", content.getvalue() + bytes(48))
    with pytest.raises(DataError, match=f"{name}.npy declares"):
        training(tmp_path / "large.npz", "y")


@pytest.mark.parametrize(
    "detail", ["called `Result::unwrap()` on an `Err` value", "Consider installing 'polars[rt64]'."]
)
def test_a_panic_of_the_reader_is_damage(detail, tmp_path, monkeypatch):
    """Some damaged Parquet files make polars panic, which is no Exception."""
    path = tmp_path / "t.parquet"
    pl.DataFrame({"x": [1.0, 2.0], "y": [0, 1]}).write_parquet(path)

    def panic(self, **_):
        raise pl.exceptions.PanicException(detail)

    with open_data(path, ReadOptions()) as table:
        monkeypatch.setattr(pl.LazyFrame, "collect", panic)
        with pytest.raises(DataError, match=r"damaged or cut short\.?$"):
            list(table.blocks(["x"]))
