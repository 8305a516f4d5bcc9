"""Dense linear algebra whose bits do not depend on the number of threads.

BLAS splits its work by thread count, which changes rounding. Here every call is limited to one
BLAS thread; blocks of fixed size run side by side instead.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

import numpy as np

BLOCK = 256
"""Rows computed at a time; fixed, so that sums are taken in the same order everywhere."""


@cache
def _controller() -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


@contextlib.contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit BLAS to one thread within."""
    with _controller().limit(limits=1, user_api="blas"):
        yield


def blocks(n: int, size: int = BLOCK) -> list[slice]:
    """Slices of fixed size that cover n rows."""
    return [slice(start, min(n, start + size)) for start in range(0, n, size)]


def side_by_side(work: Callable[[slice], None], parts: list[slice]) -> None:
    """Run work on every part, on as many threads as the kernels use, BLAS on one each."""
    import numba

    threads = min(numba.get_num_threads(), len(parts))
    with one_blas_thread():
        if threads <= 1:
            for part in parts:
                work(part)
            return
        with ThreadPoolExecutor(threads) as pool:
            for _ in pool.map(work, parts):
                pass


def squared_distances(A: np.ndarray, B: np.ndarray, b2: np.ndarray | None = None) -> np.ndarray:
    """(a, b) squared Euclidean distances by one matrix product, never below 0."""
    D = A @ B.T
    D *= -2.0
    D += np.einsum("ij,ij->i", A, A)[:, None]
    D += np.einsum("ij,ij->i", B, B) if b2 is None else b2
    np.maximum(D, 0.0, out=D)
    return D


def centre_of(X: np.ndarray) -> np.ndarray:
    """Where to put the origin before distances are taken: the mean, or the median where outliers move it.

    Distances by matrix products lose the digits of a length that all rows share. One row of 1e8 among
    thousands near 1 moves the mean by more than their spread, and would cost them all their digits.
    """
    some = X[:: max(1, len(X) // 10_000)]
    middle = X.mean(0, dtype=np.float64)
    median = np.median(some, axis=0)
    away = float(np.linalg.norm(median - middle))
    spread = float(np.median(np.linalg.norm(some - median, axis=1)))
    return (median if away > 10 * spread else middle).astype(X.dtype)


def principal_axes(X: np.ndarray, dims: int) -> tuple[np.ndarray, np.ndarray]:
    """Scores (n, dims) on the leading principal axes, and the axes (dims, dim); columns of 0 pad the rest.

    An axis points to where its entry of largest magnitude is positive, so that signs are settled.
    """
    centred = np.array(X, np.float64)
    centred -= centred.mean(0)
    n, dim = centred.shape
    kept = min(dims, n, dim)
    with one_blas_thread():
        if dim <= n:
            _, axes = np.linalg.eigh(centred.T @ centred)
            axes = axes[:, ::-1][:, :kept].T
        else:
            values, left = np.linalg.eigh(centred @ centred.T)
            values, left = values[::-1][:kept], left[:, ::-1][:, :kept]
            lengths = np.sqrt(np.maximum(values, 0.0))
            axes = (left / np.where(lengths > 1e-12 * max(lengths[0], 1e-300), lengths, np.inf)).T @ centred
        peak = np.abs(axes).argmax(1)
        axes = axes * np.where(axes[np.arange(kept), peak] < 0, -1.0, 1.0)[:, None]
        scores = centred @ axes.T
    pad = dims - kept
    return np.pad(scores, ((0, 0), (0, pad))), np.pad(axes, ((0, pad), (0, 0)))
