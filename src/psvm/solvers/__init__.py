"""Solvers: one algorithm per module, each a function from a problem to a Solution."""
