"""The guard: a pure ASGI layer before everything else. It lets in who has a session, and nobody else.

The studio listens on loopback only, but every page in the browser can reach loopback. So: the Host must
be ours (a foreign name that resolves here is refused), an Origin, where there is one, must be ours, and
the session's cookie is SameSite=Strict. A token of an address that was printed is exchanged, once, for the
cookie and a key; what is asked of the server needs both (`access.py` says why).
"""

from __future__ import annotations

import asyncio
import html
import json
import time
import urllib.parse
from collections.abc import Callable
from typing import Any

from starlette.requests import ClientDisconnect

from langscape.errors import LangscapeError
from langscape.studio.access import Access
from langscape.studio.problem import Problem, problem_of

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

MOST_HEADERS = 100
"""Headers of a request; browsers send about twenty."""

HEADER_BYTES = 16_384
"""Bytes of all of them, names and values, and of the address."""

BODY_WAIT = 20.0
"""Seconds that a body may keep us waiting altogether, besides those that BODY_RATE allows for its bytes."""

BODY_RATE = 2_000.0
"""Bytes a second below which a body is too slow."""

KEY_HEADER = b"langscape-key"
"""The header that holds the key of a session."""

_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>langscape studio</title>{head}</head>
<body>{body}</body></html>
"""
_NO_SESSION = _PAGE.format(
    head="",
    body="<h1>The studio is running, but this browser has no session</h1>"
    "<p>Open the last address in the terminal where the studio runs: it ends in <code>?token=…</code> and "
    "works once.</p>",
)
_USED = _PAGE.format(
    head="",
    body="<h1>This address was used already</h1>"
    "<p>Each address opens one browser. The last address in the terminal where the studio runs is a new one: "
    "open that.</p>",
)
_ENTER = _PAGE.format(
    head='<meta name="langscape-key" content="{key}"><script src="/enter.js"></script>',
    body="<noscript>The studio needs JavaScript; it runs none but its own.</noscript>",
)
_ENTER_SCRIPT = """const key = document.querySelector('meta[name=langscape-key]').content
localStorage.setItem('langscape-key', key)
location.replace('/' + location.hash)
"""
_HTML = "text/html; charset=utf-8"

Answer = tuple[int, str, str, dict[str, str]]
"""Status, body, type and further headers."""


class Guard:
    """Wraps the application; `most` is the size of the largest body that some route takes.

    `parts` are what the application is made of when it runs; `clean` takes the store's paths out of problem.
    """

    def __init__(
        self,
        app: Any,
        access: Access,
        *,
        most: int,
        parts: dict[str, Any] | None = None,
        clean: Callable[[Problem], Problem] = lambda problem: problem,
    ) -> None:
        self.app, self.access, self.most, self.clean = app, access, most, clean
        self.parts = {} if parts is None else parts

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
            await self.app(scope, self._limited(receive), guarded_send)
        except ClientDisconnect:
            pass  # there is nobody to answer
        except (Problem, LangscapeError) as error:
            if begun:
                raise
            problem = self.clean(error if isinstance(error, Problem) else problem_of(error))
            await _say(guarded_send, problem.status, json.dumps(problem.to_json()), "application/json", {})

    def _answer(self, scope: dict[str, Any]) -> Answer | None:
        """What the guard itself answers; None lets the request through."""
        headers = scope["headers"]
        _check_size(scope)
        named = [value.decode("latin-1") for name, value in headers if name == b"host"]
        if len(named) != 1 or named[0].lower() not in self.access.hosts:
            shown = ", ".join(named) or "nothing"
            raise Problem("bad_host", f"the request is for host {shown[:80]!r}, which is not this studio")
        origins = [value.decode("latin-1") for name, value in headers if name == b"origin"]
        ours = {f"http://{host}" for host in self.access.hosts}
        if any(origin.lower() not in ours for origin in origins):
            raise Problem("bad_origin", f"pages of {origins[0][:80]!r} may not use the studio")
        path, method = scope["path"], scope["method"]
        foreign = _header(headers, b"sec-fetch-site") in ("cross-site", "same-site")
        if foreign and path != "/":
            raise Problem("bad_origin", "the request comes from another site")
        if method == "GET" and path == "/enter.js":
            return 200, _ENTER_SCRIPT, "text/javascript; charset=utf-8", {}
        if method == "GET" and path == "/":
            query = urllib.parse.parse_qs(scope.get("query_string", b"").decode("latin-1"))
            if "token" in query:
                return self._enter(query["token"][0], headers)
        if not self._is_known(headers, path, method):
            if method == "GET" and path == "/":
                return 401, _NO_SESSION, _HTML, {}
            raise Problem(
                "no_session",
                "this browser has no session with the studio",
                "Open the last address in the terminal where the studio runs.",
            )
        length = _header(headers, b"content-length")
        if length and (not length.isdigit() or int(length) > self.most):
            raise Problem("too_large", f"{length} bytes were sent; at most {self.most:,} are taken")
        return None

    def _enter(self, token: str, headers: list[tuple[bytes, bytes]]) -> Answer:
        """Exchange a token for a session.

        The answer is a page, not a redirect: a strict cookie is not sent along a redirect that another site
        began, and the key has to come into the browser's storage without ever being part of an address.
        """
        if "prefetch" in _header(headers, b"sec-purpose"):
            return 503, "", "text/plain", {}  # a look ahead by the browser must not use the token up
        session = self.access.open_session(token)
        if session is None:
            if not self.access.was_used(token):
                return 401, _NO_SESSION, _HTML, {}
            # Reloaded or gone back to, in the browser that is in: it has its key already.
            if any(map(self.access.has_cookie, self._cookies(headers))):
                return 303, "", "text/plain", {"location": "/"}
            return 401, _USED, _HTML, {}
        cookie = f"{self.access.cookie}={session.cookie}; HttpOnly; SameSite=Strict; Path=/"
        return 200, _ENTER.format(key=html.escape(session.key)), _HTML, {"set-cookie": cookie}

    def _is_known(self, headers: list[tuple[bytes, bytes]], path: str, method: str) -> bool:
        """Whether the request has a session. The cookie alone gives the page's files, which are no secret."""
        bearer = _header(headers, b"authorization")
        if bearer.startswith("Bearer "):
            return self.access.is_bearer(bearer[7:])
        if path.startswith("/api/") or method != "GET":
            key = _header(headers, KEY_HEADER)
            return any(self.access.is_session(cookie, key) for cookie in self._cookies(headers))
        return any(map(self.access.has_cookie, self._cookies(headers)))

    def _cookies(self, headers: list[tuple[bytes, bytes]]) -> list[str]:
        """Every cookie of our name. Other servers of this machine set cookies too, in whatever form."""
        sent = [value.decode("latin-1") for name, value in headers if name == b"cookie"]
        pairs = [pair.strip().partition("=") for one in sent for pair in one.split(";")]
        return [value for name, _, value in pairs if name == self.access.cookie]

    def _limited(self, receive: Any) -> Any:
        """Receive, but never more than `most` bytes, whatever the request said of its length, nor too slowly.

        Only the time that we wait for the client counts, not the time that we take for what it sent.
        """
        seen, waited, complete = 0, 0.0, False

        async def limited() -> dict[str, Any]:
            nonlocal seen, waited, complete
            if complete:
                return await receive()
            began, most = time.monotonic(), BODY_WAIT + seen / BODY_RATE
            try:
                message = await asyncio.wait_for(receive(), most - waited)
            except TimeoutError:
                raise Problem(
                    "too_slow",
                    f"the body of the request came too slowly: {seen:,} bytes in {most:.0f} seconds",
                    "Send it again, or over a faster line.",
                ) from None
            waited += time.monotonic() - began
            if message["type"] == "http.request":
                complete = not message.get("more_body", False)
                seen += len(message.get("body", b""))
                if seen > self.most:
                    raise Problem("too_large", f"more than {self.most:,} bytes were sent")
            return message

        return limited


