"""An LSTM language model, whole: embedding, layers, projection to words; and every vector on the way.

For a word x of a text and a layer with the state (h, c) of the step before:

    input     i = σ(W_i x + U_i h + b_i)        how much of the candidate is remembered
    forget    f = σ(W_f x + U_f h + b_f)        how much of the cell is kept
    candidate g = tanh(W_g x + U_g h + b_g)     what could be remembered
    output    o = σ(W_o x + U_o h + b_o)        how much of the cell is shown
    cell      c ← f·c + i·g                     forget product + remember product
    hidden    h ← o·tanh(c)                     the input of the next layer

The last layer's h gives a logit per word, D h + d, and softmax a probability.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from langscape.data import Capture, Progress, Step
from langscape.errors import DataError, FileError, SettingsError
from langscape.models.memory import LIMIT, refuse_above
from langscape.models.model import Model
from langscape.models.vocabulary import Level, Vocabulary
from langscape.whole import whole

GATES = ("input", "forget", "candidate", "output")
"""The four blocks of rows in a layer's weights and bias, in torch's order."""

LAYERED = (
    *(f"{gate}_pre" for gate in GATES), *GATES,
    "forget_product", "remember_product", "cell", "cell_tanh", "hidden",
)  # fmt: skip
AXES: dict[str, tuple[str, ...]] = {
    "embedding": ("step", "dim"),
    **dict.fromkeys(LAYERED, ("layer", "step", "unit")),
    "cell_before": ("layer", "unit"),
    "hidden_before": ("layer", "unit"),
    "logits": ("step", "word"),
    "softmax": ("step", "word"),
}

MODEL_TYPE = "langscape-lstm"
SHIPPED = ("lstm-tiny", "lstm")
"""Models that come with this package; the folder of each is in `weights/`."""


class Network(torch.nn.Module):
    """Embedding, LSTM and decoder; the part that learns.

    `tied` makes the decoder's matrix the embedding itself, so that a hidden vector is compared with
    words where the words are.
    """

    def __init__(self, words: int, dim: int, hidden: int, layers: int, *, tied: bool = False) -> None:
        super().__init__()
        if tied and dim != hidden:
            raise SettingsError(
                f"tied needs equal widths, but dim is {dim} and hidden {hidden}; make them equal, or untie"
            )
        self.embedding = torch.nn.Embedding(words, dim)
        self.lstm = torch.nn.LSTM(dim, hidden, layers, batch_first=True)
        self.decoder = torch.nn.Linear(hidden, words)
        if tied:
            self.decoder.weight = self.embedding.weight

    @classmethod
    def of(cls, embedding: Any, lstm: Any, decoder: Any) -> Network:
        """Parts that exist already, joined; nothing is copied."""
        network = cls.__new__(cls)
        torch.nn.Module.__init__(network)
        network.embedding, network.lstm, network.decoder = embedding, lstm, decoder
        return network

    @property
    def tied(self) -> bool:
        """Whether the decoder's matrix is the embedding."""
        return self.decoder.weight is self.embedding.weight

    def forward(self, ids: torch.Tensor, state: Any = None) -> tuple[torch.Tensor, Any]:
        """Logits (text, step, word) of word numbers (text, step), and the state afterwards."""
        hidden, state = self.lstm(self.embedding(ids), state)
        return self.decoder(hidden), state


