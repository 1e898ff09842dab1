import json
from concurrent.futures import ThreadPoolExecutor

import pytest
from haystack import Document

from prefrag.components.document_stores.tantivy.document_store import TantivyDocumentStore
from prefrag.components.document_stores.tantivy.index_location import resolve_index
from tests.components.document_stores.tantivy.passages import content

pytestmark = pytest.mark.usefixtures("data")


class TestDemo:
    def test_the_demo_is_built_anew_when_its_corpus_changes(self, demo):
        first = resolve_index("demo")
        built = (first / "meta.json").stat().st_mtime_ns
        assert resolve_index("demo") == first
        assert (first / "meta.json").stat().st_mtime_ns == built
        assert [entry.name for entry in first.parent.iterdir()] == [first.name]

        with (demo / "local.jsonl").open("a") as corpus:
            corpus.write(json.dumps({"id": "new", "title": "Crane", "text": "A crane."}) + "\n")
        after = resolve_index("demo")
        assert after != first
        assert content(after) == ["A local heron.", "A crane."]
        with pytest.raises(ValueError, match="choose another name"):
            TantivyDocumentStore(index="demo").write_documents([Document(content="heron")])

    def test_two_first_uses_at_once_build_one(self, demo):
        with ThreadPoolExecutor(4) as threads:
            paths = set(threads.map(resolve_index, ["demo"] * 4))
        assert [content(path) for path in paths] == [["A local heron."]]
        [path] = paths
        assert [entry.name for entry in path.parent.iterdir()] == [path.name]

    def test_a_faulty_corpus_leaves_nothing_a_missing_one_is_named(self, demo, data):
        (demo / "local.jsonl").write_text("no JSON\n")
        with pytest.raises(ValueError, match=r"local\.jsonl, line 1"):
            resolve_index()
        assert list((data / "demo").iterdir()) == []
        (demo / "local.jsonl").unlink()
        with pytest.raises(FileNotFoundError, match=r"local\.jsonl is missing"):
            resolve_index()

    def test_a_data_directory_that_cannot_be_written_is_named(self, demo, data):
        data.write_text("a file in the way")
        with pytest.raises(OSError, match="Set PREFRAG_DATA_DIR"):
            resolve_index()
