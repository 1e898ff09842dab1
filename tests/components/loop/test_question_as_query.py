from prefrag.components.loop.question_as_query import QuestionAsQuery
from prefrag.components.state.state import Action, RunSettings, State
from tests.for_each import for_each

STATE = State("Who?", RunSettings(sources=("local",), preferred="local"))


def test_the_question_becomes_the_query_of_a_first_step():
    state = QuestionAsQuery().run(STATE)["state"]

    assert (state.step.action, state.query, state.replies) == (Action.SEARCH, "Who?", 1)
    assert STATE.steps == ()


@for_each("sources, searched", (None, ["local", "web"]), (["web", "closed"], ["web"]), ([], []))
def test_the_trace_reports_each_source_that_is_searched(sources: list[str] | None, searched: list[str]):
    settings = RunSettings(sources=("local", "web"), preferred="local")

    state = QuestionAsQuery(sources).run(State("Who?", settings))["state"]

    assert [event.to_dict() for event in state.events] == [
        {"kind": "search", "step": 1, "source": source, "query": "Who?"} for source in searched
    ]
