"""Bind to loopback, say where, and run until told to stop."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from contextlib import suppress

import uvicorn

from langscape.errors import SettingsError
from langscape.run import Store
from langscape.studio.app import studio
from langscape.studio.guard import Guard, Pass, check_loopback

PORTS = 20
"""Ports tried after the one that was asked for, where that is taken."""


def serve(
    store: Store,
    host: str,
    port: int,
    ready: Callable[[str], None],
    *,
    exact: bool = False,
    workers: int = 2,
    warm: str = "default",
    examples: bool = True,
) -> None:
    """Run the studio; `ready` is called with its address once it answers. `exact`: that port or none."""
    check_loopback(host)
    bound = bind(host, port, 1 if exact else PORTS)
    allowed = Pass(host, bound.getsockname()[1])
    app = studio(store, allowed, workers=workers, warm=warm, examples=examples)
    try:
        # Ctrl-C ends it in order; uvicorn then raises what it had caught.
        with suppress(KeyboardInterrupt):
            asyncio.run(_run(uvicorn.Server(config(app)), bound, lambda: ready(allowed.address)))
    finally:
        bound.close()


def config(app: Guard) -> uvicorn.Config:
    """How the studio is served: nothing is logged of requests, for addresses hold the token."""
    return uvicorn.Config(
        app,
        log_level="warning",
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
        ready()
    await running


def bind(host: str, port: int, tries: int) -> socket.socket:
    """A socket on that port, or on one of those after it; 0 is any that is free."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    for at in range(tries):
        bound = socket.socket(family, socket.SOCK_STREAM)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            bound.bind((host, 0 if port == 0 else port + at))
            return bound
        except (OSError, OverflowError):
            bound.close()
            if port == 0:
                break
    said = f"port {port}" if tries == 1 else f"ports {port} to {port + tries - 1}"
    raise SettingsError(f"{said} of {host} cannot be used, probably since others do; say another with --port")
