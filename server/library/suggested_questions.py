"""Suggest questions with which users can begin.

Each question is made from a sentence of a document, and this sentence answers it. A question is suggested only if the
extractive reader, a small model that finds answers in passages, answers it from the same document. The questions are
made in a thread, because this takes up to half a minute.
"""

import hashlib
import math
import re
import time
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from pathlib import PurePath
from threading import Lock, Thread

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
    title = str(passage.meta.get("title") or "")
    # The innermost of the headings above the passage.
    _, _, heading = (heading_of(passage.meta) or "").rpartition(" > ")
    names = [_PREFIX.sub("", name.strip()) for name in (title, heading)]
    for sentence in sentences_of(passage):
        for formed in find_formed(sentence):
            if not formed.thing or not formed.template.endswith("?"):
                continue
            if formed.kind == "cell":
                clear_thing = formed.thing if _AMOUNT.fullmatch(formed.value) else ""
            else:
                clear_thing = _name(formed.thing, names)
            question = formed.template.replace("{thing}", clear_thing)
            if clear_thing and len(question) <= _MOST_QUESTION:
                yield question
                break


def _name(thing: str, names: list[str]) -> str:
    """Name a thing in words that are clear without its sentence. Return an empty text if there are no such words.

    ``names`` are the title and the heading. For example, ``_name("the hall", ["Pellhaven Calibration Hall"])`` returns
    ``"the Pellhaven Calibration Hall"``, and ``_name("the hall", [])`` returns ``""``.
    """
    article = ""
    bare_thing = thing
    if re.match(r"(?:the|an?) ", thing, re.IGNORECASE):
        article, _, bare_thing = thing.partition(" ")
    words = bare_thing.split()
    if words[0].lower() in _VAGUE or words[-1].lower() in FUNCTION_WORDS:
        return ""

    # In the document "Pellhaven Calibration Hall", replace "the hall" by the whole name.
    longer_names = [name for name in names if name.lower().endswith(f" {bare_thing.lower()}")]
    whole_name = longer_names[0] if longer_names else ""
    if article and len(words) == 1 and re.fullmatch(rf"{_WORD}(?: {_WORD}){{0,5}}", whole_name):
        return f"the {whole_name}"
    if not article:
        # Without an article, only the title or the heading itself is clear.
        return bare_thing if bare_thing.lower() in map(str.lower, names) else ""

    # With an article, a capital letter or a word of the title makes the thing specific. An "s" at the end of a word
    # does not count.
    words_of_names = " ".join(names).lower().split()
    topic = {word.rstrip("s") for word in words_of_names} - FUNCTION_WORDS
    is_specific = any(word[0].isupper() or word.lower().rstrip("s") in topic for word in words)
    is_clear = len(words) > 1 or words[0].lower() in topic
    return f"{article.lower()} {bare_thing}" if is_specific and is_clear else ""


class SuggestedQuestions:
    """Makes suggested questions for collections, in a thread. They are made once for each version of an index.

    :param served: Returns the served pipelines by name.
    """

    def __init__(self, served: Callable[[], Mapping[str, object]]):
        self._served = served
        self._made: dict[LocalCollection, tuple[int, list[dict[str, str]]]] = {}
        # When a thread may start for a collection, by the monotonic clock. Infinite while a thread runs.
        self._next_start: dict[LocalCollection, float] = {}
        self._one_at_a_time = Lock()

    def find(self, collection: LocalCollection) -> dict[str, object]:
        """Return the suggested questions of a collection. If there are none yet, a thread starts to make them.

        :param collection: The collection.
        :returns: A dictionary with the following keys:
            - `questions`: A list. Each entry has the `question` and the `name` of the file that answers it.
            - `pending`: Whether the questions are still being made, so that the client should ask again.
        """
        version = collection.version
        made_for, questions = self._made.get(collection, (None, []))
        if made_for == version:
            return {"questions": questions, "pending": False}

        reader = self._find_reader()
        if reader is None:
            return {"questions": [], "pending": False}
        if time.monotonic() >= self._next_start.get(collection, 0.0):
            self._next_start[collection] = math.inf
            Thread(target=self._make, args=[collection, version, reader], daemon=True).start()
        return {"questions": [], "pending": True}

    def _find_reader(self) -> ExtractiveReader | None:
        """Return the first extractive reader in the served pipelines. None if there is none."""
        for pipeline in self._served().values():
            for _, part in walk_parts(pipeline):
                if isinstance(part, ExtractiveReader):
                    return part
        return None

    def _make(self, collection: LocalCollection, version: int, reader: ExtractiveReader) -> None:
        """Make the questions of a collection. This runs in a thread. If it fails, there are no questions."""
        questions: list[dict[str, str]] = []
        with self._one_at_a_time:
            try:
                questions = find_questions(collection.document_store(), reader)
            except Exception as error:
                log.warning("No questions are suggested for {}: {}", collection.name, error)
            self._made[collection] = (version, questions)
            self._next_start[collection] = time.monotonic() + _PAUSE


def find_questions(store: TantivyDocumentStore, reader: ExtractiveReader) -> list[dict[str, str]]:
    """Find questions that the extractive reader answers confidently, from the document that they were made from.

    :param store: The index to read and to search.
    :param reader: The extractive reader.
    :returns: At most :data:`MOST` questions, from different documents. Each has the `question` and the `name` of the
        file that answers it.
    """
    # The passage from which each question was made.
    made_from: dict[str, Document] = {}
    for passage in _sample(store):
        # A document with a standing is a draft or the like. Do not ask about it.
        if not passage.meta.get("standing"):
            for question in make_questions(passage):
                made_from[question] = passage

    # Sort the questions by a hash. The order is always the same. No document can push its questions to the front.
    questions = sorted(made_from, key=lambda question: hashlib.blake2b(question.encode(), digest_size=8).digest())
    # The suggested questions, by the document that answers them. A document gives at most one question.
    suggested: dict[str, dict[str, str]] = {}
    deadline = time.monotonic() + _MOST_SECONDS
    for question in questions[:_MOST_TRIED]:
        if len(suggested) == MOST or time.monotonic() > deadline:
            break
        time.sleep(_BEFORE_EACH)
        answers = reader.read(question, store.search(question, _READ))
        if not answers or answers[0].probability < reader.threshold:
            continue
        best = answers[0]

        # The question must be answered from the document that it was made from.
        origin = _origin(made_from[question])
        if _origin(best.document) == origin:
            meta = best.document.meta
            name = PurePath(str(meta.get("file_path") or meta.get("title") or "")).name
            suggested.setdefault(origin, {"question": question, "name": name[:_MOST_NAME]})
    return list(suggested.values())


def _origin(passage: Document) -> str:
    """Return the file of a passage. For a passage that comes from no file, return its id."""
    return str(passage.meta.get("file_path") or passage.id)


def _sample(store: TantivyDocumentStore) -> Iterator[Document]:
    """Read the first passages of some files, spread over all files. If the index names no files, read any passages."""
    filters: dict[str, object] | None = None
    files = sorted(store.count_values("file_path"))
    if files:
        step = max(1, len(files) // _MOST_FILES)
        is_in_file = {"field": "meta.file_path", "operator": "in", "value": files[::step]}
        is_at_beginning = {"field": "meta.split_id", "operator": "in", "value": list(range(_FIRST_PASSAGES))}
        filters = {"operator": "AND", "conditions": [is_in_file, is_at_beginning]}
    return islice(store.iterate_documents(filters), _MOST_PASSAGES)
