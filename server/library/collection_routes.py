"""The HTTP routes of collections and their documents.

A collection is an index with its documents. The routes list collections and delete them. They also upload, list, open
and delete documents. Work on documents runs in a few threads of its own, so that questions do not have to wait for it.
"""

import asyncio
import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from http import HTTPStatus
from pathlib import Path, PurePath
from typing import Annotated, Any, TypeVar

from anyio import CapacityLimiter, to_thread
from fastapi import APIRouter, HTTPException, Query, Request
from fastapi.responses import FileResponse, JSONResponse
from haystack.document_stores.errors import DocumentStoreError
from limits import RateLimitItemPerDay
from pydantic import BaseModel, ConfigDict
from starlette.types import Scope

from prefrag.collections.changes import uploaded_files
from prefrag.collections.collection import Collection
from prefrag.collections.elastic_collection import ElasticCollection
from prefrag.collections.local_collection import LocalCollection
from prefrag.components.document_stores.store_kinds import find_stores, is_elasticsearch_store
from prefrag.components.document_stores.tantivy.index_location import DEMO_INDEX, resolve_index
from prefrag.components.document_stores.web_consent import all_consent
from prefrag.components.state.web_switch import WEB_SWITCH, web_setting
from prefrag.errors import BadInput, Missing, error_kind
from prefrag.evaluation.prove.proof import say_kept
from prefrag.indexing.discovery import is_corpus
from prefrag.indexing.report import IndexReport
from prefrag.server.access.keys import AT_TERMINAL, current_access
from prefrag.server.access.shares import Busy, Places, Rate, holder_of
from prefrag.server.http.security import comes_from_this_machine
from prefrag.server.library import uploads
from prefrag.server.library.collections import (
    NoSuchCollection,
    check_collection,
    is_open_to_new_names,
    searchable_collections,
    served_collection,
)
from prefrag.server.library.document_list import describe_documents
from prefrag.server.library.followed_folder import FollowedFolder
from prefrag.server.library.indexing_process import IndexingProcesses
from prefrag.server.library.opened_document import find_original, find_pdf, open_document
from prefrag.server.library.page_pictures import PagePictures
from prefrag.server.library.suggested_questions import SuggestedQuestions
from prefrag.server.public_result import hide_addresses, hide_folders
from prefrag.settings import settings

logger = logging.getLogger(__name__)

# Why a request may not add or delete documents.
MAY_NOT_WRITE = (
    "Adding and deleting documents needs an API key that may write; the administrator makes one with: "
    "prefrag keys add NAME --write. On the server's own machine you need no key: open the address that the terminal "
    "of `prefrag serve` shows"
)
# Why a request may not decide whether questions go to the web.
MAY_NOT_OPEN_THE_WEB = (
    "Only whoever started the server may decide on the page whether questions go to the web: open the address that the "
    "terminal of `prefrag serve` shows, or use `prefrag index --web`."
)
# What is said after a file was deleted from a collection that follows a folder.
_COMES_BACK = (
    "The file is still in the folder that this collection follows. It is indexed again when it changes or the server "
    "starts again. To keep it out of the collection, delete or move the file itself."
)
# How many changes of collections run at the same time. Few, because converting a file keeps a whole core busy.
_CHANGES_AT_ONCE = 2
# How many uploads are received at the same time. More than changes, because received files wait on disk.
_UPLOADS_AT_ONCE = 16
# How many requests may wait in each queue: for an upload, for a change, and for a read. Further requests are refused.
_MOST_WAITING = 64
# How many requests read documents at the same time.
_READS_AT_ONCE = 4
# How many seconds a client should wait before it asks again, if the server is busy.
_RETRY_SECONDS = 10
T = TypeVar("T")
# Users' files are untrusted. With these headers, a browser runs no code of a file, even if it shows the file instead of
# saving it.
_ORIGINAL_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; sandbox",
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
# The body of an upload, for the description of the API. FastAPI does not read the body, so it cannot describe it.
_FORM = {
    "requestBody": {
        "required": True,
        "content": {
            "multipart/form-data": {
                "schema": {
                    "type": "object",
                    "required": [uploads.FIELD],
                    "properties": {uploads.FIELD: {"type": "array", "items": {"type": "string", "format": "binary"}}},
                }
            }
        },
    }
}


class WebDecision(BaseModel):
    """Whether questions on a collection may go to the web."""

    model_config = ConfigDict(extra="forbid", strict=True)

    open: bool


