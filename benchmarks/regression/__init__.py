"""Regression beside other libraries; every objective is recomputed by one referee."""
