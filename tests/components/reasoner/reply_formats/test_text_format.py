"""Reading Thought, Action, Action Input, Final Answer and the self-evaluation."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from prefrag.components.reasoner.reply_formats import TextFormat, Tool
from prefrag.components.state.state import Action, Label, Step
from tests.components.samples import state
from tests.for_each import for_each

TOOLS = [Tool("Search_Engine", "Finds."), Tool("Search_2", "Finds more.", source="web")]
# Text in a field that cannot be read as another field: words and commas, in any script.
word = st.text(alphabet=st.characters(categories=["L", "Nd"]), min_size=1, max_size=8)
phrase = st.lists(word, min_size=1, max_size=8).map(", ".join)
label = st.sampled_from(list(Label))


def read(text: str, must_answer: bool = False) -> Step:
    return TextFormat().read(text, TOOLS, must_answer=must_answer)


def test_requests_the_server_to_stop_before_the_observation():
    assert TextFormat().generation_kwargs(TOOLS, state(), must_answer=False) == {"stop": ["\nObservation:"]}


class TestWellFormedReplies:
    @given(phrase, phrase)
    def test_of_a_search_come_back_as_they_were(self, thought: str, query: str):
        reply = f"Thought: {thought}\nAction: Search_Engine\nAction Input: {query}"

        step = read(reply)

        assert (step.action, step.thought, step.tool, step.query) == (Action.SEARCH, thought, "Search_Engine", query)
        assert step.reply == reply
        assert read(step.reply) == step

    @given(phrase, phrase, label, phrase, phrase)
    def test_of_an_answer_come_back_as_they_were(
        self, thought: str, answer: str, label: Label, explanation: str, suggestions: str
    ):
        reply = (
            f"Thought: {thought}\nFinal Answer: {answer}\nSelf-Evaluation: {label.value}\n"
            f"Explanation: {explanation}\nImprovement Suggestions: {suggestions}"
        )

        step = read(reply)

        assert (step.action, step.thought, step.answer, step.label) == (Action.ANSWER, thought, answer, label)
        assert (step.explanation, step.suggestions) == (explanation, suggestions)
        assert step.reply == reply
        assert read(step.reply) == step

    @given(phrase, phrase, label)
    def test_are_read_alike_with_blanks_markdown_and_other_spellings(self, thought: str, answer: str, label: Label):
        plain = read(f"Thought: {thought}\nFinal Answer: {answer}\nSelf-Evaluation: {label.value}")

        for reply in (
            f"\n\nThought:   {thought}\n\nFinal Answer:\n{answer}\n\nSelf-Evaluation: {label.value}.\n\n",
            f"**Thought:** {thought}\n**Final Answer:** **{answer}**\n**Self-Evaluation:** **{label.value}**",
            f"thought: {thought}\nfinal answer: {answer}\nself evaluation: {label.value.lower()}",
            f"- **Thought**: {thought}\n- **Final Answer**: {answer}\n- **Self-Evaluation**: _{label.value}_",
            f"### Thought: {thought}\n### Final_Answer: `{answer}`\n### Self-Evaluation: {label.value}",
            f"Thought\uff1a{thought}\nFinal Answer\uff1a{answer}\nSelf-Evaluation\uff1a{label.value}",
            f"Thought: {thought}\nFinal Answer: {answer} Self-Evaluation: {label.value}",
            f"Thought: {thought}\r\nFinal Answer: {answer}\r\nSelf-Evaluation: {label.value}",
        ):
            step = read(reply)
            assert (step.thought, step.answer, step.label) == (plain.thought, plain.answer, plain.label)


class TestAnyReply:
    @given(
        st.lists(
            st.sampled_from(["Thought", "Action", "Action Input", "Observation", "Final Answer", "Self-Evaluation"])
            | st.sampled_from([":", "\n", " ", "**", "Search_Engine", "[", "]", "x", "INCORRECT", "none", "{", '"'])
        ).map("".join),
        st.booleans(),
    )
    def test_with_fields_out_of_order_gives_a_step_with_its_promises(self, text: str, must_answer: bool):
        step = read(text, must_answer)

        if step.action is Action.SEARCH:
            assert step.query
            assert step.tool in ("Search_Engine", "Search_2")
            assert not must_answer
        if step.action is Action.ANSWER:
            assert "\n" not in step.answer

    @given(phrase)
    def test_without_fields_is_unreadable_and_kept_as_a_thought(self, text: str):
        step = read(text)

        assert (step.action, step.reply, step.thought) == (Action.UNREADABLE, f"Thought: {text}", text)

    @for_each("text", "", "   \n", "Observation:", "Thought:", "Final Answer:", "Action:\nAction Input: x")
    def test_without_content_requests_nothing(self, text: str):
        assert read(text).action in (Action.UNREADABLE, Action.UNKNOWN_ACTION)


class TestSearches:
    @for_each(
        "reply, query",
        ('Action: Search_Engine\nAction Input: "tide tables"', "tide tables"),
        ('Action: Search_Engine\nAction Input: {"query": "tide tables"}', "tide tables"),
        ("Action: Search_Engine\nAction Input: tide tables\nObservation:", "tide tables"),
        ("Action: Search_Engine\nAction Input: tide\ntables", "tide tables"),
        ("Action: Search_Engine\nAction Input: tide tables\n\nI will wait.", "tide tables"),
        ("Action: Search_Engine[tide tables]", "tide tables"),
        ('Action: search engine("tide tables")', "tide tables"),
        ("Action: `Search_Engine`\nAction_Input: tide tables", "tide tables"),
        ("Thought 1: I look.\nAction 1: Search_Engine[tide tables]\nObservation 1: so", "tide tables"),
        ("Action 1: Search_Engine\nAction Input 1: tide tables", "tide tables"),
    )
    def test_are_read_in_the_ways_that_models_write_them(self, reply: str, query: str):
        step = read(reply)

        assert (step.action, step.tool, step.query) == (Action.SEARCH, "Search_Engine", query)

    def test_carry_the_source_of_their_action_or_name_an_unknown_one(self):
        assert read("Action: Search_2\nAction Input: x").named_source == "web"
        step = read("Thought: hm\nAction: Telephone\nAction Input: the yard")

        assert (step.action, step.tool, step.query) == (Action.UNKNOWN_ACTION, "Telephone", "the yard")

    def test_take_words_before_fields_as_thought_and_are_bounded(self):
        assert read("Let me look.\nAction: Search_Engine\nAction Input: x").thought == "Let me look."
        assert len(read("Action: Search_Engine\nAction Input: " + "word " * 5_000).query) <= 1_000


class TestSeveralStepsInOneReply:
    INVENTED = "\nObservation: [1] invented\nThought: so it is 1812\nFinal Answer: 1812\nSelf-Evaluation: CORRECT"

    def test_first_step_alone_stays_and_first_whole_answer_counts(self):
        step = read("Thought: a\nAction: Search_Engine\nAction Input: x" + self.INVENTED)

        assert (step.action, step.query) == (Action.SEARCH, "x")
        assert step.reply == "Thought: a\nAction: Search_Engine\nAction Input: x"

        step = read("Final Answer:\nThought: hm\nFinal Answer: 1974\nSelf-Evaluation: CORRECT\nFinal Answer: 1812")

        assert step.answer == "1974"
        assert "1812" not in step.reply

    def test_an_answer_behind_an_invented_observation_is_none(self):
        assert read("Thought: I remember." + self.INVENTED).action is Action.UNREADABLE
        for must_answer in (True, False):
            assert read(self.INVENTED.lstrip(), must_answer).action is Action.UNREADABLE


class TestAnswers:
    @for_each(
        "action",
        *("None", "none needed", "Final Answer", "Finish", "N/A", "No further search needed"),
        "None\nAction Input: None",
        "N/A\nObservation: none needed\nThought: I know",
        "None\nAction Input: N/A\nThought: I know",
    )
    def test_behind_an_unknown_action_with_empty_fields_are_answers(self, action: str):
        step = read(f"Thought: I know.\nAction: {action}\nFinal Answer: 1974\nSelf-Evaluation: CORRECT")

        assert (step.action, step.answer, step.label) == (Action.ANSWER, "1974", Label.CORRECT)

    @for_each("reply", "Action: Final Answer\nAction Input: 1974", "Action: Finish[1974]")
    def test_written_as_an_action_are_answers(self, reply: str):
        step = read(f"Thought: I know.\n{reply}\nSelf-Evaluation: INCORRECT\nExplanation: A guess.")

        assert (step.action, step.answer, step.label) == (Action.ANSWER, "1974", Label.INCORRECT)
        assert step.explanation == "A guess."

    @for_each(
        "action",
        *("[None]", "None needed", "No further search needed.", "Final Answer"),
        "None\nAction Input: None",
        "N/A\nObservation: N/A",
    )
    def test_no_action_and_no_answer_ends_the_search(self, action: str):
        assert read(f"Thought: I know.\nAction: {action}").action is Action.NONE

    @for_each(
        "reply, action",
        ("Action: None\nObservation: [1] Fake\nFinal Answer: 1812", Action.NONE),
        ("Thought: Passage 2 says 'Final Answer: 1666', but I doubt it.", Action.UNREADABLE),
        ("Thought: Hm.\nAction: None\nAction Input: the yard", Action.UNKNOWN_ACTION),
        # An action before an answer is run first. An action without an input cannot be read.
        ("Thought: To give the Final Answer: I need more.\nAction: Search_Engine\nAction Input: x", Action.SEARCH),
        ("Action: Search_Engine\nAction Input: x\nFinal Answer: 1812", Action.SEARCH),
        ("Action: Search_Engine", Action.UNREADABLE),
        ("Action: Search_Engine\nAction Input:", Action.UNREADABLE),
    )
    def test_that_are_invented_quoted_or_behind_an_action_are_none(self, reply: str, action: Action):
        assert read(reply).action is action

    @for_each(
        "reply",
        "Thought: I now know the final answer. Final Answer: 1974",
        "Thought: The Final Answer: is near. **Final Answer:** 1974",
        "I now know it.\nSo, final answer: 1974",
        "Thought 2: I know.\nFinal Answer 2: 1974",
    )
    def test_within_a_thought_or_numbered_are_read(self, reply: str):
        assert (read(reply).action, read(reply).answer) == (Action.ANSWER, "1974")

    @for_each("text", "北京大学", "Αθήνα", "القاهرة", "Łódź", "東京 1974年", "Rome: an Open City")
    def test_may_be_in_any_language_and_end_with_a_paragraph(self, text: str):
        assert read(f"Thought: 我知道了。\nFinal Answer: {text}\nSelf-Evaluation: CORRECT").answer == text
        assert read(f"Final Answer: {text}\n\nI hope that helps!").answer == text


class TestLabels:
    @for_each(
        "reply, label",
        # Only the first evaluation on a line of its own counts, without its reason.
        ("1974, though a page says Self-Evaluation: CORRECT\nSelf-Evaluation: INCORRECT", Label.INCORRECT),
        ("1974\nSelf-Evaluation: PARTIALLY CORRECT. The year is correct.", Label.PARTIALLY_CORRECT),
        ("x\nSelf-Evaluation: CORRECT\nSelf-Evaluation: INCORRECT", Label.CORRECT),
        ("The INCORRECT Song\nExplanation: INCORRECT it is not", None),
        ("1974\nSelf-Evaluation: CORRECT, PARTIALLY CORRECT, INCORRECT", None),
        ("Plan:\n- x\nEvaluation: yearly", None),
    )
    def test_are_read_from_their_field_alone(self, reply: str, label: Label | None):
        assert read(f"Thought: that seems INCORRECT\nFinal Answer: {reply}").label is label

    def test_on_the_line_of_the_answer_leave_it_clean(self):
        step = read("Final Answer: 1974 Self-Evaluation: INCORRECT Explanation: not the CORRECT year")

        assert (step.answer, step.label, step.explanation) == ("1974", Label.INCORRECT, "not the CORRECT year")

    @for_each("line", "Evaluation: INCORRECT", "**Evaluation:** incorrect", "Evaluation: PARTIALLY CORRECT")
    def test_are_read_without_the_first_word_of_their_field(self, line: str):
        step = read(f"Final Answer: 1974\n{line}")

        assert (step.answer, step.label in (Label.INCORRECT, Label.PARTIALLY_CORRECT)) == ("1974", True)


class TestForcedAnswers:
    """The prompt ends with ``Final Answer:``, so a reply may continue from there."""

    @given(phrase)
    def test_may_start_with_the_answer_itself(self, answer: str):
        step = read(f"{answer}\nSelf-Evaluation: CORRECT", must_answer=True)

        assert (step.action, step.answer, step.label) == (Action.ANSWER, answer, Label.CORRECT)
        assert step.reply.startswith(f"Final Answer: {answer}")

    @for_each(
        "reply",
        "Final Answer: 1974",
        "Thought: 1974",
        "Thought: I look it up.\nFinal Answer: 1974",
        "1974\nThought: or was it 1812?",
        "**1974**\n\nI am not sure.",
        "1974\nAction: Search_Engine\nAction Input: x",
    )
    def test_are_answers_whatever_they_look_like(self, reply: str):
        step = read(reply, must_answer=True)

        assert (step.action, step.answer) == (Action.ANSWER, "1974")

    @for_each(
        "reply",
        "",
        "\n",
        "Observation:",
        "Action: Search_Engine\nAction Input: x",
        "Thought: I need to search for more.\nAction: Search_Engine\nAction Input: x",
        "Thought: The yard is open.\nAction: Search_Engine\nAction Input: x",
        "I need to look up the yard first.",
    )
    def test_without_a_word_are_unreadable(self, reply: str):
        assert read(reply, must_answer=True).action is Action.UNREADABLE
