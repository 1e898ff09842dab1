"""Find out whether a sentence with the words of a question is about another thing, role, time or place.

Each rule checks one form. It compares prepositions, the order of subject and object, numbers or prefixes. The short
lists in this module (opposites, nouns of time and place, irregular verbs) are named in the reader's card.

:data:`ANOTHER` maps the name of each doubt to its rule. The examples below give first the question, then a sentence
that does not answer it. In "Ida painted the chapel", Ida is the doer, "painted" is the deed and the chapel is the
patient: that to which something is done.
"""

import re
from collections.abc import Callable, Iterator
from difflib import SequenceMatcher
from itertools import pairwise

from prefrag.components.reader.doubts.coded import is_other_code
from prefrag.components.reader.doubts.numbered import is_other_number
from prefrag.components.reader.doubts.statement import (
    ASKS_PERSON,
    CLAUSE_END,
    COMMON,
    DETERMINER,
    MOST_CHARACTERS,
    Statement,
    words_of,
)
from prefrag.components.reader.question_form import has_description, identifies_by_another, question_head
from prefrag.components.reader.span_features import stem, stems_of
from prefrag.components.state.evidence import find_whole
from prefrag.components.text.title_mentions import FUNCTION_WORDS

# A question for the subject of a verb, which is the group. It matches "Who called the vicar?". It does not match
# "Who was called?".
_ACTIVE = re.compile(
    r"^\W*who (?!(?:is|are|was|were|has|have|had|did|does|do|will|can|could|would)\b)([a-z]+)", re.IGNORECASE
)
# The same for a thing, with the words behind the verb as the second group: "What stands north of the tannery?" and
# "Which firm supplies Tarn Ltd?". It does not match "What parts of the engine are old?" and "What time is it?".
_ACTIVE_THING = re.compile(
    r"^\W*(?:[Ww]hat|[Ww]hich [a-z]+) (?!(?:is|was|has|does|this)\b)([a-z]+(?<!s)s|[a-z]+ed) (?!of\b)"
    rf"((?:[a-z]+ ){{0,2}}(?:{DETERMINER} [a-z]+|[A-Z]\w*))"
)
# What divides a sentence into parts with their own subjects.
_PART_OF_SENTENCE = re.compile(
    r"[,;:|()/\u2013\u2014]| - |\b(?:after|as|because|before|but|that|then|when|where|which|while|who|whose)\b"
)
# A name before a verb. It matches "Ann Low " and "Ann Low later ". It does not match "In ".
_ENDS_WITH_NAME = re.compile(r"\b(?!(?:At|By|In|On|The)\b)[A-Z][\w.'\u2019-]* (?:\w+ly |later |first |then )?$")
# Words between a deed and somebody who may have done it too. It matches " it with " and " it by ".
_SHARES_DEED = re.compile(r"&|\b(?:alongside|and|by|or|plus|through|with)\b")
# The doer of a passive deed, and another phrase. It matches " by Ann Low for ". It does not match " by the architect ".
_BY_NAME_AND_MORE = re.compile(
    r" by [A-Z](?:(?! and | by | or )[^,])* (?:after|at|for|from|in|of|under)\b(?!.*\b(?:and|by|or)\b)"
)
# A question for a property of something. Its group is the property, such as "code". It matches
# "What is the door code of the north gate?".
_PROPERTY = re.compile(r"^\W*what(?:'s| is| are| was| were) the (?:[^\W_]+ )*?([^\W_]+) (?:of|for|to)\b", re.IGNORECASE)
# A word that may stand directly before a phrase with a noun, as in "the fax number" or "of the harbour fee".
_OPENS_PHRASE = re.compile(rf"{DETERMINER}|of|in|on|at|for|with|from|by|most|all", re.IGNORECASE)
# The similarity of two words, from 0 to 1, from which they count as two spellings of one word.
_ALIKE = 0.8
# The punctuation at which a text is split into parts.
_PAUSE = re.compile(r"[.,;:!?()\"\u2013\u2014]+")
# A time that is compared. The group ``before`` or ``after`` is the preposition, and ``time`` is what follows. It
# matches "before the fire" and "since the fire".
_ORDER = re.compile(
    r"\b(?:(?P<before>before|prior to|on the eve of|ahead of|until|till|up to)|(?P<after>after|since|following|from))\b"
    r"(?P<time>(?: [^\W_]+){1,5})",
    re.IGNORECASE,
)
# A question about a deed of somebody with a name. Its groups are the name and the verb. It matches
# "When did Harold conquer the isle?".
_DID = re.compile(r"\bdid ((?:[A-Z][\w.]*)(?: [A-Z][\w.]*)*) ([a-z]+)")
# A question with a preposition at its end. Its groups are the doer and the preposition. "Ann looked at the goose" does
# not answer the example. It matches "Who did the goose look at?".
_ENDS_IN = re.compile(
    rf"\b[Ww](?:ho|hom|hat) did (?:{DETERMINER} )?(?P<doer>(?!{DETERMINER} )[^\W_]+)\b"
    r".* (?P<last>on|at|to|with|for|from)\W*$"
)
# A question for the doer of a deed in the past. Its groups are the verb and what follows. It matches
# "Who painted the chapel?" and "Who built the mill?".
_DEED = re.compile(
    rf"^\W*(?:who|what) ([a-z]+ed|won|wrote|led|built|made|took|sold|drew|bought) ((?:{DETERMINER} )?[^?]+)", re.I
)
# The preposition, conjunction or sign behind which another part of a sentence begins. It matches
# "a ceiling in the chapel".
_SLOT = re.compile(r"\s(?:of|in|on|at|for|with|from|by|to|as|and|or|into|over|after|before|during)\s|[,;:()]")
# A question in the passive. Its groups are the thing and the verb. It matches "What was Nora named?". It does not match
# "Was Nora named by Pete?".
_PASSIVE = re.compile(r"\b(?:is|are|was|were) (?:[^\W_]+ ){0,4}?([^\W_]+) ([a-z]+ed)\b(?! by\b)")
# A first and a last name.
_NAME = re.compile(r"\b([A-Z][a-z]+) ([A-Z][a-z]+)\b")
# The subject and the verb of a question with "do". It matches "What do the juniors pay?".
_SUBJECT_OF = re.compile(rf"\b(?:do|does|did) (?:{DETERMINER} )?([a-z]+) ([a-z]+)\b", re.IGNORECASE)
# The endings with which the verb of a question may stand in a sentence.
_ENDINGS = ("", "s", "es", "d", "ed")
# The prepositions whose noun is compared with that of the question.
_PREPOSITION = "on|in|at|for|from|to|by|with|into|towards"
# A word, a preposition behind it, and the noun that the preposition governs. It matches "the hours on Sundays" and
# "the bus from Norwick".
_PLACED = re.compile(rf"(?=\b([^\W_]+) ({_PREPOSITION}) (?:{DETERMINER} )?([^\W_]+)\b(?!['\u2019]))")
# A preposition for a direction or a doer, and the noun that it governs. It matches "to Tarn".
_WAYS = re.compile(rf"(?=\b(from|to|by) (?:{DETERMINER} )?([^\W_]+))")
# A question for a person, a time, a place or a number. It matches "Who runs it?" and "With whom". It does not match
# "Which press is it?".
_ASKS_NO_THING = re.compile(r"^\W*(?:\w+ )?(?:who|whom|whose|when|where|how (?:many|much|long|old))\b(?!.* or )", re.I)
# The thing that a question describes, at the end of the question's head. Its group is the noun. It matches
# "founded the small press". It does not match "is the king", because the king is asked for.
_DESCRIBED = re.compile(r"^(?!(?:is|are|was|were)\b).*\b(?:the|an?) (?:[^\W_]+ )*?([a-z]+)$")
# A question for the time or the place of something, which is its group. It matches "When did the new press arrive?".
_ASKS_PLACE = re.compile(
    rf"^\W*(?:and )?(?:when|where) (?:is|are|was|were|did|does|do) (?:{DETERMINER} )?([^?]+)", re.I
)
# Nouns that answer such a question. "The start of the concert is at 8 pm" answers "When is the concert?".
_ANSWERS_PLACE = frozenset(
    ["date", "day", "time", "year", "month", "hour", "place", "site", "address", "location", "start", "beginning"]
)
# A subject that belongs to another thing. Its groups are the noun and the thing. It matches
# "The toner for the new printer arrived" and "Entries for the race close".
_SUBJECT_WITH_THING = re.compile(
    rf"(?:{DETERMINER} )?(?P<before>(?:[^\W_]+ ){{0,2}}?)(?P<noun>[^\W_]+) (?:of|for|on|to|in) "
    rf"(?:{DETERMINER} )?(?P<thing>[^,;.]*)",
    re.IGNORECASE,
)
# The unit of a rate behind the answer. It matches " a month" and " per day".
_RATE = re.compile(r"\s+(?:a|an|per|each|every) ([a-z]+)")
# A question for a rate, whose unit is the group, or for a total. It matches "What is the rent a year?" and
# "What is it in total?".
_ASKS_RATE = re.compile(r"\b(?:a|an|per|each|every) ([a-z]+)\W*$|\b(?:in all|in total|total|altogether|whole)\b", re.I)
# Words before a number that is only the total, as in "of the 40, ten came". It matches "Out of the ".
_OUT_OF = re.compile(rf"(?:^|[,;] )(?:out )?of (?:{DETERMINER} )?$", re.IGNORECASE)
# Prefixes that deny a word.
_PREFIXES = ("un", "mis", "dis", "non", "in", "im", "ir", "il")
# A word with such a prefix and a hyphen. It matches "non-arab".
_WITH_PREFIX = re.compile(rf"\b({'|'.join(_PREFIXES)})-([^\W\d_]+)\b")
# Pairs of opposite sides, separated by slashes.
_SIDES = "north/south east/west northern/southern eastern/western left/right upper/lower inner/outer front/rear"
# Pairs of opposite times and ages, separated by slashes.
_TIMES = "morning/evening morning/afternoon morning/night day/night winter/summer spring/autumn old/new"
# Each pair as a set of two words.
_OPPOSITES = tuple(frozenset(pair.split("/")) for pair in f"{_SIDES} {_TIMES}".split())


