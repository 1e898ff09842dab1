"""Compute the features by which boosted trees rank the possible answers to a question.

A possible answer is a span of a passage. :func:`span_features` is the entry. It makes one row per span, in three steps:

1. For each passage alone, find its spans and compute the features that need no other passage. The result is cached.
2. Compute the features that compare the passages, such as whether one passage names the title of another one.
3. Compute the features from the scores of the encoder.

In this module, a text covers a share of the question. This share is the sum of the weights of those words of the
question that the text has. The weights of all words of the question add up to 1.
"""

import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations_with_replacement, pairwise
from typing import NamedTuple

import numpy as np

from prefrag.components.reader.encoder_scores import LEAST, EncoderScores, Values
from prefrag.components.reader.question_form import ASKED_FEATURES, asked_for
from prefrag.components.reader.reader_input import passage_text
from prefrag.components.reader.span_candidates import KINDS, YEAR, SpanCandidate, short_title, span_candidates
from prefrag.components.text.term_statistics import PLAIN_WORDS, sum_of_weights
from prefrag.components.text.title_mentions import normalize_words

# A function that returns the weight of a word, from 0 (common) to 1 (rare).
WordWeight = Callable[[str], float]

# A run of letters or digits.
_WORD = re.compile(r"[^\W_]+")
# The blanks between two sentences. It matches "open. The". It does not match "Mr. smith".
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z\"\u201c])")
# The number of words on each side of a span that count as near.
_NEAR = 6
# The feature "nearest_question_word", in words, if no word of the question is near.
_NO_WORD_NEAR = 9
# The number of characters before a span that are searched for "in the" and for a dash.
_LONGEST_BEFORE = 9
# Ranks of answers above this number are set to this number, because such answers are equally unlikely.
_LOWEST_RANK = 30
# The maximum number of spans that the encoder proposes, in addition to the spans of the patterns.
_MOST_PROPOSED = 20
# For each topic of a question, the stems of words that hint at it. A feature says whether one of them is near a span.
_CUES = {
    "born": {"born", "birth"},
    "died": {"died", "death", "dead"},
    "directed": {"direc", "film"},
    "family": {"son", "daugh", "fathe", "mothe", "marri", "wife", "husba", "spous"},
    "by": {"by"},
    "won": {"won", "award", "prize", "winne"},
    "founded": {"found", "estab", "opene", "launc"},
    "named": {"named", "calle", "known"},
    "located": {"locat", "based", "situa"},
}
# A preposition directly before a span. It matches "opened in the ". It does not match "opened by ".
_IN = re.compile(r"\b(?:in|at|on|from)\s+(?:the\s+)?$")
# A dash directly before a span.
_DASH = re.compile(r"[\u2013-]\s*$")
# The ending of a word for a people. It matches "German", "Danish" and "French".
_NATIONALITY = re.compile(r"(?:an|ish|ese|ch)$")
# The maximum number of cached results for a question, or for a passage together with its question. The next step of a
# run often needs them again.
_CACHED_PASSAGES = 128
# The maximum number of texts whose stems are cached.
_CACHED_TEXTS = 1_024
# The maximum number of words whose stem or weight is cached.
_CACHED_WORDS = 8_192
# The names of the features that need no encoder, in the order of the columns. The trees were trained with this order.
_SPAN_FEATURES = (
    *(f"kind_{kind}" for kind in KINDS),
    "words", "characters", "has_capital", "has_digit", "of_people", "share_in_question", "is_in_question",
    "is_own_title", "is_other_title", "sentence_covers", "sentence", "place", "nearest_question_word", "left_covers",
    "right_covers", "near_covers", "follows_in", "in_parenthesis", "after_dash", "ends_sentence",
    *(f"near_{cue}" for cue in _CUES),
    "passage", "passages", "title_in_question", "titles_in_question", "linked_from_named", "links_out",
    "passage_covers", "passage_covers_below_best", "occurs_in", "first_year_rank", "second_year_rank",
    "linked_first_year_rank", "linked_second_year_rank", "is_first_year_of_passage", "weight",
)  # fmt: skip
# The names of the features from the scores of the encoder.
READ_FEATURES = (
    "read_start", "read_end", "read_span", "read_below_best", "read_all", "read_passage", "read_best", "read_none",
    "read_yes_no", "read_rank", "in_best_read", "holds_best_read", "read_linked",
)  # fmt: skip
# The names of all features of a span, in the order of the columns.
FEATURES = (*ASKED_FEATURES, *_SPAN_FEATURES, *READ_FEATURES)


