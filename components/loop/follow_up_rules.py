"""Rewrite English follow-up questions by rules, without a model: replace the pronoun by a name from an earlier turn."""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from prefrag.components.text.title_mentions import FUNCTION_WORDS

_MAX_NAME_WORDS = 8  # an answer with more words is not searched for names
_MAX_FRAGMENT_WORDS = 5  # a text with more words is no fragment such as "in Vienna"
# A word that begins with a capital, or a number with several parts, such as a version: "Vienna", "2.1".
_CAPITAL = r"[^\W\d_a-z\u00df-\u00ff][\w'\u2019&-]*|\d+(?:\.\d+)+"
# What looks like a name: quoted words, a path ("/etc/hosts"), an e-mail address, or capitalised words with small words
# and whole numbers between and behind them ("Museum of the City", "Boeing 747").
_SMALL_WORDS = "(?:(?:of|the|de|von|van|and|for)[ ]){0,2}"
_NAME = re.compile(
    rf"""
    [\"\u201c] ( [^\"\u201d]{{2,60}} ) [\"\u201d]
    | (?<! [\w.] ) ( [/~][\w./-]{{2,60}} | [\w.+-]{{1,40}}@[\w.-]{{3,60}} )
    | (?<! [\w'\u2019] ) ( (?:{_CAPITAL}) (?: [ ] {_SMALL_WORDS} (?: {_CAPITAL} | \d+ (?! [\d.,]*\w ) ) )* )
    """,
    re.VERBOSE,
)
_WORD = re.compile(r"[^\s\"\u201c\u201d]+")
_HELP_VERBS = "can could did do does may might must shall should will would"
_AUXILIARIES = frozenset(_HELP_VERBS.split())
# English function words, with the auxiliary verbs. A noun phrase ends before the next of these words.
_GRAMMAR_WORDS = FUNCTION_WORDS | _AUXILIARIES
_PHRASE = re.compile(r"\b(?:the|our|my|your)((?: [\w'\u2019-]+){1,6})", re.I)
_PERSON = re.compile(r"\b(?:he|she|him|his|her|hers)\b", re.I)
_TIME = "year|month|week|weekend|day|morning|afternoon|evening|time|century|decade|summer|winter|spring|autumn"
# A pronoun for a thing. "This" is none in "this year". "That" and "there" only count at the end of the question, and
# "that" also after a verb, as in "when was that built?".
_THING = re.compile(
    rf"\b(?:it|its|they|them|their|theirs|(?:this|these|those)(?! (?:{_TIME})s?\b)|(?:that|there)(?=\W*$)"
    r"|(?<=\bis )that|(?<=\bwas )that|(?<=\bdoes )that|(?<=\bdid )that)\b",
    re.I,
)
# An "it" that refers to nothing, as in "how long does it take to", "what time is it" or "is it true that".
_EMPTY = re.compile(
    r"\bit\b(?= (?:\w+ ){1,3}(?:to|that|if|when)\b)|(?<=time is )it|(?<=is )it(?= (?:\w+ )?(?:to|that)\b)", re.I
)
# A word that joins two clauses.
_JOINS = re.compile(
    r"\b(?:after|although|and|because|before|but|if|once|or|since|so|that|until|when|where|while)\b", re.I
)
# "Her" is possessive before a noun, as in "her house", and not before a word such as "and" or "in".
_POSSESSIVE = re.compile(r"(?:his|its|their|her(?= (?!(?:and|as|at|by|for|from|in|on|or|to|with)\b)\w))\b", re.I)
# How a follow-up may begin: "And what about Vienna?"
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
    if lead and _is_fragment(words):
        return rest.strip(" ?.!")
    has_pronoun = _PERSON.search(question) or _THING.search(question)
    has_only_grammar = bool(words) and set(words) <= _GRAMMAR_WORDS
    if has_only_grammar and not has_pronoun:
        return question.strip(" ?.!")
    pronoun = _find_pronoun(question)
    return pronoun.group() if pronoun else ""


def _is_fragment(words: Sequence[str]) -> bool:
    """Check whether words are a fragment such as "in Vienna": few, and not beginning like a full question."""
    if not 0 < len(words) <= _MAX_FRAGMENT_WORDS:
        return False
    return words[0] in _BEGINS or words[0] not in _GRAMMAR_WORDS


