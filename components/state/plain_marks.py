"""Plain marks such as ``[1]`` or ``(1)`` in an answer whose model wrote no mark with its code."""

import re

from haystack import Document

from prefrag.components.state.citations import CODE_LETTERS, MAX_CHARACTERS, citation_marks, prompt_marks
from prefrag.components.state.state import State, identity
from prefrag.components.text.sentences import plain_sentences
from prefrag.components.text.term_statistics import PLAIN_WORDS, passage_text

_MARK = r"[ADW]?\d{1,3}"
# A mark in parentheses only cites at the end of a sentence. Elsewhere it numbers the items of a list.
_PLAIN = re.compile(
    rf"[\[\u3010\uff3b]\s{{0,9}}\^?(?P<bracketed>{_MARK}(?:\s{{0,9}}[,;]\s{{0,9}}{_MARK}){{0,9}})\s{{0,9}}[\]\u3011\uff3d]"
    rf"|(?<=\S)\s\((?P<ending>{_MARK})\)(?=\s{{0,9}}(?:[.!?\u3002\n]|$))",
    re.IGNORECASE,
)
_NUMBERED = re.compile(rf"\({_MARK}\)", re.IGNORECASE)
# Marks are no words of a sentence.
_NO_WORDS = re.compile(rf"{_NUMBERED.pattern}|[\[\u3010\uff3b][^\]\u3011\uff3d]{{0,80}}[\]\u3011\uff3d]", re.IGNORECASE)
_CODED = re.compile(rf"(?<![^\W_]){_MARK}[{CODE_LETTERS}]{{2}}(?![^\W_])", re.IGNORECASE)
_WORD = re.compile(r"\w+")
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
    numbers_list = len(_NUMBERED.findall(answer)) > sum(match["ending"] is not None for match in marks)
    written, end, claim = "", 0, ""
    for match in marks:
        segment = answer[end : match.start()]
        words = _NO_WORDS.sub(" ", segment)
        claim = plain_sentences(words)[-1] if _WORD.search(words) else claim
        written, end = written + segment, match.end()
        names = [name.upper() for name in re.split(r"[\s,;]+", match["bracketed"] or match["ending"])]
        # A passage's own [1] is shown to models as (1), so they did not copy a single number in brackets.
        quoted = match[0] if len(names) > 1 else f"{(segment.split() or [''])[-1]} {match[0].strip()}"
        is_copied = (match["ending"] or len(names) > 1) and any(quoted in text for text in texts)
        if is_copied or (match["ending"] and (numbers_list or names[0] not in shown)):
            written += match[0] if match["ending"] else f"({match['bracketed']})"
        elif named := [name for name in names if name in shown and _holds(shown[name], claim, state.question)]:
            written += f"{' ' * bool(match['ending'])}[{', '.join(coded[identity(shown[name])] for name in named)}]"
        elif not match["ending"]:
            written += match[0]
    return written + answer[end:]


def _holds(document: Document, claim: str, question: str) -> bool:
    """Check whether a document has the numbers and names of a sentence, and half of its words."""
    text = passage_text(document).casefold()
    words, asked = {*_WORD.findall(text)}, {*_WORD.findall(question.casefold())}
    new = {word: word.casefold() for word in _WORD.findall(claim)}
    # Scripts without blanks between words have whole sentences for words.
    said = {
        word: key in words or (not key.isascii() and key in text)
        for word, key in new.items()
        if key not in asked and key not in PLAIN_WORDS
    }
    named = [is_in for word, is_in in said.items() if word[0].isupper() or any(map(str.isdigit, word))]
    return bool(said) and all(named) and 2 * sum(said.values()) >= len(said)
