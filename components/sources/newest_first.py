"""Put the newer of two equally good passages first.

A source uses this order after the ranking, so that the current version of a text comes before older versions.
"""

import math
from collections.abc import Sequence

from haystack import Document

# Two scores count as equal if they differ by at most this part of the higher score: a thousandth.
_SAME_SCORE = 1e-3
# Two passages are versions of the same text if at least this part of all their different words is in both.
_SAME_WORDS = 0.9


def newest_first(documents: Sequence[Document]) -> list[Document]:
    """Put the newer of two passages first if their scores are about equal, or if both are versions of the same text.

    For example, if the first and the third passage are versions of a text and the third is newer, they change places.
    Passages without a date keep their places.

    :param documents: The passages, best first. The date is in ``meta`` as ``date``, with the year first.
    :returns: The same passages in the new order.
    """
    # Only dates that begin with the year are used. Other forms, such as "20 May 1890", are not sorted correctly as
    # strings.
    # The words of each passage with such a date, by the place of the passage.
    words: dict[int, set[str]] = {}
    for place, document in enumerate(documents):
        year = str(document.meta.get("date"))[:4]
        if year.isdigit():
            words[place] = set((document.content or "").casefold().split())

    # The places of passages that are about equal, by the first of these places.
    groups: dict[int, list[int]] = {}
    for place in words:
        for first_place, group in groups.items():
            if _are_equal(documents[first_place], documents[place], words[first_place], words[place]):
                group.append(place)
                break
        else:
            # The passage is equal to none before it.
            groups[place] = [place]

    ordered = list(documents)
    for group in groups.values():
        # "2024" counts as older than all full dates of 2024. Passages with the same date keep their order.
        newest = sorted(group, key=lambda place: str(documents[place].meta["date"]), reverse=True)
        for place, place_of_newer in zip(group, newest, strict=True):
            ordered[place] = documents[place_of_newer]
    return ordered


def _are_equal(document: Document, other: Document, words: set[str], words_of_other: set[str]) -> bool:
    """Check whether two passages have about equal scores, or are versions of the same text. ``words`` are its words."""
    if (
        document.score is not None
        and other.score is not None
        and math.isclose(document.score, other.score, rel_tol=_SAME_SCORE)
    ):
        return True

    # Compare the numbers of words first, because that is faster and rules out most pairs.
    shorter, longer = sorted((len(words), len(words_of_other)))
    if longer == 0 or shorter < _SAME_WORDS * longer:
        return False
    common_words = words & words_of_other
    all_words = words | words_of_other
    return len(common_words) >= _SAME_WORDS * len(all_words)
