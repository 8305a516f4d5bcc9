"""Two prompts → which parts carry their difference: each is taken from one run and put into the other."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from langscape.data import Progress, Step
from langscape.errors import DataError, SettingsError
from langscape.models.attention_hook import HeardEnoughError
from langscape.models.display_names import model_title
from langscape.models.effect_measures import Measure
from langscape.models.model import Model
from langscape.models.unedited import Unedited, batches, check_head, read_unedited


@dataclass(frozen=True, eq=False)
class Grid:
    """Logit differences of two words at the last token, after patching one cell each.

    values     (layer, token), or of heads (layer, head); NaN where no path leads
    receiving  the difference in the run that is patched, giving in the run that it is patched from
    words      (layer, …, 3) the likeliest next words after each patch, as token ids, and how likely: chances
    """

    values: np.ndarray
    receiving: float
    giving: float
    words: np.ndarray
    chances: np.ndarray

    @property
    def restored(self) -> np.ndarray:
        """The share of the way from one run to the other; 1 is all of it."""
        return (self.values - self.receiving) / (self.giving - self.receiving)


@dataclass(frozen=True, eq=False)
class Prompts:
    """Two prompts of as many tokens, run by one model, and what is told apart: the logits of two words."""

    clean: Unedited
    corrupt: Unedited
    words: tuple[int, int]
    measures: tuple[Measure, Measure]

    def difference(self, outputs: torch.Tensor) -> np.ndarray:
        """The logit of the first word less that of the second, at the last token, (run,)."""
        first, second = self.words
        measure = self.measures[0]
        last = outputs[:, -1]
        logits = last.float() if measure.bent else measure.logits_of(last)
        return (logits[:, first] - logits[:, second]).double().cpu().numpy()

    def next_words(self, outputs: torch.Tensor) -> tuple[np.ndarray, np.ndarray]:
        """The likeliest words after the last token, (run, 3), and their chances."""
        measure, last = self.measures[0], outputs[:, -1]
        logits = last.float() if measure.bent else measure.logits_of(last)
        best = logits.softmax(-1).topk(3)
        return best.indices.cpu().numpy(), best.values.double().cpu().numpy()

    def plain(self, run: Unedited) -> float:
        """The difference without a patch."""
        return float(self.difference(run.final_states(logits=self.measures[0].bent))[0])

    def top_words(self, run: Unedited, count: int = 5) -> list[int]:
        """The likeliest next words of a run."""
        measure = self.measures[0 if run is self.clean else 1]
        return measure.logits[-1].topk(count).indices.tolist()


def read_prompts(model: Model, clean: str, corrupt: str, words: Sequence[str] | None = None) -> Prompts:
    """Run both prompts. Without words, those are told apart that each run would write next."""
    if model.kind != "decoder" or not model.layout.vocabulary:
        raise SettingsError(f"{model_title(model.name)} writes no next word; patching needs a decoder")
    runs = read_unedited(model, clean), read_unedited(model, corrupt)
    if runs[0].tokens != runs[1].tokens:
        counts = " and ".join(str(one.tokens) for one in runs)
        shown = "; ".join("|".join(one.row.source.tokens()) for one in runs)
        raise DataError(
            f"the prompts have {counts} tokens ({shown}); patching takes prompts of as many tokens each: "
            "change one word for another of one token"
        )
    measures = Measure(runs[0]), Measure(runs[1])
    if words is None:
        ids = [int(one.logits[-1].argmax()) for one in measures]
        if ids[0] == ids[1]:
            word = model.tokenizer.decode(ids[:1]).strip()
            raise SettingsError(
                f"both prompts go on with {word!r}; name the two words that should be told apart"
            )
    else:
        if len(words) != 2:
            raise SettingsError(f"{len(words)} words were given; two are told apart")
        ids = [word_id(model, word) for word in words]
    return Prompts(runs[0], runs[1], (ids[0], ids[1]), measures)


def word_id(model: Model, word: str) -> int:
    """The token of a word as it stands within a text, after a space."""
    if model.tokenizer is None:
        raise SettingsError(f"{model.name} has no tokenizer, so words cannot be named")
    for spelled in (f" {word.strip()}", word):
        ids = model.tokenizer(spelled, add_special_tokens=False)["input_ids"]
        if len(ids) == 1:
            return int(ids[0])
    pieces = "|".join(model.tokenizer.convert_ids_to_tokens(ids))
    raise SettingsError(
        f"the word {word!r} is several tokens of {model.name} ({pieces}); name words of one token"
    )


def patch_grid(
    prompts: Prompts,
    of: str = "residual",
    direction: str = "denoise",
    *,
    sender: tuple[int, int] | None = None,
    progress: Progress | None = None,
) -> Grid:
    """Patch every cell alone: the stream or MLP by layer and token, or all tokens of each head.

    "denoise" puts the clean run's part into the corrupt run, "noise" the corrupt run's into the clean one. Of
    "paths", what the head `sender` adds is given to each later head's queries, keys and values alone, on
    the direct way: everything between stays as it is.
    """
    giving, receiving = prompts.clean, prompts.corrupt
    if direction == "noise":
        giving, receiving = receiving, giving
    layers = receiving.layers
    columns = receiving.heads[0].shape[2] if of in ("heads", "paths") else receiving.tokens
    sent = _sent(giving, receiving, sender) if of == "paths" else None
    if of == "mlp" and not receiving.mlps:
        raise DataError(f"MLPs of {receiving.model.name} cannot be edited: {receiving.model.parts.no_mlps}")
    values = np.full((layers, columns), np.nan)
    words, chances = np.full((layers, columns, 3), -1), np.full((layers, columns, 3), np.nan)
    for layer in range(layers):
        if sent is not None and sender is not None and layer <= sender[0]:
            continue
        for some in batches(range(columns), receiving.side_by_side):
            if sent is None:
                outputs = _patched(prompts, giving, receiving, of, layer, some)
            else:
                outputs = _along_paths(prompts, receiving, sent, layer, some)
            values[layer, list(some)] = prompts.difference(outputs)
            words[layer, list(some)], chances[layer, list(some)] = prompts.next_words(outputs)
        if progress is not None:
            progress(Step(layer + 1, layers, "layers patched"))
    return Grid(values, prompts.plain(receiving), prompts.plain(giving), words, chances)


def _sent(giving: Unedited, receiving: Unedited, sender: tuple[int, int] | None) -> torch.Tensor:
    """What a head adds to the stream in one run less in the other, (1, token, dim)."""
    if sender is None:
        raise SettingsError("paths begin at a head; name the sender, such as 16.0")
    layer, head = sender
    check_head(receiving, layer, head)
    parts = receiving.model.parts
    if not parts.separate or not parts.plain_sums or not parts.projections:
        raise DataError(
            f"the stream of {receiving.model.name} is no plain sum of what heads add; paths are not followed"
        )
    away = giving.heads[layer][:, :, head] - receiving.heads[layer][:, :, head]
    return away @ parts.projections[layer][head].to(away).T


def _along_paths(
    prompts: Prompts, receiving: Unedited, sent: torch.Tensor, layer: int, cells: Sequence[int]
) -> torch.Tensor:
    """Runs side by side, in each of which one head of a layer was given what the sender adds."""
    heard: list[torch.Tensor] = []

    def hear(at: int, output: torch.Tensor) -> torch.Tensor:
        heard.append(output)
        raise HeardEnoughError

    with suppress(HeardEnoughError):
        receiving.final_states(layer, receiving.states[layer] + sent, heads=hear)

    def heads(at: int, output: torch.Tensor) -> torch.Tensor:
        if at == layer:
            output = output.clone()
            for row, head in enumerate(cells):
                output[row, :, head] = heard[0][0, :, head]
        return output

    return receiving.final_states(layer, runs=len(cells), heads=heads, logits=prompts.measures[0].bent)


def _patched(
    prompts: Prompts, giving: Unedited, receiving: Unedited, of: str, layer: int, cells: Sequence[int]
) -> torch.Tensor:
    """Runs side by side, each with one cell of a layer from the other prompt."""
    bent = prompts.measures[0].bent
    rows = list(range(len(cells)))
    places = list(cells)
    if of == "residual":
        state = receiving.states[layer].repeat(len(cells), 1, 1)
        state[rows, places] = giving.states[layer][0, places]
        return receiving.final_states(layer, state, logits=bent)

    def heads(at: int, output: torch.Tensor) -> torch.Tensor:
        if at == layer:
            output = output.clone()
            for row, head in enumerate(cells):
                output[row, :, head] = giving.heads[layer][0, :, head]
        return output

    def mlps(at: int, output: torch.Tensor) -> torch.Tensor:
        if at == layer:
            shaped = output.reshape(len(cells), -1, output.shape[-1]).clone()
            shaped[rows, places] = giving.mlps[layer][0, places]
            output = shaped.reshape(output.shape)
        return output

    change: dict[str, Any] = {"heads": heads} if of == "heads" else {"mlps": mlps}
    return receiving.final_states(layer, runs=len(cells), logits=bent, **change)
