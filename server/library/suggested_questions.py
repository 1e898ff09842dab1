"""Suggest questions with which users can begin.

Each question is made from a sentence of a document, and this sentence answers it. A question is suggested only if the
extractive reader, a small model that finds answers in passages, answers it from the same document. The questions are
made in a thread, because this takes up to half a minute.
"""

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

# How many questions are suggested at most.
MOST = 4
# How many questions are tried at most.
_MOST_TRIED = 60
# After this many seconds, no further question is tried.
_MOST_SECONDS = 30.0
# How many files are read at most, to make questions from them.
_MOST_FILES = 500
# How many passages are read from the beginning of each file.
_FIRST_PASSAGES = 6
# How many passages are read in all, at most.
_MOST_PASSAGES = 3_000
# A question may have at most this many characters.
_MOST_QUESTION = 100
# The name of a file is cut to this many characters.
_MOST_NAME = 80
# How many passages the extractive reader reads for a question.
_READ = 5
# How many seconds to wait before questions are made again for an index that has changed.
_PAUSE = 60.0
# How many seconds to sleep before each question is tried, so that other threads can work.
_BEFORE_EACH = 0.1
# A word, such as "Calibration" or "cat's". Web addresses and markup do not match, so they do not get into a question.
_WORD = r"[^\W\d_][\w'\u2019-]{0,30}"
# A number, with or without a unit or a currency before or behind it: "$12.50", "3 km", "40%" or "7".
_AMOUNT = re.compile(r"[$\u20ac\u00a3]?\s?\d+(?:[.,]\d+)*\s?(?:[^\W\d]{1,10}|[%$\u20ac\u00a3])?")
# A thing that begins with one of these words is not clear without its sentence, as in "the next train".
_VAGUE = {*FUNCTION_WORDS, "same", "first", "second", "last", "next", "following", "only", "default", "number"}
# What stands before the name of a thing in a title. In "Chapter 3: Pumps", "2.1 Pumps" and "The pumps", the name of the
# thing is "Pumps" or "pumps".
_PREFIX = re.compile(r"^(?:(?:(?:chapter|section|part|slide)\s+)?[\d.]+[.:)]*|the|an?)\s+", re.IGNORECASE)


def make_questions(passage: Document) -> Iterator[str]:
    """Make questions from the sentences and table rows of a passage, at most one question from each.

    A question is about the title of the document, about a heading, or about a named thing. Some of the questions are
    bad. :func:`find_questions` drops them.

    :param passage: The passage.
    :returns: An iterator over the questions.
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
    """Name a thing in words that are clear without its sentence. Return an empty text if there are no such words.

    ``names`` are the title and the heading. For example, ``_name("the hall", ["Pellhaven Calibration Hall"])`` returns
    ``"the Pellhaven Calibration Hall"``, and ``_name("the hall", [])`` returns ``""``.
    """
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
        # Without an article, only the title or the heading itself is clear.
        return rest if rest.lower() in map(str.lower, names) else ""

    # With an article, a capital letter or a word of the title makes the thing specific.
    topic = {word.lower().rstrip("s") for name in names for word in name.split()} - FUNCTION_WORDS
    is_specific = any(word[0].isupper() or word.lower().rstrip("s") in topic for word in words)
    is_clear = len(words) > 1 or words[0].lower() in topic
    return f"{article.lower()} {rest}" if is_specific and is_clear else ""


class SuggestedQuestions:
    """Makes suggested questions for collections, in a thread. They are made once for each version of an index.

    :param served: Returns the served pipelines by name.
    """

    def __init__(self, served: Callable[[], Mapping[str, Any]]):
        self._served = served
        self._made: dict[LocalCollection, tuple[int, list[dict[str, str]]]] = {}
        # When the thread of a collection ended, by the monotonic clock. Infinite while the thread runs.
        self._ended: dict[LocalCollection, float] = {}
        self._one_at_a_time = Lock()

    def find(self, collection: LocalCollection) -> dict[str, Any]:
        """Return the suggested questions of a collection. If there are none yet, a thread starts to make them.

        :param collection: The collection.
        :returns: A dictionary with the following keys:
            - `questions`: A list. Each entry has the `question` and the `name` of the file that answers it.
            - `pending`: Whether the questions are still being made, so that the client should ask again.
        """
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
        """Make the questions of a collection. This runs in a thread. If it fails, there are no questions."""
        questions: list[dict[str, str]] = []
        with self._one_at_a_time:
            try:
                questions = find_questions(collection.document_store(), reader)
            except Exception as error:
                log.warning("No questions are suggested for {}: {}", collection.name, error)
            self._made[collection], self._ended[collection] = (version, questions), time.monotonic()


def find_questions(store: TantivyDocumentStore, reader: ExtractiveReader) -> list[dict[str, str]]:
    """Find questions that the extractive reader answers confidently, from the document that they were made from.

    :param store: The index to read and to search.
    :param reader: The extractive reader.
    :returns: At most :data:`MOST` questions, from different documents. Each has the `question` and the `name` of the
        file that answers it.
    """
    made = {
        question: passage
        for passage in _sample(store)
        if not passage.meta.get("standing")
        for question in make_questions(passage)
    }
    # Sort the questions by a hash. The order is always the same. No document can push its questions to the front.
    order = sorted(made, key=lambda question: hashlib.blake2b(question.encode(), digest_size=8).digest())
    answered: dict[str, dict[str, str]] = {}
    deadline = time.monotonic() + _MOST_SECONDS
    for question in order[:_MOST_TRIED]:
        # Each question must be answered from this document. A document gives at most one question.
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
    """Return the file of a passage. For a passage that comes from no file, return its id."""
    return str(passage.meta.get("file_path") or passage.id)


def _sample(store: TantivyDocumentStore) -> Iterator[Document]:
    """Read the first passages of some files, spread over all files. If the index names no files, read any passages."""
    files = sorted(store.count_values("file_path"))
    wanted = {"file_path": files[:: max(1, len(files) // _MOST_FILES)], "split_id": list(range(_FIRST_PASSAGES))}
    conditions = [{"field": f"meta.{name}", "operator": "in", "value": values} for name, values in wanted.items()]
    filters = {"operator": "AND", "conditions": conditions} if files else None
    return islice(store.iterate_documents(filters), _MOST_PASSAGES)
