"""The format for small models: an answer or NOT FOUND, and one query."""

from haystack.dataclasses import ChatMessage

from prefrag.components.reasoner.reply_formats import FORMATS, Tool
from prefrag.components.reasoner.reply_formats.steps_format import StepsFormat
from prefrag.components.state.state import Action
from tests.components.samples import state
from tests.for_each import for_each

TOOLS = [Tool("Search_Engine", "Searches.")]


def read(text: str, finish_reason: str = "stop"):
    message = ChatMessage.from_assistant(text, meta={"finish_reason": finish_reason})
    return StepsFormat().read_message(message, TOOLS, must_answer=False)


def test_is_one_of_the_formats():
    assert FORMATS["steps"] is StepsFormat


@for_each(
    "text, answer",
    ("1974", "1974"),
    ("NOT FOUND", "NOT FOUND"),
    ("**Otilie Frank**", "Otilie Frank"),
    ("Thought: it says so.\nFinal Answer: 1974\nSelf-Evaluation: CORRECT", "1974"),
    ("Sure! Here is the answer:\n\n1974", "1974"),
)
def test_a_reply_is_the_answer_without_what_surrounds_it(text, answer):
    step = read(text)

    assert (step.action, step.answer) == (Action.ANSWER, answer)
    assert step.label is None


@for_each("text", "", "   ", "Final Answer:", "Thought: I search.\nAction: Search_Engine\nAction Input: alpha")
def test_protocol_text_is_no_answer(text):
    assert read(text).action is Action.UNREADABLE


def test_reply_that_was_cut_off_is_read_to_its_last_whole_line():
    assert read("1974\nas the pass", "length").answer == "1974"
    assert read("It was in the ye", "length").action is Action.UNREADABLE


@for_each(
    "text, query",
    ("Skerry survey shipyard", "Skerry survey shipyard"),
    ('"Skerry survey"\nThis finds the ship.', "Skerry survey"),
    ("", ""),
)
def test_a_query_is_the_first_line(text, query):
    assert StepsFormat.read_query(text) == query


def test_asks_for_log_probabilities_and_a_short_reply():
    parameters = StepsFormat().generation_kwargs(TOOLS, state(), must_answer=False)

    assert parameters["logprobs"] is True
    assert parameters["max_tokens"] <= 200
