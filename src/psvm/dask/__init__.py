"""Estimators for more rows than one machine holds, on a Dask cluster.

Needs ``pip install '.[dask]'`` in a clone of the repository.
"""

from psvm.dask.cluster import ClusterError
from psvm.dask.linear_svc import DaskLinearPSVC
from psvm.dask.linear_svr import DaskLinearPSVR
from psvm.dask.nystroem import make_nystroem

__all__ = ["ClusterError", "DaskLinearPSVC", "DaskLinearPSVR", "make_nystroem"]
