"""Turn the output of the encoder for a question and its passages into probabilities.

The encoder gives each token a score as the start and as the end of the answer. It also scores four kinds of answer: a
span, yes, no, and no answer at all. If there are too many passages for one run, it runs several times.
:class:`EncoderScores` puts the outputs of all runs together.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

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
_START_COUNT = 24
# The place of "no answer" among the four kinds of answer.
_NO_ANSWER = 3
# For n spans, the n times this many likeliest spans are examined. Some of them are left out, or are equal to others
# without the characters at their ends. The factor is a guess.
_SPANS_PER_RESULT = 3
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
        kinds: list[Values] = []
        for part in parts:
            all_kinds = np.ones(len(part.kind), bool)
            kinds.append(np.exp(_log_shares(part.kind, counted=all_kinds)))
        self.kinds = min(kinds, key=lambda shares: float(shares[_NO_ANSWER]))

    # The following properties are computed only when they are used, because most callers need only `kinds`.
    @cached_property
    def _passage(self) -> Values:
        """For each token the index of its passage, over all runs; -1 if the token belongs to no passage."""
        passages: list[Values] = []
        passages_before = 0
        for part in self._parts:
            passages_in_run = np.array(part.encoded.passage)
            passages.append(np.where(passages_in_run < 0, -1, passages_in_run + passages_before))
            passages_before += len(part.encoded.texts)
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
        return self._tokens_at(self._begin)

    @cached_property
    def _ends_at(self) -> dict[tuple[int, int], int]:
        """For each passage and character, the token that ends there."""
        return self._tokens_at(self._end)

    def _tokens_at(self, characters: list[int]) -> dict[tuple[int, int], int]:
        """Map the passage and the character of each token to the index of the token.

        Tokens outside passages have the passage -1, which is never looked up.
        """
        places = zip(self._passage.tolist(), characters, strict=True)
        return {place: token for token, place in enumerate(places)}

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
        shares_of_tokens = np.exp(self.start[inside])
        # The sum of the shares for each passage, also for passages without a token.
        return np.bincount(self._passage[inside], weights=shares_of_tokens, minlength=max(1, len(self.texts)))

    @cached_property
    def _likeliest(self) -> list[tuple[int, int]]:
        """The likeliest spans, best first, each as its first and its last token.

        Each span begins at one of the likeliest starts.
        """
        # Two tables with one row for each start and one column for each length: the first and the last token of a span.
        starts = np.argsort(-self.start, kind="stable")[:_START_COUNT]
        firsts = np.repeat(starts[:, None], _LONGEST_SPAN, axis=1)
        lasts = firsts + np.arange(_LONGEST_SPAN)

        # A last token may lie behind the end of the input. It then gets the passage -1, as a token outside passages.
        passages_and_end = np.append(self._passage, -1)
        passage_of_last = passages_and_end[np.minimum(lasts, len(self._passage))]
        # The tokens of a passage are contiguous. So a span with both ends in one passage lies inside the passage.
        inside = (passage_of_last >= 0) & (passage_of_last == self._passage[firsts])
        first, last = firsts[inside], lasts[inside]

        # `lexsort` sorts by its last key first: by the score, then by the first and the last token.
        score = self.start[first] + self.end[last]
        worst_first = np.lexsort((last, first, score))
        best_first = worst_first[::-1]
        return list(zip(first[best_first].tolist(), last[best_first].tolist(), strict=True))

    def best_spans(self, most: int) -> list[SpanCandidate]:
        """List the likeliest spans of the answer. Spans over the border of a sentence are left out.

        :param most: The maximum number of spans.
        :returns: The spans, the likeliest first.
        """
        spans: dict[tuple[int, int, int], SpanCandidate] = {}
        for start, end in self._likeliest[: _SPANS_PER_RESULT * most]:
            if len(spans) == most:
                break
            passage = int(self._passage[start])
            whole = self.texts[passage][self._begin[start] : self._end[end]]
            text = whole.strip(_EDGES)
            if not text or SENTENCE_BORDER.search(text):
                continue
            characters_removed = len(whole) - len(whole.lstrip(_EDGES))
            begin = self._begin[start] + characters_removed
            place = (passage, begin, begin + len(text))
            spans.setdefault(place, SpanCandidate(passage, text, "read", begin, begin + len(text)))

        return list(spans.values())


def _values_at(tokens: Sequence[int], values: Values) -> Values:
    """Return the value of each token; :data:`LEAST` for a token that is -1."""
    places = np.array(tokens, np.intp)
    return np.where(places < 0, LEAST, values[places])


def _log_shares(scores: Values, counted: Values) -> Values:
    """Turn scores into log probabilities. The probabilities of the counted scores add up to 1, and others are near 0.

    :param scores: The scores, of any shape.
    :param counted: For each score, whether it is counted.
    """
    scores = np.where(counted, np.asarray(scores, np.float64), -1e9)
    top = scores.max()
    return scores - top - np.log(np.exp(scores - top).sum())
