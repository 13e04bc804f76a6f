"""What can be wrong with a model file, or with a model for a file."""

from __future__ import annotations


class ModelFileError(ValueError):
    """A file that cannot be read as a model, with the reason and what to do about it."""


class UnsupportedModelError(ValueError):
    """A model that cannot be written in the wanted form, with the reason and a way out."""
