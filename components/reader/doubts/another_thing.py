"""Tell by its form that a sentence is about another thing, role, time or place than the question, despite its words.

Grammar decides: prepositions, the place of subject and object, numbers, prefixes. The short lists here (opposites,
nouns of time and place, irregular verbs) are named in the reader's card.
"""

import re
from collections.abc import Callable, Iterator
from difflib import SequenceMatcher

from prefrag.components.reader.doubts.statement import CLAUSE_END, COMMON, DETERMINER, Statement, words_of
from prefrag.components.reader.question_form import identifies_by_another
from prefrag.components.reader.span_features import stem, stems_of
from prefrag.components.state.evidence import find_whole
from prefrag.components.text.title_mentions import FUNCTION_WORDS

_ACTIVE = re.compile(
    r"^\W*who (?!(?:is|are|was|were|has|have|had|did|does|do|will|can|could|would)\b)([a-z]+)", re.IGNORECASE
)
_PROPERTY = re.compile(r"^\W*what(?:'s| is| are| was| were) the (?:[^\W_]+ )*?([^\W_]+) (?:of|for|to)\b", re.IGNORECASE)
# The words before a phrase with a noun, as in "the fax number" or "of the harbour fee".
_OPENS_PHRASE = re.compile(rf"{DETERMINER}|of|in|on|at|for|with|from|by|most|all", re.IGNORECASE)
# The share of letters from which on a word is another spelling of a second one.
_ALIKE = 0.8
_PAUSE = re.compile(r"[.,;:!?()\"\u2013\u2014]+")
_ORDER = re.compile(
    r"\b(?:(?P<before>before|prior to|until|till|up to)|(?P<after>after|since|following|from))\b"
    r"(?P<time>(?: [^\W_]+){1,5})",
    re.IGNORECASE,
)
_DID = re.compile(r"\bdid ((?:[A-Z][\w.]*)(?: [A-Z][\w.]*)*) ([a-z]+)")
# "Who did the goose look at?" is not answered by "Ann looked at the goose".
_ENDS_IN = re.compile(
    rf"\b[Ww](?:ho|hom|hat) did (?:{DETERMINER} )?(?P<doer>(?!{DETERMINER} )[^\W_]+)\b"
    r".* (?P<last>on|at|to|with|for|from)\W*$"
)
_DEED = re.compile(
    rf"^\W*(?:who|what) ([a-z]+ed|won|wrote|led|built|made|took|sold|drew|bought) ((?:{DETERMINER} )?[^?]+)", re.I
)
_SLOT = re.compile(r"\s(?:of|in|on|at|for|with|from|by|to|as|and|or|into|over|after|before|during)\s|[,;:()]")
_PASSIVE = re.compile(r"\b(?:is|are|was|were) (?:[^\W_]+ ){0,4}?([^\W_]+) ([a-z]+ed)\b(?! by\b)")
_NAME = re.compile(r"\b([A-Z][a-z]+) ([A-Z][a-z]+)\b")
# The subject and the verb of a question such as "what do the juniors pay?".
_SUBJECT_OF = re.compile(rf"\b(?:do|does|did) (?:{DETERMINER} )?([a-z]+) ([a-z]+)\b", re.IGNORECASE)
_ENDINGS = ("", "s", "es", "d", "ed")
# "the hours on Sundays", "the bus from Norwick": a word, the preposition, and what it governs.
_PREPOSITION = "on|in|at|for|from|to|by|with|into|towards"
_PLACED = re.compile(rf"(?=\b([^\W_]+) ({_PREPOSITION}) (?:{DETERMINER} )?([^\W_]+)\b(?!['\u2019]))")
_WAYS = re.compile(rf"(?=\b(from|to|by) (?:{DETERMINER} )?([^\W_]+))")
_ASKS_PLACE = re.compile(
    rf"^\W*(?:and )?(?:when|where) (?:is|are|was|were|did|does|do) (?:{DETERMINER} )?([^?]+)", re.I
)
_ANSWERS_PLACE = frozenset(
    ["date", "day", "time", "year", "month", "hour", "place", "site", "address", "location", "start", "beginning"]
)
# "The toner for the new printer arrived", "entries for the race close".
_SUBJECT_WITH_THING = re.compile(
    rf"(?:{DETERMINER} )?(?P<before>(?:[^\W_]+ ){{0,2}}?)(?P<noun>[^\W_]+) (?:of|for|on|to|in) "
    rf"(?:{DETERMINER} )?(?P<thing>[^,;.]*)",
    re.IGNORECASE,
)
_RATE = re.compile(r"\s+(?:a|an|per|each|every) ([a-z]+)")
_ASKS_RATE = re.compile(r"\b(?:a|an|per|each|every) ([a-z]+)\W*$|\b(?:in all|in total|total|altogether|whole)\b", re.I)
_OUT_OF = re.compile(rf"(?:^|[,;] )(?:out )?of (?:{DETERMINER} )?$", re.IGNORECASE)
_PREFIXES = ("un", "mis", "dis", "non", "in", "im", "ir", "il")
_WITH_PREFIX = re.compile(rf"\b({'|'.join(_PREFIXES)})-([^\W\d_]+)\b")
_SIDES = "north/south east/west northern/southern eastern/western left/right upper/lower inner/outer front/rear"
_TIMES = "morning/evening morning/afternoon morning/night day/night winter/summer spring/autumn old/new"
_OPPOSITES = tuple(frozenset(pair.split("/")) for pair in f"{_SIDES} {_TIMES}".split())
_NUMBERED = re.compile(
    r"\b([^\W\d_]{3,}) (?:(?:number|no\.?|nr\.?) )?(\d+(?:(?:, | and | or | to | & | ?[-\u2013] ?)\d+)*)\b",
    re.IGNORECASE,
)
_RANGE = re.compile(r"(\d{1,6})(?: to | ?[-\u2013] ?)(\d{1,6})\b")


