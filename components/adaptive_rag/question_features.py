"""Compute features of a question's text, which show how much retrieval the question needs.

`TreeQuestionClassifier` judges a question by these numbers. The word lists are English, as are the questions on which
the trees were trained.
"""

import re

from prefrag.components.reader.question_form import ASKED_FEATURES, asked_for, asks_beyond_spans, asks_to_compare
from prefrag.components.text.title_mentions import normalize_words

# Each of these words is a feature, which is 1 if the question begins with the word. For other first words, the feature
# `first_other` is 1.
_FIRST = ("who", "what", "when", "where", "which", "how", "why", "in", "are", "is", "do", "did", "was", "were", "can")
# Words that compare things.
_COMPARISON_WORDS = (
    "more less fewer older younger longer shorter larger smaller bigger higher lower taller earlier later sooner first "
    "last same both than between either or different similar common share"
)
# Words that begin the description of something without its name ("the man who ..."). They are a sign of a question that
# needs several searches.
_RELATIVE_WORDS = "who whom whose which that where when"
# Words for a relation between two things ("the mother of the director").
_RELATION_WORDS = (
    "father mother parent husband wife spouse child son daughter brother sister grandfather grandmother uncle aunt "
    "director composer performer author writer founder producer creator singer president owner capital birthplace "
    "country state county city company publisher team band"
)
# Words that link a thing to a place, a person or a time.
_PREPOSITION_WORDS = "in by from for at with on to after before"
_COMPARISON = frozenset(_COMPARISON_WORDS.split())
_RELATIVE = frozenset(_RELATIVE_WORDS.split())
_RELATIONS = frozenset(_RELATION_WORDS.split())
_PREPOSITIONS = frozenset(_PREPOSITION_WORDS.split())
# A verb in the passive voice. Matches: "was founded", "was quickly written". Does not match: "is a writer".
_PASSIVES = re.compile(r"\b(?:is|are|was|were|been)\b(?: \w+)? \w+(?:ed|en)\b", re.I)
# A name: capitalised words, which may have numbers behind them and up to two small words between them.
# Matches: "The House of the Dead", "Vienna 1910". Does not match: "the house".
_NAME = re.compile(
    r"\b[A-Z][\w.'\u2019&-]*(?:\s+(?:(?:of|the|and|de|von|van|la|du)\s+){0,2}(?:[A-Z][\w.'\u2019&-]*|\d+))*"
)
# The end of a word in the possessive. Matches: "Ada's boat", "the sailors' boat". Does not match: "Adas boat".
_POSSESSIVE = re.compile(r"\w['\u2019]s?(?=\s|$)")
# A number in digits. Matches: "in 1862". Does not match: "eighteen".
_NUMBER = re.compile(r"\d+")
# A year from 1000 to 2099. Matches: "1862", "2024". Does not match: "862", "2124".
_YEAR = re.compile(r"\b1\d{3}\b|\b20\d\d\b")
# A quotation. No quotation marks are allowed inside it, so that matching takes linear time.
# Matches: 'who said "no"?', "«Ja»". Does not match: "no".
_QUOTED = re.compile(r"[\"\u201c\u00ab][^\"\u201c\u201d\u00ab\u00bb]+[\"\u201d\u00bb]")

# The names of the features that `question_features` counts, in their order.
_COUNTS = (
    "words",
    # The average number of letters of a word.
    "letters_per_word",
    "names",
    "words_in_names",
    # The number of words in the longest name.
    "longest_name",
    # The share of the words that stand in names, from 0 to 1.
    "share_in_names",
    "of",
    "possessives",
    # The first word of the question is not counted as a relative.
    "relatives",
    "relations",
    # The number of prepositions.
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
    # 1 or 0: a yes-or-no question that compares two things.
    "asks_to_compare",
    # 1 or 0: the question asks for something that no passage states, such as a difference.
    "asks_beyond_spans",
)
# The names of all features, in the order of the columns.
FEATURES = (*_COUNTS, *(f"first_{word}" for word in _FIRST), "first_other", *ASKED_FEATURES)


def names_in(question: str) -> list[str]:
    """List the names in a question, recognised by their capital letters.

    For example, ``names_in("Who wrote The House of the Dead in Siberia?")`` returns
    ``["The House of the Dead", "Siberia"]``.

    :param question: The question. Its first word is never a part of a name.
    :returns: The names, in order.
    """
    # The first word is skipped, because it has a capital letter even if it is no name.
    _, _, rest = question.strip().partition(" ")
    return [match[0] for match in _NAME.finditer(rest)]


def question_features(question: str) -> list[float]:
    """Compute the :data:`FEATURES` of an English question. As in Adaptive-RAG, only the text of the question is used.

    :param question: The question.
    :returns: A number for each feature, in the order of :data:`FEATURES`.
    """
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
