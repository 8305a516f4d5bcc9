"""The nouns: Items, Capture, Gaussians, Affinities, Map, View. All frozen, all arrays read-only.

`Recipe`, the sixth, lives in `run/` with the store that its digest names results in.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from langscape.errors import DataError, SettingsError

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Progress = Callable[["Step"], None]
"""What every long call may be given; it is called with a `Step` now and then."""


@dataclass(frozen=True)
class Step:
    """How far a long call has come: `done` of `total` units, and what it is doing.

    `figures` are numbers worth showing beside the bar, the KL of a t-SNE for one.
    """

    done: int
    total: int
    doing: str = ""
    figures: Mapping[str, float] = field(default_factory=dict)


def frozen(array: Any, dtype: Any = None) -> np.ndarray:
    """A read-only array; the one given is copied only if it is writable."""
    out = np.asarray(array, dtype=dtype)
    if out.flags.writeable:
        out = out.copy() if out is array or out.base is not None else out
        out.flags.writeable = False
    return out


class _Copied:
    """Lets a noun be pickled, to reach a worker process or a saved estimator; read-only mappings cannot."""

    def __reduce__(self) -> tuple[Any, ...]:
        values = {one.name: getattr(self, one.name) for one in fields(self)}  # type: ignore[arg-type]
        plain = {k: dict(v) if isinstance(v, MappingProxyType) else v for k, v in values.items()}
        return _rebuilt, (type(self), plain)


def _rebuilt(noun: type, values: dict[str, Any]) -> Any:
    return noun(**values)


@dataclass(frozen=True, eq=False)
class Items(_Copied):
    """What the rows are: one label each, and named columns (group, position, layer, …).

    >>> Items(["tea", "oslo"], {"group": ["drinks", "capitals"]}).columns["group"][1]
    'capitals'
    """

    labels: Sequence[str]
    columns: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        labels = tuple(str(label) for label in self.labels)
        columns = {}
        for name, values in self.columns.items():
            column = frozen(_column(values))
            if column.shape != (len(labels),):
                raise DataError(
                    f"column {name!r} has shape {column.shape}, but there are {len(labels)} items; "
                    "give one value per item"
                )
            columns[str(name)] = column
        object.__setattr__(self, "labels", labels)
        object.__setattr__(self, "columns", MappingProxyType(columns))

    def __len__(self) -> int:
        return len(self.labels)

    @classmethod
    def numbered(cls, n: int) -> Items:
        """Items labelled "0", "1", … for data that came without names."""
        return cls([str(i) for i in range(n)])

    def take(self, rows: Any) -> Items:
        """The chosen rows, in the order given."""
        rows = np.asarray(rows, dtype=np.intp)
        return Items([self.labels[int(i)] for i in rows], {k: v[rows] for k, v in self.columns.items()})

    def with_columns(self, **columns: Any) -> Items:
        """The same items with columns added or replaced."""
        return Items(self.labels, {**self.columns, **columns})


def _column(values: Any) -> np.ndarray:
    column = np.asarray(values)
    if column.dtype.kind in "US":
        column = column.astype(object)
    return column


@dataclass(frozen=True, eq=False)
class Capture(_Copied):
    """One run of a model over text: its tokens, and named arrays with named axes.

    `capture["attention"]` is the array, `capture.axes["attention"]` names its axes, for
    example `("layer", "head", "query", "key")`. What a model could not give stands in `notes`.
    """

    tokens: Sequence[str]
    arrays: Mapping[str, np.ndarray]
    axes: Mapping[str, tuple[str, ...]]
    made: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        arrays = {name: frozen(array) for name, array in self.arrays.items()}
        for name, array in arrays.items():
            if len(self.axes.get(name, ())) != array.ndim:
                raise DataError(f"array {name!r} has {array.ndim} axes but {self.axes.get(name)} are named")
        object.__setattr__(self, "tokens", tuple(self.tokens))
        object.__setattr__(self, "arrays", MappingProxyType(arrays))
        object.__setattr__(self, "axes", MappingProxyType(dict(self.axes)))
        object.__setattr__(self, "made", MappingProxyType(dict(self.made)))

    def __getitem__(self, name: str) -> np.ndarray:
        try:
            return self.arrays[name]
        except KeyError:
            held = ", ".join(sorted(self.arrays)) or "nothing"
            said = " ".join(self.notes)
            raise DataError(f"this capture holds {held}, but not {name!r}. {said}".rstrip()) from None


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


@dataclass(frozen=True, eq=False)
class Gaussians(_Copied):
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
    made: Mapping[str, Any] = field(default_factory=dict)
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
        object.__setattr__(self, "made", MappingProxyType(dict(self.made)))
        object.__setattr__(self, "notes", tuple(self.notes))

    def __len__(self) -> int:
        return len(self.items)

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
        from langscape.gaussianfile import save_gaussians

        return save_gaussians(self, path)


def _real(values: Any, name: str) -> np.ndarray:
    array = np.asarray(values)
    array = array if array.dtype.kind == "f" else array.astype(np.float64)
    if not np.isfinite(array).all():
        raise DataError(f"{name} hold NaN or infinity; leave such items out")
    return array


@dataclass(frozen=True, eq=False)
class Affinities(_Copied):
    """Who is whose neighbour: a joint P over the items, and how it was made.

    P has shape (n, n), dense or CSR; it is symmetric, has a zero diagonal and sums to 1.
    `vectors`, shape (n, dim), is the space P came from where there is one; metrics and
    insertion need it, and `metric` says how distances are taken in it. `gaussians` are the
    distributions behind it, where the items are distributions.
    """

    P: np.ndarray | csr_array
    items: Items
    made: Mapping[str, Any] = field(default_factory=dict)
    vectors: np.ndarray | None = None
    metric: str = "euclidean"
    notes: tuple[str, ...] = ()
    gaussians: Gaussians | None = None

    def __post_init__(self) -> None:
        if isinstance(self.P, np.ndarray):
            object.__setattr__(self, "P", frozen(self.P))
        else:
            for array in (self.P.data, self.P.indices, self.P.indptr):
                array.flags.writeable = False
        if self.vectors is not None:
            object.__setattr__(self, "vectors", frozen(self.vectors))
        object.__setattr__(self, "made", MappingProxyType(dict(self.made)))

    def __len__(self) -> int:
        return len(self.items)


@dataclass(frozen=True, eq=False)
class Map(_Copied):
    """Where everything landed, and how far to trust it.

    xy        (n, dims) coordinates
    kl        KL(P‖Q) of the unexaggerated P in nats, of the restart that was kept
    kls       the same for every restart
    history   (checks, 2): step, KL
    quality   figures of the whole map by name ("local", "global", …)
    per_point the same figures per item, each (n,)
    shapes    (n, 2, 2) covariances where items are distributions
    vectors   (n, dim) the space it was made from, needed to insert new items
    """

    xy: np.ndarray
    items: Items
    kl: float = float("nan")
    kls: np.ndarray = field(default_factory=lambda: np.empty(0))
    history: np.ndarray = field(default_factory=lambda: np.empty((0, 2)))
    settings: Mapping[str, Any] = field(default_factory=dict)
    quality: Mapping[str, float] = field(default_factory=dict)
    per_point: Mapping[str, np.ndarray] = field(default_factory=dict)
    shapes: np.ndarray | None = None
    vectors: np.ndarray | None = None
    metric: str = "euclidean"
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if len(self.xy) != len(self.items):
            raise DataError(f"{len(self.xy)} coordinates for {len(self.items)} items")
        for name in ("xy", "kls", "history"):
            object.__setattr__(self, name, frozen(getattr(self, name)))
        for name in ("shapes", "vectors"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, frozen(getattr(self, name)))
        points = {name: frozen(values) for name, values in self.per_point.items()}
        object.__setattr__(self, "per_point", MappingProxyType(points))
        object.__setattr__(self, "quality", MappingProxyType(dict(self.quality)))
        object.__setattr__(self, "settings", MappingProxyType(dict(self.settings)))
        object.__setattr__(self, "notes", tuple(self.notes))

    def __len__(self) -> int:
        return len(self.items)

    @property
    def labels(self) -> tuple[str, ...]:
        """The items' labels, in row order."""
        return self.items.labels  # type: ignore[return-value]

    def but(self, **changes: Any) -> Map:
        """A copy with some fields replaced."""
        return replace(self, **changes)

    def save(self, path: str | Path, *, vectors: bool = True) -> Path:
        """Write the map as Parquet (.parquet), whole or not at all; `vectors=False` makes it small."""
        from langscape.mapfile import save_map

        if Path(path).suffix.lower() != ".parquet":
            raise SettingsError(
                f"a map is saved as Parquet, not as {Path(path).name}; name a file that ends in .parquet. "
                "Pages and pictures are written by views.write(views.scatter(map), …), CSV by the "
                "command line (`langscape words … --out map.csv`)"
            )
        return save_map(self, path, vectors=vectors)


@dataclass(frozen=True, eq=False)
class View(_Copied):
    """A picture as data: its kind, plain properties (JSON), and arrays. No drawing in it.

    The same View is drawn by the page, by matplotlib and by the studio.
    """

    kind: str
    properties: Mapping[str, Any] = field(default_factory=dict)
    arrays: Mapping[str, np.ndarray] = field(default_factory=dict)

    def __post_init__(self) -> None:
        arrays = {name: frozen(array) for name, array in self.arrays.items()}
        object.__setattr__(self, "arrays", MappingProxyType(arrays))
        object.__setattr__(self, "properties", MappingProxyType(dict(self.properties)))
