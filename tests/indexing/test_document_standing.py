"""Whether a document or a passage says of itself that it is superseded, a draft or old."""

from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from prefrag.components.document_stores.tantivy.document_store import TantivyDocumentStore
from prefrag.components.document_stores.tantivy.index_location import index_path
from prefrag.indexing import index
from prefrag.indexing.document_standing import find_heading_standing, find_standing
from prefrag.indexing.following import find_drives, follow_changes
from tests.for_each import for_each
from tests.indexing.samples import Make


@for_each(
    "meta, text, name, folder, standing",
    ({"status": "Draft, not decided"}, "", "a.md", "", "draft"),
    ({"Superseded-By": ["[[Rules]]"]}, "", "a.md", "", "superseded"),
    ({"draft": True}, "", "a.md", "", "draft"),
    ({}, "OLD - no longer valid since 1 January, see the new notice", "a.txt", "", "old"),
    ({}, "Rules\n\n| Status | Superseded |\nText.", "a.txt", "", "superseded"),
    ({}, "# Use PostgreSQL\n\n## Status\n\nSuperseded by ADR 12.", "a.md", "", "superseded"),
    ({}, "This document is a draft.", "a.txt", "", "draft"),
    ({}, "DRAFT\nMinutes of May", "a.txt", "", "draft"),
    ({}, "", "Opening hours (old, until 2025).txt", "", "old"),
    ({}, "", "price list_v2_old.csv", "", "old"),
    ({}, "", "DRAFT - minutes.docx", "", "draft"),
    ({}, "", "a.md", "_Archive", "old"),
    ({}, "The draft horse.\nOld town walks begin at ten.", "The draft horse.md", "old town", None),
    ({"status": "published", "draft": False}, "OLD TOWN WALKS\nDraft beer was sold.", "Old town.txt", "gold", None),
    ({}, "Superseded by the railway in 1840, the canal fell into ruin.", "a-two-year-old.md", "archives of", None),
    ({}, "Status: approved\nDrafts are kept in Old.", "draft-horses (Old Town Press).pdf", "", None),
    ({}, "Text.\n" * 10 + "Status: draft", "overdraft.md", "", None),
)
def test_is_decided_by_form_since_in_a_sentence_the_words_mean_something_else(
    meta: dict[str, Any], text: str, name: str, folder: str, standing: str | None
):
    assert find_standing(meta, text, "Old masters", name, ["board", folder]) == standing


@given(st.text(), st.text(), st.text())
def test_any_text_name_and_heading_are_read(text: str, name: str, heading: str):
    for found in (find_standing({}, text, heading, name, [name]), find_heading_standing(heading)):
        assert found in (None, "superseded", "draft", "old")


def test_an_index_holds_the_marks_and_takes_no_folder_above_the_given_one_for_one(make: Make):
    make("old/boats/rules.md", "---\nstanding: old\n---\nThe boats leave at nine.")
    make("old/boats/archive/rules.md", "The boats left at ten.")
    hours = "# Hours\n\n" + "Nine to six. " * 99 + "\n\n## Sunday (draft)\n\n" + "Ten to four. " * 99
    folder = make("old/boats/hours.md", hours).parent
    index([folder])
    late = make("old/boats/drafts/late.md", "The boats leave late.")
    follow_changes("default", folder, [str(late)], find_drives(folder))

    stored = TantivyDocumentStore(path=str(index_path("default"))).filter_documents()

    marks = {(Path(one.meta["file_path"]).relative_to(folder).as_posix(), one.meta.get("standing")) for one in stored}
    expected = {
        "rules.md": [None],
        "archive/rules.md": ["old"],
        "drafts/late.md": ["draft"],
        "hours.md": [None, "draft"],
    }
    assert marks == {(name, mark) for name, found in expected.items() for mark in found}
