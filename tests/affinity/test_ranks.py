"""Weights by rank alone, against the same words spelled out in loops."""

import numpy as np

from langscape import affinity
from langscape.affinity.ranks import STEPS

rng = np.random.default_rng(0)


def test_ranks_alone_weigh_the_same_for_every_point():
    X = rng.normal(size=(150, 5)).astype(np.float32)
    D = ((X[:, None].astype(float) - X[None]) ** 2).sum(-1)
    C = np.zeros((150, 150))
    for i in range(150):
        near = [int(j) for j in np.argsort(D[i], kind="stable") if j != i][:50]
        C[i, near] = [next(w for last, w in STEPS if rank <= last) for rank in range(1, 51)]
    found = affinity.ranks(X, labels=[f"w{i}" for i in range(150)])
    np.testing.assert_allclose(found.P, (C + C.T) / (C + C.T).sum(), rtol=1e-4, atol=1e-9)
    assert found.settings["affinity"] == "ranks"
    assert found.settings["neighbours"] == 50
    assert found.items.labels[3] == "w3"
