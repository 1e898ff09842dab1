"""Find the span of a passage for an answer that a language model has proposed.

The reader judges an answer as a span, which is a part of a passage. A language model may use other words than the
passage. An example:

- the question: "Who pays parking fines?"
- the passage: "Parking fines: the driver"
- the proposed answer: "The driver pays parking fines."

The passage does not contain the answer word for word. But the answer has a word that is not in the question: "driver".
Such words are called the answer's own words. They are looked up in the sentence of the passage that carries the answer.
Here, the span is "driver".
"""

from collections.abc import Sequence

from haystack import Document

from prefrag.components.reader.answer_carrier import Carrier, find_own_words
from prefrag.components.reader.reader_input import passage_text
from prefrag.components.reader.span_candidates import SpanCandidate
from prefrag.components.state.evidence import find_whole

# The kind of a span that no pattern, such as that of a date, has found. It is one of the kinds of
# :data:`~prefrag.components.reader.span_candidates.KINDS`.
_KIND = "read"


def find_proposed(question: str, answer: str, sentence: str) -> tuple[int, int] | None:
    """Find a proposed answer in a sentence.

    If the sentence contains the answer word for word, the answer is found there. If the answer is worded differently,
    or repeats the whole sentence, the part from the first to the last of its own words is found.

    For example, ``find_proposed("Who pays?", "The driver pays.", "Paid by the driver.")`` returns ``(12, 18)``, which
    is the place of "driver".

    :param question: The question.
    :param answer: The proposed answer.
    :param sentence: The sentence that carries the answer.
    :returns: The index of the first character of what was found, and the index after the last one. None if the sentence
        contains neither the answer nor any of its own words.
    """
    own_words = find_own_words(question, answer, sentence)
    match = find_whole(answer.strip().rstrip("."), sentence)
    if match is not None:
        is_part_of_sentence = match[0] != sentence.rstrip(".")
        # An answer that is the whole sentence also repeats words of the question. So it is taken as it is only if it
        # has no own words.
        if is_part_of_sentence or not own_words:
            return match.span()

    if not own_words:
        return None
    begin, _ = own_words[0]
    _, end = own_words[-1]
    return begin, end


def span_of_proposed(
    place: tuple[int, int] | None, carrier: Carrier, documents: Sequence[Document]
) -> SpanCandidate | None:
    """Make a span of a passage from the place of a proposed answer.

    :param place: Where the answer stands in the sentence of the carrier, from :func:`find_proposed`.
    :param carrier: The sentence that carries the answer.
    :param documents: The documents that the reader reads. The carrier's document is one of them.
    :returns: The span. None if the answer has no place, or if the document does not contain the sentence.
    """
    content = carrier.document.content or ""
    sentence_in_content = content.find(carrier.sentence)
    if place is None or sentence_in_content < 0:
        return None

    # A span is counted in the text that the reader's encoder reads. This text ends with the content. The title may
    # stand before it, as in "Vans. The driver pays."
    text = passage_text(str(carrier.document.meta.get("title") or ""), content)
    content_in_text = len(text) - len(content)
    sentence_in_text = content_in_text + sentence_in_content
    begin_in_sentence, end_in_sentence = place
    begin = sentence_in_text + begin_in_sentence
    end = sentence_in_text + end_in_sentence

    number = next(number for number, document in enumerate(documents) if document is carrier.document)
    return SpanCandidate(number, text[begin:end], _KIND, begin, end)
