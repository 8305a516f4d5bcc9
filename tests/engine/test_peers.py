"""KL no worse than scikit-learn's exact t-SNE and openTSNE's at equal P, steps, start and rates."""

import numpy as np
import pytest

from langscape import Schedule, affinity, embed
from langscape.kernels import reference
from langscape.sources import samples

pytestmark = pytest.mark.slow


def data(name):
    from sklearn.datasets import load_digits, load_iris

    if name == "iris":
        return load_iris().data
    if name == "digits":
        return load_digits().data[:500]
    return np.asarray(samples.words(groups_only=True).matrix, np.float64)


def scikit_learn(P, Y, rate, steps, early):
    from scipy.spatial.distance import squareform
    from sklearn.manifold._t_sne import _gradient_descent, _kl_divergence

    flat = squareform(P, checks=False)
    n, dims = Y.shape

    def run(y, exaggeration, first, last, momentum, rate):
        args = [flat * exaggeration, 1, n, dims]
        return _gradient_descent(
            _kl_divergence, y, first, last, n_iter_check=10**9, n_iter_without_progress=10**9,
            momentum=momentum, learning_rate=rate, min_grad_norm=0, args=args,
        )[0]  # fmt: skip

    y = run(Y.ravel().copy(), 12.0, 0, early, 0.5, rate[0])
    return run(y, 1.0, early, steps, 0.8, rate[1]).reshape(n, dims)


def opentsne(P, Y, rate, steps, early):
    import openTSNE
    from openTSNE.affinity import Affinities as Base
    from scipy.sparse import csr_matrix

    class Given(Base):
        def __init__(self) -> None:
            self.P = csr_matrix(P)
            self.n_jobs, self.verbose = 1, False

    # openTSNE leaves the factor 4 out of its gradient
    e = openTSNE.TSNEEmbedding(Y.copy(), Given(), negative_gradient_method="bh", theta=0.0, n_jobs=1)
    e = e.optimize(early, exaggeration=12, momentum=0.5, learning_rate=4 * rate[0])
    return np.asarray(e.optimize(steps - early, momentum=0.8, learning_rate=4 * rate[1]))


@pytest.mark.parametrize("name", ["iris", "digits", "words"])
@pytest.mark.parametrize("peer", [scikit_learn, opentsne])
def test_median_kl_is_no_worse_than_a_peers(name, peer):
    # the descent is chaotic, and differs between processors: on Iris single runs scatter by 2.5 %, medians
    # of thirty by 0.6 %. Of 120 runs, ours was 0.5 % above openTSNE's; half the steps are 3.6 % above ours.
    steps, early, seeds = (1000, 250, 30) if name == "iris" else (500, 250, 5)
    X = data(name)
    a = affinity.points(X, 25)
    P = a.P.astype(np.float64)
    n = len(X)
    rate = (n / 48, n / 4)
    schedule = Schedule(steps=steps, early_steps=early, learning_rate=rate)
    starts = [np.random.default_rng(seed).normal(0, 1e-4, (n, 2)) for seed in range(4 * seeds)]
    few = starts[:seeds]  # the peers take seconds where we take hundredths
    ours = [
        embed(a, initial=Y, schedule=schedule, quality=False).kl for Y in (starts if name == "iris" else few)
    ]
    theirs = [reference.kl(P, peer(P, Y, rate, steps, early)) for Y in few]
    scatter = np.hypot(median_error(ours), median_error(theirs))
    assert np.median(ours) <= 1.01 * np.median(theirs) + 3 * scatter, (ours, theirs)


def median_error(runs):
    """The standard error of a median of normal runs."""
    return np.sqrt(np.pi / 2) * np.std(runs, ddof=1) / np.sqrt(len(runs))


def test_the_grids_kl_is_within_one_percent_of_the_exact_engines():
    words = np.asarray(samples.words().matrix, np.float32)[:2600]
    a = affinity.points(words, 30)
    kls = {
        engine: [
            embed(a, initial="random", engine=engine, seed=s, schedule=Schedule(steps=600), quality=False).kl
            for s in range(5)
        ]
        for engine in ("grid", "exact")
    }
    assert np.median(kls["grid"]) <= 1.01 * np.median(kls["exact"]), kls
