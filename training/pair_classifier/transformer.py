"""Train the transformer of the :class:`TransformerPairScorer`: BigBird as in the paper, or a smaller model."""

from __future__ import annotations

import dataclasses
import hashlib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers
from numpy.typing import NDArray
from torch import Tensor, nn
from transformers import (
    AutoConfig,
    AutoModelForSequenceClassification,
    AutoTokenizer,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)

from prefrag.components.pair_classifier.transformer_pair_scorer import QUESTION_TOKENS, encode_pairs, fewest_tokens
from prefrag.errors import Missing
from prefrag.evaluation.simulated_reader.gold import fold_words
from prefrag.training.begun import check_begun, digest
from prefrag.training.card import table, write_card
from prefrag.training.compute_once import compute_once
from prefrag.training.dataset import FEWEST_QUESTIONS, Dataset
from prefrag.training.pair_classifier.calibration import Quality, choose_threshold, measure, plot_calibration
from prefrag.training.pair_classifier.examples import DatasetPairs, Negatives, PairExample, count_kinds, dataset_pairs
from prefrag.training.pair_classifier.export import ONNX_FILE, export_onnx, largest_difference
from prefrag.training.phase import Phase, train_phase

# The pretrained models of the paper (table 6), each with its name on the Hugging Face hub.
BASES = {
    "bigbird": "google/bigbird-roberta-base",
    "bigbird-large": "google/bigbird-roberta-large",
    "longformer": "allenai/longformer-base-4096",
}
# The name of a small pretrained model that is installed as a package.
MINILM = "minilm"
# One in this number of questions is held back from training, to choose the threshold.
_HELD_BACK = 6
# Of all pairs that a pipeline would score for the held-back questions of a dataset, about this number is measured.
_SERVED = 250
# A pair has at most this number of tokens, even if the tokenizer and the model allow more.
_LONGEST = 4096
# On this number of pairs, the scores of the ONNX export are compared with those of the model.
_CHECKED = 16


@dataclass(frozen=True)
class TransformerSettings:
    """How a transformer is trained."""

    # `bigbird`, `bigbird-large`, `longformer`, `minilm`, or the folder or hub name of another pretrained encoder.
    base: str = "bigbird"
    negatives: Negatives = "mixed"  # see `draw_pairs`
    most: int = 2300  # the maximum number of pairs per dataset
    epochs: float = 3.0  # how often each pair is seen
    rate: float = 2e-5  # the highest learning rate; the paper does not state it
    minutes: float = 600  # the maximum number of minutes of training
    batch_tokens: int = 6400  # the approximate number of tokens in a batch
    # The maximum number of tokens that are read of a document; None reads as much as the model can.
    document_tokens: int | None = None
    seed: int = 7  # the seed of all random draws


@dataclass(frozen=True)
class TransformerTraining:
    """The results of a training."""

    output: Path  # the folder of the model
    # For each dataset, how many of the pairs to learn from have both documents needed, one needed, or none needed.
    counts: dict[str, dict[str, int]]
    threshold: float  # a pair with at least this score is positive
    held_back: Quality  # how well the threshold does on held-back pairs, half of them positive
    served: Quality  # how well the threshold does on the pairs that a pipeline would score, few of them positive
    seconds: float  # the duration of the whole training


