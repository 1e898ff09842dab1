"""The rules of the product for a model's step."""

from dataclasses import replace

from prefrag.components.reasoner.product_rules import add_search, replace_repeated, says_not_found
from prefrag.components.reasoner.reply_formats import FORMATS, Tool
from prefrag.components.state.state import Action, Label
from prefrag.components.state.usage import Usage
from tests.components.samples import QUESTION, answer_step, document, observed_step, search_step, state
from tests.for_each import for_each

TOOL = Tool("Search_Engine", "Searches.")


@for_each("answer", "NOT FOUND", "Not found.", "**NOT FOUND**", "not_found", "NOT FOUND: the passages do not say it")
def test_not_found_is_recognised_however_it_is_written(answer):
    assert says_not_found(answer)


@for_each("answer", "1974", "Nothing", "It was not found until 1974")
def test_an_answer_is_not_taken_for_it(answer):
    assert not says_not_found(answer)


def test_search_by_code_keeps_thought_and_proposal_but_no_label():
    """They are those of the step that it replaces."""

    weak = answer_step("1812", thought="I guess.", label=Label.CORRECT, probability=0.4)

    step = add_search(state(), FORMATS["text"](), TOOL, "aurora yard", weak).step

    assert (step.action, step.query, step.by_code) == (Action.SEARCH, "aurora yard", True)
    assert (step.thought, step.answer, step.probability, step.label) == ("I guess.", "1812", 0.4, None)
    assert step.reply == "Thought: I guess.\nAction: Search_Engine\nAction Input: aurora yard"


def test_source_of_typed_questions_gets_no_query_of_code():
    """Not even after a call of the model."""

    reached = replace(state(typed_only=("web",)), usage=Usage(llm_calls={"reasoner": 1}))

    by_code = add_search(reached, FORMATS["text"](), TOOL, "names from the passages")
    by_model = reached.with_step(search_step("aurora"))

    assert (by_code.query_for("web"), by_code.query_for("local")) == (QUESTION, "names from the passages")
    assert by_model.query_for("web") == "aurora"


@for_each(
    "prompts, is_by_code, query",
    ("product", True, QUESTION),
    ("product", False, "names from the passages"),
    # The papers' prompts, under which measurements run.
    ("plain", True, "names from the passages"),
)
def test_code_first_asks_another_source_the_question(prompts: str, is_by_code: bool, query: str):
    before = state(observed_step(document("Aurora"), source="local", query=QUESTION), prompts=prompts)

    switched = before.with_step(replace(search_step("names from the passages"), by_code=is_by_code))

    assert switched.query_for("web") == query
    assert switched.query_for("local") == "names from the passages"


def test_a_later_query_of_code_is_its_own():
    before = state(observed_step(document("Aurora"), source="web", query=QUESTION))

    later = before.with_step(replace(search_step("names from the passages"), by_code=True))

    assert later.query_for("web") == "names from the passages"


def test_a_query_is_repeated_whatever_its_case_and_blanks():
    aurora = document("Aurora", "The Aurora was built by the yard Borealis in Corvo.")
    before = state(observed_step(aurora, query=QUESTION))

    reached = replace_repeated(before.with_step(search_step(f" {QUESTION.upper()} ")), FORMATS["text"](), [TOOL])

    assert reached.step.query not in ("", QUESTION.upper(), QUESTION)
    assert "Borealis" in reached.step.query
    assert [event.kind for event in reached.events] == ["repeated"]


def test_another_query_stays():
    reached = state(observed_step(document("Aurora"))).with_step(search_step("borealis"))

    assert replace_repeated(reached, FORMATS["text"](), [TOOL]) is reached
