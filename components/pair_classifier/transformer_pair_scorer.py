"""The pair scorer that uses a transformer.

The model reads the question and two documents, and returns the probability that both documents are needed. The
functions that encode and pad its inputs are also used in its training.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from prefrag.components.block import Block, check_choice, check_whole_number
from prefrag.components.pair_classifier.pair_scorer import ClassifierMissing, Pair
from prefrag.components.text.term_statistics import passage_text
from prefrag.settings import settings

if TYPE_CHECKING:
    from transformers import PretrainedConfig, PreTrainedTokenizerBase

# The inputs of the model by name, as arrays with a row per pair and a column per token.
Inputs = dict[str, np.ndarray]
# Computes the outputs of the model for each row of inputs.
Forward = Callable[[Inputs], list[list[float]]]
# The number of pairs that the model reads at once.
_BATCH = 32
# The maximum number of tokens of a question. A longer question is cut.
QUESTION_TOKENS = 60


class TransformerPairScorer(Block):
    """Score pairs with a sequence-classification model of Hugging Face: BigBird as in the paper, or a smaller model.

    The model reads two texts: the question, and the two documents with a separator between them. If the documents do
    not fit into the model's window, the longer document is cut. If this is not enough, both documents are cut to the
    same length.

    Usage example, for a trained model in a folder:
    ```python
    from haystack import Document
    from prefrag.components.pair_classifier.transformer_pair_scorer import TransformerPairScorer

    scorer = TransformerPairScorer("models/pairs")
    pair = Document(content="Heiberg's son was Johan."), Document(content="Johan married Johanne.")
    print(scorer.score("Who married Heiberg's son?", [pair]))
    ```
    """

    def __init__(
        self,
        model: str | None = None,
        backend: Literal["torch", "onnx"] = "torch",
        device: str | None = None,
        document_tokens: int | None = None,
    ):
        """Set the model. It is not loaded yet.

        :param model: A model trained to classify pairs: its folder, or its name on the Hugging Face hub. If None, the
            value of ``PREFRAG_PAIR_CLASSIFIER`` is used.
        :param backend: ``torch`` for PyTorch, or ``onnx`` to run the file ``model.onnx`` in the model's folder.
        :param device: ``cpu``, ``cuda`` or another device of PyTorch. If None, a GPU is used if there is one.
        :param document_tokens: The maximum number of tokens of each document. If None, only the model's window limits
            the documents.
        :raises ValueError: When a setting is invalid.
        """
        check_choice(("torch", "onnx"), backend=backend)
        check_whole_number(1, document_tokens=document_tokens)
        self.model = model
        self.backend = backend
        self.device = device
        self.document_tokens = document_tokens
        self._tokenizer: PreTrainedTokenizerBase | None = None
        self._forward: Forward | None = None
        self._lock = threading.Lock()

    def warm_up(self) -> None:
        """Load the model, unless it is loaded already.

        :raises ClassifierMissing: When no model is set, or the model cannot be loaded.
        :raises ValueError: When ``document_tokens`` is too large for the model's window.
        """
        with self._lock:
            if self._forward is not None:
                return
            model = self.model or settings.pair_classifier
            if not model:
                raise ClassifierMissing(
                    "No trained pair classifier is set: give `model`, or set PREFRAG_PAIR_CLASSIFIER to its folder."
                )

            try:
                from transformers import AutoTokenizer

                load = _torch_model if self.backend == "torch" else _onnx_model
                tokenizer = AutoTokenizer.from_pretrained(model)
                self._check_length(tokenizer, model)
                forward = load(model, self.device)
            except ImportError as error:
                raise ClassifierMissing(
                    f"The transformer classifier needs the package '{error.name}': "
                    'run pip install "prefrag[classifier]".'
                ) from error
            except OSError as error:
                # Only the first line is shown. In the other lines, the library lists all files that it looked for.
                reason, *_ = str(error).strip().split("\n")
                raise ClassifierMissing(f"The pair classifier '{model}' cannot be loaded: {reason}") from error
            self._tokenizer = tokenizer
            self._forward = forward

    def score(self, question: str, pairs: list[Pair]) -> list[float]:
        """Score pairs of documents for a question, in batches. Load the model if it is not loaded yet.

        :param question: The question.
        :param pairs: The pairs of documents.
        :returns: For each pair, in order, the probability from 0 to 1 that both documents are needed.
        """
        if not pairs:
            return []
        if self._forward is None:
            self.warm_up()
        assert self._forward is not None

        scores: list[float] = []
        for start in range(0, len(pairs), _BATCH):
            inputs = self._encode(question, pairs[start : start + _BATCH])
            scores += [self._probability(logits) for logits in self._forward(inputs)]
        return scores

    def _encode(self, question: str, pairs: Sequence[Pair]) -> Inputs:
        """Encode a question with each pair as the inputs of the model."""
        # The fast tokenizers cannot be used by two threads at once.
        with self._lock:
            return encode_pairs(
                self._tokenizer,
                questions=[question] * len(pairs),
                pairs=[(passage_text(first), passage_text(second)) for first, second in pairs],
                document_tokens=self.document_tokens,
            )

    def _check_length(self, tokenizer: PreTrainedTokenizerBase, model: str) -> None:
        """Raise ValueError if a question and two documents of the set length do not fit into the model's window."""
        needed = QUESTION_TOKENS + 2 * (self.document_tokens or 1) + tokenizer.num_special_tokens_to_add(pair=True) + 1
        # Tokenizers without a limit report a very large number.
        if needed > tokenizer.model_max_length:
            raise ValueError(
                f"The pair classifier '{model}' reads {tokenizer.model_max_length} tokens, but the settings need "
                f"{needed}: lower document_tokens."
            )

    def _probability(self, logits: Sequence[float]) -> float:
        """Convert the outputs of the model for one pair, one number or one per label, to a probability.

        For example, the outputs ``[0.0]`` and ``[1.0, 1.0]`` become 0.5.
        """
        if len(logits) == 1:
            # The number is limited, because `exp` overflows at about 700. Beyond 60, the probability is rounded to 0 or
            # 1 anyway.
            logit = max(-60.0, min(60.0, logits[0]))
            return 1 / (1 + math.exp(-logit))
        top = max(logits)
        weights = [math.exp(logit - top) for logit in logits]
        # The second label means that both documents are needed.
        return weights[1] / sum(weights)