def _is_other_role(statement: Statement) -> bool:
    """Check whether somebody is the object of what the question asks the subject of, as in "the doctor called Ola"."""
    for patient, deed in _PASSIVE.findall(statement.question):
        # "In 1973, Nixon named William" for "what was Nixon named?": an object follows, so he is the one who named.
        active = rf"\b{patient} (?:\w+ly )?{deed} (?:{DETERMINER}\b|[A-Z])"
        if re.search(active, statement.sentence):
            return True
    for doer, deed in _DID.findall(statement.question):
        # "William conquered England, killing Harold" for "when did Harold conquer England?"
        done = re.search(rf"\b[A-Z]\w+ (?:\w+ly )?{deed}(?:e?d|s)\b(?! by\b)", statement.sentence)
        places = [match.start() for match in re.finditer(rf"\b{re.escape(doer)}\b", statement.sentence)]
        if done and places and min(places) > done.end() - len(deed):
            return True
    turned = _ENDS_IN.search(statement.question)
    if turned and re.search(rf"\b{turned['last']} (?:{DETERMINER} )?{re.escape(turned['doer'])}\b", statement.sentence):
        return True
    return _is_object_of_deed(statement)


def _is_object_of_deed(statement: Statement) -> bool:
    """Check whether the answer to "who called?" stands behind the verb, as its object: "the doctor called Ola"."""
    match = _ACTIVE.search(statement.question)
    before = words_of(re.split(r"[,;:|]", statement.before)[-1])
    if match is None or not before:
        return False
    last = before[-1]
    if "by" in before or last.endswith(("er", "or", "ing")):
        return False
    verb = stem(match[1].lower())
    is_passive = re.search(r"\b(?:is|are|was|were) \w+ed to $", statement.before) is not None
    if is_passive and verb not in stems_of(statement.sentence):
        return True
    if last == "to":
        return verb in map(stem, before)
    return stem(last) == verb


def _is_other_property(statement: Statement) -> bool:
    """Check whether the property that is asked for stands in another sentence of the passage, but not in this one."""
    match = _PROPERTY.search(statement.question)
    if match is None or stem(match[1].lower()) in {"name", *stems_of(f"{statement.named} {statement.sentence}")}:
        return False
    return re.search(rf"^(?:The|Its) (?:[^\W_]+ )?{match[1]}\b", statement.others, re.MULTILINE) is not None


