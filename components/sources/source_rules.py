"""The rules that the collections and the sources of a pipeline set for each run.

The StateBuilder of a pipeline asks the rules at the beginning of a run: which external sources are closed, and which
files the run searches. A collection is an index of the user's documents. Its user decides whether web search may be
used beside it.
"""

import json
import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from prefrag.components.block import Block
from prefrag.components.document_stores.index_name import name_index
from prefrag.components.document_stores.narrowing import narrow_filters
from prefrag.components.document_stores.proof import find_stated_from
from prefrag.components.document_stores.store_kinds import Store, is_elasticsearch_store, is_store, is_tantivy_store
from prefrag.components.document_stores.tantivy.document_store import TantivyDocumentStore
from prefrag.components.document_stores.tantivy.index_location import data_directory
from prefrag.components.document_stores.web_consent import all_consent
from prefrag.components.parts import walk_parts
from prefrag.components.retrievers.provider import searches_web
from prefrag.components.sources.retrieval_source import RetrievalSource
from prefrag.components.state.web_switch import explain_closed
from prefrag.components.text.counted import counted
from prefrag.components.web.web_retriever import WebRetriever
from prefrag.errors import BadInput

# A sentence about the documents names at most this many kinds of files, and at most this many folders.
_MOST_NAMED = 5


@dataclass(frozen=True, slots=True)
class _Known:
    """What is known of a pipeline. With slots, `walk_parts` does not meet the same objects here once more."""

    # All components of the pipeline.
    components: Sequence[object] = ()
    # Its external sources.
    sources: Sequence[RetrievalSource] = ()
    # The names of its local sources.
    local: frozenset[str] = frozenset()
    # The stores of the user's own documents: those outside of external sources.
    own: Sequence[Store] = ()
    # All stores whose users must allow web search.
    stores: Sequence[Store] = ()


class SourceRules(Block):
    """Decide which external sources are closed and which send queries out, and limit a run to some files.

    The rules know the sources and the collections of the pipeline to which their StateBuilder belongs. All of these
    collections must allow web search. If there is no collection, the local collection that the web retriever names
    must allow web search.

    Usage example:
    ```python
    from prefrag.components.sources.source_rules import SourceRules
    from prefrag.components.state.state_builder import StateBuilder

    start = StateBuilder(sources=["local", "web"], preferred="local", external_sources=["web"], rules=SourceRules())
    print(start.closed_sources())
    ```
    """

    def __init__(self, outside: Sequence[str] = ()) -> None:
        """Set up rules that know no pipeline yet, so that every external source is closed.

        :param outside: The names of external sources that are treated as the real web, although an index is searched in
            their place. So they get the same queries as the real web: if no model writes queries, the question once.
        """
        self.outside = list(outside)
        self._known = _Known()

    @property
    def external_sources(self) -> list[str]:
        """The names of the external sources in the pipeline."""
        return [source.name for source in self._known.sources]

    def bind(self, pipeline: Any) -> None:
        """Learn the sources and the collections of a pipeline, and set the collections whose users must allow the web.

        :param pipeline: The Haystack pipeline. Nothing is done if its components are known already.
        :raises ValueError: When a component would search the web outside an external source.
        """
        components = [node["instance"] for _, node in pipeline.graph.nodes(data=True)]
        if components == self._known.components:
            return

        outside = list(walk_parts(pipeline, descend=lambda part: not _is_external_source(part)))
        for path, part in outside:
            if searches_web(part) and not _is_external_source(part):
                raise ValueError(
                    f"component '{path}' is a {type(part).__name__}, which would send text to the web without checks: "
                    "make it the retriever of a RetrievalSource with `external: true`, or take it out."
                )

        sources = [part for _, part in outside if _is_external_source(part)]
        parts_of_sources: list[object] = []
        for source in sources:
            parts_of_sources += [part for _, part in walk_parts(source)]

        own_stores = [part for _, part in outside if is_store(part)]
        stores = [*own_stores, *filter(is_store, parts_of_sources)]
        if not stores:
            # The pipeline has no collection of its own. Then the local collection that the web retriever names counts.
            demos = [part for part in parts_of_sources if isinstance(part, WebRetriever) and part.demo_stand_in]
            stores = [TantivyDocumentStore(index=part.local_index) for part in demos]
        for source in sources:
            # If a pipeline is part of another pipeline, the collections of both must allow web search.
            source.gate.stores = _without_repeats([*source.gate.stores, *stores])

        all_sources = [part for _, part in outside if isinstance(part, RetrievalSource)]
        self._known = _Known(
            components=components,
            sources=sources,
            local=frozenset(source.name for source in all_sources if not source.external),
            own=_without_repeats(own_stores),
            stores=_without_repeats(stores),
        )

    def find_closed(self, external: Iterable[str]) -> tuple[set[str], str]:
        """Find the external sources that the users of the collections have not allowed, and the reason.

        :param external: The names of all external sources. A name that is no source of the pipeline is closed as well.
        :returns: The names of the closed sources, and the reason as a text for the user. The reason is empty if no
            source is closed.
        """
        leaving = {source.name for source in self._known.sources if source.leaves_machine}
        known_names = {*self.external_sources, *self._known.local}
        unknown_names = set(external) - known_names
        closed = leaving | unknown_names
        if not closed or all_consent(self._known.stores):
            return set(), ""

        # The reason names the collection if there is only one and it has a name. A collection at a path has none.
        if len(self._known.stores) != 1:
            return closed, explain_closed()
        (store,) = self._known.stores
        if getattr(store, "path", None) is not None:
            return closed, explain_closed()
        name = name_index(store)
        if is_elasticsearch_store(store):
            name = f"{name} --store elasticsearch"
        return closed, explain_closed(name)

    def find_leaving(self, external: Iterable[str]) -> set[str]:
        """Find the external sources whose queries leave this machine.

        :param external: The names of all external sources. If a name is no source of the pipeline, its queries count
            as leaving.
        :returns: The names of the sources whose queries leave this machine.
        """
        staying = {source.name for source in self._known.sources if not source.leaves_machine}
        # The names in `outside` are treated as the real web, although their queries stay.
        treated_as_staying = staying.difference(self.outside) | self._known.local
        return set(external) - treated_as_staying

    def find_stated_from(self) -> dict[str, float]:
        """Find the thresholds that `prefrag prove` has chosen for the user's own collections.

        :returns: For what answers, ``reader`` or ``model``, the lowest probability with which an answer is called
            stated. It is empty if nothing was chosen. Only the usual limits then decide.
        """
        return find_stated_from(self._known.own)

    def narrow(self, wanted: Mapping[str, object], filters: Mapping[str, object] | None = None) -> dict[str, object]:
        """Make the filter for the folders, kinds of files and dates that a user wrote.

        :param wanted: Any of the keys ``folders``, ``kinds``, ``since`` and ``until``.
        :param filters: Haystack metadata filters that documents must match, too. None adds no further filter.
        :returns: Haystack metadata filters.
        :raises BadInput: When the pipeline has no collection of the user's own documents, or no file matches.
        """
        if not self._known.own:
            names = ", ".join(wanted)
            raise BadInput(f"This pipeline cannot select files by {names}: leave these options out.")
        return narrow_filters(self._known.own, wanted, filters)

    def describe_documents(self) -> str:
        """Describe the files of the local collections: their number, kinds, folders and dates.

        :returns: A sentence. It is empty if there are no files, or if the collection is not on this machine.
        """
        stores = [store for store in self._known.own if is_tantivy_store(store)]
        paths: set[str] = set()
        for store in stores:
            paths.update(store.count_values("file_path"))
        if not paths:
            return ""

        dates: list[str] = []
        for store in stores:
            dates += store.count_values("date")
        period = ""
        if len(dates) > 1:
            period = f", with dates from {min(dates)} to {max(dates)}"
        files = _describe_paths(paths)
        return f"Searched are {files}{period}."


