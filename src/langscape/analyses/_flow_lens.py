"""The lenses that a flow reads its nodes by: the logit lens, and one that is fitted to the model."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from langscape.analyses._flow_words import DEEPEST, Numbering
from langscape.data import Progress
from langscape.errors import SettingsError

if TYPE_CHECKING:
    from langscape.models import Stream
    from langscape.models.tuned_lens import TunedLens

LENSES = {"lens": "colour_stream", "tuned": "colour_tuned"}
"""The words that the logit lens and a tuned one read, and the colours of the stream by them."""

PARAGRAPHS = 400
"""Paragraphs of a corpus that are read at most, drawn evenly from all of it."""

Read = tuple[np.ndarray, np.ndarray]
"""Words at every node, ids and values (node, token, `DEEPEST`)."""


def fitted_lens(model: Any, text: str | Path | None, progress: Progress | None = None) -> TunedLens:
    """A lens that is fitted to a transformer over a text, or over sentences that come with the package."""
    from langscape.models.catalog import CATALOG
    from langscape.models.tuned_lens import fit_lens
    from langscape.sources.texts import sample_texts, stream_texts

    if model.kind in ("lstm", "gru"):
        raise SettingsError(
            f"{model.name} is a recurrent network, which has no lens; leave the tuned lens out"
        )
    if text is None:
        kept = stream_texts(CATALOG["lstm"].path / "baseline.txt", "line")
        return fit_lens(model, (f"{line} " for line in kept), "State of the Union addresses", progress)
    texts = sample_texts(lambda: stream_texts(text, "paragraph"), PARAGRAPHS)
    return fit_lens(model, (f"{one}\n" for one in texts), "the text given", progress)


def tuned_words(seen: Stream, fitted: TunedLens | None) -> dict[str, Read]:
    """What a tuned lens reads, where there is one."""
    if fitted is None:
        return {}
    from langscape.models.tuned_lens import tuned_lens

    words = tuned_lens(seen, fitted, DEEPEST)
    return {"tuned": (words.ids, words.values)}


def lens_words(lenses: Mapping[str, Read], numbering: Numbering, top: int) -> dict[str, np.ndarray]:
    """The first words of every lens, and their chances."""
    found = {}
    for name, (ids, values) in lenses.items():
        found[name] = numbering.number(ids[..., :top])
        found[f"{name}_values"] = values[..., :top].astype(np.float32)
    return found


def lens_scores(fitted: TunedLens | None) -> dict[str, np.ndarray]:
    """How far to trust both lenses, (2, layer + 1): held-out KL, and how often the first word is the model's.

    `lens_null` is the KL of reading nothing.
    """
    if fitted is None:
        return {}
    null = np.array([fitted.null], np.float32)
    return {"lens_kl": fitted.kl, "lens_first": fitted.first, "lens_null": null}


def lens_notes(fitted: TunedLens | None) -> list[str]:
    """What the tuned lens was fitted to, and how much nearer to the model it comes."""
    if fitted is None:
        return []
    plain, tuned = fitted.kl[:, 1:-1].mean(1)  # the embedding and the last layer would say little
    count, judged = fitted.tokens
    return [
        f"the tuned lens was fitted to {count:,} tokens of {fitted.text}; over {judged:,} others the model’s "
        f"own prediction is {tuned:.2f} nats from it, as a mean of layers, {plain:.2f} from the logit lens, "
        f"and {fitted.null:.2f} from reading nothing"
    ]
