"""Receive, store and read users' feedback on answers.

Feedback is stored in the file ``feedback.jsonl``. Servers with a shared state store it in an Elasticsearch index
instead. `prefrag feedback` reads the stored feedback and makes questions of it.
"""

import asyncio
import errno
import json
import logging
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime
from http import HTTPStatus
from pathlib import Path
from typing import Annotated, Any, Literal

from fastapi import APIRouter, HTTPException, Request
from haystack.document_stores.errors import DocumentStoreError
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from prefrag.components.document_stores.tantivy.index import index_exists
from prefrag.components.document_stores.tantivy.index_location import data_directory, index_path
from prefrag.components.state.run_options import pop_collection
from prefrag.components.text.distinct import distinct
from prefrag.errors import BadInput, PrefragError
from prefrag.file_lock import append_line
from prefrag.server.access.keys import current_access
from prefrag.server.library.collections import NoSuchCollection, check_collection, is_listed, served_collection
from prefrag.server.public_result import hide_addresses
from prefrag.settings import settings

logger = logging.getLogger(__name__)

# The maximum size of the feedback file, in bytes. When the file is full, feedback is refused.
MOST_BYTES = 100_000_000
# The Elasticsearch index that servers with a shared state use instead of a file.
FEEDBACK_INDEX = "prefrag-feedback"
# The maximum number of entries in that index. A full file has about as many.
_MOST_ENTRIES = 100_000
router = APIRouter(tags=["feedback"])

# The fields of feedback come from clients, so each has a maximum length, in characters.
Word = Annotated[str, Field(max_length=200)]
Text = Annotated[str, Field(max_length=4_000)]
Name = Annotated[str, Field(max_length=1_000)]
# A long title is cut instead of refused, because the user who gives feedback cannot shorten it.
Title = Annotated[str, AfterValidator(lambda title: title[:1_000])]
Count = Annotated[int, Field(ge=0, le=1_000_000)]


class FeedbackNotKept(PrefragError):
    """The error when feedback cannot be stored."""

    http_status = 507


class _Part(BaseModel):
    # Clients send back the whole result. Fields that no class below names are dropped, such as the trace.
    model_config = ConfigDict(extra="ignore")


class Passage(_Part):
    """A passage of a result, without its text."""

    # The citation mark, such as "1", "W2" (a web page) or "A1" (a text that came with the question).
    mark: Word = ""
    id: Name = ""
    title: Title = ""
    source: Word = ""


class SentQuery(_Part):
    """A query that was sent to an external source, such as the web."""

    source: Word = ""
    query: Text = ""


class Counts(_Part):
    """How many searches were made to answer a question."""

    total_local: Count = 0
    total_web: Count = 0
    total: Count = 0
    used_local: Count = 0
    used: Count = 0
    lookups: Count = 0


class Usage(_Part):
    """What an answer cost."""

    # How long the run took.
    seconds: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.0


class KeptResult(_Part):
    """The part of a result that is stored."""

    question: Annotated[str, Field(min_length=1, max_length=4_000)]
    answer: Annotated[str, Field(max_length=100_000)] = ""
    label: Word | None = None
    probability: Annotated[float, Field(ge=0, le=1)] | None = None
    forced: bool = False
    not_found: bool = False
    documents: Annotated[list[Passage], Field(max_length=1_000)] = []
    citations: Annotated[list[Passage], Field(max_length=1_000)] = []
    queries_sent_out: Annotated[list[SentQuery], Field(max_length=1_000)] = []
    counts: Counts = Counts()
    usage: Usage = Usage()


class Feedback(BaseModel):
    """A user's feedback on an answer."""

    model_config = ConfigDict(extra="forbid")

    rating: Literal["up", "down"]
    comment: Text = ""
    answer: Text | None = None
    pipeline: Word | None = None
    collection: Word | None = None
    index: Word | None = None
    """The older name of ``collection``."""
    compared: Literal["reader", "model"] | None = None
    """Which of two answers to one question this is, if the user has compared them."""
    result: KeptResult


class KeptFeedback(Feedback):
    """Feedback as it is stored: with the time, the name of the key, and the collection."""

    model_config = ConfigDict(extra="ignore")

    id: str
    time: datetime
    key: str | None = None
    collection: str = ""

    @property
    def right_answer(self) -> str:
        """The right answer: what the user typed, or else the answer that the user liked. Otherwise an empty text."""
        if self.answer and self.answer.strip():
            return self.answer.strip()
        return self.result.answer.strip() if self.rating == "up" else ""

    @property
    def supporting_ids(self) -> list[str]:
        """The ids of the indexed passages that the answer cites. Empty if the user disliked the answer."""
        if self.rating != "up":
            return []

        # Only marks of digits count. `W1` marks a web page, and `A1` a text that came with the question. Neither is in
        # an index.
        ids = []
        for citation in self.result.citations:
            has_only_digits = citation.mark.isascii() and citation.mark.isdecimal()
            if has_only_digits and citation.id:
                ids.append(citation.id)
        return distinct(ids)


