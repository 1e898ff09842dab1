"""The features of a yes-or-no question and its passages, by which boosted trees decide between yes and no."""

import re
from collections.abc import Sequence

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
    stems = [{stem(word) for word in normalize_words(text).split()} for text in texts]
    covers = [sum_of_weights(asked, held) for held in stems]
    titles = [normalize_words(short_title(title)) if text != whole else "" for (title, text), whole in
              zip(passages, texts, strict=True)]  # fmt: skip
    named = [place for place, title in enumerate(titles) if title and f" {title} " in spoken]
    said = [f" {normalize_words(text)} " for text in texts]
    nationalities = [set(_NATIONALITY.findall(text)) for _, text in passages]
    names = [set(_NAME.findall(text)) for _, text in passages]
    years = [set(_YEAR.findall(text)) for _, text in passages]
    behind = [
        {one for other, title in enumerate(titles) if title and other not in named and f" {title} " in said[place]
         for one in nationalities[other]}
        for place in named
    ]  # fmt: skip
    sentences = sorted(
        (
            (sum(asked.get(stem(word), 0.0) for word in dict.fromkeys(normalize_words(sentence).split())), sentence)
            for text in texts
            for sentence in _SENTENCE.split(text)
        ),
        key=lambda one: -one[0],
    )[:3]
    denials = [len(_DENIES.findall(text)) for text in texts]
    supports = [len(_SUPPORTS.findall(text)) for text in texts]
    count = max(1, len(texts))
    held_by_any = set().union(*stems) if stems else set()
    row = [
        *(float(f" {word} " in spoken) for word in _ASKED),
        _shared([nationalities[place] for place in named]),
        _shared(behind),
        _shared([names[place] for place in named]),
        _shared([years[place] for place in named]),
        len(named),
        float(sum(bool(nationalities[place]) for place in named)),
        max(covers, default=0.0),
        sum(number > 0 for number in denials) / count,
        sum(denials),
        float(bool(sentences) and _DENIES.search(sentences[0][1]) is not None),
        sum(_DENIES.search(text) is not None for _, text in sentences),
        sum(supports) / count,
        sum(_SUPPORTS.search(text) is not None for _, text in sentences),
        len(texts),
        len(question),
        sum(value for one, value in asked.items() if one not in held_by_any),
    ]
    return np.array([row], np.float32)


def _shared(sets: Sequence[set[str]]) -> float:
    """Return 1 if the first two non-empty sets share a value, else 0; NaN if fewer than two sets are non-empty."""
    held = [one for one in sets if one]
    return float(not held[0].isdisjoint(held[1])) if len(held) >= 2 else float("nan")
