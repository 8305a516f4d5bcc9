"""Who is let in, what is refused, and what every answer carries."""

from __future__ import annotations

import re
import socket
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from langscape.errors import SettingsError
from langscape.studio.access import Access, check_loopback
from langscape.studio.security import POLICY


def token_path(access):
    """A new address, as the client asks for it."""
    return "/" + access.new_address().split("/")[-1]


def enter(running, path=None):
    """A session: the headers that a browser and its page send."""
    got = running.client.get(path or token_path(running.access), headers={})
    assert got.status == 200
    key = re.search(rb'name="langscape-key" content="([^"]+)"', got.body)
    assert key is not None
    return {"Cookie": got.headers["set-cookie"].split(";")[0], "Langscape-Key": key[1].decode()}


def test_a_token_is_exchanged_for_a_strict_cookie_and_a_key_which_let_in_together(running):
    got = running.client.get(token_path(running.access), headers={})
    assert "HttpOnly" in got.headers["set-cookie"]
    assert "SameSite=Strict" in got.headers["set-cookie"]
    assert got.headers["cache-control"] == "no-store"
    session = enter(running)
    assert session["Langscape-Key"] not in session["Cookie"]
    assert running.client.get("/api/jobs", headers=session).status == 200


@pytest.mark.parametrize("path", ["/api/about", "/api/jobs", "/api/events", "/api/openapi.json"])
def test_a_cookie_that_was_sent_to_another_port_is_worth_nothing_there(running, path):
    session, other = enter(running), enter(running)
    stolen = {"Cookie": session["Cookie"]}
    for sent in (
        stolen,
        {**stolen, "Langscape-Key": ""},
        {**stolen, "Langscape-Key": other["Langscape-Key"]},
    ):
        assert running.client.get(path, headers=sent).error["code"] == "no_session"
    # neither the page nor another token gives the key that belongs to the cookie
    page = running.client.get("/", headers=stolen)
    assert session["Langscape-Key"].encode() not in page.body
    assert running.client.post("/api/jobs", b"{}", headers=stolen).error["code"] == "no_session"


def test_a_key_without_its_cookie_is_worth_nothing(running):
    key = {"Langscape-Key": enter(running)["Langscape-Key"]}
    assert running.client.get("/api/jobs", headers=key).error["code"] == "no_session"


def test_cookies_of_other_servers_of_this_machine_do_not_hide_ours(running):
    session = enter(running)
    for odd in ('theme={"a": [1, 2]}; ', "a b c; ;; =; ", f"{running.access.cookie}=older; "):
        sent = {**session, "Cookie": odd + session["Cookie"]}
        assert running.client.get("/api/jobs", headers=sent).status == 200


def test_a_token_works_once_and_the_second_time_says_how_to_get_another(running):
    path = token_path(running.access)
    session = enter(running, path)
    again = running.client.get(path, headers={})
    assert again.status == 401
    assert b"used already" in again.body
    assert b"terminal" in again.body
    assert "set-cookie" not in again.headers
    # the browser that used it may reload it
    reloaded = running.client.get(path, headers={"Cookie": session["Cookie"]})
    assert (reloaded.status, reloaded.headers["location"]) == (303, "/")


def test_of_many_that_use_a_token_at_once_one_gets_in(running):
    path = token_path(running.access)
    with ThreadPoolExecutor(16) as pool:
        got = list(pool.map(lambda _: running.client.get(path, headers={}).status, range(16)))
    assert sorted(got) == [200] + [401] * 15


def test_a_look_ahead_of_the_browser_does_not_use_the_token_up(running):
    path = token_path(running.access)
    for purpose in ("prefetch", "prefetch;prerender"):
        assert running.client.get(path, headers={"Sec-Purpose": purpose}).status == 503
    enter(running, path)


def test_who_prints_addresses_is_told_when_one_was_used(running):
    told = threading.Event()
    path = "/" + running.access.new_address(used=told.set).split("/")[-1]
    assert not told.is_set()
    enter(running, path)
    assert told.wait(10)


