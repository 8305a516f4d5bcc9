"""Results → views, arrays and files. What was opened is kept for the next look at it."""

from __future__ import annotations

import sys
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Generic, TypeVar
from urllib.parse import urlencode

import numpy as np

from langscape.data import View
from langscape.declarations import Analysis, Finished, Later, Picture
from langscape.declarations.validation import check_settings, parse_setting
from langscape.errors import LangscapeError, SettingsError
from langscape.store import Recipe
from langscape.studio.forms import offered
from langscape.studio.jobs import LIVE, Jobs
from langscape.studio.problem import Problem
from langscape.views.page import DTYPES
from langscape.views.plain import plain

FORMATS = {
    "svg": "image/svg+xml",
    "png": "image/png",
    "pdf": "application/pdf",
    "html": "text/html; charset=utf-8",
    "csv": "text/csv; charset=utf-8",
    "parquet": "application/vnd.apache.parquet",
}
"""What a view can be saved as."""

MOST = 1_000_000_000
"""Bytes of opened results and drawn views that are kept."""

T = TypeVar("T")


class Pictures:
    """The views of finished jobs."""

    def __init__(self, jobs: Jobs) -> None:
        self._jobs = jobs
        self._results: _Kept[Finished] = _Kept(MOST // 2)
        self._views: _Kept[View] = _Kept(MOST // 2)
        # matplotlib's settings and its fonts are one for the whole process
        self._drawing = threading.Lock()
        self._asked = threading.Event()

    def make_ready(self, ids: Iterable[str], stopped: threading.Event) -> None:
        """Draw the first view of each of these jobs before anybody asks for it, as soon as the job is done.

        The first look at a kind of picture imports what draws it, which takes longer than drawing it. Nothing
        is begun before a reader has the picture that the page opens on.
        """
        waiting = list(ids)
        while waiting and not stopped.wait(0.5):
            if not self._asked.is_set():
                continue
            for id in tuple(waiting):
                with suppress(LangscapeError, Problem):  # told to the one who asks
                    if self._jobs.get(id)["state"] in LIVE:
                        continue
                    _, analysis, _ = self._finished(id)
                    self.view(id, analysis.pictures[0].name, {})
                waiting.remove(id)

    def view(self, id: str, name: str, query: Mapping[str, str]) -> dict[str, Any]:
        """A view as JSON: properties, and where its arrays are to be had."""
        finished, picture, asked, digest = self._find(id, name, query)
        view = self._drawn(finished, picture, asked, digest)
        again = urlencode({**{key: value for key, value in query.items()}, "v": digest[:16]})
        arrays = {
            key: {"dtype": one.dtype.name, "shape": list(one.shape)} for key, one in view.arrays.items()
        }
        for key, one in self._later(finished, picture, asked).items():
            arrays[key] = {"dtype": one.dtype, "shape": list(one.shape)}
        for key, one in arrays.items():
            if one["dtype"] not in DTYPES:
                raise Problem("internal", f"array {key!r} of view {name} is {one['dtype']}")
            one["url"] = f"/api/jobs/{id}/views/{name}/{key}?{again}"
        self._asked.set()
        return {"kind": view.kind, "properties": plain(view.properties), "arrays": arrays}

    def array(self, id: str, name: str, key: str, query: Mapping[str, str]) -> bytes:
        """One array of a view: little-endian bytes, rows one after the other."""
        given = {word: value for word, value in query.items() if word != "v"}
        finished, picture, asked, digest = self._find(id, name, given)
        if query.get("v", digest[:16]) != digest[:16]:
            raise Problem("gone", "this view has changed since it was asked for", "Ask for the view again.")
        later = self._later(finished, picture, asked)
        if key in later:
            array = later[key].make()
        else:
            view = self._drawn(finished, picture, asked, digest)
            if key not in view.arrays:
                known = ", ".join([*view.arrays, *later][:20])
                raise Problem("not_found", f"view {name} has no array {key[:60]!r}; it has {known}")
            array = view.arrays[key]
        return np.ascontiguousarray(array, array.dtype.newbyteorder("<")).tobytes()

    def export(self, id: str, name: str, format: str, query: Mapping[str, str], folder: Path) -> Path:
        """A view as a file in that folder."""
        from langscape.views import write

        if format not in FORMATS:
            raise SettingsError(
                f"format {format[:40]!r} is not known; a view is saved as {', '.join(FORMATS)}"
            )
        finished, picture, asked, digest = self._find(id, name, query)
        if picture.whole is not None and format == "html":
            view = picture.whole(finished.result, finished, **asked)
        else:
            view = self._drawn(finished, picture, asked, digest)
        path = folder / f"{_file_name(str(view.properties.get('title') or finished.title))}.{format}"
        with self._drawing:
            return write(view, path)

    def finished(self, id: str) -> Finished:
        """A finished job."""
        return self._finished(id)[0]

    def _find(
        self, id: str, name: str, query: Mapping[str, str]
    ) -> tuple[Finished, Picture, dict[str, Any], str]:
        finished, analysis, digest = self._finished(id)
        picture = analysis.picture(name)
        known = {one.name: one for one in picture.parameters}
        for key in query:
            if key not in known:
                names = ", ".join(known) or "none"
                raise SettingsError(f"view {name} takes no {key[:60]!r}; it takes {names}")
        given = {key: parse_setting(known[key], text) for key, text in query.items()}
        asked = check_settings(picture.parameters, given, f"view {name}")
        return finished, picture, asked, digest

    def _finished(self, id: str) -> tuple[Finished, Analysis, str]:
        record, entry = self._jobs.entry(id)
        analysis = offered(record["analysis"])

        def read() -> Finished:
            store = self._jobs.store
            recipe = Recipe.from_json(record["recipe"])
            return Finished(store.load(entry), record["title"], record["settings"], recipe, store)

        return self._results.get((id, entry.digest), read, entry.bytes), analysis, entry.digest

    def _drawn(self, finished: Finished, picture: Picture, asked: dict[str, Any], digest: str) -> View:
        key = (digest, finished.title, picture.name, repr(sorted(asked.items())))
        return self._views.get(key, lambda: picture.draw(finished.result, finished, **asked), None)

    def _later(self, finished: Finished, picture: Picture, asked: dict[str, Any]) -> Mapping[str, Later]:
        return {} if picture.later is None else picture.later(finished.result, finished, **asked)


class _Kept(Generic[T]):
    """The latest used, as many as fit; made once even if two ask at the same time."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._held: OrderedDict[Any, tuple[T, int]] = OrderedDict()
        self._making: dict[Any, threading.Lock] = {}
        self._mutex = threading.Lock()

    def get(self, key: Any, make: Callable[[], T], size: int | None) -> T:
        with self._mutex:
            if key in self._held:
                self._held.move_to_end(key)
                return self._held[key][0]
            making = self._making.setdefault(key, threading.Lock())
        with making:
            with self._mutex:
                if key in self._held:
                    return self._held[key][0]
            try:
                result = make()
            finally:
                with self._mutex:
                    self._making.pop(key, None)
            with self._mutex:
                self._held[key] = (result, _size(result) if size is None else size)
                while sum(one[1] for one in self._held.values()) > self._most and len(self._held) > 1:
                    self._held.popitem(last=False)
            return result


def _size(view: Any) -> int:
    return sum(array.nbytes for array in view.arrays.values()) + sys.getsizeof(view) + 10_000


def _file_name(title: str) -> str:
    kept = "".join(letter if letter.isalnum() or letter in " -_.," else " " for letter in title)
    return " ".join(kept.split())[:80].strip(". ") or "langscape"
