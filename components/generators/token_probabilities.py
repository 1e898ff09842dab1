"""Find how probable the tokens of a reply were.

On request, a model server sends the log probability of each token. The log probability is the natural logarithm of the
probability that the model gave the token: 0 means certain, and lower numbers mean less probable. The Reasoner uses
these numbers to estimate how sure the model is of its answer.
"""

import codecs
import math
from collections.abc import Mapping
from typing import NotRequired, TypedDict


class Alternative(TypedDict):
    """A token that the model might have written, with its log probability, at most about 0."""

    token: str
    logprob: float


class TokenLogprob(TypedDict):
    """A token of a reply."""

    # The text of the token, such as " is".
    token: str
    # The log probability of the token, at most about 0.
    logprob: float
    # The UTF-8 bytes of the text of the token. None if the server sent none. A token may be only a part of a character.
    bytes: list[int] | None
    # The likeliest tokens at this place, if the server was asked for them.
    top_logprobs: NotRequired[list[Alternative]]


def read_logprobs(logprobs: object) -> list[TokenLogprob]:
    """Read the log probability of each token of a reply.

    :param logprobs: The field ``logprobs`` of a choice of a chat completion, or of the metadata of a message.
    :returns: The tokens of the reply, in order. The list is empty if there are none, or if any of them is invalid.
    """
    content = logprobs.get("content") if isinstance(logprobs, Mapping) else None
    if not isinstance(content, list):
        return []

    tokens = []
    for entry in content:
        token = _read_token(entry)
        if token is None:
            return []
        tokens.append(token)
    return tokens


def mean_logprob(meta: Mapping[str, object]) -> float | None:
    """Return the mean log probability of the tokens of a reply.

    :param meta: The metadata of the message.
    :returns: The mean, at most 0. None if the server sent no log probabilities.
    """
    tokens = read_logprobs(meta.get("logprobs"))
    if not tokens:
        return None
    # Because of rounding, a server may send a number that is slightly more than 0. It counts as 0.
    return sum(min(0.0, token["logprob"]) for token in tokens) / len(tokens)


def first_words(meta: Mapping[str, object]) -> dict[str, float]:
    """Return how probable each word was as the first one of a reply.

    For example, a reply to a question for "Yes" or "No" gives ``{"yes": 0.7, "no": 0.2}``.

    :param meta: The metadata of the message, with the likeliest tokens.
    :returns: The tokens in small letters without blanks around them, each with its probability from 0 to 1. Tokens that
        differ only in these are added up. Empty if the server sent no such tokens.
    """
    tokens = read_logprobs(meta.get("logprobs"))
    alternatives = tokens[0].get("top_logprobs", []) if tokens else []
    words: dict[str, float] = {}
    for alternative in alternatives:
        word = alternative["token"].strip().lower()
        words[word] = words.get(word, 0.0) + math.exp(min(0.0, alternative["logprob"]))
    return words


def _read_token(token: object) -> TokenLogprob | None:
    """Read one token of a reply. None if it has no text, or no number as its log probability."""
    alternative = _read_alternative(token)
    if alternative is None or not isinstance(token, Mapping):
        return None
    data = token.get("bytes")
    if not _are_bytes(data):
        data = None
    read: TokenLogprob = {"token": alternative["token"], "logprob": alternative["logprob"], "bytes": data}

    alternatives = token.get("top_logprobs")
    listed = alternatives if isinstance(alternatives, list) else []
    readable = [alternative for alternative in map(_read_alternative, listed) if alternative is not None]
    if readable:
        read["top_logprobs"] = readable
    return read


def _read_alternative(token: object) -> Alternative | None:
    """Read the text and the log probability of a token. None if either is missing."""
    if not isinstance(token, Mapping) or not isinstance(token.get("token"), str):
        return None
    logprob = token.get("logprob")
    if not isinstance(logprob, int | float) or math.isnan(logprob):
        return None
    return {"token": token["token"], "logprob": float(logprob)}


def _bytes_of(token: TokenLogprob) -> bytes:
    """Return the bytes of the text of a token."""
    if token["bytes"] is None:
        return token["token"].encode("utf-8", "replace")
    return bytes(token["bytes"])


def _are_bytes(values: object) -> bool:
    """Check whether a value is a list of whole numbers from 0 to 255."""
    if not isinstance(values, list):
        return False
    return all(isinstance(value, int) and 0 <= value < 256 for value in values)


def token_probabilities(meta: Mapping[str, object], reply: str, part: str) -> tuple[tuple[str, float], ...]:
    """Return the probability of each token of a part of a reply.

    For example, a reply "Alpha is big." may have the tokens "Alpha", " is", " big" and ".". For the part "is big", the
    function returns the probabilities of the second and the third token.

    :param meta: The metadata of the message, with the log probabilities of its tokens.
    :param reply: The text of the reply, without the thoughts that the model wrote before it.
    :param part: A section of the reply. Its blanks may differ from those of the reply.
    :returns: For each token of the part, its text and its probability from 0 to 1. Empty if the part is not found, or
        if there are no log probabilities.
    """
    tokens = read_logprobs(meta.get("logprobs"))
    letters, spans = _join_tokens(tokens)
    whole = "".join(letters)
    part_without_blanks = "".join(part.split())
    reply_without_blanks = "".join(reply.split())

    # The tokens may begin with thoughts, which are no part of `reply`. So the search begins where the reply begins.
    begin_of_reply = max(0, whole.rfind(reply_without_blanks))
    begin = whole.find(part_without_blanks, begin_of_reply)
    if not part_without_blanks or begin < 0:
        return ()
    first_token, _ = spans[begin]
    _, last_token = spans[begin + len(part_without_blanks) - 1]

    probabilities = []
    for token in tokens[first_token : last_token + 1]:
        # Because of rounding, a server may send a number that is slightly more than 0. It counts as 0.
        logprob = min(0.0, token["logprob"])
        probabilities.append((token["token"], math.exp(logprob)))
    return tuple(probabilities)


def _join_tokens(tokens: list[TokenLogprob]) -> tuple[list[str], list[tuple[int, int]]]:
    """Put the text of a reply together from the bytes of its tokens, without blanks.

    A character may span several tokens.

    :returns: The characters of the text, and for each of them the indexes of its first and its last token.
    """
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    letters: list[str] = []
    spans: list[tuple[int, int]] = []
    # If a character is not complete yet, the index of the token with which it began. Otherwise None.
    begun: int | None = None
    for number, token in enumerate(tokens):
        data = _bytes_of(token)
        decoded = decoder.decode(data)
        for place, letter in enumerate(decoded):
            if letter.isspace():
                continue
            first = number
            if place == 0 and begun is not None:
                # The bytes of the first character of this token begin in an earlier token.
                first = begun
            letters.append(letter)
            spans.append((first, number))

        # The decoder holds the bytes of a character that is not complete yet.
        incomplete_bytes, _ = decoder.getstate()
        if not incomplete_bytes:
            begun = None
        elif decoded or begun is None:
            begun = number
    return letters, spans
