"""Plain marks such as ``[1]`` or ``(1)`` in an answer whose model wrote no mark with its code.

Models see each mark with a code, as in ``1kx`` (``citations.py``). Small models often write only the number. This
module adds the code to such a mark if the passage with that number contains what the sentence says.
"""

import re
from collections.abc import Sequence

from haystack import Document

from prefrag.components.state.citations import CODE_LETTERS, MAX_CHARACTERS, citation_marks, prompt_marks
from prefrag.components.state.state import State, identity
from prefrag.components.text.sentences import plain_sentences
from prefrag.components.text.term_statistics import PLAIN_WORDS, passage_text

# An opening bracket, also one of Chinese and Japanese texts.
_OPEN = r"[\[\u3010\uff3b]"
# A closing bracket, likewise.
_CLOSE = r"[\]\u3011\uff3d]"
# A mark without its code: "1", "W12".
_MARK = r"[ADW]?\d{1,3}"
# Plain marks, in one of two forms:
# - in brackets: "[1, W2]". The group `bracketed` is "1, W2";
# - in parentheses at the end of a sentence: "opens at nine (1).". The group `ending` is "1".
# In "opens (1) at nine", nothing matches: such a number usually counts the items of a list.
_PLAIN = re.compile(
    rf"""
    {_OPEN} \s{{0,9}} \^? (?P<bracketed> {_MARK} (?: \s{{0,9}} [,;] \s{{0,9}} {_MARK} ){{0,9}} ) \s{{0,9}} {_CLOSE}
    | (?<=\S) \s \( (?P<ending> {_MARK} ) \) (?= \s{{0,9}} (?: [.!?\u3002\n] | $ ) )
    """,
    re.IGNORECASE | re.VERBOSE,
)
# A mark in parentheses, anywhere in the text: "(1)".
_NUMBERED = re.compile(rf"\({_MARK}\)", re.IGNORECASE)
# A short text in brackets: "[1, W2]", "[see above]".
_BRACKETED = rf"{_OPEN}[^\]\u3011\uff3d]{{0,80}}{_CLOSE}"
# Either of the two. Neither belongs to the words of a sentence.
_NO_WORDS = re.compile(rf"{_NUMBERED.pattern}|{_BRACKETED}", re.IGNORECASE)
# A mark with a code, right or wrong, as a word of its own: "1kx". "1km" does not match, because no code has an "m".
_CODED = re.compile(rf"(?<![^\W_]){_MARK}[{CODE_LETTERS}]{{2}}(?![^\W_])", re.IGNORECASE)
# A word or a number.
_WORD = re.compile(r"\w+")
# At most this many marks of an answer get codes. A usual answer has fewer than ten marks.
_MOST_MARKS = 100


def add_codes(answer: str, state: State) -> str:
    """Add codes to the plain marks of an answer, if the passages with these marks contain what is said.

    For example, ``The museum opens at nine [1].`` becomes ``The museum opens at nine [1kx].`` if passage 1 contains
    "museum", "opens" and "nine".

    A web page can make a model write ``[1]``, because it knows that plain marks are numbers. So a plain mark counts
    only under two conditions. First, the model has written no code at all, right or wrong. Second, the passage contains
    the words before the mark: all their numbers and names, and at least half of all words. Words of the question and
    frequent words are not compared.

    A text that a passage itself writes in parentheses or in a list, such as ``two (2)``, is no mark. A mark in
    parentheses that cites nothing is removed. A mark in brackets that cites nothing is left to :func:`read_citations`.

    :param answer: The answer, as the model wrote it.
    :param state: The state of the run.
    :returns: The answer with codes. It is unchanged if it contains a code, if it is longer than 20,000 characters, or
        if the run's prompts do not ask for citations.
    """
    marks_with_codes = prompt_marks(state)
    if not marks_with_codes or len(answer) > MAX_CHARACTERS or _CODED.search(answer):
        return answer

    plain_marks = citation_marks(state)
    passages = {plain_marks[identity(document)]: document for document in state.observed}
    texts = [passage_text(document) for document in passages.values()]
    matches = list(_PLAIN.finditer(answer))[:_MOST_MARKS]
    # If a number in parentheses stands elsewhere than at the end of a sentence, all these numbers count list items.
    n_at_ends = sum(match["ending"] is not None for match in matches)
    numbers_count_items = len(_NUMBERED.findall(answer)) > n_at_ends

    written = ""
    end_of_last = 0
    # The sentence before the present match.
    claim = ""
    for match in matches:
        text_before = answer[end_of_last : match.start()]
        end_of_last = match.end()
        written += text_before
        words = _NO_WORDS.sub(" ", text_before)
        # A mark without words before it follows another mark, and cites for the same claim.
        if _WORD.search(words):
            claim = plain_sentences(words)[-1]

        is_in_parentheses = match["ending"] is not None
        marks = re.split(r"[\s,;]+", (match["bracketed"] or match["ending"]).upper())
        # A match in parentheses has one mark.
        counts_item = numbers_count_items or marks[0] not in passages
        is_number = is_in_parentheses and counts_item
        if is_number or _is_copied(match, text_before, len(marks), texts):
            # What is no mark must not look like one, so it loses its brackets.
            written += match.group() if is_in_parentheses else f"({match['bracketed']})"
            continue

        cited = [mark for mark in marks if mark in passages and _holds(passages[mark], claim, state.question)]
        if cited:
            codes = ", ".join(marks_with_codes[identity(passages[mark])] for mark in cited)
            # The match in parentheses includes the blank before it.
            written += f" [{codes}]" if is_in_parentheses else f"[{codes}]"
        elif not is_in_parentheses:
            written += match.group()
    return written + answer[end_of_last:]


def _is_copied(match: re.Match[str], text_before: str, number_of_marks: int, texts: Sequence[str]) -> bool:
    """Check whether a match of ``_PLAIN`` is copied from a passage, such as "two (2)" or "[1, 2]".

    A single mark in parentheses is searched for together with the word before it.
    """
    if number_of_marks > 1:
        quoted = match.group()
    elif match["ending"]:
        words_before = text_before.split()
        last_word = words_before[-1] if words_before else ""
        quoted = f"{last_word} {match.group().strip()}"
    else:
        # Models see a [1] in the text of a passage as (1), so they cannot have copied it.
        return False
    return any(quoted in text for text in texts)


def _holds(document: Document, claim: str, question: str) -> bool:
    """Check whether a document contains all numbers and names of a sentence, and at least half of its words.

    Words of the question and frequent words are not compared. If no word is left, the result is False.
    """
    text = passage_text(document).casefold()
    words_of_text = set(_WORD.findall(text))
    words_of_question = set(_WORD.findall(question.casefold()))
    is_in_text: dict[str, bool] = {}
    for word in _WORD.findall(claim):
        folded = word.casefold()
        if folded not in words_of_question and folded not in PLAIN_WORDS:
            # In a script without blanks between words, such as Chinese, a "word" may be a whole sentence. So it is also
            # searched for inside the words of the text.
            is_inside_word = not folded.isascii() and folded in text
            is_in_text[word] = folded in words_of_text or is_inside_word
    if not is_in_text:
        return False

    for word, is_there in is_in_text.items():
        is_name_or_number = word[0].isupper() or any(map(str.isdigit, word))
        if is_name_or_number and not is_there:
            return False
    number_in_text = sum(is_in_text.values())
    return 2 * number_in_text >= len(is_in_text)
