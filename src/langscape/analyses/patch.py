"""Two prompts: which layer and token, head or MLP carries the difference between their next words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np

from langscape.analyses._captures import check_reads_text
from langscape.data import Progress, Shown, View
from langscape.declarations import Input, Setting, analysis, picture
from langscape.declarations.running import opened
from langscape.declarations.settings import Model
from langscape.errors import SettingsError
from langscape.io.codec import noun
from langscape.models.display_names import model_title, title_of

FORMATS = (".html", ".png", ".svg", ".pdf", ".csv")
CLEAN, CORRUPT = "The capital of Italy is", "The capital of France is"
"""What is read where no prompt is given."""

Clean = Annotated[
    str | Path | None,
    Input("text", "Prompt", f"A prompt such as “{CLEAN}”, which is read where none is given."),
]
Corrupt = Annotated[
    str | Path | None,
    Input("text", "Other prompt", f"The same with a word changed, such as “{CORRUPT}”; as many tokens."),
]
Of = Annotated[
    Literal["residual", "heads", "mlp", "paths"],
    Setting(
        "Patch",
        "The stream or the MLP at every layer and token, all tokens of every head, or what one head hands to "
        "each later one.",
        labels={"residual": "the stream", "mlp": "MLPs", "paths": "paths from a head"},
    ),
]
Sender = Annotated[
    str | None,
    Setting("Sender", "Of paths: the head that they begin at, such as 16.0.", pattern=r"\d+\.\d+"),
]
Direction = Annotated[
    Literal["denoise", "noise"],
    Setting(
        "Direction",
        "Denoise puts parts of the prompt into the run of the other one: what is enough. Noise the reverse: "
        "what is needed.",
    ),
]
ToldApart = Annotated[
    list[str] | None,
    Setting(
        "Words",
        "Two words whose logits are told apart, that of the prompt first; what each prompt goes on with if "
        "left out.",
    ),
]
Show = Annotated[int, Setting("Show", "How many cells to print.", ge=1)]


@noun
@dataclass(frozen=True, eq=False, repr=False)
class Patched(Shown):
    """What patching each cell restores.

    values      (layer, token), or of heads and paths (layer, head): the words' logit difference at the
                last token; NaN where no path leads
    after       the three likeliest next words after each patch, cell by cell, in words
    receiving   the difference without a patch in the run that is patched, giving in the one patched from
    restored    the share of the way from one to the other; 1 is all of it
    """

    model: str
    of: str
    direction: str
    tokens: tuple[str, ...]
    other_tokens: tuple[str, ...]
    words: tuple[str, str]
    values: np.ndarray
    receiving: float
    giving: float
    next_words: tuple[str, str]
    after: tuple[tuple[str, ...], ...]
    sender: str = ""
    notes: tuple[str, ...] = ()

    @property
    def restored(self) -> np.ndarray:
        """Shares of the way, by cell."""
        return (self.values - self.receiving) / (self.giving - self.receiving)

    @property
    def columns(self) -> list[str]:
        """What stands across: heads, or tokens, with both where the prompts differ."""
        if self.of in ("heads", "paths"):
            return [str(head) for head in range(self.values.shape[1])]
        pairs = zip(self.tokens, self.other_tokens, strict=True)
        return [a if a == b else f"{a} / {b}" for a, b in pairs]

    def view(self, title: str | None = None) -> View:
        """The grid as a heat map of shares; the page tells the logit difference beside."""
        from langscape.views import Matrix, matrices

        a, b = self.words
        grid = Matrix(
            f"share restored of {a} − {b}", [str(layer) for layer in range(len(self.values))], self.columns,
            self.restored, "signed", 0.0, 2, "", self.values, f"logit difference {a} − {b}",
            cell_notes=self.after,
        )  # fmt: skip
        what = {"residual": "the stream that enters each layer", "heads": "each head", "mlp": "each MLP"}
        what["paths"] = f"what {self.sender} hands directly to each later head"
        return matrices(
            [grid],
            title=title or f"Patching {self.model}",
            subtitle=f"{self.sentence} {what[self.of].capitalize()} is patched.",
            row_name="layer",
            column_name="head" if self.of in ("heads", "paths") else "token",
            notes=self.notes,
        )

    @property
    def sentence(self) -> str:
        """Both prompts with their next words, and what 0 and 1 are."""
        a, b = self.words
        ends = [f"{one:+.2f}".replace("-", "−") for one in (self.receiving, self.giving)]
        prompts = ["".join(some).replace("␣", " ").strip() for some in (self.tokens, self.other_tokens)]
        from_clean = self.direction == "denoise"
        giver, taker = prompts if from_clean else prompts[::-1]
        known = np.nan_to_num(self.restored, nan=-np.inf)
        layer, place = np.unravel_index(int(known.argmax()), known.shape)
        where = (
            f"head {layer}.{place}"
            if self.of in ("heads", "paths")
            else f"layer {layer} at “{self.columns[place].strip(' ␣')}”"
        )
        return (
            f"One cell at a time, the run over “{taker}” is given what the run over “{giver}” had there. "
            f"Without a patch the logit of {a} minus that of {b} is {ends[0]}, which is 0 here; "
            f"in the other run it is {ends[1]}, which is 1. A cell that carries nothing stays at 0; "
            f"most does {where}, {known.max():.2f}."
        )

    def save(self, path: str | Path, *, title: str | None = None) -> Path:
        """Write it as a page (.html), a figure (.png, .svg, .pdf) or a row per cell (.csv)."""
        from langscape.views import write
        from langscape.views.table import write_columns

        path = Path(path)
        if path.suffix.lower() != ".csv":
            return write(self.view(title), path)
        layers, places = (one.ravel() for one in np.indices(self.values.shape))
        names = np.array(self.columns, object)
        columns = {"layer": layers, "position": places, "column": names[places]}
        return write_columns(
            {**columns, "difference": self.values.ravel(), "restored": self.restored.ravel()}, path
        )


def _title(settings: Mapping[str, Any], names: Mapping[str, str]) -> str:
    what = {"residual": "the stream", "heads": "heads", "mlp": "MLPs"}.get(settings["of"], "paths")
    return f"Patching {what} of {model_title(settings['model'])}"


@picture("matrices", name="grid")
def grid_picture(found: Patched, context: Any) -> View:
    """Layers × tokens, or layers × heads: what each restores."""
    return found.view(context.title)


def lines(found: Patched, *, show: Show = 10) -> list[str]:
    """The cells that restore most, as lines of text."""
    a, b = found.words
    restored = found.restored
    out = [
        f"logit difference {a} − {b}: {found.receiving:+.2f} in the run that is patched, "
        f"{found.giving:+.2f} in the one patched from",
        f"next word: {found.next_words[0]!r} for the prompt, {found.next_words[1]!r} for the other",
    ]
    known = np.nan_to_num(restored, nan=-np.inf)
    for flat in [at for at in np.argsort(-known, axis=None)[:show] if np.isfinite(restored.flat[at])]:
        layer, place = np.unravel_index(flat, restored.shape)
        where = (
            f"{layer}.{place}"
            if found.of in ("heads", "paths")
            else f"layer {layer}, {found.columns[place]!r} at {place}"
        )
        flips = " (flips)" if found.values[layer, place] * found.receiving < 0 else ""
        out.append(f"{100 * restored[layer, place]:6.1f} % {where}{flips}: {found.after[layer][place]}")
    return out


@analysis(
    version=3,
    title="Patching between two prompts",
    room="test",
    pictures=(grid_picture,),
    describe=_title,
    ignores=lambda settings: () if settings["of"] == "paths" else ("sender",),
    lines=lines,
    formats=FORMATS,
    example={"model": "decoder"},
    group="measure",
    examples=(
        "langscape patch decoder --clean paris.txt --corrupt rome.txt --out patch.html",
        "langscape patch decoder --clean paris.txt --corrupt rome.txt --of heads --out patch.csv",
    ),
)
def patch(
    model: Model = "decoder",
    clean: Clean = None,
    corrupt: Corrupt = None,
    *,
    words: ToldApart = None,
    of: Of = "residual",
    sender: Sender = None,
    direction: Direction = "denoise",
    progress: Progress | None = None,
) -> Patched:
    """Put parts of one prompt's run into the run of another, cell by cell, and see which carry its next word.

    Without prompts, two about capitals are read.

    >>> found = patch("decoder", of="heads", words=["Rome", "Paris"])
    >>> tuple(int(one) for one in np.unravel_index(found.restored.argmax(), found.restored.shape))
    (23, 4)
    """
    from langscape.models.patching import patch_grid, read_prompts

    network = opened(model)
    check_reads_text(network)
    if (clean is None) != (corrupt is None):
        raise SettingsError(
            "patching takes two prompts and one is given; give both, the second with a word changed, or none"
        )
    first, second = (CLEAN, CORRUPT) if clean is None else (str(clean), str(corrupt))
    prompts = read_prompts(network, first.rstrip("\n"), second.rstrip("\n"), words)
    begin = None if sender is None else (int(sender.split(".")[0]), int(sender.split(".")[1]))
    found = patch_grid(prompts, of, direction, sender=begin, progress=progress)
    after = tuple(
        tuple(_said(network, words, chances) for words, chances in zip(row, sure, strict=True))
        for row, sure in zip(found.words, found.chances, strict=True)
    )
    spelled = [network.tokenizer.decode([one]).strip() for one in prompts.words]
    coming = [network.tokenizer.decode(prompts.top_words(run, 1)) for run in (prompts.clean, prompts.corrupt)]
    whose = (
        ("the other prompt", "the prompt") if direction == "denoise" else ("the prompt", "the other prompt")
    )
    kept = {"heads": ", at all tokens", "paths": f", only what {sender} adds, on the direct way"}.get(of, "")
    notes = (
        f"One cell at a time{kept}: the run over {whose[0]} is given what the run over {whose[1]} had there. "
        "Each number is total, through all later parts, and of this pair of prompts alone",
    )
    name = title_of(model)
    return Patched(
        name, of, direction, tuple(prompts.clean.row.source.tokens().readable),
        tuple(prompts.corrupt.row.source.tokens().readable), (spelled[0], spelled[1]), found.values,
        found.receiving, found.giving, (coming[0], coming[1]), after, sender or "", notes,
    )  # fmt: skip


def _said(network: Any, words: np.ndarray, chances: np.ndarray) -> str:
    """The likeliest next words after a patch, in words."""
    if words[0] < 0:
        return "no path leads here"
    spelled = [network.tokenizer.decode([int(one)]) for one in words]
    pairs = zip(spelled, chances, strict=True)
    return "next: " + ", ".join(f"{word!r} {100 * chance:.0f} %" for word, chance in pairs)
