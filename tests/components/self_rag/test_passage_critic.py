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
# The papers' prompts: an answer is given whether or not a passage has it.
PLAIN = state(observed_step(ALPHA, BETA, GAMMA), prompts="plain")
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
    def test_a_call_has_one_passage_and_the_papers_order(self):
        assert routed(POOR)[1].usage.llm_calls == {"critic": 3}

        prompts = [call["prompt"] for call in CALLS["critic"]]
        for prompt, shown in zip(prompts, (ALPHA, BETA, GAMMA), strict=True):
            assert f"Question: {QUESTION}" in prompt
            assert [document.id for document in (ALPHA, BETA, GAMMA) if str(document.content) in prompt] == [shown.id]
        schema = CALLS["critic"][0]["generation_kwargs"]["response_format"]["json_schema"]
        assert schema["name"] == "critique"
        assert list(schema["schema"]["properties"]) == ["relevance", "answer", "support", "usefulness"]

    @for_each("prompts, said", ("product", True), ("plain", False))
    def test_the_call_rules_memory_out_for_users_alone(self, prompts: Any, said: bool):
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

    def test_the_best_answer_has_a_citation_and_a_sentence(self):
        output, reached = routed(POOR, reply("1974"), POOR)
        step, result = reached.step, compose(reached)
        assert (output, step.action, step.label) == ("answered", Action.ANSWER, Label.CORRECT)
        assert (result["answer"], result["answer_with_citations"]) == ("1974", "1974 [2]")
        assert [cited["id"] for cited in result["citations"]] == ["beta"]
        assert [(evidence.document.id, evidence.sentence) for evidence in step.evidence] == [
            ("beta", "Beta won the prize in 1974.")
        ]
        CALLS.clear()
        assert routed(reply("Beta"), POOR, POOR)[1].step.evidence[0].sentence == "Alpha was built by Beta in 1912."

    @for_each(
        "better, worse",
        (reply("right"), reply("wrong", relevance="irrelevant")),
        (reply("right"), reply("wrong", support="partially")),
        (reply("right", support="partially"), reply("wrong", support="none")),
        (reply("right", usefulness=2), reply("wrong", usefulness=1)),
    )
    def test_each_critique_decides_where_the_others_are_equal(self, better: str, worse: str):
        assert compose(routed(worse, better, worse, reached=PLAIN)[1])["answer"] == "right"
        CALLS.clear()
        assert compose(routed(better, worse, worse, reached=PLAIN)[1])["answer"] == "right"

    def test_the_weights_change_what_is_best(self):
        unsupported, irrelevant = reply("a", support="none"), reply("b", relevance="irrelevant", usefulness=4)

        assert compose(routed(unsupported, irrelevant, POOR, reached=PLAIN)[1])["answer"] == "a"
        CALLS.clear()
        assert (
            compose(routed(unsupported, irrelevant, POOR, reached=PLAIN, weights={"relevance": 0.5})[1])["answer"]
            == "b"
        )

    def test_of_equal_ones_the_first_is_given(self):
        assert compose(routed(reply("first"), reply("second"), reply("third"), reached=PLAIN)[1])["answer"] == "first"
        CALLS.clear()
        _, agreed = routed(reply("yes"), reply("Yes."), reply("no"), reached=CLOSED)
        assert compose(agreed)["answer_with_citations"] == "yes [1]"

    def test_closed_answers_add_up_and_free_ones_compete(self):
        half = reply("Yes.", support="partially", usefulness=3)
        _, reached = routed(reply("no"), half, reply("yes", support="partially", usefulness=4), reached=CLOSED)
        assert compose(reached)["answer_with_citations"] == "yes [3]", "with the best passage of those that agree"
        assert reached.step.label is Label.PARTIALLY_CORRECT
        CALLS.clear()
        assert compose(routed(reply("no"), half, half)[1])["answer"] == "no"

    @for_each(
        "support, label, answer",
        ("fully", Label.CORRECT, "1974"),
        ("partially", Label.PARTIALLY_CORRECT, "1974"),
        ("none", Label.INCORRECT, ""),
    )
    def test_the_label_is_the_support_which_can_be_required(self, support: str, label: Label, answer: str):
        reached = routed(reply(support=support))[1]
        result = compose(reached, when_unsure="say_so")
        assert (reached.step.label, result["answer"], result["not_found"]) == (label, answer, not answer)
        assert (result["guess"], [evidence["id"] for evidence in result["evidence"][:1]]) == (
            (None, []) if answer else ("1974", ["alpha"])
        )

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
        assert [critique["score"] for critique in critiques(reached)] == [-0.5, 2.5, 2.0]


