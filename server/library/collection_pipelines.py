"""Find the pipeline that searches the collection named in a request.

A collection is an index with its documents. A pipeline searches a fixed collection. So for each further collection, a
copy of the pipeline is loaded when a request first names the collection.
"""

import asyncio
from collections import OrderedDict
from typing import NamedTuple
from weakref import WeakValueDictionary

from prefrag import pipelines
from prefrag.components.document_stores.store_kinds import is_elasticsearch_store, is_tantivy_store
from prefrag.components.document_stores.tantivy.index import index_exists
from prefrag.components.document_stores.tantivy.index_location import index_path
from prefrag.components.parts import ELASTICSEARCH_STORE, STORES, TANTIVY_STORE, holds_documents, walk_parts
from prefrag.errors import BadInput
from prefrag.pipelines.blocks import Block, is_block_of, parameters_of
from prefrag.pipelines.loading import Pipeline
from prefrag.server.access.keys import current_access
from prefrag.server.library.collections import (
    WEB_RETRIEVER,
    NoSuchCollection,
    check_collection,
    is_allowed,
    is_listed,
    served_collection,
)

# How many recently used copies of a pipeline stay loaded. A copy takes at most a megabyte, because models are shared.
MOST_LOADED = 16


class _Indexes(NamedTuple):
    """The indexes that a pipeline searches.

    :param own: The index that the collection of a request replaces: the default collection if the pipeline searches
        that, or else the only index of the pipeline. Otherwise None.
    :param others: The names of all other indexes, and the classes of other stores.
    :param kinds: The classes of the stores of all these indexes: in Elasticsearch, or on this machine.
    """

    own: str | None
    others: set[str]
    kinds: set[str]


class CollectionPipelines:
    """Finds the pipeline for the collection of a request.

    The server starts with a pipeline that searches a single collection. For another collection, a copy is loaded. In
    this copy, the other collection is the `index` of the document store and the `local_index` of the web retriever.

    :param name: The name of the pipeline, or the path of its YAML file.
    :param pipeline: The pipeline with which the server started.
    """

    def __init__(self, name: str, pipeline: Pipeline):
        self.pipeline = pipeline
        self._name = name
        # All copies that are still in use, by collection. A copy is also in use while a request runs with it.
        self._loaded: WeakValueDictionary[str, Pipeline] = WeakValueDictionary()
        # The copies that were used last, the most recent at the end. They stay loaded.
        self._recent: OrderedDict[str, Pipeline] = OrderedDict()
        # The copies that are being loaded at the moment.
        self._loading: dict[str, asyncio.Task[Pipeline]] = {}
        self._indexes = _find_indexes(pipeline)

    async def find(self, collection: str | None) -> Pipeline:
        """Find the pipeline of a collection, and load it if needed.

        :param collection: The name of the collection. None means the default collection. If the key does not allow the
            default, None means the only collection that the key allows.
        :raises BadInput: If the key or the pipeline does not allow the request as it is.
        :raises NoSuchCollection: If the collection does not exist or may not be used.
        """
        own = self._indexes.own
        allowed = current_access.get().collections
        if allowed is not None and not self._indexes.others <= allowed:
            raise BadInput("This pipeline also searches documents that your key rules out: use another pipeline.")

        if collection is None:
            if own is None or is_allowed(own):
                return self.pipeline
            usable = [name for name in allowed or () if is_listed(name)]
            if len(usable) != 1:
                raise BadInput(
                    "Name a collection in `collection`. GET /collections lists the ones that this key may use."
                )
            [collection] = usable

        if own is None:
            raise BadInput("This pipeline searches fixed collections: leave `collection` out.")
        if collection == own and is_allowed(collection):
            return self.pipeline
        check_collection(collection, by_name=ELASTICSEARCH_STORE in self._indexes.kinds)
        if TANTIVY_STORE in self._indexes.kinds and not index_exists(index_path(collection)):
            raise NoSuchCollection

        pipeline = self._loaded.get(collection)
        if pipeline is not None:
            self._keep(collection, pipeline)
            return pipeline
        if collection not in self._loading:
            self._loading[collection] = asyncio.create_task(self._load_once(collection))
        # Shield the loading. It must go on for other clients if the client that started it disconnects.
        return await asyncio.shield(self._loading[collection])

    async def _load_once(self, collection: str) -> Pipeline:
        """Load a copy in a thread. Requests that come meanwhile wait for the same task."""
        try:
            pipeline = await asyncio.to_thread(self._load, collection)
            self._loaded[collection] = pipeline
            self._keep(collection, pipeline)
            return pipeline
        finally:
            del self._loading[collection]

    def _keep(self, collection: str, pipeline: Pipeline) -> None:
        """Note that a copy was just used. If too many copies stay loaded, drop the one whose last use is oldest."""
        self._recent[collection] = pipeline
        self._recent.move_to_end(collection)
        if len(self._recent) > MOST_LOADED:
            self._recent.popitem(last=False)

    def _load(self, collection: str) -> Pipeline:
        """Load a copy of the pipeline that searches the collection."""

        def change(block: Block) -> Block:
            """Replace the own index by the collection, if this part of the YAML names it."""
            if is_block_of(block, WEB_RETRIEVER):
                parameter = "local_index"
            elif any(is_block_of(block, kind) for kind in STORES):
                parameter = "index"
            else:
                return block
            parameters = parameters_of(block)
            index = parameters.get(parameter) or served_collection()
            has_fixed_path = bool(parameters.get("path"))
            if index != self._indexes.own or has_fixed_path:
                return block
            return {**block, "init_parameters": {**parameters, parameter: collection}}

        pipeline: Pipeline = pipelines.load(self._name, replace=change)
        pipeline.warm_up()
        return pipeline


def _find_indexes(pipeline: Pipeline) -> _Indexes:
    """Find which indexes a pipeline searches."""
    kinds: set[str] = set()
    names: set[str] = set()
    # The stores whose index has no name, or none that a request could replace.
    others: set[str] = set()
    for _, part in walk_parts(pipeline):
        if is_elasticsearch_store(part):
            kinds.add(ELASTICSEARCH_STORE)
            names.add(part._index)
        elif is_tantivy_store(part) and part.path is None:
            kinds.add(TANTIVY_STORE)
            names.add(part.index or served_collection())
        elif holds_documents(part):
            others.add(type(part).__name__)
    own = None
    if served_collection() in names:
        own = served_collection()
    elif len(names) == 1:
        [own] = names
    others |= {name for name in names if name != own}
    return _Indexes(own, others, kinds)
