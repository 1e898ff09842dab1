"""Tell by its form that a text has the words of an answer but does not state it: denied, planned, rumoured, outlived.

Only the grammar of English decides: negations, modal verbs, conjunctions, prepositions, and the place of the answer and
of the question's words between them. No list of topics is used. A doubt only ever makes an answer less sure.
"""

import itertools
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from prefrag.components.reader.question_form import identifies_by_another
from prefrag.components.reader.span_features import stem, stems_of
from prefrag.components.state.evidence import find_whole
from prefrag.components.text.sentences import sentence_spans
from prefrag.components.text.term_statistics import PLAIN_WORDS
from prefrag.components.text.title_mentions import FUNCTION_WORDS

_WORD = re.compile(r"[^\W_]+(?:['\u2019][^\W_]+)?")
_CLAUSE_END = re.compile(
    r"[,;:](?!\d)|[()\u2013\u2014]|\s(?:but|while|whereas|although|though)\s"
    r"|\s(?:and|or)\s(?=(?:it|he|she|they|this|the|is|are|was|were|has|have|had|does|do|did)\b)"
    r"|\s(?=(?:that|which|who) (?:is|are|was|were|has|have|had|does|do|did|will|can)\b)"
)
_DETERMINER = r"(?:the|an?|his|her|its|their|our|my|this|that|these|those)"
_NEGATION = re.compile(
    r"\b(?:[Nn]ot(?! only)|[Nn]ever|[Cc]annot|neither|nor|nobody|nothing|none|no longer|(?:has|have|had|is|are) yet to)\b|n['\u2019]t\b"
    r"|\b[Nn]o(?= [a-z]|[.,;]? ?$)"
)
_NOT_UNTIL = re.compile(r"\bnot [^,;]*\b(?:until|till)\b[^,;]*$")
_MODAL = re.compile(
    r"\b(?:would(?! (?:later|eventually|soon|go on)\b)|(?:could|must) have|might|should|may have|going to)\b"
)
_IS_TO = re.compile(r"\b(?:is|are|was|were|be) (?:\w+ly )?(?:supposed |due |meant )?to [a-z]")
_FUTURE = re.compile(r"\b(?:will|shall|may)\b|['\u2019]ll\b")
_NOT_PAST = re.compile(r"\b(?:will|shall|do|does|is|are|can|must|should|going)\b", re.IGNORECASE)
_HEARSAY = re.compile(
    r"\b(?:perhaps|maybe|possibly|probably|presumably|apparently|allegedly|reportedly|supposedly|seemingly|purportedly"
    r"|whether|to have (?:been )?(?!to )\w+|(?:of|from|with|denie[sd]|denying) having)\b"
    r"|\b(?:is|are|was|were|been) (?:said|thought|\w+ed) to (?:be|have)\b",
    re.IGNORECASE,
)
_SOURCE = re.compile(r"(?:^|[,;] )[Aa]ccording to ((?:[^\W_]+ ?){1,4})")
_COMPLEMENT = re.compile(
    r"\b(?P<governor>[a-z]+) that (?=(?:he|she|it|they|we|I|there|some|no|most|many|all|both|one|two|[A-Z]\w+|\d+"
    r"|(?:in|on|at|after|before|since|during|between|under|over|for|by|with|from|to) \w+|" + _DETERMINER + r")\b)"
)
# "The claim that he left the door open" reports; "the novel that he wrote in June" has its object before "that".
_WHOLE_CLAUSE = re.compile(rf"(?:[^\W_]+ ){{1,3}}(?:to [a-z]|{_DETERMINER} )")
_MAIN_CLAUSE = re.compile(r";|\sbut\s")
# What an infinitive or a gerund is about: "to sell the orchard", "to be captain", "of cutting the cable".
_OBJECT = rf" (?:{_DETERMINER}|(?:to|for|in|on|at|with|from|of|as)(?: {_DETERMINER})?)((?: [^\W_]+){{1,3}})"
_NOT_DONE = re.compile(
    rf"\bto (?!{_DETERMINER}\b|as\b)(?:(?:have )?([a-z]+){_OBJECT}|be((?: [^\W_]+){{1,3}}))"
    rf"|(?:\b(?:of|from|about|against|with)|(?:ed|wn|en) for) ([a-z]+ing){_OBJECT}"
)
# "The first woman to win the prize" did win it.
_REALISED = re.compile(
    r"\b(?:first|second|third|last|next|only|\w+est|managed|went on|began|continued|started|came|helped|had)\b"
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
_WAS_JUST = re.compile(rf"^[^,;:]*\b(?:was|were) (?:(?:at|in|on) )?(?:{_DETERMINER} )?$")
_ASKS_PRESENT = re.compile(
    r"\b(?:is|are|does|do|has|have)\b|^\W*(?:who|which \w+|what) (?!was\b)\w+(?<!s)s\b", re.IGNORECASE
)
_INDIRECT = re.compile(r"\b(?:whether|(?<!even )(?<!as )(?<!only )(?<=[a-z] )if)\b")
_ASKS_CASE = re.compile(r"^\W*(?:(?:and )?when|how (?!many|much|long|old|far|high|big)|why|(?:in|under|on) what|what (?:if|happens|must|should|to))\b", re.I)
_EMBEDDED = re.compile(r"(?:^|[;:] )[Ww]ho(?:m|se)? [^,;:.?]+")
_REMARK = re.compile(r"\s*(?:\((?P<aside>[^()]*)\)|, (?P<left>to be [a-z]+))")
_LEFT_OPEN = re.compile(r"\?|\bto be [a-z]+(?:ed|en)\b|\b(?:tb[acd]|not|no|if|unless|might|may)\b", re.IGNORECASE)
_ITEM = re.compile(r"\s*(?:[-*\u2022]|\d{1,3}[.)])\s")
_CONDITION = re.compile(
    r"(?<!even )\b(?P<only>only )?(?:if|unless|provided that|in case|(?<!with )assuming|as long as)\b(?P<text>[^,;()]*)",
    re.IGNORECASE,
)
_LIMIT = re.compile(r"\b(before|after|until|till|prior to|than)\s+(?:the )?$")
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
_PRONOUN = re.compile(r"(?:It|This|That|These|Those|[Tt]he (?P<noun>[a-z]+)) ")
_CLOSING = re.compile(rf"(?:\b(?:but|and) (?:{_SUBJECT} )?|[;,] {_SUBJECT} )(?:{_DONE}|(?P<did>[a-z]+ed)){_PARTICLE}$")
_WHOLE = re.compile(rf"^[^,;]*?\b(?:{_DONE}|(?P<did>fell)){_PARTICLE}$")
_ASKS_PERSON = re.compile(r"^\W*(?:and )?who(?:m|se)?\b", re.IGNORECASE)
_ACTIVE = re.compile(
    r"^\W*who (?!(?:is|are|was|were|has|have|had|did|does|do|will|can|could|would)\b)([a-z]+)", re.IGNORECASE
)
_OFFICE = re.compile(
    rf"^\W*who (?:is|are|was|were) (?:{_DETERMINER} )?([^?]+?)(?: (?:of|in|at|for|on|to)\b|\W*$)", re.I
)
_PROPERTY = re.compile(r"^\W*what(?:'s| is| are| was| were) the (?:[^\W_]+ )*?([^\W_]+) (?:of|for|to)\b", re.IGNORECASE)
# The words before a phrase with a noun, as in "the fax number" or "of the harbour fee".
_OPENS_PHRASE = re.compile(rf"{_DETERMINER}|of|in|on|at|for|with|from|by|to|most|all", re.IGNORECASE)
_PAUSE = re.compile(r"[.,;:!?()\"\u2013\u2014]+")
_ORDER = re.compile(
    r"\b(?:(?P<before>before|prior to|until|till|up to)|(?P<after>after|since|following|from))\b(?P<time>(?: [^\W_]+){1,5})",
    re.IGNORECASE,
)
_DID = re.compile(r"\bdid ((?:[A-Z][\w.]*)(?: [A-Z][\w.]*)*) ([a-z]+)")
# "Who did the goose look at?" is not answered by "Ann looked at the goose".
_ENDS_IN = re.compile(
    rf"\b[Ww](?:ho|hom|hat) did (?:{_DETERMINER} )?(?P<doer>(?!{_DETERMINER} )[^\W_]+)\b.* (?P<last>on|at|to|with|for|from)\W*$"
)
_DEED = re.compile(
    rf"^\W*(?:who|what) ([a-z]+ed|won|wrote|led|built|made|took|sold|drew|bought) ((?:{_DETERMINER} )?[^?]+)", re.I
)
_SLOT = re.compile(r"\s(?:of|in|on|at|for|with|from|by|to|as|and|or|into|over|after|before|during)\s|[,;:()]")
_PASSIVE = re.compile(r"\b(?:is|are|was|were) (?:[^\W_]+ ){0,4}?([^\W_]+) ([a-z]+ed)\b(?! by\b)")
_NAME = re.compile(r"\b([A-Z][a-z]+) ([A-Z][a-z]+)\b")
_COMMON = PLAIN_WORDS | FUNCTION_WORDS
_PREFIXES = ("un", "mis", "dis", "non", "in", "im", "ir", "il")
_SIDES = "north/south east/west northern/southern eastern/western left/right upper/lower inner/outer front/rear"
_TIMES = "morning/evening morning/afternoon morning/night day/night winter/summer spring/autumn old/new"
_OPPOSITES = tuple(frozenset(pair.split("/")) for pair in f"{_SIDES} {_TIMES}".split())
_NUMBERED = re.compile(
    r"\b([^\W\d_]{3,}) (?:(?:number|no\.?|nr\.?) )?(\d+(?:(?:, | and | or | to | & |-|\u2013)\d+)*)\b", re.IGNORECASE
)


@dataclass(frozen=True)
class _Statement:
    """A sentence with an answer, and what stands around it."""

    question: str
    sentence: str
    before: str  # the sentence up to the answer
    after: str  # and from its end
    following: str  # the next sentence
    later: tuple[str, ...]  # the sentences that begin the next two paragraphs
    opening: str  # the line before a list, where the sentence is an item of it
    named: str  # the title of the passage
    others: str  # the passage's other sentences, one a line

    @cached_property
    def asked(self) -> frozenset[str]:
        """The stems of the question's words that are no function words."""
        return frozenset(stem(word) for word in _words(self.question) if word not in _COMMON)

    @cached_property
    def clauses(self) -> list[str]:
        """The clauses with the answer, with most of the question's words, and with "who" after the answer."""
        begin, end = len(self.before), len(self.sentence) - len(self.after)
        edges = [0, *(match.end() for match in _CLAUSE_END.finditer(self.sentence)), len(self.sentence)]
        spans = [(left, right) for left, right in pairwise(edges) if left < right]
        clauses = [
            self.sentence[left:right]
            for left, right in spans
            if (left <= begin < right or left < end <= right)
            or self.asks_most(self.sentence[left:right])
            or (left <= end + 2 and right > end and re.match(r"\s*(?:who|which)\b", self.sentence[left:right]))
        ]
        return [*clauses, self.opening] if self.opening else clauses

    @cached_property
    def answer(self) -> str:
        """The answer, as it stands in the sentence."""
        return self.sentence[len(self.before) : len(self.sentence) - len(self.after)]

    def matches(self, pattern: re.Pattern[str]) -> bool:
        """Check whether a clause has a form that neither the question nor the answer has."""
        is_free = not pattern.search(self.question) and not pattern.search(self.answer)
        return is_free and any(pattern.search(clause) for clause in self.clauses)

    def is_governed(self, place: int) -> bool:
        """Check whether what begins at a place of the sentence governs the answer, with no main clause between."""
        return place <= len(self.before) and _MAIN_CLAUSE.search(self.before, place) is None

    def asks_most(self, text: str) -> bool:
        """Check whether a part of the sentence has most of the question's words that the sentence has."""
        shared = self.asked & stems_of(self.sentence)
        return bool(shared) and 2 * len(shared & stems_of(text)) > len(shared)

    def is_judged_by(self, sentence: str) -> re.Match[str] | None:
        """Match the verdict of a paragraph's first sentence, if it is on this sentence or on something it names."""
        subject, verdict = _PRONOUN.match(sentence), _VERDICT.fullmatch(sentence.strip())
        is_on_it = subject is not None and (not subject["noun"] or stem(subject["noun"]) in stems_of(self.sentence))
        return verdict if is_on_it else None

    def asks(self, text: str) -> bool:
        """Check whether a text has a word of the question."""
        return not self.asked.isdisjoint(stems_of(text))


def find_doubt(question: str, title: str, text: str, begin: int, end: int) -> str:
    """Find why a passage may not state an answer, although it has its words.

    :param question: The question, in English.
    :param title: The title of the passage; empty if it has none.
    :param text: The text of the passage.
    :param begin: The index of the answer's first character in the text.
    :param end: The index after its last character.
    :returns: The form that raises the doubt, such as ``negation``; empty if there is none.
    """
    spans = sentence_spans(text)
    number = max((place for place, span in enumerate(spans) if span[0] <= begin), default=None)
    if number is None:
        return ""
    first, last = spans[number][0], max(spans[number][1], end)
    following = text[slice(*spans[number + 1])] if number + 1 < len(spans) else ""
    others = "\n".join(text[left:right] for place, (left, right) in enumerate(spans) if place != number)
    later = [text[slice(*span)] for span in spans[number + 2 :] if "\n\n" in text[span[0] - 2 : span[0]]]
    places = itertools.takewhile(lambda place: _ITEM.match(text, spans[place][0]), range(number, -1, -1))
    lead = number - len(list(places))
    opening = text[slice(*spans[lead])] if 0 <= lead < number else ""
    statement = _Statement(
        question,
        text[first:last],
        text[first:begin],
        text[end:last],
        following,
        tuple(later[:2]),
        opening if opening.endswith(":") else "",
        title,
        others,
    )
    return next((name for name, is_so in _FORMS.items() if is_so(statement)), "")


def _words(text: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(text)]


def _is_denied(statement: _Statement) -> bool:
    # "It was not finished until 1769" says when it was finished.
    if statement.matches(_NEGATION) and not _NOT_UNTIL.search(statement.before):
        return True
    lacking = re.findall(r"\b(?:[Nn]o|[Nn]either|[Ww]ithout) ([a-z]+)", statement.sentence)
    return any(map(statement.asks, lacking)) and not re.search(r"\b(?:no|not|without)\b|n't", statement.question)


def _is_hearsay(statement: _Statement) -> bool:
    source = _SOURCE.search(statement.sentence)
    if statement.matches(_HEARSAY) or (source and not statement.asks(source[1])):
        return True
    for match in _COMPLEMENT.finditer(statement.sentence):
        # "The novel that he wrote" is a relative clause: a noun with its article stands before "that".
        is_noun = re.search(rf"\b{_DETERMINER} $", statement.sentence[: match.start()], re.IGNORECASE)
        is_relative = is_noun and not _WHOLE_CLAUSE.match(statement.sentence, match.end())
        is_verb = not is_relative and match["governor"] not in FUNCTION_WORDS
        rest = statement.sentence[match.end() :]
        is_about = statement.asks_most(_CLAUSE_END.split(rest)[0]) or statement.is_governed(match.end())
        if is_verb and is_about and not statement.asks(match["governor"]):
            return True
    return False


def _is_asked(statement: _Statement) -> bool:
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


def _is_open(statement: _Statement) -> bool:
    """Check whether a remark behind the answer leaves it open, as in "14 March (to be confirmed)"."""
    remark = _REMARK.match(statement.after)
    return remark is not None and (remark["left"] is not None or _LEFT_OPEN.search(remark["aside"]) is not None)


def _is_unrealised(statement: _Statement) -> bool:
    is_infinitive = statement.answer.startswith("to ")
    if statement.matches(_MODAL) or (statement.matches(_IS_TO) and not is_infinitive):
        return True
    if (not _NOT_PAST.search(statement.question) and statement.matches(_FUTURE)):
        return True
    if re.search(rf"\bto (?!{_DETERMINER}\b)[a-z]", statement.question) or is_infinitive:
        return False
    for match in _NOT_DONE.finditer(statement.sentence):
        clause = _CLAUSE_END.split(statement.sentence[match.start() :])[0]
        # The answer itself was wanted to be done to, or most of what is asked was.
        is_wanted = match.start() < len(statement.before) < match.start() + len(clause)
        is_asked = statement.asks(" ".join(filter(None, match.groups()))) and statement.asks_most(clause)
        is_asked = is_asked or (is_wanted and statement.asks(match[1] or match[3] or match[4]))
        # "He was overthrown in 1985, but in 1989 they were able to overthrow the government."
        is_apart = statement.asks_most(_CLAUSE_END.split(statement.before)[-1]) and match.start() > len(
            statement.before
        )
        if is_asked and not is_apart and not _REALISED.search(statement.sentence[: match.start()]):
            return True
    return False


def _is_excepted(statement: _Statement) -> bool:
    match = _EXCEPTION.search(statement.before)
    if match is None:
        # An answer such as "everybody except Al" is no name of somebody.
        return _EXCEPTION.search(statement.answer.rpartition(" ")[0] + " ") is not None
    return not _FINITE.search(match[0]) and not statement.asks(match[0])


def _is_over(statement: _Statement) -> bool:
    if not _ASKS_PRESENT.search(statement.question) or _OVER.search(statement.question):
        return False
    if any(_OVER.search(clause) for clause in statement.clauses) and not _LIMIT.search(statement.before):
        return True
    verb = _FINITE.search(statement.sentence)
    if verb and verb[0] in ("was", "were", "had") and re.search(r"\b(?:until|till)\b", statement.after):
        return True
    if _WAS_JUST.search(statement.before) and statement.asks_most(statement.before):
        return True
    office = _OFFICE.search(statement.question)
    head = office[1].split()[-1] if office else ""
    past = rf"\b(?:was|were|had been) (?:{_DETERMINER} )?(?:\w+ ){{0,2}}{re.escape(head)}\b"
    return bool(head) and re.search(past, statement.sentence) is not None


def _is_conditional(statement: _Statement) -> bool:
    for match in _CONDITION.finditer(statement.sentence):
        # "They became rich, selling what they had in case of loss" sets no condition for their becoming rich.
        between = statement.sentence[len(statement.sentence) - len(statement.after) : match.start()]
        if re.search(r"[,;:(] ?(?:\w+ing|which|who|where|but|and)\b", between):
            continue
        needed = {stem(word) for word in _words(match["text"]) if word not in _COMMON}
        if needed and (len(needed & statement.asked) < len(needed) / 2 or match["only"]):
            return True
    return False


def _is_limit(statement: _Statement) -> bool:
    match = _LIMIT.search(statement.before)
    if match is None or match[1] in statement.question.lower() or _NOT_UNTIL.search(statement.before):
        return False
    ends = {"until": r"\b(?:clos|end|last|finish)", "till": r"\b(?:clos|end|last|finish)"}
    is_asked = ends.get(match[1], r"\b(?:least|most|over|under)\b" if match[1] == "than" else "$^")
    return re.search(is_asked, statement.question, re.IGNORECASE) is None


def _is_nearly(statement: _Statement) -> bool:
    return any(statement.asks(match[1]) for match in _NEARLY.finditer(statement.sentence))


def _is_taken_back(statement: _Statement) -> bool:
    """Check whether a verdict without anything of its own ends the sentence, or is the whole next sentence."""
    verdict = _VERDICT.fullmatch(statement.following.strip()) or _CLOSING.search(statement.after)
    verdict = verdict or next(filter(None, map(statement.is_judged_by, statement.later)), None)
    if _LABEL.fullmatch(statement.following.strip()):
        return True
    if verdict is None and _GOVERNED.search(statement.before):
        verdict = _WHOLE.search(statement.after)
    if verdict is None:
        return False
    verb = verdict["done"] or verdict["did"] or ""
    return not statement.asks(verb) and verb not in FUNCTION_WORDS


def _is_relative(statement: _Statement) -> bool:
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
    governed = rf"\b([a-z]+) (?:of|for|to) (?:{_DETERMINER} )?{head}\b|\b{head}['\u2019]s? ([a-z]+)"
    governors = [left or right for left, right in re.findall(governed, statement.sentence)]
    return len(governors) == len(re.findall(rf"\b{head}\b", statement.sentence)) > 0 and not any(
        map(statement.asks, governors)
    )


def _is_other_role(statement: _Statement) -> bool:
    """Check whether somebody is the object of what the question asks the subject of, as in "the doctor called Ola"."""
    for patient, deed in _PASSIVE.findall(statement.question):
        # "In 1973, Nixon named William" for "what was Nixon named?": an object follows, so he is the one who named.
        active = rf"\b{patient} (?:\w+ly )?{deed} (?:{_DETERMINER}\b|[A-Z])"
        if re.search(active, statement.sentence):
            return True
    for doer, deed in _DID.findall(statement.question):
        # "William conquered England, killing Harold" for "when did Harold conquer England?"
        done = re.search(rf"\b[A-Z]\w+ (?:\w+ly )?{deed}(?:e?d|s)\b(?! by\b)", statement.sentence)
        places = [match.start() for match in re.finditer(rf"\b{re.escape(doer)}\b", statement.sentence)]
        if done and places and min(places) > done.end() - len(deed):
            return True
    turned = _ENDS_IN.search(statement.question)
    if turned and re.search(rf"\b{turned['last']} (?:{_DETERMINER} )?{re.escape(turned['doer'])}\b", statement.sentence):
        return True
    match = _ACTIVE.search(statement.question)
    before = _words(re.split(r"[,;:|]", statement.before)[-1])
    verb = stem(match[1].lower()) if match else ""
    if not verb or not before or "by" in before or before[-1].endswith(("er", "or", "ing")):
        return False
    if verb not in stems_of(statement.sentence) and re.search(r"\b(?:is|are|was|were) \w+ed to $", statement.before):
        return True
    return stem(before[-1]) == verb or (before[-1] == "to" and verb in map(stem, before))


def _is_other_property(statement: _Statement) -> bool:
    """Check whether the property that is asked for stands in another sentence of the passage, but not in this one."""
    match = _PROPERTY.search(statement.question)
    if match is None or stem(match[1].lower()) in {"name", *stems_of(f"{statement.named} {statement.sentence}")}:
        return False
    return re.search(rf"^(?:The|Its) (?:[^\W_]+ )?{match[1]}\b", statement.others, re.MULTILINE) is not None


def _phrases(question: str) -> Iterator[tuple[str, str]]:
    """Find the pairs of neighbouring words in the phrases of a question: what tells a kind, and the noun."""
    is_in_phrase, last = False, ""
    for word in _words(question):
        if word in _COMMON:
            is_in_phrase, last = _OPENS_PHRASE.fullmatch(word) is not None, ""
            continue
        if is_in_phrase and last and not word.endswith(("ed", "ing")):
            yield last, word
        last = word


def _is_of_another_kind(kind: str, noun: str, said: str) -> bool:
    """Check whether a text has another kind of a noun than is asked for, and never this one: a fax for a telephone.

    The kind must be nowhere, or be said of other things alone, as in "martial spirit and Christian piety".
    """
    kind, noun = stem(kind), stem(noun)
    kinds: set[str] = set()
    nouns: set[str] = set()
    for part in _PAUSE.split(said):
        words = _words(part)
        stems = [stem(word) for word in words]
        for place, word in enumerate(stems):
            if word == noun and kind in stems[max(0, place - 3) : place]:
                return False
            if word == noun and place:
                kinds.add(words[place - 1])
            if word == kind:
                nouns.update(words[place + 1 : place + 2] or ["of"], {"of"} & set(words[max(0, place - 2) : place]))
    is_alike = any(kind in word or word in kind for word in kinds)
    return bool(kinds) and not is_alike and kinds.isdisjoint(_COMMON) and nouns.isdisjoint(FUNCTION_WORDS)


def _is_other_time(statement: _Statement) -> bool:
    """Check whether what is asked for after a time is said of the time before it, or the other way round."""
    for asked in _ORDER.finditer(statement.question):
        words = stems_of(asked["time"]) & statement.asked
        for told in _ORDER.finditer(statement.sentence):
            is_turned = (asked["before"] is None) != (told["before"] is None)
            if words and is_turned and 2 * len(words & stems_of(told["time"])) > len(words):
                return True
    return False


def _is_other_object(statement: _Statement) -> bool:
    """Check whether the deed that is asked for was done to something else, which the thing asked for stands beside.

    "Ida painted the ceiling of the church" does not say who painted the church.
    """
    match = _DEED.search(statement.question)
    if match is None:
        return False
    patient = stems_of(_SLOT.split(match[2])[0]) & statement.asked
    done = re.search(rf"\b{match[1]}\b(?P<by> by\b)?", statement.sentence)
    if done is None or not patient & stems_of(statement.sentence):
        return False
    before, after = statement.sentence[: done.start()], statement.sentence[done.end() :]
    rest = _PAUSE.split(before)[-1] if done["by"] else _SLOT.split(after)[0]
    said = {stem(word) for word in _words(rest) if word not in _COMMON}
    return bool(said) and bool(patient) and said.isdisjoint(patient)


def _is_turned(statement: _Statement) -> bool:
    """Check whether a word of the question stands in the sentence with a prefix that denies it, or without it."""
    told = set(_words(statement.sentence))
    asked = {word for word in _words(statement.question) if len(word) > 4} - told
    bare = {word for word in told if len(word) > 4} - set(_words(statement.question))
    return any(f"{prefix}{word}" in bare for word in asked for prefix in _PREFIXES) or any(
        f"{prefix}{word}" in asked for word in bare for prefix in _PREFIXES
    )


def _is_other_thing(statement: _Statement) -> bool:
    """Check whether the sentence names another number or another kind of the thing that is asked for."""
    said = f"{statement.named}. {statement.sentence}"
    numbers = [(stem(noun.lower()), re.findall(r"\d+", several)) for noun, several in _NUMBERED.findall(said)]
    for noun, number in _NUMBERED.findall(statement.question):
        others = [other for name, some in numbers if name == stem(noun.lower()) for other in some]
        if others and not set(re.findall(r"\d+", number)) <= set(others):
            return True
    # "When did Henry Grey's father die?" is answered by a text about George Grey.
    names = [] if identifies_by_another(statement.question) else _NAME.findall(statement.question)
    for name, last in names:
        firsts = [first for first, same in _NAME.findall(said) if same == last and first.lower() not in FUNCTION_WORDS]
        if firsts and not find_whole(name, said) and not any(first in statement.question for first in firsts):
            return True
    # The title tells the kind of everything below it.
    phrases = [pair for pair in _phrases(statement.question) if stem(pair[0]) not in stems_of(statement.named)]
    if any(_is_of_another_kind(kind, noun, said) for kind, noun in phrases):
        return True
    asked, told = set(_words(statement.question)), set(_words(said))
    return any(len(pair & asked) == 1 and pair & told and not pair & asked & told for pair in _OPPOSITES)


_FORMS: dict[str, Callable[[_Statement], bool]] = {
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
    "role": _is_other_role,
    "property": _is_other_property,
    "other thing": _is_other_thing,
    "other time": _is_other_time,
    "other object": _is_other_object,
    "turned": _is_turned,
}