def _is_other_role(statement: Statement) -> bool:
    """Check whether somebody is the object of a verb, while the question asks for its subject, or the other way round.

    Examples:
    - "Who called the vicar?": "The vicar called Tim Nye."
    - "When did Harold conquer the isle?": "In 1066 William conquered the isle and killed Harold."
    - "What was Nora named?": "Nora named Pete Clerk of the isle."
    - "What stands behind the barn?": "The barn stands behind the mill."
    """
    return (
        _is_doer_of_passive(statement)
        or _is_done_by_another(statement)
        or _is_behind_preposition(statement)
        or _is_object_of_deed(statement)
        or _is_behind_doer(statement)
        or _is_object_of_thing(statement)
    )


def _is_doer_of_passive(statement: Statement) -> bool:
    """Check whether the thing of a passive question does the deed itself.

    In "Nora named Pete" for "What was Nora named?" an object follows the verb, so Nora is the one who named somebody.
    """
    for patient, deed in _PASSIVE.findall(statement.question):
        active = rf"\b{patient} (?:\w+ly )?{deed} (?:{DETERMINER}\b|[A-Z])"
        if re.search(active, statement.sentence):
            return True
    return False


def _is_done_by_another(statement: Statement) -> bool:
    """Check whether somebody else does the deed of a name, and the name stands only behind the deed.

    An example is "William conquered the isle and killed Harold" for "When did Harold conquer the isle?".
    """
    for doer, deed in _DID.findall(statement.question):
        done = re.search(rf"\b[A-Z]\w+ (?:\w+ly )?{deed}(?:e?d|s)\b(?! by\b)", statement.sentence)
        places = [match.start() for match in re.finditer(rf"\b{re.escape(doer)}\b", statement.sentence)]
        if done and places and min(places) > done.end() - len(deed):
            return True
    return False


