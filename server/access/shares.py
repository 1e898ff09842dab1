"""Limit how much of a server a single key may use: how many requests per minute, and how many at the same time.

The module calls the user of such a share its holder. The holder is a key or, without a key, the address of a client.
Each server process counts for itself, and its counts are lost when the process ends.
"""

import asyncio
import math
import time
from collections import Counter, deque
from collections.abc import Callable

from limits import RateLimitItem, RateLimitItemPerMinute
from limits.storage import MemoryStorage
from limits.strategies import FixedWindowRateLimiter
from starlette.types import ASGIApp, Receive, Scope, Send

from prefrag.server.access.keys import PUBLIC_PATHS, current_access
from prefrag.server.http.security import path_of, refuse
from prefrag.settings import settings

# How many seconds clients should wait before they ask again, if the server cannot say when it will be less busy.
RETRY_SECONDS = 5


def holder_of(scope: Scope) -> str:
    """Return the holder of a request: whose share the request uses.

    :param scope: The request.
    :returns: The name of its key. Without a key, the address of the client, such as ``"127.0.0.1"``.
    """
    client_address, *_ = scope.get("client") or ("",)
    return current_access.get().key or client_address


class Busy(Exception):
    """The error when a request is refused because of a limit.

    :param status: The HTTP status: 503 if the server is too busy, 429 if the holder has used its share.
    :param message: The reason, for the client.
    :param wait: How many seconds the client should wait before it asks again.
    """

    def __init__(self, status: int, message: str, wait: int = RETRY_SECONDS):
        super().__init__(message)
        self.status = status
        self.headers = {"Retry-After": str(wait)}


class Places:
    """A limited number of places, and a queue of requests that wait for a place. A running request occupies one place.

    With several keys, each holder gets only a share of the places. If `PREFRAG_SHARE` is 50%, a holder gets another
    place only if more places are free than the holder has already. So a single holder gets half of the places, and two
    holders get a third each. The next holder still finds a free place. This matters because running requests are never
    stopped in favour of others. Waiting holders take turns.

    :param what: What the requests are, for error messages, such as "questions".
    :param most: The number of places.
    :param most_waiting: How many requests may wait in the queue.
    :param are_shared: Returns whether the places are shared among several keys. If not, a holder may use all of them.
    """

    def __init__(self, what: str, most: int, most_waiting: int, are_shared: Callable[[], bool]):
        self.most = most
        self.most_waiting = most_waiting
        self._what = what
        self._are_shared = are_shared
        # How many places each holder occupies.
        self._occupied: Counter[str] = Counter()
        # The waiting requests of each holder. The first holder in this dictionary has the next turn.
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}

    async def take(self, holder: str, seconds: float) -> None:
        """Take a place, or wait in the queue until a place is free.

        :param holder: Whose share the request uses.
        :param seconds: How long to wait at most.
        :raises Busy: If the queue is full, if the holder has used its share of the queue, or if the wait is too long.
        """
        if holder not in self._waiting and self._fits(self._occupied[holder], self._free):
            self._occupied[holder] += 1
            return

        own_waiting = len(self._waiting.get(holder, ()))
        free_waiting = self.most_waiting - self._count_waiting()
        if not self._fits(own_waiting, free_waiting):
            raise self._refusal(holder, by_share=self._free > 0 or free_waiting > 0)

        turn = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(holder, deque()).append(turn)
        try:
            async with asyncio.timeout(seconds):
                await turn
        except BaseException as error:
            if turn.done() and not turn.cancelled():
                # The request got its place just before it was cancelled.
                self.leave(holder)
            else:
                self._remove(holder, turn)
            if isinstance(error, TimeoutError):
                raise self._refusal(holder, by_share=self._free > 0) from None
            raise

    def leave(self, holder: str) -> None:
        """Give back a place, and give free places to waiting requests.

        :param holder: The holder that :meth:`take` was called with.
        """
        self._occupied -= Counter([holder])
        next_holder = self._find_next_holder()
        while next_holder is not None:
            turn = self._waiting[next_holder][0]
            self._remove(next_holder, turn)
            # A request that was cancelled meanwhile takes no place.
            if not turn.done():
                self._occupied[next_holder] += 1
                turn.set_result(None)
            next_holder = self._find_next_holder()

    def _find_next_holder(self) -> str | None:
        """Return the first waiting holder that may get another place now; None if there is none."""
        for holder in self._waiting:
            if self._fits(self._occupied[holder], self._free):
                return holder
        return None

    @property
    def _free(self) -> int:
        """How many places are free."""
        return self.most - self._occupied.total()

    def _count_waiting(self) -> int:
        return sum(map(len, self._waiting.values()))

    def _fits(self, own: int, free: int) -> bool:
        """Check whether a holder that has ``own`` places may get another, if ``free`` places are free.

        For example, with a share of 50% a holder with 2 places gets another if 3 are free, but not if only 2 are free.
        """
        share = settings.share if self._are_shared() else 100
        # The same as own / free < share / (100 - share), but without a division by zero.
        return own * (100 - share) < free * share

    def _remove(self, holder: str, turn: asyncio.Future[None]) -> None:
        """Remove a request from the queue."""
        turns = self._waiting.pop(holder, deque())
        others = deque(other for other in turns if other is not turn)
        if others:
            # Put the holder at the end, so that all other holders have their turns first.
            self._waiting[holder] = others

    def _refusal(self, holder: str, by_share: bool) -> Busy:
        """Make the error: 429 if only the holder's share is used up, 503 if everything is occupied."""
        if by_share:
            running = self._occupied[holder]
            waiting = len(self._waiting.get(holder, ()))
            return Busy(
                429,
                f"This key has used its share of the {self._what} in this server process ({running} running, {waiting} "
                f"waiting; PREFRAG_SHARE is {settings.share}%): ask again later.",
            )
        all_running = self._occupied.total()
        all_waiting = self._count_waiting()
        return Busy(503, f"Too many {self._what} ({all_running} running, {all_waiting} waiting): ask again later.")


