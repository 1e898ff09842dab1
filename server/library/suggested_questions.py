"""Suggest questions with which users can begin. Each is made from a sentence of a document, which answers it."""

import hashlib
import re
import time
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from pathlib import PurePath
from threading import Lock, Thread
from typing import Any

from hayhooks.server.logger import log
from haystack import Document

from prefrag.collections.local_collection import LocalCollection
from prefrag.components.document_stores.tantivy.document_store import TantivyDocumentStore
from prefrag.components.parts import walk_parts
from prefrag.components.reader.extractive_reader import ExtractiveReader
from prefrag.components.state.places import heading_of
from prefrag.components.text.sentences import cut_text, shown_sentences
from prefrag.components.text.table_rows import read_tables
from prefrag.components.text.title_mentions import FUNCTION_WORDS

MOST = 4  # questions that are suggested
_MOST_TRIED, _MOST_SECONDS = 60, 30.0  # trying stops after so many questions, or so many seconds
_MOST_FILES, _FIRST_PASSAGES, _MOST_PASSAGES = 500, 6, 3_000  # to read: files, first passages of each, passages in all
_MOST_SENTENCE, _MOST_QUESTION, _MOST_NAME = 250, 100, 80  # lengths in characters
_READ = 5  # how many passages the extractive reader reads for a question
_PAUSE = 60.0  # seconds to wait before questions are made again for an index that has changed
_BEFORE_EACH = 0.1  # seconds to sleep before each question is tried
# Questions repeat only words and spaces from documents, so that no web address or markup gets into a question.
_WORD = r"[^\W\d_][\w'\u2019-]{0,30}"
_OF = rf"(?: (?:of|for|at|in) (?:the )?{_WORD}(?: [A-Z][\w'\u2019-]{{0,30}}){{0,3}})?"
_THING = rf"(?P<thing>(?:The|An?) {_WORD}(?: {_WORD}){{0,3}}?{_OF}|{_WORD}(?: {_WORD}){{0,5}})"
_NUMBER = r"(?:(?:about |at least |at most |up to )?[$€£]?\d|(?:two|three|four|five|six|eight|nine|ten|twelve)\b)"
_PERSON = r"(?:(?:Mr|Ms|Mrs|Dr)\.? )?[A-Z][a-z'\u2019-]+ [A-Z][a-z]"
_IS = "(?P<verb>is|was|are|were)"
_MONTH = "(?:January|February|March|April|May|June|July|August|September|October|November|December)"
_WHEN = rf"(?:in|on|since|until|by) (?:\w+day,? )?(?:\d{{1,2}} )?(?:{_MONTH}(?: \d|\b)|(?:1\d{{3}}|20\d\d)\b)"
_DOES = "keeps|leads|runs|manages|chairs|owns|teaches|founded|built|wrote|designed|drew"
_BASES = {"opened": "open", "began": "begin", "started": "start", "closed": "close", "ended": "end", "moved": "move"}
_DONE = (
    "founded|built|opened|bought|sold|signed|introduced|released|launched|published|written|designed|invented|installed"
)
_DONE += "|renamed|replaced|repaired|adopted|elected|appointed|born|completed|developed|held|paid|due|closed"
# Patterns for the beginnings of sentences, each with the question that such a sentence answers.
_FORMS = [
    (rf"{_THING} {_IS} {_PERSON}", "Who {verb} {thing}?"),
    (rf"(?!An? ){_THING} {_IS} {_NUMBER}", "What {verb} {thing}?"),
    (
        rf"{_THING} {_IS} (?P<done>kept|stored|parked|located|buried) (?:in|on|at|under)\b",
        "Where {verb} {thing} {done}?",
    ),
    (rf"{_THING} {_IS} (?:in|at|on|under|behind|beside) (?:the |[A-Z])", "Where {verb} {thing}?"),
    (rf"{_THING} (?P<verb>opens|closes|starts|begins|ends) (?:at|on|in) ", "When does {thing} {base}?"),
    (rf"{_THING} (?P<verb>{'|'.join(_BASES)}) (?:[^.,;]{{0,40}} )?{_WHEN}", "When did {thing} {base}?"),
    (rf"{_THING} {_IS} (?P<done>{_DONE}) (?:[^.;]{{0,60}} )?{_WHEN}", "When {verb} {thing} {done}?"),
    (rf"{_THING} {_IS} (?P<done>{_DONE}) (?:[^.;]{{0,40}} )?by {_PERSON}", "By whom {verb} {thing} {done}?"),
    (rf"{_THING} costs? {_NUMBER}", "What does {thing} cost?"),
    (rf"{_THING} (?P<verb>takes|lasts) {_NUMBER}", "How long does {thing} {base}?"),
    (rf"{_PERSON}\S* (?P<verb>{_DOES}) (?P<thing>(?:the )?{_WORD}{_OF})(?=[.,;]| since| from)", "Who {verb} {thing}?"),
]
_MOST_ROWS = 3  # rows of a table from which questions are made
# Codes such as "V1" are no names that a person would ask for.
_ROW_NAME = re.compile(rf"[^\W\d_]{{3,30}}(?: {_WORD}){{0,4}}")
_COLUMN = re.compile(_WORD)
_AMOUNT = re.compile(r"[$\u20ac\u00a3]?\s?\d+(?:[.,]\d+)*\s?(?:[^\W\d]{1,10}|[%$\u20ac\u00a3])?")
_VAGUE = {*FUNCTION_WORDS, "same", "first", "second", "last", "next", "following", "only", "default", "number"}
_PREFIX = re.compile(r"^(?:(?:(?:chapter|section|part|slide)\s+)?[\d.]+[.:)]*|the|an?)\s+", re.IGNORECASE)


