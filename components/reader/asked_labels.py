"""Leave out of passages what is told of another thing than the question asks about: another order, another parcel.

A list of parcels has many sentences of the same form, which differ only in their codes and numbers. The encoder and the
trees cannot tell these apart, so they choose among the answers of all parcels. The label in the question decides better
which sentence is meant. A label is a code, or a noun with a number.
"""

import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import pairwise

from haystack import Document

from prefrag.components.reader.codes import find_codes
from prefrag.components.reader.doubts.coded import has_asked_codes, is_other_code
from prefrag.components.reader.doubts.numbered import has_asked_numbers, has_other_numbers
from prefrag.components.reader.doubts.statement import MOST_CHARACTERS, Statement, statement_at
from prefrag.components.state.places import heading_of
from prefrag.components.text.sentences import sentence_spans

# A digit, or a single capital letter as in "flat B". A question without either has no label.
_MAY_BE_LABEL = re.compile(r"\d|\b[A-Z]\b")
# If a document has more characters, all documents are read whole. The time grows with the square of the length: 10,000
# characters in short sentences take 3 s.
_LONGEST = 5_000
# The beginning of a sentence on the thing of the sentence before, as of "It was paid by Ann Low".
_GOES_ON = re.compile(r"(?:he|her|his|it|its|she|they|their|this|these)\b", re.IGNORECASE)


@dataclass(frozen=True)
class Excerpt:
    """The text of a document, perhaps without some sentences.

    :param title: The title of the document.
    :param text: The sentences that are left.
    :param gaps: For each place at which sentences are left out, its index in ``text`` and the number of characters that
        are missing there.
    :param unclear: The beginning and the end, in the content of the document, of each sentence without a label that
        stands directly behind a sentence that is left out. It may go on with the other thing.
    :param next_to_asked: The sentences that are left out, but stand directly behind a sentence on the thing of the
        question, in the same line. They may tell what became of it.
    """

    title: str
    text: str
    gaps: tuple[tuple[int, int], ...] = ()
    unclear: tuple[tuple[int, int], ...] = ()
    next_to_asked: tuple[str, ...] = ()

    def place_in_document(self, place: int) -> int:
        """Return the index of a character of the text in the content of the document.

        For example, if "Ann. " is left out of "Ann. Bo.", ``place_in_document(0)`` returns ``5``.

        :param place: The index in the text. A negative index, which stands in the title, is returned unchanged.
        :returns: The index in the content.
        """
        return place + sum(missing for gap, missing in self.gaps if gap <= place)

    def end_before_gap(self, begin: int, end: int) -> int:
        """Return where a span of the text must end if it is to stand in the document without a gap.

        :param begin: The index of the span's first character.
        :param end: The index after its last character.
        :returns: The first gap within the span; ``end`` if there is none.
        """
        return min((gap for gap, _ in self.gaps if begin < gap < end), default=end)

    def is_unclear(self, place: int) -> bool:
        """Check whether a character of the document stands in one of the unclear sentences."""
        return any(begin <= place < end for begin, end in self.unclear)


def whole_texts(documents: Sequence[Document]) -> list[Excerpt]:
    """Return the whole text of each document."""
    return [Excerpt(str(document.meta.get("title") or ""), document.content or "") for document in documents]


def excerpts_on_asked(question: str, documents: Sequence[Document]) -> list[Excerpt]:
    """Return the text of each document without the sentences on things with another label than that of the question.

    Nothing is left out unless a sentence or a title has the label of the question. For example, of "Parcel 17 went to
    Ann Low. Parcel 18 went to Bo Lind." only the first sentence is left for "Who got parcel 17?".

    :param question: The question.
    :param documents: The documents.
    :returns: An excerpt for each document.
    """
    excerpts = whole_texts(documents)
    question = question[:MOST_CHARACTERS]
    is_long = any(len(excerpt.text) > _LONGEST for excerpt in excerpts)
    if is_long or not _MAY_BE_LABEL.search(question):
        return excerpts

    statements = [_statements(question, document) for document in documents]
    on_asked = [statement for of_text in statements for statement in of_text.values() if _is_on_asked(statement)]
    if not on_asked:
        return excerpts

    # In "The pump P-11 was replaced by P-12", a question on P-11 may mean P-12, too.
    linked = {code for statement in on_asked for code in _lettered_codes(statement)}
    return [_leave_out(excerpt, of_text, linked) for excerpt, of_text in zip(excerpts, statements, strict=True)]


def _statements(question: str, document: Document) -> dict[int, Statement]:
    """Describe each sentence of a document, by the index of its first character."""
    title, text = str(document.meta.get("title") or ""), document.content or ""
    statements: dict[int, Statement] = {}
    for begin, _ in sentence_spans(text):
        statement = statement_at(question, title, text, begin, begin, heading_of(document.meta, begin) or "")
        if statement is not None:
            statements[begin] = statement
    return statements


def _leave_out(excerpt: Excerpt, statements: Mapping[int, Statement], linked: Set[tuple[str, ...]]) -> Excerpt:
    """Leave out the sentences on other things, unless they have one of the linked codes."""
    begins = [*statements, len(excerpt.text)]
    text = excerpt.text[: begins[0]]
    gaps: list[tuple[int, int]] = []
    unclear: list[tuple[int, int]] = []
    next_to_asked: list[str] = []
    was_other = was_asked = False
    for (begin, end), statement in zip(pairwise(begins), statements.values(), strict=True):
        is_on_asked = _is_on_asked(statement)
        goes_on = was_other and _GOES_ON.match(statement.sentence) is not None
        is_on_other = is_other_code(statement) or has_other_numbers(statement)
        was_other = (goes_on or is_on_other) and not is_on_asked
        if was_other and linked.isdisjoint(_lettered_codes(statement)):
            gaps.append((len(text), end - begin))
            if was_asked and excerpt.text[begin - 1] != "\n":
                next_to_asked.append(statement.sentence)
            was_asked = False
            continue

        is_behind_gap = bool(gaps) and gaps[-1][0] == len(text)
        if is_behind_gap and not is_on_asked:
            unclear.append((begin, end))
        text += excerpt.text[begin:end]
        was_asked = is_on_asked
    left = text.rstrip() if gaps else text
    return Excerpt(excerpt.title, left, tuple(gaps), tuple(unclear), tuple(next_to_asked))


def _is_on_asked(statement: Statement) -> bool:
    """Check whether a sentence or its title has the codes and the numbers of the question."""
    has_labels = [has_asked_codes(statement), has_asked_numbers(statement)]
    return True in has_labels and False not in has_labels


def _lettered_codes(statement: Statement) -> set[tuple[str, ...]]:
    """List the codes of a sentence that have letters. A code of digits alone may be a date."""
    return {code.runs for code in find_codes(statement.sentence) if code.has_letters}
