"""A named place to retrieve from."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import re
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import replace
from functools import partial
from typing import Any, Protocol
from urllib.parse import urlsplit

from haystack import Document, component, default_from_dict, default_to_dict
from haystack.core.serialization import component_to_dict
from haystack.errors import FilterError
from tenacity import (
    AsyncRetrying,
    Retrying,
    retry_if_exception,
    stop_after_attempt,
    wait_random_exponential,
)

from prefrag.components.recording import Entry, NotRecorded, Recording
from prefrag.components.state.state import RunError, Search, State
from prefrag.components.state.state_builder import web_is_off

# What is told as the provider of what comes from a recording.
RECORDING = "recording"
_WITH_HOST = re.compile(r"([a-z][a-z0-9+.-]*:)?//", re.IGNORECASE)


class Retriever(Protocol):
    """Any component with ``query`` -> ``documents``: a retriever, a web search, a nested pipeline."""

    def run(self, query: str) -> dict[str, Any]:
        """:returns: ``documents``, best first."""


class Ranker(Protocol):
    """Any component with ``query``, ``documents`` -> ``documents``."""

    def run(self, query: str, documents: list[Document]) -> dict[str, Any]:
        """:returns: ``documents``, best first."""


@component
class RetrievalSource:
    """Wraps a retriever so that a run survives it: a deadline, retries, a second provider, a name on every document.

    Given a query it gives documents, like any retriever. Given a :class:`State` it asks for what the
    state needs now, and also gives the state back with the search in it, whatever came of it: a failure is an empty
    list and a recorded error.

    A retriever whose ``run`` takes ``question`` and ``observed`` is told the question behind the query and the
    documents that have been observed, unless the source is external: neither is a query that may leave the house.

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
        timeout: float = 15.0,
        retries: int = 2,
        backoff: float = 0.5,
        allowed_domains: Sequence[str] = (),
        denied_domains: Sequence[str] = (),
        recording: Recording | None = None,
        strict: bool = False,
    ):
        """
        :param name: What the source is called in the state, the trace and the result.
        :param retriever: What is asked.
        :param ranker: Sorts the candidates before they are cut to ``top_k``.
        :param fallback: A second provider, asked once when the first has failed for good; never while the first is a
            stand-in that keeps queries in the house.
        :param external: Queries leave the house: closed by ``PREFRAG_WEB=off``, and listed in the result. Web searches
            are external whatever stands here.
        :param top_k: Documents given, where the request says nothing.
        :param candidates: Documents asked of the retriever; by default ``top_k``. The paper ranks 50.
        :param timeout: Seconds that one attempt may take. A retriever whose ``embedded`` is true searches an index
            in this process, and is not interrupted.
        :param retries: Further attempts after a failure, with a growing random pause between them.
        :param backoff: Seconds on which the pauses are built.
        :param allowed_domains: Keep only documents whose ``url`` is of these domains or below them.
        :param denied_domains: Drop documents whose ``url`` is of these domains or below them.
        :param recording: Keeps or plays back what the source gave.
        :param strict: End the run when every attempt has failed, or the recording does not hold what is replayed,
            instead of giving an empty list. For a preferred source: a broken index then sends no question to the web.
        :raises ValueError: When a number or a domain makes no sense, or the retriever has no ``run``.
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
        if timeout <= 0 or retries < 0 or backoff < 0:
            raise ValueError(f"Source '{name}': timeout must be over 0, retries and backoff not below.")
        self.name = name
        self.retriever = retriever
        self.ranker = ranker
        self.fallback = fallback
        # A web search is outside also where somebody forgot to say so: the switch must not depend on it.
        self.external = external or any(is_web_search(part) for part in (retriever, fallback))
        self.top_k = top_k
        self.candidates = candidates
        self.timeout = timeout
        self.retries = retries
        self.backoff = backoff
        self.allowed_domains = [_domain(domain, name) for domain in allowed_domains]
        self.denied_domains = [_domain(domain, name) for domain in denied_domains]
        self.recording = recording
        self.strict = strict
        self._is_warm = False
        self._accepts = {id(part): accepted(part) for part in (retriever, ranker, fallback) if part is not None}

    def to_dict(self) -> dict[str, Any]:
        """:returns: The component as plain values."""
        parts = {"retriever": self.retriever, "ranker": self.ranker, "fallback": self.fallback}
        return default_to_dict(
            self,
            name=self.name,
            # Not every component has a `to_dict` of its own.
            **{key: None if part is None else component_to_dict(part, key) for key, part in parts.items()},
            external=self.external,
            top_k=self.top_k,
            candidates=self.candidates,
            timeout=self.timeout,
            retries=self.retries,
            backoff=self.backoff,
            allowed_domains=self.allowed_domains,
            denied_domains=self.denied_domains,
            recording=self.recording,
            strict=self.strict,
        )

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> RetrievalSource:
        """:param data: See :meth:`to_dict`. :returns: The component."""
        return default_from_dict(cls, data)

    def warm_up(self) -> None:
        """Warm up the parts."""
        # The engine calls this at every run.
        if self._is_warm:
            return
        for part in (self.retriever, self.ranker, self.fallback):
            if part is not None and hasattr(part, "warm_up"):
                part.warm_up()
        self._is_warm = True

    @component.output_types(documents=list[Document], state=State)
    def run(
        self, query: str | State, top_k: int | None = None, filters: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        """
        :param query: A query, or a state that holds one.
        :param top_k: Documents to give; a state brings its own.
        :param filters: Haystack metadata filter, for retrievers that take one; a state brings its own.
        :returns: ``documents``; for a state ``state``, which holds them in its last search.
        :raises RuntimeError: With ``strict``, when every attempt has failed.
        :raises NotRecorded: With ``strict``, when the recording that is replayed does not hold the search.
        :raises RunError: The same for a state; also when its filters do not fit the documents.
        """
        wish = self._wish(query, top_k, filters)
        try:
            return self._output(query, wish.closed or self._played(wish) or self._search(wish))
        except FilterError as error:
            raise self._unfiltered(query, error) from error

    @component.output_types(documents=list[Document], state=State)
    async def run_async(
        self, query: str | State, top_k: int | None = None, filters: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        """As :meth:`run`, without blocking the event loop."""
        wish = self._wish(query, top_k, filters)
        try:
            return self._output(query, wish.closed or self._played(wish) or await self._search_async(wish))
        except FilterError as error:
            raise self._unfiltered(query, error) from error

    def _unfiltered(self, query: str | State, error: FilterError) -> Exception:
        """:returns: An end of the run: as a failure of this source, the query would go to the next one unfiltered."""
        message = f"The filters do not fit the documents of '{self.name}': {error}"
        return RunError(message, query) if isinstance(query, State) else FilterError(message)

    def _wish(self, query: str | State, top_k: int | None, filters: Any) -> _Wish:
        if not isinstance(query, State):
            closed = self.external and web_is_off()
            return _Wish(query, top_k or self.top_k, filters, self._closed(query) if closed else None)
        settings = query.settings
        closed = self.name not in settings.sources or (self.external and web_is_off())
        skipped = self._closed(query.query) if closed else None
        context = self._context(query)
        return _Wish(query.query, settings.top_k, settings.filters, skipped, context)

    def _context(self, state: State) -> dict[str, Any]:
        """:returns: What a retriever may be told besides the query, as far as one of this source takes it."""
        known = {"question": state.question, "observed": list(state.observed)}
        providers = [part for part in (self.retriever, self.fallback) if part is not None]
        taken = {name for part in providers for name in self._accepts[id(part)]}
        return {} if self.external else {name: value for name, value in known.items() if name in taken}

    def _closed(self, query: str) -> Search:
        return Search(self.name, query, skipped=True)

    def _played(self, wish: _Wish) -> Search | None:
        if self.recording is None:
            return None
        try:
            kept = self.recording.play("search", self.name, *wish.content)
        except NotRecorded as error:
            if self.strict:
                raise
            return Search(self.name, wish.query, provider=RECORDING, error=str(error))
        if kept is None:
            return None
        if kept.error is not None:
            return Search(self.name, wish.query, provider=RECORDING, error=kept.error)
        return self._finished(wish, kept.documents, RECORDING, 0.0, left_house=False)

    def _providers(self) -> list[tuple[Retriever, int]]:
        providers = [(self.retriever, self.retries + 1)]
        # Who has put a stand-in in the place of the web does not want it asked because the stand-in is broken.
        return providers if self.fallback is None or self._in_house() else [*providers, (self.fallback, 1)]

    @property
    def embedded(self) -> bool:
        """:returns: Whether the retriever searches in this process, so that asking in parallel gains nothing."""
        return bool(getattr(self.retriever, "embedded", False))

    def _in_house(self) -> bool:
        return bool(getattr(self.retriever, "stays_in_house", False))

    def _arguments(self, provider: Retriever, wish: _Wish) -> dict[str, Any]:
        wanted = {
            "query": wish.query,
            "top_k": max(self.candidates or 0, wish.top_k),
            "filters": dict(wish.filters) if wish.filters else None,
            **wish.context,
        }
        names = self._accepts[id(provider)]
        return {name: value for name, value in wanted.items() if name in names and value is not None}

    def _search(self, wish: _Wish) -> Search:
        started = time.perf_counter()
        failures: list[str] = []
        left = self.external and not self._in_house()
        for provider, attempts in self._providers():
            try:
                output = self._retried(partial(self._attempt, provider, self._arguments(provider, wish)), attempts)
                documents = self._ranked(wish, _documents(output))
                seconds = time.perf_counter() - started
                return self._finished(wish, documents, _name(provider), seconds, left, _survived(output))
            except FilterError:
                raise
            except Exception as error:
                failures.append(self._told(provider, error))
        return self._failed(wish, failures, time.perf_counter() - started, left)

    def _attempt(self, provider: Retriever, arguments: dict[str, Any]) -> dict[str, Any]:
        if getattr(provider, "embedded", False):
            return provider.run(**arguments)
        return in_thread(provider, arguments).result(timeout=self.timeout)

    def _retried(self, attempt: Callable[[], dict[str, Any]], attempts: int) -> dict[str, Any]:
        # Most attempts succeed at once, and beside a search in this process what retrying keeps account of is much.
        try:
            return attempt()
        except Exception as error:
            failed = [error]

        def again() -> dict[str, Any]:
            # The first failure counts as one: whether and when to try again is told from it.
            if failed:
                raise failed.pop()
            return attempt()

        return Retrying(**self._policy(attempts))(again)

    async def _search_async(self, wish: _Wish) -> Search:
        started = time.perf_counter()
        failures: list[str] = []
        left = self.external and not self._in_house()
        for provider, attempts in self._providers():
            arguments = self._arguments(provider, wish)
            try:
                async for attempt in AsyncRetrying(**self._policy(attempts)):
                    with attempt:
                        output = await asyncio.wait_for(asked(provider, arguments), self.timeout)
                documents = self._ranked(wish, _documents(output))
                seconds = time.perf_counter() - started
                return self._finished(wish, documents, _name(provider), seconds, left, _survived(output))
            except FilterError:
                raise
            except Exception as error:
                failures.append(self._told(provider, error))
        return self._failed(wish, failures, time.perf_counter() - started, left)

    def _policy(self, attempts: int) -> dict[str, Any]:
        return {
            "stop": stop_after_attempt(attempts),
            "wait": wait_random_exponential(multiplier=self.backoff, max=self.timeout),
            "retry": retry_if_exception(_may_pass),
            "reraise": True,
        }

    def _told(self, provider: Retriever, error: Exception) -> str:
        reason = f"no reply within {self.timeout:g} s" if isinstance(error, TimeoutError) else str(error)
        return f"{_name(provider)}: {reason or type(error).__name__}"

    def _ranked(self, wish: _Wish, documents: list[Document]) -> list[Document]:
        kept = [document for document in documents if self._may_be_shown(document)]
        if self.ranker is not None:
            # A ranker has a top_k of its own, which must not cut what the request asks for.
            top_k = {"top_k": wish.top_k} if "top_k" in self._accepts[id(self.ranker)] else {}
            kept = self.ranker.run(query=wish.query, documents=kept, **top_k)["documents"]
        return kept[: wish.top_k]

    def _may_be_shown(self, document: Document) -> bool:
        if not self.allowed_domains and not self.denied_domains:
            return True
        host = _host(_url(document))
        if self.allowed_domains and not _is_under(host, self.allowed_domains):
            return False
        return not _is_under(host, self.denied_domains)

    def _finished(
        self,
        wish: _Wish,
        documents: Sequence[Document],
        provider: str,
        seconds: float,
        left_house: bool,
        error: str | None = None,
    ) -> Search:
        stamped = tuple(self._stamped(document) for document in documents)
        if self.recording is not None and provider != RECORDING:
            stamped = self.recording.record(Entry(documents=stamped), "search", self.name, *wish.content).documents
        return Search(self.name, wish.query, stamped, provider, round(seconds, 4), left_house=left_house, error=error)

    def _stamped(self, document: Document) -> Document:
        meta = {**document.meta, "source": self.name}
        if url := _url(document):
            meta["url"] = url
        # A vector may be thousands of numbers, and every component that a document passes would copy it.
        return replace(document, meta=meta, embedding=None, sparse_embedding=None)

    def _failed(self, wish: _Wish, failures: list[str], seconds: float, left_house: bool) -> Search:
        error = "; ".join(failures)
        if self.recording is not None:
            self.recording.record(Entry(error=error), "search", self.name, *wish.content)
        return Search(self.name, wish.query, seconds=round(seconds, 4), left_house=left_house, error=error)

    def _output(self, query: str | State, search: Search) -> dict[str, Any]:
        failed = (
            f"The source '{self.name}' failed: {search.error}"
            if self.strict and search.error and not search.provider
            else ""
        )
        if not isinstance(query, State):
            if failed:
                raise RuntimeError(failed)
            return {"documents": list(search.documents)}
        # Not the documents as well: the engine would copy them at every step, and nobody would take them.
        state = query.with_last(searches=(*query.step.searches, search))
        if search.skipped:
            return {"state": state}
        state = state.with_event(
            "found",
            source=self.name,
            query=search.query,
            titles=[document.meta.get("title") or document.id for document in search.documents],
            provider=search.provider,
            seconds=search.seconds,
            left_house=search.left_house,
            error=search.error,
        )
        if failed:
            # With the search in it: a query that left the house is told even when the run ends there.
            state = state.with_event("error", caller=f"source '{self.name}'", message=search.error)
            raise RunError(f"{failed}. It is strict, so the run ends here and asks no other source instead.", state)
        return {"state": state}


class _Wish:
    """What one call asks for; ``closed`` holds the outcome when the source may not be asked.

    ``context`` is what its retrievers take besides: the ``question`` and what has been ``observed``.
    """

    def __init__(
        self, query: str, top_k: int, filters: Any, closed: Search | None, context: Mapping[str, Any] | None = None
    ):
        self.query = query
        self.top_k = top_k
        self.filters = filters
        self.closed = closed
        self.context = context or {}

    @property
    def content(self) -> tuple[Any, ...]:
        """:returns: What a recording finds the search by."""
        told: dict[str, Any] = dict(self.context)
        if "observed" in told:
            told["observed"] = [document.id for document in told["observed"]]
        return self.query, self.top_k, dict(self.filters or {}), *([told] if told else [])


def accepted(part: Retriever | Ranker) -> set[str]:
    """:returns: The arguments that a component's ``run`` takes, of those that a search may pass."""
    parameters = inspect.signature(part.run).parameters
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()):
        return {"query", "top_k", "filters"}
    return set(parameters)


