"""The component that searches a named source, such as the local index or the web.

A source has a retriever, which does the search, and may have a ranker and a second retriever for failures. The steps of
a search are:

1. The request is made: the query, the number of documents and the filters.
2. A recorded search is replayed. Otherwise, the web gate checks the query if it would leave this machine.
3. The retriever is called, with retries, then the second retriever if all attempts have failed.
4. The documents are filtered, ranked, put in order and cut to the wanted number.
5. The search is added to the state, or the documents are returned.
"""

import json
import math
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial

from haystack import Document, component
from haystack.core.serialization import component_to_dict
from haystack.errors import FilterError

from prefrag.audit_log import AuditLogFailed, audit
from prefrag.components.block import Block, check_whole_number
from prefrag.components.both_ways import Component, as_blocking, in_thread_async
from prefrag.components.generators.json_reply import repair
from prefrag.components.generators.model_host import Model, find_models, is_local
from prefrag.components.recording import RECORDING, Entry, Recording
from prefrag.components.retrievers.provider import (
    Ranker,
    Retrieved,
    Retriever,
    apply_filters,
    count_lookups,
    is_web_search,
    name_provider,
    select_arguments,
    supported_arguments,
)
from prefrag.components.sources.newest_first import newest_first
from prefrag.components.sources.retry_policy import ProviderCall, RetryPolicy
from prefrag.components.sources.search_request import SearchRequest
from prefrag.components.state.attempt import Attempt
from prefrag.components.state.filters import Filters
from prefrag.components.state.places import name_documents, standing_of
from prefrag.components.state.state import RESERVED_META, RunError, Search, State, identity
from prefrag.components.state.usage import ModelTraffic
from prefrag.components.state.web_switch import web_is_off
from prefrag.components.text.addresses import without_userinfo
from prefrag.components.text.unicode_form import normalize_unicode
from prefrag.components.web.domain_filter import document_url
from prefrag.components.web.web_gate import HeldBack, WebGate
from prefrag.settings import settings as environment_settings
from prefrag.tracing import measure

# A retriever may be asked for at most this many documents.
_MOST = 1_000
# The random name that Haystack gives to a store in memory, a UUID. Recordings leave it out, because each run has
# another. Matches: "0f8fad5b-d9cb-469f-a165-70867728950e".
_RANDOM_NAME = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class SourceOutput(Retrieved, total=False):
    """The output of a source: ``documents`` for a query, and ``state`` for a state."""

    state: State


