"""Wrappers with which Hayhooks, Haystack's server, serves a pipeline over REST, MCP and the OpenAI chat protocol.

:class:`ServedPipeline` answers questions. :class:`TaskModel` does tasks of front ends, such as writing a title.
Hayhooks finds the methods of a wrapper by their names: ``run_api_async`` gets REST requests, and
``run_chat_completion_async`` gets requests of the chat protocol.
"""

import asyncio
import logging
import math
import re
import time
import uuid
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing, contextmanager
from dataclasses import replace
from http import HTTPStatus
from inspect import Parameter, Signature, getdoc, signature
from pathlib import Path
from typing import Any, Literal
from urllib.parse import unquote

from fastapi import HTTPException
from fastapi_openai_compat import ChatCompletion, Choice, Message
from hayhooks.server.pipelines.sse import SSEStream
from hayhooks.server.utils.base_pipeline_wrapper import BasePipelineWrapper
from haystack.dataclasses import ChatMessage

from prefrag import pipelines
from prefrag.audit_log import label_audit
from prefrag.components.document_stores.tantivy.index_location import set_index_variable
from prefrag.components.generators.model_call import ModelCall, PreparedCall
from prefrag.components.reasoner.reasoner import Reasoner
from prefrag.components.state.answer_composer import compose
from prefrag.components.state.citations import citation_marks
from prefrag.components.state.result import Result
from prefrag.components.state.run_options import CHAT, REST, RunOptions, pop_collection, read_options
from prefrag.components.state.state import Event, RunError, RunSettings, State, identity
from prefrag.components.text.addresses import without_parameters, without_userinfo
from prefrag.components.text.controls import strip_controls
from prefrag.components.text.one_line import one_line
from prefrag.errors import BadInput, error_kind
from prefrag.pipelines import Pipeline, RunFailed
from prefrag.pipelines.asking import limit_deadline, status_if_busy
from prefrag.pipelines.run_labels import label_run
from prefrag.pipelines.sent_to_models import write_sent_to_models
from prefrag.pipelines.trace_text import trace_text
from prefrag.server.chat.chat_text import TextChat, write_content
from prefrag.server.chat.conversation import read_text, split_conversation
from prefrag.server.chat.front_end_prompts import Attachment, answer_without_model, find_task
from prefrag.server.chat.open_webui import EventChat, shows_events
from prefrag.server.library.collection_pipelines import CollectionPipelines
from prefrag.server.public_result import Installation
from prefrag.settings import settings

logger = logging.getLogger(__name__)

# A word of at least three letters or digits. Queries are left out of the log word by word. Shorter words may stay.
_WORD = re.compile(r"\w{3,}")


def take_options(run: Callable[..., object]) -> Callable[..., Any]:
    """Give a method a parameter for each REST option of `RunOptions`.

    Hayhooks reads the parameters of the method, and lets requests send a field for each of them. The description of
    each option is added to the docstring, because Hayhooks shows it in the description of the API.

    :param run: The method. It takes the options as keyword arguments.
    :returns: The same method.
    """
    # The new signature lists the options behind `self`, in the place of `**options`.
    self_parameter, *_ = signature(run).parameters.values()
    parameters = [self_parameter]
    lines = [getdoc(run) or ""]
    for name, field in RunOptions.model_fields.items():
        if name in REST:
            default = Parameter.empty if field.is_required() else field.default
            parameters.append(Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=field.annotation))
            lines.append(f":param {name}: {field.description}")
    run.__signature__ = Signature(parameters, return_annotation=dict[str, Any])  # type: ignore[attr-defined]
    run.__doc__ = "\n".join(lines)
    return run


class Refusal(HTTPException):
    """A failure to report to the client. It is an HTTPException, because Hayhooks uses only the status of those.

    :param status: The HTTP status.
    :param detail: The message for the client, without secrets.
    :param result: What the run had found before it failed. None if there is nothing.
    :param retry_after: How many seconds the client should wait before it asks again. None if that is not known.
    """

    def __init__(self, status: int, detail: str, result: Result | None, retry_after: float | None = None):
        headers = None if retry_after is None else {"Retry-After": str(math.ceil(retry_after))}
        super().__init__(status_code=status, detail=detail, headers=headers)
        self.result = result