def _is_behind_preposition(statement: Statement) -> bool:
    """Check whether the doer of a question stands behind the preposition of the question.

    An example is "Ann looked at the goose" for "Who did the goose look at?".
    """
    asked = _ENDS_IN.search(statement.question)
    if asked is None:
        return False
    governed = rf"\b{asked['last']} (?:{DETERMINER} )?{re.escape(asked['doer'])}\b"
    return re.search(governed, statement.sentence) is not None


def _is_object_of_deed(statement: Statement) -> bool:
    """Check whether the answer to a question such as "Who called?" is the object of the verb.

    "The vicar called Tim Nye" does not say that Tim Nye called anybody.
    """
    asked = _ACTIVE.search(statement.question)
    last_part = re.split(r"[,;:|]", statement.before)[-1]
    before = words_of(last_part)
    if asked is None or not before:
        return False
    last_word = before[-1]
    if "by" in before or last_word.endswith(("er", "or", "ing")):
        return False

    verb = stem(asked[1].lower())
    is_passive = re.search(r"\b(?:is|are|was|were) \w+ed to $", statement.before) is not None
    if is_passive and verb not in stems_of(statement.sentence):
        return True

    if last_word == "to":
        return verb in map(stem, before)
    return stem(last_word) == verb


def _is_object_of_thing(statement: Statement) -> bool:
    """Check whether the thing that stands behind the verb of a question stands before it, and the answer behind it.

    "The barn stands behind the mill" does not say that the mill stands behind the barn.
    """
    asked = _ACTIVE_THING.search(statement.question)
    if asked is None:
        return False
    words = _without_articles(f"{asked[1]} {asked[2]}")
    # In "What makes The Hague famous?" only the verb is left.
    if len(words) < 2:
        return False
    verb, *behind_verb, thing = words
    before = _without_articles(_PART_OF_SENTENCE.split(statement.before)[-1])
    deed = [verb, *behind_verb]
    return before[-len(deed) :] == deed and thing in before[: -len(deed)]


