"""A reader that knows the gold passages, which measures a retrieval policy without a language model."""

from prefrag.evaluation.simulated_reader.reader import SimulatedReader

__all__ = ["SimulatedReader"]
