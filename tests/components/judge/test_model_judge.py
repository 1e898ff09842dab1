"""The judge of the paper: a language model."""

import json
import pickle
from dataclasses import replace
from typing import Any

import pytest

from prefrag.components.judge.judge import Relevance
from prefrag.components.judge.model_judge import ModelJudge
from prefrag.components.prompts.render_prompt import PROMPTS
from prefrag.components.reasoner.reasoner import Reasoner
from prefrag.components.state.state import RunError, State, Verdict
from tests.components.samples import document, found, kinds, observed_step, search_step, state
from tests.fakes import CALLS, ScriptedChatGenerator
from tests.for_each import for_each

FIRST = observed_step(document("alpha", content="Alpha was built by Beta."))
SECOND = search_step("beta", found(document("beta", content="Beta is a yard.")))
JUDGED = state(FIRST, SECOND)
TRUE, FALSE = '{"analysis": "New.", "status": "True"}', '{"analysis": "Old.", "status": "False"}'


def judge(*script: str, model: dict[str, Any] | None = None, **settings: Any) -> ModelJudge:
    return ModelJudge(ScriptedChatGenerator(list(script), name="judge", **(model or {})), **settings)


def judged(reached: State, *script: str, **settings: Any) -> tuple[Verdict, State]:
    return judge(*script, **settings).judge(reached)


def test_the_judge_compares_with_the_refined_observation():
    refined = replace(FIRST, refined=document("summary", content="Beta built it."))

    judged(state(refined, SECOND), TRUE)

    assert "Beta built it." in CALLS["judge"][0]["prompt"]
    assert "Alpha was built by Beta." not in CALLS["judge"][0]["prompt"]


def test_sees_question_observed_and_new_passages_apart():
    judged(state(SECOND), TRUE)
    judged(JUDGED, TRUE)

    nothing, call = CALLS["judge"]
    earlier, new = call["prompt"].split("New information:")
    assert JUDGED.question in earlier
    assert "Alpha was built" in earlier
    assert "Beta is a yard" in new
    assert "(nothing yet)" in nothing["prompt"]
    assert call["generation_kwargs"]["response_format"]["type"] == "json_schema"


@for_each(
    "reply, status",
    (TRUE, True),
    (FALSE, False),
    ('{"analysis": "x", "status": true}', True),
    ('{"analysis": "x", "status": false}', False),
    ("{'analysis': \"It doesn't\", 'status': False}", False),
    ('```json\n{"status": "true"}\n```', True),
    ('Here: {"status": "yes", "analysis": "cut of', True),
    ("True", True),
    ("**False**.", False),
    ("<think>True</think>False", False),
    ('One passage contains the text {"status": "True"}, which I ignore.\n' + FALSE, False),
    ('{"analysis": "<your reasoning>", "status": "<True or False>"}\n' + TRUE, True),
    ('It holds {"status": "True"}.\n\nStatus: False', False),
    ('{"analysis": "an", "status": "False"} A passage wrote {"status": "True"}, which I ignore.', False),
    ('{"analysis": "an", "status": "False"}\n\nNew information:\n[1] A page\nStatus: True', False),
    ('[{"passage": 1, "status": "True"}, {"analysis": "both", "status": "False"}]', False),
    ('{"verdicts": [{"analysis": "an", "status": "True"}]}', True),
    ('{"Analysis": "New.", "Status": "True"}', True),
    ('{"status": "True, because a new detail is found"}', True),
    ("Analysis: New.\n**Status:** True", True),
    ('{"result": {"status": "True"}}', True),
    ("{\u201cstatus\u201d: \u201cFalse\u201d}", False),
    ("False. Nothing of it is new.", False),
)
def test_is_understood_however_it_writes(reply: str, status: bool):
    verdict, _ = judged(JUDGED, reply)

    assert (verdict.status, verdict.judged_by, verdict.parsed) == (status, "model", True)


@for_each("reply", "", "Perhaps.", '{"analysis": "true or not"}', '{"status": "maybe"}', "<think>True")
@for_each("setting, status", ("switch", False), ("keep", True))
def test_what_is_not_understood_twice_is_decided_by_the_setting(reply: str, setting: Any, status: bool):
    verdict, after = judged(JUDGED, reply, on_doubt=setting)

    assert (verdict.status, verdict.parsed) == (status, False)
    assert after.usage.llm_calls == {"judge": 2}
    assert "unreadable" in kinds(after)


def test_what_is_understood_the_second_time_counts():
    verdict, _ = judged(JUDGED, "Perhaps.", FALSE)

    assert (verdict.status, verdict.parsed, verdict.analysis) == (False, True, "Old.")
    first, second = (call["prompt"] for call in CALLS["judge"])
    assert second.startswith(first)
    assert "could not be read" in second


@for_each("reply", FALSE, '{"status": "False", "analysis": "The pass')
def test_what_was_cut_off_is_doubt_whatever_it_says(reply: str):
    verdict, after = judge(reply, model={"finish_reason": "length"}).judge(JUDGED)

    assert (verdict.status, verdict.parsed) == (True, False)
    assert [event.data["limit"] for event in after.events if event.kind == "cut_off"] == [512, 512]
    assert "was cut off" in CALLS["judge"][1]["prompt"]


def test_the_judge_gives_its_analysis_and_keeps_in_doubt():
    assert judged(JUDGED, TRUE)[0].analysis == "New."
    doubt = judged(JUDGED, "Perhaps.")[0]
    assert (doubt.status, doubt.analysis) == (True, "Perhaps.")
    assert judged(JUDGED, '{"analysis": null, "status": "True"}')[0].analysis == ""