class ServedPipeline(BasePipelineWrapper):
    """Serve one pipeline over REST, MCP and the OpenAI chat protocol.

    ``hayhooks/documents_first/`` uses this class without `prefrag serve`, in a subclass that only sets ``name``.
    """

    name: str
    """The name of a pipeline, or the path of a YAML file."""
    _last_installation: Installation | None = None
    _last_collections: CollectionPipelines | None = None

    def setup(self) -> None:
        """Load the pipeline and warm it up, so that the first request does not wait."""
        set_index_variable()
        self.pipeline = pipelines.load(self.name)
        self.pipeline.warm_up()

    @contextmanager
    def refuse_errors(self) -> Iterator[None]:
        """Turn failures into HTTP statuses and messages for clients. Details are written only to the log."""
        try:
            yield
        except HTTPException:
            raise
        except Exception as error:
            status = getattr(error, "http_status", error_kind(error).http_status)
            if status == HTTPStatus.INTERNAL_SERVER_ERROR:
                # Log the error here, because Hayhooks does not log exceptions that already have a status.
                logger.exception("A run failed.")
            elif status > HTTPStatus.INTERNAL_SERVER_ERROR:
                _log_failure(error)
            result = getattr(error, "result", None)
            raise Refusal(
                status,
                detail=self._installation.withhold(str(error)),
                result=None if result is None else self._installation.publish(result),
                retry_after=getattr(error, "retry_after", None),
            ) from error

    @take_options
    async def run_api_async(self, question: str, stream: bool = False, **options: Any) -> Result | SSEStream:
        """Answer a question from documents. The preferred source is searched first.

        :returns: The answer or, if there is none, the sentences that were found. Also the answer's label, documents,
            steps, counts, usage, errors and the trace.
        """
        with self.refuse_errors():
            options["deadline"] = limit_deadline(options.get("deadline"))
            pipeline = await self._collections.find(pop_collection(options))
            if stream:
                # Refuse a bad request before the stream begins, because a stream sends its status code first.
                await pipelines.begin(pipeline, question, **options)
                return SSEStream(self._stream_run(pipeline, question, options))
            result = await pipelines.ask_async(pipeline, question, **options)
            return self._publish(pipelines.refuse_unsearched(result))

    async def _stream_run(
        self, pipeline: Pipeline, question: str, options: Mapping[str, Any]
    ) -> AsyncGenerator[dict[str, object] | str, None]:
        """Yield an event for each step, then the result or an error, then the text ``[DONE]``."""
        try:
            with self.refuse_errors():
                # When the client disconnects, close the stream at once, so that the pipeline stops.
                async with aclosing(pipelines.stream(pipeline, question, progress=True, **options)) as outputs:
                    async for output in outputs:
                        if isinstance(output, Event):
                            event = replace(output, data=self._installation.publish_event(output.data))
                            step = {"kind": event.kind, "step": event.step, "text": trace_text(event)}
                            yield {"event": {**step, "data": dict(event.data)}}
                        else:
                            yield {"result": self._publish(pipelines.refuse_unsearched(output))}
        except Refusal as error:
            yield {"error": {"message": error.detail, "status": error.status_code}, "result": error.result}
        yield "[DONE]"

    async def run_chat_completion_async(
        self, model: str, messages: list[dict[str, Any]], body: dict[str, Any]
    ) -> ChatCompletion | AsyncGenerator[ChatCompletion, None]:
        """Answer the last question of a conversation, or do a front end's task, such as writing a title."""
        messages = [{**message, "content": read_text(message)} for message in messages]
        with self.refuse_errors():
            include_usage = _includes_usage(body)
            if find_task(messages, body.get("metadata")):
                return await self.complete_task(model, messages, body)

            question, history, attached, instructions = split_conversation(messages)
            options = {"history": history, "instructions": instructions or None, **_read_chat_options(body)}
            options["deadline"] = limit_deadline(options.get("deadline"))
            pipeline = await self._collections.find(pop_collection(options))
            if attached:
                options["documents"] = [{"title": file.title, "content": file.content} for file in attached]

            # Refuse a bad request before the stream begins, because a stream sends its status code first.
            state = await pipelines.begin(pipeline, question, **options)
            marks = _front_end_marks(state, attached) if attached else {}
            if body.get("stream"):
                chat: TextChat | EventChat = TextChat(marks, self.cites)
                if shows_events.get():
                    highest = max((int(file.mark) for file in attached if file.mark.isdecimal()), default=0)
                    chat = EventChat(marks, highest, self.cites)
                return self._stream(pipeline, model, question, options, include_usage, chat)

            result = self._publish(await pipelines.ask_async(pipeline, question, **options))
        content = write_content(result, self.cites, marks)
        return self._complete(model, body, include_usage, content, result)

    async def _stream(
        self,
        pipeline: Pipeline,
        model: str,
        question: str,
        options: Mapping[str, Any],
        include_usage: bool,
        chat: TextChat | EventChat,
    ) -> AsyncGenerator[ChatCompletion, None]:
        """Run the pipeline, and yield the chunks that ``chat`` makes from its steps and its result."""
        installation = self._installation
        chunk = _Chunks(model)
        try:
            # When the client disconnects, close the stream at once, so that the pipeline stops.
            async with aclosing(pipelines.stream(pipeline, question, **options)) as outputs:
                async for output in outputs:
                    if isinstance(output, Event):
                        event = replace(output, data=installation.publish_event(output.data))
                        for fields in chat.write_step(event):
                            yield chunk.write(fields)
                    else:
                        result = self._publish(output)
            ending = chat.write_end(result)
            finish_reason = "stop"
        except RunFailed as error:
            _log_failure(error)
            result = installation.publish(error.result)
            ending = chat.write_failure(installation.withhold(str(error)), result)
            # The protocol has no finish reason "error". But with "stop", clients would take the message for an answer.
            finish_reason = "error"

        # Only the last chunk has the finish reason.
        *earlier_chunks, last_chunk = ending
        for fields in earlier_chunks:
            yield chunk.write(fields)
        yield chunk.write(last_chunk, finish_reason)
        if include_usage:
            yield chunk.end(_count_usage(result))

    def _complete(
        self, model: str, body: Mapping[str, object], include_usage: bool, content: str, result: Result
    ) -> ChatCompletion | AsyncGenerator[ChatCompletion, None]:
        """Send a reply that is already complete, as one message or as a stream."""
        usage = _count_usage(result)
        if not body.get("stream"):
            # Put what was sent to models into the reasoning. Clients store the content as part of the answer.
            reasoning = "\n".join(write_sent_to_models(result, with_host=False)) or None
            message = Message(role="assistant", content=content, reasoning_content=reasoning)
            choice = Choice(index=0, message=message, finish_reason="stop")
            return _make_completion(model, "chat.completion", [choice], usage=usage, prefrag=result)

        async def stream() -> AsyncGenerator[ChatCompletion, None]:
            chunk = _Chunks(model)
            yield chunk.write({"content": content, "prefrag": result}, "stop")
            if include_usage:
                yield chunk.end(usage)

        return stream()

    async def complete_task(
        self, model: str, messages: Sequence[Mapping[str, object]], body: Mapping[str, object]
    ) -> ChatCompletion | AsyncGenerator[ChatCompletion, None]:
        """Let the pipeline's model do a task for a front end, such as writing a title. No source is searched.

        :param model: The name that the client has called the model. It is repeated in the reply.
        :param messages: The messages, oldest first. The last message of the user is the task.
        :param body: The whole body of the request.
        :returns: The reply, or its chunks if the client has asked for a stream.
        """
        with self.refuse_errors():
            messages = [{**message, "content": read_text(message)} for message in messages]
            include_usage = _includes_usage(body)
            options = _read_chat_options(body)
            seconds = limit_deadline(options.get("deadline"))
            pipeline = await self._collections.find(pop_collection(options))
            reply, result = await self._do_task(pipeline, messages, seconds)
        return self._complete(model, body, include_usage, reply, result)

    async def _do_task(
        self, pipeline: Pipeline, messages: Sequence[Mapping[str, object]], seconds: float
    ) -> tuple[str, Result]:
        """Return the reply to a task and its usage. Without a model server, code writes the reply."""
        generators = [part.chat_generator for _, part in pipeline.walk() if isinstance(part, Reasoner)]
        # The first reasoner has the model of the pipeline. It may have none.
        generator = generators[0] if generators else None
        call = None if generator is None else ModelCall("front_end", generator)
        if call is None or call.is_absent or call.is_embedded:
            return answer_without_model(messages, Path(self.name).stem), {"usage": {}}

        prompts = []
        for message in messages:
            text = read_text(message)
            if text and message.get("role") == "system":
                prompts.append(ChatMessage.from_system(text))
            elif text and message.get("role") == "user":
                prompts.append(ChatMessage.from_user(text))

        label_audit(**label_run(pipeline))
        state = State("", RunSettings(sources=(), preferred=""))
        try:
            async with asyncio.timeout(seconds):
                reply, state = await call.send_async(PreparedCall(prompts, call.generation_kwargs, state))
        except TimeoutError as error:
            reason = f"The front end's task was given up after {seconds:g} s."
            raise RunFailed(reason, {"errors": [reason]}, http_status=504) from error
        except RunError as error:
            raise RunFailed(str(error), {"errors": [str(error)]}, **status_if_busy(error)) from error

        result = compose(state)
        published = self._publish({"usage": result["usage"], "sent_to_models": result["sent_to_models"]})
        return strip_controls(reply), published

    @property
    def _installation(self) -> Installation:
        """What clients must not see of this pipeline. It is made again if the pipeline was replaced."""
        if self._last_installation is None or self._last_installation.pipeline is not self.pipeline:
            self._last_installation = Installation(self.pipeline)
        return self._last_installation

    @property
    def _collections(self) -> CollectionPipelines:
        """The copies of this pipeline for other collections. They are made again if the pipeline was replaced."""
        if self._last_collections is None or self._last_collections.pipeline is not self.pipeline:
            self._last_collections = CollectionPipelines(self.name, self.pipeline)
        return self._last_collections

    @property
    def cites(self) -> bool:
        """Whether the pipeline asks its model to cite passages."""
        return any(isinstance(part, Reasoner) and part.asks_to_cite for _, part in self.pipeline.walk())

    def _publish(self, result: Result) -> Result:
        """Log the errors of a result. Return the result without what clients must not see."""
        for error in result.get("errors") or ():
            logger.warning("A part of a run failed: %s", _write_reason(error, result))
        return self._installation.publish(result)


