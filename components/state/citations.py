"""The marks by which answers cite passages, and the citations in an answer.

Users see plain marks: ``1`` for a local document, ``W1`` for a web page. Models see each mark with a code of two
letters, as in ``1kx``. The code is computed from the question and the document. A mark counts only with the right code.
So a web page cannot forge the marks of other documents, because it does not know their contents. Small models often
leave the codes out. For them, ``plain_marks.py`` adds the code to a plain mark if the passage contains what is said.
"""

import re
from collections import Counter
from collections.abc import Collection, Mapping
from hashlib import blake2b

from prefrag.components.state.state import Identity, State, identity

# The letters of codes. Without vowels, "t" and "m", no code spells a word, an ordinal ("1st") or a unit ("5km").
CODE_LETTERS = "bcfhjkpqrsvwxz"
# Only this many characters are searched for citations. Answers are shorter, but earlier turns may be a megabyte long.
MAX_CHARACTERS = 20_000
# Opening brackets, also those of Chinese and Japanese texts, for use inside a character class.
_OPEN = r"\[\u3010\uff3b"
# The closing brackets, likewise.
_CLOSE = r"\]\u3011\uff3d"
# A mark with its code, as a word of its own: "1kx", "W12fb". The letter W stands for a web page, and A for a document
# that came with the question. Models also write D, for "document". "5km" matches as well; whether its letters are a
# right code is checked later. A number without letters, such as "12", does not match.
_CODE = r"(?<![^\W_])[ADW]?\d{1,6}[a-z]{2}(?![^\W_])"
_CODED = re.compile(_CODE, re.IGNORECASE)
# What may be a citation: a text in brackets, or a mark with its code without brackets. The Markdown around it is
# matched, too: "**[1kx, 2fb]**", "`1kx`". The group `inner` is the text in the brackets, "1kx, 2fb". The group `bare`
# is the mark without brackets, "1kx".
_CITATION = re.compile(
    rf"""
    (?P<mark_up> [*_`]{{0,3}} )
    (?: [{_OPEN}] (?P<inner> [^{_OPEN}{_CLOSE}\0]{{1,160}} ) [{_CLOSE}]
      | (?P<bare> {_CODE} )
    )
    (?P=mark_up)
    """,
    re.IGNORECASE | re.VERBOSE,
)
# Words and signs that models write beside marks: "see", "passages" and "and" in "[see passages 1kx and 2fb]".
_FILLER = re.compile(r"\b(?:passages?|documents?|sources?|marks?|see|and)\b[.:#]?|&|\^", re.IGNORECASE)
# The beginning of a citation as some other products write it: "4:0\u2020" in "4:0\u2020source". Models were trained on
# answers of these products.
_OTHER_MARK = re.compile(r"\s{0,9}\d{1,6}(?::\d{1,6})?\s{0,9}\u2020")
# A footnote of Markdown, on a line of its own below the text: "[^1]: The museum's guide".
_FOOTNOTE = re.compile(r"^[ \t]{0,9}\[\^\w{1,20}\]:.*$", re.MULTILINE)
# Two letters that may be a code, right or wrong: "kx". Or "ma", "un" or "na": the codes in the examples of our prompts,
# which models copy. "am" does not match.
_WRITTEN_CODE = re.compile(rf"[{CODE_LETTERS}]{{2}}|ma|un|na", re.IGNORECASE)
# A number of one or two digits, maybe with a letter or "^": "7", "W12", "^1". A year such as "1969" does not match.
_SHORT_NUMBER = re.compile(r"\s{0,9}\^?[ADW]?\d{1,2}\s{0,9}", re.IGNORECASE)
# A hyphen or dash between the two ends of a range of marks: " - " in "1kx - 3bq".
_DASH = re.compile(r"\s{0,9}[-\u2010-\u2015]\s{0,9}")
# A mark in its three parts: the letter, the number and the code. "W12fb" has "W", "12" and "fb". "7" has only a number.
_MARK = re.compile(r"([ADW]?)(\d{1,6})([a-z]{2})?", re.IGNORECASE)
# A number, maybe with the letter of a mark and blanks around it: "7", "W12 ".
_NUMBER = r"\s{0,9}[ADW]?\d{1,9}\s{0,9}"
# One number, or several with commas, semicolons or dashes between them: "1969", "3, 5-7".
_NUMBERS = rf"{_NUMBER}(?:[-,;\u2010-\u2015]{_NUMBER}){{0,40}}"
# Numbers in brackets: "[1969]", "[3, 5-7]". If they are no marks of passages, they still look like marks to the user.
_UNRESOLVED = re.compile(rf"[{_OPEN}]({_NUMBERS})[{_CLOSE}]", re.IGNORECASE)
# What a model wrote between the number and the code of one mark: the hyphen in "1-kx".
_SPLIT_CODE = re.compile(r"(?<=\d)[\W_]{1,3}(?=[a-z]{2}(?![^\W_]))", re.IGNORECASE)
# The character \0 is put in place of a citation. It is removed later, with the blanks before it. If nothing but
# citations stands in parentheses, as in "(\0, \0)", the parentheses are removed, too.
_PARENTHESES = r"\s{0,9}\([\s,;]{0,9}(?:\0[\s,;]{0,9}){1,50}\)"
_GAP = re.compile(rf"{_PARENTHESES}|\s{{0,9}}\0")


