"""A sound file, for the tests that change it."""

import pytest
from model_files import X, Y
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from psvm import PSVC
from psvm.persistence import save


@pytest.fixture(scope="session")
def whole(tmp_path_factory):
    """Bytes of a sound file, and the decision values of its model."""
    pytest.importorskip("skops.io")
    path = tmp_path_factory.mktemp("whole") / "m.psvm"
    model = make_pipeline(StandardScaler(), PSVC()).fit(X, Y)
    save(model, path)
    return path.read_bytes(), model.decision_function(X)
