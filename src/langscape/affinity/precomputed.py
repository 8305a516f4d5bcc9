"""Affinities from a matrix the caller already has: probabilities, or distances."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from scipy.sparse import csr_array, issparse

from langscape.affinity.joint import joint_from_dense
from langscape.affinity.points import checked_perplexity, perplexity_notes
from langscape.data import Affinities, Items
from langscape.errors import DataError, SettingsError


def precomputed(
    matrix: Any,
    kind: Literal["probabilities", "distances"] = "probabilities",
    labels: Sequence[str] | None = None,
    *,
    perplexity: float | Sequence[float] = 30.0,
    items: Items | None = None,
    vectors: Any = None,
) -> Affinities:
    """The joint P of a square matrix: non-negative weights of any scale, or distances.

    Probabilities may be conditional, unsymmetric or unnormalised (an attention matrix, counts);
    (A + Aᵀ)/Σ with a zero diagonal is taken. Distances get the perplexity search.
    An item with no affinity at all would fly off the map and is an error.

    >>> precomputed([[0.0, 1.0], [3.0, 0.0]]).P[0, 1]
    np.float32(0.5)
    """
    if kind not in ("probabilities", "distances"):
        raise SettingsError(f'kind {kind!r} is not known; use "probabilities" or "distances"')
    M = matrix.tocsr().astype(np.float64) if issparse(matrix) else np.array(matrix, np.float64)
    if M.ndim != 2 or M.shape[0] != M.shape[1]:
        raise DataError(f"the matrix must be square, but has shape {M.shape}")
    n = M.shape[0]
    if n < 2:
        raise DataError(f"a map needs at least 2 items, but the matrix has shape {M.shape}")
    entries: Any = M.data if issparse(M) else M
    if not np.isfinite(entries).all():
        raise DataError("the matrix holds NaN or infinity; remove or repair those rows")
    if entries.size and entries.min() < 0:
        raise DataError(f"the matrix holds {entries.min():g}; {kind} cannot be negative")
    items = items or (Items(labels) if labels is not None else Items.numbered(n))
    if len(items) != n:
        raise DataError(f"{len(items)} labels for {n} rows; give one label per row")
    settings: dict[str, Any] = {"affinity": "precomputed", "kind": kind}
    P: Any
    notes: tuple[str, ...] = ()
    if kind == "distances":
        P, notes = _from_distances(M, perplexity, items)
        settings["perplexity"] = perplexity
    elif issparse(M):
        P = _sparse_joint(M)
    else:
        P = joint_from_dense(M.astype(np.float32)) if M.max() > 1e-30 else M
    alone = np.flatnonzero(np.asarray(P.sum(axis=1)).ravel() == 0)
    if len(alone):
        raise DataError(
            f"item {items.labels[alone[0]]!r} (row {alone[0]}) has no affinity with any other"
            + (f", and so have {len(alone) - 1} more" if len(alone) > 1 else "")
            + "; leave such items out"
        )
    held = None if vectors is None else np.asarray(vectors)
    return Affinities(P, items, settings, vectors=held, notes=notes)


def _from_distances(D: Any, perplexity: Any, items: Items) -> tuple[np.ndarray, tuple[str, ...]]:
    from langscape.kernels.perplexity import conditional_rows

    n = len(items)
    if issparse(D):
        raise DataError("sparse distances are ambiguous (is a missing entry 0 or far?); give a dense matrix")
    if not np.allclose(D, D.T, rtol=1e-5, atol=1e-8):
        raise DataError("the distances are not symmetric; give d(i, j) = d(j, i)")
    P = np.empty((n, n), np.float32)
    wanted = checked_perplexity(perplexity, n)
    betas, reached = np.empty((2, n))
    conditional_rows(D * D, 0, np.log(wanted), True, P, betas, reached)
    return joint_from_dense(P), perplexity_notes(wanted, np.exp(reached), items)


def _sparse_joint(M: Any) -> csr_array:
    P = csr_array(M + M.T)
    P.setdiag(0.0)
    P.eliminate_zeros()
    P.sort_indices()
    total = P.data.sum()
    if not total > 0:
        raise DataError("every affinity is zero: no item has a neighbour")
    return csr_array(((P.data / total).astype(np.float32), P.indices, P.indptr), shape=P.shape)
