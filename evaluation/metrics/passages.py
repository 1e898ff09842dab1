"""Score the retrieval: which of the gold passages are among the documents that the model was shown.

Passages are compared by their ids. A gold passage is a passage that the dataset marks as needed for the answer.
"""

from collections.abc import Collection, Sequence

# Recall is also measured in the first 3, 5 and 7 documents. PrefRAG compares these numbers of documents per retrieval
# (section 4.3).
RANKS = (3, 5, 7)
# This number of shown gold passages counts as all of them for capped recall, which is then 1. Some BioASQ questions
# have far more gold passages than a model is shown. For these, full recall is out of reach.
ENOUGH = 5


def passage_scores(shown: Sequence[str], gold: Collection[str]) -> dict[str, float]:
    """Score the documents that the model was shown.

    :param shown: The ids of the documents, in the order of their ranks.
    :param gold: The ids of the gold passages.
    :returns: ``recall``, ``recall_all``, ``recall_capped``, ``precision``, ``recall_at_3``, ``recall_at_5`` and
        ``recall_at_7``, from 0 to 1. Empty if the question has no gold passages.
    """
    if not gold:
        return {}
    return {
        "recall": recall(shown, gold),
        "recall_all": recall_all(shown, gold),
        "recall_capped": recall_capped(shown, gold),
        "precision": precision(shown, gold),
        **{f"recall_at_{k}": recall(shown[:k], gold) for k in RANKS},
    }


def recall(shown: Collection[str], gold: Collection[str]) -> float:
    """Measure the share of the gold passages that were shown.

    For example, ``recall(["a", "b"], ["b", "c"])`` returns ``0.5``.

    :param shown: The ids of the documents.
    :param gold: The ids of the gold passages, at least one.
    :returns: Recall, from 0 to 1.
    """
    return _hits(shown, gold) / len(set(gold))


def recall_all(shown: Collection[str], gold: Collection[str]) -> float:
    """Check whether all gold passages were shown.

    :param shown: The ids of the documents.
    :param gold: The ids of the gold passages.
    :returns: 1.0 if all were shown, otherwise 0.0.
    """
    return float(set(gold) <= set(shown))


def recall_capped(shown: Collection[str], gold: Collection[str], enough: int = ENOUGH) -> float:
    """Measure recall, but require at most ``enough`` gold passages.

    For example, ``recall_capped(["a", "b"], ["a", "b", "c"], enough=2)`` returns ``1.0``.

    :param shown: The ids of the documents.
    :param gold: The ids of the gold passages, at least one.
    :param enough: The number of shown gold passages that is enough for a recall of 1.
    :returns: Capped recall, from 0 to 1.
    """
    needed = min(enough, len(set(gold)))
    return min(_hits(shown, gold), needed) / needed


def precision(shown: Collection[str], gold: Collection[str]) -> float:
    """Measure the share of the shown documents that are gold passages.

    :param shown: The ids of the documents.
    :param gold: The ids of the gold passages.
    :returns: Precision, from 0 to 1. It is 0 if no document was shown.
    """
    return _hits(shown, gold) / len(set(shown)) if shown else 0.0


def _hits(shown: Collection[str], gold: Collection[str]) -> int:
    """Count the different gold passages that were shown."""
    return len(set(shown) & set(gold))