def train_transformer(
    datasets: Sequence[Dataset],
    output: Path,
    settings: TransformerSettings,
    on_progress: Callable[[str], None] = lambda line: None,
) -> TransformerTraining:
    """Train a transformer. An interrupted training continues from its last checkpoint.

    :param datasets: The datasets, whose questions have gold passages.
    :param output: The folder of the model. Its folder ``training`` has the checkpoints.
    :param settings: How the transformer is trained.
    :param on_progress: A function that is called with each line of progress.
    :returns: The results.
    :raises ValueError: If there are no positive or no negative pairs, or if the folder contains another training.
    :raises Missing: If the pretrained model cannot be loaded.
    """
    started = time.monotonic()
    if not datasets:
        raise ValueError("There is nothing to train on: give at least one dataset.")
    _check_base(settings.base)

    work = output / "training"
    work.mkdir(parents=True, exist_ok=True)
    # Only the limit of minutes may change.
    made_of = {name: value for name, value in asdict(settings).items() if name != "minutes"}
    made_of |= {
        "base": digest(find_base(settings.base)),
        "datasets": [(dataset.name, dataset.digest()) for dataset in datasets],
    }
    check_begun(work / "settings.json", **made_of)

    pairs = _read_pairs(datasets, work / "pairs.json", settings, on_progress)
    learnt = [example for parts in pairs.values() for example in parts.learnt]
    held_back = [example for parts in pairs.values() for example in parts.held_back]
    served = [example for parts in pairs.values() for example in parts.served]
    _check_pairs(learnt, held_back)
    classifier = Classifier.load(settings, learnt, on_progress)
    phase = Phase("pairs", settings.epochs, settings.rate, settings.minutes, settings.batch_tokens)
    steps = classifier.train(learnt, phase, settings.seed, work / "pairs.pt", on_progress)

    on_progress("Measuring on held-back questions")
    scores = classifier.scores(held_back)
    are_positive = _find_positive(held_back)
    threshold = choose_threshold(scores, are_positive)
    quality = measure(scores, are_positive, threshold)
    served_quality = measure(classifier.scores(served), _find_positive(served), threshold)

    on_progress("Writing the model")
    classifier.save(output)
    is_plotted = plot_calibration(scores, are_positive, threshold, output / "calibration.png")
    export_onnx(output, output / ONNX_FILE)
    difference = largest_difference(output, held_back[:_CHECKED], settings.document_tokens)
    counts = {name: count_kinds(parts.learnt) for name, parts in pairs.items()}
    counts_held_back = {name: count_kinds(parts.held_back) for name, parts in pairs.items()}
    result = TransformerTraining(output, counts, threshold, quality, served_quality, time.monotonic() - started)
    _write_card(
        output,
        {
            **asdict(settings),
            "attention": classifier.attention,
            "tokens": {"question_tokens": QUESTION_TOKENS, "document_tokens": settings.document_tokens},
            "counts": counts,
            "counts_held_back": counts_held_back,
            "steps": steps,
            "threshold": threshold,
            "held_back": asdict(quality),
            "served": asdict(served_quality),
            "onnx_difference": difference,
            "calibration": is_plotted,
            "versions": {"torch": torch.__version__, "transformers": transformers.__version__},
            "device": str(classifier.device),
            "seconds": round(result.seconds),
        },
    )
    return result


def _check_pairs(learnt: Sequence[PairExample], held_back: Sequence[PairExample]) -> None:
    """Raise ValueError if a set has no positive or no negative pairs."""
    # Each set needs both values: pairs that are positive (True), and pairs that are not (False).
    learnt_values = {example.needed == 2 for example in learnt}
    held_back_values = {example.needed == 2 for example in held_back}
    if len(learnt_values) < 2 or len(held_back_values) < 2:
        raise ValueError(
            f"There are {len(learnt)} pairs to learn from and {len(held_back)} held-back pairs. One of these sets has "
            "no positive or no negative pairs: give questions with two gold passages or more (`supporting_ids`)."
        )


def _find_positive(examples: Sequence[PairExample]) -> NDArray[np.bool_]:
    """Return for each pair whether it is positive, which means that both documents are needed."""
    return np.array([example.needed == 2 for example in examples], dtype=bool)


def _write_card(folder: Path, facts: Mapping[str, Any]) -> None:
    """Write the model card of a training."""
    cut = "whole" if facts["document_tokens"] is None else f"cut at {facts['document_tokens']} tokens"
    counts_head = ["pairs to learn from", "both documents needed", "one needed", "none needed"]
    counts_rows = []
    for name, counts in facts["counts"].items():
        counts_rows.append((name, counts["both"], counts["one"], counts["none"]))
    head = ["pairs of held-back questions", "n", "positive", "accuracy", "precision", "recall", "calibration error"]
    rows = []
    for label, quality in (("drawn as for training", facts["held_back"]), ("scored in a pipeline", facts["served"])):
        shares = [f"{quality[name]:.1%}" for name in ("prior", "accuracy", "precision", "recall")]
        rows.append((label, quality["pairs"], *shares, f"{quality['calibration_error']:.3f}"))
    write_card(
        folder,
        "A pair classifier of `prefrag train pairs --engine transformer`",
        f"Base {facts['base']}, seed {facts['seed']}, {facts['steps']} steps, {facts['seconds']} s on "
        f"{facts['device']}, attention {facts['attention']}, negatives {facts['negatives']}, documents {cut}.",
        table(counts_head, counts_rows),
        f"Pairs that score {facts['threshold']:.3f} or more are positive (threshold chosen on held-back questions).",
        table(head, rows),
        f"`model.onnx` gives the same scores to within {facts['onnx_difference']:.1e}.",
        facts=facts,
    )


