"""The features from which boosted trees judge whether to keep the passages of a search or to switch the source.

A feature is one number that describes a passage, for example how many of the query's words it contains. A search with
five passages gives five rows of features. :class:`TreeJudge` computes these rows for its trees, in a run and in the
training. The texts are compared as words, so no language model is needed.

Most features are shares of words, from 0 to 1, in which rare words count more than frequent words. The query is the
text that was searched for. In a run of several searches, it usually differs from the user's question.

An *observed* passage is one that an earlier step has already shown to the model. A *new* passage is one that this
search found. A *fresh* passage is a new passage that has not been observed.
"""

import re
from collections.abc import Mapping, Sequence, Set
from itertools import chain, islice, pairwise

from haystack import Document

from prefrag.components.state.state import identity
from prefrag.components.text.term_statistics import TermStatistics, analyze_texts, passage_text, term_weights

# The features of the search. All new passages of a search have the same values.
_OF_STEP = (
    # The number of earlier searches in this run.
    "step",
    # The numbers of observed, new and fresh passages.
    "observed_passages",
    "new_passages",
    "fresh_passages",
    # The rank of the best fresh passage, counted from 0.
    "first_fresh",
    # The share of the question's words, and of the query's words, that the observed passages contain together.
    "question_observed",
    "query_observed",
    # The share of the query's words that the question does not contain.
    "query_added",
    # The share of the question's words that the query contains.
    "question_asked",
    # The number of different words in the question, and in the query.
    "question_words",
    "query_words",
    # The number of observed passages whose title stands in the query, and in the question.
    "observed_titles_in_query",
    "observed_titles_in_question",
    # 1 if the query and the question have the same words in the same order, otherwise 0.
    "query_is_question",
    # 1 if the query contains a word that asks for a date, a person, a place or a quantity (see `_ASKS`), otherwise 0.
    "asks_when",
    "asks_who",
    "asks_where",
    "asks_how_many",
    # The highest `covers_query` and `title_in_query` among the new passages that are not fresh.
    "shown_covers_query",
    "shown_title_in_query",
    # The number of different titles among the new passages, divided by the number of new passages.
    "distinct_titles",
)
# The features of a new passage and of its title. "Title" means the title without a parenthesis at its end, except
# where the comment says "whole title". A title stands in a text only if all its words do, side by side.
_OF_PASSAGE = (
    # The share of the query's words, and of the question's words, that the title and the content contain.
    "covers_query",
    "covers_question",
    # The same shares, but only of those words that no observed passage contains.
    "covers_open_question",
    "covers_open_query",
    # The share that the passage contains of the words that the query has and the question has not.
    "covers_added_words",
    # The highest share of the query's words that one sentence contains together with the whole title.
    "sentence_covers_query",
    # The share of the query's pairs of neighbouring words that are neighbours in the passage, too.
    "holds_word_pairs",
    # How many of the query's two rarest words the passage contains, from 0 (none) to 1 (both).
    "holds_rarest_words",
    # The share of the query's capitalised words that the passage contains. Each word counts the same.
    "holds_names",
    # The share of the query's names of one or more words that the passage contains as a whole.
    "holds_whole_names",
    # The same share, but only of the names that the question does not contain.
    "holds_added_whole_names",
    # 1 if the title stands in the query, or in the question, otherwise 0.
    "title_in_query",
    "title_in_question",
    # The values of `holds_names` and `holds_whole_names` for the title alone.
    "title_holds_names",
    "title_holds_whole_names",
    # 1 if the title begins with a name of the query, or is a name of the query, otherwise 0.
    "title_starts_with_name",
    "title_is_name",
    # 1 if the whole title stands in the query, or in the question, otherwise 0.
    "whole_title_in_query",
    "whole_title_in_question",
    # The share of the whole title's words that the query contains, and that the question contains.
    "title_covered_by_query",
    "title_covered_by_question",
    # The shares and counts of words above, for the whole title alone in place of the passage.
    "title_covers_query",
    "title_covers_question",
    "title_covers_open_question",
    "title_covers_added_words",
    "title_holds_rarest_words",
    # 1 if the title stands in an observed passage, otherwise 0.
    "title_in_observed",
    # The share of the whole title's words that the observed passages contain together.
    "title_covered_by_observed",
    # 1 if an observed passage has the same title, otherwise 0.
    "title_observed",
    # 1 if the title of an observed passage stands in the content of this passage, otherwise 0.
    "mentions_observed_title",
    # The share of the other new passages that have the same whole title.
    "same_title",
    # The number of years in the content, at most `_MAX_YEARS`.
    "years",
    # The number of words in the title and the content, repetitions included.
    "words",
)
# Each of these features also has a feature `ahead_NAME`. `ahead_NAME` is the passage's value minus the highest value
# among the other fresh passages. If there is no other fresh passage, it is 0.
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
# All features in the order that the trees expect. `shown` is 1 for an observed passage, otherwise 0. `rank` is the
# passage's place among the new passages, counted from 0. `rank_among_fresh` is its place among the fresh passages.
FEATURES = (*_OF_STEP, *_OF_PASSAGE, "shown", "rank", "rank_among_fresh", *(f"ahead_{name}" for name in _AHEAD))
# The features that depend on the number of passages or searches, or on the place of a passage.
_COUNTED = (
    "step",
    "observed_passages",
    "new_passages",
    "fresh_passages",
    "first_fresh",
    "rank",
    "rank_among_fresh",
)
# The features that depend only on the texts.
TEXT_FEATURES = tuple(name for name in FEATURES if name not in _COUNTED)
# The value of a feature that does not apply, for example of `holds_names` if the query has no capitalised word.
_ABSENT = -1.0
# The parenthesis at the end of a title, with the blanks around it: " (film)" in "Alien (film)".
_PARENTHESIS = re.compile(r"\s*\([^()]*\)\s*$")
# A word in any script, or a number: "alien", "1979".
_WORD = re.compile(r"\w+")
# A word that begins with a capital letter from A to Z or with a digit: "Scott" and "1979", but not "iPhone".
_NAME = re.compile(r"\b[A-Z0-9]\w*")
# A word of a longer name. It begins like a `_NAME`, and may also contain the characters in "O'Hara", "AT&T" or "St.".
_NAME_WORD = r"[A-Z0-9][\w'\u2019.&-]*"
# A small word that may stand between two words of a name, such as "of".
_SMALL_WORD = r"(?:of|the|and|de|for|in|at|on|to|a)"
# A name of one or more words. Up to two small words may stand between two capitalised words:
# "Museum of the City of New York". In "Bank in the old Town", "old" is no small word, so this has two names.
_WHOLE_NAME = re.compile(rf"\b{_NAME_WORD}(?:\s+(?:{_SMALL_WORD}\s+){{0,2}}{_NAME_WORD})*")
# The blanks after the end of a sentence. "One. Two! Three" is split into "One.", "Two!" and "Three".
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
# A year from 1000 to 2099: "1979", but not "3024" or "120".
_YEAR = re.compile(r"\b(?:1\d|20)\d\d\b")
# The highest value of the feature `years`. More years only show that a passage is a list.
_MAX_YEARS = 5
# Words that begin questions, in lower case. If such a word is capitalised, it is not taken for the beginning of a name.
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
# The words that are left out at the beginning of a name: those above, and articles.
_NOT_IN_NAMES = _FIRST_WORDS.union(("the", "a", "an"))
# The words that show what kind of thing a query asks for, by the feature that they set to 1. They are question words
# ("when") and relations, such as "director" in "director of Alien".
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

    The retriever's scores are not used, because their meaning differs between search engines.

    For example, the query is "Alien director", and a passage has the title "Alien (film)" and the content "Alien is a
    film of 1979." Without statistics, its ``covers_query`` is 0.5. The passage contains one of the query's two words.
    Its ``title_in_query`` and its ``years`` are 1.

    :param question: The user's question.
    :param query: The query of the search.
    :param new: The passages that the search found, best first.
    :param observed: The passages that earlier steps have shown to the model.
    :param step: The number of earlier searches.
    :param statistics: Splits texts into words and knows how rare each word is. With None, only words of at least four
        letters count, and all of them have the same weight. See :func:`term_weights`.
    :returns: One dict for each passage in ``new``, also for a passage that an earlier step has shown. Its keys are
        :data:`FEATURES`, in this order. Shares are from 0 to 1. A feature that does not apply is -1.
    """
    texts = _Texts(question, query, new, observed, statistics)
    measures = [texts.measure(place) for place in range(len(new))]

    # `fresh` lists the places in `new` of the passages that no earlier step has shown.
    shown_keys = {identity(document) for document in observed}
    fresh = [place for place, document in enumerate(new) if identity(document) not in shown_keys]
    measures_of_shown = [measure for place, measure in enumerate(measures) if place not in fresh]

    overall = {
        "step": float(step),
        "observed_passages": float(len(observed)),
        "new_passages": float(len(new)),
        "fresh_passages": float(len(fresh)),
        "first_fresh": float(fresh[0]) if fresh else _ABSENT,
        **texts.overall(),
        "shown_covers_query": max((measure["covers_query"] for measure in measures_of_shown), default=_ABSENT),
        "shown_title_in_query": max((measure["title_in_query"] for measure in measures_of_shown), default=_ABSENT),
    }

    rows = []
    for place, measure in enumerate(measures):
        values = {**overall, **measure}
        values["shown"] = float(place not in fresh)
        values["rank"] = float(place)
        values["rank_among_fresh"] = float(fresh.index(place)) if place in fresh else _ABSENT

        measures_of_others = [measures[other_place] for other_place in fresh if other_place != place]
        for name in _AHEAD:
            values[f"ahead_{name}"] = _lead(name, measure, measures_of_others)

        # The values are put into the order of `FEATURES`.
        rows.append({name: values[name] for name in FEATURES})
    return rows


class _Texts:
    """The question, the query and the passages of a search, prepared for comparing their words.

    All texts are split into words in one call, because the statistics may come from a server.

    Texts are compared in two ways. Sets of words, as the index splits texts, serve for shares of words. Normalised
    texts (see :func:`_normalise`) serve to find titles and names, whose words have to stand side by side.
    """

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
        texts += chain.from_iterable(sentences)

        # `analysed` yields the words of each text in the order of `texts`. The lines below must keep this order.
        analysed = iter(analyze_texts(texts, statistics))
        words_of_query = next(analysed)
        words_of_question = next(analysed)
        words_of_passages = list(islice(analysed, len(new)))
        self.query = set(words_of_query)
        self.question = set(words_of_question)
        self.passages = [set(terms) for terms in words_of_passages]
        # All words of the observed passages together.
        self.seen = set[str]().union(*islice(analysed, len(observed)))
        self.titles = [set(terms) for terms in islice(analysed, len(new))]
        self.sentences: list[list[set[str]]] = []
        for passage, title in zip(sentences, self.titles, strict=True):
            # The words of a passage's title count as words of each of its sentences, which rarely repeat the title.
            self.sentences.append([title.union(terms) for terms in islice(analysed, len(passage))])

        # Pairs of neighbouring words, and counts.
        self.query_pairs = set(pairwise(words_of_query))
        self.pairs = [set(pairwise(terms)) for terms in words_of_passages]
        self.lengths = [len(terms) for terms in words_of_passages]
        self.years = [min(_MAX_YEARS, len(_YEAR.findall(document.content or ""))) for document in new]

        # The words of the question, and of the query, that no observed passage contains.
        self.unseen_of_question = self.question - self.seen
        self.unseen_of_query = self.query - self.seen
        # The words of the query that the question does not contain.
        self.added = self.query - self.question

        # A rare word has a large weight. Of two words with the same weight, the first in the alphabet is taken.
        self.weights = term_weights(self.query.union(self.question, *self.titles), statistics)
        rarest_first = sorted(self.query, key=lambda term: (-self.weights[term], term))
        self.rarest = set(rarest_first[:2])

        # A padded text has blanks around each word, see `_normalise`.
        self.padded_query = _normalise(query)
        self.padded_question = _normalise(question)
        self.padded_observed = [_normalise(passage_text(document)) for document in observed]
        self.padded_contents = [_normalise(document.content or "") for document in new]
        self.padded_titles = [_normalise_title(document) for document in new]
        self.padded_passages = [_normalise(passage_text(document)) for document in new]
        # Whole titles are padded, too. They keep the parenthesis at their end.
        self.whole_titles = [_normalise(_title(document)) for document in new]
        self.all_have_titles = bool(new) and all(title.strip() for title in self.whole_titles)

        self.names = {name.lower() for name in _NAME.findall(query)} - _FIRST_WORDS
        self.whole_names = _whole_names(query)
        self.added_names = [name for name in self.whole_names if name not in self.padded_question]
        titles_of_observed = [_normalise_title(document) for document in observed]
        self.observed_titles = [title for title in titles_of_observed if title.strip()]

    def overall(self) -> dict[str, float]:
        """Compute the features that are the same for all new passages.

        :returns: The values of the features of :data:`_OF_STEP` that need the texts.
        """
        query_words = self.padded_query.split()
        asks = {}
        for name, asking_words in _ASKS.items():
            asks[name] = float(not asking_words.isdisjoint(query_words))

        # Passages of one file have the same title. Passages of an encyclopedia have different titles.
        distinct_titles = _ABSENT
        if self.all_have_titles:
            distinct_titles = len(set(self.whole_titles)) / len(self.whole_titles)
        return {
            "question_observed": self._share(self.seen, self.question),
            "query_observed": self._share(self.seen, self.query),
            "query_added": self._share(self.added, self.query),
            "question_asked": self._share(self.query, self.question),
            "question_words": float(len(self.question)),
            "query_words": float(len(self.query)),
            "observed_titles_in_query": float(_count_contained(self.padded_query, self.observed_titles)),
            "observed_titles_in_question": float(_count_contained(self.padded_question, self.observed_titles)),
            "query_is_question": float(self.padded_query == self.padded_question),
            **asks,
            "distinct_titles": distinct_titles,
        }

    def measure(self, place: int) -> dict[str, float]:
        """Compute the features of one new passage and its title.

        :param place: The place of the passage among the new passages, counted from 0.
        :returns: The values of the features of :data:`_OF_PASSAGE`.
        """
        passage_terms = self.passages[place]
        title_terms = self.titles[place]
        padded_title = self.padded_titles[place]
        whole_title = self.whole_titles[place]
        padded_passage = self.padded_passages[place]
        padded_content = self.padded_contents[place]
        has_title = bool(padded_title.strip())
        words_of_title = set(padded_title.split())
        words_of_passage = words_of_title.union(padded_content.split())
        return {
            "covers_query": self._share(passage_terms, self.query),
            "covers_question": self._share(passage_terms, self.question),
            "covers_open_question": self._share(passage_terms, self.unseen_of_question),
            "covers_open_query": self._share(passage_terms, self.unseen_of_query),
            "covers_added_words": self._share(passage_terms, self.added) if self.added else _ABSENT,
            "sentence_covers_query": max(self._share(sentence, self.query) for sentence in self.sentences[place]),
            "holds_word_pairs": self._share_of_pairs(place),
            "holds_rarest_words": _unweighted_share(passage_terms, self.rarest),
            "holds_whole_names": _share_contained(padded_passage, self.whole_names),
            "holds_added_whole_names": _share_contained(padded_passage, self.added_names),
            "title_holds_whole_names": _share_contained(padded_title, self.whole_names),
            "title_starts_with_name": float(any(map(padded_title.startswith, self.whole_names))),
            "title_is_name": float(padded_title in self.whole_names),
            "title_in_query": float(has_title and padded_title in self.padded_query),
            "title_in_question": float(has_title and padded_title in self.padded_question),
            "holds_names": _unweighted_share(words_of_passage, self.names) if self.names else _ABSENT,
            "title_holds_names": _unweighted_share(words_of_title, self.names) if self.names else _ABSENT,
            "whole_title_in_query": float(has_title and whole_title in self.padded_query),
            "whole_title_in_question": float(has_title and whole_title in self.padded_question),
            "title_covered_by_query": self._share(self.query, title_terms),
            "title_covered_by_question": self._share(self.question, title_terms),
            "title_covers_query": self._share(title_terms, self.query),
            "title_covers_question": self._share(title_terms, self.question),
            "title_covers_open_question": self._share(title_terms, self.unseen_of_question),
            "title_covers_added_words": self._share(title_terms, self.added) if self.added else _ABSENT,
            "title_holds_rarest_words": _unweighted_share(title_terms, self.rarest),
            "title_in_observed": float(has_title and any(padded_title in text for text in self.padded_observed)),
            "title_covered_by_observed": self._share(self.seen, title_terms),
            "title_observed": float(padded_title in self.observed_titles),
            "mentions_observed_title": float(any(title in padded_content for title in self.observed_titles)),
            "same_title": self._share_of_title(place),
            "years": float(self.years[place]),
            "words": float(self.lengths[place]),
        }

    def _share_of_title(self, place: int) -> float:
        """Compute which share of the other new passages has the same whole title; -1 if the passage has no title."""
        title = self.whole_titles[place]
        if not title.strip():
            return _ABSENT
        others = len(self.whole_titles) - 1
        others_with_title = self.whole_titles.count(title) - 1
        return others_with_title / max(1, others)

    def _share_of_pairs(self, place: int) -> float:
        """Compute which share of the query's pairs of neighbouring words a passage contains; 0 without such pairs.

        The weight of a pair is the sum of the weights of its two words.
        """
        weights = {}
        # Sorted for the same reason as in `_weight`.
        for first, second in sorted(self.query_pairs):
            weights[first, second] = self.weights[first] + self.weights[second]
        total = sum(weights.values())
        if not total:
            return 0.0
        pairs_of_passage = self.pairs[place]
        return sum(weight for pair, weight in weights.items() if pair in pairs_of_passage) / total

    def _weight(self, terms: Set[str]) -> float:
        """Add up the weights of words."""
        # Sorted, because a sum of floats depends on the order of adding. The order of a set differs between processes.
        return sum(self.weights[term] for term in sorted(terms))

    def _share(self, having: Set[str], wanted: Set[str]) -> float:
        """Compute which share of the wanted words is in ``having``, by weight; 0 if no word is wanted."""
        total = self._weight(wanted)
        if not total:
            return 0.0
        return self._weight(wanted & having) / total


def as_row(features: Mapping[str, float]) -> list[float]:
    """List the features of a passage in the order of :data:`FEATURES`, which the trees expect.

    :param features: The values by the name of the feature, as :func:`switch_features` returns them.
    :returns: The values.
    """
    return [features[name] for name in FEATURES]


def _unweighted_share(having: Set[str], wanted: Set[str]) -> float:
    """Compute which share of the wanted words is in ``having``, where each word counts the same.

    For example, ``_unweighted_share({"a"}, {"a", "b"})`` returns 0.5. Without a wanted word, the share is 0.
    """
    return len(wanted & having) / len(wanted) if wanted else 0.0


def _lead(name: str, measure: Mapping[str, float], others: Sequence[Mapping[str, float]]) -> float:
    """Subtract the highest value of a feature among other passages from the value of this passage.

    For example, the value 0.75 leads the values 0.5 and 0.25 by 0.25. Without other passages, the result is 0.
    """
    if not others:
        return 0.0
    return measure[name] - max(other[name] for other in others)


def _count_contained(text: str, names: Sequence[str]) -> int:
    """Count the names that a normalised text contains."""
    return sum(name in text for name in names)


def _share_contained(text: str, names: Sequence[str]) -> float:
    """Compute which share of the names a normalised text contains; -1 if there are no names.

    For example, " who made alien " contains 0.5 of the names " alien " and " ridley ".
    """
    if not names:
        return _ABSENT
    return _count_contained(text, names) / len(names)


def _whole_names(query: str) -> list[str]:
    """Find the names of a query, each once and normalised.

    Words such as "Who" or "The" at the beginning of a name are left out. For example, the names of
    "What did Marie Curie find in 1911?" are ``[" marie curie ", " 1911 "]``.
    """
    names = []
    for text in _WHOLE_NAME.findall(query):
        name_words = text.split()
        while name_words and name_words[0].lower() in _NOT_IN_NAMES:
            name_words.pop(0)
        name = _normalise(" ".join(name_words))
        if name.strip() and name not in names:
            names.append(name)
    return names


def _title(document: Document) -> str:
    """Return the title of a passage as text; an empty text if it has none."""
    title: object = document.meta.get("title")
    return str(title or "")


def _normalise(text: str) -> str:
    """Write a text as lower-case words with blanks around them, so that titles are found only as whole words.

    For example, "The Alien, 1979!" becomes ``" the alien 1979 "``.
    """
    words = " ".join(_WORD.findall(text.lower()))
    return f" {words} "


def _normalise_title(document: Document) -> str:
    """Normalise the title of a passage without the parenthesis at its end: "Alien (film)" becomes ``" alien "``."""
    return _normalise(_PARENTHESIS.sub("", _title(document)))
