"""Whether an installed psvm works: a few seconds, with nothing but what psvm itself requires.

    python tools/smoke.py

For wheels, in an environment that has neither a compiler nor the tests' packages.
"""

import pickle
import sys
import threading
import warnings
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array
from sklearn.datasets import load_iris, make_classification
from sklearn.preprocessing import StandardScaler

import psvm
from psvm import PSVC, PSVCCV, PSVRCV, LinearPSVC, psvm_path, psvm_quantiles
from psvm.persistence import to_json
from psvm.search import GridEdgeWarning

SOURCE = Path(__file__).resolve().parents[1] / "src"


def check(what: str, holds: object) -> None:
    """Say what works; end where it does not."""
    print(f"  {'ok  ' if holds else 'FAIL'}  {what}")
    if not holds:
        raise SystemExit(f"smoke test: {what}: no")


def check_kernel_fits() -> None:
    """Every p of interest, three classes, certificates, equal answers after pickling."""
    X, y = load_iris(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    for p in (1, 1.5, 2):
        for dtype in (np.float32, np.float64):
            model = PSVC(p).fit(X.astype(dtype), y)
            good = model.score(X, y) > 0.95 and np.max(model.dual_gap_) <= model.tol
            check(f"PSVC(p={p:g}) on iris as {dtype.__name__}, certified", good)
    copy = pickle.loads(pickle.dumps(model))
    same = np.array_equal(copy.decision_function(X), model.decision_function(X))
    check("a pickled PSVC decides the same", same)
    check("to_json", to_json(model)["psvm"] == psvm.__version__)


def check_linear_fits() -> None:
    """Both solvers, dense and sparse rows."""
    X, y = make_classification(3000, 20, class_sep=2, random_state=0)
    for p in (1, 2):
        dense = LinearPSVC(p, tol=1e-6).fit(X, y)
        sparse = LinearPSVC(p, tol=1e-6).fit(csr_array(X), y)
        near = np.allclose(dense.coef_, sparse.coef_, rtol=1e-2, atol=1e-3)
        check(f"LinearPSVC(p={p}), sparse rows as dense", near and dense.score(X, y) > 0.9)


def check_searches() -> None:
    """Searches, a path and quantiles."""
    X, y = make_classification(200, 5, random_state=0)
    search = PSVCCV(ps=(1, 2), Cs=(0.1, 1, 10), gammas=("scale",)).fit(X, y)
    check("PSVCCV", search.best_score_ > 0.7)
    check("psvm_path", psvm_path(X, y, ps=(1, 2), Cs=(0.1, 1)) is not None)
    values = X[:, 0] + X[:, 1]
    search = PSVRCV(ps=(1, 2), Cs=(1, 10), gammas=("scale",)).fit(X, values)
    check("PSVRCV", search.best_score_ > 0.7)
    quantiles = psvm_quantiles(X, values, C=10).predict(X)
    check("psvm_quantiles", bool((np.diff(quantiles, axis=1) >= 0).all()))


def check_threads() -> None:
    """Fits in several threads at once give what one gives."""
    X, y = make_classification(600, 8, random_state=0)
    alone = PSVC(1.5).fit(X, y).decision_function(X)
    answers: list[np.ndarray] = []

    def fit() -> None:
        answers.append(PSVC(1.5).fit(X, y).decision_function(X))

    threads = [threading.Thread(target=fit) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    close = [np.allclose(one, alone, atol=1e-2) for one in answers]
    check("fits in four threads", len(close) == 4 and all(close))


def main() -> int:
    """All of them."""
    warnings.simplefilter("ignore", GridEdgeWarning)  # the grids are small
    print(f"psvm {psvm.__version__}, Python {sys.version.split()[0]}, NumPy {np.__version__}")
    check("psvm is the installed one", SOURCE not in Path(psvm.__file__).resolve().parents)
    check_kernel_fits()
    check_linear_fits()
    check_searches()
    check_threads()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
