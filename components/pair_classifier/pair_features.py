"""Compute the features of a question and two passages. Decision trees judge from them whether both are needed.

`TreePairScorer` calls :func:`pair_features`, and the training of the trees does so, too. Each passage is written as a
row of a matrix, with a column for each word. The features are sums over such rows. Each word counts with its weight in
these sums: the rarer a word is in the collection, the larger its weight.
"""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
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

Values = np.ndarray[Any, np.dtype[Any]]


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

    measured = _measure(question, list(pool.values()), a, b, statistics)
    rows = np.empty((len(pairs), len(FEATURES)), np.float32)
    for column, name in enumerate(FEATURES):
        rows[:, column] = measured[name]
    return rows


def _measure(
    question: str, pool: Sequence[Document], a: Any, b: Any, statistics: TermStatistics | None
) -> Mapping[str, Any]:
    """Compute the features of pairs by name, each with a value per pair or one value for all pairs.

    ``a`` and ``b`` are the places in the pool of the first and the second passage of each pair.
    """
    # `front` are the passages that come first in a pair. Matrices that compare passages have a row for each of these
    # passages only. `row` tells for each pair which row belongs to its first passage.
    front, row = np.unique(a, return_inverse=True)
    texts = _Texts(question, pool, statistics)
    weights = texts.weights
    in_question = texts.in_question
    holds = texts.holds
    titles = texts.titles

    def share(marked: Values, whole: Any) -> Values:
        """Divide the weight of the marked words in each row by the weight of the whole."""
        shares: Values = (marked @ weights) / np.maximum(whole, _ALMOST_NOTHING)
        return shares

    # Which of the question's words the passages have.
    question_weight = in_question @ weights
    covered = share(holds * in_question, question_weight)
    weight_in_both = (holds[front] * in_question * weights) @ holds.T
    both = weight_in_both / max(question_weight, _ALMOST_NOTHING)
    covered_pair = covered[a] + covered[b] - both[row, b]
    left_open = 1 - covered[a]

    # Which words the passages share that the question lacks.
    other = holds * (1 - in_question)
    other_weight = np.maximum(other @ weights, _ALMOST_NOTHING)
    shared = (other[front] * weights) @ other.T
    # For each passage in front, the largest weight of a word that it shares with each passage.
    largest_shared = []
    for place in front:
        shared_weights = other * (other[place] * weights)
        largest_shared.append(shared_weights.max(axis=1, initial=0))
    rarest = np.stack(largest_shared)
    rarest_of_all = weights.max(initial=_ALMOST_NOTHING)

    # Which words of titles the passages and the question have.
    new_titles = titles * (1 - in_question)
    title_weight = np.maximum(titles @ weights, _ALMOST_NOTHING)
    new_title_weight = np.maximum(new_titles @ weights, _ALMOST_NOTHING)
    weighted = holds[front] * weights

    # Which names, numbers and other words of the question the passages have.
    names = texts.names
    plain = in_question - names
    names_weight = names @ weights
    with_names = share(holds * names, names_weight)
    with_plain = share(holds * plain, plain @ weights)

    title_asked = ((titles * in_question) @ weights) / title_weight

    # The BM25 scores for the question (fit), and for the question and A as one query (chained).
    fit = texts.bm25 @ in_question
    (fit_rank,) = _ranks(fit[None, :])
    best_fit = max(fit.max(), _ALMOST_NOTHING)
    ranked = np.sort(fit)
    chained = np.maximum(holds[front], in_question) @ texts.bm25.T
    # A passage is not chained to itself. In each row, this is the place of the row's own passage.
    itself = (np.arange(len(front)), front)
    chained[itself] = 0
    chained_rank = _ranks(chained)

    # `open_fit` is the BM25 score of B for the words of the question that are not in A. `led_on` is the geometric mean
    # of `open_fit` and the score of B for the words of A that are not in the question.
    open_fit = (in_question * (1 - holds[front])) @ texts.bm25.T
    fit_of_rest = (other[front] * weights) @ texts.bm25.T
    led_on = np.sqrt(open_fit * fit_of_rest)
    open_fit[itself] = 0
    led_on[itself] = 0

    links = _mentions(texts, front)
    by_front = links.by_front
    has_link = by_front >= 0
    open_covered = (covered[b] - both[row, b]) / np.maximum(left_open, _ALMOST_NOTHING)
    return {
        "covered_a": covered[a],
        "covered_b": covered[b],
        "covered_both": both[row, b],
        "covered_pair": covered_pair,
        "covered_pair_below_best": covered_pair - covered_pair.max(),
        "covered_a_below_best": covered[a] - covered.max(),
        "covered_b_below_best": covered[b] - covered.max(),
        "open_covered_b": open_covered * (left_open > _ALMOST_NOTHING),
        "shared": shared[row, b] / rarest_of_all,
        "shared_of_a": shared[row, b] / other_weight[a],
        "shared_of_b": shared[row, b] / other_weight[b],
        "shared_rarest": rarest[row, b] / rarest_of_all,
        "shared_phrases": (texts.other_phrases[front] @ texts.other_phrases.T)[row, b],
        "title_a_words_in_b": ((titles[front] * weights) @ holds.T)[row, b] / title_weight[a],
        "title_b_words_in_a": (weighted @ titles.T)[row, b] / title_weight[b],
        "title_a_new_words_in_b": ((new_titles[front] * weights) @ holds.T)[row, b] / new_title_weight[a],
        "title_b_new_words_in_a": (weighted @ new_titles.T)[row, b] / new_title_weight[b],
        "title_a_words_asked": title_asked[a],
        "title_b_words_asked": title_asked[b],
        "title_a_asked": links.in_question[a],
        "title_b_asked": links.in_question[b],
        "title_a_in_b": links.of_front[row, b],
        "title_b_in_a": has_link[row, b],
        "title_b_place_in_a": by_front[row, b],
        "same_title": texts.key_numbers[a] == texts.key_numbers[b],
        "names_a": with_names[a],
        "names_b": with_names[b],
        "names_pair": share(np.maximum(holds[a], holds[b]) * names, names_weight),
        "plain_words_a": with_plain[a],
        "plain_words_b": with_plain[b],
        "phrases_a": texts.phrases[a],
        "phrases_b": texts.phrases[b],
        "fit_a": fit[a] / best_fit,
        "fit_b": fit[b] / best_fit,
        "fit_rank_a": fit_rank[a],
        "fit_rank_b": fit_rank[b],
        "chained_fit_b": chained[row, b] / np.maximum(chained.max(axis=1), _ALMOST_NOTHING)[row],
        "chained_rank_b": chained_rank[row, b],
        "often_chained_b": (chained_rank < _NEAREST).sum(axis=0)[b],
        "open_fit_b": open_fit[row, b] / np.maximum(open_fit.max(axis=1), _ALMOST_NOTHING)[row],
        "led_on_b": led_on[row, b] / np.maximum(led_on.max(axis=1), _ALMOST_NOTHING)[row],
        "led_on_rank_b": _ranks(led_on)[row, b],
        "links_from_a": has_link.sum(axis=1)[row],
        "links_to_b": has_link.sum(axis=0)[b],
        "length_a": texts.lengths[a],
        "length_b": texts.lengths[b],
        "question_words": in_question.sum(),
        "fit_second_best": ranked[-2] / best_fit if len(ranked) > 1 else 0,
        "titles_asked": links.in_question.sum(),
        "links_in_pool": has_link.sum() / len(front),
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
        names = [str(document.meta.get("title") or "") for document in pool]
        contents = [document.content or "" for document in pool]
        self.keys = [title_key(name) for name in names]
        self.normalised = [f" {normalize_words(content)} " for content in contents]
        self.normalised_question = f" {normalize_words(question)} "
        titles_in_order = dict.fromkeys(key for key in self.keys if key)
        numbers = {key: number for number, key in enumerate(titles_in_order)}
        # Every passage without a title gets a negative number of its own, so that no two of them have the same title.
        self.key_numbers = np.array([numbers.get(key, -1 - place) for place, key in enumerate(self.keys)])

        # Split all texts into terms in one call. The lists of terms come in the order of the texts.
        texts = [question, *names, *contents, *_find_names(question)]
        analysed = iter(analyze_texts(texts, statistics))
        terms_of_question = next(analysed)
        terms_of_titles = list(islice(analysed, len(pool)))
        terms_of_contents = list(islice(analysed, len(pool)))
        terms_of_names = set(chain.from_iterable(analysed))

        # The column of each term. A new term gets the next column.
        column: defaultdict[str, int] = defaultdict(count().__next__)
        question_numbers = [column[term] for term in terms_of_question]
        title_rows, title_columns = _number_words(terms_of_titles, column)
        content_rows, content_columns = _number_words(terms_of_contents, column)
        in_title = _counts(title_rows, title_columns, len(pool), len(column))
        in_content = _counts(content_rows, content_columns, len(pool), len(column))
        holds = (in_title + in_content) > 0
        is_in_question = np.zeros(len(column), bool)
        is_in_question[question_numbers] = True

        # Only words in the question, in a title or in several passages are used. Other words say nothing about pairs.
        columns = np.flatnonzero(is_in_question | in_title.any(axis=0) | (holds.sum(axis=0) > 1))
        terms = list(column)
        kept_terms = [terms[number] for number in columns]
        weight_of = term_weights(kept_terms, statistics)
        self.weights = np.array([weight_of[term] for term in kept_terms], np.float32)
        self.in_question = is_in_question[columns].astype(np.float32)
        self.names = np.array([term in terms_of_names for term in kept_terms], np.float32) * self.in_question
        self.holds = holds[:, columns].astype(np.float32)
        self.titles = (in_title[:, columns] > 0).astype(np.float32)

        # The BM25 weight of each word in each passage, whether or not the question contains it.
        fits_title = _saturate(in_title[:, columns], terms_of_titles)
        fits_content = _saturate(in_content[:, columns], terms_of_contents)
        self.bm25 = (self.weights * (_TITLE_BOOST * fits_title + fits_content)).astype(np.float32)
        self.lengths = np.array([len(terms) for terms in terms_of_contents], np.float32)
        self._count_phrases(
            in_question=question_numbers,
            row=content_rows,
            word=content_columns,
            passages=len(pool),
            size=len(column),
        )

    def _count_phrases(self, in_question: Sequence[int], row: Values, word: Values, passages: int, size: int) -> None:
        """Set ``phrases``, the share of the question's phrases in each passage, and ``other_phrases``.

        A phrase is two words that follow each other. ``row`` and ``word`` are the passage and the number of each word
        in the contents, in order. ``size`` is the number of different words.
        """
        # One number encodes a phrase: that of its first word times the number of words, plus that of its second word.
        wanted = np.unique([first * size + second for first, second in pairwise(in_question)])
        all_phrases = word[:-1] * size + word[1:]
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
        own = names[place]
        text = texts.normalised[place]
        for other, name in enumerate(names):
            if other == place:
                continue
            begin = -1 if name is None else text.find(name)
            if begin >= 0:
                by_front[row, other] = begin / len(text)
            if own is not None and own in texts.normalised[other]:
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
