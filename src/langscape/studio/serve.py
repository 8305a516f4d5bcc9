"""Bind to loopback, say where, and run until told to stop."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Callable
from contextlib import suppress

import uvicorn

from langscape.errors import SettingsError
from langscape.store import Store
from langscape.studio.access import Access, check_loopback
from langscape.studio.app import studio
from langscape.studio.connection import Connection
from langscape.studio.security import Guard

PORTS = 20
"""Ports tried after the one that was asked for, where that is taken."""


def serve(
    store: Store,
    host: str,
    port: int,
    ready: Callable[[Access], None],
    *,
    exact: bool = False,
    workers: int = 2,
    warm: str = "default",
    examples: bool = True,
) -> None:
    """Run the studio; `ready` is called once it answers, in a thread. `exact`: that port or none."""
    check_loopback(host)
    bound = bind(host, port, 1 if exact else PORTS)
    access = Access(host, bound.getsockname()[1], store.root / "studio")
    app = studio(store, access, workers=workers, warm=warm, examples=examples)
    try:
        access.publish()
        # Ctrl-C ends it in order; uvicorn then raises what it had caught.
        with suppress(KeyboardInterrupt):
            asyncio.run(_run(Server(config(app), app), bound, lambda: ready(access)))
    finally:
        access.withdraw()
        bound.close()


class Server(uvicorn.Server):
    """uvicorn's server, which lets go of the listeners before it waits for all answers to end."""

    def __init__(self, config: uvicorn.Config, app: Guard) -> None:
        super().__init__(config)
        self._app = app

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End in order."""
        if "events" in self._app.parts:
            self._app.parts["events"].close()
        await super().shutdown(sockets)


def config(app: Guard) -> uvicorn.Config:
    """How the studio is served: nothing is logged of requests, for addresses hold tokens."""
    return uvicorn.Config(
        app,
        http=Connection,
        log_level="error",
        access_log=False,
        server_header=False,
        date_header=False,
        lifespan="on",
        timeout_graceful_shutdown=1,
        ws="none",
    )


async def _run(server: uvicorn.Server, bound: socket.socket, ready: Callable[[], None]) -> None:
    running = asyncio.create_task(server.serve(sockets=[bound]))
    while not server.started and not running.done():
        await asyncio.sleep(0.02)
    if server.started:
        # A browser that is opened, or a terminal that is stopped, must not keep the server from answering.
        threading.Thread(target=ready, name="studio ready", daemon=True).start()
    await running


def bind(host: str, port: int, tries: int) -> socket.socket:
    """A socket on that port, or on one of those after it; 0 is any that is free."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    for at in range(tries):
        # Without its protocol named asyncio leaves Nagle's algorithm on, and every answer waits 40 ms for an
        # acknowledgement between its head and its body.
        bound = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            bound.bind((host, 0 if port == 0 else port + at))
            return bound
        except (OSError, OverflowError):
            bound.close()
            if port == 0:
                break
    ports = f"port {port}" if tries == 1 else f"ports {port} to {port + tries - 1}"
    raise SettingsError(
        f"{ports} of {host} cannot be used, probably since others do; say another with --port"
    )
