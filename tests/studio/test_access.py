"""The secrets of a studio: where they are, who can read them, and what a restart leaves of them."""

from __future__ import annotations

import errno
import json
import os
import stat
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from pathlib import Path

import pytest
from test_guard import enter, token_path

from langscape.errors import DataError
from langscape.store import Store
from langscape.studio import access as module
from langscape.studio.access import Access
from langscape.studio.browser import open_browser


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def open_umask():
    """Files would be readable by all, as most systems have it."""
    before = os.umask(0o022)
    yield
    os.umask(before)


def test_a_session_goes_on_after_a_restart_on_the_same_store_and_port(tmp_path):
    first = Access("127.0.0.1", 9, tmp_path)
    session = first.open_session(first.new_address().split("=")[-1])
    assert session is not None
    second = Access("127.0.0.1", 9, tmp_path)
    assert second.is_session(*session)
    assert not second.is_session(session.cookie, session.cookie)
    assert second.bearer != first.bearer
    for other in (Access("127.0.0.1", 10, tmp_path), Access("127.0.0.1", 9, tmp_path / "other")):
        assert not other.has_cookie(session.cookie)


def test_only_hashes_of_sessions_are_kept_and_only_for_this_user(tmp_path, open_umask):
    access = Access("127.0.0.1", 9, tmp_path / "studio")
    session = access.open_session(access.new_address().split("=")[-1])
    assert session is not None
    access.publish()
    files = list((tmp_path / "studio").iterdir())
    assert sorted(file.name for file in files) == ["9.key", "9.sessions.json"]
    assert {mode(file) for file in files} == {0o600}
    assert mode(tmp_path / "studio") == 0o700
    kept = (tmp_path / "studio" / "9.sessions.json").read_text()
    assert session.cookie not in kept
    assert session.key not in kept


@pytest.mark.parametrize("kept", ["", "{", "3", "[3]", '[{"cookie": 1}]', "[" * 100_000, '{"a": 1}', "null"])
def test_a_damaged_file_of_sessions_costs_the_sessions_alone(tmp_path, kept):
    (tmp_path / "9.sessions.json").write_text(kept)
    access = Access("127.0.0.1", 9, tmp_path)
    session = access.open_session(access.new_address().split("=")[-1])
    assert session is not None
    assert Access("127.0.0.1", 9, tmp_path).is_session(*session)


def test_sessions_end_after_a_week_and_the_oldest_when_there_are_many(tmp_path, monkeypatch):
    access = Access("127.0.0.1", 9, tmp_path)
    opened = [
        access.open_session(access.new_address().split("=")[-1]) for _ in range(module.MOST_SESSIONS + 1)
    ]
    assert [access.has_cookie(one.cookie) for one in opened if one] == [False] + [True] * module.MOST_SESSIONS
    kept = json.loads((tmp_path / "9.sessions.json").read_text())
    monkeypatch.setattr(module.time, "time", lambda: kept[-1]["made"] + module.LASTING + 1)
    assert not any(access.has_cookie(one.cookie) for one in opened if one)
    assert not any(Access("127.0.0.1", 9, tmp_path).has_cookie(one.cookie) for one in opened if one)


def test_the_key_for_programs_goes_with_the_studio_that_wrote_it(tmp_path):
    first, second = Access("127.0.0.1", 9, tmp_path), Access("127.0.0.1", 9, tmp_path)
    first.publish()
    second.publish()
    first.withdraw()
    assert (tmp_path / "9.key").read_text() == second.bearer
    second.withdraw()
    assert not (tmp_path / "9.key").exists()


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["stop", "kill"])
def test_a_browser_goes_on_when_the_studio_is_started_again(start_apart, tmp_path, ending):
    first = start_apart()
    session = enter(first, "/" + first.address.split("/")[-1])
    assert first.client.get("/api/jobs", headers=session).status == 200
    key = tmp_path / "store" / "studio" / f"{first.port}.key"
    assert key.exists()
    getattr(first, ending)()
    if ending == "stop":
        assert not key.exists()
    second = start_apart(first.port)
    assert second.client.get("/api/jobs", headers=session).status == 200
    old = {"Authorization": f"Bearer {first.client.key}"}
    assert second.client.get("/api/jobs", headers=old).error["code"] == "no_session"
    assert second.client.get("/" + first.address.split("/")[-1], headers={}).status == 401


def test_the_browser_is_given_a_file_of_this_user_and_never_the_token(tmp_path, monkeypatch, open_umask):
    access, opened = Access("127.0.0.1", 9), []
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.setattr("webbrowser.open", lambda address: opened.append(address) or True)
    assert open_browser(access)
    assert opened[0].startswith("file://")
    file = Path(opened[0].removeprefix("file://"))
    assert (mode(file), mode(file.parent)) == (0o600, 0o700)
    token = file.read_text().split("?token=")[1].split('"')[0]
    assert token not in opened[0]
    assert access.open_session(token) is not None
    for thread in [one for one in threading.enumerate() if one.name == "studio token"]:
        thread.join()
    assert not file.parent.exists()
    assert access.open_session(token) is None