def test_a_link_on_another_site_enters_too(running):
    got = running.client.get(token_path(running.access), headers={"Sec-Fetch-Site": "cross-site"})
    assert got.status == 200
    assert "set-cookie" in got.headers


@pytest.mark.parametrize("path", ["/api/about", "/api/jobs", "/api/events", "/assets/studio.js", "/nowhere"])
def test_nothing_is_said_to_who_has_no_session(running, path):
    guessed = {"Cookie": f"{running.access.cookie}=guessed", "Langscape-Key": "guessed"}
    for headers in ({}, guessed, {"Authorization": "Bearer guessed"}, {"Authorization": "Bearer "}):
        got = running.client.get(path, headers=headers)
        assert got.status == 401
        assert got.error["code"] == "no_session"


def test_the_first_page_says_how_to_get_in(running):
    for path in ("/", "/?token=wrong"):
        got = running.client.get(path, headers={})
        assert got.status == 401
        assert b"token=" in got.body
        assert b"terminal" in got.body


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1", "localhost:1"])
def test_a_foreign_host_is_refused_even_with_the_token(client, host):
    got = client.get("/api/jobs", headers={"Host": host, "Authorization": f"Bearer {client.key}"})
    assert got.status == 403
    assert got.error["code"] == "bad_host"


@pytest.mark.parametrize("path", ["/api/jobs", "/api/events"])
@pytest.mark.parametrize("origin", ["http://evil.example", "null", "https://127.0.0.1", "http://127.0.0.1:1"])
def test_a_foreign_origin_is_refused_on_answers_and_streams(client, path, origin):
    got = client.get(path, headers={"Origin": origin, "Authorization": f"Bearer {client.key}"})
    assert got.status == 403
    assert got.error["code"] == "bad_origin"


def test_requests_that_another_site_begins_are_refused(client):
    sent = {"Authorization": f"Bearer {client.key}", "Sec-Fetch-Site": "cross-site"}
    assert client.post("/api/jobs", b"{}", headers=sent).error["code"] == "bad_origin"


def test_our_own_origin_is_let_in_and_gets_no_leave_for_others(client):
    sent = {"Authorization": f"Bearer {client.key}", "Origin": f"http://localhost:{client.port}"}
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
    sent = {"Authorization": f"Bearer {client.key}", "Content-Length": str(10**12)}
    with socket.create_connection(("127.0.0.1", client.port), timeout=20) as raw:
        lines = [f"Host: 127.0.0.1:{client.port}", *(f"{name}: {value}" for name, value in sent.items())]
        raw.sendall(("POST /api/inputs?kind=text HTTP/1.1\r\n" + "\r\n".join(lines) + "\r\n\r\n").encode())
        assert b"413" in raw.recv(100)


def test_a_request_of_json_has_its_own_limit(client):
    got = client.post("/api/jobs", b'{"analysis": "' + b"a" * 2_100_000 + b'"}')
    assert (got.status, got.error["code"]) == (413, "too_large")


@pytest.mark.parametrize(
    "body",
    [
        b"", b"{", b"[1]", b"nonsense", b"\xff\xfe", b'{"analysis": NaN}', b'{"analysis": Infinity}',
        b"[" * 100_000,
        b'{"analysis": "words", "more": 1}',
        b'{"analysis": "\\ud800"}', b'{"analysis": ' + b"9" * 5000 + b"}",
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
        Access(host, 1)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1", "127.0.0.53"])
def test_loopback_is_listened_to(host):
    check_loopback(host)
    assert f"{f'[{host}]' if ':' in host else host}:9" in Access(host, 9).hosts


@pytest.mark.slow
def test_the_command_refuses_another_host_without_a_traceback(tmp_path):
    command = [sys.executable, "-m", "langscape.cli", "studio", "--host", "0.0.0.0", "--store", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 1
    assert "ssh -L" in done.stderr
    assert "Traceback" not in done.stderr
