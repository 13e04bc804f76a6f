"""Speed from commit to commit: ratios to a rival, never seconds.

    python -m benchmarks.track quick_everyday.json         # beside results/everyday.json
    python -m benchmarks.track new.json --before old.json --fail-below 0.8
    python -m benchmarks.track new.json --asv build/asv

Machines of a build service are never the same twice, but psvm and its rival take turns on the same
one. So what is compared is how many times longer the rival takes, of the same problems in both
files, as a geometric mean over each kind of them: single problems of a millisecond scatter.
``--asv`` writes results of airspeed velocity (https://asv.readthedocs.io): psvm's seconds over the
rival's, where less is better, as asv takes for granted.
"""

from __future__ import annotations

import argparse
import json
import platform
import subprocess
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.environment import ROOT
from benchmarks.everyday.duels import counted, is_bound, ratio_of
from benchmarks.run import RESULTS
from benchmarks.tables import Record, geometric_mean, table, times

ASV_VERSION = 2  # of asv's result files
Ratios = dict[tuple[str, ...], float]


def kind_of(record: Record) -> str:
    """What problems are averaged over."""
    return f"{record['part']}, {record['estimator']}, p={record['p']:g}"


def key_of(record: Record) -> tuple[str, ...]:
    """What tells a measurement from all others."""
    asked = [f"{record[field]}" for field in ("method", "asked") if field in record]
    return (kind_of(record), record["problem"], record["against"], record["rival"], *asked)


def ratios_of(results: Record) -> Ratios:
    """The rival's seconds over ours, where both came to an end."""
    return {
        key_of(record): ratio_of(record)
        for record in counted(results["records"])
        if not is_bound(record)
    }


def changes(before: Ratios, now: Ratios) -> dict[str, tuple[int, float, float]]:
    """For every kind how many problems both have, and the mean ratio before and now."""
    kinds: dict[str, list[tuple[str, ...]]] = {"all": []}
    for key in now:
        if key in before:
            kinds["all"].append(key)
            kinds.setdefault(key[0], []).append(key)
    return {
        kind: (
            len(keys),
            geometric_mean(before[key] for key in keys),
            geometric_mean(now[key] for key in keys),
        )
        for kind, keys in kinds.items()
        if keys
    }


def page(found: dict[str, tuple[int, float, float]]) -> list[str]:
    """A table in Markdown."""
    rows = [
        [kind, str(count), times(old), times(new), f"{new / old:.2f}"]
        for kind, (count, old, new) in found.items()
    ]
    return table(["times faster than the rival", "problems", "before", "now", "change"], rows)


def slower(found: dict[str, tuple[int, float, float]], least: float, fewest: int) -> list[str]:
    """The kinds whose mean ratio fell below ``least`` of what it was, if of enough problems."""
    return [
        kind for kind, (count, old, new) in found.items() if count >= fewest and new < least * old
    ]


def whole_hash(commit: str) -> str:
    """All forty digits, by which asv finds a commit; what is given, if git has none."""
    command = ["git", "-C", str(ROOT), "rev-parse", "--verify", "--quiet", f"{commit}^{{commit}}"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return commit


def write_asv(results: Record, folder: Path) -> Path:
    """The ratios as a result file of airspeed velocity, with what asv wants beside it."""
    environment = results["environment"]
    commit = whole_hash((environment["commit"] or "unknown").removesuffix("-dirty").split("-g")[-1])
    values = {
        "ratio." + " | ".join(key).replace(" ", "_"): 1.0 / value
        for key, value in ratios_of(results).items()
    }
    machine = {
        "arch": platform.machine(),
        "cpu": environment["cpu"],
        "machine": "quick",
        "num_cpu": str(environment["cpus"]),
        "os": environment["system"],
        "ram": str(environment["memory_gb"]),
        "version": 1,
    }
    date = datetime.strptime(environment["date"], "%Y-%m-%d %H:%M UTC").replace(tzinfo=UTC)
    result = {
        "commit_hash": commit,
        "env_name": "existing",
        "date": int(date.timestamp() * 1000),
        "params": {**machine, "python": environment["python"]},
        "python": environment["python"],
        "requirements": {},
        "env_vars": {},
        "result_columns": ["result", "params", "version"],
        "results": {name: [[value], [], "1"] for name, value in values.items()},
        "durations": {},
        "version": ASV_VERSION,
    }
    benchmarks = {
        name: {
            "code": "",
            "name": name,
            "param_names": [],
            "params": [],
            "pretty_name": name.removeprefix("ratio.").replace("_", " "),
            "timeout": 60.0,
            "type": "track",
            "unit": "of the rival's seconds",
            "version": "1",
        }
        for name in values
    }
    home = folder / machine["machine"]
    home.mkdir(parents=True, exist_ok=True)
    (folder / "benchmarks.json").write_text(json.dumps({**benchmarks, "version": 2}, indent=1))
    (home / "machine.json").write_text(json.dumps(machine, indent=1))
    path = home / f"{commit}-existing.json"
    path.write_text(json.dumps(result, indent=1))
    return path


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare, write, judge."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.track",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("results", type=Path, help="a JSON file of benchmarks.everyday")
    add("--before", type=Path, default=RESULTS / "everyday.json", help="what to compare it with")
    add("--fail-below", type=float, metavar="SHARE", help="exit code 1 if a kind fell below this")
    add("--fewest", type=int, default=6, help="problems that a kind must have to be judged")
    add("--asv", type=Path, metavar="FOLDER", help="write results for airspeed velocity there")
    options = parser.parse_args(arguments)
    results, before = (json.loads(path.read_text()) for path in (options.results, options.before))
    found = changes(ratios_of(before), ratios_of(results))
    if not found:
        parser.error(f"{options.results} and {options.before} have no problem in common")
    print("\n".join(page(found)))
    if options.asv:
        print(f"wrote {write_asv(results, options.asv)}")
    if options.fail_below is None:
        return 0
    fallen = slower(found, options.fail_below, options.fewest)
    for kind in fallen:
        print(f"slower than {options.fail_below:g} of what it was, beside the rival: {kind}")
    return 1 if fallen else 0


if __name__ == "__main__":
    raise SystemExit(main())
