"""Clients that send too slowly, too much, half of it, or nothing, over sockets of their own."""

from __future__ import annotations

import asyncio
import gc
import logging
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing

import pytest

from langscape.studio import connection, security
from langscape.studio.serve import bind


@pytest.fixture
def impatient(monkeypatch):
    """The same limits, sooner."""
    monkeypatch.setattr(connection, "HEAD_WAIT", 0.6)
    monkeypatch.setattr(connection, "LINGER", 0.6)
    monkeypatch.setattr(connection, "STALL", 0.6)
    monkeypatch.setattr(security, "BODY_WAIT", 0.6)


@pytest.fixture
def logged():
    """What the server has to say in the terminal: nothing, at the end of each test that asks for it."""
    records: list[logging.LogRecord] = []
    handler = logging.Handler()
    handler.emit = records.append  # type: ignore[method-assign]
    loggers = [logging.getLogger(name) for name in ("uvicorn.error", "asyncio")]
    for one in loggers:
        one.addHandler(handler)
    yield records
    gc.collect()  # a task whose error nobody looked at says so when it goes
    for one in loggers:
        one.removeHandler(handler)
    assert [record.getMessage() for record in records] == []


def line(client):
    return closing(socket.create_connection(("127.0.0.1", client.port), timeout=20))


def head(client, first, *more):
    lines = [first, f"Host: 127.0.0.1:{client.port}", f"Authorization: Bearer {client.key}", *more]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def all_of(raw):
    """Everything until the other side ends the connection."""
    got = b""
    try:
        while more := raw.recv(65536):
            got += more
    except ConnectionResetError:
        pass
    return got


def one_of(raw):
    """One answer in JSON."""
    got = b""
    while not got.endswith(b"}"):
        more = raw.recv(65536)
        assert more, got
        got += more
    return got


def drip(raw, data, pause=0.05):
    """Send byte by byte until the other side has had enough; returns the seconds it took."""
    began = time.monotonic()
    try:
        for at in range(len(data)):
            raw.sendall(data[at : at + 1])
            time.sleep(pause)
    except OSError:
        pass
    return time.monotonic() - began


def test_a_head_that_comes_byte_by_byte_is_given_up(client, impatient):
    with line(client) as raw:
        assert drip(raw, b"GET /api/about HTTP/1.1\r\n" + b"X-A: " + b"a" * 200) < 5
    with line(client) as raw:
        raw.sendall(b"GET /api/about HTTP/1.1\r\nX-Half: ")
        got = all_of(raw)
    assert got.startswith(b"HTTP/1.1 408 ")
    assert b'"too_slow"' in got
    assert security.POLICY.encode() in got


def test_a_connection_that_asks_nothing_is_ended(client, impatient):
    with line(client) as raw:
        assert all_of(raw) == b""


def test_a_second_request_has_no_more_time_than_the_first(client, impatient):
    with line(client) as raw:
        raw.sendall(head(client, "GET /api/jobs HTTP/1.1"))
        assert one_of(raw).startswith(b"HTTP/1.1 200 ")
        assert drip(raw, b"GET /api/jobs HTTP/1.1\r\nX-A: " + b"a" * 200) < 5


@pytest.mark.slow
@pytest.mark.parametrize("path", ["/api/inputs?kind=text&name=a.txt", "/api/jobs", "/api/insert"])
def test_a_body_that_comes_byte_by_byte_is_given_up(client, impatient, path):
    with line(client) as raw:
        raw.sendall(head(client, f"POST {path} HTTP/1.1", "Content-Length: 1000000"))
        assert drip(raw, b"a" * 200) < 6
    with line(client) as raw:
        raw.sendall(head(client, f"POST {path} HTTP/1.1", "Content-Length: 1000000") + b"abc")
        got = all_of(raw)
    assert got.startswith(b"HTTP/1.1 408 ")
    assert b"3 bytes" in got


