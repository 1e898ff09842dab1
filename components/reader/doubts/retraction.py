"""Find out whether the end of a sentence, or a later sentence, takes the answer back.

A verdict is a short sentence or clause that only judges what was said before, as "It was struck down" or
"That is not true" do. The rules know a verdict by its form. Only for words of truth, such as "wrong", they have a list.
"""

import re
from collections.abc import Sequence

from prefrag.components.reader.doubts.statement import ASKS_PRESENT, DETERMINER, UNDOING, Statement
from prefrag.components.reader.span_features import stem, stems_of
from prefrag.components.text.title_mentions import FUNCTION_WORDS

# Words directly before the answer that belong to another noun, as in "the choice of Al Reed". It matches
# "the choice of ".
_GOVERNED = re.compile(
    r"\b(?:(?:of|for|from|as|with|to|by|on|in|at)(?: the| an?)?|(?:that|which|who)(?: [a-z]+){1,2}) $"
)
# The subject of a verdict: a pronoun, or "the" with a noun. It matches "It" and "the rule".
_SUBJECT = r"(?:[Ii]t|[Tt]his|[Tt]hat|[Tt]hese|[Tt]hose|[Hh]e|[Ss]he|[Tt]hey|[Ww]hich|[Ww]ho|[Tt]he [a-z]+)"
# A particle behind the verb of a verdict, and the end of the sentence, as in "struck down.".
_PARTICLE = r"(?: (?:back|off|down|out|up|through|away))?\s*[.!]?"
# A verb in the passive, which is the group. It matches "was withdrawn" and "turned out to be wrong".
_DONE = r"(?:was|were|has been|have been|had been|turned out|proved)(?: to be)?(?: \w+ly)? (?P<done>[a-z]+)"
# A whole sentence that is a verdict. "It was paid at the gate." is no verdict, because it has more than a verb. It
# matches "It was struck down." and "This turned out to be wrong.".
_VERDICT = re.compile(rf"{_SUBJECT} (?:(?:is|are) [a-z]+ed|{_DONE}|(?P<did>[a-z]+ed)){_PARTICLE}")
# A sentence that gives the sentence before it a label. It matches "This is an error in the manual.". It does not match
# "It is a village.", which speaks of a thing.
_LABEL = re.compile(r"(?:This|That|Which) (?:is|was) an? (?:[a-z]+ )?[a-z]+(?: (?:in|of|by) [^,;.]{2,30})?[.!]?")
# A sentence that denies the sentence before it. It matches "The opposite is the case.", "None of this is so." and
# "That is not right.".
_REFUTED = re.compile(
    r"(?:The (?:opposite|contrary|reverse) (?:is|was)|(?:None|Nothing|No word) of (?:this|that|it) (?:is|was)"
    r"|(?:It|This|That) (?:is|was) (?:not|never))(?: [a-z]+){1,3}[.!]?"
)
# The words for truth. They are few. A sentence of one of them, or of "not" and one of them, speaks of the sentence
# before it.
_TRUTH = r"(?:true|right|correct|so|the case|valid|accurate)"
# The words for the opposite of truth.
_FALSE = "(?:wrong|false|untrue|incorrect|inaccurate|invalid|mistaken|nonsense|obsolete|uncertain)"
# A whole sentence or clause that says that something is not true:
# - "This is wrong.", "That is no longer true.", "Wrong!": with a word for truth or its opposite
# - "That wasn't right.": with a contracted not
DENIES_TRUTH = re.compile(
    rf"(?:(?:It|This|That)(?: is| was|['\u2019]s) )?"
    rf"(?:(?:simply|just|quite|now|all|plainly|completely) )?"
    rf"(?:(?:not|no longer|never|far from) {_TRUTH}|{_FALSE})(?: (?:now|any ?more|at all))?[.!]*"
    rf"|(?:It|This|That) (?:isn|wasn)['\u2019]t {_TRUTH}[.!]*",
    re.IGNORECASE,
)
# A whole sentence that says that the sentence before it is not true:
# - "This is wrong.": one of the sentences above
# - "She did not!": only a denied verb
# - "Correction: it is on 6 May.": a correction
_UNTRUE = re.compile(
    rf"{DENIES_TRUTH.pattern}"
    r"|(?:It|This|That|He|She|They) (?:is|are|was|were|do|does|did|has|have|had|will|can)(?: not|n['\u2019]t)[.!]*"
    r"|(?:Correction|Erratum|Corrigendum)\b.*",
    re.IGNORECASE | re.DOTALL,
)
# A sentence that affirms the sentence before it. It matches "This is confirmed.".
_AFFIRMED = re.compile(rf"(?:It|This|That) (?:is|was|has been) (?:now )?(?:confirmed|certain|final|{_TRUTH})[.!]?")
# The beginning of a sentence on what was done to a thing. It takes nothing back if the sentence before says what was
# done earlier: "The law was passed in 1995. It was amended." It matches "It was amended" and "The law has been".
_LATER_DEED = re.compile(r"(?:It|The (?P<noun>[a-z]+)) (?:is|was|has been)\b")
# A question for a deed in the past. The verb is one of three groups:
# - "When did the ship sail?": the group ``base``
# - "When was the law passed?": the group ``done``
# - "Who designed the mill?": the group ``did``
_ASKS_DEED = re.compile(
    rf"\bdid (?:{DETERMINER} )?[^?]{{0,120}}?\b(?P<base>[a-z]{{3,}})\b(?=\W*$| (?:in|on|at|to|for|from|with)\b)"
    rf"|\b(?:was|were) (?:{DETERMINER} )?[^?]{{0,120}}?\b(?P<done>[a-z]{{3,}})(?: by)?\W*$"
    r"|^\W*(?:who|what|which [a-z]+) (?P<did>[a-z]+ed)\b",
    re.IGNORECASE,
)
# A sentence that judges what was said about something. It matches "The report on this was withdrawn." and
# "The above is disputed.".
_ON_THIS = re.compile(
    r"The (?:above|[a-z]+ (?:on|of|about) (?:this|that|it)) (?:is|was|has been) [a-z]+(?:ed|n|t)\b[^,;]*"
)
# The beginning of a sentence on something that was named before. The group ``noun`` is the noun, if there is one. It
# matches "It was" and "The toll was".
_PRONOUN = re.compile(r"(?:It|This|That|These|Those|[Tt]he (?P<noun>[a-z]+)) ")
# A verdict at the end of the sentence itself. It matches "4 pounds, but it was struck down.".
_CLOSING = re.compile(rf"(?:\b(?:but|and) (?:{_SUBJECT} )?|[;,] {_SUBJECT} )(?:{_DONE}|(?P<did>[a-z]+ed)){_PARTICLE}$")
# A verdict behind an answer that belongs to another noun. It matches " as new porter was withdrawn.".
_WHOLE = re.compile(rf"^[^,;]*?\b(?:{_DONE}|(?P<did>fell)){_PARTICLE}$")

