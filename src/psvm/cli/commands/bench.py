"""``psvm bench``: the benchmarks of the repository."""

import sys
from pathlib import Path
from typing import Annotated

import typer


def bench(
    arguments: Annotated[
        list[str] | None,
        typer.Argument(metavar="...", help="Options of the benchmarks; --help lists them."),
    ] = None,
) -> None:
    """Run the benchmarks against other libraries, in a copy of the repository.

    They are not part of the installed package. In the repository's folder this is the same as
    python -m benchmarks, and make bench installs the other libraries first.
    """
    import subprocess

    root = _repository()
    if root is None:
        raise FileNotFoundError(
            "the benchmarks are part of psvm's repository, not of the package: run psvm bench, or "
            "make bench, in a clone of it"
        )
    command = [sys.executable, "-m", "benchmarks", *(arguments or [])]
    raise typer.Exit(subprocess.run(command, cwd=root, check=False).returncode)


def _repository() -> Path | None:
    """The folder with the benchmarks: here or above, or that of an editable install."""
    here = Path.cwd()
    for folder in (here, *here.parents, *Path(__file__).resolve().parents):
        if (folder / "benchmarks" / "__main__.py").is_file() and (folder / "src/psvm").is_dir():
            return folder
    return None