@dataclass(frozen=True)
class Spans:
    """The possible answers to a question, with their features.

    :param candidates: The spans.
    :param keys: The :func:`answer_key` of each span. Spans with the same key are the same answer.
    :param rows: The features, one row per span and one column per name in :data:`FEATURES`.
    """

    candidates: list[SpanCandidate]
    keys: list[str]
    rows: Values


def answer_key(text: str) -> str:
    """Normalise an answer, so that equal answers have the same key.

    For example, ``answer_key("The Merlin Hour")`` returns ``"merlin hour"``.

    :param text: The answer.
    :returns: Its words in lower case, without punctuation and articles.
    """
    words = normalize_words(text).split()
    return " ".join(word for word in words if word not in ("a", "an", "the")) or " ".join(words)


@lru_cache(maxsize=_CACHED_WORDS)
def stem(word: str) -> str:
    """Cut a word to its first five letters. From a word of up to five letters, remove each "s" at its end instead.

    For example, ``stem("directed")`` returns ``"direc"`` and ``stem("boats")`` returns ``"boat"``.

    :param word: A word in lower case.
    :returns: Its stem.
    """
    return word[:5] if len(word) > 5 else word.rstrip("s")


@lru_cache(maxsize=_CACHED_TEXTS)
def stems_of(text: str) -> frozenset[str]:
    """List the stems of a text's words.

    For example, ``stems_of("The boats sank.")`` returns ``{"the", "boat", "sank"}``.

    :param text: The text.
    :returns: The stems, without repetitions.
    """
    return frozenset(stem(word) for word in _WORD.findall(text.lower()))


class PassageWords:
    """The words of a passage: where each word begins, and its weight in the question."""

    def __init__(self, title: str, text: str, asked: dict[str, float]):
        """Split a passage into words and sentences.

        :param title: The title of the passage.
        :param text: The text of the passage.
        :param asked: The stems of the question with their weights, from :func:`question_weights`.
        """
        self.title = normalize_words(short_title(title))
        self.text = passage_text(title, text)
        self.spoken = f" {normalize_words(self.text)} "
        if self.text == text:
            # `passage_text` has left the title out, because it is only the number of a record.
            self.title = ""

        words = list(_WORD.finditer(self.text))
        self.begins = [word.start() for word in words]
        self.stems = [stem(word[0].lower()) for word in words]
        self.weights = [asked.get(word_stem, 0.0) for word_stem in self.stems]

        # The share of the question that the whole passage covers, from 0 to 1.
        self.covers = sum_of_weights(asked, {*self.stems})
        # The index of the first character of each sentence.
        self.sentences = [0, *(match.end() for match in _SENTENCE.finditer(self.text))]
        edges = [bisect_left(self.begins, begin) for begin in self.sentences] + [len(words)]
        self.sentence_covers = [sum_of_weights(asked, {*self.stems[left:right]}) for left, right in pairwise(edges)]

        self.years = [int(year) for year in YEAR.findall(text)]
        # Where brackets begin and end, to find the spans inside them.
        self.in_brackets = [match.span() for match in re.finditer(r"\([^()]*\)", self.text)]


