"""Questions by form from the sentences of a folder: a date, a name, a number, a place, a cell of a table, a step."""

from __future__ import annotations

import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import ceil

from prefrag.components.reader.question_form import asks_beyond_spans, looks_english
from prefrag.components.state.evidence import is_heading
from prefrag.components.state.places import standing_of
from prefrag.components.text.dates import find_dates
from prefrag.components.text.table_rows import read_tables
from prefrag.evaluation.prove.sentences import Sentence, Sentences, has_kind, numbers_in, says_value
from prefrag.evaluation.prove.wording import OTHER_WORDS, is_telling, root, roots, shared, words

_LENGTHS = (30, 200)  # characters of a sentence
_FEWEST_ROOTS = 3
_MOST_TRIED = 15  # proposals of a document
# From these shares of a question's words on, a sentence may answer it too, states the same, or may state the same.
_NEAR, _SAME, _PERHAPS = 0.65, 0.5, 0.34
_CODE_KINDS = ("code", "json")
_ODD = re.compile(r"[<>{}|=\\/@#*_\"\u201c\u201d()\[\];:!?~^$\u2026+]|\s-|--|\u2013|\u2014|\.\.|n['\u2019]t\b")
# A sentence that begins so speaks of something in the sentence before it.
_POINTS_BACK = re.compile(
    r"(?:it|its|he|she|they|this|that|these|those|there|here|we|you|i|his|her|their|such|then|so|but|and|or|also|however"
    r"|another|other|others|both|each|some|all|many|most|either|neither|once|later|after|before|when|while|if|since"
    r"|although|because|instead|thus|hence|moreover|furthermore|again|similarly|finally|next|first|second|third|my|our"
    r"|your|who|what|which|where|how|why|as|for|with|by|from|until|unless|note|see|use|please|one|two|three|four|five"
    r"|today|now|nowadays|several|at|during|under|over|within|about)\b",
    re.IGNORECASE,
)
# A sentence with one of these words may not state what it says, or states it under a condition, or from hearsay.
DOUBTFUL = re.compile(
    r"\b(?:not|no|never|none|nor|neither|without|except|unless|if|whether|would|could|should|may|might|must|can|cannot"
    r"|will|shall|until|till|nearly|almost|perhaps|probably|possibly|supposed|planned|plans|expected|proposed|rejected"
    r"|rumou?r\w*|alleged\w*|according|says?|said|claim\w*|believ\w*|think|thought|example|copyright|instead|wrong\w*|false)\b",
    re.IGNORECASE,
)
# Where the first clause of a sentence ends. "and" may also join two nouns: the first of them is then no clause.
_CLAUSE_END = re.compile(
    r",(?! ?\d{3}\b)| (?:and|but|or|so|which|who|whose|whom|where|while|when|because|although|though)\b"
)
# A first clause with one of these words says two things, or speaks of something named elsewhere.
_NOT_PLAIN = re.compile(
    r"\b(?:than|that|since|either|from|to be|now|formerly|previously|originally|only|least|most|another|other|same"
    r"|former|these|those|this|it|he|she|they|his|her|their|its|him|them|we|our|you|your|I|between|per|such|before|after"
    r"|every|each|earlier|later|over|under|up to|more|fewer|less|estimated|chapter|section|figure|appendix|version"
    r"|following|above|below)\b",
    re.IGNORECASE,
)
_DATE_FIRST = re.compile(r"(?:In|On) (?P<date>[^,]{4,20}?),? (?P<rest>(?:the|an?|[A-Z])\w* .+)\.$")
_FIELD = re.compile(r"(?P<key>[A-Z][a-z]{2,}(?: [a-z]{2,}){0,2}) ?: (?P<value>[^:;|<>{}=]{2,40})")
_NO_FIELD = re.compile(
    r"\b(?:note|warning|example|usage|see|default|caution|description|options?|input|output|date|from|to|name)\b", re.I
)
_FINITE = re.compile(
    r"\b(?:is|are|was|were|has|have|had|\w{2,}ed|began|begins|built|bought|brought|came|cost|costs|died|drew|ends|fell|gave"
    r"|grew|held|holds|kept|lasts|led|leads|left|lies|lost|made|makes|met|opens|owns|paid|pays|ran|runs|sat|saw|sent|sits|sold"
    r"|stands|stood|takes|took|weighs|went|won|works|wrote|contains|carries|covers|needs|employs|seats|uses|closes|starts"
    r"|measures|serves|belongs|consists|rises|sells|lives|supports|produces|provides|requires|allows|covers)\b"
)
_COMPOUND = re.compile(r"\b(?:is|are|was|were|has|have|had)(?: been)? \w+")
_NAME = r"[A-Z][a-z\u00e0-\u00ff]+(?:[- ][A-Z][a-z\u00e0-\u00ff]+){1,2}"
_DONE_BY = re.compile(
    rf"^(?P<subject>[^,]+?) (?P<be>was|were) (?P<verb>\w+(?:ed|t|n|k|ht|ung|ade|old|aid|un))(?P<rest>(?: [a-z]+)*?)"
    rf" by (?P<value>{_NAME})(?P<tail>(?: (?:in|on|at) [^,]+)?)\.$"
)
_DID = re.compile(
    rf"^(?P<value>{_NAME}) (?P<verb>founded|built|designed|wrote|led|leads|directed|directs|painted|discovered|invented"
    r"|opened|owns|owned|manages|managed|runs|ran|composed|created|drew|chairs|chaired|heads|headed|teaches|keeps|repaired"
    r"|maintains|restored|won|bought|edited|edits|translated|organised|organises|organizes|coaches|trains) "
    r"(?P<rest>[^,]+)\.$"
)
_ROLE = re.compile(
    rf"^(?P<value>{_NAME}) (?P<be>is|was) (?P<role>the (?:[a-z]+ ){{0,3}}[a-z]+ (?:of|for|at) [^,]+)\.$"
    rf"|^(?P<role2>The (?:[a-z]+ ){{0,3}}[a-z]+(?: (?:of|for|at) [^,]+)?) (?P<be2>is|was) (?P<value2>{_NAME})\.$"
)
_NO_PERSON = re.compile(
    r"\b(?:the|January|February|March|April|May|June|July|August|September|October|November|December)\b"
)
_THING = re.compile(
    r"\b(?:Ltd|Inc|Lane|Street|Road|Park|House|Hall|Court|Works|Linux|System|Project|Software|University|Company"
    r"|Institute)\b"
)
_PLACED = re.compile(
    r"^(?P<subject>[^,]+?) (?P<verb>is located|was located|is situated|was born|were born|is based|are based|is held"
    r"|was held|stands|stood|lies|sits|is housed|are kept|is kept|are stored|is stored|hangs|are held|is buried"
    r"|was buried)"
    r"(?P<rest>(?: [a-z]+)*?) (?:in|at|on) (?P<value>[A-Z][a-z]{2,}(?: [A-Z][a-z]+)*)\.$"
)
_STEP = re.compile(
    r"^To (?P<aim>[a-z]{3,}(?: [\w'-]+){2,10}), (?P<step>"
    r"(?:use|enter|put|create|run|type|press|click|open|set|add|select|choose|install|turn|remove|edit|call|specify|start"
    r"|write|send|copy|move|hold|place|drag|pull|push|fill|give|go|change|insert|connect|unplug|restart|load|save|delete"
    r"|take|read|switch|wait) .+)\.$"
)
_NOUN = re.compile(r" (?P<noun>[a-z]{3,}(?: [a-z]{3,})?)(?= |\.$)")
_NOT_NOUN = {
    "thirds",
    "halves",
    "quarters",
    "fold",
    "in",
    "on",
    "at",
    "of",
    "by",
    "for",
    "with",
    "are",
    "was",
    "were",
    "is",
}
_NOT_NOUN |= {"has", "had", "the", "have", "and", "or", "as", "per", "from", "to"}
_NO_AMOUNT = re.compile(
    r"(?:version|release|chapter|section|figure|table|page|step|part|line|level|port|rule|room|flat|number|no|type|bit"
    r"|extension|article|annex|item|level|phase|channel|mode|option|about)\s$",
    re.IGNORECASE,
)
# "the three", "the first three", "Debian 3" and "P 6" say no number of things.
_PART_OF = re.compile(r"[^\s\w]\s?$|\b(?:the|first|last|next|all|remaining|top|all|these|those|[A-Z]\w*) $")
_ROW_NAME = re.compile(r"(?!Any\b|All\b|None\b|Total)[A-Z][A-Za-z]+(?: [A-Za-z]+)*")
_ARTICLE = re.compile(r"^(?:The|An?)\b")


