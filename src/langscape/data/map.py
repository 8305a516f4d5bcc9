"""Where everything landed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from langscape.data.items import Items
from langscape.data.noun import Noun, frozen
from langscape.data.shown import Shown, some
from langscape.errors import DataError

if TYPE_CHECKING:
    from langscape.data.view import View


@dataclass(frozen=True, eq=False, repr=False)
class Map(Noun, Shown):
    """Where everything landed, and how far to trust it.

    xy        (n, dims) coordinates
    kl        KL(P‖Q) of the unexaggerated P in nats, of the restart that was kept
    kls       the same for every restart
    history   (checks, 2): step, KL
    quality   figures of the whole map by name ("local", "global", …)
    per_point the same figures per item, each (n,)
    shapes    (n, 2, 2) covariances where items are distributions
    vectors   (n, dim) the space it was made from, needed to insert new items
    neighbours, distances   (n, k) the nearest in that space, nearest first, and how far they are; −1 for
              none. They stay when vectors go, so that whoever has the map can see which neighbours are true
    weights   (n, k) instead of distances where the map is of attention: how strongly each is tied to them
    """

    xy: np.ndarray
    items: Items
    kl: float = float("nan")
    kls: np.ndarray = field(default_factory=lambda: np.empty(0))
    history: np.ndarray = field(default_factory=lambda: np.empty((0, 2)))
    settings: Mapping[str, Any] = field(default_factory=dict)
    quality: Mapping[str, float] = field(default_factory=dict)
    per_point: Mapping[str, np.ndarray] = field(default_factory=dict)
    shapes: np.ndarray | None = None
    vectors: np.ndarray | None = None
    metric: str = "euclidean"
    notes: tuple[str, ...] = ()
    neighbours: np.ndarray | None = None
    distances: np.ndarray | None = None
    weights: np.ndarray | None = None

    def __post_init__(self) -> None:
        if len(self.xy) != len(self.items):
            raise DataError(f"{len(self.xy)} coordinates for {len(self.items)} items")
        for name in ("xy", "kls", "history"):
            object.__setattr__(self, name, frozen(getattr(self, name)))
        for name in ("neighbours", "distances", "weights"):
            given = getattr(self, name)
            if given is not None and (np.ndim(given) != 2 or len(given) != len(self.items)):
                raise DataError(f"{name} have shape {np.shape(given)} for {len(self.items)} items")
        for name in ("shapes", "vectors", "neighbours", "distances", "weights"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, frozen(getattr(self, name)))
        points = {name: frozen(values) for name, values in self.per_point.items()}
        object.__setattr__(self, "per_point", MappingProxyType(points))
        object.__setattr__(self, "quality", MappingProxyType(dict(self.quality)))
        object.__setattr__(self, "settings", MappingProxyType(dict(self.settings)))
        object.__setattr__(self, "notes", tuple(self.notes))

    def __len__(self) -> int:
        return len(self.items)

    def __repr__(self) -> str:
        from langscape.views.trust import notes_of, trust

        columns = ", ".join((*self.items.columns, *self.per_point))
        lines = [f"Map of {len(self):,} items in {self.xy.shape[1]} dimensions: {some(self.labels)}"]
        lines += [f"  {one['label']} {one['shown']}" for one in trust(self)]
        lines += [f"  columns {columns}"] if columns else []
        return "\n".join([*lines, *(f"  {note}" for note in notes_of(self))])

    def row_columns(self) -> Mapping[str, Any]:
        """Label, coordinates, the items' columns and the scores per point."""
        from langscape.views.mapfiles import columns_of

        return columns_of(self)

    def view(self, *, title: str | None = None, color: str | None = None) -> View:
        """The picture; of very many items, an even sample is drawn and a note says so."""
        from langscape.views import scatter
        from langscape.views.mapfiles import thinned

        return scatter(thinned(self), title=title, color=color)

    def neighbours_among(self, rows: np.ndarray) -> np.ndarray | None:
        """The neighbours of some items, as rows among these; −1 where one is left out."""
        if self.neighbours is None:
            return None
        at = np.full(len(self) + 1, -1, np.int32)
        at[np.asarray(rows)] = np.arange(len(rows), dtype=np.int32)
        return at[self.neighbours[rows]]

    @property
    def labels(self) -> tuple[str, ...]:
        """The items' labels, in row order."""
        return self.items.labels  # type: ignore[return-value]

    def but(self, **changes: Any) -> Map:
        """A copy with some fields replaced.

        True neighbours are of all items, and go where those change. Scores are of the places: other ones that
        are not the same moved, turned, mirrored or scaled have none until they are measured.
        """
        moved = "xy" in changes and not {"items", "quality"} & changes.keys()
        if moved and np.shape(changes["xy"]) == self.xy.shape and not _alike(changes["xy"], self.xy):
            nothing = {"kl": float("nan"), "kls": np.empty(0), "history": np.empty((0, 2))}
            changes = {**nothing, "quality": {}, "per_point": {}, **changes}
        if "items" in changes and "neighbours" not in changes and len(changes["items"]) != len(self):
            changes |= {"neighbours": None, "distances": None, "weights": None}
        return replace(self, **changes)

    def save(
        self,
        path: str | Path,
        *,
        vectors: bool = True,
        title: str | None = None,
        color: str | None = None,
        quantiles: int | None = None,
        point: str | None = None,
    ) -> Path:
        """Write the map, whole or not at all; the ending says as what.

        .parquet is the map file, from which it comes back equal (`vectors=False` makes it small); .csv a
        table; .html a page, .png, .svg and .pdf a picture, with `title`, `color` (a column), `quantiles` and
        `point`, the label of an item whose true, false and missing neighbours are shown.
        """
        if Path(path).suffix.lower() == ".parquet":
            from langscape.io.map_file import save_map

            return save_map(self, path, vectors=vectors)
        from langscape.views.mapfiles import write_map

        return write_map(self, path, title=title, color=color, quantiles=quantiles, point=point)


def _alike(xy: np.ndarray, other: np.ndarray) -> bool:
    """Whether two layouts of the same items differ at most by a move, a turn, a mirror and a scale."""
    one, two = (np.asarray(places, np.float64) for places in (xy, other))
    one, two = one - one.mean(axis=0), two - two.mean(axis=0)
    sizes = float(np.linalg.norm(one) * np.linalg.norm(two))
    if not np.isfinite(sizes) or sizes == 0:
        return bool(np.array_equal(xy, other))
    return float(np.linalg.svd(one.T @ two / sizes, compute_uv=False).sum()) > 1 - 1e-6
