"""Pages of the public names, from ``__all__`` of the public modules.

A module is public if it is in ``MODULES``. Its names are those of ``__all__``, or else whatever it
defines without an underscore. One list per module, one page per name (sphinx.ext.autosummary).
"""

from __future__ import annotations

import inspect
from enum import Enum
from importlib import import_module
from typing import Any

from repository_pages import DOCS, forget_others, write

MODULES = {
    "psvm": "Estimators, paths, files",
    "psvm.dask": "Rows on a Dask cluster",
    "psvm.plotting": "Pictures",
    "psvm.explaining": "Explaining",
    "psvm.persistence": "Model files and exports",
    "psvm.bounds": "Bounds of the paper",
    "psvm.data": "Data sets of the paper",
}
# What public names return, warn of or hold, by the module on whose page it is.
ALONG = {
    "psvm": [
        "psvm.estimators.path.PSVMPath",
        "psvm.search.GridEdgeWarning",
        "psvm.search.PBesideDefault",
        "psvm.search.p_beside_default",
        "psvm.solvers.ledger.Status",
    ]
}


def names_of(module: str) -> list[str]:
    """The public names of a module, those of dunder aside."""
    home = import_module(module)
    listed = getattr(home, "__all__", None) or [
        name
        for name, item in vars(home).items()
        if not name.startswith("_")
        and getattr(item, "__module__", None) == module
        and (inspect.isclass(item) or inspect.isfunction(item))
    ]
    return [name for name in listed if not name.startswith("__")]


def public_names() -> list[str]:
    """Every public name with its module: ``psvm.PSVC``."""
    return [f"{module}.{name}" for module in MODULES for name in names_of(module)]


def own_members(path: str) -> dict[str, list[str]]:
    """What psvm defines for a class; scikit-learn documents its own.

    Values of an enumeration, methods, and properties that the class's docstring does not explain.
    """
    module, _, name = path.rpartition(".")
    item = getattr(import_module(module), name)
    found: dict[str, list[str]] = {"values": [], "methods": [], "properties": []}
    if issubclass(item, Enum):
        found["values"] = list(item.__members__)
        return found
    for member in dir(item):
        value = inspect.getattr_static(item, member)
        if member.startswith("_") or not hasattr(item, member):  # some say what is not there
            continue
        if isinstance(value, property):
            if value.fget.__module__.startswith("psvm") and f"    {member} : " not in item.__doc__:
                found["properties"].append(member)
        elif inspect.isroutine(function := getattr(item, member)):
            home = getattr(inspect.unwrap(function), "__module__", None) or ""
            if home.startswith("psvm"):
                found["methods"].append(member)
    return found


def list_of(module: str) -> str:
    """The page of a module: what it says of itself, and its names."""
    title = f"{module}: {MODULES[module][0].lower()}{MODULES[module][1:]}"
    lines = [title, "=" * len(title), "", f".. automodule:: {module}", "   :no-members:", ""]
    lines += [f".. currentmodule:: {module}", "", ".. autosummary::", "   :toctree: names", ""]
    lines += [f"   {name}" for name in names_of(module)]
    for path in ALONG.get(module, []):
        home, _, name = path.rpartition(".")
        lines += [
            "",
            f".. currentmodule:: {home}",
            "",
            ".. autosummary::",
            "   :toctree: names",
            "",
        ]
        lines += [f"   {name}"]
    return "\n".join([*lines, ""])


def write_lists(*_: Any) -> None:
    """Write the page of every module."""
    for module in MODULES:
        write(DOCS / "api" / f"{module}.rst", list_of(module))


def prepare(app: Any, config: Any) -> None:
    write_lists()
    along = {name for names in ALONG.values() for name in names}
    forget_others(DOCS / "api" / "names", {*public_names(), *along})
    forget_others(DOCS / "api", {"index", *MODULES})
    config.autosummary_context = {"own_members": own_members}


def setup(app: Any) -> dict[str, bool]:
    app.connect("config-inited", prepare)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
