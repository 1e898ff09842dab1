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
    def test_sentence_before_adds_what_the_carrier_lacks(self):
        assert measure("walking bus", LEADER, bus()) == (0.0, 0.0, 1.0)
        assert measure("walking bus", LEADER, bus(title="Walking bus")) == (1.0, 0.0, 0.0)
        assert 0.0 < measure("walking children", LEADER, bus()).nearby < 1.0

    def test_heading_adds_its_words(self):
        assert measure("walking bus", LEADER, bus(LEADER, heading="School > Walking bus")).nearby == 1.0
        assert measure("walking bus", LEADER, bus(LEADER)).nearby == 0.0


class TestChain:
    MILL = Document(content="Ida Crane founded the mill school.", meta={"title": "Mill School"})
    ORME = Document(content="Nils Orme went to the Mill School. He designed the ferry.", meta={"title": "Nils Orme"})

    def test_linked_sentence_of_another_passage_adds_its_words(self):
        question = "Who founded the school that trained Nils Orme?"

        alone = measure(question, "Ida Crane founded the mill school.", self.MILL)
        linked = measure(question, "Ida Crane founded the mill school.", self.MILL, self.ORME)

        assert alone.linked == 0.0 < linked.linked
        assert alone.cover == linked.cover == 1.0

    def test_only_the_head_of_the_question_is_the_carriers(self):
        """A sentence with the words of the description alone names the thing that the question describes."""
        question = "Who founded the school that trained Nils Orme?"

        assert measure(question, "Nils Orme went to the Mill School.", self.ORME).cover < 0.6

    def test_words_are_added_once(self):
        sentence = "Ida Crane founded the mill school."
        mill = Document(content=f"Nils Orme was trained here. {sentence}", meta={"title": "Mill School"})

        support = measure("Who founded the school that trained Nils Orme?", sentence, mill, self.ORME)

        assert support.linked > 0.0
        assert support.linked + support.nearby <= 1.0
