"""Rewrite English follow-up questions by rules, without a language model.

A follow-up question can be understood only with an earlier turn. A turn is a question and its answer. There are two
kinds of follow-up:

- A question with a pronoun: after "Who built the Aurora?", "When was it launched?" becomes "When was the Aurora
  launched?".
- A fragment: after "Who built the hall in Graz?", "And in Vienna?" becomes "Who built the hall in Vienna?".

:class:`FollowUpRewriter` uses these rules if no model is set up. Where the rules are not sure, they give no rewritten
question, and the user is asked.
"""

import re
from collections.abc import Iterator, Mapping, Sequence, Set
from itertools import dropwhile, pairwise

from prefrag.components.loop.noun_phrases import (
    AUXILIARIES,
    GRAMMAR_WORDS,
    PARTICIPLE,
    PREPOSITIONS,
    NounPhrase,
    Part,
    find_noun_phrases,
)

# The maximum number of words of an answer that is searched for names. A longer answer is not searched.
_MAX_NAME_WORDS = 8
# The maximum number of words of a fragment such as "in Vienna". A longer text counts as a full question.
_MAX_FRAGMENT_WORDS = 5
# A word that begins with a capital, or a number with several parts, such as a version: "Vienna", "2.1", but not "747".
_CAPITAL = r"[^\W\d_a-z\u00df-\u00ff][\w'\u2019&-]*|\d+(?:\.\d+)+"
# Up to two small words that may stand between two capitalised words of a name, each with a blank behind it: "of the ".
_SMALL_WORDS = "(?:(?:of|the|de|von|van|and|for)[ ]){0,2}"
# An article at the end of a text. It matches "the" in "Is the".
_ARTICLE_AT_END = re.compile(r"\b(?:the|an?)$", re.IGNORECASE)
# An article at the beginning of a phrase such as "the Alma".
_ARTICLE_AT_BEGIN = re.compile(r"\Athe ", re.IGNORECASE)
# What looks like a name. The three lines of the expression match, in this order:
# - words in quotation marks: "Blue Hall" with its marks;
# - a path or an e-mail address: "/etc/hosts", "a@b.org";
# - capitalised words, with small words between them and whole numbers behind them: "Museum of the City", "Boeing 747".
_NAME = re.compile(
    rf"""
    [\"\u201c] ( [^\"\u201d]{{2,60}} ) [\"\u201d]
    | (?<! [\w.] ) ( [/~][\w./-]{{2,60}} | [\w.+-]{{1,40}}@[\w.-]{{3,60}} )
    | (?<! [\w'\u2019] ) ( (?:{_CAPITAL}) (?: [ ] {_SMALL_WORDS} (?: {_CAPITAL} | \d+ (?! [\d.,]*\w ) ) )* )
    """,
    re.VERBOSE,
)
# A word between blanks, without quotation marks.
_WORD = re.compile(r"[^\s\"\u201c\u201d]+")
# An article or possessive and up to six words behind it: "the blue trailer", "my car".
_PHRASE = re.compile(r"\b(?:the|our|my|your)((?: [\w'\u2019-]+){1,6})", re.I)
# A pronoun for a person.
_PERSON = re.compile(r"\b(?:he|she|him|his|her|hers)\b", re.I)
# Words for a time, as in "this year".
_TIME = "year|month|week|weekend|day|morning|afternoon|evening|time|century|decade|summer|winter|spring|autumn"
# A pronoun for a thing. The alternatives match, in this order:
# - "it", "they" and their other forms;
# - "this", "these" and "those", but not before a word for a time, as in "this year";
# - "that" and "there" at the end of the question: "who lives there?";
# - "that" after one of four verbs: "when was that built?". In "that is", it does not match.
_THING = re.compile(
    rf"\b(?:it|its|they|them|their|theirs|(?:this|these|those)(?! (?:{_TIME})s?\b)|(?:that|there)(?=\W*$)"
    r"|(?<=\bis )that|(?<=\bwas )that|(?<=\bdoes )that|(?<=\bdid )that)\b",
    re.I,
)
# An "it" that refers to nothing, as in "how long does it take to go", "what time is it" or "is it true that". The "it"
# in "is it old" refers to something, and does not match.
_EMPTY_IT = re.compile(
    r"\bit\b(?= (?:\w+ ){1,3}(?:to|that|if|when)\b)|(?<=time is )it|(?<=is )it(?= (?:\w+ )?(?:to|that)\b)", re.I
)
# A word that joins two clauses, such as "when" in "how heavy is it when it is full".
_CONJUNCTION = re.compile(
    r"\b(?:after|although|and|because|before|but|if|once|or|since|so|that|until|when|where|while)\b", re.I
)
# A possessive pronoun: "his", "its". "Her" is possessive before a noun, as in "her house". It is not possessive before
# a word such as "and" or "in".
_POSSESSIVE = re.compile(r"(?:his|its|their|her(?= (?!(?:and|as|at|by|for|from|in|on|or|to|with)\b)\w))\b", re.I)
# The words with which a follow-up may begin: "And what about " in "And what about Vienna?".
_LEAD = re.compile(r"\W*(?:(?:and|but|or|so|what about|how about)\b\W*)+", re.I)
# Prepositions of a place or an aim, which may belong to the whole phrase: "the bus from Ness to Brae". The empty string
# stands for a phrase of its own.
_LOOSE_PREPOSITIONS = frozenset(["", "at", "for", "from", "in", "on", "to"])
# Polite words before such a word: "thanks. " in "thanks. and when was it built?"
_OPENING = re.compile(
    r"\A\W*(?:(?:ok|okay|thanks|thank you|great|good|fine|yes|no|right|well)\b[\s,.!;\u2013-]+)+"
    r"(?=(?:and|but|or|so|what about|how about)\b)",
    re.I,
)
# The function words that can begin a fragment, such as "in Vienna?". Any other function word begins a full question.
_BEGIN = "a an at between by during for from in my of on our since the to until with your"
_BEGIN_FRAGMENTS = frozenset(_BEGIN.split())
# A year from 1000 to 2099.
_YEAR = re.compile(r"\b(?:1\d|20)\d\d\b")
# A text that is only a year, with or without a small word before it: "in 1990?", "1990".
_IN_A_YEAR = re.compile(rf"\W*(?:(?:in|for|of|from|since|until) )?({_YEAR.pattern})\W*", re.I)
# A year after one of these words: "in 1990", "than 1990". Without such a word, the number may count something, as in
# "built 1990 ships".
_NAMED_YEAR = re.compile(rf"\b(?:in|for|of|from|since|until|than|and|year) ({_YEAR.pattern})", re.I)
# A word for a time in a fragment, as in "the year before", but not in "full-time trainees".
_TIME_WORD = re.compile(rf"(?<!-)\b({_TIME})s?\b", re.I)
# A question word alone, perhaps with "was that": "When?", "When was that?"
_ADVERB = re.compile(r"(?:(?:and|but|so) )?(when|where|why|how)(?: (?:is|was) that)?", re.I)
# The beginning of a question with such a word and a verb: "Where was", "And when did".
_ASKED_ADVERB = re.compile(
    rf"(\W*(?:(?:and|but|so) )?)(when|where|why|how) (is|are|was|were|{'|'.join(sorted(AUXILIARIES))})\b", re.I
)
# What stands for the noun of the previous question before a preposition: "the one " in "the one in hall 2".
_SAME_NOUN = re.compile(rf"\A(?:(?:the )?ones?|that|those) (?=(?:{'|'.join(sorted(PREPOSITIONS))})\b)", re.I)
# Another kind of the same thing: "the blue one". It does not match "the older one", which compares two things.
_OTHER_KIND = re.compile(r"(?:the|our|my|your) ((?!\w+(?:er|est) )[\w-]+) ones?", re.I)
# A noun with a plural in "s", or one of the plurals of persons without it: "adults", "firemen" and "grandchildren".
_PLURAL_NOUN = r"(?:[a-z-]+s|[a-z-]*(?:children|men|people))"
# A plural noun without an article behind an auxiliary verb and before another verb, perhaps with words before it:
# "trainees" in "How long do trainees work?" and "full-time trainees".
_BARE_PLURAL = re.compile(
    rf"\b(?:do|did|{'|'.join(sorted(AUXILIARIES - {'do', 'did'}))}) ((?:[a-z-]+ )??{_PLURAL_NOUN})(?= [a-z]+\b)"
)
# The word "one" or "ones", as in "the older one". It stands for a thing that no rule can name.
_STANDS_FOR_NOUN = re.compile(r"\bones?\b", re.I)
# A question that begins with "who", or with one word and "who": "Who was", "And who is", but not "in 1990 who".
_ASKED_WHO = re.compile(r"\W*(?:\w+ )?who(?:m|se)?\b", re.I)
# The same with a form of "be": "Who is ", "And who's ".
_ASKED_WHO_IS = re.compile(r"\W*(?:\w+ )?who(?:['\u2019]s| is| are| was| were) ", re.I)
# An auxiliary verb anywhere in a question.
_HAS_AUXILIARY = re.compile(rf"\b(?:{'|'.join(sorted(AUXILIARIES))})\b", re.I)
# The same with "which" or "what": "Which ship", "in which year".
_ASKED_WHICH = re.compile(r"\W*(?:\w+ )?(?:which|what)\b", re.I)
# The beginnings of questions, up to the noun phrase: "Who is the captain", "What is the price", "Where are the keys".
_IS = r"(['\u2019]s| is| are| was| were) $"
_ASKS_WHO_IS = re.compile(rf"\bwho{_IS}", re.I)
_ASKS_WHAT_IS = re.compile(rf"\bwhat{_IS}", re.I)
_ASKS_WHAT_OR_WHERE_IS = re.compile(rf"\bwh(?:at|ere){_IS}", re.I)
# A question about several things, of which the answer names the right thing: "Which rules apply in Sweden?"
_BEGINS_WITH_WHICH = re.compile(r"\W*(?:and )?which\b", re.I)
# Pronouns that may stand before a noun, as in "this ship".
_DEMONSTRATIVES = ("this", "that", "these", "those")
# The groups of pronouns that stand for the same thing.
_SINGULAR = frozenset(["it", "its"])
_PLURAL = frozenset(["they", "them", "their", "theirs", "these", "those"])
_FORMS_OF_PRONOUNS = (frozenset(["he", "him", "his"]), frozenset(["she", "her", "hers"]), _SINGULAR, _PLURAL)

