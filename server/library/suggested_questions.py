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
from prefrag.components.text.title_mentions import FUNCTION_WORDS
from prefrag.evaluation.prove.forms import find_formed
from prefrag.evaluation.prove.sentences import sentences_of

MOST = 4  # questions that are suggested
# No more questions are tried after so many questions, or so many seconds.
_MOST_TRIED = 60
_MOST_SECONDS = 30.0
# What is read: so many files, so many passages from the beginning of each, and so many passages in all.
_MOST_FILES = 500
_FIRST_PASSAGES = 6
_MOST_PASSAGES = 3_000
_MOST_QUESTION = 100  # characters of a question
_MOST_NAME = 80  # characters of the name of a file
_READ = 5  # how many passages the extractive reader reads for a question
_PAUSE = 60.0  # seconds to wait before questions are made again for an index that has changed
_BEFORE_EACH = 0.1  # seconds to sleep before each question is tried
# A word, so that neither a web address nor markup of a document gets into a question.
_WORD = r"[^\W\d_][\w'\u2019-]{0,30}"
# A number with a unit or a currency before or behind it, as in "$12.50", "3 km" or "40%".
_AMOUNT = re.compile(r"[$\u20ac\u00a3]?\s?\d+(?:[.,]\d+)*\s?(?:[^\W\d]{1,10}|[%$\u20ac\u00a3])?")
_VAGUE = {*FUNCTION_WORDS, "same", "first", "second", "last", "next", "following", "only", "default", "number"}
# What stands before the name of a thing in a title, as in "Chapter 3: Pumps", "2.1 Pumps" or "The pumps".
_PREFIX = re.compile(r"^(?:(?:(?:chapter|section|part|slide)\s+)?[\d.]+[.:)]*|the|an?)\s+", re.IGNORECASE)


def make_questions(passage: Document) -> Iterator[str]:
    """Make questions from sentences, and from rows of tables, about the title, a heading or a named thing.

    `find_questions` drops bad ones.
    """
    heading = (heading_of(passage.meta) or "").rpartition(" > ")[2]
    names = [_PREFIX.sub("", name.strip()) for name in (str(passage.meta.get("title") or ""), heading)]
    for sentence in sentences_of(passage):
        for formed in find_formed(sentence):
            if not formed.thing or not formed.template.endswith("?"):
                continue
            if formed.kind == "cell":
                thing = formed.thing if _AMOUNT.fullmatch(formed.value) else ""
            else:
                thing = _name(formed.thing, names)
            question = formed.template.replace("{thing}", thing)
            if thing and len(question) <= _MOST_QUESTION:
                yield question
                break


def _name(thing: str, names: list[str]) -> str:
    """Name a thing in words that are clear without the sentence. Return an empty text if there are no such words."""
    has_article = re.match(r"(?:the|an?) ", thing, re.IGNORECASE)
    article, _, rest = thing.partition(" ") if has_article else ("", "", thing)
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
    is_clear = len(words) > 1 or words[0].lower() in topic
    return f"{article.lower()} {rest}" if is_specific and is_clear else ""


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
        parts = (part for pipeline in self._served().values() for _, part in walk_parts(pipeline))
        reader = next((part for part in parts if isinstance(part, ExtractiveReader)), None)
        if reader is not None and time.monotonic() - self._ended.get(collection, -_PAUSE) >= _PAUSE:
            self._ended[collection] = float("inf")
            Thread(target=self._make, args=[collection, version, reader], daemon=True).start()
        return {"questions": [], "pending": reader is not None}

    def _make(self, collection: LocalCollection, version: int, reader: ExtractiveReader) -> None:
        questions: list[dict[str, str]] = []
        with self._one_at_a_time:
            try:
                questions = find_questions(collection.document_store(), reader)
            except Exception as error:
                log.warning("No questions are suggested for {}: {}", collection.name, error)
            self._made[collection], self._ended[collection] = (version, questions), time.monotonic()


def find_questions(store: TantivyDocumentStore, reader: ExtractiveReader) -> list[dict[str, str]]:
    """Find questions that the extractive reader answers confidently, and from the document they were made from."""
    made = {
        question: passage
        for passage in _sample(store)
        if not passage.meta.get("standing")
        for question in make_questions(passage)
    }
    # Sort the questions by a hash. The order is always the same, and no document can push its questions to the front.
    order = sorted(made, key=lambda question: hashlib.blake2b(question.encode(), digest_size=8).digest())
    answered: dict[str, dict[str, str]] = {}
    deadline = time.monotonic() + _MOST_SECONDS
    for question in order[:_MOST_TRIED]:
        origin = _origin(made[question])
        if len(answered) == MOST or time.monotonic() > deadline:
            break
        time.sleep(_BEFORE_EACH)
        best = next(iter(reader.read(question, store.search(question, _READ))), None)
        if best and best.probability >= reader.threshold and _origin(best.document) == origin:
            name = PurePath(str(best.document.meta.get("file_path") or best.document.meta.get("title") or "")).name
            answered.setdefault(origin, {"question": question, "name": name[:_MOST_NAME]})
    return list(answered.values())


def _origin(passage: Document) -> str:
    return str(passage.meta.get("file_path") or passage.id)


def _sample(store: TantivyDocumentStore) -> Iterator[Document]:
    """Read the first passages of some files. If the index names no files, read any passages."""
    files = sorted(store.count_values("file_path"))
    wanted = {"file_path": files[:: max(1, len(files) // _MOST_FILES)], "split_id": list(range(_FIRST_PASSAGES))}
    conditions = [{"field": f"meta.{name}", "operator": "in", "value": values} for name, values in wanted.items()]
    filters = {"operator": "AND", "conditions": conditions} if files else None
    return islice(store.iterate_documents(filters), _MOST_PASSAGES)