# A last clause without a subject of its own, or behind "so". Its group is what it says. It matches
# ", but will not come." and ", so we took another one.". It does not match ", but he will not come.".
_LAST_CLAUSE = re.compile(
    r"(?:,? (?:but|yet|though)(?! (?:he|she|it|they|we|I|you|the|not|also|only|never)\b)|, (?P<so>so)(?! that\b))"
    r"(?P<said> [^,;]+)[.!]?$"
)
# A denial in a question, which asks for what is not so. It matches "no longer" and "doesn't".
_DENIES = re.compile(r"\b(?:not|no longer|never|cannot)\b|n['\u2019]t\b")
# Words by which such a clause turns away to something else. It matches "took another one". It does not match "has
# another entrance".
_TURNED_AWAY = re.compile(r"\b(?:another one|instead|elsewhere)\b")
# The end of a clause that says that something will not be, or is over:
# - "will not come", "won't do it this year": a verb that says only that it will be
# - "will not be held", "no longer applies": the same of a validity
# - "will not lead it": another verb, which is the group ``own`` and must be the verb of the statement
# It does not match "will not cover worn parts", "will not be moved" and "is no longer used by trains".
_WILL_NOT_BE = (
    r"(?:(?:(?:will|shall)(?: not| never)|won['\u2019]t|(?:will|can) no longer)"
    r" (?:be (?:held|valid|available|offered|there|here|in force|true|so)"
    r"|(?P<absent>come|happen)|apply|take place|do (?:it|so|this|that)|(?P<own>[a-z]{3,})(?: it| them)?)"
    r"|(?:is|are|was|were|has|have) no longer(?: been)? (?:held|valid|available|offered|there|in force|true)"
    r"|no longer (?:applies|apply))(?: (?:any ?more|now|at all|after all|this (?:year|time)))?[.!]?"
)
# A word or two of a remark that undo the answer. It matches "cancelled" and "now wrong". It does not match "chopped".
_ALONE = rf"(?:(?:now|since|already) )?(?:{UNDOING}|gone|{_FALSE})"
# A remark directly behind the answer: the word alone, a word for an earlier time with its noun, or a year. It matches
# " (cancelled)", " (old price)", " (2019)" and " - cancelled.".
_ASIDE = re.compile(
    rf"\s*(?:[(\[](?:(?P<alone>{_ALONE})|(?P<old>(?:old|former|previous|last year['\u2019]s)(?: [a-z]+)?)"
    rf"|(?:in |as of )?(?P<year>(?:19|20)\d\d))[)\]]|(?: [-\u2013\u2014]|[,;:]) ?(?P<behind>{_ALONE})[.!]?$)",
    re.IGNORECASE,
)
# A later year in brackets behind an amount, which is the group. It matches "200 euros (2021)".
_OF_YEAR = re.compile(r"\d[^\d().]{0,20} \((?:in |as of )?(?P<year>(?:19|20)\d\d)\)")
# A sentence that says that something will not be, or is past. It matches "It will not come." and "This price is out of
# date.". It does not match "It is out of town" and "It cannot be extended".
_WILL_NOT = re.compile(
    rf"{_SUBJECT}(?: [a-z]+)? (?:{_WILL_NOT_BE}"
    r"|(?:is|are|was) (?:now |already |quite |long )?"
    rf"(?:out of (?:date|the question|order|force|print)|off|over|void|gone|past|history|{_FALSE})[.!]?)"
)
# The same as a last clause without a subject. It matches " will not come.".
_WILL_NOT_CLAUSE = re.compile(rf" {_WILL_NOT_BE}")
# A sentence that begins with a no, and then says what is so instead. It matches "No: it is free.", "No!" and "Not any
# more.". It does not match "No. 7 is free", "No, you do not have to register." and "No, it does not hurt.".
_SAYS_NO = re.compile(
    rf"(?:No(?:[,:;\u2013\u2014]| -) (?:it|that|this|these|he|she|they)\b"
    r"(?!.*(?:\b(?:not|no|never)\b|n['\u2019]t\b))"
    rf"|No[!.]+$|Not (?:any ?more|any longer|now)\b|{_FALSE}[:,] )",
    re.IGNORECASE,
)


