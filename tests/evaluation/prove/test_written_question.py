"""A question that a model wrote is asked only if the answer is its sentence's, whatever the model says."""

import asyncio

import pytest

from prefrag.components.reader.extractive_reader import ExtractiveReader
from prefrag.evaluation.prove.questions import Question, make_questions
from prefrag.evaluation.prove.sentences import Sentences
from prefrag.evaluation.prove.written_question import QuestionWriter, check_written
from tests.components.generators.fake_model_server import FakeModelServer, completion
from tests.evaluation.prove.folder import passages
from tests.for_each import for_each

BRIDGE = "The Merrow Bridge was built in 1931 next to the harbour."
TEXTS = {"Bridges": BRIDGE, "Mills": "The Lindgate Mill was built in 1902 by the town. It burnt down."}


@pytest.fixture(scope="module")
def reader() -> ExtractiveReader:
    reader = ExtractiveReader()
    reader.warm_up()
    return reader


def questions(**texts: str) -> tuple[list[Question], Sentences]:
    sentences = Sentences(passages(**texts))
    return make_questions(sentences, 10, seed=3)[0], sentences


def about_the_bridge(**further: str) -> tuple[Question, Sentences]:
    made, sentences = questions(**TEXTS, **further)
    return next(question for question in made if question.value == "1931"), sentences


@for_each(
    "text, is_asked",
    ("When was Merrow Bridge finished?", True),
    ("In what year did Merrow Bridge open to traffic?", True),
    # It gives the answer away, names nothing or something else, or is no such question.
    ("What was built in 1931 beside Merrow Bridge?", False),
    ("When was it built?", False),
    ("When was Lindgate Mill built?", False),
    ("When was Tarn Bridge built?", False),
    ("Was Merrow Bridge built long ago?", False),
    ("Merrow Bridge was built in 1931.", False),
    ("", False),
    # The sentence answers it, but with something else.
    ("What stands next to Merrow Bridge?", False),
)
def test_a_question_is_checked_by_form_and_by_the_reader(reader: ExtractiveReader, text: str, is_asked: bool):
    question, sentences = about_the_bridge()
    written = check_written(text, question, sentences, reader)

    assert (written is not None) is is_asked
    assert written is None or (written.text, written.plain, written.value) == (text, "", "1931")


def test_another_sentence_that_may_answer_it_drops_it(reader: ExtractiveReader):
    question, sentences = about_the_bridge()
    assert check_written("When was Merrow Bridge built?", question, sentences, reader) is not None
    _, with_rival = about_the_bridge(Roads="The road to Merrow Bridge was widened and built anew in 1950.")

    assert check_written("When was Merrow Bridge built?", question, with_rival, reader) is None


def test_the_model_is_told_the_sentence_and_the_answer(monkeypatch: pytest.MonkeyPatch):
    server = FakeModelServer()
    server.answers = [(200, completion('"When was Merrow Bridge finished?"\nBecause it asks for the year.'))]
    monkeypatch.setenv("PREFRAG_LLM_BASE_URL", server.url)
    monkeypatch.setenv("PREFRAG_LLM_MODEL", "small")
    text = asyncio.run(QuestionWriter().write(about_the_bridge()[0]))
    server.close()

    assert text == "When was Merrow Bridge finished?"
    [message] = server.requests[-1]["messages"]
    assert BRIDGE in message["content"]
    assert "1931" in message["content"]
