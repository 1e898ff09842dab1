"""Compute the features by which boosted trees decide between yes and no.

The features compare the words of a yes-or-no question with the words of its passages. Some count words that deny or
support something. Others compare the nationalities, names and years of two things that the question names.
"""

import re
from collections.abc import Mapping, Sequence

import numpy as np

from prefrag.components.reader.encoder_scores import Values
from prefrag.components.reader.reader_input import passage_text
from prefrag.components.reader.span_candidates import short_title
from prefrag.components.reader.span_features import WordWeight, question_weights, stem
from prefrag.components.text.term_statistics import sum_of_weights
from prefrag.components.text.title_mentions import normalize_words

# Words of a question. For each word, one feature says whether the question contains it.
_ASKED_WORDS = (
    "both same or effective country nationality are is does do can did was were located associated "
    "between involved any from born older approved used role increase first"
)
_ASKED = _ASKED_WORDS.split()
# The number of the sentences nearest to the question whose words are examined.
_MOST_SENTENCES = 3
# The blanks between two sentences. It matches "open. The".
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z\"\u201c])")
# A word that denies or limits something. It matches "not", "lacked" and "however".
_DENIES = re.compile(
    r"\b(?:no|not|never|without|lack\w*|neither|fail\w*|unlikely|absence|cannot|unable|nor|however|despite)\b", re.I
)
# A word that supports something, mostly in medical texts. It matches "effectively" and "increases".
_SUPPORTS = re.compile(
    r"\b(?:effective\w*|significant\w*|associated|improv\w*|confirm\w*|demonstrat\w*|show\w*|approved|success\w*"
    r"|promising|reduc\w*|increas\w*|found)\b",
    re.I,
)
# A word with a capital letter and the ending of a nationality. It matches "German", "Danish" and "French".
_NATIONALITY = re.compile(r"\b[A-Z][a-z]+(?:an|ish|ese|ian|ch)\b")
# A word of at least four letters with a capital letter.
_NAME = re.compile(r"\b[A-Z][a-z]{3,}\b")
# A year from 1000 to 2099. It matches "in 1966".
_YEAR = re.compile(r"\b(?:1[0-9]{3}|20[0-9]{2})\b")
# The names of the features, in the order of the columns. The trees were trained with this order.
FEATURES = (
    *(f"asks_{word}" for word in _ASKED),
    "people_shared", "people_shared_through_links", "names_shared", "years_shared", "titles_in_question",
    "people_of_both", "best_cover", "share_denying", "denials", "top_sentence_denies", "top_sentences_deny",
    "supports", "top_sentences_support", "passages", "length", "words_uncovered",
)  # fmt: skip


def yes_no_features(question: str, passages: Sequence[tuple[str, str]], weight: WordWeight) -> Values:
    """Compute the features of a yes-or-no question and its passages.

    :param question: A yes-or-no question.
    :param passages: The title and the text of each passage.
    :param weight: A function that returns the weight of a word, from 0 (common) to 1 (rare).
    :returns: One row, with a column per name in :data:`FEATURES`.
    """
    spoken = f" {normalize_words(question)} "
    asked = question_weights(question, weight)

    texts = [passage_text(title, text) for title, text in passages]
    normalised_texts = [f" {normalize_words(text)} " for text in texts]
    stems = [frozenset(map(stem, words.split())) for words in normalised_texts]
    covers = [sum_of_weights(asked, text_stems) for text_stems in stems]
    uncovered = asked.keys() - frozenset().union(*stems)

    titles = [_title_key(title, text) for title, text in passages]
    # The passages whose titles the question has.
    named = [place for place, title in enumerate(titles) if title and f" {title} " in spoken]

    nationalities = [set(_NATIONALITY.findall(text)) for _, text in passages]
    names = [set(_NAME.findall(text)) for _, text in passages]
    years = [set(_YEAR.findall(text)) for _, text in passages]

    # For each of these passages, the nationalities in the other passages that it mentions.
    linked: list[set[str]] = []
    for place in named:
        mentioned = _mentioned_passages(normalised_texts[place], titles, named)
        linked.append(set().union(*(nationalities[other] for other in mentioned)))

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
        *_count_verdicts(texts, _top_sentences(texts, asked)),
        len(texts),
        len(question),
        sum_of_weights(asked, uncovered),
    ]
    return np.array([row], np.float32)


def _mentioned_passages(text: str, titles: Sequence[str], named: Sequence[int]) -> list[int]:
    """Find the passages whose titles a text mentions.

    :param text: The text, normalised, with a blank at both ends.
    :param titles: The normalised title of each passage.
    :param named: The indices of passages that are left out.
    :returns: The indices of the passages.
    """
    others = [place for place, title in enumerate(titles) if title and place not in named]
    return [place for place in others if f" {titles[place]} " in text]


def _count_verdicts(texts: Sequence[str], top_sentences: Sequence[str]) -> list[float]:
    """Count the words that deny and that support something.

    :param texts: The passages.
    :param top_sentences: The sentences that cover most of the question, the best first.
    :returns: The features from "share_denying" to "top_sentences_support".
    """
    count = max(1, len(texts))
    denials = [len(_DENIES.findall(text)) for text in texts]
    supports = [len(_SUPPORTS.findall(text)) for text in texts]
    top_denials = [_DENIES.search(sentence) is not None for sentence in top_sentences]
    top_supports = [_SUPPORTS.search(sentence) is not None for sentence in top_sentences]
    return [
        sum(number > 0 for number in denials) / count,
        sum(denials),
        float(any(top_denials[:1])),
        sum(top_denials),
        sum(supports) / count,
        sum(top_supports),
    ]


def _title_key(title: str, text: str) -> str:
    """Return the words of a passage's title, normalised.

    They are empty if `passage_text` leaves the title out, because it only is the number of a record.
    """
    return "" if passage_text(title, text) == text else normalize_words(short_title(title))


def _top_sentences(texts: Sequence[str], asked: Mapping[str, float]) -> list[str]:
    """List the sentences that cover most of a question, the best first.

    :param texts: The passages.
    :param asked: The stems of the question with their weights.
    :returns: Up to three sentences.
    """

    def cover(sentence: str) -> float:
        # The words are added in their order, because the sum of floats depends on it. Words with the same stem count
        # twice.
        words = dict.fromkeys(normalize_words(sentence).split())
        return sum(asked.get(stem(word), 0.0) for word in words)

    sentences = [sentence for text in texts for sentence in _SENTENCE.split(text)]
    return sorted(sentences, key=cover, reverse=True)[:_MOST_SENTENCES]


def _shared(sets: Sequence[set[str]]) -> float:
    """Check whether the first two sets that are not empty share a value.

    For example, ``_shared([{"1966"}, set(), {"1966", "1970"}])`` returns ``1.0``.

    :param sets: The sets.
    :returns: 1 if they share a value, else 0; NaN if fewer than two sets are not empty.
    """
    first_two = [values for values in sets if values][:2]
    if len(first_two) < 2:
        return float("nan")
    return float(not first_two[0].isdisjoint(first_two[1]))
