"""Score the retrieval by the gold passages among the documents that the model was shown."""

from collections.abc import Collection, Sequence

# PrefRAG compares these numbers of documents per retrieval (section 4.3).
RANKS = (3, 5, 7)
# Some BioASQ questions have far more gold passages than a model is shown. If this number is shown, capped recall is 1.
ENOUGH = 5


def passage_scores(shown: Sequence[str], gold: Collection[str]) -> dict[str, float]:
    """Score the documents that the model was shown.

    :returns: ``recall``, ``recall_all``, ``recall_capped``, ``precision``, and ``recall_at_3``, ``_5`` and ``_7``. The
        dictionary is empty if the question has no gold passages.
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
    """Measure the share of the gold passages that were shown."""
    return _hits(shown, gold) / len(set(gold))


def recall_all(shown: Collection[str], gold: Collection[str]) -> float:
    """Check whether all gold passages were shown."""
    return float(set(gold) <= set(shown))


def recall_capped(shown: Collection[str], gold: Collection[str], enough: int = ENOUGH) -> float:
    """Measure recall, where ``enough`` gold passages count as all of them."""
    wanted = min(enough, len(set(gold)))
    return min(_hits(shown, gold), wanted) / wanted


def precision(shown: Collection[str], gold: Collection[str]) -> float:
    """Measure the share of the documents shown that are gold passages."""
    return _hits(shown, gold) / len(set(shown)) if shown else 0.0


def _hits(shown: Collection[str], gold: Collection[str]) -> int:
    return len(set(shown) & set(gold))