def _phrases(question: str) -> Iterator[tuple[str, str]]:
    """Find the pairs of neighbouring words in the phrases of a question: what tells a kind, and the noun."""
    is_in_phrase, last = False, ""
    for word in words_of(question):
        if word in COMMON:
            is_in_phrase, last = _OPENS_PHRASE.fullmatch(word) is not None, ""
            continue
        # "Anna's report" tells whose it is, not its kind; "mostly form" is no phrase.
        tells_kind = last.isalnum() and not last.endswith("ly")
        if is_in_phrase and tells_kind and not word.endswith(("ed", "ing")):
            yield last, word
        last = word


def _is_of_another_kind(kind: str, noun: str, said: str) -> bool:
    """Check whether a text has another kind of a noun than is asked for, and never this one: a fax for a telephone.

    The kind must be nowhere, or be said of other things alone, as in "martial spirit and Christian piety".
    """
    kind_stem, noun_stem = stem(kind), stem(noun)
    kinds: set[str] = set()  # the words before the noun
    nouns: set[str] = set()  # the words behind the kind
    for part in _PAUSE.split(said):
        words = words_of(part)
        stems = [stem(word) for word in words]
        for place, own in enumerate(stems):
            if own == noun_stem and kind_stem in stems[max(0, place - 3) : place]:
                return False
            if own == noun_stem and place:
                kinds.add(words[place - 1])
            if own == kind_stem:
                # At the end of a part, and behind "of", the kind is said of no other thing. As a function word, "of"
                # makes the check at the end fail.
                nouns.update(words[place + 1 : place + 2] or ["of"])
                if "of" in words[max(0, place - 2) : place]:
                    nouns.add("of")
    if not kinds or not kinds.isdisjoint(COMMON):
        return False
    if any(kind_stem in word or word in kind_stem or _is_spelt_alike(kind, word) for word in kinds):
        return False
    # "The tenth series" may be the 10th, and what is "eventually" so has no kind.
    is_number = kind[0].isdigit()
    if any(word[0].isdigit() != is_number or word.endswith("ly") for word in kinds):
        return False
    return nouns.isdisjoint(FUNCTION_WORDS)


def _is_spelt_alike(word: str, other: str) -> bool:
    """Check whether two words differ in a few letters only, as "Kievian" and "Kievan"."""
    return SequenceMatcher(None, word, other).ratio() >= _ALIKE


def _is_other_time(statement: Statement) -> bool:
    """Check whether what is asked for after a time is said of the time before it, or the other way round."""
    for asked in _ORDER.finditer(statement.question):
        words = stems_of(asked["time"]) & statement.asked
        for told in _ORDER.finditer(statement.sentence):
            is_turned = (asked["before"] is None) != (told["before"] is None)
            if words and is_turned and 2 * len(words & stems_of(told["time"])) > len(words):
                return True
    return False


def _is_other_object(statement: Statement) -> bool:
    """Check whether the deed that is asked for was done to something else, which the thing asked for stands beside.

    "Ida painted the ceiling of the church" does not say who painted the church.
    """
    match = _DEED.search(statement.question)
    if match is None:
        return False
    patient = stems_of(_SLOT.split(match[2])[0]) & statement.asked
    if not patient & stems_of(statement.sentence):
        return False
    deeds = list(re.finditer(rf"\b{match[1]}\b(?P<by> by\b)?", statement.sentence))
    return bool(deeds) and all(_is_done_to_another(statement.sentence, deed, patient) for deed in deeds)


def _is_done_to_another(sentence: str, deed: re.Match[str], patient: frozenset[str]) -> bool:
    """Check whether the object of a verb, or its subject before "by", has no word of what is asked for."""
    before, after = sentence[: deed.start()], sentence[deed.end() :]
    rest = _PAUSE.split(before)[-1] if deed["by"] else _SLOT.split(after)[0]
    if deed["by"] and " by " in rest:  # "drawn by Ida and written by Max" is of one thing
        return False
    said = {stem(word) for word in words_of(rest) if word not in COMMON}
    return bool(said) and said.isdisjoint(patient)


