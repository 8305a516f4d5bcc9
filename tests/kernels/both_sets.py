"""`python both_sets.py FILE` writes what every kernel with a plain twin computes; prints which set ran."""

from __future__ import annotations

import sys

import numpy as np


def results() -> dict[str, np.ndarray]:
    """Forces and normalisers of every shape, from the same draws each time."""
    from langscape.kernels import exact, grid, sparse_attraction
    from langscape.kernels.pairwise_forces import FAR, FEW, forces_few, widened

    rng = np.random.default_rng(7)
    out: dict[str, np.ndarray] = {}
    for dims in (2, 3, 4):
        for n in (3, FEW - 5, FEW + 29, 1100):
            P = rng.random((n, n)).astype(np.float32)
            P = widened((P + P.T) / (P + P.T).sum(), 0.0)
            Y = widened(rng.normal(size=(dims, n)) * 2, FAR)
            A, R = np.zeros_like(Y), np.zeros_like(Y)
            forces = exact.Forces(n, dims)
            Z = forces_few(P, Y, A, R) if n < FEW else forces(P, Y, A, R)
            out |= {
                f"exact {dims} {n} {name}": a for name, a in zip("ARZ", (A[:, :n], R[:, :n], Z), strict=True)
            }
            # an empty sparse P: repulsion alone
            entries = np.zeros(n + 1, np.uint32), np.zeros(0, np.uint32), np.zeros(0, np.float32)
            Z = forces.sparse(*entries, Y, np.zeros_like(Y), R)
            out |= {f"sparse {dims} {n} R": R[:, :n].copy(), f"sparse {dims} {n} Z": Z}
    for scale in (1e-3, 1.0, 30.0):
        Y = (rng.normal(size=(900, 2)) * scale).astype(np.float32)
        R = np.empty_like(Y)
        Z = grid.Repulsion(len(Y))(Y, R)
        out |= {f"grid {scale:g} R": R, f"grid {scale:g} Z": Z}
        lengths = rng.integers(0, 50, len(Y))
        starts = sparse_attraction.grouped_starts(lengths)
        columns = rng.integers(0, len(Y), int(starts[-1]), dtype=np.uint32)
        values = rng.random(int(starts[-1])).astype(np.float32)
        A = np.empty_like(Y)
        sparse_attraction.attraction(starts, columns, values, Y, A, np.array([0, 400, 900]))
        out[f"attraction {scale:g}"] = A
    return {name: np.asarray(value) for name, value in out.items()}


if __name__ == "__main__":
    np.savez(sys.argv[1], **results())
    from langscape.kernels import dispatch, grid, pairwise_forces, sparse_attraction

    used = [
        kernel.__name__
        for kernel in (
            pairwise_forces.forces_few,
            pairwise_forces.halves,
            grid._spread_one,
            grid.gather_one,
            sparse_attraction._row,
        )
    ]
    print(dispatch.PLAIN_BECAUSE)
    print(*used)
