"""Write the encoder of the reader as ONNX with int8 weights."""

from __future__ import annotations

import tempfile
import warnings
from pathlib import Path

import torch
from torch import Tensor, nn

from prefrag.training.reader.encoder import ReaderEncoder

_OPSET = 17


class _Int8Embedding(nn.Module):
    """A table of vectors as whole numbers of eight bits, with a scale for each row."""

    def __init__(self, table: Tensor):
        super().__init__()
        scale = (table.abs().amax(dim=1, keepdim=True) / 127).clamp(min=1e-8)
        self.register_buffer("scale", scale)
        self.register_buffer("numbers", torch.round(table / scale).to(torch.int8))

    def forward(self, ids: Tensor) -> Tensor:
        """Look up vectors."""
        numbers: Tensor = nn.functional.embedding(ids, self.numbers)
        scale: Tensor = nn.functional.embedding(ids, self.scale)
        return numbers.float() * scale


class _Exported(nn.Module):
    """The encoder with the three inputs that it has at run time."""

    def __init__(self, reader: ReaderEncoder):
        super().__init__()
        self.reader = reader

    def forward(self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor) -> tuple[Tensor, ...]:
        """Score the tokens; see :meth:`ReaderEncoder.forward`."""
        return self.reader(input_ids, attention_mask, token_type_ids)


def export_encoder(reader: ReaderEncoder, file: Path, int8: bool = True) -> None:
    """Write the encoder as ONNX.

    The table of words is quantised by rows, the weights of the layers by channels, as they are read; the heads keep
    floating-point numbers, because their scores are compared across passages.
    """
    from onnxruntime.quantization import QuantType, quantize_dynamic
    from onnxruntime.quantization.shape_inference import quant_pre_process

    copy = ReaderEncoder(reader.encoder.config)
    copy.load_state_dict(reader.state_dict())
    copy.eval()
    if int8:
        copy.encoder.embeddings.word_embeddings = _Int8Embedding(
            copy.encoder.embeddings.word_embeddings.weight.detach()
        )
    example = torch.ones(1, 16, dtype=torch.long)
    names = ["input_ids", "attention_mask", "token_type_ids"]
    outputs = ["start", "end", "kind"]
    axes = {**{name: {0: "batch", 1: "tokens"} for name in (*names, "start", "end")}, "kind": {0: "batch"}}
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plain, prepared = Path(folder) / "plain.onnx", Path(folder) / "prepared.onnx"
        torch.onnx.export(
            _Exported(copy),
            (example, example, torch.zeros_like(example)),
            str(plain),
            input_names=names,
            output_names=outputs,
            dynamic_axes=axes,
            opset_version=_OPSET,
            dynamo=False,
        )
        if not int8:
            file.write_bytes(plain.read_bytes())
            return
        quant_pre_process(str(plain), str(prepared), skip_symbolic_shape=True)
        quantize_dynamic(
            str(prepared),
            str(file),
            op_types_to_quantize=["MatMul"],
            per_channel=True,
            weight_type=QuantType.QInt8,
            nodes_to_exclude=_heads(prepared),
            extra_options={"MatMulConstBOnly": True},
        )


def _heads(file: Path) -> list[str]:
    import onnx

    return [node.name for node in onnx.load(str(file)).graph.node if "/span/" in node.name or "/kind/" in node.name]
