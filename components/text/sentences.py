"""Split texts into sentences, and cut texts without cutting a word in two.

A sentence ends at a full stop, at a blank line, or at a line break that does not only wrap a long line. Abbreviations
such as "Dr." do not end a sentence. English and German rules are built in. Sentences of other languages with Western,
Chinese or Japanese full stops are found too.

Two splits exist. :func:`shown_sentences` is for new code. :func:`plain_sentences` is an older and simpler split, which
three parts of the program still need.
"""

import math
import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise

from prefrag.components.text.title_mentions import FUNCTION_WORDS
from prefrag.components.text.unicode_form import UNSPACED_SCRIPTS

# Western full stops, for a regex class. The last one is the ellipsis character.
_STOPS = ".!?\u2026"
# Chinese and Japanese full stops, for a regex class.
_WIDE_STOPS = "\u3002\uff01\uff1f"
# Matches the quotation marks and brackets that may follow a full stop, such as the mark in `"Yes."`.
_CLOSING = "[\"'\u201d\u2019\u00bb)\\]\u300d\u300f\uff09]*"
# Matches a place where a sentence may end. There is one line of the pattern for each kind of place:
# - group `stop`: full stops with blanks behind them, such as '." ' in 'He said "yes." Then he left.'
# - group `wide`: Chinese or Japanese full stops, also without blanks
# - group `blank`: a blank line
# - no group: any other line break
# In "1.5", the full stop does not match, because no blank follows it.
_END = re.compile(
    rf"""
    (?<! [{_STOPS}] ) (?P<stop> [{_STOPS}]+ {_CLOSING} ) \s+
    | (?P<wide> [{_WIDE_STOPS}]+ {_CLOSING} ) \s*
    | (?P<blank> \n [^\S\n]* \n \s* )
    | \n \s*
    """,
    re.VERBOSE,
)
# Matches two line breaks with nothing but blanks between them.
_BLANK_LINE = re.compile(r"\n[^\S\n]*\n")
# A line that ends in one of these characters is complete, even if the next line begins with a lower-case letter.
_LINE_STOPS = (":", ";", "|")
# Matches the beginning of a line such as "Serial number: 7" (here "Serial number: "). Lists of fields have such lines,
# and so do tables written as text. The name begins with a letter, so "12: 7" does not match.
FIELD = re.compile(r"[^\W\d_][\w -]{0,30}: ")
# Matches the end of a text whose last character is a full stop, a colon or a semicolon. Quotation marks, brackets and
# blanks may follow, as in 'He said "yes." '.
_STOPPED = re.compile(rf"[{_STOPS}{_WIDE_STOPS}:;]{_CLOSING}\s*$")
# Matches the end of a text that ends in an initial, such as "by J.", or in an abbreviation, such as "by Dr.".
_ABBREVIATION = re.compile(
    r"(?:\b[A-Z]|\b(?:Dr|Mr|Mrs|Ms|Prof|St|Sr|Jr|Gen|Col|Capt|Lt|Sgt|Rev|Hon|vs|etc|No|Nr|Fig|Vol|pp?|ca?|cf|al"
    r"|e\.g|i\.e|z\.B|d\.h|bzw|M|Mme|approx|Inc|Ltd|Co|Corp|Jan|Feb|Mar|Apr|Aug|Sept?|Oct|Nov|Dec))\.$"
)
# German words with which a sentence begins more often than a name or a noun does. They are articles, pronouns,
# prepositions, conjunctions and adverbs, as in "Es waren 3. Danach ging er."
_GERMAN_BEGINNINGS = (
    "ab alle allerdings als am an auch auf aus außerdem bei beide beim bis bitte da dabei dadurch dafür daher damit "
    "danach dann daran darauf darin darum das dass davon davor dazu dem den denn der des deshalb die dies diese diesem "
    "diesen dieser dieses doch dort du durch ein eine einem einen einer eines einige er erst es euer für ganz gegen "
    "gestern heute hier hinter ich ihm ihn ihnen ihr ihre im in jede jeden jeder jedes jedoch jemand jetzt kein keine "
    "keiner man manche mein meine mit morgen nach nachdem neben nicht nichts niemand noch nun nur ob oder ohne seit "
    "sein seine sie sind so solche somit sonst später trotz trotzdem um und unser unsere unter viele vom von vor "
    "vorher wann warum was weil weitere welche wenn wer wie wir wird wo zu zuerst zum zur zwar zwischen zudem zuvor"
)
# The words with which a German or an English sentence begins, in lower case.
_BEGINNINGS = FUNCTION_WORDS | frozenset(_GERMAN_BEGINNINGS.split())
# Matches the first word of a text, such as "Danach" in "Danach kam er".
_FIRST_WORD = re.compile(r"[^\W\d_]+")
# Matches the end of a text that ends in a German abbreviation. If one of the words above follows, the sentence ends
# nevertheless, as in "am Fr. Danach". There is one line of the pattern for each kind of abbreviation:
# - one that stands before a name or a noun, such as "Hr." and "Mio."
# - one in lower or upper case, such as "lt." and "Ggf."
# - a word in lower case that ends in two letters with which no full word ends, such as "einschl.", "monatl." and
#   "stellv."; "kubectl.", "html." and the name "Hartl." do not match
# - the subject of a doctor, such as "Dr. med."
# - "u. a.", and the words "und" and "von" as letters: "Falk u." and "Roe v.", but not "love u."
# - "em." behind a title within a sentence, such as "ist Pastor em." and "Prof. em."; "Catch em." does not match
_GERMAN_ABBREVIATION = re.compile(
    r"""
    (?: \b (?: Abt | Bd | Dipl | Fa | Frl? | Gebr | Hrn? | Hrsg | Ing | Inh | Hd | Zt | Mio | Mrd | Tsd | Std | Stk
          | Pers | (?: Bau | Ober ) ing )
      | \b (?i: ehem | evtl | exkl | geb | gez | ggfs? | inkl | insb | lt | resp | sog | [vt]gl | [a-z]{1,2}zgl | zus )
      | (?<!\w) [a-zäöüß]* [aeiouäöü] [a-zäöüß]+ (?: kl | schl | lv | (?<!c) tl )
      | \b (?: Dr | rer ) \. \s? (?: i?jur | iur | med | nat | oec | phil | pol | rer | theol | vet )
      | \b u \. \s? a
      | (?: [A-ZÄÖÜ] \w+ | \d \.? ) \s u
      | (?<![-\w]) v
      | (?: [a-zäöüß,] \s [A-ZÄÖÜ] [a-zäöüß]+ | \b (?: Dr | Prof ) \. ) \s em
    ) \. $
    """,
    re.VERBOSE,
)
# Matches the end of a text that ends in a German preposition and an article as letters. No sentence ends there. There
# is one line of the pattern for each kind of preposition. "c. d.", "300 a.d.", "Options a. d.", "Smith, n. d." and
# "50 mm i. d." do not match.
# - "v. d." within a name, but not behind a number or a comma
# - "a. d." and "o. d." behind the name of a town, such as "Frankfurt a. d."; it does not look like an English plural
# - another preposition, behind a word that is longer than a unit, such as "gilt i. d." before "Regel"
_GERMAN_ARTICLE = re.compile(
    r"""
    (?: (?<! [\d,;] \s ) \b v \.
      | (?<= [^\W\d_] ) (?<! [^s]s ) \s [ao] \.
      | \b [^\W\d_]{3,} \s [fiuz\u00fc] \.
    ) \s? d \. $
    """,
    re.VERBOSE,
)
# Matches the river Oder at the beginning of a text. In another place, "oder" is a German word with which sentences
# begin.
_ODER = re.compile(r"Oder\b")
# Matches the end of a text that ends in an abbreviation before a number, such as "Abs." in "Abs. 2". Behind a number,
# "min." stands for minutes, so "It took 30 min." does not match.
_BEFORE_NUMBER = re.compile(
    r"(?:\b(?:Abb|Abs|Anl|Anm|Art|Aufl|Gl|Kap|Kto|Pkt|Pos|Tel|Zi|Ziff|Mo|Di|Mi|Do|Sa|So|gem|rd|(?<!\d\s)(?:max|min))"
    r"|[Ss]tr)\.$"
)
# Matches such a number, or a section of a law, at the beginning of a text: "0431", "+49", "(0431)", "§ 5" and "Abs.".
_NUMBER = re.compile(r"[(+]*\d|§|(?:Abs|Art|Nr|Ziff)\.")
# Matches the end of a text that ends in "no." or "nos.", such as "drill no.". Before a figure this means "number". The
# text "yes or no." does not match.
_NUMBER_SIGN = re.compile(r"(?<!\bor )(?<!\bsay )(?<!\bsays )(?<!\bsaid )(?<!\bvoted )(?<!\bis )(?<!\bwas )\bnos?\.$")
# In German, a number with a full stop may be an ordinal: "3. Juni" is the third of June. Such a full stop does not end
# a sentence. The number is an ordinal if a month follows it, or if a German article or preposition stands before it.
# Matches the end of a text that ends in a number of one to three digits and a full stop, such as "am 3.".
_ORDINAL = re.compile(r"\b\d{1,3}\.$")
# Matches the same with a German article, pronoun or preposition before the number, such as "aus dem 19.", "Im 3." and
# "ihr 2.". The German "am" also is an English word, so "I am 7." does not match. Before the number, an ordinal and a
# conjunction may stand too, as in "1. und 2." and "5./6.".
_BEFORE_ORDINAL = re.compile(
    r"\b(?:im|vom|zum|zur|beim|d(?:er|ie|as|em|en|es)|(?:[dkms]?ein|ihr|unser|jed|dies)(?:e[mnrs]?)?|(?<!I )am)"
    r"\s\d{1,3}\.$"
    r"|\b\d{1,3}\.\s?(?:und|u\.|oder|bzw\.|bis|[/\u2013-])\s?\d{1,3}\.$",
    re.IGNORECASE,
)
# Matches the end of a text in which such ordinals stand behind the plural of their noun, as in "Die Plätze 1. bis 3.".
# A sentence may end there.
_BEHIND_NOUN = re.compile(
    r"\b[Dd](?:ie|en)\s[A-ZÄÖÜ]\w*(?:e|er|n)\s\d{1,3}\.\s?(?:und|u\.|oder|bzw\.|bis|[/\u2013-])\s?\d{1,3}\.$"
)
# An address may have an ordinal, as in "Hafenstr. 12, 2. Stock, 24103 Kiel". Matches the end of a text that ends in a
# number, a comma and an ordinal, such as "12, 2." and "4 b, 1.".
_LISTED_ORDINAL = re.compile(r"\d(?:\s?[a-z])?,\s\d{1,2}\.$")
# Matches a noun that may stand behind such an ordinal, at the beginning of a text. It is a part of a house, as in
# "Stock, 24103". Or a side or a postcode stands behind it, as in "Wohnung rechts" and "Tor, 24103". "Anna hat" and
# "Englisch, Latein" do not match.
_LISTED_NOUN = re.compile(
    r"(?:(?:Stock(?:werk)?|(?:Ober|Unter|Dach)geschoss|OG|UG|DG|Etage|(?:Hinter)?[Hh]of|Hinterhaus|Aufgang|Eingang)"
    r"(?:[,;.)\n]|$)"
    r"|[A-Z\u00c4\u00d6\u00dc][a-z\u00e4\u00f6\u00fc\u00df]+(?:\s(?:links|rechts)\b|,\s\d{5}\b))"
)
# Matches a German word that is no English word, or the number of a house in a street. The text around such an address
# must have one of them, because English sentences may end in numbers too, as in "See pages 12, 14. However, he left".
_GERMAN = re.compile(
    r"\b(?:das|dem|eine?[mnrs]?|f\u00fcr|im|ist|mit|nicht|sich|sind|und|vom|wird|zum|zur)\b|[Ss]tr(?:\.|a\u00dfe)\s\d"
)
# Matches the name of a German month at the beginning of a text, as in "Juni um 14 Uhr" or "Juni 2026". A year, a word
# in lower case or a punctuation mark must follow the name, so "Junikäfer" does not match.
_MONTH = re.compile(
    r"(?:Januar|Februar|M\u00e4rz|April|Mai|Juni|Juli|August|September|Oktober|November|Dezember"
    r"|(?:Jan|Febr?|Apr|Aug|Sept?|Okt|Nov|Dez)\.)"
    r"(?:\s(?:\d{4}\b|[a-z\u00e4\u00f6\u00fc])|[,.;:)]|$)"
)
# Matches the end of a text that ends in a single lower-case letter and a full stop, such as "gibt z.". This may be the
# first half of an abbreviation with a blank, such as "z. B.".
_LETTER = re.compile(r"\b[a-z]\.$")
# Matches the second half of such an abbreviation at the beginning of a text, such as "B." in "B. den" and "Hd.".
_LETTER_FOLLOWS = re.compile(r"(?:[A-Za-z]|Hd|Zt)\.")
# The number of characters that are read before a full stop, to see whether the full stop ends a sentence.
_BEFORE_STOP = 30
# The number of characters that are read behind a full stop for the same purpose.
_BEHIND_STOP = 20
# The number of characters that are read before and behind a full stop, to see whether the text is German.
_AROUND_STOP = 80
# The maximum number of characters of a sentence to show. Longer sentences are split.
_MAX_SHOWN = 400
# The number of texts whose sentences are cached. While a question is answered, a passage is split several times.
_CACHED_TEXTS = 256
# Matches the beginning of a list item: "- soap", "2. Open the valve" and "(b) two years". "Then rest" does not match.
_ITEM = re.compile(r"\s*(?:[-*\u2022]|\(?(?:\d{1,3}|[a-z])[.)])\s+\S")
# The maximum number of characters of a list that is returned with a sentence. A longer list is cut.
_MAX_LIST = 2_000
# Matches where a plain sentence ends: line breaks, or the blanks between ".", "!" or "?" and a capital letter or a
# quotation mark. It matches the second blank in "It opened. He came.", but no blank in "It opened. 7 left.".
_PLAIN_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z\"\u201c])|\n+")
# The maximum number of characters of a plain sentence. Longer ones are cut, and the rest is lost.
_MAX_PLAIN = 600
# Matches one character at which a text may be cut between words: a line break, or a blank that does not divide the
# digits of a number. It matches the blank in "flat 250", but not the one in "1 250".
# No-break spaces do not match, because they join words.
_BLANK = re.compile(r"\n|(?:(?<!\d)[^\S\n\u00a0\u2007\u202f]|[^\S\n\u00a0\u2007\u202f](?!\d{3}(?!\d)))")
# Matches an empty string where a word ends, such as before the blank in "flat 250". In scripts without blanks, such as
# Chinese, it matches before and after each character.
WORD_EDGE = re.compile(rf"(?={_BLANK.pattern}|[{UNSPACED_SCRIPTS}])|(?<=[{UNSPACED_SCRIPTS}])")
# Characters that belong to the character before them, although Unicode does not call them marks. They are the joiner
# of emojis, two vowels (Thai and Lao), and the five skin colours of emojis.
_JOINED = "\u200d\u0e33\u0eb3\U0001f3fb\U0001f3fc\U0001f3fd\U0001f3fe\U0001f3ff"


