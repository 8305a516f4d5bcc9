"""Who may talk to the studio: every route of its OpenAPI document, every method, every wrong credential.

A request without the right credentials is refused before it is looked at, in one shape, with every header of
the policy; with the right ones no path leads out, and nothing that is sent makes it fault.
"""

from __future__ import annotations

import http.client
import itertools
import json
import random
import re
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.attack.budget import Budget
from tests.attack.mutations import NAMES, STATEMENTS
from tests.attack.report import Row
from tests.attack.serving import Studio

from langscape.studio.security import HEADERS

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE", "QUERY")
BEYOND = (
    "/",
    "/api/events",
    "/assets/none.js",
    "/favicon.ico",
    "/nowhere",
    "/api/openapi.json",
    "/docs",
    "/redoc",
)
"""Routes that the document does not name."""

ESCAPES = (
    "..", "%2e%2e", "..%2f..%2fstore.json", "....//", "%00", "%0d%0aX:%201", "~", "in-0",
    "sample-words", "0" * 300,
    "%ff%fe", "{id}", "__proto__", "C:%5C", "%252e%252e", ".", "*", "?", "%3f", ";",
    "a%2f..%2f..%2fetc%2fpasswd",
)  # fmt: skip
"""What may stand in a path where an id is wanted."""


def run(budget: Budget) -> Iterator[Row]:
    """A row each: strangers, answers, and paths."""
    with tempfile.TemporaryDirectory() as folder, Studio(Path(folder) / "store") as studio:
        routes = sorted({*paths_of(studio), *BEYOND})
        yield strangers(studio, routes, budget)
        yield escapes(studio, routes, budget)
        yield broken_requests(studio)


def paths_of(studio: Studio) -> list[str]:
    """Every path of the OpenAPI document, its parameters filled with something."""
    document = studio.client.get("/api/openapi.json").json
    found = list(document["paths"])
    if len(found) < 8:
        raise AssertionError(f"the OpenAPI document names {len(found)} routes only: {found}")
    return [re.sub(r"\{[^}]*\}", "x", path) for path in found]


def session_of(studio: Studio) -> tuple[str, str]:
    """Cookie and key of a session, opened as a browser does by the printed address, which opens no other."""
    path = "/" + studio.address.partition("/?")[2].join(("?", ""))
    host = [("Host", f"127.0.0.1:{studio.client.port}")]
    status, headers, body = send(studio.client.port, "GET", path, host)
    key = re.search(rb'name="langscape-key" content="([^"]+)"', body)
    if status != 200 or key is None:
        raise AssertionError(f"the printed address is answered {status} {body[:200]!r}")
    status, _, body = send(studio.client.port, "GET", path, host)
    if status != 401:
        raise AssertionError(f"the printed address is answered a second time: {status} {body[:200]!r}")
    return headers["set-cookie"].partition(";")[0].partition("=")[2], key[1].decode()


COOKIE_ALONE = "the cookie of a session without its key"


def is_open(path: str, method: str, lacking: str) -> bool:
    """What is answered to anyone, or to whoever has a cookie, since it is no secret: the page and its files.

    A link on another site may lead to the first page, too: that is how the printed address is opened.
    """
    if path == "/" and "begins" in lacking:
        return True
    has_cookie = lacking in (COOKIE_ALONE, "a cookie with a guessed key", "a cookie for its key")
    return has_cookie and method == "GET" and not path.startswith("/api/")


