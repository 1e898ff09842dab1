"""The features of possible answers (spans of passages), by which the boosted trees of the reader rank the answers."""

import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations_with_replacement, pairwise

import numpy as np

from prefrag.components.reader.encoder_scores import LEAST, EncoderScores, Values
from prefrag.components.reader.question_form import ASKED_FEATURES, asked_for
from prefrag.components.reader.reader_input import passage_text
from prefrag.components.reader.span_candidates import KINDS, YEAR, SpanCandidate, short_title, span_candidates
from prefrag.components.text.term_statistics import PLAIN_WORDS, sum_of_weights
from prefrag.components.text.title_mentions import normalize_words

WordWeight = Callable[[str], float]

_WORD = re.compile(r"[^\W_]+")
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z\"\u201c])")
# How many words on each side of a span count as near, and the distance of the question's words where none is near.
_NEAR, _NO_WORD_NEAR = 6, 9
# How many characters before a span are searched for "in the" and for a dash.
_LONGEST_BEFORE = 9
# From this rank on, answers count as equally unlikely.
_LOWEST_RANK = 30
# How many of the encoder's spans are taken, besides those that a pattern finds.
_MOST_PROPOSED = 20
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
_IN = re.compile(r"\b(?:in|at|on|from)\s+(?:the\s+)?$")
_DASH = re.compile(r"[\u2013-]\s*$")
_NATIONALITY = re.compile(r"(?:an|ish|ese|ch)$")
# How many passages (each with its question), texts and words have their results cached for the next step of a run.
_CACHED_PASSAGES, _CACHED_TEXTS, _CACHED_WORDS = 128, 1_024, 8_192
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
READ_FEATURES = (
    "read_start", "read_end", "read_span", "read_below_best", "read_all", "read_passage", "read_best", "read_none",
    "read_yes_no", "read_rank", "in_best_read", "holds_best_read", "read_linked",
)  # fmt: skip
FEATURES = (*ASKED_FEATURES, *_SPAN_FEATURES, *READ_FEATURES)


@dataclass(frozen=True)
class Spans:
    """The possible answers to a question, with their features."""

    candidates: list[SpanCandidate]
    keys: list[str]  # the `answer_key` of each span, which is the same for equal answers
    rows: Values  # the features, one row per span, see `FEATURES`


def answer_key(text: str) -> str:
    """Normalise an answer, so that equal answers have the same key."""
    words = normalize_words(text).split()
    return " ".join(word for word in words if word not in ("a", "an", "the")) or " ".join(words)


@lru_cache(maxsize=_CACHED_WORDS)
def stem(word: str) -> str:
    """Cut a lower-case word to its first five letters. If it has no more than five, remove a final "s" instead."""
    return word[:5] if len(word) > 5 else word.rstrip("s")


@lru_cache(maxsize=_CACHED_TEXTS)
def stems_of(text: str) -> frozenset[str]:
    """List the stems of a text's words."""
    return frozenset(stem(word) for word in _WORD.findall(text.lower()))


class PassageWords:
    """The words of a passage: where each begins, and its weight in the question. ``asked`` maps stems to weights."""

    def __init__(self, title: str, text: str, asked: dict[str, float]):
        self.title = normalize_words(short_title(title))
        self.text = passage_text(title, text)
        self.spoken = f" {normalize_words(self.text)} "
        if self.text == text:
            # `passage_text` has left the title out, because it is only the number of a record.
            self.title = ""
        words = list(_WORD.finditer(self.text))
        self.begins = [word.start() for word in words]
        self.stems = [stem(word[0].lower()) for word in words]
        self.weights = [asked.get(one, 0.0) for one in self.stems]
        self.covers = sum_of_weights(asked, {*self.stems})
        self.sentences = [0, *(match.end() for match in _SENTENCE.finditer(self.text))]
        edges = [bisect_left(self.begins, begin) for begin in self.sentences] + [len(words)]
        self.sentence_covers = [sum_of_weights(asked, {*self.stems[left:right]}) for left, right in pairwise(edges)]
        self.years = [int(year) for year in YEAR.findall(text)]
        # Where brackets begin and end, to tell what is inside them.
        self.in_brackets = [match.span() for match in re.finditer(r"\([^()]*\)", self.text)]


