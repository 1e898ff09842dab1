"""An answer from each passage alone, and its critique."""

import asyncio
import json
from typing import Any

import pytest
from haystack import component
from haystack.dataclasses import ChatMessage
from hypothesis import given
from hypothesis import strategies as st

from prefrag.components.self_rag.passage_critic import (
    NOT_CRITICISED,
    WEIGHTS,
    Critique,
    PassageCritic,
    read_critique,
    read_decision,
)
from prefrag.components.state.answer_composer import compose
from prefrag.components.state.state import Action, Label, RunError, State
from tests.components.samples import QUESTION, document, kinds, observed_step, state
from tests.fakes import CALLS, ScriptedChatGenerator
from tests.for_each import for_each

ALPHA = document("alpha", content="It floats. Alpha was built by Beta in 1912.")
BETA = document("beta", content="Beta won the prize in 1974.")
GAMMA = document("gamma", content="Gamma is a town.")
FOUND = state(observed_step(ALPHA, BETA, GAMMA))
CLOSED = state(observed_step(ALPHA, BETA, GAMMA), answer_type="yes_no")


def reply(answer: str = "1974", relevance: Any = "relevant", support: Any = "fully", usefulness: Any = 5) -> str:
    return json.dumps({"relevance": relevance, "answer": answer, "support": support, "usefulness": usefulness})


POOR = reply("a town", "irrelevant", "none", 1)


def critic(*script: str, model: dict[str, Any] | None = None, **settings: Any) -> PassageCritic:
    return PassageCritic(ScriptedChatGenerator(list(script), name="critic", **(model or {})), **settings)


def routed(*script: str, reached: State = FOUND, **settings: Any) -> tuple[str, State]:
    output = critic(*script, **settings).run(reached)
    assert len(output) == 1
    return next(iter(output.items()))


def critiques(reached: State) -> list[dict[str, Any]]:
    return [dict(event.data) for event in reached.events if event.kind == "critique"]


class TestTheCall:
    def test_is_made_once_a_passage_which_stands_alone_in_its_prompt_and_constrained_in_the_order_of_the_paper(self):
        assert routed(POOR)[1].usage.llm_calls == {"critic": 3}

        prompts = [call["prompt"] for call in CALLS["critic"]]
        for prompt, shown in zip(prompts, (ALPHA, BETA, GAMMA), strict=True):
            assert f"Question: {QUESTION}" in prompt
            assert [one.id for one in (ALPHA, BETA, GAMMA) if str(one.content) in prompt] == [shown.id]
        schema = CALLS["critic"][0]["generation_kwargs"]["response_format"]["json_schema"]
        assert schema["name"] == "critique"
        assert list(schema["schema"]["properties"]) == ["relevance", "answer", "support", "usefulness"]

    @for_each("prompts, said", ("product", True), ("plain", False))
    def test_rules_memory_out_for_users_and_says_nothing_of_it_to_measure_a_method(self, prompts: Any, said: bool):
        routed(POOR, reached=state(observed_step(ALPHA), prompts=prompts))

        assert ("not from memory" in CALLS["critic"][0]["prompt"]) is said

    def test_asks_for_the_kind_of_answer_that_the_question_has(self):
        routed(POOR, reached=CLOSED)

        assert "only yes or no" in CALLS["critic"][0]["prompt"]


