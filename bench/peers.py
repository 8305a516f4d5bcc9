"""The other programs, each driven to take exactly the steps, P and start that ours takes.

scikit-learn's `TSNE` fixes some of these, so its own parts are called as the class calls them. All learning
rates are for the gradient with the factor 4; openTSNE leaves the 4 out and gets four times the rate.

scikit-learn-intelex and TorchDR are no dependencies: `python -m bench --get-peers` puts them in a folder of
their own, without dependencies, and results say "not installed" where they are missing.
"""

from __future__ import annotations

import importlib
import subprocess
import sys
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
from openTSNE import TSNEEmbedding
from openTSNE.affinity import PerplexityBasedNN, PrecomputedAffinities
from scipy.sparse import csr_matrix
from sklearn.manifold._t_sne import (
    _gradient_descent,
    _joint_probabilities,
    _joint_probabilities_nn,
    _kl_divergence,
    _kl_divergence_bh,
)
from sklearn.metrics import pairwise_distances
from sklearn.neighbors import NearestNeighbors

from langscape.engine import Schedule
from langscape.paths import home_folder

Floor = tuple[float | None, ...]
_LOCK = Path(__file__).parents[1] / "requirements" / "peers.txt"
_FOLDER = home_folder() / "bench" / "peers"


def get() -> None:
    """Install the optional peers beside the environment, not into it."""
    command = [sys.executable, "-m", "pip", "install", "--no-deps", "--ignore-installed", "--quiet"]
    command += ["--require-hashes", "--only-binary", ":all:", "--prefix", str(_FOLDER)]
    subprocess.run([*command, "-r", str(_LOCK)], check=True)


def module(name: str) -> Any | None:
    """An optional peer's module, or None where it is not installed."""
    _look_aside()
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def version(name: str) -> str:
    """The installed version of a distribution, or "not installed"."""
    _look_aside()
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "not installed"


def sklearn_exact_affinities(X: np.ndarray, perplexity: float) -> np.ndarray:
    """The condensed joint P, as `TSNE(method="exact")` makes it."""
    return _joint_probabilities(pairwise_distances(X, metric="euclidean", squared=True), perplexity, 0)


def sklearn_exact(
    condensed: np.ndarray,
    start: np.ndarray,
    schedule: Schedule,
    floor: tuple[float | None, ...] | None = None,
) -> tuple[np.ndarray, int]:
    """scikit-learn's exact descent from `start`; floors are kept by projection, as ours are."""
    n, dims = start.shape
    held = [] if floor is None else [(d, value) for d, value in enumerate(floor) if value is not None]

    def objective(p: np.ndarray, *args: Any, **kwargs: Any) -> tuple[float, np.ndarray]:
        # _gradient_descent adds its step to this very array, so a projection here holds.
        _project(p.reshape(n, dims), held)
        return _kl_divergence(p, *args, **kwargs)

    def phase(p: np.ndarray, exaggeration: float, **how: Any) -> tuple[np.ndarray, int]:
        return _sklearn_descent(
            objective, p, args=[condensed * exaggeration, 1, n, dims], kwargs={"skip_num_points": 0}, **how
        )

    # Float32 as the class starts it; scikit-learn's distances are float64 all the same.
    p, steps = _two_phases(phase, np.asarray(start, np.float32).ravel(), schedule, n)
    xy = p.reshape(n, dims)
    _project(xy, held)
    return xy, steps


def sklearn_neighbours(X: np.ndarray, perplexity: float) -> Any:
    """The sparse joint P, as `TSNE(method="barnes_hut")` makes it."""
    return _joint_over(NearestNeighbors, X, perplexity)


def sklearn_barnes_hut(P: Any, start: np.ndarray, schedule: Schedule) -> tuple[np.ndarray, int]:
    """scikit-learn's Barnes–Hut descent, one degree of freedom in any dimension, as everywhere here."""
    n, dims = start.shape
    P = _copied(P, np.float64)

    def phase(p: np.ndarray, exaggeration: float, **how: Any) -> tuple[np.ndarray, int]:
        return _sklearn_descent(
            _kl_divergence_bh,
            p,
            args=[P * exaggeration, 1, n, dims],
            kwargs={"skip_num_points": 0, "angle": 0.5, "verbose": 0, "num_threads": 1},
            **how,
        )

    p, steps = _two_phases(phase, np.asarray(start, np.float32).ravel(), schedule, n)
    return p.reshape(n, dims), steps


def opentsne_neighbours(X: np.ndarray, perplexity: float) -> Any:
    """openTSNE's affinities with its own choice of neighbour search."""
    return PerplexityBasedNN(X, perplexity=int(perplexity), method="auto", n_jobs=1, random_state=0).P


