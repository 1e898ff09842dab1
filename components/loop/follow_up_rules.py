"""Rewrite English follow-up questions by rules, without a model: replace the pronoun by a name from an earlier turn."""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from prefrag.components.text.title_mentions import FUNCTION_WORDS

_MAX_NAME_WORDS = 8  # an answer with more words is not searched for names
_MAX_FRAGMENT_WORDS = 5  # a text with more words is no fragment such as "in Vienna"
_CAPITAL = r"[^\W\d_a-z\u00df-\u00ff][\w'\u2019&-]*|\d+(?:\.\d+)+"
_NAME = re.compile(
    r"[\"\u201c]([^\"\u201d]{2,60})[\"\u201d]|(?<![\w.])([/~][\w./-]{2,60}|[\w.+-]{1,40}@[\w.-]{3,60})"
    rf"|(?<![\w'\u2019])((?:{_CAPITAL})(?: (?:(?:of|the|de|von|van|and|for) ){{0,2}}(?:{_CAPITAL}|\d+(?![\d.,]*\w)))*)"
)
_WORD = re.compile(r"[^\s\"\u201c\u201d]+")
_HELP_VERBS = "can could did do does may might must shall should will would"
_AUXILIARIES = frozenset(_HELP_VERBS.split())
# English function words, with the auxiliary verbs. A noun phrase ends before the next of these words.
_GRAMMAR_WORDS = FUNCTION_WORDS | _AUXILIARIES
_PHRASE = re.compile(r"\b(?:the|our|my|your)((?: [\w'\u2019-]+){1,6})", re.I)
_PERSON = re.compile(r"\b(?:he|she|him|his|her|hers)\b", re.I)
_TIME = "year|month|week|weekend|day|morning|afternoon|evening|time|century|decade|summer|winter|spring|autumn"
_THING = re.compile(
    rf"\b(?:it|its|they|them|their|theirs|(?:this|these|those)(?! (?:{_TIME})s?\b)|(?:that|there)(?=\W*$)"
    r"|(?<=\bis )that|(?<=\bwas )that|(?<=\bdoes )that|(?<=\bdid )that)\b",
    re.I,
)
# Finds an "it" that refers to nothing, as in "is it true that" or "how long does it take to".
_EMPTY = re.compile(
    r"\bit\b(?= (?:\w+ ){1,3}(?:to|that|if|when)\b)|(?<=time is )it|(?<=is )it(?= (?:\w+ )?(?:to|that)\b)", re.I
)
_JOINS = re.compile(
    r"\b(?:after|although|and|because|before|but|if|once|or|since|so|that|until|when|where|while)\b", re.I
)
_POSSESSIVE = re.compile(r"(?:his|its|their|her(?= (?!(?:and|as|at|by|for|from|in|on|or|to|with)\b)\w))\b", re.I)
_LEADS = re.compile(r"\W*(?:(?:and|but|or|so|what about|how about)\b\W*)+", re.I)
# The function words that can begin a fragment, such as "in Vienna?". Any other function word begins a full question.
_BEGIN = "a an at between by during for from in my of on our since the to until with your"
_BEGINS = frozenset(_BEGIN.split())
_YEAR = re.compile(r"\b(?:1\d|20)\d\d\b")
_IN_A_YEAR = re.compile(rf"\W*(?:(?:in|for|of|from|since|until) )?({_YEAR.pattern})\W*", re.I)
# A number without such a word before it may count something.
_NAMED_YEAR = re.compile(rf"\b(?:in|for|of|from|since|until|than|and|year) ({_YEAR.pattern})", re.I)
# "The older one" stands for a thing that no rule can name.
_STANDS_FOR_NOUN = re.compile(r"\bones?\b", re.I)
_ASKED_WHO = re.compile(r"\W*(?:\w+ )?who(?:m|se)?\b", re.I)
_ASKED_WHICH = re.compile(r"\W*(?:\w+ )?(?:which|what)\b", re.I)
_DEMONSTRATIVES = ("this", "that", "these", "those")
_SAME = tuple(
    frozenset(forms.split()) for forms in ("he him his", "she her hers", "it its", "they them their theirs these those")
)