class TestAReply:
    @for_each("usefulness", 4, "4", "4/5", "[Utility:4]", 4.0)
    @for_each(
        "relevance, relevant",
        *((word, True) for word in ("relevant", "[Relevant]", "Yes", True, "highly relevant")),
        *((word, False) for word in ("irrelevant", "[Irrelevant]", "not relevant", "No", False)),
    )
    @for_each(
        "support, read",
        *((word, "fully") for word in ("fully", "[Fully supported]", "Full")),
        *((word, "none") for word in ("none", "[No support / Contradictory]", "not supported", "contradictory")),
    )
    def test_is_understood_however_it_is_written(
        self, relevance: Any, relevant: bool, support: Any, read: Any, usefulness: Any
    ):
        assert read_critique(reply("x", relevance, support, usefulness)) == Critique("x", relevant, read, 4, True)

    @for_each(
        "text, read",
        (reply(relevance="maybe"), Critique("1974", False, "fully", 5)),
        (reply(support="fully or partially"), Critique("1974", True, "none", 5)),
        (reply(support=None), Critique("1974", True, "none", 5)),
        *((reply(usefulness=number), Critique("1974", True, "fully")) for number in (9, True, 0.5)),
        *((text, None) for text in ("", "Beta won it.", '{"relevance": "relevant"}', "[1, 2]")),
    )
    def test_of_which_a_critique_cannot_be_read_keeps_the_answer(self, text: str, read: Critique | None):
        assert read_critique(text) == read

    def test_cites_nothing_of_its_own(self):
        result = compose(routed(reply("1974 [1]"), POOR, POOR)[1])

        assert (result["answer"], result["answer_with_citations"]) == ("1974", "1974 [1]")
        CALLS.clear()
        assert compose(routed(POOR, reply("1974 [1]"), POOR)[1])["answer_with_citations"] == "1974 [2]"

    @given(
        st.text()
        | st.dictionaries(st.sampled_from(sorted({*WEIGHTS, "answer"})), st.text() | st.floats()).map(str)
        | st.builds(reply, st.text(), st.text(), st.text(), st.integers() | st.floats() | st.text())
    )
    def test_of_any_text_gives_a_score_within_its_bounds(self, text: str):
        if (critique := read_critique(text)) is not None:
            assert -0.5 <= critique.score(WEIGHTS) <= 2.5

    def test_an_unreadable_reply_is_requested_once_more(self):
        _, reached = routed("Hm.", reply("1974"), reached=state(observed_step(BETA)))
        assert (compose(reached)["answer"], reached.usage.llm_calls) == ("1974", {"critic": 2})
        CALLS.clear()
        _, reached = routed("Hm.", "Hm.", POOR, reached=state(observed_step(ALPHA, GAMMA)))
        assert [(critique["parsed"], critique["score"]) for critique in critiques(reached)] == [
            (False, 0.0),
            (True, -0.5),
        ]
        assert compose(reached)["answer"] == "a town"

    @for_each("words", "I do not know who won it.", "Ich wei\u00df es nicht.", "Unknown", "1931")
    def test_an_answer_in_no_passage_is_the_models_own_words(self, words: str):
        result = compose(routed(reply(words), POOR, POOR)[1])

        assert (result["answered"], result["not_found"], result["answer"]) == (False, True, "")
        assert (result["guess"], result["answered_by"], result["errors"]) == (words, "model", [])
        CALLS.clear()
        assert compose(routed(reply(words), POOR, POOR, reached=PLAIN)[1])["answer"] == words

    def test_replies_without_an_answer_are_an_honest_end(self):
        output, reached = routed("Hm.")
        result = compose(reached)
        assert (output, result["answered"], result["answer"]) == ("answered", False, "")
        assert result["errors"] == ["No answer could be read from the model's replies."]
        CALLS.clear()
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
        assert sum(sent.calls for sent in reached.usage.models) == len(CALLS["critic"]) == 2, "the third is not sent"
        assert "error" in kinds(reached)


class TestBeforeTheSearch:
    def test_nothing_is_criticised_before_or_without_a_search(self):
        assert routed(POOR, reached=state()) == ("search", state())
        assert routed(POOR, reached=state(observed_step()))[0] == "unanswered"
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
    @pytest.mark.parametrize(
        ("together", "concurrency", "embedded"), [(1, 1, False), (2, 2, False), (3, 3, False), (1, 3, True)]
    )
    async def test_as_many_passages_at_a_time_are_criticised_as_set(
        self, together: int, concurrency: int, embedded: bool
    ):
        model = SlowChatGenerator(together)
        model.is_embedded = embedded
        part = PassageCritic(model, concurrency=concurrency)
        assert await part.run_async(FOUND) == part.run(FOUND)
        assert model.most == together
