"""A page for every command of ``psvm``, from the program itself."""

from __future__ import annotations

import re
from typing import Any

import typer
from repository_pages import DOCS, forget_others, write
from typer.main import get_command

from psvm.cli.app import app as program


def plain(text: object) -> str:
    """Text for a page or a cell of a table; what looks like markup is none."""
    words = " ".join(str(text).split())
    for sign in "\\|*_<[$":
        words = words.replace(sign, f"\\{sign}")
    return re.sub(r"(?<![\w-])--[a-zA-Z][\w-]*", r"`\g<0>`", words)  # but options are code


def paragraph(text: str) -> str:
    """A paragraph of a command's help; an example is code."""
    return f"    {text[9:]}" if text.startswith("Example: ") else plain(text)


def row(parameter: Any, context: Any) -> str:
    """A line of the program's help as a line of a table."""
    names, meaning = parameter.get_help_record(context)
    spelt = [*parameter.opts, *parameter.secondary_opts]
    if parameter.param_type_name == "argument":
        return f"| `{names.split()[0]}` | {plain(meaning)} |"
    value = "" if parameter.secondary_opts else names.split(", ")[-1].partition(" ")[2].strip("<>")
    return f"| {', '.join(f'`{name}`' for name in spelt)} {plain(value)} | {plain(meaning)} |"


def page(name: str, command: Any) -> str:
    """The page of a command: usage, what it does, arguments, options in their groups."""
    context = typer.Context(command, info_name=f"psvm {name}")
    usage = command.get_usage(context).removeprefix("Usage: ").translate({123: None, 125: None})
    parts = [f"# psvm {name}", f"    {usage}"]
    parts += [paragraph(text) for text in (command.help or "").split("\n\n")]
    groups: dict[str, list[Any]] = {}
    for one in command.params:
        if not one.hidden and one.get_help_record(context):
            kind = "Arguments" if one.param_type_name == "argument" else "Options"
            groups.setdefault(getattr(one, "rich_help_panel", None) or kind, []).append(one)
    for title, members in groups.items():
        rows = "\n".join(row(one, context) for one in members)
        kind = members[0].param_type_name
        parts.append(f"## {title}\n\n| {kind} | meaning |\n|---|---|\n{rows}")
    return "\n\n".join(parts) + "\n"


def commands() -> dict[str, Any]:
    """The commands of the program, in its order."""
    return {name: one for name, one in get_command(program).commands.items() if not one.hidden}


def write_pages(*_: Any) -> None:
    """Write a page per command, and their list."""
    found = commands()
    for name, command in found.items():
        write(DOCS / "commands" / f"{name}.md", page(name, command))
    forget_others(DOCS / "commands", {"index", *found})
    rows = "\n".join(
        f"| [psvm {name}]({name}.md) | {plain((one.help or '').split('. ')[0].rstrip('.'))} |"
        for name, one in found.items()
    )
    write(
        DOCS / "commands" / "index.md",
        "# All commands and options\n\nWhat `psvm COMMAND --help` says, made from the program. "
        "[The command line](../command-line.md) explains it with examples.\n\n"
        f"| command | what it does |\n|---|---|\n{rows}\n\n"
        "```{toctree}\n:hidden:\n\n" + "\n".join(found) + "\n```\n",
    )


def setup(app: Any) -> dict[str, bool]:
    app.connect("config-inited", write_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
