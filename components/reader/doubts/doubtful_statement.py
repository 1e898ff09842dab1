"""Tell by its form that a text has the words of an answer but does not state it: denied, planned, rumoured, outlived.

The grammar of English decides: negations, modal verbs, conjunctions, prepositions, and the place of the answer and of
the question's words between them. No list of topics is used; the short lists of words that are stand in the reader's
card. A doubt only ever makes an answer less sure.
"""

import re
from collections.abc import Callable

from prefrag.components.reader.doubts.another_thing import ANOTHER
from prefrag.components.reader.doubts.hearsay import is_hearsay
from prefrag.components.reader.doubts.retraction import is_taken_back
from prefrag.components.reader.doubts.statement import (
    ASKS_PERSON,
    COMMON,
    DETERMINER,
    Statement,
    statement_at,
    words_of,
)
from prefrag.components.reader.doubts.unrealised import is_unrealised
from prefrag.components.reader.doubts.wrong_kind import WRONG_KIND
from prefrag.components.reader.span_features import stem, stems_of

_NEGATION = re.compile(
    r"\b(?:[Nn]ot(?! only)|[Nn]ever|[Cc]annot|neither|nor|[Nn]obody|nothing|none|no longer)\b|n['\u2019]t\b"
    r"|\b(?:has|have|had|is|are) yet to\b"
    r"|\b[Nn]o(?= (?!doubt\b)[a-z]|[.,;]? ?$)"
)
# As people type them: "dont", "wo n't".
_DENIES_PLAINLY = re.compile(
    r"\b(?:wo|ca|do|did|does|is|are|was|were|has|have|had|could|would|should) ?n['\u2019]?t\b", re.IGNORECASE
)
_EXCEPTION = re.compile(
    r"\b(?:except(?:ing)?(?: for)?|excluding|apart from|aside from|other than|save(?: for)?|besides|rather than"
    r"|instead of|in place of|unlike|without|exception of|(?:all|every\w*|any\w*|no\w*)[^,;.]{0,20} but(?: for)?)"
    r"\s+(?:[^\W_]+ ){0,3}$",
    re.IGNORECASE,
)
_FINITE = re.compile(r"\b(?:is|are|was|were|has|have|had|do|does|did|will)\b")
_OVER = re.compile(
    r"\b(?:until|till|no longer|any ?more|former(?:ly)?|previous(?:ly)?|up to (?=1\d{3}|20\d\d))\b"
    # Not "it is often used to dig".
    r"|(?<!\bis )(?<!are )(?<!be )(?<!as )(?<!re )(?<!en )(?<!ly )\bused to\b",
    re.IGNORECASE,
)
# "The code was 4417", not "he was the author".
_WAS_JUST = re.compile(rf"^[^,;:]*\b(?:was|were) (?:(?:at|in|on) )?(?:{DETERMINER} )?$")
_SPAN = re.compile(r"(?:\bfrom\b|\d)[^,;]* (?:until|till)\b")
_PAST = re.compile(r"\b(?:was|were|had)\b")
# "Bake the bread until golden" tells how long to do it, not how long it is so: no subject, no finite verb, no time.
_UNTIL_DONE = re.compile(
    rf"^[A-Z][a-z]*(?<!s)(?<!ed) {DETERMINER} (?:(?!{_FINITE.pattern})[^,;:])*\b(?:until|till) [a-z]+(?: [a-z]+)?\W*$"
)
# What happened once has no later value: the result of a vote, the author of a book. Few nouns, and closed.
_ONCE = re.compile(
    rf"(?:{DETERMINER} )?(?:result|outcome|score|total|reason|cause|author|inventor|founder|winner)s? "
    r"(?:of|for|was|were)\b",
    re.IGNORECASE,
)
_ASKS_PRESENT = re.compile(
    r"\b(?:is|are|does|do|has|have)\b|^\W*(?:who|which \w+|what) (?!was\b)\w+(?<!s)s\b", re.IGNORECASE
)
_INDIRECT = re.compile(r"\b(?:whether|(?<!even )(?<!as )(?<!only )(?<=[a-z] )if)\b")
_ASKS_CASE = re.compile(
    r"^\W*(?:(?:and )?when|how (?!many|much|long|old|far|high|big)|why|(?:in|under|on) what"
    r"|what (?:if|happens|must|should|to))\b",
    re.IGNORECASE,
)
_EMBEDDED = re.compile(r"(?:^|[;:] )[Ww]ho(?:m|se)? [^,;:.?]+")
_REMARK = re.compile(
    r"\s*(?:[(\[](?P<aside>[^()\[\]]*)[)\]]"
    r"|(?:[,;:]|(?<= )[-\u2013\u2014]) ?(?P<left>to be [a-z]+|tb[acd]\b|not yet\b))",
    re.IGNORECASE,
)
_LEFT_OPEN = re.compile(
    r"\?|\bto be [a-z]+(?:ed|en)\b|\b(?:tb[acd]|not|no|if|unless|might|may(?! \d))\b", re.IGNORECASE
)
_CALLED = re.compile(r"\bthe ((?:[^\W_]+ ){1,4})$")
_CONDITION = re.compile(
    r"(?<!even )\b(?P<only>only )?(?P<word>if|unless|provided that|in case|(?<!with )assuming|as long as)\b"
    r"(?P<text>[^,;()]*)",
    re.IGNORECASE,
)
# "Two years unless otherwise agreed" is what holds; a condition that names nothing sets none.
_BY_DEFAULT = re.compile(r" (?:otherwise [a-z]+(?:ed|en|wn)|(?:agreed|stated|specified|noted) otherwise)\b\W*$")
_LIMIT = re.compile(r"\b(before|after|until|till|prior to|than)\s+(?:the )?$")
_ASKS_END = r"\b(?:clos|end|last|finish|how late\b|how long can\b|latest\b)"
# What asks for the limit itself, as "by when?" asks for what must be done "before 30 June".
_ASKS_LIMIT = {
    "before": r"\b(?:by when|how late|latest)\b",
    "until": _ASKS_END,
    "till": _ASKS_END,
    "than": r"\b(?:least|most|over|under|about|approximately|roughly)\b",
}
_ASKS_MEASURE = re.compile(r"\b(?:when|how)\b", re.IGNORECASE)
_NEARLY = re.compile(r"\b(?:almost|nearly|hardly|scarcely|barely|all but) ([a-z]+)")
_OFFICE = re.compile(rf"^\W*who (?:is|are|was|were) (?:{DETERMINER} )?([^?]+?)(?: (?:of|in|at|for|on|to)\b|\W*$)", re.I)


