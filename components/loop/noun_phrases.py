"""Find the noun phrases of an English question by form, without a dictionary.

A noun phrase begins with "the", "our", "my" or "your" and contains what tells the thing apart: "the boiler in hall 2"
in "When was the boiler in hall 2 installed?". Its parts are "the boiler" and, behind "in", "hall 2".

The difficulty is to find the verb behind the phrase, because many English words can be a noun or a verb. The word
before the phrase helps. Behind "does" or "will" there is a verb without an ending; behind "was" there may be a
participle. If several words may be the verb, as in "does the night bus leave for the east yard", then the phrase is
marked as unclear.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from prefrag.components.text.title_mentions import FUNCTION_WORDS

# Auxiliary verbs. The main verb of the question comes after the noun: "does the trailer weigh".
AUXILIARIES = frozenset(
    ["can", "could", "did", "do", "does", "may", "might", "must", "shall", "should", "will", "would"]
)
# English function words, with the auxiliary verbs. A noun phrase ends before the next of these words.
GRAMMAR_WORDS = FUNCTION_WORDS | AUXILIARIES
# Prepositions that connect a noun with what tells it apart: "the boiler in hall 2".
_PREPOSITIONS = "about at behind beside between for from in inside near of on outside over to under with without"
PREPOSITIONS = frozenset(_PREPOSITIONS.split())
# What may stand behind a verb as its second part: "break down". The others are function words.
_PARTICLES = frozenset(["away", "back", "down", "off"])
# The first words of a noun phrase.
_DETERMINERS = frozenset(["the", "our", "my", "your"])
# The articles that may stand before the noun of a later part, as in "the key to a room".
_ARTICLES = _DETERMINERS | {"a", "an"}
# The words that end a noun phrase.
_NO_CONTENT = GRAMMAR_WORDS | PREPOSITIONS | _PARTICLES | _ARTICLES
# Forms of "be" and "have". A participle may come after the noun: "was the hall built".
_BE_AND_HAVE = frozenset(["is", "are", "was", "were", "has", "have", "had"])
# Verbs that form a fixed pair with a noun without an article: "take place", "make sense".
_VERBS_OF_PAIRS = frozenset(["do", "get", "give", "have", "hold", "make", "pay", "take"])
# Participles without the ending "ed", and adjectives that usually stand behind a noun and "is": "is the office open".
_IRREGULAR = (
    "available begun born bought broken brought built caught chosen done drawn driven due eaten fed forgotten found "
    "free given gone grown held hidden kept known laid led left lent lost made meant met open paid put read ready said "
    "seen sent shown shut sold spent spoken stolen sung taken taught thrown told valid won worn written"
)
# A participle or such an adjective.
PARTICIPLE = re.compile(rf"(?!(?:shed|sled)$)[a-z-]{{2,}}(?<!e)ed|{'|'.join(_IRREGULAR.split())}")
# The words that begin a relative clause: "the windows that face the yard".
_RELATIVES = frozenset(["that", "which", "who"])
# Words that end a relative clause, because another clause begins.
_JOINING = frozenset(["and", "but", "or", "if", "when", "where", "while", "because"])
# A word with the punctuation beside it.
_WORD = re.compile(r"\S+")


@dataclass(frozen=True)
class Part:
    """A part of a noun phrase, without the preposition before it.

    :param preposition: The preposition before the part, in lower case. Empty for the first part.
    :param begin: Where the part begins, with its article.
    :param end: Where the part ends.
    """

    preposition: str
    begin: int
    end: int


@dataclass(frozen=True)
class NounPhrase:
    """A noun phrase of a question.

    :param parts: The parts, in the order of the question.
    :param end: Where the phrase ends. A relative clause may follow the last part.
    :param is_clear: Whether it is clear where the phrase ends.
    """

    parts: tuple[Part, ...]
    end: int
    is_clear: bool = True

    @property
    def begin(self) -> int:
        """Where the phrase begins."""
        return self.parts[0].begin


@dataclass(frozen=True)
class _Word:
    """A word of the question, without the punctuation beside it."""

    text: str
    begin: int
    # Whether punctuation follows. It ends a noun phrase.
    is_last: bool

    @property
    def end(self) -> int:
        """Where the word ends."""
        return self.begin + len(self.text)

    @property
    def key(self) -> str:
        """The word in lower case."""
        return self.text.casefold()

    @property
    def is_content(self) -> bool:
        """Whether the word may belong to a noun phrase. In a phrase, "May" is a month."""
        is_name = self.text.istitle() and self.key in AUXILIARIES
        return is_name or self.key not in _NO_CONTENT


@dataclass(frozen=True)
class _Span:
    """A part as positions in the list of words. From ``noun`` on, there is no article."""

    preposition: str
    begin: int
    noun: int
    end: int


def find_noun_phrases(question: str) -> list[NounPhrase]:
    """Find the noun phrases of a question.

    :param question: The question.
    :returns: The noun phrases in the order of the question.
    """
    words = list(_words(question))
    phrases = []
    position = 0
    while position < len(words):
        spans = _read_spans(words, position) if words[position].key in _DETERMINERS else []
        position += 1
        if spans:
            phrase = _cut_at_verb(words, spans)
            phrases.append(phrase)
            # What follows a verb may be another phrase: "did the council sell the mill".
            position = spans[-1].end
            while position < len(words) and words[position].begin < phrase.end:
                position += 1
    return phrases


def _words(question: str) -> Iterator[_Word]:
    """List the words of a question."""
    for match in _WORD.finditer(question):
        without_begin = match.group().lstrip("\"'([\u201c\u201e\u2018-")
        text = without_begin.rstrip("\"')].,;:?!\u201d\u2019-")
        if text:
            yield _Word(text, match.end() - len(without_begin), is_last=text != without_begin)


def _read_spans(words: Sequence[_Word], begin: int) -> list[_Span]:
    """Read a noun and what is connected with it by prepositions, up to the next function word."""
    spans: list[_Span] = []
    preposition = ""
    while True:
        noun = begin + (begin < len(words) and words[begin].key in _ARTICLES)
        end = noun
        while end < len(words) and words[end].is_content:
            end += 1
            if words[end - 1].is_last:
                break
        if end == noun:
            return spans
        spans.append(_Span(preposition, begin, noun, end))

        if end == len(words) or words[end - 1].is_last or words[end].key not in PREPOSITIONS:
            return spans
        preposition = words[end].key
        begin = end + 1


def _cut_at_verb(words: Sequence[_Word], spans: Sequence[_Span]) -> NounPhrase:
    """Leave out the verb behind a noun, and what belongs to the verb."""
    begin = spans[0].begin
    # The word before the phrase, but not "all" in "did all the members come".
    quantity = begin > 1 and words[begin - 1].key in ("all", "both")
    before = words[begin - 1 - quantity].key if begin else ""
    is_first_part_alone = False
    if before in AUXILIARIES:
        verbs, is_clear = _verbs_after_auxiliary(words, spans)
    elif before in _BE_AND_HAVE:
        verbs, is_clear = _verbs_after_be(words, spans), True
        # "Is the key in the drawer?" says where the key is, so "in the drawer" is no part of the phrase.
        is_first_part_alone = begin == 1 and not verbs and len(spans) > 1 and spans[1].preposition != "of"
    else:
        verbs, is_clear = {}, True

    parts = []
    for number, span in enumerate(spans):
        end = verbs.get(number, span.end)
        parts.append(Part(span.preposition, words[span.begin].begin, words[end - 1].end))
        if is_first_part_alone or (number in verbs and before in AUXILIARIES):
            break

    if verbs or is_first_part_alone:
        # After a participle, what follows still tells the thing apart: "the boiler installed in hall 2".
        return NounPhrase(tuple(parts), parts[-1].end, is_clear)
    end = _end_of_clause(words, spans[-1].end, before in _BE_AND_HAVE)
    has_clause = end > spans[-1].end
    return NounPhrase(tuple(parts), words[end - 1].end, is_clear and not (has_clause and before in AUXILIARIES))


def _verbs_after_auxiliary(words: Sequence[_Word], spans: Sequence[_Span]) -> tuple[dict[int, int], bool]:
    """Find the verb after "does" or "will", and whether it is clear which word is the verb.

    The verb is a number of a part with the position at which the verb begins in it.
    """
    last = spans[-1]
    behind = words[last.end].key if last.end < len(words) and not words[last.end - 1].is_last else ""
    if behind in ("be", "have"):
        return {}, True

    verbs = {}
    for number, span in enumerate(spans):
        verb = _verb_position(words, span)
        if verb is not None:
            verbs[number] = verb
    if len(verbs) < 2:
        return verbs, True

    last_number = len(spans) - 1
    verb = verbs.get(last_number)
    # The verb is at the end if something other than a preposition with a noun follows ("break down"), or if it stands
    # behind a name or number, where a noun rarely stands: "the night bus to Brae leave".
    if verb is not None and (behind or not words[verb - 1].text.islower()):
        return {last_number: verb}, True
    return verbs, False


def _verb_position(words: Sequence[_Word], span: _Span) -> int | None:
    """Find where the verb may begin in a part after "does" or "will". None if the part is only a noun."""
    verb = span.end - 1
    text = words[verb].text
    # A verb without an ending begins with a small letter.
    if not text[0].islower():
        return None

    is_noun = text.endswith("s") and not text.endswith("ss")
    is_behind_verb = words[verb - 1].key in _VERBS_OF_PAIRS
    # In "the bakery sell rolls" and "the fair take place", the word before the last is the verb.
    if is_noun or (is_behind_verb and verb - 1 > span.noun):
        verb -= 1
        if not words[verb].text[0].islower():
            return None
    verb = _without_adverb(words, span, verb)
    return verb if verb > span.noun else None


def _without_adverb(words: Sequence[_Word], span: _Span, verb: int) -> int:
    """Find where the adverbs before a verb begin, as in "does the office usually open"."""
    while verb - 1 > span.noun and (words[verb - 1].text.endswith("ly") or words[verb - 1].key == "well"):
        verb -= 1
    return verb


def _verbs_after_be(words: Sequence[_Word], spans: Sequence[_Span]) -> dict[int, int]:
    """Find the participle or adjective after "is" or "was" and a noun, as in "was the hall built"."""
    for number, span in enumerate(spans):
        # A participle behind a name ends it: "was the Calibration Hall opened early".
        for verb in range(span.noun + 1, span.end):
            if PARTICIPLE.fullmatch(words[verb].text) and words[verb - 1].text.istitle():
                return {number: verb}

        last = span.end - 1
        is_behind_number = last > span.noun and words[last - 1].text.isdigit() and words[last].text.islower()
        if last > span.noun and (PARTICIPLE.fullmatch(words[last].text) or is_behind_number):
            return {number: _without_adverb(words, span, last)}

    # A question such as "Is the new trailer heavy?" ends with what it asks about the noun.
    span = spans[0]
    is_at_end = span.end == len(words) or words[span.end - 1].is_last
    is_yes_or_no = span.begin == 1 and words[0].key in ("is", "are", "was", "were")
    if is_yes_or_no and is_at_end and span.end - 1 > span.noun and words[span.end - 1].text.islower():
        return {0: span.end - 1}
    return {}


def _end_of_clause(words: Sequence[_Word], position: int, has_participle: bool) -> int:
    """Find the end of a relative clause that begins at a position. The same position if none begins."""
    begin = position
    if position == len(words) or words[position - 1].is_last or words[position].key not in _RELATIVES:
        return begin
    while position < len(words) and words[position].key not in _JOINING:
        position += 1
        if words[position - 1].is_last:
            break
    if has_participle and PARTICIPLE.fullmatch(words[position - 1].text):
        position -= 1
    return position if position > begin + 1 else begin
