"""What the vectors of a stream say in words, and what each adds to a word's score."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch

from langscape.errors import SettingsError
from langscape.models.residual import Stream

if TYPE_CHECKING:
    from langscape.models.effects import PartName

_AT_ONCE = 256
"""Vectors that meet the whole vocabulary at once; more only fall out of the processor's cache."""


@dataclass(frozen=True, eq=False)
class Words:
    """The best words of vectors: ids and values (…, top), best first.

    value is a probability of the logit lens, a cosine where the model has no language head, or, of parts
    of the stream, what is added to the word's score.
    """

    ids: np.ndarray
    values: np.ndarray


@dataclass(frozen=True, eq=False)
class Contributions:
    """What every part adds to the scores of chosen words, ids (token, choice).

    embedding       (part, token, choice)
    heads           (layer, head, token, choice)
    attention_bias  (layer, token, choice): the bias of the output projection
    mlp             (layer, token, choice)
    constant        (token, choice): the shifts of norms, and the head's bias
    score           (token, choice): the model's own logit, or the vector times the word's embedding
    sources         (layer, head, token, choice, key): how a head's share splits over the tokens it reads
    neurons         (layer, token, choice, top): the strongest neurons of an MLP, and `neuron_values`
    experts         per layer (token, choice, place): what each chosen expert adds; None of a plain MLP

    sources and neurons are of the first choices alone where `contributions` was told so.
    """

    ids: np.ndarray
    embedding: np.ndarray
    heads: np.ndarray
    attention_bias: np.ndarray
    mlp: np.ndarray
    constant: np.ndarray
    score: np.ndarray
    sources: np.ndarray
    neurons: np.ndarray
    neuron_values: np.ndarray
    experts: tuple[np.ndarray | None, ...] = ()

    @property
    def total(self) -> np.ndarray:
        """All parts added up, (token, choice)."""
        parts = self.embedding.sum(0) + self.heads.sum((0, 1)) + self.attention_bias.sum(0) + self.mlp.sum(0)
        return parts + self.constant

    @property
    def errors(self) -> np.ndarray:
        """The differences between the sums and the model's own scores, (token, choice)."""
        return np.abs(self.total - self.score)

    @property
    def error(self) -> float:
        """The largest difference between a sum and the model's own score."""
        return float(self.errors.max())


def lens(stream: Stream, top: int = 5) -> Words:
    """The best words at every node of the stream: ids and values (node, token, top).

    With a language head, the final norm (with the node's own scale) and the head are applied as if the
    model ended there. Without one, words are those whose embeddings point the same way.
    """
    nodes = _tensor(stream.capture["stream"])
    if stream.head:
        return best_words(stream, said(stream, normed(stream, nodes)), top, "probability")
    return best_words(stream, nodes, top, "cosine")


def normed(stream: Stream, nodes: torch.Tensor) -> torch.Tensor:
    """What the last state would be if the model ended at vectors (…, dim): the final norm, own scale."""
    norm = stream.norms[-1]
    return nodes if norm is None else norm.anew(nodes)


def said(stream: Stream, last: torch.Tensor) -> torch.Tensor:
    """What the words meet where these are the last states (…, dim): the head's own layer, if it has one."""
    return last if stream.transform is None else stream.transform.anew(last)


def promoted(stream: Stream, part: str = "heads", top: int = 3, which: np.ndarray | None = None) -> Words:
    """The words whose scores a part raises most: "heads" or "mlp".

    ids and values are (layer, head, token, top), or (layer, token, top).

    Every norm between the part and the words is taken with the scale it had in this run. which, a truth
    value per vector, leaves others out: the whole vocabulary is asked for each, and heads are many. Their
    ids are -1.
    """
    if part not in ("heads", "mlp"):
        raise SettingsError(f'part {part!r} is not known; use "heads" or "mlp"')
    vectors = _tensor(stream.capture[part])
    first = 1 if part == "heads" else 2
    carried = torch.stack([_carried(stream, vectors[i], 2 * i + first) for i in range(stream.layers)])
    if which is None:
        return best_words(stream, carried, top, "score")
    if which.shape != carried.shape[:-1]:
        raise SettingsError(f"which has shape {which.shape}, but {part} are {tuple(carried.shape[:-1])}")
    found = best_words(stream, carried[torch.from_numpy(which)], top, "score")
    ids = np.full((*which.shape, found.ids.shape[-1]), -1, np.int32)
    values = np.full(ids.shape, np.nan, np.float32)
    ids[which], values[which] = found.ids, found.values
    return Words(ids, values)


