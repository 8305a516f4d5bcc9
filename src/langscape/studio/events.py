"""How jobs stand, as server-sent events: pure ASGI, so that each arrives as it happens.

A listener that is slow does not pile up messages: of each job it gets the latest. A change is put into words
once for all listeners.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from langscape.studio.problem import Problem

HEARTBEAT = 10.0
"""Seconds after which silence is broken by a comment, so that a dead connection is noticed."""

MOST = 256
"""Listeners at a time. Each takes about 25 kB, and 0.1 ms of a core for every change; the other connections
that the studio has at most (`connection.MOST`) are left for what is asked."""


class Events:
    """An ASGI application, and the place where changes are told."""

    def __init__(self, now: Callable[[], Iterable[Mapping[str, Any]]]) -> None:
        self._now = now
        self._loop: asyncio.AbstractEventLoop | None = None
        self._listeners: set[_Listener] = set()

    def open(self) -> None:
        """Called within the running loop, before anything is told."""
        self._loop = asyncio.get_running_loop()

    def close(self) -> None:
        """Let all listeners go; called within the loop."""
        for listener in self._listeners:
            listener.close()
        self._loop = None

    def tell(self, record: Mapping[str, Any]) -> None:
        """A job has changed; from any thread."""
        loop = self._loop
        if loop is not None and not loop.is_closed():
            loop.call_soon_threadsafe(self._spread, dict(record))

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        """One listener, until it goes."""
        if len(self._listeners) >= MOST:
            raise Problem("bad_request", f"{MOST} pages are listening already", "Close some of them.")
        listener = _Listener()
        self._listeners.add(listener)
        gone = asyncio.create_task(_gone(receive))
        try:
            headers = [
                (b"content-type", b"text/event-stream"),
                (b"cache-control", b"no-store"),
                (b"x-accel-buffering", b"no"),
            ]
            await send({"type": "http.response.start", "status": 200, "headers": headers})
            await _write(send, "retry: 1000\n\n" + "".join(map(_event, self._now())))
            while not listener.closed and not gone.done():
                waiting = asyncio.create_task(listener.wait())
                await asyncio.wait({waiting, gone}, timeout=HEARTBEAT, return_when=asyncio.FIRST_COMPLETED)
                waiting.cancel()
                if not gone.done():
                    await _write(send, "".join(listener.take()) or ": still here\n\n")
            await send({"type": "http.response.body", "body": b""})
        except OSError:
            pass  # it went while we were writing
        finally:
            gone.cancel()
            self._listeners.discard(listener)

    def _spread(self, record: dict[str, Any]) -> None:
        event = _event(record)
        for listener in self._listeners:
            listener.put(record["id"], event)


class _Listener:
    """What one listener has not been sent yet: the latest of each job."""

    def __init__(self) -> None:
        self.closed = False
        self._waiting: dict[str, str] = {}
        self._something = asyncio.Event()

    def put(self, id: str, event: str) -> None:
        self._waiting.pop(id, None)
        self._waiting[id] = event
        self._something.set()

    def take(self) -> list[str]:
        taken, self._waiting = list(self._waiting.values()), {}
        self._something.clear()
        return taken

    def close(self) -> None:
        self.closed = True
        self._something.set()

    async def wait(self) -> None:
        await self._something.wait()


async def _gone(receive: Any) -> None:
    """Return when the listener has gone, or sends a body beyond what the guard takes."""
    with contextlib.suppress(Problem):
        while (await receive())["type"] != "http.disconnect":
            pass


async def _write(send: Any, text: str) -> None:
    await send({"type": "http.response.body", "body": text.encode(), "more_body": True})


def _event(record: Mapping[str, Any]) -> str:
    return f"data: {json.dumps(record, allow_nan=False, separators=(',', ':'))}\n\n"
