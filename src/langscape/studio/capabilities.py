"""What a studio says of itself: models, samples, limits, and every analysis with its form."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from langscape import __version__
from langscape.analyses._typed_words import MOST, insertion_parameters
from langscape.studio.forms import OFFERED, form_of, setting_field
from langscape.studio.inputs import limits
from langscape.studio.looking import TEXT


def capabilities(examples: Mapping[str, str], json_bytes: int) -> dict[str, Any]:
    """What the page needs to know before anything is asked."""
    from langscape.sources import samples

    return {
        "version": __version__,
        "models": _models(),
        "texts": [
            {"id": f"sample-{name}", "name": name, "text": samples.text(name)} for name in samples.texts()
        ],
        "vectors": [{"id": "sample-words", "name": "5,000 common English words", "count": 5000, "dim": 100}],
        "lists": [{"id": "sample-groups", "name": "eleven groups", "count": len(samples.groups())}],
        "corpora": [{"id": "sample-corpus", "name": "the sample texts"}],
        "examples": dict(examples),
        "limits": {"text": TEXT, "bytes": limits(), "words": MOST, "json": json_bytes},
        "analyses": {name: form_of(one) for name, one in OFFERED.items()},
        "insertion": [setting_field(one) for one in insertion_parameters()],
    }


def _models() -> list[dict[str, Any]]:
    from langscape import models
    from langscape.models.display_names import model_title
    from langscape.models.packaged import packaged_models

    out = []
    for listing in packaged_models():
        model = listing.model
        facts = _config(model.path / "config.json") if listing.here else {}
        out.append(
            {
                "name": model.name,
                "short": model_title(model.name),
                "title": model.title,
                "kind": "decoder" if model.name == "decoder" else "encoder",
                "layers": facts.get("num_hidden_layers"),
                "heads": facts.get("num_attention_heads"),
                "longest": facts.get("max_position_embeddings"),
                "ready": listing.here,
                "hint": "" if listing.here else f"Run: langscape models get {model.name}",
            }
        )
    shipped = Path(models.__file__).parent / "weights"
    for name in ("lstm-tiny", "lstm"):
        facts = _config(shipped / name / "config.json")
        out.append(
            {
                "name": name,
                "short": model_title(name),
                "title": f"LSTM that comes with langscape, {facts.get('hidden', '?')} units",
                "kind": "lstm",
                "layers": facts.get("layers"),
                "heads": None,
                "longest": None,
                "ready": bool(facts),
                "hint": "" if facts else "Install langscape again: its weights are missing.",
            }
        )
    return out


def _config(path: Any) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
