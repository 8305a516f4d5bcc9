from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
from tests.models.families import DECODERS, ENCODERS, built, tokenizer

from langscape.models import Model, get_model, open_model, wrap_model


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> Iterator[None]:
    """Tiny networks only lose by sharing their work; torch's number of threads is put back."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="session")
def tiny() -> Model:
    """A random BERT with a tokenizer that knows sub-words."""
    return wrap_model(built(ENCODERS["bert with a head"]), tokenizer(), name="tiny")


@pytest.fixture(scope="session")
def tiny_decoder() -> Model:
    return wrap_model(built(DECODERS["llama"]), tokenizer(), name="tiny decoder")


@pytest.fixture(scope="session")
def minilm() -> Model:
    get_model("default")
    return open_model("default", device="cpu")


@pytest.fixture(scope="session")
def smollm() -> Model:
    get_model("decoder")
    return open_model("decoder", device="cpu")
