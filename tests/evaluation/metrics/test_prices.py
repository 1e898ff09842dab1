"""What a run cost."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prefrag.evaluation.metrics.prices import Prices
from tests.for_each import for_each

SMALL = {"prompt_per_million": 0.5, "completion_per_million": 2.0}
LARGE = {"prompt_per_million": 5.0, "completion_per_million": 20.0}


def result(prompt: int = 0, completion: int = 0, *providers: str) -> dict[str, Any]:
    return {
        "usage": {"prompt_tokens": prompt, "completion_tokens": completion},
        "queries_sent_out": [{"source": "web", "query": "?", "provider": provider} for provider in providers],
    }


def test_tokens_by_the_million_and_queries_by_the_thousand():
    prices = Prices.from_dict({"small": SMALL, "search": {"SomeSearch": 8.0}})

    # 3,000,000 * 0.5 + 500,000 * 2 a million; 3 queries at 0.008.
    cost = prices.cost([result(1_000_000, 500_000, "SomeSearch"), result(2_000_000, 0, "SomeSearch", "SomeSearch"), {}])

    assert cost.pop("unpriced") == []
    assert cost == pytest.approx({"llm": 2.5, "search": 0.024, "total": 2.524, "per_question": 2.524 / 3})


def test_what_has_no_price_is_named_rather_than_taken_for_free():
    cost = Prices.from_dict({"search": {"Free": 0}}).cost([result(10, 10, "Free", "Other")])

    assert (cost["total"], cost["unpriced"]) == (0, ["the model", "Other"])
    assert Prices.from_dict({"small": SMALL}).cost([result(10)], model="large")["unpriced"] == ["large"]


def test_a_model_that_was_not_called_needs_no_price():
    assert Prices.from_dict({}).cost([result(), {}])["unpriced"] == []


def test_a_query_that_nobody_answered_costs_nothing():
    assert Prices.from_dict({"small": SMALL}).cost([result(0, 0, "")])["unpriced"] == []


def test_of_several_models_one_is_chosen():
    prices = Prices.from_dict({"small": SMALL, "large": LARGE})

    assert prices.cost([result(1_000_000)], model="large")["llm"] == 5
    with pytest.raises(ValueError, match=r"several models \(large, small\): name the one that was used"):
        prices.cost([result(1)])


@for_each(
    "table, place",
    ({"small": {"prompt_per_million": 1}}, "small, completion_per_million"),
    ({"small": {**SMALL, "prompt_per_million": "1"}}, "small, prompt_per_million"),
    ({"small": {**SMALL, "prompt_per_million": -1}}, "small, prompt_per_million"),
    ({"small": {**SMALL, "prompt_per_million": True}}, "small, prompt_per_million"),
    ({"small": {**SMALL, "prompt_per_million": float("nan")}}, "small, prompt_per_million"),
    ({"small": 3}, "small"),
    ({"search": 3}, "search"),
    ({"search": {"Some": None}}, "search, Some"),
)
def test_a_price_that_makes_no_sense_is_refused_in_words(table: dict[str, Any], place: str):
    with pytest.raises(ValueError, match=f"The price of {place} cannot be used .*give a number"):
        Prices.from_dict(table)


@given(st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 10**6)), min_size=1, max_size=5))
def test_a_run_costs_what_its_questions_cost(tokens: list[tuple[int, int]]):
    prices = Prices.from_dict({"small": SMALL})

    together = prices.cost([result(*one) for one in tokens])

    assert together["total"] == pytest.approx(sum(prices.cost([result(*one)])["total"] for one in tokens))
    assert together["per_question"] * len(tokens) == pytest.approx(together["total"])
