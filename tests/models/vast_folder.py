"""The folder of a model of 70 billion weights that takes a few hundred kilobytes: its files are sparse."""

from __future__ import annotations

import json
import math
from pathlib import Path

WIDTH, INNER, KEYS, WORDS = 8192, 28672, 1024, 128256


def vast_folder(folder: Path, layers: int = 80) -> Path:
    """As Llama 3 of 70 billion has it, in bfloat16: every file is as long as it declares."""
    config = {
        "model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": WIDTH,
        "intermediate_size": INNER, "num_hidden_layers": layers, "num_attention_heads": 64,
        "num_key_value_heads": 8, "vocab_size": WORDS, "max_position_embeddings": 8192, "dtype": "bfloat16",
    }  # fmt: skip
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps(config))
    layer = {
        "self_attn.q_proj": [WIDTH, WIDTH], "self_attn.o_proj": [WIDTH, WIDTH],
        "self_attn.k_proj": [KEYS, WIDTH], "self_attn.v_proj": [KEYS, WIDTH],
        "mlp.gate_proj": [INNER, WIDTH], "mlp.up_proj": [INNER, WIDTH],
        "mlp.down_proj": [WIDTH, INNER], "input_layernorm": [WIDTH], "post_attention_layernorm": [WIDTH],
    }  # fmt: skip
    shards = [
        {f"model.layers.{i}.{name}.weight": shape for name, shape in layer.items()} for i in range(layers)
    ]
    shards.append({"model.embed_tokens.weight": [WORDS, WIDTH], "lm_head.weight": [WORDS, WIDTH]})
    shards.append({"model.norm.weight": [WIDTH]})
    places = {}
    for i, shard in enumerate(shards):
        header, at = {}, 0
        for name, shape in shard.items():
            end = at + 2 * math.prod(shape)
            header[name] = {"dtype": "BF16", "shape": shape, "data_offsets": [at, end]}
            places[name] = f"model-{i:05}.safetensors"
            at = end
        text = json.dumps(header).encode()
        with (folder / f"model-{i:05}.safetensors").open("wb") as file:
            file.write(len(text).to_bytes(8, "little") + text)
            file.truncate(8 + len(text) + at)
    index = {"metadata": {}, "weight_map": places}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    return folder
