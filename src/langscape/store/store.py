"""The store: results as files named by digest, whole or not there at all, checked by their hash.

root/
  store.json                 the store's format and identity
  results/ab/ab12….json      the label of a result: recipe, kind, bytes, sha256; figures stand in it
  results/ab/ab12….parquet   its file (or .safetensors, .bin), put there just before the label
  records/                   sweeps and their tasks, jobs, inputs: a JSON file each, checked by its hash
  aside/                     files being written; what is older than an hour goes when the store is opened
  checkpoints/DIGEST/        how far a long computation is, until its result is there
  locks/, cancelled/         who is computing what; which sweeps are to stop
  studio/                    sessions of browsers and keys for programs, by port
  index.sqlite               remembered hashes of input files
  damaged/                   what was found damaged or out of place, set aside

A result exists when its label does. Both are written aside, fsynced and renamed, the label last.
A store that cannot be written can be read.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from langscape.data import Progress, Step
from langscape.errors import (
    Cancelled,
    DataError,
    LangscapeError,
    OtherVersionError,
    SettingsError,
    StoreError,
)
from langscape.io.atomic_write import machine
from langscape.paths import home_folder
from langscape.store import disk, locks, results
from langscape.store.checkpoints import KEPT_FOR, StoredCheckpoint
from langscape.store.current import CHECKPOINT, CURRENT
from langscape.store.index import Index
from langscape.store.manifest import Entry, label_text, read_label
from langscape.store.recipe import Recipe, digest, hash_file, plain, stamps
from langscape.store.registry import find_step
from langscape.store.resolved_recipe import ResolvedRecipe, same_inputs
from langscape.store.store_format import store_id

_FOLDERS = ("results", "aside", "locks", "cancelled")
STRAY_AGE = 3600.0
"""Seconds after which a file left aside belongs to nobody."""


class Busy(LangscapeError):
    """Another process is computing this result now."""


@dataclass(frozen=True)
class Checked:
    """What a check of the whole store found: good results, those removed as damaged, strays removed."""

    good: int
    damaged: tuple[str, ...]
    strays: int


class Store:
    """Results by recipe: computed once, kept, checked, shared between processes.

    >>> import tempfile
    >>> store = Store(tempfile.mkdtemp())
    >>> store.size()
    (0, 0)
    """

    def __init__(self, root: str | Path | None = None) -> None:
        self.root = Path(home_folder() / "store" if root is None else root).expanduser().absolute()
        self._verified: dict[Path, tuple[int, int, int]] = {}
        self._hashes: dict[tuple[str, int, int, int], str] = {}
        self._index: Index | None = None
        with disk.writing("the store", self.root):
            self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
            self.read_only = not os.access(self.root, os.W_OK)
            self.id = store_id(self.root)
            if not self.read_only:
                for name in _FOLDERS:
                    disk.make_folder(self.root / name, self.root)
                # Texts and results are the user's own; a store of before may be open to others.
                for path in (self.root, *self.root.iterdir()):
                    disk.make_private(path)
        if not self.read_only:
            self._remove_strays()

    def __repr__(self) -> str:
        return f"Store({str(self.root)!r})"

    @property
    def index(self) -> Index:
        """The index of sweeps, jobs and inputs, opened when first needed. Workers never open it."""
        if self._index is None:
            self._index = Index(self.root, read_only=self.read_only)
        return self._index

    def check_writable(self, what: str) -> None:
        """Refuse a store that is read-only or gone, before anything is begun that is to be kept in it."""
        if not self.root.is_dir():
            raise disk.gone(self.root)
        if not os.access(self.root, os.W_OK):
            raise disk.read_only(self.root, what)

    def name(self, recipe: Recipe) -> ResolvedRecipe:
        """The recipe with its digest; input files are hashed, or remembered if unchanged."""
        marks = stamps(recipe)
        inner = {key: value for key, value in recipe.inputs.items() if isinstance(value, Recipe)}
        needs = {key: self.name(value) for key, value in inner.items()}
        return ResolvedRecipe(digest(recipe, self._file_hash), recipe, marks, needs)

    def get(self, recipe: Recipe) -> Any | None:
        """The stored result, or None. A damaged one counts as not there."""
        entry = self.entry(self.name(recipe).digest)
        return None if entry is None else self.load(entry)

    def run(self, recipe: Recipe, progress: Progress | None = None, *, wait: bool = True) -> Any:
        """The result: read if it is there, else computed, stored and read back.

        Two processes that ask for the same recipe compute it once; the second waits, or with
        `wait=False` gets `Busy`.
        """
        named = self.name(recipe)
        try:
            return self.load(self.make(named, progress, wait=wait))
        except OtherVersionError:
            return self.load(self.make(named, progress, wait=wait))

    def make(self, named: ResolvedRecipe, progress: Progress | None = None, *, wait: bool = True) -> Entry:
        """See that the result is in the store, computing it and what it needs if it is not."""
        entry = self.entry(named.digest)
        if entry is not None:
            return entry
        self.check_writable(f"the result of {named.recipe.step}")
        inputs = self._inputs(named, progress, wait)
        with self._lock(named.digest, wait=wait) as mine:
            if not mine:
                raise Busy(f"{named.recipe.step} {named.digest[:12]} is being computed by another process")
            found = self._entry(named.digest)
            if found is not None:
                return found
            try:
                return self._compute(named, inputs, progress)
            except OtherVersionError:
                for need in named.needs.values():
                    self._remove(need.digest)
                return self._compute(named, self._inputs(named, progress, wait), progress)

    def load(self, entry: Entry) -> Any:
        """The result itself: Map, Arrays, Table, figures or bytes.

        One that another langscape wrote is removed, so that it is computed anew when it is asked for again.
        """
        with suppress(OSError):
            if time.time() - entry.used > 60:
                os.utime(entry.label)
        if entry.path is None:
            return entry.value
        try:
            return results.read(entry.kind, entry.path)
        except OtherVersionError:
            if not self.read_only:
                self._remove(entry.digest)
            raise

    def entry(self, digest: str) -> Entry | None:
        """The checked entry of that digest, or None if it is missing or damaged."""
        entry = self._entry(digest)
        if entry is None and not self.read_only and self._label(digest).exists():
            # File and label are renamed one after the other: look again while nobody can write.
            with self._lock(digest, wait=False) as mine:
                entry = self._entry(digest) if mine else None
        return entry

    def keep(self, data: bytes) -> str:
        """Keep bytes, and get the name by which a recipe takes them as an input: `sha256:…`."""
        name = hashlib.sha256(data).hexdigest()
        with self._lock(name):
            if self._entry(name) is None:
                with self._writing(f"{len(data):,} bytes"), self._aside(name, ".bin") as file:
                    file.write_bytes(data)
                    self._put(name, "bytes", {}, file, None, 0.0)
        return f"sha256:{name}"

    @contextmanager
    def receiving(self) -> Iterator[Path]:
        """A free name within the store to write to, for `keep_file`; gone when the block ends."""
        with self._aside("received", ".bin") as file:
            yield file

    def keep_file(self, file: Path) -> str:
        """Keep a file that was written to `receiving()`: it moves, so that any size costs no memory."""
        name = hash_file(file)
        with self._lock(name):
            if self._entry(name) is None:
                with self._writing(f"{disk.size_of(file):,} bytes"):
                    self._put(name, "bytes", {}, file, None, 0.0)
        return f"sha256:{name}"

    def kept(self, name: str) -> Path:
        """The file of bytes that were kept under `sha256:…`."""
        entry = self.entry(name.removeprefix("sha256:"))
        if entry is None or entry.path is None:
            raise StoreError(f"{name[:19]}… is not in the store any more; give it again")
        return entry.path

    def entries(self) -> Iterator[Entry]:
        """Every labelled result, unchecked, in no order."""
        found = (read_label(path) for path in (self.root / "results").glob("??/*.json"))
        return (entry for entry in found if entry is not None)

    def size(self) -> tuple[int, int]:
        """How many results there are, and their bytes on disk with labels."""
        files = [path for path in (self.root / "results").glob("??/*") if not path.is_dir()]
        return sum(path.suffix == ".json" for path in files), sum(disk.size_of(path) for path in files)

    def prune(self, older_than: float | None = None, keep_bytes: int | None = None) -> tuple[int, int]:
        """Remove results not used for `older_than` seconds, then the least used until `keep_bytes` remain.

        Returns how many went, and their bytes. What is being computed now is left alone.
        """
        if older_than is None and keep_bytes is None:
            raise SettingsError("nothing says what to prune; give older_than (seconds), keep_bytes, or both")
        for name, value in (("older_than", older_than), ("keep_bytes", keep_bytes)):
            if value is not None and not value >= 0:
                raise SettingsError(f"{name} is {value}; expected 0 or more")
        self.check_writable("what is left")
        self._remove_strays()
        self._remove_unlabelled()
        found = sorted(self.entries(), key=lambda entry: entry.used)
        left = self.size()[1]
        now, count, freed = time.time(), 0, self._remove_checkpoints(older_than or 0.0)
        for entry in found:
            too_old = older_than is not None and now - entry.used > older_than
            too_much = keep_bytes is not None and left > keep_bytes
            if (too_old or too_much) and (size := self._remove(entry.digest)):
                count, freed, left = count + 1, freed + size, left - size
        return count, freed

    def check(self, progress: Progress | None = None) -> Checked:
        """Hash every result anew; remove damaged ones (they are computed again when asked for) and strays.

        Of a read-only store, what is damaged is named and stays.
        """
        if not self.root.is_dir():
            raise disk.gone(self.root)
        labels = sorted((self.root / "results").glob("??/*.json"))
        good, damaged = 0, []
        self._verified.clear()
        for done, label in enumerate(labels, 1):
            if self.entry(label.stem) is not None:
                good += 1
            elif self.read_only or self._remove(label.stem):
                damaged.append(label.stem)
            if progress is not None:
                progress(Step(done, len(labels), "checking results", {"damaged": len(damaged)}))
        if self.read_only:
            return Checked(good, tuple(damaged), 0)
        damaged += self.index.remove_damaged()
        return Checked(good, tuple(damaged), self._remove_strays() + self._remove_unlabelled())

    def remove_aside(self, pid: int) -> None:
        """Remove what a process of this machine, now dead or at its end, left aside."""
        for path in (self.root / "aside").glob(f"*.{machine()}-{pid}.*"):
            disk.remove(path)

    def cancel(self, id: str) -> None:
        """Ask every process that works on the sweep of that id to stop."""
        with self._writing("the wish to cancel"):
            (self.root / "cancelled" / id).touch(mode=0o600)

    def is_cancelled(self, id: str) -> bool:
        """Whether the sweep of that id is to stop."""
        return (self.root / "cancelled" / id).exists()

    def clear_cancel(self, id: str) -> None:
        """Let the sweep of that id run again."""
        with self._writing("the wish to go on"):
            disk.remove(self.root / "cancelled" / id)

    def running(self, id: str) -> Path:
        """The lock that every process working on a sweep holds, shared."""
        return self.root / "locks" / f"sweep-{id}"

    def _inputs(self, named: ResolvedRecipe, progress: Progress | None, wait: bool) -> dict[str, Path]:
        paths: dict[str, Path] = {}
        for name, value in named.recipe.inputs.items():
            if isinstance(value, Recipe):
                entry = self.make(named.needs[name], progress, wait=wait)
                paths[name] = entry.path or entry.label
            elif str(value).startswith("sha256:"):
                entry = self.entry(str(value)[7:])
                if entry is None or entry.path is None:
                    raise StoreError(f"input {name!r}, {value}, is not in the store any more; give it again")
                paths[name] = entry.path
            else:
                paths[name] = Path(value)
        return paths

    def _compute(self, named: ResolvedRecipe, inputs: dict[str, Path], progress: Progress | None) -> Entry:
        recipe, code = named.recipe, find_step(named.recipe.step)
        same_inputs(named)
        started = time.perf_counter()
        checkpoint = StoredCheckpoint(self.root, named.digest)
        tokens = CURRENT.set(self), CHECKPOINT.set(checkpoint)
        try:
            result = code.run(code.complete(recipe.settings), inputs, progress or _nobody)
        except LangscapeError as error:
            if not isinstance(error, Cancelled):
                checkpoint.remove()  # it would end there again
            raise
        finally:
            CURRENT.reset(tokens[0])
            CHECKPOINT.reset(tokens[1])
        seconds = time.perf_counter() - started
        same_inputs(named)
        kind = results.kind_of(result, recipe.step)
        with self._writing(f"the result of {recipe.step}"):
            if kind == "figures":
                value = plain(result, f"the result of {recipe.step}")
                self._put(named.digest, kind, recipe.to_json(), None, value, seconds)
            else:
                with self._aside(named.digest, results.ENDINGS[kind]) as file:
                    results.write(result, file)
                    self._put(named.digest, kind, recipe.to_json(), file, None, seconds)
        checkpoint.remove()
        entry = self._entry(named.digest)
        if entry is None:
            raise StoreError(
                f"the result of {recipe.step} cannot be read back from {self.root}; "
                "check that disk, or set LANGSCAPE_HOME to another"
            )
        return entry

    def _put(
        self, digest: str, kind: str, recipe: Mapping[str, Any], file: Path | None, value: Any, seconds: float
    ) -> None:
        """Make a written file and its label last; the label's rename is the moment the result exists."""
        if file is not None:
            disk.make_private(file)
            disk.sync(file)
        label = self._label(digest)
        if not label.parent.is_dir():
            disk.make_folder(label.parent, self.root)
            disk.sync(label.parent.parent)
        with self._aside(digest, ".json") as written:
            written.write_text(label_text(digest, kind, recipe, file, value, seconds))
            disk.make_private(written)
            disk.sync(written)
            if file is not None:
                disk.replace(file, label.with_suffix(results.ENDINGS[kind]), self.root)
            disk.replace(written, label, self.root)
        disk.sync(label.parent)

    def _label(self, digest: str) -> Path:
        return self.root / "results" / digest[:2] / f"{digest}.json"

    def _entry(self, digest: str) -> Entry | None:
        entry = read_label(self._label(digest))
        if entry is None or entry.path is None:
            return entry
        try:
            status = entry.path.stat()
            stamp = (status.st_size, status.st_mtime_ns, status.st_ino)
            if self._verified.get(entry.path) != stamp:
                if status.st_size != entry.bytes or hash_file(entry.path) != entry.sha256:
                    return None
                self._verified[entry.path] = stamp
        except (OSError, DataError):
            return None
        return entry

    def _file_hash(self, path: Path) -> str:
        status = path.stat()
        key = (str(path), status.st_size, status.st_mtime_ns, status.st_ino)
        found = self._hashes.get(key) or self.index.file_hash(*key)
        if found is None:
            found = hash_file(path)
            # A file changed within the clock's grain of its hashing would keep its time: do not remember it.
            if time.time_ns() - status.st_mtime_ns < 2_000_000_000:
                return found
            self.index.remember_hash(*key, found)
        self._hashes[key] = found
        return found

    def _writing(self, what: str) -> AbstractContextManager[None]:
        return disk.writing(what, self.root)

    def _aside(self, digest: str, ending: str) -> AbstractContextManager[Path]:
        return disk.aside(self.root / "aside", digest[:16], ending)

    @contextmanager
    def _lock(self, digest: str, *, wait: bool = True) -> Iterator[bool]:
        with ExitStack() as stack:
            with self._writing("a lock"):
                mine = stack.enter_context(locks.held(self.root / "locks" / digest, wait=wait))
            yield mine

    def _remove(self, digest: str) -> int:
        """Remove a result unless it is in use; returns the bytes that went. The label goes first."""
        with self._lock(digest, wait=False) as mine:
            if not mine:
                return 0
            label, size = self._label(digest), 0
            endings = sorted(set(results.ENDINGS.values()) - {""})
            for path in (label, *(label.with_suffix(ending) for ending in endings)):
                size += disk.size_of(path)
                if path.is_dir():
                    disk.set_aside(path, self.root)
                else:
                    path.unlink(missing_ok=True)
            return size

    def _remove_strays(self) -> int:
        """Remove what is older than an hour and belongs to no living process; returns the files that went.

        How far a computation was is kept for a week.
        """
        count, limit = 0, time.time() - STRAY_AGE
        self._remove_checkpoints(KEPT_FOR)
        for folder in ("aside", "locks", "cancelled"):
            for path in self._within(folder):
                with suppress(OSError):
                    if path.stat().st_mtime > limit:
                        continue
                    if folder == "locks":
                        locks.is_free(path)  # taking a free lock removes its file
                    elif folder == "aside" or "." in path.name:
                        disk.remove(path)
                        count += folder == "aside"
        return count

    def _remove_checkpoints(self, older_than: float) -> int:
        """Remove how far computations are that nobody works on; returns the bytes that went."""
        freed = 0
        for folder in self._within("checkpoints"):
            with suppress(OSError, StoreError):
                if time.time() - folder.stat().st_mtime < older_than:
                    continue
                with self._lock(folder.name, wait=False) as mine:
                    if not mine:
                        continue
                    freed += sum(disk.size_of(path) for path in folder.iterdir())
                    disk.remove(folder)
        return freed

    def _within(self, folder: str) -> list[Path]:
        try:
            return list((self.root / folder).iterdir())
        except (FileNotFoundError, NotADirectoryError):
            return []

    def _remove_unlabelled(self) -> int:
        """Remove files whose label never came: their process ended between the two renames."""
        count, limit = 0, time.time() - STRAY_AGE
        for path in (self.root / "results").glob("??/*"):
            with suppress(OSError):
                if not path.with_suffix(".json").exists() and path.stat().st_mtime < limit:
                    count += bool(self._remove(path.stem))
        return count


def _nobody(step: Step) -> None:
    """Progress that nobody looks at."""
