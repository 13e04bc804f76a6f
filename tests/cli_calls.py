"""``psvm`` called in this process."""

from psvm.cli import main


def run(capfd, *words):
    code = main([str(word) for word in words])
    out, err = capfd.readouterr()
    return code, out, err


def fails(capfd, *words, code=1):
    """The one line that a failing command writes."""
    found, out, err = run(capfd, *words)
    assert (found, out) == (code, "")
    assert err.startswith("psvm: ")
    assert err.count("\n") == 1
    return err


def file(folder, text, name="data.csv"):
    (folder / name).write_text(text)
    return folder / name
