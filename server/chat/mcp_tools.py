"""Offer the served pipelines as MCP tools, which answer questions. Nothing else can be called.

`prefrag serve` offers the tools over HTTP at ``/mcp`` (:func:`add_route`). `prefrag mcp` offers them over standard
input and output (:func:`serve_stdio`). A tool runs its pipeline in the same way as the HTTP route of this pipeline. Its
reply is written for a model, so it quotes all untrusted text.
"""

import json
import logging
import sys
from collections.abc import AsyncIterable, AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager, suppress
from io import TextIOWrapper
from itertools import count
from pathlib import Path
from typing import Any, TextIO

import anyio
from fastapi import HTTPException
from hayhooks.server.pipelines.registry import registry
from hayhooks.server.utils.deploy_utils import commit_prepared_pipeline
from hayhooks.server.utils.mcp_utils import run_pipeline_as_tool
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.shared.context import RequestContext
from mcp.types import INVALID_REQUEST, CallToolResult, JSONRPCMessage, TextContent, Tool, ToolAnnotations
from pydantic import BaseModel, ValidationError
from starlette.applications import Starlette
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from prefrag.components.prompts.quotation import QUOTED, defuse_tokens, quote_line, quote_text, quote_title
from prefrag.components.state.result import FoundDocument, Result
from prefrag.components.state.run_options import CHAT, REST
from prefrag.components.text.one_line import one_line
from prefrag.components.text.sentences import cut_text
from prefrag.components.text.unicode_form import is_text
from prefrag.pipelines.references import (
    GIVEN,
    HEADING,
    UNSUPPORTED,
    label_text,
    not_answered_text,
    place_text,
    references,
    title_text,
)
from prefrag.server.chat.chat_text import disarm, write_note
from prefrag.server.chat.served_pipelines import keep_modules_apart, prepare_pipeline
from prefrag.server.chat.wrapper import ServedPipeline
from prefrag.version import find_version

logger = logging.getLogger(__name__)

# The path of the tools over HTTP.
_PATH = "/mcp"
# What a client tells its model about this server.
_INSTRUCTIONS = (
    "Each tool answers a question from the user's own documents, and from the web if they do not suffice and the user "
    "allows it. Ask complete questions that can be understood without the conversation. When you use what a source "
    "says, repeat its mark: [1] is a document of the user, [W1] a web page."
)
# What a client tells its model about each tool.
_DESCRIPTION = (
    "Answer a question from the user's own documents first; the web is searched only if they do not suffice and the "
    "user allows it. The tool takes several steps by itself, so ask one question even if it needs several documents. "
    "It returns the answer, with marks that name its sources; a label or a word that says how far to trust the answer; "
    "and the sources, with the sentences that matter. Without an answer, it says so and returns the sentences it found."
)
# Options that the tools do not offer. A model can write complete questions, so it need not send earlier turns or texts.
# A model also may not allow a web query for a person who has not seen the query.
_HIDDEN = frozenset(REST) - {"question", *CHAT}
# How many characters of a passage are shown if no sentence of it was chosen.
_BEGINNING = 300
# An error message describes at most this many problems of the arguments.
_PROBLEMS = 5
# Names of arguments in an error message are cut to this many characters, because the client has chosen them.
_NAME_CHARACTERS = 100
# A report of progress is cut to this many characters.
_TEXT_CHARACTERS = 500
# The error for a line of standard input that is no message of the protocol.
_MALFORMED = (
    "This is no JSON-RPC message: send JSON that is at most a few hundred levels deep, without half surrogate pairs."
)


def create_server() -> Server[object, object]:
    """Create an MCP server for the pipelines in the registry of Hayhooks.

    :returns: The server. It can be connected to any transport, such as HTTP or standard input.
    """
    server: Server[object, object] = Server("prefrag", find_version(), _INSTRUCTIONS)

    @server.list_tools()
    async def list_tools() -> list[Tool]:
        return [_describe(name) for name in registry.get_names() if _find_arguments(name) is not None]

    # Switch off the library's validation. `_call` validates the arguments by the same rules as the HTTP routes.
    @server.call_tool(validate_input=False)
    async def call_tool(name: str, arguments: dict[str, object]) -> CallToolResult:
        names = _find_arguments(name)
        if names is None:
            return _refuse("There is no such tool: list the tools again.")
        unknown = arguments.keys() - names.keys()
        if unknown:
            shown_name = min(unknown)[:_NAME_CHARACTERS]
            return _refuse(f"There is no argument {shown_name}: choose from {', '.join(names)}.")
        try:
            return await _call(name, arguments, server.request_context)
        except ValidationError as error:
            return _refuse(f"The arguments cannot be used: {_describe_problems(error)}")
        except HTTPException as error:
            return _refuse(str(error.detail))
        except Exception:
            logger.exception("A tool failed.")
            return _refuse("The tool failed; the server's log says why.")

    return server


