import os
import stat

import pytest

from langscape.data import Items, Map
from langscape.errors import SettingsError, StoreError
from langscape.whole import check_writable, whole


def names(folder):
    return sorted(entry.name for entry in folder.iterdir())


def test_the_old_file_stands_until_the_new_one_is_whole(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")
    with whole(path) as aside:
        aside.write_text("new")
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    assert names(tmp_path) == ["a.txt"]


@pytest.mark.parametrize("error", [SettingsError("no"), KeyboardInterrupt(), ZeroDivisionError()])
def test_whatever_fails_inside_leaves_nothing_and_passes_through(tmp_path, error):
    def half():
        with whole(tmp_path / "a.txt") as aside:
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
        whole(tmp_path / "a.txt"),
    ):
        raise OSError(28, "No space left on device")
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match=r"file/a\.txt"), whole(tmp_path / "file" / "a.txt"):
        pass


def test_the_file_may_be_read_by_whom_the_mask_allows(tmp_path):
    mask = os.umask(0o027)
    try:
        with whole(tmp_path / "a.txt") as aside:
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