class TaskModel(BasePipelineWrapper):
    """Serves only the model of a pipeline. Front ends make titles, tags and summaries with it. It searches no source.

    :param served: The pipeline whose model it is.
    """

    def __init__(self, served: ServedPipeline):
        super().__init__()
        self._served = served

    def setup(self) -> None:
        """Do nothing, because the pipeline is loaded already."""

    async def run_chat_completion_async(
        self, model: str, messages: list[dict[str, Any]], body: dict[str, Any]
    ) -> ChatCompletion | AsyncGenerator[ChatCompletion, None]:
        """Do the task that the messages describe."""
        return await self._served.complete_task(model, messages, body)


class _Chunks:
    """Makes the chunks of a streamed completion, which all have the same id and the same time."""

    def __init__(self, model: str):
        self._empty = _make_completion(model, "chat.completion.chunk", [])

    def write(self, fields: Mapping[str, object], finish_reason: str | None = None) -> ChatCompletion:
        """Make a chunk from fields of a message, such as `content`, and other fields, such as `event`."""
        delta: dict[str, object] = {"role": "assistant"}
        # Fields that are not part of a message are put beside the choices. Ordinary OpenAI clients ignore them there.
        beside: dict[str, object] = {}
        for name, value in fields.items():
            if name in Message.model_fields:
                delta[name] = value
            else:
                beside[name] = value
        choice = Choice(index=0, delta=Message.model_validate(delta), finish_reason=finish_reason)
        return self._empty.model_copy(update={"choices": [choice], **beside})

    def end(self, usage: Mapping[str, object]) -> ChatCompletion:
        """Make the chunk with the usage, which comes last."""
        return self._empty.model_copy(update={"usage": usage})


