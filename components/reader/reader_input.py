"""The input of the reader's encoder: a question and passages as one sequence of tokens."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

LONGEST = 512
_LONGEST_QUESTION = 64
# For how many texts the tokens are cached. A passage is read with other passages, again in the next step, and alone.
_KEPT = 256
# `PMID 23649844` is the number of a record, and says nothing about its content.
_RECORD_NUMBER = re.compile(r"(?:\S+\s+)?\d{5,}")


@dataclass(frozen=True)
class ReaderInput:
    """A question and passages as tokens."""

    ids: list[int]  # the numbers of the tokens, at most `LONGEST`
    types: list[int]  # for each token 0 in the question and 1 in the passages
    texts: list[str]  # the text of each passage as the encoder sees it, title first
    passage: list[int]  # for each token the index of its passage; -1 if it belongs to no passage
    begin: list[int]  # for each token the character of the passage's text at which the token begins
    end: list[int]  # for each token the character of the passage's text at which the token ends


def load_tokenizer(file: Path) -> Any:
    """Load a ``tokenizer.json`` as a ``tokenizers.Tokenizer`` that neither cuts nor pads."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(file))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def passage_text(title: str, text: str) -> str:
    """Put the title and a full stop before a text, unless the title is empty or the number of a record."""
    title = title.strip()
    return f"{title}. {text}" if title and not _RECORD_NUMBER.fullmatch(title) else text


def encode(tokenizer: Any, question: str, passages: Sequence[tuple[str, str]], longest: int = LONGEST) -> ReaderInput:
    """Make the input of the encoder: the question, then the passages, each ended by a separator.

    Only the first 64 tokens of the question are read. If the passages together are too long, the longest passages are
    cut at the end, all to the same length, so that the input has at most ``longest`` tokens.
    """
    texts = [passage_text(title, text) for title, text in passages]
    (asked, *_), *encoded = (_tokens(tokenizer, text, longest) for text in (question, *texts))
    first, separator = tokenizer.token_to_id("[CLS]"), tokenizer.token_to_id("[SEP]")
    ids = [first, *asked[:_LONGEST_QUESTION], separator]
    cut = _fair_length([len(own) for own, _, _ in encoded], longest - len(ids) - len(texts))
    passage, begin, end = [-1] * len(ids), [0] * len(ids), [0] * len(ids)
    types = [0] * len(ids)
    for place, (own, begins, ends) in enumerate(encoded):
        kept = min(len(own), cut)
        ids += [*own[:kept], separator]
        types += [1] * (kept + 1)
        passage += [*([place] * kept), -1]
        begin += [*begins[:kept], 0]
        end += [*ends[:kept], 0]
    return ReaderInput(ids, types, texts, passage, begin, end)


@lru_cache(maxsize=_KEPT)
def _tokens(tokenizer: Any, text: str, most: int) -> tuple[list[int], list[int], list[int]]:
    """Find the numbers of a text's tokens, and where each token begins and ends."""
    # One text per call, because waking threads for a few short texts takes longer than it saves.
    found = tokenizer.encode(text, add_special_tokens=False)
    offsets = found.offsets[:most]
    return found.ids[:most], [begin for begin, _ in offsets], [end for _, end in offsets]


def _fair_length(lengths: Sequence[int], room: int) -> int:
    """Find the length to which all longer passages are cut, so that all passages fit."""
    left, cut = room, 0
    for number, length in enumerate(sorted(lengths)):
        cut = max(0, left // (len(lengths) - number))
        if length > cut:
            return cut
        left -= length
    return max(lengths, default=0)