def find_doubt(question: str, title: str, text: str, begin: int, end: int) -> str:
    """Find why a passage may not state an answer, although it has its words.

    :param question: The question, in English.
    :param title: The title of the passage; empty if it has none.
    :param text: The text of the passage.
    :param begin: The index of the answer's first character in the text.
    :param end: The index after its last character.
    :returns: The form that raises the doubt, such as ``negation``; empty if there is none.
    """
    statement = statement_at(question, title, text, begin, end)
    if statement is None:
        return ""
    return next((name for name, has_form in _FORMS.items() if has_form(statement)), "")


def _is_denied(statement: Statement) -> bool:
    if _DENIES_PLAINLY.search(statement.question) or statement.is_named_so:
        return False
    # "It was not finished until 1769" says when it was finished.
    if statement.matches(_NEGATION) and not statement.is_not_until:
        return True
    lacking = re.findall(r"\b(?:[Nn]o|[Nn]either|[Ww]ithout) ([a-z]+)", statement.sentence)
    return any(map(statement.asks, lacking)) and not re.search(r"\b(?:no|not|without)\b|n't", statement.question)


def _is_asked(statement: Statement) -> bool:
    """Check whether the sentence asks what the answer would say, or says that somebody asks it."""
    if statement.sentence.rstrip().endswith("?"):
        return True
    for match in _EMBEDDED.finditer(statement.sentence):
        holds_answer = match.start() <= len(statement.before) < match.end()
        if not holds_answer and statement.asks_most(match[0]):
            return True
    if _ASKS_CASE.search(statement.question) or _INDIRECT.search(statement.question):
        return False
    matches = list(_INDIRECT.finditer(statement.before))
    if not matches:
        return False
    conjunction = matches[-1]
    # A comma ends the clause behind "if", but not the one behind "whether".
    if conjunction[0] != "whether" and "," in statement.before[conjunction.end() :]:
        return False
    return statement.is_governed(conjunction.end())


