"""The format of a chain of thought: each reply is a sentence, and each sentence is the next query."""

from haystack.dataclasses import ChatMessage
from hypothesis import given
from hypothesis import strategies as st

from prefrag.components.reasoner.reply_formats import FORMATS, Tool
from prefrag.components.reasoner.reply_formats.cot_format import first_sentence
from prefrag.components.state.state import Action, Step
from tests.for_each import for_each

TOOLS = [Tool("Search_Engine", "Finds.")]


def read(text: str, must_answer: bool = False) -> Step:
    return FORMATS["cot"]().read(text, TOOLS, must_answer=must_answer)


def read_cut_off(text: str, must_answer: bool = False) -> Step:
    message = ChatMessage.from_assistant(text, meta={"finish_reason": "length", "reply_limit": 200})
    return FORMATS["cot"]().read_message(message, TOOLS, must_answer=must_answer)


class TestTheNextSentence:
    def test_is_the_query_and_stays_in_the_transcript(self):
        step = read("The Aurora was built by the yard Borealis.")

        assert step == Step(
            Action.SEARCH,
            reply="The Aurora was built by the yard Borealis.",
            tool="Search_Engine",
            query="The Aurora was built by the yard Borealis.",
        )

    @for_each(
        "text, sentence",
        ("J. K. Rowling wrote it. She lives.", "J. K. Rowling wrote it."),
        ("It was sold to Dr. Stern of St. Ives. He kept it.", "It was sold to Dr. Stern of St. Ives."),
        ("Born in the U.S. Virgin Islands. Died there.", "Born in the U.S. Virgin Islands."),
        ("It cost 3.5 million. Then more.", "It cost 3.5 million."),
        ('He said "no." Then he left.', 'He said "no."'),
        ("Who is the mayor of Corvo? I do not know.", "Who is the mayor of Corvo?"),
        ("One line\nand another", "One line"),
        ("一。二。", "一。"),
        ("No end at all", "No end at all"),
        ("**Next sentence:** Borealis is in Corvo. It is.", "Borealis is in Corvo."),
        ("Sure! Here is the next sentence:\n\nBorealis is in Corvo.", "Borealis is in Corvo."),
        ("The next sentence is:\nBorealis is in Corvo.", "Borealis is in Corvo."),
        ("Sure, Borealis is in Corvo.", "Sure, Borealis is in Corvo."),
        ("2. Borealis is in Corvo.", "Borealis is in Corvo."),
        ("- Borealis is in Corvo.", "Borealis is in Corvo."),
        ("\n\n  Borealis\tis in Corvo.", "Borealis is in Corvo."),
    )
    def test_ends_where_a_reader_would_end_it(self, text: str, sentence: str):
        assert first_sentence(text) == sentence
        assert read(text).reply == sentence

    @for_each(
        "text",
        "So the answer is: Dora Stern.",
        "Therefore, the final answer is Dora Stern.",
        "THE ANSWER IS Dora.",
        "",
        " \n ",
    )
    def test_that_gives_the_answer_or_is_empty_ends_the_chain(self, text: str):
        step = read(text)

        assert (step.action, step.query, step.answer) == (Action.NONE, "", "")
        assert step.reply == step.thought == text.strip()

    def test_of_a_reply_that_was_cut_off_counts_if_finished(self):
        """Otherwise, the reply is unreadable."""

        assert read_cut_off("Borealis is in Corvo. Its ma").query == "Borealis is in Corvo."
        assert read_cut_off("So the answer is: Dora Stern. For").action is Action.NONE

        step = read_cut_off("Borealis, the yard that built the Aurora, and")

        assert (step.action, step.cut_at) == (Action.UNREADABLE, 200)


class TestTheWholeChain:
    @for_each(
        "text, answer",
        ("Borealis is in Corvo. Its mayor is Dora Stern. So the answer is: Dora Stern.", "Dora Stern"),
        ("The answer is not clear at first. So the answer is: **Dora Stern**.", "Dora Stern"),
        ("So the answer is: Dora Stern\n\nI hope this helps.", "Dora Stern"),
        ("Dora Stern", "Dora Stern"),
    )
    def test_gives_what_stands_behind_the_last_answer_is(self, text: str, answer: str):
        step = read(text, must_answer=True)

        assert (step.action, step.answer) == (Action.ANSWER, answer)

    def test_keeps_the_reasoning_as_its_thought(self):
        assert (
            read("Corvo has a mayor. So the answer is: Dora.", must_answer=True).thought == "Corvo has a mayor. So the"
        )

    @for_each("text", "", "So the answer is: ")
    def test_without_an_answer_is_unreadable(self, text: str):
        assert read(text, must_answer=True).action is Action.UNREADABLE


@given(st.text(max_size=300), st.booleans())
def test_every_reply_is_one_step_of_one_line(text: str, must_answer: bool):
    step = read(text, must_answer)

    assert len(first_sentence(text).splitlines()) <= 1
    if must_answer:
        assert step.action in (Action.ANSWER, Action.UNREADABLE)
        assert bool(step.answer) == (step.action is Action.ANSWER)
    else:
        assert step.action in (Action.SEARCH, Action.NONE)
        assert bool(step.query) == (step.action is Action.SEARCH)


@given(st.lists(st.from_regex(r"[A-Z][a-z]{2,8}( [a-z]{2,8}){1,5}[.!?]", fullmatch=True), min_size=1, max_size=5))
def test_the_first_of_many_sentences_is_found(sentences: list[str]):
    assert first_sentence(" ".join(sentences)) == sentences[0]
