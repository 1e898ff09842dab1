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
    form = _form_of_cell(question.value) if question.form == "cell" else question.form
    if form == "date":
        return (_other_date(question.value, step) for step in range(3, 40))
    if form == "number" and numbers_in(question.value):
        return (_other_number(question.value, step) for step in range(3, 60))
    return {"name": _PEOPLE, "place": _PLACES}.get(form, ())


def _form_of_cell(value: str) -> str:
    """Return the form of a cell's value: "date", "number", "name", or an empty text for any other value.

    For example, ``_form_of_cell("12 euros")`` returns ``"number"``.
    """
    if find_dates(value):
        return "date"
    if numbers_in(value):
        return "number"
    return "name" if re.fullmatch(r"[A-Z][a-z]+ [A-Z][a-z]+", value) else ""


def _telling(value: str) -> list[str]:
    """List those words of a value that must be new in the text around it."""
    # In "14 July 1931", only the numbers have to be new. If there are no numbers, only the first word has to be new.
    return re.findall(r"\d[\d.,]*\d|\d", value) or re.findall(r"\w+", value.lower())[:1]


def _other_date(value: str, step: int) -> str:
    """Change the day and the year of a date, but not the month.

    For example, ``_other_date("14 July 1931", 3)`` returns ``"18 July 1928"``.
    """

    def change(match: re.Match[str]) -> str:
        """Return another number: an earlier year, or another day from 1 to 28."""
        number = int(match[0])
        if len(match[0]) == 4:
            return str(number - step)
        # In "2026-05-03", the month stays: only the last number is the day.
        is_day = not re.match(r"-\d", value[match.end() :])
        return f"{(number + step) % 28 + 1:0{len(match[0])}}" if is_day else match[0]

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
        decimals = len(old_text.rpartition(".")[2])
        other = f"{float(old_text.replace(',', '')) + step:.{decimals}f}"
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
    end = question.at + len(question.value)
    if question.sentence.number % 2 == 0:
        for verb in _PAST_PASSIVE.finditer(text):
            if _are_together(text, verb.span(), (question.at, end)):
                return f"{text[: verb.end()]}to be {text[verb.end() :]}"

    verbs = [verb for verb in _BE.finditer(text) if _are_together(text, verb.span(), (question.at, end))]
    if len(verbs) == 1:
        verb_end = verbs[0].start() + len(verbs[0][0].split()[0])
        return f"{text[:verb_end]} not{text[verb_end:]}"

    first_word = text.split()[0]
    starts_plain = first_word in ("The", "A", "An", "In", "On") and not text.startswith(question.value)
    # A sentence without a suitable verb is denied as a whole.
    return f"It is not true that {text[0].lower() if starts_plain else text[0]}{text[1:]}"


def _are_together(text: str, span: tuple[int, int], other: tuple[int, int]) -> bool:
    """Check whether two parts of a text stand in the same clause and do not overlap."""
    left, right = sorted((span, other))
    return left[1] <= right[0] and _BREAK.search(text[left[1] : right[0]]) is None


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
    # The rows of tables that change, by file: the old and the new value of a cell, or None if the row is taken out.
    rows: defaultdict[str, dict[str, tuple[str, str] | None]] = defaultdict(dict)
    for question, text in zip(questions, new, strict=True):
        if text is None:
            continue
        for sentence in (question.sentence, *question.copies):
            is_same = sentence.text == question.sentence.text
            changes[sentence.passage.id].append((sentence, text if is_same else ""))
            # Only the value was replaced, so it has grown by as many characters as the whole text has.
            growth = len(text) - len(sentence.text)
            value = text[question.at : question.at + len(question.value) + growth]
            rows[sentence.file][sentence.text] = (question.value, value) if text and is_same else None

    passages = {sentence.passage.id: sentence.passage for sentence in sentences.all}
    written, outdated = [], []
    for passage in passages.values():
        rows_of_file = rows.get(str(passage.meta.get("file_path") or passage.id), {})
        tables = _change_tables(passage.meta, rows_of_file) if rows_of_file else None
        if passage.id not in changes and tables is None:
            continue
        content = passage.content or ""
        # The last sentence is changed first, so that the positions of the others still fit.
        for sentence, text in sorted(changes.get(passage.id, ()), key=lambda change: -change[0].begin):
            end = sentence.begin + len(sentence.text)
            after = content[end:] if text else content[end:].lstrip(" ")
            content = f"{content[: sentence.begin]}{text}{after}"
        meta = passage.meta if tables is None else {**passage.meta, TABLES: tables}
        if content.strip():
            written.append(replace(passage, content=content, meta=meta))
        else:
            outdated.append(passage.id)
    return written, outdated


def _change_tables(meta: Mapping[str, object], rows: dict[str, tuple[str, str] | None]) -> str | None:
    """Change the rows in a passage's metadata, and return the tables as JSON. None if no row has changed."""
    tables = read_tables(meta)
    texts_by_table = {}
    for table in tables:
        texts_by_table[table.number] = [table.write(row) for row in table.rows]
    if not any(text in rows for texts in texts_by_table.values() for text in texts):
        return None

    changed_tables = []
    for table in tables:
        rows_left = []
        for row, text in zip(table.rows, texts_by_table[table.number], strict=True):
            if text not in rows:
                rows_left.append([row.group, *row.cells])
                continue
            change = rows[text]
            if change is not None:
                before, after = change
                cells = [after if cell == before else cell for cell in row.cells]
                rows_left.append([row.group, *cells])
        size = table.size - len(table.rows) + len(rows_left)
        if rows_left:
            changed_tables.append([table.number, table.title, list(table.columns), table.first, size, rows_left])
    return json.dumps(changed_tables, ensure_ascii=False)
