"""The data sets: parsed from their original layout, found, fetched, or refused with a reason."""

import io
import socket
import subprocess
import sys
import threading
import zipfile
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.error import URLError

import numpy as np
import paper_data
import pytest
from messages import assert_mentions

from psvm import data
from psvm.data import files, network, sources

FOLDER = paper_data.FOLDER
FROM_UCI = [name for name, source in sources.SOURCES.items() if name != "usps"]


def stored(file):
    """X and y of a file of the shared folder."""
    if not (FOLDER / f"{file}.npz").exists():
        pytest.skip(f"no {file}.npz in {FOLDER}: set PSVM_DATA")
    with np.load(FOLDER / f"{file}.npz") as arrays:
        return arrays["X"], arrays["y"]


# --- parsing the layouts of UCI ------------------------------------------------------------------


def parse(name, text):
    return sources.SOURCES[name].origin.parse(text.encode())


def test_heart_is_separated_by_blanks():
    X, y = parse("heart", "70.0 1.0 4.0 2.4 3.0 2 \n67.0 0.0 3.0 1.6 7.0 1 \n")
    assert X.tolist() == [[70.0, 1.0, 4.0, 2.4, 3.0], [67.0, 0.0, 3.0, 1.6, 7.0]]
    assert y.tolist() == [2, 1]


def test_ionosphere_has_letters_as_labels():
    X, y = parse("ionosphere", "1,0,0.99539,-0.05889,g\n1,0,1,-0.18829,b\n")
    assert X.tolist() == [[1.0, 0.0, 0.99539, -0.05889], [1.0, 0.0, 1.0, -0.18829]]
    assert y.tolist() == ["g", "b"]


def test_wine_has_a_header_and_semicolons():
    X, y = parse("wine", '"fixed acidity";"pH";"quality"\r\n7.4;3.51;5\r\n7.8;3.2;8\r\n')
    assert X.tolist() == [[7.4, 3.51], [7.8, 3.2]]
    assert y.tolist() == [5, 8]


def test_banknote_ends_without_a_line_break():
    X, y = parse("banknote", "3.6216,8.6661,-2.8073,-0.44699,0\r\n-1.5,0.1,2e-3,1,1")
    assert X.tolist() == [[3.6216, 8.6661, -2.8073, -0.44699], [-1.5, 0.1, 0.002, 1.0]]
    assert y.tolist() == [0, 1]


def test_glass_loses_its_row_numbers():
    X, y = parse("glass", "1,1.52101,13.64,1\n214,1.51711,14.23,7\n")
    assert X.tolist() == [[1.52101, 13.64], [1.51711, 14.23]]
    assert y.tolist() == [1, 7]


def test_vehicle_has_words_as_labels():
    X, y = parse("vehicle", "95 48 83 van \n91 41 84 saab \n\n")
    assert X.tolist() == [[95.0, 48.0, 83.0], [91.0, 41.0, 84.0]]
    assert y.tolist() == ["van", "saab"]


def test_dermatology_loses_rows_without_an_age():
    X, y = parse("dermatology", "2,2,55,2\n3,1,?,1\n0,0,26,3\n")
    assert X.tolist() == [[2.0, 2.0, 55.0], [0.0, 0.0, 26.0]]
    assert y.tolist() == [2, 3]


def test_a_ragged_row_is_no_set():
    with pytest.raises(ValueError):
        parse("heart", "1.0 2.0 1\n1.0 2.0 3.0 1\n")


# --- loading ------------------------------------------------------------------------------------

SHAPES = {
    "cancer": (569, 30),
    "heart": (270, 13),
    "ionosphere": (351, 34),
    "wine": (6497, 11),
    "banknote": (1372, 4),
    "glass": (214, 9),
    "vehicle": (845, 18),
    "dermatology": (358, 34),
    "usps": (9298, 256),
}
# Rows labelled +1, from the class counts that UCI gives.
POSITIVE = {"cancer": 357, "heart": 120, "ionosphere": 225, "wine": 4113, "banknote": 610}