def span_features(
    question: str,
    passages: Sequence[tuple[str, str]],
    scores: EncoderScores | None,
    weight: WordWeight,
    further: SpanCandidate | None = None,
) -> Spans:
    """Find all spans of passages that may answer a question, and compute their features.

    :param question: The question.
    :param passages: The title and the text of each passage.
    :param scores: The encoder's scores of the passages. If None, the encoder proposes no spans, and the features that
        need its scores are NaN.
    :param weight: A function that returns the weight of a word, from 0 (common) to 1 (rare).
    :param further: A span that is one of the possible answers in any case.
    :returns: The spans with their features; empty if there are no spans.
    """
    parts = [_read_passage(question, title, text, weight) for title, text in passages]
    words = [part.words for part in parts]
    candidates: list[SpanCandidate] = []
    keys: list[str] = []
    for place, part in enumerate(parts):
        # The spans of a part have the passage index 0.
        candidates += [SpanCandidate(place, span.text, span.kind, span.begin, span.end) for span in part.candidates]
        keys += part.keys

    proposed = scores.best_spans(_MOST_PROPOSED) if scores is not None else []
    added = _new_spans(candidates, proposed, further)
    keys_of_added = [answer_key(span.text) for span in added]
    candidates += added
    keys += keys_of_added
    if not candidates:
        return Spans([], [], np.zeros((0, len(FEATURES)), np.float32))

    compared = _compared_question(question, weight)
    rows_of_parts = [part.rows for part in parts if part.keys]
    if added:
        words_of_added = [words[span.passage] for span in added]
        rows_of_parts.append(_features_alone(added, keys_of_added, words_of_added, compared))

    alone = np.concatenate(rows_of_parts)
    links = _Links(compared.spoken, words)
    asked = np.array(asked_for(question), np.float32)

    columns = [
        np.tile(asked, (len(candidates), 1)),
        alone[:, :-_AFTER],
        _features_among_passages(candidates, keys, words, links),
        alone[:, -_AFTER:],
        _features_from_scores(candidates, keys, proposed, scores, links),
    ]
    return Spans(candidates, keys, np.concatenate(columns, axis=1))


def _new_spans(
    candidates: Sequence[SpanCandidate], proposed: Sequence[SpanCandidate], further: SpanCandidate | None
) -> list[SpanCandidate]:
    """Return the proposed spans, and the further one, that stand where no candidate stands."""
    places = {_place_of(span) for span in candidates}
    new_spans = [span for span in proposed if _place_of(span) not in places]
    if further is None:
        return new_spans
    places |= {_place_of(span) for span in new_spans}
    if _place_of(further) not in places:
        new_spans.append(further)
    return new_spans


def _place_of(span: SpanCandidate) -> tuple[int, int, int]:
    """Return the passage of a span, and where it begins and ends there."""
    return span.passage, span.begin, span.end


class _Question(NamedTuple):
    """A question in the forms with which spans are compared.

    :param spoken: The question, normalised, with a blank at both ends.
    :param stems: The stems of its words.
    :param weight: A function that returns the weight of a word, from 0 (common) to 1 (rare).
    """

    spoken: str
    stems: set[str]
    weight: WordWeight


def _compared_question(question: str, weight: WordWeight) -> _Question:
    """Bring a question into the forms with which spans are compared."""
    return _Question(f" {normalize_words(question)} ", set(question_weights(question, weight)), weight)


@dataclass(frozen=True)
class _Read:
    """The possible answers in one passage, with the features that do not depend on other passages.

    :param words: The words of the passage.
    :param candidates: The spans, all with the passage index 0.
    :param keys: The answer key of each span.
    :param rows: The features, one row per span.
    """

    words: PassageWords
    candidates: list[SpanCandidate]
    keys: list[str]
    rows: Values


@lru_cache(maxsize=_CACHED_PASSAGES)
def _read_passage(question: str, title: str, text: str, weight: WordWeight) -> _Read:
    """Find the spans of one passage, and compute the features that do not depend on other passages."""
    words = PassageWords(title, text, question_weights(question, weight))
    candidates = span_candidates(0, title, text)
    keys = [answer_key(span.text) for span in candidates]
    rows = _features_alone(candidates, keys, [words] * len(candidates), _compared_question(question, weight))
    return _Read(words, candidates, keys, rows)


