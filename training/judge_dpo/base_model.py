"""Load the model to train: a folder, a name on the Hugging Face hub, or a GGUF file."""

from pathlib import Path

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, PreTrainedModel, PreTrainedTokenizerBase

# Training is refused if a step would change less than this share of the weights, from 0 to 1. Rounding would undo the
# change of the others.
_LEAST_MOVED = 0.5
# This check uses a sample of at most about this number of weights.
_MOST_SAMPLED = 1_000_000


def load_model(model: str, weights: str = "float32") -> PreTrainedModel:
    """Load a causal language model.

    :param model: A folder, a name on the Hugging Face hub, or a GGUF file.
    :param weights: The number type of the weights, `float32` or `bfloat16`.
    :returns: The model.
    :raises ValueError: If the type is another one.
    """
    types = {"float32": torch.float32, "bfloat16": torch.bfloat16}
    if weights not in types:
        raise ValueError(f"weights is '{weights}': set it to {' or '.join(types)}.")
    if not _is_gguf(model):
        return AutoModelForCausalLM.from_pretrained(model, dtype=types[weights])

    file = Path(model)
    loaded = AutoModelForCausalLM.from_pretrained(file.parent, gguf_file=file.name, dtype=types[weights])
    # The loaded weights are floating-point numbers. If the configuration still called them quantised, they could not be
    # saved or trained.
    loaded.config.quantization_config = None
    del loaded.config.quantization_config
    for name in ("is_quantized", "hf_quantizer", "quantization_method"):
        if name in vars(loaded):
            delattr(loaded, name)
    tokens = _read_tokens(file)
    loaded.config.eos_token_id = loaded.generation_config.eos_token_id = tokens["eos"]
    loaded.config.pad_token_id = loaded.generation_config.pad_token_id = tokens["pad"]
    return loaded


def load_tokenizer(model: str) -> PreTrainedTokenizerBase:
    """Load the tokenizer of a model.

    :param model: A folder, a name on the Hugging Face hub, or a GGUF file.
    :returns: The tokenizer, with a padding token.
    :raises ValueError: If the tokenizer has no chat template.
    """
    if _is_gguf(model):
        file = Path(model)
        tokenizer = AutoTokenizer.from_pretrained(file.parent, gguf_file=file.name)
        # A tokenizer loaded from a GGUF file has the wrong token for the end of a turn, and no padding token.
        tokens = _read_tokens(file)
        tokenizer.eos_token = tokenizer.convert_ids_to_tokens(tokens["eos"])
        tokenizer.pad_token = tokenizer.convert_ids_to_tokens(tokens["pad"])
    else:
        tokenizer = AutoTokenizer.from_pretrained(model)
        tokenizer.pad_token = tokenizer.pad_token or tokenizer.eos_token
    if tokenizer.chat_template is None:
        raise ValueError(f"{model} has no chat template: give an instruction-tuned model.")
    return tokenizer


def check_weights(model: PreTrainedModel, learning_rate: float) -> None:
    """Check that the number type of the weights is fine enough for the learning rate.

    A step of an Adam optimiser adds about the learning rate to a weight. In bfloat16, rounding mostly gives the old
    weight back: with a learning rate of 5e-7, only 0.3% of the weights change.

    :param model: The model to train.
    :param learning_rate: The learning rate.
    :raises ValueError: If a step would change less than half of the weights.
    """
    coarse = [
        parameter.detach().flatten()
        for parameter in model.parameters()
        if parameter.requires_grad and parameter.dtype != torch.float32
    ]
    if not coarse:
        return

    sample = torch.cat([values[:: max(1, len(coarse) * values.numel() // _MOST_SAMPLED)] for values in coarse])
    moved = ((sample.float() + learning_rate).to(sample.dtype) != sample).float().mean().item()
    if moved < _LEAST_MOVED:
        raise ValueError(
            f"A step with the learning rate {learning_rate:g} would change only {moved:.1%} of the weights. The others "
            f"would be rounded back, because they are {str(coarse[0].dtype).removeprefix('torch.')}: train float32 "
            "weights (the computation stays in bfloat16), or a LoRA, whose own weights are float32."
        )


def _is_gguf(model: str) -> bool:
    """Check whether a model is named by a GGUF file."""
    return model.endswith(".gguf")


def _read_tokens(file: Path) -> dict[str, int]:
    """Read the ids of the end-of-turn token and of the padding token from a GGUF file."""
    from gguf import GGUFReader

    fields = GGUFReader(file).fields

    def read(name: str) -> int | None:
        field = fields.get(f"tokenizer.ggml.{name}_token_id")
        return None if field is None else int(field.contents())

    end = read("eos")
    if end is None:
        raise ValueError(f"{file} does not name the token that ends a turn: give the folder of the model instead.")
    # Padding tokens do not count in the loss. If the token that ends a turn were used as padding, the model would not
    # learn to stop.
    pads = [token for token in (read("padding"), read("unknown")) if token is not None and token != end]
    return {"eos": end, "pad": pads[0] if pads else end}
