"""Listeners: all are told, of each job the latest, and those beyond the limit are refused in words."""

from __future__ import annotations

import asyncio
import http.client
import json
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing

from langscape.studio import events
from langscape.studio.events import Events


def listen(client):
    """A connection to the events, and the answer's head."""
    connection = http.client.HTTPConnection("127.0.0.1", client.port, timeout=20)
    connection.request("GET", "/api/events", headers={"Authorization": f"Bearer {client.key}"})
    return connection, connection.getresponse()


def next_record(answer):
    while not (line := answer.readline()).startswith(b"data: "):
        assert line
    return json.loads(line[6:])


def none_listens(running):
    until = time.monotonic() + 20
    while running._parts["events"]._listeners:
        assert time.monotonic() < until
        time.sleep(0.02)


def test_two_hundred_watchers_are_told_of_a_change(running, client):
    with ExitStack() as stack:
        answers = []
        for _ in range(200):
            connection, answer = listen(client)
            stack.enter_context(closing(connection))
            assert answer.status == 200
            answers.append(answer)
        running._parts["events"].tell({"id": "made-up", "state": "done"})
        for answer in answers:
            while (record := next_record(answer))["id"] != "made-up":
                pass
            assert record == {"id": "made-up", "state": "done"}
        assert client.get("/api/jobs").status == 200
    none_listens(running)


def test_those_beyond_the_limit_are_refused_in_words_and_let_in_when_others_go(running, client, monkeypatch):
    monkeypatch.setattr(events, "MOST", 3)
    none_listens(running)
    with ExitStack() as stack:
        for _ in range(3):
            connection, answer = listen(client)
            stack.enter_context(closing(connection))
            assert answer.status == 200
        refused, answer = listen(client)
        said = json.loads(answer.read())["error"]
        refused.close()
        assert (answer.status, said["code"]) == (400, "bad_request")
        assert said["message"] == "3 pages are listening already"
        assert said["hint"] == "Close some of them."
    none_listens(running)
    connection, answer = listen(client)
    connection.close()
    assert answer.status == 200


def test_a_slow_listener_gets_the_latest_of_each_job():
    """Three changes of one job and one of another come while nothing is taken."""

    async def told() -> str:
        made, sent, taken = Events(list), [], asyncio.Event()
        made.open()

        async def send(message):
            sent.append(message.get("body", b"").decode())
            if len(sent) == 2:
                await taken.wait()  # the first piece of the body is not taken yet

        async def receive():
            await asyncio.sleep(60)

        listener = asyncio.create_task(made({}, receive, send))
        while len(sent) < 2:
            await asyncio.sleep(0.001)
        for id, at in (("a", 1), ("b", 1), ("a", 2), ("a", 3)):
            made.tell({"id": id, "at": at})
        await asyncio.sleep(0.01)
        taken.set()
        while len(sent) < 3:
            await asyncio.sleep(0.001)
        made.close()
        await asyncio.wait_for(listener, 10)
        return sent[2]

    # in a thread of its own: a browser of other tests may hold a loop in this one
    with ThreadPoolExecutor(1) as thread:
        got = thread.submit(asyncio.run, told()).result(timeout=60)
    assert got == 'data: {"id":"b","at":1}\n\ndata: {"id":"a","at":3}\n\n'
