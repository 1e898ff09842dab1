"""What somebody says, thinks or denies: verbs of saying by their place, sources, and adverbs such as "reportedly"."""

import re
from collections.abc import Iterator

from prefrag.components.reader.doubts.statement import (
    ASKS_PERSON,
    CLAUSE_END,
    COMMON,
    DETERMINER,
    REALISED,
    Statement,
    words_of,
)
from prefrag.components.reader.span_features import stem, stems_of
from prefrag.components.text.title_mentions import FUNCTION_WORDS

_TO_HAVE = re.compile(r"\bto have (?:been )?(?!to |been |an? |the |no )\w+")
_HEARSAY = re.compile(
    r"\b(?:perhaps|maybe|possibly|probably|presumably|apparently|allegedly|reportedly|supposedly|seemingly|purportedly"
    r"|whether|(?:from|with|denie[sd]|denying) having|[a-z]+ ha[sd] it)\b"
    r"|\b(?P<charge>[a-z]+) of having\b"
    r"|\b(?:is|are|was|were|been) (?:said|thought|\w+ed) to (?:be|have)\b",
    re.IGNORECASE,
)
# Verbs of which it is true, or decided, what they govern: "the tests showed that", "please note that". Few, and closed.
_FACTIVE = re.compile(
    r"(?:know|knows|knew|known|show|shows|showed|shown|prove|proves|proved|proven|decide|decides|decided|resolved)"
)
_NOTICE = re.compile(r"^(?:[Pp]lease )?(?:[Nn]ote|[Rr]emember)$")
# "Tried to show that", "will prove that": not done.
_UNREAL = re.compile(
    r"\b(?:to|not|will|shall|may|might|can|cannot|could|would|should|must)(?: have)?(?: been| be)? (?:[a-z]+ly )?$"
)
# "Ivo says the code is 4417" has two verbs and no conjunction.
_REPORTER = (
    r"(?:^|[,;] )(?:(?:[Ii]|[Ww]e|[Tt]hey|[Pp]eople) (?:[a-z]+ly )?(?P<plain>[a-z]+)"
    rf"|(?:(?P<name>[A-Z]\w+)(?: [A-Z]\w+){{0,2}}|[Hh]e|[Ss]he|[Ii]t|(?:[Tt]he|{DETERMINER}) [a-z]+) (?:[a-z]+ly )?"
    r"(?P<governor>[a-z]+(?<!s)s|[a-z]+ed|said|thought|told [a-z]+|felt|wrote)) "
)
_BARE_COMPLEMENT = re.compile(
    rf"{_REPORTER}(?=(?:{DETERMINER}|he|she|it|they|we|I|there|[A-Z]\w+) )"
    r"(?=(?:(?!(?:and|or|but|that|which|who|whose|whom|where|what|when|while|because|if|as|so|since|after|before)\b)"
    r"[^\W_]+ ){1,6}?(?:is|are|was|were|has|have|had|will|can|does|did)\b)"
)
_REPORTS_DOER = re.compile(rf"{_REPORTER}$")
_ASKS_SAID = re.compile(r"^\W*what (?:do|does|did|has|have|had) (?P<speaker>[^?]+?) [a-z]+\W*$", re.IGNORECASE)
# A second verb of its own shows that the first one governs a clause: "where does the report say the wreck was found?".
_NO_CLAUSE = r"(?!(?:when|where|who|which|that|because|if|while|as|after|before|to|in|on|at|of|for|with|by|from)\b)"
_ASKS_REPORT = re.compile(
    rf"\b(?:do|does|did) (?P<speaker>(?:{_NO_CLAUSE}[^\W_][\w.'\u2019-]* )+?){_NO_CLAUSE}[a-z]+ (?:that )?"
    rf"(?:(?!(?:when|where|who|which|that|because|if|while|as|after|before)\b)[\w.'\u2019-]+ )*?"
    r"(?:is|are|was|were|will|would|can|could|may|might|should|must)\b",
    re.IGNORECASE,
)
# An office, a paper or a count has an article and a capital letter or a year; people and rumours have not both.
_OFFICIAL = re.compile(r"[Tt]he (?:[^\W_]+(?:-[^\W_]+)* )?(?:[A-Z]|\d)")
_SOURCE = re.compile(r"(?:^|[,;] )[Aa]ccording to ((?:[^\W_]+ ?){1,4})")
_COMPLEMENT = re.compile(
    r"\b(?P<governor>[a-z]+) that (?=(?:he|she|it|they|we|I|there|some|no|most|many|all|both|one|two|[A-Z]\w+|\d+"
    r"|(?:in|on|at|as|after|before|since|during|between|under|over|for|by|with|from|to) \w+|" + DETERMINER + r")\b)"
)
# "The claim that he left the door open" reports; "the novel that he wrote in June" has its object before "that".
_WHOLE_CLAUSE = re.compile(rf"(?:[^\W_]+ ){{1,3}}(?:to [a-z]|{DETERMINER} )")
_OF_THAT = re.compile(r"(?:it|he|she|they|this|these|there)\b", re.IGNORECASE)


