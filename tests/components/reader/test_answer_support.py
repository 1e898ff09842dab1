"""How much of a question the sentence of an answer covers, and how much other sentences add."""

from haystack import Document

from prefrag.components.reader.answer_carrier import Carrier
from prefrag.components.reader.answer_support import Support, measure_support

BUS = "A walking bus began in May. It is led by Alan Birk. Eleven children take part."
LEADER = "It is led by Alan Birk."


def measure(question: str, sentence: str, *documents: Document) -> Support:
    """Measure the support of a sentence in the first document, all words with the same weight."""
    return measure_support(question, Carrier(documents[0], sentence, True), documents, lambda word: 1.0)


def bus(content: str = BUS, **meta: str) -> Document:
    return Document(content=content, meta=meta)


class TestContext:
    def test_sentence_before_covers_what_the_carrier_lacks(self):
        assert measure("walking bus", LEADER, bus()) == (1.0, 0.0)
        assert measure("walking bus", LEADER, bus(title="Walking bus")) == (1.0, 1.0)
        assert 0.0 < measure("walking children", LEADER, bus()).cover < 1.0

    def test_heading_covers_its_words(self):
        assert measure("walking bus", LEADER, bus(LEADER, heading="School > Walking bus")).cover == 1.0
        assert measure("walking bus", LEADER, bus(LEADER)).cover == 0.0


class TestChain:
    QUESTION = "Who founded the school that trained Nils Orme?"
    MILL = Document(content="Ida Crane founded the mill school.", meta={"title": "Mill School"})
    ORME = Document(content="Nils Orme went to the Mill School. He designed the ferry.", meta={"title": "Nils Orme"})

    def test_linked_sentence_of_another_passage_covers_its_words(self):
        alone = measure(self.QUESTION, "Ida Crane founded the mill school.", self.MILL)
        linked = measure(self.QUESTION, "Ida Crane founded the mill school.", self.MILL, self.ORME)

        assert alone.cover < linked.cover < 1.0
        assert alone.head == linked.head == 1.0

    def test_head_is_not_covered_by_the_words_of_the_description(self):
        """Such a sentence names the thing that the question describes."""

        assert measure(self.QUESTION, "Nils Orme went to the Mill School.", self.ORME).head < 0.6