def add_route(app: Starlette) -> AbstractAsyncContextManager[None]:
    """Serve the tools over streamable HTTP without sessions, so that any worker can answer any request.

    :param app: The application that gets the route.
    :returns: A context that the application must enter at its start and leave at its end.
    """
    # The reply is a stream, which keeps the connection alive while a pipeline runs. A broken connection stops the run.
    sessions = StreamableHTTPSessionManager(create_server(), stateless=True)

    class Endpoint:
        async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
            await sessions.handle_request(scope, receive, send)

    # Only POST, because there are no sessions to GET or DELETE.
    app.router.routes.append(Route(_PATH, Endpoint(), methods=["POST"], include_in_schema=False))

    @asynccontextmanager
    async def run() -> AsyncIterator[None]:
        async with sessions.run():
            yield

    return run()


async def serve_stdio(files: Mapping[str, Path], lenient: bool, output: TextIO) -> None:
    """Serve the tools over standard input and output until the input ends.

    :param files: The file or folder of each pipeline, by the name of the pipeline.
    :param lenient: Whether to leave out pipelines that cannot be loaded. If not, their error is raised.
    :param output: Where to write the messages of the protocol. `sys.stdout` may be used for something else.
    """
    keep_modules_apart()
    for name, path in files.items():
        try:
            commit_prepared_pipeline(prepare_pipeline(name, path))
        except Exception as error:
            if not lenient:
                # Hayhooks' error says which step failed. The cause of that error says why.
                cause = error.__cause__
                raise (cause if isinstance(cause, Exception) else error) from None
            logger.error("Left out: %s. %s", name, one_line(str(error.__cause__ or error)))

    server = create_server()
    # Wrap standard input as the MCP library does, so that `valid_lines` can check each line first.
    lines = anyio.wrap_file(TextIOWrapper(sys.stdin.buffer, encoding="utf-8", errors="replace"))
    replies = anyio.wrap_file(output)
    valid: Any = valid_lines(lines, replies)
    async with stdio_server(valid, replies) as (received, sent):
        await server.run(received, sent, server.create_initialization_options())


def write_for_model(result: Result, cites: bool) -> str:
    """Write a result for the model that has called the tool. Untrusted text is quoted, as in every prompt.

    :param result: The result of the run.
    :param cites: Whether the pipeline's own model was asked to cite passages.
    :returns: The answer or the sentences that were found, then a note, then the sources. An empty line separates two
        parts.
    """
    evidence = result.get("evidence") or ()
    certainty = result.get("certainty")
    answer = result.get("answer_with_citations") or result.get("answer")
    if answer:
        # Disarm the answer. It may repeat parts of a passage, and the client may render them as Markdown.
        certainty_word = GIVEN.get(certainty or "", "Answer")
        first_part = f"{certainty_word}: {disarm(defuse_tokens(answer))}"
        if result.get("answered_by") != "reader":
            first_part += f"\n{label_text(result)}"
        parts = [first_part]
        for sentence in result.get("unsupported") or ():
            parts.append(f"{UNSUPPORTED} {disarm(quote_line(sentence))}")
    elif evidence:
        if certainty == "probably":
            parts = ["Probably the first of these sentences answers it:"]
        else:
            parts = [f"{not_answered_text(result)} These sentences were found:"]
        for quotation in evidence:
            parts.append(f"[{quotation['mark']}]\n{quote_text(quotation['sentence'])}")
    else:
        parts = ["No answer was found."]
    parts.append(defuse_tokens(write_note(result, cites)))

    # With an answer, the best sentence of each cited source is quoted. If no source is cited, those of all sources are
    # quoted. Without an answer, the sentences stand above already.
    citations = [*(result.get("citations") or ()), *evidence]
    cited_marks = {citation["mark"] for citation in citations}
    shows_evidence = bool(evidence) and not answer
    sources = []
    for mark, document in references(result):
        is_cited = mark in cited_marks or not cited_marks
        sources.append(_write_source(mark, document, quotes=is_cited and not shows_evidence))
    if sources:
        parts += ["\n".join([HEADING, *sources]), QUOTED]
    return "\n\n".join(filter(None, parts))


def _write_source(mark: str, document: FoundDocument, quotes: bool) -> str:
    """Write a line about a source. If ``quotes`` is true, its best sentence or its beginning is quoted below."""
    title = quote_title(title_text(document) or str(document.get("id") or ""))
    address = f" {defuse_tokens(str(document['url']))}" if document.get("url") else ""
    line = f"[{mark}] {title} ({place_text(document, quote_title)}){address}"
    if not quotes:
        return line
    content = str(document.get("content") or "")
    span = document.get("sentence") or {"start": 0, "end": _BEGINNING}
    quotation = quote_text(content[span["start"] : span["end"]])
    return f"{line}\n{quotation}" if quotation else line


