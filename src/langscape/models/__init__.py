"""Text → Capture, and the models that do it. Importing this loads neither torch nor transformers.

What needs them is loaded when first used, and says what to install where they are missing.
"""

from __future__ import annotations

import importlib
import os
from typing import TYPE_CHECKING, Any

from langscape.models.optional_dependencies import needs_models
from langscape.models.packaged import get_model, model_path, packaged_models
from langscape.models.token_classes import token_classes
from langscape.models.token_merging import drop_special, merge_characters, merge_words, token_texts

if TYPE_CHECKING:
    from langscape.models.gaussians import gaussians_of, word_gaussians
    from langscape.models.inputs import continued
    from langscape.models.logits import Contributions, Words, contributions, lens, promoted
    from langscape.models.lstm import LSTMModel
    from langscape.models.lstm_wrap import wrap_lstm
    from langscape.models.memory import Estimate, estimate
    from langscape.models.model import Model, wrap_model
    from langscape.models.open import check_model, model_revision, open_model
    from langscape.models.query_key import collect_query_key
    from langscape.models.residual import Stream, stream, word_table
    from langscape.models.size import model_size
    from langscape.models.transformer import capture, capture_each
    from langscape.models.trials import Check, check

_HEAVY = {
    "Check": "trials",
    "Contributions": "logits",
    "Stream": "residual",
    "Words": "logits",
    "contributions": "logits",
    "lens": "logits",
    "promoted": "logits",
    "stream": "residual",
    "Estimate": "memory",
    "LSTMModel": "lstm",
    "Model": "model",
    "capture": "transformer",
    "capture_each": "transformer",
    "check": "trials",
    "check_model": "open",
    "collect_query_key": "query_key",
    "continued": "inputs",
    "estimate": "memory",
    "gaussians_of": "gaussians",
    "model_revision": "open",
    "model_size": "size",
    "open_model": "open",
    "word_gaussians": "gaussians",
    "word_table": "residual",
    "wrap_lstm": "lstm_wrap",
    "wrap_model": "model",
}

__all__ = [
    "Check",
    "Contributions",
    "Estimate",
    "LSTMModel",
    "Model",
    "Stream",
    "Words",
    "capture",
    "capture_each",
    "check",
    "check_model",
    "collect_query_key",
    "continued",
    "contributions",
    "drop_special",
    "estimate",
    "gaussians_of",
    "get_model",
    "lens",
    "merge_characters",
    "merge_words",
    "model_path",
    "model_revision",
    "model_size",
    "open_model",
    "packaged_models",
    "promoted",
    "stream",
    "token_classes",
    "token_texts",
    "word_gaussians",
    "word_table",
    "wrap_lstm",
    "wrap_model",
]


def __getattr__(name: str) -> Any:
    if name not in _HEAVY:
        raise AttributeError(f"module 'langscape.models' has no attribute {name!r}")
    # waiting threads that spin take 10 times the wall time on shared cores; read when torch is loaded
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    with needs_models():
        module = importlib.import_module(f"langscape.models.{_HEAVY[name]}")
    return getattr(module, name)


def __dir__() -> list[str]:
    return sorted(__all__)
