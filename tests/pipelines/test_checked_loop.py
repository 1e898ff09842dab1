"""The rules of the product for a model's steps, on the shipped YAML: search first, search anew, say how sure."""

import pytest

from prefrag.components.reasoner.reply_formats.steps_format import MUST_ANSWER
from prefrag.components.sources import source_rules
from tests.fakes import CALLS
from tests.pipelines.scripted import answer, events, kinds, run, scripted, search

QUESTION = "Who is the lock keeper of Vessel Lock?"
LOCAL = {
    "lock": "The lock keeper of Vessel Lock is Ottilie Frank.",
    "frank": "Ottilie Frank was born in Marrow Bridge.",
}
FOUND = "Ottilie Frank"


def checked(*replies: str, reply_format: str = "text", **settings):
    """The shipped loop with its rules, and a model that replies from a script."""
    replace = {"Reasoner.reply_format": reply_format, **settings.pop("replace", {})}
    return scripted(*replies, documents={"local": LOCAL, "web": {}}, checked=True, replace=replace, **settings)


async def ask(*replies: str, question: str = QUESTION, **settings):
    return await run(checked(*replies, **settings), question)


class TestTheFirstSearch:
    @pytest.mark.parametrize("reply_format", ["text", "json", "tools", "steps"])
    async def test_is_for_the_question_itself_before_any_call(self, reply_format):
        script = ["Ottilie{0.95} Frank"] if reply_format == "steps" else [answer(FOUND)]
        result = await ask(*script, reply_format=reply_format)

        assert result["steps"][0]["query"] == QUESTION
        assert kinds(result)[0] == "search"
        assert result["answer"] == FOUND
        assert result["counts"]["total_local"] == 1

    async def test_stands_in_the_transcript_as_if_the_model_had_chosen_it(self):
        await ask(answer(FOUND))

        prompt = CALLS["model"][0]["prompt"]
        assert f"Action: Search_Engine\nAction Input: {QUESTION}\nObservation:" in prompt

    async def test_is_the_models_with_first_query_model(self):
        pipeline = checked(search("lock"), answer(FOUND), replace={"start.first_query": "model"})
        result = await run(pipeline, QUESTION)

        assert result["steps"][0]["query"] == "lock"

    async def test_cannot_be_skipped_by_an_answer_from_memory(self):
        script = [answer("Nobody"), answer(FOUND)]
        result = await run(checked(*script, replace={"start.first_query": "model"}), QUESTION)

        assert result["steps"][0]["query"] == QUESTION
        assert (result["answer"], result["counts"]["total_local"]) == (FOUND, 1)

    async def test_is_the_models_with_the_plain_prompts(self):
        result = await run(checked(search("lock"), answer(FOUND), replace={"start.prompts": "plain"}), QUESTION)

        assert result["steps"][0]["query"] == "lock"
        assert result["certainty"] is None


class TestAnAnswer:
    async def test_a_stated_answer_has_its_sentence_and_its_mark(self):
        result = await ask(answer(FOUND))

        assert (result["certainty"], result["answered_by"]) == ("stated", "model")
        assert result["answer_with_citations"] == f"{FOUND} [1]"
        assert result["evidence"][0]["sentence"] == LOCAL["lock"]

    async def test_an_uncarried_answer_is_kept_as_the_models_words(self):
        result = await ask(answer("Marten Tull", label="CORRECT"))

        assert (result["certainty"], result["answered"], result["label"]) == ("not_found", False, None)
        assert result["guess"] == "Marten Tull"
        assert result["evidence"][0]["sentence"] == LOCAL["lock"]

    async def test_not_found_is_no_answer_and_leads_to_a_search(self):
        result = await ask(answer("NOT FOUND"), answer("NOT FOUND"), answer("NOT FOUND"), answer("NOT FOUND"))

        assert (result["answered"], result["guess"]) == (False, None)
        assert result["counts"]["total_local"] > 1

    async def test_that_refuses_in_prose_is_no_answer(self):
        refusal = answer("The passages do not mention the lock keeper.")
        result = await ask(refusal, refusal, refusal, refusal)

        assert not result["answered"]