def _without_articles(text: str) -> list[str]:
    """List the stems of the words of a text, without articles and other determiners."""
    return [stem(word) for word in words_of(text) if not re.fullmatch(DETERMINER, word)]


def _is_behind_doer(statement: Statement) -> bool:
    """Check whether the deed that is asked for has a doer with another name, behind which the answer stands.

    Examples for "Who designed the buoy?" are "Ann Low designed it at the wish of Bo Lind" and "It was designed by Ann
    Low for Bo Lind" with the answer "Bo Lind".
    """
    asked = _ACTIVE.search(statement.question)
    if asked is None:
        return False

    clause = _PART_OF_SENTENCE.split(statement.before)[-1]
    for verb in re.finditer(r"\b[A-Za-z]+\b", clause):
        if stem(verb[0].lower()) != stem(asked[1].lower()):
            continue
        behind = clause[verb.end() :]
        is_named_before = _ENDS_WITH_NAME.search(clause[: verb.start()]) is not None
        is_active = is_named_before and behind.strip() and not _SHARES_DEED.search(behind)
        if is_active or _BY_NAME_AND_MORE.match(behind):
            return True
    return False


def _is_described_thing(statement: Statement) -> bool:
    """Check whether the answer names the thing that the question only describes.

    An example is "Longshore Press" for "Who founded the press that printed the memoirs?".
    """
    question = statement.question[:MOST_CHARACTERS]
    if not _ASKS_NO_THING.match(question) or not has_description(question):
        return False
    head = question_head(question)
    described = _DESCRIBED.search(head)
    words = words_of(statement.answer)
    if described is None or not words or stem(words[-1]) != stem(described[1]):
        return False

    # A place or a time may have the noun in its name, as "in the big box" has. And "Royal Bank bought it" does say who
    # bought the bank.
    is_named = any(map(str.isupper, statement.answer)) or ASKS_PERSON.search(question) or "whom" in question.lower()
    asked_stems = {stem(word) for word in words_of(head) if word not in COMMON} - {stem(described[1])}
    return bool(is_named) and asked_stems.isdisjoint(stems_of(statement.sentence))


def _is_other_property(statement: Statement) -> bool:
    """Check whether the property that is asked for stands in another sentence of the passage, but not in this sentence.

    An example is "What is the code of the north gate?": "The north gate is called Fenway. The code is kept by the
    porter."
    """
    asked = _PROPERTY.search(statement.question)
    if asked is None:
        return False
    asked_property = asked[1]
    told = {"name", *stems_of(f"{statement.named} {statement.sentence}")}
    if stem(asked_property.lower()) in told:
        return False
    return re.search(rf"^(?:The|Its) (?:[^\W_]+ )?{asked_property}\b", statement.others, re.MULTILINE) is not None


def _phrases(question: str) -> Iterator[tuple[str, str]]:
    """Find the pairs of neighbouring words in the phrases of a question: a word for a kind, and the noun behind it.

    For example, ``_phrases("What is the fax number of the old mill?")`` yields
    ``[("fax", "number"), ("old", "mill")]``.
    """
    is_in_phrase, previous = False, ""
    for word in words_of(question):
        if word in COMMON:
            is_in_phrase, previous = _OPENS_PHRASE.fullmatch(word) is not None, ""
            continue
        # "Anna's report" says whose report it is, not of which kind. The words "mostly form" are no phrase.
        tells_kind = previous.isalnum() and not previous.endswith("ly")
        if is_in_phrase and tells_kind and not word.endswith(("ed", "ing")):
            yield previous, word
        previous = word


