"""Compute the features of a question and two passages. Decision trees judge from them whether both are needed.

`TreePairScorer` calls :func:`pair_features`, and the training of the trees does so, too. Each passage is written as a
row of a matrix, with a column for each word. The features are sums over such rows. Each word counts with its weight in
these sums: the rarer a word is in the collection, the larger its weight.
"""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, count, islice, pairwise
from typing import Any

import numpy as np
from haystack import Document

from prefrag.components.state.state import Identity, identity
from prefrag.components.text.term_statistics import TermStatistics, analyze_texts, term_weights
from prefrag.components.text.title_mentions import normalize_words, title_key

# The names of the features, in the order of the columns. `a` is the first passage of a pair, and `b` the second. The
# pool is the list of all passages of a question. A share is a share of weight: each word counts with its weight.
FEATURES = (
    # The share of the question's words that stand in A, in B, in both passages, and in at least one of them.
    "covered_a",
    "covered_b",
    "covered_both",
    "covered_pair",
    # The same shares, minus the highest share of all pairs or of all passages. The best pair or passage has 0.
    "covered_pair_below_best",
    "covered_a_below_best",
    "covered_b_below_best",
    # The share of the question's words not in A that stand in B.
    "open_covered_b",
    # The weight of the words that A and B share and the question lacks, divided by the largest weight of a word.
    "shared",
    # The share of the words of A, and of B, that the other passage has. Words of the question are left out.
    "shared_of_a",
    "shared_of_b",
    # The weight of the rarest of these shared words, divided by the largest weight of a word.
    "shared_rarest",
    # The number of two-word phrases that A and B share and the question lacks.
    "shared_phrases",
    # The share of the words of one passage's title that stand in the other passage.
    "title_a_words_in_b",
    "title_b_words_in_a",
    # The same, only for words of the title that the question lacks.
    "title_a_new_words_in_b",
    "title_b_new_words_in_a",
    # The share of the title's words that stand in the question.
    "title_a_words_asked",
    "title_b_words_asked",
    # 1 if the question mentions the whole title, otherwise 0.
    "title_a_asked",
    "title_b_asked",
    # 1 if one passage mentions the whole title of the other passage, otherwise 0.
    "title_a_in_b",
    "title_b_in_a",
    # Where A first mentions the title of B: from 0 (at the beginning of A) to 1 (at the end). -1 if A does not.
    "title_b_place_in_a",
    # 1 if both passages have the same title, otherwise 0.
    "same_title",
    # The share of the question's names and numbers that stand in A, in B, and in at least one of them.
    "names_a",
    "names_b",
    "names_pair",
    # The share of the question's other words that stand in the passage.
    "plain_words_a",
    "plain_words_b",
    # The share of the question's two-word phrases that stand in the passage. Here, all phrases count the same.
    "phrases_a",
    "phrases_b",
    # The BM25 score of the passage for the question, divided by the highest score in the pool.
    "fit_a",
    "fit_b",
    # The rank of the passage by this score. The best passage has rank 0.
    "fit_rank_a",
    "fit_rank_b",
    # The BM25 score of B for the question and A as one query, divided by the highest score in the pool.
    "chained_fit_b",
    # The rank of B by this score.
    "chained_rank_b",
    # The number of first passages for which B is among the eight best by this score.
    "often_chained_b",
    # The BM25 score of B for the words of the question that A lacks, divided by the highest score in the pool.
    "open_fit_b",
    # The geometric mean of this score and the score of B for the words of A that the question lacks. The mean is
    # divided by the highest mean in the pool.
    "led_on_b",
    # The rank of B by this mean.
    "led_on_rank_b",
    # The number of passages whose titles A mentions, and the number of first passages that mention the title of B.
    "links_from_a",
    "links_to_b",
    # The number of words in the passage's content.
    "length_a",
    "length_b",
    # The number of different words in the question.
    "question_words",
    # The second-highest BM25 score for the question, divided by the highest.
    "fit_second_best",
    # The number of passages whose titles the question mentions.
    "titles_asked",
    # The average number of titles that a first passage mentions.
    "links_in_pool",
)

