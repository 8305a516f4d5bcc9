"""What became of the neighbours of an item of a map, and among whom they are looked for."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from langscape.data.map import Map
from langscape.errors import DataError

STRONGEST = 5
"""Keys of a query, and queries of a key, that are counted as kept or missing."""


@dataclass(frozen=True, eq=False)
class Candidates:
    """Groups of items: the neighbours of an item are looked for in one group, which need not be its own.

    own     (n,) the group that each item is in
    sought  (n,) the group in which its neighbours are
    place   (n,) where tokens stand in a causal text; None for others. Queries, whose own group has the
            smaller number, then see keys up to their own place, and keys are seen from theirs on
    """

    own: np.ndarray
    sought: np.ndarray
    place: np.ndarray | None = None

    def of(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Of rows that look in one and the same group: its items, and (rows, items) who may be whose."""
        items = np.flatnonzero(self.own == self.sought[rows[0]])
        may = items[None, :] != rows[:, None]
        if self.place is not None:
            there, here = self.place[items][None, :], self.place[rows][:, None]
            forward = (self.own[rows] < self.sought[rows])[:, None]
            may &= np.where(forward, there <= here, there >= here)
        return items, may


def candidates_of(map: Map) -> Candidates | None:
    """The candidates of a map; None where every item may be a neighbour of every other.

    Of queries and keys, a query's neighbours are keys of its sentence and a key's are queries. On a map with
    inserted items, those of all are among the items that carry it.

    >>> from langscape.data import Items
    >>> inserted = Items(["tea", "oslo", "new"], {"inserted": [False, False, True]})
    >>> candidates_of(Map(np.eye(3)[:, :2], inserted)).sought.tolist()
    [0, 0, 0]
    """
    columns = map.items.columns
    if _is_of_queries(map) and {"sentence", "position"} <= columns.keys():
        sentence = np.unique(columns["sentence"], return_inverse=True)[1]
        is_key = np.asarray(columns["type"] == "key").astype(np.int32)
        place = np.asarray(columns["position"], np.int32) if map.settings.get("causal") else None
        own = (2 * sentence + is_key).astype(np.int32)
        return Candidates(own, (own ^ 1).astype(np.int32), place)
    inserted = columns.get("inserted")
    if inserted is not None and inserted.dtype.kind == "b" and inserted.any() and not inserted.all():
        return Candidates(inserted.astype(np.int32), np.zeros(len(map), np.int32))
    return None


def counted(map: Map) -> int:
    """How many neighbours that a map carries are counted: five of queries and keys, else the scores' k."""
    carried = 0 if map.neighbours is None else map.neighbours.shape[1]
    return min(STRONGEST if _is_of_queries(map) else int(map.quality.get("k", 0)) or carried, carried)


def _is_of_queries(map: Map) -> bool:
    """Whether the neighbours that a map carries are keys of queries, and queries of keys, by weight."""
    return map.weights is not None and set(map.items.columns.get("type", ())) == {"query", "key"}


@dataclass(frozen=True, eq=False)
class Neighbourhood:
    """What became of one item's neighbours: rows of the map.

    kept     near in the data, or strongest in the weights, and near on the map
    missing  near in the data alone
    false    near on the map alone
    """

    kept: tuple[int, ...]
    missing: tuple[int, ...]
    false: tuple[int, ...]

    def __str__(self) -> str:
        return f"{len(self.kept)} kept, {len(self.false)} false, {len(self.missing)} missing"


def neighbourhood(map: Map, row: int) -> Neighbourhood:
    """The true neighbours of an item that the map keeps near, those that it does not, and the false ones.

    >>> from langscape.data import Items
    >>> places = Map([[0.0, 0], [1, 0], [9, 0]], Items.numbered(3), neighbours=[[2], [0], [1]])
    >>> print(neighbourhood(places, 0))
    0 kept, 1 false, 1 missing
    """
    if map.neighbours is None or not map.neighbours.shape[1]:
        raise DataError(
            "this map carries no true neighbours; make it again from its vectors or its attention"
        )
    k, among = counted(map), candidates_of(map)
    if among is None:
        items = np.delete(np.arange(len(map)), row)
    else:
        group, may = among.of(np.array([row]))
        items = group[may[0]]
        k = min(k, max(len(items) // 2, min(len(items), 1)))
    far = ((np.asarray(map.xy[items], np.float64) - map.xy[row]) ** 2).sum(axis=1)
    near = items[np.argsort(far, kind="stable")[:k]].tolist()
    true = [int(other) for other in map.neighbours[row, :k] if other >= 0]
    kept, missing = (tuple(one for one in true if (one in near) == here) for here in (True, False))
    return Neighbourhood(kept, missing, tuple(one for one in near if one not in true) if true else ())
