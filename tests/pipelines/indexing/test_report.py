"""The reports of an indexing."""

from __future__ import annotations

from prefrag.pipelines.indexing.report import Skipped


def test_the_name_of_a_skipped_file_cannot_write_to_the_terminal():
    assert str(Skipped("a\x1b[2J\nb.txt", "it is empty", 3)) == "a [2J b.txt, line 3: it is empty"
