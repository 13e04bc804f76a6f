"""The directive ``result``: tables of a page of benchmarks/results, as its benchmark wrote them.

    ```{result} kernel.md
    :section: Speed
    ```

shows the tables (and sentences) of that section, or the first table of the page, and says when and
where they were measured. A section that is no longer there fails the build.
"""

from __future__ import annotations

import re
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from docutils.statemachine import StringList
from repository_pages import RESULTS
from sphinx.util.docutils import SphinxDirective

TABLE = re.compile(r"(?:^\|.*\|\n)+", re.M)
MEASURED = re.compile(r"^- (\d{4}-\d\d-\d\d)[^,]*, commit (\w+)")


def tables_of(text: str, section: str | None) -> str:
    """All of a section but its pictures, or the first table of a page."""
    if section is None:
        return TABLE.search(text + "\n")[0]
    parts = re.split(r"^## (.+)\n", text, flags=re.M)
    found = dict(zip(parts[1::2], parts[2::2], strict=True))
    if section not in found:
        raise ValueError(f"no section {section!r}; there are {', '.join(found)}")
    return re.sub(r"^!\[.*\n", "", found[section], flags=re.M)


class Result(SphinxDirective):
    """Part of a page of results."""

    required_arguments = 1
    option_spec: ClassVar[dict[str, Any]] = {"section": directives.unchanged}

    def run(self) -> list[nodes.Node]:
        path = RESULTS / self.arguments[0]
        self.env.note_dependency(str(path))
        text = path.read_text(encoding="utf-8")
        try:
            body = tables_of(text, self.options.get("section"))
        except ValueError as error:
            raise self.error(f"{path.name}: {error}") from None
        measured = re.search(MEASURED.pattern, text, re.M)
        when = f"Measured on {measured[1]} at commit `{measured[2]}`; the" if measured else "The"
        lines = [
            *body.strip().splitlines(),
            "",
            f"{when} machine, the command and more are in [{path.name}](results/{path.name}).",
        ]
        holder = nodes.container(classes=["result"])
        self.state.nested_parse(StringList(lines, str(path)), self.content_offset, holder)
        return [holder]


def setup(app: Any) -> dict[str, bool]:
    app.add_directive("result", Result)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
