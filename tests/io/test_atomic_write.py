import os
import signal
import stat
import subprocess
import sys
import time

import pytest

from langscape.data import Items, Map
from langscape.errors import SettingsError, StoreError
from langscape.io.atomic_write import PART_AGE, atomic_write, check_writable, machine, part_name, remove_parts


def names(folder):
    return sorted(entry.name for entry in folder.iterdir())


def test_the_old_file_stands_until_the_new_one_is_whole(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")
    with atomic_write(path) as aside:
        aside.write_text("new")
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    assert names(tmp_path) == ["a.txt"]


@pytest.mark.parametrize("error", [SettingsError("no"), KeyboardInterrupt(), ZeroDivisionError()])
def test_whatever_fails_inside_leaves_nothing_and_passes_through(tmp_path, error):
    def half():
        with atomic_write(tmp_path / "a.txt") as aside:
            aside.write_text("half")
            raise error

    with pytest.raises(type(error)):
        half()
    assert names(tmp_path) == []


def test_a_place_that_cannot_be_written_is_told_before_anything_is_made(tmp_path):
    (tmp_path / "file").write_text("")
    for path in (tmp_path, tmp_path / "file" / "a.txt", "/proc/a.txt"):
        with pytest.raises(StoreError, match=rf"cannot write {path}: .*; (name a file|choose another)"):
            check_writable(path)
    check_writable(tmp_path / "new" / "folder" / "a.txt")
    assert names(tmp_path) == ["file"]


def test_a_disk_error_names_the_path_and_the_next_step(tmp_path):
    with (
        pytest.raises(StoreError, match=r"cannot write .*a\.txt: No space left .*; free space"),
        atomic_write(tmp_path / "a.txt"),
    ):
        raise OSError(28, "No space left on device")
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match=r"file/a\.txt"), atomic_write(tmp_path / "file" / "a.txt"):
        pass


def test_the_file_may_be_read_by_whom_the_mask_allows(tmp_path):
    mask = os.umask(0o027)
    try:
        with atomic_write(tmp_path / "a.txt") as aside:
            aside.write_text("x")
    finally:
        os.umask(mask)
    assert stat.S_IMODE((tmp_path / "a.txt").stat().st_mode) == 0o640


def test_a_map_that_cannot_be_written_leaves_the_old_one(tmp_path, monkeypatch):
    path = Map([[0.0, 1.0]], Items(["tea"])).save(tmp_path / "map.parquet")
    before = path.read_bytes()
    monkeypatch.setattr("os.fsync", lambda _: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    with pytest.raises(StoreError, match=r"cannot write .*map\.parquet: No space left"):
        Map([[2.0, 3.0]], Items(["oslo"])).save(path)
    assert path.read_bytes() == before
    assert names(tmp_path) == ["map.parquet"]


def dead_pid():
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    return child.pid


def test_what_a_killed_writer_left_goes_with_the_next_write_into_that_folder(tmp_path):
    code = (
        "import os, signal, sys\nfrom pathlib import Path\n"
        "from langscape.io.atomic_write import atomic_write, work_folder\n"
        "place = Path(sys.argv[1])\n"
        "with work_folder(place, 'v.bin') as folder, atomic_write(place / 'a.txt') as aside:\n"
        "    (folder / 'half').write_text('half'); aside.write_text('half')\n"
        "    os.kill(os.getpid(), signal.SIGKILL)"
    )
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    assert subprocess.run([sys.executable, "-c", code, str(tmp_path)], env=env).returncode == -signal.SIGKILL
    assert len(names(tmp_path)) == 2
    with atomic_write(tmp_path / "b.txt") as aside:
        aside.write_text("new")
    assert names(tmp_path) == ["b.txt"]


def test_what_a_living_writer_or_anybody_else_wrote_stays(tmp_path):
    now = [
        part_name("living"),
        f".other.elsewhere-{dead_pid()}.0123456789ab.part",  # of a machine that shares the folder
        ".of-an-older-version.0123456789ab.part",
    ]
    never = ["movie.mp4.part", ".part", ".notes.part", f".x.{machine()}-{dead_pid()}.0123456789.part"]
    for name in now + never:
        (tmp_path / name).write_text("x")
    remove_parts(tmp_path)
    assert names(tmp_path) == sorted(now + never)
    for name in now + never:
        os.utime(tmp_path / name, (time.time() - 2 * PART_AGE,) * 2)
    remove_parts(tmp_path)
    assert names(tmp_path) == sorted(never)


def test_a_writer_in_another_thread_is_not_disturbed(tmp_path):
    with atomic_write(tmp_path / "a.txt") as first:
        first.write_text("a")
        with atomic_write(tmp_path / "a.txt") as second:
            second.write_text("b")
    assert (tmp_path / "a.txt").read_text() == "a"
    assert names(tmp_path) == ["a.txt"]


def test_a_link_named_like_a_part_is_removed_and_not_followed(tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("mine")
    (tmp_path / f".x.{machine()}-{dead_pid()}.0123456789ab.part").symlink_to(tmp_path / "mine")
    remove_parts(tmp_path)
    assert names(tmp_path) == ["mine"]
    assert names(tmp_path / "mine") == ["thesis.tex"]