def sentence_ends(text: str) -> Iterator[tuple[int, int, str]]:
    """Find where the sentences of a text end.

    For example, the text ``"Dr. Ada came. She won"`` has the end ``(13, 14, "sentence")``. The full stop of "Dr." is
    no end.

    :param text: The text. Its own end is not reported, unless blanks follow the last full stop.
    :returns: An iterator over the ends. Each end has three parts:

        - the index behind the last character of the sentence,
        - the index at which the text continues after blanks,
        - the kind of the end: ``"sentence"`` behind a full stop, ``"paragraph"`` before a blank line, and ``"line"``
          at any other line break, which may be within a sentence.
    """
    for match in _END.finditer(text):
        # Before a blank line, each stop ends a sentence. Elsewhere, it may belong to an abbreviation.
        if match["stop"] is not None and not _BLANK_LINE.search(match.group()):
            begin_before = max(0, match.start() - _BEFORE_STOP)
            before = text[begin_before : match.end("stop")]
            following = text[match.end() : match.end() + _BEHIND_STOP]
            first_letter = following[:1]
            if first_letter.islower() or _goes_on(before, following):
                continue
            around = text[max(0, match.start() - _AROUND_STOP) : match.end() + _AROUND_STOP]
            if _is_address(before, following, around):
                continue

        # At most one of the two groups matches. The end of the other group is -1.
        stop = max(match.end("stop"), match.end("wide"))
        if stop >= 0:
            yield stop, match.end(), "sentence"
        else:
            yield match.start(), match.end(), "paragraph" if match["blank"] else "line"


