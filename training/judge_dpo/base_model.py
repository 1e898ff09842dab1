"""Load the model to train: a folder, a name on the Hugging Face hub, or a GGUF file."""

from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

# An optimiser step adds about the learning rate to each weight. It must change at least this share of the weights.
_LEAST_MOVED = 0.5
_MOST_SAMPLED = 1_000_000


def load_model(model: str, weights: str = "float32") -> Any:
    """Load a causal language model, with weights of the type `float32` or `bfloat16`."""
    types = {"float32": torch.float32, "bfloat16": torch.bfloat16}
    if weights not in types:
        raise ValueError(f"weights is '{weights}': set it to {' or '.join(types)}.")
    if not _is_gguf(model):
        return AutoModelForCausalLM.from_pretrained(model, dtype=types[weights])
    file = Path(model)
    loaded = AutoModelForCausalLM.from_pretrained(file.parent, gguf_file=file.name, dtype=types[weights])
    # The weights are now dequantised. While the config calls them quantised, they can be neither saved nor trained.
    loaded.config.quantization_config = None
    del loaded.config.quantization_config
    for name in ("is_quantized", "hf_quantizer", "quantization_method"):
        if name in vars(loaded):
            delattr(loaded, name)
    tokens = _read_tokens(file)
    loaded.config.eos_token_id = loaded.generation_config.eos_token_id = tokens["eos"]
    loaded.config.pad_token_id = loaded.generation_config.pad_token_id = tokens["pad"]
    return loaded


def load_tokenizer(model: str) -> Any:
    """Load the tokenizer of a model, with its own chat template."""
    if _is_gguf(model):
        file = Path(model)
        tokenizer = AutoTokenizer.from_pretrained(file.parent, gguf_file=file.name)
        # A tokenizer loaded from a GGUF file has the wrong token for the end of a turn, and none for padding.
        tokens = _read_tokens(file)
        tokenizer.eos_token = tokenizer.convert_ids_to_tokens(tokens["eos"])
        tokenizer.pad_token = tokenizer.convert_ids_to_tokens(tokens["pad"])
    else:
        tokenizer = AutoTokenizer.from_pretrained(model)
        tokenizer.pad_token = tokenizer.pad_token or tokenizer.eos_token
    if tokenizer.chat_template is None:
        raise ValueError(f"{model} has no chat template: give an instruction-tuned model.")
    return tokenizer


def check_weights(model: Any, learning_rate: float) -> None:
    """Raise ValueError if the weights are too coarse for the learning rate.

    An optimiser of the Adam family moves a weight by about the learning rate. In bfloat16 that is too little to change
    most weights: at a rate of 5e-7, only 0.3% of them change.
    """
    coarse = [one.detach().flatten() for one in model.parameters() if one.requires_grad and one.dtype != torch.float32]
    if not coarse:
        return
    sample = torch.cat([one[:: max(1, len(coarse) * one.numel() // _MOST_SAMPLED)] for one in coarse])
    moved = ((sample.float() + learning_rate).to(sample.dtype) != sample).float().mean().item()
    if moved < _LEAST_MOVED:
        raise ValueError(
            f"A step with the learning rate {learning_rate:g} would move only {moved:.1%} of the weights, because they "
            f"are {str(coarse[0].dtype).removeprefix('torch.')}: train float32 weights (the computation stays in "
            "bfloat16), or a LoRA, whose own weights are float32."
        )


def _is_gguf(model: str) -> bool:
    return model.endswith(".gguf")


def _read_tokens(file: Path) -> dict[str, int]:
    """Read the id of the token that ends a turn, and of the padding token, from a GGUF file."""
    from gguf import GGUFReader

    fields = GGUFReader(file).fields

    def read(name: str) -> int | None:
        field = fields.get(f"tokenizer.ggml.{name}_token_id")
        return None if field is None else int(field.contents())

    end = read("eos")
    if end is None:
        raise ValueError(f"{file} does not name the token that ends a turn: give the folder of the model instead.")
    # Padding is not learnt. If it were the same token as the end of a turn, the model would not learn to end a turn.
    pads = [one for one in (read("padding"), read("unknown")) if one is not None and one != end]
    return {"eos": end, "pad": pads[0] if pads else end}