@lru_cache(maxsize=_CACHED_PASSAGES)
def word_weights_of(question: str, weight: WordWeight) -> dict[str, float]:
    """Map the stems of a question's words to their weights, without the words in :data:`PLAIN_WORDS`.

    :param question: The question.
    :param weight: A function that returns the weight of a word, from 0 (common) to 1 (rare).
    :returns: The weight of each stem, from 0 to 1.
    """
    return {stem(word): weight(word) for word in _WORD.findall(question.lower()) if word not in PLAIN_WORDS}


@lru_cache(maxsize=_CACHED_PASSAGES)
def question_weights(question: str, weight: WordWeight) -> dict[str, float]:
    """Weigh the words of a question, so that the weights add up to 1.

    For example, ``question_weights("Who built the old mill?", lambda word: 0.5)`` returns
    ``{"built": 1 / 3, "old": 1 / 3, "mill": 1 / 3}``.

    :param question: The question.
    :param weight: A function that returns the weight of a word, from 0 (common) to 1 (rare).
    :returns: The share of each stem.
    """
    weights = word_weights_of(question, weight)
    total = sum(weights.values()) or 1.0
    return {word_stem: value / total for word_stem, value in weights.items()}


# The number of values at the end of `_features_of`. The features that depend on other passages are inserted before
# them.
_AFTER = 2


def _features_alone(
    spans: Sequence[SpanCandidate], keys: Sequence[str], words: Sequence[PassageWords], question: _Question
) -> Values:
    """Compute the features that do not depend on other passages, one row per span.

    :param spans: The spans.
    :param keys: The answer key of each span.
    :param words: The words of the passage of each span.
    :param question: The question.
    :returns: The rows of :func:`_features_of`.
    """
    rows = []
    for span, key, passage in zip(spans, keys, words, strict=True):
        rows.append(_features_of(span, key, passage, question))
    return np.array(rows, np.float32)


def _features_of(span: SpanCandidate, key: str, passage: PassageWords, question: _Question) -> list[float]:
    """Compute the features of a span that do not depend on other passages.

    :param span: The span.
    :param key: Its answer key.
    :param passage: The words of its passage.
    :param question: The question.
    :returns: The values in the order of ``_SPAN_FEATURES``, without those that depend on other passages.
    """
    # The words of the span are those from `first` up to, but not including, `after`.
    first = bisect_left(passage.begins, span.begin)
    after = bisect_left(passage.begins, span.end)

    span_stems = passage.stems[first:after]
    share_in_question = sum(word in question.stems for word in span_stems) / max(1, len(span_stems))
    is_in_question = bool(key) and f" {key} " in question.spoken
    is_own_title = bool(key) and key == passage.title

    sentence = max(0, bisect_right(passage.sentences, span.begin) - 1)

    first_year = str(passage.years[0]) if passage.years else ""
    is_first_year = span.kind in ("date", "year") and span.text[-4:] == first_year

    # In the order of `_SPAN_FEATURES`. The features that depend on other passages are missing here.
    return [
        *_ROW_OF_KIND[span.kind],
        len(span_stems),
        len(span.text),
        float(span.text[:1].isupper()),
        float(any(map(str.isdigit, span.text))),
        float(_NATIONALITY.search(span.text) is not None),
        share_in_question,
        float(is_in_question),
        float(is_own_title),
        0.0,  # "is_other_title", which is never set: the shipped trees expect a value in its place
        passage.sentence_covers[sentence],
        sentence,
        span.begin / max(1, len(passage.text)),
        *_features_of_weights(passage, first, after),
        *_features_of_signs(span, passage),
        *_near_cues(passage, first, after),
        float(is_first_year),
        max(map(question.weight, key.split()), default=0.0),
    ]


