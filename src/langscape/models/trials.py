"""What can be done with a model, found by doing it: a table for any model that opens."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from langscape.data import Capture, Edit
from langscape.errors import LangscapeError
from langscape.memory_limits import size
from langscape.models.attention_hook import editing
from langscape.models.edits import applied
from langscape.models.faults import first_line, is_fault
from langscape.models.forward import forward
from langscape.models.lstm import LSTMModel
from langscape.models.memory import estimate
from langscape.models.model import Model
from langscape.models.open import open_model
from langscape.models.transformer import capture

TEXT = "The red lamp hung over the north door. The green lamp hung over the south door."
_CLOSE = {torch.float32: 1e-4, torch.float64: 1e-6}


@dataclass(frozen=True)
class Trial:
    """One thing that was tried: whether it works, and what was found, or why it does not."""

    name: str
    works: bool
    found: str


@dataclass(frozen=True)
class Check:
    """Everything that was tried on a model, in order."""

    model: str
    trials: tuple[Trial, ...]

    def __repr__(self) -> str:
        wide = max(len(trial.name) for trial in self.trials)
        lines = [f"{one.name:{wide}}  {'yes' if one.works else 'no ':3}  {one.found}" for one in self.trials]
        return "\n".join([self.model, *lines])

    def __getitem__(self, name: str) -> Trial:
        return next(trial for trial in self.trials if trial.name == name)

    def to_json(self) -> str:
        """The table as JSON."""
        rows = {one.name: {"works": one.works, "found": one.found} for one in self.trials}
        return json.dumps({"model": self.model, "trials": rows}, ensure_ascii=False, indent=2)


def check(model: Any, text: str | None = None, *, tokenizer: Any = None) -> Check:
    """Try on a model what langscape does with models, and say of each whether it works.

    `model` is whatever `open_model` takes. Nothing about a model that you hold is changed.

    >>> from langscape.models import get_model
    >>> _ = get_model("default")
    >>> found = check("default")
    >>> found["weights"].works, found["edits"].works
    (True, True)
    """
    opened = open_model(model, tokenizer=tokenizer)
    if isinstance(opened, LSTMModel):
        return _lstm(opened, text)
    given = _given(opened, text)
    trials: list[tuple[str, Callable[[], tuple[bool, str]]]] = [
        ("weights", lambda: _weights(opened, given)),
        ("q, k, v", lambda: _query_key(opened, given)),
        ("hidden states", lambda: _hidden(opened, given)),
        ("logits", lambda: _logits(opened, given)),
        ("residual stream", lambda: _stream(opened, given)),
        ("exact sums", lambda: _sums(opened, given)),
        ("edits", lambda: _edits(opened, given)),
        ("blocks of rows", lambda: _blocks(opened)),
        ("memory", lambda: _memory(opened)),
    ]
    found = tuple(_tried(name, trial) for name, trial in trials)
    dtype = str(opened.network.dtype).removeprefix("torch.")
    notes = "".join(f"; {note}" for note in (*opened.notes, *opened.layout.notes))
    return Check(f"{opened!r}, {dtype}{notes}", found)


def _tried(name: str, trial: Callable[[], tuple[bool, str]]) -> Trial:
    try:
        return Trial(name, *trial())
    except BaseException as error:
        if not isinstance(error, LangscapeError) and not is_fault(error):
            raise
        return Trial(name, False, first_line(error))


def _given(model: Model, text: str | None) -> Any:
    """A text, or where there is no tokenizer token ids; of a vision model an image of grey levels."""
    if model.kind == "vision":
        from langscape.models.layout import image_shape

        shape = image_shape(model.network.config)
        return np.linspace(-1, 1, int(np.prod(shape)), dtype=np.float32).reshape(shape)
    if model.tokenizer is not None:
        return TEXT if text is None else text
    return [3 + i % max(1, min(model.vocabulary - 3, 17)) for i in range(24)]


def _captured(model: Model, given: Any, *want: str) -> Capture:
    return capture(model, given, want)


def _weights(model: Model, given: Any) -> tuple[bool, str]:
    seen = _captured(model, given, "attention")
    remarks = []
    worst = 0.0
    for name in (one for one in seen.arrays if one.endswith("attention")):
        A = seen[name].astype(np.float64)
        total = A.sum(-1) + seen.arrays.get(f"{name}_sink", 0)
        worst = max(worst, float(np.abs(total - 1).max()))
        layers, heads = A.shape[:2]
        remarks.append(f"{name} of {layers} × {heads} heads")
        if (A < 0).any():
            return False, f"{name} is below 0: these are no weights"
    close = worst < (1e-3 if model.network.dtype == torch.float32 else 2e-2)
    how = "rows sum to 1" if close else f"rows miss 1 by up to {worst:.2g}"
    notes = [note for note in seen.notes if "sink" in note or "softmax;" in note]
    return close, "; ".join([", ".join(remarks), f"{how} (to {worst:.0e})", *notes])


def _query_key(model: Model, given: Any) -> tuple[bool, str]:
    if not model.layout.heard:
        return False, model.layout.reason or "it has no attention"
    seen = _captured(model, given, "attention", "q", "k", "v")
    side = "" if "q" in seen.arrays else "encoder_"
    A = seen[f"{side}attention"].astype(np.float64)
    scaling = np.asarray(seen.metadata["scaling"][f"{side}q"])[:, None, None, None]
    scores = np.einsum("lhqd,lhkd->lhqk", seen[f"{side}q"], seen[f"{side}k"]) * scaling
    scores = np.where(A > 0, scores, -np.inf)
    again = np.exp(scores - scores.max(-1, keepdims=True))
    again *= A.sum(-1, keepdims=True) / again.sum(-1, keepdims=True)
    off = float(np.abs(again - A).max())
    if any(site.softcap or site.biased for site in model.layout.sites):
        return (
            True,
            f"captured; softmax of q·k alone misses the weights by {off:.1g}: scores are bent or biased",
        )
    exact = off < (1e-3 if model.network.dtype == torch.float32 else 5e-2)
    return exact, f"softmax of q·k·scaling gives the weights to {off:.0e}"


def _hidden(model: Model, given: Any) -> tuple[bool, str]:
    seen = _captured(model, given, "hidden")
    finite = all(np.isfinite(array).all() for array in seen.arrays.values())
    shapes = ", ".join(
        f"{array.shape[0]} of width {array.shape[2]}"
        for name, array in seen.arrays.items()
        if "hidden" in name
    )
    return finite, f"{shapes}{'' if finite else '; some are not finite'}"


def _logits(model: Model, given: Any) -> tuple[bool, str]:
    if not model.layout.vocabulary:
        return False, "it has no head that predicts tokens"
    found = next(iter(_captured(model, given, "logits").arrays.values()))
    return bool(np.isfinite(found).all()), f"{found.shape[1]:,} words"


def _stream(model: Model, given: Any) -> tuple[bool, str]:
    from langscape.models.residual import stream

    residual = stream(model, given)
    nodes = residual.capture["stream"].shape[0]
    return True, f"{nodes} nodes of {residual.layers} layers, by head and MLP"


def _sums(model: Model, given: Any) -> tuple[bool, str]:
    """What every part adds to the score of a word, against the score itself."""
    from langscape.models.logits import contributions
    from langscape.models.residual import stream

    residual = stream(model, given)
    ids = np.tile(np.arange(4), (len(residual.capture.tokens), 1))
    parts = contributions(residual, ids)
    off = float(np.abs(parts.total - parts.score).max())
    scale = max(1.0, float(np.abs(parts.score).max()))
    exact = off / scale < _CLOSE.get(model.network.dtype, 2e-2)
    return exact, f"heads, MLPs and embeddings add up to a word's score to {off:.0e} of {scale:.3g}"


def _edits(model: Model, given: Any) -> tuple[bool, str]:
    """Head 0 of the first attention set to zero through the interface; what lies behind must change."""
    if model.parts.uneditable:
        return False, f"{model.parts.uneditable}; edits are refused"
    from langscape.models.batch import tensors_of
    from langscape.models.inputs import Reading, rows

    inputs = tensors_of(model, [next(iter(rows(model, [given], None, Reading())))])
    first = Edit.head(0, 0, to="zero")
    with model.running():
        with editing(model.network, lambda at, call, output: (call.weights, output)):
            before = _states(forward(model.network, inputs, hidden=True))
        with applied(model, [first], inputs):
            after = _states(forward(model.network, inputs, hidden=True))
    if not torch.equal(before[0], after[0]):
        return False, "what stands before the edited head changed too; edits are refused"
    moved = float((after[-1] - before[-1]).norm() / before[-1].norm())
    if not moved:
        return False, "head 0.0 set to zero changes nothing behind it; edits are refused"
    others = [
        name for name, why in (("MLPs", model.parts.no_mlps), ("the stream", model.parts.no_blocks)) if why
    ]
    only = (
        f"; {' and '.join(others)} cannot be edited" if others else "; MLPs and the stream can be edited too"
    )
    return True, f"head 0.0 set to zero moves the last hidden states by {100 * moved:.2g} %{only}"


def _states(output: Any) -> list[torch.Tensor]:
    for name in ("hidden_states", "encoder_hidden_states"):
        if (found := getattr(output, name, None)) is not None:
            return [state.float() for state in found]
    return [output[0].float()]


def _blocks(model: Model) -> tuple[bool, str]:
    if model.layout.blocks:
        return True, "long texts are read some rows at a time"
    return False, "all weights of a layer are there at once"


def _memory(model: Model) -> tuple[bool, str]:
    tokens = min(1000, model.longest or 1000)
    if model.kind == "vision":
        tokens = model.layout.tokens or 1
    everything = ("hidden", "attention") if model.layout.sites else ("hidden",)
    whole = estimate(model, tokens, everything, target=1)
    weights = sum(one.numel() * one.element_size() for one in model.network.parameters())
    text = f"{size(weights)} of weights; {tokens:,} tokens take {whole}"
    if model.layout.sites:
        text += f", one head {size(estimate(model, tokens, 'attention', layers=0, heads=0).held)}"
    return True, text


def _lstm(model: LSTMModel, text: str | None) -> Check:
    seen = capture(model, text or "the small dog barks .")
    none = "an LSTM has no attention"
    trials = [Trial("gates and states", True, f"{len(seen.arrays)} arrays over {len(seen.tokens)} words")]
    trials += [Trial(name, False, none) for name in ("weights", "q, k, v", "edits")]
    return Check(repr(model), tuple(trials))
