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
# If a server asks for a longer pause before the next attempt, there is no further attempt.
_LONGEST_PAUSE = 60.0
# Clients are told to wait no longer than this, whatever the server says: a wrong date would let them wait for years.
_LONGEST_WAIT = 3_600.0
# Some gateways send headers that are longer than aiohttp's default limit.
_LONGEST_HEADER = 65_536
# The statuses of requests that may succeed when they are repeated. OpenAI's own client repeats a 409 (conflict), too.
_BUSY = (408, 409, 429)


class NoReply(ConnectionError):
    """The error when a server cannot be reached or breaks off its reply. ``attempts`` counts the attempts."""

    attempts = 1


class RefusedByServer(Exception):
    """The error for a reply that has another status than 2xx, or holds an error. ``attempts`` counts the attempts.

    The message of the error is the text of the reply.
    """

    attempts = 1

    def __init__(self, status: int, headers: Mapping[str, str], text: str):
        """Make the error from the parts of a reply.

        :param status: The HTTP status; for a reply that holds an error, the status that its error names.
        :param headers: The headers, whose names are stored in lower case.
        :param text: The text.
        """
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
    # called with what has arrived of the body, whenever more of it arrives
    watch: Callable[[bytearray], None] | None = None


def find_address(base_url: str, path: str) -> tuple[str, dict[str, str]]:
    """Return the URL of a request, and headers. A user name and password move from the URL into a header."""
    parts = urlsplit(base_url)
    _, _, host_and_port = parts.netloc.rpartition("@")
    whole_path = f"{parts.path.rstrip('/')}/{path}"
    url = parts._replace(netloc=host_and_port, path=whole_path, fragment="").geturl()
    if not parts.username:
        return url, {}
    secret = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
    encoded = base64.b64encode(secret.encode()).decode()
    return url, {"Authorization": f"Basic {encoded}"}


def connect(url: str) -> None:
    """Prepare the HTTP clients without sending anything, so that the first request is not slower than others."""
    # A session of aiohttp cannot be opened here, because it belongs to an event loop. The import takes the most time.
    import aiohttp  # noqa: F401

    proxy, certificates = _route(url)
    _client(proxy, certificates)


async def send_async(request: Request) -> bytes:
    """Send a request, repeat it after temporary failures, and return the body of the reply.

    Raises :class:`NoReply`, :class:`RefusedByServer`, :class:`ReplyTooLong`, or TimeoutError when the time is up.
    """
    deadline = time.monotonic() + request.timeout
    most_attempts = tenacity.stop_after_attempt(request.max_retries + 1)
    # Also stop if the next attempt would begin after the deadline.
    time_is_up = tenacity.stop_before_delay(request.timeout)
    retry: dict[str, Any] = {
        "stop": tenacity.stop_any(most_attempts, time_is_up),
        "retry": tenacity.retry_if_exception(_is_temporary),
        "wait": _pause_after,
        "after": _note_attempts,
        "reraise": True,
    }
    post = partial(tenacity.Retrying(**retry), _post)
    post_async = partial(tenacity.AsyncRetrying(**retry), _post_async)
    return await call_matching(post, post_async, request, deadline)


def _is_temporary(error: BaseException) -> bool:
    return _find_pause(error, 1) is not None


def _pause_after(state: tenacity.RetryCallState) -> float | None:
    """Return the pause after an attempt; this is only called after a temporary failure, which has one."""
    assert state.outcome is not None
    error = state.outcome.exception()
    assert error is not None
    return _find_pause(error, state.attempt_number)


def _note_attempts(state: tenacity.RetryCallState) -> None:
    state.outcome.exception().attempts = state.attempt_number  # type: ignore[union-attr]


def _find_pause(error: BaseException, attempts: int) -> float | None:
    """Return the seconds to wait before the next attempt; None if another attempt is pointless."""
    if not isinstance(error, NoReply | RefusedByServer):
        return None
    if isinstance(error, RefusedByServer):
        may_succeed = error.status in _BUSY or error.status >= 500
        # Servers know best whether another attempt may succeed.
        advice = error.headers.get("x-should-retry")
        if advice in ("true", "false"):
            may_succeed = advice == "true"
        if not may_succeed:
            return None
        milliseconds = _read_seconds(error.headers.get("retry-after-ms"))
        wished_pause = error.retry_after if milliseconds is None else milliseconds / 1_000
        if wished_pause and wished_pause > _LONGEST_PAUSE:
            return None
        if wished_pause:
            return wished_pause
    # Pauses grow. They are random, so that clients that failed at the same time do not all try again at the same time.
    return min(0.5 * 2.0 ** (attempts - 1), 8.0) * random.uniform(0.75, 1)


