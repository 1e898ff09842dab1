"""Reading the encoder's scores."""

import numpy as np
import pytest

from prefrag.components.reader.encoder_scores import LEAST, EncoderScores, Scored
from prefrag.components.reader.reader_input import ReaderInput
from prefrag.components.reader.span_candidates import SpanCandidate


def scored(text: str, start: int, end: int, none: float = 0.0, height: float = 5.0) -> Scored:
    """A question of one token and a passage whose words are tokens; the scores point at two of them."""
    begins = [place for place in range(len(text)) if place == 0 or text[place - 1] == " "]
    ends = [text.find(" ", begin) if " " in text[begin:] else len(text) for begin in begins]
    count = len(begins)
    encoded = ReaderInput([0] * (count + 1), [0, *[1] * count], [text], [-1, *[0] * count], [0, *begins], [0, *ends])
    starts, stops = np.zeros(count + 1), np.zeros(count + 1)
    starts[start + 1], stops[end + 1] = height, height
    return Scored(encoded, starts, stops, np.array([0.0, 0.0, 0.0, none]))


def test_best_span_joins_best_start_and_end_among_all_parts():
    [best] = EncoderScores([scored("she met Ann Low there", 2, 3)]).best_spans(1)

    assert (best.text, best.begin, best.end) == ("Ann Low", 8, 15)
    assert all(one.begin < one.end for one in EncoderScores([scored("she met Ann Low there", 3, 1)]).best_spans(5))

    parts = [scored("she met Ann", 2, 2, height=4), scored("he met Bea", 2, 2, height=6)]

    scores = EncoderScores(parts)

    assert [(one.text, one.passage) for one in scores.best_spans(2)] == [("Bea", 1), ("Ann", 0)]
    assert scores.passage_shares().sum() == pytest.approx(1)


def test_span_between_tokens_scores_least():
    """An answer may be in the likeliest part."""

    scores = EncoderScores([scored("she met Ann", 2, 2)])

    [found] = scores.scores_of([SpanCandidate(0, "he", "phrase", 1, 3)]).tolist()
    assert found == [LEAST, pytest.approx(scores.end[1])]
    assert EncoderScores([scored("a b", 0, 0, none=9), scored("c d", 0, 0, none=-9)]).kinds[3] < 0.1
