"""What a stage of a solve hands on."""

from __future__ import annotations

from dataclasses import dataclass

from psvm.mathematics.certificate import Certificate
from psvm.mathematics.problem import SolveResult


@dataclass
class Certified:
    """A result with the certificate of its alpha."""

    result: SolveResult
    certificate: Certificate