def _find_arguments(name: str) -> dict[str, object] | None:
    """Return the JSON schema of each argument of a tool, by its name. None if there is no such tool."""
    metadata = registry.get_metadata(name) or {}
    model: type[BaseModel] | None = metadata.get("request_model")
    if model is None or metadata.get("skip_mcp"):
        return None
    hidden = _HIDDEN if isinstance(registry.get(name), ServedPipeline) else frozenset()
    arguments = model.model_json_schema()["properties"]
    return {key: schema for key, schema in arguments.items() if key not in hidden}


def _describe(name: str) -> Tool:
    """Describe a tool for a client. For our own pipelines, the description names the sources."""
    wrapper = registry.get(name)
    metadata = registry.get_metadata(name) or {}
    schema = {**metadata["request_model"].model_json_schema(), "additionalProperties": False}
    if not isinstance(wrapper, ServedPipeline):
        return Tool(name=name, description=metadata["description"], inputSchema=schema)

    schema["properties"] = _find_arguments(name)
    schema.pop("$defs", None)
    start: Any = wrapper.pipeline.get_component("start")
    external = [source for source in start.sources if source in start.external_sources]
    external_names = ", ".join(external) or "none"
    own_names = ", ".join(source for source in start.sources if source not in external) or "none"
    description = f"{_DESCRIPTION} Own sources: {own_names}; external sources: {external_names}."
    hints = ToolAnnotations(readOnlyHint=True, destructiveHint=False, openWorldHint=bool(external))
    return Tool(name=name, description=description, inputSchema=schema, annotations=hints)


async def _call(
    name: str, arguments: dict[str, object], context: RequestContext[Any, object, object]
) -> CallToolResult:
    """Run the pipeline of a tool, report its progress, and return its result as text and as JSON."""
    request = (registry.get_metadata(name) or {})["request_model"].model_validate(arguments)
    values = {key: getattr(request, key) for key in request.model_fields_set}
    wrapper = registry.get(name)
    if not isinstance(wrapper, ServedPipeline):
        return CallToolResult(content=[*await run_pipeline_as_tool(registry, name, values)])

    run: Any = await wrapper.run_api_async(**values, stream=True)
    result: Result = {}
    steps = count(1)
    # When the client disconnects, close the stream at once, so that the pipeline stops.
    async with aclosing(run.stream) as outputs:
        async for output in outputs:
            if "error" in output:
                return _refuse(output["error"]["message"])
            if "event" in output:
                await _report(next(steps), output["event"]["text"], context)
            elif "result" in output:
                result = output["result"]

    # Leave out the trace, which lists all steps. It is for people, and many times as long as the rest.
    content = {key: value for key, value in result.items() if key != "trace"}
    text = write_for_model(result, wrapper.cites)
    return CallToolResult(content=[TextContent(type="text", text=text)], structuredContent=content)


async def _report(number: int, text: str, context: RequestContext[Any, object, object]) -> None:
    """Report progress to a client that has asked for reports. Many clients wait longer if they receive reports."""
    token = None if context.meta is None else context.meta.progressToken
    if token is not None:
        message = cut_text(disarm(defuse_tokens(text)), _TEXT_CHARACTERS)
        await context.session.send_progress_notification(
            token, number, total=None, message=message, related_request_id=str(context.request_id)
        )


def _refuse(message: str) -> CallToolResult:
    return CallToolResult(content=[TextContent(type="text", text=message)], isError=True)


def _describe_problems(error: ValidationError) -> str:
    """Say which arguments are wrong and why. The values of the arguments are not repeated."""
    descriptions = []
    for problem in error.errors(include_url=False, include_context=False, include_input=False)[:_PROBLEMS]:
        place = ".".join(str(part)[:_NAME_CHARACTERS] for part in problem["loc"])
        descriptions.append(f"{place}: {problem['msg']}")
    return "; ".join(descriptions)


async def valid_lines(lines: AsyncIterable[str], replies: Any) -> AsyncIterator[str]:
    """Yield the lines that are valid JSON-RPC messages. Other lines are answered with an error here.

    The MCP library would not answer them.

    :param lines: The lines of standard input.
    :param replies: The asynchronous file to which errors are written.
    """
    async for line in lines:
        try:
            JSONRPCMessage.model_validate_json(line)
        except ValueError:
            error = {"code": INVALID_REQUEST, "message": _MALFORMED}
            reply = json.dumps({"jsonrpc": "2.0", "id": _find_id(line), "error": error})
            await replies.write(f"{reply}\n")
            await replies.flush()
        else:
            yield line


def _find_id(line: str) -> str | int | None:
    """Find the id of a message that is not valid. None if it has no usable id."""
    with suppress(ValueError, RecursionError, AttributeError):
        message_id = json.loads(line).get("id")
        # A truth value is no id, although Python counts it as an int.
        if type(message_id) is int:
            return message_id
        if isinstance(message_id, str) and is_text(message_id):
            return message_id
    return None
