"""The next step of a run in which a reader takes the place of a language model."""

from dataclasses import replace
from typing import Any

from haystack import Document

from prefrag.components.reader.reader import Candidate
from prefrag.components.reasoner.reader_step import (
    FROM_MEMORY,
    NEEDS_MODEL,
    NOT_READ,
    SEVERAL,
    next_query,
    take_reader_step,
)
from prefrag.components.state.citations import known_marks, read_citations
from prefrag.components.state.state import Action, RunSettings, Search, State, Step
from tests.components.samples import document, kinds, observed_step, state
from tests.fakes import ScriptedReader
from tests.for_each import for_each

AURORA = document("Aurora", content="The Aurora was built in 1969.")
OBSERVED = state(observed_step(AURORA))
# The reader's answer is given from a probability of 0.6, its sentence from 0.5.
READER = ScriptedReader([])


def found(probability: float, text: str = "1969") -> list[Candidate]:
    return [Candidate(text, "span", AURORA, "The Aurora was built in 1969.", probability)]


def test_answer_is_given_from_the_threshold_on_and_cites():
    step = take_reader_step(OBSERVED, found(0.6), READER).step

    assert (step.action, step.label, step.certainty, step.probability) == (Action.ANSWER, None, "stated", 0.6)
    assert read_citations(step.answer, known_marks(OBSERVED)) == ("1969", ["1"])
    assert step.evidence[0].sentence == "The Aurora was built in 1969."


def test_below_it_what_is_open_is_searched_for():
    step = take_reader_step(OBSERVED, found(0.59), READER, tool="Search_Engine").step
    assert (step.action, step.tool, step.query) == (Action.SEARCH, "Search_Engine", "Aurora yard prize")
    nothing = state(observed_step(query=OBSERVED.question))
    assert take_reader_step(nothing, [], READER).step.action is Action.NONE


@for_each("prompts, action", ("product", Action.SEARCH), ("plain", Action.ANSWER))
def test_a_sure_yes_ends_no_search_of_a_user(prompts: str, action: Action):
    asked = state(observed_step(AURORA), prompts=prompts)
    [candidate] = found(0.6)

    assert take_reader_step(asked, [replace(candidate, kind="yes")], READER).step.action is action


@for_each(
    "kind, probability, certainty",
    ("span", 0.59, "probably"),
    ("span", 0.5, "probably"),
    ("span", 0.49, "not_found"),
    ("yes", 0.99, "not_found"),
    ("no", 0.99, "not_found"),
    ("steps", 0.99, "probably"),
    ("steps", 0.49, "not_found"),
)
def test_an_unsure_answer_and_yes_and_no_are_withheld(kind: Any, probability: float, certainty: str):
    [candidate] = found(probability)
    step = take_reader_step(OBSERVED, [replace(candidate, kind=kind)], READER, must_answer=True).step

    assert (step.action, step.label, step.forced) == (Action.ANSWER, None, False)
    assert (step.certainty, step.withheld, step.probability) == (certainty, True, probability)


def test_at_the_end_a_refusal_says_what_is_read_if_anything_is():
    for at_its_end, reason in ((OBSERVED, NOT_READ), (State("Who?", RunSettings((), "")), FROM_MEMORY)):
        reached = take_reader_step(at_its_end, [], READER, must_answer=True)
        assert (reached.step.answer, reached.step.withheld, reached.step.probability) == ("", True, 0.0)
        assert kinds(reached) == ["without_model", "read"]
        assert [event.data.get("text") for event in reached.events] == [reason, ""]


@for_each(
    "question",
    "Summarise the log of Aurora.",
    "Is the log long?",
    "Compare the Aurora and the Boreas",
)
def test_at_the_end_a_task_is_told_what_can_be_had_and_how(question: str):
    reached = take_reader_step(replace(OBSERVED, question=question), found(0.1), READER, must_answer=True)

    assert [event.data.get("text") for event in reached.events if event.kind == "without_model"] == [NEEDS_MODEL]


@for_each(
    "question",
    "Who wrote the log?",
    "Good morning to you",
    "the year of the log",
    "Could you tell me the year of the log?",
)
def test_at_the_end_what_is_no_task_is_told_nothing(question: str):
    assert kinds(take_reader_step(replace(OBSERVED, question=question), found(0.1), READER, must_answer=True)) == [
        "read"
    ]


def test_an_answer_that_is_given_needs_no_such_word():
    asked = replace(OBSERVED, question="the year of the log")

    assert kinds(take_reader_step(asked, found(0.9), READER, must_answer=True)) == ["read"]


def test_mark_within_a_passage_cites_nothing_nor_plain_prompts():
    reached = take_reader_step(OBSERVED, found(0.9, "1969 [2][W1]"), READER)
    assert read_citations(reached.step.answer, known_marks(reached))[1] == ["1"]
    plain = state(observed_step(AURORA), prompts="plain")
    assert take_reader_step(plain, found(0.9), READER).step.answer == "1969"