def span_features(
    question: str, passages: Sequence[tuple[str, str]], scores: EncoderScores | None, weight: WordWeight
) -> Spans:
    """Find all spans of passages that may answer a question, and compute their features.

    :param passages: The title and the text of each passage.
    :param scores: The encoder's scores of the passages. If None, the features that need the scores are NaN.
    :param weight: A function that returns the weight of a word, from 0 (common) to 1 (rare).
    """
    parts = [_read_passage(question, title, text, weight) for title, text in passages]
    words = [part.words for part in parts]
    candidates = [
        SpanCandidate(place, one.text, one.kind, one.begin, one.end)
        for place, part in enumerate(parts)
        for one in part.candidates
    ]
    keys = [key for part in parts for key in part.keys]
    proposed = scores.best_spans(_MOST_PROPOSED) if scores is not None else []
    places = {(one.passage, one.begin, one.end) for one in candidates}
    further = [one for one in proposed if (one.passage, one.begin, one.end) not in places]
    candidates += further
    if not candidates:
        return Spans([], [], np.zeros((0, len(FEATURES)), np.float32))
    further_keys = [answer_key(one.text) for one in further]
    keys += further_keys
    spoken, stems = f" {normalize_words(question)} ", set(question_weights(question, weight))
    rows_of_parts = [part.rows for part in parts if part.keys]
    if further:
        rows = [
            _features_of(one, key, words[one.passage], spoken, stems, weight)
            for one, key in zip(further, further_keys, strict=True)
        ]
        rows_of_parts.append(np.array(rows, np.float32))
    alone = np.concatenate(rows_of_parts)
    links = _Links(spoken, words)
    asked = np.array(asked_for(question), np.float32)
    columns = [
        np.tile(asked, (len(candidates), 1)),
        alone[:, :-_AFTER],
        _features_among_passages(candidates, keys, words, links),
        alone[:, -_AFTER:],
        _features_from_scores(candidates, keys, proposed, scores, links),
    ]
    return Spans(candidates, keys, np.concatenate(columns, axis=1))


@dataclass(frozen=True)
class _Read:
    """The possible answers in one passage, with the features that do not depend on other passages."""

    words: PassageWords
    candidates: list[SpanCandidate]
    keys: list[str]
    rows: Values


@lru_cache(maxsize=_CACHED_PASSAGES)
def _read_passage(question: str, title: str, text: str, weight: WordWeight) -> _Read:
    asked = question_weights(question, weight)
    words, spoken, stems = PassageWords(title, text, asked), f" {normalize_words(question)} ", set(asked)
    candidates = span_candidates(0, title, text)
    keys = [answer_key(one.text) for one in candidates]
    rows = [_features_of(one, key, words, spoken, stems, weight) for one, key in zip(candidates, keys, strict=True)]
    return _Read(words, candidates, keys, np.array(rows, np.float32))


@lru_cache(maxsize=_CACHED_PASSAGES)
def word_weights_of(question: str, weight: WordWeight) -> dict[str, float]:
    """Map the stems of a question's words, except :data:`PLAIN_WORDS`, to their weights from 0 to 1."""
    return {stem(word): weight(word) for word in _WORD.findall(question.lower()) if word not in PLAIN_WORDS}


@lru_cache(maxsize=_CACHED_PASSAGES)
def question_weights(question: str, weight: WordWeight) -> dict[str, float]:
    """Weigh the words of a question, so that the weights add up to one."""
    found = word_weights_of(question, weight)
    total = sum(found.values()) or 1.0
    return {one: value / total for one, value in found.items()}


# The features that depend on other passages are inserted before the last two values that `_features_of` returns.
_AFTER = 2


