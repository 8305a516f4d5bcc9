"""A lens that is fitted to its model: an affine map per node, from the stream there to the last state.

The logit lens reads every node as if the model ended there, though directions still turn on the way. The
tuned lens (Belrose and others, 2023) first translates. Ours is found in closed form: with u the node through
the final norm, the last state is taken as u + D u + b, D and b by ridge regression over a text. Where that
text says nothing of a direction, D is 0, and the lens is the logit lens. Whether it is better is measured on
pieces of the text that were held out, by the KL divergence of the model's own prediction from the lens's.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from langscape.data import Progress, Step
from langscape.errors import DataError, SettingsError
from langscape.io.codec import noun
from langscape.models.logits import Words, all_scores, best_words, normed, said
from langscape.models.memory import refuse_above
from langscape.models.model import Model
from langscape.models.residual import Stream, stream

PIECE, PIECES = 128, 60
"""Tokens of a piece that is read on its own, and pieces that are read at most."""

FEWEST = 10
"""Pieces that a lens needs: too few say nothing of most directions."""

JUDGED = 256
"""Held-out tokens over which lenses are judged, drawn evenly."""

STRENGTHS = (1.0, 10.0, 100.0, 1_000.0, 10_000.0)
"""Strengths of the ridge that are tried, in tokens of mean variance."""

LIMIT = 2e9
"""Bytes of sums above which a lens is refused."""


@noun
@dataclass(frozen=True, eq=False)
class TunedLens:
    """A translator for every node of a model's stream, and how well it does beside the logit lens.

    weights    (node, dim + 1, dim), D with b as its last row
    kl         (2, layer + 1): mean KL divergence in nats of the model's own prediction from that of the logit
               lens, and of the tuned one, at the embedding and after every layer, over held-out tokens
    first      (2, layer + 1): how often the lens's first word is the model's, over the same tokens
    null       the KL where no node is read: the prediction of the mean last state
    strengths  (node,) the ridge that predicted unseen pieces best
    tokens     how many it was fitted to, and over how many it was judged
    text       what was read, in words
    """

    weights: np.ndarray
    kl: np.ndarray
    first: np.ndarray
    null: float
    strengths: np.ndarray
    tokens: tuple[int, int]
    text: str

    def translated(self, seen: Stream) -> torch.Tensor:
        """The last states (node, token, dim) that the stream's nodes lead to."""
        given = normed(seen, torch.from_numpy(seen.capture["stream"].copy()))
        if self.weights.shape != (len(given), given.shape[-1] + 1, given.shape[-1]):
            raise SettingsError(
                f"this lens is of {len(self.weights)} nodes and {self.weights.shape[-1]} dimensions, the "
                f"stream of {len(given)} and {given.shape[-1]}; fit one to this model"
            )
        turn = torch.from_numpy(self.weights.astype(np.float32))
        return given + torch.baddbmm(turn[:, -1:], given, turn[:, :-1])


def tuned_lens(seen: Stream, fitted: TunedLens, top: int = 5) -> Words:
    """The best words at every node as the tuned lens reads them: ids and probabilities (node, token, top)."""
    return best_words(seen, said(seen, fitted.translated(seen)), top, "probability")