@component
class RetrievalSource(Block):
    """Search an index or the web, with a deadline, retries, and a second retriever in case the first fails.

    Called with a query, the source returns documents or raises an error, like any retriever. Called with a
    :class:`State`, the source searches with the query of the state and adds the search to the state. A failed search
    does not end the run: the search is added with an error and without documents.

    If the ``run`` of the retriever has a parameter ``question``, it gets the question. If it has a parameter
    ``observed``, it gets the documents that earlier steps found. The retriever of an external source gets neither,
    because only the query may leave this machine.

    Usage example:
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
        external: bool = False,
        top_k: int = 5,
        candidates: int | None = None,
        retry_policy: RetryPolicy | None = None,
        recording: Recording | None = None,
        gate: WebGate | None = None,
        observed_last: bool = False,
    ):
        """Set up the source. Nothing is searched yet.

        :param name: The name of the source in the state, the trace and the result. It must not contain a "+".
        :param retriever: The component that searches. Retrievers and web searches are also called providers.
        :param ranker: The component that sorts the documents of the retriever before they are cut to ``top_k``. If
            None, the order of the retriever stays.
        :param external: Whether queries leave this machine. If so, ``gate`` must allow each query, and the result lists
            the queries. A source is always external if its retriever or its second provider contains a web search.
        :param top_k: The number of documents to return, from 1 to 1,000. A request may set another number.
        :param candidates: The number of documents to request from the retriever, from which the ranker then chooses.
            If None, ``top_k`` documents are requested. The code of PrefRAG's authors uses 50.
        :param retry_policy: The deadline of an attempt, the number of attempts, and the second provider. If None, the
            defaults of :class:`RetryPolicy` apply.
        :param recording: The recording in which searches are written, or from which they are replayed. If None,
            nothing is recorded.
        :param gate: The gate that decides whether an external source may send a query, and which web pages may be
            shown. If None, the defaults of :class:`WebGate` apply.
        :param observed_last: Whether documents that the run has already seen are moved behind new documents. Seen
            documents then take no place of a new document among the ``top_k``. No paper does this.
        :raises ValueError: When a name or a number is invalid, a provider or the ranker has no ``run``, or the ranker
            searches the web.
        """
        if not name:
            raise ValueError("A source needs a `name`.")
        if "+" in name:
            raise ValueError(f"The source name '{name}' contains a '+', which is reserved for joining source names.")
        self.retry_policy = RetryPolicy() if retry_policy is None else retry_policy
        fallback = self.retry_policy.fallback
        parts = {"retriever": retriever, "ranker": ranker, "fallback": fallback}
        for label, part in parts.items():
            if part is not None and not callable(getattr(part, "run", None)):
                raise ValueError(f"The {label} of source '{name}' has no `run`: give a Haystack component.")
        if is_web_search(ranker):
            raise ValueError(
                f"The ranker of source '{name}' searches the web: take it out, or make it the retriever of an external "
                "source."
            )
        check_whole_number(1, _MOST, top_k=top_k, candidates=candidates)
        self.name = name
        self.retriever = retriever
        self.ranker = ranker
        # A web search is always external. Otherwise a wrong setting would let it send queries when they are forbidden.
        self.external = external or is_web_search(retriever) or is_web_search(fallback)
        self.top_k = top_k
        self.candidates = candidates
        self.recording = recording
        self.gate = WebGate() if gate is None else gate
        self.observed_last = observed_last
        self._is_warm = False
        self._supported = {id(part): supported_arguments(part) for part in self._parts}

    @property
    def _parts(self) -> list[Component[Retrieved]]:
        """The retriever, and the ranker and the second provider if they are set."""
        return [part for part in (self.retriever, self.ranker, self.retry_policy.fallback) if part is not None]

    @property
    def embedded(self) -> bool:
        """Whether the retriever searches in this process. Parallel calls to such a retriever save no time."""
        return bool(getattr(self.retriever, "embedded", False))

    @cached_property
    def _models(self) -> dict[int, list[Model]]:
        """The models that each part calls, by the ``id`` of the part.

        Embedders get the query, and rankers get the query and the documents.
        """
        return {id(part): find_models(part) for part in self._parts}

    @property
    def leaves_machine(self) -> bool:
        """Whether a query would leave this machine now. False while a local index is searched instead of the web."""
        return self.external and not getattr(self.retriever, "stays_local", False)

    def warm_up(self) -> None:
        """Warm up the retriever, the ranker and the second provider, but only once."""
        # Haystack calls this method at every run of a pipeline.
        if self._is_warm:
            return
        for part in self._parts:
            if hasattr(part, "warm_up"):
                part.warm_up()
        self._is_warm = True

    @component.output_types(documents=list[Document], state=State)
    async def run_async(
        self, query: str | State, top_k: int | None = None, filters: Filters | None = None
    ) -> SourceOutput:
        """Search with a query, or with the query of a state.

        :param query: A query, or a state that contains the query.
        :param top_k: The number of documents to return. If None, the number of the constructor is used. For a state,
            the settings of the state decide, and this parameter is ignored.
        :param filters: Haystack metadata filters. If a local retriever takes no filters, they are applied to its
            documents here. For a state, the settings of the state decide, and this parameter is ignored.
        :returns: For a query, a dictionary with the key ``documents``, best first. For a state, a dictionary with the
            key ``state``: the state with this search added.
        :raises RuntimeError: For a query, when every attempt has failed.
        :raises NotRecorded: When the replayed recording does not contain this search.
        :raises ValueError: When the recording is of a source of the same name with other parts or settings.
        :raises FilterError: For a query, when the filters do not fit the documents.
        :raises RunError: For a state, when the filters do not fit or the audit log cannot be written. Also when the
            query must not leave this machine because an earlier search of a local source failed.
        """
        request = self._request(query, top_k, filters)
        if request.is_closed:
            request.search = Search(self.name, request.query, skipped=True, lookups=0)
            return self._output(request)

        step_number = request.state.number if request.state else 1
        labels = {"prefrag__source": self.name, "prefrag__external": self.external}
        with measure("prefrag.search", step_number, **labels, prefrag__k=request.top_k) as measured:
            await self._admit_async(request)
            try:
                for call in self._calls(request):
                    await self.retry_policy.call_async(call)
            except FilterError as error:
                raise self._filter_error(request, error) from error
            except AuditLogFailed as error:
                raise request.refuse_unaudited(self.name, error) from error

            # `_calls` or `_admit` has set the search.
            search = request.search
            assert search is not None
            measured.tags |= {"prefrag.hits": len(search.documents), "prefrag.held_back": search.skipped}
            measured.error = "SearchFailed" if search.error else ""
            return self._output(request)

    run = as_blocking(run_async)

    def _request(self, query: str | State, top_k: int | None, filters: Filters | None) -> SearchRequest:
        """Make the request from a query and its arguments, or from a state and its settings.

        The request is closed if this source must not be searched. This is so if the web is off, or if the run or the
        step asks other sources. It is also so if the step has searched this source already. Raise RunError if the query
        is meant for another source.
        """
        is_off = self.external and web_is_off()
        leaves_machine = self.leaves_machine
        if not isinstance(query, State):
            return SearchRequest(
                query=query,
                top_k=top_k or self.top_k,
                filters=filters,
                is_closed=is_off,
                leaves_machine=leaves_machine,
            )

        state = query
        settings = state.settings
        asked_sources = state.step.asked or settings.sources
        is_asked = self.name in asked_sources and self.name in settings.sources
        is_closed = is_off or not is_asked or state.is_done(self.name)
        if not is_closed:
            self._check_connection(state)

        return SearchRequest(
            query=state.query_for(self.name),
            top_k=settings.top_k,
            filters=settings.filters,
            is_closed=is_closed,
            leaves_machine=leaves_machine,
            state=state,
            context=self._context(state),
            already_observed=state.retrieved if self.observed_last else (),
        )

    def _check_connection(self, state: State) -> None:
        """Raise RunError if the next query is for other sources. The pipeline is then connected wrongly.

        A query for the user's own documents could otherwise go to the web.
        """
        events = [event for event in state.events if event.kind == "search" and event.step == state.number]
        sources = sorted({str(event.data["source"]) for event in events})
        if sources and self.name not in sources:
            intended = sources[0]
            message = f"A query for the source '{intended}' reached '{self.name}': correct the pipeline's connections."
            raise RunError(message, state)

    def _context(self, state: State) -> dict[str, object]:
        """Collect the arguments that the retrievers of this source take besides the query: question and documents."""
        if self.external:
            return {}
        supported: set[str] = set()
        for part in (self.retriever, self.retry_policy.fallback):
            if part is not None:
                supported |= self._supported[id(part)]
        context = {"question": state.question, "observed": list(state.retrieved)}
        return {name: value for name, value in context.items() if name in supported}

    def _admit(self, request: SearchRequest) -> None:
        """Replay the search if it is recorded. Otherwise, check the query if it would leave this machine.

        If the query must not be sent, the search is marked as skipped.
        """
        try:
            if request.leaves_machine:
                request.fit_for_web(self.name)
            request.search = self._play_recording(request)
            if request.leaves_machine and request.search is None:
                self.gate.check(self.name, request.query, request.state)
        except HeldBack as reason:
            request.hold_back(self.name, str(reason))
            request.search = Search(self.name, request.query, skipped=True, lookups=0)

    # If the query leaves this machine, `_admit` runs in a thread, because the gate may wait for a server or for the
    # user's answer.
    _admit_async = in_thread_async(_admit, when=lambda self, request: request.leaves_machine)

    def _calls(self, request: SearchRequest) -> Iterator[ProviderCall]:
        """Yield the calls to make, and set ``request.search`` at the end.

        First come the calls to the providers until a call succeeds, then the call to the ranker. The caller makes each
        call before it takes the next one.
        """
        if request.search is not None:
            # The search was replayed, or its query must not be sent.
            return
        started = time.perf_counter()
        # The attempts of all calls.
        attempts: list[Attempt] = []
        # The error of each provider that has failed.
        failures: list[str] = []

        # Call the retriever, then the second provider if the retriever has failed. Only the retriever is called again
        # after a failure.
        providers = self._providers(request)
        last_provider = providers[-1]
        # The provider that has found documents, and its call.
        successful: tuple[Retriever, ProviderCall] | None = None
        for place, provider in enumerate(providers):
            arguments = self._arguments(provider, request)
            call = self._prepare(request, provider, arguments, retry=place == 0)
            call.is_last = provider is last_provider
            yield call
            attempts += call.attempts
            if call.error is None:
                successful = provider, call
                break
            failures.append(str(attempts[-1].error))

        search = Search(self.name, request.query, error="; ".join(failures))
        if successful is not None:
            provider, call = successful
            attempts[-1].lookups = count_lookups(call.output)
            matching = self._matching(request, provider, list(call.output["documents"]))
            documents = [document for document in matching if self.gate.domains.allows(document)]

            # A retriever that combines several retrievers reports which of them failed.
            errors = list(call.output.get("errors") or ())
            if self.ranker is not None:
                ranking = self._prepare(request, self.ranker, self._ranking(request, documents), retry=False)
                yield ranking
                attempts += ranking.attempts
                # If the ranker has failed, the documents stay in the order of the retriever. No query is sent again.
                documents = ranking.output.get("documents", documents)
                error_of_ranker = attempts[-1].error
                if error_of_ranker:
                    errors.append(error_of_ranker)

            search = Search(
                source=self.name,
                query=request.query,
                documents=self._stamp(self._order(request, documents)),
                provider=call.attempt.provider,
                error="; ".join(errors) or None,
            )

        seconds = round(time.perf_counter() - started, 4)
        lookups = sum(attempt.lookups for attempt in attempts)
        search = self._record(request, search)
        request.search = replace(search, seconds=seconds, lookups=lookups, attempts=tuple(attempts))

    def _providers(self, request: SearchRequest) -> list[Retriever]:
        """List the providers in the order in which they are called: the retriever, and the second provider if any."""
        # While an index is searched in place of the web, queries must stay local. So the second provider is not called.
        has_stand_in = self.external and not request.leaves_machine
        fallback = self.retry_policy.fallback
        if fallback is None or has_stand_in:
            return [self.retriever]
        return [self.retriever, fallback]

    def _matching(self, request: SearchRequest, provider: Retriever, documents: list[Document]) -> list[Document]:
        """Leave out the documents that the filters of the request exclude, and web pages without a text."""
        if self.external:
            # Web pages have no metadata to filter by. A page without a text supports no answer, so it is left out.
            return [document for document in documents if (document.content or "").strip()]
        return apply_filters(provider, documents, request.filters)

    def _prepare(
        self, request: SearchRequest, part: Component[Retrieved], arguments: Mapping[str, object], retry: bool
    ) -> ProviderCall:
        """Prepare a call to a provider or the ranker. Its attempts are written to the audit log and the run's list."""
        is_provider = part is not self.ranker
        models = []
        for model in self._models[id(part)]:
            models.append(ModelTraffic(host=model.host, remote=not is_local(model.host), role=model.role))
        attempt = Attempt(
            source=self.name,
            query=request.query,
            provider=name_provider(part),
            sent_out=request.leaves_machine and is_provider,
            models=tuple(models),
            lookups=1 if is_provider else 0,
        )
        return ProviderCall(
            provider=part,
            arguments=arguments,
            retry=retry,
            attempt=attempt,
            announce=partial(self._announce_async, request),
        )

    def _announce(self, request: SearchRequest, attempt: Attempt) -> None:
        """Log an attempt before it is made: what is sent to a web search or a remote model, and to the run's list."""
        if attempt.sent_out:
            audit("query", source=self.name, provider=attempt.provider, query=request.query)
        for model in attempt.models:
            if model.remote:
                audit("model_call", source=self.name, role=model.role, host=model.host, query=request.query)
        if request.state is not None:
            request.state.attempts.append(attempt)

    # `_announce` runs in a thread if the query is sent out, because the audit log may wait for another process.
    _announce_async = in_thread_async(_announce, when=lambda self, request, attempt: attempt.sent_out)

    def _arguments(self, provider: Retriever, request: SearchRequest) -> dict[str, object]:
        """Collect the arguments for a provider: those that its ``run`` takes."""
        top_k = max(self.candidates or 0, request.top_k)
        filters = dict(request.filters) if request.filters else None
        supported = self._supported[id(provider)]
        return select_arguments(supported, query=request.query, top_k=top_k, filters=filters, **request.context)

    def _ranking(self, request: SearchRequest, documents: list[Document]) -> dict[str, object]:
        """Collect the arguments for the ranker: the documents, and the others that its ``run`` takes."""
        # The ranker's own `top_k` is not used, because it could cut documents that `_order` would move to the front.
        moves_to_front = request.already_observed or self._has_dates(documents)
        top_k = max(len(documents), 1) if moves_to_front else request.top_k
        # Some rankers sort without looking at the query.
        chosen = select_arguments(self._supported[id(self.ranker)], query=request.query, top_k=top_k)
        return {"documents": documents, **chosen}

    @property
    def _is_ordered(self) -> bool:
        """Whether current documents come before old ones: only in a local source, and if the settings say so."""
        return not self.external and environment_settings.current_first

    def _has_dates(self, documents: Sequence[Document]) -> bool:
        """Check whether documents are put in order of their dates, and at least one document has a date."""
        return self._is_ordered and any(document.meta.get("date") for document in documents)

    def _order(self, request: SearchRequest, documents: list[Document]) -> list[Document]:
        """Put ranked documents in their final order, and cut them to the number of the request.

        Newer versions come before older ones, and documents that the run has seen come last. After the cut, superseded,
        old and draft documents are moved to the end.
        """
        ordered = newest_first(documents) if self._has_dates(documents) else documents
        if request.already_observed:
            observed = {identity(document) for document in request.already_observed}
            # The observed documents have gone through `_stamp`, which can change the text. So stamp these documents,
            # too, before they are compared.
            stamped = self._stamp(ordered)
            # In the order of the key, False comes before True.
            ordered = sorted(stamped, key=lambda document: identity(document) in observed)
        shown = ordered[: request.top_k]
        if not self._is_ordered:
            return shown
        # This move comes after the cut. Otherwise, the cut would remove the moved documents.
        return sorted(shown, key=lambda document: standing_of(document.meta) is not None)

    def _stamp(self, documents: Sequence[Document]) -> tuple[Document, ...]:
        """Add the name of this source to each document, normalise its texts, and drop values that cannot be sent.

        The texts get the same Unicode form as the question.
        """
        stamped = []
        for document in documents:
            own_meta = {name: value for name, value in document.meta.items() if name not in RESERVED_META}
            meta = {**own_meta, "source": self.name}
            url = document_url(document)
            if url:
                meta["url"] = url
            if "title" in meta:
                meta["title"] = _plain(meta["title"])
            # Models and clients accept neither lone surrogates in a text nor a score that is infinite or NaN.
            texts = {"id": repair(document.id), "content": _plain(document.content)}
            has_valid_score = document.score is not None and math.isfinite(document.score)
            score = document.score if has_valid_score else None
            # The vectors may have thousands of numbers, and every later component would copy them.
            stamped.append(
                replace(document, **texts, meta=repair(meta), score=score, embedding=None, sparse_embedding=None)
            )
        return tuple(stamped)

    @cached_property
    def _facts(self) -> dict[str, object]:
        """The classes and settings of the parts, without passwords. A recording is only valid for the same facts."""
        try:
            settings = json.dumps([component_to_dict(part, self.name) for part in self._parts], sort_keys=True)
        except Exception:
            # A user's own components may have settings that cannot be written as JSON.
            settings = json.dumps([type(part).__name__ for part in self._parts])
        # Haystack gives a store in memory a random name.
        return {"parts": _RANDOM_NAME.sub("", without_userinfo(settings))}

    def _play_recording(self, request: SearchRequest) -> Search | None:
        """Return the recorded search for a request, or None if the search must be made.

        Raise ValueError if the recording belongs to a source with other parts or settings.
        """
        if self.recording is None:
            return None
        if self.recording.mode != "replay":
            recorded = self.recording.record(Entry(facts=self._facts), "source", self.name)
            if recorded.facts != self._facts:
                raise ValueError(
                    f"The recording {self.recording.path} holds searches of a source '{self.name}' with other parts or "
                    "settings: record to another file."
                )

        search = Search(self.name, request.query, provider=RECORDING)
        entry = self.recording.play("search", self.name, *request.content)
        if entry is None:
            return None
        return replace(search, documents=self._stamp(entry.documents), error=entry.error)

    def _record(self, request: SearchRequest, search: Search) -> Search:
        """Write a search to the recording, if there is one. Return the search as the recording has it."""
        if self.recording is None:
            return search
        has_failed = not search.provider
        if has_failed:
            self.recording.record(Entry(error=search.error), "search", self.name, *request.content)
            return search
        # The error of a ranker or of one of several retrievers is not recorded, because a replayed search with an error
        # counts as failed.
        entry = self.recording.record(Entry(documents=search.documents), "search", self.name, *request.content)
        return replace(search, documents=entry.documents)

    def _filter_error(self, request: SearchRequest, error: FilterError) -> Exception:
        """Make the error for filters that do not fit the documents."""
        # The error ends the run. Otherwise, the run could go on with a source that ignores filters, such as the web.
        message = f"The filters do not fit the documents of '{self.name}': {error}"
        if request.state is None:
            return FilterError(message)
        return RunError(message, request.state)

    def _output(self, request: SearchRequest) -> SourceOutput:
        """Return the documents of the finished search, or the state with the search and its event in the trace."""
        search = request.search
        assert search is not None
        if request.state is None:
            if search.error and not search.provider:
                raise RuntimeError(f"The source '{self.name}' failed: {search.error}")
            return {"documents": list(search.documents)}

        # With a state, no `documents` are returned. No component uses them, and Haystack would copy them at every step.
        searches = (*request.state.step.searches, search)
        state = request.state.with_last(searches=searches)
        if search.skipped:
            return {"state": state}
        details: dict[str, object] = {
            "source": self.name,
            "query": search.query,
            **name_documents("titles", search.documents),
            "provider": search.provider,
            "seconds": search.seconds,
            "sent_out": search.sent_out,
            "error": search.error,
        }
        attempts = [attempt.to_dict() for attempt in search.attempts]
        if any(attempt["error"] for attempt in attempts):
            details["attempts"] = attempts
        return {"state": state.with_event("found", **details)}


def _plain(text: object) -> object:
    """Normalise a text and replace characters that cannot be sent. Return other values unchanged."""
    return normalize_unicode(repair(text)) if isinstance(text, str) else text
