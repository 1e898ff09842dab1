"""The files of a trained reader: its card, its tokenizer, its encoder and its trees."""

import json
import os
import threading
from dataclasses import dataclass, fields
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from prefrag.components.reader.encoder_scores import Scored
from prefrag.components.reader.reader import ReaderMissing
from prefrag.components.reader.reader_input import encode, load_tokenizer
from prefrag.components.reader.span_features import word_weights

SHIPPED_READER = Path(__file__).parent / "shipped"
ENCODER, TOKENIZER, CARD = "encoder.onnx", "tokenizer.json", "card.json"
SPAN_TREES, CHOICE_TREES, YES_NO_TREES, SURE_TREES = (
    f"{name}_trees.json" for name in ("span", "choice", "yes_no", "sure")
)
# The maximum number of encoder runs at the same time. Each needs 35 MB, which the process does not give back. More runs
# gain little: the rest of the work on a question takes a third as long as a run, and only one thread at a time does it.
_MOST_AT_ONCE = 4
# The maximum number of cached encoder outputs, some 20 kB each.
_CACHED_OUTPUTS = 256

Passage = tuple[str, str]


@dataclass(frozen=True)
class ReaderCard:
    """The thresholds of a reader, and the shares of right answers in the test at the end of its training."""

    # A reader in training has no card yet and gets these defaults. They do not matter: only its encoder is used.
    threshold: float = 1.0  # the minimum probability of an answer that is given to the user
    probable: float = 0.5  # the minimum probability of an answer of which only the sentence is given to the user
    dated_choice: float = 1.0  # the share for "which is older, A or B?", used as the probability of these answers
    other_choice: float = 1.0  # the share for other "A or B?" questions, used as the maximum of their probability
    comparison: float = 1.0  # the share for yes-or-no comparisons except of countries, used as the maximum for them
    other_time: float = 1.0  # the share for answers in sentences on another time or thing, used as the maximum for them


class ReaderParts:
    """The loaded card, tokenizer and encoder of a reader."""

    def __init__(self, tokenizer: Any, session: Any, card: ReaderCard):
        self.weight = word_weights(tokenizer)
        self.card = card
        self._tokenizer, self._session = tokenizer, session
        self._free = threading.Semaphore(min(_MOST_AT_ONCE, os.cpu_count() or 1))
        # Cached, because the next step of a run often reads the same passages again, together or alone.
        self.score = lru_cache(maxsize=_CACHED_OUTPUTS)(self._score)

    def _score(self, question: str, passages: tuple[Passage, ...]) -> Scored:
        encoded = encode(self._tokenizer, question, passages)
        ids = np.array([encoded.ids], np.int64)
        types = np.array([encoded.types], np.int64)
        inputs = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": types}
        with self._free:
            start, end, kind = self._session.run(["start", "end", "kind"], inputs)
        return Scored(encoded, start[0], end[0], kind[0])


_loading = threading.Lock()


def load_parts(folder: Path) -> ReaderParts:
    """Load the files of a reader, unless this process has already loaded them.

    :raises ReaderMissing: When a file or a package is missing.
    """
    with _loading:
        # A forked process does not have its parent's threads, so it loads another encoder.
        return _load(folder, os.getpid())


@lru_cache(maxsize=8)
def _load(folder: Path, process: int) -> ReaderParts:
    for file in (ENCODER, TOKENIZER):
        if not (folder / file).is_file():
            raise ReaderMissing(f"{folder} holds no reader ({file} is missing): train one with `prefrag train reader`.")
    try:
        import onnxruntime

        tokenizer = load_tokenizer(folder / TOKENIZER)
    except ImportError as error:
        raise ReaderMissing(f"The reader needs the package '{error.name}': pip install {error.name}.") from error
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = 1, 1
    # Threads that wait must sleep: by default they spin, which uses the processor.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    session = onnxruntime.InferenceSession(str(folder / ENCODER), options, providers=["CPUExecutionProvider"])
    return ReaderParts(tokenizer, session, read_card(folder / CARD))


def read_card(file: Path) -> ReaderCard:
    """Read the card of a reader. Without a file, return the defaults, because a reader in training has no card yet.

    :raises ReaderMissing: When the file exists but is not a valid card.
    """
    if not file.is_file():
        return ReaderCard()
    try:
        defaults = {"probable": ReaderCard.probable, "other_time": ReaderCard.other_time}
        card = {**defaults, **json.loads(file.read_text(encoding="utf-8"))}
        return ReaderCard(**{field.name: float(card[field.name]) for field in fields(ReaderCard)})
    except (ValueError, KeyError, TypeError) as error:
        raise ReaderMissing(f"{file} is not a valid card: train a reader with `prefrag train reader`.") from error