@dataclass(frozen=True)
class Question:
    """A question whose answer is a value of one sentence.

    :param form: ``date``, ``number``, ``name``, ``place``, ``cell`` or ``step``.
    :param text: The question.
    :param sentence: The sentence; of a cell its row.
    :param value: The answer.
    :param at: Where the value begins in the sentence.
    :param shared: The share of the question's words that the sentence has too.
    :param core: The question without the words that only name its document.
    :param copies: The other sentences that state the same.
    """

    form: str
    text: str
    sentence: Sentence
    value: str
    at: int
    shared: float
    core: str
    copies: tuple[Sentence, ...] = ()


def make_questions(sentences: Sentences, number: int, seed: int) -> tuple[list[Question], Counter[str]]:
    """Make questions, at most one for each document, the documents spread over folders, kinds and dates.

    Documents that state the same as one that is asked are asked nothing: they would be no trials of their own.
    Whatever is doubtful is dropped here, before anything is asked, so that no answer decides what is counted.

    :param sentences: The sentences of the folder.
    :param number: The maximum number of questions.
    :param seed: The seed of the choice.
    :returns: The questions in the order in which they are to be asked, and how many were dropped for each reason.
    """
    dropped: Counter[str] = Counter()
    draw = random.Random(seed)
    files: defaultdict[str, list[Sentence]] = defaultdict(list)
    for sentence in sentences.all:
        files[sentence.file].append(sentence)
    made: list[Question] = []
    wanted: Counter[str] = Counter()
    used: set[int] = set()
    done: set[str] = set()
    for file in _spread(files, draw):
        if len(made) == number:
            break
        if file in done:
            dropped["its document is a copy of one that is asked"] += 1
            continue
        proposals = [one for sentence in files[file] for one in propose(sentence)]
        draw.shuffle(proposals)
        # A form that is rare so far comes first.
        proposals.sort(key=lambda one: wanted[one.form])
        for proposal in proposals[:_MOST_TRIED]:
            if (question := _name_its_sentence(proposal, sentences)) is None:
                dropped["another sentence may answer it, or it names too little"] += 1
            elif (copies := find_copies(question, sentences)) is None:
                dropped["another sentence may state the same"] += 1
            elif used & (touched := {one.number for one in (question.sentence, *copies)}):
                dropped["its sentence states the answer to another question"] += 1
            else:
                used |= touched
                done.update(copy.file for copy in copies)
                wanted[question.form] += 1
                made.append(replace(question, copies=tuple(copies)))
                break
    return made, dropped


