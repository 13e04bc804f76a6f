"""What the oldest packages that psvm allows cannot do: marks for tests that go beyond them."""

from io import BytesIO

import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.metrics import accuracy_score, make_scorer
from sklearn.utils.validation import _get_feature_names


def _knows_polars():
    """scikit-learn before 1.9 asked frames for a protocol that polars 2 no longer has."""
    return _get_feature_names(pl.DataFrame({"a": [1.0]})) is not None


def _keeps_sparse_arrays():
    """SciPy 1.11 writes them, and what skops writes with it, as matrices."""
    file = BytesIO()
    sp.save_npz(file, sp.csr_array(np.eye(2)))
    file.seek(0)
    return isinstance(sp.load_npz(file), sp.csr_array)


def _scorers_list_weights():
    """Those of scikit-learn 1.7 say nothing of weights, and nothing is then refused."""
    return bool(make_scorer(accuracy_score).get_metadata_routing().score.requests)


needs_polars_in_sklearn = pytest.mark.skipif(
    not _knows_polars(), reason="this scikit-learn does not know the frames of this polars"
)
needs_kept_sparse_arrays = pytest.mark.skipif(
    not _keeps_sparse_arrays(), reason="this SciPy reads sparse arrays as matrices"
)
needs_scorers_with_weights = pytest.mark.skipif(
    not _scorers_list_weights(), reason="scorers of this scikit-learn do not refuse weights"
)
