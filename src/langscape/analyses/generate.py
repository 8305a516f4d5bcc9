"""What comes next: the chances of the next word, and a continuation, of one prompt or of two side by side."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from langscape.analyses.flow import default_prompt, own_prompt
from langscape.data import Progress, Shown, View
from langscape.data.edit import LIKE, Edit, edits_in_words
from langscape.declarations import Setting, analysis, picture
from langscape.declarations.running import opened
from langscape.declarations.settings import Seed
from langscape.errors import SettingsError
from langscape.io.codec import noun
from langscape.metrics.surprisal import share_in_words
from langscape.models.catalog import in_words
from langscape.models.display_names import model_title

FORMATS = (".html", ".png", ".svg", ".pdf", ".csv")

Writer = Annotated[
    str, Setting("Model", f"{in_words('generate')}, a folder or a Hub id.", argument=True, names="model")
]
Prompt = Annotated[
    str | None, Setting("Prompt", "What is continued; a short text of its own if left out.", short="p")
]
Other = Annotated[
    str | None, Setting("Changed prompt", "The same prompt, edited: both are shown side by side.")
]
Count = Annotated[int, Setting("Continue by", "Tokens that are written behind the prompt.", ge=0, le=2000)]
Temperature = Annotated[
    float,
    Setting(
        "Temperature",
        "What logits are divided by before tokens are drawn; 0 takes the likeliest each time.",
        ge=0,
        le=100,
    ),
]
TopK = Annotated[
    int, Setting("Top k", "Tokens are drawn from the k likeliest; 0 from all.", ge=0, le=1_000_000)
]
TopP = Annotated[
    float,
    Setting("Top p", "Tokens are drawn from the likeliest whose chances come to p; 1 from all.", ge=0, le=1),
]
Edits = Annotated[
    list[str] | None,
    Setting(
        "Taken away",
        f"Parts of a transformer that are replaced in a second run, shown beside the first: {LIKE}.",
        option="--edits",
        short="e",
    ),
]
Words = Annotated[int, Setting("Words", "Next words whose chances are shown.", ge=1, le=50)]


@noun
@dataclass(frozen=True, eq=False, repr=False)
class Generated(Shown):
    """What a model says after one prompt or two.

    prompts       one, or the prompt and the changed one; with edits, the same prompt twice
    words         the likeliest next words of any prompt; `chances` (prompt, word) are the model's own
    drawn         (prompt, word) the chances with which the first token was drawn, after temperature, top k
                  and top p
    kl            how far the next words of the changed prompt are from those of the first, in nats
    continuations per prompt the tokens that were written, and `sureness` the model's chance of each
    edits         in words, what was replaced in the second run
    """

    model: str
    prompts: tuple[str, ...]
    words: tuple[str, ...]
    chances: np.ndarray
    drawn: np.ndarray
    kl: float
    continuations: tuple[tuple[str, ...], ...]
    sureness: tuple[np.ndarray, ...]
    edits: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return "\n".join([f"{self.model} writes", *lines(self)])

    @property
    def texts(self) -> tuple[str, ...]:
        """The prompts with what was written behind them."""
        pairs = zip(self.prompts, self.continuations, strict=True)
        return tuple(prompt + "".join(tokens) for prompt, tokens in pairs)

    def view(self, title: str | None = None) -> View:
        """The next words, side by side, and what was written."""
        from langscape.views.matrices import Matrix, Written, matrices

        names = ["chance"] if len(self.prompts) == 1 else ["before", "after"]
        if self.edits:
            names = ["as it is", "edited"]
        shown = [repr(word)[1:-1] if word.strip(" ") else "␣" * len(word) for word in self.words]
        tables = [
            Matrix(
                "Next word, chance in %", shown, names, 100 * self.chances.T, "plain", 0.0, 2,
                second=100 * self.drawn.T, second_name="chance of being drawn",
            )
        ]  # fmt: skip
        for name, tokens, sure in zip(names, self.continuations, self.sureness, strict=True):
            if tokens:
                rows = [f"{at} {repr(token)[1:-1]}" for at, token in enumerate(tokens)]
                said = "What it writes" if len(self.prompts) == 1 else f"What it writes, {name}"
                tables.append(Matrix(said, rows, ["chance in %"], 100 * sure[:, None], "plain", 0.0, 2))
        return matrices(
            tables,
            title=title or f"What comes next: {self.model}",
            subtitle=f"{what_changed(self)}." if len(self.prompts) == 2 else "",
            row_name="word",
            written=[
                Written(name if len(names) == 2 else "", prompt, ending(prompt), "".join(tokens))
                for name, prompt, tokens in zip(names, self.prompts, self.continuations, strict=True)
                if tokens
            ],
            notes=[f"edited: {'; '.join(self.edits)}"] if self.edits else [],
        )

    def columns(self) -> dict[str, np.ndarray]:
        """A row per next word."""
        found: dict[str, np.ndarray] = {"word": np.array(self.words, object)}
        for at in range(len(self.prompts)):
            name = "" if at == 0 else "changed_"
            found |= {f"{name}chance": self.chances[at], f"{name}drawn": self.drawn[at]}
        return found

    def save(self, path: str | Path, *, title: str | None = None) -> Path:
        """Write it as a page (.html), a figure (.png, .svg, .pdf) or a row per next word (.csv)."""
        from langscape.views import write

        return write(self.view(title), path, columns=self.columns())


ENDING = 48
"""Letters of a prompt's end that stand for it where what is written behind it is what matters."""


