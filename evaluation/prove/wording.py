"""Compare texts by the roots of their words, and replace words by others with the same meaning.

The root of a word is its first five letters. Words that may stand for each other, such as "built" and "constructed",
have the same root.
"""

import re

from prefrag.components.text.number_words import ONES, TEENS, TENS
from prefrag.components.text.term_statistics import PLAIN_WORDS, QUESTION_WORDS

# Matches a word, also with an apostrophe: "mayor's" or "isn't".
_WORD = re.compile(r"[^\W_]+(?:['\u2019][a-z]+)?")
# Matches a word that names something: a word with a capital, such as "Anna", or a whole number.
_NAMING = re.compile(r"\b(?:[A-Z]\w+|\d+)\b")
# Pairs of words that may stand for each other in most sentences. Both words have the same form, such as the past or the
# plural.
_PAIRS = """
built constructed|build construct|founded established|begins starts|began started|bought purchased|ends finishes
ended finished|company business|firm business|error mistake|errors mistakes|image picture|images pictures|shop store
shops stores|removed deleted|remove delete|allowed permitted|needed required|needs requires|maximum largest
minimum smallest|yearly annual|located situated|repaired fixed|repair fix|repairs fixes|large big|larger bigger
author writer|authors writers|wrote penned|leads heads|led headed|created made|answer reply|answers replies|film movie
chairman head|chosen selected|selects chooses|used employed|shown displayed|shows displays|employs hires|rapid fast
staff employees|workers employees|doctor physician|lorry truck|gift present|photograph photo
received got|receives gets|designed drawn|entire whole|rebuilt reconstructed|renamed rechristened|closed shut
assembled gathered|fee charge|wage pay|lessons classes|garden grounds|keeper guardian|visitors guests|meal dinner
ship vessel|ships vessels|usually normally
"""
# For each word of a pair, the other word. If a word is in several pairs, the first pair counts. A line break separates
# two pairs as a bar does.
OTHER_WORDS: dict[str, str] = {}
for _pair in _PAIRS.replace("\n", "|").strip("|").split("|"):
    _left, _right = _pair.split()
    OTHER_WORDS.setdefault(_left, _right)
    OTHER_WORDS.setdefault(_right, _left)
# The digits of each number word from zero to twenty: "seven" has "7".
NUMBER_WORDS = {word: str(number) for number, word in enumerate(("zero", *ONES, *TEENS, TENS[0]))}
# Further words that do not say what a sentence is about, besides the plain words and the question words.
_SMALL_WORDS = """
about after all also any are because before being but can could during each every few here if just made make more most
no only or other our out over own per shall so some still such under until up used using very was we will would you
your since ago approximately around
"""
# The same words as a set.
_SMALL = frozenset(_SMALL_WORDS.split())


def words(text: str) -> list[str]:
    """List the words of a text that say something.

    For example, ``words("The bridge was built by Anna's uncle")`` returns ``["bridge", "built", "anna's", "uncle"]``.

    :param text: The text.
    :returns: The words in lower case and in order.
    """
    return [word for word in _WORD.findall(text.lower()) if is_telling(word)]


def is_telling(word: str) -> bool:
    """Check whether a word says what a sentence is about.

    :param word: The word in lower case.
    :returns: False for common words such as "the", and for single letters.
    """
    is_common = word in PLAIN_WORDS or word in QUESTION_WORDS or word in _SMALL
    return not is_common and len(word) > 1


def root(word: str) -> str:
    """Get the root of a word. Two words have the same root if one may stand for the other, or is a form of the other.

    For example, ``root("constructed")`` and ``root("built")`` are both "built", and ``root("bridges")`` returns
    ``"bridg"``.

    :param word: The word in lower case.
    :returns: The root. For a number word, the digits.
    """
    if word in NUMBER_WORDS:
        return NUMBER_WORDS[word]
    # Of two words that may stand for each other, the first in the alphabet is taken for both.
    common = min(word, OTHER_WORDS.get(word, word))
    if common[0].isdigit():
        return common
    return common[:5].rstrip("s")


def roots(text: str) -> frozenset[str]:
    """List the roots of a text's words that say something.

    :param text: The text.
    :returns: The roots.
    """
    return frozenset(map(root, words(text)))


def names_in(text: str) -> frozenset[str]:
    """List the roots of the words of a text that name something.

    :param text: The text.
    :returns: The roots of words with a capital, and whole numbers. Words that say nothing are left out.
    """
    return frozenset(root(word.lower()) for word in _NAMING.findall(text)) & roots(text)


def shared(question: str, sentence: str) -> float:
    """Compute the share of a question's words that a sentence has too.

    Words are equal if their first four letters are equal. For example, ``shared("who built the bridge", "The bridges of
    Kent.")`` returns ``0.5``.

    :param question: The question.
    :param sentence: The sentence.
    :returns: The share, from 0 to 1.
    """
    starts = {word[:4] for word in words(sentence)}
    question_words = words(question)
    if not question_words:
        return 0.0
    return sum(word[:4] in starts for word in question_words) / len(question_words)
