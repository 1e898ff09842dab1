"""Split texts into the tokens that an index compares.

A token is a word in lower case without its ending: "squares" becomes "squar". Words such as "the", called stop words,
get no token. Documents and queries are split in the same way, so that the same words are found.
"""

import re
import threading
from itertools import pairwise

from tantivy import Filter, TextAnalyzer, TextAnalyzerBuilder, Tokenizer

from prefrag.components.text.code_spelling import joined_codes
from prefrag.components.text.unicode_form import UNSPACED_SCRIPTS, normalize_unicode

# The languages for which tantivy 0.27 has stop words.
_WITH_STOP_WORDS = (
    "danish",
    "dutch",
    "english",
    "finnish",
    "french",
    "german",
    "hungarian",
    "italian",
    "norwegian",
    "portuguese",
    "russian",
    "spanish",
    "swedish",
)
# All languages that tantivy can stem, which means that it can cut the endings of words.
LANGUAGES = tuple(sorted((*_WITH_STOP_WORDS, "arabic", "greek", "romanian", "tamil", "turkish")))
# The language of a new index for which no language is set.
DEFAULT_LANGUAGE = "english"

# Tokens of this many bytes or more come from broken encodings and are left out. 80 letters of 3 bytes each still fit.
_TOO_LONG = 255

# Two or more characters of a script that writes no spaces between words, such as Chinese.
_UNSPACED = re.compile(f"[{UNSPACED_SCRIPTS}]{{2,}}")

# The analyzers of each thread, by language.
_of_thread = threading.local()


def check_language(language: str) -> None:
    """Check that tantivy can stem a language.

    :param language: The name of the language, in English and lower case.
    :raises ValueError: When the language is not one of :data:`LANGUAGES`.
    """
    if language not in LANGUAGES:
        raise ValueError(f"There is no stemmer for '{language}'. Choose one of: {', '.join(LANGUAGES)}.")


def text_analyzer(language: str) -> TextAnalyzer:
    """Return the analyzer of a language.

    It splits a text into lower-case words, removes stop words, and stems the other words. For example, the English
    analyzer splits "The squares of Vienna" into ``["squar", "vienna"]``.

    :param language: One of :data:`LANGUAGES`.
    :returns: The analyzer, which belongs to the current thread.
    :raises ValueError: When there is no stemmer for the language.
    """
    check_language(language)
    analyzers: dict[str, TextAnalyzer] = _of_thread.__dict__
    if language not in analyzers:
        analyzers[language] = _make_analyzer(language)
    return analyzers[language]


def _make_analyzer(language: str) -> TextAnalyzer:
    """Make the analyzer of a language."""
    builder = TextAnalyzerBuilder(Tokenizer.simple()).filter(Filter.remove_long(_TOO_LONG))
    builder = builder.filter(Filter.lowercase())
    if language in _WITH_STOP_WORDS:
        builder = builder.filter(Filter.stopword(language))
    return builder.filter(Filter.stemmer(language)).build()


def indexed_form(text: str) -> str:
    """Normalise a text for indexing and searching, before it is split into tokens.

    For example, "東京都" becomes "東京 京都", two overlapping pairs of characters.

    :param text: The text.
    :returns: The normalised text. A text of ASCII characters stays as it is.
    """
    if text.isascii():
        return text
    # Some PDF libraries produce half of a surrogate pair, which cannot be encoded. It becomes a question mark.
    text = normalize_unicode(text).encode("utf-8", "replace").decode("utf-8")
    return _UNSPACED.sub(_pair_characters, text).strip()


def with_joined_codes(text: str) -> str:
    """Normalise a text as :func:`indexed_form` does, and add each code without signs.

    For example, ``with_joined_codes("K-XY 317")`` returns ``"K-XY 317 KXY317"``.

    :param text: The text of a document or a query.
    :returns: The normalised text with the codes behind it.
    """
    return " ".join([indexed_form(text), *joined_codes(text)])


def _pair_characters(run: re.Match[str]) -> str:
    """Split text in Chinese, or another script without spaces, into overlapping pairs of characters.

    A pair is searched like a word, because the text does not show where its words end.
    """
    pairs = [first + second for first, second in pairwise(run.group())]
    return " " + " ".join(pairs) + " "
