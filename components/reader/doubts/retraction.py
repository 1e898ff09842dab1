"""What the end of the sentence, or a sentence behind it, takes back: "it was struck down", "that is not true"."""

import re
from collections.abc import Sequence

from prefrag.components.reader.doubts.statement import DETERMINER, Statement
from prefrag.components.reader.span_features import stem, stems_of
from prefrag.components.text.title_mentions import FUNCTION_WORDS

_GOVERNED = re.compile(
    r"\b(?:(?:of|for|from|as|with|to|by|on|in|at)(?: the| an?)?|(?:that|which|who)(?: [a-z]+){1,2}) $"
)
_SUBJECT = r"(?:[Ii]t|[Tt]his|[Tt]hat|[Tt]hese|[Tt]hose|[Hh]e|[Ss]he|[Tt]hey|[Ww]hich|[Ww]ho|[Tt]he [a-z]+)"
_PARTICLE = r"(?: (?:back|off|down|out|up|through|away))?\s*[.!]?"
_DONE = r"(?:was|were|has been|have been|had been|turned out|proved)(?: to be)?(?: \w+ly)? (?P<done>[a-z]+)"
_VERDICT = re.compile(rf"{_SUBJECT} (?:(?:is|are) [a-z]+ed|{_DONE}|(?P<did>[a-z]+ed)){_PARTICLE}")
# "This is an error in the old manual" speaks of the sentence before; "It is a village" speaks of a thing.
_LABEL = re.compile(r"(?:This|That|Which) (?:is|was) an? (?:[a-z]+ )?[a-z]+(?: (?:in|of|by) [^,;.]{2,30})?[.!]?")
# "The opposite is the case.", "None of this is so.", "That is not right."
_REFUTED = re.compile(
    r"(?:The (?:opposite|contrary|reverse) (?:is|was)|(?:None|Nothing|No word) of (?:this|that|it) (?:is|was)"
    r"|(?:It|This|That) (?:is|was) (?:not|never))(?: [a-z]+){1,3}[.!]?"
)
# Words for truth are few: a sentence of one, or of "not" and one, speaks of the sentence before. So does "she was not".
_TRUTH = r"(?:true|right|correct|so|the case|valid|accurate)"
_FALSE = "(?:wrong|false|untrue|incorrect|inaccurate|invalid|mistaken|nonsense|obsolete|uncertain)"
_UNTRUE = re.compile(
    rf"(?:(?:It|This|That)(?: is| was|['\u2019]s) )?"
    rf"(?:(?:simply|just|quite|now|all|plainly|completely) )?"
    rf"(?:(?:not|no longer|never|far from) {_TRUTH}|{_FALSE})(?: (?:now|any ?more|at all))?[.!]*"
    rf"|(?:It|This|That) (?:isn|wasn)['\u2019]t {_TRUTH}[.!]*"
    r"|(?:It|This|That|He|She|They) (?:is|are|was|were|do|does|did|has|have|had|will|can)(?: not|n['\u2019]t)[.!]*"
    r"|(?:Correction|Erratum|Corrigendum)\b.*",
    re.IGNORECASE | re.DOTALL,
)
_AFFIRMED = re.compile(rf"(?:It|This|That) (?:is|was|has been) (?:now )?(?:confirmed|certain|final|{_TRUTH})[.!]?")
# What was done stays done, whatever was done to the thing later: "The law was passed in 1995. It was amended."
_LATER_DEED = re.compile(r"(?:It|The (?P<noun>[a-z]+)) (?:is|was|has been)\b")
_ASKS_DEED = re.compile(
    rf"\bdid (?:{DETERMINER} )?[^?]{{0,120}}?\b(?P<base>[a-z]{{3,}})\b(?=\W*$| (?:in|on|at|to|for|from|with)\b)"
    rf"|\b(?:was|were) (?:{DETERMINER} )?[^?]{{0,120}}?\b(?P<done>[a-z]{{3,}})(?: by)?\W*$"
    r"|^\W*(?:who|what|which [a-z]+) (?P<did>[a-z]+ed)\b",
    re.IGNORECASE,
)
_ON_THIS = re.compile(
    r"The (?:above|[a-z]+ (?:on|of|about) (?:this|that|it)) (?:is|was|has been) [a-z]+(?:ed|n|t)\b[^,;]*"
)
_PRONOUN = re.compile(r"(?:It|This|That|These|Those|[Tt]he (?P<noun>[a-z]+)) ")
_CLOSING = re.compile(rf"(?:\b(?:but|and) (?:{_SUBJECT} )?|[;,] {_SUBJECT} )(?:{_DONE}|(?P<did>[a-z]+ed)){_PARTICLE}$")
_WHOLE = re.compile(rf"^[^,;]*?\b(?:{_DONE}|(?P<did>fell)){_PARTICLE}$")


def is_taken_back(statement: Statement) -> bool:
    """Check whether a verdict without anything of its own ends the sentence, or is the whole next sentence."""
    near = [sentence.strip() for sentence in (statement.following, *statement.later)]
    if any(map(_UNTRUE.fullmatch, near)):
        return True
    following, *later = [_without_affirmation(statement, sentence) for sentence in near]
    if _LABEL.fullmatch(following):
        return True
    if any(_REFUTED.fullmatch(sentence) or _ON_THIS.fullmatch(sentence) for sentence in (following, *later)):
        return True
    verdict = _find_verdict(statement, following, later)
    if verdict is None:
        return False
    verb = verdict["done"] or verdict["did"] or ""
    return not statement.asks(verb) and verb not in FUNCTION_WORDS


def _find_verdict(statement: Statement, following: str, later: Sequence[str]) -> re.Match[str] | None:
    """Match the verdict on the statement: in the next sentence, at the end of its own, or in a later sentence."""
    verdict = _VERDICT.fullmatch(following) or _CLOSING.search(statement.after)
    if verdict is not None:
        return verdict
    for sentence in later:
        verdict = _verdict_on(statement, sentence)
        if verdict is not None:
            return verdict
    return _WHOLE.search(statement.after) if _GOVERNED.search(statement.before) else None


def _without_affirmation(statement: Statement, sentence: str) -> str:
    """Return a later sentence; empty if it affirms the statement, or says what came of a thing after the deed."""
    is_affirmed = _AFFIRMED.fullmatch(sentence) is not None or _is_after_deed(statement, sentence)
    return "" if is_affirmed else sentence


def _is_after_deed(statement: Statement, following: str) -> bool:
    """Check whether the sentence says that what is asked for was done, and a later one what came of the thing."""
    asked, later = _ASKS_DEED.search(statement.question), _LATER_DEED.match(following)
    if asked is None or later is None:
        return False
    if later["noun"] and not re.search(rf"\b{later['noun']}\b", statement.sentence):
        return False
    if asked["base"]:
        done = rf"\b{re.escape(asked['base'].removesuffix('e').removesuffix('y'))}(?:i?ed)\b"
    elif asked["done"]:
        done = rf"\b(?:was|were) (?:[a-z]+ly )?{re.escape(asked['done'])}\b"
    else:
        done = rf"(?<!\bis )(?<!\bare )(?<!\bbe )\b{re.escape(asked['did'])}\b"
    return re.search(done, statement.sentence) is not None


def _verdict_on(statement: Statement, sentence: str) -> re.Match[str] | None:
    """Match the verdict of a paragraph's first sentence, if it is on the statement or on something that it names."""
    subject = _PRONOUN.match(sentence)
    if subject is None:
        return None
    if subject["noun"] and stem(subject["noun"]) not in stems_of(statement.sentence):
        return None
    return _VERDICT.fullmatch(sentence.strip())