def credentials(studio: Studio) -> dict[str, list[tuple[str, str]]]:
    """Headers that must not be let in: each lacks something, or has something that is not ours."""
    port, token = studio.client.port, studio.client.key
    own, key = session_of(studio)
    host, bearer = ("Host", f"127.0.0.1:{port}"), ("Authorization", f"Bearer {token}")
    cookie = f"langscape-{port}"
    wrong: dict[str, list[tuple[str, str]]] = {
        "nothing": [host],
        "an empty bearer": [host, ("Authorization", "Bearer ")],
        "a guessed bearer": [host, ("Authorization", "Bearer guessed")],
        "half the token": [host, ("Authorization", f"Bearer {token[: len(token) // 2]}")],
        "the token and more": [host, ("Authorization", f"Bearer {token}x")],
        "the token in capitals": [host, ("Authorization", f"Bearer {token.swapcase()}")],
        "letters beyond ASCII": [host, ("Authorization", "Bearer tök\xe9n")],
        "another scheme": [host, ("Authorization", f"Basic {token}")],
        "a guessed cookie": [host, ("Cookie", f"{cookie}=guessed")],
        "an empty cookie": [host, ("Cookie", f"{cookie}=")],
        "the token as cookie": [host, ("Cookie", f"{cookie}={token}")],
        "a cookie that is none": [host, ("Cookie", "=;=;\x01;;;" + cookie)],
        "many cookies": [host, ("Cookie", "; ".join(f"{cookie}={i}" for i in range(200)))],
        "the token in a header of ours": [host, ("X-Token", token)],
        "the key of a session without its cookie": [host, ("Langscape-Key", key)],
        "the key of a session for a token": [host, ("Authorization", f"Bearer {key}")],
        COOKIE_ALONE: [host, ("Cookie", f"{cookie}={own}")],
        "a cookie with a guessed key": [host, ("Cookie", f"{cookie}={own}"), ("Langscape-Key", "guessed")],
        "a cookie for its key": [host, ("Cookie", f"{cookie}={own}"), ("Langscape-Key", own)],
        "a key for its cookie": [host, ("Cookie", f"{cookie}={key}"), ("Langscape-Key", key)],
        "the cookie of another port": [
            host,
            ("Cookie", f"langscape-{port + 1}={own}"),
            ("Langscape-Key", key),
        ],
        "a foreign host": [("Host", "evil.example"), bearer],
        "a foreign host with our port": [("Host", f"evil.example:{port}"), bearer],
        "our host without a port": [("Host", "127.0.0.1"), bearer],
        "our host with another port": [("Host", f"127.0.0.1:{port + 1}"), bearer],
        "our host and another": [host, ("Host", "evil.example"), bearer],
        "an empty host": [("Host", ""), bearer],
        "our host with a dot": [("Host", f"localhost.:{port}"), bearer],
        "our host below another": [("Host", f"127.0.0.1.evil.example:{port}"), bearer],
        "our host as a user": [("Host", f"127.0.0.1:{port}@evil.example"), bearer],
        "a number for our host": [("Host", f"2130706433:{port}"), bearer],
    }
    for origin in (
        "http://evil.example", "null", "https://127.0.0.1", f"http://127.0.0.1:{port + 1}", f"https://127.0.0.1:{port}",
        "http://localhost", f"http://127.0.0.1:{port}.evil.example", f"http://127.0.0.1:{port}/", "", "file://",
    ):  # fmt: skip
        wrong[f"the origin {origin or 'nothing'}"] = [host, ("Origin", origin), bearer]
    for site in ("cross-site", "same-site"):
        wrong[f"a request that begins {site}"] = [host, ("Sec-Fetch-Site", site), bearer]
    wrong["our origin and a foreign one"] = [
        host, ("Origin", f"http://127.0.0.1:{port}"), ("Origin", "http://evil.example"), bearer,
    ]  # fmt: skip
    return wrong


def strangers(studio: Studio, routes: list[str], budget: Budget) -> Row:
    """Every route × method × wrong credential; of the small budget a part, drawn with a fixed seed."""
    wrong = credentials(studio)
    matrix = [one for one in itertools.product(routes, METHODS, wrong) if not is_open(*one)]
    if not budget.every:
        matrix = random.Random(0).sample(matrix, 400)
    findings, refused = [], 0
    for path, method, lacking in matrix:
        status, headers, body = send(studio.client.port, method, path, wrong[lacking])
        said = told_wrong(path, method, lacking, status, headers, body)
        refused += said is None
        if said:
            findings.append(f"{method} {path} with {lacking}: {said}")
    return Row(
        "guard",
        "Without the token and from elsewhere nothing is answered: no route, no method",
        f"{len(matrix):,} requests: {len(routes)} routes × {len(METHODS)} methods × {len(wrong)} credentials",
        f"{refused:,} refused",
        findings,
    )


def told_wrong(
    path: str, method: str, lacking: str, status: int, headers: dict[str, str], body: bytes
) -> str | None:
    """What is wrong with a refusal; None if nothing is."""
    if status not in (400, 401, 403, 405):
        return f"answered {status}"
    for name, value in HEADERS.items():
        if headers.get(name) != value:
            return f"lacks the header {name}"
    if "access-control-allow-origin" in headers or "set-cookie" in headers or "server" in headers:
        return "carries a header that it must not"
    if method == "HEAD" or headers.get("content-type", "").startswith("text/html"):
        return None
    try:
        code = json.loads(body)["error"]["code"]
    except (ValueError, KeyError, TypeError):
        return f"is not in the one shape: {body[:60]!r}"
    # what is no HTTP, such as two hosts, is refused before anything else is looked at
    right = ("bad_request",) if status == 400 else ("no_session", "bad_host", "bad_origin")
    return None if code in right else f"says {code}"


