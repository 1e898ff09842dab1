"""The question as a query."""

from __future__ import annotations

from components.question_as_query import QuestionAsQuery
from components.state import Action, RunSettings, State

STATE = State("Who?", RunSettings(sources=("local",), preferred="local"))


def test_the_question_becomes_the_query_of_a_first_step():
    state = QuestionAsQuery().run(STATE)["state"]

    assert (state.step.action, state.query, state.replies) == (Action.SEARCH, "Who?", 1)
    assert STATE.steps == ()


async def test_the_same_without_blocking():
    assert await QuestionAsQuery().run_async(STATE) == QuestionAsQuery().run(STATE)
