"""Find the questions that a sentence answers by its form alone.

A form is a pattern of a plain sentence, such as "The THING is NAME". Each form has the question that it answers, such
as "Who is THING?". Answers are dates, names, numbers, places, cells of a table, or steps. `prefrag prove` asks such
questions in other words, and the page suggests some of them. A sentence that does not clearly state something answers
none.
"""

from __future__ import annotations

import re
from calendar import month_name
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from prefrag.components.reader.question_form import looks_english
from prefrag.components.state.evidence import is_heading
from prefrag.components.state.places import standing_of
from prefrag.components.text.dates import find_dates
from prefrag.components.text.number_words import ONES, TEENS
from prefrag.components.text.table_rows import read_tables
from prefrag.evaluation.prove.sentences import Sentence, numbers_in
from prefrag.evaluation.prove.wording import is_telling, words

# The minimum and the maximum number of characters of a sentence that is compared with the forms.
_LENGTHS = (24, 200)
# The aim of a step must have at least this many words that say something ("change filter pump").
_FEWEST_WORDS = 3
# Passages of these kinds are program code or data. They answer no questions.
_CODE_KINDS = ("code", "json")
# Matches what a plain sentence does not have: marks of markup, formulas, quotations and asides, and shortened
# negations. For example, it matches the colon in "Note: closed", the " -" in "the mill - a ruin", and the "n't" in
# "isn't open". It does not match "well-known".
_ODD = re.compile(r"[<>{}|=\\/@#*_\"\u201c\u201d()\[\];:!?~^$\u2026+]|\s-|--|\u2013|\u2014|\.\.|n['\u2019]t\b")
# Matches the first word of a sentence that speaks of something in the sentence before. For example, it matches "It" in
# "It was built in 1890". It does not match "Italy".
_POINTS_BACK = re.compile(
    r"(?:it|its|he|she|they|this|that|these|those|there|here|we|you|i|his|her|their|such|then|so|but|and|or|also|however"
    r"|another|other|others|both|each|some|all|many|most|either|neither|once|later|after|before|when|while|if|since"
    r"|although|because|instead|thus|hence|moreover|furthermore|again|similarly|finally|next|first|second|third|my|our"
    r"|your|who|what|which|where|how|why|as|for|with|by|from|until|unless|note|see|use|please"
    rf"|{'|'.join(ONES[:5])}"
    r"|today|now|nowadays|several|at|during|under|over|within|about)\b",
    re.IGNORECASE,
)
# Matches words that make a sentence doubtful. Such a sentence denies what it says, sets a condition, or repeats what
# others say. For example, it matches "if", "planned", "according", and "may" in "The hall may open". It does not match
# "May" in "in May 2026". "May" is taken for the month if it has a capital within a sentence, or a number behind it.
DOUBTFUL = re.compile(
    r"\b(?:not|no|never|none|nor|neither|without|except|unless|if|whether|would|could|should|might|must|can|cannot"
    r"|(?-i:may)|(?<=^)may(?! \d)|will|shall|until|till|nearly|almost|perhaps|probably|possibly|supposed|planned|plans"
    r"|expected|proposed|rejected|rumou?r\w*|alleged\w*|according|says?|said|claim\w*|believ\w*|think|thought|example"
    r"|copyright|instead|wrong\w*|false)\b",
    re.IGNORECASE,
)
# Matches where the first clause of a sentence ends, such as ", " before "which", or " and". The comma of "1,250" does
# not match. "and" may also join two nouns. Then the part before it has no verb, and the sentence answers nothing.
_CLAUSE_END = re.compile(
    r",(?! ?\d{3}\b)| (?:and|but|or|so|which|who|whose|whom|where|while|when|because|although|though)\b"
)
# Matches words that a plain clause does not have. With some, such as "than", the clause says two things. With others,
# such as "these" or "chapter", it speaks of something named elsewhere.
_NOT_PLAIN = re.compile(
    r"\b(?:than|that|since|either|from|to be|now|formerly|previously|originally|only|least|most|another|other|same"
    r"|former|these|those|this|it|he|she|they|his|her|their|its|him|them|we|our|you|your|I|between|per|such|before|after"
    r"|every|each|both|all|earlier|later|over|under|up to|more|fewer|less|estimated|chapter|section|figure|appendix"
    r"|version|following|above|below)\b",
    re.IGNORECASE,
)
# Matches a sentence that begins with a date: "In 1890, the bridge was opened by the mayor." The date is "1890".
_DATE_FIRST = re.compile(r"(?:In|On) (?P<date>[^,]{4,20}?),? (?P<rest>(?:the|an?|[A-Z])\w* .+)\.$")
# Matches a line with the name of a fact and its value: "Opening hours: 9 to 5".
_FIELD = re.compile(r"(?P<key>[A-Z][a-z]{2,}(?: [a-z]{2,}){0,2}) ?: (?P<value>[^:;|<>{}=]{2,40})")
# Matches a name that is no name of a fact, as in "Note: restart the server".
_NO_FIELD = re.compile(
    r"\b(?:note|warning|example|usage|see|default|caution|description|options?|input|output|date|from|to|name)\b", re.I
)
# Matches the verb of a plain sentence: some common forms, and every word in -ed. In "The bridge was built", it matches
# "was" and "built".
_FINITE = re.compile(
    r"\b(?:is|are|was|were|has|have|had|\w{2,}ed|began|begins|built|bought|brought|came|cost|costs|died|drew|ends|fell|gave"
    r"|grew|held|holds|kept|keeps|lasts|led|leads|left|lies|lost|made|makes|met|opens|owns|paid|pays|ran|runs|sat|saw|sent"
    r"|sits|sold|stands|stood|takes|took|teaches|weighs|went|won|works|wrote|contains|carries|covers|needs|employs|seats"
    r"|uses|closes|starts|measures|serves|belongs|consists|rises|sells|lives|supports|produces|provides|requires|allows"
    r"|manages|chairs)\b"
)
# Matches values that are no places, such as "Mondays", "Sunday" and "May".
_NO_PLACE = re.compile(rf"days?\b|\b(?:{'|'.join(month_name[1:])})\b", re.IGNORECASE)
# Matches two verbs that count as one: "was built", "has been moved".
_COMPOUND = re.compile(r"\b(?:is|are|was|were|has|have|had)(?: been)? \w+")
# Matches an instruction with its aim: "To change the filter of the pump, open the cover and turn the ring." The aim is
# "change the filter of the pump".
_STEP = re.compile(
    r"^To (?P<aim>[a-z]{3,}(?: [\w'-]+){2,10}), (?P<step>"
    r"(?:use|enter|put|create|run|type|press|click|open|set|add|select|choose|install|turn|remove|edit|call|specify|start"
    r"|write|send|copy|move|hold|place|drag|pull|push|fill|give|go|change|insert|connect|unplug|restart|load|save|delete"
    r"|take|read|switch|wait) .+)\.$"
)
# The following are parts of the forms below. A thing, which a question asks about, has only words and spaces. So no
# address or markup gets into a question. The first part is one word: "bridge" or "mayor's".
_WORD = r"[^\W\d_][\w'\u2019-]{0,30}"
# What may follow the name of a thing: " of the Old Mill".
_OF = rf"(?: (?:of|for|at|in) (?:the )?{_WORD}(?: [A-Z][\w'\u2019-]{{0,30}}){{0,3}})?"
# A thing at the start of a sentence: "The manager of the Old Mill" or "Saint Mary".
_THING = rf"(?P<thing>(?:The|An?) {_WORD}(?: {_WORD}){{0,4}}?{_OF}|{_WORD}(?: {_WORD}){{0,5}}?)"
# A thing that follows its verb: "the old bridge".
_OBJECT = rf"(?P<thing>(?:(?:the|an?) )?{_WORD}(?: {_WORD}){{0,4}}?{_OF})"
# A form of "to be".
_BE = "(?P<be>is|are|was|were)"
# The name of a person: "Anna Bell" or "Jean-Paul Marat".
_NAME = r"(?P<value>[A-Z][a-z\u00e0-\u00ff]+(?:[- ][A-Z][a-z\u00e0-\u00ff]+){1,2})"
# A number: "12", "1,250.50" or "seven". The sign of a currency may stand before it, as in "€12".
_AMOUNT = rf"(?P<value>[\u20ac\u00a3]?(?:\d[\d.,]*\d|\d)(?:\.\d+)?|(?:{'|'.join((*ONES[1:], TEENS[0], TEENS[2]))})\b)"
# What may follow a name or a place: " in the spring" or " late at night".
_TAIL = r"(?:(?: [a-z]+)*? (?:in|on|at) [^,]+)?"
# A date in a sentence, with what may stand before and behind it: " again in 1998". While a sentence is compared with
# the forms, each character of its date is replaced by "\0".
_DATED = r"(?: [^,;]{0,60})? (?:in|on) (?P<value>\0+)(?: [^,;]{0,60})?"
# Past participles that do not end in -ed.
_DONE_WORDS = "built|bought|sold|written|drawn|held|paid|born|made|won|led|run|begun|rebuilt"
# A past participle: "opened" or "built". "Housed", "based", "located" and "situated" are left out, because they ask for
# a place.
_DONE = rf"(?P<done>(?!housed|based|located|situated)\w{{2,}}ed|{_DONE_WORDS})"
# Verbs in the past, and their forms in a question: "The fair opened ..." becomes "When did the fair open?".
_BASES = {"opened": "open", "began": "begin", "started": "start", "closed": "close", "ended": "end", "moved": "move"}
# The kind of the answer, the form of the sentence and the question. The comment above each has an example of the
# sentence.
_TEMPLATES = (
    # "The manager of the shop is Anna Bell."
    ("name", rf"{_THING} {_BE} {_NAME}", "Who {be} {thing}?"),
    # "Anna Bell is the manager of the shop."
    ("name", rf"{_NAME} {_BE} (?P<thing>the {_WORD}(?: {_WORD}){{0,8}})", "Who {be} {thing}?"),
    # "The bridge was designed by Anna Bell." asks "Who designed the bridge?" or "Who was the bridge designed by?"
    ("name", rf"{_THING} {_BE} (?P<done>\w+ed)(?: [a-z]+)*? by {_NAME}{_TAIL}", "Who {done} {thing}?"),
    ("name", rf"{_THING} {_BE} {_DONE}(?: [a-z]+)*? by {_NAME}{_TAIL}", "Who {be} {thing} {done} by?"),
    # "Anna Bell designed the bridge."
    (
        "name",
        rf"{_NAME} (?P<verb>founded|built|designed|wrote|led|leads|directed|directs|painted|discovered|invented"
        r"|opened|owns|owned|manages|managed|runs|ran|composed|created|drew|chairs|chaired|heads|headed|teaches|keeps"
        r"|repaired|maintains|restored|won|bought|edited|edits|translated|organised|organises|organized|coaches"
        rf"|trains) {_OBJECT}",
        "Who {verb} {thing}?",
    ),
    # "The spare keys are kept in the cellar."
    (
        "place",
        rf"{_THING} {_BE} (?P<done>located|situated|born|based|held|housed|kept|stored|parked|buried)(?: [a-z]+)*?"
        r" (?:in|at|on|under) (?P<value>(?:the )?[A-Za-z][a-z]{2,}(?: [A-Z][a-z]+)*)",
        "Where {be} {thing} {done}?",
    ),
    # "The old mill stands in Kelderby."
    ("place", rf"{_THING} (?:stands|stood|lies|sits|hangs) (?:in|at|on) (?P<value>[A-Z][a-z]+)", "Where is {thing}?"),
    # "The workshop is behind the chapel."
    (
        "place",
        rf"{_THING} {_BE} (?:in|at|on|under|behind|beside) (?P<value>(?:the [a-z]{{3,}}|[A-Z][a-z]+)(?: [a-z]+)?)",
        "Where {be} {thing}?",
    ),
    # "The deposit is 250 euros."
    ("number", rf"(?!An? ){_THING} {_BE} {_AMOUNT}(?: \w+)?", "What {be} {thing}?"),
    # "The ticket costs 12 euros a day."
    ("number", rf"{_THING} (?P<verb>costs) {_AMOUNT}(?: \w+){{0,2}}", "What does {thing} cost?"),
    # "The course lasts six weeks."
    ("number", rf"{_THING} (?P<verb>takes|lasts) {_AMOUNT} \w+", "How long does {thing} {base}?"),
    # "The office opens at nine."
    (
        "time",
        rf"{_THING} (?P<verb>opens|closes|starts|begins|ends) (?:at|on) (?P<value>\w+)[^,]*",
        "When does {thing} {base}?",
    ),
    # "The fair opens on 3 May 2026."
    ("date", rf"{_THING} (?P<verb>opens|closes|starts|begins|ends){_DATED}", "When does {thing} {base}?"),
    # "The museum moved in 1998."
    ("date", rf"{_THING} (?P<verb>{'|'.join(_BASES)}){_DATED}", "When did {thing} {base}?"),
    # "The bridge was built in 1890."
    ("date", rf"{_THING} {_BE} {_DONE}{_DATED}", "When {be} {thing} {done}?"),
)
# The same with compiled patterns. Each sentence ends with a full stop.
_FORMS = [(kind, re.compile(rf"{pattern}\."), template) for kind, pattern, template in _TEMPLATES]
# Matches words that no name of a person has, such as the "May" in "May Day".
_NO_PERSON = re.compile(
    r"\b(?:the|January|February|March|April|May|June|July|August|September|October|November|December)\b"
)
# Matches words of names of things, such as the "Street" in "Bell Street".
_THING_WORDS = re.compile(
    r"\b(?:Ltd|Inc|Lane|Street|Road|Park|House|Hall|Court|Works|Linux|System|Project|Software|University|Company"
    r"|Institute)\b"
)
# Matches what is counted, behind the number: " bridges" in "seven bridges", or " old bridges" in "seven old bridges".
_NOUN = re.compile(r" (?P<noun>[a-z]{3,}(?: [a-z]{3,})?)(?= |\.$)")
# Matches words behind a number that are not what is counted, as in "two thirds" or "seven of".
_NOT_NOUN = re.compile(
    "thirds|halves|quarters|fold|in|on|at|of|by|for|with|are|was|were|is|has|had|the|have|and|or|as|per|from|to"
)
# Matches words that name several things, such as "bridges" or "people".
_MANY = re.compile(r"\w+s|people|men|women|children|percent|feet|sheep|staff")
# Matches words before a number that tells which thing is meant, and not how many: "version " before the 3 of "version
# 3".
_NO_AMOUNT = re.compile(
    r"(?:version|release|chapter|section|figure|table|page|step|part|line|level|port|rule|room|flat|number|no|type|bit"
    r"|extension|article|annex|item|level|phase|channel|mode|option|about)\s$",
    re.IGNORECASE,
)
# Matches what stands before a number that is not the number of all things: "the " in "the three", "first " in "the
# first three", "Debian " in "Debian 3".
_PART_OF = re.compile(r"[^\s\w]\s?$|\b(?:the|first|last|next|all|remaining|top|all|these|those|[A-Z]\w*) $")
# Matches the name of a row in a table: "Garden chair". It does not match "All chairs" and "Total".
_ROW_NAME = re.compile(r"(?!Any\b|All\b|None\b|Total)[A-Z][A-Za-z]{2,}(?: [A-Za-z]+){0,4}")
# Matches the heading of a column that can be asked for: "Unit price". It does not match "2024".
_COLUMN = re.compile(r"[A-Za-z][A-Za-z ]{1,30}")