def citation_marks(state: State) -> dict[Identity, str]:
    """Assign plain marks to the documents that the model has been shown.

    The marks are ``1``, ``2``, ... for local documents, ``W1``, ``W2``, ... for web pages and ``A1``, ``A2``, ... for
    documents that came with the question. Numbers are given in the order in which documents are first shown. So a
    document keeps its mark during the run.

    :param state: The state of a run.
    :returns: For each document, by its :func:`identity`, the mark.
    """
    counts = {"": 0, "W": 0, "A": 0}
    attached = {identity(document) for document in state.attached}
    marks: dict[Identity, str] = {}
    for document in state.observed:
        key = identity(document)
        letter = ""
        if key in attached:
            letter = "A"
        elif document.meta.get("source") in state.settings.external:
            letter = "W"
        counts[letter] += 1
        marks[key] = f"{letter}{counts[letter]}"
    return marks


def prompt_marks(state: State) -> dict[Identity, str]:
    """Return the marks with their codes, as models see them, such as ``1kx``.

    :param state: The state of a run.
    :returns: For each document that the model has been shown, by its :func:`identity`, the mark with the code. Empty if
        the run's prompts are not ``product``, because only these prompts ask for citations.
    """
    if state.settings.prompts != "product":
        return {}
    return {key: mark + _code(state.question, key) for key, mark in citation_marks(state).items()}


def known_marks(state: State) -> dict[str, str]:
    """Map the marks with codes, as models see and cite them, to the plain marks that users see.

    :param state: The state of a run.
    :returns: A mapping such as ``{"1kx": "1", "W1fb": "W1"}``.
    """
    plain = citation_marks(state)
    return {mark: plain[key] for key, mark in prompt_marks(state).items()}


def read_citations(answer: str, marks_of_codes: Mapping[str, str] | None = None) -> tuple[str, list[str]]:
    """Split an answer into its text and the plain marks that it cites.

    For example, with the marks ``{"2kx": "2", "W1fb": "W1"}``, the answer ``1969 [2kx][W1fb]`` becomes
    ``("1969", ["2", "W1"])``.

    A mark is a citation only if it has its code. Other marks are removed from the text but cite nothing:

    - marks without a code, with a wrong code, or with a wrong ``W`` or ``A``. If a model writes plain marks,
      :func:`add_codes` has to add the codes before this function is called;
    - marks that no passage has, such as ``[7]``;
    - marks of other products, such as ``【1†source】``, or ``[^1]`` with its footnote.

    Brackets around other numbers, such as a year, become parentheses: ``[1969]`` becomes ``(1969)``. All other brackets
    stay as they are.

    :param answer: The answer, as the model wrote it.
    :param marks_of_codes: The marks of the run, from :func:`known_marks`. None removes everything that looks like a
        citation.
    :returns: The text without citations, and the plain marks that are cited, each once.
    """
    text, citations = _take_out(answer, marks_of_codes)
    plain_text = _UNRESOLVED.sub(r"(\1)", _close_gaps(text))
    # The keys of the dictionary are the marks, each once and in order.
    cited: dict[str, None] = {}
    for marks in citations:
        cited.update(dict.fromkeys(marks))
    return plain_text, list(cited)


def cite_plainly(answer: str, marks_of_codes: Mapping[str, str]) -> str:
    """Write the citations of an answer with plain marks.

    For example, ``1969 [2kx][W1fb]`` becomes ``1969 [2][W1]``. Marks that cite nothing are removed.

    :param answer: The answer, as the model wrote it.
    :param marks_of_codes: The marks of the run, from :func:`known_marks`.
    :returns: The answer with plain marks.
    """
    text, citations = _take_out(answer, marks_of_codes)
    # The parts of the text between the citations.
    first, *others = text.split("\0")
    written = first
    for marks, following in zip(citations, others, strict=True):
        if marks:
            listed = ", ".join(marks)
            written += f"[{listed}]"
        else:
            written += "\0"
        written += following
    return _close_gaps(written)