class TestTheChoice:
    @for_each(
        "critique, score",
        (Critique("x", True, "fully", 5), 2.5),
        (Critique("x", True, "fully", 1), 1.5),
        (Critique("x", True, "partially", 3), 1.5),
        (Critique("x", True, "none", 4), 1.25),
        (Critique("x", False, "fully", 2), 0.75),
        (Critique("x", False, "none", 1), -0.5),
        (Critique("x"), 0.0),
    )
    def test_a_score_is_the_weighted_sum_of_the_critiques(self, critique: Critique, score: float):
        assert critique.score(WEIGHTS) == score

    def test_the_best_answer_is_given_with_its_passage_as_citation_and_evidence(self):
        output, reached = routed(POOR, reply("1974"), POOR)

        step, result = reached.step, compose(reached)
        assert (output, step.action, step.label) == ("answered", Action.ANSWER, Label.CORRECT)
        assert (result["answer"], result["answer_with_citations"]) == ("1974", "1974 [2]")
        assert [cited["id"] for cited in result["citations"]] == ["beta"]
        assert [(one.document.id, one.sentence) for one in step.evidence] == [("beta", "Beta won the prize in 1974.")]

    def test_the_evidence_is_the_sentence_that_speaks_for_the_answer(self):
        _, reached = routed(reply("Beta"), POOR, POOR)

        assert reached.step.evidence[0].sentence == "Alpha was built by Beta in 1912."

    @for_each(
        "better, worse",
        (reply("right"), reply("wrong", relevance="irrelevant")),
        (reply("right"), reply("wrong", support="partially")),
        (reply("right", support="partially"), reply("wrong", support="none")),
        (reply("right", usefulness=2), reply("wrong", usefulness=1)),
    )
    def test_each_critique_decides_where_the_others_are_equal(self, better: str, worse: str):
        assert compose(routed(worse, better, worse)[1])["answer"] == "right"
        CALLS.clear()
        assert compose(routed(better, worse, worse)[1])["answer"] == "right"

    def test_the_weights_change_what_is_best(self):
        unsupported, irrelevant = reply("a", support="none"), reply("b", relevance="irrelevant", usefulness=4)

        assert compose(routed(unsupported, irrelevant, POOR)[1])["answer"] == "a"
        CALLS.clear()
        assert compose(routed(unsupported, irrelevant, POOR, weights={"relevance": 0.5})[1])["answer"] == "b"

    def test_of_equal_ones_the_first_is_given(self):
        assert compose(routed(reply("first"), reply("second"), reply("third"))[1])["answer"] == "first"
        CALLS.clear()
        _, agreed = routed(reply("yes"), reply("Yes."), reply("no"), reached=CLOSED)
        assert compose(agreed)["answer_with_citations"] == "yes [1]"

    def test_given_answers_that_agree_add_up(self):
        half = reply("Yes.", support="partially", usefulness=3)

        _, reached = routed(reply("no"), half, reply("yes", support="partially", usefulness=4), reached=CLOSED)

        assert compose(reached)["answer_with_citations"] == "yes [3]", "with the best passage of those that agree"
        assert reached.step.label is Label.PARTIALLY_CORRECT

    def test_free_answers_compete_one_by_one_as_in_the_published_code(self):
        half = reply("1912", support="partially", usefulness=3)

        assert compose(routed(reply("1974"), half, half)[1])["answer"] == "1974"

    @for_each(
        "support, label", ("fully", Label.CORRECT), ("partially", Label.PARTIALLY_CORRECT), ("none", Label.INCORRECT)
    )
    def test_the_label_is_the_support(self, support: str, label: Label):
        assert routed(reply(support=support))[1].step.label is label

    def test_an_answer_that_its_passage_does_not_support_is_not_given_where_that_is_set(self):
        result = compose(routed(reply(support="none"))[1], when_unsure="say_so")

        assert (result["answer"], result["not_found"], result["guess"]) == ("", True, "1974")
        assert result["evidence"][0]["id"] == "alpha"

    def test_every_critique_and_score_is_in_the_trace(self):
        _, reached = routed(POOR, reply("1974"), reply("1974", support="partially"))

        assert kinds(reached) == ["critique"] * 3 + ["answer"]
        assert critiques(reached)[1] == {
            "document": "beta",
            "id": "beta",
            "answer": "1974",
            "relevant": True,
            "support": "fully",
            "usefulness": 5,
            "score": 2.5,
            "parsed": True,
        }
        assert [one["score"] for one in critiques(reached)] == [-0.5, 2.5, 2.0]