@dataclass(frozen=True)
class Formed:
    """A question that a sentence answers by its form.

    :param kind: ``date``, ``number``, ``name``, ``place``, ``cell``, ``step`` or ``time`` (a day or an hour).
    :param template: The question, with ``{thing}`` for what it asks about. It is a whole question with a question mark,
        or only the words for a search field.
    :param thing: What the question asks about, as the sentence names it.
    :param value: The answer.
    :param at: The position in the sentence at which the answer begins.
    :param place: The table or document in which the question is asked, such as ``of the price list``. Empty if the
        question needs none.
    """

    kind: str
    template: str
    thing: str
    value: str
    at: int
    place: str = ""

    @property
    def text(self) -> str:
        """The question as the sentence names its thing."""
        return self.template.replace("{thing}", self.thing)


def find_formed(sentence: Sentence) -> Iterator[Formed]:
    """Find the questions that a sentence answers by its form alone.

    For example, "The museum moved in 1998." answers "When did The museum move?" with "1998".

    :param sentence: The sentence.
    :returns: An iterator over the questions. It is empty if the sentence may not state what it says, or if its document
        is superseded.
    """
    meta = sentence.passage.meta
    if standing_of(meta) or meta.get("kind") in _CODE_KINDS or is_heading(sentence.text, meta):
        return
    yield from _read_cells(sentence)
    yield from _read_field(sentence)

    text = sentence.text
    if not _stands_alone(text):
        return
    step = _STEP.match(text)
    if step:
        if len(words(step["aim"])) >= _FEWEST_WORDS:
            yield Formed("step", "How to {thing}?", step["aim"], step["step"], step.start("step"))
        return
    if DOUBTFUL.search(text):
        return
    dated = _DATE_FIRST.match(text)
    if dated:
        yield from _read_first_date(text, dated)
        return

    # Only the first clause of the sentence is compared with the forms.
    clause = _CLAUSE_END.split(text.removesuffix("."))[0]
    # A clause without a verb is no clause: its end was the comma of a date or of a number. The first word is never the
    # verb.
    if not _NOT_PLAIN.search(clause) and _FINITE.search(clause, clause.find(" ")):
        for rule in (_read_forms, _read_date, _read_number):
            yield from rule(f"{clause}.")


