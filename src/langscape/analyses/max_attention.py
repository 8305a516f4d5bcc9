"""How strongly every head attends to every token: heads × tokens, layer by layer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from langscape.analyses._captures import text_capture
from langscape.analyses.atlas import ShowAttention
from langscape.data import Capture, Progress, Shown, View
from langscape.declarations import analysis, picture
from langscape.declarations.settings import (
    Cut,
    FirstTokens,
    Generate,
    Layers,
    Merge,
    Model,
    Side,
    Target,
    Text,
)
from langscape.io.codec import noun
from langscape.models.display_names import model_title

FORMATS = (".html", ".png", ".svg", ".pdf", ".csv")


@noun
@dataclass(frozen=True, eq=False, repr=False)
class MaxAttention(Shown):
    """The attention of every head; what is shown of it is the largest and the mean weight of each token."""

    capture: Capture
    side: Side = None

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader should know."""
        return self.capture.notes

    def view(self, *, title: str | None = None, show: Literal["maximum", "mean"] = "maximum") -> View:
        """The strips as a picture."""
        from langscape.views import max_attention

        return max_attention(self.capture, show=show, side=self.side, title=title)

    def save(
        self, path: str | Path, *, title: str | None = None, show: Literal["maximum", "mean"] = "maximum"
    ) -> Path:
        """Write it as a page (.html), a figure (.png, .svg, .pdf), or a table of all weights (.csv)."""
        from langscape.views import write
        from langscape.views.table import write_columns

        view, path = self.view(title=title, show=show), Path(path)
        return write_columns(_columns(view), path) if path.suffix.lower() == ".csv" else write(view, path)


def _columns(view: View) -> dict[str, np.ndarray]:
    """A row per head and token."""
    shown = view.properties
    at = np.indices(view.arrays["maximum"].shape)
    layer, head, position = (part.ravel() for part in at)
    return {
        "layer": np.asarray(shown["layers"])[layer],
        "head": np.asarray(shown["heads"])[head],
        "position": position,
        "token": np.asarray(shown["keys"], dtype=object)[position],
        "maximum": view.arrays["maximum"].ravel(),
        "mean": view.arrays["mean"].ravel(),
    }


def _title(settings: Mapping[str, Any], names: Mapping[str, str]) -> str:
    return (
        f"Attention of {model_title(settings['model'])} to the tokens of {names.get('text', 'a sample text')}"
    )


@picture("max_attention", name="max_attention")
def strips(found: MaxAttention, context: Any, *, show: ShowAttention = "maximum") -> View:
    """Heads × tokens, layer by layer."""
    return found.view(title=context.title, show=show)


def lines(found: MaxAttention, *, show: ShowAttention = "maximum") -> list[str]:
    """The ten heads whose mean over tokens is largest."""
    view = found.view(show=show)
    means = view.arrays[show].mean(axis=2)
    order = np.argsort(-means, axis=None, kind="stable")[:10]
    rows = [np.unravel_index(at, means.shape) for at in order]
    layers, heads = view.properties["layers"], view.properties["heads"]
    return [f"{layers[a]}.{heads[b]:<4} mean over tokens {means[a, b]:.3f}" for a, b in rows]


def save(
    found: MaxAttention, path: Path, *, title: str | None = None, show: ShowAttention = "maximum"
) -> Path:
    """One file of the strips."""
    return found.save(path, title=title, show=show)


@analysis(
    version=1,
    title="Attention to tokens",
    room="atlas",
    pictures=(strips,),
    uses=(text_capture,),
    describe=_title,
    lines=lines,
    save=save,
    formats=FORMATS,
    examples=(
        "langscape max-attention default --text letter.txt --layers 0-2 --out most.png",
        "langscape max-attention decoder --text letter.txt --merge words --out most.html",
    ),
)
def max_attention(
    model: Model = "default",
    text: Text = None,
    *,
    layers: Layers = None,
    cut: Cut = True,
    first_tokens: FirstTokens = None,
    generate: Generate = 0,
    merge: Merge = "none",
    side: Side = None,
    target: Target = None,
    progress: Progress | None = None,
) -> MaxAttention:
    """Show how strongly every head attends to every token: heads × tokens, layer by layer.

    >>> found = max_attention("default", "The cat sat on the mat.", layers=[0, 1])
    >>> found.view().arrays["maximum"].shape
    (2, 12, 9)
    """
    seen = text_capture(
        model,
        text,
        want=["attention"],
        layers=layers,
        cut=cut,
        first_tokens=first_tokens,
        generate=generate,
        merge=merge,
        target=target,
        progress=progress,
    )
    seen.attention(side)  # refuses a side that is not there
    return MaxAttention(seen, side)
