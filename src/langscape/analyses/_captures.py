"""A text through a model, kept in the store: what maps of heads and of hidden states are made from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

import numpy as np

from langscape.data import Capture, Progress
from langscape.declarations import Setting, analysis
from langscape.declarations.running import opened
from langscape.declarations.settings import Cut, FirstTokens, Generate, Merge, Model, Target, Text
from langscape.errors import SettingsError, TooLargeError, WayOut

REPEATED = 40
"""Random tokens of the probe for induction; they stand three times in a row."""

Want = Annotated[list[str], Setting("What", "The arrays that are captured: attention, hidden, q, k, v.")]
Heads = Annotated[list[int] | None, Setting("Heads", "Only these heads, from 0.", ge=0, names="head")]
HiddenLayers = Annotated[list[int] | None, Setting("Layers", "Only these hidden layers, from 0.", ge=0)]


@analysis(version=4, name="text.capture", hidden=True)
def text_capture(
    model: Model = "default",
    text: Text = None,
    *,
    want: Want = ["attention", "hidden"],  # noqa: B006  never changed
    layers: HiddenLayers = None,
    heads: Heads = None,
    cut: Cut = True,
    first_tokens: FirstTokens = None,
    generate: Generate = 0,
    merge: Merge = "none",
    target: Target = None,
    progress: Progress | None = None,
) -> Capture:
    """What a model held while it read a text."""
    how: dict[str, Any] = {"cut": cut, "first_tokens": first_tokens, "generate": generate, "target": target}
    how |= {"merge": merge}
    return captured(opened(model), text, want, layers, heads, **how)  # type: ignore[arg-type]


def captured(
    model: Any,
    text: str,
    want: Sequence[str],
    layers: Sequence[int] | None = None,
    heads: Sequence[int] | None = None,
    *,
    cut: bool = False,
    first_tokens: int | None = None,
    generate: int = 0,
    merge: Literal["none", "characters", "words"] = "none",
    target: str | None = None,
    edits: Sequence[Any] = (),
) -> Capture:
    """What is wanted of a text model over a text; with `cut`, over the first part that it takes.

    target is what the decoder of an encoder–decoder reads; without it, its start token alone.
    """
    from langscape.models import capture, merge_characters, merge_words

    join = {"none": lambda seen: seen, "characters": merge_characters, "words": merge_words}[merge]
    check_reads_text(model)
    if not text.strip():
        raise SettingsError("the text is empty; give one of a few sentences")
    reading: dict[str, Any] = {"first_tokens": first_tokens, "generate": generate, "target": target}
    reading["edits"] = edits
    if cut:
        return join(capture(model, text, want, layers, heads, long="start", **reading))
    try:
        return join(capture(model, text, want, layers, heads, **reading))
    except TooLargeError as error:
        if not any(way.setting == "long" for way in error.ways):
            raise
        start = WayOut("take its start", "cut", True, action=True)
        raise TooLargeError(error.problem, [*error.ways, start], error.otherwise) from None


def check_reads_text(model: Any) -> None:
    """Refuse a model that has no heads over text."""
    if model.kind == "vision":
        raise SettingsError(f"{model.name} reads images; its heads are mapped over text alone")
    if model.kind in ("lstm", "gru"):
        raise SettingsError(
            f"{model.name} is an LSTM and has no attention heads; `langscape flow` shows its vectors"
        )


def induction_probe(model: Any, layers: list[int] | None = None, seed: int = 0) -> Capture | None:
    """A decoder's attention over random tokens repeated three times; None for other models.

    Encoders see the answer itself, and are judged on the repeats of the text.
    """
    from langscape.models import capture

    if model.kind != "decoder" or (model.longest or 10**9) < 3 * REPEATED + 1:
        return None
    rng = np.random.default_rng(seed)
    drawn = rng.integers(model.vocabulary // 20, model.vocabulary, size=REPEATED).tolist()
    config = model.network.config
    first = getattr(config, "bos_token_id", None)
    begin = [first] if isinstance(first, int) and 0 <= first < model.vocabulary else drawn[-1:]
    return capture(model, [*begin, *drawn, *drawn, *drawn], ("attention",), layers)
