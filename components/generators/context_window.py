"""Ask the server of a model for facts about the model: its context window, its size and its build.

The context window is the maximum number of tokens of prompt and reply together. The build is the version of the
program of the server. The facts are stored in the :class:`ModelRecord` of the model. If a server refuses a prompt as
too long, its error message may also state the window.
"""

import asyncio
import json
import re
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from prefrag.components.both_ways import call_in_thread, call_matching, in_thread_async
from prefrag.components.generators.model_record import OLLAMA, read_size
from prefrag.components.generators.model_server import ModelServer
from prefrag.errors import find_cause

# The seconds that a server may take to answer a request for facts.
_SECONDS = 2.0
# The maximum number of bytes of an answer. A longer answer is not read.
_MAX_BYTES = 1_000_000
# After this many seconds, a server that did not answer is asked again, because it may have been starting up.
_AGAIN_SECONDS = 30.0
# Matches the message of a server that refuses a prompt as too long: the error codes of OpenAI and of llama.cpp, and the
# words of vLLM and others, such as "maximum context length".
_TOO_LONG = re.compile(r"context_length_exceeded|exceed_context_size|(?:maximum|model's) context length", re.IGNORECASE)
# Matches a whole number with commas between thousands, such as "5,120", or without, such as "4096".
_NUMBER = re.compile(r"\d{1,3}(?:,\d{3})+|\d{1,9}")
# Matches the window that an error message states. Group 1 is the number, such as 4096 in "context length is 4096" and
# 2048 in `"n_ctx": 2048`.
_STATED = re.compile(r"(?:n_ctx\W{1,4}|context length (?:is|of)(?: only)? )(\d{1,9})", re.IGNORECASE)


class PromptTooLong(ValueError):
    """The error for a prompt that is longer than the context window of a model in this process."""


def read_facts(server: ModelServer, again: bool = True) -> None:
    """Ask a server for the window and size of the model and for its build, unless it has answered before.

    :param server: The server. The answers are stored in its record.
    :param again: Whether to ask a server that did not answer again, once 30 seconds have passed.
    """
    if not _is_due(server, again):
        return
    record = server.record
    # The time is set before the server is asked, so that only one call waits for a server that does not answer.
    record.silent_until = time.monotonic() + _AGAIN_SECONDS
    # An error is ignored, because the call to the model will report it.
    with suppress(Exception):
        facts = _find_facts(server)
        # Ollama states the window of a model only while the model is loaded. Without a window, Ollama is asked again.
        record.has_answered = bool(facts["window"]) or not facts["build"].startswith(OLLAMA)
        record.keep(**facts)


def _is_due(server: ModelServer, again: bool = True) -> bool:
    """Check whether a server has to be asked now. The parameters are those of :func:`read_facts`."""
    record = server.record
    if record.has_answered:
        return False
    was_asked = record.silent_until != 0
    if not was_asked:
        return True
    return again and time.monotonic() >= record.silent_until


read_facts_async = in_thread_async(read_facts, when=_is_due)


def is_too_long(error: Exception) -> bool:
    """Check whether an error is the refusal of a prompt that is longer than the context window.

    :param error: The error of a call, of a server or of a model in this process.
    :returns: Whether the prompt was too long.
    """
    status = getattr(error, "status", None) or getattr(error, "status_code", None)
    is_refused = status == 400 and _TOO_LONG.search(str(error)) is not None
    return is_refused or find_cause(error, PromptTooLong) is not None


def read_count(error: Exception, window: int, most: int) -> int | None:
    """Read from the message of a refusal how many tokens the call had.

    This is the largest number in the message that is larger than the window and at most ``most``. So the wording of the
    message does not matter. For example,
    ``read_count(ValueError("The limit is 4096 tokens, you sent 5,120"), 4096, 9000)`` returns ``5120``. If the message
    quotes a passage, a number in the passage may be taken by mistake. This mistake only makes the next prompt shorter.

    :param error: The refusal.
    :param window: The context window in tokens.
    :param most: The largest number of tokens that the call can have had.
    :returns: The number of tokens, or None if the message has no such number.
    """
    numbers = [int(number.replace(",", "")) for number in _NUMBER.findall(str(error))]
    return max((number for number in numbers if window < number <= most), default=None)


async def learn_window(server: ModelServer, error: Exception) -> None:
    """Read the context window again after a server has refused a prompt as too long.

    The server may have been restarted with a smaller window. If its list of models states no window, the window in the
    error message is taken. The list is more reliable, because the message may quote the prompt, and a passage in the
    prompt may mention any number.

    :param server: The server. The window is stored in its record.
    :param error: The error of the call. If it is no such refusal, nothing happens.
    """
    if not is_too_long(error):
        return
    # The record now says that the server has not been asked.
    server.record.has_answered = False
    server.record.silent_until = 0.0
    await call_matching(read_facts, read_facts_async, server)
    stated = _STATED.search(str(error))
    if server.record.window is None and stated:
        server.record.window = int(stated[1])