def is_taken_back(statement: Statement) -> bool:
    """Check whether a verdict ends the sentence, or is a whole sentence behind it.

    An example is "What is the new toll?": "The board set a new toll of 4 pounds. It was struck down."

    :param statement: The sentence with the answer.
    :returns: Whether a verdict takes the answer back.
    """
    sentences_behind = [sentence.strip() for sentence in (statement.following, *statement.later)]
    if any(map(_UNTRUE.fullmatch, sentences_behind)):
        return True
    if _ends_in_denial(statement) or _has_aside(statement):
        return True

    following, *later = [_without_affirmation(statement, sentence) for sentence in sentences_behind]
    if _LABEL.fullmatch(following) or _SAYS_NO.match(following):
        return True

    is_denied = _will_not_be(statement, _WILL_NOT.fullmatch(following))
    if is_denied and not _ASKS_DEED.search(statement.question):
        return not _DENIES.search(statement.question)

    for sentence in (following, *later):
        if _REFUTED.fullmatch(sentence) or _ON_THIS.fullmatch(sentence):
            return True
    return _has_verdict(statement, following, later)


def _has_verdict(statement: Statement, following: str, later: Sequence[str]) -> bool:
    """Check whether a verdict takes the statement back with a verb that the question lacks."""
    verdict = _find_verdict(statement, following, later)
    if verdict is None:
        return False
    verb = verdict["done"] or verdict["did"] or ""
    return not statement.asks(verb) and verb not in FUNCTION_WORDS


def _ends_in_denial(statement: Statement) -> bool:
    """Check whether the last clause turns away from the statement, as ", but will not come" does."""
    if _DENIES.search(statement.question) or not ASKS_PRESENT.search(statement.question):
        return False
    clause = _LAST_CLAUSE.search(statement.after)
    if clause is None or statement.asks(clause["said"]):
        return False
    said = clause["said"]
    if clause["so"] and _TURNED_AWAY.search(said):
        return True
    return _will_not_be(statement, _WILL_NOT_CLAUSE.fullmatch(said))


