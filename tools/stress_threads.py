"""Whether fits, searches and predictions in many threads at once give what each gives alone.

    python tools/stress_threads.py --seconds 60

With nothing but what psvm itself requires, for free-threaded Pythons lack wheels of the tests'
packages. There the interpreter's lock must stay off; elsewhere the threads take turns in Python
and overlap in the core only.
"""

import argparse
import itertools
import pickle
import sys
import threading
import time
import warnings
from collections.abc import Callable

import numpy as np
from scipy.sparse import csr_array
from sklearn.datasets import make_classification

import psvm
from psvm import PSVC, PSVCCV, LinearPSVC, psvm_path

Job = Callable[[], np.ndarray]
KERNELS = ("linear", "poly", "rbf", "laplacian")  # not sigmoid, whose optimum is not one

X, y = make_classification(240, 6, n_informative=4, n_classes=3, random_state=0)
SPARSE = csr_array(np.where(np.abs(X) > 0.7, X, 0.0))


def decisions(model: object, rows: object = X) -> Job:
    """Fit a copy of its own, and decide."""
    return lambda: model.__class__(**model.get_params()).fit(rows, y).decision_function(rows)


def product_kernel(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """A function of Python's, called back from the core."""
    return (1.0 + A @ B.T) ** 2


def wrong_input() -> np.ndarray:
    """An error leaves a thread as an error."""
    try:
        PSVC().fit(np.full_like(X, np.nan), y)
    except ValueError:
        return np.ones(1)
    return np.zeros(1)


def path() -> np.ndarray:
    """Many models at once."""
    return psvm_path(X, y, ps=(1, 2), Cs=(0.1, 1.0), tol=1e-8).primal_objective


def search(jobs: int) -> Job:
    """The scores of a search with threads of its own."""

    def scores() -> np.ndarray:
        found = PSVCCV(ps=(1, 1.5), Cs=(0.1, 1.0), gammas=(0.1, 1.0), cv=3, n_jobs=jobs)
        return found.fit(X, y).cv_results_["mean_test_score"]

    return scores


def all_jobs() -> dict[str, Job]:
    """Every solver and kind of rows; models that all threads share."""
    jobs: dict[str, Job] = {"wrong input": wrong_input, "path": path}
    for kernel, p in itertools.product(KERNELS, (1, 1.5)):
        jobs[f"PSVC {kernel} p={p}"] = decisions(PSVC(p, kernel=kernel, gamma=0.3, tol=1e-8))
    jobs["PSVC function"] = decisions(PSVC(2, kernel=product_kernel, tol=1e-8))
    jobs["PSVC sparse"] = decisions(PSVC(1.5, tol=1e-8), SPARSE)
    jobs["PSVC float32"] = decisions(PSVC(1.5, tol=1e-5), X.astype(np.float32))
    jobs["PSVC two threads"] = decisions(PSVC(1.5, tol=1e-8, n_jobs=2))
    for solver in ("semismooth_newton", "coordinate_descent"):
        jobs[f"LinearPSVC {solver}"] = decisions(LinearPSVC(1.5, solver=solver, tol=1e-8))
        jobs[f"LinearPSVC {solver} sparse"] = decisions(
            LinearPSVC(2, solver=solver, tol=1e-8), SPARSE
        )
    for threads in (1, 2):
        jobs[f"PSVCCV n_jobs={threads}"] = search(threads)
    for model, rows in ((PSVC(1.5), X), (LinearPSVC(1.5), X), (PSVC(2), SPARSE)):
        jobs |= shared_by_all(model.fit(rows, y), rows)
    return jobs


def shared_by_all(model: object, rows: object) -> dict[str, Job]:
    """One fitted model, asked by every thread and copied while others ask."""
    name = f"a shared {type(model).__name__} of {type(rows).__name__}"
    return {
        f"{name} decides": lambda: model.decision_function(rows),
        f"{name} is pickled": lambda: pickle.loads(pickle.dumps(model)).decision_function(rows),
    }


def overlap(jobs: dict[str, Job], alone: dict[str, np.ndarray], threads: int, until: float) -> int:
    """Number of runs by threads that begin together, each in an order of its own."""
    begin = threading.Barrier(threads)
    wrong: list[str] = []
    done = [0] * threads

    def work(number: int) -> None:
        order = np.random.default_rng(number).permutation(list(jobs))
        try:
            begin.wait()
            for name in itertools.cycle(order.tolist()):
                if time.monotonic() > until or wrong:
                    return
                answer = jobs[name]()
                if not np.allclose(answer, alone[name], rtol=1e-3, atol=1e-3):
                    wrong.append(f"{name}: off by {np.max(np.abs(answer - alone[name])):.1e}")
                done[number] += 1
        except Exception as error:  # a thread's own traceback would be lost among the others'
            wrong.append(f"{type(error).__name__}: {error}")
            raise

    workers = [threading.Thread(target=work, args=(number,)) for number in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    if wrong:
        raise SystemExit(f"stress of threads: {wrong[0]}")
    return sum(done)


def main() -> int:
    """Alone, then together."""
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--seconds", type=float, default=60.0)
    options.add_argument("--threads", type=int, default=8)
    given = options.parse_args()
    free = hasattr(sys, "_is_gil_enabled") and not sys._is_gil_enabled()
    build = "t" if "t" in getattr(sys, "abiflags", "") else ""
    print(f"psvm {psvm.__version__}, Python {sys.version.split()[0]}{build}, lock", end=" ")
    print("off" if free else "on", flush=True)
    if build and not free:
        raise SystemExit("stress of threads: a module has turned the interpreter's lock on")
    warnings.simplefilter("ignore")  # of scores at the edge of a grid
    jobs = all_jobs()
    alone = {name: job() for name, job in jobs.items()}
    runs = overlap(jobs, alone, given.threads, time.monotonic() + given.seconds)
    print(f"{runs} runs of {len(jobs)} jobs in {given.threads} threads: each as alone")
    if build and sys._is_gil_enabled():
        raise SystemExit("stress of threads: the lock was turned on on the way")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
