"""A head as a Markov chain: where a walk along its attention ends up, and how soon."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from langscape.data import frozen
from langscape.errors import DataError

KRYLOV = 30
"""Vectors that the second eigenvalue of a long text is searched in."""

CROWDED = 0.99
"""Eigenvalues from here on lie so close to one another that all of them are computed."""


@dataclass(frozen=True, eq=False)
class Chain:
    """What a walk does that goes from query to key with the attention weights.

    kind          "mixing": one lasting distribution, reached from everywhere
                  "periodic": one lasting distribution that is circled and never reached
                  "absorbing": every walk ends at one of `absorbing`, as under causal attention
                  "divided": the tokens fall into parts that are never left; where a walk ends up depends on
                  where it began
    distribution  (n,) the left eigenvector of eigenvalue 1, summing to 1; None if absorbing or divided
    second        modulus of the second eigenvalue: near 0 forgets at once, near 1 stays
    absorbing     tokens that are never left
    steps         mean number of steps until a walk from anywhere is absorbed, NaN if it is not
    """

    kind: Literal["mixing", "periodic", "absorbing", "divided"]
    distribution: np.ndarray | None
    second: float
    absorbing: tuple[int, ...] = ()
    steps: float = float("nan")

    def __post_init__(self) -> None:
        if self.distribution is not None:
            object.__setattr__(self, "distribution", frozen(self.distribution))


def stationary(A: Any) -> Chain:
    """The chain of one head's attention (query, key); rows are scaled to sum to 1.

    >>> chain = stationary([[0.5, 0.5], [0.25, 0.75]])
    >>> chain.distribution.round(3).tolist(), round(chain.second, 3)
    ([0.333, 0.667], 0.25)
    >>> stationary([[1.0, 0.0], [0.5, 0.5]]).kind
    'absorbing'
    """
    # threads of BLAS only wait for each other at this size: 210 tokens take 20 times as long with them
    from langscape.kernels.linear import one_blas_thread

    with one_blas_thread():
        return _chain(_transitions(A))


def stationary_of_each(heads: Any) -> list[Chain]:
    """The chain of every head of (heads, query, key).

    >>> [chain.kind for chain in stationary_of_each([[[0.5, 0.5], [0.25, 0.75]], [[1.0, 0.0], [0.5, 0.5]]])]
    ['mixing', 'absorbing']
    """
    from langscape.kernels.linear import one_blas_thread

    with one_blas_thread():
        return [_chain(_transitions(one)) for one in heads]


def _chain(T: np.ndarray) -> Chain:
    if not np.triu(T, 1).any():
        ends = tuple(int(i) for i in np.flatnonzero(np.diag(T) == 1.0))
        # eigenvalues of a triangular matrix are its diagonal
        second = float(np.sort(np.diag(T))[-2]) if len(T) > 1 else 0.0
        return Chain("absorbing", None, second, ends, _steps(T, ends))
    closed = _closed_parts(T)
    ends = tuple(sorted(part[0] for part in closed if len(part) == 1))
    if len(closed) > 1:
        if len(ends) == len(closed):
            return Chain("absorbing", None, 1.0, ends, _steps(T, ends))
        return Chain("divided", None, 1.0, ends)
    lasting = _lasting(T, closed[0])
    second = _second(T, lasting)
    if ends:
        return Chain("absorbing", None, second, ends, _steps(T, ends))
    return Chain("periodic" if second > 1 - 1e-9 else "mixing", lasting, second)


def _second(T: np.ndarray, lasting: np.ndarray) -> float:
    """The modulus of the second eigenvalue of a chain with one lasting distribution.

    Taking the first eigenvalue off leaves it the largest, and a few products with vectors find the largest:
    of 512 tokens in a fifth of the time that all eigenvalues take. Near 1 they crowd together, and one may be
    missed: there, and where there are few tokens, all are computed.
    """
    if len(T) > 2 * KRYLOV:
        from scipy.sparse.linalg import ArpackNoConvergence, eigs

        how: dict[str, Any] = {"ncv": KRYLOV, "v0": np.cos(np.arange(len(T)) + 1.0), "tol": 1e-8}
        try:
            found = eigs(T - lasting, k=4, return_eigenvectors=False, maxiter=60, **how)
        except ArpackNoConvergence:
            found = np.ones(1)
        if (second := float(np.abs(found).max())) < CROWDED:
            return second
    return min(float(np.sort(np.abs(np.linalg.eigvals(T)))[-2]), 1.0)


def _transitions(A: Any) -> np.ndarray:
    T = np.array(A, np.float64)
    if T.ndim != 2 or T.shape[0] != T.shape[1] or not len(T):
        raise DataError(f"attention has shape {T.shape}; a chain needs one head's, (query, key) of one text")
    if not np.isfinite(T).all() or T.min() < 0:
        raise DataError("attention holds NaN, infinity or negative weights; capture it in float32")
    total = T.sum(axis=1)
    if not total.all():
        raise DataError(f"token {int(np.argmin(total))} looks at nothing; a walk cannot leave or stay there")
    return T / total[:, None]


def _closed_parts(T: np.ndarray) -> list[list[int]]:
    """Sets of tokens that reach one another and nothing else."""
    if T.min() > 0:
        return [list(range(len(T)))]
    from scipy.sparse.csgraph import connected_components

    count, part = connected_components(T > 0, directed=True, connection="strong")
    leaves = np.zeros(count, bool)
    frm, to = np.nonzero(T)
    leaves[part[frm[part[frm] != part[to]]]] = True
    return [np.flatnonzero(part == one).tolist() for one in range(count) if not leaves[one]]


def _lasting(T: np.ndarray, part: list[int]) -> np.ndarray:
    """π = πT within the part, zero elsewhere; one equation is replaced by Σπ = 1."""
    inner = T[np.ix_(part, part)]
    system = inner.T - np.eye(len(part))
    system[-1] = 1.0
    lasting = np.zeros(len(T))
    lasting[part] = np.clip(np.linalg.solve(system, np.eye(len(part))[-1]), 0, None)
    return lasting / lasting.sum()


def _steps(T: np.ndarray, ends: tuple[int, ...]) -> float:
    inner = np.setdiff1d(np.arange(len(T)), ends)
    if not len(inner):
        return 0.0
    system = np.eye(len(inner)) - T[np.ix_(inner, inner)]
    return float(np.linalg.solve(system, np.ones(len(inner))).mean())
