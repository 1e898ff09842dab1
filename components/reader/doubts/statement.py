"""A sentence with a proposed answer, beside the question: its clauses, and what stands around it."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from prefrag.components.reader.span_features import stem, stems_of
from prefrag.components.text.sentences import sentence_spans
from prefrag.components.text.term_statistics import PLAIN_WORDS
from prefrag.components.text.title_mentions import FUNCTION_WORDS

DETERMINER = r"(?:the|an?|his|her|its|their|our|my|this|that|these|those)"
COMMON = PLAIN_WORDS | FUNCTION_WORDS
CLAUSE_END = re.compile(
    r"[,;:](?!\d)|[()\u2013\u2014]|[.!?]\[[^\[\]]*\]\s(?=[A-Z])|\s(?:but|while|whereas|although|though)\s"
    r"|\s(?:and|or)\s(?=(?:it|he|she|they|this|the|is|are|was|were|has|have|had|does|do|did|will|would|may|might"
    r"|never)\b)"
    r"|\s(?=(?:that|which|who) (?:is|are|was|were|has|have|had|does|do|did|will|can)\b)"
)
# Where a clause begins that is a part of another one. Not "who", which tells more of the answer before it.
_SUBORDINATE = re.compile(
    r"\s(?:that|which|whose|when|where|while|because|since|if|as|so|after|before|until|although|though)\s(?=[^\W_])"
)
# A clause that tells more of the answer before it.
_TELLS_MORE = re.compile(r"\s*(?:who|which)\b")
_QUOTE = re.compile(r"[\"\u201c](?:[^\"\u201c\u201d ]+ ){2,}[^\"\u201c\u201d ]+[\"\u201d]")
_PREDICATE = re.compile(r"\b(?:is|are|was|were|has|have|had|do|does|did|will|would|can|could|may|might|must)\b")
# What makes a phrase more than a name: a verb or a denial.
_SAYS = re.compile(rf"{_PREDICATE.pattern}|\b(?:not|no|nor|neither|never)\b", re.IGNORECASE)
_ASKS_NAME = re.compile(
    r"^\W*(?:who|what|which)(?:['\u2019]s| (?:[a-z]+ )?(?:is|are|was|were)) "
    rf"((?:{DETERMINER}|(?-i:[A-Z])[\w. ]*?['\u2019]s?) [^?,]+)\W*$",
    re.IGNORECASE,
)
# A phrase around an answer without a verb: words with a capital, possessives, determiners, "of" and "for", and one
# word more next to the answer.
_IN_PHRASE = rf"(?:{DETERMINER}|of|for|[A-Z\d][\w.]*|[\w.]+['\u2019]s?),?"
_PHRASE_BEFORE = re.compile(rf"(?:\b{_IN_PHRASE} )*(?:[^\W_]+ )?(?:[^\W_]+,? )?$")
# A denial before such a phrase, or a verb that is only wanted, may be meant of the phrase.
_GOVERNING = re.compile(
    r"\b(?:(?:not|no|nor|neither|never)\b[^,;]{0,20}|(?:to|will|would|shall|should|may|might|could) [a-z]+ )$",
    re.IGNORECASE,
)
_PHRASE_AFTER = re.compile(rf", ((?:{DETERMINER} )?[^\W_]+(?: (?:{DETERMINER}|of|for|at|in|[A-Z][\w.]*))*)")
WORD = re.compile(r"[^\W_]+(?:['\u2019][^\W_]+)?")
_MAIN_CLAUSE = re.compile(r";|\sbut\s")
_ASIDE = re.compile(r"\([^()]*\)")
# "The first woman to win the prize" did win it.
REALISED = re.compile(
    r"\b(?:first|second|third|last|next|only|\w+est|manage[sd]?|went on|goes on|began|begins?|continue[sd]?"
    r"|start(?:s|ed)?|came|comes?|help(?:s|ed)?|able|had)\b"
    r"[^,;]{0,30}$"
)
ASKS_PERSON = re.compile(r"^\W*(?:and )?who(?:m|se)?\b", re.IGNORECASE)
_ITEM = re.compile(r"\s*(?:[-*\u2022]|\d{1,3}[.)])\s")


@dataclass(frozen=True)
class Statement:
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
        return frozenset(stem(word) for word in words_of(self.question) if word not in COMMON)

    @cached_property
    def clauses(self) -> list[str]:
        """The clauses with the answer, with most of the question's words, and with "who" after the answer."""
        clauses = [self.sentence[left:right] for left, right in self._clause_spans]
        return [*clauses, self.opening] if self.opening else clauses

    @cached_property
    def lacking(self) -> frozenset[str]:
        """The stems of the question's words that neither the sentence nor its title has, without names and numbers.

        For a word, the sentence may have another word, but for a name or a number hardly ever.
        """
        told = stems_of(f"{self.named}. {self.sentence}")
        words = [word for word in WORD.findall(self.question) if word[0].islower() and word not in COMMON]
        return frozenset(map(stem, words)) - told

    @cached_property
    def _clause_spans(self) -> list[tuple[int, int]]:
        return [span for span in self._all_spans if span[0] < span[1] and self._is_on_answer(*span)]

    @cached_property
    def _all_spans(self) -> list[tuple[int, int]]:
        edges = [0, *(match.end() for match in CLAUSE_END.finditer(self.sentence)), len(self.sentence)]
        return list(pairwise(edges))

    def _is_on_answer(self, left: int, right: int) -> bool:
        """Check whether a clause is one of :attr:`clauses`."""
        begin, end = len(self.before), len(self.sentence) - len(self.after)
        if left <= begin < right or left < end <= right:
            return True
        clause = self.sentence[left:right]
        if self.asks_most(clause):
            return True
        # Up to two signs may stand between the answer and the clause behind it, as in "Ann, who".
        return left <= end + 2 and right > end and _TELLS_MORE.match(clause) is not None

    @cached_property
    def own_clauses(self) -> list[str]:
        """The clause in which the answer begins, and the one behind it that tells more of the answer with "who"."""
        begin = len(self.before)
        end = begin + len(self.answer)
        own = next(
            (self.sentence[left:right] for left, right in self._all_spans if left <= begin < right), self.sentence
        )
        behind = [self.sentence[left:right] for left, right in self._all_spans if end <= left <= end + 2]
        return [own, *filter(_TELLS_MORE.match, behind)]

    @cached_property
    def answer(self) -> str:
        """The answer, as it stands in the sentence."""
        return self.sentence[len(self.before) : len(self.sentence) - len(self.after)]

    @cached_property
    def is_not_until(self) -> bool:
        """Whether "not ... until" stands before the answer, with no comma between, as in "not built until 1769"."""
        part = self.before[max(self.before.rfind(","), self.before.rfind(";")) + 1 :]
        denial = re.search(r"\bnot ", part)
        return denial is not None and re.search(r"\b(?:until|till)\b", part[denial.end() :]) is not None

    @cached_property
    def _quotes(self) -> list[re.Match[str]]:
        return list(_QUOTE.finditer(self.sentence))

    @cached_property
    def is_named_so(self) -> bool:
        """Whether the answer is called what is asked for, and nothing is said of that: "the mayor Ann Low denied it".

        Only for questions whose verb is a form of "to be", because their other words can be no verbs.
        """
        asked = _ASKS_NAME.match(self.question)
        shared = self.asked & stems_of(self.sentence)
        if asked is None or not shared or _PREDICATE.search(asked[1]):
            return False
        phrases: list[str] = []
        before, behind = _PHRASE_BEFORE.search(self.before), _PHRASE_AFTER.match(self.after)
        if before:
            # "Would set a toll of 4 pounds" and "hopes to make the chair Ann" call nothing so.
            if before[0].endswith(("of ", "for ")) or _GOVERNING.search(self.before[: before.start()]):
                return False
            phrases.append(before[0])
        if behind:
            phrases.append(behind[1])
        return any(shared <= stems_of(phrase) and not _SAYS.search(phrase) for phrase in phrases)

    def matches(self, pattern: re.Pattern[str], is_verb: bool = False) -> bool:
        """Check whether a clause has a form that neither the question nor the answer has."""
        if pattern.search(self.question) or pattern.search(self.answer):
            return False
        if self.opening and pattern.search(self.opening):
            return True
        spans = self._clause_spans
        if is_verb:
            texts = [self.sentence[left:right] for left, right in spans]
            # What is asked for has a verb of its own in another clause.
            if any(self.asks_most(text) and _PREDICATE.search(text) and not pattern.search(text) for text in texts):
                spans = [span for span in spans if self.asks(self.sentence[slice(*span)])]
        return any(
            self._reaches(left, right, left + match.start())
            for left, right in spans
            for match in pattern.finditer(self.sentence[left:right])
        )

    def _reaches(self, left: int, right: int, place: int) -> bool:
        """Check whether a word of a clause may be said of the answer, and not only in a clause below it.

        In "Ann Low, the mayor, says that she would stay" the answer Ann Low is in no clause with "would".
        """
        begin, end = len(self.before), len(self.sentence) - len(self.after)
        # What is quoted is the name of something or somebody's words: "Say You Won't Let Go".
        if any(
            quote.start() < place < quote.end() and not quote.start() < begin < quote.end() for quote in self._quotes
        ):
            return False
        if place < end or end <= left:
            return True
        below = [match.start() for match in _SUBORDINATE.finditer(self.sentence, end, right) if match.start() <= place]
        if not below:
            return True
        later = [match.start() for match in _SUBORDINATE.finditer(self.sentence, place, right)]
        return self.asks_most(self.sentence[below[-1] : min(later, default=right)])

    def is_governed(self, place: int) -> bool:
        """Check whether what begins at a place of the sentence governs the answer, with no main clause between."""
        between = _ASIDE.sub("", self.before[place:])
        return place <= len(self.before) and _MAIN_CLAUSE.search(between) is None

    def asks_most(self, text: str) -> bool:
        """Check whether a part of the sentence has most of the question's words that the sentence has."""
        shared = self.asked & stems_of(self.sentence)
        return bool(shared) and 2 * len(shared & stems_of(text)) > len(shared)

    def asks(self, text: str) -> bool:
        """Check whether a text has a word of the question."""
        return not self.asked.isdisjoint(stems_of(text))


