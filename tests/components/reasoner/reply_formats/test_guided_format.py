"""The JSON format with a list of queries to choose from."""

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


def test_later_queries_follow_an_observed_title_to_what_is_still_open_and_none_is_offered_twice():
    for query, offered in ((QUESTION, ["Aurora harbour", "Beta harbour"]), ("Aurora harbour", ["Beta harbour"])):
        observed = observed_step(document("Aurora"), document("Beta"), query=query)
        assert queries(state(observed, question=QUESTION)) == offered


def test_with_nothing_left_to_ask_or_where_it_must_be_given_an_answer_is_all_that_is_offered():
    asked = state(observed_step(document("Aurora"), query="Aurora harbour"), question=QUESTION)

    assert "answer" in schema(asked)["properties"]
    assert "query" not in schema(state(search_step(), question=QUESTION), must_answer=True)["properties"]