def _features_of_weights(passage: PassageWords, first: int, after: int) -> list[float]:
    """Measure how near the words of the question are to a span.

    :param passage: The words of the passage.
    :param first: The index of the span's first word.
    :param after: The index after its last word.
    :returns: The features from "nearest_question_word" to "near_covers".
    """
    left = passage.weights[max(0, first - _NEAR) : first]
    right = passage.weights[after : after + _NEAR]

    # The distance of a word is the number of words from the span up to it, itself included.
    distances = [len(left) - place for place, value in enumerate(left) if value]
    distances += [place + 1 for place, value in enumerate(right) if value]
    nearest = min(distances, default=_NO_WORD_NEAR)
    greatest_weight = max([*left, *right], default=0.0)
    return [nearest, sum(left), sum(right), greatest_weight]


def _features_of_signs(span: SpanCandidate, passage: PassageWords) -> list[float]:
    """Look at the signs and the preposition beside a span: the features from "follows_in" to "ends_sentence"."""
    before = passage.text[max(0, span.begin - _LONGEST_BEFORE) : span.begin]
    sign_behind = passage.text[span.end : span.end + 1]
    in_brackets = any(begin < span.begin < end for begin, end in passage.in_brackets)
    return [
        float(_IN.search(before) is not None),
        float(in_brackets),
        float(_DASH.search(before) is not None),
        float(sign_behind in (".", ";", "")),
    ]


# For each kind of span the features "kind_...": 1 for its own kind, 0 for the others.
_ROW_OF_KIND = {kind: [float(kind == other) for other in KINDS] for kind in KINDS}
# The topics whose words count on either side of a span. The words of all other topics count only on the left.
_CUES_OF_BOTH_SIDES = ("family", "won")
# The stems of all topics.
_OF_CUES = frozenset().union(*_CUES.values())
# The features "near_..." if none of these stems is near.
_NO_CUES = [0.0] * len(_CUES)


def _near_cues(passage: PassageWords, first: int, after: int) -> list[float]:
    """Check for each topic in ``_CUES`` whether a word for it is near a span.

    :param passage: The words of the passage.
    :param first: The index of the span's first word.
    :param after: The index after its last word.
    :returns: 1 or 0 for each topic.
    """
    left = passage.stems[max(0, first - _NEAR) : first]
    near = {*left, *passage.stems[after : after + _NEAR]}
    if near.isdisjoint(_OF_CUES):
        return _NO_CUES

    values = []
    for cue, stems in _CUES.items():
        searched = near if cue in _CUES_OF_BOTH_SIDES else left
        values.append(float(not stems.isdisjoint(searched)))
    return values


def _year_at(place: int, passage: PassageWords) -> int:
    """Return the first (0) or second (1) year of a passage; 0 if there is none."""
    return passage.years[place] if len(passage.years) > place else 0


