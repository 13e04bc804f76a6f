"""Help that is drawn without what it does not need.

To draw a page of help typer imports rich's Markdown and its tracebacks, which psvm's help has none
of. They were a third of what ``psvm --help`` took (0.10 of 0.33 s of the processor), so they are
imported when somebody uses them.
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import Any

from typer.core import TyperCommand, TyperGroup

_NOT_DRAWN = (("rich.markdown", "Markdown"), ("rich.traceback", "Traceback"))


class _Later(type):
    """A class that stands for one of another module, which is imported when it is first used."""

    def __call__(cls, *given: Any, **named: Any) -> Any:
        return cls._real()(*given, **named)

    def __getattr__(cls, name: str) -> Any:
        return getattr(cls._real(), name)

    def _real(cls) -> Any:
        return getattr(import_module(cls.__module__), cls.__name__)


def import_help() -> None:
    """Import what draws typer's help, with stand-ins for the parts that are not drawn."""
    if "typer.rich_utils" in sys.modules:
        return
    placed = {}
    for module, name in _NOT_DRAWN:
        if module not in sys.modules:
            placed[module] = ModuleType(module)
            setattr(placed[module], name, _Later(name, (), {"__module__": module}))
    sys.modules.update(placed)
    try:
        import_module("typer.rich_utils")
    finally:  # whoever imports them from now on gets the real ones
        for module in placed:
            del sys.modules[module]


class QuickGroup(TyperGroup):
    """A group of commands with quick help."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Draw the help."""
        import_help()
        super().format_help(ctx, formatter)


class QuickCommand(TyperCommand):
    """A command with quick help."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Draw the help."""
        import_help()
        super().format_help(ctx, formatter)
