"""Who is whose neighbour."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from langscape.data.gaussians import Gaussians
from langscape.data.items import Items
from langscape.data.noun import Noun, frozen

if TYPE_CHECKING:
    from scipy.sparse import csr_array


@dataclass(frozen=True, eq=False)
class Affinities(Noun):
    """Who is whose neighbour: a joint P over the items, and the settings it was made with.

    P has shape (n, n), dense or CSR; it is symmetric, has a zero diagonal and sums to 1.
    `vectors`, shape (n, dim), is the space P came from where there is one; metrics and
    insertion need it, and `metric` says how distances are taken in it. `gaussians` are the
    distributions behind it, where the items are distributions.
    """

    P: np.ndarray | csr_array
    items: Items
    settings: Mapping[str, Any] = field(default_factory=dict)
    vectors: np.ndarray | None = None
    metric: str = "euclidean"
    notes: tuple[str, ...] = ()
    gaussians: Gaussians | None = None

    codec_version = 2

    def __post_init__(self) -> None:
        if isinstance(self.P, np.ndarray):
            object.__setattr__(self, "P", frozen(self.P))
        else:
            for array in (self.P.data, self.P.indices, self.P.indptr):
                array.flags.writeable = False
        if self.vectors is not None:
            object.__setattr__(self, "vectors", frozen(self.vectors))
        object.__setattr__(self, "settings", MappingProxyType(dict(self.settings)))

    def __len__(self) -> int:
        return len(self.items)
