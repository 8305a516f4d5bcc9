"""What an atlas and a survey of heads share: a row of scores per head, ranked and written."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal

import numpy as np

from langscape.data import Items, Shown, View
from langscape.errors import SettingsError


def check_sort(place: Literal["atlas", "corpus"]) -> Callable[..., None]:
    """Refuse a score to sort by that no head will have, before anything is computed."""

    def check(settings: Mapping[str, Any], inputs: Mapping[str, Any], shown: Mapping[str, Any]) -> None:
        from langscape.metrics.scores import applying, score_of

        known, sort = applying(place), shown.get("sort")
        if sort is not None and score_of(sort) not in known:
            names = ", ".join(score.name for score in known)
            raise SettingsError(f"heads cannot be ranked by {sort!r}; use one of {names}")

    return check


def headed(name: str) -> str:
    """What stands above a column of scores in the terminal, the same as on the page."""
    from langscape.metrics.scores import SHORT

    return SHORT.get(name, name)


class HeadTable(Shown, ABC):
    """A result with `scores`, a row per head, and a picture of all heads."""

    scores: Items

    @abstractmethod
    def view(self, title: str | None = None) -> View:
        """The heads as a picture."""

    def save(self, path: str | Path, *, title: str | None = None) -> Path:
        """Write it as a page (.html), a figure (.png, .svg, .pdf) or the table of scores (.csv)."""
        from langscape.views import write

        return write(self.view(title), path, columns=self.scores.columns)

    def ranked(self, by: str | None = None) -> np.ndarray:
        """Rows of `scores`, the highest first; rows without the score come last.

        Without a score it is the order of the page: by what heads do where that is known, else by interest.
        """
        by = by or self.order
        column = self.scores.columns.get(by)
        if column is None or column.dtype.kind not in "fiu":
            raise SettingsError(f"heads cannot be ranked by {by!r}; use one of {', '.join(self._scored())}")
        return np.argsort(-np.nan_to_num(column.astype(np.float64), nan=-np.inf), kind="stable")

    @property
    def order(self) -> str:
        """The score that the heads are ordered by if nobody asks for another."""
        from langscape.metrics.scores import ORDER

        return next((name for name in ORDER if name in self.scores.columns), ORDER[-1])

    def _scored(self) -> list[str]:
        """The columns that are scores of a head, without where it is and the ends of intervals."""
        return [
            name
            for name, values in self.scores.columns.items()
            if values.dtype.kind in "fiu"
            and name not in ("layer", "head")
            and not name.endswith(("_low", "_high"))
        ]
