"""Other layouts than t-SNE, from the same affinities to the same Map: principal axes, and UMAP (an extra)."""

from __future__ import annotations

import warnings
from typing import Any, Literal

import numpy as np

from langscape.data import Affinities, Map, Progress, Step
from langscape.engine.embed import embed
from langscape.engine.schedule import Schedule
from langscape.errors import DataError, MissingError, SettingsError
from langscape.kernels.linear import principal_axes

Method = Literal["tsne", "umap", "pca"]


def lay_out(
    affinities: Affinities,
    method: Method = "tsne",
    dims: int = 2,
    *,
    schedule: Schedule | None = None,
    neighbours: int = 15,
    least_distance: float = 0.1,
    quality: bool = True,
    seed: int = 0,
    progress: Progress | None = None,
) -> Map:
    """A map by t-SNE (`embed`), UMAP or PCA.

    PCA draws the vectors behind the affinities and needs them. UMAP takes the vectors where there are
    any, with `neighbours` of each; without vectors, it lays out P itself. `least_distance` is its
    min_dist.
    """
    if method not in ("tsne", "umap", "pca"):
        raise SettingsError(f"method {method!r} is not known; use tsne, umap or pca")
    if dims not in (2, 3):
        raise SettingsError(f"dims {dims!r} is not possible; maps are drawn in 2 or 3 dimensions")
    if method == "tsne":
        return embed(affinities, dims, schedule=schedule, quality=quality, seed=seed, progress=progress)
    if method == "pca":
        xy, how = _principal(affinities, dims)
    else:
        if progress is not None:
            progress(Step(0, 1, "UMAP"))
        xy, how = _umap(affinities, dims, neighbours, least_distance, seed)
    if not np.isfinite(xy).all():
        raise DataError(f"{method} gave places that are not finite; use tsne")
    figures: dict[str, float] = {}
    per_point: dict[str, np.ndarray] = {}
    if quality and affinities.vectors is not None:
        from langscape.metrics import quality as measure

        figures, per_point = measure(affinities.vectors, xy, metric=affinities.metric)  # type: ignore[arg-type]
    result = Map(
        xy.astype(np.float32),
        affinities.items,
        settings={**affinities.settings, "method": method, "seed": seed, **how},
        quality=figures,
        per_point=per_point,
        vectors=affinities.vectors,
        metric=affinities.metric,
        notes=affinities.notes,
    )
    if not quality:
        return result
    from langscape.metrics.true_neighbours import with_true_neighbours

    return with_true_neighbours(result)


def _principal(affinities: Affinities, dims: int) -> tuple[np.ndarray, dict[str, Any]]:
    X = affinities.vectors
    if X is None:
        raise SettingsError("pca draws vectors, and these affinities came without; use tsne or umap")
    X = np.asarray(X, np.float64)
    if affinities.metric == "cosine":
        X = X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-300)
    xy = principal_axes(X, dims)[0]
    total = float(((X - X.mean(axis=0)) ** 2).sum())
    return xy, {"variance": round(float((xy**2).sum()) / total, 4) if total > 0 else 0.0}


def _umap(
    affinities: Affinities, dims: int, neighbours: int, least_distance: float, seed: int
) -> tuple[np.ndarray, dict[str, Any]]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import umap
            from umap import umap_
    except ImportError:
        raise MissingError("umap needs umap-learn; run `pip install 'langscape[umap]'`") from None
    n = len(affinities)
    neighbours = min(neighbours, n - 1)
    if neighbours < 2:
        raise SettingsError(f"umap needs at least 2 neighbours, but there are {n} items; use tsne")
    how = {"neighbours": neighbours, "least_distance": least_distance}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if affinities.vectors is not None:
            fitted = umap.UMAP(
                n_neighbors=neighbours, n_components=dims, min_dist=least_distance, metric=affinities.metric,
                random_state=seed, n_jobs=1,
            ).fit_transform(affinities.vectors)  # fmt: skip
            return np.asarray(fitted), how
        a, b = umap_.find_ab_params(1.0, least_distance)
        fitted, _ = umap_.simplicial_set_embedding(
            None, _graph(affinities), dims, 1.0, a, b, 1.0, 5, 300, _start(affinities, dims, seed),
            np.random.RandomState(seed), "euclidean", {}, False, {}, False, parallel=False,
        )  # fmt: skip
    return np.asarray(fitted), {"least_distance": least_distance, "of": "affinities"}


def _graph(affinities: Affinities) -> Any:
    """P as UMAP's weights: each row's strongest entry is 1, then the union of both directions."""
    from scipy.sparse import coo_matrix, csr_matrix, diags

    P = csr_matrix(affinities.P)
    largest = np.asarray(P.max(axis=1).todense(), np.float64).ravel()
    one: Any = diags(1.0 / np.where(largest > 0, largest, 1.0)) @ P
    both = one.multiply(one.T)
    return coo_matrix(one + one.T - both)


def _start(affinities: Affinities, dims: int, seed: int) -> np.ndarray:
    from langscape.engine.initial import start

    return (10.0 * start(affinities, "spectral", dims, seed, spread=0.3)).astype(np.float32)
