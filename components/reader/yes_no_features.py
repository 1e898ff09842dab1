"""The features of a yes-or-no question and its passages, by which boosted trees decide between yes and no."""

import re
from collections.abc import Mapping, Sequence

import numpy as np

from prefrag.components.reader.encoder_scores import Values
from prefrag.components.reader.reader_input import passage_text
from prefrag.components.reader.span_candidates import short_title
from prefrag.components.reader.span_features import WordWeight, question_weights, stem
from prefrag.components.text.term_statistics import sum_of_weights
from prefrag.components.text.title_mentions import normalize_words

_ASKED_WORDS = (
    "both same or effective country nationality are is does do can did was were located associated "
    "between involved any from born older approved used role increase first"
)
_ASKED = _ASKED_WORDS.split()
_MOST_SENTENCES = 3
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z\"\u201c])")
_DENIES = re.compile(
    r"\b(?:no|not|never|without|lack\w*|neither|fail\w*|unlikely|absence|cannot|unable|nor|however|despite)\b", re.I
)
_SUPPORTS = re.compile(
    r"\b(?:effective\w*|significant\w*|associated|improv\w*|confirm\w*|demonstrat\w*|show\w*|approved|success\w*"
    r"|promising|reduc\w*|increas\w*|found)\b",
    re.I,
)
_NATIONALITY = re.compile(r"\b[A-Z][a-z]+(?:an|ish|ese|ian|ch)\b")
_NAME = re.compile(r"\b[A-Z][a-z]{3,}\b")
_YEAR = re.compile(r"\b(?:1[0-9]{3}|20[0-9]{2})\b")
FEATURES = (
    *(f"asks_{word}" for word in _ASKED),
    "people_shared", "people_shared_through_links", "names_shared", "years_shared", "titles_in_question",
    "people_of_both", "best_cover", "share_denying", "denials", "top_sentence_denies", "top_sentences_deny",
    "supports", "top_sentences_support", "passages", "length", "words_uncovered",
)  # fmt: skip


def yes_no_features(question: str, passages: Sequence[tuple[str, str]], weight: WordWeight) -> Values:
    """Compute the features of a yes-or-no question and its passages, as one row; see :data:`FEATURES`."""
    spoken = f" {normalize_words(question)} "
    asked = question_weights(question, weight)
    texts = [passage_text(title, text) for title, text in passages]
    said = [f" {normalize_words(text)} " for text in texts]
    stems = [frozenset(map(stem, words.split())) for words in said]
    covers = [sum_of_weights(asked, own) for own in stems]
    uncovered = asked.keys() - frozenset().union(*stems)
    titles = [_title_key(title, text) for title, text in passages]
    # The passages whose titles the question has.
    named = [place for place, title in enumerate(titles) if title and f" {title} " in spoken]
    nationalities = [set(_NATIONALITY.findall(text)) for _, text in passages]
    names = [set(_NAME.findall(text)) for _, text in passages]
    years = [set(_YEAR.findall(text)) for _, text in passages]
    # For each of them, the nationalities in the other passages that it mentions.
    linked: list[set[str]] = []
    for place in named:
        mentioned = [
            other for other, title in enumerate(titles) if title and other not in named and f" {title} " in said[place]
        ]
        linked.append(set().union(*(nationalities[other] for other in mentioned)))
    top_sentences = _top_sentences(texts, asked)
    top_denials = [_DENIES.search(sentence) is not None for sentence in top_sentences]
    top_supports = [_SUPPORTS.search(sentence) is not None for sentence in top_sentences]
    denials = [len(_DENIES.findall(text)) for text in texts]
    supports = [len(_SUPPORTS.findall(text)) for text in texts]
    count = max(1, len(texts))
    # In the order of `FEATURES`.
    row = [
        *(float(f" {word} " in spoken) for word in _ASKED),
        _shared([nationalities[place] for place in named]),
        _shared(linked),
        _shared([names[place] for place in named]),
        _shared([years[place] for place in named]),
        len(named),
        float(sum(bool(nationalities[place]) for place in named)),
        max(covers, default=0.0),
        sum(number > 0 for number in denials) / count,
        sum(denials),
        float(any(top_denials[:1])),
        sum(top_denials),
        sum(supports) / count,
        sum(top_supports),
        len(texts),
        len(question),
        sum_of_weights(asked, uncovered),
    ]
    return np.array([row], np.float32)


def _title_key(title: str, text: str) -> str:
    """Return the words of a passage's title; empty where `passage_text` leaves it out, because it only numbers it."""
    return "" if passage_text(title, text) == text else normalize_words(short_title(title))


def _top_sentences(texts: Sequence[str], asked: Mapping[str, float]) -> list[str]:
    """List the sentences that cover most of a question, the best first."""

    def cover(sentence: str) -> float:
        # In the order of the words, because the sum of floats depends on it. Words with the same stem count twice.
        words = dict.fromkeys(normalize_words(sentence).split())
        return sum(asked.get(stem(word), 0.0) for word in words)

    sentences = [sentence for text in texts for sentence in _SENTENCE.split(text)]
    return sorted(sentences, key=cover, reverse=True)[:_MOST_SENTENCES]


def _shared(sets: Sequence[set[str]]) -> float:
    """Return 1 if the first two non-empty sets share a value, else 0; NaN if fewer than two sets are non-empty."""
    first_two = [values for values in sets if values][:2]
    if len(first_two) < 2:
        return float("nan")
    return float(not first_two[0].isdisjoint(first_two[1]))