def make_questions(passage: Document) -> Iterator[str]:
    """Make questions from rows of tables, and from sentences about the title, a heading or a named thing.

    `find_questions` drops bad ones.
    """
    yield from _make_row_questions(passage)
    names = [str(passage.meta.get("title") or ""), (heading_of(passage.meta) or "").rpartition(" > ")[2]]
    names = [_PREFIX.sub("", name.strip()) for name in names]
    for sentence in shown_sentences(cut_text(passage.content or "", 5_000)):
        for pattern, form in _FORMS if len(sentence) <= _MOST_SENTENCE else ():
            if (found := re.match(pattern, sentence)) is None:
                continue
            if thing := _name(found["thing"], names):
                parts = {"verb": "", "done": "", **found.groupdict(), "thing": thing}
                question = form.format(base=_BASES.get(parts["verb"]) or parts["verb"].removesuffix("s"), **parts)
                if len(question) <= _MOST_QUESTION:
                    yield question
            break


def _make_row_questions(passage: Document) -> Iterator[str]:
    """Make questions for cells with an amount, from the name of the column and the first cell of the row."""
    for table in read_tables(passage.meta):
        for row in table.rows[:_MOST_ROWS]:
            cells = [(column, cell) for column, cell in zip(table.columns, row.cells, strict=False) if cell]
            names = [cell for _, cell in cells if _ROW_NAME.fullmatch(cell)]
            asked = [column for column, cell in cells if _AMOUNT.fullmatch(cell) and _COLUMN.fullmatch(column)]
            if names and asked:
                column = asked[0] if asked[0].isupper() else asked[0].lower()
                yield f"What is the {column} of {names[0]}?"


