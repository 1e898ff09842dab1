"""Make the input of the reader's encoder: a question and passages as one sequence of tokens.

The sequence begins with the question. Each passage follows, with its title before its text. For each token the module
remembers where the token stands in its passage, so that spans of tokens become spans of text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from prefrag.components.text.sentences import WORD_EDGE

if TYPE_CHECKING:
    from tokenizers import Tokenizer

# The maximum number of tokens of an input, the question and all passages together.
LONGEST = 512
# The token before the question, and the token behind the question and behind each passage.
SEPARATORS = ("[CLS]", "[SEP]")
# The number of tokens that are used of a question. Further tokens are cut off.
_LONGEST_QUESTION = 64
# The maximum number of texts whose tokens are cached. A passage is encoded several times: with others, alone, and again
# in later steps.
_CACHED_TEXTS = 256
# A title that only numbers a record in a database and says nothing about its content. It matches "PMID 23649844".
_RECORD_NUMBER = re.compile(r"(?:\S+\s+)?\d{5,}")


@dataclass(frozen=True)
class ReaderInput:
    """A question and passages as tokens.

    :param ids: The ids of the tokens.
    :param types: For each token 0 up to the end of the question, and 1 behind it.
    :param texts: The text of each passage as the encoder sees it, with the title first.
    :param passage: For each token the index of its passage; -1 if the token belongs to no passage.
    :param begin: For each token the index of its first character in the passage's text.
    :param end: For each token the index after its last character in the passage's text.
    """

    ids: list[int]
    types: list[int]
    texts: list[str]
    passage: list[int]
    begin: list[int]
    end: list[int]


def load_tokenizer(file: Path) -> Tokenizer:
    """Load the tokenizer of an encoder, with truncation and padding switched off.

    :param file: A ``tokenizer.json``.
    :returns: A ``tokenizers.Tokenizer``.
    """
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(file))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def passage_text(title: str, text: str) -> str:
    """Put the title and a full stop before a text.

    For example, ``passage_text("Heat", "It is a film.")`` returns ``"Heat. It is a film."``, and
    ``passage_text("PMID 23649844", "It helps.")`` returns ``"It helps."``.

    :param title: The title. It is left out if it is empty or only the number of a record.
    :param text: The text of the passage.
    :returns: The text that the encoder reads.
    """
    title = title.strip()
    return f"{title}. {text}" if title and not _RECORD_NUMBER.fullmatch(title) else text


def encode(tokenizer: Any, question: str, passages: Sequence[tuple[str, str]], longest: int = LONGEST) -> ReaderInput:
    """Make the input of the encoder: the question and then the passages, with a separator token behind each of them.

    Only the first 64 tokens of the question are used. If the input would have too many tokens, the longest passages
    lose their ends. They are all cut to the same length.

    :param tokenizer: The tokenizer of the encoder.
    :param question: The question.
    :param passages: The title and the text of each passage.
    :param longest: The maximum number of tokens of the input.
    :returns: The input.
    """
    texts = [passage_text(title, text) for title, text in passages]
    tokens_of_question = _tokens(tokenizer, question, longest)
    tokens_of_texts = [_tokens(tokenizer, text, longest) for text in texts]

    first, separator = (tokenizer.token_to_id(token) for token in SEPARATORS)
    ids = [first, *tokens_of_question.ids[:_LONGEST_QUESTION], separator]
    types, passage, begin, end = [0] * len(ids), [-1] * len(ids), [0] * len(ids), [0] * len(ids)

    # Each passage also needs room for the separator behind it.
    room = longest - len(ids) - len(texts)
    cut = _fair_length([len(tokens.ids) for tokens in tokens_of_texts], room)
    for place, tokens in enumerate(tokens_of_texts):
        is_too_long = len(tokens.ids) > cut
        count = _whole_words(texts[place], tokens.end, cut) if is_too_long else len(tokens.ids)
        ids += [*tokens.ids[:count], separator]
        types += [1] * (count + 1)
        passage += [place] * count + [-1]
        begin += [*tokens.begin[:count], 0]
        end += [*tokens.end[:count], 0]

    return ReaderInput(ids, types, texts, passage, begin, end)


def _whole_words(text: str, ends: Sequence[int], cut: int) -> int:
    """Find how many tokens of a passage to keep, so that no word is cut in two.

    Otherwise half of a number could be the answer.

    :param text: The text of the passage.
    :param ends: For each token the index after its last character.
    :param cut: The maximum number of tokens.
    :returns: The number of tokens to keep, at least half of ``cut``.
    """
    for number in range(cut, cut // 2, -1):
        if WORD_EDGE.match(text, ends[number - 1]):
            return number
    return cut


class _Tokens(NamedTuple):
    """The tokens of a text.

    :param ids: The ids of the tokens.
    :param begin: For each token the index of its first character in the text.
    :param end: For each token the index after its last character.
    """

    ids: list[int]
    begin: list[int]
    end: list[int]


@lru_cache(maxsize=_CACHED_TEXTS)
def _tokens(tokenizer: Tokenizer, text: str, most: int) -> _Tokens:
    """Tokenise a text, up to a maximum number of tokens."""
    # Texts are not encoded as a batch: the tokenizer would use threads, which costs more time than it saves here.
    encoding = tokenizer.encode(text, add_special_tokens=False)
    offsets = encoding.offsets[:most]
    return _Tokens(encoding.ids[:most], [begin for begin, _ in offsets], [end for _, end in offsets])


def _fair_length(lengths: Sequence[int], room: int) -> int:
    """Find the maximum number of tokens per passage with which all passages have room.

    For example, ``_fair_length([10, 50, 60], 90)`` returns ``40``.

    :param lengths: The number of tokens of each passage.
    :param room: The number of tokens for all passages together.
    :returns: The maximum number for one passage.
    """
    left = room
    for number, length in enumerate(sorted(lengths)):
        # This passage and all longer ones share the room that the shorter ones leave.
        sharing = len(lengths) - number
        cut = max(0, left // sharing)
        if length > cut:
            return cut
        left -= length
    return max(lengths, default=0)
