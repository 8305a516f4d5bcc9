"""What heads and MLPs do to the score of a word: on the direct way, and in all.

A part is replaced by its own mean over the tokens but the first, or by nothing. The *direct* effect is
what the word's score loses when only what the part itself adds to the stream is replaced, every later
part and norm as it was; the *total* effect is what it loses when the model runs on with the part
replaced. The rest goes through later parts, which may also make up for what is gone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch

from langscape.data import Progress, Step
from langscape.errors import SettingsError, not_there
from langscape.models.effect_measures import Measure
from langscape.models.effects import Instead, PartName, parts_of, runs_without
from langscape.models.logits import all_scores, direct_effects, scores_of
from langscape.models.model import Model
from langscape.models.residual import Stream, stream
from langscape.models.unedited import Unedited, read_unedited


@dataclass(frozen=True, eq=False)
class WordEffects:
    """What the scores of words lose at one token without each part.

    parts   in their order; direct and total (part, word)
    scores  (word,) of the unedited run: logits, or of a model without a language head the last state times
            the word's embedding
    floor   what rounding makes of a total effect: below it, none was found
    """

    parts: tuple[PartName, ...]
    token: int
    words: tuple[int, ...]
    scores: np.ndarray
    direct: np.ndarray
    total: np.ndarray
    floor: float


def word_effects(
    model: Model,
    text: Any,
    token: int,
    words: Sequence[int],
    parts: Sequence[PartName] | None = None,
    *,
    run: Unedited | None = None,
    seen: Stream | None = None,
) -> WordEffects:
    """Direct and total effects of heads and MLPs (all, if none are named) on words' scores at a token.

    text is a string or a row of token ids, words are token ids. Every part is a run of the model from its
    layer on, so that some are named, not all, where a reader waits. `run` and `seen` are the unedited run and
    stream of the same text, where they are at hand.

    >>> from langscape.models import get_model, open_model
    >>> _ = get_model("default")
    >>> model = open_model("default", device="cpu")
    >>> found = word_effects(model, "Rain fell.", 1, [4542], [PartName("head", 5, 0), PartName("mlp", 5)])
    >>> found.direct.shape, found.total.shape
    ((2, 1), (2, 1))
    """
    run = run or read_unedited(model, text)
    seen = seen or stream(model, run.ids.tolist())
    if not 0 <= token < run.tokens:
        raise not_there("token", token, range(run.tokens), "this text")
    listed = tuple(parts_of(model, ("head", "mlp")) if parts is None else parts)
    if any(one.kind == "layer" for one in listed):
        raise SettingsError("direct effects are of heads and MLPs; a layer is several parts")
    measure = Measure(run)
    total = np.empty((len(listed), len(words)))
    scores, off = _scored(run, measure, seen, token, words)
    for group, outputs in runs_without(run, listed, measure.bent):
        total[list(group)] = scores - _scores_of(outputs, measure, seen, token, words)
    floor = max(10 * off, 1e-5)
    return WordEffects(
        listed, token, tuple(int(one) for one in words), scores, direct_effects(seen, listed, token, words),
        total, floor,
    )  # fmt: skip


def _scored(
    run: Unedited, measure: Measure, seen: Stream, token: int, words: Sequence[int]
) -> tuple[np.ndarray, float]:
    """The words' scores in the unedited run, and how far rounding moves them in runs side by side."""
    runs = max(2, min(run.side_by_side, run.heads[0].shape[2]))
    found = _scores_of(run.final_states(logits=measure.bent), measure, seen, token, words)[0]
    again = _scores_of(run.final_states(runs=runs, logits=measure.bent), measure, seen, token, words)
    return found, float(np.abs(again - found).max())


def _scores_of(
    outputs: torch.Tensor, measure: Measure, seen: Stream, token: int, words: Sequence[int]
) -> np.ndarray:
    """(run, word): scores from final states, or where a model bends them from its logits."""
    last = outputs[:, token].double().cpu()
    rows = list(words)
    if measure.bent:
        return last[:, rows].numpy()
    if seen.transform is not None:
        last = seen.transform.anew(last)
    scores = last @ seen.words[rows].double().T
    return (scores if seen.bias is None else scores + seen.bias[rows].double()).numpy()


AT_ONCE = 64
"""Parts whose scores of the whole vocabulary are held at once."""


class TokenEffects(NamedTuple):
    """The total effects of parts on words, (part, token, choice).

    total         by how much the word's score is lower without the part; positive where the part raises it
    log_chance    the natural logarithm of the word's chance without it; NaN of models that say no words
    own           the same of the run with all parts, (token, choice)
    first         the id of the word that comes first without the part, (part, token), and `first_chance`; -1
                  and NaN of models that say no words

    What the part does to the answer is own − log_chance: a score can fall while those of all words fall.
    """

    total: np.ndarray
    log_chance: np.ndarray
    own: np.ndarray
    first: np.ndarray
    first_chance: np.ndarray


def effects_on_words(
    seen: Stream,
    run: Unedited,
    parts: Sequence[PartName],
    ids: np.ndarray,
    *,
    tokens: Sequence[int] | None = None,
    to: Instead = "zero",
    progress: Progress | None = None,
) -> TokenEffects:
    """The total effects of heads and MLPs on the scores of words, ids (token, choice), at some tokens or all.

    With `to="zero"` nothing stands instead of a part, so that the effect can be set beside what it adds
    directly (`contributions`). A part that comes last has no one after it, and its total differs from that by
    the final norm's scale alone. Scores are those before a model bends its logits, as sums of parts are.
    """
    rows = torch.from_numpy(np.ascontiguousarray(ids, np.int64))
    places = list(range(run.tokens) if tokens is None else tokens)
    whole = scores_of(seen, run.final[0][places].float().cpu(), rows)
    total = np.empty((len(parts), *ids.shape), np.float32)
    log_chance, own = np.full(total.shape, np.nan, np.float32), np.full(ids.shape, np.nan, np.float32)
    first, first_chance = np.full(total.shape[:2], -1), np.full(total.shape[:2], np.nan, np.float32)
    last = torch.empty(len(parts), len(places), run.final.shape[-1])
    tell = progress or (lambda step: None)
    done = 0
    for group, outputs in runs_without(run, parts, to=to):
        for at, output in zip(group, outputs, strict=True):
            last[at] = output[places].float().cpu()
            total[at] = (whole - scores_of(seen, last[at], rows)).numpy()
        done += len(group)
        tell(Step(done, len(parts), "parts taken away"))
    if seen.head:
        final = run.final[0][places].float().cpu()
        for place in range(len(places)):
            own[place] = _log_chances(seen, final[place : place + 1])[0, rows[place]].numpy()
            for start in range(0, len(parts), AT_ONCE):
                some = slice(start, start + AT_ONCE)
                logs = _log_chances(seen, last[some, place])
                log_chance[some, place] = logs[:, rows[place]].numpy()
                highest, which = logs.max(-1)
                first[some, place], first_chance[some, place] = which.numpy(), highest.exp().numpy()
    return TokenEffects(total, log_chance, own, first, first_chance)


def _log_chances(seen: Stream, final: torch.Tensor) -> torch.Tensor:
    """(state, vocabulary): the logarithms of all words' chances after last states (state, dim)."""
    return seen.bend(all_scores(seen, final)).log_softmax(-1)