# The parameters of BM25 are those of a `TantivyDocumentStore`.
# How much further occurrences of a word count. With a larger number, they count more.
_K1 = 1.2
# How much the length of a passage counts: 0 means not at all, 1 fully. In a long passage, an occurrence counts less.
_B = 0.75
# The score of the title is multiplied by this number before the score of the content is added.
_TITLE_BOOST = 1.25
# A word or a number in a question, except at the beginning of the question. In "When did Ada sail 1,200 miles?", the
# matches are "did", "Ada", "sail", "1,200" and "miles".
_NAME = re.compile(r"(?<!^)\b(?:[^\W\d_]\w*|\d[\d.,]*)")
# A title must have at least this many characters to count as mentioned. A text that contains a shorter word rarely
# means the title.
_SHORTEST_TITLE = 3
# B counts as chained to A if a search with the question and A as one query ranks B among this many best passages.
_NEAREST = 8
# The smallest divisor. It prevents a division by zero.
_ALMOST_NOTHING = 1e-3

Values = np.ndarray


def pair_features(
    question: str, pairs: Sequence[tuple[Document, Document]], statistics: TermStatistics | None = None
) -> Values:
    """Compute the features of pairs: which words the two passages share with the question and with each other.

    BM25 is computed here, from the passages, because the scores of retrievers are not comparable between search
    engines. All pairs of a question must be passed in one call, because some features compare a pair with the
    question's best pair.

    :param question: The question.
    :param pairs: The pairs of passages. A passage may be in several pairs.
    :param statistics: Tells how many documents contain each word, so that rare words get larger weights. If None, all
        words of at least four letters have the same weight, and shorter words are left out.
    :returns: A matrix with a row for each pair, and a column for each of :data:`FEATURES`.
    """
    if not pairs:
        return np.zeros((0, len(FEATURES)), np.float32)

    pool: dict[Identity, Document] = {}
    keys = [(identity(first), identity(second)) for first, second in pairs]
    for (first, second), (key_of_first, key_of_second) in zip(pairs, keys, strict=True):
        pool.setdefault(key_of_first, first)
        pool.setdefault(key_of_second, second)

    # For each pair, the places of its two passages in the pool.
    place = {key: number for number, key in enumerate(pool)}
    a = np.array([place[key] for key, _ in keys], np.intp)
    b = np.array([place[key] for _, key in keys], np.intp)
    front, row = np.unique(a, return_inverse=True)

    texts = _Texts(question, list(pool.values()), statistics)
    measured = _measure(texts, _Pairs(a, b, front, row))
    rows = np.empty((len(pairs), len(FEATURES)), np.float32)
    for column, name in enumerate(FEATURES):
        rows[:, column] = measured[name]
    return rows


@dataclass(frozen=True)
class _Pairs:
    """The places of the passages of pairs.

    A comparison is a matrix that compares passages. It has a row for each passage that comes first in a pair, and a
    column for each passage of the pool.

    :param a: For each pair the place of its first passage in the pool.
    :param b: For each pair the place of its second passage in the pool.
    :param front: The places of the passages that come first in a pair, each once.
    :param row: For each pair the row of its first passage in a comparison.
    """

    a: Values
    b: Values
    front: Values
    row: Values

    def values_in(self, comparison: Values) -> Values:
        """Take the value of each pair from a comparison."""
        values: Values = comparison[self.row, self.b]
        return values

    def shares_of_best(self, comparison: Values) -> Values:
        """Divide the value of each pair by the highest value in its row."""
        best = np.maximum(comparison.max(axis=1), _ALMOST_NOTHING)
        shares: Values = self.values_in(comparison) / best[self.row]
        return shares

    def leave_out_itself(self, comparison: Values) -> None:
        """Set the value of each passage for itself to 0."""
        comparison[np.arange(len(self.front)), self.front] = 0