def _is_of_another_kind(kind: str, noun: str, text: str) -> bool:
    """Check whether a text has another kind of a noun than the question, and never the kind of the question.

    The kind of the question must not stand in the text, or must describe only other nouns there. An example is
    "martial spirit and Christian piety".

    For example, ``_is_of_another_kind("telephone", "number", "The fax number is 12.")`` returns ``True``.

    :param kind: The word of the question for the kind, such as "telephone".
    :param noun: The noun of the question, such as "number".
    :param text: The title and the sentence.
    :returns: Whether the text has the noun only with other kinds.
    """
    kind_stem, noun_stem = stem(kind), stem(noun)
    parts = [words_of(part) for part in _PAUSE.split(text)]
    if any(_has_kind_before(noun_stem, kind_stem, words) for words in parts):
        return False

    other_kinds = {word for words in parts for word in _words_before(noun_stem, words)}
    # Behind a common word, as in "the number", the text does not say which kind it means.
    has_plain_noun = not other_kinds.isdisjoint(COMMON)
    if not other_kinds or has_plain_noun:
        return False
    if any(_may_be_same_kind(kind, other) for other in other_kinds):
        return False
    return all(_describes_nouns(kind_stem, words) for words in parts)


def _may_be_same_kind(kind: str, other: str) -> bool:
    """Check whether the word before a noun may mean the kind that the question names, or may be no kind at all.

    Examples for "may mean the same" are "phone" for "telephone", "Kievian" for "Kievan" and "tenth" for "10th". A word
    that ends in "ly", such as "eventually", is no kind.

    :param kind: The word of the question for the kind.
    :param other: The word that stands before the noun in the text.
    :returns: Whether the two words are not surely two kinds.
    """
    kind_stem = stem(kind)
    is_contained = kind_stem in other or other in kind_stem
    # "The tenth series" may be the 10th series.
    is_number_only_once = kind[0].isdigit() != other[0].isdigit()
    return is_contained or is_number_only_once or other.endswith("ly") or _is_spelt_alike(kind, other)


def _has_kind_before(noun_stem: str, kind_stem: str, words: list[str]) -> bool:
    """Check whether a kind is one of the three words before a noun."""
    stems = [stem(word) for word in words]
    places = [place for place, word_stem in enumerate(stems) if word_stem == noun_stem]
    return any(kind_stem in stems[max(0, place - 3) : place] for place in places)


def _words_before(noun_stem: str, words: list[str]) -> list[str]:
    """List the words that stand directly before a noun."""
    return [word for word, next_word in pairwise(words) if stem(next_word) == noun_stem]


def _describes_nouns(kind_stem: str, words: list[str]) -> bool:
    """Check whether a kind describes a noun wherever it stands in a part of a sentence.

    At the end of the part, before a function word or behind "of", it describes no noun.
    """
    for place, word in enumerate(words):
        if stem(word) != kind_stem:
            continue
        is_last = place == len(words) - 1
        is_behind_of = "of" in words[max(0, place - 2) : place]
        if is_last or is_behind_of or words[place + 1] in FUNCTION_WORDS:
            return False
    return True


def _is_spelt_alike(word: str, other: str) -> bool:
    """Check whether two words differ only in a few letters, as "Kievian" and "Kievan" do."""
    return SequenceMatcher(None, word, other).ratio() >= _ALIKE


def _is_other_time(statement: Statement) -> bool:
    """Check whether the sentence and the question tell of opposite times: before something and after it.

    An example is "How many boats came after the fire?": "Before the fire, twenty boats came."
    """
    for time_in_question in _ORDER.finditer(statement.question):
        words = stems_of(time_in_question["time"]) & statement.asked
        asks_before = time_in_question["before"] is not None
        for time_in_sentence in _ORDER.finditer(statement.sentence):
            tells_before = time_in_sentence["before"] is not None
            shared = words & stems_of(time_in_sentence["time"])
            # Both are about the same event, such as the fire.
            shares_most = 2 * len(shared) > len(words)
            if asks_before != tells_before and shares_most:
                return True
    return False