def escapes(studio: Studio, routes: list[str], budget: Budget) -> Row:
    """With the right credentials: odd ids and queries lead nowhere, and make nothing fault."""
    document = studio.client.get("/api/openapi.json").json["paths"]
    asked = []
    for path, method in ((p, m.upper()) for p, methods in document.items() for m in methods):
        places = path.count("{")
        for odd in ESCAPES if places else ():
            asked.append((method, re.sub(r"\{[^}]*\}", lambda _, odd=odd: odd, path)))
        for odd in (*STATEMENTS, *NAMES)[:: 1 if budget.every else 8]:
            quoted = "".join(f"%{byte:02x}" for byte in odd[:500].encode("utf-8", "replace"))
            filled = re.sub(r"\{[^}]*\}", "x", path)
            asked.append(
                (method, f"{filled}?kind={quoted}&name={quoted}&view={quoted}&format={quoted}&{quoted}=1")
            )
    findings, good = [], 0
    right = [("Host", f"127.0.0.1:{studio.client.port}"), ("Authorization", f"Bearer {studio.client.key}")]
    for method, path in asked:
        status, headers, body = send(studio.client.port, method, path, right)
        fine = status < 500 and b"root:" not in body and b"Traceback" not in body
        fine = (
            fine and str(studio.process.cwd()).encode() not in body and headers.get("content-security-policy")
        )
        good += bool(fine)
        if not fine:
            findings.append(f"{method} {path[:120]}: {status} {body[:100]!r}")
    return Row(
        "guard",
        "No path, id or query leads out of the studio or makes it fault",
        f"{len(asked):,} odd requests with the right token",
        f"{good:,} answered in order",
        findings,
    )


def broken_requests(studio: Studio) -> Row:
    """Bytes that are no HTTP, and clients that go away in the middle: the studio stands."""
    port, token = studio.client.port, studio.client.key
    head = f"Host: 127.0.0.1:{port}\r\nAuthorization: Bearer {token}\r\n"
    chunked, key = "Transfer-Encoding: chunked\r\n", "Sec-WebSocket-Key: a\r\n"
    sent = [
        b"", b"\x00" * 100, b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"GET / HTTP/1.1\r\n" + b"a: b\r\n" * 5000 + b"\r\n",
        b"GET /" + b"a" * 200_000 + b" HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\n" + b"x" * 200_000,
        f"POST /api/jobs HTTP/1.1\r\n{head}Content-Length: -1\r\n\r\n{{}}".encode(),
        f"POST /api/jobs HTTP/1.1\r\n{head}Content-Length: 5\r\nContent-Length: 6\r\n\r\n{{}}".encode(),
        f"POST /api/jobs HTTP/1.1\r\n{head}{chunked}Content-Length: 3\r\n\r\nffffffff\r\n".encode(),
        f"POST /api/jobs HTTP/1.1\r\n{head}Transfer-Encoding: chunked\r\n\r\nZZ\r\n".encode(),
        f"POST /api/jobs HTTP/1.1\r\n{head}Expect: 100-continue\r\nContent-Length: 10\r\n\r\n".encode(),
        f"POST /api/inputs?kind=text HTTP/1.1\r\n{head}Content-Length: 100000\r\n\r\nhalf".encode(),
        f"GET /api/events HTTP/1.1\r\n{head}\r\n".encode(),
        f"GET /api/jobs HTTP/1.1\r\n{head}Upgrade: websocket\r\nConnection: Upgrade\r\n{key}\r\n".encode(),
        f"GET http://evil.example/api/jobs HTTP/1.1\r\n{head}\r\n".encode(),
        f"GET /api/jobs HTTP/1.1\r\n{head}\r\n".encode() * 50,
    ]  # fmt: skip
    findings = []
    for raw in sent:
        for wait in (False, True):
            with socket.create_connection(("127.0.0.1", port), timeout=10) as one:
                try:
                    one.sendall(raw)
                    if wait:
                        one.settimeout(0.3)
                        one.recv(4096)
                except OSError:
                    pass  # it closed, or waits for more
        if studio.client.get("/api/about").status != 200:
            findings.append(f"after {raw[:60]!r} the studio does not answer")
    if muttered := studio.errors():
        findings.append(f"it wrote to the terminal: {muttered[-300:]}")
    return Row(
        "guard",
        "Bytes that are no request, and clients that go away, leave the studio standing and silent",
        f"{2 * len(sent)} broken connections",
        "answers after each, and writes nothing to the terminal" if not findings else "does not",
        findings,
    )


def send(
    port: int, method: str, path: str, headers: list[tuple[str, str]]
) -> tuple[int, dict[str, str], bytes]:
    """One request, its headers as they are given, and what came back: at most the first bytes of a stream."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    try:
        lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers)]
        lines += ["Content-Length: 0"] * (method in ("POST", "PUT", "PATCH")) + ["Connection: close", "", ""]
        connection.connect()
        connection.sock.sendall("\r\n".join(lines).encode("latin-1"))
        answer: Any = http.client.HTTPResponse(connection.sock, method=method)
        answer.begin()
        told = {name.lower(): value for name, value in answer.getheaders()}
        body = answer.read1(4096) if "event-stream" in told.get("content-type", "") else answer.read()
        return answer.status, told, body
    finally:
        connection.close()
