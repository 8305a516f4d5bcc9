"""How well inserted points lie: local and global quality of each, against the map's items."""

from __future__ import annotations

import numpy as np

from langscape.kernels.linear import blocks, side_by_side, squared_distances
from langscape.kernels.neighbours import Finder

MANY = 5000
"""Above so many points, distances are ranked among 500 items of the map instead of a thousand."""

_LOCAL_K = 25
_AGAINST, _AGAINST_MANY = 1000, 500
_CHUNK = 1024


def judge(
    xy: np.ndarray, known: np.ndarray, placed: np.ndarray, new: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Local and global quality of each placed point (document 002, section 4.3), as two (m,) arrays.

    Local: the share of its 25 nearest items that are nearest on the map too (of a quarter of the items, where
    they are fewer than a hundred: most would be near by chance); where there are very many
    points, these are looked for in nearby cells and 95 % of them found. Global: the rank correlation of
    its distances to at most a thousand items, spread evenly over the map's rows.
    """
    from scipy.spatial import KDTree

    from langscape.kernels.rank_agreement import in_common, rank_correlations

    m, n = len(new), len(xy)
    local, global_ = np.full(m, np.nan), np.full(m, np.nan)
    if n < 2 or not m:
        return local, global_
    k = min(_LOCAL_K, max(n // 4, 1))
    high = Finder(known, m, new[np.linspace(0, m - 1, min(m, 500)).astype(int)], k=k)
    low = KDTree(xy)
    against = np.unique(np.linspace(0, n - 1, min(n, _AGAINST if m <= MANY else _AGAINST_MANY)).astype(int))
    # float32 distances lose digits far from the origin
    centre, middle = known[against].mean(0), xy[against].mean(0)
    items, points = _float32(known[against] - centre), _float32(xy[against] - middle)
    near = high(new, k)[1]

    def work(part: slice) -> None:
        on_map = np.reshape(low.query(placed[part], k)[1], (-1, k))
        local[part] = in_common(near[part], on_map) / k
        global_[part] = rank_correlations(
            squared_distances(_float32(new[part] - centre), items),
            squared_distances(_float32(placed[part] - middle), points),
        )

    side_by_side(work, blocks(m, _CHUNK))
    return local, global_


def _float32(X: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(X, np.float32)
