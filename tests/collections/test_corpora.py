"""Indexing corpora: JSONL, and JSON lists."""

import json
from pathlib import Path

import pytest
from haystack import Document

from prefrag.collections import corpora
from prefrag.collections.corpora import PassageIds, contains_id, read_ids
from prefrag.collections.indexing import index, list_documents, prune
from prefrag.collections.stores import PassageStore
from prefrag.components.document_stores.tantivy import analysis, schema
from prefrag.components.document_stores.tantivy.document_store import TantivyDocumentStore
from prefrag.components.document_stores.tantivy.index_location import index_path
from prefrag.components.text import passage_record
from prefrag.indexing.discovery import is_corpus
from prefrag.indexing.report import MOST_NAMED_LINES, IndexReport, Progress
from tests.for_each import for_each
from tests.indexing.samples import Make, line, stored, texts


class TestACorpus:
    def test_gives_a_passage_a_line_known_by_its_id(self, make: Make) -> None:
        corpus = make("c.jsonl", line("a", year=1990, tags=["x"]) + line(7, "Another.", title=None, source="web"))

        report = index([corpus])

        assert (report.written, report.replaced, report.unchanged, report.skipped) == (2, 0, 0, [])
        assert stored()["a"].content == "A square in Vienna."
        assert stored()["a"].meta == {"title": "Karlsplatz", "year": 1990, "tags": ["x"], "corpus": str(corpus)}
        assert stored()["7"].meta == {"corpus": str(corpus)}
        report = index([corpus])
        assert (report.written, report.unchanged, report.unchanged_files) == (0, 2, 1)

    def test_brings_only_its_new_and_changed_lines(self, make: Make) -> None:
        index([make("c.jsonl", line("a") + line("b") + line("c"))])

        report = index([make("c.jsonl", line("a") + line("b", "Now another text.") + line("d"))])

        assert (report.written, report.replaced, report.unchanged) == (2, 1, 1)
        assert stored()["b"].content == "Now another text."
        assert set(stored()) == {"a", "b", "c", "d"}

    @pytest.mark.parametrize(
        ("bad", "reason"),
        [
            ("{not json", "not JSON"),
            ('{"id": "x", "text": "  "}', "'text' must be text, and not empty"),
            ('{"id": "good", "text": "again"}', "an earlier line has the id 'good'"),
        ],
    )
    def test_names_a_line_that_is_no_passage_and_goes_on(self, make: Make, bad: str, reason: str) -> None:
        corpus = make("c.jsonl", line("good") + "\n" + bad + "\n" + line("last"))

        report = index([corpus])

        assert set(stored()) == {"good", "last"}
        assert [(skipped.path, skipped.line) for skipped in report.skipped] == [(str(corpus), 3)]
        assert reason in str(report.skipped[0])

    def test_passes_over_a_line_without_end(self, make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(passage_record, "MAX_LINE_BYTES", 200)
        corpus = make("c.jsonl", line("a") + line("long", "x" * 1000) + line("b"))

        report = index([corpus])

        assert set(stored()) == {"a", "b"}
        assert [skipped.line for skipped in report.skipped] == [2]

    def test_that_is_none_gets_a_word_and_first_bad_lines_are_named(self, make: Make) -> None:
        report = index([make("dev.jsonl", '{"id": "q", "question": "Why?"}\n' * 50), make("empty.jsonl", "\n")])
        reasons = [skipped.reason.split(";")[0] for skipped in report.skipped]
        assert reasons == ["none of its lines is a passage", "it is empty"]
        assert (report.files, report.skipped_lines) == (0, 0)
        report = index([make("c.jsonl", line("a") + "bad\n" * 500)])
        assert (len(report.skipped), report.skipped_lines) == (MOST_NAMED_LINES, 500)

    def test_larger_than_a_batch_is_written_and_reported_in_parts(
        self, make: Make, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(PassageStore, "batch", 3)
        corpus = make("c.jsonl", "".join(line(str(number)) for number in range(8)))
        seen: list[Progress] = []

        def check(progress: Progress) -> None:
            assert len(stored()) == progress.written
            seen.append(progress)

        index([corpus], on_progress=check)

        assert [progress.written for progress in seen] == [3, 6, 8]
        assert [progress.bytes_done for progress in seen] == sorted(progress.bytes_done for progress in seen)
        assert seen[-1].bytes_done == seen[-1].bytes_total == corpus.stat().st_size

    def test_that_moved_keeps_its_passages(self, make: Make) -> None:
        old = make("old.jsonl", line("a"))
        index([old])
        new = old.rename(old.with_name("new.jsonl"))

        index([new], prune=True)

        assert stored()["a"].meta["corpus"] == str(new)

    def test_is_stored_in_the_form_of_the_queries(self, make: Make) -> None:
        corpus = make("c.jsonl", line("a", "The \ufb01nance Bru\u0308cke.", "\ufb02ow"))

        index([corpus])

        assert (stored()["a"].content, stored()["a"].meta["title"]) == ("The finance Br\u00fccke.", "flow")
        assert index([corpus]).unchanged == 1

    def test_with_ligatures_is_searchable_in_an_index_from_before(
        self, make: Make, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        text, title = "The \ufb01nance house.", "O\u00b4Hara"
        corpus = make("c.jsonl", line("a", text, title) + line("b"))
        store = TantivyDocumentStore(path=str(index_path("default")))
        with monkeypatch.context() as before:
            before.setattr(analysis, "normalize_unicode", lambda text: text)
            before.setattr(schema, "title_key", lambda title: title.lower())
            origin = {"corpus": str(corpus)}
            store.write_documents(
                [
                    Document(id="a", content=text, meta={"title": title, **origin}),
                    Document(id="b", content="A square in Vienna.", meta={"title": "Karlsplatz", **origin}),
                ]
            )

        report = index([corpus])

        assert (report.replaced, report.unchanged) == (1, 1)
        for query in ("\ufb01nance", "finance"):
            assert [document.id for document in store.search(query)] == ["a"]
        assert store.documents_by_title({"ohara": ""}).keys() == {"ohara"}

    @pytest.mark.parametrize("batch", [1, 2, 10_000])
    def test_with_an_id_twice_keeps_the_first_however_far_apart(
        self, make: Make, monkeypatch: pytest.MonkeyPatch, batch: int
    ) -> None:
        monkeypatch.setattr(PassageStore, "batch", batch)
        # The ids are sorted in parts, and a repeated id must be found in every part.
        monkeypatch.setattr(PassageIds, "_MOST_UNSORTED", 2)
        corpus = make("c.jsonl", line("a", "First.") + line("b", "Second.") + line("c", "Third.") + line("a", "Lost."))

        for _ in range(2):
            report = index([corpus])

            assert texts() == ["First.", "Second.", "Third."]
            assert [(skipped.line, skipped.reason.split(":")[0]) for skipped in report.skipped] == [
                (4, "an earlier line has the id 'a' too")
            ]
        assert (report.written, report.unchanged) == (0, 3)


PASSAGES = [{"id": "x", "title": "Karl", "text": "A church."}, {"id": "y", "text": "A chapel.", "year": 1730}]


def _list(passages: object = PASSAGES) -> str:
    return json.dumps(passages, indent=1)


class TestAListOfPassages:
    def test_a_json_list_of_passages_is_a_corpus(self, make: Make) -> None:
        report = index([make("c.json", _list())])

        assert texts() == ["A chapel.", "A church."]
        assert stored()["y"].meta["year"] == 1730
        assert (report.files, report.written) == (1, 2)
        assert [entry.kind for entry in list_documents()] == ["corpus"]

        broken = [{"id": "z"}, {"id": "x", "text": "Twice."}]
        report = index([make("c.json", _list([{**PASSAGES[0], "text": "Another."}, PASSAGES[1], *broken]))])

        assert (report.written, report.unchanged) == (1, 1)
        assert [skipped.line for skipped in report.skipped] == [3, 4]

        make("c.json", _list(PASSAGES[:1]))
        prune()
        assert texts() == ["Another."]

    def test_broken_at_its_end_is_reported_once_and_a_large_refused(
        self, make: Make, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """One that is too large is to become lines."""

        [skipped] = index([make("c.json", _list()[:-1])]).skipped
        assert "it is not JSON" in skipped.reason
        monkeypatch.setattr(corpora, "MOST_LIST_BYTES", 50)
        [skipped] = index([make("c.json", _list())]).skipped
        assert "convert it to a .jsonl file" in skipped.reason


@for_each(
    "text",
    '{"id": "x", "text": "An object."}',
    '[{"name": "Ada"}]',
    '{"name": "Ada", "born": 1815}',
    '[[{"id": "x", "text": "y"}]]',
    '["id", "text"]',
    "[" + "{" * 10 + '"a": "b"' + "}" * 10 + "]",
)
def test_other_json_is_a_file(make: Make, text: str) -> None:
    path = make("a.json", text)

    assert not is_corpus(path)
    index([path])
    assert {passage.meta.get("kind") for passage in stored().values()} <= {"json"}
    assert "born" not in text or texts() == ["name: Ada; born: 1815"]


def test_json_that_is_nested_too_deeply_is_no_corpus(tmp_path: Path) -> None:
    path = tmp_path / "deep.json"
    path.write_text("[" + '{"a":' * 100_000)

    assert not is_corpus(path)


class TestTwoCorporaWithTheSameIds:
    def test_keep_the_first_and_name_the_other(self, make: Make) -> None:
        first = make("a.jsonl", line(1, "Alpha.") + line(2, "Beta."))
        second = make("b.jsonl", line(1, "Gamma.") + line(3, "Delta."))

        for written in (3, 0):
            report = index([first, second])

            assert texts() == ["Alpha.", "Beta.", "Delta."]
            assert (report.written, report.replaced) == (written, 0)
            [skipped] = report.skipped
            assert (skipped.path, skipped.line) == (str(second), 1)
            assert f"a passage of {first} has the id '1'" in skipped.reason

    def test_with_the_same_content_lose_nothing(self, make: Make) -> None:
        report = index([make("a.jsonl", line(1)), make("b.jsonl", line(1) + line(2))])

        assert set(stored()) == {"1", "2"}
        assert (report.written, report.unchanged, report.skipped) == (2, 1, [])

    def test_pass_on_a_line_that_moved_from_one_to_the_other(self, make: Make) -> None:
        index([make("a.jsonl", line(1, "Alpha.") + line(2))])

        report = index([make("a.jsonl", line(2)), make("b.jsonl", line(1, "Alpha, put right."))], prune=True)

        assert texts() == ["A square in Vienna.", "Alpha, put right."]
        assert (report.replaced, report.deleted, report.skipped) == (1, 0, [])

    def test_count_a_line_that_cannot_be_read_as_the_one_in_question(self, make: Make) -> None:
        index([make("a.jsonl", line(1, "Alpha."))])

        report = index([make("a.jsonl", line(1, "Alpha.")[:20]), make("b.jsonl", line(1, "Beta."))])

        assert texts() == ["Alpha."]
        assert len(report.skipped) == 2


class TestSplitSources:
    def test_two_indexes_hold_what_each_source_has(self, make: Make) -> None:
        sources = {"l": "local", "w": "web", "b": "both"}
        corpus = make("c.jsonl", "".join(line(key, source=source) for key, source in sources.items()))

        report = index([corpus], split_sources=True)

        assert (set(stored()), set(stored("default-web"))) == ({"l", "b"}, {"w", "b"})
        assert report.written == 4
        assert index([corpus], split_sources=True).written == 0

    def test_a_passage_that_changed_sides_leaves_the_first(self, make: Make) -> None:
        index([make("c.jsonl", line("a", source="local") + line("b", source="both"))], split_sources=True)

        report = index([make("c.jsonl", line("a", source="web") + line("b", source="local"))], split_sources=True)

        assert (set(stored()), set(stored("default-web"))) == ({"b"}, {"a"})
        assert report.deleted == 2

    def test_a_passage_of_another_corpus_with_the_same_id_stays(self, make: Make) -> None:
        index([make("a.jsonl", line("x", "First.", source="local"))], split_sources=True)

        index([make("b.jsonl", line("x", "Second.", source="web"))], split_sources=True)

        assert (texts(), texts("default-web")) == (["First."], ["Second."])

    def test_a_line_without_a_source_is_named(self, make: Make) -> None:
        report = index([make("c.jsonl", line("a", source="both") + line("b"))], split_sources=True)

        assert [skipped.line for skipped in report.skipped] == [2]


def test_those_of_a_corpus_are_known_again(make: Make) -> None:
    ids, none = read_ids(str(make("c.jsonl", line("a") + line(7)))), read_ids(str(make("d.jsonl", "")))
    assert ids is not None
    assert none is not None
    assert [contains_id(ids, each) for each in ("a", "7", "b")] == [True, True, False]
    assert not contains_id(none, "a")


def test_unreadable_corpus_has_unknown_ids_and_is_reported_once(make: Make, tmp_path: Path) -> None:
    report = IndexReport()
    broken, missing = str(make("c.jsonl", line("a") + "[]")), str(tmp_path / "nowhere")
    assert [read_ids(each, report) for each in (broken, broken, missing)] == [None, None, None]
    assert [skipped.path for skipped in report.skipped] == [broken, missing]
    assert "line 2: expected a JSON object" in report.skipped[0].reason
