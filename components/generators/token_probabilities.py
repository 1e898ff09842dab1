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
    read = [_read_token(token) for token in content]
    return [] if None in read else [token for token in read if token is not None]


def mean_logprob(meta: Mapping[str, object]) -> float | None:
    """Return the mean log probability of a reply's tokens; None if the server sent none."""
    tokens = read_logprobs(meta.get("logprobs"))
    return sum(min(0.0, token["logprob"]) for token in tokens) / len(tokens) if tokens else None


def _read_token(token: object) -> TokenLogprob | None:
    if not isinstance(token, Mapping) or not isinstance(token.get("token"), str):
        return None
    logprob, data = token.get("logprob"), token.get("bytes")
    if not isinstance(logprob, int | float) or math.isnan(logprob):
        return None
    is_data = isinstance(data, list) and all(isinstance(byte, int) and 0 <= byte < 256 for byte in data)
    return {"token": token["token"], "logprob": float(logprob), "bytes": data if is_data else None}


def token_probabilities(meta: Mapping[str, object], reply: str, part: str) -> tuple[tuple[str, float], ...]:
    """Return each token of ``part``, a section of ``reply``, with its probability; empty if ``part`` is not found."""
    tokens = read_logprobs(meta.get("logprobs"))
    # A character may span several tokens, so the text is put together from the bytes of the tokens.
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    letters: list[str] = []
    # For each character, the numbers of its first and its last token.
    spans: list[tuple[int, int]] = []
    begun: int | None = None
    for number, token in enumerate(tokens):
        data = token["token"].encode("utf-8", "replace") if token["bytes"] is None else bytes(token["bytes"])
        decoded = decoder.decode(data)
        for place, letter in enumerate(decoded):
            if not letter.isspace():
                letters.append(letter)
                spans.append((number if place or begun is None else begun, number))
        is_open = bool(decoder.getstate()[0])
        begun = (number if decoded or begun is None else begun) if is_open else None
    whole, wanted = "".join(letters), "".join(part.split())
    place = whole.find(wanted, max(0, whole.rfind("".join(reply.split()))))
    if not wanted or place < 0:
        return ()
    first, last = spans[place][0], spans[place + len(wanted) - 1][1]
    return tuple((token["token"], math.exp(min(0.0, token["logprob"]))) for token in tokens[first : last + 1])
