"""Features of a question's text that show how much retrieval it needs."""

import re

from prefrag.components.reader.question_form import ASKED_FEATURES, asked_for, asks_beyond_spans, asks_to_compare
from prefrag.components.text.title_mentions import normalize_words

# Each word is a feature, which is 1 if the question begins with the word. For other first words, `first_other` is 1.
_FIRST = ("who", "what", "when", "where", "which", "how", "why", "in", "are", "is", "do", "did", "was", "were", "can")
_COMPARISON_WORDS = (
    "more less fewer older younger longer shorter larger smaller bigger higher lower taller earlier later sooner first "
    "last same both than between either or different similar common share"
)
# Words that begin the description of something unnamed ("the man who ..."): a sign of a multi-step question.
_RELATIVE_WORDS = "who whom whose which that where when"
_RELATION_WORDS = (
    "father mother parent husband wife spouse child son daughter brother sister grandfather grandmother uncle aunt "
    "director composer performer author writer founder producer creator singer president owner capital birthplace "
    "country state county city company publisher team band"
)
_PREPOSITION_WORDS = "in by from for at with on to after before"
_COMPARISON, _RELATIVE, _RELATIONS, _PREPOSITIONS = (
    frozenset(words.split()) for words in (_COMPARISON_WORDS, _RELATIVE_WORDS, _RELATION_WORDS, _PREPOSITION_WORDS)
)
_PASSIVES = re.compile(r"\b(?:is|are|was|were|been)\b(?: \w+)? \w+(?:ed|en)\b", re.I)
# A sequence of capitalised words, perhaps with small words between them: "The House of the Dead".
_NAME = re.compile(
    r"\b[A-Z][\w.'\u2019&-]*(?:\s+(?:(?:of|the|and|de|von|van|la|du)\s+){0,2}(?:[A-Z][\w.'\u2019&-]*|\d+))*"
)
_POSSESSIVE = re.compile(r"\w['\u2019]s?(?=\s|$)")
_NUMBER = re.compile(r"\d+")
_YEAR = re.compile(r"\b1\d{3}\b|\b20\d\d\b")
# The pattern allows no quotation marks inside a quotation, so that matching takes linear time.
_QUOTED = re.compile(r"[\"\u201c\u00ab][^\"\u201c\u201d\u00ab\u00bb]+[\"\u201d\u00bb]")

_COUNTS = (
    "words",
    "letters_per_word",
    "names",
    "words_in_names",
    "longest_name",
    "share_in_names",
    "of",
    "possessives",
    "relatives",
    "relations",
    "links",
    "the",
    "and",
    "commas",
    "numbers",
    "years",
    "quoted",
    "parentheses",
    "comparisons",
    "passives",
    "asks_to_compare",
    "asks_beyond_spans",
)
FEATURES = (*_COUNTS, *(f"first_{word}" for word in _FIRST), "first_other", *ASKED_FEATURES)


def names_in(question: str) -> list[str]:
    """List the names in a question, recognised by their capital letters."""
    # Skip the first word, which is capitalised even if it is no name.
    _, _, rest = question.strip().partition(" ")
    return [match[0] for match in _NAME.finditer(rest)]


def question_features(question: str) -> list[float]:
    """Compute the :data:`FEATURES` of an English question. Like Adaptive-RAG's classifier, they use only its text."""
    words = normalize_words(question).split() or [""]
    names = [name.split() for name in names_in(question)]
    in_names = sum(map(len, names))
    counts = (
        len(words),
        sum(map(len, words)) / len(words),
        len(names),
        in_names,
        max(map(len, names), default=0),
        in_names / len(words),
        words.count("of"),
        len(_POSSESSIVE.findall(question)),
        sum(word in _RELATIVE for word in words[1:]),
        sum(word in _RELATIONS for word in words),
        sum(word in _PREPOSITIONS for word in words),
        words.count("the"),
        words.count("and"),
        question.count(","),
        len(_NUMBER.findall(question)),
        len(_YEAR.findall(question)),
        len(_QUOTED.findall(question)),
        question.count("("),
        sum(word in _COMPARISON for word in words),
        len(_PASSIVES.findall(question)),
        asks_to_compare(question),
        asks_beyond_spans(question),
    )
    first = [float(words[0] == word) for word in _FIRST]
    return [*map(float, counts), *first, float(not any(first)), *asked_for(question)]
