"""Readers of the kinds of files that can be indexed, one module for each kind."""
