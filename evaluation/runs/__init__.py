"""Run an evaluation and keep its results."""
