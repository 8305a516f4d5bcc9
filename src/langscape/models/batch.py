"""A batch of rows → their captures, in one run of the network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch

from langscape.data import Capture, Edit, Tokens
from langscape.models.attention_hook import Call, eagerly, listening
from langscape.models.capture_spec import Array, Plan, named
from langscape.models.edits import applied, edit_notes
from langscape.models.forward import forward
from langscape.models.inputs import Row
from langscape.models.memory import block_rows
from langscape.models.model import Model
from langscape.models.recorder import Recorder


def run_batch(model: Model, plan: Plan, group: list[Row], edits: Sequence[Edit] = ()) -> list[Capture]:
    """A capture per row, all from one run; rows are padded to the longest and cropped again.

    With edits the group is one row.
    """
    layout, network = model.layout, model.network
    recorder = Recorder(layout, plan, [row.sizes for row in group])
    inputs = tensors_of(model, group)
    hidden, logits = "hidden" in plan.want, "logits" in plan.want and layout.vocabulary > 0
    attend = plan.attends
    output: Any = None  # a run that has told all that is wanted ends early
    with model.running(), applied(model, edits, inputs):
        if edits:
            with listening(network, recorder if attend else _ignored):
                output = forward(network, inputs, hidden=hidden, logits=logits)
        elif layout.heard and attend:
            longest = [max(sizes) for sizes in zip(*recorder.sizes, strict=True)]
            with listening(network, recorder, block_rows(layout, len(group), *longest)):
                output = forward(network, inputs, hidden=hidden, logits=logits)
        else:
            with eagerly(network):
                output = forward(network, inputs, attentions=attend, hidden=hidden, logits=logits)
            for role in layout.roles if attend else ():
                name = "attentions" if role == "self" else f"{role}_attentions"
                recorder.weights(role, getattr(output, name))
    if hidden:
        for role in plan.hidden:
            recorder.rows("hidden", role, getattr(output, named("hidden_states", role)))
    if logits:
        recorder.rows("logits", "decoder" if "decoder" in layout.roles else "self", [output.logits])
    return [_finished(model, plan, recorder, i, row, edits) for i, row in enumerate(group)]


def tensors_of(model: Model, group: list[Row]) -> dict[str, torch.Tensor]:
    """What the network is given for these rows."""
    if group[0].pixels is not None:
        pixels = np.stack([row.pixels for row in group])  # type: ignore[arg-type]
        return {"pixel_values": torch.from_numpy(pixels).to(model.device, model.network.dtype)}
    ids, mask = padded(model, [row.source.ids for row in group])
    inputs = {"input_ids": ids, "attention_mask": mask}
    if group[0].target is not None:
        targets = [row.target.ids for row in group if row.target is not None]
        inputs["decoder_input_ids"], inputs["decoder_attention_mask"] = padded(model, targets)
    return inputs


def padded(model: Model, lists: list[tuple[int, ...]]) -> tuple[torch.Tensor, torch.Tensor]:
    """Ids padded on the right, where positions of the text itself do not move, and the mask."""
    pad = getattr(model.network.config, "pad_token_id", None) or 0
    longest = max(len(ids) for ids in lists)
    ids = torch.full((len(lists), longest), pad if 0 <= pad < model.vocabulary else 0, dtype=torch.long)
    mask = torch.zeros(len(lists), longest, dtype=torch.long)
    for i, one in enumerate(lists):
        ids[i, : len(one)] = torch.tensor(one)
        mask[i, : len(one)] = 1
    return ids.to(model.device), mask.to(model.device)


def _ignored(call: Call) -> None:
    """An edited run goes through the interface, also where nothing of attention is wanted."""


def _finished(
    model: Model, plan: Plan, recorder: Recorder, index: int, row: Row, edits: Sequence[Edit]
) -> Capture:
    layout = model.layout
    planned = recorder.planned[index]
    written = row.source if row.target is None else row.target
    metadata: dict[str, Any] = {
        "model": model.name,
        "revision": model.revision,
        "kind": model.kind,
        "text_digest": row.source.digest,
        "generated": written.generated,
        "layers": {array.name: list(array.layers) for array in planned if array.layers},
        "heads": {array.name: list(array.heads) for array in planned if array.heads},
        **_chosen_rows(planned),
        "scaling": {
            named("q", role): [layout.of(role)[i].scaling for i in numbers]
            for role, numbers in plan.layers.items()
            if layout.heard
        },
        "causal": {named("attention", role): causal for role, causal in layout.causal.items()},
    }
    if edits:
        metadata["edits"] = [str(edit) for edit in edits]
    if row.source.window is not None:
        metadata["window"] = list(row.source.window)
    tokens, decoder_tokens = row.source.tokens(), None
    if "decoder" in layout.roles:
        decoder_tokens = Tokens([]) if row.target is None else row.target.tokens()
    ready = recorder.arrays[index]
    for array in ready.values():
        array.flags.writeable = False  # so that it is handed over rather than copied
    axes = {array.name: array.axes for array in planned}
    notes = (
        *edit_notes(edits),
        *_notes(model, plan, row),
        *_sums(recorder, index),
        *_overflows(model, ready),
    )
    return Capture(tokens, ready, axes, metadata, notes, decoder_tokens)


def _chosen_rows(planned: list[Array]) -> dict[str, Any]:
    rows = {array.name: list(array.rows) for array in planned if array.rows is not None}
    return {"rows": rows} if rows else {}


def _sums(recorder: Recorder, index: int) -> list[str]:
    """Rows of attention that do not sum to 1 are said, never silent."""
    low, high = recorder.sums[index]
    sinks = [array.name for array in recorder.planned[index] if array.what == "sink"]
    if sinks:
        shares = recorder.arrays[index][sinks[0]]
        return [
            f"{100 * float(shares.mean()):.0f} % of the weight goes to learned sinks, which are no tokens; "
            f"{sinks[0]} has it, and rows of attention sum to the rest"
        ]
    if low > 0.98 and high < 1.02:  # so it is where nothing was recorded
        return []
    return [f"rows of attention sum to {low:.2f} at least and {high:.2f} at most, not to 1"]


def _overflows(model: Model, ready: Mapping[str, np.ndarray]) -> list[str]:
    """Finite weights may be so large that what comes of them is not."""
    for name in ("hidden", "attention"):
        array = ready.get(name)
        # NaN goes through a minimum, and the ends show infinity: nothing is copied
        if array is not None and array.size and not np.isfinite([array.min(), array.max()]).all():
            return [f"{name} holds values that are not finite: the weights of {model.name} overflow"]
    return []


def _notes(model: Model, plan: Plan, row: Row) -> tuple[str, ...]:
    layout = model.layout
    notes = [*model.notes, *layout.notes, *row.source.notes, *(row.target.notes if row.target else ())]
    missing = [what for what in ("q", "k", "v") if what in plan.want]
    if not layout.heard and missing:
        listed = " and ".join(filter(None, (", ".join(missing[:-1]), missing[-1])))
        notes.append(f"{listed} not there: {layout.reason}")
    blocks = layout.hidden.get("self", (0, 0))[0] - 1
    if 0 < len(layout.sites) < blocks:
        notes.append(
            f"{len(layout.sites)} of {blocks} blocks attend; attention layers are numbered among themselves"
        )
    if "logits" in plan.want and not layout.vocabulary:
        notes.append(f"logits not there: {model.name} has no head that predicts tokens")
    if layout.heard and ("q" in plan.want or "k" in plan.want):
        if any(site.softcap for site in layout.sites):
            notes.append(
                "scores are soft-capped before softmax, so q·k·scaling alone does not give the weights"
            )
        if any(site.biased for site in layout.sites):
            notes.append(
                "a position bias is added to the scores, so q·k·scaling alone does not give the weights"
            )
    return tuple(notes)
