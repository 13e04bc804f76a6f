"""The paper "pSVM: Soft-margin SVMs with p-norm Hinge Loss", rerun.

Nothing here is imported by ``import psvm``, and this package imports none of its modules: take what
you need, for instance ``from psvm.paper import published``.
"""
