"""Regression beside other libraries: ``python -m benchmarks.regression``.

Kernel machines on real sets (:mod:`.kernel`), linear ones (:mod:`.linear`) and quantiles
(:mod:`.quantiles`); every objective is recomputed by one referee (:mod:`.referee`).
"""
