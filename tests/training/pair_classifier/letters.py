"""Pairs of documents that are letters."""

import numpy as np
from haystack import Document

from prefrag.training.pair_classifier.pool import Pool


def pool(pairs: str, gold: str, dataset: str = "letters") -> Pool:
    """A question whose pairs are written as ``ab ac``."""
    documents = {key: Document(id=key, content=key) for key in pairs.replace(" ", "")}
    made = tuple((documents[first], documents[second]) for first, second in pairs.split())
    return Pool(dataset, "Which?", frozenset(gold), (), made, np.zeros((len(made), 1)))
