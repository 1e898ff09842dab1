"""The sentences of a folder, and which of them have words in common."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from haystack import Document

from prefrag.components.state.places import heading_of
from prefrag.components.text.dates import find_dates
from prefrag.components.text.sentences import sentence_spans
from prefrag.evaluation.prove.wording import NUMBER_WORDS, root, roots

# A number that is no part of a name, a version or a range: "12", "1,250" or "2.5", but not "A-12", "1.2.3" and "3-4".
_FIGURE = re.compile(r"(?<![\w.,-])\d+(?:,\d{3})*(?:\.\d+)?(?![\w-]|[.,]\d)")
# "1931", "Monday" or "mondays"
_DAY_OR_YEAR = re.compile(r"\b(?:\d{4}\b|(?:mon|tues|wednes|thurs|fri|satur|sun)day)", re.IGNORECASE)
# "Zero" and "one" are left out: in most sentences they count nothing.
_NUMBER_WORD = re.compile(rf"\b(?:{'|'.join(word for word in NUMBER_WORDS if word not in ('zero', 'one'))})\b", re.I)


@dataclass(frozen=True)
class Sentence:
    """A sentence of a passage.

    :param number: Its number in the folder.
    :param passage: Its passage.
    :param begin: Where it begins in the passage.
    :param text: The sentence.
    :param context: The title and the headings above it.
    """

    number: int
    passage: Document
    begin: int
    text: str
    context: str

    @property
    def file(self) -> str:
        """The file or, in a corpus, the passage itself: what is one document."""
        return str(self.passage.meta.get("file_path") or self.passage.id)


def sentences_of(passage: Document, number: int = 0) -> Iterator[Sentence]:
    """Read the sentences of a passage, the first with this number."""
    text = passage.content or ""
    for place, (begin, end) in enumerate(sentence_spans(text), number):
        title = str(passage.meta.get("title") or "")
        heading = heading_of(passage.meta, begin)
        yield Sentence(place, passage, begin, text[begin:end], " ".join(filter(None, (title, heading))))


class Sentences:
    """All sentences of a folder, with the roots of their words."""

    def __init__(self, passages: Iterable[Document]):
        self.all: list[Sentence] = []
        self._holding: defaultdict[str, list[int]] = defaultdict(list)
        self._context: dict[str, frozenset[str]] = {}
        for passage in passages:
            for sentence in sentences_of(passage, len(self.all)):
                self.all.append(sentence)
                self._context.setdefault(sentence.context, roots(sentence.context))
                for word in roots(sentence.text) | numbers_of(sentence.text):
                    self._holding[word].append(sentence.number)

    def context_of(self, sentence: Sentence) -> frozenset[str]:
        """Return the roots of the title and the headings above a sentence."""
        return self._context[sentence.context]

    def sharing(self, asked: frozenset[str], least: int) -> Iterator[tuple[Sentence, frozenset[str]]]:
        """Find the sentences that have some roots of a question, each with the roots that it or its headings have.

        :param asked: The roots of the question.
        :param least: How many of them a sentence must have itself.
        """
        # A sentence with `least` of the roots lacks at most `len(asked) - least` of them. So of one more than these it
        # has at least one, whichever they are: the rarest lead to the fewest sentences.
        by_rarity = sorted(asked, key=lambda word: (len(self._holding.get(word, ())), word))
        rarest = by_rarity[: len(asked) - least + 1]
        for number in sorted({number for word in rarest for number in self._holding.get(word, ())}):
            sentence = self.all[number]
            own = asked & roots(sentence.text)
            if len(own) >= least:
                yield sentence, own | (asked & self.context_of(sentence))

    def saying(self, kind: str, value: str) -> Iterator[Sentence]:
        """Find the sentences that have a value, as :func:`says_value` tells."""
        keys = numbers_of(value)
        if kind == "date":
            # Every way to write a date contains the year.
            keys = frozenset(key for key in keys if len(key) == 4)
        elif kind != "number":
            keys = frozenset([root(telling_part(kind, value))])
        for number in sorted({number for key in keys for number in self._holding.get(key, ())}):
            if says_value(kind, value, self.all[number].text):
                yield self.all[number]


def numbers_of(text: str) -> frozenset[str]:
    """List the numbers of a text, however they are written."""
    digits = (figure.replace(",", "") for figure in re.findall(r"\d[\d,]*(?:\.\d+)?|\d+", text))
    return frozenset([*digits, *re.findall(r"\d+", text), *(number for _, _, number in numbers_in(text))])


def telling_part(kind: str, value: str) -> str:
    """Return the word by which a name or a phrase is told, in lower case: the last, of a name the last name."""
    parts: list[str] = re.findall(r"[^\W_]{2,}", value)
    telling = parts
    if kind != "cell":
        telling = [part for part in parts if part[0].isupper()] or parts
    return telling[-1].lower() if telling else value.lower()


def numbers_in(text: str) -> list[tuple[int, int, str]]:
    """Find the numbers of a text that are no part of a name, a version or a range: begin, end and value."""
    numbers = [(match.start(), match.end(), match[0].replace(",", "")) for match in _FIGURE.finditer(text)]
    numbers += [(match.start(), match.end(), NUMBER_WORDS[match[0].lower()]) for match in _NUMBER_WORD.finditer(text)]
    return sorted(numbers)


def says_value(kind: str, value: str, text: str) -> bool:
    """Check whether a text has a value, also written otherwise or in part: a date as its year, a name as its last word.

    :param kind: ``date``, ``number``, ``name``, ``place`` or ``cell``.
    :param value: The value.
    :param text: The text.
    """
    if kind == "date":
        wanted = find_dates(value)
        others = find_dates(text)
        return any(date.first <= other.last and other.first <= date.last for date in wanted for other in others)
    if kind == "number":
        wanted_numbers = {number for _, _, number in numbers_in(value)}
        return bool(wanted_numbers & numbers_of(text))
    return telling_part(kind, value) in re.findall(r"[^\W_]+", text.lower())


def has_kind(kind: str, text: str) -> bool:
    """Check whether a text has any value of a kind, so that it might answer such a question."""
    if kind == "date":
        return bool(find_dates(text)) or _DAY_OR_YEAR.search(text) is not None
    if kind == "number":
        return re.search(r"\d", text) is not None or bool(numbers_in(text))
    return kind == "cell" or re.search(r"(?<!^)\b[A-Z][a-z]", text) is not None
