"""Folders are named relative to the collection."""

from pathlib import Path

from prefrag.components.document_stores.folder_names import name_folders


def test_folders_are_named_below_their_common_folder():
    paths = ["/home/ada/files/a.md", "/home/ada/files/letters/b.md", "/home/ada/files/letters/2024/c.md"]

    assert list(name_folders(paths).values()) == ["", "letters", "letters/2024"]
    assert name_folders(["/home/ada/a.md"]) == {"/home/ada/a.md": ""}
    assert name_folders([]) == {}

    paths = ["/home/ada/files/a.md", "/home/ada/files/b/c.md", "/srv/minutes/d.md", "/e.md"]

    assert list(name_folders(paths).values()) == ["files", "files/b", "minutes", ""]


def test_uploads_are_at_the_top_and_move_nothing():
    uploads = Path("/data/uploads/notes")

    paths = [
        "/home/ada/letters/b.md",
        "/home/ada/bills/c.md",
        "/data/uploads/notes/d.md",
        "/data/uploads/notes/upload-1/e.md",
    ]

    assert list(name_folders(paths, uploads).values()) == ["letters", "bills", "", ""]
