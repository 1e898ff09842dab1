"""The features from which boosted trees judge whether to keep the passages of a retrieval or to switch the source."""

import re
from collections.abc import Mapping, Sequence, Set
from itertools import islice, pairwise

from haystack import Document

from prefrag.components.state.state import identity
from prefrag.components.text.term_statistics import TermStatistics, analyze_texts, passage_text, term_weights

_OF_STEP = (
    "step",
    "observed_passages",
    "new_passages",
    "fresh_passages",
    "first_fresh",
    "question_observed",
    "query_observed",
    "query_added",
    "question_asked",
    "question_words",
    "query_words",
    "observed_titles_in_query",
    "observed_titles_in_question",
    "query_is_question",
    "asks_when",
    "asks_who",
    "asks_where",
    "asks_how_many",
    "shown_covers_query",
    "shown_title_in_query",
    "distinct_titles",
)
_OF_PASSAGE = (
    "covers_query",
    "covers_question",
    "covers_open_question",
    "covers_open_query",
    "covers_added_words",
    "sentence_covers_query",
    "holds_word_pairs",
    "holds_rarest_words",
    "holds_names",
    "holds_whole_names",
    "holds_added_whole_names",
    "title_in_query",
    "title_in_question",
    "title_holds_names",
    "title_holds_whole_names",
    "title_starts_with_name",
    "title_is_name",
    "whole_title_in_query",
    "whole_title_in_question",
    "title_covered_by_query",
    "title_covered_by_question",
    "title_covers_query",
    "title_covers_question",
    "title_covers_open_question",
    "title_covers_added_words",
    "title_holds_rarest_words",
    "title_in_observed",
    "title_covered_by_observed",
    "title_observed",
    "mentions_observed_title",
    "same_title",
    "years",
    "words",
)
# `ahead_NAME` is a passage's value minus the highest value among the other passages that no earlier step has shown.
_AHEAD = (
    "covers_query",
    "covers_question",
    "covers_open_question",
    "sentence_covers_query",
    "holds_word_pairs",
    "holds_whole_names",
    "title_covers_query",
    "title_covered_by_query",
)
FEATURES = (*_OF_STEP, *_OF_PASSAGE, "shown", "rank", "rank_among_fresh", *(f"ahead_{name}" for name in _AHEAD))
# The features that depend only on the texts, and not on the number of passages or searches.
TEXT_FEATURES = tuple(
    name
    for name in FEATURES
    if name not in ("step", "first_fresh", "rank", "rank_among_fresh") and not name.endswith("_passages")
)
# The value of a feature that does not apply.
_ABSENT = -1.0
# The parenthesis at the end of a title: "Alien (film)".
_PARENTHESIS = re.compile(r"\s*\([^()]*\)\s*$")
_WORD = re.compile(r"\w+")
_NAME = re.compile(r"\b[A-Z0-9]\w*")
# A name of several words, with up to two small words between capitalised ones: "Museum of the City of New York".
_NAME_WORD = r"[A-Z0-9][\w'\u2019.&-]*"
_SMALL_WORD = r"(?:of|the|and|de|for|in|at|on|to|a)"
_WHOLE_NAME = re.compile(rf"\b{_NAME_WORD}(?:\s+(?:{_SMALL_WORD}\s+){{0,2}}{_NAME_WORD})*")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
_YEAR = re.compile(r"\b(?:1\d|20)\d\d\b")
# The feature `years` counts no further, because more years only show that a passage is a list.
_MAX_YEARS = 5
# Words that begin questions. If one of them is capitalised, it is not taken for the beginning of a name.
_FIRST_WORDS = frozenset(
    (
        "what",
        "when",
        "where",
        "which",
        "who",
        "whose",
        "whom",
        "why",
        "how",
        "is",
        "are",
        "was",
        "were",
        "do",
        "does",
        "did",
        "in",
        "of",
        "for",
    )
)
_ARTICLES = frozenset(("the", "a", "an"))
# The words that show what kind of thing a query asks for: question words, and relations as in "director of Alien".
_ASKS = {
    "asks_when": frozenset(("when", "year", "date", "birth", "founded", "inception")),
    "asks_who": frozenset(
        ("who", "whom", "whose", "performer", "director", "spouse", "father", "mother", "author", "founder")
    ),
    "asks_where": frozenset(("where", "located", "place", "country", "city", "state", "county", "continent")),
    "asks_how_many": frozenset(("many", "much", "long", "population", "number")),
}


