import errno
import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from haystack import Document
from haystack.document_stores.errors import DocumentStoreError

from prefrag.collections.stores import index_lock
from prefrag.components.document_stores.tantivy import index_location
from prefrag.components.document_stores.tantivy.document_store import TantivyDocumentStore
from prefrag.components.document_stores.tantivy.index_location import (
    FOLLOWED_FOLDER_FILE,
    data_directory,
    explain_closed_data,
    find_open_entries,
    index_path,
    list_names,
    resolve_index,
    resolve_web_index,
    set_index_variable,
)
from tests.components.document_stores.tantivy.passages import content

pytestmark = pytest.mark.usefixtures("data")


def make(name: str) -> Path:
    path = index_path(name)
    TantivyDocumentStore(path=str(path)).write_documents([Document(id=name, content="heron")])
    return path


class TestDataDirectory:
    @pytest.mark.skipif("sys.platform == 'win32'")
    def test_the_data_directory_is_set_or_the_users_data_folder(self, monkeypatch, tmp_path, data):
        assert data_directory() == data
        monkeypatch.delenv("PREFRAG_DATA_DIR")
        monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
        assert data_directory() == tmp_path / "prefrag"
        monkeypatch.delenv("XDG_DATA_HOME")
        monkeypatch.setenv("HOME", str(tmp_path))
        assert data_directory() == tmp_path / ".local" / "share" / "prefrag"


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.skipif("os.name != 'posix'")
class TestTheDataDirectoryIsPrivate:
    @pytest.fixture(autouse=True)
    def umask(self) -> Iterator[None]:
        """Files are made readable by everybody, as on most systems."""
        before = os.umask(0o022)
        yield
        os.umask(before)

    def test_from_its_first_index_on(self, data):
        path = make("one")
        assert [mode(folder) for folder in (data, path.parent, path)] == [0o700] * 3
        assert find_open_entries() == []

    def test_where_a_lock_is_the_first_thing_in_it(self, data):
        with index_lock("one"):
            assert mode(data) == 0o700

    def test_after_an_upgrade_but_its_owner_can_open_it(self, monkeypatch, tmp_path):
        monkeypatch.delenv("PREFRAG_DATA_DIR")
        monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
        folder = tmp_path / "prefrag"
        (folder / "indexes").mkdir(parents=True)
        (folder / "models.json").touch()
        assert [path.name for path in find_open_entries()] == ["indexes", "models.json"]

        make("one")
        assert mode(folder) == 0o700
        folder.chmod(0o750)
        make("two")
        assert mode(folder) == 0o750, "what its owner has opened since stays open"

    def test_the_data_directory_is_made_private_but_no_link(self, monkeypatch, tmp_path):
        monkeypatch.delenv("PREFRAG_DATA_DIR")
        monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
        folder, elsewhere = tmp_path / "prefrag", tmp_path / "elsewhere"
        (folder / "indexes" / "old").mkdir(parents=True)
        (folder / "indexes" / "old" / "a.store").write_text("private")
        elsewhere.mkdir()
        (elsewhere / "theirs.txt").touch()
        (folder / "linked").symlink_to(elsewhere)
        (folder / "theirs.txt").symlink_to(elsewhere / "theirs.txt")

        make("one")

        assert mode(folder / "indexes" / "old") == 0o700
        assert mode(folder / "indexes" / "old" / "a.store") == 0o600
        assert (mode(elsewhere), mode(elsewhere / "theirs.txt")) == (0o755, 0o644)

    def test_but_not_a_folder_of_ones_own_that_an_index_is_put_into(self, tmp_path):
        chosen = tmp_path / "chosen"
        chosen.mkdir()
        (chosen / "photo").touch()

        TantivyDocumentStore(path=str(chosen / "index")).write_documents([Document(content="heron")])

        assert (mode(chosen), mode(chosen / "photo")) == (0o755, 0o644)
        assert mode(chosen / "index") == 0o700

    def test_as_to_what_is_ours_where_it_holds_other_things(self, data):
        (data / "uploads").mkdir(parents=True)
        (data / "photos").mkdir()
        path = make("one")
        assert (mode(data), mode(data / "photos")) == (0o755, 0o755)
        assert (mode(path.parent), mode(data / "uploads")) == (0o700, 0o700)
        assert [entry.name for entry in find_open_entries()] == ["photos"]


class TestNames:
    @pytest.mark.parametrize(
        ("name", "advice"),
        [
            *(
                (name, "cannot name a collection")
                for name in ("", ".", "..", "a/b", "../a", "-a", "a b", "a\n", "ä", "a" * 65, "CON", "aux.x", "a.")
            ),
            *((name, "choose another name") for name in ("demo", "demo-web")),
        ],
    )
    def test_an_index_lies_under_its_name(self, data, name, advice):
        assert index_path("my-index_2.0") == data / "indexes" / "my-index_2.0"
        with pytest.raises(ValueError, match=advice):
            index_path(name)