def is_hearsay(statement: Statement) -> bool:
    """Check whether what is asked for is only said, thought or supposed, and the question does not ask for that."""
    if asks_report(statement):
        return False
    if _is_claim(statement) or _is_rumour(statement) or _has_doubtful_source(statement):
        return True
    if any(_is_reported(statement, match) for match in _COMPLEMENT.finditer(statement.sentence)):
        return True
    for match in _reports(statement):
        if match["name"] and match["name"].lower() in FUNCTION_WORDS:
            continue
        if not _is_vouched(statement, match) and statement.is_governed(match.end()):
            return True
    return False


def _is_claim(statement: Statement) -> bool:
    """Check whether somebody is said "to have done" what is asked for. "One of only ten to have done it" did it."""
    done = _TO_HAVE.search(statement.sentence)
    if done is None or not statement.matches(_TO_HAVE):
        return False
    return REALISED.search(statement.before[: done.start()]) is None


def _is_rumour(statement: Statement) -> bool:
    """Check whether a word such as "reportedly" makes it a rumour, or "accused of having", unless that is asked for."""
    said = _HEARSAY.search(statement.sentence)
    # "What was Ann accused of?" asks for what she was "accused of having" done.
    is_charge_asked = said is not None and said["charge"] is not None and statement.asks(said["charge"])
    return not is_charge_asked and statement.matches(_HEARSAY)


def _has_doubtful_source(statement: Statement) -> bool:
    """Check whether it stands "according to" somebody: neither an office nor what the question or the answer names."""
    match = _SOURCE.search(statement.sentence)
    if match is None or _OFFICIAL.match(match[1]):
        return False
    return not statement.asks(match[1]) and statement.answer not in match[1]


def asks_report(statement: Statement) -> bool:
    """Check whether the question asks what somebody of the sentence says: "what does Ann think is the best time?"."""
    asked = _ASKS_REPORT.search(statement.question)
    told = stems_of(f"{statement.named} {statement.sentence}")
    return asked is not None and any(stem(word) in told for word in words_of(asked["speaker"]) if word not in COMMON)


def _reports(statement: Statement) -> Iterator[re.Match[str]]:
    """Find the verbs of saying, by their place: before a clause with a verb of its own and no conjunction."""
    yield from _BARE_COMPLEMENT.finditer(statement.sentence)
    # "Ann says Eva leads the choir" for "who leads the choir?": the answer has a verb before it and its own behind it.
    deed = re.match(r" ([a-z]+)", statement.after)
    if deed and statement.asks(deed[1]) and ASKS_PERSON.search(statement.question):
        yield from _REPORTS_DOER.finditer(statement.before)


def _is_reported(statement: Statement, match: re.Match[str]) -> bool:
    """Check whether the clause behind "that" is said or thought, and is about what is asked for."""
    # "The novel that he wrote" is a relative clause: a noun with its article stands before "that".
    is_noun = re.search(rf"\b{DETERMINER} $", statement.sentence[: match.start()], re.IGNORECASE)
    is_relative = is_noun and not _WHOLE_CLAUSE.match(statement.sentence, match.end())
    rest = statement.sentence[match.end() :]
    # "Ann denies that in May, before the war, Ned mended the nets": what is governed goes on behind commas.
    is_governed = statement.is_governed(match.end())
    is_about = statement.asks_most(rest if is_governed else CLAUSE_END.split(rest)[0])
    # "On the code Ivo says that it is 4417" has what is asked for before the verb.
    begins_with_answer = len(statement.before) == match.end()
    is_of_that = begins_with_answer or _OF_THAT.match(rest) is not None
    if is_governed and is_of_that:
        is_about = True
    if is_relative or match["governor"] in FUNCTION_WORDS or not is_about:
        return False
    # "What did Ann say?" asks for the whole clause.
    is_whole = begins_with_answer and not statement.after.strip(" .!\"'\u201d\u2019")
    is_said = is_whole and _ASKS_SAID.search(statement.question) is not None
    if is_said and statement.asks(statement.sentence[: match.start()]):
        return False
    return not _is_vouched(statement, match)


def _is_vouched(statement: Statement, match: re.Match[str]) -> bool:
    """Check whether a verb is asked for, or what it governs is so: "the test showed that", not "tried to show that"."""
    plain = match.groupdict().get("plain")
    verb = (plain or match["governor"]).split()[0]
    if verb in FUNCTION_WORDS or statement.asks(verb):
        return True
    if _NOTICE.match(statement.sentence[: match.end()].removesuffix("that ").strip()):
        return True
    return _FACTIVE.fullmatch(verb) is not None and _UNREAL.search(statement.sentence[: match.start()]) is None