def _measure(texts: "_Texts", pairs: _Pairs) -> Mapping[str, Values | float]:
    """Compute the features of pairs by name, each with a value per pair or one value for all pairs."""
    return {
        **_measure_cover(texts, pairs),
        **_measure_shared_words(texts, pairs),
        **_measure_titles(texts, pairs),
        **_measure_names(texts, pairs),
        **_measure_fit(texts, pairs),
        **_measure_chain(texts, pairs),
        **_measure_links(texts, pairs),
        "phrases_a": texts.phrases[pairs.a],
        "phrases_b": texts.phrases[pairs.b],
        "length_a": texts.lengths[pairs.a],
        "length_b": texts.lengths[pairs.b],
        "question_words": texts.in_question.sum(),
    }


def _measure_cover(texts: "_Texts", pairs: _Pairs) -> Mapping[str, Values | float]:
    """Compute which of the question's words the passages have."""
    asked_weight: Any = texts.in_question @ texts.weights
    covered = texts.share(texts.holds * texts.in_question, asked_weight)
    covered_a = covered[pairs.a]
    covered_b = covered[pairs.b]

    weights_in_first = texts.holds[pairs.front] * texts.in_question * texts.weights
    weight_in_both = weights_in_first @ texts.holds.T
    covered_both = pairs.values_in(weight_in_both / max(asked_weight, _ALMOST_NOTHING))
    covered_pair = covered_a + covered_b - covered_both

    left_open = 1 - covered_a
    open_covered = (covered_b - covered_both) / np.maximum(left_open, _ALMOST_NOTHING)
    return {
        "covered_a": covered_a,
        "covered_b": covered_b,
        "covered_both": covered_both,
        "covered_pair": covered_pair,
        "covered_pair_below_best": covered_pair - covered_pair.max(),
        "covered_a_below_best": covered_a - covered.max(),
        "covered_b_below_best": covered_b - covered.max(),
        "open_covered_b": open_covered * (left_open > _ALMOST_NOTHING),
    }


def _measure_shared_words(texts: "_Texts", pairs: _Pairs) -> Mapping[str, Values | float]:
    """Compute which words the passages share that the question lacks."""
    other = texts.other_words
    other_weight = np.maximum(other @ texts.weights, _ALMOST_NOTHING)
    shared = pairs.values_in((other[pairs.front] * texts.weights) @ other.T)

    # For each passage in front, the largest weight of a word that it shares with each passage.
    largest_shared = []
    for place in pairs.front:
        shared_weights = other * (other[place] * texts.weights)
        largest_shared.append(shared_weights.max(axis=1, initial=0))
    rarest_shared = pairs.values_in(np.stack(largest_shared))
    rarest_of_all = texts.weights.max(initial=_ALMOST_NOTHING)

    shared_phrases = texts.other_phrases[pairs.front] @ texts.other_phrases.T
    return {
        "shared": shared / rarest_of_all,
        "shared_of_a": shared / other_weight[pairs.a],
        "shared_of_b": shared / other_weight[pairs.b],
        "shared_rarest": rarest_shared / rarest_of_all,
        "shared_phrases": pairs.values_in(shared_phrases),
    }


def _measure_titles(texts: "_Texts", pairs: _Pairs) -> Mapping[str, Values | float]:
    """Compute which words of titles the passages and the question have."""
    a, b, front = pairs.a, pairs.b, pairs.front
    weights, titles = texts.weights, texts.titles
    new_titles = titles * (1 - texts.in_question)
    title_weight = np.maximum(titles @ weights, _ALMOST_NOTHING)
    new_title_weight = np.maximum(new_titles @ weights, _ALMOST_NOTHING)

    # The weights of the words of the first passage's title that stand in each passage, and the other way round.
    title_in_other = (titles[front] * weights) @ texts.holds.T
    new_title_in_other = (new_titles[front] * weights) @ texts.holds.T
    word_weights = texts.holds[front] * weights
    other_title = word_weights @ titles.T
    other_new_title = word_weights @ new_titles.T

    title_asked = ((titles * texts.in_question) @ weights) / title_weight
    return {
        "title_a_words_in_b": pairs.values_in(title_in_other) / title_weight[a],
        "title_b_words_in_a": pairs.values_in(other_title) / title_weight[b],
        "title_a_new_words_in_b": pairs.values_in(new_title_in_other) / new_title_weight[a],
        "title_b_new_words_in_a": pairs.values_in(other_new_title) / new_title_weight[b],
        "title_a_words_asked": title_asked[a],
        "title_b_words_asked": title_asked[b],
        "same_title": texts.key_numbers[a] == texts.key_numbers[b],
    }


