"""Find out whether a sentence contains the words of an answer but does not state the answer.

Such a sentence may deny the answer, only plan it, repeat a rumour, or describe an earlier time. :func:`find_doubt` then
returns a doubt: the name of the reason, such as ``negation``. A doubt only ever makes an answer less sure.

The rules follow the grammar of English. They look at negations, modal verbs, conjunctions and prepositions, and at the
order of the answer and the question's words. They use no list of topics. The reader's card names the short lists of
words that they do use.
"""

import re
from collections.abc import Callable
from dataclasses import replace

from prefrag.components.reader.doubts.alternative import is_alternative
from prefrag.components.reader.doubts.another_thing import ANOTHER
from prefrag.components.reader.doubts.counterpart import COUNTERPART
from prefrag.components.reader.doubts.frame import is_framed
from prefrag.components.reader.doubts.hearsay import is_hearsay
from prefrag.components.reader.doubts.member import is_other_member
from prefrag.components.reader.doubts.other_option import is_other_option, without_other_options
from prefrag.components.reader.doubts.restriction import is_of_another_person, is_restricted
from prefrag.components.reader.doubts.retraction import is_taken_back
from prefrag.components.reader.doubts.statement import (
    ASKS_PERSON,
    ASKS_PRESENT,
    COMMON,
    DETERMINER,
    Statement,
    statement_at,
    words_of,
)
from prefrag.components.reader.doubts.total import is_total
from prefrag.components.reader.doubts.unrealised import is_unrealised
from prefrag.components.reader.doubts.wrong_kind import WRONG_KIND
from prefrag.components.reader.span_features import stem, stems_of

