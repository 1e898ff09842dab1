"""Learn from a model's server its context window, its size and its build; the window also from a refused prompt."""

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

_SECONDS = 2.0
_MAX_BYTES = 1_000_000
# After this many seconds, a server that did not answer is asked again, because it may have been starting up.
_AGAIN_SECONDS = 30.0
# How a server says that a prompt is too long: the codes of OpenAI and llama.cpp, and the words of vLLM and others.
_TOO_LONG = re.compile(r"context_length_exceeded|exceed_context_size|(?:maximum|model's) context length", re.IGNORECASE)
_NUMBER = re.compile(r"\d{1,3}(?:,\d{3})+|\d{1,9}")
_STATED = re.compile(r"(?:n_ctx\W{1,4}|context length (?:is|of)(?: only)? )(\d{1,9})", re.IGNORECASE)


class PromptTooLong(ValueError):
    """The error for a prompt that is longer than the window of a model in this process."""


def read_facts(server: ModelServer, again: bool = True) -> None:
    """Ask a server for its window, the model's size and its build, unless it has answered.

    ``again``: ask a silent server again after 30 seconds.
    """
    if not _is_due(server, again):
        return
    record = server.record
    # The time is set before the server is asked, so that only the first call waits for a server that hangs.
    record.silent_until = time.monotonic() + _AGAIN_SECONDS
    # An error is ignored, because the call to the model will report it.
    with suppress(Exception):
        facts = _find_facts(server)
        # Ollama states the window of a model only while the model is loaded.
        record.has_answered = bool(facts["window"]) or not facts["build"].startswith(OLLAMA)
        record.keep(**facts)


def _is_due(server: ModelServer, again: bool = True) -> bool:
    record = server.record
    if record.has_answered or not record.silent_until:
        return not record.has_answered
    return again and time.monotonic() >= record.silent_until


read_facts_async = in_thread_async(read_facts, when=_is_due)


def is_too_long(error: Exception) -> bool:
    """Check whether an error is the refusal of a prompt that is longer than the window."""
    status = getattr(error, "status", None) or getattr(error, "status_code", None)
    is_refused = status == 400 and _TOO_LONG.search(str(error)) is not None
    return is_refused or find_cause(error, PromptTooLong) is not None


def read_count(error: Exception, window: int, most: int) -> int | None:
    """Read from a refusal how many tokens the call had: the largest number above the window, up to ``most``.

    The form of the message does not matter. A number of a passage that the message quotes makes the prompt shorter.
    """
    numbers = [int(number.replace(",", "")) for number in _NUMBER.findall(str(error))]
    return max((number for number in numbers if window < number <= most), default=None)


async def learn_window(server: ModelServer, error: Exception) -> None:
    """After the refusal of a prompt, read the window again: the server may have been restarted with a smaller one.

    If the server's list of models states no window, take that of the error message. The list is more reliable: the
    message may quote the prompt, and a passage there may mention any number.
    """
    if not is_too_long(error):
        return
    server.record.has_answered, server.record.silent_until = False, 0.0
    await call_matching(read_facts, read_facts_async, server)
    stated = _STATED.search(str(error))
    if server.record.window is None and stated:
        server.record.window = int(stated[1])


def _find_facts(server: ModelServer) -> dict[str, Any]:
    root, key = server.base_url.rstrip("/"), server.api_key
    above = root.removesuffix("/v1")
    model, base = _pick(get_json(f"{root}/models", key).get("data"), "id", server.model)
    meta = model.get("meta") or {}
    facts: dict[str, Any] = {"window": None, "parameters": _positive(meta.get("n_params")), "build": ""}
    # vLLM's entry for an adapter has no window, but it names the base model, whose entry has a window.
    window = _positive(model.get("max_model_len")) or _positive(base.get("max_model_len"))
    if window:
        return facts | {"window": window}
    if _positive(meta.get("n_ctx_train")):
        # llama.cpp lists the window that the model was trained with. The window that one request gets is in `/props`.
        properties = get_json(f"{above}/props", key)
        window = _positive((properties.get("default_generation_settings") or {}).get("n_ctx"))
        return facts | {"window": window, "build": str(properties.get("build_info") or "")[:100]}
    # Other servers than Ollama answer this with an error.
    with suppress(Exception):
        version = get_json(f"{above}/api/version", key).get("version")
        if isinstance(version, str):
            facts["build"] = f"{OLLAMA} {version[:50]}"
            installed, _ = _pick(get_json(f"{above}/api/tags", key).get("models"), "name", server.model)
            loaded, _ = _pick(get_json(f"{above}/api/ps", key).get("models"), "name", server.model)
            facts["parameters"] = read_size((installed.get("details") or {}).get("parameter_size"))
            facts["window"] = _positive(loaded.get("context_length"))
    return facts


def _pick(listed: Any, field: str, name: str) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """Pick the entry of a model and that of its base model from a list; either is empty if it is not listed."""
    entries = {model.get(field): model for model in listed or () if isinstance(model, Mapping)}
    model = entries.get(name) or entries.get(f"{name}:latest") or {}
    return model, entries.get(model.get("parent")) or {}


def _positive(value: object) -> int | None:
    return value if type(value) is int and value > 0 else None


def get_json(url: str, api_key: str = "", seconds: float = _SECONDS, uses_proxy: bool = True) -> dict[str, Any]:
    """Get a JSON object from a model server, such as its list of models; empty if the reply is JSON but no object.

    If ``uses_proxy`` is false, the environment's proxy is ignored. Raises httpx.HTTPError if the server is unreachable
    or sends an error status, TimeoutError if the reply is too slow or too long, and ValueError if it is not JSON.
    """
    # Import this first: on a machine that is busy with a model, the import alone may take longer than `seconds`.
    import httpx  # noqa: F401

    # Use an event loop, because it can break off a slow reply. Run it in a thread, as the caller may have a loop too.
    body = call_in_thread(lambda: asyncio.run(_get(url, api_key, seconds, uses_proxy))).result(seconds)
    reply = json.loads(body)
    return reply if isinstance(reply, dict) else {}


async def _get(url: str, api_key: str, seconds: float, uses_proxy: bool) -> bytes:
    import httpx

    headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
    body = b""
    # Certificates are read only for https, because reading them takes longer than the request.
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
