"""The calls over passages that were found, for the fit of how sure a small model's answers are; the model is made up."""

import json
from typing import Any

import httpx

from benchmarks.answer_states import ask, choose_shown
from prefrag.components.reasoner.reply_formats.steps_format import MUST_ANSWER
from tests.for_each import for_each

DOCUMENTS = [
    {"id": str(number), "content": f"The lock of gate {number} is new.", "title": f"Gate {number}", "source": "local"}
    for number in range(9)
]


def made_up_model(replies: list[str], prompts: list[str]) -> httpx.Client:
    def reply(request: httpx.Request) -> httpx.Response:
        prompts.append(json.loads(request.content)["messages"][0]["content"])
        tokens: list[dict[str, Any]] = [{"token": "a", "logprob": -1.0}, {"token": "b", "logprob": -3.0}]
        choice = {"message": {"content": replies[len(prompts) - 1]}, "logprobs": {"content": tokens}}
        return httpx.Response(200, json={"choices": [choice]})

    return httpx.Client(base_url="http://model.test/v1", transport=httpx.MockTransport(reply))


@for_each(
    "replies, answers",
    (["Bo Li", "never asked"], ["Bo Li"]),
    (["NOT FOUND", "Bo Li"], ["NOT FOUND", "Bo Li"]),
)
def test_a_refusal_alone_brings_a_second_call(replies: list[str], answers: list[str]):
    prompts: list[str] = []

    calls = ask(made_up_model(replies, prompts), "m", "Who has the lock of gate 3?", DOCUMENTS)

    assert [call["reply"]["text"] for call in calls] == answers
    assert [prompt.endswith(MUST_ANSWER) for prompt in prompts] == [False, True][: len(answers)]
    assert {call["reply"]["mean_logprob"] for call in calls} == {-2.0}
    assert [call["messages"][0]["text"] for call in calls] == prompts


def test_the_passages_shown_are_those_of_the_product():
    shown = choose_shown("Who has the lock of gate 3?", DOCUMENTS)

    assert [document.id for document in shown] == sorted(document.id for document in shown)
    assert len(shown) < len(DOCUMENTS)
    assert "3" in {document.id for document in shown}


def test_an_answer_that_a_sentence_has_is_asked_about_again():
    prompts: list[str] = []

    calls = ask(made_up_model(["new", "Yes"], prompts), "m", "What is the lock of gate 3?", DOCUMENTS)

    assert prompts[1].endswith('is "new" the answer to the question "What is the lock of gate 3?"? Reply Yes or No.')
    assert "The lock of gate" in prompts[1]
    assert (calls[1]["parameters"]["max_tokens"], calls[1]["parameters"]["top_logprobs"]) == (1, 5)