def _spread(files: dict[str, list[Sentence]], draw: random.Random) -> Iterator[str]:
    """Order documents so that folders, kinds and years take turns."""
    groups: defaultdict[tuple[str, str, str], list[str]] = defaultdict(list)
    for file in sorted(files):
        meta = files[file][0].passage.meta
        groups[str(meta.get("folder") or ""), str(meta.get("kind") or ""), str(meta.get("date") or "")[:4]].append(file)
    for members in groups.values():
        draw.shuffle(members)
    rows = list(groups.values())
    while rows:
        yield from (row.pop() for row in rows)
        rows = [row for row in rows if row]


def propose(sentence: Sentence) -> Iterator[Question]:
    """Make the questions that a sentence answers by its form alone."""
    meta = sentence.passage.meta
    if standing_of(meta) or meta.get("kind") in _CODE_KINDS or is_heading(sentence.text, meta):
        return
    yield from _ask_cell(sentence)
    yield from _ask_field(sentence)
    text = sentence.text
    if not _LENGTHS[0] <= len(text) <= _LENGTHS[1] or "\n" in text or not text.endswith(".") or not text[0].isupper():
        return
    if _POINTS_BACK.match(text) or text.split()[0].endswith(("ly", "ly,")) or _ODD.search(text):
        return
    if not looks_english(f"what {text}"):
        return
    if step := _STEP.match(text):
        if len(words(step["aim"])) >= _FEWEST_ROOTS:
            yield _question("step", f"how to {_reword(step['aim'])}", sentence, step["step"], step.start("step"))
        return
    if DOUBTFUL.search(text):
        return
    if first := _DATE_FIRST.match(text):
        yield from _ask_date_first(sentence, first["rest"])
        return
    clause = _CLAUSE_END.split(text.removesuffix("."))[0]
    # The comma of a date or a number is no clause.
    if not _NOT_PLAIN.search(clause) and _FINITE.search(clause, clause.find(" ")):
        for rule in (_ask_date, _ask_number, _ask_name, _ask_place):
            yield from rule(sentence, f"{clause}.")