def _stands_alone(text: str) -> bool:
    """Check whether a text is a whole English sentence that can be understood without the sentence before."""
    shortest, longest = _LENGTHS
    if not shortest <= len(text) <= longest:
        return False
    is_whole = text[:1].isupper() and text.endswith(".") and "\n" not in text
    if not is_whole or _POINTS_BACK.match(text) or _ODD.search(text):
        return False
    # An adverb at the start, as in "Originally, ...", also refers to the sentence before.
    first_word = text.split()[0]
    if first_word.endswith(("ly", "ly,")):
        return False
    return looks_english(f"what {text}")


def _read_first_date(text: str, dated: re.Match[str]) -> Iterator[Formed]:
    """Yield the question for a date at the start of a sentence, if the sentence has no other date.

    ``dated`` is the match of the pattern ``_DATE_FIRST``.
    """
    clause = _CLAUSE_END.split(dated["rest"])[0]
    dates = find_dates(text)
    is_date = len(dates) == 1 and (dates[0].begin, dates[0].end) == dated.span("date")
    if is_date and not _NOT_PLAIN.search(clause) and _count_verbs(clause) == 1:
        yield Formed("date", _ask_when(dated["date"]), _keywords(clause), dated["date"], dated.start("date"))


def _read_forms(text: str) -> Iterator[Formed]:
    """Compare a sentence with the forms. Of each kind, only the first form that fits counts."""
    # Dates are masked, so that the forms can recognise them by one character.
    masked = text
    for date in find_dates(text):
        masked = f"{masked[: date.begin]}{chr(0) * (date.end - date.begin)}{masked[date.end :]}"

    kinds_read: set[str] = set()
    for kind, pattern, template in _FORMS:
        if kind in kinds_read:
            continue
        match = pattern.fullmatch(masked)
        if match is None or not _is_clear(kind, text, match.span("value")):
            continue

        kinds_read.add(kind)
        parts = match.groupdict()
        verb = parts.get("verb") or ""
        parts["base"] = _BASES.get(verb) or verb.removesuffix("s")
        # The place of the thing stays open in the question.
        parts["thing"] = "{thing}"
        begin, end = match.span("value")
        yield Formed(kind, template.format(**parts), match["thing"], text[begin:end], begin)


