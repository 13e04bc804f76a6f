"""Solvers of one kernel problem, and the choice among them."""
