"""A second look at a possible answer: the encoder reads its sentence with the answer marked, and its passage alone."""

from collections.abc import Callable, Sequence, Set
from functools import cached_property

import numpy as np

from prefrag.components.reader.another_question import ignores_negation, is_of_another_name, is_of_another_time
from prefrag.components.reader.encoder_scores import EncoderScores
from prefrag.components.reader.question_form import question_head
from prefrag.components.reader.reader_input import passage_text
from prefrag.components.reader.span_candidates import SpanCandidate
from prefrag.components.reader.span_features import WordWeight, question_weights, stems_of, word_weights_of
from prefrag.components.text.sentences import sentence_spans
from prefrag.components.text.term_statistics import sum_of_weights

BEFORE, AFTER = "\u00ab ", " \u00bb"
_LEAST = 1e-4

Passage = tuple[str, str]
ScorePassages = Callable[[str, Sequence[Passage]], EncoderScores]


class SecondLook:
    """Examine a single possible answer more closely: by the words of its sentence, and with a further encoder run."""

    def __init__(
        self, question: str, passages: Sequence[Passage], weight: WordWeight, score: ScorePassages | None = None
    ):
        self._question, self._passages, self._score = question, passages, score
        self._weights = word_weights_of(question, weight)
        self._asked = question_weights(question, weight)
        self._head = question_weights(question_head(question), weight)
        self._shifts = [len(passage_text(title, text)) - len(text) for title, text in passages]
        # A cache for :meth:`_second`. Its keys are the passage and the sentence of a candidate.
        self._found: dict[tuple[int, int], tuple[Passage | None, frozenset[str]]] = {}

    @cached_property
    def _spans(self) -> list[tuple[tuple[int, int], ...]]:
        return [sentence_spans(text) or ((0, len(text)),) for _, text in self._passages]

    @cached_property
    def _stems(self) -> list[list[frozenset[str]]]:
        stems: list[list[frozenset[str]]] = []
        for (_, text), spans in zip(self._passages, self._spans, strict=True):
            stems.append([stems_of(text[begin:end]) for begin, end in spans])
        return stems

    @cached_property
    def _titles(self) -> list[frozenset[str]]:
        return [stems_of(title) for title, _ in self._passages]

    def odds_of(self, candidate: SpanCandidate) -> float:
        """Let the encoder read a candidate's :meth:`marked` sentence; return the log odds that it has an answer."""
        span, _, _, none = self._read(self.marked(candidate)).kinds
        return float(np.log(span + _LEAST) - np.log(none + _LEAST))

    def alone(self, candidate: SpanCandidate) -> EncoderScores:
        """Let the encoder read the passage of a candidate alone, without the other passages."""
        return self._read([self._passages[candidate.passage]])

    def holds_of(self, candidate: SpanCandidate) -> float:
        """Measure how much of the question a candidate's sentence and title cover, from 0 to 1."""
        return sum_of_weights(self._asked, self._held(candidate))

    def form_of(self, candidate: SpanCandidate) -> frozenset[str]:
        """List the stems of the words that stand around a candidate in its sentence."""
        return self._stems[candidate.passage][self._sentence_of(candidate)] - stems_of(candidate.text)

    def most_of(self, passage: int) -> float:
        """Measure how much of the question a passage's best sentence and its title cover, from 0 to 1."""
        title = self._titles[passage]
        return max(sum_of_weights(self._asked, sentence | title) for sentence in self._stems[passage])

    def answers_another_question(self, candidate: SpanCandidate) -> bool:
        """Check whether a candidate is about another time or thing than the question, or ignores a "not" in it."""
        title, text = self._passages[candidate.passage]
        shift = self._shifts[candidate.passage]
        if candidate.begin < shift:
            return False
        first, last = self._spans[candidate.passage][self._sentence_of(candidate)]
        begin, end = candidate.begin - shift - first, candidate.end - shift - first
        sentence = text[first : max(last, first + end)]
        is_affirmation = ignores_negation(self._question, f"{title} {sentence}")
        place = self._question, sentence, begin, end
        return is_affirmation or is_of_another_time(*place) or is_of_another_name(*place)

    def covers_of(self, candidate: SpanCandidate) -> tuple[float, float, float]:
        """Measure how much of the question, and of its `question_head`, a candidate's sentence and title cover.

        The third value is the largest share of the question that a sentence of another passage covers in addition. All
        three values are from 0 to 1.
        """
        held = self._held(candidate)
        added = sum_of_weights(self._asked, self._second(candidate)[1] - held)
        return self.holds_of(candidate), sum_of_weights(self._head, held), added

    def lacks_of(self, candidate: SpanCandidate) -> tuple[float, float, float, float]:
        """Find the weight, from 0 to 1, of the rarest word of the question that a text lacks; 0 if it lacks none.

        A text that lacks a rare word may be about another thing. The texts are: all passages, the candidate's passage,
        and the candidate's sentence with the title. The fourth value is for the sentence with the title again, but only
        for the words of the `question_head`.
        """
        held = self._held(candidate)
        whole = [set().union(title, *sentences) for title, sentences in zip(self._titles, self._stems, strict=True)]
        return (
            self._rarest(self._weights, set().union(*whole)),
            self._rarest(self._weights, whole[candidate.passage]),
            self._rarest(self._weights, held),
            self._rarest({one: self._weights[one] for one in self._head}, held),
        )

    def marked(self, candidate: SpanCandidate) -> list[Passage]:
        """Mark a candidate in its sentence. Add a sentence of another passage that contains further question words."""
        title, text = self._passages[candidate.passage]
        shift = self._shifts[candidate.passage]
        first, last = self._spans[candidate.passage][self._sentence_of(candidate)]
        begin, end = candidate.begin - shift, candidate.end - shift
        if begin < 0:
            # The candidate is the title.
            shown = (f"{BEFORE}{candidate.text}{AFTER}", text[first:last])
        else:
            rest = text[end : max(last, end)]
            shown = (title, f"{text[first:begin]}{BEFORE}{text[begin:end]}{AFTER}{rest}")
        second, _ = self._second(candidate)
        return [shown] if second is None else [shown, second]

    def _read(self, passages: Sequence[Passage]) -> EncoderScores:
        assert self._score is not None
        return self._score(self._question, passages)

    def _sentence_of(self, candidate: SpanCandidate) -> int:
        """Find a candidate's sentence. If the candidate is the title, find the sentence nearest to the question."""
        begin = candidate.begin - self._shifts[candidate.passage]
        if begin < 0:
            stems = self._stems[candidate.passage]
            return max(range(len(stems)), key=lambda place: sum_of_weights(self._asked, stems[place]))
        spans = self._spans[candidate.passage]
        return max((place for place, span in enumerate(spans) if span[0] <= begin), default=0)

    def _held(self, candidate: SpanCandidate) -> frozenset[str]:
        sentence = self._stems[candidate.passage][self._sentence_of(candidate)]
        return sentence | self._titles[candidate.passage]

    def _second(self, candidate: SpanCandidate) -> tuple[Passage | None, frozenset[str]]:
        place = candidate.passage, self._sentence_of(candidate)
        if place not in self._found:
            self._found[place] = self._find_second(candidate.passage, self._held(candidate))
        return self._found[place]

    def _find_second(self, passage: int, held: frozenset[str]) -> tuple[Passage | None, frozenset[str]]:
        best, found, stems = 0.0, None, frozenset[str]()
        for place, (title, text) in enumerate(self._passages):
            if place == passage:
                continue
            for own, (begin, end) in zip(self._stems[place], self._spans[place], strict=True):
                both = own | self._titles[place]
                covers = sum_of_weights(self._asked, both - held)
                if covers > best:
                    best, found, stems = covers, (title, text[begin:end]), both
        return found, stems

    @staticmethod
    def _rarest(weights: dict[str, float], held: Set[str]) -> float:
        return max((weight for one, weight in weights.items() if one not in held), default=0.0)
