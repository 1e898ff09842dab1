"""A sentence with a proposed answer, beside the question: its clauses, and what stands around it."""

import itertools
import re
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
    r"[,;:](?!\d)|[()\u2013\u2014]|\s(?:but|while|whereas|although|though)\s"
    r"|\s(?:and|or)\s(?=(?:it|he|she|they|this|the|is|are|was|were|has|have|had|does|do|did)\b)"
    r"|\s(?=(?:that|which|who) (?:is|are|was|were|has|have|had|does|do|did|will|can)\b)"
)
_WORD = re.compile(r"[^\W_]+(?:['\u2019][^\W_]+)?")
_MAIN_CLAUSE = re.compile(r";|\sbut\s")
_ASIDE = re.compile(r"\([^()]*\)")
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
        begin, end = len(self.before), len(self.sentence) - len(self.after)
        edges = [0, *(match.end() for match in CLAUSE_END.finditer(self.sentence)), len(self.sentence)]
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
    def own_clauses(self) -> list[str]:
        """The clause in which the answer begins, and the one behind it that tells more of the answer with "who"."""
        place = len(self.before)
        end = place + len(self.answer)
        edges = [0, *(match.end() for match in CLAUSE_END.finditer(self.sentence)), len(self.sentence)]
        spans = list(pairwise(edges))
        own = next((self.sentence[left:right] for left, right in spans if left <= place < right), self.sentence)
        told = [self.sentence[left:right] for left, right in spans if end <= left <= end + 2]
        return [own, *(clause for clause in told if re.match(r"\s*(?:who|which)\b", clause))]

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

    def matches(self, pattern: re.Pattern[str]) -> bool:
        """Check whether a clause has a form that neither the question nor the answer has."""
        is_free = not pattern.search(self.question) and not pattern.search(self.answer)
        return is_free and any(pattern.search(clause) for clause in self.clauses)

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
    following = text[slice(*spans[number + 1])] if number + 1 < len(spans) else ""
    others = "\n".join(text[left:right] for place, (left, right) in enumerate(spans) if place != number)
    later = [text[slice(*span)] for span in spans[number + 2 :] if "\n\n" in text[span[0] - 2 : span[0]]]
    places = itertools.takewhile(lambda place: _ITEM.match(text, spans[place][0]), range(number, -1, -1))
    lead = number - len(list(places))
    opening = text[slice(*spans[lead])] if 0 <= lead < number else ""
    return Statement(
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


def words_of(text: str) -> list[str]:
    """Split a text into its words, in lower case."""
    return [word.lower() for word in _WORD.findall(text)]
