"""What can be counted of a retrieval, to judge whether its passages are worth keeping."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence, Set
from typing import Any

from haystack import Document

from components.coverage import TermStatistics, analyzed, passage_text, term_weights
from components.state import identity

# Of each new passage that has not been shown, the highest value counts: one good passage is enough.
_OF_PASSAGES = (
    "covers_query",
    "covers_question",
    "covers_open_question",
    "covers_open_query",
    "covers_added_words",
    "holds_rarest_words",
    "holds_names",
    "title_in_query",
    "title_in_question",
    "whole_title_in_query",
    "whole_title_in_question",
    "title_holds_names",
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
)
_OF_FIRST = (
    "covers_query",
    "covers_question",
    "covers_open_question",
    "title_in_query",
    "title_in_question",
    "title_covered_by_query",
    "title_covers_query",
    "title_in_observed",
    "holds_rarest_words",
)
_OF_SECOND_BEST = (
    "covers_query",
    "covers_question",
    "covers_open_question",
    "title_in_query",
    "title_in_question",
    "title_in_observed",
)
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
    "shown_covers_query",
    "shown_title_in_query",
)
FEATURES = (
    *_OF_STEP,
    *(f"best_{name}" for name in _OF_PASSAGES),
    *(f"first_{name}" for name in _OF_FIRST),
    *(f"second_{name}" for name in _OF_SECOND_BEST),
)
_ABSENT = -1.0
_PARENTHESIS = re.compile(r"\s*\([^()]*\)\s*$")
_WORD = re.compile(r"\w+")
_NAME = re.compile(r"\b[A-Z0-9]\w*")
# Words that have their capital from the beginning of a question.
_FIRST_WORDS = frozenset(
    (
        *("what", "when", "where", "which", "who", "whose", "whom", "why", "how"),
        *("is", "are", "was", "were", "do", "does", "did", "in", "of", "for"),
    )
)


def judge_features(
    question: str,
    query: str,
    new: Sequence[Document],
    observed: Sequence[Document],
    step: int,
    statistics: TermStatistics | None = None,
) -> dict[str, float]:
    """Describe a retrieval by what its passages cover, words weighted by how rare they are.

    Nothing depends on the scores of the retriever, which mean another thing in each engine.

    :param question: The original question.
    :param query: What the source was asked.
    :param new: The passages that have just been found, best first.
    :param observed: The passages that have been shown.
    :param step: How many searches went before this one.
    :param statistics: See :func:`~components.coverage.term_weights`; also analyses the texts.
    :returns: A value for each of :data:`FEATURES`; shares are from 0 to 1, and what does not apply is -1.
    """
    asked = _Asked(question, query, new, observed, statistics)
    shown = {identity(document) for document in observed}
    measures = [asked.measure(place) for place in range(len(new))]
    fresh = [place for place, document in enumerate(new) if identity(document) not in shown]
    again = [measures[place] for place, document in enumerate(new) if identity(document) in shown]
    values = {
        "step": float(step),
        "observed_passages": float(len(observed)),
        "new_passages": float(len(new)),
        "fresh_passages": float(len(fresh)),
        "first_fresh": float(fresh[0]) if fresh else _ABSENT,
        **asked.overall(),
        "shown_covers_query": max((measure["covers_query"] for measure in again), default=_ABSENT),
        "shown_title_in_query": max((measure["title_in_query"] for measure in again), default=_ABSENT),
    }
    for name in _OF_PASSAGES:
        ranked = sorted((measures[place][name] for place in fresh), reverse=True)
        values[f"best_{name}"] = ranked[0] if ranked else _ABSENT
        if name in _OF_SECOND_BEST:
            values[f"second_{name}"] = ranked[1] if len(ranked) > 1 else _ABSENT
    for name in _OF_FIRST:
        values[f"first_{name}"] = measures[0][name] if measures else _ABSENT
    return {name: values[name] for name in FEATURES}


class _Asked:
    """The texts of one retrieval, each analysed once."""

    def __init__(
        self,
        question: str,
        query: str,
        new: Sequence[Document],
        observed: Sequence[Document],
        statistics: TermStatistics | None,
    ):
        texts = [query, question]
        texts += [passage_text(document) for document in (*new, *observed)]
        texts += [_title(document) for document in new]
        self.query, self.question, *rest = (set(terms) for terms in analyzed(texts, statistics))
        shown = len(new) + len(observed)
        self.passages, self.titles = rest[: len(new)], rest[shown:]
        self.seen = {term for terms in rest[len(new) : shown] for term in terms}
        self.open_question = self.question - self.seen
        self.open_query = self.query - self.seen
        self.added = self.query - self.question
        self.weights = term_weights(self.query.union(self.question, *self.titles), statistics)
        self.rarest = set(sorted(self.query, key=lambda term: (-self.weights[term], term))[:2])
        self.spoken_query, self.spoken_question = _spoken(query), _spoken(question)
        self.spoken_seen = [_spoken(passage_text(document)) for document in observed]
        self.spoken_new = [_spoken(document.content or "") for document in new]
        self.spoken_titles = [_spoken_title(document) for document in new]
        self.whole_titles = [_spoken(_title(document)) for document in new]
        self.names = {name.lower() for name in _NAME.findall(query)} - _FIRST_WORDS
        self.observed_titles = [title for document in observed if (title := _spoken_title(document)).strip()]

    def overall(self) -> dict[str, float]:
        """:returns: What does not depend on a single new passage."""
        return {
            "question_observed": self._share(self.seen, self.question),
            "query_observed": self._share(self.seen, self.query),
            "query_added": self._share(self.added, self.query),
            "question_asked": self._share(self.query, self.question),
            "question_words": float(len(self.question)),
            "query_words": float(len(self.query)),
            "observed_titles_in_query": float(sum(title in self.spoken_query for title in self.observed_titles)),
            "observed_titles_in_question": float(sum(title in self.spoken_question for title in self.observed_titles)),
            "query_is_question": float(self.spoken_query == self.spoken_question),
        }

    def measure(self, place: int) -> dict[str, float]:
        """:returns: What one new passage covers, holds and is called; by the names of the features."""
        terms, title = self.passages[place], self.titles[place]
        spoken = self.spoken_titles[place]
        named = bool(spoken.strip())
        spoken_terms = {*self.spoken_new[place].split(), *spoken.split()}
        return {
            "covers_query": self._share(terms, self.query),
            "covers_question": self._share(terms, self.question),
            "covers_open_question": self._share(terms, self.open_question),
            "covers_open_query": self._share(terms, self.open_query),
            "covers_added_words": self._share(terms, self.added) if self.added else _ABSENT,
            "holds_rarest_words": _part(terms, self.rarest),
            "title_in_query": float(named and spoken in self.spoken_query),
            "title_in_question": float(named and spoken in self.spoken_question),
            "holds_names": _part(spoken_terms, self.names) if self.names else _ABSENT,
            "title_holds_names": _part(set(spoken.split()), self.names) if self.names else _ABSENT,
            "whole_title_in_query": float(named and self.whole_titles[place] in self.spoken_query),
            "whole_title_in_question": float(named and self.whole_titles[place] in self.spoken_question),
            "title_covered_by_query": self._share(self.query, title),
            "title_covered_by_question": self._share(self.question, title),
            "title_covers_query": self._share(title, self.query),
            "title_covers_question": self._share(title, self.question),
            "title_covers_open_question": self._share(title, self.open_question),
            "title_covers_added_words": self._share(title, self.added) if self.added else _ABSENT,
            "title_holds_rarest_words": _part(title, self.rarest),
            "title_in_observed": float(named and any(spoken in text for text in self.spoken_seen)),
            "title_covered_by_observed": self._share(self.seen, title),
            "title_observed": float(spoken in self.observed_titles),
            "mentions_observed_title": float(any(t in self.spoken_new[place] for t in self.observed_titles)),
        }

    def _weight(self, terms: Set[str]) -> float:
        # A sum of floats depends on its order, and that of a set on the process.
        return sum(self.weights[term] for term in sorted(terms))

    def _share(self, having: Set[str], wanted: Set[str]) -> float:
        whole = self._weight(wanted)
        return self._weight(wanted & having) / whole if whole else 0.0


def as_row(features: Mapping[str, float]) -> list[float]:
    """:param features: See :func:`judge_features`. :returns: Their values in the order of :data:`FEATURES`."""
    return [features[name] for name in FEATURES]


def _part(having: Set[str], wanted: Set[str]) -> float:
    return len(wanted & having) / len(wanted) if wanted else 0.0


def _title(document: Document) -> str:
    title: Any = document.meta.get("title")
    return str(title or "")


def _spoken(text: str) -> str:
    """:returns: The words of a text in lower case, a blank around each, so that a title is found as whole words."""
    return f" {' '.join(_WORD.findall(text.lower()))} "


def _spoken_title(document: Document) -> str:
    return _spoken(_PARENTHESIS.sub("", _title(document)))
