"""Solvers of linear problems over blocks of rows, and the choice among them."""
