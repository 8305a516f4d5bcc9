"""Models of random weights in folders, as a user has them: for tests that go through names."""

from __future__ import annotations

from pathlib import Path

TEXT = "the cat sat on the mat and the cat saw a red lamp over the north door"


def bert_folder(folder: Path) -> Path:
    """A BERT of two layers of three heads, with a tokenizer of the words of TEXT."""
    import torch
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

    words = ["[PAD]", "[CLS]", "[SEP]", "[UNK]", *dict.fromkeys(TEXT.split())]
    tokenizer = Tokenizer(models.WordLevel({word: i for i, word in enumerate(words)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 1), ("[SEP]", 2)]
    )
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=len(words), hidden_size=12, num_hidden_layers=2, num_attention_heads=3,
        intermediate_size=16, max_position_embeddings=64, initializer_range=0.8,
    )  # fmt: skip
    BertModel(config).save_pretrained(folder)
    named = {"cls_token": "[CLS]", "sep_token": "[SEP]", "pad_token": "[PAD]", "unk_token": "[UNK]"}
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, **named).save_pretrained(folder)
    return folder
