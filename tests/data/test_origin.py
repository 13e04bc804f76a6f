"""Where a set comes from: a folder of one's own, the cache, the network; or why it is refused."""

import io
import socket
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

# --- a set of two features, so that files and servers can be anything ----------------------------

TOY_X = np.array([[0.5, 1.0], [-2.25, 3.0], [1e-3, -4.0]])
TOY_Y = np.array(["up", "down", "up"])


@pytest.fixture
def empty_folders(monkeypatch, tmp_path):
    """No set in PSVM_DATA, which is ``own`` in the folder given, and none in its ``cache``."""
    monkeypatch.setenv("PSVM_DATA", str(tmp_path / "own"))
    monkeypatch.setattr(files, "cache_folder", lambda: tmp_path / "cache")
    monkeypatch.setattr(network, "cache_folder", lambda: tmp_path / "cache")
    return tmp_path


@pytest.fixture
def toy(monkeypatch, empty_folders):
    """The set "heart" replaced by a small one, which is nowhere yet."""
    source = sources.Source(
        sources.Archive("7/toy.zip", ("toy.dat",), partial(sources.parse_rows, delimiter=",")),
        n_features=2,
        counts={"up": 2, "down": 1},
        sha256=sources.content_digest(TOY_X, TOY_Y),
        positive=("up",),
    )
    monkeypatch.setitem(sources.SOURCES, "heart", source)
    return empty_folders


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
    assert_mentions(refusal(), "pooch", "pip install '.[paper]'", str(toy / "own" / "heart.npz"))


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

FROM_UCI = [name for name in sources.SOURCES if name != "usps"]


def stored(file):
    """X and y of a file of the shared folder."""
    if not (paper_data.FOLDER / f"{file}.npz").exists():
        pytest.skip(f"no {file}.npz in {paper_data.FOLDER}: set PSVM_DATA")
    with np.load(paper_data.FOLDER / f"{file}.npz") as arrays:
        return arrays["X"], arrays["y"]


@pytest.mark.parametrize("name", FROM_UCI)
def test_the_shared_files_have_the_digest_that_a_download_must_have(name):
    X, y = stored("wine_quality" if name == "wine" else name)
    assert sources.content_digest(X, y) == sources.SOURCES[name].sha256


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


def test_usps_arrives_from_openml(monkeypatch, empty_folders):
    """OpenML labels the digits 1 to 10, as text, and may order the rows in its own way."""
    X, y = stored("usps")
    order = np.random.default_rng(0).permutation(len(y))
    asked = []

    def answer(**options):
        asked.append(options)
        return X[order].astype(np.float64), (y[order] + 1).astype(str).astype(object)

    monkeypatch.setattr(network, "fetch_openml", answer)
    for _ in range(2):
        fetched, labels = data.load("usps", scaled=False)
        np.testing.assert_array_equal(fetched, X[order])
        np.testing.assert_array_equal(labels, y[order])
    assert [options["data_id"] for options in asked] == [41082]


def test_usps_without_a_network(monkeypatch, empty_folders):
    def answer(**options):
        raise URLError("no route to host")

    monkeypatch.setattr(network, "fetch_openml", answer)
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
