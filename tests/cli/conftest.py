"""Iris and a model of it, where a test file has no folder of its own."""

import pytest
from cli_data import write_iris, write_model


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """A folder with iris as CSV, and a model of it."""
    folder = tmp_path_factory.mktemp("shared")
    write_iris(folder, "csv")
    write_model(folder)
    return folder