def _is_other_object(statement: Statement) -> bool:
    """Check whether the deed that is asked for was done to something else.

    An example is "Who painted the chapel?": "Ida Roe painted a ceiling in the chapel."
    """
    asked = _DEED.search(statement.question)
    if asked is None:
        return False

    verb, behind_verb = asked.groups()
    patient = stems_of(_SLOT.split(behind_verb)[0]) & statement.asked
    if not patient & stems_of(statement.sentence):
        return False

    deeds = list(re.finditer(rf"\b{verb}\b(?P<by> by\b)?", statement.sentence))
    return bool(deeds) and all(_is_done_to_another(statement.sentence, deed, patient) for deed in deeds)


def _is_done_to_another(sentence: str, deed: re.Match[str], patient: frozenset[str]) -> bool:
    """Check whether the object of a verb has no word of the thing that is asked for.

    If "by" follows the verb, as in "painted by Ida", the subject before the verb is compared instead.

    :param sentence: The sentence.
    :param deed: The match of the verb in the sentence.
    :param patient: The stems of the words of the thing that is asked for.
    :returns: Whether the deed was done to something else.
    """
    if deed["by"]:
        thing = _PAUSE.split(sentence[: deed.start()])[-1]
        # "Drawn by Ida and written by Max" tells of one thing.
        if " by " in thing:
            return False
    else:
        thing = _SLOT.split(sentence[deed.end() :])[0]
    object_stems = {stem(word) for word in words_of(thing) if word not in COMMON}
    return bool(object_stems) and object_stems.isdisjoint(patient)


def _is_other_subject(statement: Statement) -> bool:
    """Check whether somebody else does what the question asks of a group.

    An example is "When do the juniors train?": "On Tuesday the seniors train."
    """
    for name, deed in _SUBJECT_OF.findall(statement.question):
        subject, verb = stem(name.lower()), deed.lower()
        # Somebody with a name may be called something else: "the river turns north" in a text on the Rhine.
        is_named = name[0].isupper() and subject in stems_of(f"{statement.named} {statement.others}")
        is_common = name.lower() in COMMON or verb in COMMON
        if is_named or is_common or verb.endswith("s"):
            continue
        # If the sentence lacks further words of the question, it says what is asked in other words, perhaps also who.
        lacks_only_subject = statement.lacking <= {subject}
        if not lacks_only_subject:
            continue

        is_away = subject not in stems_of(f"{statement.named} {statement.sentence}")
        for part in _PAUSE.split(statement.sentence):
            is_done_by_another = _has_doer_before(verb, part) and subject not in stems_of(part)
            if is_done_by_another and (is_away or statement.answer in part):
                return True
    return False


def _has_doer_before(verb: str, part: str) -> bool:
    """Check whether a part of a sentence has a verb, and a word before it that may be who does it.

    For example, ``_has_doer_before("train", "on Tuesday the seniors train")`` returns ``True``.
    """
    forms = {f"{verb}{ending}" for ending in _ENDINGS}
    words = words_of(part)
    # Without the verb, no word counts as standing before it.
    place_of_verb = next((place for place, word in enumerate(words) if word in forms), 0)
    return any(word not in COMMON for word in words[:place_of_verb])


def _is_elsewhere(statement: Statement) -> bool:
    """Check whether a preposition governs something else than in the question.

    Examples:
    - "What are the hours on Sundays?": "The hours on weekdays are 9 to 12."
    - "When does the bus from Tarn leave?": "The bus to Tarn leaves at 8.10."
    """
    return _governs_another(statement) or _is_turned_round(statement)


def _governs_another(statement: Statement) -> bool:
    """Check whether a noun of the question has another thing behind its preposition, as "hours on weekdays" has."""
    stems_of_text = stems_of(f"{statement.named}. {statement.sentence}")
    for noun, preposition, thing in _PLACED.findall(statement.question):
        thing_stem = stem(thing.lower())
        # If the sentence lacks further words of the question, it may say all of it in other words.
        lacks_only_thing = thing_stem not in stems_of_text and statement.lacking <= {thing_stem}
        if not lacks_only_thing:
            continue
        # "Shaped by thousands of years" may be said as "shaped by millennia", so verbs are left out.
        is_common = noun.lower() in COMMON or thing.lower() in COMMON
        if is_common or noun.endswith("ed"):
            continue
        other_things = _things_behind(noun, preposition, statement.sentence)

        # Behind "to", only a word with a capital is compared, because "to open" is a verb.
        is_name = thing[0].isupper()
        if preposition == "to" and not is_name:
            continue

        # A name may be replaced by a description, as in "the capital of the country". But a day is never another day.
        is_day = re.search(r"days?$", thing) is not None
        if any(is_day or other[0].isupper() == is_name for other in other_things):
            return True
    return False