def _features_of(
    one: SpanCandidate, key: str, passage: PassageWords, spoken: str, asked: set[str], weight: WordWeight
) -> list[float]:
    # The span's words are those from `first` up to `after`.
    first = bisect_left(passage.begins, one.begin)
    after = bisect_left(passage.begins, one.end)
    own = passage.stems[first:after]
    share_in_question = sum(word in asked for word in own) / max(1, len(own))
    begin_of_left = max(0, first - _NEAR)
    left = passage.stems[begin_of_left:first]
    right = passage.stems[after : after + _NEAR]
    left_weights = passage.weights[begin_of_left:first]
    right_weights = passage.weights[after : after + _NEAR]
    best = max([*left_weights, *right_weights], default=0.0)
    distances = []
    if best:
        distances = [len(left) - place for place, value in enumerate(left_weights) if value]
        distances += [place + 1 for place, value in enumerate(right_weights) if value]
    near = {*left, *right}
    cues = _NO_CUES if near.isdisjoint(_OF_CUES) else _near_cues(left, near)
    sentence = max(0, bisect_right(passage.sentences, one.begin) - 1)
    before = passage.text[max(0, one.begin - _LONGEST_BEFORE) : one.begin]
    follows = passage.text[one.end : one.end + 1]
    in_brackets = any(begin < one.begin < end for begin, end in passage.in_brackets)
    is_in_question = bool(key) and f" {key} " in spoken
    is_own_title = bool(key) and key == passage.title
    first_year = str(passage.years[0]) if passage.years else ""
    is_first_year = one.kind in ("date", "year") and one.text[-4:] == first_year
    # In the order of `_SPAN_FEATURES`, with `_AFTER` values behind the place of those that depend on other passages.
    return [
        *_ROW_OF_KIND[one.kind],
        len(own),
        len(one.text),
        float(one.text[:1].isupper()),
        float(any(map(str.isdigit, one.text))),
        float(_NATIONALITY.search(one.text) is not None),
        share_in_question,
        float(is_in_question),
        float(is_own_title),
        0.0,  # "is_other_title", which is never set: the shipped trees expect a value in its place
        passage.sentence_covers[sentence],
        sentence,
        one.begin / max(1, len(passage.text)),
        min(distances, default=_NO_WORD_NEAR),
        sum(left_weights),
        sum(right_weights),
        best,
        float(_IN.search(before) is not None),
        float(in_brackets),
        float(_DASH.search(before) is not None),
        float(follows in (".", ";", "")),
        *cues,
        float(is_first_year),
        max(map(weight, key.split()), default=0.0),
    ]


_ROW_OF_KIND = {kind: [float(kind == other) for other in KINDS] for kind in KINDS}
_CUES_OF_BOTH_SIDES = ("family", "won")
_OF_CUES = frozenset().union(*_CUES.values())
_NO_CUES = [0.0] * len(_CUES)


def _near_cues(left: list[str], near: set[str]) -> list[float]:
    """Tell for each of the cues whether it is near: on the left or, for some, on either side."""
    values = []
    for cue, stems in _CUES.items():
        searched = near if cue in _CUES_OF_BOTH_SIDES else left
        values.append(float(not stems.isdisjoint(searched)))
    return values


def _year_at(place: int, passage: PassageWords) -> int:
    return passage.years[place] if len(passage.years) > place else 0


class _Links:
    """Which passages mention the titles of other passages, and how the years in the passages compare."""

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
        return [
            other != place and bool(title) and f" {title} " in passage.spoken for other, title in enumerate(self.titles)
        ]

    def _linked(self, place: int) -> float:
        """Return 1 if a passage that the question names mentions the title, 0.5 if only others do, 0 if none does."""
        naming = [is_named for is_named, row in zip(self.named, self.mentions, strict=True) if row[place]]
        if any(naming):
            return 1.0
        return 0.5 if naming else 0.0

    def _through_links(self, years: Sequence[int]) -> list[int]:
        """Find for each passage the earliest year of the passages that it mentions, without those named; 0 if none."""
        linked: list[int] = []
        for row in self.mentions:
            others = (year for other, year in enumerate(years) if row[other] and not self.named[other])
            linked.append(min(filter(None, others), default=0))
        return linked

    def _rank(self, years: Sequence[int], place: int) -> float:
        """Count the passages named by the question that have an earlier year, minus those that have a later year."""
        own = years[place]
        if not own:
            return 0.0
        others = [years[other] for other, named in enumerate(self.named) if named and other != place and years[other]]
        earlier = sum(year < own for year in others)
        later = sum(year > own for year in others)
        return float(earlier - later)

    def place_of(self, one: SpanCandidate, key: str) -> int:
        """Return the index of the passage whose title is the span or, if there is none, of the span's own passage."""
        return self._place_of.get(key, one.passage)

    def features_of(self, place: int) -> list[float]:
        return [
            len(self.titles),
            float(self.named[place]),
            sum(self.named),
            self.linked[place],
            float(any(self.mentions[place])),
        ]

    def year_ranks(self, one: SpanCandidate, key: str) -> list[float]:
        return self._ranks[self.place_of(one, key)]


