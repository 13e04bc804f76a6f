"""The installed ``psvm`` as a shell meets it: pipes, signals, full disks, terminals, start-up."""

import json
import os
import signal
import subprocess
import time

import numpy as np
import polars as pl
import pytest
from cli_data import FEATURES, SPECIES, command, iris, psvm, start, write_iris, write_model
from processes import LINUX, UNIX, output

from psvm import LinearPSVC
from psvm.persistence import load, save


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """A folder with iris as CSV, a model of it, and rows that take a while."""
    folder = tmp_path_factory.mktemp("shared")
    write_iris(folder, "csv")
    write_model(folder)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6000, 20))
    np.savez(folder / "slow.npz", X=X, y=rng.integers(0, 2, 6000))
    return folder


# Labels that are noise, with a large C and p = 1: the gap falls, but takes a minute to its end.
SLOW = ("--C", "1e3", "--p", "1", "--tol", "1e-9")


def test_fit_predict_evaluate_from_file_to_file(tmp_path, shared):
    model = tmp_path / "m.psvm"
    words = ["fit", shared / "iris.csv", "--target", "species", "--output", model]
    code, out, err = psvm(*words, "--test-size", ".2")
    assert (code, err) == (0, "")
    assert "relative duality gap" in out
    assert "tested on" in out
    assert load(model).classes_.tolist() == SPECIES.tolist()
    code, out, err = psvm("evaluate", model, shared / "iris.csv", "-t", "species", "--json")
    assert (code, err) == (0, "")
    assert json.loads(out)["accuracy"] > 0.9


def test_standard_input_and_output(shared):
    given = (shared / "iris.csv").read_bytes()
    code, out, err = psvm("predict", shared / "iris.psvm", "-", given=given)
    assert (code, err) == (0, "")
    expected = load(shared / "iris.psvm").predict(iris().select(FEATURES)).tolist()
    assert out.splitlines() == ["prediction", *expected]


def test_failures_and_wrong_usage_have_their_codes(tmp_path, shared):
    code, out, err = psvm("fit", shared / "iris.csv", "-t", "specie", "-o", tmp_path / "m.psvm")
    assert (code, out) == (1, "")
    assert err.startswith(f"psvm: {shared / 'iris.csv'}: there is no column 'specie'")
    assert err.count("\n") == 1
    code, out, err = psvm("fit", shared / "iris.csv", "--P", "2")
    assert (code, out) == (2, "")
    assert err.startswith("psvm: ")
    assert err.count("\n") == 1


# --- start-up ------------------------------------------------------------------------------------


def test_help_loads_nothing_heavy():
    loaded = output(
        """
        import sys
        from psvm.cli import main
        for words in (["--help"], ["fit", "--help"], ["predict", "--help"]):
            main(words)
        heavy = ("numpy", "scipy", "sklearn", "polars", "skops", "pandas", "psvm.persistence")
        print([name for name in heavy if name in sys.modules])
        """
    )
    assert loaded.splitlines()[-1] == "[]"


@UNIX
def test_help_takes_under_0_4_seconds():
    import resource  # not on Windows

    # Of the processor's time, which other work on the machine lengthens less than that of a clock.
    took = []
    for _ in range(8):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([*command(), "--help"], stdout=subprocess.DEVNULL, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        took.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        if took[-1] < 0.4:
            break
    assert min(took) < 0.4


@UNIX
def test_tab_completes_commands_options_and_choices():
    def completed(line):
        environment = {
            **os.environ,
            "_PSVM_COMPLETE": "complete_bash",
            "COMP_WORDS": line,
            "COMP_CWORD": str(len(line.split(" ")) - 1),
        }
        done = subprocess.run(command(), env=environment, capture_output=True, text=True)
        return done.stdout.split()

    assert {"evaluate", "export"} <= set(completed("psvm e"))
    assert completed("psvm fit --kernel lap") == ["laplacian"]
    assert "--test-size" in completed("psvm fit --te")


# --- outputs that break --------------------------------------------------------------------------


@UNIX
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_reader_that_has_enough_ends_it_quietly(tmp_path, shared, unbuffered):
    pl.concat([iris()] * 400).write_csv(tmp_path / "long.csv")
    words = ["predict", shared / "iris.psvm", tmp_path / "long.csv", "--decision"]
    process = start(*words, unbuffered=unbuffered)
    try:
        assert process.stdout.readline().startswith(b"prediction")
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(60) == 1
    finally:
        process.kill()
        process.stderr.close()


@LINUX
def test_a_full_disk_is_told(shared):
    words = ["predict", shared / "iris.psvm", shared / "iris.csv"]
    with open("/dev/full", "wb") as full:
        code, _, err = psvm(*words, stdout=full)
    assert code == 1
    assert err == "psvm: standard output: No space left on device\n"
    code, _, err = psvm(*words, "-o", "/dev/full")
    assert (code, err) == (1, "psvm: /dev/full: No space left on device\n")


@UNIX
def test_a_file_that_cannot_grow_leaves_the_old_one(tmp_path, shared):
    import resource  # not on Windows

    old = tmp_path / "p.csv"
    old.write_text("old")

    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))

    words = ["predict", shared / "iris.psvm", shared / "iris.csv", "-o", old]
    code, _, err = psvm(*words, preexec_fn=limit)
    assert (code, err) == (1, f"psvm: {old}: File too large\n")
    assert old.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["p.csv"]


