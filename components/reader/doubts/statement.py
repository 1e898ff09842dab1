"""Describe the sentence of a passage that contains a proposed answer.

The rules of this package look for a doubt: a reason why a sentence may not state the answer, although it contains the
words of the answer. Each rule receives a :class:`Statement`. A statement is the sentence together with the question,
the title and the neighbouring sentences. It also knows which clauses of the sentence belong to the answer.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from prefrag.components.reader.span_features import stem, stems_of
from prefrag.components.text.sentences import sentence_spans
from prefrag.components.text.term_statistics import PLAIN_WORDS
from prefrag.components.text.title_mentions import FUNCTION_WORDS

# At most this many characters of a question are read where the time grows with the square of its length.
MOST_CHARACTERS = 1_000
# A pattern for a word that may begin a noun phrase, as in "the boat" or "her boat". Other patterns contain it.
DETERMINER = r"(?:the|an?|his|her|its|their|our|my|this|that|these|those)"
# Words that say nothing about the topic of a question, such as "the", "is" and "what". The rules do not compare them.
COMMON = PLAIN_WORDS | FUNCTION_WORDS
# A participle that affirms what it stands beside. The list is short. It matches "booked" in "Room B12 (booked)".
AFFIRMING = r"(?:accepted|agreed|approved|booked|confirmed|decided|fixed|included|reserved|signed|updated)\b"
# A word for what does not hold any more, or will not happen. The list is short and complete. It matches "cancelled". It
# does not match "limited" and "related".
WITHDRAWN = (
    r"(?:abandoned|abolished|annulled|cancell?ed|declined|deprecated|discarded|discontinued|dropped|expired"
    r"|invalidated|lapsed|outdated|overruled|overturned|postponed|refused|rejected|repealed|rescinded|retracted|revoked"
    r"|scrapped|superseded|suspended|terminated|voided|void|withdrawn)"
)
# A word that undoes what it stands beside, as in "180 euros (cancelled)".
UNDOING = rf"(?:{WITHDRAWN}|sold)\b"
# The signs or words between two clauses of a sentence:
# - ", Ann": a comma, semicolon or colon, but not "1,500"
# - "(": a bracket or a dash
# - "end.[3] The": the mark of a reference between two sentences
# - " but ", " whereas ": a conjunction that begins a contrast
# - " and it", " or was": such a conjunction before a pronoun, an article or a verb, but not "Ann and Bo"
# - "boat that is": the blank before a relative clause that begins with a form of to be, to have or to do
CLAUSE_END = re.compile(
    r"[,;:](?!\d)|[()\u2013\u2014]|[.!?]\[[^\[\]]*\]\s(?=[A-Z])|\s(?:but|while|whereas|although|though)\s"
    r"|\s(?:and|or)\s(?=(?:it|he|she|they|this|the|is|are|was|were|has|have|had|does|do|did|will|would|may|might"
    r"|never)\b)"
    r"|\s(?=(?:that|which|who) (?:is|are|was|were|has|have|had|does|do|did|will|can)\b)"
)
# The conjunction that begins a subordinate clause (a clause inside another clause). It matches "says that she". It does
# not match "Ann, who left", because such a clause with "who" describes the answer before it.
_SUBORDINATE = re.compile(
    r"\s(?:that|which|whose|when|where|while|because|since|if|as|so|after|before|until|although|though)\s(?=[^\W_])"
)
# The beginning of a clause that describes the answer before it. It matches " who followed Ann".
_TELLS_MORE = re.compile(r"\s*(?:who|which)\b")
# A quotation of at least three words, such as You Will Not Go in quotation marks.
_QUOTE = re.compile(r"[\"\u201c](?:[^\"\u201c\u201d ]+ ){2,}[^\"\u201c\u201d ]+[\"\u201d]")
# A form of "to be", "to have" or "to do", or a modal verb. It matches "is" and "would".
_PREDICATE = re.compile(r"\b(?:is|are|was|were|has|have|had|do|does|did|will|would|can|could|may|might|must)\b")
# A word that makes a phrase say more than a name does: a verb or a denial. It matches "was" and "never".
_SAYS = re.compile(rf"{_PREDICATE.pattern}|\b(?:not|no|nor|neither|never)\b", re.IGNORECASE)
# A question for the name of something, whose only verb is a form of "to be". Its group is what is asked for. It matches
# "Who is the mayor of Brae?" and "What was Ann's boat?". It does not match "Who paid the mayor?".
_ASKS_NAME = re.compile(
    r"^\W*(?:who|what|which)(?:['\u2019]s| (?:[a-z]+ )?(?:is|are|was|were)) "
    rf"((?:{DETERMINER}|(?-i:[A-Z])[\w. ]*?['\u2019]s?) [^?,]+)\W*$",
    re.IGNORECASE,
)
# One word of a phrase without a verb: a determiner, "of", "for", a word with a capital letter or a digit, or a
# possessive.
_IN_PHRASE = rf"(?:{DETERMINER}|of|for|[A-Z\d][\w.]*|[\w.]+['\u2019]s?),?"
# The phrase that ends directly before the answer. In "yesterday in the Mill the mayor " it is "the Mill the mayor ".
# The last two words before the answer may be any words.
_PHRASE_BEFORE = re.compile(rf"(?:\b{_IN_PHRASE} )*(?:[^\W_]+ )?(?:[^\W_]+,? )?$")
# Words directly before such a phrase that may apply to the phrase: a denial, or a verb that is only wanted. The phrase
# is then no plain name. It matches "not " and "hopes to make ". It does not match "she said of ".
_GOVERNING = re.compile(
    r"\b(?:(?:not|no|nor|neither|never)\b[^,;]{0,20}|(?:to|will|would|shall|should|may|might|could) [a-z]+ )$",
    re.IGNORECASE,
)
# The phrase behind the answer and a comma. It matches ", the mayor of Brae".
_PHRASE_AFTER = re.compile(rf", ((?:{DETERMINER} )?[^\W_]+(?: (?:{DETERMINER}|of|for|at|in|[A-Z][\w.]*))*)")
# A word, with a part behind an apostrophe. It matches "don't".
WORD = re.compile(r"[^\W_]+(?:['\u2019][^\W_]+)?")
# The sign or word that begins a new main clause. It matches "; " and " but ".
_MAIN_CLAUSE = re.compile(r";|\sbut\s")
# A clause with its own verb: a form of "to be" and the like, or a subject and a verb with "s" or "ed" before an object.
# It matches "the fee is due" and "the tent costs 120". It does not match "Ann Low" and "the key of the tent".
HAS_CLAUSE = re.compile(
    rf"{_PREDICATE.pattern}|\b(?:(?i:{DETERMINER}|he|she|it|they|we|I) (?:[^\W_]+ ){{0,4}}?|(?:[A-Z][\w.]* ){{1,3}})"
    rf"[a-z]+(?:s|ed) (?:{DETERMINER}\b|\d|[A-Z]|(?:on|in|at|for|from|to|by|with)\b)"
)
# An order not to do something. It matches "Do not overload:".
_ORDER = re.compile(r"\b(?:do not|don['\u2019]t|never) [a-z].*", re.IGNORECASE)
# A remark in brackets. It matches "(in May)".
_ASIDE = re.compile(r"\([^()]*\)")
# Words before an infinitive that show that the deed was done. "The first woman to win the prize" did win the prize. It
# matches "the first woman " and "managed ". It does not match "hoped ".
REALISED = re.compile(
    r"\b(?:first|second|third|last|next|only|\w+est|manage[sd]?|went on|goes on|began|begins?|continue[sd]?"
    r"|start(?:s|ed)?|came|comes?|help(?:s|ed)?|able|had)\b"
    r"[^,;]{0,30}$"
)
# A word that stands for something in the sentence before. It matches "there" in "Kai Noll sleeps there".
POINTS_BACK = re.compile(r"\b(?:there|here|it|its|they|their|this|that)\b", re.IGNORECASE)
# A question for a person. It matches "Who sings?" and "And whose boat is it?". It does not match "Which singer is it?".
ASKS_PERSON = re.compile(r"^\W*(?:and )?who(?:m|se)?\b", re.IGNORECASE)
# A question about the present. It matches "Who is the cook?" and "Who leads the choir?". It does not match
# "Who led the choir?".
ASKS_PRESENT = re.compile(
    r"\b(?:is|are|does|do|has|have)\b|^\W*(?:who|which \w+|what) (?!was\b)\w+(?<!s)s\b", re.IGNORECASE
)


@dataclass(frozen=True)
class Statement:
    """A sentence with an answer, and the text around the sentence.

    :param question: The question.
    :param sentence: The sentence.
    :param before: The part of the sentence before the answer.
    :param after: The part of the sentence behind the answer.
    :param following: The next sentence of the passage; empty if there is none.
    :param later: The first sentences of the next two paragraphs.
    :param opening: The line with a colon above the sentence, if only items of a list or other lines of one sentence
        stand between the two; else empty.
    :param named: The title of the passage; empty if the passage has none.
    :param others: All other sentences of the passage, one per line.
    :param earlier: The sentences of the passage that stand before the sentence, in order.
    :param heading: The headings above the sentence, joined by " > "; empty if there are none.
    :param is_quoted: Whether the line of the sentence begins with ">", as a quotation in a mail does.
    """

    question: str
    sentence: str
    before: str
    after: str
    following: str
    later: tuple[str, ...]
    opening: str
    named: str
    others: str
    earlier: tuple[str, ...] = ()
    heading: str = ""
    is_quoted: bool = False

    @cached_property
    def asked(self) -> frozenset[str]:
        """The stems of the question's words, without the words in :data:`COMMON`.

        For "Who mends the nets?" they are "mend" and "net".
        """
        return frozenset(stem(word) for word in words_of(self.question) if word not in COMMON)

    @cached_property
    def clauses(self) -> list[str]:
        """The clauses of the sentence that the rules examine.

        They are:

        - the clauses that contain the answer
        - the clauses with most of the question's words
        - a clause with "who" or "which" directly behind the answer
        - the opening line, if there is one
        """
        clauses = [self.sentence[left:right] for left, right in self._clause_spans]
        return [*clauses, self.opening] if self.opening else clauses

    @cached_property
    def lacking(self) -> frozenset[str]:
        """The stems of the question's words that neither the sentence nor the title contains.

        Names and numbers of the question are left out. A sentence may replace an ordinary word by another word, but
        hardly ever a name or a number.
        """
        stems_of_text = stems_of(f"{self.named}. {self.sentence}")
        words = [word for word in WORD.findall(self.question) if word[0].islower() and word not in COMMON]
        return frozenset(map(stem, words)) - stems_of_text

    @cached_property
    def _clause_spans(self) -> list[tuple[int, int]]:
        """The beginning and the end of each clause in :attr:`clauses`, without the opening line."""
        return [span for span in self._all_spans if span[0] < span[1] and self._is_on_answer(*span)]

    @cached_property
    def _all_spans(self) -> list[tuple[int, int]]:
        """The beginning and the end of each clause of the sentence."""
        edges = [0, *(match.end() for match in CLAUSE_END.finditer(self.sentence)), len(self.sentence)]
        return list(pairwise(edges))

    def _is_on_answer(self, left: int, right: int) -> bool:
        """Check whether the clause from ``left`` to ``right`` is one of :attr:`clauses`."""
        begin, end = len(self.before), len(self.sentence) - len(self.after)
        holds_begin = left <= begin < right
        holds_end = left < end <= right
        if holds_begin or holds_end:
            return True
        clause = self.sentence[left:right]
        if self.asks_most(clause):
            return True
        # Up to two characters may stand between the answer and the clause behind it, as in "Ann, who".
        is_directly_behind = left <= end + 2 and right > end
        return is_directly_behind and _TELLS_MORE.match(clause) is not None

    @cached_property
    def own_clauses(self) -> list[str]:
        """The clause in which the answer begins, and a clause with "who" or "which" directly behind the answer.

        In "The cook is Eva, who followed Ann, who was the cook" with the answer "Eva", these are "The cook is
        Eva," and " who followed Ann,".
        """
        begin = len(self.before)
        end = begin + len(self.answer)
        with_answer = [self.sentence[left:right] for left, right in self._all_spans if left <= begin < right]
        first_clause = with_answer[0] if with_answer else self.sentence

        behind = [self.sentence[left:right] for left, right in self._all_spans if end <= left <= end + 2]
        return [first_clause, *filter(_TELLS_MORE.match, behind)]

    @cached_property
    def answer(self) -> str:
        """The answer, as the sentence writes it."""
        return self.sentence[len(self.before) : len(self.sentence) - len(self.after)]

    @cached_property
    def is_not_until(self) -> bool:
        """Whether "not ... until" stands before the answer, with no comma between the two words.

        It is true for the answer "1769" in "It was not finished until 1769", and false in
        "It was not finished, but used until 1769".
        """
        part = re.split("[,;]", self.before)[-1]
        denial = re.search(r"\bnot ", part)
        return denial is not None and re.search(r"\b(?:until|till)\b", part[denial.end() :]) is not None

    @cached_property
    def _quotes(self) -> list[re.Match[str]]:
        """The quotations in the sentence."""
        return list(_QUOTE.finditer(self.sentence))

    @cached_property
    def is_named_so(self) -> bool:
        """Whether the sentence only mentions the answer by what is asked for.

        In "the mayor Ann Low denied it", the answer "Ann Low" is called "the mayor". The verb "denied" then says
        nothing about who is the mayor, so it raises no doubt.

        This holds only for questions whose verb is a form of "to be". The other words of such a question cannot be
        verbs.
        """
        asked = _ASKS_NAME.match(self.question)
        if asked is None or _PREDICATE.search(asked[1]):
            return False
        shared = self.asked & stems_of(self.sentence)
        if not shared:
            return False

        # The phrases that may name the answer.
        phrases: list[str] = []
        before = _PHRASE_BEFORE.search(self.before)
        if before:
            # "Would set a toll of 4 pounds" does not say that 4 pounds is the toll.
            is_of_amount = before[0].endswith(("of ", "for "))
            # "Hopes to make the mayor Ann Low" does not say that Ann Low is the mayor.
            is_wanted = _GOVERNING.search(self.before[: before.start()]) is not None
            if is_of_amount or is_wanted:
                return False
            phrases.append(before[0])

        behind = _PHRASE_AFTER.match(self.after)
        if behind:
            phrases.append(behind[1])
        return any(shared <= stems_of(phrase) and not _SAYS.search(phrase) for phrase in phrases)

    def matches(self, pattern: re.Pattern[str], is_verb: bool = False) -> bool:
        """Check whether the sentence has a form, such as a negation, that may apply to the answer.

        A form that the question or the answer itself contains does not count.

        :param pattern: The form.
        :param is_verb: Whether the form is a verb. Another clause may have most of the question's words and its own
            verb. The form then counts only in clauses with a word of the question.
        :returns: Whether the form stands in one of the :attr:`clauses` and may apply to the answer.
        """
        if pattern.search(self.question) or pattern.search(self.answer):
            return False
        # "Warning - Do not overload:" above a whole sentence denies nothing of it.
        opening = _ORDER.sub("", self.opening) if HAS_CLAUSE.search(self.sentence) else self.opening
        if pattern.search(opening):
            return True

        spans = self._clause_spans
        if is_verb and self._has_own_verb(pattern):
            spans = [(left, right) for left, right in spans if self.asks(self.sentence[left:right])]

        for left, right in spans:
            places = [left + match.start() for match in pattern.finditer(self.sentence[left:right])]
            if any(self._reaches(left, right, place) for place in places):
                return True
        return False

    def _has_own_verb(self, pattern: re.Pattern[str]) -> bool:
        """Check whether what is asked for has its own verb in a clause that a form does not match."""
        clauses = [self.sentence[left:right] for left, right in self._clause_spans]
        without_form = [clause for clause in clauses if not pattern.search(clause)]
        return any(self.asks_most(clause) and _PREDICATE.search(clause) for clause in without_form)

    def _reaches(self, left: int, right: int, place: int) -> bool:
        """Check whether a word at ``place``, in the clause from ``left`` to ``right``, may be said of the answer.

        It may not if the word stands only in a subordinate clause behind the answer. In
        "Ann Low, the mayor, says that she would stay", the word "would" is not said of the answer "Ann Low".
        """
        if self._is_quoted_apart(place):
            return False
        end = len(self.sentence) - len(self.after)
        if place < end or end <= left:
            return True

        # The subordinate clause with the word begins at the last conjunction before the word.
        conjunctions = [match.start() for match in _SUBORDINATE.finditer(self.sentence, end, right)]
        begins = [conjunction for conjunction in conjunctions if conjunction <= place]
        if not begins:
            return True
        # It ends at the first conjunction behind the word.
        ends = [match.start() for match in _SUBORDINATE.finditer(self.sentence, place, right)]
        subordinate_clause = self.sentence[begins[-1] : min(ends, default=right)]
        return self.asks_most(subordinate_clause)

    def _is_quoted_apart(self, place: int) -> bool:
        """Check whether a word at ``place`` stands in a quotation without the answer.

        A quotation is the name of something or somebody's words, as in "Say You Won't Let Go".
        """
        begin = len(self.before)
        for quote in self._quotes:
            has_word = quote.start() < place < quote.end()
            has_answer = quote.start() < begin < quote.end()
            if has_word and not has_answer:
                return True
        return False

    def is_governed(self, place: int) -> bool:
        """Check whether a word that ends at ``place`` may govern the answer, as "says that" governs what follows it.

        It does if it stands before the answer, and if no new main clause begins between the two.

        :param place: An index in the sentence.
        :returns: Whether the answer is governed from there.
        """
        between = _ASIDE.sub("", self.before[place:])
        return place <= len(self.before) and _MAIN_CLAUSE.search(between) is None

    def asks_most(self, text: str) -> bool:
        """Check whether a text has most of those words of the question that the whole sentence has.

        :param text: A part of the sentence, or its opening line.
        :returns: Whether the text has more than half of these words, compared by their stems.
        """
        shared = self.asked & stems_of(self.sentence)
        return bool(shared) and 2 * len(shared & stems_of(text)) > len(shared)

    def asks(self, text: str) -> bool:
        """Check whether a text has a word of the question.

        :param text: A text.
        :returns: Whether a stem of the question's words is among the stems of the text.
        """
        return not self.asked.isdisjoint(stems_of(text))


def statement_at(question: str, title: str, text: str, begin: int, end: int, heading: str = "") -> Statement | None:
    """Find the sentence of a passage that has an answer.

    For example, ``statement_at("Who sings?", "", "It rains. Ann Low
    sings.", 10, 17).sentence`` is ``"Ann Low sings."``.

    :param question: The question, in English.
    :param title: The title of the passage; empty if it has none.
    :param text: The text of the passage.
    :param begin: The index of the answer's first character in the text.
    :param end: The index after its last character.
    :param heading: The headings above the answer, joined by " > "; empty if there are none.
    :returns: The sentence and the text around it; None if no sentence begins before the answer.
    """
    spans = sentence_spans(text)
    # The last sentence that begins before the answer.
    number = max((place for place, (left, _) in enumerate(spans) if left <= begin), default=None)
    if number is None:
        return None

    first, end_of_sentence = spans[number]
    last = max(end_of_sentence, end)
    sentences = [text[left:right] for left, right in spans]
    # A sentence behind a blank line begins a paragraph.
    later = [text[left:right] for left, right in spans[number + 2 :] if text[left - 2 : left] == "\n\n"]
    begin_of_line = text.rfind("\n", 0, begin) + 1

    return Statement(
        question=question,
        sentence=text[first:last],
        before=text[first:begin],
        after=text[end:last],
        following=sentences[number + 1] if number + 1 < len(spans) else "",
        later=tuple(later[:2]),
        opening=_opening_line(text, spans, number, heading),
        named=title,
        others="\n".join([*sentences[:number], *sentences[number + 1 :]]),
        earlier=tuple(sentences[:number]),
        heading=heading,
        is_quoted=text.startswith(">", begin_of_line),
    )


def _opening_line(text: str, spans: Sequence[tuple[int, int]], number: int, heading: str) -> str:
    """Find the line with a colon at its end above a sentence.

    For the text "Not paid:", followed by the items "- Max Toll" and "- Ida Roe", it is "Not paid:" for both items. It
    is the same for lines without a mark. A line of two sentences, or a heading, begins a text of its own.

    :param text: The text of the passage.
    :param spans: The beginning and the end of each sentence.
    :param number: The index of the sentence.
    :param heading: The headings above the sentence, joined by " > ".
    :returns: The line; empty if there is none.
    """
    nearest_heading = heading.split(" > ")[-1]
    begin_of_next, _ = spans[number]
    for left, right in reversed(spans[:number]):
        line, gap = text[left:right], text[right:begin_of_next]
        if "\n" not in gap or line == nearest_heading:
            return ""
        if line.endswith(":"):
            return line
        begin_of_next = left
    return ""


def words_of(text: str) -> list[str]:
    """Split a text into its words, in lower case.

    For example, ``words_of("Ann's boat, No. 7")`` returns ``["ann's", "boat", "no", "7"]``.

    :param text: The text.
    :returns: The words in order.
    """
    return [word.lower() for word in WORD.findall(text)]