@dataclass(frozen=True, eq=False, repr=False)
class LSTMModel(Model):
    """An LSTM language model that `capture` can run; `tokenizer` is its Vocabulary."""

    def __repr__(self) -> str:
        return (
            f"LSTMModel({self.name!r}, {len(self.words):,} words, {self.dim} dimensions, "
            f"{self.layers} {'layer' if self.layers == 1 else 'layers'} of {self.width} units)"
        )

    @property
    def words(self) -> tuple[str, ...]:
        """The vocabulary, in the order of rows."""
        return self.tokenizer.words

    @property
    def _net(self) -> Network:
        return self.network  # type: ignore[return-value]

    @property
    def device(self) -> torch.device:
        """Where its weights lie."""
        return self._net.embedding.weight.device

    @property
    def layout(self) -> Any:
        """None: there is no attention to be found."""
        raise SettingsError(
            f"{self.name} is an LSTM and has no attention heads; `langscape flow` shows its vectors"
        )

    @property
    def layers(self) -> int:
        """How many LSTM layers."""
        return self._net.lstm.num_layers

    @property
    def dim(self) -> int:
        """Width of a word's embedding."""
        return self._net.embedding.embedding_dim

    @property
    def width(self) -> int:
        """Units of a layer: width of its gates, cell and hidden vector."""
        return self._net.lstm.hidden_size

    @property
    def longest(self) -> int | None:
        """None: only memory limits it."""
        return None

    @property
    def vocabulary(self) -> int:
        """How many words there are."""
        return len(self.words)

    def weights(self) -> dict[str, Any]:
        """Every number that was learned, float32.

        embedding       (word, dim)
        input_weights   per layer (4·unit, in); rows in the order of `GATES`, a block each
        hidden_weights  per layer (4·unit, unit)
        bias            per layer (4·unit,)
        decoder         (word, unit), and decoder_bias (word,)
        """
        net = self._net
        per_layer: dict[str, list[np.ndarray]] = {"input_weights": [], "hidden_weights": [], "bias": []}
        for layer in range(self.layers):
            per_layer["input_weights"].append(_numpy(getattr(net.lstm, f"weight_ih_l{layer}")))
            per_layer["hidden_weights"].append(_numpy(getattr(net.lstm, f"weight_hh_l{layer}")))
            bias = np.zeros(4 * self.width)
            if net.lstm.bias:
                for part in ("ih", "hh"):
                    bias += _numpy(getattr(net.lstm, f"bias_{part}_l{layer}"))
            per_layer["bias"].append(bias.astype(np.float32))
        decoder_bias = np.zeros(len(self.words), np.float32)
        if net.decoder.bias is not None:
            decoder_bias = _numpy(net.decoder.bias)
        return {
            "embedding": _numpy(net.embedding.weight),
            **{name: tuple(arrays) for name, arrays in per_layer.items()},
            "decoder": _numpy(net.decoder.weight),
            "decoder_bias": decoder_bias,
        }

    def save(self, folder: str | Path, *, half: bool = False, about: Mapping[str, Any] | None = None) -> Path:
        """Write config.json and model.safetensors, which `open_model(folder)` reads; half is float16.

        `about` is kept in config.json: what it was trained on, and how well it does.
        """
        folder = Path(folder)
        net = self._net
        tensors = {name: value.detach().cpu().contiguous() for name, value in net.state_dict().items()}
        if net.tied:
            del tensors["decoder.weight"]
        if half:
            tensors = {name: value.half() for name, value in tensors.items()}
        shape = {"dim": self.dim, "hidden": self.width, "layers": self.layers, "tied": net.tied}
        bias = {"lstm_bias": bool(net.lstm.bias), "decoder_bias": net.decoder.bias is not None}
        told = {"model_type": MODEL_TYPE, **shape, **bias, "about": dict(about or {})}
        # weights first: a folder with a config.json is a whole model
        with whole(folder / "model.safetensors") as aside:
            save_file(tensors, aside)
            aside.chmod(0o644)  # safetensors writes for its owner alone
        with whole(folder / "config.json") as aside:
            text = json.dumps({**told, **self.tokenizer.settings()}, ensure_ascii=False, indent=1)
            aside.write_text(text, encoding="utf-8")
        return folder


def wrap_lstm(
    network: torch.nn.Module | None = None,
    *,
    embedding: torch.nn.Embedding | str = "embedding",
    lstm: torch.nn.LSTM | str = "lstm",
    decoder: torch.nn.Linear | str = "decoder",
    words: Sequence[str] | Vocabulary,
    level: Level = "word",
    lower: bool = False,
    unknown: str | None = None,
    start: str | None = None,
    name: str = "lstm",
) -> LSTMModel:
    """A torch.nn.LSTM language model you already hold, ready for `capture`.

    Give its three parts, or the network and what they are called in it ("encoder", "rnn", …). `words`
    are the vocabulary in the order of the embedding's rows. Nothing is copied or changed, but the
    revision is a digest of the weights as they are now.

    >>> parts = {"embedding": torch.nn.Embedding(3, 4), "lstm": torch.nn.LSTM(4, 5)}
    >>> wrap_lstm(**parts, decoder=torch.nn.Linear(5, 3), words=["tea", "is", "hot"])
    LSTMModel('lstm', 3 words, 4 dimensions, 1 layer of 5 units)
    """
    kinds = {"embedding": torch.nn.Embedding, "lstm": torch.nn.LSTM, "decoder": torch.nn.Linear}
    parts: dict[str, Any] = {}
    for what, given in (("embedding", embedding), ("lstm", lstm), ("decoder", decoder)):
        parts[what] = _part(network, given, what) if isinstance(given, str) else given
        if not isinstance(parts[what], kinds[what]):
            raise SettingsError(
                f"{what} is {type(parts[what]).__name__}, expected torch.nn.{kinds[what].__name__}; "
                f"name it with {what}="
            )
    known = words if isinstance(words, Vocabulary) else Vocabulary(tuple(words), level, lower, unknown, start)
    net = Network.of(**parts)
    _check_widths(net, len(known))
    digest = hashlib.sha256(json.dumps(known.settings()).encode())
    for key, tensor in sorted(net.state_dict().items()):
        digest.update(f"{key} {tuple(tensor.shape)}".encode())
        digest.update(_numpy(tensor).tobytes())
    return LSTMModel(net, known, "lstm", name, digest.hexdigest())  # type: ignore[arg-type]