class TestAQueryThatWasAskedAlready:
    async def test_a_repeated_query_is_replaced_in_the_transcript_too(self):
        result = await ask(search(QUESTION), answer(FOUND))

        queries = [step["query"] for step in result["steps"] if step["query"]]
        assert len(set(queries)) == len(queries) == 2
        assert events(result, "repeated")[0]["query"] == QUESTION
        assert f"Action Input: {queries[1]}\n" in CALLS["model"][-1]["prompt"]

    async def test_ends_the_searches_if_the_reader_has_no_other(self):
        result = await ask(search(f"{QUESTION}?"), search(QUESTION), search(QUESTION), answer(FOUND))

        queries = [step["query"].casefold() for step in result["steps"] if step["query"]]
        assert len(set(queries)) == len(queries)


class TestAReplyThatCannotBeRead:
    async def test_an_unreadable_reply_is_repeated_once_then_the_reader(self):
        result = await ask("I wonder.", "Still wondering.")

        assert result["usage"]["calls"] == {"reasoner": 2}
        assert (result["answer"], result["answered_by"]) == (FOUND, "reader")
        assert any("could not be used" in error for error in result["errors"])
        assert result["counts"]["total_local"] >= 1


class TestAModelThatFails:
    async def test_a_failing_model_leaves_the_answer_to_the_reader(self):
        result = await ask("!the server is on fire")

        assert (result["answer"], result["answered_by"]) == (FOUND, "reader")
        assert "on fire" in "".join(result["errors"])
        assert len(CALLS["model"]) == 1

    async def test_ends_a_run_with_the_plain_prompts(self):
        with pytest.raises(Exception, match="on fire"):
            await ask("!the server is on fire", replace={"start.prompts": "plain"})