def _may_pass(error: BaseException) -> bool:
    # Neither a filter that does not fit nor a run that was given up gets better by waiting.
    return isinstance(error, Exception) and not isinstance(error, FilterError)


def is_web_search(part: Retriever | None) -> bool:
    """:returns: Whether queries to this component leave the house, by its own word or by where it comes from."""
    if part is None:
        return False
    module = type(part).__module__.lower()
    return bool(getattr(part, "external", False)) or ".websearch." in module or "duckduckgo" in module


def _name(provider: Retriever) -> str:
    return str(getattr(provider, "provider", None) or type(provider).__name__)


def _documents(output: dict[str, Any]) -> list[Document]:
    if output.get("documents") is None:
        raise ValueError("it gave no `documents`")
    return list(output["documents"])


def _survived(output: dict[str, Any]) -> str | None:
    # A retriever made of several tells which of them it did without.
    return "; ".join(output.get("errors") or ()) or None


def _url(document: Document) -> str:
    # Haystack's web searches write the address under either name.
    return str(document.meta.get("url") or document.meta.get("link") or "")


def _host(url: str) -> str:
    # Without a scheme, urlsplit takes the host for the beginning of the path.
    try:
        return (urlsplit(url if _WITH_HOST.match(url) else f"//{url}").hostname or "").rstrip(".")
    except ValueError:
        return ""