class _Library:
    """The collections that requests may use, and the queues of work on their documents.

    :param indexing: The processes that index uploaded files.
    :param at_work: A set to which the tasks of running uploads are added.
    :param are_shared: Returns whether several keys share the server.
    :param served: Returns the served pipelines by name.
    """

    def __init__(
        self,
        indexing: IndexingProcesses,
        at_work: set[asyncio.Task[IndexReport]],
        are_shared: Callable[[], bool],
        served: Callable[[], Mapping[str, object]],
    ):
        self._indexing = indexing
        self._at_work = at_work
        self._served = served
        self._uploading = Places("uploads", _UPLOADS_AT_ONCE, _MOST_WAITING, are_shared)
        self._changing = Places("changes of documents", _CHANGES_AT_ONCE, _MOST_WAITING, are_shared)
        bytes_a_day = settings.upload_bytes_a_day
        self._received = Rate(
            RateLimitItemPerDay(bytes_a_day),
            f"This server process accepts {bytes_a_day:,} bytes of uploads per key and day "
            "(PREFRAG_UPLOAD_BYTES_A_DAY).",
        )
        # These limits are only for work on documents. Questions are answered in other threads, and do not wait here.
        self._reading = Places("reads of documents", _READS_AT_ONCE, _MOST_WAITING, are_shared)
        self._readers = CapacityLimiter(_READS_AT_ONCE)
        self._changers = CapacityLimiter(_CHANGES_AT_ONCE)

    async def read(self, request: Request, work: Callable[[], T]) -> T:
        """Run work that only reads documents in a thread, when it is the turn of the request."""
        holder = holder_of(request.scope)
        await self._reading.take(holder, uploaded_files.WAIT_SECONDS)
        reader = asyncio.ensure_future(to_thread.run_sync(work, limiter=self._readers, abandon_on_cancel=True))
        # A thread cannot be stopped. So its place becomes free when the thread ends, not when the request ends.
        reader.add_done_callback(lambda _: self._reading.leave(holder))
        async with asyncio.timeout(uploaded_files.WAIT_SECONDS):
            return await asyncio.shield(reader)

    async def change(self, request: Request, work: Callable[[], T]) -> T:
        """Run work that changes a collection in a thread, when it is the turn of the request."""
        holder = holder_of(request.scope)
        await self._changing.take(holder, uploaded_files.WAIT_SECONDS)
        try:
            return await to_thread.run_sync(work, limiter=self._changers)
        finally:
            self._changing.leave(holder)

    async def begin_upload(self, request: Request, collection: Collection, until_done: ExitStack) -> Path:
        """Wait for a place, and make a folder for the files. ``until_done`` gives both back."""
        holder = holder_of(request.scope)
        length = request.headers.get("content-length", "")
        # Without a length, the upload counts as one of the maximum size.
        size = int(length) if length.isdecimal() else settings.max_upload_bytes
        if size <= settings.max_upload_bytes:
            await self.read(request, partial(uploads.check_room, collection, size))
            self._received.spend(holder, size)

        await self._uploading.take(holder, uploaded_files.WAIT_SECONDS)
        until_done.callback(self._uploading.leave, holder)
        return until_done.enter_context(uploaded_files.make_incoming(collection.name))

    async def add(self, request: Request, collection: Collection, incoming: Path, until_done: ExitStack) -> IndexReport:
        """Index uploaded files in a task. The task goes on even if the client disconnects now."""
        work = asyncio.create_task(self._add(request, collection, incoming, until_done))
        self._at_work.add(work)
        work.add_done_callback(self._at_work.discard)
        return await asyncio.shield(work)

    async def _add(
        self, request: Request, collection: Collection, incoming: Path, until_done: ExitStack
    ) -> IndexReport:
        """Index uploaded files. Then give back the place of the upload and delete its folder."""
        with until_done:
            return await self.change(request, partial(self._indexing.index, collection, incoming))

    def served_kind(self) -> type[Collection]:
        """Return the class of the collections: in Elasticsearch if all served pipelines search only there, else local.

        If no pipeline is served and the server uses Elasticsearch, the kind is not known. The request then gets 503.
        """
        stores: list[object] = []
        for pipeline in self._served().values():
            stores += find_stores(pipeline)
        if stores:
            return ElasticCollection if all(map(is_elasticsearch_store, stores)) else LocalCollection
        if settings.state == "elasticsearch":
            raise HTTPException(503, "No served pipeline searches documents: see `/ready`, and start the server again.")
        return LocalCollection

    def find(self, name: str) -> Collection:
        """Return the collection of a request, if its key may use it."""
        kind = self.served_kind()
        check_collection(name, by_name=not kind.in_all)
        return kind(name)

    def find_with_files(self, request: Request, name: str) -> Collection:
        """Return the collection of a request, if the request may also get original files."""
        collection = self.find(name)
        if not may_send_originals(request.scope):
            raise HTTPException(HTTPStatus.FORBIDDEN, "The server does not send files: PREFRAG_ORIGINALS=on allows it.")
        return collection

    def find_to_write(self, name: str) -> Collection:
        """Return the collection of a request, if the request may change it."""
        if not current_access.get().writes:
            raise HTTPException(HTTPStatus.FORBIDDEN, MAY_NOT_WRITE)
        return self.find(name)


