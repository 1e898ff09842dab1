import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prefrag.components.generators.token_probabilities import first_words, read_logprobs, token_probabilities
from tests.for_each import for_each


def meta(*tokens: tuple[str, float] | tuple[str, float, list[int]]) -> dict[str, Any]:
    content = [
        {"token": token, "logprob": math.log(likely), "bytes": data[0] if data else None}
        for token, likely, *data in tokens
    ]
    return {"logprobs": {"content": content}}


def rounded(probabilities: tuple[tuple[str, float], ...]) -> list[tuple[str, float]]:
    return [(token, round(likely, 3)) for token, likely in probabilities]


SENTENCES = (("Alpha", 0.9), (" is", 1.0), (" big", 0.5), (".", 0.8), (" Beta", 0.1), (" too", 0.2), (".", 1.0))


BLANKS = (("\n\n", 1.0), ("Alpha", 0.9), ("\t\n", 1.0), ("is\u00a0big", 0.5))
THOUGHT = (("<think>", 1.0), ("Alpha", 0.2), ("</think>", 1.0), ("Alpha", 0.9), (".", 1.0))
SAO = (("S", 0.9), ("\\xc3", 0.5, [0xC3]), ("\\xa3", 0.6, [0xA3]), ("o", 0.7))


@for_each(
    "tokens, reply, part, places",
    pytest.param(SENTENCES, "Alpha is big. Beta too.", "Alpha is big.", slice(4), id="in the whole reply"),
    pytest.param(BLANKS, "Alpha\t\nis\u00a0big", "Alpha is big", slice(1, 4), id="whose blanks were changed"),
    pytest.param(THOUGHT, "Alpha.", "Alpha.", slice(3, 5), id="what was thought before does not count"),
    pytest.param(SAO, "S\u00e3o", "S\u00e3o", slice(4), id="a letter of several tokens"),
    pytest.param(SAO, "S\u00e3o", "\u00e3", slice(1, 3), id="that letter alone"),
)
def test_those_of_a_part_are_found(tokens: Any, reply: str, part: str, places: slice):
    probabilities = token_probabilities(meta(*tokens), reply, part)

    assert rounded(probabilities) == [(token, likely) for token, likely, *_ in tokens[places]]


@for_each("reply", "Something else", "")
def test_tokens_of_another_text_give_none(reply: str):
    assert token_probabilities(meta(*SENTENCES), reply, reply) == ()


@for_each(
    "logprobs",
    None,
    {},
    [],
    {"content": None},
    {"content": "x"},
    {"content": [{"token": "a", "logprob": -1.0}, {"token": "b"}]},
    {"content": [{"token": "a", "logprob": math.nan}]},
    {"content": [{"token": None, "logprob": -1.0}]},
    {"content": ["a"]},
)
def test_token_without_a_probability_never_counts_as_certain(logprobs: Any):
    assert read_logprobs(logprobs) == []
    assert token_probabilities({"logprobs": logprobs}, "a", "a") == ()


def test_impossible_token_has_zero_and_none_exceeds_certainty():
    content = [{"token": "a", "logprob": -math.inf}, {"token": "b", "logprob": 0.5}]

    assert token_probabilities({"logprobs": {"content": content}}, "ab", "ab") == (("a", 0.0), ("b", 1.0))


@given(st.lists(st.tuples(st.text(min_size=1, max_size=6), st.floats(0.01, 1)), max_size=12), st.data())
def test_every_part_of_a_reply_has_its_tokens(tokens: list[tuple[str, float]], data: st.DataObject):
    reply = "".join(token for token, _ in tokens).encode("utf-8", "replace").decode()
    start = data.draw(st.integers(0, len(reply)))
    part = reply[start : data.draw(st.integers(start, len(reply)))]

    probabilities = token_probabilities(meta(*tokens), reply, part)

    assert bool(probabilities) == bool(part.split())
    assert all(0 <= likely <= 1 for _, likely in probabilities)


YES = [{"token": "Yes", "logprob": math.log(0.5)}, {"token": " yes", "logprob": math.log(0.2)}]
NO = [{"token": "No", "logprob": math.log(0.25)}]


def test_first_words_are_added_up_whatever_their_letters():
    token = {"token": "Yes", "logprob": -0.7, "top_logprobs": [*YES, *NO]}

    words = first_words({"logprobs": {"content": [token, {"token": ".", "logprob": 0.0}]}})

    assert {word: round(likely, 3) for word, likely in words.items()} == {"yes": 0.7, "no": 0.25}


@for_each("alternatives", None, "x", [], [{"token": "Yes"}], [{"logprob": -1.0}], ["Yes"])
def test_first_words_are_none_where_the_server_sends_none(alternatives: Any):
    token = {"token": "Yes", "logprob": -0.7, "top_logprobs": alternatives}

    assert first_words({"logprobs": {"content": [token]}}) == {}
    assert first_words({}) == {}
