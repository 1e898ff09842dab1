"""Send requests to model servers over connections that stay open. Time and size are limited; failures are retried."""

from __future__ import annotations

import asyncio
import base64
import json
import random
import ssl
import time
from collections.abc import AsyncGenerator, Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit
from urllib.request import getproxies, proxy_bypass

import tenacity

from prefrag.components.both_ways import call_in_thread, call_matching
from prefrag.errors import BadInput

if TYPE_CHECKING:
    from aiohttp import ClientSession
    from httpx import Client

# The maximum size of a reply. A faulty server may ignore `max_tokens` and send without end.
MAX_BODY_BYTES = 8_000_000
# vLLM's server, Uvicorn, closes idle connections after five seconds. This client closes its connections earlier.
_KEPT_SECONDS = 4.0
_LONGEST_PAUSE = 60.0
# A server may ask for years, by a date that is wrong. Clients are asked to wait no longer than this.
_LONGEST_WAIT = 3_600.0
_LONGEST_HEADER = 65_536
_BUSY = (408, 409, 429)


class NoReply(ConnectionError):
    """The error when a server cannot be reached or breaks off its reply. ``attempts`` counts the attempts."""

    attempts = 1


class RefusedByServer(Exception):
    """The error for a reply that is not 2xx or holds an error. The message is its text, header names are lower case."""

    attempts = 1

    def __init__(self, status: int, headers: Mapping[str, str], text: str):
        super().__init__(text)
        self.status = status
        self.headers = {name.lower(): value for name, value in headers.items()}

    @property
    def retry_after(self) -> float | None:
        """The seconds that the server asks to wait before the next call, at most an hour; None if it did not say."""
        seconds = _read_seconds(self.headers.get("retry-after"))
        return None if seconds is None else min(seconds, _LONGEST_WAIT)


class ReplyTooLong(Exception):
    """The error for a reply that is longer than the limit."""


@dataclass(frozen=True)
class Request:
    """A request to a model server."""

    url: str
    headers: Mapping[str, str]
    body: bytes
    timeout: float  # seconds that the request may take, including retries and the pauses between them
    max_retries: int
    # gets the part of the body that has arrived, each time that it grows
    watch: Callable[[bytearray], None] | None = None


def find_address(base_url: str, path: str) -> tuple[str, dict[str, str]]:
    """Return the URL of a request, and headers. A user name and password move from the URL into a header."""
    parts = urlsplit(base_url)
    url = parts._replace(netloc=parts.netloc.rpartition("@")[2], path=f"{parts.path.rstrip('/')}/{path}", fragment="")
    if not parts.username:
        return url.geturl(), {}
    secret = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
    return url.geturl(), {"Authorization": f"Basic {base64.b64encode(secret.encode()).decode()}"}


def connect(url: str) -> None:
    """Prepare the HTTP clients without sending anything, so that the first request is not slower than others."""
    import aiohttp  # noqa: F401

    _client(*_route(url))


async def send_async(request: Request) -> bytes:
    """Send a request, repeat it after temporary failures, and return the body of the reply.

    Raises :class:`NoReply`, :class:`RefusedByServer`, :class:`ReplyTooLong`, or TimeoutError when the time is up.
    """
    deadline = time.monotonic() + request.timeout
    retry: dict[str, Any] = {
        "stop": tenacity.stop_after_attempt(request.max_retries + 1) | tenacity.stop_before_delay(request.timeout),
        "retry": tenacity.retry_if_exception(lambda error: _find_pause(error, 1) is not None),
        "wait": lambda state: _find_pause(state.outcome.exception(), state.attempt_number),
        "after": _note_attempts,
        "reraise": True,
    }
    return await call_matching(
        partial(tenacity.Retrying(**retry), _post),
        partial(tenacity.AsyncRetrying(**retry), _post_async),
        request,
        deadline,
    )


def _note_attempts(state: tenacity.RetryCallState) -> None:
    state.outcome.exception().attempts = state.attempt_number  # type: ignore[union-attr]


def _find_pause(error: BaseException, attempts: int) -> float | None:
    """Return the seconds to wait before the next attempt; None if another attempt is pointless."""
    if not isinstance(error, NoReply | RefusedByServer):
        return None
    if isinstance(error, RefusedByServer):
        advice = error.headers.get("x-should-retry")
        if advice == "false" or (advice != "true" and error.status not in _BUSY and error.status < 500):
            return None
        milliseconds = _read_seconds(error.headers.get("retry-after-ms"))
        wished = error.retry_after if milliseconds is None else milliseconds / 1_000
        if wished:
            return wished if wished <= _LONGEST_PAUSE else None
    # Pauses grow. They are random, so that clients that failed at the same time do not all try again at the same time.
    return min(0.5 * 2.0 ** (attempts - 1), 8.0) * random.uniform(0.75, 1)


def _read_seconds(value: str | None) -> float | None:
    value = (value or "").strip()
    try:
        # A number with 20 or more characters is surely no number of seconds.
        if len(value) < 20 and value.replace(".", "", 1).isdecimal():
            return float(value)
        return max(0.0, (parsedate_to_datetime(value) - datetime.now(UTC)).total_seconds())
    except (ValueError, TypeError, OverflowError):
        return None