def _goes_on(before: str, following: str) -> bool:
    """Check whether a full stop belongs to an abbreviation or to an ordinal, so that the sentence goes on.

    For example, ``_goes_on("by Dr.", "Beta")`` returns ``True``, ``_goes_on("am 3.", "Juni")`` returns ``True``, and
    ``_goes_on("flat 3.", "Then")`` returns ``False``.

    :param before: The end of the text before the blanks. The full stop is its last character.
    :param following: The beginning of the text behind the blanks.
    """
    if _ABBREVIATION.search(before):
        return True
    if _NUMBER_SIGN.search(before):
        return following[:1].isdigit()
    if _LETTER.search(before) and _LETTER_FOLLOWS.match(following):
        return True
    if _ORDINAL.search(before) and _MONTH.match(following):
        return True
    if _BEFORE_NUMBER.search(before):
        return _NUMBER.match(following) is not None

    first_word = _FIRST_WORD.match(following)
    if first_word and first_word.group().lower() in _BEGINNINGS:
        return _ODER.match(following) is not None and _GERMAN_ARTICLE.search(before) is not None
    if _GERMAN_ABBREVIATION.search(before) or _GERMAN_ARTICLE.search(before):
        return True
    return _BEFORE_ORDINAL.search(before) is not None and not _BEHIND_NOUN.search(before)