Turns = Sequence[tuple[str, str]]


def find_reference(question: str) -> str:
    """Find the part of a question that can be understood only with an earlier turn.

    It is a pronoun, or a fragment: for "and in Vienna?", return "in Vienna". If there is neither, return an empty text.
    """
    lead = _LEADS.match(question)
    rest = question[lead.end() :] if lead else question
    words = re.findall(r"\w+", rest.casefold())
    if _IN_A_YEAR.fullmatch(rest):
        return rest.strip(" ?.!")
    if lead and 0 < len(words) <= _MAX_FRAGMENT_WORDS and words[0] in _BEGINS | (set(words) - _GRAMMAR_WORDS):
        return rest.strip(" ?.!")
    if words and set(words) <= _GRAMMAR_WORDS and not _PERSON.search(question) and not _THING.search(question):
        return question.strip(" ?.!")
    pronoun = _find_pronoun(question)
    return pronoun.group() if pronoun else ""


def rewrite_by_rules(question: str, turns: Turns) -> str | None:
    """Rewrite a follow-up so that it can be understood without the earlier ``turns`` (oldest first).

    A question without references is returned unchanged. Returns None if no turn names what the question refers to.
    """
    reference, match = find_reference(question), _find_pronoun(question)
    if not (reference and turns):
        return None if reference else question
    if match is None or match.group() != reference:
        return _complete_fragment(reference, turns)
    pronoun = reference.casefold()
    meant = (_find_person if _PERSON.fullmatch(pronoun) else _find_thing)(turns, pronoun)
    noun = re.match(r" (\w+)", question[match.end() :]) if pronoun in _DEMONSTRATIVES else None
    if noun and noun[1].casefold() in _GRAMMAR_WORDS:
        noun = None
    # "This ship" is replaced only if the last question contains the word "ship".
    if not meant or (noun and not re.search(rf"\b{noun[1]}s?\b", turns[-1][0], re.I)):
        return None
    before, after = question[: match.start()], question[match.end() :]
    if noun:
        return f"{before}the {noun[1]} ({meant}){after[noun.end() :]}"
    if _POSSESSIVE.match(question, match.start()):
        return f"{before}{meant}'s{after}"
    return f"{before}in {meant}{after}" if pronoun == "there" else before + meant + after


