"""What a stage of a solve hands on."""

from __future__ import annotations

from dataclasses import dataclass

from psvm.certificate import Certificate
from psvm.problem import SolveResult


@dataclass
class Certified:
    """A result with the certificate of its alpha."""

    result: SolveResult
    certificate: Certificate