def _check_size(scope: dict[str, Any]) -> None:
    headers = scope["headers"]
    if len(headers) > MOST_HEADERS:
        raise Problem(
            "headers_too_large", f"the request has {len(headers)} headers; at most {MOST_HEADERS} are taken"
        )
    size = sum(len(name) + len(value) for name, value in headers)
    size += len(scope.get("raw_path") or b"") + len(scope.get("query_string", b""))
    if size > HEADER_BYTES:
        raise Problem(
            "headers_too_large",
            f"address and headers of the request have {size:,} bytes; at most {HEADER_BYTES:,} are taken",
        )


async def _say(send: Any, status: int, body: str, kind: str, more: dict[str, str]) -> None:
    data = body.encode()
    headers = {"content-type": kind, "content-length": str(len(data)), "cache-control": "no-store", **more}
    raw = [(name.encode(), value.encode("latin-1")) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": status, "headers": raw})
    await send({"type": "http.response.body", "body": data})


def _with_headers(headers: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    names = {name.lower() for name, _ in headers}
    added = {**HEADERS, "cache-control": "no-store"}
    more = [(n.encode(), v.encode()) for n, v in added.items() if n.encode() not in names]
    return [*headers, *more]


def _header(headers: list[tuple[bytes, bytes]], wanted: bytes) -> str:
    return next((value.decode("latin-1") for name, value in headers if name == wanted), "")
