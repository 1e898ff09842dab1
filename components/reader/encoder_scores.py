"""Turn the output of the encoder for a question and its passages into probabilities.

The encoder gives each token a score as the start and as the end of the answer. It also scores four kinds of answer: a
span, yes, no, and no answer at all. If there are too many passages for one run, it runs several times.
:class:`EncoderScores` puts the outputs of all runs together.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

import numpy as np

from prefrag.components.reader.reader_input import ReaderInput
from prefrag.components.reader.span_candidates import SENTENCE_BORDER, SpanCandidate

# An array of numbers.
Values = np.ndarray
# The lowest log probability of a start or an end. Lower values are set to this value.
LEAST = -25.0
# The maximum number of tokens of a span.
_LONGEST_SPAN = 16
# The number of the likeliest starts at which spans are searched.
_STARTS = 24
# Characters that are removed at both ends of a span.
_EDGES = " ,.;:()\"'\u2019\u201c\u201d"


@dataclass(frozen=True)
class Scored:
    """An input of the encoder, and its output.

    :param encoded: The input.
    :param start: The score of each token as the start of the answer.
    :param end: The score of each token as the end of the answer.
    :param kind: The scores of the four kinds of answer: a span, yes, no, and no answer at all.
    """

    encoded: ReaderInput
    start: Values
    end: Values
    kind: Values


class EncoderScores:
    """The encoder's scores for a question, normalised over all passages, even if the encoder ran several times."""

    def __init__(self, parts: Sequence[Scored]):
        """Put the outputs of several runs together.

        :param parts: The output of each run, for the same question and different passages.
        """
        self._parts = parts
        self.texts = [text for part in parts for text in part.encoded.texts]
        # The probabilities of the four kinds, from the run that most likely contains an answer.
        kinds = [np.exp(_log_shares(part.kind, np.ones(len(part.kind), bool))) for part in parts]
        self.kinds = min(kinds, key=lambda shares: float(shares[3]))

    # The following properties are computed only when they are used, because most callers need only `kinds`.
    @cached_property
    def _passage(self) -> Values:
        """For each token the index of its passage, over all runs; -1 if the token belongs to no passage."""
        # For each run the number of passages in the runs before it.
        shifts = accumulate((len(part.encoded.texts) for part in self._parts), initial=0)
        passages: list[Values] = []
        for part, shift in zip(self._parts, shifts, strict=False):
            places = np.array(part.encoded.passage)
            passages.append(np.where(places < 0, -1, places + shift))
        return np.concatenate(passages)

    @cached_property
    def _begin(self) -> list[int]:
        """For each token the index of its first character in the text of its passage."""
        return [place for part in self._parts for place in part.encoded.begin]

    @cached_property
    def _end(self) -> list[int]:
        """For each token the index after its last character in the text of its passage."""
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
        """For each passage and character, the token that begins there."""
        return {place: token for token, place in enumerate(zip(self._passage.tolist(), self._begin, strict=True))}

    @cached_property
    def _ends_at(self) -> dict[tuple[int, int], int]:
        """For each passage and character, the token that ends there."""
        return {place: token for token, place in enumerate(zip(self._passage.tolist(), self._end, strict=True))}

    def scores_of(self, candidates: Sequence[SpanCandidate]) -> Values:
        """Find the log probabilities of the start and the end of each span.

        :param candidates: The spans.
        :returns: One row per span, with the two values. A value is :data:`LEAST` if no token starts or ends there.
        """
        # The tokens at which the spans start and end; -1 if there is no such token.
        starts = [self._starts_at.get((candidate.passage, candidate.begin), -1) for candidate in candidates]
        ends = [self._ends_at.get((candidate.passage, candidate.end), -1) for candidate in candidates]
        both = [_values_at(starts, self.start), _values_at(ends, self.end)]
        return np.maximum(np.stack(both, axis=1), LEAST)

    def passage_shares(self) -> Values:
        """Compute the probability that the answer starts in each passage.

        :returns: One number per passage; together they are 1.
        """
        inside = self._passage >= 0
        return np.bincount(self._passage[inside], np.exp(self.start[inside]), minlength=max(1, len(self.texts)))

    @cached_property
    def _likeliest(self) -> list[tuple[int, int]]:
        """The likeliest spans, best first, each as its first and its last token.

        Each span begins at one of the likeliest starts.
        """
        firsts = np.argsort(-self.start, kind="stable")[:_STARTS]
        lasts = firsts[:, None] + np.arange(_LONGEST_SPAN)

        # The tokens of a passage are contiguous. So a span with both ends in one passage lies inside the passage.
        # Behind the last token there is no passage, which is written as -2.
        passages_with_end = np.append(self._passage, -2)
        passage_of_last = passages_with_end[np.minimum(lasts, len(self._passage))]
        passage_of_first = self._passage[firsts][:, None]
        inside = (passage_of_last >= 0) & (passage_of_last == passage_of_first)
        first = np.broadcast_to(firsts[:, None], lasts.shape)[inside]
        last = lasts[inside]

        worst_first = np.lexsort((last, first, self.start[first] + self.end[last]))
        best_first = worst_first[::-1]
        return list(zip(first[best_first].tolist(), last[best_first].tolist(), strict=True))

    def best_spans(self, most: int) -> list[SpanCandidate]:
        """List the likeliest spans of the answer. Spans over the border of a sentence are left out.

        :param most: The maximum number of spans.
        :returns: The spans, the likeliest first.
        """
        spans: dict[tuple[int, int, int], SpanCandidate] = {}
        for start, end in self._likeliest[: 3 * most]:
            if len(spans) == most:
                break
            passage = int(self._passage[start])
            whole = self.texts[passage][self._begin[start] : self._end[end]]
            text = whole.strip(_EDGES)
            if not text or SENTENCE_BORDER.search(text):
                continue
            edge = len(whole) - len(whole.lstrip(_EDGES))
            begin = self._begin[start] + edge
            place = (passage, begin, begin + len(text))
            spans.setdefault(place, SpanCandidate(passage, text, "read", begin, begin + len(text)))

        return list(spans.values())


def _values_at(tokens: Sequence[int], values: Values) -> Values:
    """Return the value of each token; :data:`LEAST` for a token that is -1."""
    places = np.array(tokens, np.intp)
    return np.where(places < 0, LEAST, values[places])


def _log_shares(scores: Values, counted: Values) -> Values:
    """Turn scores into log probabilities whose probabilities add up to 1 over the tokens that are counted."""
    scores = np.where(counted, np.asarray(scores, np.float64), -1e9)
    top = scores.max()
    return scores - top - np.log(np.exp(scores - top).sum())
