"""Serve a pipeline through Hayhooks."""

from __future__ import annotations

import logging
import math
import time
import uuid
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import aclosing, contextmanager
from http import HTTPStatus
from typing import Any, Literal

from fastapi import HTTPException
from fastapi_openai_compat import ChatCompletion, Choice, Message
from hayhooks.server.utils.base_pipeline_wrapper import BasePipelineWrapper
from haystack.dataclasses import ReasoningContent, StreamingChunk
from pydantic import BaseModel, ConfigDict, ValidationError

from prefrag import pipelines
from prefrag.components.document_stores.tantivy.index_location import refuse_demo
from prefrag.components.errors import BadInput, PrefragError, error_kind
from prefrag.components.state.citations import read_citations
from prefrag.components.state.state import Event
from prefrag.pipelines import RunFailed
from prefrag.pipelines.asking import limit_deadline
from prefrag.pipelines.references import HEADING, references_text
from prefrag.pipelines.trace_text import trace_text

logger = logging.getLogger(__name__)


class Turn(BaseModel):
    """An earlier turn of a conversation."""

    role: Literal["user", "assistant"]
    content: str


class ChatOptions(BaseModel):
    """Options by which a chat request narrows its run; see :meth:`ServedPipeline.run_api_async`."""

    model_config = ConfigDict(extra="forbid")

    sources: list[str] | None = None
    preferred: str | None = None
    top_k: int | None = None
    max_steps: int | None = None
    filters: dict[str, Any] | None = None
    deadline: float | None = None


class Refusal(HTTPException):
    """Answer a client with a failure: Hayhooks lets only exceptions of this kind through with their status.

    :param error: What happened, perhaps with the result so far.
    """

    def __init__(self, error: Exception):
        status = getattr(error, "http_status", error_kind(error).http_status)
        seconds = getattr(error, "retry_after", None)
        headers = None if seconds is None else {"Retry-After": str(math.ceil(seconds))}
        super().__init__(status_code=status, detail=str(error), headers=headers)
        self.result = getattr(error, "result", None)


@contextmanager
def refuse_errors() -> Iterator[None]:
    """Turn the failures that concern clients into HTTP statuses."""
    try:
        yield
    except (PrefragError, ValueError) as error:
        refusal = Refusal(error)
        if refusal.status_code == HTTPStatus.INTERNAL_SERVER_ERROR:
            # Hayhooks logs no exception that has a status already.
            logger.exception("A run failed.")
        raise refusal from error


class ServedPipeline(BasePipelineWrapper):
    """Serve one pipeline over REST, MCP and the OpenAI chat protocol.

    ``hayhooks/documents_first/`` shows a wrapper for plain Hayhooks, which only needs a name.
    """

    name: str
    """The name of a pipeline, or the path of a YAML file."""

    def setup(self) -> None:
        """Load the pipeline and warm it up, so that the first request does not wait."""
        refuse_demo()
        self.pipeline = pipelines.load(self.name)
        self.pipeline.warm_up()

    async def run_api_async(
        self,
        question: str,
        history: list[Turn] | None = None,
        sources: list[str] | None = None,
        preferred: str | None = None,
        top_k: int | None = None,
        max_steps: int | None = None,
        filters: dict[str, Any] | None = None,
        deadline: float | None = None,
    ) -> dict[str, Any]:
        """Answer a question from documents, the preferred source first.

        :param question: The question, at most 4,000 characters.
        :param history: Earlier turns of the conversation, oldest first.
        :param sources: The sources that may be searched; by default all of the pipeline.
        :param preferred: The source that is searched first.
        :param top_k: Documents a retrieval.
        :param max_steps: Steps, at most those of the pipeline.
        :param filters: Haystack metadata filter on the documents of the sources that can filter.
        :param deadline: Seconds that the run may take, at most those that the server allows.
        :returns: The answer, its label, the documents used, every step, counts, usage, errors and the trace.
        """
        options = {
            "history": [turn.model_dump() if isinstance(turn, Turn) else turn for turn in history or ()] or None,
            "sources": sources,
            "preferred": preferred,
            "top_k": top_k,
            "max_steps": max_steps,
            "filters": filters,
        }
        with refuse_errors():
            return await pipelines.ask_async(self.pipeline, question, deadline=limit_deadline(deadline), **options)

    async def run_chat_completion_async(
        self, model: str, messages: list[dict[str, Any]], body: dict[str, Any]
    ) -> ChatCompletion | AsyncGenerator[StreamingChunk | ChatCompletion, None]:
        """Answer the last message of a conversation.

        :param model: The name that the client requested.
        :param messages: The conversation: its last user message is the question; system messages are not used.
        :param body: The whole request, with the options of :meth:`run_api_async` at its top level or under ``prefrag``.
        :returns: The answer with its sources, the result in the extra field ``prefrag``; or, when the request is for a
            stream, each step as reasoning and then the answer.
        :raises Refusal: With 422 when the question or an option cannot be used, with 502 when the run breaks off.
        """
        with refuse_errors():
            question, history = split_conversation(messages)
            options = {"history": history, **_read_options(body)}
            deadline = limit_deadline(options.pop("deadline", None))
            if body.get("stream"):
                # A bad request is refused before the stream begins, because a stream has sent its status code by then.
                self.pipeline.get_component("start").run(question=question, **options)
                return self._stream(model, question, {**options, "deadline": deadline}, _includes_usage(body))
        result = await self.run_api_async(question, deadline=deadline, **options)
        return _make_completion(
            model,
            "chat.completion",
            [Choice(index=0, message=Message(role="assistant", content=_write_content(result)), finish_reason="stop")],
            usage=_count_usage(result),
            prefrag=result,
        )

    async def _stream(
        self, model: str, question: str, options: Mapping[str, Any], include_usage: bool
    ) -> AsyncGenerator[StreamingChunk | ChatCompletion, None]:
        result: dict[str, Any] = {}
        try:
            # Closed at once when the client leaves, so that its run does not go on until it is collected as garbage.
            async with aclosing(pipelines.stream(self.pipeline, question, **options)) as outputs:
                async for output in outputs:
                    if isinstance(output, Event):
                        yield StreamingChunk("", index=0, reasoning=ReasoningContent(f"{trace_text(output)}\n"))
                    else:
                        result = output
            yield StreamingChunk(_write_content(result), finish_reason="stop")
        except RunFailed as error:
            result = error.result
            # "error" is not in the protocol, but "stop" would present the message as an answer.
            yield StreamingChunk(f"The run broke off. {error}", finish_reason="error")  # type: ignore[arg-type]
        if include_usage:
            yield _make_completion(model, "chat.completion.chunk", [], usage=_count_usage(result))