def ending(text: str) -> str:
    """The last words of a text, and the sign that some are left out; a short text is whole.

    >>> ending("the small dog")
    'the small dog'
    >>> ending("He filled the bowl with oil, trimmed the wick with great care, and lit the")
    '… trimmed the wick with great care, and lit the'
    """
    line = " ".join(text.split())
    return line if len(line) <= ENDING else f"… {line[1 - ENDING :].partition(' ')[2]}"


def lines(found: Generated) -> list[str]:
    """The texts, then the next words with their chances, and what changed."""
    out = [f"{text!r}" for text in found.texts]
    for at, word in enumerate(found.words):
        shares = [f"{100 * one[at]:6.2f} %" for one in found.chances]
        out.append(f"{word!r:<16} " + "  →  ".join(shares))
    if len(found.prompts) == 2:
        out.append(f"{what_changed(found)} (KL {found.kl:.3f} nats)")
    return out


def what_changed(found: Generated) -> str:
    """Of two runs, what became of the word that came first, and what rose and fell most."""
    moved = found.chances[1] - found.chances[0]
    first, then = (int(one.argmax()) for one in found.chances)
    word = found.words[first].strip() or found.words[first]
    before, after = (share_in_words(float(one[first])) for one in found.chances)
    now = "still comes first" if then == first else f"“{found.words[then].strip()}” comes first instead"
    said = f"“{word}” had {before} and has {after}; {'it ' if then == first else ''}{now}"
    rose, fell = found.words[int(moved.argmax())], found.words[int(moved.argmin())]
    return (
        f"{said}. “{rose.strip()}” rose most, by {100 * moved.max():.1f} points, “{fell.strip()}” fell most, "
        f"by {-100 * moved.min():.1f}"
    )


@picture("matrices", name="next")
def next_picture(found: Generated, context: Any) -> View:
    """The chances of the next words, and what was written."""
    return found.view(context.title)


def _title(settings: Mapping[str, Any], names: Mapping[str, str]) -> str:
    both = [settings["prompt"] or own_prompt(settings["model"]), *filter(None, [settings["other"]])]
    said = " and after ".join(f"“{ending(one)}”" if one else "a text of its own" for one in both)
    writes = f"{model_title(settings['model'])} writes after {said}"
    # what was taken away comes first: the end of a title may have no room
    edited = edits_in_words(settings["edits"]) if settings["edits"] else ""
    return f"With {edited}: what {writes}" if edited else f"What {writes}"


