"""The certificate of coefficients and the alpha that the rows keep, from sums over the rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from psvm import _core
from psvm.mathematics.certificate import Certificate
from psvm.mathematics.loss import PNormHinge
from psvm.mathematics.problem import Terms
from psvm.mathematics.rounding import UNIT, power_error
from psvm.solvers.linear.at_once import pair_certificate
from psvm.solvers.linear.best_pair import BestPair
from psvm.solvers.linear.passes import Sums


def proof_inside(end: BestPair, sums: Sums, terms: Terms, count: int) -> Certificate:
    """The same where targets allow no slack: P is infinite unless no row has any, for certain."""
    if sums.smallest_margin - 1.0 < 2.0 * sums.margin_error + 8.0 * UNIT:
        return Certificate(np.inf, 0.0, np.inf, end.b)
    # Without slack nothing is lost, and the terms are those of alpha alone.
    return proof_of_pair(end, sums, replace(terms, loss=PNormHinge(1.0), hard_margin=False), count)


def proof_of_pair(end: BestPair, sums: Sums, terms: Terms, count: int) -> Certificate:
    """P, D and the gap of a problem of ``count`` rows, with what rounding may have done to them.

    ``sums`` answer a pass of kind "certify" at the coefficients of ``end``.
    """
    dual = sums.dual
    proof = _core.certify_pair(
        np.ascontiguousarray(end.w),
        dual.image[1] - dual.image[0],
        {
            "loss": sums.loss,
            "terms": sums.terms,
            "conjugate": float(dual.conjugate.sum()),
            "rounding": sums.rounding,
            "alpha_minus": float(dual.alpha[0]),
            "alpha_plus": float(dual.alpha[1]),
            "reach": sums.reach,
            "pull": sums.pull,
            "margin_error": sums.margin_error,
            "smallest_margin": sums.smallest_margin,
        },
        count,
        terms.fit_intercept,
        terms.hard_margin,
        power_error(terms.p),
    )
    return pair_certificate(proof, end.w, end.b)
