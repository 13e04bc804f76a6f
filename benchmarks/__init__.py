"""Benchmarks of psvm beside other SVM libraries; start with ``python -m benchmarks --help``."""
