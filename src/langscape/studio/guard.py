"""The guard: a pure ASGI layer before everything else. It lets in who has the session, and nobody else.

The studio listens on loopback only, but every page in the browser can reach loopback. So: the Host must
be ours (a foreign name that resolves here is refused), an Origin, where there is one, must be ours, and
the session's cookie is SameSite=Strict. The cookie is given for the token that is printed at the start.
"""

from __future__ import annotations

import hmac
import http.cookies
import ipaddress
import json
import secrets
import urllib.parse
from dataclasses import dataclass, field
from typing import Any

from langscape.errors import LangscapeError, SettingsError
from langscape.studio.trouble import Trouble, trouble_of

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}
"""On every answer. There is no CORS header: other origins get nothing."""

_CLOSED = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>langscape studio</title></head>
<body><h1>The studio is running, but this browser has no session</h1>
<p>Open the address that the studio printed when it was started: it ends in <code>?token=…</code>.
It is another one after each start.</p></body></html>
"""
_ENTER = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>langscape studio</title>
<meta http-equiv="refresh" content="0; url=/"></head>
<body><p><a href="/">Enter the studio</a></p></body></html>
"""


@dataclass(frozen=True)
class Pass:
    """Who may come in: the hosts we answer to, the token of this start, and the session it is given for."""

    host: str
    port: int
    token: str = field(default_factory=lambda: secrets.token_urlsafe(24))
    session: str = field(default_factory=lambda: secrets.token_urlsafe(32))

    def __post_init__(self) -> None:
        check_loopback(self.host)

    @property
    def cookie(self) -> str:
        """The cookie's name; cookies know no ports, so it has ours."""
        return f"langscape-{self.port}"

    @property
    def hosts(self) -> frozenset[str]:
        """What the Host header may say."""
        names = {"127.0.0.1", "localhost", "[::1]", _bracketed(self.host)}
        return frozenset(f"{name}:{self.port}" for name in names)

    @property
    def address(self) -> str:
        """What is opened in a browser."""
        return f"http://{_bracketed(self.host)}:{self.port}/?token={self.token}"


def check_loopback(host: str) -> None:
    """Refuse to listen where others could reach us."""
    try:
        safe = host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        safe = False
    if not safe:
        raise SettingsError(
            f"the studio does not listen on {host}: it runs models and reads files for whoever reaches it, "
            "so it listens on this machine alone (127.0.0.1). From another machine: start it here and "
            "run `ssh -L 8765:127.0.0.1:8765 THIS-MACHINE` there; then open the printed address there"
        )


