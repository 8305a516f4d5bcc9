"""What is given as vectors as one finite matrix: arrays, lists, tensors, masked and sparse ones."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse

from langscape.errors import DataError

LARGEST = 1e15
"""Numbers up to which squared distances stay within float32, in which neighbours are found."""

REDUCED = 100
"""Dimensions to which sparse vectors are reduced."""


class GivenVectors(NamedTuple):
    """The matrix (items, dimensions), what was done to make it one, and the axes of one that was reduced.

    Further sparse rows are reduced alike by `rows @ axes.T`.
    """

    matrix: np.ndarray
    notes: tuple[str, ...] = ()
    axes: np.ndarray | None = None


def given_vectors(X: Any, seed: int = 0) -> GivenVectors:
    """X as a finite float matrix; a sparse one, such as TF-IDF, is reduced by truncated SVD, which is said.

    >>> from scipy.sparse import random
    >>> found = given_vectors(random(300, 1000, 0.05, random_state=0))
    >>> found.matrix.shape, found.notes[0][:52]
    ((300, 100), '1,000 sparse dimensions were reduced to 100 by trunc')
    """
    if not issparse(X):
        return GivenVectors(checked_matrix(X))
    if np.iscomplexobj(X):
        raise DataError(_COMPLEX)
    csr = X.tocsr().astype(np.float64)
    if not np.isfinite(csr.data).all():
        raise DataError("the sparse vectors hold NaN or infinity; remove or repair them")
    n, dim = csr.shape
    if dim <= REDUCED:
        return GivenVectors(checked_matrix(csr.toarray()))
    from sklearn.utils.extmath import randomized_svd

    if n < 2:
        raise DataError(_few(csr.shape))
    kept = min(REDUCED, n - 1)
    axes = randomized_svd(csr, kept, random_state=seed)[2]
    matrix = csr @ axes.T
    whole = float((csr.data**2).sum())
    share = float((matrix**2).sum()) / whole if whole > 0 else 1.0
    note = (
        f"{dim:,} sparse dimensions were reduced to {kept} by truncated SVD, which hold {100 * share:.0f} % "
        "of their sum of squares; neighbours and scores are of these"
    )
    return GivenVectors(checked_matrix(matrix), (note,), axes)


def checked_matrix(X: Any) -> np.ndarray:
    """X as a finite float matrix with at least two rows, or a DataError that says what is wrong."""
    if issparse(X):
        raise DataError(f"the vectors are a sparse {type(X).__name__}; give all numbers, with X.toarray()")
    X = _array(X)
    if np.iscomplexobj(X):
        raise DataError(_COMPLEX)
    try:
        X = X if X.dtype in (np.float32, np.float64) else X.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"the vectors are not numbers: {error}") from None
    if X.ndim != 2:
        raise DataError(f"vectors need shape (items, dimensions), but these have shape {X.shape}")
    if X.shape[0] < 2 or X.shape[1] < 1:
        raise DataError(_few(X.shape))
    bad = ~np.isfinite(X).all(1)
    if bad.any():
        rows = np.flatnonzero(bad)
        raise DataError(
            f"{len(rows)} of {len(X)} rows hold NaN or infinity (the first is row {rows[0]}); "
            "remove or repair them"
        )
    most = max(float(X.max()), -float(X.min()))
    if most > LARGEST:
        raise DataError(f"the vectors hold numbers up to {most:.1e}, too large to be squared; rescale them")
    return X


_COMPLEX = "the vectors are complex numbers, but a map is made of real ones; give X.real or abs(X)"


def _few(shape: tuple[int, ...]) -> str:
    return f"a map needs at least 2 items with 1 dimension, but the vectors have shape {shape}"


def _array(X: Any) -> np.ndarray:
    """As NumPy has it: a tensor of any precision or with a gradient, a masked array without holes, lists."""
    try:
        return np.asarray(unwrapped(X))
    except (TypeError, ValueError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(f"the vectors are not numbers: {error}") from None


def unwrapped(X: Any) -> Any:
    """The array of a tensor or of a masked array without holes; anything else but ragged lists as it is."""
    if isinstance(X, np.ma.MaskedArray):
        holes = np.ma.getmaskarray(X)
        if holes.any():
            rows = np.flatnonzero(holes.reshape(len(X), -1).any(axis=1))
            raise DataError(
                f"{len(rows):,} of {len(X):,} rows hold masked values (the first is row {rows[0]}); leave "
                "these rows out or fill them in with X.filled(…)"
            )
        return np.asarray(X.data)
    if hasattr(X, "detach") and hasattr(X, "numpy"):  # a tensor of PyTorch
        X = X.detach().cpu()
        if X.is_floating_point() and X.element_size() < 4:
            X = X.float()  # NumPy has no bfloat16
        return X.numpy()
    if isinstance(X, list | tuple) and (odd := _ragged(X)):
        raise DataError(odd)
    return X


def _ragged(X: Any) -> str | None:
    """Which row is longer or shorter than the others, where that is what is wrong with a list."""
    try:
        lengths = [len(row) for row in X]
    except TypeError:
        return None
    usual = max(set(lengths), key=lengths.count, default=0)
    odd = [at for at, length in enumerate(lengths) if length != usual]
    if not odd:
        return None
    return (
        f"{len(odd):,} of {len(lengths):,} rows differ in length: most have {usual} numbers, row {odd[0]} "
        f"has {lengths[odd[0]]}; give vectors of one length"
    )
