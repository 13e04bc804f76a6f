"""A command on a page: lines break between its words, and not inside an option."""

from __future__ import annotations

import shlex

from markupsafe import Markup, escape


def as_html(command: str) -> Markup:
    """A command as code whose options stay whole, each with its value.

    Parameters
    ----------
    command : str
        As a shell takes it.

    Returns
    -------
    Markup
    """
    groups: list[list[str]] = []
    for word in shlex.split(command):
        said = shlex.quote(word)
        of_option = groups and groups[-1][-1].startswith("-") and len(groups[-1]) == 1
        if of_option and not word.startswith("-"):
            groups[-1].append(said)
        else:
            groups.append([said])
    parts = (f'<span class="word">{escape(" ".join(group))}</span>' for group in groups)
    return Markup(f'<code class="command">{" ".join(parts)}</code>')