def fit_lens(
    model: Model, texts: Iterable[str], named: str = "a text", progress: Progress | None = None
) -> TunedLens:
    """Fit a translator to every node, over pieces of texts; a sixth of the pieces only judges.

    `named` says what was read. Models without a language head have no prediction to come near to.
    """
    pieces = list(_pieces(model, texts))
    if len(pieces) < FEWEST:
        raise DataError(
            f"the text of the lens is too short: {FEWEST * PIECE:,} tokens are the least, and it holds "
            f"{len(pieces)} pieces of {PIECE}; give a longer one"
        )
    tell = progress or (lambda step: None)
    held, sums = [], [_Sums(), _Sums()]
    for at, piece in enumerate(pieces):
        seen = stream(model, piece)
        if not seen.head:
            raise SettingsError(
                f"{model.name} predicts no words, so no lens can be fitted; use the logit lens"
            )
        if at % 6 == 5:
            held.append(_some(seen, max(1, JUDGED // max(1, len(pieces) // 6))))
        else:
            sums[at % 2].add(
                normed(seen, _tensor(seen.capture["stream"]))[:, 1:], _tensor(seen.capture["final"])[1:]
            )
        tell(Step(at + 1, len(pieces) + 2, "reading the text of the lens"))
    weights, strengths = _solved(sums)
    tell(Step(len(pieces) + 1, len(pieces) + 2, "judging the lens"))
    count = sum(one.count for one in sums)
    mean = torch.stack([one.given[0] + one.missing[0] for one in sums]).sum(0) / count
    judged = sum(len(one.capture["final"]) for one in held)
    unjudged = TunedLens(weights, np.empty(0), np.empty(0), 0.0, strengths, (count, judged), named)
    return _judged(unjudged, held, mean)


def _pieces(model: Model, texts: Iterable[str]) -> Iterator[list[int]]:
    """Texts one after another in pieces of as many tokens, each read on its own."""
    if model.tokenizer is None:
        raise SettingsError(f"{model.name} has no tokenizer, so it reads no text; give one")
    # what the tokenizer puts around a text: [CLS] and [SEP], a beginning, or nothing
    around = model.tokenizer("")["input_ids"]
    before, after = (around[:1], around[1:]) if len(around) > 1 else (around, [])
    size = min(PIECE, model.longest or PIECE) - len(around)
    row: list[int] = []
    made = 0
    for text in texts:
        row += model.tokenizer(text, add_special_tokens=False)["input_ids"]
        while len(row) >= size and made < PIECES:
            yield [*before, *row[:size], *after]
            row, made = row[size:], made + 1
        if made >= PIECES:
            return


class _Sums:
    """What a ridge needs to know of many tokens, node by node: no vector is kept."""

    def __init__(self) -> None:
        self.count = 0
        self.squares = self.products = self.given = self.missing = torch.zeros(0)
        self.loss = torch.zeros(0)

    def add(self, given: torch.Tensor, final: torch.Tensor) -> None:
        """Nodes through the final norm (node, token, dim), and the last states (token, dim)."""
        given = given.double()
        missing = final.double() - given
        nodes, tokens, dim = given.shape
        if not self.count:
            refuse_above(LIMIT, 4 * 8 * nodes * dim * dim, f"a lens of {nodes} nodes and {dim} dimensions")
            self.squares, self.products = torch.zeros(2, nodes, dim, dim, dtype=torch.float64)
            self.given, self.missing = torch.zeros(2, nodes, dim, dtype=torch.float64)
            self.loss = torch.zeros(nodes, dtype=torch.float64)
        self.count += tokens
        self.squares += given.mT @ given
        self.products += given.mT @ missing
        self.given += given.sum(1)
        self.missing += missing.sum(1)
        self.loss += missing.pow(2).sum((1, 2))


def _solved(folds: Sequence[_Sums]) -> tuple[np.ndarray, np.ndarray]:
    """The translators, and the strength of each: the one by which each half predicts the other best."""
    first, second = folds
    nodes, dim = first.given.shape
    weights = np.empty((nodes, dim + 1, dim), np.float16)
    strengths = np.empty(nodes)
    for node in range(nodes):
        errors = np.zeros(len(STRENGTHS))
        for one, other in ((first, second), (second, first)):
            errors += [_error(other, node, *turn) for turn in _ridges([one], node)]
        best = int(errors.argmin())
        strengths[node] = STRENGTHS[best]
        turn, shift = list(_ridges(folds, node))[best]
        weights[node, :-1], weights[node, -1] = turn.numpy(), shift.numpy()
    return weights, strengths


def _ridges(folds: Sequence[_Sums], node: int) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """D (dim, dim) and b (dim,) for every strength."""
    count = sum(one.count for one in folds)
    squares = torch.stack([one.squares[node] for one in folds]).sum(0)
    products = torch.stack([one.products[node] for one in folds]).sum(0)
    given = torch.stack([one.given[node] for one in folds]).sum(0) / count
    missing = torch.stack([one.missing[node] for one in folds]).sum(0) / count
    spread = squares - count * torch.outer(given, given)
    values, axes = torch.linalg.eigh(spread)
    along = axes.T @ (products - count * torch.outer(given, missing))
    usual = values.clamp_min(0).mean() / count
    for strength in STRENGTHS:
        turn = axes @ (along / (values.clamp_min(0) + strength * usual)[:, None])
        yield turn, missing - given @ turn


def _error(fold: _Sums, node: int, turn: torch.Tensor, shift: torch.Tensor) -> float:
    """The squared error of a translator over other tokens, from their sums alone."""
    squares, products = fold.squares[node], fold.products[node]
    given, missing = fold.given[node], fold.missing[node]
    found = fold.loss[node] - 2 * (turn * products).sum() - 2 * shift @ missing
    found += (turn * (squares @ turn)).sum() + 2 * (given @ turn) @ shift + fold.count * shift @ shift
    return float(found)


def _some(seen: Stream, count: int) -> Stream:
    """A held-out piece at a few of its tokens, drawn evenly; the first is no ordinary one."""
    tokens = len(seen.capture["final"])
    places = np.unique(np.linspace(1, tokens - 1, min(count, tokens - 1)).round()).astype(int).tolist()
    return replace(seen.only(places), calls=(), values=(), projections=(), neurons=(), experts=())


def _judged(lens: TunedLens, held: Sequence[Stream], mean: torch.Tensor) -> TunedLens:
    """The lens with its scores, beside the logit lens's and those of the mean last state."""
    layers = len(lens.weights) // 2 + 1
    kl, first, null, count = np.zeros((2, layers)), np.zeros((2, layers)), 0.0, 0
    for seen in held:
        own = seen.bend(_tensor(seen.capture["logits"])).log_softmax(-1)
        count += len(own)

        def apart(last: torch.Tensor, seen: Stream = seen, own: torch.Tensor = own) -> tuple[float, float]:
            read = seen.bend(all_scores(seen, last)).log_softmax(-1)
            same = (read.argmax(-1) == own.argmax(-1)).sum()
            return float((own.exp() * (own - read)).sum()), float(same)

        lenses = (normed(seen, _tensor(seen.capture["stream"])), lens.translated(seen))
        for row, last in enumerate(lenses):
            for layer in range(layers):
                further, same = apart(last[2 * layer])
                kl[row, layer] += further
                first[row, layer] += same
        null += apart(mean.float().expand(len(own), -1))[0]
    return replace(
        lens, kl=(kl / count).astype(np.float32), first=(first / count).astype(np.float32), null=null / count
    )


def _tensor(array: Any) -> torch.Tensor:
    return torch.from_numpy(np.array(array))
