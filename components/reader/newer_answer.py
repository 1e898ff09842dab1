"""Check whether another document of the same source gives a different answer than the best answer.

Two cases are found. In the first, a newer document gives another answer, which is then preferred. In the second, two
documents give different answers in similar sentences, and at least one of them has no date. Then nothing shows which of
them holds.
"""

import re
from collections.abc import Mapping, Sequence

from haystack import Document

from prefrag.components.reader.second_look import SecondLook
from prefrag.components.reader.span_candidates import YEAR, SpanCandidate
from prefrag.components.reader.span_features import Spans, stems_of
from prefrag.components.state.evidence import find_whole
from prefrag.components.state.newness import date_of, is_newer
from prefrag.components.state.places import standing_of

# Words of a question that may ask about the past. No newer answer is then preferred. The list is incomplete. It matches
# "Who was the first chair?" and "What did it use to be before?". It does not match "before starting the engine",
# or "until" in "Until when is it open?".
_BEFORE = re.compile(
    r"\b(?:first|original(?:ly)?|previous(?:ly)?|former(?:ly)?|earlier|before(?! [a-z]+ing\b)"
    r"|until(?! (?:when|what time) (?:is|are|can|do|does|may|must|will)\b)|old(?:er)?"
    r"|used to)\b",
    re.IGNORECASE,
)
# A question for an earlier time, which an old edition may answer. It matches "What was the fee?" and "the former fee".
_ASKS_PAST = re.compile(
    r"\b(?:was|were|did|had|used to|former(?:ly)?|previous(?:ly)?|earlier|original(?:ly)?)\b", re.IGNORECASE
)
# A run of digits.
_NUMBER = re.compile(r"\d+")
# A word that distinguishes a thing from others of its kind: a name, a letter as in "Hall B", or a number. It matches
# "Hall" and "b2". It does not match "hall".
_NAMING = re.compile(r"\b(?:[A-Z]\w*|\w*\d\w*)\b")
# Another passage is about the same thing if its best sentence covers enough of the question. This number is what it
# must cover at least, as a multiple of what the best answer's sentence covers.
_SHARE = 0.8
# The share of the question, from 0 to 1, that the sentence of the best answer must cover at least. Below it, no other
# answer is compared.
_LEAST = 0.5
# The score of a newer answer may be at most this much below the best score.
_MARGIN = 3.0
# Two sentences are of the same form if they share at least this part of the words around their answers, from 0 to 1.
_SAME_FORM = 0.45


def find_newer_answer(
    question: str, chosen: Sequence[tuple[int, float]], spans: Spans, documents: Sequence[Document], look: SecondLook
) -> tuple[bool, int]:
    """Find out whether a newer document covers what is asked, and which answer to use.

    Documents with the label "superseded", "draft" or "old" count as older than all current documents of their source.
    Between current documents the dates decide. Between versions of a file without dates the versions decide. Any other
    document without a date is neither newer nor older than another.

    :param question: The question.
    :param chosen: The best answers, best first, each as the index of its span and its score.
    :param spans: All spans that may be answers.
    :param documents: The documents.
    :param look: Measures how much of the question a passage or a candidate's sentence covers.
    :returns: Two values. First, whether a document about the same thing is newer than all documents that state the best
        answer. Second, the index in ``chosen`` of the answer to use. This is the newest answer whose sentence covers at
        least as much of the question as the best answer's sentence. The index is 0, for the best answer, if no other
        answer is newer. It is also 0 if the question names a year or asks about the past.
    """
    # For each answer the spans that are this answer.
    spans_of_answers = [_same_answers(place, spans) for place, _ in chosen]
    stating = max(spans_of_answers[0], key=look.holds_of)
    least = look.holds_of(stating)
    if least < _LEAST:
        return False, 0

    source = documents[stating.passage].meta.get("source")
    current = _current_documents(documents, source)
    on_same_thing = _documents_on_same_thing(question, current, _SHARE * least, look)

    of_best = [span.passage for span in spans_of_answers[0] if look.holds_of(span) >= least]
    # The metadata of the documents that state the best answer. It is empty if only documents with a label such as "old"
    # do.
    best = [current[passage].meta for passage in of_best if passage in current]
    if not any(_is_newest(document.meta, best) for document in on_same_thing.values()):
        return False, 0
    if YEAR.search(question) or _BEFORE.search(question):
        return True, 0

    newest_number = 0
    _, best_score = chosen[0]
    for number, (_, score) in enumerate(chosen):
        if score < best_score - _MARGIN:
            continue
        in_text = [span for span in spans_of_answers[number] if span.kind != "title"]
        covering = [span.passage for span in in_text if look.holds_of(span) >= least]
        metas = [on_same_thing[passage].meta for passage in covering if passage in on_same_thing]
        newer = [meta for meta in metas if _is_newest(meta, best)]
        if newer:
            best, newest_number = newer, number
    return True, newest_number


def _same_answers(place: int, spans: Spans) -> list[SpanCandidate]:
    """List all spans that are the same answer as the span with an index."""
    return [span for span, key in zip(spans.candidates, spans.keys, strict=True) if key == spans.keys[place]]


def _current_documents(documents: Sequence[Document], source: object) -> dict[int, Document]:
    """Find the documents of a source without a label such as "old", by their indices."""
    return {
        place: document
        for place, document in enumerate(documents)
        if standing_of(document.meta) is None and document.meta.get("source") == source
    }


