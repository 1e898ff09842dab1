"""Test how many questions an evaluation runs at the same time."""

from typing import Any

import pytest

from prefrag.evaluation.runs import concurrency
from prefrag.evaluation.runs.concurrency import choose_concurrency

SERVER = {"kind": "server", "base_url": "http://127.0.0.1:8080/v1", "model": "m"}


@pytest.mark.parametrize(
    ("llm", "properties", "wanted"),
    [
        ({"kind": "reader"}, {}, 4),
        ({"kind": "embedded", "model": "m.gguf"}, {}, 1),
        (SERVER, {"total_slots": 1}, 1),
        (SERVER, {"total_slots": 3}, 3),
        (SERVER, {"total_slots": 64}, 4),
        (SERVER, {"total_slots": "one"}, 4),
        (SERVER, {"total_slots": True}, 4),
        (SERVER, {}, 4),
        ({**SERVER, "base_url": "http://models.example/v1"}, {"total_slots": 1}, 4),
    ],
)
def test_concurrency_is_that_of_the_model(
    llm: dict[str, Any], properties: dict[str, Any], wanted: int, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(concurrency, "get_json", lambda url, key: properties)

    assert choose_concurrency(llm) == wanted


def test_concurrency_without_slots_is_four(monkeypatch: pytest.MonkeyPatch):
    def refuse(url: str, key: str) -> dict[str, Any]:
        raise ConnectionError(url)

    monkeypatch.setattr(concurrency, "get_json", refuse)

    assert choose_concurrency(SERVER) == 4


def test_concurrency_asks_beside_the_interface(monkeypatch: pytest.MonkeyPatch):
    asked: list[tuple[str, str]] = []

    def answer(url: str, key: str) -> dict[str, Any]:
        asked.append((url, key))
        return {"total_slots": 2}

    monkeypatch.setattr(concurrency, "get_json", answer)
    choose_concurrency(SERVER, "secret")

    assert asked == [("http://127.0.0.1:8080/props", "secret")]
