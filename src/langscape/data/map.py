"""Where everything landed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from langscape.data.items import Items
from langscape.data.noun import Noun, frozen
from langscape.errors import DataError


@dataclass(frozen=True, eq=False)
class Map(Noun):
    """Where everything landed, and how far to trust it.

    xy        (n, dims) coordinates
    kl        KL(P‖Q) of the unexaggerated P in nats, of the restart that was kept
    kls       the same for every restart
    history   (checks, 2): step, KL
    quality   figures of the whole map by name ("local", "global", …)
    per_point the same figures per item, each (n,)
    shapes    (n, 2, 2) covariances where items are distributions
    vectors   (n, dim) the space it was made from, needed to insert new items
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

    def __post_init__(self) -> None:
        if len(self.xy) != len(self.items):
            raise DataError(f"{len(self.xy)} coordinates for {len(self.items)} items")
        for name in ("xy", "kls", "history"):
            object.__setattr__(self, name, frozen(getattr(self, name)))
        for name in ("shapes", "vectors"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, frozen(getattr(self, name)))
        points = {name: frozen(values) for name, values in self.per_point.items()}
        object.__setattr__(self, "per_point", MappingProxyType(points))
        object.__setattr__(self, "quality", MappingProxyType(dict(self.quality)))
        object.__setattr__(self, "settings", MappingProxyType(dict(self.settings)))
        object.__setattr__(self, "notes", tuple(self.notes))

    def __len__(self) -> int:
        return len(self.items)

    @property
    def labels(self) -> tuple[str, ...]:
        """The items' labels, in row order."""
        return self.items.labels  # type: ignore[return-value]

    def but(self, **changes: Any) -> Map:
        """A copy with some fields replaced."""
        return replace(self, **changes)

    def save(
        self,
        path: str | Path,
        *,
        vectors: bool = True,
        title: str | None = None,
        color: str | None = None,
        quantiles: int | None = None,
    ) -> Path:
        """Write the map, whole or not at all; the ending says as what.

        .parquet is the map file, from which it comes back equal (`vectors=False` makes it small); .csv a
        table; .html a page, .png, .svg and .pdf a picture, with `title`, `color` (a column) and `quantiles`.
        """
        if Path(path).suffix.lower() == ".parquet":
            from langscape.io.map_file import save_map

            return save_map(self, path, vectors=vectors)
        from langscape.views.mapfiles import write_map

        return write_map(self, path, title=title, color=color, quantiles=quantiles)
