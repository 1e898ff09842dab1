"""The marks by which answers cite passages, and the citations in an answer.

Users see plain marks: ``1`` for a local document, ``W1`` for a web page. Models see each mark with a code, as in
``1kx``. The code is computed from the question and the document. A mark counts only with the right code, so a web page
cannot forge the marks of other documents, whose contents it does not know. Small models leave the codes out:
``plain_marks.py`` adds them to plain marks whose passages hold what is said.
"""

import re
from collections import Counter
from collections.abc import Mapping
from hashlib import blake2b

from prefrag.components.state.state import Identity, State, identity

# These letters cannot spell words (no vowels), ordinals such as "1st" or units such as "5km".
CODE_LETTERS = "bcfhjkpqrsvwxz"
# Only this many characters are searched for citations. Answers are shorter, but earlier turns may be a megabyte long.
MAX_CHARACTERS = 20_000
_CODE = r"(?<![^\W_])[ADW]?\d{1,6}[a-z]{2}(?![^\W_])"
_CODED = re.compile(_CODE, re.IGNORECASE)
# Matches text in brackets, or a mark with its code without brackets; in both cases with the Markdown around it.
_CITATION = re.compile(
    r"(?P<mark_up>[*_`]{0,3})"
    rf"(?:[\[\u3010\uff3b](?P<inner>[^\[\]\u3010\u3011\uff3b\uff3d\0]{{1,160}})[\]\u3011\uff3d]|(?P<bare>{_CODE}))"
    r"(?P=mark_up)",
    re.IGNORECASE,
)
_FILLER = re.compile(r"\b(?:passages?|documents?|sources?|marks?|see|and)\b[.:#]?|&|\^", re.IGNORECASE)
# The marks of other products, which models were trained on: the citation 4:0\u2020source, and footnotes below the text.
_OTHER_MARK = re.compile(r"\s{0,9}\d{1,6}(?::\d{1,6})?\s{0,9}\u2020")
_FOOTNOTE = re.compile(r"^[ \t]{0,9}\[\^\w{1,20}\]:.*$", re.MULTILINE)
# The letters of codes, and those of the examples in the prompts.
_WRITTEN_CODE = re.compile(rf"[{CODE_LETTERS}]{{2}}|ma|un|na", re.IGNORECASE)
# A number that is shorter than a year. Behind words and a blank, it is a mark, even if no passage has that number.
_SHORT_NUMBER = re.compile(r"\s{0,9}\^?[ADW]?\d{1,2}\s{0,9}", re.IGNORECASE)
_DASH = re.compile(r"\s{0,9}[-\u2010-\u2015]\s{0,9}")
_MARK = re.compile(r"([ADW]?)(\d{1,6})([a-z]{2})?", re.IGNORECASE)
# Numbers in brackets, such as [1969], that are no marks of passages but would look like marks to the user.
_NUMBER = r"\s{0,9}[ADW]?\d{1,9}\s{0,9}"
_UNRESOLVED = re.compile(
    rf"[\[\u3010\uff3b]({_NUMBER}(?:[-,;\u2010-\u2015]{_NUMBER}){{0,40}})[\]\u3011\uff3d]", re.IGNORECASE
)
_SPLIT_CODE = re.compile(r"(?<=\d)[\W_]{1,3}(?=[a-z]{2}(?![^\W_]))", re.IGNORECASE)
# The character \0 is put in place of a citation. It is removed later, with blanks before it and parentheses around it.
_GAP = re.compile(r"\s{0,9}\([\s,;]{0,9}(?:\0[\s,;]{0,9}){1,50}\)|\s{0,9}\0")


def citation_marks(state: State) -> dict[Identity, str]:
    """Assign marks to the documents that the model has been shown.

    The marks are ``1``, ``2``, ... for local documents, ``W1``, ``W2``, ... for web pages and ``A1``, ``A2``, ... for
    documents that came with the question. Numbers are given in the order in which documents are first shown, so a
    document keeps its mark during the run. The keys are the documents' :func:`identity`.
    """
    counts = {"": 0, "W": 0, "A": 0}
    attached = {identity(document) for document in state.attached}
    marks: dict[Identity, str] = {}
    for document in state.observed:
        letter = (
            "A"
            if identity(document) in attached
            else "W"
            if document.meta.get("source") in state.settings.external
            else ""
        )
        counts[letter] += 1
        marks[identity(document)] = f"{letter}{counts[letter]}"
    return marks


def prompt_marks(state: State) -> dict[Identity, str]:
    """Return each document's mark with its code, as models see it; empty unless ``prompts`` is ``product``."""
    if state.settings.prompts != "product":
        return {}
    return {key: mark + _code(state.question, key) for key, mark in citation_marks(state).items()}


def known_marks(state: State) -> dict[str, str]:
    """Map the marks with codes, as models see and cite them, to the plain marks."""
    plain = citation_marks(state)
    return {mark: plain[key] for key, mark in prompt_marks(state).items()}


def read_citations(answer: str, marks_of_codes: Mapping[str, str] | None = None) -> tuple[str, list[str]]:
    """Split an answer such as ``1969 [2kx][W1fb]`` into its text and the plain marks that it cites, each once.

    ``marks_of_codes`` comes from :func:`known_marks`. Only marks in it, with their codes, count as citations. Marks
    without the code, with a wrong code or a wrong ``W`` or ``A``, of no passage (``[7]``), and those of other products
    (``【1†source】``, ``[^1]`` with its footnote) are removed but cite nothing; :func:`add_codes` decides before
    which plain marks get their codes. Brackets around other numbers, such as a year, become parentheses; other brackets
    stay. Without ``marks_of_codes``, everything that looks like a citation is removed.
    """
    text, cited = _take_out(answer, marks_of_codes)
    return _UNRESOLVED.sub(r"(\1)", _close_gaps(text)), list(dict.fromkeys(mark for marks in cited for mark in marks))


