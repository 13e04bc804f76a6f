"""What is wrong or loose in the paper and its published code, and what is right instead.

Text between backquotes is a formula or a name. The derivations are in docs/math.md and
docs/theory.md.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Erratum:
    """One error.

    Attributes
    ----------
    title : str
        What it is about.
    text : str
        What the paper has, what is right, and what follows.
    """

    title: str
    text: str


ERRATA = (
    Erratum(
        "The kernel of Table 1 is not Gaussian",
        "The experiments used `exp(−‖x−z‖ / (√2 σ))`, with the distance where a Gaussian kernel "
        "`exp(−‖x−z‖² / (2σ²))` has its square. It is a positive definite kernel too, but a much "
        "rougher one. psvm has both: `exponential` and `rbf`.",
    ),
    Erratum(
        "The intercept is not an average",
        "For p > 1 the paper finds no single support vector that gives b, and averages `y − f` "
        "over all of them. There is an exact rule: at the optimum every support vector has the "
        "slack `ξ = (alpha/(pC))^(1/(p−1))`, so `b = y (1 − ξ) − f` for any of them. The average "
        "is right only at p = 2, where the slacks of the two classes balance. The code behind "
        "Table 1 averages `y − sign(f)` instead, which nearly fixes b at 0; C was then chosen for "
        "that rule, so that the exact b at the same C can be better or worse.",
    ),
    Erratum(
        "p = 1 is a hard margin",
        "Setting `θ = 0` in the dual drops the upper bound `alpha ≤ C`, so that slack costs "
        "infinitely much. It is not the traditional soft-margin machine, which the dual reaches as "
        "p falls to 1. The paper says so of its column p = 1, but elsewhere calls `θ = 0` the "
        "traditional case.",
    ),
    Erratum(
        "Two misprints in pSMO",
        "`η` is printed as `K₁₁ + K₁₂ − 2K₁₂`; it is `K₁₁ + K₂₂ − 2K₁₂`, as in the paper's "
        "Lemma 2. In the equation to be solved for the new alpha, the term with `x^(γ−1)` has the "
        "wrong sign: with `η x` on the right it must be added, not subtracted. (The paper's γ is "
        "the conjugate exponent `q = p/(p−1)` here.)",
    ),
    Erratum(
        "The published solver knows two exponents",
        "For every p other than 1.5 it takes the update of p = 2. Table 2 needs only these two; "
        "`psvm.paper.psmo` solves the equation for every p.",
    ),
    Erratum(
        "Table 2 stops early and looks at the test part",
        "pSMO was stopped after a budget of steps per pair of classes, or once a sweep changed "
        "alpha by less than 1e-4; neither is the optimum. And C was the best one on the test part. "
        "The exact variant here goes to a certified optimum and chooses C by cross-validation on "
        "the training part.",
    ),
    Erratum(
        "The rivals of Table 2 were not run",
        "Their accuracies are quoted from Nie et al. (2024). On Glass one test row is 2.3 points, "
        "so another split alone moves a number by more than most differences in the table.",
    ),
    Erratum(
        "Scaling before splitting",
        "Features were standardised over all rows, so the means and variances of the test rows "
        "entered the training. The effect is small, but the test part is not unseen. The rerun "
        "keeps this.",
    ),
    Erratum(
        "The first term of the bound need not fall with p",
        "After Corollary 1 the paper says that the empirical term decreases as p grows. "
        "`max(0, 1 − y f)^p` falls with p only where the slack is below 1: rows on the wrong side "
        "make it grow. The clipped loss of Theorem 3 does fall.",
    ),
    Erratum(
        "The bound leaves out the intercept",
        "The complexity of `x ↦ ⟨w, x⟩ + b` is bounded as if b were one fixed number; with b free "
        "the supremum is infinite. The bound holds without b, or with b counted as one more "
        "weight, as `psvm.bounds` does.",
    ),
    Erratum(
        "What is bounded is the probability of a wrong answer",
        "The paper writes the expected margin loss on the left side. The step from one margin ρ to "
        "all of them compares with a smaller margin, and so does not bound that loss; it bounds "
        "the probability of a wrong answer, which is what one wants to know.",
    ),
)
"""In the order of their weight for the tables."""