def _features_among_passages(
    candidates: Sequence[SpanCandidate], keys: Sequence[str], words: Sequence[PassageWords], links: _Links
) -> Values:
    """Compute the features that depend on other passages, one row per candidate."""
    said = [passage.spoken for passage in words]
    occurs: dict[str, int] = {}
    for key in set(keys):
        spaced = f" {key} "
        occurs[key] = sum([spaced in text for text in said])
    best_covers = max(passage.covers for passage in words)
    of_passage = [
        [place, *links.features_of(place), passage.covers, passage.covers - best_covers]
        for place, passage in enumerate(words)
    ]
    rows = [
        [*of_passage[one.passage], occurs[key], *links.year_ranks(one, key)]
        for one, key in zip(candidates, keys, strict=True)
    ]
    return np.array(rows, np.float32)


def _features_from_scores(
    candidates: Sequence[SpanCandidate],
    keys: Sequence[str],
    proposed: Sequence[SpanCandidate],
    scores: EncoderScores | None,
    links: _Links,
) -> Values:
    if scores is None:
        return np.full((len(candidates), len(READ_FEATURES)), np.nan, np.float32)
    both = scores.scores_of(candidates)
    span = np.maximum(both.sum(axis=1), LEAST)
    best = float(span.max())
    # The probability of each answer is the sum of those of its spans.
    by_key: defaultdict[str, float] = defaultdict(float)
    for key, value in zip(keys, np.exp(span).tolist(), strict=True):
        by_key[key] += value
    all_spans = np.maximum(LEAST, np.log(np.array([by_key[key] for key in keys]) + 1e-12))
    likeliest_first = sorted(by_key, key=by_key.__getitem__, reverse=True)
    rank_of = {key: rank for rank, key in enumerate(likeliest_first)}
    ranks = np.minimum(_LOWEST_RANK, [rank_of[key] for key in keys])
    shares = scores.passage_shares()
    top = proposed[0] if proposed else candidates[int(span.argmax())]
    linked_share = [_greatest_share(shares, row) for row in links.mentions]
    passages, begins, ends = np.array([(one.passage, one.begin, one.end) for one in candidates]).T
    is_of_top = passages == top.passage
    is_in_top = is_of_top & (top.begin <= begins) & (ends <= top.end)
    holds_top = is_of_top & (begins <= top.begin) & (top.end <= ends)
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
        is_in_top,
        holds_top,
        np.array(linked_share)[passages],
    )
    return np.stack([np.broadcast_to(column, len(candidates)) for column in columns], axis=1).astype(np.float32)


def _greatest_share(shares: Values, is_counted: Sequence[bool]) -> float:
    """Return the greatest of the shares that are counted; 0 if none is."""
    counted = (float(share) for share, counts in zip(shares, is_counted, strict=False) if counts)
    return max(counted, default=0.0)


def word_weights(tokenizer: object) -> WordWeight:
    """Make a function that weighs words by rarity: the encoder's vocabulary is sorted, the commonest words first."""
    known: dict[str, int] = tokenizer.get_vocab()  # type: ignore[attr-defined]
    # "the" is the commonest word. Before it, the vocabulary contains only signs and single letters.
    first, size = known.get("the", 0), len(known)

    @lru_cache(maxsize=_CACHED_WORDS)
    def weight(word: str) -> float:
        number = known.get(word)
        if number is None:
            return 1.0
        return float(np.log1p(max(0, number - first)) / np.log1p(max(1, size - first)))

    return weight


def question_cover(question: str, passages: Sequence[tuple[str, str]], weight: WordWeight) -> tuple[float, float]:
    """Return the share of a question's word weights that is in all passages together, and in the best two of them."""
    asked = question_weights(question, weight)
    shared = [stems_of(passage_text(*passage)) & asked.keys() for passage in passages]
    pairs = combinations_with_replacement(shared, 2)
    best_pair = max((sum_of_weights(asked, first | second) for first, second in pairs), default=0.0)
    return sum_of_weights(asked, set().union(*shared)), best_pair
