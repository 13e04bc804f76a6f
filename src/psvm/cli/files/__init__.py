"""Data files: finding out what they are, and reading them a block at a time."""