def _question(form: str, text: str, sentence: Sentence, value: str, at: int, core: str = "") -> Question:
    return Question(form, text, sentence, value, at, shared(text, sentence.text), core or text)


def _reword(text: str) -> str:
    """Write a text with other words that say the same."""
    return re.sub(r"[a-z]+", lambda match: OTHER_WORDS.get(match[0], match[0]), text)


def _keywords(sentence: str, begin: int, end: int) -> str:
    """Write what a person would type of a sentence without its answer: the words that say something."""
    rest = _ARTICLE.sub("", f"{sentence[:begin]} {sentence[end:]}")
    found = re.findall(r"[^\W_]+(?:['\u2019][a-z]+)?", _reword(rest))
    return " ".join(word for word in found if is_telling(word.lower()))


def _ask_date(sentence: Sentence, text: str) -> Iterator[Question]:
    dates = find_dates(text)
    if len(dates) != 1 or _count_verbs(text) != 1:
        return
    begin, end = dates[0].begin, dates[0].end
    before = re.search(r"\b(?:in|on|dates from|dated) (?:the )?$", text[:begin])
    if not before or re.match(r"\s?(?:[-\u2013/]|[a-z]+s\b)|\u2019?s\b", text[end:]):
        return
    rest = f"{text[: before.start()]}{text[end:]}"
    asks = "what year" if re.fullmatch(r"\d{4}", text[begin:end]) else "when"
    yield _question("date", f"{asks} {_keywords(rest, len(rest), len(rest))}", sentence, text[begin:end], begin)


def _count_verbs(text: str) -> int:
    # "was built" is one verb.
    return len(_FINITE.findall(_COMPOUND.sub("was", text)))


