"""Write the extractive reader's encoder to an ONNX file with int8 weights, and load such a file to train it further.

An int8 weight is an integer of 8 bits that is multiplied by a scale. Such weights need less room than floating-point
weights.
"""

import tempfile
import warnings
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from prefrag.training.reader.encoder import ReaderEncoder

# The version of ONNX's operators.
_OPSET = 17
# The name of the table of word embeddings among the encoder's weights.
_TABLE = "encoder.embeddings.word_embeddings"


class _Int8Embedding(nn.Module):
    """An embedding table of 8-bit integers, with a scale for each row."""

    def __init__(self, table: Tensor):
        super().__init__()
        scale = (table.abs().amax(dim=1, keepdim=True) / 127).clamp(min=1e-8)
        self.register_buffer("scale", scale)
        self.register_buffer("numbers", torch.round(table / scale).to(torch.int8))

    def forward(self, ids: Tensor) -> Tensor:
        """Return the rows with these ids, as floating-point numbers."""
        numbers: Tensor = nn.functional.embedding(ids, self.numbers)
        scale: Tensor = nn.functional.embedding(ids, self.scale)
        return numbers.float() * scale


class _Exported(nn.Module):
    """The encoder with the three inputs that the reader uses, and without ``position_ids``, which training adds."""

    def __init__(self, reader: ReaderEncoder):
        super().__init__()
        self.reader = reader

    def forward(self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor) -> tuple[Tensor, ...]:
        """Return the scores that :class:`ReaderEncoder` returns."""
        return self.reader(input_ids, attention_mask, token_type_ids)


def export_encoder(reader: ReaderEncoder, file: Path) -> None:
    """Write the encoder as ONNX, with int8 weights.

    The table of word embeddings has one scale for each row. The matrices of the layers have one scale for each channel.
    The heads keep floating-point weights, because their scores are compared across passages.

    :param reader: The encoder, which is not changed.
    :param file: The file to write.
    """
    from onnxruntime.quantization import QuantType, quantize_dynamic
    from onnxruntime.quantization.shape_inference import quant_pre_process

    copy = ReaderEncoder(reader.encoder.config)
    copy.load_state_dict(reader.state_dict())
    copy.eval()
    table = copy.encoder.embeddings.word_embeddings.weight.detach()
    copy.encoder.embeddings.word_embeddings = _Int8Embedding(table)

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
    """Return the names of the heads' nodes, and their names after a conversion from Gemm to MatMul."""
    import onnx

    names = [node.name for node in onnx.load(str(file)).graph.node if "/span/" in node.name or "/kind/" in node.name]
    return [*names, *(f"{name}_MatMul" for name in names)]


def import_encoder(reader: ReaderEncoder, file: Path) -> None:
    """Load the weights that :func:`export_encoder` wrote, as floating-point numbers.

    :param reader: An encoder of the same size, which gets the weights.
    :param file: The file.
    :raises ValueError: If the file lacks a weight of the encoder.
    """
    import onnx
    from onnx import numpy_helper

    graph = onnx.load(str(file)).graph
    values = {initializer.name: numpy_helper.to_array(initializer) for initializer in graph.initializer}
    weights = {name.removeprefix("reader."): value for name, value in values.items() if name.startswith("reader.")}
    weights[f"{_TABLE}.weight"] = weights[f"{_TABLE}.numbers"] * weights[f"{_TABLE}.scale"]

    # The file names weights of matrices after the nodes that use them. Here they get their names in the encoder back.
    for node in graph.node:
        if node.op_type not in ("MatMul", "MatMulInteger") or node.input[1] not in values:
            continue
        # The second input of the node is the matrix.
        weight = values[node.input[1]]
        name = node.input[1].removesuffix("_quantized")
        if node.op_type == "MatMulInteger":
            weight = (weight.astype(np.float32) - values[f"{name}_zero_point"]) * values[f"{name}_scale"]
        path = node.name.removeprefix("/reader/").removesuffix("_quant").removesuffix("/MatMul")
        path = path.removesuffix("/Gemm_MatMul").replace("encoder/encoder/", "encoder.encoder.")
        weights[path.replace("/", ".") + ".weight"] = weight.T

    state = {name: torch.tensor(np.ascontiguousarray(weights[name])) for name in reader.state_dict() if name in weights}
    absent = reader.load_state_dict(state, strict=False).missing_keys
    if absent:
        raise ValueError(f"{file} is not the encoder of an extractive reader: the weights '{absent[0]}' are missing.")
