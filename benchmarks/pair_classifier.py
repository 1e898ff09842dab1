"""Time DR-RAG's transformer classifier on the nine pairs of a selection of six documents, with 256 tokens per pair.

    python benchmarks/pair_classifier.py [--cores 2] [--runs 20]

The weights are random, so the benchmark shows the cost of a question, not the quality of an answer. The models have the
shape of MiniLM-L6 (22 million parameters; PyTorch fp32, ONNX fp32 and ONNX int8) and of BigBird base, which the paper
uses. The benchmark needs the extra `classifier`, and onnx for the export.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

CHECKOUT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(CHECKOUT))

from haystack import Document  # noqa: E402

from prefrag.components.pair_classifier.transformer_pair_scorer import Pair, TransformerPairScorer, encode_pairs  # noqa: E402

LETTERS = "abcdefghijklmnopqrstuvwxyz"
WORDS = [a + b + c for a in LETTERS for b in LETTERS for c in LETTERS]
# With the 60 tokens of the question and two such documents, a pair has about 256 tokens.
DOCUMENT_TOKENS = 96
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]


def main() -> None:
    """Run the measurements and print the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cores", type=int, default=2, help="cores that the process may use")
    parser.add_argument("--runs", type=int, default=20, help="how many questions are timed")
    options = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):
        # Limit the cores before PyTorch and ONNX Runtime are loaded, because they count the cores while they load.
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: options.cores])

    from transformers import BertConfig, BigBirdConfig
    from transformers.utils import logging

    from prefrag.training.pair_classifier.export import export_onnx

    logging.disable_progress_bar()

    mini = BertConfig(hidden_size=384, num_hidden_layers=6, num_attention_heads=12, intermediate_size=1536)
    print(f"{len(nine_pairs())} pairs of a question, {options.cores} cores, {options.runs} runs (time.perf_counter):")
    print("  median / fastest / slowest, and the median processor time of all threads (time.process_time)")
    with tempfile.TemporaryDirectory() as name:
        small, large = Path(name) / "mini", Path(name) / "bigbird"
        save(small, mini)
        measure(
            "MiniLM-L6, PyTorch fp32",
            TransformerPairScorer(str(small), device="cpu", document_tokens=DOCUMENT_TOKENS),
            options.runs,
        )
        export_onnx(small, small / "model.onnx")
        exported: dict[str, Any] = {"backend": "onnx", "device": "cpu", "document_tokens": DOCUMENT_TOKENS}
        measure("MiniLM-L6, ONNX fp32", TransformerPairScorer(str(small), **exported), options.runs)
        quantise(small / "model.onnx", small / "model_int8.onnx")
        (small / "model_int8.onnx").replace(small / "model.onnx")
        measure("MiniLM-L6, ONNX int8", TransformerPairScorer(str(small), **exported), options.runs)
        save(large, BigBirdConfig())
        measure(
            "BigBird base, PyTorch fp32",
            TransformerPairScorer(str(large), device="cpu", document_tokens=DOCUMENT_TOKENS),
            options.runs,
        )


def nine_pairs() -> list[Pair]:
    """Pair three documents of the first stage with three of the second. All are longer than ``DOCUMENT_TOKENS``."""
    words = random.Random(7)

    def document() -> Document:
        return Document(content=" ".join(words.choices(WORDS, k=150)))

    first = [document() for _ in range(3)]
    second = [document() for _ in range(3)]
    return [(document, other) for document in first for other in second]


def measure(name: str, scorer: TransformerPairScorer, runs: int) -> None:
    """Time the scoring of the pairs of a question, including tokenisation, after two questions for warming up."""
    question = " ".join(random.Random(8).choices(WORDS, k=80))
    pairs = nine_pairs()
    scorer.warm_up()
    texts = [(first.content or "", second.content or "") for first, second in pairs]
    encoded = encode_pairs(scorer._tokenizer, [question] * len(pairs), texts, document_tokens=DOCUMENT_TOKENS)
    tokens = encoded["input_ids"].shape[1]
    wall, work = [], []
    for _ in range(runs + 2):
        started, worked = time.perf_counter(), time.process_time()
        scores = scorer.score(question, pairs)
        wall.append((time.perf_counter() - started) * 1000)
        work.append((time.process_time() - worked) * 1000)
    assert len(scores) == len(pairs)
    wall, work = wall[2:], work[2:]
    print(
        f"  {name:26} {statistics.median(wall):6.0f} / {min(wall):.0f} / {max(wall):.0f} ms,"
        f" CPU {statistics.median(work):.0f} ms ({tokens} tokens a pair)"
    )


def save(folder: Path, config: Any) -> None:
    """Save a classifier with random weights, and a tokenizer of whole words."""
    import torch
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import AutoModelForSequenceClassification, PreTrainedTokenizerFast

    torch.manual_seed(7)
    config.num_labels = 2
    model = AutoModelForSequenceClassification.from_config(config)
    print(
        f"  ({type(model).__name__}: {sum(weights.numel() for weights in model.parameters()) / 1e6:.1f} M parameters)"
    )
    model.save_pretrained(folder)
    vocabulary = {word: number for number, word in enumerate([*SPECIAL, *WORDS])}
    words = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    words.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[(name, vocabulary[name]) for name in ("[CLS]", "[SEP]")],
    )
    PreTrainedTokenizerFast(
        tokenizer_object=words, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]"
    ).save_pretrained(folder)


def quantise(file: Path, quantised: Path) -> None:
    """Read the ONNX model ``file``, and write it to ``quantised`` with 8-bit integers as weights."""
    from onnxruntime.quantization import QuantType, quantize_dynamic

    quantize_dynamic(str(file), str(quantised), weight_type=QuantType.QInt8)


if __name__ == "__main__":
    main()