def _ask_number(sentence: Sentence, text: str) -> Iterator[Question]:
    numbers = numbers_in(text)
    if len(numbers) != 1 or find_dates(text) or len(re.findall(r"\d[\d.,]*", text)) > 1 or not _FINITE.search(text):
        return
    begin, end, _ = numbers[0]
    if scale := re.match(r" (?:hundred|thousand|million|billion|dozen)\b", text[end:]):
        end += scale.end()
    noun = _NOUN.match(text, end)
    if noun is None or _NO_AMOUNT.search(text[:begin]) or _PART_OF.search(text[:begin]):
        return
    first, *following = noun["noun"].split()
    is_many = first.endswith("s") or first in _MANY
    if first in _NOT_NOUN or _FINITE.match(first):
        return
    if not is_many and not (following and following[0].endswith("s") and following[0] not in _NOT_NOUN):
        return
    thing = first if is_many else f"{first} {following[0]}"
    after = end + 1 + len(thing)
    yield _question("number", f"how many {thing} {_keywords(text, begin, after)}", sentence, text[begin:end], begin)


def _ask_date_first(sentence: Sentence, rest: str) -> Iterator[Question]:
    clause = _CLAUSE_END.split(rest)[0]
    first = _DATE_FIRST.match(sentence.text)
    dates = find_dates(sentence.text)
    is_date = first is not None and len(dates) == 1 and (dates[0].begin, dates[0].end) == first.span("date")
    if is_date and not _NOT_PLAIN.search(clause) and _count_verbs(clause) == 1:
        begin, end = dates[0].begin, dates[0].end
        asks = "what year" if re.fullmatch(r"\d{4}", sentence.text[begin:end]) else "when"
        asked = f"{asks} {_keywords(clause, len(clause), len(clause))}"
        yield _question("date", asked, sentence, sentence.text[begin:end], begin)


def _ask_field(sentence: Sentence) -> Iterator[Question]:
    title = str(sentence.passage.meta.get("title") or "")
    match = _FIELD.fullmatch(sentence.text)
    if match is None or not title or _NO_FIELD.search(match["key"]) or _FINITE.search(match["value"]):
        return
    if not re.search(r"[.,?!]$|,|\band\b", match["value"]) and len(re.findall(r"\d+", match["value"])) < 2:
        asked = f"{_reword(match['key'].lower())} of {title}"
        yield _question("cell", f"what is the {asked}", sentence, match["value"], match.start("value"), match["key"])


_NAMING = re.compile(r"\b(?:[A-Z]\w+|\d+)\b")
_MANY = frozenset(("people", "men", "women", "children", "percent", "feet", "sheep", "staff"))


def _ask_name(sentence: Sentence, text: str) -> Iterator[Question]:
    if (match := _DONE_BY.match(text)) and _is_person(match["value"], text):
        verb = OTHER_WORDS.get(match["verb"], match["verb"])
        asked = _reword(f"{_lower(match['subject'])}{match['rest']}{match['tail']}")
        yield _question("name", f"who {verb} {asked}", sentence, match["value"], match.start("value"))
    elif (match := _DID.match(text)) and _is_person(match["value"], text):
        yield _question("name", f"who {_reword(match['verb'])} {_reword(match['rest'])}", sentence, match["value"], 0)
    elif match := _ROLE.match(text):
        part = "" if match["value"] else "2"
        role, value = match[f"role{part}"], match[f"value{part}"]
        if _is_person(value, text):
            asked = f"who {match[f'be{part}']} {_reword(_lower(role))}"
            yield _question("name", asked, sentence, value, match.start(f"value{part}"))


def _is_person(value: str, text: str) -> bool:
    others = text.replace(value, "", 1)
    return not _NO_PERSON.search(value) and not _THING.search(value) and value not in others


def _ask_place(sentence: Sentence, text: str) -> Iterator[Question]:
    match = _PLACED.match(text)
    if match and not _NO_PERSON.fullmatch(match["value"].split()[-1]) and not find_dates(text):
        subject = _reword(_lower(match["subject"]))
        be, _, done = match["verb"].rpartition(" ")
        asked = f"where {be} {subject} {_reword(done)}" if be else f"where is {subject}"
        yield _question("place", asked, sentence, match["value"], match.start("value"))


def _lower(text: str) -> str:
    return re.sub(r"^(?:The|An?)\b", lambda match: match[0].lower(), text)