def is_lstm(folder: Path) -> bool:
    """Whether a folder holds a model that `LSTMModel.save` wrote."""
    try:
        return json.loads((folder / "config.json").read_text(encoding="utf-8"))["model_type"] == MODEL_TYPE
    except (OSError, ValueError, KeyError, TypeError):
        return False


def shipped_path(name: str) -> Path:
    """The folder of a model that comes with the package."""
    return Path(__file__).parent / "weights" / name


def load_lstm(folder: Path, name: str, revision: str, device: torch.device) -> LSTMModel:
    """The model that `LSTMModel.save` wrote, as float32."""
    told = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    try:
        shape = [int(told[key]) for key in ("dim", "hidden", "layers")]
        known = Vocabulary(**{key: told[key] for key in ("words", "level", "lower", "unknown", "start")})
        tied, lstm_bias, decoder_bias = (bool(told[k]) for k in ("tied", "lstm_bias", "decoder_bias"))
        if min(shape) < 1:
            raise DataError(f"dim, hidden and layers are {shape}, expected at least 1 each")
    except (KeyError, TypeError, ValueError) as error:
        raise FileError(
            f"{folder / 'config.json'} is damaged: {error}; train or save the model anew"
        ) from None
    try:
        tensors = {key: value.float() for key, value in load_file(folder / "model.safetensors").items()}
    except (OSError, SafetensorError) as error:
        raise FileError(f"{folder / 'model.safetensors'} cannot be read: {error}; save it anew") from None
    with torch.device("meta"):
        net = Network(len(known), *shape, tied=tied)
        if not lstm_bias:
            net.lstm = torch.nn.LSTM(shape[0], shape[1], shape[2], batch_first=True, bias=False)
        if not decoder_bias:
            net.decoder.register_parameter("bias", None)
    wanted = {key: tuple(value.shape) for key, value in net.state_dict().items()}
    if tied and "embedding.weight" in tensors:
        tensors["decoder.weight"] = tensors["embedding.weight"]
    for key in sorted(wanted.keys() | tensors.keys()):
        found = tuple(tensors[key].shape) if key in tensors else "missing"
        if wanted.get(key, "not known") != found:
            raise FileError(
                f"the weights of {name} do not fit its config.json: {key} is {found}, "
                f"expected {wanted.get(key, 'no such tensor')}"
            )
        if not torch.isfinite(tensors[key]).all():
            raise FileError(f"the weights of {name} hold values that are not finite, in {key}; train it anew")
    net.load_state_dict(tensors, assign=True)
    if tied:
        net.decoder.weight = net.embedding.weight
    net.lstm.flatten_parameters()
    net.requires_grad_(False).eval().to(device)
    return LSTMModel(net, known, "lstm", name, revision)  # type: ignore[arg-type]


def read(
    model: LSTMModel,
    text: Any,
    want: Iterable[str] | None = None,
    *,
    generate: int = 0,
    sample_seed: int | None = None,
    special: str = "keep",
    memory: float = LIMIT,
    progress: Progress | None = None,
) -> Any:
    """What `capture` gives of an LSTM: every vector of every step; a list for several texts.

    want names arrays of `AXES`, None for all. Each value is computed in double precision from the
    float32 values that stand in the capture, so that summands W_ij x_j and the bias add up to the
    pre-activation as it is printed.
    """
    wanted = tuple(AXES) if want is None else (want,) if isinstance(want, str) else tuple(want)
    for one in wanted:
        if one not in AXES:
            raise SettingsError(f"an LSTM's capture has no {one!r}; choose from {', '.join(AXES)}")
    if generate < 0:
        raise SettingsError(f"generate {generate} is not possible; 0 is none")
    if special not in ("keep", "drop"):
        raise SettingsError(f'special {special!r} is not known; use "keep" or "drop"')
    single = isinstance(text, str) or _is_ids(text)
    texts = [text] if single else list(text)
    weights = model.weights()
    made = []
    for given in texts:
        tokens = _tokens(model, given)
        steps = len(tokens) + generate
        held = 4 * steps * (len(LAYERED) * model.layers * model.width + 3 * len(model.words))
        refuse_above(memory, held, f"capturing {steps:,} steps")
        made.append(_captured(model, weights, tokens, wanted, generate, sample_seed, special))
        if progress is not None:
            progress(Step(len(made), len(texts), f"capturing {len(texts)} texts"))
    return made[0] if single else made


