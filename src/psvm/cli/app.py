"""The commands together, and what happens when one of them fails."""

import inspect
import os
import sys
import warnings
from collections.abc import Callable, Sequence
from typing import Annotated, Any

import typer

from psvm.cli import install_of
from psvm.cli.commands.bench import bench
from psvm.cli.commands.demo import demo
from psvm.cli.commands.evaluate import evaluate
from psvm.cli.commands.export import export
from psvm.cli.commands.fit import fit
from psvm.cli.commands.info import info
from psvm.cli.commands.predict import predict
from psvm.cli.commands.reproduce import reproduce
from psvm.cli.commands.tune import tune
from psvm.cli.flags import Command, Group

app = typer.Typer(
    name="psvm",
    cls=Group,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

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
    """Support vector machines with the p-norm hinge loss.

    Exit codes: 0 if all went well, 1 for a failure, 2 for wrong usage, 3 for a model that is
    written but whose fit was stopped early, 130 after Ctrl-C.
    """


def _add(command: Callable[..., None], panel: str, **settings: Any) -> None:
    """Add a command; its help is its docstring with the lines of each paragraph joined."""
    paragraphs = inspect.cleandoc(command.__doc__ or "").split("\n\n")
    text = "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)
    app.command(help=text, cls=Command, rich_help_panel=panel, **settings)(command)


MODELS: list[Callable[..., None]] = [fit, tune, predict, evaluate, info, export]
EVIDENCE: list[Callable[..., None]] = [demo, reproduce]
for item in MODELS:
    _add(item, "Models")
for item in EVIDENCE:
    _add(item, "Examples and evidence")
# Whatever follows `bench` is for the benchmarks, --help too.
_add(
    bench,
    "Examples and evidence",
    context_settings={"ignore_unknown_options": True, "help_option_names": []},
)


def run(arguments: Sequence[str] | None = None) -> int:
    """Run a command and turn whatever it raises into a line and an exit code.

    Parameters
    ----------
    arguments : sequence of str or None
        The words after ``psvm``; None takes those of the process.

    Returns
    -------
    int
        Exit code: 0, 1 for a failure, 2 for bad usage, 3 for a fit cut short, 130 after Ctrl-C.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        with warnings.catch_warnings():
            _show_warnings_in_one_line()
            code = app(words, prog_name="psvm", standalone_mode=False)
        sys.stdout.flush()  # a full disk or a closed pipe shows here, and not after the end
        return code if isinstance(code, int) else 0
    except (KeyboardInterrupt, typer.Abort):
        return 130
    except SystemExit as end:  # so ends typer where a pipe breaks, or after a completion
        if isinstance(end.__context__, BrokenPipeError):
            _forget_output()
            return 0
        return end.code if isinstance(end.code, int) else 1
    except BrokenPipeError:  # whoever read the output has enough, as head does: no failure
        _forget_output()
        return 0
    except Exception as error:
        _forget_output()
        if "--debug" in words:
            import traceback

            traceback.print_exc()
        message = _what_to_tell(error)
        if message:
            sys.stderr.write(f"psvm: {message}\n")
        return 2 if getattr(error, "exit_code", None) == 2 else 1


def _forget_output() -> None:
    """Drop what standard output does not take, of which Python would complain again at exit."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _show_warnings_in_one_line() -> None:
    """Warnings for the user are lines like errors; those for programmers are not shown.

    Among these are files left open where Ctrl-C ends an import.
    """
    warnings.simplefilter("default")
    for kind in (DeprecationWarning, PendingDeprecationWarning, FutureWarning, ResourceWarning):
        warnings.simplefilter("ignore", kind)

    def show(message: Any, *_: Any, **__: Any) -> None:
        sys.stderr.write(f"psvm: warning: {' '.join(str(message).split())}\n")

    warnings.showwarning = show


def _what_to_tell(error: Any) -> str:
    """One line: what is wrong, and what to do; nothing where the help was shown already."""
    if hasattr(error, "format_message"):
        message = " ".join(error.format_message().split())
        context = getattr(error, "ctx", None)
        command = context.command_path if context else "psvm"
        return f"{message} (see {command} --help)" if message else ""
    if lines := getattr(error, "lines", None):  # one for each problem of a file
        return "\n".join(lines)
    text = " ".join(str(error).split())
    if isinstance(error, ModuleNotFoundError) and not str(error.name).startswith("psvm"):
        return (
            text
            if "pip install" in text
            else f"this command needs {error.name}: {install_of(error.name)}"
        )
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    if isinstance(error, OSError | ValueError) and text:
        return text
    if isinstance(error, MemoryError):
        return "there is not enough memory; fit fewer rows, or use --linear"
    return f"{type(error).__name__}: {text} (--debug shows where)"
