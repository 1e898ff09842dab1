"""Plain marks such as ``[1]`` or ``(1)`` in an answer whose model wrote no mark with its code."""

import re
from collections.abc import Sequence

from haystack import Document

from prefrag.components.state.citations import CODE_LETTERS, MAX_CHARACTERS, citation_marks, prompt_marks
from prefrag.components.state.state import State, identity
from prefrag.components.text.sentences import plain_sentences
from prefrag.components.text.term_statistics import PLAIN_WORDS, passage_text

# Brackets, also those of Chinese and Japanese texts.
_OPEN, _CLOSE = r"[\[\u3010\uff3b]", r"[\]\u3011\uff3d]"
_MARK = r"[ADW]?\d{1,3}"
# The group `bracketed` is "1, W2" in "[1, W2]". The group `ending` is "1" in "opens at nine (1)." A mark in parentheses
# only cites at the end of a sentence. Elsewhere it numbers the items of a list.
_PLAIN = re.compile(
    rf"""
    {_OPEN} \s{{0,9}} \^? (?P<bracketed> {_MARK} (?: \s{{0,9}} [,;] \s{{0,9}} {_MARK} ){{0,9}} ) \s{{0,9}} {_CLOSE}
    | (?<=\S) \s \( (?P<ending> {_MARK} ) \) (?= \s{{0,9}} (?: [.!?\u3002\n] | $ ) )
    """,
    re.IGNORECASE | re.VERBOSE,
)
_NUMBERED = re.compile(rf"\({_MARK}\)", re.IGNORECASE)
# Marks, and texts in brackets, are no words of a sentence.
_BRACKETED = rf"{_OPEN}[^\]\u3011\uff3d]{{0,80}}{_CLOSE}"
_NO_WORDS = re.compile(rf"{_NUMBERED.pattern}|{_BRACKETED}", re.IGNORECASE)
# A mark with a code, right or wrong, as a word of its own: "1kx".
_CODED = re.compile(rf"(?<![^\W_]){_MARK}[{CODE_LETTERS}]{{2}}(?![^\W_])", re.IGNORECASE)
_WORD = re.compile(r"\w+")
# Only this many marks get codes. A usual answer has fewer than ten.
_MOST_MARKS = 100


def add_codes(answer: str, state: State) -> str:
    """Write the plain marks of an answer with their codes, where the passage of that mark holds what is said.

    A web page can make a model write ``[1]``, because it knows that plain marks are numbers. So a plain mark only
    counts if the model has written no code at all, right or wrong, and if the passage has the words before the mark:
    all their numbers and names, and half of the others, without those of the question. What a passage itself writes in
    parentheses or in a list, such as ``two (2)``, is no mark. A mark in parentheses that cites nothing is removed; the
    others are left to :func:`read_citations`.
    """
    coded, plain = prompt_marks(state), citation_marks(state)
    if not coded or len(answer) > MAX_CHARACTERS or _CODED.search(answer):
        return answer

    marks = list(_PLAIN.finditer(answer))[:_MOST_MARKS]
    shown = {plain[identity(document)]: document for document in state.observed}
    texts = [passage_text(document) for document in shown.values()]
    # If some numbers in parentheses are not at the end of a sentence, all of them number a list.
    in_parentheses = [match for match in marks if match["ending"]]
    numbers_list = len(_NUMBERED.findall(answer)) > len(in_parentheses)
    written, end, claim = "", 0, ""
    for match in marks:
        segment = answer[end : match.start()]
        end = match.end()
        written += segment
        words = _NO_WORDS.sub(" ", segment)
        if _WORD.search(words):
            # Otherwise this mark follows another one, and cites for the same words.
            claim = plain_sentences(words)[-1]
        names = [name.upper() for name in re.split(r"[\s,;]+", match["bracketed"] or match["ending"])]
        is_ending = match["ending"] is not None
        is_number = is_ending and (numbers_list or names[0] not in shown)
        if is_number or _is_copied(match, segment, len(names), texts):
            written += match[0] if is_ending else f"({match['bracketed']})"
            continue

        cited = [name for name in names if name in shown and _holds(shown[name], claim, state.question)]
        if cited:
            blank = " " if is_ending else ""
            codes = ", ".join(coded[identity(shown[name])] for name in cited)
            written += f"{blank}[{codes}]"
        elif not is_ending:
            written += match[0]
    return written + answer[end:]


def _is_copied(match: re.Match[str], before: str, number_of_names: int, texts: Sequence[str]) -> bool:
    """Check whether a match of ``_PLAIN`` is copied from a passage: several marks, or one with the word before it."""
    if number_of_names > 1:
        quoted = match[0]
    elif match["ending"]:
        word = before.split()[-1] if before.strip() else ""
        quoted = f"{word} {match[0].strip()}"
    else:
        # Models see a [1] in the text of a passage as (1), so they cannot have copied it.
        return False
    return any(quoted in text for text in texts)


def _holds(document: Document, claim: str, question: str) -> bool:
    """Check whether a document has the numbers and names of a sentence, and half of its words."""
    text = passage_text(document).casefold()
    words_of_text = set(_WORD.findall(text))
    words_of_question = set(_WORD.findall(question.casefold()))
    is_in_text: dict[str, bool] = {}
    for word in _WORD.findall(claim):
        folded = word.casefold()
        if folded not in words_of_question and folded not in PLAIN_WORDS:
            # Scripts without blanks between words have whole sentences for words.
            is_in_text[word] = folded in words_of_text or (not folded.isascii() and folded in text)
    names_and_numbers = [word for word in is_in_text if word[0].isupper() or any(map(str.isdigit, word))]
    if not is_in_text or not all(is_in_text[word] for word in names_and_numbers):
        return False
    return 2 * sum(is_in_text.values()) >= len(is_in_text)
