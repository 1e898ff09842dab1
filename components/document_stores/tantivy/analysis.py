"""Split texts into the tokens that an index compares."""

import re
import threading
from itertools import pairwise

from tantivy import Filter, TextAnalyzer, TextAnalyzerBuilder, Tokenizer

from prefrag.components.text.unicode_form import UNSPACED_SCRIPTS, normalize_unicode

# The languages for which tantivy 0.27 has stop words. LANGUAGES are all languages that it can stem.
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
LANGUAGES = tuple(sorted((*_WITH_STOP_WORDS, "arabic", "greek", "romanian", "tamil", "turkish")))
DEFAULT_LANGUAGE = "english"

# Tokens of this many bytes or more come from broken encodings and are left out. 80 letters of 3 bytes each still fit.
_TOO_LONG = 255

_UNSPACED = re.compile(f"[{UNSPACED_SCRIPTS}]{{2,}}")

_of_thread = threading.local()


def check_language(language: str) -> None:
    """Refuse a language that tantivy cannot stem."""
    if language not in LANGUAGES:
        raise ValueError(f"There is no stemmer for '{language}'. Choose one of: {', '.join(LANGUAGES)}.")


def text_analyzer(language: str) -> TextAnalyzer:
    """Return a language's analyzer. It splits a text into lower-case words, removes stop words, and stems the rest."""
    check_language(language)
    made: dict[str, TextAnalyzer] = _of_thread.__dict__
    if language not in made:
        made[language] = _make_analyzer(language)
    return made[language]


def _make_analyzer(language: str) -> TextAnalyzer:
    builder = TextAnalyzerBuilder(Tokenizer.simple()).filter(Filter.remove_long(_TOO_LONG))
    builder = builder.filter(Filter.lowercase())
    if language in _WITH_STOP_WORDS:
        builder = builder.filter(Filter.stopword(language))
    return builder.filter(Filter.stemmer(language)).build()


def indexed_form(text: str) -> str:
    """Normalise a text for indexing and searching."""
    if text.isascii():
        return text
    # A lone surrogate, which some PDF libraries produce, cannot be encoded.
    text = normalize_unicode(text).encode("utf-8", "replace").decode("utf-8")
    return _UNSPACED.sub(_pair_characters, text).strip()


def _pair_characters(run: re.Match[str]) -> str:
    """Split text in Chinese, or another script without spaces, into overlapping pairs of characters."""
    return f" {' '.join(map(''.join, pairwise(run.group())))} "
