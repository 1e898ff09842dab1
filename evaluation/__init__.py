"""Datasets, metrics, the runner, the simulated reader and the report: numbers that anyone can reproduce."""
