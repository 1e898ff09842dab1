"""Read the sentences of a folder, and find those that have words or a value in common.

Words are compared by their roots, see ``wording.py``.
"""

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

# Matches a number that is no part of a name, a version or a range: "12", "1,250" or "2.5". It does not match in "A-12",
# "1.2.3" and "3-4".
_FIGURE = re.compile(r"(?<![\w.,-])\d+(?:,\d{3})*(?:\.\d+)?(?![\w-]|[.,]\d)")
# Matches a year or a day of the week: "1931", "Monday" or "mondays".
_DAY_OR_YEAR = re.compile(r"\b(?:\d{4}\b|(?:mon|tues|wednes|thurs|fri|satur|sun)day)", re.IGNORECASE)
# The number words without "zero" and "one", which count nothing in most sentences.
_COUNTING_WORDS = [word for word in NUMBER_WORDS if word not in ("zero", "one")]
# Matches one of these words, such as "seven".
_NUMBER_WORD = re.compile(rf"\b(?:{'|'.join(_COUNTING_WORDS)})\b", re.IGNORECASE)


@dataclass(frozen=True)
class Sentence:
    """A sentence of a passage.

    :param number: The number of the sentence in the folder, from 0.
    :param passage: The passage.
    :param begin: The position in the passage at which the sentence begins.
    :param text: The sentence.
    :param context: The title and the headings above the sentence.
    """

    number: int
    passage: Document
    begin: int
    text: str
    context: str

    @property
    def file(self) -> str:
        """The document of the sentence: its file. In a corpus without files, each passage is a document."""
        return str(self.passage.meta.get("file_path") or self.passage.id)


def sentences_of(passage: Document, number: int = 0) -> Iterator[Sentence]:
    """Read the sentences of a passage.

    :param passage: The passage.
    :param number: The number of the first sentence.
    :returns: An iterator over the sentences.
    """
    text = passage.content or ""
    for place, (begin, end) in enumerate(sentence_spans(text), number):
        title = str(passage.meta.get("title") or "")
        heading = heading_of(passage.meta, begin)
        context = " ".join(filter(None, (title, heading)))
        yield Sentence(place, passage, begin, text[begin:end], context)


class Sentences:
    """All sentences of a folder, with the roots of their words.

    :param passages: The passages of the folder.
    """

    def __init__(self, passages: Iterable[Document]):
        self.all: list[Sentence] = []
        # The numbers of the sentences that have a root or a number.
        self._holding: defaultdict[str, list[int]] = defaultdict(list)
        # The roots of the words of each title with headings.
        self._context: dict[str, frozenset[str]] = {}
        for passage in passages:
            for sentence in sentences_of(passage, len(self.all)):
                self.all.append(sentence)
                self._context.setdefault(sentence.context, roots(sentence.context))
                for word in roots(sentence.text) | numbers_of(sentence.text):
                    self._holding[word].append(sentence.number)

    def context_of(self, sentence: Sentence) -> frozenset[str]:
        """Get the roots of the title and the headings above a sentence.

        :param sentence: The sentence.
        :returns: The roots.
        """
        return self._context[sentence.context]

    def sharing(self, asked: frozenset[str], least: int) -> Iterator[tuple[Sentence, frozenset[str]]]:
        """Find the sentences that have some words of a question.

        :param asked: The roots of the question's words.
        :param least: The number of these roots that a sentence must have, without its headings.
        :returns: An iterator over pairs: the sentence, and those roots of the question that the sentence or its
            headings have.
        """
        # A sentence with `least` of the roots lacks at most `len(asked) - least` of them. So among any `len(asked) -
        # least + 1` roots, such a sentence has at least one. The rarest roots are taken, because they lead to the
        # fewest sentences.
        by_rarity = sorted(asked, key=lambda word: (len(self._holding.get(word, ())), word))
        rarest = by_rarity[: len(asked) - least + 1]
        numbers: set[int] = set()
        for word in rarest:
            numbers.update(self._holding.get(word, ()))

        for number in sorted(numbers):
            sentence = self.all[number]
            own_roots = asked & roots(sentence.text)
            if len(own_roots) >= least:
                yield sentence, own_roots | (asked & self.context_of(sentence))

    def saying(self, kind: str, value: str) -> Iterator[Sentence]:
        """Find the sentences that have a value.

        :param kind: The kind of the value, see :func:`says_value`.
        :param value: The value.
        :returns: An iterator over the sentences.
        """
        keys = numbers_of(value)
        if kind == "date":
            # Every way to write a date has the year.
            keys = frozenset(key for key in keys if len(key) == 4)
        elif kind != "number":
            keys = frozenset([root(telling_part(kind, value))])
        numbers: set[int] = set()
        for key in keys:
            numbers.update(self._holding.get(key, ()))

        for number in sorted(numbers):
            if says_value(kind, value, self.all[number].text):
                yield self.all[number]


