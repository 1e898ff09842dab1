"""Finding the files to index."""

import gzip
import os
from pathlib import Path

import pytest

from prefrag.collections.indexing import index
from prefrag.components.document_stores.tantivy.index_location import index_path
from tests.indexing.samples import Make, stored, texts


class TestAPath:
    def test_that_is_hidden_is_left_out_unless_it_is_named(self, make: Make, tmp_path: Path) -> None:
        make(".git/a.txt", "Hidden folder.")
        hidden = make(".b.txt", "Hidden file.")
        # Word has such a file beside each document that is open.
        make("~$lease.docx", "\x05Ada")
        make("c.txt", "Seen.")

        report = index([tmp_path / "docs"])

        assert texts() == ["Seen."]
        assert report.skipped == []
        index([hidden])
        assert texts() == ["Hidden file.", "Seen."]

    def test_that_is_missing_stops_before_anything_is_indexed(self, make: Make, tmp_path: Path) -> None:
        with pytest.raises(FileNotFoundError, match=r"There is no file or folder .*typo\. Nothing was indexed"):
            index([make("a.txt"), tmp_path / "typo"])

        assert not index_path("default").exists()

    @pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
    def test_to_a_pipe_is_reported_and_not_waited_for(self, make: Make) -> None:
        folder = make("a.txt").parent
        for name in ("pipe.txt", "pipe"):
            os.mkfifo(folder / name)
        report = index([folder])
        assert [skipped.reason for skipped in report.skipped] == ["it is not a regular file"]
        assert report.other_kinds == {"": 1}

    def test_whose_name_is_no_text_is_reported(self, make: Make) -> None:
        folder = make("a.txt").parent
        try:
            (Path(os.fsdecode(os.fsencode(folder) + b"/\xff.txt"))).write_text("x")
        except OSError:
            pytest.skip("this file system takes only names in UTF-8")

        report = index([folder])

        assert "rename it" in report.skipped[0].reason
        assert str(report.skipped[0]).encode()