def _is_open(statement: Statement) -> bool:
    """Check whether a remark behind the answer leaves it open, as in "14 March (to be confirmed)"."""
    remark = _REMARK.match(statement.after)
    if remark is None:
        return False
    if remark["left"] is not None:
        return True
    aside = remark["aside"] or ""
    # "3 June (no gifts, please)" asks something of the reader.
    is_request = re.search(r"\bplease\b", aside, re.IGNORECASE) is not None
    return not is_request and _LEFT_OPEN.search(aside) is not None


def _is_excepted(statement: Statement) -> bool:
    if _NEGATION.search(statement.question):
        return False
    match = _EXCEPTION.search(statement.before)
    if match is None:
        # An answer such as "everybody except Al" is no name of somebody.
        match = _EXCEPTION.search(statement.answer.rpartition(" ")[0] + " ")
        return match is not None and match[0].split()[0].islower()
    return not _FINITE.search(match[0]) and not statement.asks(match[0])


def _is_over(statement: Statement) -> bool:
    if not _ASKS_PRESENT.search(statement.question) or _OVER.search(statement.question):
        return False
    own = statement.own_clauses
    is_span = _SPAN.search(statement.answer) is not None or statement.before.endswith("from ")
    if is_span and not any(map(_PAST.search, own)) and not _OVER.search(statement.after):
        return False  # "The office is open from 9 until 17"
    # "The cook is Eva, who followed Ann, who was the cook until June": what is asked for is said before.
    is_told = re.search(r"\b(?:is|are)\b", own[0]) is not None and statement.asks_most(own[0])
    clauses = own if is_told else statement.clauses
    is_of_clause = not _LIMIT.search(statement.before) and not _UNTIL_DONE.search(own[0])
    if is_of_clause and any(map(_OVER.search, clauses)):
        return True
    verb = _FINITE.search(statement.sentence)
    is_past = verb is not None and verb[0] in ("was", "were", "had")
    if is_past and re.search(r"\b(?:until|till)\b", statement.after):
        return True
    if _WAS_JUST.search(statement.before) and statement.asks_most(statement.before):
        return _ONCE.match(statement.before) is None
    office = _OFFICE.search(statement.question)
    if office is None:
        return False
    title = re.escape(office[1].split()[-1])
    held = re.compile(rf"\b(?:was|were|had been) (?:{DETERMINER} )?(?:\w+ ){{0,2}}{title}\b")
    return any(map(held.search, own if is_told else [statement.sentence]))


def _is_conditional(statement: Statement) -> bool:
    # "In case of fire, call the emergency number 112" tells which number it is, for "what is the emergency number?".
    called = _CALLED.search(statement.before)
    if called and statement.asked and statement.asked == stems_of(called[1]):
        return False
    begin, end = len(statement.before), len(statement.sentence) - len(statement.after)
    for match in _CONDITION.finditer(statement.sentence):
        if begin <= match.start() < end:
            continue  # the condition is a part of the answer
        # "They became rich, selling what they had in case of loss" sets no condition for their becoming rich.
        between = statement.sentence[end : match.start()]
        if re.search(r"[,;:(] ?(?:\w+ing|which|who|where|but|and)\b", between):
            continue
        if _BY_DEFAULT.match(match["text"]):
            continue
        if match["word"].lower() == "unless" and "unless" not in statement.question.lower():
            return True
        needed = {stem(word) for word in words_of(match["text"]) if word not in COMMON}
        if not needed:
            continue
        if match["only"] or len(needed & statement.asked) < len(needed) / 2:
            return True
    return False


