"""The retriever that calls several retrievers and fuses their lists of documents.

Reciprocal rank fusion adds for each document 1 / (60 + rank) over the lists. So only the ranks count, and the scores of
the retrievers need not be comparable.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Sequence
from copy import deepcopy
from functools import partial
from typing import Any

from haystack import Document, component, default_from_dict
from haystack.components.joiners import DocumentJoiner
from haystack.core.serialization import component_from_dict, import_class_by_name
from haystack.errors import FilterError

from prefrag.components.block import Block, check_above_zero, check_whole_number
from prefrag.components.both_ways import Component, as_blocking, call_component, call_in_thread, call_matching
from prefrag.components.retrievers.provider import (
    Retrieved,
    Retriever,
    apply_filters,
    count_lookups,
    describe_failure,
    select_arguments,
    supported_arguments,
)
from prefrag.components.retrievers.search_settings import wanted_top_k
from prefrag.components.state.filters import Filters

logger = logging.getLogger(__name__)

# A retriever and the arguments of its `run`.
_Call = tuple[Component[Retrieved], dict[str, object]]


@component
class HybridRetriever(Block):
    """Call retrievers in parallel and combine their results by reciprocal rank fusion, with the usual constant of 60.

    If a retriever fails or does not reply in time, the search goes on without it, and `errors` lists the failure. The
    search fails only if all retrievers fail. Documents with the same id count as one.

    Usage example:
    ```python
    from prefrag.components.retrievers.hybrid_retriever import HybridRetriever
    from haystack.components.retrievers.in_memory import InMemoryBM25Retriever
    from haystack.document_stores.in_memory import InMemoryDocumentStore

    store = InMemoryDocumentStore()
    retriever = HybridRetriever([InMemoryBM25Retriever(store), InMemoryBM25Retriever(store, scale_score=True)])
    print(retriever.run(query="tide tables", top_k=5)["documents"])
    ```
    """

    def __init__(
        self,
        retrievers: Sequence[Retriever],
        top_k: int = 10,
        candidates: int = 20,
        weights: Sequence[float] | None = None,
        timeout: float = 10.0,
    ) -> None:
        """Set the retrievers and the defaults of a search.

        :param retrievers: Components that take a `query` and return `documents`.
        :param top_k: The maximum number of documents to return.
        :param candidates: The number of documents to request from each retriever. If `top_k` is larger, `top_k`
            documents are requested.
        :param weights: The weight of each retriever, at least 0. If None, all weights are equal.
        :param timeout: The maximum duration of each call, in seconds. The timeout of a `RetrievalSource` around this
            retriever should be longer.
        :raises ValueError: When there are fewer than two retrievers, some have no `run`, or a number is invalid.
        """
        if len(retrievers) < 2:
            raise ValueError(f"A hybrid needs at least two retrievers, not {len(retrievers)}.")
        for retriever in retrievers:
            if not callable(getattr(retriever, "run", None)):
                raise ValueError(f"{retriever!r} has no `run`: give Haystack components with query -> documents.")
        check_whole_number(1, top_k=top_k, candidates=candidates)
        check_above_zero(timeout=timeout)
        if weights is not None:
            are_usable = len(weights) == len(retrievers) and min(weights) >= 0 and sum(weights) > 0
            if not are_usable:
                raise ValueError("weights must be one number per retriever, none under 0 and not all 0.")
        self.retrievers = list(retrievers)
        self.top_k = top_k
        self.candidates = candidates
        self.weights = list(weights) if weights is not None else None
        self.timeout = timeout
        self._supported = [supported_arguments(retriever) for retriever in self.retrievers]
        self._joiner = DocumentJoiner(join_mode="reciprocal_rank_fusion", weights=self.weights)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> HybridRetriever:
        """Make a retriever from the output of `to_dict`.

        :param data: The class and the settings.
        :returns: The retriever.
        """
        # Haystack itself builds nested components, but not those in a list.
        parameters = dict(data["init_parameters"])
        retrievers = []
        for part in parameters["retrievers"]:
            if isinstance(part, dict):
                retrievers.append(component_from_dict(import_class_by_name(part["type"]), deepcopy(part), "retriever"))
            else:
                retrievers.append(part)
        parameters["retrievers"] = retrievers
        return default_from_dict(cls, {**data, "init_parameters": parameters})

    def warm_up(self) -> None:
        """Warm up the retrievers."""
        for retriever in self.retrievers:
            if hasattr(retriever, "warm_up"):
                retriever.warm_up()

    @component.output_types(documents=list[Document], errors=list[str], lookups=int)
    async def run_async(self, query: str, top_k: int | None = None, filters: Filters | None = None) -> Retrieved:
        """Find documents with all retrievers.

        :param query: Any text.
        :param top_k: The maximum number of documents to return. If None, the `top_k` of the constructor is used.
        :param filters: Haystack metadata filters. If a retriever takes no filters, they are applied to its
            documents here. None searches all documents.
        :returns: A dictionary with the following keys:
            - `documents`: The documents with their fused scores, best first.
            - `errors`: A line for each retriever that failed.
            - `lookups`: The number of queries that all retrievers sent.
        :raises ValueError: When top_k is under 1.
        :raises FilterError: When a retriever cannot apply the filters.
        :raises RuntimeError: When all retrievers fail.
        """
        most = wanted_top_k(self.top_k, top_k)
        wanted = {"query": query, "top_k": max(self.candidates, most), "filters": filters}
        calls = []
        for retriever, supported in zip(self.retrievers, self._supported, strict=True):
            calls.append((retriever, select_arguments(supported, **wanted)))
        replies = await call_matching(self._call_all, self._call_all_async, calls)
        return self._fuse(replies, most, filters)

    run = as_blocking(run_async)

    def _call_all(self, calls: Sequence[_Call]) -> list[Retrieved | BaseException]:
        """Make the calls in threads, and return the output or the error of each call, in order."""
        deadline = time.monotonic() + self.timeout
        replies: list[Retrieved | BaseException] = []
        # All calls begin before the first output is waited for.
        futures = [call_in_thread(partial(part.run, **arguments)) for part, arguments in calls]
        for future in futures:
            try:
                seconds_left = max(0.0, deadline - time.monotonic())
                replies.append(future.result(timeout=seconds_left))
            except Exception as error:
                replies.append(error)
        return replies

    async def _call_all_async(self, calls: Sequence[_Call]) -> list[Retrieved | BaseException]:
        """Make the calls at the same time, and return the output or the error of each call, in order."""
        running = [asyncio.wait_for(call_component(*call), self.timeout) for call in calls]
        # All calls have ended when `gather` returns, so no call goes on after a failure.
        return await asyncio.gather(*running, return_exceptions=True)  # noqa: TID251

    def _fuse(self, replies: Sequence[Retrieved | BaseException], top_k: int, filters: Filters | None) -> Retrieved:
        """Fuse the documents of the outputs, and collect the errors. Raise RuntimeError if all calls failed."""
        lists: list[list[Document]] = []
        errors = []
        for retriever, reply in zip(self.retrievers, replies, strict=True):
            if isinstance(reply, BaseException):
                # A filter that cannot be applied is a mistake of the caller, not a failure of the retriever. Errors
                # that are no `Exception` end the program, or cancel the call.
                is_failure = isinstance(reply, Exception) and not isinstance(reply, FilterError)
                if not is_failure:
                    raise reply
                errors.append(describe_failure(type(retriever).__name__, reply, self.timeout))
                # The weights are assigned by position, so an empty list stands for the failed retriever.
                lists.append([])
            else:
                lists.append(apply_filters(retriever, reply["documents"], filters))

        if len(errors) == len(self.retrievers):
            raise RuntimeError("; ".join(errors))
        for error in errors:
            logger.warning("A hybrid search continues without one of its retrievers: %s", error)

        lookups = 0
        for reply in replies:
            # A retriever that failed has no output.
            output = reply if isinstance(reply, dict) else None
            lookups += count_lookups(output)
        fused = self._joiner.run(documents=lists, top_k=top_k)["documents"]
        return {"documents": fused, "errors": errors, "lookups": lookups}
