"""The edited view: a text with a bar over every token, what an edit changes there, beside other edits."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from langscape.data import View


def edited(
    tokens: Sequence[str],
    effect: np.ndarray,
    others: np.ndarray,
    *,
    title: str,
    subtitle: str,
    measure: str,
    others_name: str = "",
    before: Sequence[str] = (),
    before_chance: np.ndarray | None = None,
    after: Sequence[str] = (),
    after_chance: np.ndarray | None = None,
    notes: Sequence[str] = (),
) -> View:
    """The effect of an edit on every token.

    others (draws, tokens) are effects of other edits of the same kind, which others_name names; none where
    there is no such edit. before and after are the likeliest next tokens of both runs, empty for encoders.
    """
    properties = {
        "title": title, "subtitle": subtitle, "labels": list(tokens), "measure": measure,
        "others_name": others_name if len(others) else "", "before": list(before), "after": list(after),
        "notes": list(notes),
    }  # fmt: skip
    arrays = {"effect": np.asarray(effect, np.float32)}
    if len(others):
        arrays["others_median"] = np.median(others, axis=0).astype(np.float32)
        arrays["others_most"] = np.max(others, axis=0).astype(np.float32)
    for name, chance in (("before_chance", before_chance), ("after_chance", after_chance)):
        if chance is not None and len(chance):
            arrays[name] = np.asarray(chance, np.float32)
    return View("edited", properties, arrays)