def switch_features(
    question: str,
    query: str,
    new: Sequence[Document],
    observed: Sequence[Document],
    step: int,
    statistics: TermStatistics | None = None,
) -> list[dict[str, float]]:
    """Compute the features of the passages that a search found.

    Returns a dict for each passage in ``new``, even if an earlier step has shown it. Its keys are :data:`FEATURES`.
    Features such as ``covers_query`` are shares of words, from 0 to 1, to which rare words contribute more. Features
    that do not apply are -1. ``step`` is the number of earlier searches. :func:`term_weights` explains ``statistics``.
    The retriever's scores are not used, because their meaning differs between search engines.
    """
    texts = _Texts(question, query, new, observed, statistics)
    measures = [texts.measure(place) for place in range(len(new))]
    shown = {identity(document) for document in observed}
    fresh = [place for place, document in enumerate(new) if identity(document) not in shown]
    again = [measure for place, measure in enumerate(measures) if place not in fresh]
    overall = {
        "step": float(step),
        "observed_passages": float(len(observed)),
        "new_passages": float(len(new)),
        "fresh_passages": float(len(fresh)),
        "first_fresh": float(fresh[0]) if fresh else _ABSENT,
        **texts.overall(),
        "shown_covers_query": max((measure["covers_query"] for measure in again), default=_ABSENT),
        "shown_title_in_query": max((measure["title_in_query"] for measure in again), default=_ABSENT),
    }
    described = []
    for place, measure in enumerate(measures):
        values = {**overall, **measure}
        values["shown"] = float(place not in fresh)
        values["rank"] = float(place)
        values["rank_among_fresh"] = float(fresh.index(place)) if place in fresh else _ABSENT
        others = [measures[other] for other in fresh if other != place]
        for name in _AHEAD:
            values[f"ahead_{name}"] = _ahead(name, measure, others)
        described.append({name: values[name] for name in FEATURES})
    return described


