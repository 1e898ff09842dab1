"""A time limit for receiving the head of a request, which is its first line and its headers.

uvicorn has no such limit. Without the limit, a client could open many connections and never send a request.
"""

import asyncio

from uvicorn.protocols.http.auto import AutoHTTPProtocol

# The head of a request must arrive within this many seconds.
HEAD_SECONDS = 30.0


class HeadLimit(AutoHTTPProtocol):  # type: ignore[misc, valid-type]
    """Closes a connection if the head of a request has not arrived after `seconds`.

    Between two requests, uvicorn's keep-alive timeout applies until the next head begins.
    """

    seconds = HEAD_SECONDS
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: object) -> None:
        """Start to wait for the first head.

        :param transport: The connection.
        """
        super().connection_made(transport)
        self._timer = self.loop.call_later(self.seconds, self._close)

    def data_received(self, data: bytes) -> None:
        """Receive data. Stop the timer when a head is complete, and start it when the next head begins.

        :param data: The bytes that have arrived.
        """
        super().data_received(data)
        if self.cycle is not None and not self.cycle.response_complete:
            self._stop_waiting()
        elif self._timer is None:
            self._timer = self.loop.call_later(self.seconds, self._close)

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timer, because the connection is closed.

        :param exc: Why the connection was lost. None if it was closed normally.
        """
        self._stop_waiting()
        super().connection_lost(exc)

    def _stop_waiting(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _close(self) -> None:
        # Do nothing if a WebSocket has taken over the connection.
        if self.transport.get_protocol() is self:
            self.transport.close()
