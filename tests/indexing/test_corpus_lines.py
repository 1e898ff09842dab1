"""Lines whose ids or sources meet those of others."""

from __future__ import annotations

from prefrag.indexing import index
from tests.indexing.samples import Make, line, stored, texts


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
            assert f"the id '1' is that of a passage of {first}" in skipped.reason

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