def without_codes(text: str, marks_of_codes: Mapping[str, str]) -> str:
    """Replace the marks with codes in a thought or an explanation by the plain marks that users see.

    For example, "Passage 1kx says so" becomes "Passage 1 says so".

    :param text: The thought or the explanation.
    :param marks_of_codes: The marks of the run, from :func:`known_marks`. Other marks stay as they are.
    :returns: The text with plain marks.
    """

    def plain_mark(match: re.Match[str]) -> str:
        """Return the plain mark for a mark with its code. Any other text stays as it is."""
        written_mark = match.group()
        return marks_of_codes.get(_normalise_case(written_mark), written_mark)

    return _CODED.sub(plain_mark, text)


def _code(question: str, key: Identity) -> str:
    """Compute the two letters of a document's code.

    Two documents may have the same code. Their marks still differ in the number.
    """
    # A document may contain half of a surrogate pair. "surrogatepass" encodes it instead of raising an error.
    text = repr((question, key)).encode("utf-8", "surrogatepass")
    digest = blake2b(text, digest_size=8).digest()
    letters = len(CODE_LETTERS)
    number = int.from_bytes(digest) % (letters * letters)
    first, second = divmod(number, letters)
    return CODE_LETTERS[first] + CODE_LETTERS[second]


def _normalise_case(mark: str) -> str:
    """Change upper and lower case in a mark to that of :func:`prompt_marks`: ``w1KX`` becomes ``W1kx``."""
    return mark[:1].upper() + mark[1:].lower()


def _take_out(answer: str, marks_of_codes: Mapping[str, str] | None) -> tuple[str, list[list[str]]]:
    r"""Replace each citation by the character \0. Return the text, and for each citation its plain marks.

    For example, "1969 [2fb], or [1970]" becomes "1969 \0, or (1970)" and ``[["2"]]``. A citation with no right mark has
    an empty list.
    """
    text = _FOOTNOTE.sub("", answer.replace("\0", ""))
    beginning = text[:MAX_CHARACTERS]
    # Citations are searched only in the beginning.
    unread = text[MAX_CHARACTERS:]
    # The marks with codes, without their letters. By these, a mark is recognised even if the model wrote a wrong
    # letter: "W1kx" instead of "1kx".
    without_letter = {mark.lstrip("ADW") for mark in marks_of_codes or ()}
    citations: list[list[str]] = []
    pieces: list[str] = []
    # Where the last match ends.
    end_of_last = 0
    for match in _CITATION.finditer(beginning):
        text_before = beginning[: match.start()]
        marks = _cited_marks(match, text_before, marks_of_codes, without_letter)
        pieces.append(beginning[end_of_last : match.start()])
        end_of_last = match.end()
        if marks is None:
            # The text in the brackets is no citation.
            pieces.append(_UNRESOLVED.sub(r"(\1)", match.group()))
        else:
            pieces.append("\0")
            citations.append(marks)
    pieces += [beginning[end_of_last:], unread]

    # A mark whose code was guessed cites nothing.
    guessed = _find_guessed(beginning, marks_of_codes) if marks_of_codes else set()
    trusted = [[mark for mark in marks if mark not in guessed] for marks in citations]
    return "".join(pieces), trusted


def _cited_marks(
    match: re.Match[str], before: str, marks_of_codes: Mapping[str, str] | None, without_letter: Collection[str]
) -> list[str] | None:
    """Return the plain marks that a match of ``_CITATION`` cites. The list may be empty. None: it is no citation.

    ``before`` is the text before the match. ``without_letter`` are the marks with codes, without their letters.
    """
    inner = match["inner"] or match["bare"]
    if match["inner"]:
        marks = _read_marks(inner, marks_of_codes)
        if marks is not None:
            return marks

    # The brackets also contain other words, or there are no brackets. Then only marks with their codes count.
    coded_marks = [_normalise_case(mark) for mark in _CODED.findall(_SPLIT_CODE.sub("", inner))]
    has_our_mark = any(mark.lstrip("ADW") in without_letter for mark in coded_marks)
    if not has_our_mark and not _is_foreign(inner, before):
        return None
    plain_marks = marks_of_codes or {}
    return [plain_marks[mark] for mark in coded_marks if mark in plain_marks]