def _things_behind(noun: str, preposition: str, sentence: str) -> list[str]:
    """List what a preposition behind a noun governs in a sentence.

    For example, ``_things_behind("hours", "on", "The hours on weekdays are long.")`` returns ``["weekdays"]``.
    """
    wanted = (stem(noun.lower()), preposition)
    return [
        thing
        for other, way, thing in _PLACED.findall(sentence)
        if (stem(other.lower()), way) == wanted and thing.lower() not in COMMON
    ]


def _is_turned_round(statement: Statement) -> bool:
    """Check whether a thing stands behind another of "from", "to" and "by" than in the question."""
    told = [(way, stem(thing.lower())) for way, thing in _WAYS.findall(statement.sentence)]
    asked = _WAYS.findall(statement.question)
    for way, thing in asked:
        asked_ways = {other_way for other_way, other in asked if other == thing}
        if len(asked_ways) > 1:
            continue

        thing_stem = stem(thing.lower())
        told_ways = {told_way for told_way, other in told if other == thing_stem}
        is_told = thing.lower() not in COMMON and thing_stem in stems_of(statement.sentence)
        if not is_told or thing.endswith("ing") or way in told_ways:
            continue

        # Behind the other preposition there is the answer. So "to open" does not count.
        stems_of_answer = stems_of(statement.answer) - {thing_stem}
        ways_of_answer = {told_way for told_way, other in told if other in stems_of_answer}
        opposite_ways = {"from", "to"} - {way}
        if way in ways_of_answer or told_ways & opposite_ways:
            return True
    return False


def _is_part(statement: Statement) -> bool:
    """Check whether the sentence is about a part or an attribute of the thing that is asked for, or gives another rate.

    Examples:
    - "When did the new press arrive?": "The ink for the new press arrived on Monday."
    - "What is the rent of the loft a year?": "The rent of the loft is 65 pounds a month."
    """
    asked = _ASKS_RATE.search(statement.question)
    rate = _RATE.match(statement.after) or _RATE.search(statement.answer)
    if asked and rate and asked[1] != rate[1]:
        return True

    asks_number = statement.question.lower().startswith("how many")
    if asks_number and _OUT_OF.search(statement.before):
        return True
    return _is_of_attribute(statement)


def _is_of_attribute(statement: Statement) -> bool:
    """Check whether the time or the place is that of a part or an attribute of the thing that is asked for."""
    asked = _ASKS_PLACE.search(statement.question)
    if asked is None or len(statement.lacking) > 1:
        return False

    words = [word for word in words_of(asked[1]) if word not in COMMON]
    subject = _SUBJECT_WITH_THING.match(CLAUSE_END.split(statement.sentence)[0])
    if not words or subject is None:
        return False

    noun = subject["noun"].lower()
    if noun in COMMON | _ANSWERS_PLACE or statement.asks(f"{subject['before']} {subject['noun']}"):
        return False

    # "The signing of the treaty took place in 1648" answers "When was the treaty signed?".
    base = noun.removesuffix("ing")
    is_gerund = base != noun and len(base) > 2
    asked_thing, *further_words = words
    is_asked_deed = is_gerund and any(word.startswith(base) for word in further_words)
    # "The ink for the new press": the thing that is asked for is the first or second word behind the preposition.
    first_words_of_thing = words_of(subject["thing"])[:2]
    is_on_asked_thing = stem(asked_thing) in map(stem, first_words_of_thing)
    return is_on_asked_thing and not is_asked_deed and not statement.asks(noun)


