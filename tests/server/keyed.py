"""An application over real indexes, asked with a key that a test chooses."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

from hayhooks.server.pipelines.registry import registry
from haystack import Document
from starlette.testclient import TestClient

from prefrag.collections.changes.uploads import add_uploads
from prefrag.collections.collection import Collection
from prefrag.components.document_stores.tantivy.index_location import index_path
from prefrag.indexing.report import IndexReport
from prefrag.pipelines.loading import YAML_PIPELINES, read_block
from prefrag.server.access.keys import ANYONE, Access
from prefrag.server.app import create_app
from prefrag.server.library import collection_pipelines, collection_routes, collections
from tests.fakes import CALLS
from tests.indexes import index_of
from tests.pipelines.scripted import answer, scripted_block, search, write_yaml
from tests.server.serving import SHARED

WRITER = Access("ada", writes=True)


class Client(TestClient):
    """A client whose key the test can change."""

    access = ANYONE

    def ask(self, collection: str | None = None, **options: Any) -> Any:
        """Ask the scripted pipeline, which searches once for `tower`."""
        CALLS.clear()
        named = {} if collection is None else {"collection": collection}
        return self.post("/prefrag/run", json={"question": "Who built the tower?", **named, **options})

    def found(self, collection: str | None = None) -> list[str]:
        """Ask, and list the texts that were found."""
        return [each["content"] for each in self.ask(collection).json()["result"]["documents"]]

    def upload(self, collection: str, **files: str | bytes) -> Any:
        """Upload files; in the names of the arguments, underscores stand for dots."""
        parts = [("files", (name.replace("_", "."), content)) for name, content in files.items()]
        return self.post(f"/collections/{collection}/documents", files=parts)

    def names(self, collection: str) -> list[str]:
        """List the names of the documents of a collection."""
        return [each["name"] for each in self.get(f"/collections/{collection}/documents").json()["documents"]]

    def document(self, collection: str, name: str) -> str:
        """The route of a document."""
        listed = self.get(f"/collections/{collection}/documents").json()["documents"]
        [document] = [each["id"] for each in listed if each["name"] == name]
        return f"/collections/{collection}/documents/{document}"


def make_index(name: str, *texts: str) -> None:
    """Make an index of passages."""
    index_of([Document(id=f"{name}-{n}", content=text) for n, text in enumerate(texts)], index_path(name))


def write_pipeline(folder: Path, *replies: str, local: str = "prefrag", **settings: Any) -> Path:
    """Write the pipeline `prefrag` with a scripted model and web, whose local source searches as a shipped one does."""
    block = scripted_block(*(replies or (search("tower"), answer("Ada"))), **settings)
    shipped = read_block(YAML_PIPELINES / f"{local}.yaml")["components"]
    block["components"]["local"]["init_parameters"]["retriever"] = shipped["local"]["init_parameters"]["retriever"]
    # The script makes up its answers, but the reader of a forced answer also chooses the suggested questions.
    block["components"]["forced"]["init_parameters"]["reader"] = shipped["forced"]["init_parameters"]["reader"]
    folder.mkdir(exist_ok=True)
    (folder / "prefrag.yaml").write_text(write_yaml(block), encoding="utf-8")
    return folder / "prefrag.yaml"


@contextmanager
def serving() -> Iterator[Client]:
    """Start an application; the environment must be set before."""
    with SHARED.aside(), Client(create_app()) as client, _ask_with_key_of(client):
        yield client


@contextmanager
def in_shared_application(pipeline: Any, file: Path) -> Iterator[Client]:
    """Put a pipeline into the application that all tests share, which is already running.

    Requests to it must not wait for each other, because each has an event loop of its own.
    """
    app, _ = SHARED.start()
    wrapper: Any = registry.get("prefrag")
    client = Client(app)
    with mock.patch.multiple(wrapper, pipeline=pipeline, name=str(file)), _ask_with_key_of(client):
        yield client


def as_writer() -> AbstractContextManager[None]:
    """Let every request write, whatever its key."""
    return _ask_with_key_of(SimpleNamespace(access=WRITER))


@contextmanager
def _ask_with_key_of(client: Any) -> Iterator[None]:
    """Give every request the access that the client says, without looking at keys."""
    key = SimpleNamespace(get=lambda: client.access)
    with ExitStack() as patches:
        for module in (collections, collection_pipelines, collection_routes):
            patches.enter_context(mock.patch.object(module, "current_access", key))
        yield


def index_here(self: Any, collection: Collection, incoming: Path) -> IndexReport:
    """Index in this process, because another process takes seconds to start."""
    return add_uploads(collection, incoming)
