"""One connection over uvicorn's own HTTP, with a limit on everything a client can make us wait for.

The head of a request, a body that nobody reads any more and an answer that is not taken are watched here; a
body that is read is watched by the guard, which knows who waits for whom.
"""

from __future__ import annotations

import asyncio
import json
import socket
import struct
from http import HTTPStatus

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from langscape.studio.problem import Problem
from langscape.studio.security import HEADERS

HEAD_WAIT = 10.0
"""Seconds from a connection, or from the first byte of a further request, to the end of its head."""

LINGER = 2.0
"""Seconds that the rest of a body is still read and dropped after its answer."""

STALL = 60.0
"""Seconds in which a client must take something of an answer that waits for it."""

MOST = 400
"""Connections at a time. One more ends the one that has waited longest without asking anything."""


class Connection(H11Protocol):
    """uvicorn's connection, with time limits and a bound on their number."""

    idle_since: float | None = None
    """Since when it has no request; None while it has one."""

    _timer: asyncio.TimerHandle | None = None
    _lingers = False
    _stall: asyncio.TimerHandle | None = None
    _unsent = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """A client has connected."""
        super().connection_made(transport)
        self._wait_for_head()
        if len(self.connections) > MOST:
            idle = (one for one in self.connections if isinstance(one, Connection) and one.idle_since)
            min(idle, key=lambda one: one.idle_since or 0.0)._end()

    def connection_lost(self, exc: Exception | None) -> None:
        """It is over."""
        self._rest()
        if self._stall is not None:
            self._stall.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Bytes have come: part of a head, or of a body."""
        super().data_received(data)
        if self.transport.is_closing():
            return
        if self._is_answering():
            self._rest()
        elif self.conn.their_state is h11.IDLE and (self._timer is None or self._lingers):
            self._wait_for_head()  # counted from its first byte: more of them give no more time

    def on_response_complete(self) -> None:
        """An answer was given; what is left of the request's body has little time."""
        super().on_response_complete()
        if self.transport.is_closing():
            self._end_unless_taken()
        elif self.conn.their_state is h11.SEND_BODY and not self._is_answering():
            self._lingers = True
            self._timer = self.loop.call_later(LINGER, self._end)
        elif not self._is_answering():
            self.idle_since = self.loop.time()  # uvicorn ends it soon, unless more comes

    def send_400_response(self, msg: str) -> None:
        """What came is no HTTP. Said in the one shape, unless an answer is on its way already."""
        if self.conn.our_state not in (h11.IDLE, h11.SEND_RESPONSE):
            self.transport.close()
            return
        self._answer(Problem("bad_request", "what was sent is no HTTP request that the studio reads"))

    def pause_writing(self) -> None:
        """The client takes less than we have for it."""
        super().pause_writing()
        self._end_unless_taken()

    def resume_writing(self) -> None:
        """It has taken most of it."""
        super().resume_writing()
        if self._stall is not None and not self.transport.is_closing():
            self._stall.cancel()
            self._stall = None

    def _is_answering(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _wait_for_head(self) -> None:
        self._rest()
        self.idle_since = self.loop.time()
        self._timer = self.loop.call_later(HEAD_WAIT, self._no_head)

    def _rest(self) -> None:
        """Nothing is waited for here."""
        self.idle_since, self._lingers = None, False
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _no_head(self) -> None:
        begun = bool(self.conn.trailing_data[0])
        if begun and self.conn.our_state is h11.IDLE and not self.transport.is_closing():
            self._answer(Problem("too_slow", f"the request was not complete after {HEAD_WAIT:g} seconds"))
        else:
            self._end()

    def _answer(self, problem: Problem) -> None:
        body = json.dumps(problem.to_json()).encode()
        own = {"content-type": "application/json", "content-length": str(len(body)), "connection": "close"}
        headers = [(name.encode(), value.encode()) for name, value in {**HEADERS, **own}.items()]
        reason = HTTPStatus(problem.status).phrase.encode()
        head = h11.Response(status_code=problem.status, headers=headers, reason=reason)
        for event in (head, h11.Data(data=body), h11.EndOfMessage()):
            self.transport.write(self.conn.send(event) or b"")
        self.transport.close()
        self._end_unless_taken()

    def _end(self) -> None:
        self._rest()
        self.transport.abort()

    def _end_unless_taken(self) -> None:
        """End the connection when a whole STALL passes in which the client takes nothing."""
        if self._stall is not None:
            self._stall.cancel()
        self._unsent = self.transport.get_write_buffer_size()
        self._stall = self.loop.call_later(STALL, self._look)

    def _look(self) -> None:
        left = self.transport.get_write_buffer_size()
        if left >= self._unsent:
            # The system's own buffer goes too: it holds megabytes, and would be offered for minutes yet.
            line = self.transport.get_extra_info("socket")
            if line is not None:
                line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self._end()
        else:
            self._end_unless_taken()