# A word that denies something:
# - "not", "Never", "neither", "nobody", "no longer": a negation, but not "not only"
# - "isn't": a verb with a contracted "not"
# - "is yet to": something that has not happened
# - "no boat", "no.": "no" before a word in lower case or at the end, but not "no doubt" or "No. 7"
_NEGATION = re.compile(
    r"\b(?:[Nn]ot(?! only)|[Nn]ever|[Cc]annot|neither|nor|[Nn]obody|nothing|none|no longer)\b|n['\u2019]t\b"
    r"|\b(?:has|have|had|is|are) yet to\b"
    r"|\b[Nn]o(?= (?!doubt\b)[a-z]|[.,;]? ?$)"
)
# The beginning of a relative clause with the answer. It matches ", which " in "The club, which Ann ran, does not run".
_RELATIVE_BEFORE = re.compile(r", (?:which|who|whom|that) [^,;]*$")
# Behind the answer: the rest of the relative clause, and a main clause that denies its verb, which is the group. It
# matches " ran, does not run".
_DENIED_BEHIND = re.compile(
    r"[^,;]*, (?:(?:does|do|did|is|are|was|were|will|has|have|can|could)(?: not|n['\u2019]t)|no longer)"
    r" (?P<verb>[a-z]+)"
)
# Words of a relative clause for an earlier time. It matches "last year", "until May" and "in 2019".
_EARLIER = re.compile(r"\b(?:last|until|once|formerly|previously|before|used to|(?:1[5-9]|20)\d\d)\b", re.IGNORECASE)
# A contracted "not" in a question, also as people type it. It matches "dont", "wo n't" and "Isn't".
_DENIES_PLAINLY = re.compile(
    r"\b(?:wo|ca|do|did|does|is|are|was|were|has|have|had|could|would|should) ?n['\u2019]?t\b", re.IGNORECASE
)
# Words directly before the answer that except the answer. Up to three words may follow. It matches
# "All members except ", "instead of the old " and "everybody but ". It does not match "All members and ".
_EXCEPTION = re.compile(
    r"\b(?:except(?:ing)?(?: for)?|excluding|apart from|aside from|other than|save(?: for)?|besides|rather than"
    r"|instead of|in place of|unlike|without|exception of|(?:all|every\w*|any\w*|no\w*)[^,;.]{0,20} but(?: for)?)"
    r"\s+(?:[^\W_]+ ){0,3}$",
    re.IGNORECASE,
)
# A verb that can be the only verb of a clause.
_FINITE = re.compile(r"\b(?:is|are|was|were|has|have|had|do|does|did|will)\b")
# Words for something that has ended:
# - "until", "no longer", "formerly": an end, or an earlier time
# - "up to 1999": an end in a year, but not "up to 300"
# - "Ann used to sing": a former habit, but not "it is often used to dig"
_OVER = re.compile(
    r"\b(?:until|till|no longer|any ?more|former(?:ly)?|previous(?:ly)?|up to (?=1\d{3}|20\d\d))\b"
    # Not "it is often used to dig".
    r"|(?<!\bis )(?<!are )(?<!be )(?<!as )(?<!re )(?<!en )(?<!ly )\bused to\b",
    re.IGNORECASE,
)
# A text before the answer that ends in "was" or "were". It matches "The code was " and "The code was at the ". It does
# not match "He was the author ".
_WAS_JUST = re.compile(rf"^[^,;:]*\b(?:was|were) (?:(?:at|in|on) )?(?:{DETERMINER} )?$")
# A time with a beginning and an end. It matches "from 9 until".
_SPAN = re.compile(r"(?:\bfrom\b|\d)[^,;]* (?:until|till)\b")
# A form of "to be" or "to have" in the past.
_PAST = re.compile(r"\b(?:was|were|had)\b")
# An instruction that says how long to do something, without a subject, a finite verb or a time. It matches
# "Bake the bread until golden". It does not match "The bread is baked until June". Such an "until" does not mean that
# something is over.
_UNTIL_DONE = re.compile(
    rf"^[A-Z][a-z]*(?<!s)(?<!ed) {DETERMINER} (?:(?!{_FINITE.pattern})[^,;:])*\b(?:until|till) [a-z]+(?: [a-z]+)?\W*$"
)
# Something that happened once, so that it has no later value: the result of a vote, or the author of a book. The list
# of nouns is short and complete. It matches "The total was " and "The author of ". It does not match
# "The total price was ".
_ONCE = re.compile(
    rf"(?:{DETERMINER} )?(?:result|outcome|score|total|reason|cause|author|inventor|founder|winner)s? "
    r"(?:of|for|was|were)\b",
    re.IGNORECASE,
)
# The beginning of an indirect question. It matches "asks whether" and "asks if". It does not match "even if" and
# "as if".
_INDIRECT = re.compile(r"\b(?:whether|(?<!even )(?<!as )(?<!only )(?<=[a-z] )if)\b")
# A question for a condition, a time, a way or a reason. It matches "When is it open?", "Why?" and "What happens then?".
# It does not match "How many seats are there?".
_ASKS_CASE = re.compile(
    r"^\W*(?:(?:and )?when|how (?!many|much|long|old|far|high|big)|why|(?:in|under|on) what"
    r"|what (?:if|happens|must|should|to))\b",
    re.IGNORECASE,
)
# A question with "who" inside a sentence. In "Two votes went to Pia; who chairs the choir is settled." it is "; who
# chairs the choir is settled".
_EMBEDDED = re.compile(r"(?:^|[;:] )[Ww]ho(?:m|se)? [^,;:.?]+")
# A remark directly behind the answer. The group ``aside`` is a text in brackets, as in " (tbc)". The group ``left``
# says that something is left open, as in ", to be confirmed".
_REMARK = re.compile(
    r"\s*(?:[(\[](?P<aside>[^()\[\]]*)[)\]]"
    r"|(?:[,;:]|(?<= )[-\u2013\u2014]) ?(?P<left>to be [a-z]+|tb[acd]\b|not yet\b))",
    re.IGNORECASE,
)
# Words in a remark that leave the answer open. It matches "to be confirmed", "tbc" and "may be changed". It does not
# match "born May 21".
_LEFT_OPEN = re.compile(
    r"\?|\bto be [a-z]+(?:ed|en)\b|\b(?:tb[acd]|not|no|if|unless|might|may(?! \d))\b", re.IGNORECASE
)
# The noun phrase directly before the answer. In "call the emergency number " its group is "emergency number ".
_CALLED = re.compile(r"\bthe ((?:[^\W_]+ ){1,4})$")
# A condition. The group ``text`` is what it says. It matches "if a trailer is pulled", "unless the seal is broken" and
# "in case of fire". It does not match "even if it rains".
_CONDITION = re.compile(
    r"(?<!even )\b(?P<only>only )?(?P<word>if|unless|provided that|in case|(?<!with )assuming|as long as)\b"
    r"(?P<text>[^,;()]*)",
    re.IGNORECASE,
)
# The text of a condition that names nothing. "Two years unless otherwise agreed" says what holds, so its condition
# raises no doubt. It matches " otherwise agreed" and " stated otherwise.".
_BY_DEFAULT = re.compile(r" (?:otherwise [a-z]+(?:ed|en|wn)|(?:agreed|stated|specified|noted) otherwise)\b\W*$")
# A word directly before the answer that makes the answer a limit. It matches "built before ", "until the " and
# "more than ".
_LIMIT = re.compile(r"\b(before|after|until|till|prior to|than|short of|shy of)\s+(?:the )?$")
# Words of a question for an end. It matches "When does it close?" and "how late can I call?".
_ASKS_END = r"\b(?:clos|end|last|finish|how late\b|how long can\b|latest\b)"
# For each word of :data:`_LIMIT` the questions that ask for the limit itself. "By when must I pay?" asks for what must
# be done "before 30 June".
_ASKS_LIMIT = {
    "before": r"\b(?:by when|how late|latest)\b",
    "until": _ASKS_END,
    "till": _ASKS_END,
    "than": r"\b(?:least|most|over|under|about|approximately|roughly)\b",
}
# A question for a time or an amount.
_ASKS_MEASURE = re.compile(r"\b(?:when|how)\b", re.IGNORECASE)
# A word that says that something did not quite happen. Its group is the next word. It matches "Bo nearly won".
_NEARLY = re.compile(r"\b(?:almost|nearly|hardly|scarcely|barely|all but) ([a-z]+)")
# A question for the person in an office. Its group is the office: "mayor" in the first example. It matches
# "Who is the mayor of Brae?" and "Who was station master?".
_OFFICE = re.compile(rf"^\W*who (?:is|are|was|were) (?:{DETERMINER} )?([^?]+?)(?: (?:of|in|at|for|on|to)\b|\W*$)", re.I)


