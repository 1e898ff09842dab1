"""Find where in a passage the answer stands that somebody else proposes.

A language model may answer in its own words, as in "The driver pays the fines." for "Parking fines: the driver". The
reader judges spans of passages. So the words of the answer that the question lacks are looked up in the sentence that
carries the answer.
"""

from collections.abc import Sequence

from haystack import Document

from prefrag.components.reader.answer_carrier import Carrier, find_own_words
from prefrag.components.reader.reader_input import passage_text
from prefrag.components.reader.span_candidates import SpanCandidate
from prefrag.components.state.evidence import find_whole


def find_proposed(question: str, answer: str, sentence: str) -> tuple[int, int] | None:
    """Find a proposed answer in a sentence.

    For example, ``find_proposed("Who pays?", "The driver pays.", "Paid by the driver.")`` returns ``(12, 18)``.

    :param question: The question.
    :param answer: The proposed answer.
    :param sentence: The sentence that carries it.
    :returns: The index of its first character, and the index after its last one. If the answer does not stand there
        word for word, or is the whole sentence, this reaches from the first to the last of the answer's own words. None
        if it does not stand there and has no such word.
    """
    whole = find_whole(answer.strip().rstrip("."), sentence)
    # A whole sentence repeats the question, so only its own words are the answer.
    is_part = whole is not None and whole[0] != sentence.rstrip(".")
    words = find_own_words(question, answer, sentence)
    if whole is not None and (is_part or not words):
        return whole.span()
    if not words:
        return None
    begin, _ = words[0]
    _, end = words[-1]
    return begin, end


def span_of_proposed(
    place: tuple[int, int] | None, carrier: Carrier, documents: Sequence[Document]
) -> SpanCandidate | None:
    """Make a span of a passage from the place of a proposed answer.

    :param place: Where the answer stands in the sentence of the carrier, from :func:`find_proposed`.
    :param carrier: The sentence that carries the answer.
    :param documents: The documents that the reader reads. The carrier's document is one of them.
    :returns: The span; None if the answer has no place.
    """
    content = carrier.document.content or ""
    begin_of_sentence = content.find(carrier.sentence)
    if place is None or begin_of_sentence < 0:
        return None

    # The title may stand before the text in what the encoder reads.
    text = passage_text(str(carrier.document.meta.get("title") or ""), content)
    shift = len(text) - len(content) + begin_of_sentence
    begin, end = shift + place[0], shift + place[1]
    number = next(number for number, document in enumerate(documents) if document is carrier.document)
    return SpanCandidate(number, text[begin:end], "read", begin, end)