def rewrite_by_rules(question: str, turns: Turns) -> str | None:
    """Rewrite a follow-up so that it can be understood without the earlier ``turns`` (oldest first).

    A question without references is returned unchanged. Returns None if no turn names what the question refers to.
    """
    reference = find_reference(question)
    if not reference:
        return question
    if not turns:
        return None
    match = _find_pronoun(question)
    if match is None or match.group() != reference:
        return _complete_fragment(reference, turns)

    pronoun = reference.casefold()
    find = _find_person if _PERSON.fullmatch(pronoun) else _find_thing
    meant = find(turns, pronoun)
    if not meant:
        return None
    before, after = question[: match.start()], question[match.end() :]
    noun = re.match(r" (\w+)", after) if pronoun in _DEMONSTRATIVES else None
    if noun and noun[1].casefold() not in _GRAMMAR_WORDS:
        last_question, _ = turns[-1]
        # "This ship" is replaced only if the last question contains the word "ship".
        if not re.search(rf"\b{noun[1]}s?\b", last_question, re.I):
            return None
        return f"{before}the {noun[1]} ({meant}){after[noun.end() :]}"
    if _POSSESSIVE.match(question, match.start()):
        return f"{before}{meant}'s{after}"
    if pronoun == "there":
        return f"{before}in {meant}{after}"
    return f"{before}{meant}{after}"


def pair_turns(history: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the questions of a conversation, each with its answer, which is empty if no answer follows."""
    turns = []
    for (role, text), (next_role, next_text) in pairwise([*history, ("", "")]):
        if role == "user":
            turns.append((text, next_text if next_role == "assistant" else ""))
    return turns


def _find_pronoun(question: str) -> re.Match[str] | None:
    """Find the pronoun in a question; None if the pronoun may refer to a name in the question itself."""
    if any(_names(question)):
        return None
    # Blanks stand in place of an "it" that refers to nothing, so that all positions stay as they are.
    bare = _EMPTY.sub(lambda match: " " * len(match.group()), question)
    person = _PERSON.search(bare)
    if person:
        return person
    thing = _THING.search(bare)
    join = _JOINS.search(bare[: thing.start()]) if thing else None
    # Skip a pronoun that refers to a phrase in the clause before it: "How heavy is the trailer when it is full?"
    if join and any(_phrases(bare[: join.start()])):
        return None
    return thing


def _names(text: str) -> Iterator[str]:
    """List what looks like a name: capitalised or quoted words, paths, e-mail addresses and version numbers."""
    return (" ".join(text[place].split()) for place in _name_places(text))


def _name_places(text: str) -> Iterator[slice]:
    """List where the names of a text stand, without quotation marks, punctuation and a possessive "s"."""
    for match in _NAME.finditer(text):
        words = list(_WORD.finditer(text, *match.span()))
        while words and words[0][0].casefold() in _GRAMMAR_WORDS:
            del words[0]
        if not words:
            continue
        # A capitalised word alone at the beginning of a sentence is not taken for a name.
        before = text[: match.start()].rstrip()
        begins_sentence = not before or before[-1] in ".?!"
        word = words[0][0]
        if begins_sentence and len(words) == 1 and word.istitle() and word.isalpha():
            continue
        begin = words[0].start()
        name = text[begin : words[-1].end()].rstrip(".,;:!?")
        name = name.removesuffix("'s").removesuffix("\u2019s")
        yield slice(begin, begin + len(name))


def _phrases(text: str) -> Iterator[str]:
    """List the phrases of a text that begin with "the", "our", "my" or "your" and end before a function word."""
    return (" ".join(("the", *text[place].split()[1:])) for place in _phrase_places(text))


def _phrase_places(text: str) -> Iterator[slice]:
    """List where the phrases of a text stand."""
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
            length = len("".join(f" {word}" for word in words))
            yield slice(match.start(), match.start(1) + length)


def _names_in_answer(answer: str) -> list[str]:
    """List the names in a short answer. If the whole answer is one capitalised word, it counts as a name."""
    words = answer.split()
    if len(words) > _MAX_NAME_WORDS:
        return []
    # Behind a dash, the word does not begin the text, where a capital would mean nothing.
    return list(_names(f"- {answer}" if len(words) == 1 else answer))


def _find_person(turns: Turns, pronoun: str) -> str:
    """Find the name that a pronoun for a person stands for; empty if there is none, or if several may be meant."""
    for asked, answer in _from_last(turns, pronoun):
        names_in_answer = _names_in_answer(answer) if _ASKED_WHO.match(asked) else []
        if names_in_answer:
            return names_in_answer[0] if len(names_in_answer) == 1 else ""
        # Of several names, the one that comes first is most likely the subject of the question.
        name = next(_names(asked), None)
        if name is not None:
            return name
    return next((phrase for asked, _ in reversed(turns) for phrase in _phrases(asked)), "")


def _find_thing(turns: Turns, pronoun: str) -> str:
    """Find the name or phrase that a pronoun for a thing stands for; empty if there is none."""
    for asked, answer in _from_last(turns, pronoun):
        names_in_answer = _names_in_answer(answer) if _ASKED_WHICH.match(asked) else []
        if names_in_answer:
            return names_in_answer[0]
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
        new = next(find(f"- {rest}"), None)
        places = list(find_places(asked))
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
