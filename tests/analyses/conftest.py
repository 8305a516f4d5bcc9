"""A tiny model that several files of commands run on."""

import pytest


@pytest.fixture(scope="session")
def tiny_gpt(tmp_path_factory):
    """A folder with a tiny GPT-2 of random weights, a tokenizer of words, and two texts."""
    import torch
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

    folder = tmp_path_factory.mktemp("atlas")
    words = [
        "<unk>",
        *["the", "cat", "sat", "on", "a", "mat", "and", "saw", "red", "lamp", "over", "north", "door"],
    ]
    tokenizer = Tokenizer(models.WordLevel({word: i for i, word in enumerate(words)}, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    torch.manual_seed(0)
    config = GPT2Config(
        vocab_size=200, n_positions=160, n_embd=16, n_layer=2, n_head=4, bos_token_id=0, eos_token_id=0
    )
    GPT2LMHeadModel(config).save_pretrained(folder / "tiny")
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token="<unk>").save_pretrained(folder / "tiny")
    (folder / "text.txt").write_text("the cat sat on the mat and the cat saw a red lamp over the north door")
    (folder / "long.txt").write_text("the cat sat on a mat " * 60)
    return folder