def make_routes(
    indexing: IndexingProcesses,
    at_work: set[asyncio.Task[IndexReport]],
    are_shared: Callable[[], bool],
    served: Callable[[], Mapping[str, object]],
    followed: FollowedFolder | None = None,
) -> APIRouter:
    """Make the routes.

    :param indexing: The processes that index uploaded files.
    :param at_work: A set to which the tasks of running uploads are added. The server waits for them when it stops.
    :param are_shared: Returns whether several keys share the server.
    :param served: Returns the served pipelines by name.
    :param followed: The folder of `prefrag FOLDER`. None if the server was started with `prefrag serve`.
    """
    router = APIRouter(tags=["collections"])
    library = _Library(indexing, at_work, are_shared, served)
    _add_collection_routes(router, library, followed)
    _add_list_routes(router, library, SuggestedQuestions(served))
    _add_document_routes(router, library, PagePictures(are_shared))
    _add_change_routes(router, library)
    return router


def _add_collection_routes(router: APIRouter, library: _Library, followed: FollowedFolder | None) -> None:
    """Add the routes that list collections and decide whether their questions go to the web."""

    @router.get("/collections", summary="The collections that may be searched")
    async def list_collections(request: Request) -> dict[str, Any]:
        with _convert_errors():
            described = await library.read(request, partial(_describe_collections, library.served_kind()))
        for description in described:
            if followed and description["name"] == followed.collection.name:
                description["folder"] = followed.describe()
        kind = library.served_kind()
        return {"collections": described, "takes_new": kind.in_all and is_open_to_new_names()}

    @router.put("/collections/{name}/web", summary="Decide whether questions on a collection may go to the web")
    async def decide_on_web(name: str, decision: WebDecision, request: Request) -> dict[str, Any]:
        if current_access.get() != AT_TERMINAL:
            raise HTTPException(HTTPStatus.FORBIDDEN, MAY_NOT_OPEN_THE_WEB)
        with _convert_errors():
            collection = library.find(name)
            if web_setting() is not None:
                raise BadInput(f"{WEB_SWITCH} decides about the web for all collections, so this does not: unset it.")
            if name == DEMO_INDEX:
                raise BadInput("The demo has a web of its own, which needs no consent.")
            await library.change(request, partial(collection.keep_consent, decision.open))
        return {"web": decision.open}


def _add_list_routes(router: APIRouter, library: _Library, suggested: SuggestedQuestions) -> None:
    """Add the routes that list the documents of a collection, the questions it answers, and its proof."""

    @router.get("/collections/{name}/documents", summary="The documents of a collection")
    async def list_documents(
        name: str,
        request: Request,
        limit: Annotated[int | None, Query(ge=1)] = None,
        offset: Annotated[int, Query(ge=0)] = 0,
    ) -> JSONResponse:
        with _convert_errors():
            described = await library.read(request, partial(describe_documents, library.find(name), limit, offset))
            # Return a response, not a dict: FastAPI takes about one second to validate a dict with 20,000 documents.
            return JSONResponse(described)

    @router.get("/collections/{name}/questions", summary="Questions that the documents of a collection answer")
    async def suggest_questions(name: str, request: Request) -> dict[str, Any]:
        with _convert_errors():
            collection = library.find(name)
            if not isinstance(collection, LocalCollection):
                return {"questions": [], "pending": False}
            return await library.read(request, partial(suggested.find, collection))

    @router.get("/collections/{name}/proof", summary="How often stated answers were wrong when it was last measured")
    async def read_proof(name: str, request: Request) -> dict[str, str]:
        with _convert_errors():
            collection = library.find(name)
            if not isinstance(collection, LocalCollection):
                return {"sentence": ""}
            # Raise an error if the index does not exist. An empty sentence would say that nothing was measured.
            await library.read(request, partial(resolve_index, name))
            return {"sentence": await library.read(request, partial(say_kept, collection))}