def _is_foreign(inner: str, before: str) -> bool:
    """Check whether a text in brackets is a mark, although no passage of this run has that mark.

    This is so for marks of other products, and for a short number behind other text, as in ``in 1969 [7]``. Directly
    behind a letter, as in ``x[1]``, a number is no mark.
    """
    if _OTHER_MARK.match(inner):
        return True
    last_character = before[-1:]
    follows_text = bool(before.strip()) and not last_character.isalpha()
    return follows_text and _SHORT_NUMBER.fullmatch(inner) is not None


def _close_gaps(text: str) -> str:
    r"""Remove the characters \0 with the blanks before them: "nine \0." becomes "nine."."""
    # Between two words, \0 becomes a blank. Otherwise the joined words could look like a mark with its code.
    with_blanks = re.sub(r"(?<=\w)\0(?=\w)", " ", text)
    return _GAP.sub("", with_blanks).strip()


def _find_guessed(text: str, marks_of_codes: Mapping[str, str]) -> set[str]:
    """Find the plain marks that stand in a text with two or more wrong codes.

    For example, "1bb 1cc" has two wrong codes if the right mark is "1kx", so the result is ``{"1"}``. Such codes were
    guessed: a web page may list all possible codes of a mark, and a model may copy the list. A right code among them
    proves nothing.
    """
    coded_marks = {_normalise_case(mark) for mark in _CODED.findall(text)}
    # The number of wrong codes of each plain mark.
    wrong_codes: Counter[str] = Counter()
    for mark in coded_marks - marks_of_codes.keys():
        # The code is the last two letters.
        plain_mark, code = mark[:-2], mark[-2:]
        if set(code) <= set(CODE_LETTERS):
            wrong_codes[plain_mark] += 1
    return {plain_mark for plain_mark, number in wrong_codes.items() if number > 1}


def _read_marks(inner: str, marks_of_codes: Mapping[str, str] | None) -> list[str] | None:
    """Return the plain marks that a text in brackets cites. None if the text contains anything but marks.

    For example, "passages 1kx and 2fb" gives ``["1", "2"]``. The plain mark "2" gives an empty list, because the code
    is missing. "1969" gives None if no passage has this number: without a code, it may be a year.
    """
    without_filler = _FILLER.sub(" ", inner)
    with_plain_dashes = _DASH.sub("-", without_filler)
    items = [item for item in re.split(r"[\s,;]+", with_plain_dashes) if item]
    if not items:
        return None

    # An item is a mark, or a range with a mark at either end.
    ranges = [item.split("-", 1) for item in items]
    marks_as_matches: list[re.Match[str]] = []
    for ends in ranges:
        for end in ends:
            match = _MARK.fullmatch(end)
            if match is None:
                return None
            marks_as_matches.append(match)
    if marks_of_codes is None:
        return [item.upper() for item in items]

    marks: list[str] = []
    for ends in ranges:
        marks += _resolve(ends, marks_of_codes)
    if not marks and not all(_looks_like_ours(match, marks_of_codes) for match in marks_as_matches):
        return None
    return marks


def _looks_like_ours(mark: re.Match[str], marks_of_codes: Mapping[str, str]) -> bool:
    """Check whether a match of ``_MARK`` looks like a mark of this run.

    It does if it has the letter and number of a passage, or if it has a code, right or wrong.
    """
    letter, number, code = mark.groups(default="")
    # The number may begin with zeros.
    number_without_zeros = int(number)
    plain_mark = f"{letter.upper()}{number_without_zeros}"
    return plain_mark in marks_of_codes.values() or _WRITTEN_CODE.fullmatch(code) is not None


def _resolve(ends: list[str], marks_of_codes: Mapping[str, str]) -> list[str]:
    """Return the plain marks of one mark, or of a range of marks that is given by its two ends.

    For example, ``_resolve(["1kx", "3bq"], ...)`` returns ``["1", "2", "3"]``. An end without its right code is left
    out. A range from a local document to a web page, such as ``1kx-W2fb``, contains only the local documents.
    """
    resolved = []
    for end in ends:
        mark = marks_of_codes.get(_normalise_case(end))
        if mark is not None:
            resolved.append(mark)
    if len(resolved) < 2:
        return resolved

    marks = list(marks_of_codes.values())
    first_mark, last_mark = resolved
    first = marks.index(first_mark)
    last = marks.index(last_mark)
    letter = first_mark.rstrip("0123456789")
    return [mark for mark in marks[first : last + 1] if mark.rstrip("0123456789") == letter]