QUESTION = "In which town was the designer of the Petrel lamp born?"
LAMP = Document(content="It shines. The Petrel lamp was designed by Mona Reeve.", meta={"title": "Petrel lamp"})
SHOP = Document(content="They sell lamps in Saltreach.", meta={"title": "Lamp shop"})
MARKET = Document(content="The market is in Aldmoor.", meta={"title": "Market"})
DESIGNER = Document(content="Mona Reeve studied with Ivo Kern.", meta={"title": "Mona Reeve"})


def searched(*searches: tuple[str, list[Document]]) -> State:
    steps = [
        Step(Action.SEARCH, query=query, searches=(Search("local", query),), documents=tuple(documents), observed=True)
        for query, documents in searches
    ]
    return replace(state(*steps), question=QUESTION)


def test_question_is_searched_first_then_once_names_of_two_best():
    """The names in the two best documents and what they leave open."""

    assert next_query(replace(state(), question=QUESTION)) == QUESTION
    assert next_query(searched((QUESTION, [LAMP, SHOP, MARKET]))) == "Mona Reeve Saltreach town designer born"

    first = searched((QUESTION, [LAMP, SHOP]))

    query = next_query(searched((QUESTION, [LAMP, SHOP]), (str(next_query(first)), [DESIGNER, LAMP])))

    assert query == "Ivo Kern town designer born"


def test_last_step_searches_only_what_is_described_by_another():
    plain = replace(searched((QUESTION, [LAMP, SHOP]), ("Mona Reeve", [DESIGNER])), question="Who sells lamps?")

    assert next_query(plain) is None
    assert next_query(replace(plain, question=QUESTION)) is not None


def test_few_names_go_out_and_without_any_a_documents_title():
    names = Document(content=" ".join(f"Then Person{n} spoke." for n in range(50)))
    assert str(next_query(searched((QUESTION, [names])))).count("Person") <= 10
    plain = Document(content="the lamp was made by a smith.", meta={"title": "lamp"})
    assert str(next_query(searched((QUESTION, [plain])))).startswith("lamp ")


def test_no_query_is_made_twice_and_so_a_run_ends():
    now, seen = searched((QUESTION, [LAMP])), {QUESTION}
    while (query := next_query(now)) is not None:
        assert query not in seen
        seen.add(query)
        now = now.with_step(Step(Action.SEARCH, query=query, searches=(Search("local", query),), observed=True))

    assert len(seen) < 5


PRIZE_QUESTION = "When did the yard that built the Aurora win the prize?"
SHIP = document("Aurora", content="The Aurora was built in a yard at Gamma.")


SHIP = document("ship", content="the ship was built in a yard.")


def test_query_without_new_names_has_a_title_and_missing_words():
    """It is made once."""

    assert next_query(state(observed_step(SHIP))) == "ship aurora prize"
    assert next_query(state(observed_step(SHIP, query="ship aurora prize"))) is None


def test_query_with_all_words_in_a_passage_is_question_and_title():
    prize = document("prize", content="the prize of the yard that built the aurora. when did it win?")

    assert next_query(state(observed_step(prize))) == f"prize {PRIZE_QUESTION}"


def test_a_query_with_a_long_title_is_cut():
    assert len(str(next_query(state(observed_step(document("long " * 400)))))) <= 1_000


def test_query_has_nothing_of_documents_given_with_the_question():
    attached = document("jn_board", content="Ada Quill keeps the crane.")
    reached = replace(state(observed_step(SHIP)), attached=(attached,))

    assert next_query(reached) == "ship aurora prize"


@for_each(
    "question, titles, is_withheld",
    ("Which contracts end in 2026?", ("contract alpha", "contract beta"), True),
    ("which contracts end in 2026", ("Contract with Alpha", "Contract with Beta"), True),
    ("How many invoices are there?", ("invoice 101", "invoice 102"), True),
    ("List all the policies of March.", ("travel policy", "leave policy"), True),
    ("Which contracts end in 2026?", ("contract alpha", "letter"), False),
    ("Which contracts end in 2026?", ("contract alpha", "contract alpha"), False),
    ("Which contract ends in 2026?", ("contract alpha", "contract beta"), False),
    ("When does the contract end?", ("contract alpha", "contract beta"), False),
    ("How many windows has the hall?", ("contract alpha", "contract beta"), False),
)
def test_a_list_of_documents_is_not_given_as_a_sentence(question: str, titles: tuple[str, str], is_withheld: bool):
    read = observed_step(*(document(title, content=f"{number}: 1969.") for number, title in enumerate(titles)))
    asked = take_reader_step(state(read, question=question), found(0.9), READER, must_answer=True)

    assert asked.step.certainty == ("not_found" if is_withheld else "stated")
    assert (SEVERAL in [event.data.get("text") for event in asked.events]) is is_withheld
