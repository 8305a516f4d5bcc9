"""The queries and keys of many sentences as one capture: who stood in which sentence, and where."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from langscape.data import Capture, Progress, Side, Step, Tokens
from langscape.errors import DataError, SettingsError
from langscape.models.capture_spec import make_plan, named
from langscape.models.memory import LIMIT, refuse_above
from langscape.models.model import Model
from langscape.models.transformer import Numbers, capture_each


def collect_query_key(
    model: Model,
    sentences: Iterable[Any],
    layers: Numbers = None,
    heads: Numbers = None,
    *,
    side: Side | None = None,
    targets: Iterable[Any] | None = None,
    tokens: int | None = None,
    batch: int = 16,
    memory: float = LIMIT,
    progress: Progress | None = None,
) -> Capture:
    """One capture with q and k of every sentence, each read on its own; their tokens stand one after another.

    q has axes (layer, head, query, dim), k (layer, head, key, dim), and value_norm (layer, head, key) has the
    lengths of the value vectors. The tokens' `sentence` and `positions`
    say where each stood, `metadata["sentences"]` what was read. With `tokens`, reading stops after the
    sentence that reaches so many. `side` chooses the attention of an encoder–decoder; "decoder" and
    "cross" want `targets`. A sentence too long for the model is cut into windows, each a sentence of its
    own. Only one batch of sentences is in memory beside the result.

    >>> from langscape.models import get_model, open_model
    >>> _ = get_model("default")
    >>> seen = collect_query_key(open_model("default"), ["Rain fell.", "The lamps were lit."], layers=3)
    >>> seen["q"].shape, seen.tokens.sentence.tolist(), seen.tokens.positions[:6].tolist()
    ((1, 12, 12, 32), [0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1], [0, 1, 2, 3, 4, 0])
    """
    roles = model.layout.roles
    role = side or roles[0]
    if role not in roles:
        raise SettingsError(f"{model.name} has no attention of side {role!r}; it has {', '.join(roles)}")
    if not model.layout.heard:
        raise DataError(f"{model.name} does not give its queries and keys: {model.layout.reason}")
    if tokens is not None and tokens < 2:
        raise SettingsError(
            f"tokens {tokens} is too few for a map; leave it out for all, or give some hundred"
        )
    if isinstance(sentences, str):
        raise SettingsError("sentences is one text; cut it with sources.sentences(text), or give a list")
    want = ("q", "k", "v")
    plan = make_plan(model.layout, want, layers, heads)
    names = named("q", role), named("k", role), named("value_norm", role)
    read = [one for one in sentences if not isinstance(one, str) or one.strip()]
    if not read:
        raise DataError("there are no sentences to read; give at least one that is not empty")
    site = model.layout.of(role)[0]
    width = 4 * site.width * len(plan.layers[role]) * len(plan.heads[role])
    tell = progress or (lambda step: None)
    parts: list[Capture] = []
    needed = 0
    total = tokens or len(read)
    for part in capture_each(
        model, read, want, layers, heads, targets=targets, long="window", batch=batch, memory=memory
    ):
        parts.append(_with_norms(part, role).only(*names))
        needed += part[names[0]].shape[2]
        # the parts and the arrays they are joined into
        refuse_above(memory, 4 * width * needed, f"collecting queries and keys of {needed:,} tokens")
        tell(Step(min(needed, total) if tokens else len(parts), total, "reading sentences"))
        if tokens is not None and needed >= tokens:
            break
    return _joined(parts, names, role, model)


def _with_norms(part: Capture, role: str) -> Capture:
    """The capture with the lengths of its values, which are all that is kept of them."""
    values, name = named("v", role), named("value_norm", role)
    norms = np.linalg.norm(part[values].astype(np.float64), axis=3).astype(np.float32)
    kept = {
        noun: {**numbers, name: numbers[values]}
        for noun in ("layers", "heads")
        if values in (numbers := part.metadata.get(noun, {}))
    }
    return part.but(
        arrays={**part.arrays, name: norms},
        axes={**part.axes, name: ("layer", "head", "key")},
        metadata={**part.metadata, **kept},
    )


def _joined(parts: list[Capture], names: tuple[str, ...], role: str, model: Model) -> Capture:
    first = parts[0]
    arrays = {name: np.concatenate([part[name] for part in parts], axis=2) for name in names}
    for array in arrays.values():
        array.flags.writeable = False
    metadata: dict[str, Any] = {
        name: first.metadata[name]
        for name in ("model", "revision", "kind", "layers", "heads", "scaling", "causal")
    }
    metadata["sentences"] = [_text(part.tokens) for part in parts]
    metadata["softcap"] = [site.softcap for site in model.layout.of(role)]
    metadata["biased"] = any(site.biased for site in model.layout.of(role))
    tokens, decoder_tokens = Tokens.joined([part.tokens for part in parts]), None
    if first.decoder_tokens is not None:
        decoder_tokens = Tokens.joined([part.tokens_of("decoder") for part in parts])
    notes = dict.fromkeys(note for part in parts for note in part.notes)
    return Capture(tokens, arrays, first.axes, metadata, tuple(notes), decoder_tokens)


def _text(tokens: Tokens) -> str:
    """The sentence as it can be shown, put together from its tokens' places in it."""
    if tokens.offsets is None:
        return "".join(tokens.texts).strip()
    line = ""
    for text, (start, end), special in zip(
        tokens.texts, tokens.offsets.tolist(), tokens.special, strict=True
    ):
        if not special and end > start:
            line = line.ljust(start) + text if len(line) <= start else line[:start] + text
    return line.strip()