def find_doubt(question: str, title: str, text: str, begin: int, end: int, heading: str = "") -> str:
    """Find the reason why a passage may not state an answer, although it has the words of the answer.

    For example, ``find_doubt("Who mends the nets?", "", "Ned Farr does not mend the
    nets.", 0, 8)`` returns ``"negation"``.

    :param question: The question, in English.
    :param title: The title of the passage; empty if it has none.
    :param text: The text of the passage.
    :param begin: The index of the answer's first character in the text.
    :param end: The index after its last character.
    :param heading: The headings above the answer, joined by " > "; empty if there are none.
    :returns: The doubt, one of the keys of ``_FORMS``; empty if no rule finds a doubt.
    """
    statement = statement_at(question, title, text, begin, end, heading)
    if statement is None:
        return ""
    # The sentence needs nothing of the options that are not the answer.
    with_one_option = replace(statement, question=without_other_options(question, text[begin:end]))
    for name, has_form in _FORMS.items():
        if has_form(with_one_option if name in ANOTHER else statement):
            return name
    return ""


def _is_denied(statement: Statement) -> bool:
    """Check whether a negation applies to the answer.

    "Ned Farr does not mend the nets" does not say who mends the nets. A question that denies something itself is left
    out.
    """
    if _DENIES_PLAINLY.search(statement.question) or statement.is_named_so:
        return False
    # "It was not finished until 1769" says when it was finished.
    if statement.matches(_NEGATION) and not statement.is_not_until:
        return True
    return _is_denied_behind(statement) or _denies_asked_noun(statement)


def _is_denied_behind(statement: Statement) -> bool:
    """Check whether the answer is in a relative clause of an earlier time, and the verb behind it is denied.

    An example is "Drama club, which Ann ran last year, does not run this term" for "Who runs drama club?".
    """
    relative = _RELATIVE_BEFORE.search(statement.before)
    denied = _DENIED_BEHIND.match(statement.after)
    if relative is None or denied is None or not statement.asks(denied["verb"]):
        return False
    return _EARLIER.search(relative[0] + denied[0]) is not None


def _denies_asked_noun(statement: Statement) -> bool:
    """Check whether the sentence denies a noun of the question.

    An example is "An engine with five cylinders (no compound)" for "How many cylinders has the compound engine?".
    """
    if re.search(r"\b(?:no|not|without)\b|n't", statement.question):
        return False
    denied_nouns = re.findall(r"\b(?:[Nn]o|[Nn]either|[Ww]ithout) ([a-z]+)", statement.sentence)
    return any(map(statement.asks, denied_nouns))


def _is_asked(statement: Statement) -> bool:
    """Check whether the sentence only asks for the answer, or says that somebody asks.

    An example is "Someone asks if the tent was 180 pounds" for "How much was the tent?".
    """
    if statement.sentence.rstrip().endswith("?"):
        return True

    # "Two votes went to Pia Lane; who chairs the choir is settled in June" for "Who chairs the choir?"
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
    # A comma ends the clause behind "if", but not the clause behind "whether".
    if conjunction[0] != "whether" and "," in statement.before[conjunction.end() :]:
        return False
    return statement.is_governed(conjunction.end())