def _add_document_routes(router: APIRouter, library: _Library, pictures: PagePictures) -> None:
    """Add the routes that open a document: its text, its file and the pictures of its pages."""

    @router.get("/collections/{name}/documents/{document}", summary="The text that was read from a document")
    async def read_document(name: str, document: str, request: Request) -> dict[str, Any]:
        return await open_text(request, name, document=document)

    @router.get("/collections/{name}/passages/{passage:path}", summary="The document that holds a passage")
    async def read_document_of(name: str, passage: str, request: Request) -> dict[str, Any]:
        return await open_text(request, name, passage=passage)

    async def open_text(request: Request, name: str, **wanted: str) -> dict[str, object]:
        """Open a document by its id (`document`) or by the id of a passage (`passage`)."""
        with _convert_errors():
            opened = await library.read(request, partial(open_document, library.find(name), **wanted))
        has_original = opened["original"] and may_send_originals(request.scope)
        return {**opened, "original": has_original}

    @router.get("/collections/{name}/documents/{document}/original", summary="The file of a document")
    async def read_original(name: str, document: str, request: Request) -> FileResponse:
        with _convert_errors():
            collection = library.find_with_files(request, name)
            path = await library.read(request, partial(find_original, collection, document))
        return FileResponse(path, media_type="application/octet-stream", filename=path.name, headers=_ORIGINAL_HEADERS)

    @router.get("/collections/{name}/documents/{document}/pages/{page}", summary="A picture of a page of a PDF")
    async def read_page(
        name: str, document: str, page: int, request: Request, sentence: Annotated[str, Query(max_length=2_000)] = ""
    ) -> dict[str, Any]:
        with _convert_errors():
            collection = library.find_with_files(request, name)
            path = await library.read(request, partial(find_pdf, collection, document))
            return await pictures.draw(holder_of(request.scope), path, page, sentence)


def _add_change_routes(router: APIRouter, library: _Library) -> None:
    """Add the routes that upload and delete documents, and delete collections."""

    @router.post("/collections/{name}/documents", summary="Upload documents", openapi_extra=_FORM)
    async def upload_documents(name: str, request: Request) -> dict[str, Any]:
        with _convert_errors(), ExitStack() as until_done:
            collection = library.find_to_write(name)
            if isinstance(collection, ElasticCollection):
                _check_elasticsearch_uploads(name)
            incoming = await library.begin_upload(request, collection, until_done)
            positions, refused = await uploads.receive_files(request, incoming)
            arrived = [file.name for file in uploaded_files.list_arrived(incoming) if not is_corpus(file)]
            # All files have arrived. From now on, the task of `add` ends the upload.
            report = await library.add(request, collection, incoming, until_done.pop_all())

        skipped = {PurePath(skip.path).name for skip in report.skipped if skip.line is None}
        documents = []
        for file in arrived:
            if file not in skipped:
                document_id = collection.uploaded_id(file)
                documents.append({"id": document_id, "name": file, "position": positions.get(file)})
        return {**_describe_report(report, positions, refused), "documents": documents}

    @router.delete("/collections/{name}/documents/{document}", summary="Delete a document")
    async def delete_document(name: str, document: str, request: Request) -> dict[str, Any]:
        with _convert_errors():
            collection = library.find_to_write(name)
            passages, deleted = await library.change(request, partial(collection.delete_document, document))
        file_state = "deleted" if deleted.uploaded else "kept"
        reply: dict[str, Any] = {"deleted": passages, "file": file_state}
        if collection.would_index_again(str(deleted.entry.path)):
            reply["note"] = _COMES_BACK
        return reply

    @router.delete("/collections/{name}", summary="Delete a collection that was made by an upload")
    async def delete_collection(name: str, request: Request) -> dict[str, Any]:
        with _convert_errors():
            collection = library.find_to_write(name)
            if name == served_collection():
                raise uploads.MayNotBeDeleted(
                    "This is the collection that is searched by default: it cannot be deleted here."
                )
            return {"deleted": await library.change(request, partial(uploads.delete_collection, collection))}


