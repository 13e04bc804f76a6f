"""The installed ``psvm`` as a shell meets it: files, pipes, signals, full disks, large data."""

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import polars as pl
import pytest
from cli_data import SPECIES, TOLD, iris, psvm, start
from processes import LINUX, UNIX, output

from psvm import LinearPSVC
from psvm.persistence import load, save


def test_fit_predict_evaluate_from_file_to_file(tmp_path, shared):
    model = tmp_path / "m.psvm"
    words = ["fit", shared / "iris.csv", "--target", "species", "--output", model]
    code, out, err = psvm(*words, "--test-size", ".2")
    assert (code, err) == (0, TOLD)
    assert "relative duality gap" in out
    assert "tested on" in out
    assert load(model).classes_.tolist() == SPECIES.tolist()
    code, out, err = psvm("evaluate", model, shared / "iris.csv", "-t", "species", "--json")
    assert (code, err) == (0, "")
    assert json.loads(out)["accuracy"] > 0.9


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
        assert process.wait(60) == 0
    finally:
        process.kill()
        process.stderr.close()


@LINUX
@pytest.mark.slow  # two processes that fill it
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
    for ending, words in (
        ("psvm", ["fit", "-t", "species"]),
        ("csv", ["predict", shared / "iris.psvm"]),
    ):
        name = f"{folder}/out.{ending}"
        code, _, err = psvm(*words, shared / "iris.csv", "-o", name)
        assert code == 1
        assert err.startswith(f"psvm: {name}: ")
        assert err.count("\n") == 1


# --- signals --------------------------------------------------------------------------------------


@UNIX
@pytest.mark.parametrize("when", ["it starts", "it waits for data"])
def test_ctrl_c_in_a_prediction_leaves_the_old_file(tmp_path, shared, when):
    old = tmp_path / "p.csv"
    old.write_text("old")
    said = f"psvm: stopped by Ctrl-C; {old} is as it was before\n"
    process = start("predict", shared / "iris.psvm", "-", "-o", old, stdin=subprocess.PIPE)

    def soon(what):
        deadline = time.monotonic() + 300
        while not what():
            assert time.monotonic() < deadline
            assert process.poll() is None
            time.sleep(0.05)

    try:
        # Standard input is never closed, so the command waits for more beside its hidden file.
        soon(lambda: len(list(tmp_path.iterdir())) == 2)
        if when == "it waits for data":
            process.stdin.write(b"sepal length,")
            process.stdin.flush()
            soon(lambda: unread(process.stdin) == 0)
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
        assert process.stderr.read().decode() == said
    finally:
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout, process.stderr):
            stream.close()
    assert old.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["p.csv"]


def unread(pipe):
    """How many bytes wait in a pipe."""
    import fcntl  # not on Windows
    import termios

    return int.from_bytes(fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)), sys.byteorder)


# --- larger than memory --------------------------------------------------------------------------


@LINUX
@pytest.mark.slow  # files of a hundred megabytes
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
        from psvm.cli.files.open_data import ReadOptions
        from psvm.cli.output import output_stream
        from psvm.cli.predict_blocks import predictions

        def predict(model, path, result):
            options = ReadOptions(block_bytes=4_000_000, block_cells=400_000)
            blocks = predictions(model, path, options, proba=False, decision=False)
            with output_stream(result) as stream:
                for number, frame in enumerate(blocks):
                    stream.write(frame.write_csv(include_header=number == 0).encode())

        def megabytes():
            status = Path("/proc/self/status").read_text()
            return int(status.split("VmHWM:")[1].split()[0]) / 1024

        model, path, small, result = map(Path, sys.argv[1:])
        # Once with little data, so that what stays is what the blocks need.
        predict(model, small, result)
        before = megabytes()
        predict(model, path, result)
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
