"""Check whether another document of the same source gives a different answer than the best-ranked answer."""

import re
from collections.abc import Mapping, Sequence

from haystack import Document

from prefrag.components.reader.second_look import SecondLook
from prefrag.components.reader.span_candidates import YEAR
from prefrag.components.reader.span_features import Spans
from prefrag.components.state.evidence import find_whole
from prefrag.components.state.newness import date_of, is_newer
from prefrag.components.state.places import standing_of

# A question with one of these words may ask about the past: no newer answer is then preferred. The list is incomplete.
_BEFORE = re.compile(
    r"\b(?:first|original(?:ly)?|previous(?:ly)?|former(?:ly)?|earlier|before|until|old(?:er)?|used to)\b",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"\d+")
# What tells one thing from another of its kind: a name, a letter as in "Hall B", a number.
_NAMING = re.compile(r"\b(?:[A-Z]\w*|\w*\d\w*)\b")
# The sentence of the best answer must cover at least the share _LEAST of the question. Another passage counts as being
# about the same thing if its best sentence covers at least _SHARE times as much. The score of another answer may be at
# most _MARGIN below the best score.
_SHARE, _LEAST, _MARGIN = 0.8, 0.5, 3.0
# Two sentences are of one form if they share at least this part of the words around their answers.
_SAME_FORM = 0.45


def find_newer_answer(
    question: str, chosen: Sequence[tuple[int, float]], spans: Spans, documents: Sequence[Document], look: SecondLook
) -> tuple[bool, int]:
    """Find out whether a newer document covers what is asked, and which answer to use.

    Documents with the label "superseded", "draft" or "old" count as older than all current documents of their source.
    Between current documents the dates decide, and between versions of a file without dates the versions. Any other
    document without a date is neither newer nor older than another.

    :param chosen: The best answers, best first, each as the index of its span and its score.
    :param look: Measures how much of the question a passage or a candidate's sentence covers.
    :returns: First, whether a document about the same thing is newer than all documents that state the best answer.
        Second, the index in `chosen` of the answer to use: the newest answer whose sentence covers at least as much of
        the question as the best answer's sentence. The index is 0 (the best answer) if no other answer is newer, or if
        the question names a year or asks about the past.
    """

    def held(place: int) -> float:
        return look.holds_of(spans.candidates[place])

    def same_answers(place: int) -> list[int]:
        return [other for other, key in enumerate(spans.keys) if key == spans.keys[place]]

    # For each answer all its spans.
    places = [same_answers(place) for place, _ in chosen]
    stating = max(places[0], key=held)
    least = held(stating)
    if least < _LEAST:
        return False, 0
    source = documents[spans.candidates[stating].passage].meta.get("source")
    current = {
        place: document.meta
        for place, document in enumerate(documents)
        if standing_of(document.meta) is None and document.meta.get("source") == source
    }
    # Those about the same thing, with all numbers of the question.
    numbers = set(_NUMBER.findall(question))
    speaking: dict[int, dict[str, object]] = {}
    for place, meta in current.items():
        own_numbers = set(_NUMBER.findall(_titled_text(documents[place])))
        if look.most_of(place) >= _SHARE * least and numbers <= own_numbers:
            speaking[place] = meta
    of_best = [spans.candidates[place].passage for place in places[0] if held(place) >= least]
    # `best` is empty if only documents of this source with the label "superseded", "draft" or "old" state the answer.
    best = [current[passage] for passage in of_best if passage in current]
    newest = 0
    if not any(_is_newest(meta, best) for meta in speaking.values()):
        return False, 0
    if not (YEAR.search(question) or _BEFORE.search(question)):
        for number, (_, score) in enumerate(chosen):
            others = [spans.candidates[place] for place in places[number] if held(place) >= least]
            metas = [speaking[one.passage] for one in others if one.passage in speaking and one.kind != "title"]
            newer = [meta for meta in metas if _is_newest(meta, best)]
            if score >= chosen[0][1] - _MARGIN and newer:
                best, newest = newer, number
    return True, newest


def has_rival(
    question: str, chosen: Sequence[tuple[int, float]], spans: Spans, documents: Sequence[Document], look: SecondLook
) -> bool:
    """Check whether two documents without a date give different answers in sentences of one form.

    Nothing tells then which of them holds, as with two copies of the same rules. A document that lacks a name, letter
    or number of the question which the best one has is about another thing, as Hall B is beside Hall A.

    :param chosen: The best answers, best first, each as the index of its span and its score.
    :param look: Measures how much of the question a candidate's sentence covers.
    :returns: Whether another of the answers rivals the best one.
    """
    key = spans.keys[chosen[0][0]]
    best = max((one for one, own in zip(spans.candidates, spans.keys, strict=True) if own == key), key=look.holds_of)
    least, form, document = look.holds_of(best), look.form_of(best), documents[best.passage]
    if least < _LEAST or date_of(document.meta):
        return False
    asked_names = set(_NAMING.findall(question)) & _namings_of(document)
    for place, _ in chosen[1:]:
        rival, other = spans.candidates[place], documents[spans.candidates[place].passage]
        spaced, rival_spaced = f" {key} ", f" {spans.keys[place]} "
        is_alike = rival_spaced in spaced or spaced in rival_spaced
        if is_alike or rival.passage == best.passage:
            continue
        if date_of(other.meta) or other.meta.get("source") != document.meta.get("source"):
            continue
        if find_whole(best.text, other.content or ""):
            continue
        if not asked_names <= _namings_of(other):
            continue
        around = look.form_of(rival)
        if look.holds_of(rival) >= least and len(around & form) >= _SAME_FORM * len(around | form):
            return True
    return False


def _namings_of(document: Document) -> set[str]:
    return set(_NAMING.findall(_titled_text(document)))


def _titled_text(document: Document) -> str:
    return f"{document.meta.get('title')} {document.content}"


def _is_newest(meta: Mapping[str, object], others: Sequence[Mapping[str, object]]) -> bool:
    return all(is_newer(meta, other) for other in others)