@pytest.mark.parametrize("name", data.NAMES)
def test_load_gives_the_set_of_the_paper(name):
    paper_data.require(name)
    X, y = data.load(name)
    assert X.shape == SHAPES[name]
    assert X.dtype == np.float64
    if name in POSITIVE:
        assert sorted(set(y.tolist())) == [-1, 1]
        assert np.count_nonzero(y == 1) == POSITIVE[name]
    else:
        assert dict(zip(*np.unique(y.astype(str), return_counts=True), strict=True)) == dict(
            sources.SOURCES[name].counts
        )
    constant = np.ptp(X, axis=0) == 0.0
    np.testing.assert_allclose(X.mean(axis=0), 0.0, atol=1e-10)
    np.testing.assert_allclose(X.std(axis=0)[~constant], 1.0, atol=1e-10)
    assert np.count_nonzero(constant) == (1 if name == "ionosphere" else 0)


@pytest.mark.parametrize("name", FROM_UCI)
def test_the_shared_files_have_the_digest_that_a_download_must_have(name):
    X, y = stored("wine_quality" if name == "wine" else name)
    assert sources.content_digest(X, y) == sources.SOURCES[name].sha256


def test_unscaled_values_are_those_of_the_source():
    paper_data.require("heart")
    X, y = data.load("heart", scaled=False)
    assert X[0].tolist() == [70, 1, 4, 130, 322, 0, 2, 109, 0, 2.4, 2, 3, 3]
    assert y[:3].tolist() == [1, -1, 1]


def test_usps_in_single_precision_gets_its_three_decimals_back():
    paper_data.require("usps")
    X, _ = data.load("usps", scaled=False)
    assert X[0, 6:10].tolist() == [-1.0, -0.631, 0.862, -0.167]


def test_wine_is_known_by_two_names():
    paper_data.require("wine")
    X, y = data.load("wine")
    again, labels = data.load("wine_quality")
    np.testing.assert_array_equal(X, again)
    np.testing.assert_array_equal(y, labels)


def test_an_unknown_name_is_answered_with_the_known_ones():
    with pytest.raises(ValueError) as caught:
        data.load("iris")
    assert_mentions(str(caught.value), "'iris'", *data.NAMES)


def test_importing_needs_no_optional_package():
    program = (
        "import sys; import psvm.data; "
        "print([m for m in ('pooch', 'requests', 'matplotlib') if m in sys.modules])"
    )
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert answer.stdout.strip() == "[]", answer.stderr


# --- a set of two features, so that files and servers can be anything ----------------------------

TOY_X = np.array([[0.5, 1.0], [-2.25, 3.0], [1e-3, -4.0]])
TOY_Y = np.array(["up", "down", "up"])


@pytest.fixture
def toy(monkeypatch, tmp_path):
    """The set "heart" replaced by a small one; an empty cache and an empty PSVM_DATA."""
    source = sources.Source(
        sources.Archive("7/toy.zip", ("toy.dat",), partial(sources.parse_rows, delimiter=",")),
        n_features=2,
        counts={"up": 2, "down": 1},
        sha256=sources.content_digest(TOY_X, TOY_Y),
        positive=("up",),
    )
    monkeypatch.setitem(sources.SOURCES, "heart", source)
    monkeypatch.setenv("PSVM_DATA", str(tmp_path / "own"))
    monkeypatch.setattr(files, "cache_folder", lambda: tmp_path / "cache")
    monkeypatch.setattr(network, "cache_folder", lambda: tmp_path / "cache")
    return tmp_path