def statement_at(question: str, title: str, text: str, begin: int, end: int) -> Statement | None:
    """Find the sentence of a passage that has an answer.

    :param question: The question, in English.
    :param title: The title of the passage; empty if it has none.
    :param text: The text of the passage.
    :param begin: The index of the answer's first character in the text.
    :param end: The index after its last character.
    :returns: The sentence and what stands around it; None if no sentence begins before the answer.
    """
    spans = sentence_spans(text)
    number = max((place for place, span in enumerate(spans) if span[0] <= begin), default=None)
    if number is None:
        return None
    first, last = spans[number][0], max(spans[number][1], end)
    sentences = [text[left:right] for left, right in spans]
    # A sentence behind a blank line begins a paragraph.
    later = [text[left:right] for left, right in spans[number + 2 :] if text[left - 2 : left] == "\n\n"]
    return Statement(
        question=question,
        sentence=text[first:last],
        before=text[first:begin],
        after=text[end:last],
        following=sentences[number + 1] if number + 1 < len(spans) else "",
        later=tuple(later[:2]),
        opening=_opening_of_list(text, spans, number),
        named=title,
        others="\n".join([*sentences[:number], *sentences[number + 1 :]]),
    )


def _opening_of_list(text: str, spans: Sequence[tuple[int, int]], number: int) -> str:
    """Find the line that ends with a colon before the list of which a sentence is an item; empty if there is none."""
    place = number
    while place >= 0 and _ITEM.match(text, spans[place][0]):
        place -= 1
    if not 0 <= place < number:
        return ""
    line = text[slice(*spans[place])]
    return line if line.endswith(":") else ""


def words_of(text: str) -> list[str]:
    """Split a text into its words, in lower case."""
    return [word.lower() for word in WORD.findall(text)]