class TestAReply:
    @for_each("relevance", "relevant", "[Relevant]", "Yes", True, "highly relevant")
    @for_each("support", "fully", "[Fully supported]", "Full")
    @for_each("usefulness", 4, "4", "4/5", "[Utility:4]", 4.0)
    def test_is_understood_however_it_is_written(self, relevance: Any, support: Any, usefulness: Any):
        assert read_critique(reply("x", relevance, support, usefulness)) == Critique("x", True, "fully", 4, True)

    @for_each("relevance", "irrelevant", "[Irrelevant]", "not relevant", "No", False)
    @for_each("support", "none", "[No support / Contradictory]", "not supported", "contradictory")
    def test_that_is_negative_is_too(self, relevance: Any, support: Any):
        assert read_critique(reply("x", relevance, support, 1)) == Critique("x", False, "none", 1, True)

    @for_each(
        "changes, read",
        ({"relevance": "maybe"}, Critique("1974", False, "fully", 5)),
        ({"support": "fully or partially"}, Critique("1974", True, "none", 5)),
        ({"support": None}, Critique("1974", True, "none", 5)),
        ({"usefulness": 9}, Critique("1974", True, "fully")),
        ({"usefulness": True}, Critique("1974", True, "fully")),
        ({"usefulness": 0.5}, Critique("1974", True, "fully")),
    )
    def test_of_which_a_critique_cannot_be_read_keeps_the_answer_without_it(self, changes: Any, read: Critique):
        assert read_critique(reply(**changes)) == read

    def test_cites_nothing_of_its_own(self):
        result = compose(routed(reply("1974 [1]"), POOR, POOR)[1])

        assert (result["answer"], result["answer_with_citations"]) == ("1974", "1974 [1]")
        CALLS.clear()
        assert compose(routed(POOR, reply("1974 [1]"), POOR)[1])["answer_with_citations"] == "1974 [2]"

    @for_each("text", "", "Beta won it.", '{"relevance": "relevant"}', "[1, 2]")
    def test_without_an_answer_is_not_understood(self, text: str):
        assert read_critique(text) is None

    @given(st.text() | st.dictionaries(st.sampled_from(sorted({*WEIGHTS, "answer"})), st.text() | st.floats()).map(str))
    def test_of_any_text_gives_a_score_within_its_bounds(self, text: str):
        if (critique := read_critique(text)) is not None:
            assert -0.5 <= critique.score(WEIGHTS) <= 2.5

    @given(st.text(), st.text(), st.text(), st.integers() | st.floats() | st.text())
    def test_of_any_values_gives_a_score_within_its_bounds(self, answer: str, one: str, two: str, three: Any):
        critique = read_critique(reply(answer, one, two, three))

        assert critique is not None
        assert -0.5 <= critique.score(WEIGHTS) <= 2.5

    def test_that_cannot_be_read_is_requested_once_more(self):
        _, reached = routed("Hm.", reply("1974"), reached=state(observed_step(BETA)))

        assert compose(reached)["answer"] == "1974"
        assert reached.usage.llm_calls == {"critic": 2}

    def test_that_cannot_be_read_twice_leaves_its_passage_without_an_answer(self):
        _, reached = routed("Hm.", "Hm.", POOR, reached=state(observed_step(ALPHA, BETA)))

        assert [(one["parsed"], one["score"]) for one in critiques(reached)] == [(False, 0.0), (True, -0.5)]
        assert compose(reached)["answer"] == "a town"

    def test_of_which_none_can_be_read_is_an_honest_end(self):
        output, reached = routed("Hm.")

        result = compose(reached)
        assert (output, result["answered"], result["answer"]) == ("answered", False, "")
        assert result["errors"] == ["The model gave no answer in words."]

    def test_that_finds_no_answer_in_any_passage_is_one_too(self):
        result = compose(routed(reply("", "irrelevant", "none", 1))[1])

        assert (result["not_found"], result["answer"], result["guess"], result["errors"]) == (True, "", None, [])
        assert result["evidence"]

    @pytest.mark.parametrize("together", [True, False])
    async def test_that_fails_ends_the_run_with_what_was_counted(self, together: bool):
        part = critic(POOR, "!down", concurrency=1)

        with pytest.raises(RunError, match="The critic's model failed: down") as failure:
            await part.run_async(FOUND) if together else part.run(FOUND)

        reached = failure.value.state
        assert reached.usage.llm_calls == {"critic": 1}
        assert sum(sent.calls for sent in reached.sent_to_models) == len(CALLS["critic"]) == 2, "the third is not sent"
        assert "error" in kinds(reached)