# What is put before a text, so that a word with a capital at its beginning counts as a name. Otherwise the capital may
# only show that a sentence begins.
_DASH = "- "

# Pairs of a question and its answer, oldest first. The answer is empty if there is none.
Turns = Sequence[tuple[str, str]]


def find_reference(question: str) -> str:
    """Find the part of a question that can be understood only with an earlier turn.

    For example, the part is "it" in "when was it built?", and "in Vienna" in "and in Vienna?".

    :param question: The question.
    :returns: A pronoun or a fragment. Empty if the question can be understood alone.
    """
    question = _OPENING.sub("", question)
    lead = _LEAD.match(question)
    # The question without its first words, such as "And".
    text = question[lead.end() :] if lead else question
    words = re.findall(r"\w+", text.casefold())
    if _IN_A_YEAR.fullmatch(text) or _ADVERB.fullmatch(text.strip(" ?.!")):
        return text.strip(" ?.!")
    names_same_noun = len(words) <= 2 * _MAX_FRAGMENT_WORDS and _SAME_NOUN.match(text)
    if lead and (_is_fragment(words) or names_same_noun):
        return text.strip(" ?.!")

    # A question of function words alone, such as "why?", names nothing.
    has_pronoun = _PERSON.search(question) or _THING.search(question)
    has_only_grammar = bool(words) and set(words) <= GRAMMAR_WORDS
    if has_only_grammar and not has_pronoun:
        return question.strip(" ?.!")

    pronoun = _find_pronoun(question)
    return pronoun.group() if pronoun else ""


