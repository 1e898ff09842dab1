"""A simulated reader that stands in for a language model, so that retrieval can be measured without a model.

It knows which passages a question needs (the gold passages), and answers correctly if these passages were found.
"""

from prefrag.evaluation.simulated_reader.reader import SimulatedReader

__all__ = ["SimulatedReader"]
