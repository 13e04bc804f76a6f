"""The command behind a suite of linear regressions: sets in, records, a page and a file out."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks import environment
from benchmarks.regression.sets import RegressionSet, synthetic, tables
from benchmarks.run import RESULTS
from benchmarks.tables import Record, write_json


@dataclass(frozen=True)
class Suite:
    """What one suite has of its own.

    Attributes
    ----------
    module : str
        How it is called, after ``python -m``.
    name : str
        Of its files in ``results``.
    rows : tuple of int
        Sizes of its synthetic sets, if no others are asked for.
    features : int
        Of these.
    measure : callable
        The records of a set, given the threads of LinearPSVR.
    line, page : callable
        A record for the screen, and all of them as a report.
    """

    module: str
    name: str
    rows: tuple[int, ...]
    features: int
    measure: Callable[[RegressionSet, int], Iterator[Record]]
    line: Callable[[Record], str]
    page: Callable[[dict[str, Any]], list[str]]

    def run(self, arguments: Sequence[str] | None = None) -> int:
        """Measure and write."""
        options = self._parse(arguments)
        threads = options.threads or environment.usable_cpus()
        described = environment.describe(threads, ("psvm", "scikit-learn"))
        given = sys.argv[1:] if arguments is None else arguments
        described["command"] = " ".join([f"python -m {self.module}", *given])
        records: list[Record] = []
        results = {"suite": self.name, "environment": described, "records": records}
        for data in self._sets(options):
            for record in self.measure(data, threads):
                print(self.line(record), flush=True)
                records.append(record)
                write_json(results, RESULTS / f"{options.name}.json")
        text = "\n".join(self.page(results))
        (RESULTS / f"{options.name}.md").write_text(text, encoding="utf-8")
        return 0

    def _parse(self, arguments: Sequence[str] | None) -> argparse.Namespace:
        parser = argparse.ArgumentParser(prog=f"python -m {self.module}")
        add = parser.add_argument
        add("--rows", type=int, nargs="*", default=list(self.rows), help="of synthetic sets")
        add("--only", nargs="+", default=[""], help="tables with one of these words")
        add("--no-tables", action="store_true")
        add("--threads", type=int, help="of LinearPSVR; all by default")
        add("--name", default=self.name, help="of the result files")
        return parser.parse_args(arguments)

    def _sets(self, options: argparse.Namespace) -> Iterator[RegressionSet]:
        if not options.no_tables:
            yield from tables(tuple(options.only))
        for rows in options.rows:
            yield synthetic(rows, self.features)