def _measure_names(texts: "_Texts", pairs: _Pairs) -> Mapping[str, Values | float]:
    """Compute which names, numbers and other words of the question the passages have."""
    names, holds = texts.names, texts.holds
    names_weight = names @ texts.weights
    with_names = texts.share(holds * names, names_weight)
    holds_any = np.maximum(holds[pairs.a], holds[pairs.b])

    plain_words = texts.in_question - names
    with_plain = texts.share(holds * plain_words, plain_words @ texts.weights)
    return {
        "names_a": with_names[pairs.a],
        "names_b": with_names[pairs.b],
        "names_pair": texts.share(holds_any * names, names_weight),
        "plain_words_a": with_plain[pairs.a],
        "plain_words_b": with_plain[pairs.b],
    }


def _measure_fit(texts: "_Texts", pairs: _Pairs) -> Mapping[str, Values | float]:
    """Compute the BM25 scores of the passages for the question."""
    fit = texts.bm25 @ texts.in_question
    (fit_rank,) = _ranks(fit[None, :])
    best_fit = max(fit.max(), _ALMOST_NOTHING)

    ascending = np.sort(fit)
    second_best = ascending[-2] / best_fit if len(ascending) > 1 else 0
    return {
        "fit_a": fit[pairs.a] / best_fit,
        "fit_b": fit[pairs.b] / best_fit,
        "fit_rank_a": fit_rank[pairs.a],
        "fit_rank_b": fit_rank[pairs.b],
        "fit_second_best": second_best,
    }


def _measure_chain(texts: "_Texts", pairs: _Pairs) -> Mapping[str, Values | float]:
    """Compute the BM25 scores of the second passage for queries that are made from the question and the first one."""
    b, front = pairs.b, pairs.front

    # The scores for the question and A as one query. A passage is not chained to itself.
    chained = np.maximum(texts.holds[front], texts.in_question) @ texts.bm25.T
    pairs.leave_out_itself(chained)
    chained_rank = _ranks(chained)
    times_near = (chained_rank < _NEAREST).sum(axis=0)

    # `open_fit` is the BM25 score of B for the words of the question that are not in A. `led_on` is the geometric mean
    # of `open_fit` and the score of B for the words of A that are not in the question.
    open_fit = (texts.in_question * (1 - texts.holds[front])) @ texts.bm25.T
    fit_of_rest = (texts.other_words[front] * texts.weights) @ texts.bm25.T
    led_on = np.sqrt(open_fit * fit_of_rest)
    pairs.leave_out_itself(open_fit)
    pairs.leave_out_itself(led_on)
    return {
        "chained_fit_b": pairs.shares_of_best(chained),
        "chained_rank_b": pairs.values_in(chained_rank),
        "often_chained_b": times_near[b],
        "open_fit_b": pairs.shares_of_best(open_fit),
        "led_on_b": pairs.shares_of_best(led_on),
        "led_on_rank_b": pairs.values_in(_ranks(led_on)),
    }


def _measure_links(texts: "_Texts", pairs: _Pairs) -> Mapping[str, Values | float]:
    """Compute which whole titles the question and the passages mention."""
    mentions = _mentions(texts, pairs.front)
    has_link = mentions.by_front >= 0
    links_from = has_link.sum(axis=1)
    links_to = has_link.sum(axis=0)
    return {
        "title_a_asked": mentions.in_question[pairs.a],
        "title_b_asked": mentions.in_question[pairs.b],
        "title_a_in_b": pairs.values_in(mentions.of_front),
        "title_b_in_a": pairs.values_in(has_link),
        "title_b_place_in_a": pairs.values_in(mentions.by_front),
        "links_from_a": links_from[pairs.row],
        "links_to_b": links_to[pairs.b],
        "titles_asked": mentions.in_question.sum(),
        "links_in_pool": has_link.sum() / len(pairs.front),
    }