def _captured(
    model: LSTMModel,
    weights: dict[str, Any],
    tokens: list[tuple[int, str, int, bool]],
    wanted: tuple[str, ...],
    generate: int,
    seed: int | None,
    special: str,
) -> Capture:
    steps, layers, width = len(tokens) + generate, model.layers, model.width
    arrays = {name: np.zeros((layers, steps, width), np.float32) for name in LAYERED}
    arrays["embedding"] = np.zeros((steps, model.dim), np.float32)
    arrays["logits"] = np.zeros((steps, len(model.words)), np.float32)
    doubles = [
        [weights[name][layer].astype(np.float64) for name in ("input_weights", "hidden_weights", "bias")]
        for layer in range(layers)
    ]
    decoder, decoder_bias = weights["decoder"].astype(np.float64), weights["decoder_bias"]
    chance = None if seed is None else np.random.default_rng(seed)
    zeros = np.zeros(width, np.float32)
    tokens = list(tokens)
    for step in range(steps):
        if step == len(tokens):
            chosen = _chosen(arrays["logits"][step - 1], chance)
            tokens.append((chosen, model.words[chosen], -1, False))
        x = arrays["embedding"][step] = weights["embedding"][tokens[step][0]]
        for layer in range(layers):
            now = {name: arrays[name][layer, step] for name in LAYERED}
            hidden = arrays["hidden"][layer, step - 1] if step else zeros
            cell = arrays["cell"][layer, step - 1] if step else zeros
            _step(now, *doubles[layer], x, hidden, cell)
            x = now["hidden"]
        arrays["logits"][step] = decoder @ x + decoder_bias
    arrays["softmax"] = softmax(arrays["logits"])
    first = 0
    if special == "drop":
        first = next((at for at, token in enumerate(tokens) if not token[3]), 0)
    for name in ("cell", "hidden"):
        before = arrays[name][:, first - 1] if first else np.zeros((layers, width), np.float32)
        arrays[f"{name}_before"] = before
    held: dict[str, np.ndarray] = {}
    for name in wanted:
        axes = AXES[name]
        kept = arrays[name]
        if "step" in axes and first:
            kept = kept[:, first:] if axes[0] == "layer" else kept[first:]
        held[name] = np.ascontiguousarray(kept)
        held[name].flags.writeable = False
    tokens = tokens[first:]
    about: dict[str, Any] = {
        "model": model.name,
        "revision": model.revision,
        "kind": model.kind,
        "ids": [row for row, _, _, _ in tokens],
        "texts": [said for _, said, _, _ in tokens],
        "special": [special for _, _, _, special in tokens],
        "offsets": [[max(at, 0), max(at, 0) + (len(said) if at >= 0 else 0)] for _, said, at, _ in tokens],
        "generated": generate,
        "gates": list(GATES),
    }
    notes = list(model.notes)
    unknown = model.tokenizer.unknown
    strange = [said for row, said, _, _ in tokens if model.words[row] == unknown and said != unknown]
    if strange:
        notes.append(f"not in the vocabulary and read as {unknown}: {', '.join(dict.fromkeys(strange))}")
    shown = [model.words[row] for row, _, _, _ in tokens]
    return Capture(shown, held, {name: AXES[name] for name in held}, about, tuple(notes))


