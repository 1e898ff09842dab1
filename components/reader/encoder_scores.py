"""The encoder's output for a question's passages: the probabilities of spans, and of "yes", "no" and "no answer"."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Any

import numpy as np

from prefrag.components.reader.reader_input import ReaderInput
from prefrag.components.reader.span_candidates import SENTENCE_BORDER, SpanCandidate

Values = np.ndarray[Any, Any]
LEAST = -25.0  # the lowest log probability of a start or an end
_LONGEST_SPAN = 16
_STARTS = 24
_EDGES = " ,.;:()\"'\u2019\u201c\u201d"


@dataclass(frozen=True)
class Scored:
    """An input of the encoder, and its output."""

    encoded: ReaderInput
    start: Values  # each token's score as the start of the answer
    end: Values  # each token's score as the end of the answer
    kind: Values  # the scores of the four kinds of answer: a span, yes, no, and no answer at all


class EncoderScores:
    """The encoder's scores, normalised over all passages of a question, even if the encoder ran several times."""

    def __init__(self, parts: Sequence[Scored]):
        self._parts = parts
        self.texts = [text for part in parts for text in part.encoded.texts]
        # The probabilities of the four kinds, from the input that most likely contains an answer.
        kinds = [np.exp(_log_shares(part.kind, np.ones(len(part.kind), bool))) for part in parts]
        self.kinds = min(kinds, key=lambda shares: float(shares[3]))

    # The following properties are computed only when they are used, because most callers need only `kinds`.
    @cached_property
    def _passage(self) -> Values:
        before = accumulate((len(part.encoded.texts) for part in self._parts), initial=0)
        places = [np.array(part.encoded.passage) for part in self._parts]
        return np.concatenate(
            [np.where(place < 0, -1, place + shift) for place, shift in zip(places, before, strict=False)]
        )

    @cached_property
    def _begin(self) -> list[int]:
        return [place for part in self._parts for place in part.encoded.begin]

    @cached_property
    def _end(self) -> list[int]:
        return [place for part in self._parts for place in part.encoded.end]

    @cached_property
    def start(self) -> Values:
        """The log probability of each token as the start of the answer."""
        return _log_shares(np.concatenate([part.start for part in self._parts]), self._passage >= 0)

    @cached_property
    def end(self) -> Values:
        """The log probability of each token as the end of the answer."""
        return _log_shares(np.concatenate([part.end for part in self._parts]), self._passage >= 0)

    @cached_property
    def _starts_at(self) -> dict[tuple[int, int], int]:
        return {place: token for token, place in enumerate(zip(self._passage.tolist(), self._begin, strict=True))}

    @cached_property
    def _ends_at(self) -> dict[tuple[int, int], int]:
        return {place: token for token, place in enumerate(zip(self._passage.tolist(), self._end, strict=True))}

    def scores_of(self, candidates: Sequence[SpanCandidate]) -> Values:
        """Find the log probabilities of each span's start and end; :data:`LEAST` if no token starts or ends there."""
        starts = np.array([self._starts_at.get((one.passage, one.begin), -1) for one in candidates], np.intp)
        ends = np.array([self._ends_at.get((one.passage, one.end), -1) for one in candidates], np.intp)
        both = [np.where(starts < 0, LEAST, self.start[starts]), np.where(ends < 0, LEAST, self.end[ends])]
        return np.maximum(np.stack(both, axis=1), LEAST)

    def passage_shares(self) -> Values:
        """Compute the probability that the answer starts in each passage."""
        inside = self._passage >= 0
        return np.bincount(self._passage[inside], np.exp(self.start[inside]), minlength=max(1, len(self.texts)))

    @cached_property
    def _likeliest(self) -> list[tuple[int, int]]:
        """The likeliest spans, best first, as (first token, last token). Each begins at one of the likeliest starts."""
        firsts = np.argsort(-self.start, kind="stable")[:_STARTS]
        lasts = firsts[:, None] + np.arange(_LONGEST_SPAN)
        # A passage's tokens are contiguous, so a span with both ends in one passage lies within it.
        of = np.append(self._passage, -2)[np.minimum(lasts, len(self._passage))]
        inside = (of >= 0) & (of == self._passage[firsts][:, None])
        first, last = np.broadcast_to(firsts[:, None], lasts.shape)[inside], lasts[inside]
        order = np.lexsort((last, first, self.start[first] + self.end[last]))[::-1]
        return list(zip(first[order].tolist(), last[order].tolist(), strict=True))

    def best_spans(self, most: int) -> list[SpanCandidate]:
        """List up to ``most`` spans, the likeliest first."""
        spans: dict[tuple[int, int, int], SpanCandidate] = {}
        for start, end in self._likeliest[: 3 * most]:
            passage = int(self._passage[start])
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