class _Texts:
    """The passages of one question as matrices: a row per passage, a column per word.

    The main attributes are:

    - ``weights``: the weight of each word
    - ``in_question``: 1 for each word of the question, otherwise 0
    - ``names``: 1 for each word in a name or number of the question, otherwise 0
    - ``holds`` and ``titles``: 1 where the passage, or its title, has the word, otherwise 0
    - ``bm25``: how much the word adds to the BM25 score of the passage if a query has the word
    - ``lengths``: the number of words in the content of each passage
    - ``phrases``: the share of the question's two-word phrases that each passage has
    - ``other_phrases``: the other phrases that several passages share, with a column per phrase
    """

    def __init__(self, question: str, pool: Sequence[Document], statistics: TermStatistics | None):
        titles = [str(document.meta.get("title") or "") for document in pool]
        contents = [document.content or "" for document in pool]
        self.keys = [title_key(title) for title in titles]
        self.key_numbers = _number_titles(self.keys)
        self.normalised = [f" {normalize_words(content)} " for content in contents]
        self.normalised_question = f" {normalize_words(question)} "

        terms = _split_into_terms(question, titles, contents, statistics)
        # The column of each term. A new term gets the next column.
        column: defaultdict[str, int] = defaultdict(count().__next__)
        question_columns = [column[term] for term in terms.of_question]
        title_rows, title_columns = _number_words(terms.of_titles, column)
        content_rows, content_columns = _number_words(terms.of_contents, column)

        self._weigh_words(
            terms,
            list(column),
            question_columns,
            in_title=_counts(title_rows, title_columns, len(pool), len(column)),
            in_content=_counts(content_rows, content_columns, len(pool), len(column)),
            statistics=statistics,
        )
        self.lengths = np.array([len(content_terms) for content_terms in terms.of_contents], np.float32)
        self._count_phrases(
            in_question=question_columns,
            row=content_rows,
            word=content_columns,
            passages=len(pool),
            size=len(column),
        )

    @property
    def other_words(self) -> Values:
        """1 where the passage has the word and the question lacks it, otherwise 0."""
        words: Values = self.holds * (1 - self.in_question)
        return words

    def share(self, marked: Values, whole: Values | float) -> Values:
        """Divide the weight of the marked words in each row by the weight of the whole."""
        shares: Values = (marked @ self.weights) / np.maximum(whole, _ALMOST_NOTHING)
        return shares

    def _weigh_words(
        self,
        terms: "_Terms",
        vocabulary: list[str],
        question_columns: Sequence[int],
        *,
        in_title: Values,
        in_content: Values,
        statistics: TermStatistics | None,
    ) -> None:
        """Set ``weights``, ``in_question``, ``names``, ``holds``, ``titles`` and ``bm25``.

        ``vocabulary`` is the term of each column. ``in_title`` and ``in_content`` count how often the title and the
        content of each passage have each term.
        """
        holds = (in_title + in_content) > 0
        is_in_question = np.zeros(len(vocabulary), bool)
        is_in_question[question_columns] = True

        # Only words in the question, in a title or in several passages are used. Other words say nothing about pairs.
        is_in_title = in_title.any(axis=0)
        is_in_several = holds.sum(axis=0) > 1
        columns = np.flatnonzero(is_in_question | is_in_title | is_in_several)

        used_terms = [vocabulary[column] for column in columns]
        weight_of = term_weights(used_terms, statistics)
        self.weights = np.array([weight_of[term] for term in used_terms], np.float32)
        self.in_question = is_in_question[columns].astype(np.float32)
        is_name = np.array([term in terms.of_names for term in used_terms], np.float32)
        self.names = is_name * self.in_question
        self.holds = holds[:, columns].astype(np.float32)
        self.titles = (in_title[:, columns] > 0).astype(np.float32)

        # The BM25 weight of each word in each passage, whether or not the question contains it.
        fits_title = _saturate(in_title[:, columns], terms.of_titles)
        fits_content = _saturate(in_content[:, columns], terms.of_contents)
        self.bm25 = (self.weights * (_TITLE_BOOST * fits_title + fits_content)).astype(np.float32)

    def _count_phrases(self, in_question: Sequence[int], row: Values, word: Values, passages: int, size: int) -> None:
        """Set ``phrases``, the share of the question's phrases in each passage, and ``other_phrases``.

        A phrase is two words that follow each other. ``row`` and ``word`` are the passage and the number of each word
        in the contents, in order. ``size`` is the number of different words.
        """
        # One number encodes a phrase: that of its first word times the number of words, plus that of its second word.
        wanted = np.unique([first * size + second for first, second in pairwise(in_question)])
        first_words, second_words = word[:-1], word[1:]
        all_phrases = first_words * size + second_words
        # Two neighbouring words are a phrase only if they stand in the same passage.
        is_phrase = row[1:] == row[:-1]
        # One number encodes a phrase and a passage. A phrase that a passage repeats is counted once.
        phrase_and_passage = all_phrases * passages + row[1:]
        encoded = np.sort(phrase_and_passage[is_phrase])
        phrase, passage = np.divmod(encoded[_starts_of_runs(encoded)], passages)

        # After sorting, the passages of a phrase are adjacent.
        begins = np.flatnonzero(_starts_of_runs(phrase))
        often = np.diff(begins, append=len(phrase))
        is_in_question = np.isin(phrase[begins], wanted)
        passages_with_wanted = passage[np.repeat(is_in_question, often)]
        self.phrases = np.bincount(passages_with_wanted, minlength=passages) / max(len(wanted), 1)

        # Each phrase that the question lacks and several passages have gets a column.
        is_shared = ~is_in_question & (often > 1)
        self.other_phrases = np.zeros((passages, is_shared.sum()), np.float32)
        column = np.repeat(np.cumsum(is_shared) - 1, often)
        shared = np.repeat(is_shared, often)
        self.other_phrases[passage[shared], column[shared]] = 1