def contributions(
    stream: Stream, ids: np.ndarray, *, neurons: int = 6, split: int | None = None
) -> Contributions:
    """What each part adds to the scores of words, ids (token, choice); they add up to the model's score.

    Only for the first `split` choices, or all, heads are split over tokens and MLPs over neurons.

    >>> import numpy as np
    >>> from langscape.models import get_model, open_model, stream
    >>> _ = get_model("default")
    >>> seen = stream(open_model("default", device="cpu"), "Rain fell.")
    >>> parts = contributions(seen, np.full((5, 1), 4542))
    >>> parts.error < 1e-4, parts.heads.shape
    (True, (6, 12, 5, 1))
    """
    ids = np.asarray(ids)
    count = len(stream.capture["final"])
    if ids.ndim != 2 or len(ids) != count or ids.dtype.kind not in "iu":
        raise SettingsError(f"ids have shape {ids.shape}; give whole numbers of shape ({count}, choices)")
    if ids.size and not (ids.min() >= 0 and ids.max() < len(stream.words)):
        raise SettingsError(
            f"ids reach from {ids.min()} to {ids.max()}; words are 0 to {len(stream.words) - 1}"
        )
    tensors = {
        name: _tensor(stream.capture[name]) for name in ("embedding", "heads", "attention_bias", "mlp")
    }
    rows = torch.from_numpy(np.ascontiguousarray(ids, np.int64))
    constant = torch.zeros(ids.shape, dtype=torch.float64)
    if stream.bias is not None:
        constant += stream.bias[rows].double()
    ahead = stream.words[rows].double()
    if stream.transform is not None:
        ahead, shift = stream.transform.back(ahead)
        constant += shift
    experts: list[np.ndarray | None] = []
    shares: dict[str, list[torch.Tensor]] = {name: [] for name in ("heads", "bias", "mlp", "sources")}
    strongest: list[tuple[torch.Tensor, torch.Tensor]] = []

    def before(node: int) -> None:
        nonlocal ahead, constant
        norm = stream.norms[node]
        if norm is not None:
            constant = constant + (ahead * norm.shift.double()).sum(-1)
            ahead = norm.back(ahead)

    before(len(stream.norms) - 1)
    for layer in reversed(range(stream.layers)):
        before(2 * layer + 2)
        shares["mlp"].append(_times(tensors["mlp"][layer], ahead))
        strongest.append(_neurons(stream, layer, ahead[:, :split], neurons))
        mixed = stream.experts[layer] if stream.experts else None
        experts.append(
            None if mixed is None else torch.einsum("tpd,tkd->tkp", mixed.added.double(), ahead).numpy()
        )
        before(2 * layer + 1)
        shares["heads"].append(_times(tensors["heads"][layer], ahead))
        shares["bias"].append(_times(tensors["attention_bias"][layer], ahead))
        shares["sources"].append(_sources(stream, layer, ahead[:, :split]))
    stacked = {name: torch.stack(parts[::-1]).numpy() for name, parts in shares.items()}
    if stream.head:
        score = _tensor(stream.capture["logits"]).double().gather(1, rows)
    else:
        score = (_tensor(stream.capture["final"]).double()[:, None] * stream.words[rows].double()).sum(-1)
    return Contributions(
        ids,
        _times(tensors["embedding"], ahead).numpy(),
        stacked["heads"],
        stacked["bias"],
        stacked["mlp"],
        constant.numpy(),
        score.numpy(),
        stacked["sources"],
        torch.stack([which for which, _ in strongest[::-1]]).numpy(),
        torch.stack([values for _, values in strongest[::-1]]).numpy(),
        tuple(experts[::-1]),
    )


def query_key_scores(stream: Stream, layer: int, token: int) -> np.ndarray | None:
    """q·k of a token with every other (head, key), as it enters the softmax; NaN where a key is not seen.

    None where something else is added to it, such as a bias of positions.
    """
    call = stream.calls[layer]
    groups = call.query.shape[1] // call.key.shape[1]
    keys = call.key[0].float().repeat_interleave(groups, 0)
    scores = call.scaling * torch.einsum("hd,hkd->hk", call.query[0, :, token].float(), keys)
    if call.softcap:
        scores = call.softcap * torch.tanh(scores / call.softcap)
    weights = call.weights[0, :, token].float()
    scores = torch.where(weights > 0, scores, torch.nan)
    met = torch.softmax(scores.nan_to_num(-torch.inf), -1) * weights.sum(-1, keepdim=True)
    return None if (met - weights).abs().max() > 1e-2 else scores.numpy()


def neuron_shares(stream: Stream, layer: int, token: int, ids: np.ndarray) -> np.ndarray | None:
    """What every neuron of an MLP adds to the scores of words at one token, ids (choice,) → (choice, neuron).

    None where its neurons cannot be told apart.
    """
    inside = stream.neurons[layer]
    if inside is None:
        return None
    given, weight, norm = inside
    every = np.broadcast_to(np.asarray(ids), (len(stream.capture["final"]), len(ids)))
    ahead = stream.directions(np.ascontiguousarray(every), 2 * layer + 2)
    ahead = norm.back(ahead) if norm is not None else ahead
    return (ahead[token].float() @ weight * given[token]).numpy()