def _post(request: Request, deadline: float) -> bytes:
    left = max(0.001, deadline - time.monotonic())
    # Limit the call here. The client's timeout restarts whenever data arrives, so slow replies could last for ever.
    return call_in_thread(partial(_receive, request, left, deadline)).result(timeout=left)


def _receive(request: Request, seconds: float, deadline: float) -> bytes:
    import httpx

    client = _client(*_route(request.url))
    try:
        with client.stream(
            "POST", request.url, content=request.body, headers=dict(request.headers), timeout=seconds
        ) as reply:
            body = bytearray()
            for part in reply.iter_bytes():
                body += part
                if time.monotonic() > deadline:
                    raise TimeoutError
                _look_at(body, request)
            return _accept(reply.status_code, reply.headers, body)
    except httpx.TimeoutException as error:
        raise TimeoutError from error
    except httpx.HTTPError as error:
        raise NoReply(str(error) or type(error).__name__) from error


async def _post_async(request: Request, deadline: float) -> bytes:
    import aiohttp

    session = await _session()
    proxy, certificates = _route(request.url)
    try:
        async with (
            asyncio.timeout(deadline - time.monotonic()),
            session.post(
                request.url,
                data=request.body,
                headers=request.headers,
                # Follow no redirects: a prompt must go only to the configured server.
                allow_redirects=False,
                proxy=proxy,
                ssl=certificates or True,
            ) as reply,
        ):
            body = bytearray()
            async for part in reply.content.iter_any():
                body += part
                _look_at(body, request)
            return _accept(reply.status, reply.headers, body)
    except aiohttp.ClientResponseError as error:
        # Use only the message: the whole text of the error contains the URL, whose query may contain a secret.
        raise NoReply(error.message or type(error).__name__) from error
    except aiohttp.ClientError as error:
        raise NoReply(str(error) or type(error).__name__) from error


def _look_at(body: bytearray, request: Request) -> None:
    if len(body) > MAX_BODY_BYTES:
        raise ReplyTooLong
    if request.watch is not None:
        request.watch(body)


def _accept(status: int, headers: Mapping[str, str], body: bytearray) -> bytes:
    failed = _find_error(body) if 200 <= status < 300 else status
    if failed is not None:
        raise RefusedByServer(failed, headers, body.decode("utf-8", "replace"))
    return bytes(body)


def _find_error(body: bytearray) -> int | None:
    """Find an error in a reply with status 200: the HTTP status that its ``code`` names, else 200; None without one."""
    if b'"error"' not in body:
        return None
    try:
        reply = json.loads(body)
    except (ValueError, RecursionError):
        return None
    error = reply.get("error") if isinstance(reply, dict) and not reply.get("choices") else None
    code = str(error.get("code")) if isinstance(error, dict) else ""
    return (int(code) if code.isdecimal() and len(code) == 3 and code >= "400" else 200) if error else None


@lru_cache(maxsize=64)
def _route(url: str) -> tuple[str | None, ssl.SSLContext | None]:
    """Find the proxy and certificates for a URL; cached, because reading certificates takes longer than a request."""
    parts = urlsplit(url)
    # `NO_PROXY` may list a host together with its port, or an IPv6 address without its brackets, so try both forms.
    passed_by = proxy_bypass(parts.netloc) or proxy_bypass(parts.hostname or "")
    proxies = {} if passed_by else getproxies()
    proxy = proxies.get(parts.scheme) or proxies.get("all")
    if proxy and "://" not in proxy:
        proxy = f"http://{proxy}"
    kind = urlsplit(proxy or "").scheme
    if kind not in ("", "http", "https"):
        raise BadInput(f"The environment names a proxy of the kind {kind} for model servers: only http and https work.")
    return proxy, _certificates() if "https" in (parts.scheme, kind) else None


@lru_cache(maxsize=1)
def _certificates() -> ssl.SSLContext:
    import httpx

    return httpx.create_ssl_context()


@lru_cache(maxsize=16)
def _client(proxy: str | None, certificates: ssl.SSLContext | None) -> Client:
    import httpx

    limits = httpx.Limits(max_connections=None, max_keepalive_connections=20, keepalive_expiry=_KEPT_SECONDS)
    return httpx.Client(proxy=proxy, verify=certificates or False, trust_env=False, limits=limits)


_sessions: dict[asyncio.AbstractEventLoop, tuple[ClientSession, AsyncGenerator[ClientSession, None]]] = {}


async def _session() -> ClientSession:
    """Return this event loop's session. Each loop needs its own, because connections cannot outlive their loop."""
    loop = asyncio.get_running_loop()
    if loop not in _sessions:
        for ended in [other for other in list(_sessions) if other.is_closed()]:
            _sessions.pop(ended, None)
        opened = _open(loop)
        _sessions[loop] = (await anext(opened), opened)
    return _sessions[loop][0]


async def _open(loop: asyncio.AbstractEventLoop) -> AsyncGenerator[ClientSession, None]:
    # This is a generator because an event loop closes its generators when it ends. That closes the connections too.
    import aiohttp

    session = aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=_KEPT_SECONDS),
        # Some gateways send headers that are longer than aiohttp's default limit.
        max_line_size=_LONGEST_HEADER,
        max_field_size=_LONGEST_HEADER,
        timeout=aiohttp.ClientTimeout(total=None),
        cookie_jar=aiohttp.DummyCookieJar(),
    )
    try:
        yield session
    finally:
        _sessions.pop(loop, None)
        await session.close()
