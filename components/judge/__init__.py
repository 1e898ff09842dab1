"""Judging whether the passages of the preferred source are worth keeping."""
