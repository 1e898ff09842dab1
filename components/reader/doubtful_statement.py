"""Tell by its form that a text has the words of an answer but does not state it: denied, planned, rumoured, outlived.

The grammar of English decides: negations, modal verbs, conjunctions, prepositions, and the place of the answer and of
the question's words between them. No list of topics is used; the short lists of words that are stand in the reader's
card. A doubt only ever makes an answer less sure.
"""

import re
from collections.abc import Callable, Iterator

from prefrag.components.reader.another_thing import ANOTHER
from prefrag.components.reader.span_features import stem, stems_of
from prefrag.components.reader.statement import CLAUSE_END, COMMON, DETERMINER, Statement, statement_at, words_of
from prefrag.components.text.title_mentions import FUNCTION_WORDS

_NEGATION = re.compile(
    r"\b(?:[Nn]ot(?! only)|[Nn]ever|[Cc]annot|neither|nor|[Nn]obody|nothing|none|no longer)\b|n['\u2019]t\b"
    r"|\b(?:has|have|had|is|are) yet to\b"
    r"|\b[Nn]o(?= (?!doubt\b)[a-z]|[.,;]? ?$)"
)
# As people type them: "dont", "wo n't".
_DENIES_PLAINLY = re.compile(
    r"\b(?:wo|ca|do|did|does|is|are|was|were|has|have|had|could|would|should) ?n['\u2019]?t\b", re.IGNORECASE
)
_MODAL = re.compile(
    r"\b(?:would(?! (?:later|eventually|soon|go on)\b)|(?:could|must) have|might|should|may have|going to)\b"
)
_ASKS_MODAL = re.compile(r"\b(?:may|might|could|would|should)\b")
_IS_TO = re.compile(rf"\b(?:is|are|was|were|be) (?:\w+ly )?(?:supposed |due |meant )?to (?!{DETERMINER}\b)[a-z]")
_RULE_MODAL = re.compile(
    r"\b(?:would|could|might|should|may|going|will|shall|(?:is|are|was|were|be) (?:\w+ )?to)\b|['\u2019]ll\b"
)
_SHOULD_BE = re.compile(r"\b(?:should|is to|are to) be (?:[a-z]+ly )?([a-z]+)\b")
# "Who pays for repairs?", not "who paid" and not "who has paid".
_ASKS_SINGULAR = re.compile(r"^\W*(?:who|what|which [a-z]+) (?!(?:is|has|was|does)\b)[a-z]+(?<!s)s\b", re.IGNORECASE)
_FUTURE = re.compile(r"\b(?:will|shall|may)\b|['\u2019]ll\b")
_NOT_PAST = re.compile(r"\b(?:will|shall|do|does|is|are|can|must|should|going)\b", re.IGNORECASE)
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
# "Due to absorption of" has no infinitive: the endings of nouns.
_NOUN = r"[a-z]+(?:tion|sion|ment|ness|ity|ance|ence|ory|ship|ism)s?"
_OF_THAT = re.compile(r"(?:it|he|she|they|this|these|there)\b", re.IGNORECASE)
# What an infinitive or a gerund is about: "to sell the orchard", "to be captain", "of cutting the cable".
_OBJECT = rf" (?:{DETERMINER}|(?:to|for|in|on|at|with|from|of|as)(?: {DETERMINER})?)((?: [^\W_]+){{1,3}})"
_NOT_DONE = re.compile(
    rf"\bto (?!{DETERMINER}\b|as\b|{_NOUN}\b)(?:(?:have )?([a-z]+){_OBJECT}|be((?: [^\W_]+){{1,3}}))"
    rf"|(?:\b(?:of|from|about|against|with)|(?:ed|wn|en) for) ([a-z]+ing){_OBJECT}"
)
# "The first woman to win the prize" did win it.
_REALISED = re.compile(
    r"\b(?:first|second|third|last|next|only|\w+est|manage[sd]?|went on|goes on|began|begins?|continue[sd]?"
    r"|start(?:s|ed)?|came|comes?|help(?:s|ed)?|able|had)\b"
    r"[^,;]{0,30}$"
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
_ASKS_PERSON = re.compile(r"^\W*(?:and )?who(?:m|se)?\b", re.IGNORECASE)
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
    return next((name for name, is_so in _FORMS.items() if statement and is_so(statement)), "")


def _is_denied(statement: Statement) -> bool:
    if _DENIES_PLAINLY.search(statement.question) or statement.is_named_so:
        return False
    # "It was not finished until 1769" says when it was finished.
    if statement.matches(_NEGATION) and not statement.is_not_until:
        return True
    lacking = re.findall(r"\b(?:[Nn]o|[Nn]either|[Ww]ithout) ([a-z]+)", statement.sentence)
    return any(map(statement.asks, lacking)) and not re.search(r"\b(?:no|not|without)\b|n't", statement.question)


def _is_hearsay(statement: Statement) -> bool:
    if _asks_report(statement):
        return False
    source, said = _SOURCE.search(statement.sentence), _HEARSAY.search(statement.sentence)
    # "What was Ann accused of?" asks for what she was "accused of having" done.
    is_asked = said is not None and said["charge"] is not None and statement.asks(said["charge"])
    is_source = source is not None and (statement.asks(source[1]) or statement.answer in source[1])
    is_official = source is not None and _OFFICIAL.match(source[1]) is not None
    done = _TO_HAVE.search(statement.sentence)
    # "One of only ten to have done it" did it.
    is_claim = (
        done is not None and statement.matches(_TO_HAVE) and not _REALISED.search(statement.before[: done.start()])
    )
    if is_claim or (not is_asked and statement.matches(_HEARSAY)) or (source and not is_source and not is_official):
        return True
    return any(_is_reported(statement, match) for match in _COMPLEMENT.finditer(statement.sentence)) or any(
        not _is_vouched(statement, match) and statement.is_governed(match.end())
        for match in _reports(statement)
        if not match["name"] or match["name"].lower() not in FUNCTION_WORDS
    )


def _asks_report(statement: Statement) -> bool:
    """Check whether the question asks what somebody of the sentence says: "what does Ann think is the best time?"."""
    asked = _ASKS_REPORT.search(statement.question)
    told = stems_of(f"{statement.named} {statement.sentence}")
    return asked is not None and any(stem(word) in told for word in words_of(asked["speaker"]) if word not in COMMON)


def _reports(statement: Statement) -> Iterator[re.Match[str]]:
    """Find the verbs of saying, by their place: before a clause with a verb of its own and no conjunction."""
    yield from _BARE_COMPLEMENT.finditer(statement.sentence)
    # "Ann says Eva leads the choir" for "who leads the choir?": the answer has a verb before it and its own behind it.
    deed = re.match(r" ([a-z]+)", statement.after)
    if deed and statement.asks(deed[1]) and _ASKS_PERSON.search(statement.question):
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
    is_of_that = _OF_THAT.match(rest) is not None or len(statement.before) == match.end()
    is_about = is_about or (is_governed and is_of_that)
    if is_relative or match["governor"] in FUNCTION_WORDS or not is_about:
        return False
    # "What did Ann say?" asks for the whole clause.
    asked = _ASKS_SAID.search(statement.question)
    is_whole = len(statement.before) == match.end() and not statement.after.strip(" .!\"'\u201d\u2019")
    is_said = asked is not None and is_whole and statement.asks(statement.sentence[: match.start()])
    return not is_said and not _is_vouched(statement, match)


def _is_vouched(statement: Statement, match: re.Match[str]) -> bool:
    """Check whether a verb is asked for, or what it governs is so: "the test showed that", not "tried to show that"."""
    plain = match.groupdict().get("plain")
    verb = (plain or match["governor"]).split()[0]
    if verb in FUNCTION_WORDS or statement.asks(verb):
        return True
    if _NOTICE.match(statement.sentence[: match.end()].removesuffix("that ").strip()):
        return True
    return _FACTIVE.fullmatch(verb) is not None and _UNREAL.search(statement.sentence[: match.start()]) is None


def _is_asked(statement: Statement) -> bool:
    """Check whether the sentence asks what the answer would say, or says that somebody asks it."""
    if statement.sentence.rstrip().endswith("?"):
        return True
    if any(
        statement.asks_most(match[0]) and not match.start() <= len(statement.before) < match.end()
        for match in _EMBEDDED.finditer(statement.sentence)
    ):
        return True
    matches = list(_INDIRECT.finditer(statement.before))
    if not matches or _ASKS_CASE.search(statement.question) or _INDIRECT.search(statement.question):
        return False
    is_whole = matches[-1][0] == "whether"
    return statement.is_governed(matches[-1].end()) and (is_whole or "," not in statement.before[matches[-1].end() :])


def _is_open(statement: Statement) -> bool:
    """Check whether a remark behind the answer leaves it open, as in "14 March (to be confirmed)"."""
    remark = _REMARK.match(statement.after)
    if remark is None:
        return False
    # "3 June (no gifts, please)" asks something of the reader.
    aside = remark["aside"] or ""
    is_request = re.search(r"\bplease\b", aside, re.IGNORECASE) is not None
    return remark["left"] is not None or (not is_request and _LEFT_OPEN.search(aside) is not None)


def _is_unrealised(statement: Statement) -> bool:
    if statement.is_named_so or _asks_report(statement):
        return False
    is_infinitive = statement.answer.startswith("to ")
    # "The costs shall be borne by the buyer" for "who bears the costs?", and "the filter should be changed monthly".
    is_rule = _is_prescribed(statement)
    # "What may it affect?" is answered by what it might affect.
    is_open = _ASKS_MODAL.search(statement.question) is not None
    if (
        (not is_open and statement.matches(_MODAL, True)) or (statement.matches(_IS_TO, True) and not is_infinitive)
    ) and not is_rule:
        return True
    is_present = _NOT_PAST.search(statement.question) or is_rule
    if not is_present and statement.matches(_FUTURE, True):
        return True
    if is_rule and _SHOULD_BE.search(statement.sentence):
        return False
    if re.search(rf"\bto (?!{DETERMINER}\b)[a-z]", statement.question) or is_infinitive:
        return False
    for match in _NOT_DONE.finditer(statement.sentence):
        clause = CLAUSE_END.split(statement.sentence[match.start() :])[0]
        # The answer itself was wanted to be done to, or most of what is asked was.
        is_wanted = match.start() < len(statement.before) < match.start() + len(clause)
        is_asked = statement.asks(" ".join(filter(None, match.groups()))) and statement.asks_most(clause)
        is_asked = is_asked or (is_wanted and statement.asks(match[1] or match[3] or match[4]))
        # "He was overthrown in 1985, but in 1989 they were able to overthrow the government."
        is_apart = statement.asks_most(CLAUSE_END.split(statement.before)[-1]) and match.start() > len(statement.before)
        if is_asked and not is_apart and not _REALISED.search(statement.sentence[: match.start()]):
            return True
    return False


def _is_prescribed(statement: Statement) -> bool:
    """Check whether a rule says what is asked for in the present: "shall", or "should be done" for "is it done?"."""
    modals = _RULE_MODAL.findall(statement.sentence)
    if modals == ["shall"]:
        return _ASKS_SINGULAR.search(statement.question) is not None and not statement.matches(_MODAL)
    done = _SHOULD_BE.search(statement.sentence)
    if done is None or len(modals) != 1 or _ASKS_PERSON.search(statement.question):
        return False
    return re.search(rf"\b(?:is|are)\b[^?]{{0,120}} {done[1]}\b", statement.question) is not None


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
    if any(map(_OVER.search, clauses)) and not _LIMIT.search(statement.before) and not _UNTIL_DONE.search(own[0]):
        return True
    verb = _FINITE.search(statement.sentence)
    if verb and verb[0] in ("was", "were", "had") and re.search(r"\b(?:until|till)\b", statement.after):
        return True
    if _WAS_JUST.search(statement.before) and statement.asks_most(statement.before):
        return _ONCE.match(statement.before) is None
    office = _OFFICE.search(statement.question)
    head = office[1].split()[-1] if office else ""
    past = re.compile(rf"\b(?:was|were|had been) (?:{DETERMINER} )?(?:\w+ ){{0,2}}{re.escape(head)}\b")
    return bool(head) and any(map(past.search, own if is_told else [statement.sentence]))


def _is_conditional(statement: Statement) -> bool:
    # "In case of fire, call the emergency number 112" tells which number it is, for "what is the emergency number?".
    called = _CALLED.search(statement.before)
    if called and statement.asked and statement.asked == stems_of(called[1]):
        return False
    for match in _CONDITION.finditer(statement.sentence):
        if len(statement.before) <= match.start() < len(statement.sentence) - len(statement.after):
            continue  # the answer has it itself
        # "They became rich, selling what they had in case of loss" sets no condition for their becoming rich.
        between = statement.sentence[len(statement.sentence) - len(statement.after) : match.start()]
        if re.search(r"[,;:(] ?(?:\w+ing|which|who|where|but|and)\b", between):
            continue
        if _BY_DEFAULT.match(match["text"]):
            continue
        if match["word"].lower() == "unless" and match["word"].lower() not in statement.question.lower():
            return True
        needed = {stem(word) for word in words_of(match["text"]) if word not in COMMON}
        if needed and (len(needed & statement.asked) < len(needed) / 2 or match["only"]):
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


def _is_taken_back(statement: Statement) -> bool:
    """Check whether a verdict without anything of its own ends the sentence, or is the whole next sentence."""
    near = [sentence.strip() for sentence in (statement.following, *statement.later)]
    if any(map(_UNTRUE.fullmatch, near)):
        return True
    following, *later = ["" if _leaves_it(statement, sentence) else sentence for sentence in near]
    on_it = (form.fullmatch(sentence) for form in (_REFUTED, _ON_THIS) for sentence in (following, *later))
    if _LABEL.fullmatch(following) or any(on_it):
        return True
    verdict = _VERDICT.fullmatch(following) or _CLOSING.search(statement.after)
    verdict = verdict or next(filter(None, (_verdict_on(statement, sentence) for sentence in later)), None)
    if verdict is None and _GOVERNED.search(statement.before):
        verdict = _WHOLE.search(statement.after)
    if verdict is None:
        return False
    verb = verdict["done"] or verdict["did"] or ""
    return not statement.asks(verb) and verb not in FUNCTION_WORDS


def _leaves_it(statement: Statement, sentence: str) -> bool:
    """Check whether a later sentence affirms the statement, or says what came of a thing after the deed asked for."""
    return _AFFIRMED.fullmatch(sentence) is not None or _is_after_deed(statement, sentence)


def _is_after_deed(statement: Statement, following: str) -> bool:
    """Check whether the sentence says that what is asked for was done, and a later one what came of the thing."""
    asked, later = _ASKS_DEED.search(statement.question), _LATER_DEED.match(following)
    if asked is None or later is None or (later["noun"] and not re.search(rf"\b{later['noun']}\b", statement.sentence)):
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
    subject, verdict = _PRONOUN.match(sentence), _VERDICT.fullmatch(sentence.strip())
    is_on_it = subject is not None and (not subject["noun"] or stem(subject["noun"]) in stems_of(statement.sentence))
    return verdict if is_on_it else None


def _is_relative(statement: Statement) -> bool:
    """Check whether the answer only names somebody's relative or deputy, as in "the sister of Ada is the vet"."""
    if not _ASKS_PERSON.search(statement.question):
        return False
    of = re.search(r"(?:^|[,;] |\bthat )(?:the|an?) (?:\w+ )?([a-z]+) (?:of|to) $", statement.before, re.IGNORECASE)
    own = re.match(r"['\u2019]s? (?:[a-z]+ )??([a-z]+)\b", statement.after)
    for match, rest in ((of, statement.after), (own, statement.after[own.end() :] if own else "")):
        if match and not statement.asks(match[1]) and statement.asks(" ".join(rest.split()[:5])):
            return True
    # "A boy who replaced Sven is the goalkeeper", "Ann took over from Cyril and manages the depot".
    after = re.match(r" (?P<joined>and )?(?:[^\W_]+ ?){1,5}", statement.after)
    is_other = re.search(r"\b(?:who|that|which)(?: [a-z]+){1,3} $", statement.before)
    is_source = (
        after is not None and after["joined"] and re.search(r"[a-z] (?:from|after|for|with) $", statement.before)
    )
    if after and (is_other or is_source) and statement.asks_most(after[0]):
        return True
    office = _OFFICE.search(statement.question)
    if office is None:
        return False
    head = re.escape(office[1])
    governed = rf"\b([a-z]+) (?:of|for|to) (?:{DETERMINER} )?{head}\b|\b{head}['\u2019]s? ([a-z]+)"
    governors = [left or right for left, right in re.findall(governed, statement.sentence)]
    return len(governors) == len(re.findall(rf"\b{head}\b", statement.sentence)) > 0 and not any(
        map(statement.asks, governors)
    )


_FORMS: dict[str, Callable[[Statement], bool]] = {
    "negation": _is_denied,
    "unrealised": _is_unrealised,
    "hearsay": _is_hearsay,
    "asked": _is_asked,
    "open": _is_open,
    "exception": _is_excepted,
    "over": _is_over,
    "condition": _is_conditional,
    "limit": _is_limit,
    "nearly": _is_nearly,
    "taken back": _is_taken_back,
    "relative": _is_relative,
    **ANOTHER,
}