BROWSER = """#!/bin/sh
echo "$@" > {seen}
while :; do sleep 1; done
"""


@pytest.mark.slow
def test_ps_shows_no_token_and_a_browser_that_does_not_return_keeps_nobody_waiting(tmp_path):
    seen, script = tmp_path / "seen", tmp_path / "browser"
    script.write_text(BROWSER.format(seen=seen))
    script.chmod(0o755)
    command = [sys.executable, "-m", "langscape.cli", "studio", "--port", "0", "--workers", "1"]
    environment = {**os.environ, "BROWSER": f"{script} %s", "TMPDIR": str(tmp_path)}
    process = subprocess.Popen(
        [*command, "--store", str(tmp_path / "store")],
        env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        until = time.monotonic() + 30
        while not seen.exists() or not seen.read_text():
            assert time.monotonic() < until
            time.sleep(0.05)
        assert seen.read_text().startswith("file://")
        listed = subprocess.run(
            ["ps", "-eww", "-o", "args"], capture_output=True, text=True, check=True
        ).stdout
        assert "studio.html" in listed
        assert "token=" not in "\n".join(line for line in listed.splitlines() if str(tmp_path) in line)
        with urllib.request.urlopen(address, timeout=10) as got:
            assert b"langscape-key" in got.read()
        # the next address is printed, and it works too
        following = process.stdout.readline().strip()
        assert following.startswith("http://")
        assert following != address
        with urllib.request.urlopen(following, timeout=10) as got:
            assert got.status == 200
    finally:
        os.killpg(process.pid, 2)
        process.communicate(timeout=30)
    assert not [one for one in tmp_path.iterdir() if one.name.startswith("langscape-")]


def test_everything_in_the_store_is_for_this_user_alone(tmp_path, open_umask):
    store = Store(tmp_path / "store")
    store.keep(b"a text of the user")
    store.index.remember_hash("path", 1, 2, 3, "sum")
    store.cancel("some-sweep")
    with store.receiving() as file:
        file.write_bytes(b"given to the studio")
        store.keep_file(file)
    found = [store.root, *store.root.rglob("*")]
    assert {mode(path) for path in found if path.is_dir()} == {0o700}
    assert {mode(path) for path in found if path.is_file()} == {0o600}
    assert len([path for path in found if path.is_file()]) >= 6


def test_a_store_that_was_open_to_others_is_closed_when_it_is_opened(tmp_path, open_umask):
    root = tmp_path / "store"
    Store(root).index.remember_hash("path", 1, 2, 3, "sum")
    for path in (root, *root.iterdir()):
        path.chmod(0o755 if path.is_dir() else 0o644)
    Store(root)
    assert {mode(path) for path in (root, *root.iterdir()) if path.is_dir()} == {0o700}
    assert {mode(path) for path in root.iterdir() if path.is_file()} == {0o600}


def test_what_is_refused_names_no_path_of_the_store(running, held, monkeypatch):
    def broken():
        raise DataError(f"{held.root}/results/ab/x.bin in {held.root} is damaged; not {held.root}-other")

    monkeypatch.setattr(running._parts["inputs"], "all", broken)
    got = running.client.get("/api/inputs")
    assert got.error["message"] == f"the store in the store is damaged; not {held.root}-other"


def test_an_upload_for_which_there_is_no_space_names_no_path_of_the_store(running, held, monkeypatch):
    def full(kind, name, file):
        raise OSError(errno.ENOSPC, "No space left on device", str(file))

    monkeypatch.setattr(running._parts["inputs"], "add", full)
    got = running.client.post("/api/inputs?kind=text&name=a.txt", b"some text")
    assert got.error["code"] == "store"
    assert str(held.root) not in got.error["message"]
    assert "no space left" in got.error["message"]


def test_a_fault_names_no_path_of_the_store_or_of_temporary_files(running, held, monkeypatch, tmp_path):

    def broken():
        with tempfile.TemporaryDirectory(prefix="langscape-") as folder:
            raise FileNotFoundError(
                2, "No such file", f"{folder}/map.svg", None, f"{held.root}/results/ab/x.bin"
            )

    monkeypatch.setattr(running._parts["inputs"], "all", broken)
    got = running.client.get("/api/inputs")
    assert got.error["code"] == "internal"
    assert str(held.root) not in got.error["message"]
    assert tempfile.gettempdir() + "/langscape-" not in got.error["message"]
    assert "No such file" in got.error["message"]


def test_a_token_is_no_key_for_programs(running):
    token = token_path(running.access).split("=")[1]
    got = running.client.get("/api/jobs", headers={"Authorization": f"Bearer {token}"})
    assert got.error["code"] == "no_session"