class Classifier:
    """A transformer under training, with its tokenizer.

    :param model: The transformer.
    :param tokenizer: Its tokenizer.
    :param document_tokens: The maximum number of tokens that are read of a document. None means no limit.
    :param device: The device on which the transformer runs.
    """

    def __init__(
        self,
        model: PreTrainedModel,
        tokenizer: PreTrainedTokenizerBase,
        document_tokens: int | None,
        device: torch.device,
    ):
        self.model = model.to(device)
        self.tokenizer = tokenizer
        self.device = device
        self._document_tokens = document_tokens
        self._fewest = fewest_tokens(model.config)
        self.attention = getattr(model.config, "attention_type", None) or model.config._attn_implementation
        # Under autocast on a CPU, BigBird's sparse attention mixes number types and fails.
        is_sparse_on_cpu = device.type == "cpu" and self._fewest > 0
        self._autocast = not is_sparse_on_cpu

    @classmethod
    def load(
        cls, settings: TransformerSettings, examples: Sequence[PairExample], on_progress: Callable[[str], None]
    ) -> Classifier:
        """Load a pretrained model, and choose the attention of BigBird by the length of the pairs.

        :param settings: How the transformer is trained.
        :param examples: The pairs to learn from.
        :param on_progress: A function that is called with each line of progress.
        :returns: The classifier.
        """
        base = find_base(settings.base)
        config = AutoConfig.from_pretrained(base, num_labels=2)
        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        if device.type == "cpu":
            # There is no dropout on a CPU, where drawing its masks would take half of the time.
            for name in ("hidden_dropout_prob", "attention_probs_dropout_prob"):
                setattr(config, name, 0.0)

        tokenizer = AutoTokenizer.from_pretrained(base)
        # RoBERTa counts positions from the number behind the id of the padding token.
        counts_from_padding = config.model_type in ("roberta", "longformer")
        first_position = (config.pad_token_id or 0) + 1 if counts_from_padding else 0
        # A tokenizer may have no limit of its own, so the limit of the model is used as well.
        model_limit = config.max_position_embeddings - first_position
        tokenizer.model_max_length = min(tokenizer.model_max_length, model_limit, _LONGEST)

        fewest = fewest_tokens(config)
        if fewest:
            encoded = (_encode(tokenizer, example, settings.document_tokens) for example in examples)
            longest = max(len(encoding["input_ids"]) for encoding in encoded)
            if longest < fewest:
                config.attention_type = "original_full"
                on_progress(
                    f"The longest pair has {longest} tokens, but BigBird's sparse attention needs {fewest}: full "
                    "attention is used in training and afterwards"
                )
            else:
                on_progress(
                    f"The longest pair has {longest} tokens: every batch is padded to at least {fewest}, because "
                    "BigBird would silently replace its sparse attention by full attention for shorter inputs"
                )

        torch.manual_seed(settings.seed)
        model = AutoModelForSequenceClassification.from_pretrained(base, config=config, dtype=torch.float32)
        if device.type == "cpu" and config.model_type in ("bert", "roberta"):
            # On a CPU, the backward pass of fused attention is slow. Eager attention makes a step a third shorter.
            model.set_attn_implementation("eager")
        return cls(model, tokenizer, settings.document_tokens, device)

    def train(
        self,
        examples: Sequence[PairExample],
        phase: Phase,
        seed: int,
        checkpoint: Path,
        on_progress: Callable[[str], None],
    ) -> int:
        """Train on pairs.

        :param examples: The pairs to learn from.
        :param phase: The settings of the training.
        :param seed: The seed of the order of the pairs.
        :param checkpoint: The file of the checkpoint.
        :param on_progress: A function that is called with each line of progress.
        :returns: The number of steps.
        """
        encoded = [_encode(self.tokenizer, example, self._document_tokens) for example in examples]
        lengths = [max(len(encoding["input_ids"]), self._fewest) for encoding in encoded]

        def loss(batch: list[int], step: int) -> Tensor:
            labels = torch.tensor([int(examples[number].needed == 2) for number in batch], device=self.device)
            return nn.functional.cross_entropy(self._logits([encoded[number] for number in batch]), labels)

        return train_phase(self.model, lengths, loss, phase, seed, checkpoint, on_progress)

    def scores(self, examples: Sequence[PairExample]) -> np.ndarray:
        """Score pairs.

        :param examples: The pairs.
        :returns: For each pair, the probability from 0 to 1 that both documents are needed.
        """
        encoded = [_encode(self.tokenizer, example, self._document_tokens) for example in examples]
        order = sorted(range(len(encoded)), key=lambda number: len(encoded[number]["input_ids"]))
        probabilities = np.zeros(len(encoded))
        self.model.eval()
        with torch.inference_mode():
            for start in range(0, len(order), 16):
                batch = order[start : start + 16]
                logits = self._logits([encoded[number] for number in batch])
                probabilities[batch] = logits.softmax(-1)[:, 1].cpu().numpy()
        return probabilities

    def save(self, folder: Path) -> None:
        """Save the model as safetensors, with its tokenizer.

        :param folder: The folder of the model.
        """
        self.model.save_pretrained(folder)
        self.tokenizer.save_pretrained(folder)

    def _logits(self, batch: Sequence[dict[str, list[int]]]) -> Tensor:
        """Return the two scores of each pair (not positive, positive) for pairs that are already tokenized."""
        size = max(self._fewest, *(len(encoding["input_ids"]) for encoding in batch))
        padding = {"input_ids": self.model.config.pad_token_id or 0}
        inputs = {}
        for name in batch[0]:
            rows = []
            for encoding in batch:
                missing = size - len(encoding[name])
                rows.append(encoding[name] + [padding.get(name, 0)] * missing)
            inputs[name] = torch.tensor(rows, device=self.device)
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self._autocast):
            logits: Tensor = self.model(**inputs).logits
        return logits.float()