class _Links:
    """How passages mention the titles of each other, and how their years compare."""

    def __init__(self, spoken: str, words: Sequence[PassageWords]):
        self.titles = [word.title for word in words]
        # For each passage, whether the question has its title.
        self.named = [bool(title) and f" {title} " in spoken for title in self.titles]
        # For each passage, whether it mentions the title of each passage, never its own.
        self.mentions = [self._mentioned_by(word, place) for place, word in enumerate(words)]
        self.linked = [self._linked(place) for place in range(len(words))]

        # The first and the second year of each passage; 0 if it has none.
        first = [_year_at(0, word) for word in words]
        second = [_year_at(1, word) for word in words]
        self._years = (first, second, self._through_links(first), self._through_links(second))
        self._ranks = [[self._rank(years, place) for years in self._years] for place in range(len(words))]

        # Of passages with the same title, the first one counts.
        self._place_of: dict[str, int] = {}
        for place, title in enumerate(self.titles):
            if title:
                self._place_of.setdefault(title, place)

    def _mentioned_by(self, passage: PassageWords, place: int) -> list[bool]:
        """Check for each title whether a passage mentions it. The passage's own title never counts."""
        mentioned = [bool(title) and f" {title} " in passage.spoken for title in self.titles]
        mentioned[place] = False
        return mentioned

    def _linked(self, place: int) -> float:
        """Return how a passage is linked: 1, 0.5 or 0.

        It is 1 if a passage that the question names mentions the title. It is 0.5 if only other passages do, and 0 if
        none does.
        """
        mentioning = [other for other, mentioned_titles in enumerate(self.mentions) if mentioned_titles[place]]
        if any(self.named[other] for other in mentioning):
            return 1.0
        return 0.5 if mentioning else 0.0

    def _through_links(self, years: Sequence[int]) -> list[int]:
        """Find for each passage the earliest year of the passages that it mentions.

        Passages that the question names are left out. The year is 0 if there is none.
        """
        linked: list[int] = []
        for mentioned_titles in self.mentions:
            mentioned = [other for other, is_mentioned in enumerate(mentioned_titles) if is_mentioned]
            unnamed = [other for other in mentioned if not self.named[other]]
            linked.append(min((years[other] for other in unnamed if years[other]), default=0))
        return linked

    def _rank(self, years: Sequence[int], place: int) -> float:
        """Compare the year of a passage with those of the passages that the question names.

        :param years: The year of each passage; 0 if unknown.
        :param place: The index of the passage.
        :returns: The number of these passages with an earlier year, minus the number of those with a later year.
        """
        own_year = years[place]
        if not own_year:
            return 0.0

        others = [other for other, named in enumerate(self.named) if named and other != place]
        other_years = [years[other] for other in others if years[other]]
        earlier = sum(year < own_year for year in other_years)
        later = sum(year > own_year for year in other_years)
        return float(earlier - later)

    def place_of(self, span: SpanCandidate, key: str) -> int:
        """Return the index of the passage whose title is the span, or else of the span's own passage."""
        return self._place_of.get(key, span.passage)

    def features_of(self, place: int) -> list[float]:
        """Compute the features of a passage that depend on the titles of the passages.

        :param place: The index of the passage.
        :returns: The features from "passages" to "links_out".
        """
        return [
            len(self.titles),
            float(self.named[place]),
            sum(self.named),
            self.linked[place],
            float(any(self.mentions[place])),
        ]

    def year_ranks(self, span: SpanCandidate, key: str) -> list[float]:
        """Return the four ranks of the years for a span, in the order in which ``_SPAN_FEATURES`` names them."""
        return self._ranks[self.place_of(span, key)]


def _features_among_passages(
    candidates: Sequence[SpanCandidate], keys: Sequence[str], words: Sequence[PassageWords], links: _Links
) -> Values:
    """Compute the features that depend on other passages, one row per span."""
    texts = [passage.spoken for passage in words]
    # For each answer key, the number of passages that contain the key.
    occurs: dict[str, int] = {}
    for key in set(keys):
        spaced = f" {key} "
        occurs[key] = sum([spaced in text for text in texts])

    best_covers = max(passage.covers for passage in words)
    of_passage = [
        [place, *links.features_of(place), passage.covers, passage.covers - best_covers]
        for place, passage in enumerate(words)
    ]

    rows = [
        [*of_passage[span.passage], occurs[key], *links.year_ranks(span, key)]
        for span, key in zip(candidates, keys, strict=True)
    ]
    return np.array(rows, np.float32)


