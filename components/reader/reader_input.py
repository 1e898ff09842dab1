"""The input of the reader's encoder: a question and passages as one sequence of tokens."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

LONGEST = 512
_LONGEST_QUESTION = 64
# `PMID 23649844` names a record and tells nothing.
_RECORD_NUMBER = re.compile(r"(?:\S+\s+)?\d{5,}")


@dataclass(frozen=True)
class ReaderInput:
    """A question and passages as tokens.

    :param ids: The numbers of the tokens, at most :data:`LONGEST`.
    :param types: For each token 0 in the question and 1 in the passages.
    :param texts: The text of each passage as the encoder sees it, title first.
    :param passage: For each token the place of its passage; -1 where it belongs to none.
    :param begin: For each token where it begins in that text, in characters.
    :param end: For each token where it ends in that text, in characters.
    """

    ids: list[int]
    types: list[int]
    texts: list[str]
    passage: list[int]
    begin: list[int]
    end: list[int]


def load_tokenizer(file: Path) -> Any:
    """Load the tokenizer.

    :param file: A ``tokenizer.json``.
    :returns: A ``tokenizers.Tokenizer`` that neither cuts nor pads.
    """
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(file))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def passage_text(title: str, text: str) -> str:
    """Write a passage as the encoder sees it.

    :param title: Its title; empty where it has none.
    :param text: Its text.
    :returns: The title, a full stop and the text; the text alone where the title is the number of a record.
    """
    title = title.strip()
    return f"{title}. {text}" if title and not _RECORD_NUMBER.fullmatch(title) else text


def encode(tokenizer: Any, question: str, passages: Sequence[tuple[str, str]], longest: int = LONGEST) -> ReaderInput:
    """Make the input of the encoder: the question, then the passages, each ended by a separator.

    Where they are too long together, the longest passages lose their ends, all to the same length.

    :param tokenizer: See :func:`load_tokenizer`.
    :param question: The question; of a long one the first 64 tokens are read.
    :param passages: Title and text of each.
    :param longest: The most tokens in all.
    :returns: The input.
    """
    texts = [passage_text(title, text) for title, text in passages]
    asked, *encoded = tokenizer.encode_batch([question, *texts], add_special_tokens=False)
    first, separator = tokenizer.token_to_id("[CLS]"), tokenizer.token_to_id("[SEP]")
    ids = [first, *asked.ids[:_LONGEST_QUESTION], separator]
    cut = _fair_length([len(one.ids) for one in encoded], longest - len(ids) - len(texts))
    passage, begin, end = [-1] * len(ids), [0] * len(ids), [0] * len(ids)
    types = [0] * len(ids)
    for place, one in enumerate(encoded):
        kept = min(len(one.ids), cut)
        ids += [*one.ids[:kept], separator]
        types += [1] * (kept + 1)
        passage += [*([place] * kept), -1]
        begin += [*(offset[0] for offset in one.offsets[:kept]), 0]
        end += [*(offset[1] for offset in one.offsets[:kept]), 0]
    return ReaderInput(ids, types, texts, passage, begin, end)


def _fair_length(lengths: Sequence[int], room: int) -> int:
    """Find the length to which all longer passages are cut, so that all fit."""
    left, cut = room, 0
    for number, length in enumerate(sorted(lengths)):
        cut = max(0, left // (len(lengths) - number))
        if length > cut:
            return cut
        left -= length
    return max(lengths, default=0)
