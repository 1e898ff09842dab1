"""A named place to retrieve from."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from haystack import Document, component, default_to_dict
from haystack.core.serialization import component_to_dict
from haystack.errors import FilterError

from prefrag.components.recording import Entry, NotRecorded, Recording
from prefrag.components.retrievers.provider import (
    Ranker,
    Retriever,
    describe_failure,
    is_web_search,
    select_arguments,
    supported_arguments,
)
from prefrag.components.sources.domain_filter import DomainFilter, document_url
from prefrag.components.sources.retry_policy import ProviderCall, RetryPolicy
from prefrag.components.state.state import RunError, Search, State
from prefrag.components.state.state_builder import web_is_off

# What the trace names as the provider of what comes from a recording.
RECORDING = "recording"


@component
class RetrievalSource:
    """Wraps a retriever so that a run survives it: a deadline, retries, a second provider, a name on every document.

    Given a query it gives documents, like any retriever. Given a :class:`State` it searches for what the state needs
    now and gives the state back with the search in it, whatever came of it: a failure is an empty list and a recorded
    error.

    A retriever whose ``run`` takes ``question`` and ``observed`` gets the question behind the query and the documents
    that have been observed, unless the source is external: only the query may leave this machine.

    ```python
    from prefrag.components.sources.retrieval_source import RetrievalSource
    from haystack.components.retrievers.in_memory import InMemoryBM25Retriever
    from haystack.document_stores.in_memory import InMemoryDocumentStore

    source = RetrievalSource(name="local", retriever=InMemoryBM25Retriever(InMemoryDocumentStore()))
    print(source.run(query="tide tables")["documents"])
    ```
    """

    def __init__(
        self,
        name: str,
        retriever: Retriever,
        ranker: Ranker | None = None,
        fallback: Retriever | None = None,
        external: bool = False,
        top_k: int = 5,
        candidates: int | None = None,
        retry_policy: RetryPolicy | None = None,
        domains: DomainFilter | None = None,
        recording: Recording | None = None,
        strict: bool = False,
    ):
        """Set the parts; nothing is searched yet.

        :param name: What the source is called in the state, the trace and the result.
        :param retriever: The first provider.
        :param ranker: Sorts the candidates before they are cut to ``top_k``.
        :param fallback: The second provider, called once when the first has failed for good; never while the first is
            a stand-in that keeps queries local.
        :param external: Queries leave this machine: closed by ``PREFRAG_WEB=off``, and listed in the result. Web
            searches are external whatever stands here.
        :param top_k: The number of documents to give, where the request does not set it.
        :param candidates: The number of documents that the retriever is called for; by default ``top_k``. The paper
            ranks 50.
        :param retry_policy: The deadline of a call and the further calls of the first provider.
        :param domains: Which web pages may be shown; by default all.
        :param recording: Keeps or plays back what the source gave.
        :param strict: End the run when every attempt has failed, or the recording does not hold what is replayed,
            instead of giving an empty list. For a preferred source: a broken index then sends no question to the web.
        :raises ValueError: When a name or a number makes no sense, or a provider or the ranker has no ``run``.
        """
        if not name:
            raise ValueError("A source needs a `name`.")
        if "+" in name:
            raise ValueError(f"The source name '{name}' holds a '+', which joins the names of several sources.")
        for part, label in ((retriever, "retriever"), (ranker, "ranker"), (fallback, "fallback")):
            if part is not None and not callable(getattr(part, "run", None)):
                raise ValueError(f"The {label} of source '{name}' has no `run`: give a Haystack component.")
        if top_k < 1 or (candidates is not None and candidates < 1):
            raise ValueError(f"Source '{name}': top_k and candidates must be at least 1.")
        self.name = name
        self.retriever = retriever
        self.ranker = ranker
        self.fallback = fallback
        # A web search is external also where the setting was forgotten: PREFRAG_WEB=off must not depend on it.
        self.external = external or is_web_search(retriever) or is_web_search(fallback)
        self.top_k = top_k
        self.candidates = candidates
        self.retry_policy = RetryPolicy() if retry_policy is None else retry_policy
        self.domains = DomainFilter() if domains is None else domains
        self.recording = recording
        self.strict = strict
        self._is_warm = False
        self._supported = {id(part): supported_arguments(part) for part in self._parts}

    @property
    def _parts(self) -> list[Any]:
        return [part for part in (self.retriever, self.ranker, self.fallback) if part is not None]

    @property
    def embedded(self) -> bool:
        """Tell whether the retriever searches in this process, so that parallel calls gain nothing."""
        return bool(getattr(self.retriever, "embedded", False))

    def to_dict(self) -> dict[str, Any]:
        """Serialise the source.

        :returns: Its parameters as plain values.
        """
        # Haystack serialises a nested part only through its own `to_dict`, which not every component has.
        parts = {"retriever": self.retriever, "ranker": self.ranker, "fallback": self.fallback}
        return default_to_dict(
            self,
            name=self.name,
            **{key: None if part is None else component_to_dict(part, key) for key, part in parts.items()},
            external=self.external,
            top_k=self.top_k,
            candidates=self.candidates,
            retry_policy=self.retry_policy,
            domains=self.domains,
            recording=self.recording,
            strict=self.strict,
        )

    def warm_up(self) -> None:
        """Warm up the parts, once."""
        # Haystack calls this at every run.
        if self._is_warm:
            return
        for part in self._parts:
            if hasattr(part, "warm_up"):
                part.warm_up()
        self._is_warm = True

    @component.output_types(documents=list[Document], state=State)
    def run(
        self, query: str | State, top_k: int | None = None, filters: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        """Search.

        :param query: A query, or a state that holds one.
        :param top_k: The number of documents to give; a state brings its own.
        :param filters: Haystack metadata filter, for retrievers that take one; a state brings its own.
        :returns: ``documents``; for a state ``state``, which holds them in its last search.
        :raises RuntimeError: With ``strict``, when every attempt has failed.
        :raises NotRecorded: With ``strict``, when the recording that is replayed does not hold the search.
        :raises FilterError: When the filters do not fit the documents.
        :raises RunError: For a state, in place of a RuntimeError or a FilterError.
        """
        request = self._request(query, top_k, filters)
        try:
            for call in self._calls(request):
                self.retry_policy.call(call)
        except FilterError as error:
            raise self._filter_error(request, error) from error
        return self._output(request)

    @component.output_types(documents=list[Document], state=State)
    async def run_async(
        self, query: str | State, top_k: int | None = None, filters: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        """Search without blocking the event loop; otherwise the same as :meth:`run`."""
        request = self._request(query, top_k, filters)
        try:
            for call in self._calls(request):
                await self.retry_policy.call_async(call)
        except FilterError as error:
            raise self._filter_error(request, error) from error
        return self._output(request)

    def _request(self, query: str | State, top_k: int | None, filters: Any) -> _Request:
        is_closed = self.external and web_is_off()
        if not isinstance(query, State):
            return _Request(query, top_k or self.top_k, filters, is_closed)
        settings = query.settings
        is_closed = is_closed or self.name not in settings.sources
        return _Request(query.query, settings.top_k, settings.filters, is_closed, query, self._context(query))

    def _context(self, state: State) -> dict[str, Any]:
        """Give what a retriever may get besides the query, as far as one of this source takes it."""
        if self.external:
            return {}
        providers = [part for part in (self.retriever, self.fallback) if part is not None]
        supported = {name for part in providers for name in self._supported[id(part)]}
        known = {"question": state.question, "observed": list(state.observed)}
        return {name: value for name, value in known.items() if name in supported}

    def _calls(self, request: _Request) -> Iterator[ProviderCall]:
        """Give each call that the request needs, to be carried out before the next; at the end it has its search."""
        if request.is_closed:
            request.search = Search(self.name, request.query, skipped=True)
            return
        if played := self._played(request):
            request.search = played
            return
        started = time.perf_counter()
        failures: list[str] = []
        stays_local = bool(getattr(self.retriever, "stays_local", False))
        providers = [(self.retriever, True)]
        # A stand-in replaces the web so that queries stay local: its failure must not send them out after all.
        if self.fallback is not None and not stays_local:
            providers.append((self.fallback, False))
        for provider, retry in providers:
            call = ProviderCall(provider, self._arguments(provider, request), retry)
            yield call
            try:
                documents = self._stamped(self._ranked(request, call.documents()))
                found = Search(self.name, request.query, documents, _name(provider), error=_left_out(call))
                search = self._recorded(request, found)
                break
            except FilterError:
                raise
            except Exception as error:
                failures.append(describe_failure(_name(provider), error, self.retry_policy.timeout))
        else:
            search = self._recorded(request, Search(self.name, request.query, error="; ".join(failures)))
        seconds = round(time.perf_counter() - started, 4)
        request.search = replace(search, seconds=seconds, sent_out=self.external and not stays_local)

    def _arguments(self, provider: Retriever, request: _Request) -> dict[str, Any]:
        return select_arguments(
            self._supported[id(provider)],
            query=request.query,
            top_k=max(self.candidates or 0, request.top_k),
            filters=dict(request.filters) if request.filters else None,
            **request.context,
        )

    def _ranked(self, request: _Request, documents: list[Document]) -> list[Document]:
        kept = [document for document in documents if self.domains.allows(document)]
        if self.ranker is not None:
            # A ranker has a top_k of its own, which must not cut what the request is for.
            top_k = {"top_k": request.top_k} if "top_k" in self._supported[id(self.ranker)] else {}
            kept = self.ranker.run(query=request.query, documents=kept, **top_k)["documents"]
        return kept[: request.top_k]

    def _stamped(self, documents: Sequence[Document]) -> tuple[Document, ...]:
        stamped = []
        for document in documents:
            meta = {**document.meta, "source": self.name}
            if url := document_url(document):
                meta["url"] = url
            # A vector may be thousands of numbers, and every component that a document passes would copy it.
            stamped.append(replace(document, meta=meta, embedding=None, sparse_embedding=None))
        return tuple(stamped)

    def _played(self, request: _Request) -> Search | None:
        """Find the search in the recording; None where the providers have to be called."""
        if self.recording is None:
            return None
        found = Search(self.name, request.query, provider=RECORDING)
        try:
            entry = self.recording.play("search", self.name, *request.content)
        except NotRecorded as error:
            if self.strict:
                raise
            return replace(found, error=str(error))
        if entry is None:
            return None
        return replace(found, documents=self._stamped(entry.documents), error=entry.error)

    def _recorded(self, request: _Request, search: Search) -> Search:
        if self.recording is None:
            return search
        # Only a provider's failure is kept: what a search did without is no reason to fail when it is played back.
        entry = Entry(documents=search.documents) if search.provider else Entry(error=search.error)
        kept = self.recording.record(entry, "search", self.name, *request.content)
        return replace(search, documents=kept.documents) if search.provider else search

    def _filter_error(self, request: _Request, error: FilterError) -> Exception:
        # The run ends: were it a failure of this source, the next one would be searched without the filters.
        message = f"The filters do not fit the documents of '{self.name}': {error}"
        return FilterError(message) if request.state is None else RunError(message, request.state)

    def _output(self, request: _Request) -> dict[str, Any]:
        search, state = request.search, request.state
        is_fatal = self.strict and search.error and not search.provider
        failed = f"The source '{self.name}' failed: {search.error}" if is_fatal else ""
        if state is None:
            if failed:
                raise RuntimeError(failed)
            return {"documents": list(search.documents)}
        # Not the documents as well: Haystack would copy them at every step, and no component takes them.
        state = state.with_last(searches=(*state.step.searches, search))
        if search.skipped:
            return {"state": state}
        state = state.with_event(
            "found",
            source=self.name,
            query=search.query,
            titles=[document.meta.get("title") or document.id for document in search.documents],
            provider=search.provider,
            seconds=search.seconds,
            sent_out=search.sent_out,
            error=search.error,
        )
        if failed:
            # With the search in it: a query that left this machine is reported even when the run ends here.
            state = state.with_event("error", caller=f"source '{self.name}'", message=search.error)
            raise RunError(f"{failed}. It is strict, so the run ends here and asks no other source instead.", state)
        return {"state": state}


@dataclass
class _Request:
    """What one call of a source is for.

    :param query: The query.
    :param top_k: The number of documents to give.
    :param filters: Haystack metadata filter.
    :param is_closed: Whether the source may not be searched.
    :param state: The state that the query is from.
    :param context: What its retrievers take besides: the ``question`` and the documents ``observed``.
    :param search: The outcome, once there is one.
    """

    query: str
    top_k: int
    filters: Any
    is_closed: bool
    state: State | None = None
    context: Mapping[str, Any] = field(default_factory=dict)
    search: Search = field(init=False)

    @property
    def content(self) -> tuple[Any, ...]:
        """Give what a recording finds the search by."""
        context: dict[str, Any] = dict(self.context)
        if "observed" in context:
            context["observed"] = [document.id for document in context["observed"]]
        return self.query, self.top_k, dict(self.filters or {}), *([context] if context else [])


def _name(provider: Retriever) -> str:
    return str(getattr(provider, "provider", None) or type(provider).__name__)


def _left_out(call: ProviderCall) -> str | None:
    # A retriever made of several reports which of them it did without.
    return "; ".join((call.output or {}).get("errors") or ()) or None
