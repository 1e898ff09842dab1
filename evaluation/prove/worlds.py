"""Change the sentence of a question for each world.

A world is a copy of the folder. The sentence is there as it is, taken out, with another value, or denied. In the fifth
world it is taken out, and the question is asked in a second turn.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from haystack import Document

from prefrag.components.text.dates import find_dates
from prefrag.components.text.table_rows import TABLES, read_tables
from prefrag.evaluation.prove.questions import Question
from prefrag.evaluation.prove.sentences import Sentence, Sentences, numbers_in
from prefrag.evaluation.prove.wording import NUMBER_WORDS

# The names of the worlds. Here the sentence is unchanged.
AS_IS = "as it is"
# The sentence, and all others that state the same, are taken out.
WITHOUT = "without"
# The sentence has another value.
CHANGED = "changed"
# The sentence is denied, or changed into a plan.
DENIED = "denied"
# The sentence is taken out, and the question follows another question that was answered.
SECOND = "second turn"
# All worlds, in the order of the report.
WORLDS = (AS_IS, WITHOUT, CHANGED, DENIED, SECOND)
# Matches the verb after which "not" denies a sentence, as in "The bridge was [not] built in 1890".
_BE = re.compile(r"\b(?:is|are|was|were|(?:has|had|have) been)\b")
# Matches the verb that becomes a plan, as in "The bridge was [to be] opened in 1890".
_PAST_PASSIVE = re.compile(r"\b(?:was|were) (?=\w{2,}ed\b)")
# Matches where another clause begins, such as the comma in "The bridge was built, and Anna Bell paid for it".
_BREAK = re.compile(r"[,;:()]|\b(?:that|which|who|and|while|but|or|so|where|when|because|although|though)\b")
# Invented names of people, which are hardly in anybody's files.
_PEOPLE = ("Ottilie Brandreth", "Cassius Wendover", "Marigold Thackeray", "Lambert Quillfeather", "Rosalind Ockenden")
# Invented names of places.
_PLACES = ("Brandvik", "Ostermoor", "Kelderby", "Wexcombe", "Thornhaven")
# The number words from two on. What is counted by zero or one has another form.
_WORDS = tuple(NUMBER_WORDS)[2:]


def change_value(question: Question, sentences: Sentences) -> str:
    """Choose another value of the same form, which neither the question nor the sentences around its own have.

    :param question: The question.
    :param sentences: The sentences of the folder.
    :returns: The value. Empty if there is none.
    """
    # The 40 sentences before and behind are compared.
    near = sentences.all[max(0, question.sentence.number - 40) : question.sentence.number + 41]
    nearby_text = " ".join([question.text, question.sentence.context, *(sentence.text for sentence in near)]).lower()
    # The words, and the whole numbers such as "1,250.50". No part of such a number counts as a number of its own.
    nearby_words = set(re.findall(r"\d[\d,]*\.\d+|\d[\d,]*\d|\w+", nearby_text))
    for value in _list_values(question):
        if value and value != question.value and nearby_words.isdisjoint(_telling(value)):
            return value
    return ""


def _list_values(question: Question) -> Iterable[str]:
    """List values of the same form as the answer to a question. There are none if its form has no rule."""
    form = question.form
    if form == "cell":
        form = _form_of_cell(question.value)
    if form == "date":
        return (_other_date(question.value, step) for step in range(3, 40))
    if form == "number" and numbers_in(question.value):
        return (_other_number(question.value, step) for step in range(3, 60))
    if form == "name":
        return _PEOPLE
    if form == "place":
        return _PLACES
    return ()


def _form_of_cell(value: str) -> str:
    """Return the form of a cell's value: "date", "number", "name", or an empty text for any other value.

    For example, ``_form_of_cell("12 euros")`` returns ``"number"``.
    """
    if find_dates(value):
        return "date"
    if numbers_in(value):
        return "number"
    if re.fullmatch(r"[A-Z][a-z]+ [A-Z][a-z]+", value):
        return "name"
    return ""


def _telling(value: str) -> list[str]:
    """List those words of a value that must be new in the text around it.

    In "14 July 1931", only the numbers have to be new. If there are no numbers, only the first word has to be new.
    """
    numbers: list[str] = re.findall(r"\d[\d.,]*\d|\d", value)
    if numbers:
        return numbers
    all_words: list[str] = re.findall(r"\w+", value.lower())
    return all_words[:1]


def _other_date(value: str, step: int) -> str:
    """Change the day and the year of a date, but not the month.

    For example, ``_other_date("14 July 1931", 3)`` returns ``"18 July 1928"``.
    """

    def change(match: re.Match[str]) -> str:
        """Return another number: an earlier year, or another day from 1 to 28."""
        digits = match[0]
        if len(digits) == 4:
            return str(int(digits) - step)
        # In "2026-05-03", the month stays: only the last number is the day.
        is_month = re.match(r"-\d", value[match.end() :]) is not None
        if is_month:
            return digits
        day = (int(digits) + step) % 28 + 1
        return str(day).zfill(len(digits))

    return re.sub(r"\d+", change, value)


def _other_number(value: str, step: int) -> str:
    """Change the first number of a value and keep its form.

    For example, ``_other_number("1,250 tons", 3)`` returns ``"1,436 tons"``, and ``_other_number("seven ships", 3)``
    returns ``"ten ships"``.
    """
    begin, end, _ = numbers_in(value)[0]
    old_text = value[begin:end]
    old_lower = old_text.lower()
    if old_lower in NUMBER_WORDS:
        if old_lower not in _WORDS:
            return ""
        other = _WORDS[(_WORDS.index(old_lower) + step) % len(_WORDS)]
        if old_text[0].isupper():
            other = other.capitalize()
    elif "." in old_text:
        _, _, decimals = old_text.rpartition(".")
        new_decimal = float(old_text.replace(",", "")) + step
        other = f"{new_decimal:.{len(decimals)}f}"
    else:
        number = int(old_text.replace(",", ""))
        # A large number changes in proportion to its size.
        new_number = number + step * max(1, number // 20)
        other = f"{new_number:,}" if "," in old_text else str(new_number)
    return f"{value[:begin]}{other}{value[end:]}"


def deny(question: Question) -> str:
    """Write the sentence so that it no longer states the answer.

    Every second sentence becomes a plan, if its verb allows that. All others are denied. For example, "The bridge was
    opened in 1890." becomes a plan: "The bridge was to be opened in 1890." Denied, it becomes "The bridge was not
    opened in 1890."

    :param question: The question.
    :returns: The changed sentence. Empty for a cell or a step.
    """
    text = question.sentence.text
    if question.form in ("cell", "step"):
        return ""
    value_span = (question.at, question.at + len(question.value))
    if question.sentence.number % 2 == 0:
        for verb in _PAST_PASSIVE.finditer(text):
            if _are_together(text, verb.span(), value_span):
                return f"{text[: verb.end()]}to be {text[verb.end() :]}"

    verbs = [verb for verb in _BE.finditer(text) if _are_together(text, verb.span(), value_span)]
    if len(verbs) == 1:
        verb = verbs[0]
        # In "has been", the "not" comes behind the "has".
        first_word_of_verb = verb[0].split()[0]
        verb_end = verb.start() + len(first_word_of_verb)
        return f"{text[:verb_end]} not{text[verb_end:]}"

    # A sentence without a suitable verb is denied as a whole.
    first_word = text.split()[0]
    first_letter = text[0]
    if first_word in ("The", "A", "An", "In", "On") and not text.startswith(question.value):
        first_letter = first_letter.lower()
    return f"It is not true that {first_letter}{text[1:]}"


def _are_together(text: str, span: tuple[int, int], other_span: tuple[int, int]) -> bool:
    """Check whether two parts of a text stand in the same clause and do not overlap."""
    (_, begin_between), (end_between, _) = sorted((span, other_span))
    if begin_between > end_between:
        return False
    return _BREAK.search(text[begin_between:end_between]) is None


def edit_passages(
    questions: Sequence[Question], new: Sequence[str | None], sentences: Sentences
) -> tuple[list[Document], list[str]]:
    """Replace the sentences of questions in their passages.

    :param questions: The questions.
    :param new: The new text of each question's sentence. Empty means that the sentence is taken out, and None that all
        stays as it is. Copies that are word for word the same get the same text. Other sentences that state the same
        are taken out.
    :param sentences: The sentences of the folder.
    :returns: The changed passages, and the ids of the passages of which nothing is left.
    """
    # The sentences that change, with their new texts, by passage.
    changes: defaultdict[str, list[tuple[Sentence, str]]] = defaultdict(list)
    # The rows of tables that change, by file and by the text of the row: the old and the new value of a cell, or None
    # if the row is taken out.
    changes_of_rows: defaultdict[str, dict[str, tuple[str, str] | None]] = defaultdict(dict)
    for question, text in zip(questions, new, strict=True):
        if text is None:
            continue
        # Only the value was replaced, so it has grown by as many characters as the whole text has.
        growth = len(text) - len(question.sentence.text)
        new_value = text[question.at : question.at + len(question.value) + growth]
        for sentence in (question.sentence, *question.copies):
            if text and sentence.text == question.sentence.text:
                changes[sentence.passage.id].append((sentence, text))
                changes_of_rows[sentence.file][sentence.text] = (question.value, new_value)
            else:
                changes[sentence.passage.id].append((sentence, ""))
                changes_of_rows[sentence.file][sentence.text] = None

    passages = {sentence.passage.id: sentence.passage for sentence in sentences.all}
    changed_passages = []
    emptied_ids = []
    for passage in passages.values():
        # A passage may show rows whose sentences are in another passage of its file.
        changes_of_file = changes_of_rows.get(str(passage.meta.get("file_path") or passage.id))
        tables = _change_tables(passage.meta, changes_of_file) if changes_of_file else None
        if passage.id not in changes and tables is None:
            continue
        content = _change_sentences(passage.content or "", changes.get(passage.id, ()))
        meta = passage.meta if tables is None else {**passage.meta, TABLES: tables}
        if content.strip():
            changed_passages.append(replace(passage, content=content, meta=meta))
        else:
            emptied_ids.append(passage.id)
    return changed_passages, emptied_ids


def _change_sentences(content: str, changes: Iterable[tuple[Sentence, str]]) -> str:
    """Replace sentences of a passage by their new texts. If a text is empty, the blanks behind the sentence go too."""
    # The last sentence is changed first, so that the positions of the others still fit.
    last_first = sorted(changes, key=lambda change: -change[0].begin)
    for sentence, text in last_first:
        before = content[: sentence.begin]
        after = content[sentence.begin + len(sentence.text) :]
        if not text:
            after = after.lstrip(" ")
        content = f"{before}{text}{after}"
    return content


def _change_tables(meta: Mapping[str, object], changes: dict[str, tuple[str, str] | None]) -> str | None:
    """Change the rows in a passage's metadata, and return the tables as JSON. None if no row has changed.

    ``changes`` has the old and the new value of a cell by the text of its row, or None if the row is taken out.
    """
    has_changed = False
    changed_tables = []
    for table in read_tables(meta):
        rows_left = []
        for row in table.rows:
            text = table.write(row)
            if text not in changes:
                rows_left.append([row.group, *row.cells])
                continue
            has_changed = True
            change = changes[text]
            if change is not None:
                before, after = change
                cells = [after if cell == before else cell for cell in row.cells]
                rows_left.append([row.group, *cells])
        # A table of which no row is left is dropped.
        if rows_left:
            size = table.size - len(table.rows) + len(rows_left)
            changed_tables.append([table.number, table.title, list(table.columns), table.first, size, rows_left])
    if not has_changed:
        return None
    return json.dumps(changed_tables, ensure_ascii=False)