class TestBeforeTheSearch:
    def test_searches_without_a_call(self):
        assert routed(POOR, reached=state()) == ("search", state())
        assert "critic" not in CALLS

    @pytest.mark.parametrize(("retrieve", "output"), [("yes", "search"), ("no", "unanswered"), ("Yes.", "search")])
    async def test_lets_the_model_decide_where_that_is_set(self, retrieve: str, output: str):
        script = json.dumps({"explanation": "A sum.", "retrieve": retrieve})

        name, reached = routed(script, reached=state(), retrieval="adaptive")

        assert name == output
        assert reached.events[-1].data == {"status": output == "search", "explanation": "A sum.", "parsed": True}
        assert QUESTION in CALLS["critic"][0]["prompt"]
        CALLS.clear()
        assert await critic(script, retrieval="adaptive").run_async(state()) == {name: reached}

    @for_each("sources, output", (("local",), "search"), (("local", "web"), "unanswered"))
    def test_a_doubt_searches_but_never_decides_for_the_web(self, sources: tuple[str, ...], output: str):
        name, reached = routed("Hm.", reached=state(sources=sources, external=("web",)), retrieval="adaptive")

        assert name == output
        assert reached.events[-1].data["parsed"] is False
        assert reached.usage.llm_calls == {"critic": 2}

    @for_each("text", "", "Perhaps.", '{"retrieve": "maybe"}')
    def test_a_decision_that_names_neither_is_not_understood(self, text: str):
        assert read_decision(text) is None


class TestWithoutACall:
    def test_a_search_that_found_nothing_has_nothing_to_criticise(self):
        assert routed(POOR, reached=state(observed_step()))[0] == "unanswered"
        assert "critic" not in CALLS

    @pytest.mark.parametrize("retrieval", ["always", "adaptive"])
    async def test_without_a_model_it_searches_and_says_what_was_not_done(self, retrieval: Any):
        model = ScriptedChatGenerator([POOR])
        model.is_absent = True  # type: ignore[attr-defined]
        part = PassageCritic(model, retrieval=retrieval)

        assert part.run(state()) == {"search": state()}
        for output in (part.run(FOUND), await part.run_async(FOUND)):
            assert compose(output["unanswered"])["without_model"] == [NOT_CRITICISED]

    def test_warms_up_a_model_that_there_is(self):
        class Cold(ScriptedChatGenerator):
            def warm_up(self) -> None:
                CALLS.setdefault("warmed", []).append(self.name)

        absent = Cold([POOR], "absent")
        absent.is_absent = True  # type: ignore[attr-defined]
        for model in (absent, Cold([POOR], "there")):
            PassageCritic(model).warm_up()

        assert CALLS["warmed"] == ["there"]


@component
class SlowChatGenerator:
    """Replies only when the most allowed calls are waiting; the last to arrive get the first replies."""

    model_host = "localhost"

    def __init__(self, together: int):
        self.together = together
        self.running = self.most = 0
        self.is_embedded = False

    @component.output_types(replies=list[ChatMessage])
    def run(self, messages: list[ChatMessage], generation_kwargs: Any = None) -> dict[str, Any]:
        text = messages[-1].text or ""
        answer = next(title for title in ("alpha", "beta", "gamma") if f"Title: {title}" in text)
        meta = {"usage": {"prompt_tokens": 10, "completion_tokens": 2}}
        return {"replies": [ChatMessage.from_assistant(reply(answer), meta=meta)]}

    @component.output_types(replies=list[ChatMessage])
    async def run_async(self, messages: list[ChatMessage], generation_kwargs: Any = None) -> dict[str, Any]:
        self.running += 1
        self.most = max(self.most, self.running)
        for _ in range(20 * (self.together - self.running + 1)):
            await asyncio.sleep(0)
        self.running -= 1
        return self.run(messages)


class TestTheAsynchronousWay:
    @pytest.mark.parametrize("together", [1, 2, 3])
    async def test_criticises_no_more_passages_at_a_time_than_are_set(self, together: int):
        model = SlowChatGenerator(together)

        await PassageCritic(model, concurrency=together).run_async(FOUND)

        assert model.most == together

    async def test_sends_a_model_in_this_process_one_call_at_a_time(self):
        model = SlowChatGenerator(1)
        model.is_embedded = True

        await PassageCritic(model, concurrency=3).run_async(FOUND)

        assert model.most == 1

    async def test_gives_the_same_in_whatever_order_the_replies_come(self):
        part = PassageCritic(SlowChatGenerator(3), concurrency=3)

        assert await part.run_async(FOUND) == part.run(FOUND)