def _name(thing: str, names: list[str]) -> str:
    """Name a thing in words that are clear without the sentence. Return an empty text if there are no such words."""
    article, _, rest = thing.partition(" ") if re.match(r"(?:the|an?) ", thing, re.IGNORECASE) else ("", "", thing)
    words = rest.split()
    if words[0].lower() in _VAGUE or words[-1].lower() in FUNCTION_WORDS:
        return ""
    # In the document "Pellhaven Calibration Hall", replace "the hall" by the whole name.
    whole = next((name for name in names if name.lower().endswith(f" {rest.lower()}")), "")
    if article and len(words) == 1 and re.fullmatch(rf"{_WORD}(?: {_WORD}){{0,5}}", whole):
        return f"the {whole}"
    if not article:
        return rest if rest.lower() in map(str.lower, names) else ""
    topic = {word.lower().rstrip("s") for name in names for word in name.split()} - FUNCTION_WORDS
    is_specific = any(word[0].isupper() or word.lower().rstrip("s") in topic for word in words)
    return f"{article.lower()} {rest}" if is_specific and (len(words) > 1 or words[0].lower() in topic) else ""


class SuggestedQuestions:
    """Makes suggested questions for each collection, in a thread, once for each version of the index."""

    def __init__(self, served: Callable[[], Mapping[str, Any]]):
        self._served = served
        self._made: dict[LocalCollection, tuple[int, list[dict[str, str]]]] = {}
        self._ended: dict[LocalCollection, float] = {}  # when the thread of a collection ended; infinite while it runs
        self._one_at_a_time = Lock()

    def find(self, collection: LocalCollection) -> dict[str, Any]:
        """Return a collection's `questions`, each with its file's `name`; `pending` if they are still being made."""
        version, made = collection.version, self._made.get(collection)
        if made is not None and made[0] == version:
            return {"questions": made[1], "pending": False}
        parts = (part for each in self._served().values() for _, part in walk_parts(each))
        reader = next((part for part in parts if isinstance(part, ExtractiveReader)), None)
        if reader is not None and time.monotonic() - self._ended.get(collection, -_PAUSE) >= _PAUSE:
            self._ended[collection] = float("inf")
            Thread(target=self._make, args=[collection, version, reader], daemon=True).start()
        return {"questions": [], "pending": reader is not None}

    def _make(self, collection: LocalCollection, version: int, reader: ExtractiveReader) -> None:
        found: list[dict[str, str]] = []
        with self._one_at_a_time:
            try:
                found = find_questions(collection.document_store(), reader)
            except Exception as error:
                log.warning("No questions are suggested for {}: {}", collection.name, error)
            self._made[collection], self._ended[collection] = (version, found), time.monotonic()


def find_questions(store: TantivyDocumentStore, reader: ExtractiveReader) -> list[dict[str, str]]:
    """Find questions that the extractive reader answers confidently, and from the document they were made from."""
    made = {question: one for one in _sample(store) if not one.meta.get("standing") for question in make_questions(one)}
    # Sort the questions by a hash. The order is always the same, and no document can push its questions to the front.
    order = sorted(made, key=lambda question: hashlib.blake2b(question.encode(), digest_size=8).digest())
    found: dict[str, dict[str, str]] = {}
    deadline = time.monotonic() + _MOST_SECONDS
    for question in order[:_MOST_TRIED]:
        origin = _origin(made[question])
        if len(found) == MOST or time.monotonic() > deadline:
            break
        time.sleep(_BEFORE_EACH)
        best = next(iter(reader.read(question, store.search(question, _READ))), None)
        if best and best.probability >= reader.threshold and _origin(best.document) == origin:
            name = PurePath(str(best.document.meta.get("file_path") or best.document.meta.get("title") or "")).name
            found.setdefault(origin, {"question": question, "name": name[:_MOST_NAME]})
    return list(found.values())


def _origin(passage: Document) -> str:
    return str(passage.meta.get("file_path") or passage.id)


def _sample(store: TantivyDocumentStore) -> Iterator[Document]:
    """Read the first passages of some files. If the index names no files, read any passages."""
    files = sorted(store.count_values("file_path"))
    wanted = {"file_path": files[:: max(1, len(files) // _MOST_FILES)], "split_id": list(range(_FIRST_PASSAGES))}
    conditions = [{"field": f"meta.{name}", "operator": "in", "value": values} for name, values in wanted.items()]
    filters = {"operator": "AND", "conditions": conditions} if files else None
    return islice(store.iterate_documents(filters), _MOST_PASSAGES)
