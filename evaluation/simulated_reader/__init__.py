"""A simulated reader, which knows the gold passages, so that retrieval is measured without a language model."""

from prefrag.evaluation.simulated_reader.reader import SimulatedReader

__all__ = ["SimulatedReader"]