class TestABadEntry:
    @pytest.fixture
    def refused(self, make: Make, monkeypatch: pytest.MonkeyPatch) -> Path:
        """A folder of two files, to which a link leads that may not be read, as in /proc/1."""
        make("a.txt", "Read.")
        folder = make("b.txt", "Read too.").parent
        (folder / "cwd").symlink_to("/")
        read = os.readlink

        def refuse(path: str, **options: int) -> str:
            if os.path.basename(path) == "cwd":
                raise PermissionError(13, "Permission denied", path)
            return read(path, **options)

        monkeypatch.setattr(os, "readlink", refuse)
        return folder

    def test_is_named_and_the_rest_of_the_folder_is_read(self, refused: Path) -> None:
        report = index([refused])

        assert texts() == ["Read too.", "Read."]
        assert [str(skipped) for skipped in report.skipped] == [
            f"{refused / 'cwd'}: it cannot be read (Permission denied)"
        ]

    def test_may_be_a_link_to_itself_or_a_file_without_permission(
        self, make: Make, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        folder = make("a.txt", "Read.").parent
        (folder / "loop").symlink_to("loop")
        closed = make("README", "Closed.")
        opened = Path.open

        def refuse(path: Path, *arguments: object, **options: object) -> object:
            if path == closed:
                raise PermissionError(13, "Permission denied", str(path))
            return opened(path, *arguments, **options)  # type: ignore[call-overload]

        monkeypatch.setattr(Path, "open", refuse)

        report = index([folder])

        assert texts() == ["Read."]
        assert {Path(skipped.path).name for skipped in report.skipped} == {"README", "loop"}


class TestALinkThatLeadsOutOfTheFolder:
    @pytest.fixture
    def folder(self, make: Make, tmp_path: Path) -> Path:
        """A folder with links to a file and a folder outside, from which a link leads on to a third place."""
        for place in ("outside", "far"):
            (tmp_path / place).mkdir()
            (tmp_path / place / f"{place}.txt").write_text(f"{place}.")
        (tmp_path / "alone.txt").write_text("alone.")
        (tmp_path / "outside" / "on").symlink_to(tmp_path / "far")
        (tmp_path / "outside" / "back").symlink_to(tmp_path / "docs")
        folder = make("sub/a.txt", "inside.").parent.parent
        (folder / "link").symlink_to(tmp_path / "outside")
        (folder / "alone.txt").symlink_to(tmp_path / "alone.txt")
        (folder / "within").symlink_to(folder / "sub")
        return folder

    def test_is_followed_but_not_from_there_onwards(self, folder: Path) -> None:
        report = index([folder], links=True)

        assert texts() == ["alone.", "inside.", "outside."]
        assert (report.links_left, report.skipped) == (1, [])

    def test_is_left_and_counted_unless_links_are_wanted(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        report = index([folder])

        assert texts() == ["inside."]
        left = "Links not followed, as they lead out: 2."
        assert report.describe_links() == f"{left} PREFRAG_FOLLOW_LINKS=on follows them."
        monkeypatch.setenv("PREFRAG_FOLLOW_LINKS", "on")
        assert report.describe_links() == left


class TestAFileWithoutASuffix:
    def test_is_read_where_it_is_text_and_refused_where_it_is_given(self, make: Make) -> None:
        make("LICENSE", "You may copy it.")
        make("NEWS", "Gr\u00f6\u00dfe und \u00dcbermut.".encode("latin-1"))
        program = make("program", b"\x7fELF\x02\0\0")
        make("empty", b"")
        folder = make("id_ed25519", "-----BEGIN OPENSSH PRIVATE KEY-----\nb3Bl\n").parent
        report = index([folder])
        assert texts() == ["Gr\u00f6\u00dfe und \u00dcbermut.", "You may copy it."]
        assert (report.skipped, report.other_kinds) == ([], {"": 3})
        [skipped] = index([program]).skipped
        assert "text without a suffix" in skipped.reason


class TestOneFileHasOneIdentity:
    def test_however_often_and_by_whatever_path_it_is_given(
        self, make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        path = make("inner/a.txt")
        monkeypatch.chdir(tmp_path)

        report = index(["docs", "docs/inner", "docs/inner/../inner/a.txt", str(path), path])

        assert (report.files, report.written) == (1, 1)
        assert index([path.parent]).unchanged == 1
        assert [passage.meta["file_path"] for passage in stored().values()] == [str(path)]

    def test_through_links_and_loops_of_links(self, make: Make, tmp_path: Path) -> None:
        path = make("inner/a.txt")
        (tmp_path / "docs" / "loop").symlink_to(tmp_path / "docs")
        # There are two links in one folder. If they were followed without end, each level would double the folders.
        (path.parent / "up").symlink_to(path.parent)
        (path.parent / "again").symlink_to(path.parent)
        (path.parent / "same.txt").symlink_to(path)
        (tmp_path / "docs" / "broken.txt").symlink_to(tmp_path / "docs" / "nowhere")

        report = index([tmp_path / "docs"])

        assert [passage.meta["file_path"] for passage in stored().values()] == [str(path)]
        assert ["No such file" in skipped.reason for skipped in report.skipped] == [True]

    def test_two_files_of_the_same_content_are_two(self, make: Make) -> None:
        index([make("a.txt", "Same."), make("b.txt", "Same.")])

        assert len(stored()) == 2


class TestAName:
    def test_with_a_number_behind_the_last_dot_has_no_suffix(self, make: Make) -> None:
        make("LGPL-2.1", "You may link it.")
        make("node_modules/a/index.js", "var a")
        folder = make("data.7", b"\x7fELF\x02\0\0").parent

        report = index([folder])

        assert [(passage.content, passage.meta["title"]) for passage in stored().values()] == [
            ("You may link it.", "LGPL-2.1")
        ]
        assert report.other_kinds == {".7": 1}

    def test_of_a_compressed_text_is_read_as_what_is_in_it(self, make: Make) -> None:
        make("notes.md.gz", gzip.compress(b"# The yard\n\nIt lies in Cork."))
        make("NEWS.gz", gzip.compress(b"\x89PNG\0\0"))
        make("backup.tar.gz", gzip.compress(b"tar"))
        make("cut.txt.gz", gzip.compress(b"The yard lies in Cork.")[:-9])
        folder = make("zeros.txt.gz", gzip.compress(b" " * 60_000_000)).parent

        report = index([folder])

        assert texts() == ["The yard\nIt lies in Cork."]
        assert report.other_kinds == {".gz": 1}
        reasons = {Path(skipped.path).name: skipped.reason for skipped in report.skipped}
        assert "not text" in reasons.pop("NEWS.gz")
        assert "cannot be unpacked" in reasons.pop("cut.txt.gz")
        assert "more than 50 MB" in reasons.pop("zeros.txt.gz")
        assert reasons == {}
