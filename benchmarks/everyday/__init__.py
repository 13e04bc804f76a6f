"""Everyday problems: small fits, predictions of a few rows, small searches, beside scikit-learn.

The other suites show large sets; most fits in the world are small. Problems are drawn by seed
(:mod:`.problems`, :mod:`.regression_problems`), their rows made or read (:mod:`.rows`), and all
contenders take turns on them (:mod:`.turns`, :mod:`.contests`) in one process that may be ended
(:mod:`.process`).
"""
