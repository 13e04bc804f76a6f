"""``psvm reproduce``: rerun the paper."""

import gc
import shlex
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from psvm.paper.parallel import Progress
    from psvm.paper.reproduce import Outcome


class Target(StrEnum):
    """What to rerun."""

    table1 = "table1"
    table2 = "table2"
    figure1 = "figure1"
    figure2 = "figure2"
    figure3 = "figure3"
    all = "all"


def _dataset_names(incomplete: str) -> list[str]:
    """Data sets that begin with what was typed, for the shell's completion."""
    from psvm.paper.published import BINARY, MULTICLASS

    return [name for name in BINARY + MULTICLASS if name.startswith(incomplete)]


def reproduce(
    target: Annotated[Target, typer.Argument(help="What to rerun.")] = Target.all,
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            metavar="FOLDER",
            help="Folder of the results; an earlier run there is continued.",
        ),
    ] = Path("psvm-paper"),
    quick: Annotated[
        bool, typer.Option("--quick", help="A smoke run on Cancer only, in under a minute.")
    ] = False,
    dataset: Annotated[
        list[str] | None,
        typer.Option(
            "--dataset",
            metavar="NAME",
            help="Only this data set of the tables; may be repeated.",
            autocompletion=_dataset_names,
        ),
    ] = None,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Forget what earlier runs finished in the folder.")
    ] = False,
    jobs: Annotated[
        int | None,
        typer.Option("--jobs", "-j", min=1, help="Worker processes.", show_default="one per CPU"),
    ] = None,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="No progress and no summary.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show where an error comes from.")] = False,
) -> None:
    """Rerun the paper's tables and figures, and write a report.

    Finished cells are kept as they come: after Ctrl-C or a failure the same command goes on where
    it stopped. The folder gets table1.csv, table2.csv, the figures (PNG and SVG), report.html and
    report.md.
    """
    from psvm.paper import reproduce as paper

    try:
        paper.check_request(target.value, dataset, jobs)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error
    screen = _Screen(target.value) if not quiet and sys.stderr.isatty() else None
    try:
        outcome = paper.reproduce(
            target.value,
            output=output,
            quick=quick,
            datasets=dataset,
            fresh=fresh,
            jobs=jobs,
            watch=screen,
            command=shlex.join(["psvm", *sys.argv[1:]]),
        )
    except KeyboardInterrupt:
        _close(screen)
        sys.stderr.write(
            f"psvm: stopped; finished cells are kept in {output}. Run the same command again to go "
            f"on{' (without --fresh)' if fresh else ''}.\n"
        )
        # Python would take half a second to look through what it is about to throw away.
        gc.freeze()
        raise typer.Exit(130) from None
    finally:
        _close(screen)
    if not quiet:
        typer.echo(_summary(outcome))
    if outcome.failures:
        _tell_failures(outcome, debug)
        raise typer.Exit(1)


def _summary(outcome: "Outcome") -> str:
    files = ", ".join(path.name for path in outcome.files)
    return (
        f"{outcome.computed} results computed, {outcome.reused} reused, "
        f"{outcome.seconds:.0f} s.\nWritten to {outcome.folder}: {files}"
    )


def _tell_failures(outcome: "Outcome", debug: bool) -> None:
    first = outcome.failures[0]
    if debug:
        sys.stderr.writelines(f"{item.job.label}\n{item.trace}\n" for item in outcome.failures)
    total = len(outcome.failures)
    what = f"{first.job.label}: {first.error}"
    if total > 1:
        what = f"{total} results failed, the first was {what}"
    sys.stderr.write(f"psvm: {what} (the rest is kept; run the same command again to retry)\n")


class _Screen:
    """A live line with the bar, and one line per running cell."""

    def __init__(self, target: str) -> None:
        from rich.console import Console
        from rich.live import Live

        self._target = target
        self._live = Live(console=Console(stderr=True), refresh_per_second=5, transient=True)

    def __call__(self, progress: "Progress") -> None:
        # Not before the first cell runs: downloads have a line of their own.
        self._live.start()
        self._live.update(_picture(self._target, progress))

    def close(self) -> None:
        self._live.stop()


def _close(screen: _Screen | None) -> None:
    if screen is not None:
        screen.close()


def _picture(target: str, progress: "Progress") -> Any:
    """The state of a run as rich shows it."""
    from rich.console import Group
    from rich.progress_bar import ProgressBar
    from rich.table import Table
    from rich.text import Text

    head = Table.grid(padding=(0, 1))
    left = "" if progress.seconds_left is None else f"{_clock(progress.seconds_left)} left"
    failed = Text(f"{progress.failed} failed" if progress.failed else "", style="red")
    head.add_row(
        Text(target, style="bold"),
        ProgressBar(total=max(1, progress.total), completed=progress.done, width=30),
        f"{progress.done}/{progress.total}",
        failed,
        left,
    )
    running = Table.grid(padding=(0, 1))
    for label, seconds in progress.running:
        running.add_row(" ", Text(label, style="dim"), Text(_clock(seconds), style="dim"))
    return Group(head, running)


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}:{rest:02d}"