def _is_address(before: str, following: str, around: str) -> bool:
    """Check whether a full stop belongs to an ordinal in a German address, such as "Hafenstr. 12, 2. Stock".

    :param before: The end of the text before the blanks. The full stop is its last character.
    :param following: The beginning of the text behind the blanks.
    :param around: The text around the full stop.
    """
    if not _LISTED_ORDINAL.search(before) or not _LISTED_NOUN.match(following):
        return False
    return _GERMAN.search(around) is not None


def ends_with_stop(text: str) -> bool:
    """Check whether a text ends with a full stop, question mark, exclamation mark, colon or semicolon.

    Closing quotation marks, brackets and blanks may follow. For example, ``ends_with_stop("(It opened.)")`` returns
    ``True``, and ``ends_with_stop("A heading")`` returns ``False``.

    :param text: The text. Only its last 20 characters are read.
    :returns: Whether the text ends in this way.
    """
    return _STOPPED.search(text[-20:]) is not None


def find_cut(text: str, characters: int, begin: int = 0) -> int:
    """Find where to cut a text, so that no word and no number is cut in two.

    The first of these places that exists is taken:

    1. the end of the last sentence in the second half of the allowed characters,
    2. the last blank in the second half,
    3. the last blank behind the first quarter, or the last place there between characters of a script without blanks,
    4. the last place that does not separate a letter from its accent. This place may be inside a very long word.

    For example, ``find_cut("It opened. It closed in 1931 for good.", 16)`` returns ``10``, the end of "It opened.".

    :param text: The text.
    :param characters: The maximum number of characters that may stay.
    :param begin: The index at which the part to cut begins.
    :returns: The index behind the last character that stays. This is the end of the text if all of it may stay.
    """
    end = begin + max(characters, 0)
    if end >= len(text):
        return len(text)

    # A few characters behind the end are read too: they show whether a full stop there ends a sentence.
    search_end = end + _BEHIND_STOP
    stops = []
    for stop, _, kind in sentence_ends(text[begin:search_end]):
        if kind != "line":
            stops.append(begin + stop)
    blanks = [match.start() for match in _BLANK.finditer(text, begin + 1, search_end)]
    # Both are equal to `begin` if there is no such place.
    last_stop = max((stop for stop in stops if stop <= end), default=begin)
    last_blank = max((blank for blank in blanks if blank <= end), default=begin)

    middle = begin + characters // 2
    first_quarter = begin + characters // 4
    if last_stop > middle:
        return last_stop
    if last_blank > middle:
        return last_blank

    # The places that do not separate a letter from its accent, the last place first.
    places = [place for place in range(end, begin, -1) if not _continues(text, place)]
    last_edge = next((place for place in places if WORD_EDGE.match(text, place)), begin)
    last_gap = max(last_edge, last_blank)
    if last_gap > first_quarter:
        return last_gap
    return places[0] if places else end


