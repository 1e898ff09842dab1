"""The files of a reader: what is said if they are missing or invalid, and how many encoder runs there are at once."""

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from prefrag.components.reader.extractive_reader import ExtractiveReader
from prefrag.components.reader.reader import ReaderMissing
from prefrag.components.reader.reader_files import SHIPPED_READER, TOKENIZER, ReaderCard, ReaderParts, read_card
from prefrag.components.reader.reader_input import load_tokenizer
from tests.for_each import for_each


@for_each("card", "", "[]", '{"threshold": 0.5}', '{"threshold": "high"}')
def test_absent_reader_or_invalid_card_says_what_to_do(tmp_path: Path, card: str):
    with pytest.raises(ReaderMissing, match="prefrag train reader"):
        ExtractiveReader(str(tmp_path)).warm_up()
    (tmp_path / "card.json").write_text(card, encoding="utf-8")
    with pytest.raises(ReaderMissing, match=r"prefrag train reader"):
        read_card(tmp_path / "card.json")


def test_questions_encoded_at_once_are_limited_to_spare_memory():
    most = min(4, os.cpu_count() or 1)
    running, seen, together = 0, [], threading.Barrier(most)

    class Encoder:
        def run(self, _, inputs):
            nonlocal running
            running += 1
            seen.append(running)
            together.wait(60)
            running -= 1
            scores = np.zeros_like(inputs["input_ids"], np.float32)
            return scores, scores, np.zeros((1, 4), np.float32)

    tokenizer = load_tokenizer(SHIPPED_READER / TOKENIZER)
    parts = ReaderParts(tokenizer, Encoder(), ReaderCard())
    with ThreadPoolExecutor(3 * most) as pool:
        list(pool.map(lambda number: parts.score(f"Question {number}?", (("", "Text."),)), range(3 * most)))

    assert max(seen) == most
