"""The next step of a run without a language model."""

from __future__ import annotations

from prefrag.components.reader.reader import Candidate
from prefrag.components.reasoner.reader_step import FROM_MEMORY, NOT_READ, take_reader_step
from prefrag.components.state.citations import known_marks, read_citations
from prefrag.components.state.state import Action, Label, RunSettings, State
from tests.components.samples import document, kinds, observed_step, state

AURORA = document("Aurora", content="The Aurora was built in 1969.")
OBSERVED = state(observed_step(AURORA))


def found(probability: float, text: str = "1969") -> list[Candidate]:
    return [Candidate(text, "span", AURORA, "The Aurora was built in 1969.", probability)]


def test_an_answer_is_given_from_the_threshold_on_and_cites_its_document():
    step = take_reader_step(OBSERVED, found(0.6), threshold=0.6).step

    assert (step.action, step.label, step.withheld, step.probability) == (Action.ANSWER, Label.CORRECT, False, 0.6)
    assert read_citations(step.answer, known_marks(OBSERVED)) == ("1969", ["1"])
    assert step.evidence[0].sentence == "The Aurora was built in 1969."


def test_below_it_what_is_open_is_searched_for():
    step = take_reader_step(OBSERVED, found(0.59), threshold=0.6, tool="Search_Engine").step

    assert (step.action, step.tool, step.query) == (Action.SEARCH, "Search_Engine", "Aurora yard prize")


def test_where_nothing_is_left_to_search_for_there_is_no_further_search():
    nothing = state(observed_step(query=OBSERVED.question))

    assert take_reader_step(nothing, [], threshold=0.6).step.action is Action.NONE


def test_at_the_end_an_unsure_answer_is_withheld():
    step = take_reader_step(OBSERVED, found(0.59), threshold=0.6, must_answer=True).step

    assert (step.action, step.label, step.withheld, step.forced) == (Action.ANSWER, None, True, False)


def test_at_the_end_a_refusal_says_what_is_read():
    reached = take_reader_step(OBSERVED, [], threshold=0.6, must_answer=True)

    assert (reached.step.answer, reached.step.withheld, reached.step.probability) == ("", True, 0.0)
    assert [event.data.get("text") for event in reached.events] == [NOT_READ, ""]


def test_a_method_that_reads_nothing_says_so():
    reached = take_reader_step(State("Who?", RunSettings((), "")), [], threshold=0.6, must_answer=True)

    assert reached.events[0].data["text"] == FROM_MEMORY
    assert kinds(reached) == ["without_model", "read"]


def test_what_looks_like_a_mark_in_a_passage_cites_nothing():
    reached = take_reader_step(OBSERVED, found(0.9, "1969 [2][W1]"), threshold=0.6)

    assert read_citations(reached.step.answer, known_marks(reached))[1] == ["1"]


def test_the_prompts_of_the_papers_have_no_marks():
    paper = state(observed_step(AURORA), prompts="paper")

    assert take_reader_step(paper, found(0.9), threshold=0.6).step.answer == "1969"