def test_one_that_cannot_hold_all_is_shown_less_of_the_oldest():
    long = observed_step(document("old", content="Old. " * 2_000))

    _, after = judged(state(long, SECOND), TRUE, model={"context_window": 1_500})

    assert "Old." not in CALLS["judge"][0]["prompt"]
    assert "Beta is a yard" in CALLS["judge"][0]["prompt"]
    assert kinds(after) == ["cut"]


class TestConversation:
    def reached(self, **changes: Any) -> State:
        search = str(SECOND.reply)
        before = state(FIRST, **changes)
        return Reasoner(ScriptedChatGenerator([search])).run(before)["state"].with_last(searches=SECOND.searches)

    def prompt_of(self, reached: State, **settings: Any) -> str:
        ModelJudge(ScriptedChatGenerator([str(SECOND.reply)], **settings.pop("model", {})), **settings).judge(reached)
        return str(CALLS["model"][-1]["prompt"])

    def test_of_the_reasoner_is_continued_by_a_judge_with_its_model(self):
        prompt = self.prompt_of(self.reached())

        # The reasoner's prompt ends with the question once more; up to there the server has read the text already.
        shared, again, _ = CALLS["model"][0]["prompt"].rpartition("\nQuestion again:")
        assert again
        assert prompt.startswith(shared)
        assert "Beta is a yard.\n\nJudge the passages that were found last." in prompt
        assert "New information" not in prompt

    @for_each(
        "changes, settings",
        ({"prompts": "plain"}, {}),
        ({"instructions": "Answer in Dutch."}, {}),
        ({}, {"model": {"model_host": "elsewhere"}}),
        ({}, {"prompt": str(PROMPTS / "source_switch_judge.jinja")}),
    )
    def test_is_left_to_the_reasoner_by_any_other(self, changes: dict[str, Any], settings: dict[str, Any]):
        prompt = self.prompt_of(self.reached(**changes), **settings)

        assert "New information:\nTitle: beta" in prompt
        assert "Answer in Dutch." not in prompt

    def test_stays_in_its_process_while_a_state_is_sent_to_another(self):
        assert pickle.loads(pickle.dumps(self.reached())).conversation is None


class TestScores:
    PASSAGES = (document("beta", content="Beta is a yard."), document("gamma", content="Gamma is a town."))

    def scored(self, *script: str, **settings: Any) -> tuple[Relevance, State]:
        return judge(*script, **settings).score(JUDGED, self.PASSAGES)

    def test_scores_from_0_to_10_become_minus_1_to_1(self):
        relevance, reached = self.scored('{"1": 10, "2": "3.5"}')

        assert relevance == Relevance((1.0, -0.3), "model")
        assert reached.usage.llm_calls == {"judge": 1}
        call = CALLS["judge"][0]
        assert "[1] beta\n| Beta is a yard.\n\n[2] gamma\n| Gamma is a town." in call["prompt"]
        schema = call["generation_kwargs"]["response_format"]["json_schema"]["schema"]
        assert schema["required"] == ["1", "2"]
        # The scores are also read from inside another object, or after words.
        assert self.scored('The scores: \n{"scores": {"1": 0, "2": 5}}')[0].scores == (-1.0, 0.0)

    def test_a_reply_has_room_for_the_scores_of_many(self):
        many = [document(f"d{number}") for number in range(80)]

        judge("{}").score(JUDGED, many)
        judge("{}", generation_kwargs={"max_tokens": 2_000}).score(JUDGED, many)

        assert [call["generation_kwargs"]["max_tokens"] for call in CALLS["judge"][::2]] == [960, 2_000]

    def test_equal_passages_have_one_number_and_one_score(self):
        beta, gamma = self.PASSAGES

        relevance, _ = judge('{"1": 10, "2": 0}').score(JUDGED, [beta, gamma, beta])

        assert relevance == Relevance((1.0, -1.0, 1.0), "model")

    @for_each("number", "1" + "0" * 400, "-1", "11", "NaN", "true", '"high"')
    def test_a_number_out_of_range_is_no_score(self, number: str):
        relevance, _ = self.scored(f'{{"1": {number}, "2": 0}}')

        assert (relevance.scores, relevance.parsed) == ((None, None), False)

    @for_each("on_doubt, score", ("keep", None), ("switch", -1.0))
    def test_that_cannot_be_read_twice_are_none_or_the_lowest(self, on_doubt: str, score: float | None):
        relevance, reached = self.scored('{"1": 10}', on_doubt=on_doubt)

        assert relevance == Relevance((score, score), "model", parsed=False, analysis='{"1": 10}')
        assert reached.usage.llm_calls == {"judge": 2}

    def test_doubt_about_scores_may_end_the_run_with_its_state(self):
        for doubted in (lambda: judged(JUDGED, "Perhaps.", on_doubt="end"), lambda: self.scored("No.", on_doubt="end")):
            CALLS.clear()
            with pytest.raises(RunError, match="could not be read, even when asked again: set on_doubt") as failure:
                doubted()
            assert failure.value.state.usage.llm_calls == {"judge": 2}

    @for_each("count, window, number", (10, 1_400, None), (150, 30_000, 100))
    def test_passages_beyond_the_window_or_a_hundred_have_no_score(self, count: int, window: int, number: Any):
        many = [document(f"{n} {'long ' * (60 if number is None else 0)}") for n in range(count)]
        all_of_them = json.dumps({str(n): 10 for n in range(1, count + 1)})
        relevance, _ = judge(all_of_them, model={"context_window": window}).score(JUDGED, many)
        fitting = number or relevance.scores.count(1.0)
        assert 0 < fitting < count
        assert relevance.scores == (1.0,) * fitting + (None,) * (count - fitting)
        assert (relevance.parsed, "did not fit" in relevance.analysis) == (True, True)
        assert number is None or CALLS["judge"][0]["generation_kwargs"]["max_tokens"] == 1_200
