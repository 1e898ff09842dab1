"""The input of the reader's encoder: a question and passages as one sequence of tokens."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from prefrag.components.text.sentences import WORD_EDGE

LONGEST = 512
SEPARATORS = ("[CLS]", "[SEP]")  # the tokens before the question, and after it and each passage
_LONGEST_QUESTION = 64
# The number of texts whose tokens are cached: a passage is encoded with others, alone, and again in later steps.
_CACHED_TEXTS = 256
# Matches titles such as `PMID 23649844`, which only number a record in a database and say nothing about its content.
_RECORD_NUMBER = re.compile(r"(?:\S+\s+)?\d{5,}")


@dataclass(frozen=True)
class ReaderInput:
    """A question and passages as tokens."""

    ids: list[int]  # the token ids, at most `LONGEST` of them
    types: list[int]  # for each token: 0 up to the end of the question, 1 after it
    texts: list[str]  # the text of each passage as the encoder sees it, title first
    passage: list[int]  # for each token the index of its passage; -1 if it belongs to no passage
    begin: list[int]  # for each token the index of its first character in the passage's text
    end: list[int]  # for each token the index after its last character in the passage's text


def load_tokenizer(file: Path) -> Any:
    """Load a ``tokenizer.json`` as a ``tokenizers.Tokenizer``, with truncation and padding switched off."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(file))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def passage_text(title: str, text: str) -> str:
    """Put the title and a full stop before a text, unless the title is empty or only a record number (``PMID 123``)."""
    title = title.strip()
    return f"{title}. {text}" if title and not _RECORD_NUMBER.fullmatch(title) else text


def encode(tokenizer: Any, question: str, passages: Sequence[tuple[str, str]], longest: int = LONGEST) -> ReaderInput:
    """Make the input of the encoder: the question and then the passages, with a separator token after each of them.

    Only the first 64 tokens of the question are used. If the input would have more than ``longest`` tokens, the longest
    passages lose their ends: they are all cut to the same length.
    """
    texts = [passage_text(title, text) for title, text in passages]
    asked, _, _ = _tokens(tokenizer, question, longest)
    encoded = [_tokens(tokenizer, text, longest) for text in texts]
    first, separator = (tokenizer.token_to_id(token) for token in SEPARATORS)
    ids = [first, *asked[:_LONGEST_QUESTION], separator]
    cut = _fair_length([len(own) for own, _, _ in encoded], longest - len(ids) - len(texts))
    passage, begin, end = [-1] * len(ids), [0] * len(ids), [0] * len(ids)
    types = [0] * len(ids)
    for place, (own, begins, ends) in enumerate(encoded):
        kept = len(own) if len(own) <= cut else _whole_words(texts[place], ends, cut)
        ids += [*own[:kept], separator]
        types += [1] * (kept + 1)
        passage += [*([place] * kept), -1]
        begin += [*begins[:kept], 0]
        end += [*ends[:kept], 0]
    return ReaderInput(ids, types, texts, passage, begin, end)


def _whole_words(text: str, ends: Sequence[int], cut: int) -> int:
    """Find how many tokens to keep, so that no word is cut in two and no half of a number can be the answer."""
    for number in range(cut, cut // 2, -1):
        if WORD_EDGE.match(text, ends[number - 1]):
            return number
    return cut


@lru_cache(maxsize=_CACHED_TEXTS)
def _tokens(tokenizer: Any, text: str, most: int) -> tuple[list[int], list[int], list[int]]:
    """Tokenise a text; return the ids of its tokens, and the characters at which the tokens begin and end."""
    # Texts are not encoded as a batch: the tokenizer would use threads, which costs more time than it saves here.
    found = tokenizer.encode(text, add_special_tokens=False)
    offsets = found.offsets[:most]
    return found.ids[:most], [begin for begin, _ in offsets], [end for _, end in offsets]


def _fair_length(lengths: Sequence[int], room: int) -> int:
    """Find the maximum number of tokens per passage at which all passages fit into ``room`` tokens."""
    left, cut = room, 0
    for number, length in enumerate(sorted(lengths)):
        cut = max(0, left // (len(lengths) - number))
        if length > cut:
            return cut
        left -= length
    return max(lengths, default=0)