def feedback_file() -> Path:
    """Return the path of the feedback file, which may not exist."""
    return data_directory() / "feedback.jsonl"


def keep_feedback(feedback: Feedback, key: str | None, collection: str) -> str:
    """Store feedback.

    :param feedback: The feedback of a user.
    :param key: The name of the key with which it was sent. None without a key.
    :param collection: The collection that was searched.
    :returns: The id of the stored entry.
    :raises FeedbackNotKept: If the entry cannot be stored.
    """
    entry_id = uuid.uuid4().hex
    record: dict[str, object] = {
        "id": entry_id,
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "key": key,
        "collection": collection,
        **feedback.model_dump(exclude={"collection", "index"}),
    }
    if settings.state == "elasticsearch":
        _keep_shared(record)
        return entry_id

    path = feedback_file()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        append_line(path, json.dumps(record), MOST_BYTES)
    except OSError as error:
        if error.errno == errno.EFBIG:
            reason = f"The file has reached {MOST_BYTES:,} bytes: export the feedback and move the file away"
        else:
            reason = f"{path} cannot be written ({error.strerror})"
        raise FeedbackNotKept(f"Feedback cannot be stored. {reason}.") from error
    return entry_id


def read_feedback() -> Iterator[KeptFeedback | None]:
    """Read the stored feedback, oldest first.

    :returns: An iterator over the entries. None stands for an entry that cannot be read.
    """
    if settings.state == "elasticsearch":
        yield from map(_read, _read_shared())
        return
    try:
        lines = feedback_file().open("rb")
    except FileNotFoundError:
        return
    with lines:
        yield from map(_read, lines)


def _read(line: str | bytes) -> KeptFeedback | None:
    """Read an entry from a line of JSON. None if it is damaged."""
    try:
        return KeptFeedback.model_validate_json(line)
    except ValidationError:
        return None


def _keep_shared(record: dict[str, Any]) -> None:
    """Store an entry in Elasticsearch."""
    from prefrag.collections.stores import connect_elasticsearch, make_index

    try:
        with connect_elasticsearch() as client:
            make_index(client, FEEDBACK_INDEX, {"enabled": False}, number_of_shards=1, hidden=True)
            if client.count(index=FEEDBACK_INDEX)["count"] >= _MOST_ENTRIES:
                reason = f"There are {_MOST_ENTRIES:,} entries: export them and delete the index {FEEDBACK_INDEX}"
                raise FeedbackNotKept(f"Feedback cannot be stored. {reason}.")
            client.create(index=FEEDBACK_INDEX, id=record["id"], document=record)
    except DocumentStoreError as error:
        raise FeedbackNotKept(f"Feedback cannot be stored. {error}") from error


def _read_shared() -> Iterator[str]:
    """Read the entries from Elasticsearch as lines of JSON, oldest first."""
    from elasticsearch import helpers

    from prefrag.collections.stores import connect_elasticsearch

    with connect_elasticsearch() as client:
        if client.indices.exists(index=FEEDBACK_INDEX):
            client.indices.refresh(index=FEEDBACK_INDEX)
            query = {"sort": ["_seq_no"]}
            for hit in helpers.scan(client, index=FEEDBACK_INDEX, query=query, preserve_order=True):
                yield json.dumps(hit["_source"])


@router.post("/feedback", summary="Say whether an answer was right, and what the right answer is")
async def give_feedback(feedback: Feedback, request: Request) -> dict[str, str]:
    """Store a user's feedback on an answer."""
    if not request.headers.get("content-type", "").lower().startswith("application/json"):
        # Browsers send some other content types without a CORS preflight, in which they ask the server first. So any
        # website could post feedback with them.
        raise HTTPException(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "Send the feedback as application/json.")
    access = current_access.get()
    try:
        collection = pop_collection(feedback.model_dump(include={"collection", "index"}))
        if collection is not None:
            check_collection(collection)
            # A collection that the settings list by name may be in Elasticsearch. Others need an index on this machine.
            if not is_listed(collection, by_name=True) and not index_exists(index_path(collection)):
                raise NoSuchCollection
        elif access.collections is not None and len(access.collections) == 1:
            # The key allows a single collection, so the question was about that collection.
            [collection] = access.collections
        else:
            collection = served_collection()
        entry_id = await asyncio.to_thread(keep_feedback, feedback, access.key or None, collection)
        return {"id": entry_id}
    except (BadInput, FeedbackNotKept, NoSuchCollection) as error:
        if isinstance(error, FeedbackNotKept):
            logger.error("%s", error)
        raise HTTPException(error.http_status, hide_addresses(str(error))) from error