def _is_clear(kind: str, text: str, span: tuple[int, int]) -> bool:
    """Check whether the part of a sentence at ``span`` is a value of this kind, and the only one that is asked for."""
    begin, end = span
    dates = find_dates(text)
    if kind == "number":
        numbers = [(number_begin, number_end) for number_begin, number_end, _ in numbers_in(text)]
        return not dates and numbers == [span]
    if kind == "date":
        return len(dates) == 1 and _count_verbs(text) == 1 and not _goes_on(text, end)
    if kind == "name":
        return _is_person(text[begin:end], text)
    # Words such as "Mondays" and "May" are no places.
    is_of_kind = kind == "time" or not _NO_PLACE.search(text[begin:end])
    return not dates and is_of_kind


def _is_person(value: str, text: str) -> bool:
    """Check whether a value is the name of a person that the text has only once."""
    rest_of_text = text.replace(value, "", 1)
    return not _NO_PERSON.search(value) and not _THING_WORDS.search(value) and value not in rest_of_text


def _goes_on(text: str, end: int) -> bool:
    """Check whether a date is a part of a longer word or a range, as in "1990s".

    For example, ``_goes_on("the 1990s", 8)`` returns ``True``.
    """
    return re.match(r"\s?(?:[-\u2013/]|[a-z]+s\b)|\u2019?s\b", text[end:]) is not None