class TestASmallModel:
    async def test_a_small_model_is_asked_a_narrow_question(self):
        result = await ask("Ottilie{0.95} Frank", reply_format="steps")

        prompt = CALLS["model"][0]["prompt"]
        assert prompt.index("Ottilie Frank") < prompt.index("Question:") < prompt.index("NOT FOUND")
        assert (result["answer"], result["answered_by"]) == (FOUND, "model")
        assert 0.5 < result["probability"] <= 1
        assert result["usage"]["calls"] == {"reasoner": 1}

    async def test_a_small_model_searches_on_by_the_readers_queries(self):
        result = await ask("NOT FOUND", question="Who is the lock keeper of Marrow Lock?", reply_format="steps")

        assert not result["answered"]
        assert result["counts"]["total_local"] > 1
        queries = [step["query"] for step in result["steps"] if step["query"]]
        assert len(set(queries)) == len(queries)

    async def test_reads_after_the_first_search_and_then_after_the_last(self):
        result = await ask("NOT FOUND", question="Where was the lock keeper of Vessel Lock born?", reply_format="steps")

        searches = [step["query"] for step in result["steps"] if step["searched"]]
        assert len(searches) > 2
        first, last, forced = (call["prompt"] for call in CALLS["model"])
        assert LOCAL["frank"] in last
        assert len(first) < len(last)
        assert forced.startswith(last.partition("Question:")[0])

    async def test_does_not_give_an_answer_that_no_passage_carries(self):
        result = await ask("Marten{0.99} Tull", question="Who is the keeper of Marrow Lock?", reply_format="steps")

        assert (result["answered"], result["guess"]) == (False, "Marten Tull")

    @pytest.mark.parametrize(
        ("reply", "answered"), [("Yes{0.99}", True), ("No{0.99}", False), ("!the server is on fire", False)]
    )
    async def test_a_small_model_confirms_its_last_answer_once(self, reply, answered):
        replies = ("Ottilie{0.2} Frank", "Ottilie{0.2} Frank", reply)
        never_sure = {"ExtractiveReader.threshold": 1.0}
        question = "Who opens the gates of Vessel Lock?"
        result = await ask(*replies, question=question, reply_format="steps", replace=never_sure)

        assert LOCAL["lock"] in CALLS["model"][2]["prompt"]
        assert "Yes or No" in CALLS["model"][2]["prompt"]
        assert "Yes or No" not in CALLS["model"][1]["prompt"]
        assert result["answered"] is answered
        assert result["answered_by"] == "model"
        assert len(CALLS["model"]) == 3

    async def test_not_found_is_followed_by_a_call_that_makes_it_answer(self):
        replies = ("NOT FOUND", "NOT FOUND", "Ottilie{0.95} Frank")
        never_sure = {"ExtractiveReader.threshold": 1.0}
        result = await ask(*replies, reply_format="steps", replace=never_sure)
        assert CALLS["model"][-1]["prompt"].endswith(MUST_ANSWER)
        assert (result["answer"], result["answered_by"]) == (FOUND, "model")

        CALLS.clear()
        unforced = await ask("Ottilie{0.95} Frank", reply_format="steps", replace=never_sure)
        assert result["probability"] < unforced["probability"]

    async def test_a_weak_answer_after_not_found_is_not_even_a_guess(self):
        replies = ("NOT FOUND", "NOT FOUND", "Marten{0.99} Tull")
        result = await ask(*replies, question="Who is the keeper of Marrow Lock?", reply_format="steps")

        assert CALLS["model"][-1]["prompt"].endswith(MUST_ANSWER)
        assert (result["answered"], result["guess"]) == (False, None)
        assert result["usage"]["calls"] == {"reasoner": 3}

    async def test_the_sentence_of_a_weak_answer_is_shown_second(self):
        lock = "The lock keeper of Vessel Lock is Ottilie Frank. Vessel Lock has two gates. Tea is sold by Ada Ford."
        replies = ("NOT FOUND", "NOT FOUND", "Ada{0.5} Ford")
        pipeline = scripted(
            *replies,
            documents={"local": {"lock": lock}, "web": {}},
            checked=True,
            replace={"Reasoner.reply_format": "steps"},
        )
        result = await run(pipeline, "Who is the owner of Vessel Lock?")

        assert (result["answered"], result["guess"]) == (False, None)
        assert result["evidence"][1]["sentence"] == "Tea is sold by Ada Ford."

    async def test_counts_a_call_for_a_query_that_gives_none(self):
        result = await ask("NOT FOUND", "", "NOT FOUND", question="Quando?", reply_format="steps")

        assert len(CALLS["model"]) == 3
        assert result["usage"]["calls"] == {"reasoner": 3}

    async def test_where_the_reader_is_sure_its_answer_is_given(self):
        result = await ask("Marten{0.99} Tull", reply_format="steps")

        assert (result["answer"], result["answered_by"], result["certainty"]) == (FOUND, "reader", "stated")

    async def test_a_likelier_answer_of_its_own_is_not_replaced(self):
        soon_sure = {"ExtractiveReader.threshold": 0.01}
        question = "Who is the lock keeper of Marrow Lock?"
        result = await ask("Ottilie{0.95} Frank", question=question, reply_format="steps", replace=soon_sure)

        assert (result["answer"], result["answered_by"]) == (FOUND, "model")

    async def test_the_reader_is_sure_from_what_a_proof_has_measured(self, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setattr(source_rules, "find_stated_from", lambda stores: {"reader": 0.99})
        result = await ask("Marten{0.99} Tull", reply_format="steps")

        assert (result["answered"], result["answered_by"]) == (False, "model")

    async def test_another_type_of_answer_is_never_the_readers(self):
        result = await run(checked("yes", reply_format="steps"), QUESTION, answer_type="yes_no")

        assert result["answered_by"] != "reader"

    async def test_reads_what_came_with_the_question(self):
        attached = [{"title": "Note", "content": "The lock keeper of Vessel Lock is now Piet Holm."}]
        await run(checked("Piet{0.95} Holm", reply_format="steps"), QUESTION, documents=attached)

        assert "Piet Holm" in CALLS["model"][0]["prompt"]

    async def test_a_small_models_empty_reply_is_told_to_it(self):
        result = await ask("", reply_format="steps")

        first, second = (call["prompt"] for call in CALLS["model"])
        assert "could not be read" in second
        assert "could not be read" not in first
        assert (result["answer"], result["answered_by"]) == (FOUND, "reader")

    async def test_that_fails_at_a_further_call_keeps_what_it_had(self):
        result = await ask(
            "NOT FOUND", "!the server is on fire", question="Who is the keeper of Marrow Lock?", reply_format="steps"
        )

        assert "on fire" in "".join(result["errors"])
        assert result["counts"]["total_local"] >= 1