def _will_not_be(statement: Statement, match: re.Match[str] | None) -> bool:
    """Check whether a match of ``_WILL_NOT`` denies the statement: by a word for being, or by the statement's verb.

    A person who "will not come" may still be the tenant. A person who "will not do it" is denied.
    """
    if match is None:
        return False
    is_person = re.match(r"(?:he|she|they)\b", match[0], re.IGNORECASE) is not None
    if match["absent"] and is_person:
        return False
    return not match["own"] or stem(match["own"]) in stems_of(statement.sentence)


def _has_aside(statement: Statement) -> bool:
    """Check whether a remark of a word behind the answer takes it back, as in "180 euros (cancelled)".

    "Old" limits an amount only. A year does so only if the passage has another amount with a later year.
    """
    aside = _ASIDE.match(statement.after)
    if aside is None or statement.asks(aside[0]):
        return False
    if aside["old"] is None and aside["year"] is None:
        return True
    if aside["year"] and _last_year_behind(statement) <= aside["year"]:
        return False
    is_amount = re.search(r"\d", statement.answer) is not None
    return is_amount and ASKS_PRESENT.search(statement.question) is not None


def _last_year_behind(statement: Statement) -> str:
    """Return the latest year in brackets behind another amount of the same thing; empty if there is none.

    In "Brae has 12,000 (2011). Toft has 3,000 (2021)." the second amount is not of Brae.
    """
    years = _OF_YEAR.findall(statement.after)
    for sentence in statement.others.split("\n"):
        if statement.asks_most(sentence):
            years += _OF_YEAR.findall(sentence)
    return max(years, default="")


def _find_verdict(statement: Statement, following: str, later: Sequence[str]) -> re.Match[str] | None:
    """Match the verdict on a statement, in the next sentence, at the end of its own sentence or in a later one."""
    verdict = _VERDICT.fullmatch(following) or _CLOSING.search(statement.after)
    if verdict is not None:
        return verdict
    for sentence in later:
        verdict = _verdict_on(statement, sentence)
        if verdict is not None:
            return verdict
    return _WHOLE.search(statement.after) if _GOVERNED.search(statement.before) else None


def _without_affirmation(statement: Statement, sentence: str) -> str:
    """Return a later sentence, or an empty string if the sentence takes nothing back.

    It takes nothing back if it affirms the statement, or if it tells what was done to the thing afterwards.
    """
    is_affirmed = _AFFIRMED.fullmatch(sentence) is not None or _is_after_deed(statement, sentence)
    return "" if is_affirmed else sentence


def _is_after_deed(statement: Statement, following: str) -> bool:
    """Check whether the statement says that the deed was done, and the next sentence says what was done afterwards.

    In "The law was passed in 1995. It was amended." the law stays passed.
    """
    asked = _ASKS_DEED.search(statement.question)
    later = _LATER_DEED.match(following)
    if asked is None or later is None:
        return False
    noun = later["noun"]
    if noun and not re.search(rf"\b{noun}\b", statement.sentence):
        return False
    return re.search(_form_of_deed(asked), statement.sentence) is not None


def _form_of_deed(asked: re.Match[str]) -> str:
    """Make the pattern of a sentence that says that the deed of a question was done.

    For example, "When did the ship sail?" needs a sentence with "sailed".

    :param asked: The match of ``_ASKS_DEED``.
    :returns: The pattern.
    """
    if asked["base"]:
        root = asked["base"].removesuffix("e").removesuffix("y")
        return rf"\b{re.escape(root)}(?:i?ed)\b"
    if asked["done"]:
        return rf"\b(?:was|were) (?:[a-z]+ly )?{re.escape(asked['done'])}\b"
    # "Who designed the mill?" has no answer in "the mill is designed".
    return rf"(?<!\bis )(?<!\bare )(?<!\bbe )\b{re.escape(asked['did'])}\b"


def _verdict_on(statement: Statement, sentence: str) -> re.Match[str] | None:
    """Match the verdict in the first sentence of a later paragraph, if its subject is a pronoun or in the statement."""
    subject = _PRONOUN.match(sentence)
    if subject is None:
        return None
    if subject["noun"] and stem(subject["noun"]) not in stems_of(statement.sentence):
        return None
    return _VERDICT.fullmatch(sentence.strip())