def archive(**members):
    """Bytes of a zip file; ``toy_dat`` stands for ``toy.dat``."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as file:
        for name, text in members.items():
            file.writestr(name.replace("_dat", ".dat"), text)
    return buffer.getvalue()


TOY_ARCHIVE = archive(toy_dat="0.5,1.0,up\n-2.25,3,down\n1e-3,-4,up\n", readme="nothing")


def put(path, **arrays):
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savez(path, **arrays)


class Server:
    """Answers every request with the next of its (status, body); counts and names the requests."""

    def __init__(self, answers):
        self.answers = list(answers)
        self.paths = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                outer.paths.append(self.path)
                status, body = outer.answers.pop(0) if len(outer.answers) > 1 else outer.answers[0]
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *arguments):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.01,))

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server.server_address[1]}"

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


@pytest.fixture
def serve(monkeypatch):
    """A function that starts a server in the place of UCI."""
    pytest.importorskip("pooch")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr("pooch.core.time.sleep", lambda _: None)
    running = []

    def start(*answers):
        server = Server(answers).__enter__()
        running.append(server)
        monkeypatch.setattr(network, "UCI", server.url)
        return server

    yield start
    for server in running:
        server.__exit__()


def refusal(name="heart"):
    """The message of the error that load raises."""
    with pytest.raises(data.DataUnavailableError) as caught:
        data.load(name)
    message = str(caught.value)
    assert "\n" not in message
    return message


def test_own_folder_comes_before_the_cache(toy):
    put(toy / "own" / "heart.npz", X=TOY_X, y=TOY_Y)
    put(toy / "cache" / "heart.npz", X=TOY_X + 1.0, y=TOY_Y)
    np.testing.assert_array_equal(data.load("heart", scaled=False).X, TOY_X)
    (toy / "own" / "heart.npz").unlink()
    np.testing.assert_array_equal(data.load("heart", scaled=False).X, TOY_X + 1.0)


def test_without_an_own_folder_the_cache_is_read(toy, monkeypatch):
    monkeypatch.delenv("PSVM_DATA")
    put(toy / "cache" / "heart.npz", X=TOY_X, y=TOY_Y)
    X, y = data.load("heart", scaled=False)
    np.testing.assert_array_equal(X, TOY_X)
    assert y.tolist() == [1, -1, 1]


def test_labels_stored_as_floats_are_read(toy, monkeypatch):
    source = sources.Source(sources.SOURCES["heart"].origin, 2, {"1": 1, "2": 2}, None, ("2",))
    monkeypatch.setitem(sources.SOURCES, "heart", source)
    put(toy / "own" / "heart.npz", X=TOY_X, y=np.array([1.0, 2.0, 2.0]))
    assert data.load("heart").y.tolist() == [-1, 1, 1]


@pytest.mark.parametrize(
    ("arrays", "words"),
    [
        ({"X": TOY_X[:2], "y": TOY_Y[:2]}, ("(3, 2)", "(2, 2)")),
        ({"X": TOY_X, "y": TOY_Y[:2]}, ("(3, 2)", "(2,)")),
        ({"X": TOY_X, "y": np.array(["up", "up", "up"])}, ("up: 2, down: 1", "up: 3")),
        ({"X": TOY_X * np.nan, "y": TOY_Y}, ("finite", "NaN")),
        ({"X": TOY_X}, ("arrays X and y",)),
        ({"X": np.array([{}]), "y": TOY_Y}, ("arrays X and y",)),
    ],
    ids=["rows", "labels", "counts", "nan", "no y", "objects"],
)
def test_a_file_with_another_set_is_refused(toy, arrays, words):
    path = toy / "own" / "heart.npz"
    put(path, **arrays)
    assert_mentions(refusal(), str(path), "'heart'", "replace it", "delete it", *words)


def test_a_file_that_is_no_archive_is_refused(toy):
    path = toy / "own" / "heart.npz"
    path.parent.mkdir()
    path.write_bytes(b"not a zip file")
    assert_mentions(refusal(), str(path), "cannot be read", "NumPy .npz")


# --- fetching ------------------------------------------------------------------------------------


def test_a_set_is_fetched_once_and_kept(toy, serve):
    server = serve((200, TOY_ARCHIVE))
    X, y = data.load("heart", scaled=False)
    np.testing.assert_array_equal(X, TOY_X)
    assert y.tolist() == [1, -1, 1]
    assert server.paths == ["/7/toy.zip"]
    assert [path.name for path in (toy / "cache").iterdir()] == ["heart.npz"]
    np.testing.assert_array_equal(data.load("heart", scaled=False).X, TOY_X)
    assert server.paths == ["/7/toy.zip"]


def test_a_failing_server_is_asked_again(toy, serve):
    server = serve((500, b"busy"), (200, TOY_ARCHIVE))
    np.testing.assert_array_equal(data.load("heart", scaled=False).X, TOY_X)
    assert len(server.paths) == 2


def test_a_server_that_keeps_failing_is_given_up(toy, serve):
    server = serve((404, b"gone"))
    assert_mentions(
        refusal(), "404", f"{server.url}/7/toy.zip", "3 times", str(toy / "own" / "heart.npz")
    )
    assert len(server.paths) == 3
    assert not (toy / "cache").exists()


def test_other_values_are_refused(toy, serve):
    changed = archive(toy_dat="0.5,1.0,up\n-2.25,3,down\n1e-3,-4.5,up\n")
    server = serve((200, changed))
    expected = sources.SOURCES["heart"].sha256
    assert_mentions(refusal(), server.url, "SHA-256", expected, "nothing was kept", "PSVM_DATA")
    assert not (toy / "cache").exists()


def test_other_labels_are_refused(toy, serve):
    serve((200, archive(toy_dat="0.5,1.0,up\n-2.25,3,down\n1e-3,-4,down\n")))
    assert_mentions(refusal(), "up: 2, down: 1", "down: 2, up: 1", "nothing was kept")


@pytest.mark.parametrize(
    "body",
    [
        b"<html>maintenance</html>",
        archive(other="1,2,up"),
        archive(toy_dat="0.5,what,up\n"),
        TOY_ARCHIVE[:60],
        TOY_ARCHIVE[:45] + b"corrupt" + TOY_ARCHIVE[52:],
    ],
    ids=["no archive", "no member", "no number", "cut off", "corrupt"],
)
def test_an_archive_of_another_layout_is_refused(toy, serve, body):
    server = serve((200, body))
    assert_mentions(refusal(), f"{server.url}/7/toy.zip", "zip file with toy.dat", "nothing")


def test_vehicle_with_too_few_rows_is_refused(toy, serve):
    """There is no row 752 to leave out."""
    serve((200, archive(**dict.fromkeys(sources.SOURCES["vehicle"].origin.members, "1 2 van\n"))))
    assert_mentions(refusal("vehicle"), "not the archive it was", "752", "xaa.dat, xab.dat")


def test_without_a_network_the_message_says_what_to_do(toy, serve, monkeypatch):
    serve((200, TOY_ARCHIVE))
    with socket.socket() as closed:  # a port where nobody listens
        closed.bind(("127.0.0.1", 0))
        monkeypatch.setattr(network, "UCI", f"http://127.0.0.1:{closed.getsockname()[1]}")
        message = refusal()
    places = (str(toy / folder / "heart.npz") for folder in ("own", "cache"))
    assert_mentions(message, *places, "no connection to 127.0.0.1", "load('heart')", "PSVM_DATA")


def test_an_unset_variable_is_mentioned(toy, serve, monkeypatch):
    monkeypatch.delenv("PSVM_DATA")
    serve((404, b"gone"))
    assert_mentions(refusal(), "PSVM_DATA is unset")


def test_without_pooch_the_message_says_how_to_install_it(toy, monkeypatch):
    monkeypatch.setitem(sys.modules, "pooch", None)
    assert_mentions(refusal(), "pooch", "pip install 'psvm[paper]'", str(toy / "own" / "heart.npz"))


def test_a_cache_that_cannot_be_written_costs_a_warning_only(toy, serve):
    serve((200, TOY_ARCHIVE))
    (toy / "cache").write_text("a file where the folder should be")
    with pytest.warns(RuntimeWarning, match="could not be kept"):
        X, _ = data.load("heart", scaled=False)
    np.testing.assert_array_equal(X, TOY_X)


def test_progress_is_shown_only_when_asked_for(toy, serve, capfd):
    serve((200, TOY_ARCHIVE))
    data.load("heart")
    assert capfd.readouterr().err == ""
    (toy / "cache" / "heart.npz").unlink()
    data.load("heart", progress=True)
    assert "psvm: toy.zip 0 of 0 kB" in capfd.readouterr().err


# --- the real sets, in the layout of UCI ---------------------------------------------------------


def lines(X, y, separator, missing="?"):
    """Rows as text: features and label."""
    cells = [[missing if np.isnan(value) else repr(float(value)) for value in row] for row in X]
    return [
        separator.join([*row, str(label)]) for row, label in zip(cells, y.tolist(), strict=True)
    ]


def original_members(name):
    """The files of a set's archive, as UCI has them."""
    full = {"wine": "wine_quality", "vehicle": "vehicle_846", "dermatology": "dermatology_366"}
    X, y = stored(full.get(name, name))
    rows = lines(X, y, {"heart": " ", "vehicle": " ", "wine": ";"}.get(name, ","))
    if name == "glass":
        rows = [f"{number},{row}" for number, row in enumerate(rows, 1)]
    members = sources.SOURCES[name].origin.members
    cuts = {"wine": [1599], "vehicle": [94 * k for k in range(1, 9)]}.get(name, [])
    header = ['"a";"quality"'] if name == "wine" else []
    parts = [rows[i:j] for i, j in zip([0, *cuts], [*cuts, len(rows)], strict=True)]
    return {
        member: "\n".join(header + part) + "\n" for member, part in zip(members, parts, strict=True)
    }


