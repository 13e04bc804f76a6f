"""The nine data sets of the paper, by name.

``load("heart")`` looks for ``heart.npz`` in the folder named by the environment variable
``PSVM_DATA``, then in the cache folder of the user, and then fetches the set from where the paper
took it (UCI, OpenML) into the cache. The files hold arrays ``X`` and ``y`` as the source has them:
unscaled, with the original labels. Fetching needs the package pooch: ``pip install
'.[paper]'`` in a clone of the repository.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import scale

from psvm.data.files import find
from psvm.data.network import fetch
from psvm.data.sources import ALIASES, SOURCES, Array, DataUnavailableError, Labels

__all__ = ["NAMES", "DataUnavailableError", "Dataset", "load"]

NAMES = (
    "cancer",
    "heart",
    "ionosphere",
    "wine",
    "banknote",
    "glass",
    "vehicle",
    "dermatology",
    "usps",
)
"""The sets of Table 1, then those of Table 2."""


class Dataset(NamedTuple):
    """A data set: ``X, y = load("heart")``.

    Attributes
    ----------
    X : ndarray of shape (n_samples, n_features)
        Features, float64.
    y : ndarray of shape (n_samples,)
        Labels: -1 and +1 for the sets of Table 1, those of the source for the sets of Table 2.
    """

    X: Array
    y: Labels


def load(name: str, *, scaled: bool = True, progress: bool = False) -> Dataset:
    """Load a data set of the paper, cleaned and labelled as the paper says.

    Rows with missing values are dropped. In the sets of Table 1 the label is +1 for: benign tumours
    (cancer), class 2, presence of disease (heart), class g (ionosphere), quality above 5 (wine),
    class 1 (banknote); and -1 for the others.

    Parameters
    ----------
    name : str
        One of :data:`NAMES`. "wine_quality" is another name of "wine".
    scaled : bool, default=True
        Whether every feature is given mean 0 and variance 1 *over the whole set*, test rows
        included, which is what the paper did. False returns the values of the source.
    progress : bool, default=False
        Whether a download is shown on standard error.

    Returns
    -------
    Dataset
        X and y, in the order of the rows in the source.

    Raises
    ------
    ValueError
        If there is no set of this name.
    DataUnavailableError
        If the set is neither in ``$PSVM_DATA`` nor in the cache and cannot be fetched, or if what
        was found is another set.

    Notes
    -----
    "cancer" comes with scikit-learn; the others have to be found or fetched. A set that is fetched
    from UCI must agree with a SHA-256 of its values. For "usps" the transfer is checked by the MD5
    that OpenML gives; of the values only shape and class counts are checked, because how OpenML
    prints and orders the rows could not be checked when this was written. A file that you put there
    yourself is checked for its shape and class counts.

    Examples
    --------
    >>> from psvm.data import load
    >>> X, y = load("cancer")
    >>> X.shape, sorted(set(y.tolist()))
    ((569, 30), [-1, 1])
    """
    known = ALIASES.get(name, name)
    if known not in NAMES:
        raise ValueError(f"There is no data set {name!r}; there are {', '.join(NAMES)}.")
    positive: tuple[str, ...]
    if known == "cancer":
        (X, y), positive = load_breast_cancer(return_X_y=True), ("1",)
    else:
        (X, y), positive = find(known) or fetch(known, progress), SOURCES[known].positive
    if positive:
        y = np.where(np.isin(y.astype(str), positive), 1, -1)
    return Dataset(scale(X) if scaled else X, y)
