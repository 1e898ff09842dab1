"""Replies that Qwen2.5-Coder 1.5B (4 bits, llama.cpp) wrote when the product was measured with it, word for word."""

from haystack import Document
from haystack.dataclasses import ChatMessage

from prefrag.components.reader.answer_carrier import is_refusal, is_verdict
from prefrag.components.reasoner.product_rules import replace_repeated, says_not_found
from prefrag.components.reasoner.reply_formats import FORMATS, Tool
from prefrag.components.state.state import Action
from tests.components.samples import document, observed_step, state
from tests.for_each import for_each

TOOLS = [Tool("Search_Engine", "Searches.")]
# Asked in the format `text`, it copied the prompt's description of a thought, and asked the same query four times.
COPIED = (
    "Thought: what is known and what is missing\nAction: Search_Engine\n"
    'Action Input: "how many days of leave do full time people get"'
)


def read(reply: str, form: str = "steps", must_answer: bool = False):
    message = ChatMessage.from_assistant(reply, meta={"finish_reason": "stop"})
    return FORMATS[form]().read_message(message, TOOLS, must_answer=must_answer)


@for_each(
    "reply",
    *("27 days", "Oona Whitlock", "Lyngarth Technical College", "38 pence", "208", "Six", "5 May 2026", "Brewery"),
    *("Yusuf Deangelo", "Ludo Marchbanks", "22 September 2026", "Longshore Press", "Port Camber", "18500", "B 12"),
    *("2,500 pieces of the KR-11", "25 working days", "Captain Wilhelmina Achterberg", "40 to 50 percent", "£685"),
    *("Nib & Thread of Harcastle", "7 to 11 June 2027", "8,312 meters", "Professor Eudora Nance"),
    "Switch off the blue supply for ten seconds, then start the service again with sudo systemctl restart benchd.",
)
def test_an_answer_in_a_few_words_is_read_as_it_stands(reply):
    step = read(reply)

    assert (step.action, step.answer) == (Action.ANSWER, reply)
    assert not says_not_found(step.answer)


def test_its_way_out_is_read():
    assert says_not_found(read("NOT FOUND").answer)


@for_each(
    "question, reply",
    (
        "From which apple does the designer of the Shearwater Current Meter press his cider?",
        "The designer of the Shearwater Current Meter presses his cider from an apple.",
    ),
    (
        "Which was brought out earlier, the instrument designed by Tobias Greaves or the one designed by Jonah Brightwell?",
        "The instrument designed by Jonah Brightwell was brought out earlier.",
    ),
)
def test_forced_answer_that_repeats_the_question_has_no_value(question, reply):
    passage = Document(content="Tobias Greaves designed the Shearwater Current Meter.", meta={"title": "Shearwater"})

    assert is_refusal(question, read(reply).answer, [passage])


@for_each(
    "reply",
    "Yes",
    "Yes, the ship of the Lantern Survey is longer than the ship of the Sevenfold Seamount Cruise.",
    "No, he is not in debt",
)
def test_a_yes_with_its_reason_is_a_verdict(reply):
    assert is_verdict(read(reply).answer)


def test_a_query_that_it_repeats_is_replaced():
    first = read(COPIED, "text")
    leave = document("Leave", "Full-time people get 27 days. Oona Whitlock in Falmouth keeps the list.")
    before = state(observed_step(leave, query=first.query), question="how many days of leave do full time people get")

    step = replace_repeated(before.with_step(read(COPIED, "text")), FORMATS["text"](), TOOLS).step

    assert step.query != first.query
    assert first.query == "how many days of leave do full time people get"