def encode_pairs(
    tokenizer: PreTrainedTokenizerBase,
    questions: Sequence[str],
    pairs: Sequence[tuple[str, str]],
    document_tokens: int | None = None,
) -> Inputs:
    """Encode questions and pairs of texts for the classifier, in the same way for training and for use.

    If the two texts of a pair do not fit into the model's window, the longer text is cut. If this is not enough, each
    text gets half of the room.

    :param tokenizer: The fast tokenizer of the model.
    :param questions: The question of each pair. A question is cut to 60 tokens.
    :param pairs: The pairs of texts.
    :param document_tokens: The maximum number of tokens of each text of a pair. If None, only the window limits it.
    :returns: The inputs of the model by name, as arrays with a row per pair. All rows are padded to the longest row.
    """
    # For each text, where its tokens begin and end. Each text is tokenised once, although it may be in many pairs.
    offsets: dict[str, list[tuple[int, int]]] = {}
    for question, pair in zip(questions, pairs, strict=True):
        for text in (question, *pair):
            if text not in offsets:
                encoded = tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)
                offsets[text] = encoded["offset_mapping"]

    def cut(text: str, tokens: int) -> str:
        """Cut a text behind that number of tokens."""
        if len(offsets[text]) <= tokens:
            return text
        _, end = offsets[text][tokens - 1]
        return text[:end]

    separator = tokenizer.sep_token or "\n"
    # The separator is one token.
    room = tokenizer.model_max_length - tokenizer.num_special_tokens_to_add(pair=True) - 1
    cut_questions = []
    cut_pairs = []
    for question, (first, second) in zip(questions, pairs, strict=True):
        room_of_pair = room - min(len(offsets[question]), QUESTION_TOKENS)
        tokens_of_first = min(len(offsets[first]), document_tokens or room_of_pair)
        tokens_of_second = min(len(offsets[second]), document_tokens or room_of_pair)
        # Each document gets half of the room, and the part of the other half that the other document does not need.
        half = room_of_pair // 2
        room_of_first = max(half, room_of_pair - tokens_of_second)
        room_of_second = max(half, room_of_pair - tokens_of_first)
        cut_first = cut(first, min(tokens_of_first, room_of_first))
        cut_second = cut(second, min(tokens_of_second, room_of_second))
        cut_questions.append(cut(question, QUESTION_TOKENS))
        cut_pairs.append(f"{cut_first} {separator} {cut_second}")
    return dict(tokenizer(cut_questions, cut_pairs, padding=True, return_tensors="np"))


