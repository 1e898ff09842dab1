"""Look at a possible answer a second time, more closely than at first.

The encoder reads the sentence with the answer marked in it, and it reads the passage alone. Without the encoder, the
class compares the words of the question with those of the sentence. The features in `choice_features` and
`sure_features` are made from these measurements.

In this module, a text covers a share of the question. This share is the sum of the weights of those words of the
question that the text has.
"""

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

# The marks around an answer in the text that the encoder reads: angle quotation marks with a blank.
BEFORE, AFTER = "\u00ab ", " \u00bb"
# A small probability that is added before a logarithm, so that the logarithm of 0 is never taken.
_LEAST = 1e-4

# The title and the text of a passage.
Passage = tuple[str, str]
# A function that lets the encoder read passages: from a question and passages to scores.
ScorePassages = Callable[[str, Sequence[Passage]], EncoderScores]


class SecondLook:
    """Examine a single possible answer: by the words of its sentence, and with a further run of the encoder.

    The methods take a candidate of the passages with which the object was made. The candidates are made by
    :func:`~prefrag.components.reader.span_features.span_features`.
    """

    def __init__(
        self, question: str, passages: Sequence[Passage], weight: WordWeight, score: ScorePassages | None = None
    ):
        """Prepare the look at candidates of one question.

        :param question: The question.
        :param passages: The title and the text of each passage.
        :param weight: A function that returns the weight of a word, from 0 (common) to 1 (rare).
        :param score: A function that lets the encoder read passages. If None, :meth:`odds_of` and :meth:`alone` cannot
            be used.
        """
        self._question, self._passages, self._score = question, passages, score
        self._weights = word_weights_of(question, weight)
        self._asked = question_weights(question, weight)
        self._head = question_weights(question_head(question), weight)
        # For each passage the number of characters that stand before its text in the text that the encoder reads.
        self._shifts = [len(passage_text(title, text)) - len(text) for title, text in passages]
        # A cache for :meth:`_second`. Its keys are the index of the passage and of the sentence of a candidate.
        self._found: dict[tuple[int, int], tuple[Passage | None, frozenset[str]]] = {}

    @cached_property
    def _spans(self) -> list[tuple[tuple[int, int], ...]]:
        """For each passage, the beginning and the end of each sentence."""
        return [sentence_spans(text) or ((0, len(text)),) for _, text in self._passages]

    @cached_property
    def _stems(self) -> list[list[frozenset[str]]]:
        """For each passage, the stems of each sentence."""
        stems: list[list[frozenset[str]]] = []
        for (_, text), spans in zip(self._passages, self._spans, strict=True):
            stems.append([stems_of(text[begin:end]) for begin, end in spans])
        return stems

    @cached_property
    def _titles(self) -> list[frozenset[str]]:
        """For each passage, the stems of its title."""
        return [stems_of(title) for title, _ in self._passages]

    def odds_of(self, candidate: SpanCandidate) -> float:
        """Let the encoder read the :meth:`marked` sentence of a candidate.

        :param candidate: The candidate.
        :returns: The log odds that the sentence has an answer; positive if this is more likely than no answer.
        """
        span, _, _, none = self._read(self.marked(candidate)).kinds
        return float(np.log(span + _LEAST) - np.log(none + _LEAST))

    def alone(self, candidate: SpanCandidate) -> EncoderScores:
        """Let the encoder read the passage of a candidate alone, without the other passages.

        :param candidate: The candidate.
        :returns: The scores of this passage, which has the index 0 there.
        """
        return self._read([self._passages[candidate.passage]])

    def holds_of(self, candidate: SpanCandidate) -> float:
        """Measure how much of the question the sentence of a candidate covers, together with the title of its passage.

        :param candidate: The candidate.
        :returns: The share, from 0 to 1.
        """
        return sum_of_weights(self._asked, self._held(candidate))

    def sentence_of(self, candidate: SpanCandidate) -> int:
        """Find the sentence of a candidate. For a title, find the sentence that covers most of the question.

        :param candidate: The candidate.
        :returns: The index of the sentence in its passage.
        """
        begin = candidate.begin - self._shifts[candidate.passage]
        if begin < 0:
            stems = self._stems[candidate.passage]
            return max(range(len(stems)), key=lambda place: sum_of_weights(self._asked, stems[place]))

        spans = self._spans[candidate.passage]
        return max((place for place, (first, _) in enumerate(spans) if first <= begin), default=0)

    def form_of(self, candidate: SpanCandidate) -> frozenset[str]:
        """List the stems of the words that stand around a candidate in its sentence.

        :param candidate: The candidate.
        :returns: The stems of the sentence without those of the candidate.
        """
        return self._stems[candidate.passage][self.sentence_of(candidate)] - stems_of(candidate.text)

    def most_of(self, passage: int) -> float:
        """Measure how much of the question the best sentence of a passage covers, together with the title.

        :param passage: The index of the passage.
        :returns: The share, from 0 to 1.
        """
        title = self._titles[passage]
        return max(sum_of_weights(self._asked, sentence | title) for sentence in self._stems[passage])

    def answers_another_question(self, candidate: SpanCandidate) -> bool:
        """Check whether a candidate's sentence is about another time or thing, or ignores a "not" in the question.

        :param candidate: The candidate.
        :returns: Whether the sentence answers another question; False if the candidate is the title of the passage.
        """
        title, text = self._passages[candidate.passage]
        shift = self._shifts[candidate.passage]
        if candidate.begin < shift:
            return False

        first, last = self._spans[candidate.passage][self.sentence_of(candidate)]
        begin, end = candidate.begin - shift - first, candidate.end - shift - first
        sentence = text[first : max(last, first + end)]

        if ignores_negation(self._question, f"{title} {sentence}"):
            return True
        is_of_other_time = is_of_another_time(self._question, sentence, begin, end)
        return is_of_other_time or is_of_another_name(self._question, sentence, begin, end)

    def covers_of(self, candidate: SpanCandidate) -> tuple[float, float, float]:
        """Measure how much of the question a candidate's sentence covers, together with the title.

        :param candidate: The candidate.
        :returns: Three shares from 0 to 1. First, the share of the whole question. Second, the share of its
            :func:`~prefrag.components.reader.question_form.question_head`. Third, the largest share that a sentence of
            another passage adds to the first one.
        """
        covered = self._held(candidate)
        _, stems_of_second = self._second(candidate)
        added = sum_of_weights(self._asked, stems_of_second - covered)
        return self.holds_of(candidate), sum_of_weights(self._head, covered), added

    def lacks_of(self, candidate: SpanCandidate) -> tuple[float, float, float, float]:
        """Find the rarest word of the question that a text lacks.

        A text that lacks a rare word may be about another thing.

        :param candidate: The candidate.
        :returns: Four weights from 0 to 1, each of the rarest word that a text lacks; 0 if the text lacks no word. The
            texts are: all passages, the candidate's passage, the candidate's sentence with the title, and the same
            sentence again. The fourth weight is only for words of the
            :func:`~prefrag.components.reader.question_form.question_head`.
        """
        covered = self._held(candidate)
        # For each passage the stems of its title and its text.
        stems = [set().union(title, *sentences) for title, sentences in zip(self._titles, self._stems, strict=True)]
        head_weights = {stem: self._weights[stem] for stem in self._head}
        return (
            self._rarest(self._weights, set().union(*stems)),
            self._rarest(self._weights, stems[candidate.passage]),
            self._rarest(self._weights, covered),
            self._rarest(head_weights, covered),
        )

    def marked(self, candidate: SpanCandidate) -> list[Passage]:
        """Mark a candidate in its sentence, for a further run of the encoder.

        :param candidate: The candidate.
        :returns: The passage with only this sentence. If a sentence of another passage has further words of the
            question, this sentence is a second passage.
        """
        title, text = self._passages[candidate.passage]
        shift = self._shifts[candidate.passage]
        first, last = self._spans[candidate.passage][self.sentence_of(candidate)]

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
        """Let the encoder read passages."""
        assert self._score is not None
        return self._score(self._question, passages)

    def _held(self, candidate: SpanCandidate) -> frozenset[str]:
        """List the stems of a candidate's sentence and of the title of its passage."""
        sentence = self._stems[candidate.passage][self.sentence_of(candidate)]
        return sentence | self._titles[candidate.passage]

    def _second(self, candidate: SpanCandidate) -> tuple[Passage | None, frozenset[str]]:
        """Return the result of :meth:`_find_second` for a candidate, from the cache if it is there."""
        place = candidate.passage, self.sentence_of(candidate)
        if place not in self._found:
            self._found[place] = self._find_second(candidate.passage, self._held(candidate))
        return self._found[place]

    def _find_second(self, passage: int, covered: frozenset[str]) -> tuple[Passage | None, frozenset[str]]:
        """Find the sentence of another passage that covers most of those question words that are not covered yet.

        :param passage: The index of the candidate's passage.
        :param covered: The stems of the candidate's sentence and title.
        :returns: The title and the sentence, and their stems; None and no stems if no sentence adds a word.
        """
        best, best_passage, stems = 0.0, None, frozenset[str]()
        for place, (title, text) in enumerate(self._passages):
            if place == passage:
                continue
            for sentence_stems, (begin, end) in zip(self._stems[place], self._spans[place], strict=True):
                both = sentence_stems | self._titles[place]
                covers = sum_of_weights(self._asked, both - covered)
                if covers > best:
                    best, best_passage, stems = covers, (title, text[begin:end]), both
        return best_passage, stems

    @staticmethod
    def _rarest(weights: dict[str, float], covered: Set[str]) -> float:
        """Return the largest weight of a word that is not covered; 0 if all are covered."""
        return max((weight for stem, weight in weights.items() if stem not in covered), default=0.0)