@LINUX
def test_a_folder_that_is_read_only(tmp_path, shared):
    folder = tmp_path / "closed"
    folder.mkdir(mode=0o555)
    if os.geteuid() == 0:  # who may write anywhere, but not here
        folder = "/sys"
    for words in (["fit", "-t", "species"], ["predict", shared / "iris.psvm"]):
        name = f"{folder}/out.psvm"
        code, _, err = psvm(*words, shared / "iris.csv", "-o", name)
        assert code == 1
        assert err.startswith(f"psvm: {name}: ")
        assert err.count("\n") == 1


# --- signals and terminals -----------------------------------------------------------------------


@UNIX
def test_a_terminal_shows_the_falling_gap_and_ctrl_c_leaves_no_file(tmp_path, shared):
    pexpect = pytest.importorskip("pexpect")
    words = ["fit", shared / "slow.npz", "-o", tmp_path / "m.psvm", *SLOW]
    first, *rest = command()
    environment = {**os.environ, "TERM": "xterm", "OMP_NUM_THREADS": "1"}
    child = pexpect.spawn(
        first,
        [*rest, *map(str, words)],
        env=environment,
        timeout=300,  # for the start on a busy machine
        dimensions=(30, 100),
        encoding="utf-8",
    )
    try:
        child.expect(r"fit.*━.*gap .*→ 1e-09")
        gaps = [1.0]
        while gaps[-1] > 0.8:
            child.expect(r"gap (\d\.\de[+-]\d\d)")
            gaps.append(float(child.match[1]))
        child.sendintr()
        told = time.monotonic()
        child.expect(pexpect.EOF)
        assert time.monotonic() - told < 20  # half a second on a machine of one's own
    finally:
        child.close(force=True)
    assert child.exitstatus == 130, child.before
    assert "Traceback" not in child.before
    assert list(tmp_path.iterdir()) == []


@UNIX
def test_ctrl_c_in_a_prediction_leaves_the_old_file(tmp_path, shared):
    old = tmp_path / "p.csv"
    old.write_text("old")
    process = start("predict", shared / "iris.psvm", "-", "-o", old, stdin=subprocess.PIPE)
    try:
        # Standard input is never closed, so the command waits for more beside its hidden file.
        deadline = time.monotonic() + 300
        while len(list(tmp_path.iterdir())) < 2:
            assert time.monotonic() < deadline
            assert process.poll() is None
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
        assert process.stderr.read() == b""
    finally:
        process.kill()
        for stream in (process.stdin, process.stdout, process.stderr):
            stream.close()
    assert old.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["p.csv"]


# --- larger than memory --------------------------------------------------------------------------


@LINUX
@pytest.mark.parametrize("kind", ["csv", "parquet", "svm"])
def test_predictions_need_memory_for_a_block_only(tmp_path, kind):
    """A file of some hundred megabytes of numbers, and blocks that are a tenth of it."""
    rng = np.random.default_rng(0)
    few = rng.normal(size=(2000, 20)).round(6)
    names = [f"x{i}" for i in range(20)]
    frame, times, path = pl.DataFrame(few, schema=names), 150, tmp_path / f"long.{kind}"
    sign = (few[:, 0] > 0).astype(int)
    if kind == "csv":
        body = frame.write_csv(include_header=False)
        path.write_text(",".join(names) + "\n" + body * times)
    elif kind == "parquet":
        pl.concat([frame] * times).write_parquet(path, row_group_size=20_000)
    else:
        pairs = [" ".join(f"{i}:{v}" for i, v in enumerate(row, 1)) for row in few.tolist()]
        path.write_text("".join(f"0 {row}\n" for row in pairs) * times)
    model = LinearPSVC().fit(frame if kind != "svm" else few, sign)
    save(model, tmp_path / "m.psvm")
    peak = output(
        """
        import sys
        from pathlib import Path
        import psvm.cli.columnar as columnar, psvm.cli.sources as sources
        from psvm.cli import main
        columnar.BLOCK_CELLS = 400_000
        sources.BLOCK_BYTES = 4_000_000

        def megabytes():
            status = Path("/proc/self/status").read_text()
            return int(status.split("VmHWM:")[1].split()[0]) / 1024

        model, path, small, result = sys.argv[1:]
        # Once with little data, so that what stays is what the blocks need.
        assert main(["predict", model, small, "-o", result]) == 0
        before = megabytes()
        assert main(["predict", model, path, "-o", result]) == 0
        print(megabytes() - before)
        """,
        tmp_path / "m.psvm",
        path,
        _beginning(path, tmp_path / f"short.{kind}", frame),
        tmp_path / "p.csv",
    )
    assert float(peak) < 150
    found = pl.read_csv(tmp_path / "p.csv")["prediction"].to_numpy()
    rows = frame if kind != "svm" else few
    np.testing.assert_array_equal(found, np.tile(model.predict(rows), times))


def _beginning(path, short, frame):
    """A file of the same kind with the first rows."""
    if path.suffix == ".parquet":
        frame.write_parquet(short)
    else:
        with path.open() as whole:
            short.write_text("".join(next(whole) for _ in range(1000)))
    return short
