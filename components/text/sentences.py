"""The sentences of a text."""

import math
import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise

from prefrag.components.text.unicode_form import UNSPACED_SCRIPTS

# Western, Chinese and Japanese full stops, and the quotation marks and brackets that may follow them.
_STOPS = ".!?\u2026"
_WIDE_STOPS = "\u3002\uff01\uff1f"
_CLOSING = "[\"'\u201d\u2019\u00bb)\\]\u300d\u300f\uff09]*"
# Where a sentence may end: at a full stop with blanks behind it ("stop"), at a Chinese or Japanese full stop ("wide"),
# at a blank line ("blank"), or at any line break.
_END = re.compile(
    rf"""
    (?<! [{_STOPS}] ) (?P<stop> [{_STOPS}]+ {_CLOSING} ) \s+
    | (?P<wide> [{_WIDE_STOPS}]+ {_CLOSING} ) \s*
    | (?P<blank> \n [^\S\n]* \n \s* )
    | \n \s*
    """,
    re.VERBOSE,
)
_BLANK_LINE = re.compile(r"\n[^\S\n]*\n")
# A line that ends in one of these characters is complete, even if the next line begins with a lower-case letter.
_LINE_STOPS = (":", ";", "|")
# The beginning of a line such as `Name: value`. Lists of fields have such lines, and so do tables written as text.
FIELD = re.compile(r"[^\W\d_][\w -]{0,30}: ")
_STOPPED = re.compile(rf"[{_STOPS}{_WIDE_STOPS}:;]{_CLOSING}\s*$")
# A text that ends in an initial ("J.") or in an abbreviation ("Dr.").
_ABBREVIATION = re.compile(
    r"(?:\b[A-Z]|\b(?:Dr|Mr|Mrs|Ms|Prof|St|Sr|Jr|Gen|Col|Capt|Lt|Sgt|Rev|Hon|vs|etc|No|Nr|Fig|Vol|pp?|ca?|cf|al"
    r"|e\.g|i\.e|z\.B|d\.h|bzw|M|Mme|approx|Inc|Ltd|Co|Corp|Jan|Feb|Mar|Apr|Aug|Sept?|Oct|Nov|Dec))\.$"
)
# A number before a full stop may be an ordinal, as in "am 3. Juni" or "im 19. Jahrhundert": if a month follows, or if a
# German article or preposition stands before it. A letter may be one of several with full stops, as in "z. B.".
_ORDINAL = re.compile(r"\b\d{1,3}\.$")
_BEFORE_ORDINAL = re.compile(r"\b(?:im|vom|zum|zur|beim|der|dem|den|des|das|(?<!I )am)\s\d{1,3}\.$")
_MONTH = re.compile(
    r"(?:Januar|Februar|M\u00e4rz|April|Mai|Juni|Juli|August|September|Oktober|November|Dezember|(?:Okt|Dez)\.)"
    r"(?:\s(?:\d{4}\b|[a-z])|[,.;:)]|$)"
)
_LETTER = re.compile(r"\b[a-z]\.$")
_LETTER_FOLLOWS = re.compile(r"[A-Za-z]\.")
# So many characters around a full stop tell whether it ends a sentence.
_BEFORE_STOP, _BEHIND_STOP = 10, 20
_MAX_SHOWN = 400  # characters of a sentence
# The number of texts whose sentences are cached. While a question is answered, a passage is split several times.
_CACHED_TEXTS = 256
# An item of a list: "- soap", "2. Open the valve", "(b) two years".
_ITEM = re.compile(r"\s*(?:[-*\u2022]|\(?(?:\d{1,3}|[a-z])[.)])\s+\S")
_MAX_LIST = 2_000  # characters of a list
_PLAIN_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z\"\u201c])|\n+")
_MAX_PLAIN = 600  # characters of a plain sentence
# Where a text may be cut between words. A no-break space joins words, and a blank may divide the digits of a number.
_BLANK = re.compile(r"\n|(?:(?<!\d)[^\S\n\u00a0\u2007\u202f]|[^\S\n\u00a0\u2007\u202f](?!\d{3}(?!\d)))")
# Matches with no characters where a word ends; in scripts without blanks, at each character.
WORD_EDGE = re.compile(rf"(?={_BLANK.pattern}|[{UNSPACED_SCRIPTS}])|(?<=[{UNSPACED_SCRIPTS}])")
# Characters that belong to the one before, though Unicode does not call them marks: a joiner, vowels, skin colours.
_JOINED = "\u200d\u0e33\u0eb3\U0001f3fb\U0001f3fc\U0001f3fd\U0001f3fe\U0001f3ff"