def _read_chat_options(body: Mapping[str, object]) -> dict[str, Any]:
    """Read our own options from a chat request. Options in the object `prefrag` override those beside it."""
    chosen = {name: body[name] for name in CHAT if body.get(name) is not None}
    own = body.get("prefrag") or {}
    if not isinstance(own, Mapping):
        raise BadInput("`prefrag` must be a JSON object of options.")
    return read_options({**chosen, **own}, CHAT)


def _includes_usage(body: Mapping[str, object]) -> bool:
    """Check whether the client wants a last chunk with the usage."""
    options = body.get("stream_options") or {}
    if not isinstance(options, Mapping):
        raise BadInput('stream_options must be a JSON object, for example {"include_usage": true}.')
    return bool(options.get("include_usage"))


def _front_end_marks(state: State, attached: Sequence[Attachment]) -> dict[str, str]:
    """Map the marks of attached passages, such as A1, to the numbers that the front end gives to their files."""
    marks = citation_marks(state)
    new_marks = {}
    has_number = False
    for passage in state.attached:
        mark = marks[identity(passage)]
        # The field `attachment` counts the files from 1.
        file = attached[passage.meta["attachment"] - 1]
        if file.mark.isdecimal():
            new_marks[mark] = file.mark
            has_number = True
        else:
            # A file without a number keeps its own mark.
            new_marks[mark] = mark
    return new_marks if has_number else {}