def _find_facts(server: ModelServer) -> dict[str, Any]:
    """Ask a server for the facts.

    All servers are asked for their list of models. llama.cpp and Ollama are asked further questions, because their list
    does not state the window.

    :returns: ``window`` (tokens, or None), ``parameters`` (the number of weights, or None) and ``build`` (a text, which
        may be empty).
    :raises Exception: When the server does not answer, or answers in another form.
    """
    key = server.api_key
    root = server.base_url.rstrip("/")
    # The addresses that OpenAI's interface does not define are not below "/v1".
    outer_root = root.removesuffix("/v1")
    listed = get_json(f"{root}/models", key).get("data")
    model, base = _pick(listed, "id", server.model)
    meta = model.get("meta") or {}
    facts: dict[str, object] = {"window": None, "parameters": _positive(meta.get("n_params")), "build": ""}

    # vLLM's entry for an adapter has no window, but it names the base model, whose entry has a window.
    window = _positive(model.get("max_model_len")) or _positive(base.get("max_model_len"))
    if window:
        return facts | {"window": window}

    if _positive(meta.get("n_ctx_train")):
        # llama.cpp lists the window that the model was trained with. The window that one request gets is in `/props`.
        properties = get_json(f"{outer_root}/props", key)
        defaults = properties.get("default_generation_settings") or {}
        build = str(properties.get("build_info") or "")
        return facts | {"window": _positive(defaults.get("n_ctx")), "build": build[:100]}

    # Only Ollama knows this address. Other servers answer with an error, which is ignored.
    with suppress(Exception):
        version = get_json(f"{outer_root}/api/version", key).get("version")
        if isinstance(version, str):
            facts["build"] = f"{OLLAMA} {version[:50]}"
            # One list has the models on the disk, and the other has those in the memory.
            installed_models = get_json(f"{outer_root}/api/tags", key).get("models")
            installed, _ = _pick(installed_models, "name", server.model)
            loaded_models = get_json(f"{outer_root}/api/ps", key).get("models")
            loaded, _ = _pick(loaded_models, "name", server.model)
            details = installed.get("details") or {}
            facts["parameters"] = read_size(details.get("parameter_size"))
            facts["window"] = _positive(loaded.get("context_length"))
    return facts


def _pick(listed: Any, field: str, name: str) -> tuple[Mapping[str, Any], Mapping[str, object]]:
    """Pick the entry of a model and the entry of its base model from a list.

    The base model is the ``parent`` that the first entry names.

    :param listed: The list of a server, of any form.
    :param field: The field of an entry that has the name of the model.
    :param name: The name of the model. On Ollama, the tag ``:latest`` may be missing.
    :returns: Both entries. An entry is empty if it is not in the list.
    """
    entries = {model.get(field): model for model in listed or () if isinstance(model, Mapping)}
    model = entries.get(name) or entries.get(f"{name}:latest") or {}
    return model, entries.get(model.get("parent")) or {}


def _positive(value: object) -> int | None:
    """Return a value if it is a whole number above zero, and otherwise None."""
    # The value is not True, which Python counts as a whole number.
    if type(value) is int and value > 0:
        return value
    return None


def get_json(url: str, api_key: str = "", seconds: float = _SECONDS, uses_proxy: bool = True) -> dict[str, Any]:
    """Get a JSON object from a model server, such as its list of models.

    :param url: The address of the object.
    :param api_key: The key of the server, or an empty text if it needs none.
    :param seconds: The seconds that the request may take.
    :param uses_proxy: Whether the proxy that the environment names is used.
    :returns: The object. It is empty if the reply is JSON but no object.
    :raises httpx.HTTPError: When the server cannot be reached or sends an error status.
    :raises TimeoutError: When the reply is too slow, or longer than a million bytes.
    :raises ValueError: When the reply is not JSON.
    """
    # This is imported first. On a machine that is busy with a model, the import alone may take longer than `seconds`.
    import httpx  # noqa: F401

    # An event loop is used, because it can break off a slow reply. It runs in another thread, because the thread of the
    # caller may have an event loop too.
    future = call_in_thread(lambda: asyncio.run(_get(url, api_key, seconds, uses_proxy)))
    body = future.result(seconds)
    reply = json.loads(body)
    return reply if isinstance(reply, dict) else {}


async def _get(url: str, api_key: str, seconds: float, uses_proxy: bool) -> bytes:
    """Get the body of a reply. The parameters are those of :func:`get_json`."""
    import httpx

    headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
    body = b""
    # Certificates are read only for https, because reading certificates takes longer than the request.
    async with (
        asyncio.timeout(seconds),
        httpx.AsyncClient(timeout=None, verify=url.startswith("https:"), trust_env=uses_proxy) as client,
        client.stream("GET", url, headers=headers) as response,
    ):
        response.raise_for_status()
        async for part in response.aiter_bytes():
            body += part
            if len(body) > _MAX_BYTES:
                raise TimeoutError
    return body
