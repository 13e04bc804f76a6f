"""Formulas: the loss, the problem, its certificate, and classes as binary problems."""
