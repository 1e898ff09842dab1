"""The pair scorer that uses a transformer."""

import math
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np

from prefrag.components.block import Block, check_choice, check_whole_number
from prefrag.components.pair_classifier.pair_scorer import ClassifierMissing, Pair
from prefrag.components.text.term_statistics import passage_text
from prefrag.settings import settings

_BATCH = 32  # pairs
QUESTION_TOKENS = 60  # the maximum number of tokens of a question


class TransformerPairScorer(Block):
    """Score pairs with a sequence-classification model of Hugging Face: BigBird as in the paper, or a smaller model.

    The model reads two texts: the question, and the two documents with a separator between them. If the documents do
    not fit into the model's window, the longer document is cut, and if that is not enough, both get the same length.

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
        """Set the model; it is not loaded yet.

        :param model: A model trained to classify pairs: its folder, or its name on the Hugging Face hub; by default
            ``PREFRAG_PAIR_CLASSIFIER``.
        :param backend: ``torch``, or ``onnx`` to run the file ``model.onnx`` in the model's folder.
        :param device: ``cpu``, ``cuda`` or another device of PyTorch; by default a GPU if there is one.
        :param document_tokens: The maximum number of tokens of each document. By default, only the model's window
            limits the documents.
        :raises ValueError: When a setting is invalid.
        """
        check_choice(("torch", "onnx"), backend=backend)
        check_whole_number(1, document_tokens=document_tokens)
        self.model = model
        self.backend = backend
        self.device = device
        self.document_tokens = document_tokens
        self._tokenizer: Any = None
        self._forward: Callable[[dict[str, Any]], list[list[float]]] | None = None
        self._lock = threading.Lock()

    def warm_up(self) -> None:
        """Load the model. Raises ClassifierMissing if that fails, ValueError if ``document_tokens`` is too large."""
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
                # Only the first line is shown: in the others, the library lists all files that it looked for.
                reason = str(error).strip().split("\n")[0]
                raise ClassifierMissing(f"The pair classifier '{model}' cannot be loaded: {reason}") from error
            self._tokenizer, self._forward = tokenizer, forward

    def score(self, question: str, pairs: list[Pair]) -> list[float]:
        """Score all pairs of a question, in batches."""
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

    def _encode(self, question: str, pairs: Sequence[Pair]) -> dict[str, Any]:
        # The fast tokenizers cannot be used by two threads at once.
        with self._lock:
            return encode_pairs(
                self._tokenizer,
                [question] * len(pairs),
                [(passage_text(first), passage_text(second)) for first, second in pairs],
                self.document_tokens,
            )

    def _check_length(self, tokenizer: Any, model: str) -> None:
        needed = QUESTION_TOKENS + 2 * (self.document_tokens or 1) + tokenizer.num_special_tokens_to_add(pair=True) + 1
        # Tokenizers without a limit report a very large number.
        if needed > tokenizer.model_max_length:
            raise ValueError(
                f"The pair classifier '{model}' reads {tokenizer.model_max_length} tokens, but the settings need "
                f"{needed}: lower document_tokens."
            )

    def _probability(self, logits: Sequence[float]) -> float:
        if len(logits) == 1:
            # Limited, because `exp` overflows at some 700; beyond 60, the probability is rounded to 0 or 1 anyway.
            logit = max(-60.0, min(60.0, logits[0]))
            return 1 / (1 + math.exp(-logit))
        top = max(logits)
        weights = [math.exp(logit - top) for logit in logits]
        # The second label means that both documents are needed.
        return weights[1] / sum(weights)


def encode_pairs(
    tokenizer: Any, questions: Sequence[str], pairs: Sequence[tuple[str, str]], document_tokens: int | None = None
) -> dict[str, Any]:
    """Encode questions and pairs of texts for the classifier, in the same way for training and for serving.

    The arrays have a row per pair, padded to the longest row. ``document_tokens`` limits each document. If the two
    documents of a pair still do not fit into the model's window, the longer is cut, and if that is not enough, each
    gets half of the room.
    """
    # For each text, where its tokens begin and end. Each text is tokenised once, however many pairs it is in.
    offsets: dict[str, Any] = {}
    for question, pair in zip(questions, pairs, strict=True):
        for text in (question, *pair):
            if text not in offsets:
                encoded = tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)
                offsets[text] = encoded["offset_mapping"]

    def cut(text: str, tokens: int) -> str:
        if len(offsets[text]) <= tokens:
            return text
        _, end = offsets[text][tokens - 1]
        return text[:end]

    separator = tokenizer.sep_token or "\n"
    # The separator is one token.
    room = tokenizer.model_max_length - tokenizer.num_special_tokens_to_add(pair=True) - 1
    cut_questions, cut_pairs = [], []
    for question, (first, second) in zip(questions, pairs, strict=True):
        left = room - min(len(offsets[question]), QUESTION_TOKENS)
        tokens_of_first = min(len(offsets[first]), document_tokens or left)
        tokens_of_second = min(len(offsets[second]), document_tokens or left)
        # Each document gets half of the room, and what the other leaves free.
        room_of_first = max(left // 2, left - tokens_of_second)
        room_of_second = max(left // 2, left - tokens_of_first)
        cut_first = cut(first, min(tokens_of_first, room_of_first))
        cut_second = cut(second, min(tokens_of_second, room_of_second))
        cut_questions.append(cut(question, QUESTION_TOKENS))
        cut_pairs.append(f"{cut_first} {separator} {cut_second}")
    return dict(tokenizer(cut_questions, cut_pairs, padding=True, return_tensors="np"))


def fewest_tokens(config: Any) -> int:
    """Return the minimum number of tokens with which BigBird's attention stays sparse; 0 for all other models.

    A single shorter input silently switches a loaded BigBird to full attention, for all later inputs too.
    """
    if config.model_type != "big_bird" or config.attention_type != "block_sparse":
        return 0
    return int((5 + 2 * config.num_random_blocks) * config.block_size + config.block_size)


def pad_inputs(inputs: dict[str, Any], fewest: int, padding: int) -> dict[str, Any]:
    """Pad the inputs of a model to at least ``fewest`` tokens, with the token ``padding``."""
    missing = fewest - inputs["input_ids"].shape[1]
    if missing <= 0:
        return inputs
    padded = {}
    for name, array in inputs.items():
        # All other inputs, such as the attention mask, are 0 for a token that pads.
        value = padding if name == "input_ids" else 0
        padded[name] = np.pad(array, ((0, 0), (0, missing)), constant_values=value)
    return padded


def _torch_model(model: str, device: str | None) -> Callable[[dict[str, Any]], list[list[float]]]:
    import torch
    from transformers import AutoModelForSequenceClassification

    network, info = AutoModelForSequenceClassification.from_pretrained(model, output_loading_info=True)
    missing = sorted(info["missing_keys"])
    if missing:
        raise ClassifierMissing(
            f"'{model}' is not trained to classify pairs: it has no weights for {', '.join(missing)}. Train it first."
        )
    place = torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))
    network = network.eval().to(place)
    fewest, padding = fewest_tokens(network.config), network.config.pad_token_id or 0

    def forward(inputs: dict[str, Any]) -> list[list[float]]:
        inputs = pad_inputs(inputs, fewest, padding)
        with torch.inference_mode():
            tensors = {name: torch.from_numpy(array).to(place) for name, array in inputs.items()}
            logits: list[list[float]] = network(**tensors).logits.float().cpu().tolist()
            return logits

    return forward


def _onnx_model(model: str, device: str | None) -> Callable[[dict[str, Any]], list[list[float]]]:
    import onnxruntime

    path = Path(model) / "model.onnx"
    if not path.is_file():
        raise ClassifierMissing(
            f"There is no {path}: set backend to torch or use the output of `prefrag train pairs --engine transformer`."
        )
    wanted = ["CPUExecutionProvider"] if device == "cpu" else ["CUDAExecutionProvider", "CPUExecutionProvider"]
    providers = [name for name in wanted if name in onnxruntime.get_available_providers()]
    session = onnxruntime.InferenceSession(str(path), providers=providers)
    names = {node.name for node in session.get_inputs()}

    def forward(inputs: Mapping[str, object]) -> list[list[float]]:
        [output] = session.run(["logits"], {name: array for name, array in inputs.items() if name in names})
        logits: list[list[float]] = output.tolist()
        return logits

    return forward
