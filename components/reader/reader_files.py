"""Load the files of a trained reader: its card, its tokenizer, its encoder and the names of its trees.

The card holds the thresholds of the reader. A process loads each reader once.
"""

from __future__ import annotations

import json
import os
import threading
from dataclasses import dataclass, fields
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from prefrag.components.reader.encoder_scores import Scored
from prefrag.components.reader.reader import ReaderMissing
from prefrag.components.reader.reader_input import encode, load_tokenizer
from prefrag.components.reader.span_features import word_weights

if TYPE_CHECKING:
    from onnxruntime import InferenceSession
    from tokenizers import Tokenizer

# The folder of the reader that is shipped with the package.
SHIPPED_READER = Path(__file__).parent / "shipped"
# The names of the files in the folder of a reader.
ENCODER, TOKENIZER, CARD = "encoder.onnx", "tokenizer.json", "card.json"
# The trees for four decisions: to rank spans, to choose among the best answers, to decide between yes and no, and to
# estimate how likely the answer is right.
SPAN_TREES, CHOICE_TREES, YES_NO_TREES, SURE_TREES = (
    f"{name}_trees.json" for name in ("span", "choice", "yes_no", "sure")
)
# The maximum number of runs of the encoder at the same time. Each run needs 35 MB of memory, which the process does not
# give back. More runs gain little. The rest of the work on a question takes a third as long as a run. Only one thread
# at a time does this work.
_MOST_AT_ONCE = 4
# The maximum number of cached outputs of the encoder, of about 20 kB each.
_CACHED_OUTPUTS = 256

# The title and the text of a passage.
Passage = tuple[str, str]


@dataclass(frozen=True)
class ReaderCard:
    """The thresholds of a reader, and the shares of right answers in the test at the end of its training.

    All values are from 0 to 1. A reader in training has no card yet and gets these defaults. They do not matter,
    because only its encoder is used.

    :param threshold: The minimum probability of an answer that is given to the user.
    :param probable: The minimum probability of an answer of which only the sentence is given to the user.
    :param dated_choice: The share for "Which is older, A or B?". It is used as the probability of these answers.
    :param other_choice: The share for other "A or B?" questions. It is used as the maximum of their probability.
    :param comparison: The share for yes-or-no comparisons, except of countries. It is used as the maximum for them.
    :param other_time: The share for answers in sentences on another time or thing. It is used as the maximum for them.
    """

    threshold: float = 1.0
    probable: float = 0.5
    dated_choice: float = 1.0
    other_choice: float = 1.0
    comparison: float = 1.0
    other_time: float = 1.0


class ReaderParts:
    """The loaded card, tokenizer and encoder of a reader."""

    def __init__(self, tokenizer: Tokenizer, session: InferenceSession, card: ReaderCard):
        """Keep the loaded parts.

        :param tokenizer: The tokenizer of the encoder.
        :param session: The ONNX session of the encoder.
        :param card: The card.
        """
        self.weight = word_weights(tokenizer)
        self.card = card
        self._tokenizer, self._session = tokenizer, session
        self._free = threading.Semaphore(min(_MOST_AT_ONCE, os.cpu_count() or 1))
        # Cached, because the next step of a run often reads the same passages again, together or alone.
        self.score = lru_cache(maxsize=_CACHED_OUTPUTS)(self._score)

    def _score(self, question: str, passages: tuple[Passage, ...]) -> Scored:
        """Let the encoder read passages once."""
        encoded = encode(self._tokenizer, question, passages)
        ids = np.array([encoded.ids], np.int64)
        types = np.array([encoded.types], np.int64)
        inputs = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": types}

        with self._free:
            start, end, kind = self._session.run(["start", "end", "kind"], inputs)
        return Scored(encoded, start[0], end[0], kind[0])


# Only one thread at a time loads a reader, so that no reader is loaded twice.
_loading = threading.Lock()


def load_parts(folder: Path) -> ReaderParts:
    """Load the files of a reader, unless this process has already loaded them.

    :param folder: The folder of the reader.
    :returns: The loaded parts.
    :raises ReaderMissing: When a file or a package is missing.
    """
    with _loading:
        # A forked process does not have its parent's threads, so it loads another encoder.
        return _load(folder, os.getpid())


@lru_cache(maxsize=8)
def _load(folder: Path, process: int) -> ReaderParts:
    """Load the files of a reader for the process with an id."""
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
    """Read the card of a reader.

    :param file: The ``card.json``. If there is no file, the defaults are returned, because a reader in training has no
        card yet.
    :returns: The card.
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
