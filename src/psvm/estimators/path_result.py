"""PSVMPath: the models along a grid of p and C, as arrays."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np
import numpy.typing as npt

from psvm.mathematics.multiclass import class_pairs, coefficients_of_pair

Array = npt.NDArray[np.float64]
KernelParameter = str | Callable[[Any, Any], Any]


@dataclass(frozen=True, eq=False, repr=False)
class PSVMPath:
    """The models of :func:`psvm_path`: entry ``[i, j]`` of an array is the one of (ps[i], Cs[j]).

    Binary problems are in the order of :class:`psvm.PSVC`.

    Attributes
    ----------
    ps : ndarray of shape (n_ps,)
        Exponents, ascending.
    Cs : ndarray of shape (n_Cs,)
        Costs, ascending.
    classes : ndarray of shape (n_classes,)
        The labels, sorted; none in regression.
    kernel : str or callable
        The kernel.
    multi_class : {"ovo", "ovr"}
        How classes became binary problems.
    tol : float
        Relative duality gap that was asked for.
    codes : ndarray of int, shape (n_samples,)
        Number of the class of every training row; all 0 in regression.
    feature_names : ndarray of str or None
        Names of the features, if X has any.
    coef : ndarray of shape (n_ps, n_Cs, n_problems, n_features) or None
        Weights w; for the linear kernel only.
    dual_coef : ndarray of shape (n_ps, n_Cs, n_classes - 1, n_samples) or None
        ``alpha_i y_i`` as in ``PSVC.dual_coef_``, but with a column for every training row: 0 where
        a row is no support vector. None for the linear kernel, whose solvers work with w. In
        regression it has one row, as ``PSVR.dual_coef_``.
    intercept : ndarray of shape (n_ps, n_Cs, n_problems)
        Intercepts b.
    n_support : ndarray of int, shape (n_ps, n_Cs, n_classes)
        Number of support vectors per class; in regression one number.
    primal_objective, dual_objective : ndarray of shape (n_ps, n_Cs, n_problems)
        P and D of each binary problem; the optimum lies between them.
    dual_gap : ndarray of shape (n_ps, n_Cs, n_problems)
        Relative duality gap ``(P - D) / P``.
    n_iter : ndarray of int, shape (n_ps, n_Cs, n_problems)
        Outer iterations (rounds).
    seconds : ndarray of shape (n_ps, n_Cs)
        Time of each fit.
    score : ndarray of shape (n_ps, n_Cs) or None
        Score on the validation rows, if there were any.

    Notes
    -----
    Where ``max_time`` ended the path early, floats are NaN and counts 0; ``computed`` tells.
    """

    ps: Array
    Cs: Array
    classes: npt.NDArray[Any]
    kernel: KernelParameter
    multi_class: str
    tol: float
    codes: npt.NDArray[np.int32]
    feature_names: npt.NDArray[Any] | None
    coef: Array | None
    dual_coef: Array | None
    intercept: Array
    n_support: npt.NDArray[np.int64]
    primal_objective: Array
    dual_objective: Array
    dual_gap: Array
    n_iter: npt.NDArray[np.int64]
    seconds: Array
    score: Array | None

    @property
    def task(self) -> str:
        """What the models are for: "classification" or "regression"."""
        return "classification" if self.classes.size else "regression"

    @property
    def computed(self) -> npt.NDArray[np.bool_]:
        """Which models exist, shape (n_ps, n_Cs): all, unless ``max_time`` ended the path early."""
        return np.asarray(~np.isnan(self.seconds))

    def index(self, p: float, C: float) -> tuple[int, int]:
        """Place of a model in the arrays.

        Parameters
        ----------
        p, C : float
            Exponent and cost, equal to an entry of ``ps`` and of ``Cs`` up to rounding.

        Returns
        -------
        tuple of int
            i and j of ``ps[i]`` and ``Cs[j]``.
        """
        return _place("p", p, self.ps), _place("C", C, self.Cs)

    def support(self, p: float, C: float) -> npt.NDArray[np.intp]:
        """Indices of the support vectors of one model; not for the linear kernel.

        Parameters
        ----------
        p, C : float
            Exponent and cost of the model.

        Returns
        -------
        ndarray of int
            Numbers of training rows, ascending.
        """
        return np.flatnonzero(self._known_dual_coef()[self.index(p, C)].any(axis=0))

    def problem_dual_coef(self, problem: int) -> Array:
        """``alpha_i y_i`` of one binary problem for all models; not for the linear kernel.

        Parameters
        ----------
        problem : int
            Number of the binary problem.

        Returns
        -------
        ndarray of shape (n_ps, n_Cs, n_samples)
            0 for rows that take no part in the problem.
        """
        dual_coef = self._known_dual_coef()
        self._check_problem(problem)
        k = self.classes.size
        if k <= 2 or self.multi_class == "ovr":
            return dual_coef[:, :, problem]
        return coefficients_of_pair(dual_coef, self.codes, *class_pairs(k)[problem])

    def _check_problem(self, problem: int) -> None:
        """Refuse what is not the number of a binary problem."""
        n_problems = self.intercept.shape[2]
        if not (isinstance(problem, Integral) and 0 <= problem < n_problems):
            raise ValueError(f"`problem` must be from 0 to {n_problems - 1}, got {problem!r}.")

    def _known_dual_coef(self) -> Array:
        if self.dual_coef is None:
            raise ValueError(
                "The path of a linear kernel has the weights (`coef`) and the number of support "
                "vectors (`n_support`), not which rows they are; "
                f"{'PSVC' if self.classes.size else 'PSVR'}(kernel='linear') tells."
            )
        return self.dual_coef

    def __repr__(self) -> str:
        kernel = self.kernel if isinstance(self.kernel, str) else "callable"
        done = self.computed
        answers = f"{self.classes.size} classes" if self.classes.size else "regression"
        lines = [
            f"PSVMPath of {done.sum()}{'' if done.all() else f' (of {done.size})'} models: "
            f"{kernel} kernel, {self.codes.size} rows, {answers}, "
            f"{self.n_iter.sum()} rounds, {np.nansum(self.seconds):.3g} s",
            "     p  C                     support vectors   largest gap"
            + ("" if self.score is None else "   best score"),
        ]
        for i, p in enumerate(self.ps):
            (known,) = np.nonzero(done[i])
            if known.size == 0:
                lines.append(f"{p:6.4g}  not computed")
                continue
            first, last = known[0], known[-1]
            costs = f"{self.Cs[first]:.3g} to {self.Cs[last]:.3g}"
            counts = self.n_support[i, [first, last]].sum(axis=1)
            row = f"{p:6.4g}  {costs:20}  {f'{counts[0]} to {counts[1]}':16}"
            row += f"  {self.dual_gap[i, known].max():<11.1e}"
            if self.score is not None:
                best = int(np.nanargmax(self.score[i]))
                row += f"   {self.score[i, best]:.4f} at C = {self.Cs[best]:.3g}"
            lines.append(row.rstrip())
        return "\n".join(lines)


def _place(name: str, value: float, values: Array) -> int:
    """Index of a value among others, up to rounding."""
    number = value if isinstance(value, Real) else np.nan
    (found,) = np.nonzero(np.isclose(values, number, rtol=1e-6, atol=0.0))
    if found.size == 0:
        known = ", ".join(f"{v:g}" for v in values)
        raise ValueError(f"`{name}` must be a value of the path ({known}), got {value}.")
    return int(found[0])
