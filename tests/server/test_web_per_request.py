"""A request closes the web for its question, and a key without leave for all of its questions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from starlette.testclient import TestClient

from prefrag.server.keys import add_key
from tests.fakes import CALLS

QUESTION = {"question": "In which year did the yard that built alpha win the prize?"}
CHAT: dict[str, Any] = {"model": "prefrag", "messages": [{"role": "user", "content": QUESTION["question"]}]}
ASKS = [("/prefrag/run", QUESTION), ("/v1/chat/completions", CHAT), ("/v1/chat/completions", {**CHAT, "stream": True})]


@pytest.mark.parametrize(("path", "body"), ASKS)
class TestEveryWayToAsk:
    def test_searches_the_web_where_nothing_closes_it(
        self, served: Callable[..., TestClient], path: str, body: dict[str, Any]
    ):
        served().post(path, json={**body, "web": True})

        assert "web" in CALLS

    def test_stays_at_home_where_the_request_says_so(
        self, served: Callable[..., TestClient], path: str, body: dict[str, Any]
    ):
        response = served().post(path, json={**body, "web": False})

        assert response.status_code == 200
        assert "web" not in CALLS
        assert "this request closes the web" in response.text

    @pytest.mark.parametrize("wanted", [{}, {"web": True}])
    def test_stays_at_home_where_the_key_may_not(
        self, serve: Callable[..., TestClient], path: str, body: dict[str, Any], wanted: dict[str, bool]
    ):
        client, secret = serve(), add_key("ada", web=False)

        response = client.post(path, json={**body, **wanted}, headers={"Authorization": f"Bearer {secret}"})

        assert response.status_code == 200
        assert "web" not in CALLS
        assert "the key of this request may not use the web" in response.text

    @pytest.mark.parametrize("value", ["no", 0, [], "false"])
    def test_a_word_that_is_neither_is_refused(
        self, served: Callable[..., TestClient], path: str, body: dict[str, Any], value: Any
    ):
        assert served().post(path, json={**body, "web": value}).status_code == 422
        assert "model" not in CALLS


def test_the_options_of_a_chat_may_stand_under_prefrag(served: Callable[..., TestClient]):
    served().post("/v1/chat/completions", json={**CHAT, "prefrag": {"web": False}})

    assert "web" not in CALLS


def test_the_next_question_of_another_key_is_not_closed(serve: Callable[..., TestClient]):
    client, closed, opened = serve(), add_key("ada", web=False), add_key("ben")

    client.post("/prefrag/run", json=QUESTION, headers={"Authorization": f"Bearer {closed}"})
    assert "web" not in CALLS
    CALLS.clear()
    client.post("/prefrag/run", json=QUESTION, headers={"Authorization": f"Bearer {opened}"})
    assert "web" in CALLS


def test_the_web_alone_is_refused_to_a_key_that_may_not_use_it(serve: Callable[..., TestClient]):
    client, secret = serve(), add_key("ada", web=False)

    response = client.post(
        "/prefrag/run", json={**QUESTION, "sources": ["web"]}, headers={"Authorization": f"Bearer {secret}"}
    )

    assert response.status_code == 422
    assert "the key of this request may not use the web" in response.json()["detail"]


def test_the_page_shows_that_the_web_is_closed_to_such_a_key(serve: Callable[..., TestClient]):
    client, secret = serve(), add_key("ada", web=False)

    (pipeline,) = client.get("/pipelines", headers={"Authorization": f"Bearer {secret}"}).json()["pipelines"]

    (web,) = [source for source in pipeline["sources"] if source["external"]]
    assert (web["open"], web["reason"]) == (False, "the key of this request may not use the web")