def all_scores(stream: Stream, final: torch.Tensor) -> torch.Tensor:
    """The scores (token, vocabulary) of last states (token, dim) that another run ended with."""
    scores = said(stream, final) @ stream.words.T
    return scores if stream.bias is None else scores + stream.bias


def scores_of(stream: Stream, final: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
    """The scores of words, rows (token, choice), of last states (token, dim) that another run ended with."""
    scores = torch.einsum("td,tkd->tk", said(stream, final), stream.words[rows])
    return scores if stream.bias is None else scores + stream.bias[rows]


def direct_effects(stream: Stream, parts: Sequence[PartName], token: int, words: Sequence[int]) -> np.ndarray:
    """(part, word): what the scores of words lose at a token if a part alone has its mean, norms frozen.

    The mean is that of what the part adds, over the tokens but the first; the first token keeps its own.
    """
    seen = stream.capture
    ahead = stream.words[list(words)].double().expand(len(seen.tokens), -1, -1)
    if stream.transform is not None:
        ahead, _ = stream.transform.back(ahead)
    found = np.zeros((len(parts), len(words)))
    for node in reversed(range(1, len(stream.norms))):
        norm = stream.norms[node]
        ahead = ahead if norm is None else norm.back(ahead)
        for at, one in enumerate(parts):
            if token == 0 or node != 2 * one.layer + (1 if one.kind == "head" else 2):
                continue
            added = seen["heads"][one.layer, one.head] if one.kind == "head" else seen["mlp"][one.layer]
            away = _tensor(added[token] - added[1:].mean(axis=0)).double()
            found[at] = (ahead[token] @ away).numpy()
    return found


def _tensor(array: np.ndarray) -> torch.Tensor:
    return torch.from_numpy(array.copy())  # torch does not take what is read-only


def _times(vectors: torch.Tensor, ahead: torch.Tensor) -> torch.Tensor:
    return torch.einsum("...td,tkd->...tk", vectors.double(), ahead)


def _sources(stream: Stream, layer: int, ahead: torch.Tensor) -> torch.Tensor:
    weight = stream.projections[layer]
    weights = _tensor(stream.capture["attention"][layer])
    norm = stream.attention_norms[layer]
    ahead = ahead if norm is None else norm.back(ahead)
    back = torch.einsum("tkd,hdv->htkv", ahead.float(), weight)
    return torch.einsum("htkv,hsv,hts->htks", back, stream.values[layer], weights)


def _neurons(stream: Stream, layer: int, ahead: torch.Tensor, top: int) -> tuple[torch.Tensor, torch.Tensor]:
    inside = stream.neurons[layer]
    if inside is None:
        none = torch.full((*ahead.shape[:2], top), torch.nan)
        return none.nan_to_num(-1).int(), none
    given, weight, norm = inside
    ahead = norm.back(ahead) if norm is not None else ahead
    each = torch.einsum("tkd,df->tkf", ahead.float(), weight) * given[:, None]
    found = each.abs().topk(min(top, each.shape[-1]), dim=-1).indices
    return found.int(), each.gather(-1, found)


def _carried(stream: Stream, vectors: torch.Tensor, node: int) -> torch.Tensor:
    for norm in stream.norms[node:]:
        if norm is not None:
            vectors = norm.linear(vectors)
    return vectors if stream.transform is None else stream.transform.linear(vectors)


def best_words(stream: Stream, vectors: torch.Tensor, top: int, kind: str) -> Words:
    """The top words of vectors (…, dim), a few hundred against the whole vocabulary at a time."""
    words = stream.words
    if kind == "cosine":
        words = torch.nn.functional.normalize(words, dim=-1)
        vectors = torch.nn.functional.normalize(vectors, dim=-1)
    top = min(top, len(words))
    flat = vectors.reshape(-1, vectors.shape[-1])
    ids, values = [], []
    for start in range(0, len(flat), _AT_ONCE):
        scores = flat[start : start + _AT_ONCE] @ words.T
        if kind == "probability" and stream.bias is not None:
            scores += stream.bias
        if kind == "probability":
            scores = stream.bend(scores)
        best = scores.topk(top, dim=-1)
        ids.append(best.indices)
        found = best.values
        values.append((found - scores.logsumexp(-1, keepdim=True)).exp() if kind == "probability" else found)
    shape = (*vectors.shape[:-1], top)
    return Words(torch.cat(ids).reshape(shape).int().numpy(), torch.cat(values).reshape(shape).numpy())
