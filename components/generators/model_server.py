"""Call a model on an OpenAI-compatible server.

:class:`ModelServer` builds the request, and :mod:`model_requests` sends it. The reply becomes messages of Haystack. A
failure becomes a :class:`ModelServerError`, whose message tells the user what to do. Messages never contain the API key
or other secrets.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from haystack.dataclasses import ChatMessage, ToolCall
from haystack.tools import Tool

from prefrag.components.both_ways import as_blocking
from prefrag.components.generators import model_requests
from prefrag.components.generators.call_progress import followed, is_streamed, join_chunks
from prefrag.components.generators.json_reply import MAX_REPLY_CHARACTERS, read_object, repair
from prefrag.components.generators.model_record import ModelRecord, find_record
from prefrag.components.generators.token_probabilities import read_logprobs
from prefrag.components.text.addresses import without_userinfo
from prefrag.components.text.sentences import cut_text
from prefrag.errors import PrefragError
from prefrag.tracing import outgoing_trace

# The parameters of a chat completion in OpenAI's interface. Any other name is refused as a typing error, because many
# servers would silently ignore it.
# fmt: off
_PARAMETERS = frozenset((
    "audio", "extra_body", "extra_headers", "frequency_penalty", "function_call", "functions", "logit_bias",
    "logprobs", "max_completion_tokens", "max_tokens", "metadata", "modalities", "n", "parallel_tool_calls",
    "prediction", "presence_penalty", "prompt_cache_key", "prompt_cache_retention", "reasoning_effort",
    "response_format", "safety_identifier", "seed", "service_tier", "stop", "store", "temperature",
    "tool_choice", "tools", "top_logprobs", "top_p", "user", "verbosity", "web_search_options",
))
# fmt: on


class ModelServerError(PrefragError, RuntimeError):
    """The error when a model cannot be reached or gives no usable reply. The message says what to do.

    :param message: The message.
    :param status: The HTTP status of the server's reply. None if there was no reply.
    :param retry_after: The seconds that the server asks to wait before the next call. None if it did not say.
    """

    def __init__(self, message: str, status: int | None = None, retry_after: float | None = None):
        super().__init__(message)
        self.status = status
        self.retry_after = retry_after


@dataclass(frozen=True)
class ModelServer:
    """A model on a server.

    :param base_url: The root of the server's OpenAI-compatible interface, such as ``http://localhost:8000/v1``.
    :param model: The name of the model on the server.
    :param api_key: The key of the server, or an empty text if it needs none.
    :param prefix: The prefix of the environment variables with these settings, such as ``PREFRAG_LLM_``. It is used in
        messages to the user.
    :param timeout: The seconds that a call may take, including its retries.
    :param max_retries: The number of further attempts after a temporary failure.
    """

    base_url: str
    model: str
    api_key: str = field(repr=False)
    prefix: str
    timeout: float
    max_retries: int

    @property
    def address(self) -> str:
        """The URL of the server without user name, password and query, because these may be secret."""
        url = without_userinfo(self.base_url)
        without_query, _, _ = url.partition("?")
        without_fragment, _, _ = without_query.partition("#")
        return without_fragment.rstrip("/")

    @property
    def record(self) -> ModelRecord:
        """The record of what is known of this model on this server."""
        return find_record(f"{self.address} {self.model}")

    def connect(self) -> None:
        """Prepare the HTTP clients. Nothing is sent to the server."""
        url, _ = self._address_of_chat
        model_requests.connect(url)

    async def call_async(
        self, messages: list[ChatMessage], generation_kwargs: dict[str, object], tools: list[Tool] | None
    ) -> list[ChatMessage]:
        """Call the model.

        :param messages: The conversation.
        :param generation_kwargs: Parameters of this call, under their OpenAI names. Other parameters are allowed only
            inside ``extra_body``.
        :param tools: The tools that the model may call, or None.
        :returns: The replies with their unchanged text and tool calls. Reasoning that the server sends in a separate
            field is left out.
        :raises ValueError: When a parameter has another name.
        :raises ModelServerError: When the server cannot be reached or gives no usable reply.
        """
        request = self._request(messages, generation_kwargs, tools)
        try:
            replies = read_completion(await model_requests.send_async(request))
            if not replies:
                raise self._error("sent a completion without choices: look at the server's log.")
            return replies
        except PrefragError:
            raise
        except Exception as error:
            raise self._explain(error) from error

    call = as_blocking(call_async)

    @property
    def _address_of_chat(self) -> tuple[str, dict[str, str]]:
        """The URL for chat completions, and the header with the user name and password of the URL."""
        return model_requests.find_address(self.base_url, "chat/completions")

    def _request(
        self, messages: list[ChatMessage], generation_kwargs: dict[str, Any], tools: list[Tool] | None
    ) -> model_requests.Request:
        """Build the request for a call.

        :raises ValueError: When a parameter is not in OpenAI's interface.
        """
        unknown = generation_kwargs.keys() - _PARAMETERS
        if unknown:
            unknown_names = " or ".join(sorted(unknown))
            raise ValueError(
                f"OpenAI's interface has no parameter {unknown_names}: put parameters that only this server knows "
                "under `extra_body`."
            )

        arguments = {
            "model": self.model,
            "messages": [message.to_openai_dict_format() for message in messages],
            **generation_kwargs,
        }
        extra_body = arguments.pop("extra_body", None) or {}
        extra_headers = arguments.pop("extra_headers", None) or {}
        if tools:
            arguments["tools"] = [{"type": "function", "function": tool.tool_spec} for tool in tools]
        body = json.dumps({**arguments, **extra_body}, ensure_ascii=False, allow_nan=False)

        url, login = self._address_of_chat
        headers = {"Content-Type": "application/json", "User-Agent": "prefrag"}
        if self.api_key:
            headers["Authorization"] = f"Bearer {self.api_key}"
        headers |= login
        headers |= outgoing_trace()
        headers |= extra_headers

        progress = followed.get()
        watch = None
        if progress is not None and extra_body.get("stream"):
            watch = progress.read
        return model_requests.Request(
            url=url,
            headers=headers,
            body=body.encode("utf-8", "replace"),
            timeout=self.timeout,
            max_retries=self.max_retries,
            watch=watch,
        )

    def _error(self, reason: str, status: int | None = None, retry_after: float | None = None) -> ModelServerError:
        """Make the error to raise.

        Its message never contains the API key, even if the reply of the server repeats the key.
        """
        message = f"The model server at {self.address} (model '{self.model}') {reason}"
        return ModelServerError(self._mask(message), status, retry_after)

    def _mask(self, text: str) -> str:
        """Replace the secrets in a text by three asterisks.

        A text must be shortened only after this call, because half of a key would not be recognised.
        """
        query = urlsplit(self.base_url).query
        secrets = [self.api_key, query]
        # A value in the query that has at most seven characters, such as a version number, is not a secret.
        secrets += [value for _, value in parse_qsl(query) if len(value) > 7]
        masked = text
        for secret in secrets:
            if secret:
                masked = masked.replace(secret, "***")
        return without_userinfo(masked)

    def _explain(self, error: Exception) -> Exception:
        """Make the error that tells the user why a call failed, and what to do."""
        if isinstance(error, TimeoutError):
            return self._error(
                f"did not reply within {self.timeout:g} seconds: see whether it is overloaded, or raise "
                f"{self.prefix}SECONDS."
            )
        if isinstance(error, model_requests.NoReply):
            attempts = _name_attempts(error.attempts)
            return self._error(
                f"cannot be reached, {attempts}: see whether it runs, and whether {self.prefix}BASE_URL is right "
                f"({error})."
            )
        if isinstance(error, model_requests.ReplyTooLong):
            return self._error(
                f"sent a reply of more than {model_requests.MAX_BODY_BYTES // 1_000_000} MB: see whether it obeys "
                "`max_tokens`."
            )
        if isinstance(error, model_requests.RefusedByServer):
            refusal = cut_text(self._mask(_read_message(error)), 500)
            reason = self._explain_status(error.status, refusal, _name_attempts(error.attempts))
            return self._error(reason, error.status, error.retry_after)
        details = cut_text(self._mask(str(error)), 200)
        return self._error(
            f"sent something that is not a chat completion ({type(error).__name__}: {details}): "
            f"see whether {self.prefix}BASE_URL is the root of an OpenAI-compatible interface; it usually ends in /v1."
        )

    def _explain_status(self, status: int, text: str, attempts: str) -> str:
        """Say what a refusal with an HTTP status means, and what to do.

        :param status: The status.
        :param text: The text of the refusal, without secrets.
        :param attempts: The number of attempts in words.
        """
        if status in (401, 403):
            return f"refused the key with status {status}: set {self.prefix}API_KEY to a key that the server accepts."
        if status == 404:
            return (
                f"does not know the model or the address: set {self.prefix}MODEL to a name that {self.address}/models "
                f"lists; {self.prefix}BASE_URL usually ends in /v1 ({text})."
            )
        if status == 429:
            return f"refused the call with status 429, {attempts}: send fewer at once, or check your quota ({text})."
        if status < 300:
            return f"sent an error in place of a completion: {text}"
        if status < 400:
            return f"sent a redirect, which is not followed: set {self.prefix}BASE_URL to the server's new address."
        if status >= 500:
            return f"failed with status {status}, {attempts}: look at the server's log ({text})."
        return f"refused the call with status {status}: {text}"


def _name_attempts(attempts: int) -> str:
    """Write a number of attempts. For example, ``_name_attempts(3)`` returns ``"after 3 attempts"``."""
    return f"after {attempts} attempts" if attempts > 1 else "after one attempt"


def _read_message(error: model_requests.RefusedByServer) -> str:
    """Read the text of a refusal.

    If the text is JSON, its escapes are replaced by the characters that they mean. A key with an escape would not be
    recognised as a secret.
    """
    try:
        return str(json.loads(str(error)))
    except (ValueError, RecursionError):
        return str(error)


# The token counts of a reply that are stored in its metadata.
_COUNTS = ("prompt_tokens", "completion_tokens", "total_tokens", "cached_tokens")


def read_completion(body: bytes) -> list[ChatMessage]:
    """Read the replies of a chat completion.

    :param body: The body of the server's reply, in one piece or streamed.
    :returns: The replies. Reasoning that the server sends in a separate field is left out.
    :raises RefusedByServer: When the body is streamed and contains an error.
    :raises ValueError: When the body is not JSON. Other errors mean that the JSON is no chat completion.
    """
    text = body.decode("utf-8", "replace")
    try:
        completion = join_chunks(body) if is_streamed(body) else json.loads(text)
    except ValueError as error:
        # The caller shortens this text further, after it has removed the secrets.
        begin = " ".join(text[:10_000].split())
        raise ValueError(f"it begins with {begin}") from error

    usage: dict[str, object] = {}
    if isinstance(completion.get("usage"), dict):
        usage |= completion["usage"]
    details = usage.get("prompt_tokens_details")
    if isinstance(details, dict):
        usage |= details
    counts = {name: usage[name] for name in _COUNTS if isinstance(usage.get(name), int)}

    replies = []
    for index, choice in enumerate(completion["choices"]):
        meta = {"model": completion.get("model"), "index": index, "usage": counts}
        replies.append(_read_choice(choice, meta))
    return replies


def _read_choice(choice: Mapping[str, Any], meta: dict[str, object]) -> ChatMessage:
    """Read one reply of a chat completion. ``meta`` is its metadata, which gets further entries."""
    message = choice["message"]
    requested = message.get("tool_calls") or []
    calls = [call for call in map(_read_call, requested) if call is not None]
    finish_reason = choice.get("finish_reason")
    if len(calls) < len(requested) and finish_reason != "length":
        # A tool call could not be read. This finish reason shows the caller that the model wanted to call a tool.
        finish_reason = "tool_calls"

    text = _read_content(message.get("content"))[:MAX_REPLY_CHARACTERS]
    logprobs = read_logprobs(choice.get("logprobs"))
    if logprobs:
        # The generators of Haystack store log probabilities in `meta` under the same name.
        meta["logprobs"] = {"content": logprobs}

    # Some servers file a whole reply as reasoning by mistake. The metadata says so, for a message to the user.
    thought = message.get("reasoning") or message.get("reasoning_content")
    is_empty = not text.strip() and not requested
    if thought and is_empty and finish_reason != "length":
        meta["filed_as_reasoning"] = True
    meta["finish_reason"] = finish_reason
    return ChatMessage.from_assistant(repair(text), tool_calls=calls, meta=repair(meta))


def _read_content(content: object) -> str:
    """Read the text of a reply. For example, ``_read_content([{"text": "a"}, "b"])`` returns ``"ab"``."""
    if isinstance(content, str):
        return content
    if isinstance(content, Sequence):
        # Some servers send a list of parts. Parts without text are left out.
        texts = []
        for part in content:
            text = part.get("text") if isinstance(part, Mapping) else part
            if isinstance(text, str):
                texts.append(text)
        return "".join(texts)
    return ""


def _read_call(requested: Any) -> ToolCall | None:
    """Read a tool call. None if it has no name, or if its arguments cannot be read even as invalid JSON."""
    function = requested.get("function") if isinstance(requested, Mapping) else None
    if not isinstance(function, Mapping) or not isinstance(function.get("name"), str):
        return None

    arguments = function.get("arguments")
    if isinstance(arguments, str):
        # If there are no arguments, some servers write an empty text.
        arguments_as_json = arguments.strip() or "{}"
        try:
            arguments = json.loads(arguments_as_json, strict=False)
        except (ValueError, RecursionError):
            arguments = read_object(arguments_as_json)
    if arguments is None:
        return None

    identifier = requested.get("id")
    if not isinstance(identifier, str):
        identifier = None
    return ToolCall(repair(function["name"]), repair(arguments), id=identifier)
