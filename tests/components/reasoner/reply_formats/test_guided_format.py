"""The JSON format with a choice of queries."""

from typing import Any

from prefrag.components.reasoner.reply_formats import FORMATS, Tool
from prefrag.components.state.state import State
from tests.components.samples import document, observed_step, search_step, state

TOOLS = [Tool("Search_Engine", "Finds.")]
QUESTION = "Aurora: which harbour?"


def schema(reached: State, must_answer: bool = False) -> dict[str, Any]:
    response_format = FORMATS["guided"]().generation_kwargs(TOOLS, reached, must_answer)["response_format"]
    return response_format["json_schema"]["schema"]


def queries(reached: State) -> list[str]:
    offered = schema(reached)
    search = offered["anyOf"][0] if "anyOf" in offered else offered
    return search["properties"]["query"]["enum"]


def test_the_first_query_is_the_question_and_no_answer_is_offered_before_any_passage():
    assert queries(state(question=QUESTION)) == [QUESTION]
    assert "answer" not in schema(state(question=QUESTION))["properties"]


def test_later_queries_follow_an_observed_title_to_what_is_still_open():
    reached = state(observed_step(document("Aurora"), document("Beta"), query=QUESTION), question=QUESTION)

    assert queries(reached) == ["Aurora harbour", "Beta harbour"]


def test_no_query_is_offered_twice():
    first = observed_step(document("Aurora"), document("Beta"), query="Aurora harbour")

    assert queries(state(first, question=QUESTION)) == ["Beta harbour"]


def test_with_nothing_left_to_ask_an_answer_is_all_that_is_offered():
    assert (
        "answer"
        in schema(state(observed_step(document("Aurora"), query="Aurora harbour"), question=QUESTION))["properties"]
    )


def test_an_answer_that_must_be_given_is_all_that_is_offered():
    assert "query" not in schema(state(search_step(), question=QUESTION), must_answer=True)["properties"]
