"""Export the transformer of a pair classifier to ONNX, so that it can run without PyTorch."""

import warnings
from collections.abc import Sequence
from pathlib import Path

import torch
from transformers import AutoConfig, AutoModelForSequenceClassification, AutoTokenizer

from prefrag.components.pair_classifier.transformer_pair_scorer import TransformerPairScorer
from prefrag.training.pair_classifier.examples import PairExample

# The name of the exported file in the folder of the model.
ONNX_FILE = "model.onnx"
# The version of ONNX's operators.
_OPSET = 17


def export_onnx(folder: Path, file: Path) -> None:
    """Export a classifier for ``backend: onnx``.

    BigBird is exported with full attention, because exported blocks of sparse attention fit only one input length.

    :param folder: The folder of the trained model.
    :param file: The file to write.
    """
    config = AutoConfig.from_pretrained(folder)
    if config.model_type == "big_bird":
        config.attention_type = "original_full"
    model = AutoModelForSequenceClassification.from_pretrained(
        folder, config=config, attn_implementation="eager"
    ).eval()
    example = dict(AutoTokenizer.from_pretrained(folder)(["a b"] * 2, ["c d"] * 2, return_tensors="pt"))
    names = list(example)

    class Logits(torch.nn.Module):
        """The model with its inputs as positional arguments. It returns only the logits."""

        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def forward(self, *inputs: torch.Tensor) -> torch.Tensor:
            """Return the scores of the pairs, before they become probabilities."""
            logits: torch.Tensor = self.model(**dict(zip(names, inputs, strict=True))).logits
            return logits

    axes: dict[str, dict[int, str]] = {name: {0: "pairs", 1: "tokens"} for name in names}
    axes["logits"] = {0: "pairs"}
    with warnings.catch_warnings():
        # The older exporter needs no package besides onnx, but warns that it is deprecated.
        warnings.simplefilter("ignore")
        torch.onnx.export(
            Logits(),
            tuple(example.values()),
            str(file),
            input_names=names,
            output_names=["logits"],
            dynamic_axes=axes,
            dynamo=False,
            opset_version=_OPSET,
        )


def largest_difference(folder: Path, examples: Sequence[PairExample], document_tokens: int | None) -> float:
    """Compare the scores of the exported model with those of the model itself.

    :param folder: The folder of the model, with the exported file.
    :param examples: The pairs to score.
    :param document_tokens: The maximum number of tokens that are read of a document. None means no limit.
    :returns: The largest difference between the two scores of a pair; 0 without pairs.
    """
    from haystack import Document

    torch_scorer, onnx_scorer = (
        TransformerPairScorer(str(folder), backend, device="cpu", document_tokens=document_tokens)
        for backend in ("torch", "onnx")
    )
    # Pairs are scored one by one, because BigBird's sparse attention gives other scores for a padded batch.
    differences = []
    for example in examples:
        pair = Document(content=example.first), Document(content=example.second)
        [first], [second] = (scorer.score(example.question, [pair]) for scorer in (torch_scorer, onnx_scorer))
        differences.append(abs(first - second))
    return max(differences, default=0.0)