def _is_other_subject(statement: Statement) -> bool:
    """Check whether somebody else does what is asked of a group, as in "the seniors train" for "the juniors"."""
    for name, deed in _SUBJECT_OF.findall(statement.question):
        subject, verb = stem(name.lower()), deed.lower()
        # Somebody with a name may be called something else: "the river turns north" in a text on the Rhine.
        is_named = name[0].isupper() and subject in stems_of(f"{statement.named} {statement.others}")
        is_common = name.lower() in COMMON or verb in COMMON
        if is_named or is_common or verb.endswith("s"):
            continue
        if not statement.lacking <= {subject}:
            continue
        forms = {f"{verb}{ending}" for ending in _ENDINGS}
        is_away = subject not in stems_of(f"{statement.named} {statement.sentence}")
        for part in _PAUSE.split(statement.sentence):
            words = words_of(part)
            place = next((place for place, word in enumerate(words) if word in forms), 0)
            has_doer = any(word not in COMMON for word in words[:place])
            if not has_doer or subject in stems_of(part):
                continue
            if is_away or statement.answer in part:
                return True
    return False


def _is_elsewhere(statement: Statement) -> bool:
    """Check whether a preposition governs something else than in the question, as "hours on weekdays" and "on Sundays".

    "The bus to Norwick" is another one than "the bus from Norwick", and "beaten by Tarn" than "Tarn was beaten".
    """
    return _governs_another(statement) or _is_turned_round(statement)


def _governs_another(statement: Statement) -> bool:
    """Check whether a noun of the question has another thing behind its preposition: "hours on Sundays"."""
    told = stems_of(f"{statement.named}. {statement.sentence}")
    for noun, preposition, thing in _PLACED.findall(statement.question):
        thing_stem = stem(thing.lower())
        if thing_stem in told or not statement.lacking <= {thing_stem}:
            continue
        # "Shaped by thousands of years" may be said as "by millennia": a deed has no kinds.
        is_common = noun.lower() in COMMON or thing.lower() in COMMON
        if is_common or noun.endswith("ed"):
            continue
        others = _things_behind(noun, preposition, statement.sentence)
        # Not "to open": what "to" governs has a capital.
        is_name = thing[0].isupper()
        if preposition == "to" and not is_name:
            continue
        # A name may be described, as "the capital of the country", but a day is no other day.
        is_day = re.search(r"days?$", thing) is not None
        if any(is_day or other[0].isupper() == is_name for other in others):
            return True
    return False


def _things_behind(noun: str, preposition: str, sentence: str) -> list[str]:
    """List what a preposition behind a noun governs in a sentence."""
    wanted = (stem(noun.lower()), preposition)
    return [
        thing
        for other, way, thing in _PLACED.findall(sentence)
        if (stem(other.lower()), way) == wanted and thing.lower() not in COMMON
    ]


def _is_turned_round(statement: Statement) -> bool:
    """Check whether a thing stands behind another of "from", "to" and "by" than in the question."""
    ways = [(way, stem(thing.lower())) for way, thing in _WAYS.findall(statement.sentence)]
    asked = _WAYS.findall(statement.question)
    for way, thing in asked:
        word = stem(thing.lower())
        if len({other for other, same in asked if same == thing}) > 1:
            continue
        own = {alike for alike, other in ways if other == word}
        is_said = thing.lower() not in COMMON and word in stems_of(statement.sentence)
        if not is_said or thing.endswith("ing") or way in own:
            continue
        # Not "to open": what is governed has a capital or is the answer.
        governing = {alike for alike, other in ways if other != word and other in stems_of(statement.answer)}
        if way in governing or own & ({"from", "to"} - {way}):
            return True
    return False


