"""The reading of a chat completion as servers send it, which is not always what the OpenAI protocol lays down."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from haystack.dataclasses import ChatMessage, ToolCall

from prefrag.components.generators.json_reply import MAX_REPLY_CHARACTERS, read_object, repair
from prefrag.components.generators.token_probabilities import read_logprobs

_COUNTS = ("prompt_tokens", "completion_tokens", "total_tokens")


def read_completion(body: bytes) -> list[ChatMessage]:
    """Read the replies of a completion, without a separate reasoning.

    :param body: The JSON that the server sent.
    :returns: A message for each choice, its text at most 100,000 characters; ``meta`` has ``model``, ``index``,
        ``finish_reason`` and ``usage``, and ``logprobs`` where the server sent them. Where a tool call cannot be read,
        ``finish_reason`` is ``tool_calls``.
    :raises Exception: When it is not a chat completion.
    """
    completion = json.loads(body.decode("utf-8", "replace"))
    usage = completion.get("usage")
    counts = {name: count for name in _COUNTS if isinstance(usage, dict) and isinstance(count := usage.get(name), int)}
    return [
        _read_choice(choice, {"model": completion.get("model"), "index": index, "usage": counts})
        for index, choice in enumerate(completion["choices"])
    ]


def _read_choice(choice: Mapping[str, Any], meta: dict[str, Any]) -> ChatMessage:
    message = choice["message"]
    requested = message.get("tool_calls") or []
    calls = [call for one in requested if (call := _read_call(one)) is not None]
    finish_reason = choice.get("finish_reason")
    if len(calls) < len(requested) and finish_reason != "length":
        finish_reason = "tool_calls"
    text = _read_content(message.get("content"))[:MAX_REPLY_CHARACTERS]
    if logprobs := read_logprobs(choice.get("logprobs")):
        # Under the name that Haystack's own generators give it.
        meta["logprobs"] = {"content": logprobs}
    return ChatMessage.from_assistant(
        repair(text), tool_calls=calls, meta=repair({**meta, "finish_reason": finish_reason})
    )


def _read_content(content: Any) -> str:
    if isinstance(content, str):
        return content
    if isinstance(content, Sequence):
        # A list of parts, of which only those with a text belong to the reply.
        texts = [part.get("text") if isinstance(part, Mapping) else part for part in content]
        return "".join(text for text in texts if isinstance(text, str))
    return ""


def _read_call(requested: Any) -> ToolCall | None:
    function = requested.get("function") if isinstance(requested, Mapping) else None
    if not isinstance(function, Mapping) or not isinstance(function.get("name"), str):
        return None
    arguments = function.get("arguments")
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments, strict=False)
        except (ValueError, RecursionError):
            arguments = read_object(arguments)
    if arguments is None:
        return None
    identifier = requested.get("id")
    return ToolCall(repair(function["name"]), repair(arguments), id=identifier if isinstance(identifier, str) else None)
