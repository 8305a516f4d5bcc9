"""How well inserted points lie: local and global quality of each, against the map's items."""

from __future__ import annotations

import numpy as np

from langscape.kernels.linear import one_blas_thread

ALL_UP_TO = 5000
SAMPLED = 2000
"""All new points are judged up to the first number; of more, so many spread evenly, the rest are NaN."""

_LOCAL_K = 25
_AGAINST = 1000
_CHUNK = 1024


def judge(
    xy: np.ndarray, known: np.ndarray, placed: np.ndarray, new: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Local and global quality of each placed point (document 002, section 4.3), as two (m,) arrays.

    Local: the share of its 25 nearest items that are nearest on the map too. Global: the rank
    correlation of its distances to at most a thousand items, spread evenly over the map's rows.
    """
    from langscape.kernels.neighbours import Finder

    m, n = len(new), len(xy)
    local, global_ = np.full(m, np.nan), np.full(m, np.nan)
    k = min(_LOCAL_K, n - 1)
    if k < 1 or not m:
        return local, global_
    rows = np.arange(m) if m <= ALL_UP_TO else np.linspace(0, m - 1, SAMPLED).astype(int)
    high, low = Finder(known), Finder(np.asarray(xy, np.float32))
    against = np.unique(np.linspace(0, n - 1, min(n, _AGAINST)).astype(int))
    far_items, near_items = known[against].astype(np.float64), xy[against].astype(np.float64)
    for start in range(0, len(rows), _CHUNK):
        part = rows[start : start + _CHUNK]
        vectors, places = new[part], placed[part]
        found = high(vectors, k)[1][:, :, None] == low(places, k)[1][:, None, :]
        local[part] = found.any(2).sum(1) / k
        global_[part] = _rank_correlation(vectors, far_items, places, near_items)
    return local, global_


def _rank_correlation(x: np.ndarray, X: np.ndarray, y: np.ndarray, Y: np.ndarray) -> np.ndarray:
    from scipy.stats import rankdata

    from langscape.kernels.linear import squared_distances

    with one_blas_thread():
        far = squared_distances(x.astype(np.float64), X)
    near = squared_distances(y.astype(np.float64), Y)
    a, b = rankdata(far, axis=1), rankdata(near, axis=1)
    a -= a.mean(1, keepdims=True)
    b -= b.mean(1, keepdims=True)
    scale = np.sqrt((a * a).sum(1) * (b * b).sum(1))
    return np.where(scale > 0, (a * b).sum(1) / np.where(scale > 0, scale, 1.0), np.nan)