def split_conversation(messages: Sequence[Mapping[str, Any]]) -> tuple[str, list[dict[str, str]]]:
    """Split a conversation into its question and what came before.

    :param messages: The messages of an OpenAI chat request.
    :returns: The text of the last user message, and the earlier turns of user and assistant, without the sources that
        this service wrote under its answers.
    :raises BadInput: When no message is the user's.
    """
    last = max((number for number, message in enumerate(messages) if message.get("role") == "user"), default=None)
    if last is None:
        raise BadInput("The messages hold no question: send at least one with the role 'user'.")
    turns = [
        {"role": str(message["role"]), "content": read_citations(text.partition(f"\n\n{HEADING}\n")[0])[0]}
        for message in messages[:last]
        if message.get("role") in ("user", "assistant") and (text := _read_text(message))
    ]
    return _read_text(messages[last]), turns


def _read_text(message: Mapping[str, Any]) -> str:
    """Get the text of a message, whose content may be a list of parts."""
    content = message.get("content")
    if isinstance(content, list):
        parts = (part.get("text") for part in content if isinstance(part, dict) and part.get("type") == "text")
        return "\n".join(part for part in parts if isinstance(part, str))
    return content if isinstance(content, str) else ""


def _read_options(body: Mapping[str, Any]) -> dict[str, Any]:
    given = {name: body[name] for name in ChatOptions.model_fields if body.get(name) is not None}
    own = body.get("prefrag") or {}
    try:
        options = ChatOptions.model_validate({**given, **own})
    except ValidationError as error:
        problems = "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors())
        raise BadInput(f"An option cannot be used: {problems}") from error
    except TypeError as error:
        raise BadInput("`prefrag` must be an object of options.") from error
    return options.model_dump(exclude_none=True)


def _includes_usage(body: Mapping[str, Any]) -> bool:
    options = body.get("stream_options") or {}
    if not isinstance(options, Mapping):
        raise BadInput('stream_options is not an object: give for example {"include_usage": true}.')
    return bool(options.get("include_usage"))


def _write_content(result: Mapping[str, Any]) -> str:
    answer = result.get("answer_with_citations") or result.get("answer") or "No answer was found."
    sources = references_text(result)
    return f"{answer}\n\n{sources}" if sources else answer


def _count_usage(result: Mapping[str, Any]) -> dict[str, int]:
    usage = result.get("usage") or {}
    read, written = usage.get("prompt_tokens", 0), usage.get("completion_tokens", 0)
    return {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written}


def _make_completion(
    model: str, kind: Literal["chat.completion", "chat.completion.chunk"], choices: list[Choice], **fields: Any
) -> ChatCompletion:
    return ChatCompletion(
        id=f"chatcmpl-{uuid.uuid4().hex}", object=kind, created=int(time.time()), model=model, choices=choices, **fields
    )