def pair_turns(history: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the questions of a conversation, each with its answer, which is empty if no answer follows."""
    followed = pairwise([*history, ("", "")])
    return [(text, after if by == "assistant" else "") for (role, text), (by, after) in followed if role == "user"]


def _find_pronoun(question: str) -> re.Match[str] | None:
    """Find the pronoun in a question; None if the pronoun may refer to a name in the question itself."""
    if any(_names(question)):
        return None
    bare = _EMPTY.sub(lambda match: " " * len(match.group()), question)
    pronoun = _PERSON.search(bare) or _THING.search(bare)
    clause = _JOINS.search(bare[: pronoun.start()]) if pronoun else None
    # Skip a pronoun that refers to a phrase in the clause before it: "How heavy is the trailer when it is full?"
    return None if clause and not _PERSON.search(bare) and any(_phrases(bare[: clause.start()])) else pronoun


def _names(text: str) -> Iterator[str]:
    """List what looks like a name: capitalised or quoted words, paths, e-mail addresses and version numbers."""
    return (" ".join(text[place].split()) for place in _name_places(text))


def _name_places(text: str) -> Iterator[slice]:
    """List where the names of a text stand, without quotation marks, punctuation and a possessive "s"."""
    for match in _NAME.finditer(text):
        words = list(_WORD.finditer(text, *match.span()))
        while words and words[0][0].casefold() in _GRAMMAR_WORDS:
            del words[0]
        # A capitalised word alone at the beginning of a sentence is not taken for a name.
        begins = not text[: match.start()].strip() or text[: match.start()].rstrip()[-1:] in (".", "?", "!")
        if words and not (begins and len(words) == 1 and words[0][0].istitle() and words[0][0].isalpha()):
            name = text[words[0].start() : words[-1].end()].rstrip(".,;:!?")
            name = name.removesuffix("'s").removesuffix("\u2019s")
            yield slice(words[0].start(), words[0].start() + len(name))


def _phrases(text: str) -> Iterator[str]:
    """List the phrases of a text that begin with "the", "our", "my" or "your" and end before a function word."""
    return (" ".join(("the", *text[place].split()[1:])) for place in _phrase_places(text))


def _phrase_places(text: str) -> Iterator[slice]:
    for match in _PHRASE.finditer(text):
        words = []
        for word in match[1].split():
            if word.casefold() in _GRAMMAR_WORDS:
                break
            words.append(word)
        # After "does" or "may", the last word is a verb and not part of the phrase.
        if len(words) > 1 and _AUXILIARIES.intersection(text[: match.start()].casefold().split()):
            del words[-1]
        if words:
            yield slice(match.start(), match.start(1) + len(" ".join(("", *words))))


def _names_in_answer(answer: str) -> list[str]:
    """List the names in a short answer. If the whole answer is one capitalised word, it counts as a name."""
    words = answer.split()
    return list(_names(f"- {answer}" if len(words) == 1 else answer)) if len(words) <= _MAX_NAME_WORDS else []


def _find_person(turns: Turns, pronoun: str) -> str:
    for asked, answer in _from_last(turns, pronoun):
        if _ASKED_WHO.match(asked) and (names := _names_in_answer(answer)):
            return names[0] if len(names) == 1 else ""
        names = list(_names(asked))
        if names:
            # Of several names, the one that comes first is most likely the subject of the question.
            return names[0]
    return next((phrase for asked, _ in reversed(turns) for phrase in _phrases(asked)), "")


def _find_thing(turns: Turns, pronoun: str) -> str:
    for asked, answer in _from_last(turns, pronoun):
        if _ASKED_WHICH.match(asked) and (answered := _names_in_answer(answer)):
            return answered[0]
        names = [name for name in _names(asked) if not _is_label(name, asked)]
        things = names or list(_phrases(asked))
        if things:
            return things[-1]
    return ""


def _is_label(name: str, text: str) -> bool:
    """Check whether a name is a single letter after a noun, as in "block C", which means nothing without the noun."""
    noun = re.search(rf"([a-z]+) {name}\b", text) if len(name) == 1 else None
    return noun is not None and noun[1] not in _GRAMMAR_WORDS


def _from_last(turns: Turns, pronoun: str) -> Iterator[tuple[str, str]]:
    """Yield the turns, last first. Leave out turns whose question also contains the pronoun, instead of a name."""
    same = next((forms for forms in _SAME if pronoun.casefold() in forms), frozenset())
    for asked, answer in reversed(turns):
        if not same.intersection(re.findall(r"\w+", asked.casefold())):
            yield asked, answer


def _complete_fragment(rest: str, turns: Turns) -> str | None:
    """Repeat the previous question, with the fragment's name in place of the name that comes last in the question."""
    year = _IN_A_YEAR.fullmatch(rest)
    if year:
        return _ask_of_year(turns[-1][0], year[1])
    if _STANDS_FOR_NOUN.search(rest):
        return None
    asked = f"- {turns[-1][0]}"
    # Without such names, do the same with phrases such as "the harbour".
    for find, find_places in ((_names, _name_places), (_phrases, _phrase_places)):
        new, places = next(find(f"- {rest}"), None), list(find_places(asked))
        if new and places:
            last = asked[places[-1]]
            # The name may also stand before, or in another word or name, which stays as it is.
            for place in reversed(places):
                if asked[place] == last:
                    asked = asked[: place.start] + new + asked[place.stop :]
            return asked.removeprefix("- ")
    return None


def _ask_of_year(asked: str, year: str) -> str | None:
    """Ask the previous question of another year. Return None if it names several, of which one may be meant."""
    years = list(_NAMED_YEAR.finditer(asked))
    if len(years) > 1:
        return None
    if years:
        return asked[: years[0].start(1)] + year + asked[years[0].end(1) :]
    return f"{asked.rstrip(' ?.!')} in {year}?"