def fewest_tokens(config: PretrainedConfig) -> int:
    """Return the minimum number of tokens with which the attention of BigBird stays sparse.

    A single shorter input switches a loaded BigBird to full attention without a warning, for all later inputs, too.

    :param config: The configuration of the model, as Hugging Face loads it.
    :returns: The number of tokens; 0 for all models that are no BigBird with sparse attention.
    """
    if config.model_type != "big_bird" or config.attention_type != "block_sparse":
        return 0
    return int((5 + 2 * config.num_random_blocks) * config.block_size + config.block_size)


def pad_inputs(inputs: Inputs, fewest: int, padding: int) -> Inputs:
    """Pad the inputs of a model to a minimum length.

    :param inputs: The inputs by name, as arrays with a row per text and a column per token.
    :param fewest: The minimum number of tokens.
    :param padding: The number of the token to add to ``input_ids``. All other inputs are padded with 0.
    :returns: The padded inputs; the same inputs if they are long enough.
    """
    n_missing = fewest - inputs["input_ids"].shape[1]
    if n_missing <= 0:
        return inputs
    padded = {}
    for name, array in inputs.items():
        # All other inputs, such as the attention mask, have 0 for an added token.
        value = padding if name == "input_ids" else 0
        no_rows, columns_behind = (0, 0), (0, n_missing)
        padded[name] = np.pad(array, (no_rows, columns_behind), constant_values=value)
    return padded


def _torch_model(model: str, device: str | None) -> Forward:
    """Load a model with PyTorch. Return a function that computes the outputs of the model for each row of inputs."""
    import torch
    from transformers import AutoModelForSequenceClassification

    network, info = AutoModelForSequenceClassification.from_pretrained(model, output_loading_info=True)
    missing_weights = sorted(info["missing_keys"])
    if missing_weights:
        raise ClassifierMissing(
            f"'{model}' is not trained to classify pairs: it has no weights for {', '.join(missing_weights)}. Train it "
            "first."
        )
    device_name = device
    if not device_name:
        device_name = "cuda" if torch.cuda.is_available() else "cpu"
    torch_device = torch.device(device_name)
    network = network.eval().to(torch_device)
    fewest = fewest_tokens(network.config)
    padding = network.config.pad_token_id or 0

    def forward(inputs: Inputs) -> list[list[float]]:
        inputs = pad_inputs(inputs, fewest, padding)
        with torch.inference_mode():
            tensors = {name: torch.from_numpy(array).to(torch_device) for name, array in inputs.items()}
            logits: list[list[float]] = network(**tensors).logits.float().cpu().tolist()
            return logits

    return forward


def _onnx_model(model: str, device: str | None) -> Forward:
    """Load a model with ONNX Runtime. Return a function as :func:`_torch_model` does."""
    import onnxruntime

    path = Path(model) / "model.onnx"
    if not path.is_file():
        raise ClassifierMissing(
            f"There is no {path}: set backend to torch or use the output of `prefrag train pairs --engine transformer`."
        )
    preferred_providers = (
        ["CPUExecutionProvider"] if device == "cpu" else ["CUDAExecutionProvider", "CPUExecutionProvider"]
    )
    providers = [name for name in preferred_providers if name in onnxruntime.get_available_providers()]
    session = onnxruntime.InferenceSession(str(path), providers=providers)
    names = {node.name for node in session.get_inputs()}

    def forward(inputs: Inputs) -> list[list[float]]:
        [output] = session.run(["logits"], {name: array for name, array in inputs.items() if name in names})
        logits: list[list[float]] = output.tolist()
        return logits

    return forward
