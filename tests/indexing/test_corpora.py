"""Bringing JSONL corpora into an index."""

from __future__ import annotations

import pytest
from haystack import Document

from prefrag.components.document_stores.tantivy import analysis, schema
from prefrag.components.document_stores.tantivy.document_store import TantivyDocumentStore
from prefrag.components.document_stores.tantivy.index_location import index_path
from prefrag.components.text import passage_record
from prefrag.indexing import Progress, index
from prefrag.indexing.passage_ids import PassageIds
from prefrag.indexing.stores import PassageStore
from prefrag.indexing.tally import MOST_NAMED_LINES
from tests.indexing.samples import Make, line, stored, texts


class TestACorpus:
    def test_gives_a_passage_a_line_known_by_its_id(self, make: Make) -> None:
        corpus = make("c.jsonl", line("a", year=1990, tags=["x"]) + line(7, "Another.", title=None, source="web"))

        report = index([corpus])

        assert (report.written, report.replaced, report.unchanged, report.skipped) == (2, 0, 0, [])
        assert stored()["a"].content == "A square in Vienna."
        assert stored()["a"].meta == {"title": "Karlsplatz", "year": 1990, "tags": ["x"], "corpus": str(corpus)}
        assert stored()["7"].meta == {"corpus": str(corpus)}

    def test_is_not_written_twice(self, make: Make) -> None:
        corpus = make("c.jsonl", line("a") + line("b"))
        index([corpus])

        report = index([corpus])

        assert (report.written, report.unchanged, report.unchanged_files) == (0, 2, 1)
        assert set(stored()) == {"a", "b"}

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
            ('{"id": "good", "text": "again"}', "the id 'good' is that of an earlier line"),
        ],
    )
    def test_names_a_line_that_is_no_passage_and_goes_on(self, make: Make, bad: str, reason: str) -> None:
        corpus = make("c.jsonl", line("good") + "\n" + bad + "\n" + line("last"))

        report = index([corpus])

        assert set(stored()) == {"good", "last"}
        assert [(skipped.path, skipped.line) for skipped in report.skipped] == [(str(corpus), 3)]
        assert reason in str(report.skipped[0])

    def test_passes_over_a_line_without_end(self, make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(passage_record, "MOST_LINE_BYTES", 200)
        corpus = make("c.jsonl", line("a") + line("long", "x" * 1000) + line("b"))

        report = index([corpus])

        assert set(stored()) == {"a", "b"}
        assert [skipped.line for skipped in report.skipped] == [2]

    def test_names_only_the_first_of_many_bad_lines(self, make: Make) -> None:
        report = index([make("c.jsonl", line("a") + "bad\n" * 500)])

        assert (len(report.skipped), report.skipped_lines) == (MOST_NAMED_LINES, 500)

    def test_that_is_none_gets_one_word(self, make: Make) -> None:
        report = index([make("dev.jsonl", '{"id": "q", "question": "Why?"}\n' * 50), make("empty.jsonl", "\n")])

        assert [skipped.reason.split(";")[0] for skipped in report.skipped] == [
            "no line of it was taken",
            "it is empty",
        ]
        assert (report.files, report.skipped_lines) == (0, 0)

    def test_keeps_names_that_would_be_taken_for_the_store_s_own(self, make: Make) -> None:
        more = {"content": "x", "score": 3, "file_path": "/y", "title_key": "k", "meta": {"lang": "de", "id": "z"}}
        corpus = make("c.jsonl", line("a", **more))

        index([corpus])

        assert stored()["a"].content == "A square in Vienna."
        assert stored()["a"].score is None
        expected = {"content_": "x", "score_": 3, "file_path_": "/y", "title_key_": "k", "lang": "de", "id_": "z"}
        assert expected.items() <= stored()["a"].meta.items()

    def test_larger_than_a_batch_is_written_in_parts_and_each_part_is_reported(
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

    def test_is_found_however_its_accents_are_written(self, make: Make) -> None:
        corpus = make("c.jsonl", line("a", "Eine Bru\u0308cke.", "Ko\u0308penick"))

        index([corpus])

        assert (stored()["a"].content, stored()["a"].meta["title"]) == ("Eine Br\u00fccke.", "K\u00f6penick")
        assert index([corpus]).unchanged == 1

    def test_is_stored_in_the_form_of_the_queries(self, make: Make) -> None:
        corpus = make("c.jsonl", line("a", "The \ufb01nance house.", "\ufb02ow"))

        index([corpus])

        assert (stored()["a"].content, stored()["a"].meta["title"]) == ("The finance house.", "flow")
        assert index([corpus]).unchanged == 1

    def test_with_ligatures_is_found_in_an_index_that_was_made_when_they_were_kept(
        self, make: Make, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        text, title = "The \ufb01nance house.", "O\u00b4Hara"
        corpus = make("c.jsonl", line("a", text, title) + line("b"))
        store = TantivyDocumentStore(path=str(index_path("default")))
        with monkeypatch.context() as before:
            before.setattr(analysis, "one_form", lambda text: text)
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
        # The ids are sorted in parts, and looked for among both.
        monkeypatch.setattr(PassageIds, "_MOST_UNSORTED", 2)
        corpus = make("c.jsonl", line("a", "First.") + line("b", "Second.") + line("c", "Third.") + line("a", "Lost."))

        for _ in range(2):
            report = index([corpus])

            assert texts() == ["First.", "Second.", "Third."]
            assert [(skipped.line, skipped.reason.split(":")[0]) for skipped in report.skipped] == [
                (4, "the id 'a' is that of an earlier line")
            ]
        assert (report.written, report.unchanged) == (0, 3)