def _step(
    now: dict[str, np.ndarray],
    input_weights: np.ndarray,
    hidden_weights: np.ndarray,
    bias: np.ndarray,
    x: np.ndarray,
    hidden: np.ndarray,
    cell: np.ndarray,
) -> None:
    """One layer, one step: fills `now` from the input and the state of the step before."""
    pre = input_weights @ x + hidden_weights @ hidden + bias
    for gate, part in zip(GATES, np.split(pre, 4), strict=True):
        now[f"{gate}_pre"][:] = part
        before = now[f"{gate}_pre"].astype(np.float64)
        now[gate][:] = np.tanh(before) if gate == "candidate" else sigmoid(before)
    now["forget_product"][:] = now["forget"] * cell
    now["remember_product"][:] = now["input"] * now["candidate"]
    now["cell"][:] = now["forget_product"] + now["remember_product"]
    now["cell_tanh"][:] = np.tanh(now["cell"].astype(np.float64))
    now["hidden"][:] = now["output"] * now["cell_tanh"]


def sigmoid(values: np.ndarray) -> np.ndarray:
    """1 / (1 + e^−x), without overflow at either end."""
    return 0.5 * (1 + np.tanh(0.5 * values))


def softmax(logits: np.ndarray) -> np.ndarray:
    """Probabilities along the last axis, float32."""
    shifted = np.exp(logits.astype(np.float64) - logits.max(-1, keepdims=True))
    return (shifted / shifted.sum(-1, keepdims=True)).astype(np.float32)


def _chosen(logits: np.ndarray, chance: np.random.Generator | None) -> int:
    if chance is None:
        return int(logits.argmax())
    shares = softmax(logits).astype(np.float64)
    return int(chance.choice(len(shares), p=shares / shares.sum()))


def _tokens(model: LSTMModel, given: Any) -> list[tuple[int, str, int, bool]]:
    """(row, what the text says, where it says so, whether it was put there) of every step."""
    known: Vocabulary = model.tokenizer
    start = [] if known.start is None else [(known.number[known.start], known.start, -1, True)]
    if isinstance(given, str):
        places = known.places(given)
        if not places and not start:
            raise DataError(f"the text {given[:40]!r} holds no words; give {model.name} at least one")
        if places and start and places[0][0] == start[0][0]:
            start = []  # the text says it itself
        return [*start, *((row, said, at, False) for row, said, at in places)]
    if not _is_ids(given):
        raise DataError(f"{type(given).__name__} is not a text or a list of word numbers")
    rows = [int(row) for row in given]
    for row in rows:
        if not 0 <= row < len(known):
            raise DataError(f"there is no word number {row}; {model.name} has 0 to {len(known) - 1}")
    return [(row, known.words[row], -1, False) for row in rows]


def _is_ids(given: Any) -> bool:
    if isinstance(given, np.ndarray):
        return given.ndim == 1 and given.dtype.kind in "iu" and len(given) > 0
    return (
        isinstance(given, Sequence)
        and not isinstance(given, str)
        and len(given) > 0
        and all(isinstance(row, (int, np.integer)) for row in given)
    )


def _part(network: torch.nn.Module | None, path: str, what: str) -> torch.nn.Module:
    if network is None:
        raise SettingsError(f"{what} is missing; give the part itself, or the network that holds {path!r}")
    try:
        return network.get_submodule(path)
    except AttributeError:
        held = ", ".join(name for name, _ in network.named_children()) or "no parts"
        raise SettingsError(
            f"the network has no part {path!r}; it holds {held}: name the right one with {what}="
        ) from None


def _check_widths(net: Network, words: int) -> None:
    lstm = net.lstm
    if lstm.bidirectional:
        raise SettingsError("this LSTM reads in both directions, so it cannot predict the next word")
    if lstm.proj_size:
        raise SettingsError(
            f"this LSTM projects its hidden state (proj_size {lstm.proj_size}), which is not read"
        )
    rows = {"words": words, "embedding": net.embedding.num_embeddings, "decoder": net.decoder.out_features}
    if len(set(rows.values())) > 1:
        raise DataError(
            f"there are {rows['words']} words, but the embedding has {rows['embedding']} rows and the "
            f"decoder gives {rows['decoder']} logits; all three must be equal"
        )
    widths = [
        ("embedding", net.embedding.embedding_dim, "LSTM takes", lstm.input_size),
        ("LSTM", lstm.hidden_size, "decoder takes", net.decoder.in_features),
    ]
    for what, gives, other, takes in widths:
        if gives != takes:
            raise DataError(f"the {what} is {gives} wide, but the {other} {takes}")


def _numpy(tensor: torch.Tensor) -> np.ndarray:
    return tensor.detach().float().cpu().numpy().copy()


def texts_of(given: Any) -> Iterator[Any]:
    """What was given as an iterable of texts."""
    return iter([given] if isinstance(given, str) or _is_ids(given) else given)