@dataclass(frozen=True)
class _Terms:
    """The terms of a question and its passages.

    :param of_question: The terms of the question, in order.
    :param of_titles: The terms of each title, in order.
    :param of_contents: The terms of each content, in order.
    :param of_names: The terms of the names and numbers in the question.
    """

    of_question: Sequence[str]
    of_titles: Sequence[Sequence[str]]
    of_contents: Sequence[Sequence[str]]
    of_names: set[str]


def _split_into_terms(
    question: str, titles: Sequence[str], contents: Sequence[str], statistics: TermStatistics | None
) -> _Terms:
    """Split a question, the titles and the contents of its passages into terms, all in one call."""
    texts = [question, *titles, *contents, *_find_names(question)]
    # The lists of terms come in the order of the texts.
    analysed = iter(analyze_texts(texts, statistics))
    return _Terms(
        of_question=next(analysed),
        of_titles=list(islice(analysed, len(titles))),
        of_contents=list(islice(analysed, len(contents))),
        of_names=set(chain.from_iterable(analysed)),
    )


def _number_titles(keys: Sequence[str]) -> Values:
    """Give passages with equal titles the same number."""
    keys_in_order = dict.fromkeys(key for key in keys if key)
    numbers = {key: number for number, key in enumerate(keys_in_order)}
    # Every passage without a title gets a negative number of its own, so that no two of them have the same title.
    return np.array([numbers.get(key, -1 - place) for place, key in enumerate(keys)])


class _Mentions:
    """Mentions of titles. The matrices have a row per passage that comes first in a pair, and a column per passage."""

    def __init__(self, in_question: Values, by_front: Values, of_front: Values):
        # For each passage, 1 if the question mentions its title, otherwise 0.
        self.in_question = in_question
        # Where the passage of the row mentions the title of the column: from 0 (at its beginning) to 1. -1 if it does
        # not.
        self.by_front = by_front
        # 1 if the passage of the column mentions the title of the row, otherwise 0.
        self.of_front = of_front


