"""Find the answer to a question in the text of documents, with a small encoder and boosted decision trees.

This is the shipped reader. It reads in these steps:

1. If the documents have rows of tables that fit the question, a rule answers from the rows.
2. A yes-or-no question is decided by trees.
3. A question such as "Who is older, A or B?" is decided by the dates of the two things.
4. For all other questions, the encoder and patterns propose spans. Trees rank the spans, and other trees choose among
   the best. The last trees estimate how likely the choice is right.

The reader can also judge an answer that somebody else proposes, such as a language model.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from haystack import Document, default_to_dict

from prefrag.components.block import Block, check_range
from prefrag.components.both_ways import in_thread_async
from prefrag.components.reader import choice_features, question_form, span_features, sure_features, yes_no_features
from prefrag.components.reader.another_question import is_of_another_name, is_of_another_time
from prefrag.components.reader.answer_carrier import Carrier, find_carrier
from prefrag.components.reader.answer_support import measure_support
from prefrag.components.reader.asked_labels import Excerpt, excerpts_on_asked, whole_texts
from prefrag.components.reader.choice_features import answer_shares, rank_answers
from prefrag.components.reader.dated_choice import choose_by_date, find_alternatives
from prefrag.components.reader.document_choice import choose_documents
from prefrag.components.reader.doubts.doubtful_statement import find_doubt
from prefrag.components.reader.encoder_scores import EncoderScores
from prefrag.components.reader.newer_answer import find_newer_answer, has_rival, is_replaced
from prefrag.components.reader.proposed_span import find_proposed, span_of_proposed
from prefrag.components.reader.reader import Candidate, Judgement
from prefrag.components.reader.reader_files import (
    CHOICE_TREES,
    SHIPPED_READER,
    SPAN_TREES,
    SURE_TREES,
    YES_NO_TREES,
    Passage,
    ReaderParts,
    load_parts,
)
from prefrag.components.reader.reader_input import passage_text
from prefrag.components.reader.second_look import SecondLook
from prefrag.components.reader.span_candidates import SpanCandidate
from prefrag.components.reader.span_features import WordWeight, question_weights, stems_of
from prefrag.components.reader.tables.row_answer import answer_from_rows, row_limits
from prefrag.components.reader.tables.value_kind import is_uncomputed
from prefrag.components.reader.whole_token import extend_to_tokens
from prefrag.components.state.evidence import is_heading
from prefrag.components.state.places import heading_of, standing_of
from prefrag.components.text.code_spelling import spell_codes
from prefrag.components.text.sentences import sentence_at, shown_sentences, with_list
from prefrag.components.text.term_statistics import sum_of_weights
from prefrag.components.trees import load_trees

# The number of passages that the encoder reads in one run.
_PASSAGES_TOGETHER = 5
# The probability of an answer that a rule finds in the rows of a table. All 39 such answers to the questions in
# tests/components/reader/tables/table_questions.jsonl are right. Wilson's 95% interval for this share begins at 0.91.
ROW_RIGHT = 0.9
# The maximum number of documents to read. It is the same as in training. If there are more documents,
# `choose_documents` chooses among them.
_MOST_DOCUMENTS = 5
# The maximum number of sentences of a proposed answer that are looked up in the documents. The first sentences have the
# answer, and a model may write thousands.
_MOST_SENTENCES = 5
# A probability that is multiplied by this is just too low for the answer to be shown as probable.
_JUST_BELOW = 0.99
# The maximum number of answers that are returned.
_MOST_CANDIDATES = 5
# The maximum number of cached lists of answers.
_CACHED_ANSWERS = 64


@dataclass
class _Choice:
    """The possible answers to a question, and the measurements by which one of them is chosen.

    :param passages: The title and the text of each passage.
    :param scores: The scores of the encoder.
    :param spans: All spans with their features.
    :param look: Looks at the answers a second time.
    :param chosen: For each answer the index of its best span, its score and its features; the best answer first.
    """

    passages: Sequence[Passage]
    scores: EncoderScores
    spans: span_features.Spans
    look: SecondLook
    chosen: list[tuple[int, float, Any]]

    @property
    def scores_of_answers(self) -> list[tuple[int, float]]:
        """For each answer the index of its best span and its score."""
        return [(span, score) for span, score, _ in self.chosen]

    def put_first(self, number: int) -> None:
        """Move an answer to the first place, by its index among the answers."""
        self.chosen.insert(0, self.chosen.pop(number))


@dataclass(frozen=True)
class _ShownSpan:
    """A span that may be shown to the user as an answer.

    :param text: The span.
    :param document: The document of the span.
    :param begin: The index of its first character in the content of the document; negative if it stands in the title.
    :param end: The index after its last character.
    :param share: The share of the question that its sentence covers, from 0 to 1.
    :param is_unclear: Whether its sentence may be about another thing, see :class:`Excerpt`.
    """

    text: str
    document: Document
    begin: int
    end: int
    share: float
    is_unclear: bool


class _Reading:
    """A cache key: equal for the same reader, the same question and the same, unchanged document objects."""

    def __init__(self, reader: ExtractiveReader, question: str, documents: Sequence[Document]):
        self.reader, self.question, self.documents = reader, question, documents
        states = [(id(document), document.content, repr(document.meta)) for document in documents]
        # A forked process has another id, so it does not use the results of its parent.
        self._key = (reader.model, os.getpid(), question, *states)

    def __hash__(self) -> int:
        return hash(self._key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Reading) and self._key == other._key


class ExtractiveReader(Block):
    """Answer a question with a span of a document, or with yes or no, and estimate how likely the answer is right.

    An encoder (MiniLM with six layers, int8, ONNX) reads the question and the documents together and proposes spans.
    Boosted trees rank these spans together with all names, dates, numbers and phrases of the documents. Other trees
    estimate how likely the best answer is right. Neither PyTorch nor a network is needed.

    Usage example:

    ```python
    from haystack import Document
    from prefrag.components.reader.extractive_reader import ExtractiveReader

    document = Document(content="The hall opened in 1966 next to the harbour.", meta={"title": "Calibration Hall"})
    for candidate in ExtractiveReader().read("When did the Calibration Hall open?", [document])[:3]:
        print(candidate.text, candidate.probability)
    ```
    """

    def __init__(self, model: str | None = None, threshold: float | None = None):
        """Choose the model, without loading it.

        :param model: A folder that ``prefrag train reader`` has written. None means the shipped reader.
        :param threshold: The minimum probability, from 0 to 1, of an answer that is given to the user. None means the
            threshold in the model's ``card.json``, which was measured after its training.
        :raises ValueError: When a setting is invalid.
        """
        if model is not None and not model:
            raise ValueError("model is empty: set it to the folder of a reader, or to null for the shipped reader.")
        check_range(0, 1, threshold=threshold)
        self.model = model
        self._threshold = threshold

    def to_dict(self) -> dict[str, object]:
        """Serialise the reader.

        :returns: A dictionary with its class and its parameters as plain values.
        """
        return default_to_dict(self, model=self.model, threshold=self._threshold)

    @property
    def threshold(self) -> float:
        """The minimum probability, from 0 to 1, of an answer that is given to the user."""
        return self._loaded().card.threshold if self._threshold is None else self._threshold

    @property
    def probable(self) -> float:
        """The minimum probability, from 0 to 1, of a probable answer.

        If the probability is at least this but below :attr:`threshold`, the user gets only the sentence with the
        answer.
        """
        return self._loaded().card.probable

    def warm_up(self) -> None:
        """Load the encoder and the trees, unless they are already loaded.

        :raises ReaderMissing: When a file or a package is missing.
        :raises ValueError: When a file of trees is unreadable, or when its trees were trained on other features.
        """
        self._loaded()
        for file, features in (
            (SPAN_TREES, span_features.FEATURES),
            (CHOICE_TREES, choice_features.FEATURES),
            (YES_NO_TREES, yes_no_features.FEATURES),
            (SURE_TREES, sure_features.FEATURES),
        ):
            load_trees(self._folder / file, features)

    def read(self, question: str, documents: Sequence[Document]) -> list[Candidate]:
        """Find possible answers in documents; see :meth:`Reader.read`.

        :param question: The question, in English.
        :param documents: The documents, best first.
        :returns: The candidates, the likeliest first. Empty if no document has text, or if the reader cannot answer
            such a question.
        :raises ReaderMissing: See :meth:`warm_up`.
        """
        documents = _with_text(documents)
        question = spell_codes(question, [document.content or "" for document in documents])
        answer = answer_from_rows(question, documents)
        if answer is not None:
            probability = ROW_RIGHT if answer.is_sure else min(ROW_RIGHT, self.probable)
            return [Candidate(answer.text, "span", answer.document, answer.sentence, probability)]

        is_answerable = question_form.looks_english(question) and not question_form.asks_beyond_spans(question)
        if not documents or not is_answerable:
            return []
        return list(_read(_Reading(self, question, documents)))

    def _read(self, question: str, documents: Sequence[Document]) -> Sequence[Candidate]:
        """Find possible answers with the encoder, the trees or the dates."""
        documents = choose_documents(question, documents, _MOST_DOCUMENTS)
        passages = _passages(documents)

        if question_form.asks_yes_no(question):
            return self._read_yes_no(question, documents, passages)

        choice = choose_by_date(question, passages)
        if choice is not None:
            # The date may stand in another passage, such as that of a film's director. Then the best sentence of the
            # film's passage is shown.
            begin_of_date = choice.begin if choice.dated == choice.place else -1
            _, text = passages[choice.place]
            sentence = self._find_sentence(question, text, begin_of_date)
            probability = min(self._loaded().card.dated_choice, self._row_limit(question, sentence, documents))
            return [Candidate(choice.name, "span", documents[choice.place], sentence, probability)]

        candidates = _read_spans(_Reading(self, question, documents))
        if not question_form.asks_how_to(question):
            return candidates

        # The span may be inside the list of steps. So the sentence that introduces the list is shown, with the whole
        # list.
        lists: list[Candidate] = []
        for candidate in candidates:
            text = candidate.document.content or ""
            introduction = self._find_sentence(question, text, -1)
            lists.append(replace(candidate, kind="steps", sentence=with_list(text, introduction)))
        return lists

    read_async = in_thread_async(read)

    def score(self, question: str, passages: Sequence[Passage]) -> EncoderScores:
        """Let the encoder read passages, five at a time.

        :param question: The question.
        :param passages: The title and the text of each passage.
        :returns: The encoder's scores, normalised over all passages.
        :raises ReaderMissing: See :meth:`warm_up`.
        """
        parts = self._loaded()
        starts = range(0, len(passages), _PASSAGES_TOGETHER)
        groups = [tuple(passages[start : start + _PASSAGES_TOGETHER]) for start in starts]
        return EncoderScores([parts.score(question, group) for group in groups])

    @property
    def weight(self) -> WordWeight:
        """A function that returns the weight of a word, from 0 (common) to 1 (rare in the encoder's vocabulary)."""
        return self._loaded().weight

    def judge(self, question: str, documents: Sequence[Document], answer: str) -> Judgement:
        """Judge an answer that somebody else proposes; see :meth:`Reader.judge`.

        :param question: The question.
        :param documents: The documents, best first.
        :param answer: The answer.
        :returns: How well the documents support the answer.
        :raises ReaderMissing: See :meth:`warm_up`.
        """
        documents = _with_text(documents)
        question = spell_codes(question, [document.content or "" for document in documents])
        answer, carrier = _find_judged(question, answer, documents)
        if carrier is None:
            return Judgement()

        row_limit = self._row_limit(question, carrier.sentence, documents)
        is_row = row_limit < 1
        # The row above is about another thing, so it is no context.
        cover, head = measure_support(question, carrier, documents, self.weight, has_context=not is_row)
        support = Judgement(0.0, cover, head)

        row_answer = answer_from_rows(question, documents)
        if row_answer is not None and _is_cell(answer, row_answer.text):
            return replace(support, probability=ROW_RIGHT, is_doubtful=not row_answer.is_sure)

        proposed = find_proposed(question, answer, carrier.sentence)
        is_of_another = _is_of_another(question, proposed, carrier)
        is_computed = proposed is None or not is_uncomputed(carrier.sentence, proposed[0])
        is_doubtful = is_row or not is_computed or _is_doubtful(question, answer, proposed, carrier)
        support = replace(support, is_outdated=is_of_another, is_doubtful=is_doubtful)

        documents = choose_documents(question, documents, _MOST_DOCUMENTS)
        if not any(document is carrier.document for document in documents):
            # The passage with the answer is read in any case.
            documents = [*documents[:-1], carrier.document]

        dated_choice = choose_by_date(question, _passages(documents))
        # True for the chosen one of the two things that the question compares, False for the other one, else None.
        is_chosen = None if dated_choice is None else dated_choice.is_answer(answer)
        if is_chosen is not None:
            # The trees do not know which of the two things is the older one, so the dates decide.
            probability = self._loaded().card.dated_choice if is_chosen else 0.0
            return replace(support, probability=probability, is_by_date=is_chosen)

        span = span_of_proposed(proposed, carrier, documents)
        choice = self._choose_spans(question, _passages(documents), span)
        number = None if choice is None else _number_of_answer(answer, span, choice)
        if choice is None or number is None:
            return support

        choice.put_first(number)
        best = choice.scores_of_answers
        is_outdated, newer = find_newer_answer(question, best, choice.spans, documents, choice.look)
        is_doubtful = is_doubtful or has_rival(question, best, choice.spans, documents, choice.look)
        is_outdated = is_outdated or newer > 0 or is_of_another
        probability = self._estimate(question, choice)
        return replace(support, probability=probability, is_outdated=is_outdated, is_doubtful=is_doubtful)

    judge_async = in_thread_async(judge)

    def _choose_spans(
        self, question: str, passages: Sequence[Passage], proposed: SpanCandidate | None = None
    ) -> _Choice | None:
        """Find and rank the spans that may answer the question.

        :param question: The question.
        :param passages: The title and the text of each document.
        :param proposed: The span of an answer that somebody else proposes. It is then one of the chosen answers, even
            if the trees rank it low.
        :returns: The best answers; None if there are no spans.
        """
        scores = self.score(question, passages)
        spans = span_features.span_features(question, passages, scores, self.weight, proposed)
        if not spans.candidates:
            return None

        span_scores = self._trees(SPAN_TREES, span_features.FEATURES).scores(spans.rows)
        ranked = rank_answers(spans, span_scores)
        if proposed is not None:
            ranked = _with_proposed(span_features.answer_key(proposed.text), spans, ranked)

        look = SecondLook(question, passages, self.weight, self.score)
        features_of_answers = choice_features.choice_features(question, spans, ranked, look)
        choice_scores = self._trees(CHOICE_TREES, choice_features.FEATURES).scores(features_of_answers)

        best_spans = [span for span, _ in ranked]
        # Only the first of the ranked answers have features.
        chosen = list(zip(best_spans, choice_scores, features_of_answers, strict=False))
        chosen.sort(key=lambda answer: -answer[1])
        return _Choice(passages, scores, spans, look, chosen)

    def _estimate(self, question: str, choice: _Choice) -> float:
        """Estimate the probability that the first of the chosen answers is right.

        For some kinds of questions and answers, the share of right answers in the card limits the probability.
        """
        row = sure_features.sure_features(
            question, choice.passages, choice.spans, choice.chosen, choice.scores, choice.look, self.weight
        )

        [estimate] = self._trees(SURE_TREES, sure_features.FEATURES).probabilities(row)
        probability = float(estimate)
        best_span, _, _ = choice.chosen[0]

        if find_alternatives(question, choice.passages) is not None:
            return min(probability, self._loaded().card.other_choice)
        if answers_another_question(best_span, choice.spans, choice.look):
            return min(probability, self._loaded().card.other_time)
        return probability

    def _read_spans(self, question: str, documents: Sequence[Document]) -> list[Candidate]:
        """Find possible answers that are spans of the documents, each with its probability and its sentence."""
        excerpts = excerpts_on_asked(question, documents)
        candidates = self._read_excerpts(question, documents, excerpts)
        next_to_asked = {sentence for excerpt in excerpts for sentence in excerpt.next_to_asked}
        if not next_to_asked or (candidates and candidates[0].probability >= self.probable):
            return candidates

        # A sentence that was left out may tell what became of the thing that is asked about.
        others = self._read_excerpts(question, documents, whole_texts(documents))
        if not others or others[0].sentence not in next_to_asked:
            return candidates
        return [replace(other, probability=min(other.probability, self.probable)) for other in others]

    def _read_excerpts(
        self, question: str, documents: Sequence[Document], excerpts: Sequence[Excerpt]
    ) -> list[Candidate]:
        """Find possible answers in what is left of the documents."""
        choice = self._choose_spans(question, [(excerpt.title, excerpt.text) for excerpt in excerpts])
        if choice is None:
            return []

        best = choice.scores_of_answers
        is_contradicted, newer = find_newer_answer(question, best, choice.spans, documents, choice.look)
        is_contradicted = is_contradicted or has_rival(question, best, choice.spans, documents, choice.look)
        choice.put_first(newer)
        shown = _shown_spans(choice, documents, excerpts)

        probability = self._estimate(question, choice)
        shares = _share_rest(1 - probability, [score for _, score in choice.scores_of_answers])
        is_doubtful = shown[0].is_unclear or _is_doubtful_span(question, shown[0])
        if is_contradicted or is_doubtful or standing_of(shown[0].document.meta):
            # The answer must not count as sure. Another document may contradict it, or its sentence may not state it.
            # Or its own document has the label "superseded", "draft" or "old".
            probability = min(probability, self.probable)
        is_computed = not is_uncomputed(shown[0].document.content or "", shown[0].begin)
        if not is_computed or is_replaced(question, shown[0].document, shown[0].share, documents, choice.look):
            # A formula without its result is no answer. And a document that no longer holds must not decide where a
            # current one is about the same thing.
            probability = min(probability, _JUST_BELOW * self.probable)

        # None of the other answers gets more than the first.
        probabilities = [probability, *(min(probability, share) for share in shares)]
        candidates: list[Candidate] = []
        for span, own_probability in zip(shown, probabilities, strict=False):
            # Two parts of the same token, such as an address, become the same answer.
            if any(candidate.text == span.text for candidate in candidates):
                continue
            sentence = self._sentence_of(question, span)
            candidates.append(Candidate(span.text, "span", span.document, sentence, own_probability))

        # The rule for rows found no answer. So a cell of a row is at best probable, and less than probable if its row
        # lacks a word of the question. No answer may become likelier than the first one.
        limits = row_limits(question, [candidate.sentence for candidate in candidates], documents, self.probable)
        return [
            replace(candidate, probability=min(candidate.probability, limits[0], limit))
            for candidate, limit in zip(candidates, limits, strict=True)
        ]

    def _row_limit(self, question: str, sentence: str, documents: Sequence[Document]) -> float:
        """Return the maximum probability of an answer with this sentence, as :func:`row_limits` does."""
        [limit] = row_limits(question, [sentence], documents, self.probable)
        return limit

    def _sentence_of(self, question: str, span: _ShownSpan) -> str:
        """Find the sentence that is shown for a span."""
        content = span.document.content or ""
        sentence = self._find_sentence(question, content, span.begin)
        other_text = content.replace(sentence, "", 1)
        if span.begin >= 0 and other_text.strip() and is_heading(sentence, span.document.meta):
            # A heading states nothing by itself. So the best sentence of the rest of the passage is taken.
            return self._find_sentence(question, other_text, -1)
        return sentence

    def _find_sentence(self, question: str, text: str, begin: int) -> str:
        """Find the sentence of a text that contains the character at ``begin``.

        If ``begin`` is negative, no sentence is known to state the answer. Then the sentence that covers most of the
        question is returned.
        """
        if begin >= 0:
            return sentence_at(text, begin)
        _, sentence = _best_sentence(question, [("", text)], self.weight)
        return sentence

    def _read_yes_no(
        self, question: str, documents: Sequence[Document], passages: Sequence[Passage]
    ) -> list[Candidate]:
        """Decide between yes and no.

        :param question: A yes-or-no question.
        :param documents: The documents.
        :param passages: The title and the text of each document.
        :returns: Two candidates, yes and no, the likelier one first. Both have the sentence that covers most of the
            question.
        """
        # Trees decide. The encoder is not used, because always saying yes would be right more often than its scores.
        row = yes_no_features.yes_no_features(question, passages, self.weight)
        [yes] = self._trees(YES_NO_TREES, yes_no_features.FEATURES).probabilities(row)

        if question_form.asks_to_compare(question):
            # The trees were trained on comparisons of countries. They may be too sure about comparisons of other
            # things.
            yes = _limited(yes, self._loaded().card.comparison)

        place, sentence = _best_sentence(question, passages, self.weight)
        document = documents[place]

        # The trees compare words, but not the columns in which the words stand.
        yes = _limited(yes, max(0.5, self._row_limit(question, sentence, documents)))

        candidates = [
            Candidate("yes", "yes", document, sentence, yes),
            Candidate("no", "no", document, sentence, 1 - yes),
        ]
        return sorted(candidates, key=lambda candidate: -candidate.probability)

    def _trees(self, file: str, features: Sequence[str]) -> Any:
        """Load the trees of a file of the reader, unless they are loaded already."""
        return load_trees(self._folder / file, features)

    @property
    def _folder(self) -> Path:
        """The folder with the files of the reader."""
        return Path(self.model).expanduser() if self.model else SHIPPED_READER

    def _loaded(self) -> ReaderParts:
        """Load the card, the tokenizer and the encoder, unless they are loaded already."""
        return load_parts(self._folder)


# Both results are cached, because the last step of a run reads the same documents again. If documents are added, the
# chosen documents rarely change.
_read = lru_cache(maxsize=_CACHED_ANSWERS)(lambda reading: reading.reader._read(reading.question, reading.documents))
_read_spans = lru_cache(maxsize=_CACHED_ANSWERS)(
    lambda reading: reading.reader._read_spans(reading.question, reading.documents)
)


def _with_text(documents: Sequence[Document]) -> list[Document]:
    """Return the documents that have a text."""
    return [document for document in documents if (document.content or "").strip()]


def _find_judged(question: str, answer: str, documents: Sequence[Document]) -> tuple[str, Carrier | None]:
    """Find the part of a proposed answer that is judged, and the sentence that carries it; None if there is none.

    The sentences of a longer answer may stand in different places. The first one that stands anywhere is judged,
    because it mostly has the answer.
    """
    carrier = find_carrier(question, answer, documents)
    sentences = shown_sentences(answer)
    is_carried_whole = carrier is not None and carrier.is_whole
    if len(sentences) > 1 and not is_carried_whole:
        for sentence in sentences[:_MOST_SENTENCES]:
            carrier_of_sentence = find_carrier(question, sentence, documents)
            if carrier_of_sentence is not None:
                return sentence, carrier_of_sentence
    return answer, carrier


def _limited(yes: float, limit: float) -> float:
    """Limit the probabilities of both "yes" and "no" to a maximum, by the probability of "yes"."""
    return min(max(yes, 1 - limit), limit)


def _share_rest(rest: float, scores: Sequence[float]) -> list[float]:
    """Share the probability that the first answer leaves among the other answers, by their scores.

    :param rest: The probability that the first answer is wrong.
    :param scores: The scores of all answers.
    :returns: The probability of each answer but the first.
    """
    first, *others = answer_shares(scores)
    factor = min(1.0, rest / max(1e-9, 1 - first))
    return [share * factor for share in others]


def _shown_spans(choice: _Choice, documents: Sequence[Document], excerpts: Sequence[Excerpt]) -> list[_ShownSpan]:
    """Find for each of the best answers the span that is shown.

    :param choice: The best answers, of the excerpts.
    :param documents: The documents.
    :param excerpts: What was read of each document.
    :returns: The spans, with their places in the documents.
    """
    shown: list[_ShownSpan] = []
    for place, _ in choice.scores_of_answers[:_MOST_CANDIDATES]:
        span = choice.spans.candidates[_stating_place(place, choice.spans, choice.look, documents)]
        title, text = choice.passages[span.passage]
        # The number of characters that stand before the text in what the encoder reads.
        shift = len(passage_text(title, text)) - len(text)
        begin, end = span.begin - shift, span.end - shift
        words = span.text
        if begin >= 0:
            begin, end = extend_to_tokens(text, begin, end)
            excerpt = excerpts[span.passage]
            words = text[begin : excerpt.end_before_gap(begin, end)].rstrip()
            end = begin + len(words)
            begin, end = excerpt.place_in_document(begin), excerpt.place_in_document(end - 1) + 1
        is_unclear = excerpts[span.passage].is_unclear(begin)
        shown.append(_ShownSpan(words, documents[span.passage], begin, end, choice.look.holds_of(span), is_unclear))
    return shown


def _is_doubtful_span(question: str, span: _ShownSpan) -> bool:
    """Check whether the sentence of a span may not state the answer. A title raises no doubt."""
    if span.begin < 0:
        return False
    meta = span.document.meta
    title = str(meta.get("title") or "")
    heading = heading_of(meta, span.begin) or ""
    return bool(find_doubt(question, title, span.document.content or "", span.begin, span.end, heading))


def _passages(documents: Sequence[Document]) -> list[Passage]:
    """Return the title and the text of each document."""
    return [(str(document.meta.get("title") or ""), document.content or "") for document in documents]


def _stating_place(place: int, spans: span_features.Spans, look: SecondLook, documents: Sequence[Document]) -> int:
    """Find the span whose sentence covers most of the question, among the spans with the same answer.

    If several sentences cover the same share, spans of current documents are preferred, then spans of newer documents.

    :param place: The index of a span.
    :param spans: All spans.
    :param look: Measures how much of the question a sentence covers.
    :param documents: The documents.
    :returns: The index of the best span with the same answer.
    """

    def rank(other: int) -> tuple[float, bool, str, bool]:
        span = spans.candidates[other]
        meta = documents[span.passage].meta
        return look.holds_of(span), standing_of(meta) is None, str(meta.get("date") or ""), other == place

    return max(_same_answers(place, spans), key=rank)


def _with_proposed(
    key: str, spans: span_features.Spans, ranked: Sequence[tuple[int, float]]
) -> list[tuple[int, float]]:
    """Move a proposed answer to the last of the places that are looked at a second time, if the trees rank it lower.

    :param key: The answer key of the proposed answer.
    :param spans: All spans.
    :param ranked: For each answer the index and the score of its best span, best first.
    :returns: The answers in their new order.
    """
    order = list(ranked)
    for number, (place, _) in enumerate(ranked):
        if spans.keys[place] == key and number >= choice_features.MOST:
            order.insert(choice_features.MOST - 1, order.pop(number))
    return order


def _number_of_answer(answer: str, proposed: SpanCandidate | None, choice: _Choice) -> int | None:
    """Find a proposed answer among the chosen ones.

    The same answer is preferred, then the span that was found for it, then an answer that is a part of it or contains
    it.

    :returns: Its index among the chosen answers; None if there is none.
    """
    # With blanks around it, a key is a part of another one only as whole words.
    key_of_answer = f" {span_features.answer_key(answer)} "
    keys = [f" {choice.spans.keys[place]} " for place, _ in choice.scores_of_answers]
    if key_of_answer in keys:
        return keys.index(key_of_answer)

    key_of_span = f" {span_features.answer_key(proposed.text)} " if proposed is not None else ""
    if key_of_span in keys:
        return keys.index(key_of_span)
    return next((number for number, key in enumerate(keys) if key in key_of_answer or key_of_answer in key), None)


def _is_doubtful(question: str, answer: str, proposed: tuple[int, int] | None, carrier: Carrier) -> bool:
    """Check whether the sentence that carries a proposed answer may not state it.

    :param question: The question.
    :param answer: The answer.
    :param proposed: Where the answer stands in the sentence, if it stands there.
    :param carrier: The sentence.
    :returns: Whether there is a doubt.
    """
    answer = answer.strip().rstrip(".")
    # An answer that is the whole sentence says itself what is denied or planned. So no doubt is raised.
    is_sentence = answer.lower() in (carrier.sentence.lower(), carrier.sentence.lower().rstrip("."))
    if is_sentence or not question_form.looks_english(question):
        return False

    text = carrier.document.content or ""
    begin = text.find(carrier.sentence)
    if proposed is None or begin < 0:
        return False
    title = str(carrier.document.meta.get("title") or "")
    heading = heading_of(carrier.document.meta, begin) or ""
    return bool(find_doubt(question, title, text, begin + proposed[0], begin + proposed[1], heading))


def _is_of_another(question: str, proposed: tuple[int, int] | None, carrier: Carrier) -> bool:
    """Check whether the clause with a proposed answer is about another time or another name than the question.

    :param question: The question.
    :param proposed: Where the answer stands in the sentence, if it stands there.
    :param carrier: The sentence.
    :returns: Whether it is about another one.
    """
    if proposed is None or not question_form.looks_english(question):
        return False
    begin, end = proposed
    is_of_other_time = is_of_another_time(question, carrier.sentence, begin, end)
    return is_of_other_time or is_of_another_name(question, carrier.sentence, begin, end)


def _is_cell(answer: str, text: str) -> bool:
    """Check whether a proposed answer is the text of a cell, with or without its unit.

    For example, ``_is_cell("240", "240 EUR")`` returns ``True``.
    """
    proposed, cell = (part.strip().rstrip(".").casefold() for part in (answer, text))
    if proposed == cell:
        return True

    with_unit = re.escape(proposed) + r"\s?[^\d\s]+"
    return proposed[-1:].isdigit() and re.fullmatch(with_unit, cell) is not None


def answers_another_question(place: int, spans: span_features.Spans, look: SecondLook) -> bool:
    """Check whether an answer's best sentence is about another time or thing than the question.

    :param place: The index of one of its spans.
    :param spans: All spans.
    :param look: Looks at the span with the best sentence.
    :returns: Whether this sentence answers another question.
    """
    same_answers = [spans.candidates[other] for other in _same_answers(place, spans)]
    best = max(same_answers, key=look.holds_of)
    return look.answers_another_question(best)


def _same_answers(place: int, spans: span_features.Spans) -> list[int]:
    """List the indices of all spans with the same answer as a span."""
    return [other for other, key in enumerate(spans.keys) if key == spans.keys[place]]


def _best_sentence(question: str, passages: Sequence[Passage], weight: WordWeight) -> tuple[int, str]:
    """Find the sentence that covers most of the question.

    :returns: The index of its passage, and the sentence.
    """
    asked = question_weights(question, weight)
    sentences: list[tuple[int, str]] = []
    covers: list[float] = []
    for place, (_, text) in enumerate(passages):
        for sentence in shown_sentences(text):
            sentences.append((place, sentence))
            covers.append(sum_of_weights(asked, stems_of(sentence)))
    return sentences[covers.index(max(covers))]