class _Texts:
    """The question, the query and the passages of a search. Each text is split into words only once."""

    def __init__(
        self,
        question: str,
        query: str,
        new: Sequence[Document],
        observed: Sequence[Document],
        statistics: TermStatistics | None,
    ):
        sentences = [_SENTENCE_END.split(document.content or "") for document in new]
        texts = [query, question]
        texts += [passage_text(document) for document in (*new, *observed)]
        texts += [_title(document) for document in new]
        texts += [sentence for passage in sentences for sentence in passage]
        # The words of the texts, which are taken in the order of the texts.
        analysed = iter(analyze_texts(texts, statistics))
        words_of_query, words_of_question = next(analysed), next(analysed)
        words_of_passages = list(islice(analysed, len(new)))
        self.query, self.question = set(words_of_query), set(words_of_question)
        self.passages = [set(terms) for terms in words_of_passages]
        self.seen = set[str]().union(*islice(analysed, len(observed)))
        self.titles = [set(terms) for terms in islice(analysed, len(new))]
        self.sentences: list[list[set[str]]] = []
        for passage, title in zip(sentences, self.titles, strict=True):
            # The words of a passage's title count as words of each of its sentences, which rarely repeat the title.
            self.sentences.append([title.union(terms) for terms in islice(analysed, len(passage))])
        self.query_pairs = set(pairwise(words_of_query))
        self.pairs = [set(pairwise(terms)) for terms in words_of_passages]
        self.lengths = [len(terms) for terms in words_of_passages]
        self.years = [min(_MAX_YEARS, len(_YEAR.findall(document.content or ""))) for document in new]
        self.unseen_of_question = self.question - self.seen  # the question's words that no observed passage contains
        self.unseen_of_query = self.query - self.seen
        self.added = self.query - self.question
        self.weights = term_weights(self.query.union(self.question, *self.titles), statistics)
        rarest_first = sorted(self.query, key=lambda term: (-self.weights[term], term))
        self.rarest = set(rarest_first[:2])
        # Padded texts have blanks around each word, see `_normalise`.
        self.padded_query, self.padded_question = _normalise(query), _normalise(question)
        self.padded_seen = [_normalise(passage_text(document)) for document in observed]
        self.padded_new = [_normalise(document.content or "") for document in new]
        self.padded_titles = [_normalise_title(document) for document in new]
        self.padded_passages = [_normalise(passage_text(document)) for document in new]
        self.whole_titles = [_normalise(_title(document)) for document in new]
        self.titled = bool(new) and all(title.strip() for title in self.whole_titles)
        self.names = {name.lower() for name in _NAME.findall(query)} - _FIRST_WORDS
        self.whole_names = _whole_names(query)
        self.added_names = [name for name in self.whole_names if name not in self.padded_question]
        titles_of_observed = [_normalise_title(document) for document in observed]
        self.observed_titles = [title for title in titles_of_observed if title.strip()]

    def overall(self) -> dict[str, float]:
        """Compute the features that are the same for all new passages."""
        query_words = self.padded_query.split()
        asks = {name: float(not wanted.isdisjoint(query_words)) for name, wanted in _ASKS.items()}
        return {
            "question_observed": self._share(self.seen, self.question),
            "query_observed": self._share(self.seen, self.query),
            "query_added": self._share(self.added, self.query),
            "question_asked": self._share(self.query, self.question),  # how much of the question the query contains
            "question_words": float(len(self.question)),
            "query_words": float(len(self.query)),
            "observed_titles_in_query": float(_count_in(self.padded_query, self.observed_titles)),
            "observed_titles_in_question": float(_count_in(self.padded_question, self.observed_titles)),
            "query_is_question": float(self.padded_query == self.padded_question),
            **asks,
            # Passages of one file have the same title; passages of an encyclopedia have different titles.
            "distinct_titles": len({*self.whole_titles}) / len(self.whole_titles) if self.titled else _ABSENT,
        }

    def measure(self, place: int) -> dict[str, float]:
        """Compute the features of one new passage and its title."""
        terms, title = self.passages[place], self.titles[place]
        padded, whole_title = self.padded_titles[place], self.whole_titles[place]
        padded_passage, padded_content = self.padded_passages[place], self.padded_new[place]
        named = bool(padded.strip())
        words_of_title = set(padded.split())
        words_of_passage = words_of_title.union(padded_content.split())
        return {
            "covers_query": self._share(terms, self.query),
            "covers_question": self._share(terms, self.question),
            "covers_open_question": self._share(terms, self.unseen_of_question),
            "covers_open_query": self._share(terms, self.unseen_of_query),
            "covers_added_words": self._share(terms, self.added) if self.added else _ABSENT,
            "sentence_covers_query": max(self._share(sentence, self.query) for sentence in self.sentences[place]),
            "holds_word_pairs": self._share_of_pairs(place),
            "holds_rarest_words": _part(terms, self.rarest),
            "holds_whole_names": _share_in(padded_passage, self.whole_names),
            "holds_added_whole_names": _share_in(padded_passage, self.added_names),
            "title_holds_whole_names": _share_in(padded, self.whole_names),
            "title_starts_with_name": float(any(map(padded.startswith, self.whole_names))),
            "title_is_name": float(padded in self.whole_names),
            "title_in_query": float(named and padded in self.padded_query),
            "title_in_question": float(named and padded in self.padded_question),
            "holds_names": _part(words_of_passage, self.names) if self.names else _ABSENT,
            "title_holds_names": _part(words_of_title, self.names) if self.names else _ABSENT,
            "whole_title_in_query": float(named and whole_title in self.padded_query),
            "whole_title_in_question": float(named and whole_title in self.padded_question),
            "title_covered_by_query": self._share(self.query, title),
            "title_covered_by_question": self._share(self.question, title),
            "title_covers_query": self._share(title, self.query),
            "title_covers_question": self._share(title, self.question),
            "title_covers_open_question": self._share(title, self.unseen_of_question),
            "title_covers_added_words": self._share(title, self.added) if self.added else _ABSENT,
            "title_holds_rarest_words": _part(title, self.rarest),
            "title_in_observed": float(named and any(padded in text for text in self.padded_seen)),
            "title_covered_by_observed": self._share(self.seen, title),
            "title_observed": float(padded in self.observed_titles),
            "mentions_observed_title": float(any(title in padded_content for title in self.observed_titles)),
            "same_title": self._share_of_title(place),
            "years": float(self.years[place]),
            "words": float(self.lengths[place]),
        }

    def _share_of_title(self, place: int) -> float:
        """Compute which share of the other passages has the same title as this passage."""
        title = self.whole_titles[place]
        if not title.strip():
            return _ABSENT
        return (self.whole_titles.count(title) - 1) / max(1, len(self.whole_titles) - 1)

    def _share_of_pairs(self, place: int) -> float:
        """Compute which share of the query's pairs of neighbouring words a passage contains, by weight."""
        weights = {}
        for first, second in sorted(self.query_pairs):
            weights[first, second] = self.weights[first] + self.weights[second]
        whole = sum(weights.values())
        if not whole:
            return 0.0
        return sum(weight for pair, weight in weights.items() if pair in self.pairs[place]) / whole

    def _weight(self, terms: Set[str]) -> float:
        # Sorted: a sum of floats depends on the order of adding, and the order of a set differs between processes.
        return sum(self.weights[term] for term in sorted(terms))

    def _share(self, having: Set[str], wanted: Set[str]) -> float:
        whole = self._weight(wanted)
        return self._weight(wanted & having) / whole if whole else 0.0