def test_a_body_that_comes_steadily_is_taken_however_long_it_takes(client, impatient, monkeypatch):
    monkeypatch.setattr(security, "BODY_RATE", 100.0)
    text = b"a steady text. " * 40
    with line(client) as raw:
        more = (f"Content-Length: {len(text)}", "Connection: close")
        raw.sendall(head(client, "POST /api/inputs?kind=text&name=a.txt HTTP/1.1", *more))
        began = time.monotonic()
        for at in range(0, len(text), 30):
            raw.sendall(text[at : at + 30])
            time.sleep(0.06)
        assert time.monotonic() - began > 1.0
        assert all_of(raw).startswith(b"HTTP/1.1 201 ")


@pytest.mark.parametrize("first", ["GET /api/jobs", "POST /api/nowhere", "POST /", "GET /"])
def test_a_body_that_nobody_reads_does_not_keep_the_connection(client, impatient, first):
    with line(client) as raw:
        raw.sendall(head(client, f"{first} HTTP/1.1", "Content-Length: 100000"))
        assert raw.recv(65536).startswith(b"HTTP/1.1 ")
        assert drip(raw, b"a" * 200) < 5


def test_a_body_that_is_complete_after_its_answer_leaves_the_connection_usable(client):
    with line(client) as raw:
        raw.sendall(head(client, "GET /api/jobs HTTP/1.1", "Content-Length: 3"))
        assert one_of(raw).startswith(b"HTTP/1.1 200 ")
        raw.sendall(b"abc" + head(client, "GET /api/jobs HTTP/1.1", "Connection: close"))
        assert all_of(raw).startswith(b"HTTP/1.1 200 ")


def test_a_stream_whose_request_never_ends_is_ended_without_a_traceback(client, impatient, logged):
    with line(client) as raw:
        raw.sendall(head(client, "GET /api/events HTTP/1.1", "Content-Length: 10"))
        got = all_of(raw)
    assert got.startswith(b"HTTP/1.1 200 ")
    assert got.endswith(b"0\r\n\r\n")


@pytest.mark.slow
def test_an_answer_that_nobody_takes_is_given_up(running, client, impatient, monkeypatch):
    monkeypatch.setattr(running._parts["inputs"], "all", lambda: ["a" * 50_000_000])
    with line(client) as raw:
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        raw.sendall(head(client, "GET /api/inputs HTTP/1.1"))
        until = time.monotonic() + 20
        while True:  # nothing is taken: a reset shows as an error of the socket itself
            if raw.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
                break
            assert time.monotonic() < until
            time.sleep(0.05)


@pytest.mark.slow
def test_an_answer_that_is_taken_slowly_comes_whole(running, client, impatient, monkeypatch):
    monkeypatch.setattr(running._parts["inputs"], "all", lambda: ["a" * 20_000_000])
    got = 0
    with line(client) as raw:
        raw.sendall(head(client, "GET /api/inputs HTTP/1.1", "Connection: close"))
        while more := raw.recv(1_000_000):
            got += len(more)
            time.sleep(0.1)
    assert got > 20_000_000


def test_too_many_headers_and_too_long_ones_are_refused(client):
    with line(client) as raw:
        raw.sendall(head(client, "GET /api/jobs HTTP/1.1", *(f"X-{at}: 1" for at in range(200))))
        got = one_of(raw)
    assert got.startswith(b"HTTP/1.1 431 ")
    assert b"202 headers; at most 100" in got
    with line(client) as raw:
        raw.sendall(head(client, "GET /api/jobs HTTP/1.1", "X-Long: " + "a" * 17_000))
        assert raw.recv(65536).startswith((b"HTTP/1.1 431 ", b"HTTP/1.1 400 "))
    with line(client) as raw:
        raw.sendall(head(client, f"GET /api/jobs?a={'a' * 17_000} HTTP/1.1"))
        assert raw.recv(65536).startswith((b"HTTP/1.1 431 ", b"HTTP/1.1 400 "))


def test_many_that_only_connect_keep_nobody_out(client, monkeypatch):
    monkeypatch.setattr(connection, "MOST", 20)
    with ExitStack() as stack:
        lines = [stack.enter_context(line(client)) for _ in range(40)]
        assert client.get("/api/jobs").status == 200
        ended = 0
        for raw in lines:
            raw.setblocking(False)
            try:
                ended += raw.recv(10) == b""
            except BlockingIOError:
                pass
            except ConnectionResetError:
                ended += 1
    assert ended >= 20