def _is_fragment(words: Sequence[str]) -> bool:
    """Check whether words are a fragment such as "in Vienna".

    A fragment has few words and does not begin like a full question.
    """
    if not 0 < len(words) <= _MAX_FRAGMENT_WORDS:
        return False
    first_word = words[0]
    return first_word in _BEGIN_FRAGMENTS or first_word not in GRAMMAR_WORDS


def rewrite_by_rules(question: str, turns: Turns) -> str | None:
    """Rewrite a follow-up question so that it can be understood without the earlier turns.

    For example, after the question "Who built the Aurora?", "When was it launched?" becomes "When was the
    Aurora launched?", and "Who lives there?" becomes "Who lives in the Aurora?".

    :param question: The question.
    :param turns: The earlier questions with their answers, oldest first.
    :returns: The rewritten question. A question without references is returned unchanged. None if no turn names what
        the question refers to.
    """
    # A fragment among the earlier questions is completed, so that it tells what was asked.
    completed: list[tuple[str, str]] = []
    for earlier_question, answer in turns:
        whole_question = None
        if completed and _finds_fragment(earlier_question):
            whole_question = _complete_fragment(find_reference(earlier_question), completed)
        completed.append((whole_question or earlier_question, answer))
    return _rewrite(question, completed)


def _finds_fragment(question: str) -> bool:
    """Check whether a question is a fragment such as "and in Vienna?"."""
    pronoun = _find_pronoun(question)
    reference = find_reference(question)
    return bool(reference) and (pronoun is None or pronoun.group() != reference)


def _rewrite(question: str, turns: Turns) -> str | None:
    """Rewrite a follow-up question as :func:`rewrite_by_rules` does, after earlier questions without fragments."""
    reference = find_reference(question)
    if not reference:
        return question
    if not turns:
        return None

    question = _OPENING.sub("", question)
    match = _find_pronoun(question)
    if match is None or match.group() != reference:
        return _complete_fragment(reference, turns)

    pronoun = reference.casefold()
    if _has_other_pronoun(question, pronoun):
        return None
    find_name = _find_person if _PERSON.fullmatch(pronoun) else _find_thing
    name = find_name(turns, pronoun)
    return _insert_name(name, match, turns) if name else None


