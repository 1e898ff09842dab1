"""What the encoder says of a question's passages: a probability for each span, and for yes, no and no answer."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Any

import numpy as np

from prefrag.components.reader.reader_input import ReaderInput
from prefrag.components.reader.span_candidates import SENTENCE_BORDER, SpanCandidate

Values = np.ndarray[Any, Any]
LEAST = -25.0
_LONGEST_SPAN = 16
_STARTS = 24
_EDGES = " ,.;:()\"'\u2019\u201c\u201d"


@dataclass(frozen=True)
class Scored:
    """An input of the encoder with its output.

    :param encoded: The input.
    :param start: For each token its score as the start of the answer.
    :param end: For each token its score as its end.
    :param kind: The scores of a span, yes, no and none.
    """

    encoded: ReaderInput
    start: Values
    end: Values
    kind: Values


class EncoderScores:
    """The scores of the encoder, normalised over all passages of a question.

    :param parts: The inputs with their outputs; more than one where the passages do not fit into one.
    """

    def __init__(self, parts: Sequence[Scored]):
        self._parts = parts
        self.texts = [text for part in parts for text in part.encoded.texts]
        self._begin = [place for part in parts for place in part.encoded.begin]
        self._end = [place for part in parts for place in part.encoded.end]
        # Of a span, yes, no and none: of the part that is likeliest to hold an answer.
        kinds = [np.exp(_log_shares(part.kind, np.ones(len(part.kind), bool))) for part in parts]
        self.kinds = min(kinds, key=lambda shares: float(shares[3]))

    # Of most inputs nobody asks more than the kinds.
    @cached_property
    def _passage(self) -> Values:
        before = accumulate((len(part.encoded.texts) for part in self._parts), initial=0)
        places = [np.array(part.encoded.passage) for part in self._parts]
        return np.concatenate(
            [np.where(place < 0, -1, place + shift) for place, shift in zip(places, before, strict=False)]
        )

    @cached_property
    def start(self) -> Values:
        """The logarithm of the probability of each token as the start of the answer."""
        return _log_shares(np.concatenate([part.start for part in self._parts]), self._passage >= 0)

    @cached_property
    def end(self) -> Values:
        """The same as its end."""
        return _log_shares(np.concatenate([part.end for part in self._parts]), self._passage >= 0)

    @cached_property
    def _starts_at(self) -> dict[tuple[int, int], int]:
        return {place: token for token, place in enumerate(zip(self._passage.tolist(), self._begin, strict=True))}

    @cached_property
    def _ends_at(self) -> dict[tuple[int, int], int]:
        return {place: token for token, place in enumerate(zip(self._passage.tolist(), self._end, strict=True))}

    def scores_of(self, candidate: SpanCandidate) -> tuple[float, float]:
        """Score a span.

        :param candidate: The span.
        :returns: The logarithms of its probabilities as start and as end; low ones where it is not among the tokens.
        """
        start = self._starts_at.get((candidate.passage, candidate.begin))
        end = self._ends_at.get((candidate.passage, candidate.end))
        return (
            LEAST if start is None else max(LEAST, float(self.start[start])),
            LEAST if end is None else max(LEAST, float(self.end[end])),
        )

    def passage_shares(self) -> Values:
        """Share the probability of the start among the passages.

        :returns: The share of each passage, from 0 to 1.
        """
        inside = self._passage >= 0
        return np.bincount(self._passage[inside], np.exp(self.start[inside]), minlength=max(1, len(self.texts)))

    def best_spans(self, most: int) -> list[SpanCandidate]:
        """List the likeliest spans.

        :param most: The most spans.
        :returns: The spans, the likeliest first.
        """
        found: list[tuple[float, int, int]] = []
        starts, ends, of = self.start.tolist(), self.end.tolist(), self._passage.tolist()
        for start in np.argsort(-self.start, kind="stable")[:_STARTS].tolist():
            if of[start] < 0:
                continue
            for end in range(start, min(start + _LONGEST_SPAN, len(of))):
                if of[end] != of[start]:
                    break
                found.append((starts[start] + ends[end], start, end))
        spans: dict[tuple[int, int, int], SpanCandidate] = {}
        for _, start, end in heapq.nlargest(3 * most, found):
            passage = of[start]
            whole = self.texts[passage][self._begin[start] : self._end[end]]
            text = whole.strip(_EDGES)
            begin = self._begin[start] + len(whole) - len(whole.lstrip(_EDGES))
            if text and len(spans) < most and not SENTENCE_BORDER.search(text):
                place = (passage, begin, begin + len(text))
                spans.setdefault(place, SpanCandidate(passage, text, "read", begin, begin + len(text)))
        return list(spans.values())


def _log_shares(scores: Values, counted: Values) -> Values:
    scores = np.where(counted, np.asarray(scores, np.float64), -1e9)
    top = scores.max()
    return scores - top - np.log(np.exp(scores - top).sum())
