"""The commands together, and what happens when one of them fails."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Sequence
from importlib.metadata import version
from typing import Annotated, Any

import typer

from psvm.cli import INSTALL
from psvm.cli.reproduce import reproduce

app = typer.Typer(
    name="psvm",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"psvm {version('psvm')}")
        raise typer.Exit


@app.callback()
def options(
    show_version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    """Support vector machines with the p-norm hinge loss."""


app.command()(reproduce)


def run(arguments: Sequence[str] | None = None) -> int:
    """Run a command and turn whatever it raises into a line and an exit code.

    Parameters
    ----------
    arguments : sequence of str or None
        The words after ``psvm``; None takes those of the process.

    Returns
    -------
    int
        Exit code: 0, 1 for a failure, 2 for bad usage, 130 after Ctrl-C.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        code = app(words, prog_name="psvm", standalone_mode=False)
        return code if isinstance(code, int) else 0
    except (KeyboardInterrupt, typer.Abort):
        return 130
    except BrokenPipeError:
        # Whoever read the output has enough; without this Python complains once more at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except Exception as error:
        if "--debug" in words:
            traceback.print_exc()
        message = _what_to_tell(error)
        if message:
            sys.stderr.write(f"psvm: {message}\n")
        return 2 if getattr(error, "exit_code", None) == 2 else 1


def _what_to_tell(error: Any) -> str:
    """One line: what is wrong, and what to do; nothing where the help was shown already."""
    if hasattr(error, "format_message"):
        message = " ".join(error.format_message().split())
        context = getattr(error, "ctx", None)
        command = context.command_path if context else "psvm"
        return f"{message} (see {command} --help)" if message else ""
    if isinstance(error, ModuleNotFoundError) and not str(error.name).startswith("psvm"):
        return f"this command needs {error.name}: {INSTALL}"
    text = " ".join(str(error).split())
    if isinstance(error, OSError | ValueError) and text:
        return text
    return f"{type(error).__name__}: {text} (--debug shows where)"
