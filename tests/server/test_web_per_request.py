"""A request can close the web for its question, and a key without permission closes it for all of its questions."""

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