def sentence_ends(text: str) -> Iterator[tuple[int, int, str]]:
    """Find where the sentences of a text end.

    Yields for each end: its position, the position at which the text continues after blanks, and its kind. A
    ``sentence`` ends with a full stop, a ``paragraph`` before a blank line. A ``line`` may end within a sentence.
    """
    for match in _END.finditer(text):
        if match["stop"] is not None and not _BLANK_LINE.search(match[0]):
            before = text[max(0, match.start() - _BEFORE_STOP) : match.end("stop")]
            following = text[match.end() : match.end() + _BEHIND_STOP]
            if following[:1].islower() or _goes_on(before, following):
                continue
        # Of the two kinds of stops, one is absent, and its end is then -1.
        stop = max(match.end("stop"), match.end("wide"))
        if stop >= 0:
            yield stop, match.end(), "sentence"
        else:
            yield match.start(), match.end(), "paragraph" if match["blank"] else "line"


def _goes_on(before: str, following: str) -> bool:
    """Check whether a full stop belongs to an abbreviation or to an ordinal, and does not end the sentence."""
    if _ABBREVIATION.search(before) or _BEFORE_ORDINAL.search(before):
        return True
    if _LETTER.search(before):
        return _LETTER_FOLLOWS.match(following) is not None
    return _ORDINAL.search(before) is not None and _MONTH.match(following) is not None


def ends_with_stop(text: str) -> bool:
    """Check whether a text ends with a full stop, question mark, exclamation mark, colon or semicolon."""
    return _STOPPED.search(text[-20:]) is not None


def find_cut(text: str, characters: int, begin: int = 0) -> int:
    """Find where to cut a text, so that no word and no number is cut in two.

    The place is the end of the last sentence in the second half of what may stay, else the last blank there, else the
    last character of a script without blanks, or a blank before. Only a word is cut that would fill three quarters of
    ``characters`` or more.

    :param text: The text.
    :param characters: How many characters may stay.
    :param begin: Where the part to cut begins.
    :returns: The place behind the last character that stays; the end of the text if all of it may stay.
    """
    end = begin + max(characters, 0)
    if end >= len(text):
        return len(text)
    behind = end + _BEHIND_STOP
    stops = [begin + stop for stop, _, kind in sentence_ends(text[begin:behind]) if kind != "line"]
    blanks = [match.start() for match in _BLANK.finditer(text, begin + 1, behind)]
    # `begin` where there is none.
    last_stop = max((stop for stop in stops if stop <= end), default=begin)
    last_blank = max((blank for blank in blanks if blank <= end), default=begin)
    half, quarter = begin + characters // 2, begin + characters // 4
    if last_stop > half:
        return last_stop
    if last_blank > half:
        return last_blank

    # The places, last first, that do not separate a letter from its accent.
    places = [place for place in range(end, begin, -1) if not _continues(text, place)]
    last_edge = next((place for place in places if WORD_EDGE.match(text, place)), begin)
    last_gap = max(last_edge, last_blank)
    if last_gap > quarter:
        return last_gap
    return places[0] if places else end


def cut_text(text: str, characters: int, sign: str = "") -> str:
    """Shorten a text to at most ``characters``, as :func:`find_cut` says. ``sign`` is put behind what was cut."""
    if len(text) <= characters:
        return text
    return text[: find_cut(text, characters - len(sign))].rstrip() + sign


def _continues(text: str, place: int) -> bool:
    """Check whether a character is a part of the one before, such as an accent."""
    is_mark = unicodedata.category(text[place]).startswith("M")
    return is_mark or text[place] in _JOINED or text[place - 1] == "\u200d"