def cut_text(text: str, characters: int, sign: str = "") -> str:
    """Shorten a text at the place that :func:`find_cut` finds.

    For example, ``cut_text("The budget was 1,250,000 euros.", 19, " ...")`` returns ``"The budget was ..."``.

    :param text: The text.
    :param characters: The maximum number of characters of the result, including the sign.
    :param sign: The sign to put at the end of a text that was cut, such as ``" ..."``.
    :returns: The shortened text. A text that is short enough is returned unchanged, without the sign.
    """
    if len(text) <= characters:
        return text
    end = find_cut(text, characters - len(sign))
    return text[:end].rstrip() + sign


def _continues(text: str, place: int) -> bool:
    """Check whether the character at an index is a part of the character before it, such as an accent."""
    character = text[place]
    # The categories of accents and other marks begin with M.
    if unicodedata.category(character).startswith("M") or character in _JOINED:
        return True
    # A joiner joins the characters on both of its sides.
    return text[place - 1] == "\u200d"


@lru_cache(maxsize=_CACHED_TEXTS)
def sentence_spans(text: str) -> tuple[tuple[int, int], ...]:
    """Find where each sentence of a text begins and ends.

    For example, ``sentence_spans("It opened. It closed.")`` returns ``((0, 10), (11, 21))``.

    :param text: The text.
    :returns: For each sentence, the index of its first character and the index behind its last character. Sentences of
        more than 400 characters are split into several.
    """
    # For each sentence: the index of its end, and the index at which the next sentence begins.
    ends = []
    for end, following, kind in sentence_ends(text):
        if kind != "line" or _is_own_line(text, end, following):
            ends.append((end, following))
    ends.append((len(text), len(text)))

    spans: list[tuple[int, int]] = []
    begin = 0
    for end, following in ends:
        # This loop runs more than once only for a sentence that is too long.
        while begin < following:
            stop = following
            if end - begin > _MAX_SHOWN:
                stop = find_cut(text, _MAX_SHOWN, begin)
            words = text[begin:stop].strip()
            if words:
                place = text.index(words, begin)
                spans.append((place, place + len(words)))
            begin = stop
    return tuple(spans)


