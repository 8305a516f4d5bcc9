"""The scikit-learn face: a t-SNE with `fit`, `fit_transform` and `transform`, fit for pipelines.

Parameters carry scikit-learn's names where its users expect them; the map behind them, with its
quality figures, is `map_`.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from langscape import affinity
from langscape.data import Affinities, Map
from langscape.engine import Schedule, embed
from langscape.engine.initial import start
from langscape.engine.insert import place
from langscape.engine.weighting import Insertion
from langscape.errors import SettingsError

_EARLY_STEPS = 250


class TSNE(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """A t-SNE map of the rows of X that can also place rows it has not seen.

    n_components        1, 2, 3 or 4
    perplexity          lowered to a third of the other rows where there are too few
    metric              "euclidean", "cosine", or "precomputed": X is a square matrix of distances
    init                "pca", "random", "mds", "spectral", or an array (n, n_components)
    learning_rate       "auto" or a number, for the gradient with the factor 4, as scikit-learn's
    max_iter            all steps, the exaggerated ones included
    restarts            of several, the map of lowest KL is kept; all but the first start at random
    n_neighbors         how many rows of the map pull at a row that `transform` places
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
        metric: Literal["euclidean", "cosine", "precomputed"] = "euclidean",
        init: Any = "pca",
        learning_rate: float | Literal["auto"] = "auto",
        max_iter: int = 1000,
        early_exaggeration: float = 12.0,
        restarts: int = 1,
        n_neighbors: int = 10,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.perplexity = perplexity
        self.metric: Literal["euclidean", "cosine", "precomputed"] = metric
        self.init = init
        self.learning_rate: float | Literal["auto"] = learning_rate
        self.max_iter = max_iter
        self.early_exaggeration = early_exaggeration
        self.restarts = restarts
        self.n_neighbors = n_neighbors
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> TSNE:
        """Map the rows of X, shape (n, features), at least two of them; y is ignored."""
        X = validate_data(self, X, dtype=[np.float64, np.float32], ensure_min_samples=2)
        n = len(X)
        self._check_metric(X)
        if not self.perplexity >= 1:
            raise SettingsError(f"perplexity {self.perplexity!r} is not possible; it must be at least 1")
        # 3·perplexity neighbours must exist; scikit-learn's own checks map ten rows at perplexity 30.
        self.perplexity_ = max(1.0, min(float(self.perplexity), (n - 1) / 3))
        if self.metric == "precomputed":
            affinities = affinity.precomputed(X, "distances", perplexity=self.perplexity_)
        else:
            affinities = affinity.points(X, self.perplexity_, metric=self.metric)
        schedule = Schedule(
            steps=self.max_iter,
            learning_rate=self.learning_rate,
            early_exaggeration=float(self.early_exaggeration),
            early_steps=min(_EARLY_STEPS, self.max_iter),
        )
        way = _on_a_line if self.n_components == 1 else embed
        self.map_ = way(affinities, self.n_components, self.init, schedule, self.restarts, seed=self._seed())
        self.embedding_ = self.map_.xy.astype(X.dtype)
        self.kl_divergence_ = self.map_.kl
        self.n_iter_ = self.max_iter
        return self

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> np.ndarray:
        """Map the rows of X and return their places, (n, n_components), in X's precision."""
        return self.fit(X, y, **fit_params).embedding_

    def transform(self, X: Any) -> np.ndarray:
        """Places for the rows of X on the finished map, (rows, n_components); the map does not change."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=[np.float64, np.float32], reset=False)
        known = self.map_.vectors
        if known is None:
            raise SettingsError(
                'a map of metric="precomputed" cannot place new rows: it holds no vectors to compare with; '
                "fit on vectors instead"
            )
        row_of = {row.tobytes(): i for i, row in reversed(list(enumerate(known + 0.0)))}
        found = np.array([row_of.get(row.tobytes(), -1) for row in X.astype(known.dtype) + 0.0], np.intp)
        places = self.embedding_[found].astype(X.dtype)
        new = found < 0
        if new.any():
            settings = Insertion(neighbours=self.n_neighbors)
            if self.metric == "euclidean":
                base, rows = _lifted(known, X[new])
            else:
                base, rows = np.asarray(known), X[new]
            places[new] = place(self.map_.xy, base, rows, settings, quality=False).xy
        return places

    def _check_metric(self, X: np.ndarray) -> None:
        if self.metric not in ("euclidean", "cosine", "precomputed"):
            raise SettingsError(
                f'metric {self.metric!r} is not known; use "euclidean", "cosine" or "precomputed"'
            )
        if self.metric == "precomputed" and X.shape[0] != X.shape[1]:
            raise SettingsError(f'metric="precomputed" needs a square matrix of distances, not {X.shape}')

    def _seed(self) -> int:
        if isinstance(self.random_state, int | np.integer):
            return int(self.random_state)
        return int(check_random_state(self.random_state).randint(2**31 - 1))

    @property
    def _n_features_out(self) -> int:
        return self.embedding_.shape[1]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.metric == "precomputed"
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _on_a_line(
    affinities: Affinities, dims: int, initial: Any, schedule: Schedule, restarts: int, *, seed: int
) -> Map:
    """A map of one dimension: points of a plane that start on a line feel no force away from it."""

    if restarts < 1:
        raise SettingsError(f"restarts {restarts} must be a whole number of at least 1")

    def run(initial: Any, seed: int) -> Map:
        line = start(affinities, initial, dims, seed)
        return embed(affinities, 2, np.column_stack([line, np.zeros(len(line))]), schedule, seed=seed)

    maps = [run(initial if r == 0 else "random", seed + r) for r in range(restarts)]
    best = min(maps, key=lambda one: one.kl)
    return best.but(xy=best.xy[:, :1], kls=np.array([one.kl for one in maps]))


def _lifted(known: np.ndarray, new: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Both sets on a flat cap of a sphere, where similar means near.

    Insertion weighs by cosine similarity. Of vectors (x·s, 1), with s small, the cosine is
    1 − s²‖x − x'‖²/2 to first order, so that it orders by Euclidean distance, and the weights
    fall off as a Gaussian does.
    """
    centre = known.mean(axis=0, dtype=np.float64)
    radius = float(np.sqrt(((known - centre) ** 2).sum(axis=1).max()))
    scale = 0.5 / radius if radius > 0 else 1.0
    base, rows = ((X - centre) * scale for X in (known, new))
    return np.column_stack([base, np.ones(len(base))]), np.column_stack([rows, np.ones(len(rows))])
