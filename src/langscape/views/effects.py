"""The effects view: what each part of a model attends to against what it does, and the table of all."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from langscape.data import Items, View

NUMBERS = ("matters", "matters_low", "matters_high", "effect", "loss_change", "estimate", "share", "interest")
OF_GROUPS = ("alone", "others", "others_most")
"""What groups have besides; of all others it is not known."""

_BY = {
    "share": "share of the stream, nothing taken away",
    "estimate": "estimates",
    "screen": "estimated, and the first taken away",
    "exact": "each taken away",
}


def effects(
    scores: Items,
    order: Sequence[int] | np.ndarray,
    *,
    title: str,
    measure: str,
    how: str,
    texts: int,
    tokens: int,
    cut: bool | None = None,
    notes: Sequence[str] = (),
    scatter: bool = False,
) -> View:
    """Parts as a picture; `scores` and `order` are those of `Effects`. `scatter` leaves the table out.

    `cut` says whether a text goes on after the tokens that were read of it, where that is known.
    """
    columns = scores.columns
    rank = agreement(columns["interest"], columns["matters"])
    over = "1 text" if texts == 1 else f"{texts:,} texts"
    start = "the first " if cut else "all " if cut is False and texts == 1 else ""
    subtitle = f"{measure} · {_BY[how]} · {over}, {start}{tokens:,} tokens"
    properties = {
        "title": title,
        "subtitle": subtitle,
        "measure": measure,
        "how": how,
        "scatter": scatter,
        "labels": list(scores.labels),
        "parts": [str(one) for one in columns["part"]],
        "members": [str(one) for one in columns.get("members", [""] * len(scores))],
        "tags": [str(one) for one in columns["tags"]],
        "source": [str(one) for one in columns["source"]],
        "found": [str(one) for one in columns["found"]],
        "agreement": rank,
        "texts": texts,
        "notes": list(notes),
    }
    arrays: dict[str, np.ndarray] = {name: np.asarray(columns[name], np.float32) for name in NUMBERS}
    blank = np.full(len(scores), np.nan)
    arrays |= {name: np.asarray(columns.get(name, blank), np.float32) for name in OF_GROUPS}
    arrays["layer"] = np.asarray(columns["layer"], np.int32)
    arrays["head"] = np.asarray(columns["head"], np.int32)
    arrays["order"] = np.asarray(order, np.int32)
    return View("effects", properties, arrays)


def agreement(interest: np.ndarray, matters: np.ndarray) -> float | None:
    """The rank correlation of both, where there are enough heads to say.

    >>> agreement(np.array([0.1, 0.2, 0.3]), np.array([1.0, 2.0, 3.0])) is None
    True
    """
    known = np.isfinite(interest) & np.isfinite(matters)
    if known.sum() < 8:
        return None
    looks, does = (np.argsort(np.argsort(one[known], kind="stable")) for one in (interest, matters))
    return float(np.corrcoef(looks, does)[0, 1])