@pytest.mark.parametrize(
    "data",
    [
        b"nonsense\r\n\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00",
        b"GET / HTTP/9\r\n\r\n",
    ],
)
def test_what_is_no_request_is_said_to_be_none_and_nothing_is_logged(client, impatient, logged, data):
    with line(client) as raw:
        raw.sendall(data)
        got = all_of(raw)
    assert got.startswith(b"HTTP/1.1 4")
    assert b'{"error"' in got


@pytest.mark.parametrize("to", ["websocket", "h2c", "TLS/1.0"])
def test_another_protocol_is_not_spoken_and_nothing_is_logged(client, logged, to):
    more = (f"Upgrade: {to}", "Connection: Upgrade", "Sec-WebSocket-Key: a", "Sec-WebSocket-Version: 13")
    with line(client) as raw:
        raw.sendall(head(client, "GET /api/jobs HTTP/1.1", *more))
        assert raw.recv(65536).startswith(b"HTTP/1.1 200 ")
    with line(client) as raw:
        raw.sendall(head(client, "GET /api/jobs HTTP/1.1", *more).replace(client.key.encode(), b"guessed"))
        assert raw.recv(65536).startswith(b"HTTP/1.1 401 ")


def test_nonsense_after_an_answer_has_begun_ends_the_connection_and_nothing_is_logged(client, logged):
    with line(client) as raw:
        raw.sendall(head(client, "GET /api/events HTTP/1.1", "Transfer-Encoding: chunked"))
        assert raw.recv(65536).startswith(b"HTTP/1.1 200 ")
        raw.sendall(b"zzz no chunk\r\n")
        assert b"HTTP/1.1" not in all_of(raw)
    assert client.get("/api/jobs").status == 200


@pytest.mark.parametrize("path", ["/api/inputs?kind=vectors&name=a.txt", "/api/jobs"])
def test_who_goes_away_while_sending_is_no_news(client, held, logged, path):
    before = set((held.root / "aside").iterdir())
    with line(client) as raw:
        raw.sendall(head(client, f"POST {path} HTTP/1.1", "Content-Length: 1000000") + b"a" * 1000)
        time.sleep(0.1)
    until = time.monotonic() + 10
    while set((held.root / "aside").iterdir()) - before:
        assert time.monotonic() < until
        time.sleep(0.02)
    assert client.get("/api/jobs").status == 200


def test_who_goes_away_while_listening_or_reading_is_no_news(running, client, logged, monkeypatch):
    for _ in range(5):
        with line(client) as raw:
            raw.sendall(head(client, "GET /api/events HTTP/1.1"))
            raw.recv(100)
    monkeypatch.setattr(running._parts["inputs"], "all", lambda: ["a" * 20_000_000])
    with line(client) as raw:
        raw.sendall(head(client, "GET /api/inputs HTTP/1.1"))
        raw.recv(100)
    until = time.monotonic() + 10
    while running._parts["events"]._listeners:
        assert time.monotonic() < until
        time.sleep(0.02)
    assert client.get("/api/jobs").status == 200


@pytest.mark.slow
def test_a_studio_that_ends_while_pages_listen_says_nothing(start_apart):
    one = start_apart()
    with line(one.client) as raw:
        raw.sendall(head(one.client, "GET /api/events HTTP/1.1"))
        raw.recv(100)
        began = time.monotonic()
        said = one.stop()
        assert all_of(raw).endswith(b"0\r\n\r\n")
    assert said == ""
    assert time.monotonic() - began < 8


def test_an_answer_does_not_wait_between_its_head_and_its_body():
    async def served():
        with closing(bind("127.0.0.1", 0, 1)) as bound:
            seen = asyncio.get_running_loop().create_future()
            server = await asyncio.start_server(lambda _, writer: seen.set_result(writer), sock=bound)
            async with server:
                _, out = await asyncio.open_connection(*bound.getsockname())
                line = (await seen).get_extra_info("socket")
                assert line.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
                out.close()
                (await seen).close()

    with ThreadPoolExecutor(1) as apart:  # a browser test may have left its loop in this thread
        apart.submit(asyncio.run, served()).result()
