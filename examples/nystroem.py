"""Nystroem features with LinearPSVC beside PSVC: accuracy and time for a curved boundary.

Both use the rbf kernel with the same gamma, p and C. PSVC solves the kernel problem itself; the
pipelines solve it for a kernel approximated by some sampled rows, in time linear in the rows.

    python examples/nystroem.py --rows 20000 --components 100 300 1000
"""

import argparse
import time

from sklearn.base import ClassifierMixin
from sklearn.datasets import make_classification
from sklearn.kernel_approximation import Nystroem
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from psvm import PSVC, LinearPSVC

FEATURES = 10
GAMMA = 1 / FEATURES  # what gamma="scale" is on standardised features


def models(p: float, C: float, components: list[int]) -> dict[str, ClassifierMixin]:
    """Name and pipeline of every line of the table."""
    lines = {"linear": make_pipeline(StandardScaler(), LinearPSVC(p=p, C=C))}
    for count in components:
        features = Nystroem(gamma=GAMMA, n_components=count, random_state=0)
        name = f"Nystroem {count}"
        lines[name] = make_pipeline(StandardScaler(), features, LinearPSVC(p=p, C=C))
    lines["PSVC, rbf"] = make_pipeline(StandardScaler(), PSVC(p=p, C=C, gamma=GAMMA))
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=4000, help="training rows")
    parser.add_argument("--components", type=int, nargs="+", default=[100, 300], help="features")
    parser.add_argument("--p", type=float, default=1.5)
    parser.add_argument("--C", type=float, default=1.0)
    options = parser.parse_args()

    X, y = make_classification(
        2 * options.rows,
        n_features=FEATURES,
        n_informative=FEATURES,
        n_redundant=0,
        n_clusters_per_class=2,
        flip_y=0.02,
        random_state=0,
    )
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, random_state=0)
    print(
        f"{len(y_train)} training rows, {len(y_test)} test rows, {FEATURES} features, "
        f"p = {options.p:g}, C = {options.C:g}\n\n"
        "model             fit seconds   test accuracy       gap"
    )
    for name, model in models(options.p, options.C, options.components).items():
        start = time.perf_counter()
        model.fit(X_train, y_train)
        seconds = time.perf_counter() - start
        print(
            f"{name:<16}  {seconds:>11.2f}  {100 * model.score(X_test, y_test):>12.2f} %  "
            f"{model[-1].dual_gap_.max():>8.1e}"
        )


if __name__ == "__main__":
    main()