def _domain(written: str, source: str) -> str:
    """:returns: The domain of what may be written as an address, or with a wildcard in front."""
    domain = _host(written.strip()).removeprefix("*").strip(".") if isinstance(written, str) else ""
    if not domain or re.search(r"[*\s]", domain):
        raise ValueError(f"Source '{source}': '{written}' is no domain, it looks like example.org.")
    return domain


def _is_under(host: str, domains: Sequence[str]) -> bool:
    return any(f".{host}".endswith(f".{domain}") for domain in domains)


async def asked(provider: Retriever, arguments: dict[str, Any]) -> dict[str, Any]:
    """:returns: What a provider gives, through its ``run_async`` or from a thread."""
    run_async: Callable[..., Any] | None = getattr(provider, "run_async", None)
    if run_async is not None:
        return await run_async(**arguments)
    return await asyncio.wrap_future(in_thread(provider, arguments))


def in_thread(provider: Retriever, arguments: dict[str, Any]) -> Future[dict[str, Any]]:
    """:returns: What a provider will have given, from a thread of its own."""
    # Not an executor's thread: one that hangs would take a place in its pool and keep the process from ending.
    future: Future[dict[str, Any]] = Future()
    future.set_running_or_notify_cancel()

    def run() -> None:
        try:
            future.set_result(provider.run(**arguments))
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=contextvars.copy_context().run, args=(run,), daemon=True).start()
    return future