def _log_failure(error: Exception) -> None:
    logger.error("A run broke off: %s", _write_reason(str(error), getattr(error, "result", None)))


def _write_reason(reason: str, result: Result | None) -> str:
    """Write a reason for the log, without passwords.

    If the audit log has only hashes of queries, the words of queries are also left out here.
    """
    if not settings.audit_queries:
        words: set[str] = set()
        for attempt in (result or {}).get("queries_sent_out") or ():
            words.update(_WORD.findall(attempt["query"].casefold()))

        # The client of a search engine may have changed the query. So its words are left out one by one.
        def hide_word(word: re.Match[str]) -> str:
            return "(...)" if word[0].casefold() in words else word[0]

        reason = _WORD.sub(hide_word, unquote(without_parameters(reason)))
    return one_line(without_userinfo(reason))


def _count_usage(result: Result) -> dict[str, object]:
    """Return the numbers of tokens in the form of the OpenAI protocol."""
    usage = result.get("usage") or {}
    read = usage.get("prompt_tokens", 0)
    written = usage.get("completion_tokens", 0)
    counts: dict[str, object] = {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written}
    cached = usage.get("cached_tokens")
    if cached is not None:
        counts["prompt_tokens_details"] = {"cached_tokens": cached}
    return counts


def _make_completion(
    model: str, kind: Literal["chat.completion", "chat.completion.chunk"], choices: list[Choice], **fields: object
) -> ChatCompletion:
    """Make a completion or a chunk with a new id and the present time."""
    return ChatCompletion(
        id=f"chatcmpl-{uuid.uuid4().hex}", object=kind, created=int(time.time()), model=model, choices=choices, **fields
    )
