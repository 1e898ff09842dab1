"""The transcript that the model gets, and the step that is read from its reply."""

from pathlib import Path
from typing import Any

import pytest

from prefrag.components.reasoner.reasoner import Reasoner
from prefrag.components.state.answer_composer import compose
from prefrag.components.state.citations import known_marks
from prefrag.components.state.state import Action, RunError, State
from tests.components.samples import QUESTION, answer_step, document, kinds, observed_step, search_step, settings, state
from tests.fakes import CALLS, ScriptedChatGenerator
from tests.for_each import for_each
from tests.marks import drop_codes

ANSWER = "Thought: I know.\nFinal Answer: 1974\nSelf-Evaluation: CORRECT"
TOOLS = [
    {"name": "Search_1", "description": "The curated documents.", "source": "local"},
    {"name": "Search_2", "description": "The web.", "source": "web"},
]


def reasoner(*script: str, **changes: Any) -> Reasoner:
    model = ScriptedChatGenerator(list(script) or [ANSWER], **changes.pop("model", {}))
    return Reasoner(model, **changes)


def prompt_for(reached: State, **changes: Any) -> str:
    reasoner(**changes).run(reached)
    return CALLS["model"][-1]["prompt"]


class TestInit:
    def test_advertises_one_search_engine_by_default(self):
        assert [tool["name"] for tool in reasoner().tools] == ["Search_Engine"]


class TestPrompt:
    def test_of_the_first_step_holds_question_tool_and_limit(self):
        prompt = prompt_for(state(max_steps=2))

        assert prompt.endswith(f"Question: {QUESTION}")
        assert 'a line "Action:" with Search_Engine,' in prompt
        assert "at most 2 times" in prompt
        assert "written exactly as Search_Engine" in prompt_for(state(prompts="plain"))

    def test_repeats_the_transcript_in_order(self):
        reached = state(
            observed_step(document("alpha"), query="first"),
            search_step("second", observed=True, note="No passages were found."),
            answer_step("1812"),
        )

        prompt = prompt_for(reached)

        places = [
            prompt.index(part) for part in ("Input: first", "About alpha.", "Input: second", "No passages", "1812")
        ]
        assert places == sorted(places)
        assert drop_codes(prompt).count("Observation: [1] alpha") == 1

    def test_begins_as_the_one_before_it_and_shows_a_passage_once(self):
        earlier, again = observed_step(document("alpha")), observed_step(document("beta"), document("alpha"))

        first, second, third = (prompt_for(state(*steps)) for steps in ([], [earlier], [earlier, again]))

        assert second.startswith(first)
        assert third.startswith(second.removesuffix(f"Question again: {QUESTION}"))
        above = drop_codes(third).removesuffix(f"\nQuestion again: {QUESTION}")
        assert above.endswith("Observation: [2] beta\n| About beta.\n\nShown above: [1]")
        for shown_twice in ({"prompts": "plain"}, {"context_window": 1_060}):
            window = {"context_window": shown_twice.pop("context_window", 8_192)}
            long = observed_step(document("long", content="Long. " * 400), document("alpha"))
            prompt = prompt_for(state(long, again, **shown_twice), model=window)
            assert prompt.removesuffix(f"\nQuestion again: {QUESTION}").endswith("| About alpha.")

    def test_shows_the_form_of_answers_and_no_absent_observation(self):
        assert not prompt_for(state(answer_step("1812"))).endswith("Observation:")
        assert "ANSWER yes OR no" in prompt_for(state(), answer_format="ANSWER yes OR no")
        assert "None" not in prompt_for(state(observed_step(document("", title=None, content=None))))

    def test_holds_the_conversation_unless_the_question_is_rewritten(self):
        history = (("user", "Who built Aurora?"), ("assistant", "The yard in Beta."))

        assert "The yard in Beta." in prompt_for(State("And when?", settings(), history=history))
        assert "The yard in Beta." not in prompt_for(
            State("When did the yard win?", settings(), history=history, typed="And when?")
        )

    def test_may_be_a_file_of_your_own(self, tmp_path: Path):
        own = tmp_path / "own.jinja"
        own.write_text("{{ question }} in {{ max_steps }} steps")

        assert prompt_for(state(), prompt=str(own)) == f"{QUESTION} in 3 steps"

    def test_of_a_forced_answer_ends_where_the_answer_begins(self):
        assert prompt_for(state(search_step("last")), must_answer=True).endswith("Final Answer:")
        assert "Input: last" in CALLS["model"][-1]["prompt"]


class TestFormat:
    def test_of_a_server_is_text_and_of_an_embedded_model_bound(self):
        reasoner(generation_kwargs={"temperature": 0.5}).run(state())
        reasoner('{"thought": "a", "action": "Search_Engine", "query": "x"}', model={"is_embedded": True}).run(state())

        text, constrained = (call["generation_kwargs"] for call in CALLS["model"])
        assert text["stop"] == ["\nObservation:"]
        assert constrained["response_format"]["type"] == "json_schema"
        # Sampling settings of the YAML are kept.
        assert (text["temperature"], text["top_p"]) == (0.5, 0.9)

    def test_that_was_chosen_for_a_run_stays_and_the_result_says_why(self):
        asked = reasoner()
        asked.chat_generator.reply_format, asked.chat_generator.format_reason = "text", "4 of 4 tasks right"
        reached = asked.run(state())["state"]
        asked.chat_generator.format_reason = "PREFRAG_LLM_FORMAT says so"

        result = compose(asked.run(reached)["state"])

        assert (result["reply_format"], result["format_reason"]) == ("text", "4 of 4 tasks right")

    def test_that_no_longer_exists_is_refused_and_another_named(self):
        with pytest.raises(ValueError, match="guided.*write steps"):
            reasoner(reply_format="guided")


class TestStep:
    def test_is_added_and_reported(self):
        before = state(observed_step(document("alpha")))

        reached = reasoner().run(before)["state"]

        assert (reached.replies, before.replies) == (2, 1)
        assert kinds(reached) == ["thought", "answer"]
        assert reached.events[-1].data == {"text": "1974", "label": "CORRECT", "forced": False}
        assert all(event.step == 2 for event in reached.events)
        assert reached.usage.llm_calls == {"reasoner": 1}

    @for_each("reply", "", "   ", "<think>Final Answer: 1812</think>", "<think>Final Answer: 1812")
    def test_of_a_reply_without_words_is_unreadable(self, reply: str):
        reached = reasoner(reply).run(state())["state"]

        assert reached.step.action is Action.UNREADABLE
        assert "1812" not in reached.step.reply
        assert kinds(reached) == (["cut_off"] if reply.endswith("1812") else [])


class TestFailure:
    def test_of_the_window_is_reported_and_no_half_question_sent(self):
        with pytest.raises(RunError, match="cannot call its model"):
            reasoner(model={"context_window": 400}).run(state())


def test_plain_mark_in_an_answer_becomes_the_code_of_its_passage():
    reached = state(observed_step(document("alpha", content="Alpha was launched in 1974.")))

    after = reasoner("Thought: I know.\nFinal Answer: 1974 [1]").run(reached)["state"]

    assert after.step.answer in [f"1974 [{mark}]" for mark in known_marks(reached)]
    assert [event.data["text"] for event in after.events if event.kind == "answer"] == ["1974 [1]"]
