"""The probabilities of the tokens of a reply, from the log probabilities that a model server sends on request."""

import codecs
import math
from collections.abc import Mapping
from typing import TypedDict


class TokenLogprob(TypedDict):
    """A token of a reply."""

    token: str
    logprob: float
    bytes: list[int] | None  # of its text; None if the server sent none


def read_logprobs(logprobs: object) -> list[TokenLogprob]:
    """Read the log probability of each token in a choice of a chat completion; an empty list if any is invalid."""
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
    """Return the mean log probability of a reply's tokens; None if the server sent none."""
    tokens = read_logprobs(meta.get("logprobs"))
    if not tokens:
        return None
    # Because of rounding, a server may send a number that is slightly more than 0.
    return sum(min(0.0, token["logprob"]) for token in tokens) / len(tokens)


def _read_token(token: object) -> TokenLogprob | None:
    if not isinstance(token, Mapping) or not isinstance(token.get("token"), str):
        return None
    logprob, data = token.get("logprob"), token.get("bytes")
    if not isinstance(logprob, int | float) or math.isnan(logprob):
        return None
    return {"token": token["token"], "logprob": float(logprob), "bytes": data if _are_bytes(data) else None}


def _are_bytes(values: object) -> bool:
    return isinstance(values, list) and all(isinstance(value, int) and 0 <= value < 256 for value in values)


def token_probabilities(meta: Mapping[str, object], reply: str, part: str) -> tuple[tuple[str, float], ...]:
    """Return each token of ``part``, a section of ``reply``, with its probability; empty if ``part`` is not found."""
    tokens = read_logprobs(meta.get("logprobs"))
    # A character may span several tokens, so the text is put together from the bytes of the tokens.
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    letters: list[str] = []
    # For each character, the numbers of its first and its last token.
    spans: list[tuple[int, int]] = []
    # The number of the token with which a character began that is not complete yet.
    begun: int | None = None
    for number, token in enumerate(tokens):
        data = token["token"].encode("utf-8", "replace") if token["bytes"] is None else bytes(token["bytes"])
        decoded = decoder.decode(data)
        for place, letter in enumerate(decoded):
            if letter.isspace():
                continue
            # The bytes of the first character may begin in an earlier token.
            first = begun if place == 0 and begun is not None else number
            letters.append(letter)
            spans.append((first, number))
        undecoded, _ = decoder.getstate()
        if not undecoded:
            begun = None
        elif decoded or begun is None:
            begun = number

    whole, wanted = "".join(letters), "".join(part.split())
    # Thoughts, which a model writes before its reply, are no part of `reply`.
    begin_of_reply = max(0, whole.rfind("".join(reply.split())))
    begin = whole.find(wanted, begin_of_reply)
    if not wanted or begin < 0:
        return ()
    first, _ = spans[begin]
    _, last = spans[begin + len(wanted) - 1]
    return tuple((token["token"], math.exp(min(0.0, token["logprob"]))) for token in tokens[first : last + 1])
