"""`prefrag index`, `prefrag documents` and `prefrag collections`."""

import json
from pathlib import Path
from typing import Any

import pytest

from prefrag.cli import documents
from prefrag.collections import embedding, files
from prefrag.collections.collection import Collection
from prefrag.collections.folder_collection import find_collection
from prefrag.collections.local_collection import LocalCollection
from prefrag.components.document_stores.tantivy.index_location import index_path
from prefrag.indexing import file_conversion
from prefrag.indexing.file_forms import FORMS, PDF
from tests.cli.running import prefrag
from tests.for_each import for_each
from tests.full_disk import files_of_at_most, say_full


class TestIndex:
    def test_reports_what_it_did(self, corpus: Path):
        first, second = prefrag("index", corpus), prefrag("index", corpus)

        assert first.exit_code == second.exit_code == 0
        assert "3 passages written" in first.stdout
        assert "3 unchanged" in second.stdout

    def test_names_the_files_that_it_skipped_and_ends_with_4(self, corpus: Path):
        (corpus.parent / "empty.txt").write_bytes(b"")
        (photo := corpus.with_name(".hidden") / "photo.png").parent.mkdir()
        photo.write_bytes(b"\x89PNG")
        result = prefrag("index", corpus.parent, photo)
        assert result.exit_code == 4
        assert "empty.txt: it is empty" in result.stderr
        assert "photo.png: it is of a kind that is not read" in result.stderr
        assert "3 passages written" in result.stdout

    def test_leaves_links_that_lead_out_unless_they_are_asked_for(self, corpus: Path, monkeypatch: pytest.MonkeyPatch):
        folder = corpus.with_name("folder")
        folder.mkdir()
        (folder / "link.jsonl").symlink_to(corpus)

        left = prefrag("index", folder)
        monkeypatch.setenv("PREFRAG_FOLLOW_LINKS", "on")
        asked = prefrag("index", folder)

        assert "0 passages written" in left.stdout
        assert "Links not followed, as they lead out: 1. PREFRAG_FOLLOW_LINKS=on follows them." in left.stdout
        assert "3 passages written" in asked.stdout

    @for_each(
        "arguments, code",
        *((arguments, 2) for arguments in (("--language", "klingon"), ("--index", "../x"), ("--store", "shelf"))),
        (("nowhere.txt",), 3),
    )
    def test_a_wrong_setting_ends_with_2_and_a_missing_file_with_3(
        self, corpus: Path, arguments: tuple[str, ...], code: int
    ):
        result = prefrag("index", corpus, *arguments)
        assert result.exit_code == code
        assert code == 2 or "nowhere.txt" in result.stderr

    @pytest.mark.skipif("sys.platform == 'win32'")
    def test_a_full_disk_ends_with_1_and_says_so(self, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        prefrag("index", corpus)
        (tmp_path / "new.txt").write_text("A stork stands by the river.")
        say_full(monkeypatch)

        with files_of_at_most(100):
            result = prefrag("index", tmp_path / "new.txt")

        assert result.exit_code == 1
        assert "The disk is full" in result.stderr
        assert "3 passages in " in prefrag("documents", "list").stdout

    def test_only_counts_the_files_of_other_kinds_in_a_folder(self, corpus: Path):
        for name in ("photo.png", "logo.png", "backup.zip", "Makefile"):
            (corpus.parent / name).write_bytes(b"\x89PNG")

        result = prefrag("index", corpus.parent)

        assert result.exit_code == 0
        named = ["  2 .png: pictures hold no text", "  1 .zip: archives are not opened: unpack them"]
        named.append("  1 without a suffix: not text, empty, or a private key or credentials")
        assert sorted(line for line in result.stdout.splitlines() if line.startswith("  ")) == sorted(named)
        assert "photo" not in result.stdout + result.stderr

    def test_names_files_that_are_gone_and_ends_with_0(self, corpus: Path):
        notes = [corpus.with_name(f"note{n}.txt") for n in range(7)]
        for note in notes:
            note.write_text("A note on buoys.", encoding="utf-8")
        prefrag("index", corpus.parent)
        for note in notes:
            note.unlink()

        result = prefrag("index", corpus.parent)

        assert result.exit_code == 0
        assert f"7 files of these folders are gone: {notes[0]}, " in result.stdout
        assert f"{notes[4]}, .... Their passages stay; delete them with the same command and --prune." in result.stdout
        assert "note5" not in result.stdout

    def test_names_many_files_of_one_reason_once_and_ends_with_4(self, corpus: Path, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setitem(FORMS, PDF, FORMS[PDF]._replace(package="a_package_that_nobody_has"))
        monkeypatch.setattr(files, "converter_process", lambda pid: file_conversion.FileConverter())
        for number in range(9):
            corpus.with_name(f"paper{number}.pdf").write_bytes(b"%PDF-1.4")

        result = prefrag("index", corpus.parent)

        assert (result.exit_code, result.stderr.count('pip install "prefrag[files]"')) == (4, 1)
        assert ". And 8 more like this (.pdf)." in " ".join(result.stderr.split())
        assert "9 skipped" in result.stdout

    def test_prints_no_control_character_of_a_files_name(self, corpus: Path):
        name = "a\x1b[31m\nred.txt"
        (corpus.parent / name).write_bytes(b"")
        (corpus.parent / f"b{name}").write_text("Readable.", encoding="utf-8")

        indexed = prefrag("index", corpus.parent)
        listed = prefrag("documents", "list")
        (corpus.parent / f"b{name}").unlink()
        pruned = prefrag("documents", "prune")

        for text in (indexed.stderr, listed.stdout, pruned.stdout):
            assert "red.txt" in text
            assert "\x1b" not in text
            assert "\nred" not in text

    def test_prunes_after_indexing_with_the_option(self, corpus: Path):
        other = corpus.with_name("note.txt")
        other.write_text("A note on buoys.", encoding="utf-8")
        prefrag("index", corpus, other)
        other.unlink()

        result = prefrag("index", corpus, "--prune")

        assert "1 deleted" in result.stdout
        assert "note.txt" in result.stdout


class TestDocuments:
    def test_lists_files_with_passages_and_deletes_either(self, corpus: Path):
        prefrag("index", corpus)

        assert "corpus.jsonl" in prefrag("documents", "list").stdout
        (entry,) = json.loads(prefrag("documents", "list", "--json").stdout)
        assert entry["passages"] == 3
        result = prefrag("documents", "delete", "p1", "unheard-of")
        assert result.exit_code == 3, "what is not there"
        assert "1 passage deleted" in result.stdout
        assert (
            "Not in the collection: unheard-of. See what the collection contains: prefrag documents list"
            in result.stderr
        )
        assert f"Did you mean '{corpus.resolve()}'?" in prefrag("documents", "delete", "corpus.jsnl").stderr
        assert "2 passages deleted" in prefrag("documents", "delete", corpus).stdout

    def test_a_listing_names_what_could_not_be_read_and_why(self, corpus: Path, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setattr(files, "converter_process", lambda pid: file_conversion.FileConverter())
        corpus.with_name("empty.md").touch()
        prefrag("index", corpus.parent)

        listed = prefrag("documents", "list")

        assert "1 file could not be read, or only in part:" in listed.stderr
        assert "empty.md: it is empty" in " ".join(listed.stderr.split())

    def test_file_that_stays_in_a_followed_folder_is_said_to_return(self, tmp_path: Path):
        (folder := tmp_path / "Notes").mkdir()
        (folder / "crane.md").write_text("The crane.", encoding="utf-8")
        prefrag("index", folder, "--index", find_collection(folder), "--no-web")

        said = prefrag("documents", "delete", folder / "crane.md").stdout

        assert f"Files that are still in {folder.resolve()} are indexed again when they change" in said

    def test_prunes_lost_files_but_nothing_of_an_empty_folder(self, corpus: Path):
        prefrag("index", corpus)
        corpus.unlink()
        empty = prefrag("documents", "prune")
        corpus.with_name("other.txt").touch()
        tried = prefrag("documents", "prune", "--dry-run").stdout
        done = prefrag("documents", "prune").stdout
        assert (empty.exit_code, "0 deleted" in empty.stdout) == (4, True)
        assert "is a drive not mounted?" in empty.stderr
        plan = f"To be deleted: 3 passages.\n        3  {corpus}, which is gone\n"
        assert tried.startswith(plan)
        assert "0 deleted" in tried
        assert done.startswith(plan)
        assert "3 deleted" in done

    @for_each("command", ("list",), ("delete", "p1"), ("prune",))
    def test_a_missing_index_ends_with_3(self, command: tuple[str, ...]):
        assert prefrag("documents", *command, "--index", "unmade").exit_code == 3


def test_dense_embeds_what_was_indexed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    calls: list[dict[str, Any]] = []

    def embed(collection: Collection, **settings: Any) -> embedding.EmbeddingReport:
        settings.pop("on_progress")(1, 1)
        settings.pop("runner")
        calls.append({"collection": collection, **settings})
        return embedding.EmbeddingReport(embedded=1, unchanged=0, deleted=0, seconds=0.1)

    monkeypatch.setattr(embedding, "embed_index", embed)
    corpus = tmp_path / "corpus.jsonl"
    corpus.write_text('{"id": "a", "title": "A", "text": "Words."}\n')

    result = prefrag("index", corpus, "--dense", "--model", "tiny")

    assert result.exit_code == 0
    assert calls == [{"collection": LocalCollection(), "model": "tiny"}]
    assert "1 passage embedded" in result.stdout


class TestList:
    def test_has_a_line_for_each_index_and_is_json_with_the_option(self, corpus: Path):
        prefrag("index", corpus, "--index", "papers", "--web")
        prefrag("index", corpus, "--no-web")

        default, papers = prefrag("collections", "list").stdout.splitlines()
        assert prefrag("indexes", "list").stdout.splitlines() == [default, papers], "as the command was called before"
        listed = {
            option: prefrag("documents", "list", option, "papers").stdout for option in ("--collection", "--index")
        }
        assert listed["--collection"] == listed["--index"] != ""
        entry, _ = json.loads(prefrag("collections", "list", "--json").stdout)

        assert default.startswith("default ")
        assert "3 passages" in papers
        assert "1 file " in papers
        assert papers.endswith(" UTC  web open")
        assert default.endswith("web closed")

        assert {key: entry[key] for key in ("name", "passages", "files", "web", "problem")} == {
            "name": "default",
            "passages": 3,
            "files": 1,
            "web": False,
            "problem": None,
        }
        assert entry["bytes"] > 0
        assert entry["changed"].endswith("+00:00")
        assert f"  {entry['changed'][:16].replace('T', ' ')} UTC  " in default

    def test_names_a_damaged_collection_and_how_to_make_the_first(self, corpus: Path):
        first = prefrag("collections", "list")
        prefrag("index", corpus)
        (index_path("default") / "prefrag-index.json").write_text("{broken")
        damaged = prefrag("collections", "list")
        assert first.exit_code == damaged.exit_code == 0
        assert "prefrag index YOUR_FILES" in first.stdout
        assert "default: The index" in damaged.stderr


class TestDrop:
    def test_needs_a_yes_where_nobody_can_be_asked(self, corpus: Path):
        prefrag("index", corpus)

        refused = prefrag("collections", "drop", "default")
        done = prefrag("collections", "drop", "default", "--yes")
        asked = prefrag("ask", "Where does buoy 1 float?", "--index", "default")

        assert refused.exit_code == 2
        assert "--yes" in refused.stderr
        assert done.exit_code == 0
        assert "The collection 'default' with 3 passages is deleted, " in done.stdout
        assert not index_path("default").exists()
        assert corpus.exists()
        assert asked.exit_code == 3
        assert "There is no collection 'default'" in asked.stderr

    @for_each("says", True, False)
    def test_asks_at_a_terminal(self, corpus: Path, monkeypatch: pytest.MonkeyPatch, says: bool):
        asked: list[str] = []

        def confirm(text: str, **_: Any) -> bool:
            asked.append(text)
            return says

        prefrag("index", corpus)
        monkeypatch.setattr(documents, "can_ask_user", lambda: True)
        monkeypatch.setattr(documents.typer, "confirm", confirm)

        result = prefrag("collections", "drop", "default")

        assert asked == ["Delete the collection 'default' with 3 passages?"]
        assert result.exit_code == 0
        assert index_path("default").exists() is not says


def test_a_list_of_documents_is_cut_to_a_limit_behind_an_offset(tmp_path: Path):
    for number in range(4):
        (tmp_path / f"{number}.txt").write_text(f"Note {number}.", encoding="utf-8")
    prefrag("index", str(tmp_path))

    whole, part = (
        json.loads(prefrag("documents", "list", "--json", *limits).stdout)
        for limits in ((), ("--limit", "2", "--offset", "1"))
    )

    assert (len(whole), part) == (4, whole[1:3])
    assert prefrag("documents", "list", "--limit", "1").stdout.endswith("4 passages in 4 files\n")
