"""Write a LoRA adapter as a GGUF file.

A LoRA is a small set of weights that is added to those of a model. llama.cpp can apply the file to a model, even to a
quantised model.
"""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np

from prefrag.errors import BadInput

# The names of the parts of a layer: first as PEFT writes them, then as llama.cpp does.
_PARTS = {
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}
# The names of the linear parts alone, for LoRAs of some layers.
LINEAR_PARTS = [name.partition(".")[2] for name in _PARTS]
# The name of a LoRA's weight: "base_model.model.model.layers.0.self_attn.q_proj.lora_A.weight". The group `layer` is
# "0", the group `part` is "self_attn.q_proj", and the group `half` is "A".
_TENSOR = re.compile(r"\.layers\.(?P<layer>\d+)\.(?P<part>\w+\.\w+)\.lora_(?P<half>[AB])\.(?:default\.)?weight$")
# The architectures whose layers have these names. True if llama.cpp reorders the rows of their query and key weights.
_ARCHITECTURES = {"llama": True, "mistral": True, "qwen2": False, "qwen3": False}


class UnknownArchitecture(BadInput):
    """The adapter cannot be written as GGUF, because this module does not know the kind of model or adapter."""


def write_gguf_adapter(adapter: Path, config: Any, output: Path) -> None:
    """Write a PEFT adapter as a separate GGUF file.

    The adapter is not merged into the model, because rounding to 4-bit weights would undo it.

    :param adapter: The folder of the adapter.
    :param config: The configuration of the model that the adapter is for.
    :param output: The file to write.
    :raises UnknownArchitecture: If this module does not know the kind of model or adapter.
    """
    import gguf
    from safetensors.numpy import load_file

    if config.model_type not in _ARCHITECTURES:
        raise UnknownArchitecture(
            f"Adapters for models of the type {config.model_type} cannot be written here: use convert_lora_to_gguf.py "
            f"of llama.cpp on {adapter}."
        )
    is_reordered = _ARCHITECTURES[config.model_type]
    settings = json.loads((adapter / "adapter_config.json").read_text(encoding="utf-8"))
    if settings.get("use_rslora") or settings.get("use_dora") or settings.get("alpha_pattern"):
        raise UnknownArchitecture(f"{adapter} is not a plain LoRA: use convert_lora_to_gguf.py of llama.cpp.")

    # For llama.cpp, the models whose rows it reorders are all of the architecture "llama".
    architecture = "llama" if is_reordered else config.model_type
    writer = gguf.GGUFWriter(output, architecture)
    writer.add_string("general.type", "adapter")
    writer.add_string("adapter.type", "lora")
    writer.add_float32("adapter.lora.alpha", float(settings["lora_alpha"]))
    for name, tensor in load_file(adapter / "adapter_model.safetensors").items():
        match = _TENSOR.search(name)
        if match is None or match["part"] not in _PARTS:
            raise UnknownArchitecture(f"{adapter} changes {name}: use convert_lora_to_gguf.py of llama.cpp.")
        if is_reordered and match["half"] == "B" and match["part"] in ("self_attn.q_proj", "self_attn.k_proj"):
            is_query = match["part"] == "self_attn.q_proj"
            tensor = _reorder_rows(tensor, config.num_attention_heads if is_query else config.num_key_value_heads)
        half = match["half"].lower()
        writer.add_tensor(
            f"blk.{match['layer']}.{_PARTS[match['part']]}.weight.lora_{half}",
            np.ascontiguousarray(tensor, dtype=np.float32),
        )

    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _reorder_rows(tensor: np.ndarray, heads: int) -> np.ndarray:
    """Reorder the rows of each attention head, as llama.cpp expects them.

    The rows of a head belong together in pairs. In transformers, the first rows of all pairs come first, and then all
    second rows. In llama.cpp, the two rows of a pair are neighbours. For example, the pairs of the rows 0, 1, 2 and 3
    are 0 with 2, and 1 with 3. So the new order is 0, 2, 1, 3.
    """
    rows, *other_sizes = tensor.shape
    pairs = rows // heads // 2
    firsts_then_seconds = tensor.reshape(heads, 2, pairs, *other_sizes)
    in_pairs = firsts_then_seconds.swapaxes(1, 2)
    return in_pairs.reshape(tensor.shape)