def _features_from_scores(
    candidates: Sequence[SpanCandidate],
    keys: Sequence[str],
    proposed: Sequence[SpanCandidate],
    scores: EncoderScores | None,
    links: _Links,
) -> Values:
    """Compute the features from the scores of the encoder, one row per span.

    :param candidates: The spans.
    :param keys: The answer key of each span.
    :param proposed: The spans that the encoder proposes, the likeliest first.
    :param scores: The scores; if None, all features are NaN.
    :param links: The links between the passages.
    :returns: The features in the order of :data:`READ_FEATURES`.
    """
    if scores is None:
        return np.full((len(candidates), len(READ_FEATURES)), np.nan, np.float32)

    both = scores.scores_of(candidates)
    span = np.maximum(both.sum(axis=1), LEAST)
    best = float(span.max())

    probabilities = _probabilities_of_answers(keys, span)
    probability_of_span = np.array([probabilities[key] for key in keys])
    all_spans = np.maximum(LEAST, np.log(probability_of_span + 1e-12))
    likeliest_first = sorted(probabilities, key=probabilities.__getitem__, reverse=True)
    rank_of = {key: rank for rank, key in enumerate(likeliest_first)}
    ranks = np.minimum(_LOWEST_RANK, [rank_of[key] for key in keys])

    passages = np.array([candidate.passage for candidate in candidates])
    shares = scores.passage_shares()
    linked_share = np.array([_greatest_share(shares, mentioned_titles) for mentioned_titles in links.mentions])

    top = proposed[0] if proposed else candidates[int(span.argmax())]
    _, yes, no, none = scores.kinds

    # In the order of `READ_FEATURES`; a single number holds for all candidates.
    columns = (
        *both.T,
        span,
        span - best,
        all_spans,
        shares[passages],
        best,
        float(none),
        float(yes + no),
        ranks,
        [_contains(top, candidate) for candidate in candidates],
        [_contains(candidate, top) for candidate in candidates],
        linked_share[passages],
    )
    return np.stack([np.broadcast_to(column, len(candidates)) for column in columns], axis=1).astype(np.float32)


def _probabilities_of_answers(keys: Sequence[str], log_probabilities: Values) -> dict[str, float]:
    """Add the probabilities of all spans with the same answer key.

    :param keys: The answer key of each span.
    :param log_probabilities: The log probability of each span.
    :returns: The probability of each answer key.
    """
    by_key: defaultdict[str, float] = defaultdict(float)
    for key, probability in zip(keys, np.exp(log_probabilities).tolist(), strict=True):
        by_key[key] += probability
    return by_key


def _contains(outer: SpanCandidate, inner: SpanCandidate) -> bool:
    """Check whether a span lies inside another span, or is the same."""
    if outer.passage != inner.passage:
        return False
    return outer.begin <= inner.begin and inner.end <= outer.end


def _greatest_share(shares: Values, is_counted: Sequence[bool]) -> float:
    """Return the greatest of the shares that are counted; 0 if none is counted."""
    counted = (float(share) for share, counts in zip(shares, is_counted, strict=False) if counts)
    return max(counted, default=0.0)


def word_weights(tokenizer: object) -> WordWeight:
    """Make a function that weighs words by their rarity.

    The vocabulary of the encoder is sorted, with the commonest words first. So the number of a word tells how rare it
    is.

    :param tokenizer: The tokenizer of the encoder.
    :returns: A function that returns the weight of a lower-case word, from 0 (common) to 1 (rare). A word that is not
        in the vocabulary has the weight 1.
    """
    vocabulary: dict[str, int] = tokenizer.get_vocab()  # type: ignore[attr-defined]
    # "the" is the commonest word. Before it, the vocabulary contains only signs and single letters.
    first = vocabulary.get("the", 0)
    n_words = max(1, len(vocabulary) - first)

    @lru_cache(maxsize=_CACHED_WORDS)
    def weight(word: str) -> float:
        number = vocabulary.get(word)
        if number is None:
            return 1.0
        rank = max(0, number - first)
        return float(np.log1p(rank) / np.log1p(n_words))

    return weight


def question_cover(question: str, passages: Sequence[tuple[str, str]], weight: WordWeight) -> tuple[float, float]:
    """Measure how much of a question passages cover.

    :param question: The question.
    :param passages: The title and the text of each passage.
    :param weight: A function that returns the weight of a word, from 0 (common) to 1 (rare).
    :returns: The share that all passages cover together, and the share that the best two passages cover together. Both
        are from 0 to 1.
    """
    asked = question_weights(question, weight)
    shared = [stems_of(passage_text(*passage)) & asked.keys() for passage in passages]
    pairs = combinations_with_replacement(shared, 2)
    best_pair = max((sum_of_weights(asked, first | second) for first, second in pairs), default=0.0)
    return sum_of_weights(asked, set().union(*shared)), best_pair