def _documents_on_same_thing(
    question: str, documents: Mapping[int, Document], least: float, look: SecondLook
) -> dict[int, Document]:
    """Choose the documents about the thing that is asked for. They must have all numbers of the question.

    :param question: The question.
    :param documents: The documents by their indices.
    :param least: The share of the question that the best sentence of a document must cover at least.
    :param look: Measures how much of the question a passage covers.
    :returns: The chosen documents by their indices.
    """
    numbers = set(_NUMBER.findall(question))
    chosen: dict[int, Document] = {}
    for place, document in documents.items():
        own_numbers = set(_NUMBER.findall(_titled_text(document)))
        if look.most_of(place) >= least and numbers <= own_numbers:
            chosen[place] = document
    return chosen


def is_replaced(
    question: str, document: Document, share: float, documents: Sequence[Document], look: SecondLook
) -> bool:
    """Check whether an answer comes from an outdated document, while a current document is about the same thing.

    The current document may repeat the old answer to say what has changed, as "raised from five to ten minutes" does.

    :param question: The question.
    :param document: The document of the answer.
    :param share: The share of the question that the sentence of the answer covers, from 0 to 1.
    :param documents: The documents.
    :param look: Measures how much of the question a passage covers.
    :returns: Whether the document has a label such as "superseded", a current one of its source covers enough of the
        question, and the question does not ask about the past.
    """
    if standing_of(document.meta) is None or share < _LEAST or YEAR.search(question) or _ASKS_PAST.search(question):
        return False
    current = _current_documents(documents, document.meta.get("source"))
    return bool(_documents_on_same_thing(question, current, _SHARE * share, look))


def has_rival(
    question: str, chosen: Sequence[tuple[int, float]], spans: Spans, documents: Sequence[Document], look: SecondLook
) -> bool:
    """Check whether another answer stands in a sentence of the same form, and nothing shows which of the two holds.

    There are two cases:

    - Two documents give different answers, as two copies of the same rules do, and one has no date. The other document
      must have each name, letter and number of the question that the best document has. Else it is about another thing,
      as Hall B is beside Hall A.
    - Two sentences of one document give the answers for two things that the question does not tell apart, as "The code
      of the front door is 1234. The code of the back door is 5678." does for "What is the code of the door?".

    :param question: The question.
    :param chosen: The best answers, best first, each as the index of its span and its score.
    :param spans: All spans that may be answers.
    :param documents: The documents.
    :param look: Measures how much of the question a candidate's sentence covers.
    :returns: Whether another of the answers rivals the best one.
    """
    best_place, _ = chosen[0]
    key = spans.keys[best_place]
    best = max(_same_answers(best_place, spans), key=look.holds_of)
    document = documents[best.passage]
    if look.holds_of(best) < _LEAST:
        return False

    asked_names = set(_NAMING.findall(question)) & _namings_of(document)
    for place, _ in chosen[1:]:
        rival = spans.candidates[place]
        spaced, rival_spaced = f" {key} ", f" {spans.keys[place]} "
        is_alike = rival_spaced in spaced or spaced in rival_spaced
        if is_alike or not _may_differ(best.text, rival.text):
            continue
        if rival.passage == best.passage:
            is_asked = look.holds_of(rival) >= look.holds_of(best) and not look.answers_another_question(rival)
            if is_asked and _is_of_another_of_two(question, best, rival, look):
                return True
            continue

        other = documents[rival.passage]
        are_dated = date_of(document.meta) and date_of(other.meta)
        if are_dated or other.meta.get("source") != document.meta.get("source"):
            continue
        if find_whole(best.text, other.content or ""):
            continue
        if not asked_names <= _namings_of(other):
            continue

        if look.holds_of(rival) >= look.holds_of(best) and _has_same_form(best, rival, look):
            return True
    return False


def _may_differ(answer: str, rival: str) -> bool:
    """Check whether two answers may be two values of one thing.

    "in March" is no other value than "48 pounds", and "1240 euros" is none than "1,240 EUR".
    """
    digits, rival_digits = (re.sub(r"\D", "", text) for text in (answer, rival))
    if digits or rival_digits:
        return bool(digits) and bool(rival_digits) and digits != rival_digits
    words, rival_words = set(answer.lower().split()), set(rival.lower().split())
    return not (words <= rival_words or rival_words <= words)


def _has_same_form(best: SpanCandidate, rival: SpanCandidate, look: SecondLook) -> bool:
    """Check whether the words around two answers are mostly the same."""
    around_best, around_rival = look.form_of(best), look.form_of(rival)
    shared = around_best & around_rival
    return len(shared) >= _SAME_FORM * len(around_best | around_rival)


def _is_of_another_of_two(question: str, best: SpanCandidate, rival: SpanCandidate, look: SecondLook) -> bool:
    """Check whether the sentences of two answers are alike, and each has a word of its own that the question lacks."""
    is_same_sentence = look.sentence_of(best) == look.sentence_of(rival)
    if is_same_sentence or not _has_same_form(best, rival, look):
        return False
    around_best, around_rival, asked = look.form_of(best), look.form_of(rival), stems_of(question)
    if not asked & around_best <= around_rival:
        # Quay 4 is not asked for if the question is about Quay 5.
        return False
    return bool(around_best - around_rival - asked) and bool(around_rival - around_best - asked)


def _namings_of(document: Document) -> set[str]:
    """List the names, letters and numbers in a document and its title."""
    return set(_NAMING.findall(_titled_text(document)))


def _titled_text(document: Document) -> str:
    """Return the title and the text of a document as one text."""
    return f"{document.meta.get('title')} {document.content}"


def _is_newest(meta: Mapping[str, object], others: Sequence[Mapping[str, object]]) -> bool:
    """Check whether a document is newer than all others, by their metadata."""
    return all(is_newer(meta, other) for other in others)