def _is_open(statement: Statement) -> bool:
    """Check whether a remark behind the answer leaves the answer open, as in "14 March (to be confirmed)"."""
    remark = _REMARK.match(statement.after)
    if remark is None:
        return False
    if remark["left"] is not None:
        return True

    aside = remark["aside"] or ""
    # "3 June (no gifts, please)" asks the reader for something and leaves nothing open.
    is_request = re.search(r"\bplease\b", aside, re.IGNORECASE) is not None
    return not is_request and _LEFT_OPEN.search(aside) is not None


def _is_excepted(statement: Statement) -> bool:
    """Check whether the sentence makes an exception of the answer, as in "All members except Max Crow have voted"."""
    if _NEGATION.search(statement.question):
        return False
    match = _EXCEPTION.search(statement.before)
    if match is None:
        # The answer "everybody except Max Crow" contains an exception itself. If the exception begins with a capital
        # letter, it may be a name.
        without_last_word, _, _ = statement.answer.rpartition(" ")
        match = _EXCEPTION.search(f"{without_last_word} ")
        return match is not None and match[0].split()[0].islower()
    return not _FINITE.search(match[0]) and not statement.asks(match[0])


def _is_over(statement: Statement) -> bool:
    """Check whether the sentence describes an earlier time, while the question asks about the present.

    Examples for "Who is the cook of the hostel?" are "Pia Lane was the cook of the hostel until June" and "The cook of
    the hostel was Pia Lane".
    """
    if not ASKS_PRESENT.search(statement.question) or _OVER.search(statement.question):
        return False
    if _is_span_of_present(statement):
        return False

    own_clauses = statement.own_clauses
    first_clause = own_clauses[0]
    # "The cook is Eva, who followed Ann, who was the cook until June" gives the present cook in its first clause.
    is_in_present = re.search(r"\b(?:is|are)\b", first_clause) is not None
    is_told = is_in_present and statement.asks_most(first_clause)

    may_end_clause = not _LIMIT.search(statement.before) and not _UNTIL_DONE.search(first_clause)
    clauses = own_clauses if is_told else statement.clauses
    if may_end_clause and any(map(_OVER.search, clauses)):
        return True

    verb = _FINITE.search(statement.sentence)
    is_past = verb is not None and verb[0] in ("was", "were", "had")
    if is_past and re.search(r"\b(?:until|till)\b", statement.after):
        return True

    if _WAS_JUST.search(statement.before) and statement.asks_most(statement.before):
        return _ONCE.match(statement.before) is None

    clauses_on_office = own_clauses if is_told else [statement.sentence]
    return _was_in_office(statement, clauses_on_office)


def _is_span_of_present(statement: Statement) -> bool:
    """Check whether the answer is a time with an end that holds in the present.

    An example is "The office is open from 9 until 17".
    """
    is_span = _SPAN.search(statement.answer) is not None or statement.before.endswith("from ")
    is_past = any(map(_PAST.search, statement.own_clauses))
    return is_span and not is_past and not _OVER.search(statement.after)


def _was_in_office(statement: Statement, clauses: list[str]) -> bool:
    """Check whether the office of the question stands behind a verb in the past, as in "Bo had been the mayor"."""
    asked = _OFFICE.search(statement.question)
    if asked is None:
        return False
    office = re.escape(asked[1].split()[-1])
    held_office = re.compile(rf"\b(?:was|were|had been) (?:{DETERMINER} )?(?:\w+ ){{0,2}}{office}\b")
    return any(map(held_office.search, clauses))


def _is_conditional(statement: Statement) -> bool:
    """Check whether the answer holds only under a condition that the question does not name.

    An example is "If a trailer is pulled, the toll is 3 pounds" for "How much is the toll?".
    """
    # "In case of fire, call the emergency number 112" says which number it is. So it answers "What is the emergency
    # number?".
    called = _CALLED.search(statement.before)
    if called and statement.asked and statement.asked == stems_of(called[1]):
        return False

    begin, end = len(statement.before), len(statement.sentence) - len(statement.after)
    for match in _CONDITION.finditer(statement.sentence):
        # The condition is a part of the answer.
        if begin <= match.start() < end:
            continue

        # In "They became rich, selling what they had in case of loss" the condition does not apply to "became rich".
        between = statement.sentence[end : match.start()]
        if re.search(r"[,;:(] ?(?:\w+ing|which|who|where|but|and)\b", between):
            continue
        if _is_unasked_condition(statement, match):
            return True
    return False


def _is_unasked_condition(statement: Statement, match: re.Match[str]) -> bool:
    """Check whether the question lacks most words of a condition, which is a match of ``_CONDITION``."""
    if _BY_DEFAULT.match(match["text"]):
        return False
    if match["word"].lower() == "unless" and "unless" not in statement.question.lower():
        return True

    stems = {stem(word) for word in words_of(match["text"]) if word not in COMMON}
    if not stems:
        return False
    asked_stems = stems & statement.asked
    return match["only"] is not None or len(asked_stems) < len(stems) / 2


