"""Train an LSTM language model on a text: live loss, checkpoints, the same bits after a kill.

A corpus is lines of text; each begins with the start word. Training reads them as `batch` streams side by
side, `length` words at a time, each stream going on with the state it had (truncated backpropagation). Some
lines are held out, and the perplexity reported is theirs.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file

from langscape.data import Progress, Step
from langscape.errors import DataError, FileError, SettingsError
from langscape.faces import written
from langscape.io.atomic_write import atomic_write
from langscape.models.lines import encode_lines, split_lines
from langscape.models.lstm import LSTMModel, Network
from langscape.models.lstm_wrap import wrap_lstm
from langscape.models.perplexity import baselines, perplexity
from langscape.models.vocabulary import Level, Vocabulary, count_words

CHECKPOINT = "checkpoint.safetensors"
REPORT = "training.json"
EXPLODED = 200.0
"""Nats a word at which a run ends: an even chance of a million words has 14."""
KEPT_LETTERS = 25_000
"""Letters of held-out text that stay with the model, for its alarms to compare with."""


@dataclass(frozen=True)
class Training:
    """How a model is made and trained.

    dim       width of a word's embedding, and of the layers where `hidden` is None
    tied      the output projection is the embedding itself; needs dim = hidden
    words     the vocabulary's size, rarer words becoming unknown; None keeps all
    rate      of Adam, the highest: it rises over the first 5 % of steps and falls along a cosine
    dropout   share of embedding and output values dropped while training
    decay     of all weights, times the rate, each step; keeps cells from growing without end
    held_out  share of lines that are not trained on
    keep      steps between checkpoints
    threads   of torch; small networks lose by sharing their work, and one thread gives the same bits anywhere
    """

    dim: int = 64
    hidden: int | None = None
    layers: int = 1
    tied: bool = False
    level: Level = "word"
    lower: bool = True
    words: int | None = 5000
    steps: int = 2000
    batch: int = 32
    length: int = 32
    rate: float = 4e-3
    dropout: float = 0.0
    decay: float = 0.0
    clip: float = 1.0
    held_out: float = 0.05
    keep: int = 200
    seed: int = 0
    threads: int = 1

    def __post_init__(self) -> None:
        counts = ("dim", "layers", "steps", "batch", "length", "keep", "threads")
        for name in (*counts, *(() if self.hidden is None else ("hidden",))):
            self._demand(name, getattr(self, name) >= 1, "it must be at least 1")
        if self.tied and self.hidden not in (None, self.dim):
            raise SettingsError(
                f"{self.told('tied')} needs as many hidden units as dimensions, but there are "
                f"{self.told('hidden')} and {self.told('dim')}"
            )
        self._demand("held_out", 0 < self.held_out < 1, "it is a share between 0 and 1")
        self._demand("dropout", 0 <= self.dropout < 1, "it is a share below 1")
        self._demand("seed", 0 <= self.seed < 2**63, "it is a whole number from 0 on")
        self._demand("rate", 0 < self.rate < math.inf, "it must be above 0; 0.004 is usual")
        self._demand("clip", self.clip > 0, "it must be above 0")
        self._demand("decay", self.decay >= 0, "it must be at least 0")

    def _demand(self, name: str, holds: bool, wanted: str) -> None:
        if not holds:
            raise SettingsError(f"{self.told(name)} is not possible; {wanted}")

    def told(self, name: str) -> str:
        """A setting as the face in use writes it."""
        value = getattr(self, name)
        return written(name, value) or f"{name} {value}"


@dataclass(frozen=True)
class Trained:
    """A trained model: its held-out perplexity, the loss in nats by step, and what was met on the way.

    unknown is the share of held-out words that are not in the vocabulary; baselines are the held-out
    perplexities of word counts (`baselines`).
    """

    model: LSTMModel
    perplexity: float
    history: np.ndarray
    unknown: float
    baselines: dict[str, float]
    resumed: int = 0


def train_lstm(
    lines: Iterable[str],
    out: str | Path,
    settings: Training | None = None,
    *,
    vocabulary: Vocabulary | None = None,
    network: Network | None = None,
    half: bool = False,
    about: dict[str, Any] | None = None,
    progress: Progress | None = None,
) -> Trained:
    """Train on lines of text and write the model into the folder `out`.

    A run that was killed goes on from its last checkpoint when started again with the same lines and
    settings, and ends with the same bits as one that was not. A folder that holds another run is left
    alone, with an error. `vocabulary` and `network` replace those made from the settings.
    """
    settings = settings or Training()
    lines, out = [line for line in lines if line.strip()], Path(out)
    if not lines:
        raise DataError("the corpus holds no words; give a text with a sentence on every line")
    known = vocabulary or count_words(lines, most=settings.words, level=settings.level, lower=settings.lower)
    train, validation = split_lines(lines, settings.held_out, settings.seed)
    stream, test = encode_lines(train, known), encode_lines(validation, known)
    streams = _streams(stream, settings)
    if network is None:
        network = fresh_network(len(known), settings)
    run = _identity(settings, known, stream, test, network)
    _check_free(out, run)
    state = _State(network, settings)
    resumed = state.load(out / CHECKPOINT, run)
    tell = progress or (lambda step: None)
    with _threads(settings.threads):
        for step in range(resumed, settings.steps):
            loss = state.advance(step, streams)
            if not loss < EXPLODED:  # a NaN as well
                raise SettingsError(
                    f"the loss is {loss:.3g} nats at step {step}, so training has exploded; lower "
                    f"{settings.told('rate')}, for example to a tenth of it"
                )
            if (step + 1) % settings.keep == 0 and step + 1 < settings.steps:
                state.save(out / CHECKPOINT, step + 1, run)
            recent = float(np.mean(state.history[-50:]))
            tell(Step(step + 1, settings.steps, "training", {"loss": recent, "perplexity": math.exp(recent)}))
        network.requires_grad_(False).eval()
        score = perplexity(network, test)
    model = wrap_lstm(network, words=known, name=out.name, baseline=_kept_text(validation, settings.seed))
    unknown = 0.0
    if known.unknown is not None:
        unknown = float(np.mean(test == known.number[known.unknown]))
    compared = baselines(stream, test, len(known))
    history = np.asarray(state.history, np.float32)
    figures = {"perplexity": score, "unknown": unknown, "baselines": compared, "steps": settings.steps}
    counted = {"training_words": len(stream), "held_out_words": len(test)}
    about_it = {**(about or {}), **figures, **counted}
    model.save(out, half=half, about=about_it)
    with atomic_write(out / REPORT) as aside:
        report = {
            "run": run,
            "settings": asdict(settings),
            **about_it,
            "loss": [round(float(x), 4) for x in history],
        }
        aside.write_text(json.dumps(report, indent=1), encoding="utf-8")
    (out / CHECKPOINT).unlink(missing_ok=True)
    return Trained(model, score, history, unknown, compared, resumed)


def _kept_text(lines: list[str], seed: int) -> str:
    """Some of the lines that were held out, for alarms to compare with."""
    kept, letters = [], 0
    for at in np.random.default_rng(seed).permutation(len(lines)):
        if letters < KEPT_LETTERS:
            kept.append(" ".join(lines[at].split())[: KEPT_LETTERS // 10])
            letters += len(kept[-1])
    return "\n".join(kept) + "\n"


def fresh_network(words: int, settings: Training) -> Network:
    """The network before training; forget gates start open (bias 1), so that cells keep what they hold."""
    hidden = settings.hidden or settings.dim
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(settings.seed)
        network = Network(words, settings.dim, hidden, settings.layers, tied=settings.tied)
        with torch.no_grad():
            network.embedding.weight.normal_(0, 1 / math.sqrt(settings.dim))
            network.decoder.bias.zero_()
            for layer in range(settings.layers):
                getattr(network.lstm, f"bias_ih_l{layer}").zero_()[hidden : 2 * hidden] = 1.0
                getattr(network.lstm, f"bias_hh_l{layer}").zero_()
    return network


class _State:
    """The network, Adam's moments, the streams' states and the losses so far: what a checkpoint holds."""

    def __init__(self, network: Network, settings: Training) -> None:
        self.network, self.settings = network.train().requires_grad_(True), settings
        self.parameters = list(network.parameters())
        self.optimiser = torch.optim.AdamW(self.parameters, lr=settings.rate, weight_decay=settings.decay)
        self.carried: tuple[torch.Tensor, torch.Tensor] | None = None
        self.history: list[float] = []

    def advance(self, step: int, streams: np.ndarray) -> float:
        """One step; the loss before it, in nats a word."""
        settings, network = self.settings, self.network
        windows = (streams.shape[1] - 1) // settings.length
        at = step % windows * settings.length
        if at == 0:
            self.carried = None
        part = torch.from_numpy(streams[:, at : at + settings.length + 1].copy())
        drop = _Drop(settings, step)
        hidden, carried = network.lstm(drop(network.embedding(part[:, :-1])), self.carried)
        logits = network.decoder(drop(hidden))
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), part[:, 1:].flatten())
        for group in self.optimiser.param_groups:
            group["lr"] = settings.rate * _share(step, settings.steps)
        self.optimiser.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.parameters, settings.clip)
        self.optimiser.step()
        self.carried = (carried[0].detach(), carried[1].detach())
        self.history.append(loss.item())
        return self.history[-1]

    def save(self, path: Path, step: int, run: str) -> None:
        """Write a checkpoint, whole or not at all."""
        tensors = {f"network.{n}": p.detach() for n, p in self.network.named_parameters()}
        for number, parameter in enumerate(self.parameters):
            kept = self.optimiser.state[parameter]
            tensors |= {f"adam.{number}.{name}": kept[name] for name in ("step", "exp_avg", "exp_avg_sq")}
        assert self.carried is not None
        tensors |= {"carried.hidden": self.carried[0], "carried.cell": self.carried[1]}
        tensors["history"] = torch.tensor(self.history, dtype=torch.float64)
        with atomic_write(path) as aside:
            save_file({k: v.contiguous() for k, v in tensors.items()}, aside, {"run": run, "step": str(step)})

    def load(self, path: Path, run: str) -> int:
        """Take up a checkpoint of this run; how many steps it has, 0 where there is none."""
        if not path.exists():
            return 0
        try:
            with safe_open(path, "pt") as file:
                metadata = file.metadata() or {}
                tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            if metadata.get("run") != run:
                raise SettingsError(
                    f"{path.parent} holds the checkpoint of another run (other text or settings); choose "
                    "another folder, or delete the checkpoint"
                )
            with torch.no_grad():
                for name, parameter in self.network.named_parameters():
                    parameter.copy_(tensors[f"network.{name}"])
            for number, parameter in enumerate(self.parameters):
                names = ("step", "exp_avg", "exp_avg_sq")
                self.optimiser.state[parameter] = {n: tensors[f"adam.{number}.{n}"].clone() for n in names}
            self.carried = (tensors["carried.hidden"].clone(), tensors["carried.cell"].clone())
            self.history = tensors["history"].tolist()
            return int(metadata["step"])
        except (OSError, SafetensorError, KeyError) as error:
            raise FileError(f"{path} is damaged ({error}); delete it to train from the beginning") from None


class _Drop:
    """Dropout whose mask is a matter of seed and step alone, so that a resumed run draws the same."""

    def __init__(self, settings: Training, step: int) -> None:
        self.share = settings.dropout
        self.chance = torch.Generator().manual_seed((settings.seed * 1_000_003 + step) % 2**63)

    def __call__(self, values: torch.Tensor) -> torch.Tensor:
        if not self.share:
            return values
        kept = torch.rand(values.shape, generator=self.chance) >= self.share
        return values * kept / (1 - self.share)


def _share(step: int, steps: int) -> float:
    """Of the highest rate: rising over the first 5 % of steps, then half a cosine down to 2 %."""
    rising = max(1, steps // 20)
    if step < rising:
        return (step + 1) / rising
    return 0.02 + 0.49 * (1 + math.cos(math.pi * (step - rising) / max(1, steps - rising)))


def _streams(stream: np.ndarray, settings: Training) -> np.ndarray:
    """The words to train on as `batch` rows of equal length; fewer rows where the text is short."""
    batch = min(settings.batch, max(1, (len(stream) - 1) // (settings.length + 1)))
    width = len(stream) // batch
    if width < settings.length + 1:
        raise DataError(
            f"there are {len(stream)} words to train on, fewer than one window of them; give a longer "
            f"text, or lower {settings.told('length')}"
        )
    return stream[: batch * width].reshape(batch, width)


@contextlib.contextmanager
def _threads(count: int) -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _identity(
    settings: Training, known: Vocabulary, stream: np.ndarray, test: np.ndarray, network: Network
) -> str:
    """A digest of everything that decides the result."""
    decisive = {name: value for name, value in asdict(settings).items() if name != "keep"}
    digest = hashlib.sha256(json.dumps([decisive, known.settings()]).encode())
    digest.update(stream.tobytes())
    digest.update(test.tobytes())
    for name, parameter in network.named_parameters():
        digest.update(name.encode())
        digest.update(parameter.detach().numpy().tobytes())
    return digest.hexdigest()


def _check_free(out: Path, run: str) -> None:
    if out.exists() and not out.is_dir():
        raise SettingsError(f"{out} is a file; name a folder for the model")
    if (out / "config.json").exists():
        raise SettingsError(f"{out} already holds a model; choose another folder, or delete this one")