def _is_turned(statement: Statement) -> bool:
    """Check whether a word of the question has a prefix in the sentence that denies the word, or lacks such a prefix.

    Examples:
    - "How many cases were reported?": "There were forty unreported cases."
    - "When was the heyday of non-Arab art?": "The heyday of Arab art was 1945."
    """
    # A prefix with a hyphen in only one of the two texts: "non-Arab" for "Arab", or the other way round.
    if _lacks_prefix_of(statement.question, statement.sentence):
        return True
    if _lacks_prefix_of(statement.sentence, statement.question):
        return True

    words_of_question, words_of_sentence = set(words_of(statement.question)), set(words_of(statement.sentence))
    # Short words are left out, because "in" before them mostly is no prefix: "side" and "inside".
    only_asked = {word for word in words_of_question - words_of_sentence if len(word) > 4}
    only_told = {word for word in words_of_sentence - words_of_question if len(word) > 4}

    for prefix in _PREFIXES:
        if any(f"{prefix}{word}" in only_told for word in only_asked):
            return True
        if any(f"{prefix}{word}" in only_asked for word in only_told):
            return True
    return False


def _lacks_prefix_of(text: str, other: str) -> bool:
    """Check whether another text has a word of a text without its prefix and hyphen, as "Arab" for "non-Arab".

    For example, ``_lacks_prefix_of("non-Arab art", "Arab art")`` returns ``True``.
    """
    only_in_text = set(_WITH_PREFIX.findall(text.lower())) - set(_WITH_PREFIX.findall(other.lower()))
    return any(re.search(rf"(?<![\w-]){re.escape(word)}\b", other, re.IGNORECASE) for _, word in only_in_text)


def _is_other_thing(statement: Statement) -> bool:
    """Check whether the sentence has another number, first name or kind than the question, or the opposite of a word.

    Examples:
    - "How many seats has boat number 7?": "Boat number 4 has 13 seats."
    - "How old is Hanna Voss?": "Martha Voss is 41."
    - "What is the telephone number of the mill?": "The fax number of the mill is 960221."
    - "What is in the north shed?": "In the south shed there is the sails."
    """
    return (
        is_other_number(statement)
        or is_other_code(statement)
        or _has_other_first_name(statement)
        or _has_other_kind(statement)
        or _has_opposite(statement)
    )


def _has_other_first_name(statement: Statement) -> bool:
    """Check whether the sentence or title has a last name of the question only with other first names."""
    # A question such as "When did Henry Grey's father die?" is answered by a text about George Grey, so its names are
    # left out.
    if identifies_by_another(statement.question):
        return False
    titled_sentence = f"{statement.named}. {statement.sentence}"
    told_names = [
        (first, last) for first, last in _NAME.findall(titled_sentence) if first.lower() not in FUNCTION_WORDS
    ]

    for asked_first, asked_last in _NAME.findall(statement.question):
        first_names = [first for first, last in told_names if last == asked_last]
        are_others = bool(first_names) and not any(first in statement.question for first in first_names)
        if are_others and not find_whole(asked_first, titled_sentence):
            return True
    return False


def _has_other_kind(statement: Statement) -> bool:
    """Check whether the sentence has a noun of the question with another kind, as "fax number" for "phone number".

    The title gives the kind of everything below it, so a kind in the title is left out. The sentence may lack nothing
    but the kind. If it lacks other words too, it uses other words for what is asked, perhaps also for the kind. An
    example is "the largest airplane" for "the biggest airplane in the world".
    """
    titled_sentence = f"{statement.named}. {statement.sentence}"
    for kind, noun in _phrases(statement.question):
        is_in_title = stem(kind) in stems_of(statement.named)
        if is_in_title or not statement.lacking <= {stem(kind)}:
            continue
        if _is_of_another_kind(kind, noun, titled_sentence):
            return True
    return False


def _has_opposite(statement: Statement) -> bool:
    """Check whether one of two opposites stands in the question, and only the other one in the sentence or title."""
    words_of_question = set(words_of(statement.question))
    words_of_text = set(words_of(f"{statement.named}. {statement.sentence}"))
    for pair in _OPPOSITES:
        asked, told = pair & words_of_question, pair & words_of_text
        if len(asked) == 1 and told and told.isdisjoint(asked):
            return True
    return False


# The rule for each doubt, in the order in which the rules are tried.
ANOTHER: dict[str, Callable[[Statement], bool]] = {
    "role": _is_other_role,
    "described thing": _is_described_thing,
    "property": _is_other_property,
    "other subject": _is_other_subject,
    "other thing": _is_other_thing,
    "other time": _is_other_time,
    "other object": _is_other_object,
    "turned": _is_turned,
    "elsewhere": _is_elsewhere,
    "part": _is_part,
}