class Rate:
    """A limit on what each holder may use in a period, such as a minute or a day.

    :param limit: How much a holder may use, and in which period. If the amount is 0, nothing is limited.
    :param message: The reason that a refused client gets.
    """

    def __init__(self, limit: RateLimitItem, message: str):
        self._limit = limit
        self._message = message
        self._limiter = FixedWindowRateLimiter(MemoryStorage())

    def spend(self, holder: str, cost: int = 1) -> None:
        """Add a cost to what a holder has used in this period.

        :param holder: Whose share is used.
        :param cost: How much is used, in the unit of the limit: a number of requests or of bytes.
        :raises Busy: If this would exceed the limit. Then nothing is added.
        """
        if not self._limit.amount:
            return
        if not self._limiter.test(self._limit, holder, cost=cost):
            wait = self._limiter.get_window_stats(self._limit, holder).reset_time - time.time()
            if wait > self._limit.get_expiry():
                # The system's clock was set back, and the library measures by this clock. Begin anew. Otherwise the
                # holder would be refused for as long as the clock was ahead.
                self._limiter.clear(self._limit, holder)
                self.spend(holder, cost)
                return
            whole_seconds = max(1, math.ceil(wait))
            raise Busy(429, self._message, whole_seconds)
        self._limiter.hit(self._limit, holder, cost=cost)


class RequestRate:
    """Answer 429 if the holder has sent too many requests in a minute. The body of a refused request is not read."""

    def __init__(self, app: ASGIApp):
        self.app = app
        most = settings.requests_a_minute
        message = f"This server process takes {most:,} requests per key and minute (PREFRAG_REQUESTS_A_MINUTE)."
        self.rate = Rate(RateLimitItemPerMinute(most), message)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or answer 429."""
        if scope["type"] == "http" and not PUBLIC_PATHS.fullmatch(path_of(scope)):
            try:
                self.rate.spend(holder_of(scope))
            except Busy as busy:
                await refuse(scope, receive, send, busy.status, str(busy), busy.headers)
                return
        await self.app(scope, receive, send)
