"""Chats with a served pipeline, over the protocol of OpenAI."""

import json
from typing import Any

from markdown_it import MarkdownIt
from starlette.testclient import TestClient

QUESTION = "In which year did the yard that built alpha win the prize?"
CONTENT = (
    "1974\n\nNote: the answer cites none of the passages; sent to the web: “beta delta”.\n\n"
    "Sources:\n[1] alpha (local): “Alpha was built by Beta.”\n[W1] delta (web): “Delta won the prize in 1974.”"
)


def chat(*messages: tuple[str, Any], **fields: Any) -> dict[str, Any]:
    turns = [{"role": role, "content": content} for role, content in messages or [("user", QUESTION)]]
    return {"model": "prefrag", "messages": turns, **fields}


def streamed(client: TestClient, prefix: str = "", **fields: Any) -> list[dict[str, Any]]:
    """The chunks of a stream."""
    response = client.post(f"{prefix}/v1/chat/completions", json=chat(stream=True, **fields))
    assert response.status_code == 200, response.text
    assert response.headers["content-type"].startswith("text/event-stream")
    return [
        json.loads(line.removeprefix("data: ")) for line in response.text.splitlines() if line.startswith("data: {")
    ]


def deltas(chunks: list[dict[str, Any]], field: str) -> list[str]:
    return [c["choices"][0]["delta"][field] for c in chunks if c["choices"] and c["choices"][0]["delta"].get(field)]


def reply(client: TestClient, *messages: tuple[str, Any], **fields: Any) -> dict[str, Any]:
    response = client.post("/v1/chat/completions", json=chat(*messages, **fields))
    assert response.status_code == 200, response.text
    return response.json()


def content(client: TestClient, *messages: tuple[str, Any], **fields: Any) -> str:
    return reply(client, *messages, **fields)["choices"][0]["message"]["content"]


def rendered(text: str) -> set[str]:
    """The kinds of elements that a Markdown renderer makes of a text."""
    tokens = MarkdownIt("commonmark").parse(text)
    return {part.type for token in tokens for part in (token, *(token.children or ()))}
