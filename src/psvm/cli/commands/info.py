"""``psvm info``: what a model file says about its model."""

from typing import Any

from psvm.cli import options as opt
from psvm.cli.errors import listed
from psvm.cli.show import show_facts, show_json


def info(model: opt.Model, json: opt.Json = False, debug: opt.Debug = False) -> None:
    """Show a model's parameters, certificate, support vectors, columns and versions.

    Reads the header of the file and verifies its checksum; the model itself is not loaded.

    Example: psvm info iris.psvm
    """
    from psvm.persistence import info as header_of

    header = header_of(model)
    if json:
        show_json(header)
    else:
        show_facts(_facts(header))


def _facts(header: dict[str, Any]) -> dict[str, str]:
    """The header for people."""
    summary = header["model"]
    versions = ", ".join(f"{name} {number}" for name, number in header["versions"].items())
    parameters = {name: value for name, value in summary["parameters"].items() if value is not None}
    facts = {
        "file": f"{header['path']}, {header['bytes']:,} bytes, format {header['format_version']}",
        "saved": f"{summary.get('saved', '')} by {versions}",
        "model": " → ".join(summary["steps"]),
        "parameters": ", ".join(f"{name}={value}" for name, value in parameters.items()),
    }
    if summary.get("target") is not None:
        facts["target"] = summary["target"]
    if summary.get("classes") is not None:
        classes = summary["classes"]
        facts["classes"] = f"{len(classes)}: {listed([str(one) for one in classes])}"
    if summary.get("feature_names"):
        names = summary["feature_names"]
        facts["columns"] = f"{len(names)}: {listed(names, 40)}"
    elif summary.get("n_features") is not None:
        facts["columns"] = f"{summary['n_features']}, by position"
    if readings := header.get("notes", {}).get("readings"):
        facts["read"] = "; ".join(f"{name!r} as {_reading(one)}" for name, one in readings.items())
    return facts | _certificate(summary)


def _reading(values: dict[str, Any]) -> str:
    """How a column is read, for people: its kind and the settings that are not empty."""
    settings = [
        f"{name} {' '.join(value) if isinstance(value, list) else value}"
        for name, value in values.items()
        if name != "kind" and value
    ]
    return f"{values['kind']} ({', '.join(settings)})"


def _certificate(summary: dict[str, Any]) -> dict[str, str]:
    """How good the fit is: the worst binary problem, and what it took."""
    gaps = summary.get("dual_gap")
    if not gaps:
        return {}
    worst = max(range(len(gaps)), key=gaps.__getitem__)
    primal, dual = summary["primal_objective"][worst], summary["dual_objective"][worst]
    kind = "binary problems" if summary.get("classes") else "problems"
    problems = "" if len(gaps) == 1 else f"; the worst of {len(gaps)} {kind}"
    support = summary["n_support"]
    classes = f" ({', '.join(map(str, support))} per class)" if summary.get("classes") else ""
    return {
        "certificate": f"relative duality gap {gaps[worst]:.2e} "
        f"(primal {primal:.8g}, dual {dual:.8g}{problems})",
        "status": str(summary["status"][worst]),
        "iterations": str(sum(summary["n_iter"])),
        "support vectors": f"{sum(support)}{classes}",
    }
