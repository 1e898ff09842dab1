"""Where an answer that somebody else proposes stands in a passage."""

from haystack import Document

from prefrag.components.reader.answer_carrier import Carrier
from prefrag.components.reader.proposed_span import find_proposed, span_of_proposed
from prefrag.components.reader.reader_input import passage_text
from tests.for_each import for_each

QUESTION = "Who pays parking fines?"
SENTENCE = "Parking fines are paid by the driver of the van."
VANS = Document(content=f"Fuel is paid by the office. {SENTENCE}", meta={"title": "Vans"})
OTHER = Document(content="The vans are blue.")


@for_each(
    "answer, span",
    ("the driver of the van", "the driver of the van"),
    ("The driver of the van.", "the driver of the van"),
    ("The driver pays parking fines.", "driver"),
    ("The van's driver pays.", "driver of the van"),
    ("Parking fines are paid.", "Parking fines are paid"),
    ("Parking fines are paid by the driver of the van.", "paid by the driver of the van"),
)
def test_an_answer_stands_whole_or_by_its_own_words(answer: str, span: str) -> None:
    begin, end = find_proposed(QUESTION, answer, SENTENCE) or (0, 0)

    assert SENTENCE[begin:end] == span


def test_an_answer_without_own_words_stands_nowhere() -> None:
    assert find_proposed(QUESTION, "Who pays parking fines?", SENTENCE) is None


def test_span_is_counted_in_the_text_that_the_encoder_reads() -> None:
    span = span_of_proposed((30, 36), Carrier(VANS, SENTENCE, True), [OTHER, VANS])

    assert span is not None
    assert (span.passage, span.text) == (1, "driver")
    assert passage_text("Vans", VANS.content or "")[span.begin : span.end] == "driver"


def test_there_is_no_span_without_place_or_sentence() -> None:
    assert span_of_proposed(None, Carrier(VANS, SENTENCE, True), [VANS]) is None
    assert span_of_proposed((0, 3), Carrier(VANS, "The office pays.", True), [VANS]) is None