class Guard:
    """Wraps the application; `most` is the size of the largest body that some route takes.

    `parts` are what the application is made of, once it runs.
    """

    def __init__(self, app: Any, allowed: Pass, *, most: int, parts: dict[str, Any] | None = None) -> None:
        self.app, self.allowed, self.most, self.parts = app, allowed, most, {} if parts is None else parts

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        """One connection."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        begun = False

        async def guarded_send(message: dict[str, Any]) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                message = {**message, "headers": _with_headers(message.get("headers", []))}
            await send(message)

        try:
            answer = self._answer(scope)
            if answer is not None:
                await _say(guarded_send, *answer)
                return
            await self.app(scope, self._counted(scope, receive), guarded_send)
        except Trouble as trouble:
            if begun:
                raise
            close = {"connection": "close"} if trouble.code == "too_large" else {}
            await _say(guarded_send, trouble.status, json.dumps(trouble.to_json()), "application/json", close)
        except LangscapeError as error:
            if begun:
                raise
            said = trouble_of(error)
            await _say(guarded_send, said.status, json.dumps(said.to_json()), "application/json", {})

    def _answer(self, scope: dict[str, Any]) -> tuple[int, str, str, dict[str, str]] | None:
        """What the guard itself answers; None lets the request through."""
        headers = scope["headers"]
        named = [value.decode("latin-1") for name, value in headers if name == b"host"]
        if len(named) != 1 or named[0].lower() not in self.allowed.hosts:
            shown = ", ".join(named) or "nothing"
            raise Trouble("bad_host", f"the request is for host {shown[:80]!r}, which is not this studio")
        origins = [value.decode("latin-1") for name, value in headers if name == b"origin"]
        ours = {f"http://{host}" for host in self.allowed.hosts}
        if any(origin.lower() not in ours for origin in origins):
            raise Trouble("bad_origin", f"pages of {origins[0][:80]!r} may not use the studio")
        path, method = scope["path"], scope["method"]
        foreign = _header(headers, b"sec-fetch-site") in ("cross-site", "same-site")
        if foreign and path != "/":
            raise Trouble("bad_origin", "the request comes from another site")
        query = urllib.parse.parse_qs(scope.get("query_string", b"").decode("latin-1"))
        if path == "/" and method == "GET" and "token" in query:
            return self._enter(query["token"][0], foreign)
        if not self._known(headers):
            if path == "/" and method == "GET":
                return 401, _CLOSED, "text/html; charset=utf-8", {}
            raise Trouble(
                "no_session",
                "this browser has no session with the studio",
                "Open the address that the studio printed when it was started.",
            )
        length = _header(headers, b"content-length")
        if length and (not length.isdigit() or int(length) > self.most):
            raise Trouble("too_large", f"{length} bytes were sent; at most {self.most:,} are taken")
        return None

    def _enter(self, token: str, foreign: bool) -> tuple[int, str, str, dict[str, str]]:
        if not _same(token, self.allowed.token):
            return 401, _CLOSED, "text/html; charset=utf-8", {}
        cookie = f"{self.allowed.cookie}={self.allowed.session}; HttpOnly; SameSite=Strict; Path=/"
        if foreign:
            # A strict cookie is not sent along a redirect that another site began; our own page begins anew.
            return 200, _ENTER, "text/html; charset=utf-8", {"set-cookie": cookie}
        return 303, "", "text/plain", {"set-cookie": cookie, "location": "/"}

    def _known(self, headers: list[tuple[bytes, bytes]]) -> bool:
        bearer = _header(headers, b"authorization")
        if bearer.startswith("Bearer "):
            return _same(bearer[7:], self.allowed.token)
        cookies: http.cookies.SimpleCookie = http.cookies.SimpleCookie()
        try:
            cookies.load(_header(headers, b"cookie"))
        except http.cookies.CookieError:
            return False
        held = cookies.get(self.allowed.cookie)
        return held is not None and _same(held.value, self.allowed.session)

    def _counted(self, scope: dict[str, Any], receive: Any) -> Any:
        """Receive, but never more than `most` bytes, whatever the request said of its length."""
        seen = 0

        async def counted() -> dict[str, Any]:
            nonlocal seen
            message = await receive()
            if message["type"] == "http.request":
                seen += len(message.get("body", b""))
                if seen > self.most:
                    raise Trouble("too_large", f"more than {self.most:,} bytes were sent")
            return message

        return counted


async def _say(send: Any, status: int, body: str, kind: str, more: dict[str, str]) -> None:
    data = body.encode()
    headers = {"content-type": kind, "content-length": str(len(data)), "cache-control": "no-store", **more}
    raw = [(name.encode(), value.encode("latin-1")) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": status, "headers": raw})
    await send({"type": "http.response.body", "body": data})


def _with_headers(headers: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    held = {name.lower() for name, _ in headers}
    added = {**HEADERS, "cache-control": "no-store"}
    more = [(n.encode(), v.encode()) for n, v in added.items() if n.encode() not in held]
    return [*headers, *more]


def _header(headers: list[tuple[bytes, bytes]], wanted: bytes) -> str:
    return next((value.decode("latin-1") for name, value in headers if name == wanted), "")


def _same(given: str, expected: str) -> bool:
    return hmac.compare_digest(given.encode(), expected.encode())


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host