def cite_plainly(answer: str, marks_of_codes: Mapping[str, str]) -> str:
    """Write the citations of an answer with plain marks."""
    text, cited = _take_out(answer, marks_of_codes)
    written = iter([f"[{', '.join(marks)}]" if marks else "\0" for marks in cited])
    return _close_gaps(re.sub("\0", lambda _: next(written), text))


def without_codes(text: str, marks_of_codes: Mapping[str, str]) -> str:
    """Replace the marks with codes in a thought or an explanation by the plain marks that users see."""
    return _CODED.sub(lambda match: marks_of_codes.get(_normalise_case(match[0]), match[0]), text)


def _code(question: str, key: Identity) -> str:
    digest = blake2b(repr((question, key)).encode("utf-8", "surrogatepass"), digest_size=8).digest()
    first, second = divmod(int.from_bytes(digest) % len(CODE_LETTERS) ** 2, len(CODE_LETTERS))
    return CODE_LETTERS[first] + CODE_LETTERS[second]


def _normalise_case(mark: str) -> str:
    """Change upper and lower case in a mark to that of :func:`prompt_marks`: ``w1KX`` becomes ``W1kx``."""
    return mark[:1].upper() + mark[1:].lower()


def _take_out(answer: str, marks_of_codes: Mapping[str, str] | None) -> tuple[str, list[list[str]]]:
    r"""Replace each citation by the character \0. Return the text, and for each citation the marks that it cites."""
    cited: list[list[str]] = []

    def take(match: re.Match[str]) -> str:
        inner = match["inner"] or match["bare"]
        marks = _read_marks(inner, marks_of_codes) if match["inner"] else None
        if marks is None:
            codes = [_normalise_case(code) for code in _CODED.findall(_SPLIT_CODE.sub("", inner))]
            if not any(code.lstrip("ADW") in bare for code in codes) and not _is_foreign(inner, text[: match.start()]):
                return _UNRESOLVED.sub(r"(\1)", match[0])
            marks = [marks_of_codes[code] for code in codes if marks_of_codes and code in marks_of_codes]
        cited.append(marks)
        return "\0"

    bare = {mark.lstrip("ADW") for mark in marks_of_codes or ()}
    text = _FOOTNOTE.sub("", answer.replace("\0", ""))
    start, rest = text[:MAX_CHARACTERS], text[MAX_CHARACTERS:]
    guessed = _find_guessed(start, marks_of_codes) if marks_of_codes else set()
    return _CITATION.sub(take, start) + rest, [[mark for mark in marks if mark not in guessed] for marks in cited]


def _is_foreign(inner: str, before: str) -> bool:
    """Check whether a text in brackets is a mark that no passage of ours has."""
    follows = before[-1:].isspace() or not before[-1:].isalpha()
    return bool(_OTHER_MARK.match(inner) or (_SHORT_NUMBER.fullmatch(inner) and follows and before.strip()))


def _close_gaps(text: str) -> str:
    # Between two words, \0 becomes a blank: without it, the joined words could look like a mark with its code.
    return _GAP.sub("", re.sub(r"(?<=\w)\0(?=\w)", " ", text)).strip()


def _find_guessed(text: str, marks_of_codes: Mapping[str, str]) -> set[str]:
    """Find the passages whose codes were guessed: a web page may list all possible codes, and a model may copy them."""
    wrong = {_normalise_case(match[0]) for match in _CODED.finditer(text)} - marks_of_codes.keys()
    tried = Counter(mark[:-2] for mark in wrong if set(mark[-2:]) <= set(CODE_LETTERS))
    return {plain for plain, number in tried.items() if number > 1}


def _read_marks(inner: str, marks_of_codes: Mapping[str, str] | None) -> list[str] | None:
    items = [item for item in re.split(r"[\s,;]+", _DASH.sub("-", _FILLER.sub(" ", inner))) if item]
    ranges = [[_MARK.fullmatch(end) for end in item.split("-", 1)] for item in items]
    if not items or any(end is None for ends in ranges for end in ends):
        return None
    if marks_of_codes is None:
        return [item.upper() for item in items]
    marks = [mark for item in items for mark in _resolve(item.split("-", 1), marks_of_codes)]
    names_none = all(
        end is not None
        and (
            f"{end[1].upper()}{int(end[2])}" in marks_of_codes.values()
            or bool(end[3] and _WRITTEN_CODE.fullmatch(end[3]))
        )
        for ends in ranges
        for end in ends
    )
    return marks if marks or names_none else None


def _resolve(ends: list[str], marks_of_codes: Mapping[str, str]) -> list[str]:
    """Return the plain marks of one mark, or of a range of marks such as ``1kx-3bq``."""
    plain = [marks_of_codes.get(_normalise_case(end)) for end in ends]
    if None in plain or len(plain) == 1:
        return [mark for mark in plain if mark is not None]
    marks = list(marks_of_codes.values())
    first, last = (marks.index(str(mark)) for mark in plain)
    letter = str(plain[0]).rstrip("0123456789")
    return [mark for mark in marks[first : last + 1] if mark.rstrip("0123456789") == letter]