def _check_base(name: str) -> None:
    """Check that the pretrained model can be read, before anything is retrieved or written."""
    try:
        AutoConfig.from_pretrained(find_base(name))
        AutoTokenizer.from_pretrained(find_base(name))
    except (OSError, ValueError) as error:
        reason = str(error).strip().partition("\n")[0]
        raise Missing(
            f"The base '{name}' cannot be loaded ({reason}): set base to a model's folder, to its name on the Hugging "
            f"Face hub, or to one of {', '.join(BASES)} and {MINILM}."
        ) from error


def find_base(name: str) -> str:
    """Find a pretrained model.

    :param name: A name of :data:`BASES`, ``minilm``, or the folder or hub name of another model.
    :returns: The folder, or the name on the Hugging Face hub.
    """
    if name == MINILM:
        from prefrag.training.reader.training import find_encoder

        return str(find_encoder())
    return BASES.get(name, name)


def _encode(
    tokenizer: PreTrainedTokenizerBase, example: PairExample, document_tokens: int | None
) -> dict[str, list[int]]:
    """Tokenize a pair. The result has the inputs of the transformer, by name."""
    encoded = encode_pairs(tokenizer, [example.question], [(example.first, example.second)], document_tokens)
    return {name: array[0].tolist() for name, array in encoded.items()}


def _is_held_back(question: str) -> bool:
    """Check whether a question is held back. A hash of its words decides."""
    return int(hashlib.sha256(repr(fold_words(question)).encode()).hexdigest(), 16) % _HELD_BACK == 0


def _read_pairs(
    datasets: Sequence[Dataset], file: Path, settings: TransformerSettings, on_progress: Callable[[str], None]
) -> dict[str, DatasetPairs]:
    """Draw the pairs of each dataset, or read them from the file of an earlier call."""

    def draw() -> dict[str, object]:
        records: dict[str, object] = {}
        for dataset in datasets:
            on_progress(f"Retrieving for {dataset.name}")
            with dataset.open_index(at_least=FEWEST_QUESTIONS) as (questions, store):
                name, most = dataset.name, settings.most
                drawn = dataset_pairs(name, questions, store, _is_held_back, most, settings.negatives, settings.seed)
                # Every n-th pair is taken, so that about `_SERVED` pairs are left.
                every = max(1, len(drawn.served) // _SERVED)
                served = drawn.served[::every]
                records[name] = asdict(dataclasses.replace(drawn, served=served))
            on_progress(f"{dataset.name}: pairs {count_kinds(drawn.learnt)}, held back {count_kinds(drawn.held_back)}")
        return records

    records = compute_once(file, draw)
    pairs = {}
    for name, record in records.items():
        parts = []
        for part in ("learnt", "held_back", "served"):
            parts.append([PairExample(**example) for example in record[part]])
        pairs[name] = DatasetPairs(*parts)
    return pairs