def _count_verbs(text: str) -> int:
    """Count the verbs of a sentence.

    For example, ``_count_verbs("The bridge was built and opened")`` returns ``2``.
    """
    # "was built" counts as one verb.
    return len(_FINITE.findall(_COMPOUND.sub("was", text)))


def _ask_when(date: str) -> str:
    """Return the question for a date: for the year, or for any other date."""
    return "what year {thing}" if re.fullmatch(r"\d{4}", date) else "when {thing}"


def _keywords(text: str) -> str:
    """Write what a person would type to search for a sentence: its words that say something.

    For example, ``_keywords("The old bridge was built by the mayor.")`` returns ``"old bridge built mayor"``.
    """
    typed = re.findall(r"[^\W_]+(?:['\u2019][a-z]+)?", re.sub(r"^(?:The|An?)\b", "", text))
    return " ".join(word for word in typed if is_telling(word.lower()))


def _read_date(text: str) -> Iterator[Formed]:
    """Yield the question for the date of a sentence, if the sentence has one date and one verb."""
    dates = find_dates(text)
    if len(dates) != 1 or _count_verbs(text) != 1:
        return
    begin, end = dates[0].begin, dates[0].end
    before = re.search(r"\b(?:in|on|dates from|dated) (?:the )?$", text[:begin])
    if before and not _goes_on(text, end):
        rest = f"{text[: before.start()]}{text[end:]}"
        yield Formed("date", _ask_when(text[begin:end]), _keywords(rest), text[begin:end], begin)


