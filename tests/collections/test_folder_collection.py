from pathlib import Path

from prefrag.collections.folder_collection import find_collection
from prefrag.collections.local_collection import LocalCollection
from prefrag.components.document_stores.tantivy.index import index_exists
from prefrag.components.document_stores.tantivy.index_location import FOLLOWED_FOLDER_FILE, index_path
from tests.for_each import for_each


def folder_of(place: Path, name: str) -> Path:
    (made := place / name).mkdir(parents=True)
    return made


def test_starts_empty_and_is_found_again_by_any_folder_name(tmp_path: Path):
    folder = folder_of(tmp_path, "Documents")
    (tmp_path / "link").symlink_to(folder)

    assert find_collection(folder) == "Documents"
    assert index_exists(index_path("Documents"))
    assert [find_collection(tmp_path / "link"), find_collection(folder / ".." / "Documents")] == ["Documents"] * 2


def test_another_folder_of_that_name_gets_a_number_and_keeps_it(tmp_path: Path):
    folders = [folder_of(tmp_path / each, name) for each, name in (("a", "Notes"), ("b", "notes"), ("c", "Notes"))]

    names = [find_collection(each) for each in folders]

    assert names == ["Notes", "notes-2", "Notes-3"]
    assert [find_collection(each) for each in folders] == names


def test_a_mark_of_another_index_that_is_cut_off_hinders_none(tmp_path: Path):
    other = index_path(find_collection(folder_of(tmp_path, "Überblick")))
    (other / FOLLOWED_FOLDER_FILE).write_bytes(str(tmp_path / "Ü").encode()[:-1])

    assert find_collection(folder_of(tmp_path, "Notes")) == "Notes"


def test_a_file_comes_back_while_it_lies_in_the_folder(tmp_path: Path):
    folder = folder_of(tmp_path, "Notes")
    paths = [folder / "a.md", folder / "gone.md", tmp_path / "Notes of others.md"]
    paths[0].touch(), paths[2].touch()

    assert [LocalCollection(find_collection(folder)).would_index_again(str(path)) for path in paths] == [
        True,
        False,
        False,
    ]


def test_an_index_of_the_command_line_is_no_folders(tmp_path: Path):
    index_path("Mail").mkdir(parents=True)

    assert find_collection(folder_of(tmp_path, "Mail")) == "Mail-2"


@for_each(
    "folder, name",
    ("Döcu menté", "Docu-mente"),
    ("文件", "folder"),
    (".notes", "notes"),
    ("con", "con-2"),
    ("demo", "demo-2"),
    ("a" * 200, "a" * 56),
)
def test_its_name_is_in_the_characters_of_an_index(tmp_path: Path, folder: str, name: str):
    assert find_collection(folder_of(tmp_path, folder)) == name
