"""The command ``psvm``.

Each command is a file of ``commands``: a thin layer over the public functions, which are imported
when the command runs and not before, so that ``psvm --help`` answers at once. For the same reason
their annotations are no strings (``from __future__ import annotations``): typer would compile and
evaluate each of them four times.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

_OF_CLI = ("polars", "rich", "skops", "typer")


def install_of(package: str | None) -> str:
    """What to type to get a package that a command needs."""
    extra = "cli" if str(package).partition(".")[0] in _OF_CLI else "paper"
    return f"pip install '.[{extra}]' in a clone of the repository"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Parameters
    ----------
    arguments : sequence of str or None
        The words after ``psvm``; None takes those of the process.

    Returns
    -------
    int
        Exit code: 0, 1 for a failure, 2 for bad usage, 3 for a fit cut short, 130 after Ctrl-C.
    """
    try:
        from psvm.cli.app import run

        return run(arguments)
    except KeyboardInterrupt:  # already while it starts
        return 130
    except ModuleNotFoundError as error:
        if error.name not in ("typer", "rich"):
            raise
        sys.stderr.write(f"psvm: the command line needs {error.name}: {install_of(error.name)}\n")
        return 1
