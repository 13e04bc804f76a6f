"""Pages that live elsewhere in the repository, and links between here and there.

A page of ``docs`` links to ``../CHANGELOG.md``, which is right on GitHub; on the site that file is
the page ``project/changelog``. So files of the repository are copied at build, and links in them
and in the pages are turned to the copies. Anything else that is linked to, such as a program, is a
download.
"""

from __future__ import annotations

import os
import re
from pathlib import Path, PurePosixPath
from typing import Any

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
RESULTS = ROOT / "benchmarks" / "results"
# Files of the repository and the pages that are made of them.
COPIES = {
    "CHANGELOG.md": "project/changelog.md",
    "CODE_OF_CONDUCT.md": "project/conduct.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "RELEASING.md": "project/releasing.md",
    "SECURITY.md": "project/security.md",
    "benchmarks/README.md": "results/benchmarks.md",
}
TITLES = {
    "distributed": "Rows on Dask workers",
    "everyday": "Everyday problems",
    "first": "Two large sets",
    "kernel": "The kernel suite",
    "kernel_small": "The kernel suite, small sets",
    "linear": "The linear suite",
    "out_of_core": "A file larger than memory",
}
LINK = re.compile(r"(\]\()([^)#:\s]+)((?:#[^)\s]*)?\))")


def result_pages() -> list[Path]:
    """The pages of published results; those of a quick run are nobody's business."""
    return sorted(path for path in RESULTS.glob("*.md") if not path.stem.startswith("quick"))


def copies() -> dict[str, str]:
    """All files that become pages, and these pages, relative to the root and to ``docs``."""
    return COPIES | {f"benchmarks/results/{p.name}": f"results/{p.name}" for p in result_pages()}


def relinked(text: str, home: PurePosixPath, page: PurePosixPath, copied: dict[str, str]) -> str:
    """The text of a file in the folder ``home`` of the repository, with links for a page of docs.

    Both places are folders: ``home`` relative to the root, ``page`` relative to ``docs``.
    """

    def turn(link: re.Match[str]) -> str:
        there = os.path.normpath(home / link[2])
        if there in copied:
            there = f"docs/{copied[there]}"
        return f"{link[1]}{os.path.relpath(there, PurePosixPath('docs') / page)}{link[3]}"

    return LINK.sub(turn, text)


def titled(text: str, title: str | None) -> str:
    """The text under a heading of its own."""
    if title is None:
        return text
    body = re.sub(r"\A# .*\n", "", text)
    return f"# {title}\n\n{body}"


def write(path: Path, text: str) -> None:
    """Write what changed; what did not keeps its date, and Sphinx need not read it again."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def forget_others(folder: Path, pages: set[str]) -> None:
    """Remove the pages of an earlier build whose source is gone; Sphinx would complain of them."""
    for page in [*folder.glob("*.md"), *folder.glob("*.rst")]:
        if page.stem not in pages:
            page.unlink()


def copy_pages(*_: Any) -> None:
    """Write all copies, and the list of results."""
    copied = copies()
    for source, target in copied.items():
        file, page = PurePosixPath(source), PurePosixPath(target)
        title = None
        if source.startswith("benchmarks/results/"):
            plain = file.stem.replace("_", " ").capitalize()
            has_title = (ROOT / source).read_text(encoding="utf-8").startswith("# ")
            title = TITLES.get(file.stem, None if has_title else plain)
        text = titled((ROOT / source).read_text(encoding="utf-8"), title)
        write(DOCS / target, relinked(text, file.parent, page.parent, copied))
    pages = "\n".join(path.stem for path in result_pages())
    write(
        DOCS / "results" / "index.md",
        "# All results\n\nWhat the benchmarks wrote. Machine, commit and command are on every "
        f"page.\n\n```{{toctree}}\n:maxdepth: 1\n\nbenchmarks\n{pages}\n```\n",
    )
    forget_others(DOCS / "results", {"index", *(Path(target).stem for target in copied.values())})
    programs = {path.stem for path in (ROOT / "examples" / "gallery").glob("*.py")}
    forget_others(DOCS / "gallery", {"index", *programs})


def turn_links(app: Any, name: str, source: list[str]) -> None:
    """Turn the links of a page of ``docs`` that lead out of it."""
    if name.split("/")[0] not in ("api", "commands", "gallery", "project", "results"):
        source[0] = relinked(source[0], PurePosixPath("docs"), PurePosixPath("."), copies())


def setup(app: Any) -> dict[str, bool]:
    app.connect("config-inited", copy_pages)
    app.connect("source-read", turn_links)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