@pytest.mark.parametrize("name", FROM_UCI)
def test_every_set_of_uci_arrives_as_the_paper_has_it(name, serve, monkeypatch, tmp_path):
    X, y = stored("wine_quality" if name == "wine" else name)
    server = serve((200, archive(**original_members(name))))
    monkeypatch.delenv("PSVM_DATA")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(files.sys, "platform", "linux")
    fetched, labels = data.load(name, scaled=False)
    np.testing.assert_array_equal(fetched, X)
    with np.load(tmp_path / "psvm" / f"{name}.npz") as kept:
        np.testing.assert_array_equal(kept["X"], X)
        np.testing.assert_array_equal(kept["y"], y)
    assert len(labels) == len(X)
    assert server.paths == [f"/{sources.SOURCES[name].origin.path}"]


def test_usps_arrives_from_openml(monkeypatch, tmp_path):
    """OpenML labels the digits 1 to 10, as text, and may order the rows in its own way."""
    X, y = stored("usps")
    order = np.random.default_rng(0).permutation(len(y))
    asked = []

    def answer(**options):
        asked.append(options)
        return X[order].astype(np.float64), (y[order] + 1).astype(str).astype(object)

    monkeypatch.setattr(network, "fetch_openml", answer)
    monkeypatch.setenv("PSVM_DATA", str(tmp_path / "nothing"))
    monkeypatch.setattr(files, "cache_folder", lambda: tmp_path)
    monkeypatch.setattr(network, "cache_folder", lambda: tmp_path)
    for _ in range(2):
        fetched, labels = data.load("usps", scaled=False)
        np.testing.assert_array_equal(fetched, X[order])
        np.testing.assert_array_equal(labels, y[order])
    assert [options["data_id"] for options in asked] == [41082]


def test_usps_without_a_network(monkeypatch, tmp_path):
    def answer(**options):
        raise URLError("no route to host")

    monkeypatch.setattr(network, "fetch_openml", answer)
    monkeypatch.setenv("PSVM_DATA", str(tmp_path / "nothing"))
    monkeypatch.setattr(files, "cache_folder", lambda: tmp_path)
    monkeypatch.setattr(network, "cache_folder", lambda: tmp_path)
    assert_mentions(refusal("usps"), "OpenML (data set 41082)", "no route to host", "usps.npz")


@pytest.mark.parametrize(
    ("platform", "variable", "folder"),
    [
        ("linux", "XDG_CACHE_HOME", "cache"),
        ("win32", "LOCALAPPDATA", "cache"),
        ("linux", None, ".cache"),
        ("darwin", None, "Library/Caches"),
        ("win32", None, "AppData/Local"),
    ],
)
def test_the_cache_is_where_the_system_keeps_caches(
    monkeypatch, tmp_path, platform, variable, folder
):
    monkeypatch.setattr(files.sys, "platform", platform)
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    for name in ("XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    if variable is not None:
        monkeypatch.setenv(variable, str(tmp_path / folder))
    assert files.cache_folder() == tmp_path / folder / "psvm"