def _is_limit(statement: Statement) -> bool:
    match = _LIMIT.search(statement.before)
    if match is None or match[1] in statement.question.lower() or statement.is_not_until:
        return False
    # "After Jefferson" for "whose face is it?" sets no limit.
    if not re.search(r"\d", statement.answer) and not _ASKS_MEASURE.search(statement.question):
        return False
    return re.search(_ASKS_LIMIT.get(match[1], "$^"), statement.question, re.IGNORECASE) is None


def _is_nearly(statement: Statement) -> bool:
    return any(statement.asks(match[1]) for match in _NEARLY.finditer(statement.sentence))


def _is_relative(statement: Statement) -> bool:
    """Check whether the answer only names somebody's relative or deputy, as in "the sister of Ada is the vet"."""
    if not ASKS_PERSON.search(statement.question):
        return False
    # "The sister of Ada is the vet", "Ada's sister is the vet".
    of = re.search(r"(?:^|[,;] |\bthat )(?:the|an?) (?:\w+ )?([a-z]+) (?:of|to) $", statement.before, re.IGNORECASE)
    if of and _tells_of_relative(statement, of[1], statement.after):
        return True
    own = re.match(r"['\u2019]s? (?:[a-z]+ )??([a-z]+)\b", statement.after)
    if own and _tells_of_relative(statement, own[1], statement.after[own.end() :]):
        return True
    return _tells_of_neighbour(statement) or _is_by_office(statement)


def _tells_of_relative(statement: Statement, relative: str, behind: str) -> bool:
    """Check whether the words behind a noun such as "sister" are asked for, and the noun is not."""
    return not statement.asks(relative) and statement.asks(" ".join(behind.split()[:5]))


def _tells_of_neighbour(statement: Statement) -> bool:
    """Check whether the verb behind the answer has another subject.

    "A boy who replaced Sven is the goalkeeper", "Ann took over from Cyril and manages the depot".
    """
    after = re.match(r" (?P<joined>and )?(?:[^\W_]+ ?){1,5}", statement.after)
    if after is None or not statement.asks_most(after[0]):
        return False
    if re.search(r"\b(?:who|that|which)(?: [a-z]+){1,3} $", statement.before):
        return True
    is_joined = after["joined"] is not None
    return is_joined and re.search(r"[a-z] (?:from|after|for|with) $", statement.before) is not None


def _is_by_office(statement: Statement) -> bool:
    """Check whether the office asked for only tells whose relative or deputy somebody is: "the mayor's deputy"."""
    match = _OFFICE.search(statement.question)
    if match is None:
        return False
    office = re.escape(match[1])
    places = re.findall(rf"\b{office}\b", statement.sentence)
    governed = rf"\b([a-z]+) (?:of|for|to) (?:{DETERMINER} )?{office}\b|\b{office}['\u2019]s? ([a-z]+)"
    governors = [left or right for left, right in re.findall(governed, statement.sentence)]
    is_governed_everywhere = len(governors) == len(places) > 0
    return is_governed_everywhere and not any(map(statement.asks, governors))


_FORMS: dict[str, Callable[[Statement], bool]] = {
    "negation": _is_denied,
    "unrealised": is_unrealised,
    "hearsay": is_hearsay,
    "asked": _is_asked,
    "open": _is_open,
    "exception": _is_excepted,
    "over": _is_over,
    "condition": _is_conditional,
    "limit": _is_limit,
    "nearly": _is_nearly,
    "taken back": is_taken_back,
    "relative": _is_relative,
    **ANOTHER,
    **WRONG_KIND,
}
