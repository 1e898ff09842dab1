from dataclasses import replace
from typing import Any

import pytest

from prefrag.components.mspr.answer_reviewer import AnswerReviewer
from prefrag.components.state.state import Label, RunError, State
from tests.components.samples import QUESTION, answer_step, document, kinds, observed_step, state
from tests.fakes import CALLS, ScriptedChatGenerator
from tests.for_each import for_each
from tests.marks import put_codes

TRUE = '{"effectiveness": "Yes.", "completeness": "All.", "correctness": "As [1] says.", "label": "True"}'
FALSE = '{"effectiveness": "Yes.", "completeness": "Half.", "correctness": "Made up.", "label": "False"}'
OBSERVED = observed_step(document("alpha", content="Alpha was built by Beta."))
ANSWERED = state(OBSERVED, answer_step("1974", thought="Beta won it then.", label=Label.PARTIALLY_CORRECT))


def reviewer(*script: str, **changes: Any) -> AnswerReviewer:
    model = ScriptedChatGenerator(list(script or [TRUE]), name="reviewer", **changes.pop("model", {}))
    return AnswerReviewer(**{"sources": ["local", "web"], "supplement_source": "web", **changes}, chat_generator=model)


def reviewed(script: str, reached: State = ANSWERED, **changes: Any) -> tuple[str, State]:
    output = reviewer(script, **changes).run(reached)
    assert len(output) == 1
    return next(iter(output.items()))


def test_is_called_with_question_passages_reasoning_and_answer():
    reviewed(TRUE)

    prompt = CALLS["reviewer"][0]["prompt"]
    for part in (f"Question: {QUESTION}", "Alpha was built by Beta.", "Beta won it then.", "Answer: 1974"):
        assert part in prompt
    for aspect in ("effectiveness", "completeness", "correctness"):
        assert aspect in prompt
    assert CALLS["reviewer"][0]["generation_kwargs"]["response_format"]["type"] == "json_schema"


def test_sees_the_passages_under_the_marks_that_the_answer_cites():
    observed = state(OBSERVED, observed_step(*OBSERVED.documents, document("beta")))
    answer = put_codes("1974 [[2]]", observed)

    reviewed(TRUE, observed.with_step(answer_step(answer)))

    prompt = CALLS["reviewer"][0]["prompt"]
    assert f"Answer: {answer}" in prompt
    assert f"{answer.removeprefix('1974 ')} beta" in prompt


def test_a_failed_review_without_the_web_goes_home():
    output, after = reviewed(FALSE, state(answer_step(), sources=("local",)))
    assert output == "search_local"
    assert "(none)" in CALLS["reviewer"][0]["prompt"], "what it is shown instead of passages"
    trailer = after.step.reply.split("\n")[-2:]
    assert trailer == ["Self-Evaluation: INCORRECT", f"Explanation: {after.step.explanation}"]


def test_sees_a_refined_observation_as_the_reasoner_did():
    refined = replace(OBSERVED, refined=document("summary", content="Beta built it."))

    reviewed(TRUE, state(refined, answer_step()))

    assert "Beta built it." in CALLS["reviewer"][0]["prompt"]
    assert "Alpha was built by Beta." not in CALLS["reviewer"][0]["prompt"]


class TestRouting:
    def test_an_answer_that_passes_is_accepted_and_labelled(self):
        output, after = reviewed(TRUE)

        assert (output, after.step.label, after.supplements) == ("accepted", Label.CORRECT, 0)
        assert after.step.explanation == "Yes. All. As [1] says."
        CALLS.clear()

        assert reviewed(FALSE, enabled=False) == ("accepted", ANSWERED)
        assert "reviewer" not in CALLS

    def test_what_fails_has_the_question_searched_for_on_the_web(self):
        output, after = reviewed(FALSE)

        assert (output, after.step.label, after.supplements) == ("search_web", Label.INCORRECT, 1)
        assert kinds(after) == ["review", "search"]
        assert after.events[-1].data == {"source": "web", "query": QUESTION}

    @for_each("done, allowed", (1, 1), (0, 0), (2, 2))
    def test_a_failed_answer_without_supplements_is_accepted(self, done: int, allowed: int):
        reached = replace(state(answer_step(), max_supplements=allowed), supplements=done)

        output, after = reviewed(FALSE, reached)

        assert (output, after.step.label, after.supplements) == ("accepted", Label.INCORRECT, done)


class TestReply:
    @for_each(
        "reply, output",
        ('{"label": true}', "accepted"),
        ('{"label": false}', "search_web"),
        ("```json\n{'label': 'False', 'correctness': 'cut of", "search_web"),
        ("**False**", "search_web"),
        ("<think>False</think>True", "accepted"),
    )
    def test_is_understood_however_it_is_written(self, reply: str, output: str):
        name, after = reviewed(reply)

        assert name == output
        assert after.events[0].data["parsed"] is True

    @for_each("reply", "", "Perhaps.", '{"label": "maybe"}', '{"correctness": "False"}')
    def test_an_unreadable_review_searches_nothing_and_is_marked(self, reply: str):
        name, after = reviewed(reply)

        assert name == "accepted"
        assert after.step.label is Label.PARTIALLY_CORRECT, "the label in the reply stays"
        assert kinds(after)[-2:] == ["unreadable", "review"]
        assert (after.events[-1].data["status"], after.events[-1].data["parsed"]) == (None, False)
        assert after.usage.llm_calls == {"reviewer": 2}

    @for_each("reply", "", "Perhaps.")
    def test_an_unreadable_review_ends_the_run_where_set(self, reply: str):
        with pytest.raises(RunError, match="could not be read, even when asked again: set on_doubt to keep") as failure:
            reviewed(reply, on_doubt="end")

        assert failure.value.state.usage.llm_calls == {"reviewer": 2}
        CALLS.clear()

        name, after = next(iter(reviewer("Hm.", FALSE).run(ANSWERED).items()))

        assert (name, after.step.label) == ("search_web", Label.INCORRECT)
