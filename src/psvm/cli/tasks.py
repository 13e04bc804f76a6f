"""Classification or regression, and the options that only one of them has."""

from collections.abc import Mapping
from enum import StrEnum

import typer


class Task(StrEnum):
    """What is to be learned."""

    auto = "auto"
    classification = "classification"
    regression = "regression"


_ONLY = {
    Task.classification: ("--class-weight", "--multi-class", "--proba"),
    Task.regression: ("--epsilon", "--epsilons", "--quantile"),
}


def refuse_options_of_the_other(task: Task, options: Mapping[str, object], why: str = "") -> None:
    """Raise if an option was given that this task has not.

    Parameters
    ----------
    task : Task
        What is learned; of ``auto``, options of both at once are refused.
    options : mapping
        Options by their names, with their values: None or False if they were not given.
    why : str
        What the target looks like, if the task was found out.
    """
    given = [name for name, value in options.items() if value is not None and value is not False]
    own = {one: [name for name in given if name in names] for one, names in _ONLY.items()}
    classes, numbers = own[Task.classification], own[Task.regression]
    if classes and numbers:
        raise typer.BadParameter(
            f"{classes[0]} is for classification and {numbers[0]} for regression: leave one out"
        )
    for other, names in own.items():
        if names and task not in (Task.auto, other):
            found = f" ({why})" if why else ""
            raise typer.BadParameter(
                f"{names[0]} is for {other}, and this is {task}{found}: leave it out, or say "
                f"--task {other}"
            )
