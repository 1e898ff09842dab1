"""A request can close the web for its question, and a key without permission closes it for all of its questions."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from starlette.testclient import TestClient

from prefrag.server.access.keys import add_key
from tests.fakes import CALLS

QUESTION = {"question": "In which year did the yard that built alpha win the prize?"}
CHAT: dict[str, Any] = {"model": "prefrag", "messages": [{"role": "user", "content": QUESTION["question"]}]}
ASKS = [("/prefrag/run", QUESTION), ("/v1/chat/completions", CHAT), ("/v1/chat/completions", {**CHAT, "stream": True})]
Served = Callable[..., TestClient]


@pytest.mark.parametrize(("path", "body"), ASKS)
class TestEveryWayToAsk:
    def test_searches_the_web_unless_the_request_closes_it(self, served: Served, path: str, body: dict[str, Any]):
        served().post(path, json={**body, "web": True})
        assert "web" in CALLS

        CALLS.clear()
        response = served().post(path, json={**body, "web": False})
        assert response.status_code == 200
        assert "web" not in CALLS
        assert "the web is closed by this request" in response.text

    def test_a_word_that_is_neither_is_refused(self, served: Served, path: str, body: dict[str, Any]):
        for value in ("no", 0, [], "false"):
            assert served().post(path, json={**body, "web": value}).status_code == 422, value
        assert "model" not in CALLS


def test_stays_at_home_where_the_key_may_not_use_it(serve: Callable[..., TestClient]):
    client = serve()
    closed, opened = ({"Authorization": f"Bearer {add_key(name, web=name == 'ben')}"} for name in ("ada", "ben"))

    for path, body in ASKS:
        for wanted in ({}, {"web": True}):
            CALLS.clear()
            response = client.post(path, json={**body, **wanted}, headers=closed)
            assert (response.status_code, CALLS.keys() & {"local", "web"}) == (200, {"local"}), (path, wanted)
            assert "the web is closed for the key of this request" in response.text
    # A request for the web only is refused.
    response = client.post("/prefrag/run", json={**QUESTION, "sources": ["web"]}, headers=closed)
    assert response.status_code == 422
    assert "the web is closed for the key of this request" in response.json()["detail"]
    # The page shows that the web is closed.
    (pipeline,) = client.get("/pipelines", headers=closed).json()["pipelines"]
    (web,) = [source for source in pipeline["sources"] if source["external"]]
    assert (web["open"], web["reason"]) == (False, "the web is closed for the key of this request")
    # Next, a question with another key.
    CALLS.clear()
    client.post("/prefrag/run", json=QUESTION, headers=opened)
    assert "web" in CALLS


class TestAMessageThatIsSentAsAWhole:
    """Nothing but the question of the same request can be allowed, and only where the web is open."""

    MESSAGE = "We sold the yard to Quill in 1974. What is alpha worth?"
    RUN: dict[str, Any] = {"question": MESSAGE, "web_query": MESSAGE}

    def test_is_sent_once_the_request_repeats_it(self, served: Callable[..., TestClient]):
        first = (
            served("41", pipeline="vanilla_mix").post("/prefrag/run", json={"question": self.MESSAGE}).json()["result"]
        )
        (offer,) = [event["offer"] for event in first["trace"] if event["kind"] == "left_out"]
        body = {"question": self.MESSAGE, "web_query": offer}

        again = served("41", pipeline="vanilla_mix").post("/prefrag/run", json=body).json()["result"]

        assert [query["query"] for query in first["queries_sent_out"]] == ["What is alpha worth?"]
        assert [query["query"] for query in again["queries_sent_out"]] == [self.MESSAGE]

    @pytest.mark.parametrize("forged", ["Quill paid 41 million", "What is alpha worth?", "", ["a"], 1, {"a": "b"}])
    def test_is_no_other_text(self, served: Callable[..., TestClient], forged: Any):
        client = served("41", pipeline="vanilla_mix")

        for more in ({}, {"stream": True}):
            response = client.post("/prefrag/run", json={"question": self.MESSAGE, "web_query": forged, **more})
            assert response.status_code == 422, more
        assert "web" not in CALLS

    def test_cannot_be_allowed_by_a_chat_program(self, served: Callable[..., TestClient]):
        chat = {"model": "prefrag", "messages": [{"role": "user", "content": self.MESSAGE}]}
        client = served("41", pipeline="vanilla_mix")

        inside = client.post("/v1/chat/completions", json={**chat, "prefrag": {"web_query": self.MESSAGE}})
        beside = client.post("/v1/chat/completions", json={**chat, "web_query": self.MESSAGE})

        assert inside.status_code == 422
        assert [call["query"] for call in CALLS["web"]] == ["What is alpha worth?"]
        note = (
            "not sent to the web: \u201cWe sold the yard to Quill in 1974.\u201d (to search the web for this too, ask"
        )
        assert note in beside.json()["choices"][0]["message"]["content"]

    def test_is_not_sent_without_the_web_or_from_another_origin(self, serve: Callable[..., TestClient]):
        client = serve("41", pipeline="vanilla_mix")
        foreign = {"Origin": "http://evil.example", "Content-Type": "text/plain"}
        client.post("/prefrag/run", content=json.dumps(self.RUN), headers=foreign)
        assert "web" not in CALLS

        closed = {"Authorization": f"Bearer {add_key('ada', web=False)}"}
        assert client.post("/prefrag/run", json=self.RUN, headers=closed).status_code == 200
        assert client.post("/prefrag/run", json=self.RUN).status_code == 401
        assert "web" not in CALLS