def as_row(features: Mapping[str, float]) -> list[float]:
    """List the features of a passage in the order of :data:`FEATURES`, which the trees expect."""
    return [features[name] for name in FEATURES]


def _part(having: Set[str], wanted: Set[str]) -> float:
    return len(wanted & having) / len(wanted) if wanted else 0.0


def _ahead(name: str, measure: Mapping[str, float], others: Sequence[Mapping[str, float]]) -> float:
    return measure[name] - max(other[name] for other in others) if others else 0.0


def _count_in(text: str, names: Sequence[str]) -> int:
    return sum(name in text for name in names)


def _share_in(text: str, names: Sequence[str]) -> float:
    return _count_in(text, names) / len(names) if names else _ABSENT


def _whole_names(query: str) -> list[str]:
    """Find the names of a query, each once and without words such as "Who" or "The" at its beginning."""
    names = []
    for text in _WHOLE_NAME.findall(query):
        name_words = text.split()
        while name_words and name_words[0].lower() in _FIRST_WORDS | _ARTICLES:
            name_words.pop(0)
        name = _normalise(" ".join(name_words))
        if name.strip() and name not in names:
            names.append(name)
    return names


def _title(document: Document) -> str:
    title: object = document.meta.get("title")
    return str(title or "")


def _normalise(text: str) -> str:
    """Write a text as lower-case words with blanks around them, so that titles are found only as whole words."""
    return f" {' '.join(_WORD.findall(text.lower()))} "


def _normalise_title(document: Document) -> str:
    return _normalise(_PARENTHESIS.sub("", _title(document)))
