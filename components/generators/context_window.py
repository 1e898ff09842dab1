"""Learn a model's context window from its server: from the list of models, or from its error for a long prompt."""

import asyncio
import json
import re
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from prefrag.components.both_ways import call_in_thread, in_thread_async
from prefrag.components.generators.model_server import ModelServer

_SECONDS = 2.0
_MAX_BYTES = 1_000_000
# After this many seconds, a server that did not answer is asked again, because it may have been starting up.
_AGAIN_SECONDS = 30.0
# How a server says that a prompt is too long: the codes of OpenAI and llama.cpp, and the words of vLLM and others.
_TOO_LONG = re.compile(r"context_length_exceeded|exceed_context_size|(?:maximum|model's) context length", re.IGNORECASE)
_STATED = re.compile(r"(?:n_ctx\W{1,4}|context length (?:is|of)(?: only)? )(\d{1,9})", re.IGNORECASE)

_stated: dict[ModelServer, int | None] = {}
_silent_until: dict[ModelServer, float] = {}  # the time from which a server may be asked again


def stated_window(server: ModelServer) -> int | None:
    """Return the window, in tokens, that a server stated; None if it stated no window or has not answered yet."""
    return _stated.get(server)


def read_window(server: ModelServer, again: bool = True) -> None:
    """Ask a server for its window, unless it has answered. ``again``: ask a silent server again after 30 seconds."""
    if not _is_due(server, again):
        return
    # The time is set before the server is asked, so that only the first call waits for a server that hangs.
    _silent_until[server] = time.monotonic() + _AGAIN_SECONDS
    # An error is ignored, because the call to the model will report it.
    with suppress(Exception):
        _stated[server] = _find_window(server)


def _is_due(server: ModelServer, again: bool = True) -> bool:
    if server in _stated or server not in _silent_until:
        return server not in _stated
    return again and time.monotonic() >= _silent_until[server]


read_window_async = in_thread_async(read_window, when=_is_due)


def is_too_long(error: Exception) -> bool:
    """Check whether an error is a server's refusal of a prompt that is longer than the window."""
    status = getattr(error, "status", None) or getattr(error, "status_code", None)
    return status == 400 and _TOO_LONG.search(str(error)) is not None


def learn_window(server: ModelServer, error: Exception) -> None:
    """Remember the window that an error message states, unless the server's list of models has stated one.

    The list is more reliable: an error message may quote the prompt, and a passage there may mention any number.
    """
    if stated_window(server) is None and is_too_long(error) and (stated := _STATED.search(str(error))):
        _stated[server] = int(stated[1])


def _find_window(server: ModelServer) -> int | None:
    root = server.base_url.rstrip("/")
    listed = get_json(f"{root}/models", server.api_key)
    entries = {one.get("id"): one for one in listed.get("data") or () if isinstance(one, Mapping)}
    model = entries.get(server.model) or {}
    # vLLM's entry for an adapter has no window, but it names the base model, whose entry has a window.
    for one in (model, entries.get(model.get("parent")) or {}):
        if window := _positive(one.get("max_model_len")):
            return window
    trained = _positive((model.get("meta") or {}).get("n_ctx_train"))
    if not trained:
        return None
    # llama.cpp lists the window that the model was trained with. The window that one request gets is in `/props`.
    properties = get_json(f"{root.removesuffix('/v1')}/props", server.api_key)
    return _positive((properties.get("default_generation_settings") or {}).get("n_ctx"))


def _positive(value: Any) -> int | None:
    return value if type(value) is int and value > 0 else None


def get_json(url: str, api_key: str = "", seconds: float = _SECONDS, uses_proxy: bool = True) -> dict[str, Any]:
    """Get a JSON object from a model server, such as its list of models; empty if the reply is JSON but no object.

    If ``uses_proxy`` is false, the environment's proxy is ignored. Raises httpx.HTTPError if the server is unreachable
    or sends an error status, TimeoutError if the reply is too slow or too long, and ValueError if it is not JSON.
    """
    # Use an event loop, because it can break off a slow reply. Run it in a thread, as the caller may have a loop too.
    body = call_in_thread(lambda: asyncio.run(_get(url, api_key, seconds, uses_proxy))).result(seconds)
    found = json.loads(body)
    return found if isinstance(found, dict) else {}


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
