"""Check whether a newer document of the same source says something else than the answer that was found."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from haystack import Document

from prefrag.components.reader.second_look import SecondLook
from prefrag.components.reader.span_candidates import YEAR
from prefrag.components.reader.span_features import Spans
from prefrag.components.state.places import standing_of

# Such a question may ask for what held before; one that does so in other words is shown what holds now.
_BEFORE = re.compile(
    r"\b(?:first|original(?:ly)?|previous(?:ly)?|former(?:ly)?|earlier|before|until|old(?:er)?|used to)\b",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"\d+")
# A sentence speaks of the same thing if it holds this share of what the answer's sentence holds of the question, which
# is at least the second. A real answer lacks at most the third of the best one's score.
_SHARE, _LEAST, _MARGIN = 0.8, 0.5, 3.0


def find_newer_answer(
    question: str,
    chosen: Sequence[tuple[int, float]],
    spans: Spans,
    documents: Sequence[Document],
    look: SecondLook,
) -> tuple[bool, int]:
    """Find out whether a newer document speaks of what is asked, and whether it has an answer.

    Any current document of the source counts as newer than one that calls itself superseded, a draft or old. Of a
    document without a date nobody can say whether it is newer.

    :param question: The question.
    :param chosen: The spans of the best answers and their scores, the best first.
    :param spans: The spans.
    :param documents: The documents of the passages.
    :param look: The second look at the passages.
    :returns: Whether one speaks of it and does not state the same, and the place of the answer among the chosen ones
        that counts: that of the newest document whose sentence holds no less of the question, else the best one, as
        also where the question names a year or asks for what was before.
    """
    places = [[other for other, key in enumerate(spans.keys) if key == spans.keys[place]] for place, _ in chosen]
    least = max(look.holds_of(spans.candidates[place]) for place in places[0])
    if least < _LEAST:
        return False, 0
    source, numbers = (
        documents[spans.candidates[chosen[0][0]].passage].meta.get("source"),
        set(_NUMBER.findall(question)),
    )
    current = {
        place: _date(one)
        for place, one in enumerate(documents)
        if standing_of(one.meta) is None
        and one.meta.get("source") == source
        and numbers <= set(_NUMBER.findall(f"{one.meta.get('title')} {one.content}"))
    }

    def dates_of(places: Iterable[int]) -> list[str]:
        stating = [one for one in map(spans.candidates.__getitem__, places) if one.kind != "title"]
        return [current[one.passage] for one in stating if one.passage in current and look.holds_of(one) >= least]

    best, found = dates_of(places[0]), 0
    speaking = [date for place, date in current.items() if look.most_of(place) >= _SHARE * least]
    if not any(_is_newer(date, best) for date in speaking):
        return False, 0
    if not (YEAR.search(question) or _BEFORE.search(question)):
        for number, (_, score) in enumerate(chosen):
            newer = [date for date in dates_of(places[number]) if _is_newer(date, best)]
            if score >= chosen[0][1] - _MARGIN and newer:
                best, found = newer, number
    return True, found


def _date(document: Document) -> str:
    date = str(document.meta.get("date") or "")
    return date if date[:4].isdigit() else ""


def _is_newer(date: str, others: Sequence[str]) -> bool:
    # A year or a month may lie on either side of one of its days.
    return all(date[:common] > other[:common] for other in others for common in [min(len(date), len(other))])
