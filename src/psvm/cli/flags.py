"""Commands whose help shows flags as flags."""

from typing import Any

from typer.core import TyperCommand, TyperGroup


def _without_type(params: list[Any]) -> list[Any]:
    """The parameters; a flag takes no value, so its row names no type of one."""
    for param in params:
        if getattr(param, "is_flag", False) and param.metavar is None:
            param.metavar = ""
    return params


class Command(TyperCommand):
    """A command."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Arguments and options, ``--help`` too."""
        return _without_type(super().get_params(ctx))


class Group(TyperGroup):
    """The command of all commands."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Options, ``--help`` too."""
        return _without_type(super().get_params(ctx))
