"""A reader that knows the gold passages, so that a retrieval policy is measured apart from a language model."""

from prefrag.evaluation.simulated_reader.reader import SimulatedReader

__all__ = ["SimulatedReader"]