def _mentions(texts: _Texts, front: Values) -> _Mentions:
    """Find which titles the question and the passages mention. ``front`` are the passages that come first in a pair."""
    # The blanks around a title make sure that only whole words count.
    names: list[str | None] = []
    for key in texts.keys:
        names.append(f" {key} " if len(key) >= _SHORTEST_TITLE else None)
    in_question = [name is not None and name in texts.normalised_question for name in names]
    by_front = np.full((len(front), len(names)), -1, np.float32)
    of_front = np.zeros((len(front), len(names)), np.float32)

    for row, place in enumerate(front):
        own_name = names[place]
        text = texts.normalised[place]
        for other, name in enumerate(names):
            if other == place:
                continue
            if name is not None and name in text:
                by_front[row, other] = text.index(name) / len(text)
            if own_name is not None and own_name in texts.normalised[other]:
                of_front[row, other] = 1
    return _Mentions(np.array(in_question, np.float32), by_front, of_front)


def _find_names(question: str) -> list[str]:
    """Find the words of a question that have a capital letter or begin with a digit, except the first word.

    For example, ``_find_names("When did Ada sail 1,200 miles?")`` returns ``["Ada", "1,200"]``.
    """
    names = [match.group() for match in _NAME.finditer(question)]
    return [word for word in names if word != word.lower() or word[0].isdigit()]


def _number_words(texts: Sequence[Sequence[str]], column: Mapping[str, int]) -> tuple[Values, Values]:
    """Return for each word of the texts its row (the number of its text) and its column (the number of the word).

    For example, take the texts ``[["a", "b"], ["b"]]`` and the columns ``{"a": 0, "b": 1}``. The rows are then
    ``[0, 0, 1]``, and the columns are ``[0, 1, 1]``.
    """
    row = np.repeat(np.arange(len(texts)), [len(text) for text in texts])
    numbers = map(column.__getitem__, chain.from_iterable(texts))
    return row, np.fromiter(numbers, np.intp, len(row))


def _counts(row: Values, column: Values, rows: int, columns: int) -> Values:
    """Count how often each place (row and column) occurs, as a matrix of that many rows and columns."""
    counted = np.bincount(row * columns + column, minlength=rows * columns)
    return counted.reshape(rows, columns).astype(np.float32)


def _starts_of_runs(values: Values) -> Values:
    """Mark the values that differ from the value before them. The first value is always marked.

    For example, for ``[3, 3, 5]``, the result is ``[True, False, True]``.
    """
    begins = np.ones(len(values), bool)
    np.not_equal(values[1:], values[:-1], out=begins[1:])
    return begins


def _saturate(counts: Values, texts: Sequence[Sequence[str]]) -> Values:
    """Convert counts as BM25 does: each further occurrence adds less, and occurrences in long texts count less.

    ``counts`` has a row per text and a column per word. For example, in texts of average length, the counts 0, 1 and 3
    become 0, 1 and about 1.57.
    """
    lengths = np.array([len(text) for text in texts], np.float32)
    long = _K1 * (1 - _B + _B * lengths / max(lengths.mean(), 1))
    saturated: Values = counts * (_K1 + 1) / (counts + long[:, None])
    return saturated


def _ranks(values: Values) -> Values:
    """Rank the values of each row, from the highest (0) to the lowest. Equal values are ranked from left to right.

    For example, for ``[[5, 9, 5]]``, the ranks are ``[[1, 0, 2]]``.
    """
    order = np.argsort(-values, axis=1, kind="stable")
    ranks = np.empty_like(order)
    rows, columns = values.shape
    # Each row of the ranks is 0, 1, 2 and so on, in the order of the row's values.
    np.put_along_axis(ranks, order, np.tile(np.arange(columns), (rows, 1)), axis=1)
    return ranks.astype(np.float32)