def _is_limit(statement: Statement) -> bool:
    """Check whether the answer is only a limit, as "1820" in "The quay was built before 1820"."""
    match = _LIMIT.search(statement.before)
    if match is None:
        return False
    word = match[1]
    if word in statement.question.lower() or statement.is_not_until:
        return False
    # "The bill was drawn after Jefferson" sets no limit for "Whose face is it?".
    if not re.search(r"\d", statement.answer) and not _ASKS_MEASURE.search(statement.question):
        return False
    asks_limit = _ASKS_LIMIT.get(word)
    return asks_limit is None or re.search(asks_limit, statement.question, re.IGNORECASE) is None


def _is_nearly(statement: Statement) -> bool:
    """Check whether what is asked for only nearly happened, as in "Bo Lind nearly won the regatta"."""
    return any(statement.asks(match[1]) for match in _NEARLY.finditer(statement.sentence))


def _is_relative(statement: Statement) -> bool:
    """Check whether the sentence is about somebody else, such as a relative or a deputy of the answer.

    An example is "The sister of Ivo Marsh is the new vet" for "Who is the new vet?".
    """
    if not ASKS_PERSON.search(statement.question):
        return False
    # "The sister of Ada is the vet"
    relative_before = re.search(
        r"(?:^|[,;] |\bthat )(?:the|an?) (?:\w+ )?([a-z]+) (?:of|to) $", statement.before, re.IGNORECASE
    )
    if relative_before and _tells_of_relative(statement, relative_before[1], statement.after):
        return True

    # "Ada's sister is the vet"
    relative_behind = re.match(r"['\u2019]s? (?:[a-z]+ )??([a-z]+)\b", statement.after)
    if relative_behind:
        behind_relative = statement.after[relative_behind.end() :]
        if _tells_of_relative(statement, relative_behind[1], behind_relative):
            return True
    return _tells_of_neighbour(statement) or _is_by_office(statement)


def _tells_of_relative(statement: Statement, relative: str, behind: str) -> bool:
    """Check whether the question asks for the words behind a noun such as "sister", but not for the noun itself."""
    next_words = " ".join(behind.split()[:5])
    return not statement.asks(relative) and statement.asks(next_words)


def _tells_of_neighbour(statement: Statement) -> bool:
    """Check whether the verb behind the answer has another subject than the answer.

    Examples are "A boy who replaced Sven is the goalkeeper" and "Ann took over from Cyril and manages the depot".
    """
    after = re.match(r" (?P<joined>and )?(?:[^\W_]+ ?){1,5}", statement.after)
    if after is None or not statement.asks_most(after[0]):
        return False
    if re.search(r"\b(?:who|that|which)(?: [a-z]+){1,3} $", statement.before):
        return True
    is_joined = after["joined"] is not None
    return is_joined and re.search(r"[a-z] (?:from|after|for|with) $", statement.before) is not None


def _is_by_office(statement: Statement) -> bool:
    """Check whether the office that is asked for only describes another person, as in "the deputy of the mayor"."""
    match = _OFFICE.search(statement.question)
    if match is None:
        return False

    office = re.escape(match[1])
    occurrences = re.findall(rf"\b{office}\b", statement.sentence)
    # "the deputy of the mayor" or "the mayor's deputy"
    governed = rf"\b([a-z]+) (?:of|for|to) (?:{DETERMINER} )?{office}\b|\b{office}['\u2019]s? ([a-z]+)"
    governors = [before or behind for before, behind in re.findall(governed, statement.sentence)]
    if not occurrences or len(governors) != len(occurrences):
        return False
    return not any(map(statement.asks, governors))


# The function that checks for each doubt. The order matters, because :func:`find_doubt` returns the first doubt.
_FORMS: dict[str, Callable[[Statement], bool]] = {
    "negation": _is_denied,
    "unrealised": is_unrealised,
    "hearsay": is_hearsay,
    "asked": _is_asked,
    "open": _is_open,
    "alternative": is_alternative,
    "exception": _is_excepted,
    "over": _is_over,
    "condition": _is_conditional,
    "limit": _is_limit,
    "nearly": _is_nearly,
    "taken back": is_taken_back,
    "framed": is_framed,
    "restricted": is_restricted,
    "other person": is_of_another_person,
    "total": is_total,
    "other member": is_other_member,
    "other option": is_other_option,
    "relative": _is_relative,
    **ANOTHER,
    **COUNTERPART,
    **WRONG_KIND,
}
