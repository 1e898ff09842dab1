"""The limits of a request in Python calls; tests/server/test_any_input.py tests them over HTTP."""

import time
from typing import Any

import pytest

from prefrag.components.state.request_limits import check_filters, check_question, keep_newest_turns
from prefrag.components.state.state_builder import StateBuilder
from prefrag.errors import BadInput
from prefrag.pipelines import ask_async
from tests.for_each import for_each
from tests.pipelines.scripted import answer, scripted

YEAR = {"field": "meta.year", "operator": "==", "value": 2020}


def turn(content: str, role: str = "user") -> dict[str, str]:
    return {"role": role, "content": content}


class TestAQuestion:
    @for_each("question", "x" * 4_000, "\u8c01" * 1_500, " Who? ")
    def test_that_fits_comes_back_without_blanks_around_it(self, question: str):
        assert check_question(question) == question.strip()

    @for_each(
        "question, form",
        ("Wer ist Jo\u0308rg Mu\u0308ller?", "Wer ist J\u00f6rg M\u00fcller?"),
        ("Who runs the \ufb01sh o\ufb03ce?", "Who runs the fish office?"),
        ("e\u0301" * 2_001 + "?", "\u00e9" * 2_001 + "?"),
        ("Who measured 10\u00b2 m?", "Who measured 10\u00b2 m?"),
    )
    def test_has_the_form_that_keyboards_write_before_it_is_measured(self, question: str, form: str):
        assert check_question(question) == form

    @for_each(
        "question, reason",
        (" \n", "is empty"),
        ("x" * 4_001, "4001 characters"),
        ("\u8c01" * 4_000, "12000 bytes.*1500 Chinese"),
        ("Who \ud800?", "surrogate"),
        (None, "not text but NoneType"),
        (5, "not text but int"),
    )
    def test_that_no_run_can_answer_is_refused_with_the_reason(self, question: Any, reason: str):
        with pytest.raises(BadInput, match=reason):
            check_question(question)


class TestTurns:
    def test_are_the_newest_without_empty_ones_cut_from_the_oldest(self):
        history = [turn(str(number)) for number in range(30)] + [turn("", "assistant")]
        assert [newest["content"] for newest in keep_newest_turns(history)] == [str(number) for number in range(11, 30)]
        turns = keep_newest_turns([turn("a" * 30_000), turn("b" * 30_000), turn("c" * 20_000)])
        assert [(newest["content"][0], len(newest["content"])) for newest in turns] == [("b", 20_000), ("c", 20_000)]

    def test_have_the_form_that_keyboards_write_within_the_limit(self):
        turns = keep_newest_turns([turn("\ufb03" * 15_000), turn("Jo\u0308rg")])
        assert turns[1] == turn("J\u00f6rg")
        assert (turns[0]["content"][-6:], len(turns[0]["content"])) == ("ffiffi", 40_000 - 4)

    def test_oldest_turn_ends_between_words_and_none_precedes_it(self):
        history = [turn("Older."), turn("It cost 1,250,000 francs " * 20), turn("word " * 7_991)]

        oldest, newest = keep_newest_turns(history)

        assert oldest["content"].startswith("It cost")
        assert oldest["content"].split()[-1] in ("It", "cost", "1,250,000", "francs")
        assert newest["content"] == history[-1]["content"]

    @for_each(
        "wrong, reason",
        *((wrong, "turn of the history") for wrong in ("text", None, 5, turn(5), {"role": ["user"]})),  # type: ignore[arg-type]
        *((wrong, "surrogate") for wrong in (turn("\ud800"), turn("x", role="\udfff"))),
    )
    def test_that_are_none_or_hold_half_a_character_are_refused(self, wrong: Any, reason: str):
        with pytest.raises(BadInput, match=reason):
            keep_newest_turns([wrong])


class TestFilters:
    @for_each("value", float("nan"), float("inf"), 10**400, "\ud800", ["\udfff"], "x" * 1_001, list(range(1_001)))
    def test_with_a_value_that_no_source_can_compare_are_refused(self, value: Any):
        with pytest.raises(BadInput, match="filter"):
            check_filters({**YEAR, "operator": "in", "value": value})

    def test_of_sixteen_levels_are_allowed_and_circular_ones_refused(self):
        endless: dict[str, Any] = {"operator": "AND", "conditions": []}
        endless["conditions"].append(endless)
        with pytest.raises(BadInput, match="16 deep"):
            check_filters(endless)

        filters: dict[str, Any] = YEAR
        for _ in range(15):
            filters = {"operator": "AND", "conditions": [filters]}
        check_filters(filters)


class TestOptions:
    @for_each("value", True, float("nan"), 2.5, "3")
    @for_each("option", "top_k", "max_steps")
    def test_that_are_no_whole_number_are_refused(self, option: str, value: Any):
        with pytest.raises(ValueError, match=option):
            StateBuilder(["local"], "local").run("Who?", **{option: value})

    def test_that_name_many_sources_are_refused_in_one_line(self):
        with pytest.raises(ValueError, match="There is no source") as caught:
            StateBuilder(["local"], "local").run("Who?", sources=["attic"] * 10_000)

        assert len(str(caught.value)) < 200


@pytest.mark.parametrize(
    "options",
    [
        {"filters": {**YEAR, "operator": "in", "value": list(range(60_000))}},
        {"history": [turn("Who built alpha?")] * 20_000},
    ],
)
async def test_the_pipeline_copies_no_large_option(options: dict[str, Any]):
    pipeline = scripted('{"question": "Who built alpha?"}', answer("Beta"))
    before = time.process_time()

    try:
        await ask_async(pipeline, "Who built it?", **options)
    except ValueError:
        assert "filters" in options

    assert time.process_time() - before < 0.5