def _check(settings: Mapping[str, Any], given: Mapping[str, Any], shown: Mapping[str, Any]) -> None:
    for name in ("prompt", "other"):
        if settings[name] is not None and not settings[name].strip():
            raise SettingsError("the prompt is empty; give at least one word")
    for one in settings["edits"] or ():
        Edit.parse(one)
    if settings["edits"] and settings["other"]:
        raise SettingsError("give a changed prompt or edits, not both: each is shown beside the first run")
    if settings["top_p"] == 0:
        raise SettingsError("top p 0 leaves no word to draw; 1 leaves all of them")


@analysis(
    version=3,
    title="What comes next",
    room="flow",
    pictures=(next_picture,),
    describe=_title,
    check=_check,
    lines=lines,
    formats=FORMATS,
    example={"model": "decoder", "prompt": "The capital of France is", "temperature": 0.8},
    examples=(
        "langscape generate decoder --prompt 'The capital of France is' --count 5",
        "langscape generate decoder --prompt 'The capital of France is' --edits 'head 23.4 zero'",
        "langscape generate lstm --prompt 'the people of the' --temperature 0.8 --seed 1 --out next.html",
    ),
)
def generate(
    model: Writer = "decoder",
    prompt: Prompt = None,
    *,
    other: Other = None,
    edits: Edits = None,
    count: Count = 12,
    temperature: Temperature = 0.0,
    top_k: TopK = 0,
    top_p: TopP = 1.0,
    seed: Seed = 0,
    top: Words = 10,
    progress: Progress | None = None,
) -> Generated:
    """Continue a prompt, and beside it the same prompt edited: next words, what is written, what changed.

    >>> found = generate("lstm-tiny", "the small dog", other="the small dogs", count=2)
    >>> found.continuations
    ((' barks', ' .'), (' bark', ' .'))
    """
    from langscape.models.generate import Sampling, write

    network = opened(model)
    if network.kind not in ("decoder", "lstm"):
        raise SettingsError(
            f"{network.name} cannot continue a text; generate needs a decoder such as “decoder”"
        )
    sampling = Sampling(temperature, top_k, top_p, seed)
    given = default_prompt(network) if prompt is None else prompt
    replaced = tuple(Edit.parse(one) for one in edits or ())
    prompts = (given, given) if replaced else (given,) if other is None else (given, other)
    runs = [((), one) for one in prompts[:1]] + [(replaced, one) for one in prompts[1:]]
    found = [write(network, one, count, sampling, some) for some, one in runs]
    logs = np.stack([one.logp for one in found])
    best = _best([one.logp for one in found], top)
    chances = np.exp(logs)
    kl = float((chances[1] * (logs[1] - logs[0])).sum()) if len(found) == 2 else 0.0
    return Generated(
        model_title(model) if isinstance(model, str) else network.name,
        prompts,
        tuple(_text(network)(one) for one in best),
        chances[:, best].astype(np.float32),
        np.stack([sampling.chances(one.logp)[best] for one in found]).astype(np.float32),
        kl,
        tuple(tuple(one.texts) for one in found),
        tuple(np.array(one.chances, np.float32) for one in found),
        tuple(str(one) for one in replaced),
    )


def _best(logs: Sequence[np.ndarray], top: int) -> list[int]:
    """The likeliest words of every prompt in turn, none twice."""
    orders = [np.argsort(-one, kind="stable")[:top].tolist() for one in logs]
    merged = dict.fromkeys(word for row in zip(*orders, strict=True) for word in row)
    return list(merged)[: max(top, len(logs))]


def _text(network: Any) -> Callable[[int], str]:
    if network.kind == "lstm":
        return lambda one: network.words[one]
    return lambda one: network.tokenizer.decode([one], clean_up_tokenization_spaces=False)
