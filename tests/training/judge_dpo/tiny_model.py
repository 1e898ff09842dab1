"""A tiny random language model with the tokenizer and the chat template of SmolLM2, as a GGUF file."""

from pathlib import Path
from typing import Any

import numpy as np

from tests.gguf import GGUF

HIDDEN, FEED_FORWARD, HEADS, KEY_HEADS, LAYERS = 64, 96, 4, 2, 2
# A quotation mark is this much likelier than other tokens, so that the model's texts end after a few words.
_QUOTE = 10.5


def write_tiny_model(file: Path, seed: int = 3) -> Path:
    """Write the model; with a JSON schema it gives readable verdicts, True or False by chance."""
    import gguf

    source = gguf.GGUFReader(GGUF)
    draw = np.random.default_rng(seed)
    changed: dict[str, Any] = {
        "llama.block_count": LAYERS,
        "llama.context_length": 2048,
        "llama.embedding_length": HIDDEN,
        "llama.feed_forward_length": FEED_FORWARD,
        "llama.attention.head_count": HEADS,
        "llama.attention.head_count_kv": KEY_HEADS,
        "llama.rope.dimension_count": HIDDEN // HEADS,
        "general.file_type": 0,
    }
    writer = gguf.GGUFWriter(file, "llama")
    for name, field in source.fields.items():
        if not name.startswith("GGUF.") and name != "general.architecture":
            value = changed.get(name, field.contents())
            writer.add_key_value(
                name, value, field.types[0], sub_type=field.types[-1] if len(field.types) > 1 else None
            )
    tokens = source.fields["tokenizer.ggml.tokens"].contents()

    def random(*shape: int, scale: float = 0.05) -> Any:
        return draw.normal(0, scale, shape).astype(np.float32)

    embedding, output = random(len(tokens), HIDDEN), random(len(tokens), HIDDEN, scale=0.02)
    # One direction stays the same in all layers, and only the quotation mark points along it.
    embedding[:, 0] = 1.0
    output[:, 0] = 0.0
    output[tokens.index('"'), 0] = _QUOTE / np.sqrt(HIDDEN)
    writer.add_tensor("token_embd.weight", embedding)
    writer.add_tensor("output.weight", output)
    writer.add_tensor("output_norm.weight", np.ones(HIDDEN, np.float32))
    keys = HIDDEN // HEADS * KEY_HEADS
    for layer in range(LAYERS):
        shapes = {
            "attn_q": (HIDDEN, HIDDEN),
            "attn_k": (keys, HIDDEN),
            "attn_v": (keys, HIDDEN),
            "attn_output": (HIDDEN, HIDDEN),
            "ffn_gate": (FEED_FORWARD, HIDDEN),
            "ffn_up": (FEED_FORWARD, HIDDEN),
            "ffn_down": (HIDDEN, FEED_FORWARD),
        }
        for name, shape in shapes.items():
            writer.add_tensor(f"blk.{layer}.{name}.weight", random(*shape))
        for name in ("attn_norm", "ffn_norm"):
            writer.add_tensor(f"blk.{layer}.{name}.weight", np.ones(HIDDEN, np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return file