def opentsne(P: Any, start: np.ndarray, schedule: Schedule, method: str) -> tuple[np.ndarray, int]:
    """openTSNE's descent; method "bh" (Barnes–Hut) or "fft" (interpolation)."""
    affinities = PrecomputedAffinities(_copied(P, np.float64), normalize=False)
    embedding = TSNEEmbedding(
        np.array(start, np.float64), affinities, negative_gradient_method=method, n_jobs=1, random_state=0
    )
    early, late = schedule.rates(len(start))
    rest = schedule.steps - schedule.early_steps
    for steps, exaggeration, rate, momentum in (
        (schedule.early_steps, schedule.early_exaggeration, early, schedule.momentum[0]),
        (rest, 1.0, late, schedule.momentum[1]),
    ):
        if steps:
            embedding.optimize(
                n_iter=steps,
                exaggeration=exaggeration,
                learning_rate=4 * rate,
                momentum=momentum,
                inplace=True,
            )
    return np.asarray(embedding), schedule.early_steps + rest


def intelex_neighbours(X: np.ndarray, perplexity: float) -> Any:
    """The sparse joint P with scikit-learn-intelex's neighbour search."""
    search = importlib.import_module("daal4py.sklearn.neighbors").NearestNeighbors
    return _joint_over(search, X, perplexity)


def intelex(daal4py: Any, P: Any, start: np.ndarray, schedule: Schedule) -> tuple[np.ndarray, int]:
    """scikit-learn-intelex's Barnes–Hut descent; momentum 0.5 then 0.8 and one rate are fixed in it."""
    daal4py.daalinit(1)
    n = len(start)
    P = _copied(P, np.float32)
    xy = np.array(start, np.float32)
    rate, _ = schedule.rates(n)
    sizes = [n, P.nnz, schedule.steps, schedule.steps, schedule.early_steps, 50]
    settings = [schedule.early_exaggeration, rate, 0.0, 0.5]
    results = np.zeros((3, 1), np.float32)
    daal4py.daal_tsne_gradient_descent(
        xy, P, np.array(sizes, np.float32)[:, None], np.array(settings, np.float32)[:, None], results, 1
    )
    return xy, int(results[0, 0]) + 1


def torchdr(
    torchdr: Any, X: np.ndarray, start: np.ndarray, perplexity: float, schedule: Schedule
) -> np.ndarray:
    """TorchDR's t-SNE on the CPU, its own affinities and optimiser, the same number of steps."""
    import torch

    torch.set_num_threads(1)
    rate, _ = schedule.rates(len(start))
    model = torchdr.TSNE(
        perplexity=perplexity,
        n_components=start.shape[1],
        init=torch.tensor(start, dtype=torch.float32),
        lr=rate,
        max_iter=schedule.steps,
        early_exaggeration_coeff=schedule.early_exaggeration,
        early_exaggeration_iter=schedule.early_steps,
        min_grad_norm=0.0,
        device="cpu",
        random_state=0,
    )
    return model.fit_transform(torch.tensor(X, dtype=torch.float32)).detach().numpy()


def umap(X: np.ndarray, start: np.ndarray) -> np.ndarray:
    """umap-learn with its own settings; another method, so only its time is comparable."""
    from umap import UMAP

    return UMAP(n_components=start.shape[1], random_state=0, n_jobs=1, init="pca").fit_transform(X)


def _joint_over(search: Any, X: np.ndarray, perplexity: float) -> Any:
    k = min(len(X) - 1, int(3 * perplexity + 1))
    graph = search(n_neighbors=k, n_jobs=1).fit(X).kneighbors_graph(mode="distance")
    graph.data **= 2
    return _joint_probabilities_nn(graph, perplexity, 0)


def _copied(P: Any, dtype: Any) -> Any:
    """A CSR copy that may be written to, as the peers' compiled code demands."""
    return csr_matrix(P).astype(dtype, copy=True)


def _look_aside() -> None:
    site = _FOLDER / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages"
    if site.exists() and str(site) not in sys.path:
        sys.path.append(str(site))


def _project(xy: np.ndarray, held: list[tuple[int, float]]) -> None:
    for d, value in held:
        np.maximum(xy[:, d], value, out=xy[:, d])


def _sklearn_descent(objective: Callable[..., Any], p: np.ndarray, **how: Any) -> tuple[np.ndarray, int]:
    first, last = how["it"], how["max_iter"]
    # Nothing may stop it early: both sides take the same steps.
    p, _, i = _gradient_descent(
        objective,
        p,
        n_iter_check=50,
        n_iter_without_progress=last + 1,
        min_grad_norm=-1.0,
        min_gain=0.01,
        **how,
    )
    return p, i + 1 - first


def _two_phases(
    phase: Callable[..., tuple[np.ndarray, int]], p: np.ndarray, schedule: Schedule, n: int
) -> tuple[np.ndarray, int]:
    early, late = schedule.rates(n)
    p, first = phase(
        p,
        schedule.early_exaggeration,
        it=0,
        max_iter=schedule.early_steps,
        learning_rate=early,
        momentum=schedule.momentum[0],
    )
    p, second = phase(
        p, 1.0, it=first, max_iter=schedule.steps, learning_rate=late, momentum=schedule.momentum[1]
    )
    return p, first + second