def _read_number(text: str) -> Iterator[Formed]:
    """Yield the question for the number of a sentence, if the sentence has only one number and says what is counted."""
    numbers = numbers_in(text)
    if len(numbers) != 1 or find_dates(text) or len(re.findall(r"\d[\d.,]*", text)) > 1:
        return
    begin, end, _ = numbers[0]
    # A word such as "million" belongs to the number.
    scale = re.match(r" (?:hundred|thousand|million|billion|dozen)\b", text[end:])
    if scale:
        end += scale.end()

    noun = _NOUN.match(text, end)
    if noun is None or _NO_AMOUNT.search(text[:begin]) or _PART_OF.search(text[:begin]):
        return

    first_word, *more_words = noun["noun"].split()
    if _NOT_NOUN.fullmatch(first_word) or _FINITE.match(first_word):
        return
    # What is counted is one word in the plural, or two words whose second is in the plural.
    counted = first_word
    if not _MANY.fullmatch(first_word):
        second_word = more_words[0] if more_words else ""
        if _NOT_NOUN.fullmatch(second_word) or not _MANY.fullmatch(second_word):
            return
        counted = f"{first_word} {second_word}"

    rest = f"{text[:begin]} {text[end + 1 + len(counted) :]}"
    yield Formed("number", f"how many {counted} {{thing}}", _keywords(rest), text[begin:end], begin)