def _has_other_pronoun(question: str, pronoun: str) -> bool:
    """Check whether a pronoun for a thing stands beside another, as in "how do they pay it".

    The rules cannot tell which of the two is the thing of the earlier question.
    """
    if pronoun not in _SINGULAR | _PLURAL:
        return False
    others = {match.group().casefold() for match in _THING.finditer(_EMPTY_IT.sub("", question))}
    return bool(others & _SINGULAR) and bool(others & _PLURAL)


def _insert_name(name: str, pronoun: re.Match[str], turns: Turns) -> str | None:
    """Replace the pronoun of a question by a name. None if a noun behind it is not in the last question."""
    question = pronoun.string
    before = question[: pronoun.start()]
    after = question[pronoun.end() :]
    word = pronoun.group().casefold()
    # The noun after a word such as "this": "ship" in "this ship".
    noun = ""
    if word in _DEMONSTRATIVES:
        next_word = re.match(r" (\w+)", after)
        if next_word and next_word[1].casefold() not in GRAMMAR_WORDS:
            noun = next_word[1]
    if noun:
        last_question, _ = turns[-1]
        # "This ship" becomes "the ship (Aurora)", but only if the last question contains the word "ship".
        if not re.search(rf"\b{noun}s?\b", last_question, re.I):
            return None
        after_noun = after.removeprefix(f" {noun}")
        # "This boiler" becomes "the boiler in hall 2".
        if re.search(rf"\b{noun}\b", name, re.I):
            return f"{before}{name}{after_noun}"
        name = _ARTICLE_AT_BEGIN.sub("", name)
        return f"{before}the {noun} ({name}){after_noun}"
    if _POSSESSIVE.match(question, pronoun.start()):
        return f"{before}{name}'s{after}"
    if word == "there":
        return f"{before}in {name}{after}"
    return f"{before}{name}{after}"