def _describe_paths(paths: Iterable[str]) -> str:
    """Describe the number, the kinds and the folders of files.

    For example, ``_describe_paths(["/d/a/1.pdf", "/d/b/2.pdf"])`` returns
    ``"2 files (2 .pdf), among them the folders a, b"``.
    """
    files = [PurePath(path) for path in sorted(paths)]
    number_of_files = counted(len(files), "file")
    counts = Counter(file.suffix.lower() or "without a suffix" for file in files)
    kinds = ", ".join(f"{count} {kind}" for kind, count in counts.most_common(_MOST_NAMED))
    description = f"{number_of_files} ({kinds})"
    folders = ", ".join(_find_folders(files))
    if folders:
        description = f"{description}, among them the folders {folders}"
    return description


def _find_folders(files: Iterable[PurePath]) -> list[str]:
    """Find up to five folders with the most files, directly below the folder that holds all files.

    Uploaded files are left out, because they have no folder of the user.
    """
    uploads = data_directory()
    folders = [file.parent for file in files if not file.is_relative_to(uploads)]
    # Files on several drives have no folder in common.
    drives = {folder.anchor for folder in folders}
    if len(drives) != 1:
        return []

    common_folder = PurePath(os.path.commonpath(folders))
    counts: Counter[str] = Counter()
    for folder in folders:
        if folder != common_folder:
            name, *_ = folder.relative_to(common_folder).parts
            counts[name] += 1
    return [name for name, _ in counts.most_common(_MOST_NAMED)]


def _without_repeats(stores: Iterable[Store]) -> list[Store]:
    """Return the stores without those that have the same settings as another one."""
    # A pipeline may name the same collection in several places.
    by_settings = {}
    for store in stores:
        settings = json.dumps(store.to_dict(), sort_keys=True, default=str)
        by_settings[settings] = store
    return list(by_settings.values())


def _is_external_source(part: object) -> bool:
    """Check whether a part of a pipeline is a source that sends queries to the web or another external place."""
    return isinstance(part, RetrievalSource) and part.external
