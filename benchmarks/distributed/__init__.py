"""Rows on a Dask cluster: ``python -m benchmarks.distributed``."""
