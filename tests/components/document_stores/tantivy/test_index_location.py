import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from haystack import Document

import prefrag
from prefrag.components.document_stores.tantivy.document_store import TantivyDocumentStore
from prefrag.components.document_stores.tantivy.index_location import (
    data_directory,
    index_exists,
    index_path,
    resolve_index,
    resolve_web_index,
)


@pytest.fixture(autouse=True)
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PREFRAG_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.delenv("PREFRAG_INDEX", raising=False)
    monkeypatch.delenv("PREFRAG_WEB_INDEX", raising=False)
    return tmp_path / "data"


@pytest.fixture
def demo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout of its own, with a demo corpus for either source."""
    folder = tmp_path / "checkout" / "demo"
    folder.mkdir(parents=True)
    for name in ("local", "web"):
        passage = {"id": name, "title": "Heron", "text": f"A {name} heron.", "source": name}
        (folder / f"{name}.jsonl").write_text(json.dumps(passage) + "\n")
    monkeypatch.setattr(prefrag, "__file__", str(tmp_path / "checkout" / "__init__.py"))
    return folder


def make(name: str) -> Path:
    path = index_path(name)
    TantivyDocumentStore(path=str(path)).write_documents([Document(id=name, content="heron")])
    return path


def content(path: Path | None) -> list[str | None]:
    assert path is not None
    # Written in one call, so in the order of the corpus.
    return [document.content for document in TantivyDocumentStore(path=str(path)).filter_documents()]


class TestDataDirectory:
    def test_is_the_one_that_was_set(self, data):
        assert data_directory() == data

    @pytest.mark.skipif("sys.platform == 'win32'")
    def test_is_the_users_data_folder_otherwise(self, monkeypatch, tmp_path):
        monkeypatch.delenv("PREFRAG_DATA_DIR")
        monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
        assert data_directory() == tmp_path / "prefrag"
        monkeypatch.delenv("XDG_DATA_HOME")
        monkeypatch.setenv("HOME", str(tmp_path))
        assert data_directory() == tmp_path / ".local" / "share" / "prefrag"


class TestNames:
    def test_an_index_lies_under_its_name(self, data):
        assert index_path("my-index_2.0") == data / "indexes" / "my-index_2.0"

    @pytest.mark.parametrize("name", ["", ".", "..", "a/b", "../a", "-a", "a b", "a\n", "ä", "a" * 65])
    def test_a_name_that_is_no_folder_name_is_refused(self, name):
        with pytest.raises(ValueError, match="cannot name an index"):
            index_path(name)

    @pytest.mark.parametrize("name", ["demo", "demo-web"])
    def test_the_demo_keeps_its_names(self, name):
        with pytest.raises(ValueError, match="choose another name"):
            index_path(name)


class TestResolving:
    def test_the_name_given_comes_first(self, monkeypatch):
        one, two = make("one"), make("two")
        monkeypatch.setenv("PREFRAG_INDEX", "two")
        assert resolve_index("one") == one
        assert resolve_index() == two

    def test_then_the_default_once_it_exists_and_else_the_demo(self, demo):
        assert content(resolve_index()) == ["A local heron."]
        assert resolve_index() == resolve_index("demo")
        assert resolve_index() != (default := make("default"))
        assert resolve_index() == default
        assert content(resolve_index("demo")) == ["A local heron."]

    def test_a_named_index_that_is_missing_says_how_to_make_it(self, demo, monkeypatch):
        with pytest.raises(FileNotFoundError, match="prefrag index YOUR_FILES --index absent"):
            resolve_index("absent")
        monkeypatch.setenv("PREFRAG_INDEX", "absent")
        with pytest.raises(FileNotFoundError, match="absent"):
            resolve_index()

    def test_an_opened_store_moves_to_the_default_when_it_appears(self, demo):
        store = TantivyDocumentStore()
        assert [d.id for d in store.search("heron")] == ["local"]
        make("default")
        assert [d.id for d in store.search("heron")] == ["default"]

    def test_the_web_has_a_stand_in_with_the_demo_only(self, demo, monkeypatch):
        assert content(resolve_web_index()) == ["A web heron."]
        make("default")
        assert resolve_web_index() is None
        monkeypatch.setenv("PREFRAG_INDEX", "demo")
        assert content(resolve_web_index()) == ["A web heron."]

    def test_the_web_can_be_given_a_stand_in(self, demo, monkeypatch):
        pages, other = make("pages"), make("other")
        monkeypatch.setenv("PREFRAG_WEB_INDEX", "pages")
        assert resolve_web_index() == pages
        assert resolve_web_index("other") == other
        with pytest.raises(FileNotFoundError, match="absent"):
            resolve_web_index("absent")


class TestDemo:
    def test_is_built_once(self, demo):
        first = resolve_index("demo")
        built = (first / "meta.json").stat().st_mtime_ns
        assert resolve_index("demo") == first
        assert (first / "meta.json").stat().st_mtime_ns == built
        assert [entry.name for entry in first.parent.iterdir()] == [first.name]

    def test_is_built_anew_when_its_corpus_was_edited(self, demo):
        before = resolve_index("demo")
        with (demo / "local.jsonl").open("a") as corpus:
            corpus.write(json.dumps({"id": "new", "title": "Crane", "text": "A crane."}) + "\n")
        after = resolve_index("demo")
        assert after != before
        assert content(after) == ["A local heron.", "A crane."]

    def test_two_first_uses_at_once_build_one(self, demo):
        with ThreadPoolExecutor(4) as threads:
            paths = set(threads.map(resolve_index, ["demo"] * 4))
        assert [content(path) for path in paths] == [["A local heron."]]
        [path] = paths
        assert [entry.name for entry in path.parent.iterdir()] == [path.name]

    def test_is_never_written_to(self, demo):
        with pytest.raises(ValueError, match="choose another name"):
            TantivyDocumentStore(index="demo").write_documents([Document(content="heron")])

    def test_a_missing_corpus_is_named(self, demo):
        (demo / "local.jsonl").unlink()
        with pytest.raises(FileNotFoundError, match=r"local\.jsonl is missing"):
            resolve_index()

    def test_a_data_directory_that_cannot_be_written_is_named(self, demo, data):
        data.write_text("a file in the way")
        with pytest.raises(OSError, match="Set PREFRAG_DATA_DIR"):
            resolve_index()

    def test_a_corpus_with_a_mistake_leaves_nothing_behind(self, demo, data):
        (demo / "local.jsonl").write_text("no JSON\n")
        with pytest.raises(ValueError, match=r"local\.jsonl, line 1"):
            resolve_index()
        assert list((data / "demo").iterdir()) == []


def test_a_folder_without_an_index_holds_none(tmp_path):
    assert not index_exists(tmp_path)
    assert not index_exists(tmp_path / "nowhere")
    assert index_exists(make("some"))