def pair_turns(history: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Pair the questions of a conversation with their answers.

    For example, the turns (user, "a"), (assistant, "b") and (user, "c") give ``[("a", "b"), ("c", "")]``.

    :param history: The turns of the conversation, oldest first, each with its role (``user`` or ``assistant``) and its
        text.
    :returns: The questions with their answers. The answer is empty if no answer follows the question.
    """
    turns = []
    for (role, text), (next_role, next_text) in pairwise([*history, ("", "")]):
        if role == "user":
            turns.append((text, next_text if next_role == "assistant" else ""))
    return turns


def _find_pronoun(question: str) -> re.Match[str] | None:
    """Find the pronoun in a question.

    The result is None if there is no pronoun, or if the pronoun may refer to something in the question itself.
    """
    if any(_names(question)):
        return None

    # An "it" that refers to nothing is replaced by blanks, so that all positions stay as they are.
    without_empty = _EMPTY_IT.sub(lambda match: " " * len(match.group()), question)
    person = _PERSON.search(without_empty)
    if person:
        return person
    thing = _THING.search(without_empty)
    if thing is None:
        return None

    # A pronoun may refer to a phrase in the clause before it: "How heavy is the trailer when it is full?"
    before_pronoun = without_empty[: thing.start()]
    join = _CONJUNCTION.search(before_pronoun)
    if join:
        clause_before = before_pronoun[: join.start()]
        if any(_phrases(clause_before)):
            return None
    return thing


def _names(text: str) -> Iterator[str]:
    """List what looks like a name: capitalised or quoted words, paths, e-mail addresses and version numbers.

    For example, 'He said "Blue Hall" is in the Museum of the City.' has the names "Blue Hall" and "Museum of the City".
    """
    return (" ".join(text[place].split()) for place in _name_places(text))


def _name_places(text: str) -> Iterator[slice]:
    """List where the names of a text stand, without quotation marks, punctuation and a possessive "s"."""
    for match in _NAME.finditer(text):
        words = list(_WORD.finditer(text, *match.span()))
        # A function word at the beginning, such as "The", is no part of the name.
        words = list(dropwhile(_is_grammar_word, words))
        if not words:
            continue

        first_word, last_word = words[0], words[-1]
        if len(words) == 1 and _begins_sentence(first_word, text):
            continue
        begin = first_word.start()
        name = text[begin : last_word.end()].rstrip(".,;:!?")
        without_possessive = name.removesuffix("'s").removesuffix("\u2019s")
        yield slice(begin, begin + len(without_possessive))


def _is_grammar_word(match: re.Match[str]) -> bool:
    """Check whether a match is a function word or an auxiliary verb."""
    return match.group().casefold() in GRAMMAR_WORDS


def _begins_sentence(match: re.Match[str], text: str) -> bool:
    """Check whether a word has a capital only because it stands at the beginning of a sentence, also behind an article.

    Such a word is not taken for a name. Behind another function word, a word with a capital may be a name, as in "Is
    Vienna big?".
    """
    word = match.group()
    text_before = text[: match.start()].rstrip()
    before_article = _ARTICLE_AT_END.sub("", text_before).rstrip()
    begins_sentence = not before_article or before_article.endswith((".", "?", "!"))
    return begins_sentence and word.istitle() and word.isalpha()


def _phrases(text: str) -> Iterator[str]:
    """List the phrases of a text that begin with "the", "our", "my" or "your" and end before a function word.

    The first word of each phrase becomes "the". For example, "how heavy is our ship at sea" has the phrase "the ship".
    """
    for place in _phrase_places(text):
        _, *words = text[place].split()
        yield " ".join(["the", *words])


def _phrase_places(text: str) -> Iterator[slice]:
    """List where the phrases of a text stand."""
    for match in _PHRASE.finditer(text):
        # The words behind the article or possessive, up to the next function word.
        words = []
        for word in match[1].split():
            if word.casefold() in GRAMMAR_WORDS:
                break
            words.append(word)

        # After "does" or "may", the last word is taken for a verb, which is no part of the phrase.
        if len(words) > 1:
            words_before = text[: match.start()].casefold().split()
            if not AUXILIARIES.isdisjoint(words_before):
                words.pop()
        if words:
            # Each word has one blank before it.
            length = sum(len(word) + 1 for word in words)
            yield slice(match.start(), match.start(1) + length)


def _names_in_answer(answer: str) -> list[str]:
    """List the names in a short answer; empty for a long answer.

    If the whole answer is one capitalised word, such as "Berg", it counts as a name.
    """
    n_words = len(answer.split())
    if n_words > _MAX_NAME_WORDS:
        return []
    return list(_names(f"{_DASH}{answer}" if n_words == 1 else answer))


def _find_person(turns: Turns, pronoun: str) -> str:
    """Find the name that a pronoun for a person stands for.

    The newest turn comes first. The result is empty if there is no name, or if several persons may be meant.
    """
    # The persons for whom a pronoun stood in an earlier question, each with the forms of this pronoun.
    persons: dict[str, frozenset[str]] = {}
    # The persons whom the newest turn with a name has named.
    named: set[str] = set()
    for number, (question, answer) in enumerate(turns):
        match = _find_pronoun(question)
        # If that turn had named several persons, it is only guessed whom the pronoun meant.
        if match and _PERSON.fullmatch(match.group()) and len(named) == 1:
            forms = _forms_of(match.group())
            person = _choose_person(turns[:number], match.group(), _others(persons, forms))
            persons.setdefault(person, forms)
        named = {*_names_of_persons(question), *_names_in_answer(answer)} or named
    return _choose_person(turns, pronoun, _others(persons, _forms_of(pronoun)))


def _others(persons: Mapping[str, frozenset[str]], forms: frozenset[str]) -> set[str]:
    """List the persons for whom another pronoun stood, because whoever was "he" is not "she"."""
    return {person for person, forms_of_person in persons.items() if forms_of_person != forms}


def _choose_person(turns: Turns, pronoun: str, others: Set[str]) -> str:
    """Choose the name that a pronoun for a person stands for, as :func:`_find_person` does.

    One of the others is returned only if nobody else is named or asked for.
    """
    last_resort = ""
    for question, answer in _from_last(turns, pronoun):
        # The answer to a question with "who" is a person.
        asks_who = _ASKED_WHO.match(question)
        names_in_answer = _names_in_answer(answer) if asks_who else []
        if len(names_in_answer) > 1:
            return ""
        if names_in_answer and names_in_answer[0] not in others:
            # "Ada Quill and Ben Marsh" are two persons.
            is_pair = " and " in names_in_answer[0]
            return "" if is_pair else names_in_answer[0]

        names = list(_names_of_persons(question))
        name = next((name for name in names if name not in others), "")
        # A long answer is not searched for names, so it tells nothing. A short one without a name tells nobody.
        is_nobody_told = asks_who and not names_in_answer and len(answer.split()) <= _MAX_NAME_WORDS
        # In "Who is his sister?", the person who is asked for may be meant.
        is_asked = _asks_relative(question, name) if name else names or _PERSON.search(question)
        if is_nobody_told and is_asked:
            return ""
        if name:
            return name
        last_resort = last_resort or next(iter([*names_in_answer, *names]), "")
    if last_resort:
        return last_resort

    # No turn has a name, so the first phrase of the newest question with a phrase is taken.
    for question, _ in reversed(turns):
        if _asks_doer(question):
            return ""
        for phrase in find_noun_phrases(question):
            return question[phrase.begin : phrase.end]
    return ""


def _names_of_persons(question: str) -> Iterator[str]:
    """List the names in a question that may be persons. The first is most likely the subject of the question."""
    # The person is asked for and not known, so "the Alma" in "Who is the captain of the Alma?" is not meant.
    asks_doer = _asks_doer(question)
    for place in _name_places(question):
        is_thing = asks_doer and _ARTICLE_AT_END.search(question[: place.start].rstrip())
        if not is_thing:
            yield " ".join(question[place].split())


def _asks_relative(question: str, name: str) -> bool:
    """Check whether a question asks for a person by the name of another: "Who is the sister of Ada Quill?".

    "Who is Ada Quill?" asks nothing of this kind.
    """
    asked = _ASKED_WHO_IS.match(question)
    owner = re.escape(name)
    return asked is not None and bool(re.match(rf"{owner}['\u2019]s |.* of {owner}\b", question[asked.end() :]))


def _asks_doer(question: str) -> bool:
    """Check whether a question asks who does something, as in "Who leads it?", but not in "Who did she marry?"."""
    return bool(_ASKED_WHO.match(question)) and not _HAS_AUXILIARY.search(question)


def _find_thing(turns: Turns, pronoun: str) -> str:
    """Find the name or phrase that a pronoun for a thing stands for.

    The newest turn comes first. The result is empty if there is no name or phrase.
    """
    for question, answer in _from_last(turns, pronoun):
        # The answer to a question with "which" or "what" is a thing.
        names_in_answer = _names_in_answer(answer) if _ASKED_WHICH.match(question) else []
        if names_in_answer:
            return names_in_answer[0]

        places = [place for place in _name_places(question) if not _is_label(question[place], question)]
        phrases = _phrases_outside_names(question)
        # A name before the last phrase counts more than the phrase, but not a name in it or behind it.
        if phrases and (not places or places[-1].start >= phrases[-1].begin):
            return _choose_in_phrase(question, phrases[-1], places, pronoun)
        if places:
            # In "Which rules apply in Sweden?", the rules are asked for, and the name is only where they apply.
            word_before = question[: places[-1].start].casefold().split()[-1:]
            is_place_of_answer = _BEGINS_WITH_WHICH.match(question) and not PREPOSITIONS.isdisjoint(word_before)
            return "" if is_place_of_answer else " ".join(question[places[-1]].split())
    return ""


def _phrases_outside_names(question: str) -> list[NounPhrase]:
    """List the noun phrases of a question that do not begin inside a name, such as "Museum of the City"."""
    places = list(_name_places(question))
    return [
        phrase
        for phrase in find_noun_phrases(question)
        if not any(place.start < phrase.begin < place.stop for place in places)
    ]


def _choose_in_phrase(question: str, phrase: NounPhrase, names: Sequence[slice], pronoun: str) -> str:
    """Choose what a pronoun for a thing stands for: a noun phrase or its end, such as "the Alma".

    The result is empty if the phrase does not tell.
    """
    if not phrase.is_clear:
        return ""
    whole = question[phrase.begin : phrase.end]
    if len(phrase.parts) == 1:
        return whole

    without_first = question[phrase.parts[1].begin : phrase.end]
    parts_with_name = [part for part in phrase.parts if any(part.begin <= place.start < part.end for place in names)]
    before = question[: phrase.begin]
    # In "Who is the captain of the Alma?", the first noun is a person, so it is not meant.
    if _ASKS_WHO_IS.search(before):
        return without_first
    if pronoun == "there" and parts_with_name:
        last_part = parts_with_name[-1]
        return question[last_part.begin : last_part.end]
    # In "What is the length of the Alma?", the first noun may be no thing, but in "of the oak table" it may be one.
    has_owner = phrase.parts[1].preposition in ("at", "of")
    if has_owner and phrase.parts[1] in parts_with_name and _ASKS_WHAT_OR_WHERE_IS.search(before):
        return without_first
    asks_what = _ASKS_WHAT_IS.search(before)
    if has_owner and asks_what:
        # The number may tell: in "What are the opening hours of the pool?", "it" is the pool.
        is_plural = asks_what[1].strip().casefold() in ("are", "were")
        has_other_number = pronoun in (_PLURAL if not is_plural else _SINGULAR)
        return without_first if has_other_number and len(phrase.parts) == 2 else ""
    return whole


def _is_label(name: str, text: str) -> bool:
    """Check whether a name is a single letter after a noun, as in "block C".

    Such a letter means nothing without the noun.
    """
    if len(name) != 1:
        return False
    word_before = re.search(rf"([a-z]+) {name}\b", text)
    return word_before is not None and word_before[1] not in GRAMMAR_WORDS


def _forms_of(pronoun: str) -> frozenset[str]:
    """Return all forms of a pronoun, such as "he", "him" and "his". Empty for a pronoun such as "there"."""
    return next((forms for forms in _FORMS_OF_PRONOUNS if pronoun.casefold() in forms), frozenset())


def _from_last(turns: Turns, pronoun: str) -> Iterator[tuple[str, str]]:
    """Yield the turns, newest first, without turns whose question contains the same pronoun in place of a name."""
    same_pronouns = _forms_of(pronoun)
    for question, answer in reversed(turns):
        words = re.findall(r"\w+", question.casefold())
        if same_pronouns.isdisjoint(words):
            yield question, answer


def _complete_fragment(fragment: str, turns: Turns) -> str | None:
    """Repeat the previous question with the thing from the fragment in place of another.

    For example, after "Who built the hall in Graz?", the fragment "in Vienna" gives "Who built the hall in Vienna?".
    The result is None if the rules cannot tell what is replaced.
    """
    last_question, _ = turns[-1]
    question = last_question
    # The previous question may have a pronoun: "And the phone number?" after "Who is the contact there?" A fragment
    # that could not be completed earlier is not tried again.
    if not _finds_fragment(last_question):
        question = _rewrite(last_question, turns[:-1]) or last_question
    year = _IN_A_YEAR.fullmatch(fragment)
    if year:
        return _ask_of_year(question, year[1])
    adverb = _ADVERB.fullmatch(fragment)
    if adverb:
        return _ask_otherwise(question, adverb[1])

    # In "the year before", no name is given.
    time = _TIME_WORD.search(fragment)
    if time and not re.search(rf"\b{time[1]}s?\b", question, re.I):
        return None
    # "The one in hall 2" and "that of Ferro" differ from the earlier thing by what follows "one" and "that".
    fragment = _SAME_NOUN.sub("", fragment)
    other_kind = _OTHER_KIND.fullmatch(fragment)
    if other_kind:
        return _ask_of_other_kind(question, other_kind[1])
    if _STANDS_FOR_NOUN.search(fragment):
        return None
    first_word, _, rest = fragment.partition(" ")
    if rest.strip() and first_word.casefold() in PREPOSITIONS:
        return _replace_after_preposition(question, first_word.casefold(), rest)
    return _replace_noun(question, fragment)


def _ask_otherwise(question: str, adverb: str) -> str | None:
    """Ask the previous question with "when", "where", "why" or "how".

    For example, after "Where was the Alma built?", "When?" gives "When was the Alma built?". The result is None if the
    verb of the question is only "is", or if the question asks who did something.
    """
    asked = _ASKED_ADVERB.match(question)
    if asked is None or asked[2].casefold() == adverb.casefold():
        return None
    words = re.findall(r"[\w-]+", question)
    has_main_verb = asked[3].casefold() in AUXILIARIES or any(PARTICIPLE.fullmatch(word) for word in words)
    if not has_main_verb:
        return None
    new_adverb = adverb.capitalize() if asked[2].istitle() else adverb.casefold()
    return question[: asked.start(2)] + new_adverb + question[asked.end(2) :]


def _ask_of_other_kind(question: str, kind: str) -> str | None:
    """Ask the previous question of another kind of the same thing.

    For example, after "How wide is the red door?", "the blue one" gives "How wide is the blue door?". The result is
    None unless a single noun of the question has words before it.
    """
    words = kind.split()
    nouns = []
    for part in _parts(question):
        article, *words_of_part = question[part.begin : part.end].split()
        if article.casefold() in ("the", "our", "my", "your") and len(words_of_part) > len(words):
            nouns.append((part, [article, *words, *words_of_part[len(words) :]]))
    if len(nouns) != 1:
        return None
    part, new_words = nouns[0]
    return _replace(question, part, " ".join(new_words))


def _replace_after_preposition(question: str, preposition: str, new_noun: str) -> str | None:
    """Replace what stands behind a preposition, such as "hall 1" in "the boiler in hall 1"."""
    names = list(_name_places(question))
    new_name = next(_names(f"{_DASH}{new_noun}"), None)
    if new_name and names:
        prepositions = _preposition_at_end(question[: names[-1].start].rstrip())
        # "Of the Petrel" replaces the name in "How long is the Merganser?", but "in Oslo" replaces no thing.
        if preposition in prepositions or (preposition in ("of", "for") and not prepositions):
            return _replace_name(question, new_name)

    same = [part for part in _parts(question) if part.preposition == preposition]
    if len(same) > 1:
        last_word = new_noun.split()[-1].casefold()
        same = [part for part in same if question[part.begin : part.end].casefold().endswith(last_word)]
    if len(same) == 1:
        # In "children under 12", the number belongs to the children, so it must not stay behind "adults".
        part_behind = next((part for part in _parts(question) if part.begin > same[0].begin), None)
        may_stay = part_behind is None or part_behind.preposition in _LOOSE_PREPOSITIONS
        return _replace(question, same[0], new_noun) if may_stay else None
    if same or new_name:
        return None
    return _replace_noun(question, new_noun) if preposition == "of" else None


def _preposition_at_end(text: str) -> frozenset[str]:
    """Return the preposition at the end of a text, also before an article. Empty if there is none."""
    words = _ARTICLE_AT_END.sub("", text).casefold().split()
    return frozenset(word for word in words[-1:] if word in PREPOSITIONS)


def _replace_noun(question: str, fragment: str) -> str | None:
    """Replace the name or noun of a question that a fragment without a preposition stands for."""
    new_phrase = next(iter(_phrases_outside_names(fragment)), None)
    phrases = _phrases_outside_names(question)
    # "The key of the blue room" replaces the whole of "the key of the green room".
    if new_phrase and len(new_phrase.parts) > 1:
        for phrase in phrases:
            has_same_form = [part.preposition for part in phrase.parts] == [
                part.preposition for part in new_phrase.parts
            ]
            if has_same_form and _is_in_one_piece(question, phrase):
                return question[: phrase.begin] + fragment + question[phrase.parts[-1].end :]
        # A part of the new phrase alone, such as "the boiler" of "the boiler in hall 2", may be another thing.
        if phrases and phrases[-1].is_clear and len(phrases[-1].parts) == 1:
            return _replace(question, phrases[-1].parts[0], fragment)
        return None

    new_name = next(_names(f"{_DASH}{fragment}"), None)
    if new_name and any(_name_places(f"{_DASH}{question}")):
        return _replace_name(question, new_name)
    if new_phrase:
        return _replace_phrase(question, phrases, fragment[new_phrase.begin : new_phrase.parts[0].end])
    return _replace_plural(question, fragment)


def _is_in_one_piece(question: str, phrase: NounPhrase) -> bool:
    """Check whether at most a preposition stands between the parts of a phrase.

    In "When was the boiler installed in hall 2?" a participle stands between "the boiler" and "in hall 2".
    """
    gaps = [question[left.end : right.begin].split() for left, right in pairwise(phrase.parts)]
    return all(len(gap) <= 1 for gap in gaps)


def _replace_name(question: str, new_name: str) -> str:
    """Replace the last name of a question."""
    text = f"{_DASH}{question}"
    places = list(_name_places(text))
    last_name = text[places[-1]]
    # The question may contain the last name more than once. Each of these is replaced, from the end to the beginning,
    # so that the places before stay right. Parts of other words or names stay as they are.
    for place in reversed(places):
        if text[place] == last_name:
            text = text[: place.start] + new_name + text[place.stop :]
    return text.removeprefix(_DASH)


def _replace_phrase(question: str, phrases: Sequence[NounPhrase], new_phrase: str) -> str | None:
    """Replace the noun of the last phrase, or the part with the same noun, such as "the green room"."""
    if not phrases or not phrases[-1].is_clear:
        return None
    last_word = new_phrase.split()[-1].casefold()
    parts = [part for phrase in phrases for part in phrase.parts]
    same_noun = [part for part in parts if question[part.begin : part.end].casefold().split()[-1] == last_word]
    part = same_noun[-1] if same_noun else phrases[-1].parts[0]
    _, *words = new_phrase.split()
    return _replace(question, part, " ".join(["the", *words]))


def _replace_plural(question: str, fragment: str) -> str | None:
    """Replace a plural without an article, such as "trainees" in "How long do trainees work?" by "interns"."""
    if not re.fullmatch(rf"(?:[a-z-]+ ){{0,2}}{_PLURAL_NOUN}", fragment):
        return None
    plurals = list(_BARE_PLURAL.finditer(question))
    if len(plurals) != 1:
        return None
    return question[: plurals[0].start(1)] + fragment + question[plurals[0].end(1) :]


def _parts(question: str) -> list[Part]:
    """List the parts of the noun phrases of a question, if it is clear where they end."""
    return [part for phrase in _phrases_outside_names(question) if phrase.is_clear for part in phrase.parts]


def _replace(question: str, part: Part, text: str) -> str:
    """Put a text in place of a part of a question."""
    return question[: part.begin] + text + question[part.end :]


def _ask_of_year(question: str, year: str) -> str | None:
    """Ask the previous question of another year.

    For example, "Who won in 1980?" becomes "Who won in 1990?", and so does "Who won?". The result is None if the
    question names several years, because either may be meant.
    """
    years = list(_NAMED_YEAR.finditer(question))
    if len(years) > 1:
        return None
    if years:
        begin, end = years[0].span(1)
        return question[:begin] + year + question[end:]
    without_mark = question.rstrip(" ?.!")
    return f"{without_mark} in {year}?"
