"""Measure how much of a question the sentence that carries an answer covers, and how much other sentences add.

An answer may stand word for word in a passage, and yet be about another thing of the same kind. Then the passages lack
the words of the question that distinguish the two things.
"""

from collections.abc import Sequence
from typing import NamedTuple

from haystack import Document

from prefrag.components.reader.answer_carrier import MAX_READ, Carrier
from prefrag.components.reader.question_form import question_head
from prefrag.components.reader.span_features import WordWeight, question_weights, stems_of
from prefrag.components.state.places import heading_of
from prefrag.components.text.sentences import cut_text, shown_sentences
from prefrag.components.text.term_statistics import sum_of_weights
from prefrag.components.text.title_mentions import normalize_words, title_key

# The maximum number of further sentences in a chain. The answer to "Who founded the school that trained the designer of
# X?" stands two passages away from X.
_LINKS = 2


class Support(NamedTuple):
    """How much of a question is covered. Each word counts by its weight, and both shares are from 0 to 1.

    :param cover: The share of the question that is covered by the carrier with the title of its passage, by the
        sentences linked to it, by the heading above it and by the sentence before it.
    :param head: The share of the question's head that the carrier covers with the title of its passage. The head is
        what stands before the first clause that describes something. A sentence that only has the words of the
        description names the thing that the question describes, and does not say what is asked about it.
    """

    cover: float
    head: float


class _Sentence(NamedTuple):
    """A sentence that may be linked to a chain.

    :param place: The index of its passage.
    :param words: Its words, normalised, with a blank at both ends.
    :param stems: The stems of its words and of the title of its passage.
    """

    place: int
    words: str
    stems: frozenset[str]


def measure_support(
    question: str, carrier: Carrier, documents: Sequence[Document], weight: WordWeight, *, has_context: bool = True
) -> Support:
    """Measure how much of a question a carrier and the sentences around it cover.

    Facts may form a chain over several passages. A sentence is linked to the chain if it names the title of a passage
    in the chain. It is also linked if a sentence in the chain names the title of its passage.

    A sentence such as "It is led by Ann." names its subject in the sentence before, and an entry of a list names it in
    the heading.

    :param question: The question.
    :param carrier: The sentence with the answer.
    :param documents: The passages that were shown. The carrier's passage is one of them.
    :param weight: A function that returns the weight of a word, from 0 (common) to 1 (rare).
    :param has_context: Whether the heading and the sentence before are about the same thing as the carrier. Rows of a
        table are not.
    :returns: The shares.
    """
    asked = question_weights(question, weight)
    head = question_weights(question_head(question), weight) or asked

    place_of_carrier = next(place for place, document in enumerate(documents) if document is carrier.document)
    title = str(carrier.document.meta.get("title") or "")
    first = _prepare(place_of_carrier, title, carrier.sentence)

    covered = _find_chain(asked, first, documents)
    if has_context:
        covered |= _stems_around(carrier)
    return Support(sum_of_weights(asked, covered), sum_of_weights(head, first.stems))


def _find_chain(asked: dict[str, float], first: _Sentence, documents: Sequence[Document]) -> frozenset[str]:
    """Find the sentences that are linked to a carrier and add words of the question.

    :param asked: The stems of the question with their weights.
    :param first: The carrier.
    :param documents: The passages.
    :returns: The stems of all sentences in the chain, with those of the carrier.
    """
    titles = [str(document.meta.get("title") or "") for document in documents]
    keys = [title_key(title) for title in titles]
    sentences: list[_Sentence] = []
    for place, document in enumerate(documents):
        for text in shown_sentences(cut_text(document.content or "", MAX_READ)):
            sentences.append(_prepare(place, titles[place], text))

    chain, covered = [first], first.stems
    for _ in range(_LINKS):
        best: _Sentence | None = None
        best_cover = sum_of_weights(asked, covered)
        for sentence in sentences:
            if not _is_linked(sentence, chain, keys):
                continue
            cover_with_sentence = sum_of_weights(asked, covered | sentence.stems)
            if cover_with_sentence > best_cover:
                best, best_cover = sentence, cover_with_sentence

        if best is None:
            break
        chain.append(best)
        covered |= best.stems
    return covered


def _stems_around(carrier: Carrier) -> frozenset[str]:
    """List the stems of the heading above a carrier and of the sentence before it."""
    text = cut_text(carrier.document.content or "", MAX_READ)
    begin = max(0, text.find(carrier.sentence))
    heading = heading_of(carrier.document.meta, begin) or ""
    sentences = shown_sentences(text[:begin])
    before = sentences[-1] if sentences else ""
    return stems_of(f"{heading} {before}")


def _prepare(place: int, title: str, sentence: str) -> _Sentence:
    """Prepare a sentence of the passage with the index ``place`` for a chain."""
    return _Sentence(place, f" {normalize_words(sentence)} ", stems_of(f"{title} {sentence}"))


def _is_linked(sentence: _Sentence, chain: Sequence[_Sentence], keys: Sequence[str]) -> bool:
    """Check whether a sentence names the title of another passage in a chain, or the chain names its own title.

    ``keys`` has the title of each passage in the form in which words are compared. It is empty without a title.
    """
    places_in_chain = {link.place for link in chain}
    for other in places_in_chain - {sentence.place}:
        if keys[other] and f" {keys[other]} " in sentence.words:
            return True

    own_key = keys[sentence.place]
    if sentence.place in places_in_chain or not own_key:
        return False
    return any(f" {own_key} " in link.words for link in chain)
