"""Who is let in, what is refused, and what every answer carries."""

from __future__ import annotations

import socket
import subprocess
import sys

import pytest

from langscape.errors import SettingsError
from langscape.studio.guard import POLICY, Pass, check_loopback


def cookie_of(running):
    got = running.client.get(f"/?token={running.allowed.token}", headers={})
    assert got.status == 303
    assert got.headers["location"] == "/"
    return got.headers["set-cookie"]


def test_the_token_is_exchanged_for_a_strict_cookie_that_lets_in(running):
    cookie = cookie_of(running)
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert running.allowed.token not in cookie
    kept = {"Cookie": cookie.split(";")[0]}
    assert running.client.get("/api/jobs", headers=kept).status == 200


def test_a_link_on_another_site_enters_by_a_page_of_ours_for_a_redirect_would_lose_the_cookie(running):
    path = f"/?token={running.allowed.token}"
    got = running.client.get(path, headers={"Sec-Fetch-Site": "cross-site"})
    assert got.status == 200
    assert b'http-equiv="refresh"' in got.body
    assert "set-cookie" in got.headers


@pytest.mark.parametrize("path", ["/api/about", "/api/jobs", "/api/events", "/assets/studio.js", "/nowhere"])
def test_nothing_is_said_to_who_has_no_session(running, path):
    for headers in ({}, {"Cookie": f"{running.allowed.cookie}=guessed"}, {"Authorization": "Bearer guessed"}):
        got = running.client.get(path, headers=headers)
        assert got.status == 401
        assert got.error["code"] == "no_session"


def test_the_first_page_says_how_to_get_in(running):
    for path in ("/", "/?token=wrong"):
        got = running.client.get(path, headers={})
        assert got.status == 401
        assert b"token=" in got.body
        assert running.allowed.token.encode() not in got.body


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1", "localhost:1"])
def test_a_foreign_host_is_refused_even_with_the_token(client, host):
    got = client.get("/api/jobs", headers={"Host": host, "Authorization": f"Bearer {client.token}"})
    assert got.status == 403
    assert got.error["code"] == "bad_host"


@pytest.mark.parametrize("path", ["/api/jobs", "/api/events"])
@pytest.mark.parametrize("origin", ["http://evil.example", "null", "https://127.0.0.1", "http://127.0.0.1:1"])
def test_a_foreign_origin_is_refused_on_answers_and_streams(client, path, origin):
    got = client.get(path, headers={"Origin": origin, "Authorization": f"Bearer {client.token}"})
    assert got.status == 403
    assert got.error["code"] == "bad_origin"


def test_requests_that_another_site_begins_are_refused(client):
    sent = {"Authorization": f"Bearer {client.token}", "Sec-Fetch-Site": "cross-site"}
    assert client.post("/api/jobs", b"{}", headers=sent).error["code"] == "bad_origin"


def test_our_own_origin_is_let_in_and_gets_no_leave_for_others(client):
    sent = {"Authorization": f"Bearer {client.token}", "Origin": f"http://localhost:{client.port}"}
    got = client.get("/api/jobs", headers=sent)
    assert got.status == 200
    assert not [name for name in got.headers if name.startswith("access-control")]


@pytest.mark.parametrize("path", ["/", "/api/jobs", "/api/nothing", "/api/about"])
def test_every_answer_carries_the_policy(client, path):
    for headers in (None, {}):
        got = client.get(path, headers=headers)
        assert got.headers["content-security-policy"] == POLICY
        assert got.headers["x-content-type-options"] == "nosniff"
        assert got.headers["referrer-policy"] == "no-referrer"
        assert "server" not in got.headers
    assert "unsafe" not in POLICY


@pytest.mark.parametrize(
    "path",
    [
        "/../../pyproject.toml",
        "/assets/../../../../etc/passwd",
        "/assets/%2e%2e/%2e%2e/app.py",
        "/..%2f..%2fapp.py",
        "//etc/passwd",
        "/api/jobs/..%2f..%2fstore.json",
        "/api/inputs/..%2fstore.json/text",
        "/api/jobs/x/views/../../../store.json",
    ],
)
def test_no_path_leads_out(client, path):
    got = client.get(path)
    assert got.status == 404
    assert got.error["code"] == "not_found"


def test_a_body_that_is_too_large_is_refused_before_it_is_read(client):
    sent = {"Authorization": f"Bearer {client.token}", "Content-Length": str(10**12)}
    with socket.create_connection(("127.0.0.1", client.port), timeout=20) as raw:
        lines = [f"Host: 127.0.0.1:{client.port}", *(f"{name}: {value}" for name, value in sent.items())]
        raw.sendall(("POST /api/inputs?kind=text HTTP/1.1\r\n" + "\r\n".join(lines) + "\r\n\r\n").encode())
        assert b"413" in raw.recv(100)


def test_a_request_of_json_has_its_own_limit(client):
    got = client.post("/api/jobs", b'{"ask": "' + b"a" * 2_100_000 + b'"}')
    assert (got.status, got.error["code"]) == (413, "too_large")


@pytest.mark.parametrize(
    "body",
    [
        b"", b"{", b"[1]", b"nonsense", b"\xff\xfe", b'{"ask": NaN}', b'{"ask": Infinity}', b"[" * 100_000,
        b'{"ask": "words", "more": 1}', b'{"ask": "\\ud800"}', b'{"ask": ' + b"9" * 5000 + b"}",
    ],
)  # fmt: skip
def test_what_is_no_request_is_refused_in_one_shape(client, body):
    got = client.post("/api/jobs", body)
    assert (got.status, got.error["code"]) == (400, "bad_request")


@pytest.mark.parametrize(("method", "path"), [("PUT", "/api/jobs"), ("DELETE", "/api/about"), ("POST", "/")])
def test_other_methods_are_refused_in_the_same_shape(client, method, path):
    got = client.send(method, path)
    assert (got.status, got.error["code"]) == (405, "not_allowed")


@pytest.mark.parametrize("host", ["0.0.0.0", "192.168.1.7", "::", "example.org", ""])
def test_other_machines_are_not_listened_to_and_the_refusal_says_what_to_do(host):
    with pytest.raises(SettingsError, match="ssh -L"):
        check_loopback(host)
    with pytest.raises(SettingsError):
        Pass(host, 1)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1", "127.0.0.53"])
def test_loopback_is_listened_to(host):
    check_loopback(host)
    assert f"{f'[{host}]' if ':' in host else host}:9" in Pass(host, 9).hosts


@pytest.mark.slow
def test_the_command_refuses_another_host_without_a_traceback(tmp_path):
    command = [sys.executable, "-m", "langscape.cli", "studio", "--host", "0.0.0.0", "--store", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 1
    assert "ssh -L" in done.stderr
    assert "Traceback" not in done.stderr