def numbers_of(text: str) -> frozenset[str]:
    """List the numbers of a text, in all ways in which they may be written.

    For example, ``numbers_of("1,250 and seven")`` returns ``{"1250", "1", "250", "7"}``.

    :param text: The text.
    :returns: The numbers as digits. The parts of "1,250" are listed too.
    """
    whole_numbers = [figure.replace(",", "") for figure in re.findall(r"\d[\d,]*(?:\.\d+)?|\d+", text)]
    parts_of_numbers = re.findall(r"\d+", text)
    from_words = [number for _, _, number in numbers_in(text)]
    return frozenset([*whole_numbers, *parts_of_numbers, *from_words])


def telling_part(kind: str, value: str) -> str:
    """Get the word by which a name or a phrase is recognised.

    For example, ``telling_part("name", "Anna Bell")`` returns ``"bell"``.

    :param kind: The kind of the value, see :func:`says_value`.
    :param value: The value.
    :returns: The last word in lower case. For a name or a place, the last word with a capital.
    """
    all_words: list[str] = re.findall(r"[^\W_]{2,}", value)
    telling_words = all_words
    if kind != "cell":
        telling_words = [part for part in all_words if part[0].isupper()] or all_words
    return telling_words[-1].lower() if telling_words else value.lower()


def numbers_in(text: str) -> list[tuple[int, int, str]]:
    """Find the numbers of a text that are no part of a name, a version or a range.

    For example, ``numbers_in("1,250 tons in seven ships")`` returns ``[(0, 5, "1250"), (14, 19, "7")]``.

    :param text: The text.
    :returns: The begin, the end and the digits of each number.
    """
    numbers = [(match.start(), match.end(), match[0].replace(",", "")) for match in _FIGURE.finditer(text)]
    numbers += [(match.start(), match.end(), NUMBER_WORDS[match[0].lower()]) for match in _NUMBER_WORD.finditer(text)]
    return sorted(numbers)


def says_value(kind: str, value: str, text: str) -> bool:
    """Check whether a text has a value, also if the value is written in another way or only in part.

    A date may be only its year, and a name only its last word. For example, ``says_value("name", "Anna Bell", "Mrs Bell
    paid.")`` returns ``True``.

    :param kind: ``date``, ``number``, ``name``, ``place`` or ``cell``.
    :param value: The value.
    :param text: The text.
    :returns: True if the text has the value.
    """
    if kind == "date":
        text_dates = find_dates(text)
        # Two dates fit if they overlap, as a year and a day of this year do.
        for own in find_dates(value):
            if any(own.first <= other.last and other.first <= own.last for other in text_dates):
                return True
        return False
    if kind == "number":
        numbers_of_value = {number for _, _, number in numbers_in(value)}
        return bool(numbers_of_value & numbers_of(text))
    return telling_part(kind, value) in re.findall(r"[^\W_]+", text.lower())


def has_kind(kind: str, text: str) -> bool:
    """Check whether a text has any value of a kind, so that it might answer such a question.

    :param kind: ``date``, ``number``, ``name``, ``place`` or ``cell``.
    :param text: The text.
    :returns: True if it has. Any text may have the value of a cell.
    """
    if kind == "date":
        return bool(find_dates(text)) or _DAY_OR_YEAR.search(text) is not None
    if kind == "number":
        return re.search(r"\d", text) is not None or bool(numbers_in(text))
    if kind == "cell":
        return True
    # A name or a place has a capital, also within the sentence.
    return re.search(r"(?<!^)\b[A-Z][a-z]", text) is not None