def _ask_cell(sentence: Sentence) -> Iterator[Question]:
    for table in read_tables(sentence.passage.meta):
        if len(table.columns) < 2 or not all(re.fullmatch(r"[A-Za-z][A-Za-z ]{2,30}", name) for name in table.columns):
            continue
        firsts = Counter(row.cells[0].lower() for row in table.rows if row.cells)
        for row in table.rows:
            is_plain = len(row.cells) == len(table.columns) and _ROW_NAME.fullmatch(row.cells[0])
            # The row may be whole or, in a wide table, only begin in this sentence.
            if not is_plain or firsts[row.cells[0].lower()] > 1 or table.write(row) != sentence.text:
                continue
            for name, cell in list(zip(table.columns, row.cells, strict=True))[1:]:
                if not 2 <= len(cell) <= 40 or row.cells.count(cell) > 1 or cell.lower() in sentence.context.lower():
                    continue
                at = sentence.text.find(f"{name}: {cell}")
                if at >= 0 and not re.search(r"[;|,/]", cell) and len(re.findall(r"\d+", cell)) < 2:
                    asked = " ".join(filter(None, (table.title, row.group)))
                    text = f"what is the {_reword(name.lower())} of {row.cells[0]}" + f" in {asked}" * bool(asked)
                    yield _question("cell", text, sentence, cell, at + len(name) + 2, f"{name} {row.cells[0]}")


def _name_its_sentence(question: Question, sentences: Sentences) -> Question | None:
    """Make sure that only one sentence answers a question; add the title if the question names nothing."""
    title = str(question.sentence.passage.meta.get("title") or "")
    core = roots(question.core)
    for text in (question.text, f"{question.text} {_title_words(title, question)}"):
        asked = roots(text)
        names = frozenset(root(word.lower()) for word in _NAMING.findall(text)) & asked
        if len(asked) < _FEWEST_ROOTS or asks_beyond_spans(text) or (text == question.text and not names):
            continue
        own = asked & (roots(question.sentence.text) | sentences.context_of(question.sentence))
        if own != asked or says_value(question.form, question.value, f"{text} {question.sentence.context}"):
            continue
        near = sentences.sharing(core, ceil(_NEAR * len(core)))
        if any(_is_rival(question, names, *other) for other in near):
            return None
        return replace(question, text=text, shared=shared(text, question.sentence.text))
    return None


def _title_words(title: str, question: Question) -> str:
    own = roots(question.text)
    found = (word for word in re.findall(r"[^\W_]+", title) if is_telling(word.lower()))
    return " ".join([word for word in found if root(word.lower()) not in own][:4])


def _is_rival(question: Question, names: frozenset[str], other: Sentence, covered: frozenset[str]) -> bool:
    """Check whether another sentence with most of the question's words may answer it otherwise."""
    if other.number == question.sentence.number or says_value(question.form, question.value, other.text):
        return False
    return names <= covered and (question.form == "step" or has_kind(question.form, other.text))


def find_copies(question: Question, sentences: Sentences) -> list[Sentence] | None:
    """Find the other sentences that state the same; None if one may state it that cannot be told by its words."""
    asked, own = roots(question.text), question.sentence
    copies = []
    for other in sentences.saying(question.form, question.value):
        if other.number == own.number:
            continue
        covered = asked & (roots(other.text) | sentences.context_of(other))
        if len(covered) >= _SAME * len(asked) and len(asked & roots(other.text)) >= _PERHAPS * len(asked):
            copies.append(other)
        elif len(asked & roots(other.text)) >= _PERHAPS * len(asked) or other.file == own.file:
            return None
    # What stands beside the sentence may speak of it without naming it.
    beside = [one for one in sentences.all[max(0, own.number - 3) : own.number + 4] if one not in (own, *copies)]
    if any(one.file == own.file and says_value(question.form, question.value, one.text) for one in beside):
        return None
    return copies