def _read_seconds(header: str | None) -> float | None:
    """Read how long to wait from a header, which is a number or a date; None if it is neither."""
    text = (header or "").strip()
    try:
        # A longer number would be more seconds than anybody means.
        if len(text) < 20 and text.replace(".", "", 1).isdecimal():
            return float(text)
        pause = parsedate_to_datetime(text) - datetime.now(UTC)
        return max(0.0, pause.total_seconds())
    except (ValueError, TypeError, OverflowError):
        return None


def _post(request: Request, deadline: float) -> bytes:
    seconds = max(0.001, deadline - time.monotonic())
    receive = partial(_receive, request, seconds, deadline)
    # Called in a thread that can be left behind, because the client's own timeout restarts whenever data arrives: a
    # reply that comes byte by byte could last for ever.
    return call_in_thread(receive).result(timeout=seconds)


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
                # Without certificates of ours, which are only read for https, aiohttp checks as it always does.
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
    """Return the body of a reply; raises RefusedByServer if the reply is a refusal."""
    refusal = _find_error(body) if 200 <= status < 300 else status
    if refusal is not None:
        raise RefusedByServer(refusal, headers, body.decode("utf-8", "replace"))
    return bytes(body)


def _find_error(body: bytearray) -> int | None:
    """Find an error in a reply with a status of success; None if there is no error.

    Returns the HTTP status that the ``code`` of the error names, or 200 if it names none.
    """
    if b'"error"' not in body:
        return None
    try:
        reply = json.loads(body)
    except (ValueError, RecursionError):
        return None
    if not isinstance(reply, dict) or reply.get("choices"):
        return None
    error = reply.get("error")
    if not error:
        return None
    code = str(error.get("code")) if isinstance(error, dict) else ""
    is_status = code.isdecimal() and len(code) == 3
    return int(code) if is_status and int(code) >= 400 else 200


@lru_cache(maxsize=64)
def _route(url: str) -> tuple[str | None, ssl.SSLContext | None]:
    """Find the proxy and certificates for a URL; cached, because reading certificates takes longer than a request."""
    parts = urlsplit(url)
    # `NO_PROXY` may list a host together with its port, or an IPv6 address without its brackets, so try both forms.
    needs_no_proxy = proxy_bypass(parts.netloc) or proxy_bypass(parts.hostname or "")
    proxies = {} if needs_no_proxy else getproxies()
    proxy = proxies.get(parts.scheme) or proxies.get("all")
    if proxy and "://" not in proxy:
        proxy = f"http://{proxy}"
    kind = urlsplit(proxy or "").scheme
    if kind not in ("", "http", "https"):
        raise BadInput(f"The environment names a proxy of the kind {kind} for model servers: only http and https work.")
    certificates = _certificates() if "https" in (parts.scheme, kind) else None
    return proxy, certificates


@lru_cache(maxsize=1)
def _certificates() -> ssl.SSLContext:
    import httpx

    return httpx.create_ssl_context()


@lru_cache(maxsize=16)
def _client(proxy: str | None, certificates: ssl.SSLContext | None) -> Client:
    import httpx

    limits = httpx.Limits(max_connections=None, max_keepalive_connections=20, keepalive_expiry=_KEPT_SECONDS)
    # Without certificates, neither the server nor the proxy is reached by https, so there is nothing to verify.
    return httpx.Client(proxy=proxy, verify=certificates or False, trust_env=False, limits=limits)


# The session of each event loop, and the generator that closes the session. Without a reference, Python would end the
# generator.
_sessions: dict[asyncio.AbstractEventLoop, tuple[ClientSession, AsyncGenerator[ClientSession, None]]] = {}


async def _session() -> ClientSession:
    """Return this event loop's session. Each loop needs its own, because connections cannot outlive their loop."""
    loop = asyncio.get_running_loop()
    if loop not in _sessions:
        closed_loops = [other for other in list(_sessions) if other.is_closed()]
        for closed in closed_loops:
            # Its connections were closed with the loop, unless it was closed without ending its generators.
            _sessions.pop(closed, None)
        generator = _open(loop)
        _sessions[loop] = (await anext(generator), generator)
    session, _ = _sessions[loop]
    return session


async def _open(loop: asyncio.AbstractEventLoop) -> AsyncGenerator[ClientSession, None]:
    # This is a generator, because an event loop ends its generators when it is shut down: the part after `yield`, which
    # closes the connections, then runs in the loop.
    import aiohttp

    session = aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=_KEPT_SECONDS),
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
