"""The scikit-learn face: a t-SNE with `fit`, `fit_transform` and `transform`, fit for pipelines.

Parameters carry scikit-learn's names where its users expect them, and openTSNE's where only that has them.
The map behind them, with its quality figures, is `map_`.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from scipy.sparse import csr_array, issparse
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from langscape import affinity
from langscape.affinity.given_vectors import GivenVectors, given_vectors, unwrapped
from langscape.affinity.joint import joint_from_neighbours
from langscape.affinity.points import EXACT_UP_TO, checked_perplexity, perplexity_notes
from langscape.data import Affinities, Items, Map, Progress, Step
from langscape.engine import Schedule, embed
from langscape.engine.descent import Callback
from langscape.engine.initial import start
from langscape.engine.placing import place_among, refined_by
from langscape.engine.weighting import Insertion, Method
from langscape.errors import DataError, SettingsError
from langscape.kernels.linear import principal_axes

_LATE_STEPS = 250
Metric = Literal["euclidean", "cosine", "precomputed"] | str | Callable[[np.ndarray, np.ndarray], float]


class TSNE(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """A t-SNE map of the rows of X that can also place rows it has not seen.

    X may be an array, a data frame, a list, a tensor of any precision, or sparse (TF-IDF): sparse rows of
    more than 100 features are reduced to 100 axes by truncated SVD, which a note of `map_` says.

    n_components        1, 2, 3 or 4
    perplexity          lowered to a third of the other rows where there are too few
    neighbors           which others a row considers: by "perplexity", by rank ("ranks"; "reciprocal" counts
                        twice those that name it in turn), or, besides the perplexity, as many as stand out by
                        `k` standard deviations ("local", Claassen's)
    metric              "euclidean", "cosine", any other that scikit-learn's neighbour search knows by name
                        ("manhattan", "canberra", …), a function of two rows, or "precomputed": X is a square
                        matrix of distances, and `transform` takes those of new rows to the rows fitted
    metric_params       what that metric takes besides, such as {"p": 3} for "minkowski"
    init                "pca", "random", "mds", "spectral", or an array (n, n_components)
    learning_rate       "auto" or a number, for the gradient with the factor 4, as scikit-learn's
    max_iter            all steps, the exaggerated ones included
    late_exaggeration   the same as early_exaggeration over the last 250 steps; 1 is none, 12 destroys a map
    restarts            of several, the map of lowest KL is kept; all but the first start at random
    n_neighbors         how many rows of the map pull at a row that `transform` places
    placement           "median" of their places, or "optimise", which then lowers the row's own KL
    callbacks           called with (step, KL, places) every `callbacks_every_iters` steps; a true answer of
                        one ends the descent there
    n_jobs              threads; None takes as many as the kernels use, −1 all; the map is the same for any
    verbose             says on the standard error stream how far it is
    random_state        an int gives the same map every time

    After fitting: `embedding_` (n, n_components), `kl_divergence_`, `n_iter_`, `perplexity_`, and
    `map_`, the whole `Map` with its quality figures.

    `transform` leaves the map as it is: rows of the training data get the place they have, every
    other row goes to the weighted median of its neighbours' places.

    >>> from sklearn.datasets import load_iris
    >>> X = load_iris().data
    >>> model = TSNE(random_state=0).fit(X[:100])
    >>> model.embedding_.shape, model.transform(X[100:]).shape
    ((100, 2), (50, 2))
    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        perplexity: float = 30.0,
        neighbors: Literal["perplexity", "ranks", "reciprocal", "local"] = "perplexity",
        k: float = 2.0,
        metric: Metric = "euclidean",
        metric_params: dict[str, Any] | None = None,
        init: Any = "pca",
        learning_rate: float | Literal["auto"] = "auto",
        max_iter: int = 1000,
        early_exaggeration: float = 12.0,
        late_exaggeration: float = 1.0,
        restarts: int = 1,
        n_neighbors: int = 10,
        placement: Method = "median",
        callbacks: Callback | Sequence[Callback] | None = None,
        callbacks_every_iters: int = 50,
        n_jobs: int | None = None,
        verbose: bool | int = False,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.perplexity = perplexity
        self.neighbors: Literal["perplexity", "ranks", "reciprocal", "local"] = neighbors
        self.k = k
        self.metric: Metric = metric
        self.metric_params = metric_params
        self.init = init
        self.learning_rate: float | Literal["auto"] = learning_rate
        self.max_iter = max_iter
        self.early_exaggeration = early_exaggeration
        self.late_exaggeration = late_exaggeration
        self.restarts = restarts
        self.n_neighbors = n_neighbors
        self.placement: Method = placement
        self.callbacks: Callback | Sequence[Callback] | None = callbacks
        self.callbacks_every_iters = callbacks_every_iters
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> TSNE:
        """Map the rows of X, shape (n, features), at least two of them; y is ignored."""
        X, notes = self._read(X)
        n = len(X)
        self._check_settings(X)
        # 3·perplexity neighbours must exist; scikit-learn's own checks map ten rows at perplexity 30.
        self.perplexity_ = max(1.0, min(float(self.perplexity), (n - 1) / 3))
        seed, tell = self._seed(), _printed if self.verbose else None
        with _threads(self.n_jobs):
            affinities, initial = self._affinities(X, seed, tell)
            affinities = replace(affinities, notes=(*notes, *affinities.notes))
            how: dict[str, Any] = {
                "seed": seed, "progress": tell, "callback": self._callback(),
                "callback_every": self.callbacks_every_iters,
            }  # fmt: skip
            way = _on_a_line if self.n_components == 1 else embed
            self.map_ = way(affinities, self.n_components, initial, self._schedule(), self.restarts, **how)
        self.embedding_ = self.map_.xy.astype(X.dtype)
        self.kl_divergence_ = self.map_.kl
        self.n_iter_ = int(self.map_.history[-1, 0])
        self._fitted = None if self.metric == "precomputed" else X
        return self

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> np.ndarray:
        """Map the rows of X and return their places, (n, n_components), in X's precision."""
        return self.fit(X, y, **fit_params).embedding_

    def transform(self, X: Any) -> np.ndarray:
        """Places for the rows of X on the finished map, (rows, n_components); the map does not change.

        With metric="precomputed", X is (rows, rows fitted): how far each is from those.
        """
        check_is_fitted(self)
        X, _ = self._read(X, fitting=False)
        settings = Insertion(neighbours=self.n_neighbors, method=self.placement)
        known = self._fitted
        if known is None:
            found = np.where(X.min(axis=1) == 0, X.argmin(axis=1), -1)
        else:
            row_of = {row.tobytes(): i for i, row in reversed(list(enumerate(known + 0.0)))}
            found = np.array([row_of.get(row.tobytes(), -1) for row in X.astype(known.dtype) + 0.0], np.intp)
        places = self.embedding_[found].astype(X.dtype)
        new = found < 0
        if new.any():
            n = len(self.embedding_)
            count = min(n, max(self.n_neighbors, refined_by(n, settings)))
            with _threads(self.n_jobs):
                index, squared = self._nearest(X[new], count)
                places[new] = place_among(self.map_.xy, index, squared, settings)
        return places

    def _read(self, X: Any, fitting: bool = True) -> tuple[np.ndarray, tuple[str, ...]]:
        """X as a matrix, and what was done to make it one; new sparse rows are reduced like those fitted."""
        how: dict[str, Any] = {"dtype": [np.float64, np.float32], "accept_sparse": "csr", "reset": fitting}
        X = validate_data(self, unwrapped(X), **how, ensure_min_samples=2 if fitting else 1)
        if issparse(X) and self.metric not in ("euclidean", "cosine"):
            raise SettingsError(
                f"metric {self._metric_name()!r} needs all numbers; give X.toarray(), or choose "
                '"euclidean" or "cosine", for which sparse rows are reduced by truncated SVD'
            )
        if fitting:
            found = given_vectors(X, self._seed()) if issparse(X) else GivenVectors(X)
            self._axes = found.axes
            return found.matrix.astype(X.dtype, copy=False), found.notes
        if self._axes is not None:
            return (csr_array(X) @ self._axes.T).astype(X.dtype), ()
        return (X.toarray() if issparse(X) else X), ()

    def _affinities(self, X: np.ndarray, seed: int, tell: Progress | None) -> tuple[Affinities, Any]:
        """The joint P of the rows, and where they start."""
        if self.metric == "precomputed":
            return affinity.precomputed(X, "distances", perplexity=self.perplexity_), self.init
        if self.metric not in ("euclidean", "cosine"):
            made = self._by_neighbour_search(X)
            initial = self.init
            if isinstance(initial, str) and initial == "pca":
                scores = principal_axes(X, self.n_components)[0]
                initial = 1e-4 * scores / max(float(scores[:, 0].std()), 1e-300)
            return made, initial
        how: dict[str, Any] = {"metric": self.metric, "seed": seed, "progress": tell}
        if self.neighbors == "local":
            return affinity.local(X, self.perplexity_, self.k, **how), self.init
        ways = {"ranks": affinity.ranks, "reciprocal": affinity.reciprocal, "perplexity": affinity.points}
        return ways[self.neighbors](X, self.perplexity_, **how), self.init

    def _by_neighbour_search(self, X: np.ndarray) -> Affinities:
        """Affinities by any metric that scikit-learn can search by: over each row's 3·perplexity nearest."""
        from langscape.kernels.perplexity import conditional_rows

        n = len(X)
        k = min(n - 1, int(np.ceil(3 * self.perplexity_)))
        distances, index = self._search(X).kneighbors(None, k)
        self._check_distances(distances)
        wanted = checked_perplexity(self.perplexity_, n)
        P, betas, reached = np.empty((n, k), np.float32), np.empty(n), np.empty(n)
        squared = np.ascontiguousarray(distances**2, np.float32)
        conditional_rows(squared, 0, np.log(np.minimum(wanted, k)), False, P, betas, reached)
        joint: Any = joint_from_neighbours(P, index)
        items = Items.numbered(n)
        settings = {"affinity": "points", "perplexity": self.perplexity_, "metric": self._metric_name()}
        notes = perplexity_notes(wanted, np.exp(reached), items)
        return Affinities(joint.toarray() if n <= EXACT_UP_TO else joint, items, settings, notes=notes)

    def _search(self, X: np.ndarray) -> Any:
        from sklearn.neighbors import NearestNeighbors

        params = dict(self.metric_params or {})
        given: dict[str, Any] = {"metric": self.metric, "n_jobs": self.n_jobs}
        if self.metric == "minkowski":
            given["p"] = params.pop("p", 2)  # scikit-learn has it apart
        given["metric_params"] = params or None
        # a tree is right only where distances obey the triangle inequality, which a function need not
        way = "brute" if callable(self.metric) else "auto"
        return NearestNeighbors(algorithm=way, **given).fit(X)

    def _check_distances(self, distances: np.ndarray) -> None:
        if not np.isfinite(distances).all() or distances.min(initial=0.0) < 0:
            raise DataError(
                f"metric {self._metric_name()!r} gives distances that are negative, infinite or no numbers; "
                "a map needs distances of 0 or more"
            )

    def _metric_name(self) -> str:
        return self.metric if isinstance(self.metric, str) else getattr(self.metric, "__name__", "a function")

    def _nearest(self, X: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
        """Rows and squared distances of the nearest that were fitted, (m, count), nearest first."""
        known = self._fitted
        if known is None:
            self._check_distances(X)
            index = np.argsort(X, axis=1, kind="stable")[:, :count]
            return index, np.take_along_axis(X, index, 1).astype(np.float64) ** 2
        if self.metric not in ("euclidean", "cosine"):
            distances, index = self._search(known).kneighbors(X, count)
            self._check_distances(distances)
            return index, distances**2
        from langscape.kernels.neighbours import nearest_to

        if self.metric == "cosine":
            known, X = _directions(known), _directions(X)
        squared, index = nearest_to(known, X, count)
        return index, np.maximum(squared, 0.0)

    def _schedule(self) -> Schedule:
        late = min(_LATE_STEPS, self.max_iter // 4) if self.late_exaggeration != 1 else 0
        # at a learning rate of one's own nothing fades
        own: dict[str, Any] = {}
        if self.learning_rate != "auto":
            own = {"early_steps": min(250, self.max_iter - late)}
        return Schedule(
            steps=self.max_iter,
            learning_rate=self.learning_rate,
            early_exaggeration=float(self.early_exaggeration),
            **own,
            late_exaggeration=float(self.late_exaggeration),
            late_steps=late,
        )

    def _callback(self) -> Callback | None:
        if self.callbacks is None:
            return None
        every = [self.callbacks] if callable(self.callbacks) else list(self.callbacks)
        if not all(callable(one) for one in every):
            raise SettingsError("callbacks must be a function of (step, KL, places), or several in a list")
        # all of them are called, whatever the first one says
        return lambda step, kl, xy: any([bool(one(step, kl, xy)) for one in every])

    def _check_settings(self, X: np.ndarray) -> None:
        if not self.perplexity >= 1:
            raise SettingsError(f"perplexity {self.perplexity!r} is not possible; it must be at least 1")
        if self.neighbors not in ("perplexity", "ranks", "reciprocal", "local"):
            raise SettingsError(
                f"neighbors {self.neighbors!r} is not known; "
                'use "perplexity", "ranks", "reciprocal" or "local"'
            )
        if self.metric == "precomputed" and X.shape[0] != X.shape[1]:
            raise SettingsError(f'metric="precomputed" needs a square matrix of distances, not {X.shape}')
        if self.metric in ("euclidean", "cosine"):
            return
        if self.neighbors != "perplexity":
            raise SettingsError(
                f'neighbors="{self.neighbors}" compares by "euclidean" or "cosine"; choose one of these'
            )
        from sklearn.neighbors import VALID_METRICS

        known = {name for names in VALID_METRICS.values() for name in names}
        if not callable(self.metric) and self.metric not in known:
            named = ", ".join(sorted(known - {"pyfunc", "precomputed"}))
            raise SettingsError(f"metric {self.metric!r} is not known; use a function, or one of {named}")

    def _seed(self) -> int:
        if isinstance(self.random_state, int | np.integer):
            return int(self.random_state)
        return int(check_random_state(self.random_state).randint(2**31 - 1))

    @property
    def _n_features_out(self) -> int:
        return self.embedding_.shape[1]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self.metric == "precomputed"
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _directions(X: np.ndarray) -> np.ndarray:
    lengths = np.linalg.norm(X, axis=1, keepdims=True)
    if (lengths == 0).any():
        row = int(np.flatnonzero(lengths.ravel() == 0)[0])
        raise DataError(f"row {row} is all zeros and has no cosine; remove it or use euclidean")
    return X / lengths


@contextlib.contextmanager
def _threads(n_jobs: int | None) -> Iterator[None]:
    """So many threads within; −1 is all there are, −2 all but one."""
    import numba

    if n_jobs is None:
        yield
        return
    if not isinstance(n_jobs, int | np.integer) or n_jobs == 0:
        raise SettingsError(f"n_jobs {n_jobs!r} must be a whole number other than 0; −1 takes all threads")
    most = int(numba.config.NUMBA_NUM_THREADS)  # type: ignore[attr-defined]
    before = numba.get_num_threads()
    numba.set_num_threads(max(1, min(most, int(n_jobs) if n_jobs > 0 else most + 1 + int(n_jobs))))
    try:
        yield
    finally:
        numba.set_num_threads(before)


def _printed(step: Step) -> None:
    """How far it is, as a line that the next one overwrites."""
    figures = "".join(f", {name} {value:.4f}" for name, value in step.figures.items())
    end = "\n" if step.done >= step.total else "\r"
    sys.stderr.write(f"{step.doing}: {step.done:,} of {step.total:,}{figures}{end}")


def _on_a_line(
    affinities: Affinities,
    dims: int,
    initial: Any,
    schedule: Schedule,
    restarts: int,
    *,
    seed: int,
    callback: Callback | None = None,
    **how: Any,
) -> Map:
    """A map of one dimension: points of a plane that start on a line feel no force away from it."""

    if restarts < 1:
        raise SettingsError(f"restarts {restarts} must be a whole number of at least 1")
    if callback is not None:
        how["callback"] = lambda step, kl, xy: callback(step, kl, xy[:, :1])

    def run(initial: Any, seed: int) -> Map:
        line = start(affinities, initial, dims, seed)
        flat = np.column_stack([line, np.zeros(len(line))])
        return embed(affinities, 2, flat, schedule, seed=seed, **how)

    maps = [run(initial if r == 0 else "random", seed + r) for r in range(restarts)]
    best = min(maps, key=lambda one: one.kl)
    return best.but(xy=best.xy[:, :1], kls=np.array([one.kl for one in maps]))
