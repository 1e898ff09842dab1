"""Rankers that put the passages of a source in order."""