def _read_field(sentence: Sentence) -> Iterator[Formed]:
    """Yield the question for a line such as "Opening hours: 9 to 5". Its passage must have a title."""
    title = str(sentence.passage.meta.get("title") or "")
    match = _FIELD.fullmatch(sentence.text)
    if match is None or not title:
        return
    key, value = match["key"], match["value"]
    if _NO_FIELD.search(key) or _FINITE.search(value):
        return
    # A value with a comma or "and" is a list. A text that ends like a sentence is no value.
    is_single = not re.search(r"[.,?!]$|,|\band\b", value) and len(re.findall(r"\d+", value)) < 2
    if is_single:
        yield Formed("cell", f"What is the {key.lower()}?", "", value, match.start("value"), f"of {title}")


def _read_cells(sentence: Sentence) -> Iterator[Formed]:
    """Yield the questions for the cells of a table row that is this sentence."""
    for table in read_tables(sentence.passage.meta):
        rows = [(row, _name_row(row.cells)) for row in table.rows]
        name_counts = Counter(name.lower() for _, name in rows)
        for row, name in rows:
            # Two rows with the same name cannot be told apart.
            is_only_row = bool(name) and name_counts[name.lower()] == 1
            if not is_only_row or table.write(row) != sentence.text:
                continue
            place = " ".join(filter(None, (table.title, row.group)))
            # A row may have fewer cells than the table has columns.
            for column, cell in zip(table.columns, row.cells, strict=False):
                is_only_cell = row.cells.count(cell) == 1 and cell.lower() not in sentence.context.lower()
                at = sentence.text.find(f"{column}: {cell}")
                if cell != name and is_only_cell and _can_be_asked(column, cell) and at >= 0:
                    heading = column if column.isupper() else column.lower()
                    yield Formed(
                        kind="cell",
                        template=f"What is the {heading} of {{thing}}?",
                        thing=name,
                        value=cell,
                        at=at + len(f"{column}: "),
                        place=f"in {place}" if place else "",
                    )


def _can_be_asked(column: str, cell: str) -> bool:
    """Check whether a column has a heading that can be asked for, and its cell one short value, not a list."""
    if not _COLUMN.fullmatch(column) or not 2 <= len(cell) <= 40:
        return False
    # A cell may have one number, perhaps with decimals.
    most_numbers = 2 if "." in cell else 1
    return not re.search(r"[;|,/<>]", cell) and len(re.findall(r"\d+", cell)) <= most_numbers


def _name_row(cells: tuple[str, ...]) -> str:
    """Return the name of a row: its first cell that can be a name. Empty if there is none."""
    return next((cell for cell in cells if _ROW_NAME.fullmatch(cell)), "")
