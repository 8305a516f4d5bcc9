"""Steps over attention heads: text through a model to an atlas of every head."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from langscape.data import Capture, Progress
from langscape.errors import FileError, SettingsError
from langscape.run.registry import step
from langscape.run.results import Arrays

REPEATED = 40
"""Random tokens of the probe for induction; they stand three times in a row."""


def revision(settings: Mapping[str, Any]) -> str:
    """Which model a recipe's settings mean, so that another one of the same name is another result."""
    from langscape.models import model_revision

    return model_revision(settings["model"])


@step(
    "heads.atlas",
    version=2,
    defaults={
        "model": "default",
        "text": None,
        "layers": None,
        "special": "drop",
        "cut": False,
        "restarts": 8,
        "steps": 1000,
        "seed": 0,
        "side": None,
        "target": None,
    },
    revision=revision,
)
def heads_atlas(settings: Mapping[str, Any], inputs: Mapping[str, Path], progress: Progress) -> Arrays:
    """Every head of `model` over `text`, or the file of the input `text`; see `unpack_atlas`.

    With `cut`, of a text longer than the model takes the first part is read. Of an encoder–decoder, `side`
    says whose heads; the decoder reads `target`, or the file of the input `target`.
    """
    from langscape.run.atlas import make_atlas, pack_atlas

    model = opened(settings["model"], revision(settings))
    text = read_text(inputs["text"]) if "text" in inputs else settings["text"] or sample_text(model.kind)
    target = read_text(inputs["target"]) if "target" in inputs else settings["target"]
    seen = captured(model, text, ("attention",), settings["layers"], cut=settings["cut"], target=target)
    made = make_atlas(
        seen,
        of=f"{settings['side']}_attention" if settings["side"] else None,
        special=settings["special"],
        restarts=settings["restarts"],
        steps=settings["steps"],
        probe=induction_probe(model, settings["layers"], settings["seed"]),
        seed=settings["seed"],
        progress=progress,
    )
    return pack_atlas(made)


@lru_cache(maxsize=1)
def opened(name: str, revision: str) -> Any:
    """The model, kept open between the steps of one process."""
    from langscape.models import open_model

    return open_model(name)


def captured_attention(
    model: Any, text: str, layers: list[int] | None = None, *, cut: bool = False
) -> Capture:
    """The attention of the model over a text; with `cut`, over its first window."""
    return captured(model, text, ("attention",), layers, cut=cut)


def captured(
    model: Any,
    text: str,
    want: Sequence[str],
    layers: list[int] | None = None,
    *,
    cut: bool = False,
    target: str | None = None,
) -> Capture:
    """What is wanted of a text model over a text; with `cut`, over the first part that it takes.

    target is what the decoder of an encoder–decoder reads; without it, its start token alone.
    """
    from langscape.models import capture

    if model.kind == "vision":
        raise SettingsError(f"{model.name} reads images; its heads are mapped over text alone")
    if not text.strip():
        raise SettingsError("the text is empty; give one of a few sentences")
    if cut:
        return capture(model, text, want, layers, long="window", target=target)[0]
    return capture(model, text, want, layers, target=target)


def induction_probe(model: Any, layers: list[int] | None = None, seed: int = 0) -> Capture | None:
    """A decoder's attention over random tokens repeated three times; None for other models.

    Encoders see the answer itself, and are judged on the repeats of the text.
    """
    import numpy as np

    from langscape.models import capture

    if model.kind != "decoder" or (model.longest or 10**9) < 3 * REPEATED + 1:
        return None
    rng = np.random.default_rng(seed)
    drawn = rng.integers(model.vocabulary // 20, model.vocabulary, size=REPEATED).tolist()
    config = model.network.config
    first = getattr(config, "bos_token_id", None)
    begin = [first] if isinstance(first, int) and 0 <= first < model.vocabulary else drawn[-1:]
    return capture(model, [*begin, *drawn, *drawn, *drawn], ("attention",), layers)


def sample_text(kind: str) -> str:
    """The text used where none is given: sentences that repeat for decoders, a story for the others."""
    from langscape.sources import samples

    return samples.text("pattern" if kind == "decoder" else "harbour")


def read_text(path: Path) -> str:
    """A text file as UTF-8."""
    from langscape.sources.textfile import check_text_file

    try:
        check_text_file(path)
        return Path(path).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise FileError(f"{path} is not UTF-8 text (byte {error.start}); save it as UTF-8") from None
    except OSError as error:
        raise FileError(f"{path} cannot be read: {error.strerror}; give a text file") from None