def _check_elasticsearch_uploads(name: str) -> None:
    """Raise BadInput if files cannot be uploaded to this collection in Elasticsearch."""
    if settings.state != "elasticsearch":
        raise BadInput(
            "The served pipelines search only Elasticsearch, but uploaded files are not stored there: set "
            "PREFRAG_STATE=elasticsearch on each server, or add the documents with prefrag index FILES "
            f"--store elasticsearch --collection {name}."
        )
    if name != name.lower():
        raise BadInput(f"Elasticsearch takes only lower-case names: use '{name.lower()}'.")


def may_send_originals(scope: Scope) -> bool:
    """Check whether a request may get original files.

    :param scope: The request. If it comes from this machine, it may get files. Requests from other machines may get
        files only if ``PREFRAG_ORIGINALS`` is on.
    """
    return settings.originals or comes_from_this_machine(scope)


@contextmanager
def _convert_errors() -> Iterator[None]:
    """Turn failures into HTTP statuses and messages for clients. Details are written only to the log."""
    try:
        yield
    except HTTPException:
        raise
    except Busy as busy:
        raise HTTPException(busy.status, str(busy), busy.headers) from busy
    except TimeoutError as error:
        raise _make_refusal(HTTPStatus.SERVICE_UNAVAILABLE, "The server is busy with documents: try again.") from error
    except Exception as error:
        status = getattr(error, "http_status", error_kind(error).http_status)
        message = str(error)
        if isinstance(error, FileNotFoundError):
            status = HTTPStatus.NOT_FOUND
            message = message if isinstance(error, Missing) else str(NoSuchCollection())
        if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            logger.exception("Documents could not be listed or changed.")
        raise _make_refusal(status, hide_addresses(message)) from error


def _make_refusal(status: int, message: str) -> HTTPException:
    """Make the error for a client. If the server is only busy, the error says when to ask again."""
    is_busy = status == HTTPStatus.SERVICE_UNAVAILABLE
    headers = {"Retry-After": str(_RETRY_SECONDS)} if is_busy else None
    return HTTPException(status, message, headers)


def _describe_collections(kind: type[Collection]) -> list[dict[str, object]]:
    """Describe the collections that the request may search. A collection that cannot be read is left out."""
    described: list[dict[str, object]] = []
    failure: DocumentStoreError | None = None
    for collection in searchable_collections(kind):
        name = collection.name
        try:
            files, passages = collection.count()
        except FileNotFoundError:
            # The collection has just been deleted.
            continue
        except DocumentStoreError as error:
            logger.error("The collection %s is left out of the list. %s", name, error)
            failure = error
            continue

        described.append({"name": name, "files": files, "passages": passages, **_describe_settings(collection)})

    if not kind.has_files and failure is not None and not described:
        # Elasticsearch is down. An empty list would wrongly say that there are no collections.
        raise failure
    return described


def _describe_settings(collection: Collection) -> dict[str, object]:
    """Describe a collection apart from its size: what the request may do with it, and where its documents come from."""
    access = current_access.get()
    is_demo = collection.name == DEMO_INDEX
    setting = web_setting()
    # Without a setting, each collection has its own choice, and the person at the terminal may change it.
    is_open = all_consent([collection.document_store()]) if setting is None else setting == "on"
    folder = collection.follows
    skipped = collection.skipped()
    description: dict[str, object] = {
        "default": collection.name == served_collection(),
        "web": is_open,
        "writes": access.writes and not is_demo,
        "follows": folder is not None,
        "changed": collection.changed,
        "opens_web": access == AT_TERMINAL and setting is None and not is_demo,
        "unread": None if skipped is None else len(skipped),
    }
    # The path reveals something about this machine. So only the person who sits at the machine is told.
    if folder is not None and access.is_owner:
        description["path"] = folder
    return description


def _describe_report(
    report: IndexReport, positions: Mapping[str, int], refused: list[dict[str, object]]
) -> dict[str, object]:
    """Describe what an upload has done. Files that were refused or skipped come with the reason and their position."""
    read_in_part = [replace(skip, reason=f"read in part: {skip.reason}") for skip in report.read_in_part]
    skipped = [*refused]
    for skip in [*report.skipped, *read_in_part]:
        name = PurePath(skip.path).name
        reason = skip.reason if skip.line is None else f"line {skip.line}: {skip.reason}"
        skipped.append({"name": name, "reason": hide_folders(reason), "position": positions.get(name)})
    return {
        "written": report.written,
        "replaced": report.replaced,
        "unchanged": report.unchanged,
        "deleted": report.deleted,
        "skipped": skipped,
    }
