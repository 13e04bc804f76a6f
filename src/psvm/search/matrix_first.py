"""The search of a linear kernel over few rows: on the Gram matrix, then what that leaves.

Cells are followed on the shared matrix, with a limit on their steps: most are done in a small part
of the time that a fit of its own takes (digits, usps and cnae9 with five p ten times faster, two
classes of spambase level, of magic04 1.2 times slower). Cells that reach the limit on some split,
as with a large C on unscaled columns, are fitted split by split by the linear solvers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from psvm.search.board import Engine, FoldAnswers, Listener


class MatrixFirst:
    """The engine of two others.

    Parameters
    ----------
    on_matrix : Engine
        With a limit on its steps.
    whole_fits : Engine
        Solves the cells that are left.
    """

    exact = False  # pair steps leave digits open that a whole fit has

    def __init__(self, on_matrix: Engine, whole_fits: Engine) -> None:
        self._on_matrix, self._whole_fits = on_matrix, whole_fits

    def head_start(self, cell: int) -> None:
        """Nothing that the linear solvers could use."""

    def run(self, paths: Mapping[int, Sequence[int]], tol: float, listener: Listener) -> None:
        """Solve the path of cells of every given width, on the matrix as far as that goes."""
        left: dict[int, list[int]] = {}

        def on_width(gamma: int, answers: list[FoldAnswers]) -> None:
            solved = np.all([own.gap <= tol for own in answers], axis=0)
            left[gamma] = [
                cell for cell, done in zip(answers[0].cells, solved, strict=True) if not done
            ]
            listener.on_cells(int(solved.sum()) * sum(len(own.values) for own in answers))
            if solved.any():
                listener.on_width(gamma, [own.some(solved) for own in answers])

        # Only now is it known which cells are done: counted on the way, progress would stand at its
        # end while the others are fitted.
        on_matrix = replace(
            listener, on_cells=lambda _: None, on_width=on_width, on_first=lambda: None
        )
        self._on_matrix.run(paths, tol, on_matrix)
        self._whole_fits.run(
            {gamma: cells for gamma, cells in left.items() if cells}, tol, listener
        )