def shown_sentences(text: str) -> list[str]:
    """Split a text into sentences to show.

    For example, ``shown_sentences("Dr. Ada came. She won.")`` returns ``["Dr. Ada came.", "She won."]``.

    :param text: The text.
    :returns: The sentences, each of at most 400 characters.
    """
    return [text[begin:end] for begin, end in sentence_spans(text)]


def sentence_at(text: str, place: int) -> str:
    """Find the sentence that contains a certain character of a text.

    For example, ``sentence_at("It opened. It closed.", 13)`` returns ``"It closed."``.

    :param text: The text.
    :param place: The index of the character.
    :returns: The sentence. For a character between two sentences, this is the sentence before it. The result is empty
        if the text has no sentence.
    """
    spans = sentence_spans(text)
    for begin, end in reversed(spans):
        if begin <= place:
            return text[begin:end]
    if not spans:
        return ""
    # The character is a blank before the first sentence.
    begin, end = spans[0]
    return text[begin:end]


def with_list(text: str, sentence: str) -> str:
    r"""Return a sentence of a text together with the list that follows the sentence, such as the steps in a manual.

    The sentence may stand in the text several times. If different lists follow it, nothing tells which list is meant.
    Then no list is returned.

    For example, in the text ``"To sign:\n1. Build it.\n2. Sign it."``, the sentence ``"To sign:"`` is returned with
    both steps.

    :param text: The text.
    :param sentence: A sentence of the text.
    :returns: The sentence and its list, or the sentence alone.
    """
    lists = {_list_at(text, match.end()) for match in re.finditer(re.escape(sentence), text)}
    lists.discard("")
    if len(lists) != 1:
        return sentence
    return sentence + lists.pop()


