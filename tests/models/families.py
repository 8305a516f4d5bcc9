"""Random tiny networks of many families, and a tokenizer for them; all built offline."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import transformers as t
from tokenizers import Tokenizer, decoders
from tokenizers.models import WordPiece
from tokenizers.pre_tokenizers import BertPreTokenizer
from tokenizers.processors import TemplateProcessing

VOCABULARY = 60
SIZES = {"vocab_size": VOCABULARY, "hidden_size": 32, "num_hidden_layers": 3, "num_attention_heads": 4}
ENDS = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
WIDE = {"intermediate_size": 40}
GROUPED = {**SIZES, **WIDE, **ENDS, "num_key_value_heads": 2, "max_position_embeddings": 64}
PLACES = {"max_position_embeddings": 64}
GPT = {"vocab_size": VOCABULARY, "n_embd": 32, "n_layer": 3, "n_head": 4, "n_positions": 64, **ENDS}

ENCODERS: dict[str, Callable[[], Any]] = {
    "bert": lambda: t.BertModel(t.BertConfig(**SIZES, **WIDE, **PLACES)),
    "bert with a head": lambda: t.BertForMaskedLM(t.BertConfig(**SIZES, **WIDE, **PLACES)),
    "roberta": lambda: t.RobertaModel(t.RobertaConfig(**SIZES, **WIDE, **PLACES, pad_token_id=1)),
    "distilbert": lambda: t.DistilBertModel(
        t.DistilBertConfig(vocab_size=VOCABULARY, dim=32, n_layers=3, n_heads=4, hidden_dim=40, **PLACES)
    ),
    "albert": lambda: t.AlbertModel(t.AlbertConfig(**SIZES, **WIDE, **PLACES, embedding_size=16)),
    "electra": lambda: t.ElectraModel(t.ElectraConfig(**SIZES, **WIDE, **PLACES, embedding_size=16)),
    "modernbert": lambda: t.ModernBertModel(
        t.ModernBertConfig(
            **SIZES, **WIDE, **PLACES, **ENDS, local_attention=4, cls_token_id=1, sep_token_id=2
        )
    ),
}
DECODERS: dict[str, Callable[[], Any]] = {
    "gpt2": lambda: t.GPT2LMHeadModel(t.GPT2Config(**GPT)),
    "gpt2 scaled by layer": lambda: t.GPT2LMHeadModel(
        t.GPT2Config(**GPT, scale_attn_by_inverse_layer_idx=True)
    ),
    "gpt_neox": lambda: t.GPTNeoXForCausalLM(t.GPTNeoXConfig(**SIZES, **WIDE, **PLACES, **ENDS)),
    "opt": lambda: t.OPTForCausalLM(
        t.OPTConfig(**SIZES, **PLACES, **ENDS, ffn_dim=40, word_embed_proj_dim=32)
    ),
    "llama": lambda: t.LlamaForCausalLM(t.LlamaConfig(**GROUPED)),
    "mistral": lambda: t.MistralForCausalLM(t.MistralConfig(**GROUPED, sliding_window=4)),
    "qwen2": lambda: t.Qwen2ForCausalLM(t.Qwen2Config(**GROUPED)),
    "qwen3": lambda: t.Qwen3ForCausalLM(t.Qwen3Config(**GROUPED, head_dim=8)),
    "gemma2": lambda: t.Gemma2ForCausalLM(
        t.Gemma2Config(**GROUPED, head_dim=8, sliding_window=4, query_pre_attn_scalar=16)
    ),
}
MIXTURES: dict[str, Callable[[], Any]] = {
    "mixtral": lambda: t.MixtralForCausalLM(
        t.MixtralConfig(**GROUPED, num_local_experts=4, num_experts_per_tok=2)
    ),
    "qwen2_moe": lambda: t.Qwen2MoeForCausalLM(
        t.Qwen2MoeConfig(
            **GROUPED, num_experts=4, num_experts_per_tok=2, moe_intermediate_size=24,
            shared_expert_intermediate_size=24,
        )
    ),
    "qwen3_moe": lambda: t.Qwen3MoeForCausalLM(
        t.Qwen3MoeConfig(
            **GROUPED, head_dim=8, num_experts=4, num_experts_per_tok=2, moe_intermediate_size=24
        )
    ),
}  # fmt: skip
MASKED: dict[str, Callable[[], Any]] = {
    "bert": lambda: t.BertForMaskedLM(t.BertConfig(**SIZES, **WIDE, **PLACES)),
    "bert as a decoder": lambda: t.BertLMHeadModel(t.BertConfig(**SIZES, **WIDE, **PLACES, is_decoder=True)),
    "roberta": lambda: t.RobertaForMaskedLM(t.RobertaConfig(**SIZES, **WIDE, **PLACES, pad_token_id=1)),
    "modernbert": lambda: t.ModernBertForMaskedLM(
        t.ModernBertConfig(
            **SIZES, **WIDE, **PLACES, **ENDS, local_attention=4, cls_token_id=1, sep_token_id=2
        )
    ),
    "electra": lambda: t.ElectraForMaskedLM(t.ElectraConfig(**SIZES, **WIDE, **PLACES, embedding_size=16)),
}
PAIRS: dict[str, Callable[[], Any]] = {
    "bart": lambda: t.BartForConditionalGeneration(
        t.BartConfig(
            vocab_size=VOCABULARY, d_model=32, encoder_layers=3, decoder_layers=2, encoder_attention_heads=4,
            decoder_attention_heads=2, encoder_ffn_dim=40, decoder_ffn_dim=40, decoder_start_token_id=2,
            **PLACES, **ENDS,
        )
    ),
    "t5": lambda: t.T5ForConditionalGeneration(
        t.T5Config(
            vocab_size=VOCABULARY, d_model=32, d_kv=8, d_ff=40, num_layers=3, num_decoder_layers=2,
            num_heads=4, decoder_start_token_id=0, pad_token_id=0, eos_token_id=2,
        )
    ),
}  # fmt: skip
OUTSIDE: dict[str, Callable[[], Any]] = {
    "deberta": lambda: t.DebertaModel(
        t.DebertaConfig(**SIZES, **WIDE, **PLACES, relative_attention=True, pos_att_type=["p2c", "c2p"])
    ),
    "gptj": lambda: t.GPTJForCausalLM(t.GPTJConfig(**GPT, rotary_dim=4)),
    "mpnet": lambda: t.MPNetModel(t.MPNetConfig(**SIZES, **WIDE, **PLACES, pad_token_id=1)),
    "bloom": lambda: t.BloomForCausalLM(
        t.BloomConfig(vocab_size=VOCABULARY, hidden_size=32, n_layer=3, n_head=4, **ENDS)
    ),
}


def _t5gemma() -> Any:
    side = t.T5GemmaModuleConfig(**GROUPED, head_dim=8, sliding_window=4, query_pre_attn_scalar=16)
    config = t.T5GemmaConfig(encoder=side, decoder=side, vocab_size=VOCABULARY, **ENDS)
    config.decoder_start_token_id = 1
    return t.T5GemmaForConditionalGeneration(config)


def _two_berts() -> Any:
    sides = [
        t.BertConfig(**SIZES, **WIDE, **PLACES, is_decoder=i, add_cross_attention=i) for i in (False, True)
    ]
    config = t.EncoderDecoderConfig.from_encoder_decoder_configs(*sides)
    config.decoder_start_token_id, config.pad_token_id = 1, 0
    return t.EncoderDecoderModel(config=config)


ODD: dict[str, Callable[[], Any]] = {
    "squeezebert": lambda: t.SqueezeBertModel(
        t.SqueezeBertConfig(
            **SIZES, **WIDE, **PLACES, embedding_size=32, q_groups=2, k_groups=2, v_groups=2,
            post_attention_groups=1, intermediate_groups=2, output_groups=2,
        )
    ),
    "diffllama": lambda: t.DiffLlamaForCausalLM(t.DiffLlamaConfig(**GROUPED)),
    "t5gemma": _t5gemma,
    "two berts": _two_berts,
    "gpt_oss": lambda: t.GptOssForCausalLM(
        t.GptOssConfig(**GROUPED, head_dim=8, num_local_experts=2, num_experts_per_tok=1, sliding_window=4)
    ),
    "mamba": lambda: t.MambaForCausalLM(
        t.MambaConfig(vocab_size=VOCABULARY, hidden_size=32, num_hidden_layers=2, state_size=4, **ENDS)
    ),
    "rwkv": lambda: t.RwkvForCausalLM(
        t.RwkvConfig(
            vocab_size=VOCABULARY, hidden_size=32, num_hidden_layers=2, attention_hidden_size=32,
            context_length=64, **ENDS,
        )
    ),
}  # fmt: skip


def vit() -> Any:
    sizes = {**SIZES, **WIDE}
    sizes.pop("vocab_size")
    return t.ViTModel(t.ViTConfig(**sizes, image_size=16, patch_size=4))


def built(make: Callable[[], Any], seed: int = 0) -> Any:
    """A network with weights large enough for attention to differ from uniform."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        network = make()
        for name, parameter in network.named_parameters():
            if parameter.ndim > 1 and "norm" not in name:
                torch.nn.init.normal_(parameter, std=0.3)
    return network.eval()


WORDS = ("the", "red", "green", "lamp", "boat", "hung", "over", "north", "south", "door", "water", "of")
WORDS = (*WORDS, "stone", "un", "##believ", "##able", "##s", ".", ",")


def tokenizer() -> Any:
    """Words, sub-words and [CLS] … [SEP] around them."""
    names = ["[PAD]", "[CLS]", "[SEP]", "[UNK]", "[MASK]", *WORDS]
    ids = {name: i for i, name in enumerate([*names, *(f"w{i}" for i in range(VOCABULARY - len(names)))])}
    inner = Tokenizer(WordPiece(ids, unk_token="[UNK]"))
    inner.pre_tokenizer = BertPreTokenizer()
    inner.decoder = decoders.WordPiece()
    inner.post_processor = TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 1), ("[SEP]", 2)]
    )
    marks = {f"{name}_token": f"[{name.upper()}]" for name in ("pad", "cls", "sep", "unk", "mask")}
    return t.PreTrainedTokenizerFast(tokenizer_object=inner, **marks)
