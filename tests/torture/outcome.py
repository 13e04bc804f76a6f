"""What came of one case."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Finding:
    """Something that must not happen: what it is called, and what was seen."""

    what: str
    detail: str


@dataclass
class Outcome:
    """A case by its seed: what was tried, what was wrong with it, and counts of what was seen."""

    seed: int
    kind: str
    recipe: str = ""
    findings: list[Finding] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)

    def found(self, what: str, detail: str) -> None:
        self.findings.append(Finding(what, detail))
