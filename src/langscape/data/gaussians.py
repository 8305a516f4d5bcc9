"""Items as distributions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from langscape.data.items import Items
from langscape.data.noun import Noun, frozen
from langscape.data.shown import Shown, some
from langscape.errors import DataError


@dataclass(frozen=True)
class Context:
    """A passage that a word stands in: the word is `text[start:end]`."""

    text: str
    start: int
    end: int

    def __post_init__(self) -> None:
        if not 0 <= self.start <= self.end <= len(self.text):
            raise DataError(
                f"a word at {self.start} to {self.end} lies outside its context, which has "
                f"{len(self.text)} characters"
            )


@dataclass(frozen=True, eq=False, repr=False)
class Gaussians(Noun, Shown):
    """Items as distributions: a mean and a spread each, and the contexts or rows they come from.

    means      (n, dim)
    variances  (n, dim) over contexts, divided by their number: one context has variance 0
    counts     (n,) contexts of each item; 0 where it is not known
    factors    (n, dim, k) where more than variances is kept: covariance = F Fᵀ + the diagonal that
               brings its variances to `variances`
    samples    (contexts of all items, dim) the vector of every context, item after item
    contexts   for each item its passages, in the order of its samples; empty for tables

    >>> g = Gaussians([[0.0, 1.0]], [[4.0, 9.0]], Items(["tea"]), counts=[3])
    >>> g.covariance(0).tolist(), g.spread.tolist()
    ([[4.0, 0.0], [0.0, 9.0]], [13.0])
    """

    means: np.ndarray
    variances: np.ndarray
    items: Items
    counts: np.ndarray
    factors: np.ndarray | None = None
    samples: np.ndarray | None = None
    contexts: Sequence[Sequence[Context]] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        n = len(self.items)
        for name in ("means", "variances"):
            object.__setattr__(self, name, frozen(_real(getattr(self, name), name)))
        object.__setattr__(self, "counts", frozen(self.counts, np.int64))
        dim = self.means.shape[-1]
        shapes = {"means": (n, dim), "variances": (n, dim), "counts": (n,)}
        if self.factors is not None:
            object.__setattr__(self, "factors", frozen(_real(self.factors, "factors")))
            shapes["factors"] = (n, dim, self.factors.shape[-1])
        if self.samples is not None:
            object.__setattr__(self, "samples", frozen(_real(self.samples, "samples")))
            shapes["samples"] = (int(self.counts.sum()), dim)
        for name, shape in shapes.items():
            if getattr(self, name).shape != shape:
                raise DataError(
                    f"{name} have shape {getattr(self, name).shape}, but {n} items of {dim} dimensions "
                    f"need {shape}"
                )
        if (self.variances < 0).any():
            row = int(np.argwhere(self.variances < 0)[0][0])
            raise DataError(f"item {self.items.labels[row]!r} has a negative variance; expected 0 or more")
        contexts = tuple(tuple(some) for some in self.contexts)
        if contexts and [len(some) for some in contexts] != self.counts.tolist():
            raise DataError("there must be as many contexts of each item as its count says")
        object.__setattr__(self, "contexts", contexts)
        object.__setattr__(self, "metadata", MappingProxyType(dict(self.metadata)))
        object.__setattr__(self, "notes", tuple(self.notes))

    def __len__(self) -> int:
        return len(self.items)

    def __repr__(self) -> str:
        where = f"{len(self):,} items in {self.means.shape[1]} dimensions"
        return f"Gaussians of {where}, {int(self.counts.sum()):,} contexts: {some(self.labels)}"

    def row_columns(self) -> Mapping[str, Any]:
        """Label, count, spread, mean and variances of each item, and the items' columns."""
        own = {"count": self.counts, "spread": self.spread, "mean": self.means, "variances": self.variances}
        return {"label": np.array(self.labels, object), **own, **self.items.columns}

    @property
    def labels(self) -> tuple[str, ...]:
        """The items' labels, in row order."""
        return self.items.labels  # type: ignore[return-value]

    @property
    def spread(self) -> np.ndarray:
        """(n,) total variance of each item: the trace of its covariance."""
        return self.variances.sum(axis=1, dtype=np.float64)

    @property
    def starts(self) -> np.ndarray:
        """(n + 1,) where the samples of each item begin, and where the last ones end."""
        return np.concatenate([[0], np.cumsum(self.counts)])

    def samples_of(self, item: int) -> np.ndarray | None:
        """(count, dim) float64: the vectors of one item's contexts; None where they were not kept."""
        if self.samples is None:
            return None
        first = int(self.counts[:item].sum())
        return self.samples[first : first + int(self.counts[item])].astype(np.float64)

    def some_rows(self, most: int) -> np.ndarray:
        """Rows of the samples, up to so many, spread evenly over those of each item; one of each at least."""
        share = min(1.0, most / max(int(self.counts.sum()), 1))
        taken = np.where(self.counts > 0, np.maximum((self.counts * share).astype(int), 1), 0)
        starts = self.starts
        return np.concatenate(
            [
                start + np.arange(many) * count // max(many, 1)
                for start, count, many in zip(starts[:-1], self.counts, taken, strict=True)
            ]
            or [np.zeros(0, np.intp)]
        ).astype(np.intp)

    def passages_of(self, item: int) -> np.ndarray:
        """(count,) the passage of each row of an item, by number; each row of a table is its own."""
        if not self.contexts:
            return np.arange(int(self.counts[item]))
        numbers: dict[str, int] = {}
        return np.array([numbers.setdefault(one.text, len(numbers)) for one in self.contexts[item]], np.intp)

    def halves_of(self, item: int) -> tuple[np.ndarray, np.ndarray]:
        """The rows of an item in two halves: every second one, but those of one passage stay together.

        Two occurrences in one sentence tell of each other; in two halves, one would be no test of the other.

        >>> one = Context("tea or tea", 0, 3)
        >>> contexts = [[one, one, Context("tea", 0, 3), one]]
        >>> g = Gaussians([[0.0]], [[1.0]], Items(["tea"]), [4], contexts=contexts)
        >>> [half.tolist() for half in g.halves_of(0)]
        [[0, 1, 3], [2]]
        """
        rows = self.passages_of(item)
        if len(set(rows.tolist())) == len(rows):
            return np.arange(0, len(rows), 2), np.arange(1, len(rows), 2)
        halves: tuple[list[int], list[int]] = ([], [])
        for passage in range(int(rows.max(initial=-1)) + 1):
            halves[len(halves[1]) < len(halves[0])].extend(np.flatnonzero(rows == passage).tolist())
        return np.array(halves[0], np.intp), np.array(halves[1], np.intp)

    def covariance(self, item: int) -> np.ndarray:
        """(dim, dim) covariance of one item, as far as it is known: diagonal, or with its factors."""
        whole = np.diag(self.variances[item].astype(np.float64))
        if self.factors is not None:
            F = self.factors[item].astype(np.float64)
            crossed = F @ F.T
            np.fill_diagonal(crossed, np.maximum(np.diag(whole), np.diag(crossed)))
            return crossed
        return whole

    def projected(self, axes: Any) -> np.ndarray:
        """(n, k, k) covariances U Σ Uᵀ on axes U of shape (k, dim)."""
        U = np.asarray(axes, np.float64)
        rest = self.variances.astype(np.float64)
        if self.factors is None:
            return np.einsum("kd,nd,ld->nkl", U, rest, U, optimize=True)
        F = self.factors.astype(np.float64)
        rest = np.maximum(rest - np.einsum("ndf,ndf->nd", F, F), 0.0)
        seen = np.einsum("kd,ndf->nkf", U, F, optimize=True)
        return np.einsum("kd,nd,ld->nkl", U, rest, U, optimize=True) + seen @ seen.transpose(0, 2, 1)

    def take(self, rows: Any) -> Gaussians:
        """The chosen items, in the order given."""
        rows = np.asarray(rows, dtype=np.intp)
        starts = self.starts
        kept = None
        if self.samples is not None:
            parts = [self.samples[starts[i] : starts[i + 1]] for i in rows]
            kept = np.concatenate(parts) if parts else self.samples[:0]
        return replace(
            self,
            means=self.means[rows],
            variances=self.variances[rows],
            items=self.items.take(rows),
            counts=self.counts[rows],
            factors=None if self.factors is None else self.factors[rows],
            samples=kept,
            contexts=[self.contexts[int(i)] for i in rows] if self.contexts else (),
        )

    def save(self, path: str | Path) -> Path:
        """Write them as one safetensors file, whole or not at all."""
        from langscape.io.gaussian_file import save_gaussians

        return save_gaussians(self, path)


def _real(values: Any, name: str) -> np.ndarray:
    array = np.asarray(values)
    array = array if array.dtype.kind == "f" else array.astype(np.float64)
    if not np.isfinite(array).all():
        raise DataError(f"{name} hold NaN or infinity; leave such items out")
    return array