class TestResolving:
    def test_the_name_given_comes_first(self, monkeypatch):
        first, two = make("one"), make("two")
        monkeypatch.setenv("PREFRAG_INDEX", "two")
        assert resolve_index("one") == first
        assert resolve_index() == two

    def test_then_the_default_once_it_exists_and_else_the_demo(self, demo):
        assert content(resolve_index()) == ["A local heron."]
        assert resolve_index() == resolve_index("demo")
        assert resolve_index() != (default := make("default"))
        assert resolve_index() == default
        assert content(resolve_index("demo")) == ["A local heron."]

    def test_an_index_that_vanishes_is_not_replaced_by_the_demo(self, demo):
        default = make("default")
        assert resolve_index() == default
        shutil.rmtree(default)

        with pytest.raises(
            FileNotFoundError, match="prefrag index YOUR_FILES; or use the demo with PREFRAG_INDEX=demo"
        ):
            resolve_index()
        assert resolve_web_index() is None
        assert make("default") == resolve_index()

    def test_a_followed_folder_comes_between_default_and_demo(self, demo):
        folder = make("Documents")
        assert content(resolve_index()) == ["A local heron."]
        (folder / FOLLOWED_FOLDER_FILE).write_text("/home/me/Documents", encoding="utf-8")
        assert resolve_index() == folder
        assert resolve_web_index() is None
        shutil.copytree(folder, folder.with_name("Documents (copy)"))
        TantivyDocumentStore().write_documents([Document(id="new", content="crane")])
        assert TantivyDocumentStore(path=str(folder)).count_documents() == 2
        make("default")
        assert resolve_index() == folder  # A process keeps the index that it found.
        index_location._found.clear()
        assert resolve_index() == index_path("default")

    def test_of_several_followed_folders_one_has_to_be_chosen(self, demo, monkeypatch):
        for name in ("Documents", "club"):
            (make(name) / FOLLOWED_FOLDER_FILE).write_text(f"/home/me/{name}", encoding="utf-8")

        with pytest.raises(
            FileNotFoundError, match=r"Several folders are indexed \(Documents, club\): use --collection"
        ):
            resolve_index()
        assert (resolve_index("club"), resolve_web_index()) == (index_path("club"), None)
        monkeypatch.setenv("PREFRAG_INDEX", "Documents")
        assert resolve_index() == index_path("Documents")

    def test_a_server_never_falls_to_the_demo(self, demo, monkeypatch):
        monkeypatch.setenv("PREFRAG_INDEX", "")
        set_index_variable()

        with pytest.raises(FileNotFoundError, match="There is no collection 'default'"):
            resolve_index()
        assert resolve_web_index() is None

    def test_a_named_index_that_is_missing_states_how_to_make_it(self, demo, monkeypatch):
        with pytest.raises(FileNotFoundError, match="prefrag index YOUR_FILES --collection absent"):
            resolve_index("absent")
        monkeypatch.setenv("PREFRAG_INDEX", "absent")
        with pytest.raises(FileNotFoundError, match="absent"):
            resolve_index()

    def test_an_opened_store_moves_to_the_default_when_it_appears(self, demo):
        store = TantivyDocumentStore()
        assert [d.id for d in store.search("heron")] == ["local"]
        make("default")
        assert [d.id for d in store.search("heron")] == ["default"]

    def test_the_web_has_a_stand_in_with_the_demo_or_where_set(self, demo, monkeypatch):
        assert content(resolve_web_index()) == ["A web heron."]
        make("default")
        assert resolve_web_index() is None
        monkeypatch.setenv("PREFRAG_INDEX", "demo")
        assert content(resolve_web_index()) == ["A web heron."]
        pages, other = make("pages"), make("other")
        monkeypatch.setenv("PREFRAG_WEB_INDEX", "pages")
        assert (resolve_web_index(), resolve_web_index("other")) == (pages, other)
        with pytest.raises(FileNotFoundError, match="absent"):
            resolve_web_index("absent")


class TestAnIndexThatHasLostFiles:
    @pytest.mark.parametrize(
        "lost", [["meta.json"], ["prefrag-index.json"], ["meta.json", "prefrag-index.json", ".managed.json"]]
    )
    def test_is_called_damaged_and_never_the_demo(self, demo, lost):
        folder = make("default")
        for name in lost:
            (folder / name).unlink()

        assert resolve_index() == folder
        assert resolve_web_index() is None
        assert list_names() == ["default"]
        with pytest.raises(DocumentStoreError, match=r"default is damaged .*: restore its files, or move the folder"):
            TantivyDocumentStore().search("heron")
        with pytest.raises(DocumentStoreError, match="restore its files"):
            TantivyDocumentStore().write_documents([Document(content="crane")])

    def test_all_of_its_files_is_no_reason_for_the_demo(self, demo):
        shutil.rmtree(make("default"))
        index_path("default").mkdir()
        with pytest.raises(FileNotFoundError, match="There is no collection 'default'"):
            resolve_index()
        assert make("default") == resolve_index()


class TestADataDirectoryThatIsClosed:
    def test_is_named_with_what_to_do(self, data):
        error = PermissionError(errno.EACCES, "Permission denied", str(data / "indexes"))
        shown = str(explain_closed_data(error))
        assert f"The data folder {data} is closed to this account (Permission denied: {data / 'indexes'})" in shown
        assert "PREFRAG_DATA_DIR" in shown

        caused = DocumentStoreError("Cannot make an index.")
        caused.__cause__ = OSError(errno.EROFS, "Read-only file system", str(data))
        assert "is closed to this account" in str(explain_closed_data(caused))

    def test_is_no_reason_for_other_errors(self, data, tmp_path):
        others = [
            PermissionError(errno.EACCES, "Permission denied", str(tmp_path / "other")),
            PermissionError(errno.EACCES, "Permission denied"),
            OSError(errno.ENOSPC, "No space left on device", str(data)),
            FileNotFoundError(errno.ENOENT, "No such file", str(data)),
            ValueError("a mistake"),
        ]
        assert [explain_closed_data(error) for error in others] == others

    def test_is_not_taken_for_one_without_indexes(self, data, monkeypatch):
        def refuse(path: str | Path) -> list[str]:
            raise PermissionError(errno.EACCES, "Permission denied", str(path))

        monkeypatch.setattr(os, "listdir", refuse)
        with pytest.raises(PermissionError):
            list_names()
