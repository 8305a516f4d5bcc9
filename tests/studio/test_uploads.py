"""Uploads are looked at in a process with limits: files that lie cost a process, never the studio."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

import pytest

# hostile must be importable by name
sys.path.insert(0, os.path.dirname(os.path.dirname(__file__)))

from hostile import fortran_npz, gzip_of_one_line, wide_words_npz
from langscape.errors import FileError
from langscape.studio import upload_worker
from langscape.studio.upload_worker import UploadWorkers

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the limits are those of Linux")


@pytest.fixture
def workers():
    started = UploadWorkers()
    yield started
    started.close()


def peak(pid: int) -> int:
    text = Path(f"/proc/{pid}/status").read_text()
    return next(int(line.split()[1]) * 1024 for line in text.splitlines() if line.startswith("VmHWM"))


def text_file(folder: Path) -> Path:
    path = folder / "a.txt"
    path.write_text("Some words.")
    return path


def test_a_bomb_leaves_the_studio_as_it_was(start_apart, tmp_path):
    studio = start_apart()
    assert studio.client.post("/api/inputs?kind=text&name=a.txt", b"Some words.").status == 201
    before = peak(studio.process.pid)
    bombs = [
        fortran_npz(tmp_path / "f.npz", rows=400_000),
        wide_words_npz(tmp_path / "u.npz", width=100_000_000),
        gzip_of_one_line(tmp_path / "t.gz"),
    ]
    for path in bombs:
        started = time.perf_counter()
        got = studio.client.post(f"/api/inputs?kind=vectors&name={path.name}", path.read_bytes())
        assert (got.status, got.error["code"]) == (422, "bad_input")
        assert path.name in got.error["message"]
        assert "aside" not in got.error["message"]
        assert time.perf_counter() - started < 10
    assert peak(studio.process.pid) - before < 50_000_000
    assert studio.client.get("/api/inputs").status == 200


def test_files_are_looked_at_elsewhere_and_at_once(workers, tmp_path):
    path = text_file(tmp_path)
    assert workers.look("text", path, "a.txt") == {"characters": 11, "words": 2}
    (pid,) = workers.pids
    assert pid != os.getpid()
    started = time.perf_counter()
    for _ in range(20):
        workers.look("text", path, "a.txt")
    assert (time.perf_counter() - started) / 20 < 0.1
    assert workers.pids == [pid]


# the process imports everything anew: what meets its limits comes in a module that it is started from
GREEDY = """
import langscape.studio.looking as looking
def greedy(file, name):
    exec(file.read_text())
    return {"did": name}
looking.KINDS["text"] = looking.Kind(100, greedy)
"""


@pytest.fixture
def greedy(tmp_path, monkeypatch, workers):
    """A process whose way to look at a text is to run it."""
    (tmp_path / "greedy").mkdir()
    (tmp_path / "greedy/greedy_look.py").write_text(
        GREEDY + "from langscape.studio.upload_worker import look_main\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path / "greedy"))
    monkeypatch.setattr(upload_worker, "_MODULE", "greedy_look")
    monkeypatch.setattr(upload_worker, "SECONDS", 2.0)

    def run(code: str) -> dict:
        path = tmp_path / "code.txt"
        path.write_text(code)
        return workers.look("text", path, "mine.txt")

    return run


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("bytearray(2_000_000_000)", "takes more than 1.0 GB of memory"),
        ("while True: pass", "takes more than 3 seconds"),
        ("import time; time.sleep(60)", "takes more than 3 seconds"),
        ("import os; os.abort()", "its reader ended with signal 6, SIGABRT"),
        ("import os; os._exit(3)", "its reader ended with exit code 3"),
        ("open('/dev/shm/langscape-test', 'wb').write(bytes(300_000_000))", "File too large"),
        ("1 / 0", r"is damaged, or not what it is given as \(ZeroDivisionError"),
        ("f = lambda g: g(g)\nf(f)", "RecursionError"),
    ],
    ids=["memory", "CPU", "waiting", "abort", "exit", "writing", "fault", "recursion"],
)
def test_every_limit_ends_in_one_error_and_the_next_file_is_looked_at(greedy, workers, code, said):
    try:
        with pytest.raises(FileError, match=said) as caught:
            greedy(code)
    finally:
        Path("/dev/shm/langscape-test").unlink(missing_ok=True)
    assert str(caught.value).startswith("mine.txt")
    assert "\n" not in str(caught.value)
    assert greedy("pass") == {"did": "mine.txt"}


def test_a_reader_that_died_while_idle_is_replaced_unnoticed(workers, tmp_path):
    path = text_file(tmp_path)
    workers.look("text", path, "a.txt")
    (pid,) = workers.pids
    os.kill(pid, signal.SIGKILL)
    assert workers.look("text", path, "a.txt")["words"] == 2
    assert pid not in workers.pids


def test_no_process_is_left_when_the_studio_ends(tmp_path):
    workers = UploadWorkers()
    workers.look("text", text_file(tmp_path), "a.txt")
    (pid,) = workers.pids
    workers.close()
    assert not Path(f"/proc/{pid}").exists()


def test_words_with_quotation_marks_survive(client):
    body = b'"""hello",greetings\n"say ""yes""",greetings\ntea,drinks\n'
    got = client.post("/api/inputs?kind=words&name=list.csv", body)
    assert got.json["summary"] == {"words": 3, "groups": 2}
    text = client.get(f"/api/inputs/{got.json['id']}/text").json["text"]
    again = client.post("/api/inputs?kind=words&name=list.txt", text.encode()).json
    assert again["id"] == got.json["id"]
    assert '"""hello"\tgreetings' in text
