"""What all classifiers share: attributes that change together, and the verdict on a fit."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from psvm import PSVC
from psvm.estimators.base import all_or_nothing
from psvm.estimators.classifier import ClassifierSettings
from psvm.mathematics.certificate import Certificate
from psvm.mathematics.loss import PNormHinge
from psvm.solvers.ledger import Budget, Solution, Status


class Holder:
    pass


def settings(C=1.0, multi_class="ovo"):
    return ClassifierSettings(PNormHinge(1.5), C, True, Budget(tol=1e-4), 1, multi_class)


def solution(gap, status=Status.CONVERGED):
    return Solution(lambda: np.zeros(1), Certificate(1.0, 1.0 - gap, gap, 0.0), status)


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_what_fails_inside_leaves_all_attributes_as_they_were(error):
    holder = Holder()
    holder.kept, holder.changed = kept, changed = [1], 2

    def change_and_fail():
        with all_or_nothing(holder):
            holder.changed, holder.added = 3, 4
            del holder.kept
            raise error

    with pytest.raises(error):
        change_and_fail()
    assert vars(holder) == {"kept": [1], "changed": 2}
    assert holder.kept is kept
    assert holder.changed is changed


def test_what_succeeds_inside_stays():
    holder = Holder()
    with all_or_nothing(holder):
        holder.added = 4
    assert vars(holder) == {"added": 4}


@pytest.mark.parametrize(
    ("k", "way", "pairs"), [(2, "ovo", False), (3, "ovo", True), (3, "ovr", 0)]
)
def test_pairs_of_more_than_two_classes(k, way, pairs):
    assert settings(multi_class=way).pairwise(k) == bool(pairs)


def test_a_hard_margin_that_does_not_exist_is_refused():
    unbounded = solution(np.inf, Status.UNBOUNDED)
    with pytest.raises(ValueError, match="not separable in this kernel"):
        PSVC()._judge([solution(0.0), unbounded], settings(C=np.inf))


@pytest.mark.parametrize(
    ("status", "remedy"),
    [
        (Status.MAX_ITER, "raise max_iter"),
        (Status.MAX_TIME, "raise max_time"),
        (Status.STOPPED, "let the callback go on"),
        (Status.STALLED, "lower C"),
    ],
)
def test_the_worst_problem_is_told_with_a_remedy(status, remedy):
    solved = [solution(1e-5), solution(2e-2, status), solution(1e-3, Status.MAX_ITER)]
    with pytest.warns(ConvergenceWarning, match=rf"2\.0e-02 .* 2 of 3 .*{remedy}"):
        PSVC()._judge(solved, settings())


def test_a_gap_within_tol_is_nothing_to_tell():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        PSVC()._judge([solution(1e-4)], settings())
