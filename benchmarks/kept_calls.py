"""A chat generator that keeps each call in full; of a prompt, a recording has only the digest."""

import time
from typing import Any

from haystack import component
from haystack.dataclasses import ChatMessage
from haystack.tools import Tool

from prefrag.components.both_ways import as_blocking
from prefrag.components.generators.recorded_chat_generator import RecordedChatGenerator
from prefrag.components.generators.token_probabilities import first_words, mean_logprob

# The calls since somebody emptied the list. Pipelines make their components themselves, so nobody else can reach them.
CALLS: list[dict[str, Any]] = []


@component
class KeptCalls(RecordedChatGenerator):
    """Adds to `CALLS` what was said to the model and what it replied, whether it was called or its reply replayed."""

    @component.output_types(replies=list[ChatMessage])
    async def run_async(
        self,
        messages: list[ChatMessage],
        generation_kwargs: dict[str, Any] | None = None,
        tools: list[Tool] | None = None,
    ) -> dict[str, list[ChatMessage]]:
        """Call the model or replay its reply, and keep the call."""
        call: dict[str, Any] = {}
        call["messages"] = [_write(message) for message in messages]
        call["parameters"] = generation_kwargs or {}
        call["tools"] = [tool.tool_spec for tool in tools or ()]
        CALLS.append(call)
        started = time.perf_counter()
        try:
            # Haystack's decorator makes a new class, which a bare `super()` would not know.
            output = await RecordedChatGenerator.run_async(self, messages, generation_kwargs, tools)
        except Exception as error:
            call["error"] = str(error) or type(error).__name__
            raise
        finally:
            call["seconds"] = round(time.perf_counter() - started, 3)
        for reply in output["replies"][:1]:
            call["reply"] = {**_write(reply), "reasoning": reply.reasoning.reasoning_text if reply.reasoning else ""}
            call["reply"] |= {key: reply.meta.get(key) for key in ("finish_reason", "usage")}
            call["reply"]["mean_logprob"] = mean_logprob(reply.meta)
            call["reply"]["first_words"] = first_words(reply.meta)
        return output

    run = as_blocking(run_async)


def _write(message: ChatMessage) -> dict[str, Any]:
    results = [str(result.result) for result in message.tool_call_results]
    calls = [{"name": call.tool_name, "arguments": call.arguments} for call in message.tool_calls]
    return {"role": message.role.value, "text": "\n".join([*message.texts, *results]), "tool_calls": calls}