def _is_part(statement: Statement) -> bool:
    """Check whether the sentence is about something of the thing that is asked for, or about it at another rate."""
    asked = _ASKS_RATE.search(statement.question)
    rate = _RATE.match(statement.after) or _RATE.search(statement.answer)
    if asked and rate and asked[1] != rate[1]:
        return True
    if statement.question.lower().startswith("how many") and _OUT_OF.search(statement.before):
        return True
    match = _ASKS_PLACE.search(statement.question)
    if match is None or len(statement.lacking) > 1:
        return False
    words = [word for word in words_of(match[1]) if word not in COMMON]
    subject = _SUBJECT_WITH_THING.match(CLAUSE_END.split(statement.sentence)[0])
    if not words or subject is None:
        return False
    noun = subject["noun"].lower()
    if noun in COMMON | _ANSWERS_PLACE or statement.asks(f"{subject['before']} {subject['noun']}"):
        return False
    # "The signing of the treaty" for "when was the treaty signed?"
    base = noun.removesuffix("ing")
    is_gerund = base != noun and len(base) > 2
    is_deed = is_gerund and any(word.startswith(base) for word in words[1:])
    is_on_thing = stem(words[0]) in {stem(word) for word in words_of(subject["thing"])[:2]}
    return is_on_thing and not is_deed and not statement.asks(subject["noun"])


def _is_turned(statement: Statement) -> bool:
    """Check whether a word of the question stands in the sentence with a prefix that denies it, or without it."""
    hyphened = [set(_WITH_PREFIX.findall(text.lower())) for text in (statement.question, statement.sentence)]
    # "Non-Arab" for "Arab", and the other way round.
    for apart, text in (
        (hyphened[0] - hyphened[1], statement.sentence),
        (hyphened[1] - hyphened[0], statement.question),
    ):
        if any(re.search(rf"(?<![\w-]){re.escape(word)}\b", text, re.IGNORECASE) for _, word in apart):
            return True
    asked, told = set(words_of(statement.question)), set(words_of(statement.sentence))
    only_asked = {word for word in asked - told if len(word) > 4}
    only_told = {word for word in told - asked if len(word) > 4}
    for prefix in _PREFIXES:
        if any(f"{prefix}{word}" in only_told for word in only_asked):
            return True
        if any(f"{prefix}{word}" in only_asked for word in only_told):
            return True
    return False


def _is_among(number: str, told: list[str]) -> bool:
    """Check whether a number is one of those told, or lies in a range such as "10 to 14"."""
    ranges = [(int(low), int(high)) for several in told for low, high in _RANGE.findall(several)]
    is_inside = len(number) <= 6 and any(low <= int(number) <= high for low, high in ranges)
    return is_inside or any(number in re.findall(r"\d+", several) for several in told)


def _is_other_thing(statement: Statement) -> bool:
    """Check whether the sentence names another number or another kind of the thing that is asked for."""
    said = f"{statement.named}. {statement.sentence}"
    numbers = [(stem(noun.lower()), several) for noun, several in _NUMBERED.findall(said)]
    for noun, number in _NUMBERED.findall(statement.question):
        others = [several for name, several in numbers if name == stem(noun.lower())]
        if others and not all(_is_among(value, others) for value in re.findall(r"\d+", number)):
            return True
    # "When did Henry Grey's father die?" is answered by a text about George Grey.
    names = [] if identifies_by_another(statement.question) else _NAME.findall(statement.question)
    for name, last in names:
        firsts = [first for first, same in _NAME.findall(said) if same == last and first.lower() not in FUNCTION_WORDS]
        is_other_name = bool(firsts) and not any(first in statement.question for first in firsts)
        if is_other_name and not find_whole(name, said):
            return True
    # The title tells the kind of everything below it. A sentence that lacks more than the kind has other words for what
    # is asked, so perhaps for the kind, too: "the largest airplane" for "the biggest airplane in the world".
    lacking = statement.lacking
    phrases = [pair for pair in _phrases(statement.question) if stem(pair[0]) not in stems_of(statement.named)]
    if any(lacking <= {stem(kind)} and _is_of_another_kind(kind, noun, said) for kind, noun in phrases):
        return True
    asked, told = set(words_of(statement.question)), set(words_of(said))
    # One of two opposites is asked for, and only the other one is told.
    return any(len(pair & asked) == 1 and pair & told and not pair & asked & told for pair in _OPPOSITES)


ANOTHER: dict[str, Callable[[Statement], bool]] = {
    "role": _is_other_role,
    "property": _is_other_property,
    "other subject": _is_other_subject,
    "other thing": _is_other_thing,
    "other time": _is_other_time,
    "other object": _is_other_object,
    "turned": _is_turned,
    "elsewhere": _is_elsewhere,
    "part": _is_part,
}
