"""A cluster of two worker processes, for all tests of this folder that leave it as it was."""

import pytest

distributed = pytest.importorskip("distributed")


@pytest.fixture(scope="session")
def client():
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    with (
        distributed.LocalCluster(processes=True, **options) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client