@lru_cache(maxsize=_CACHED_TEXTS)
def sentence_spans(text: str) -> tuple[tuple[int, int], ...]:
    """Find where each sentence of a text begins and ends. Sentences over 400 characters are split."""
    # Where each sentence ends, and where the next one begins.
    ends = []
    for end, following, kind in sentence_ends(text):
        if kind != "line" or _is_own_line(text, end, following):
            ends.append((end, following))
    ends.append((len(text), len(text)))

    spans: list[tuple[int, int]] = []
    begin = 0
    for end, following in ends:
        while begin < following:
            stop = find_cut(text, _MAX_SHOWN, begin) if end - begin > _MAX_SHOWN else following
            words = text[begin:stop].strip()
            if words:
                place = text.index(words, begin)
                spans.append((place, place + len(words)))
            begin = stop
    return tuple(spans)


def shown_sentences(text: str) -> list[str]:
    """Split a text into sentences to show, each of at most 400 characters."""
    return [text[begin:end] for begin, end in sentence_spans(text)]


def sentence_at(text: str, place: int) -> str:
    """Find the sentence of a text that contains the character at position ``place``."""
    spans = sentence_spans(text)
    for begin, end in reversed(spans):
        if begin <= place:
            return text[begin:end]
    # The text begins with blanks, or has no sentence.
    begin, end = spans[0] if spans else (0, 0)
    return text[begin:end]


def with_list(text: str, sentence: str) -> str:
    """Return a sentence of a text together with the list that follows the sentence, such as the steps in a manual.

    If the sentence stands several times with different lists, nothing tells which one is meant, so none is returned.
    """
    lists = {_list_at(text, match.end()) for match in re.finditer(re.escape(sentence), text)} - {""}
    return sentence + lists.pop() if len(lists) == 1 else sentence


def _list_at(text: str, begin: int) -> str:
    """Find the list that begins in the line below the position ``begin``; empty if there is none."""
    rest, *lines = cut_text(text[begin:], _MAX_LIST).split("\n")
    if rest.strip():
        # The line goes on, so no list follows.
        return ""

    lines_of_list = 0
    for number, line in enumerate(lines, start=1):
        # A line directly below an item continues the item.
        continues_item = lines_of_list > 0 and number == lines_of_list + 1
        if _ITEM.match(line) or (continues_item and line.strip()):
            lines_of_list = number
        elif line.strip():
            break
    if not lines_of_list:
        return ""
    return "\n".join([rest, *lines[:lines_of_list]]).rstrip()


def plain_sentences(text: str) -> list[str]:
    """Split a text at line breaks, and at each ``.``, ``!`` or ``?`` before a capital letter from A to Z.

    Sentences are cut to 600 characters. :func:`shown_sentences` splits better, but three things were measured or
    trained with this split, and a better one would change their results: CRAG's strips, the simulated reader, and the
    follow-up queries that are made without a model.
    """
    return [cut_text(part.strip(), _MAX_PLAIN) for part in _PLAIN_END.split(text) if part.strip()]


def split_strips(text: str, sentences: int) -> list[str]:
    """Split a text into similarly long strips of up to ``sentences`` sentences. A text of two sentences stays whole."""
    begins_of_sentences = [0, *(match.end() for match in _PLAIN_END.finditer(text.rstrip()))]
    count = len(begins_of_sentences)
    number = 1 if count <= 2 else math.ceil(count / sentences)
    begins = [begins_of_sentences[strip * count // number] for strip in range(number)]
    parts = [text[begin:end].strip() for begin, end in pairwise([*begins, len(text)])]
    return [part for part in parts if part]


def _is_own_line(text: str, end: int, after: int) -> bool:
    """Check whether a line break ends a sentence, or only wraps a sentence at the width of a page."""
    following = text[after : after + 1]
    may_go_on = following.islower() or following == "("
    if text[end - 1 : end] in _LINE_STOPS or not may_go_on:
        return True
    begin_of_line = text.rfind("\n", 0, end) + 1
    are_fields = FIELD.match(text, begin_of_line) and FIELD.match(text, after)
    return bool(are_fields)
