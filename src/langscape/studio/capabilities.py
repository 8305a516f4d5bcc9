"""What a studio says of itself: models, samples, limits, and every analysis with its form."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langscape import __version__
from langscape.analyses._typed_words import MOST, insertion_parameters
from langscape.studio.forms import OFFERED, form_of, setting_field
from langscape.studio.inputs import fetched_corpora, limits
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
        "corpora": [
            {"id": "sample-corpus", "name": "the sample texts"},
            *({"id": id, "name": name} for id, name, _ in fetched_corpora()),
        ],
        "examples": dict(examples),
        "limits": {"text": TEXT, "bytes": limits(), "words": MOST, "json": json_bytes},
        "analyses": {name: form_of(one) for name, one in OFFERED.items()},
        "insertion": [setting_field(one) for one in insertion_parameters()],
    }


def _models() -> list[dict[str, Any]]:
    from langscape.models.packaged import missing, packaged_models
    from langscape.models.token_count import can_count
    from langscape.models.vocabulary import closed_vocabulary

    reading = [name for name, one in OFFERED.items() if one.signature.setting("model")]
    return [
        {
            "name": model.name,
            "short": model.title,
            "title": model.description,
            "kind": model.kind,
            "layers": model.layers,
            "heads": model.heads or None,
            "longest": model.longest,
            "ready": listing.here,
            "hint": "" if listing.here else missing(model),
            "serves": [name for name in reading if model.serves(name)],
            "prompts": list(model.prompts),
            "counts": can_count(model.name),
            "vocabulary": closed_vocabulary(model.path) if model.kind == "lstm" and listing.here else [],
        }
        for listing in packaged_models()
        for model in [listing.model]
    ]