def _list_at(text: str, begin: int) -> str:
    """Find the list that begins in the line below an index of a text.

    For example, ``_list_at("To sign: - ink - pen", 8)`` returns ``""``, because the line goes on. If each item stands
    on its own line, then all items are returned, with the line breaks before them.

    :param text: The text.
    :param begin: The index of the end of the sentence before the list.
    :returns: The list, of at most 2,000 characters. Empty if no list begins there.
    """
    rest_of_line, *lines = cut_text(text[begin:], _MAX_LIST).split("\n")
    if rest_of_line.strip():
        # The line goes on, so no list follows.
        return ""

    # The number of lines from the first line to the last line of the list.
    lines_of_list = 0
    for number, line in enumerate(lines, start=1):
        is_blank = not line.strip()
        # A line directly below an item continues the item.
        is_below_item = lines_of_list > 0 and number == lines_of_list + 1
        continues_item = is_below_item and not is_blank
        if _ITEM.match(line) or continues_item:
            lines_of_list = number
        elif not is_blank:
            # The text goes on, so the list has ended.
            break

    if not lines_of_list:
        return ""
    return "\n".join([rest_of_line, *lines[:lines_of_list]]).rstrip()


def plain_sentences(text: str) -> list[str]:
    """Split a text at line breaks, and at each ``.``, ``!`` or ``?`` before a capital letter from A to Z.

    For example, ``plain_sentences("Dr. Beta came. It opened.")`` returns ``["Dr.", "Beta came.", "It opened."]``.

    :func:`shown_sentences` splits better. But three things were measured or trained with this split, and a better split
    would change their results. They are CRAG's strips, the simulated reader, and the follow-up queries that are made
    without a model.

    :param text: The text.
    :returns: The sentences. Each of them is cut to 600 characters.
    """
    return [cut_text(part.strip(), _MAX_PLAIN) for part in _PLAIN_END.split(text) if part.strip()]


def split_strips(text: str, sentences: int) -> list[str]:
    """Split a text into strips, which are groups of neighbouring sentences. All strips are about equally long.

    The sentences are those of :func:`plain_sentences`. For example, ``split_strips("One is. Two is. Three is.", 2)``
    returns ``["One is.", "Two is. Three is."]``.

    :param text: The text.
    :param sentences: The maximum number of sentences in a strip, at least 1. A text of two sentences stays one strip,
        whatever this number is.
    :returns: The strips, in the order of the text. Nothing of the text is lost, except blanks between strips.
    """
    begins_of_sentences = [0]
    begins_of_sentences += [match.end() for match in _PLAIN_END.finditer(text.rstrip())]
    sentence_count = len(begins_of_sentences)
    strip_count = 1 if sentence_count <= 2 else math.ceil(sentence_count / sentences)

    begins = []
    for number in range(strip_count):
        first_sentence = number * sentence_count // strip_count
        begins.append(begins_of_sentences[first_sentence])
    strips = []
    for begin, end in pairwise([*begins, len(text)]):
        strip = text[begin:end].strip()
        if strip:
            strips.append(strip)
    return strips


def _is_own_line(text: str, end: int, after: int) -> bool:
    """Check whether a line break ends a sentence, or only wraps a sentence at the width of a page.

    The sentence goes on if the next line begins with a lower-case letter or an opening bracket. There are two
    exceptions. A line that ends in ":", ";" or "|" is complete. And if both lines are fields, such as "rent: 540", each
    of them is a line of its own.

    :param text: The text.
    :param end: The index of the line break.
    :param after: The index at which the next line begins.
    """
    first_of_next = text[after : after + 1]
    may_go_on = first_of_next.islower() or first_of_next == "("
    last_of_line = text[end - 1 : end]
    if last_of_line in _LINE_STOPS or not may_go_on:
        return True
    begin_of_line = text.rfind("\n", 0, end) + 1
    are_fields = FIELD.match(text, begin_of_line) and FIELD.match(text, after)
    return bool(are_fields)
