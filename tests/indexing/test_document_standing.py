"""Whether a document or a passage says of itself that it is superseded, a draft or old."""

from __future__ import annotations

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
    "meta, text, name, folders, standing",
    ({"status": "Draft, not decided"}, "", "a.md", (), "draft"),
    ({"superseded_by": "rules-2024"}, "", "a.md", (), "superseded"),
    ({"Superseded-By": ["[[Rules]]"]}, "", "a.md", (), "superseded"),
    ({"draft": True}, "", "a.md", (), "draft"),
    ({}, "OLD - no longer valid since 1 January, see the new notice", "a.txt", (), "old"),
    ({}, "Rules\n\nStatus: superseded\nText.", "a.txt", (), "superseded"),
    ({}, "| Status | Draft |", "a.txt", (), "draft"),
    ({}, "# Use PostgreSQL\n\n## Status\n\nSuperseded by ADR 12.", "a.md", (), "superseded"),
    ({}, "This document is a draft.", "a.txt", (), "draft"),
    ({}, "DRAFT\nMinutes of May", "a.txt", (), "draft"),
    ({}, "", "Opening hours (old, until 2025).txt", (), "old"),
    ({}, "", "rules-draft.docx", (), "draft"),
    ({}, "", "price list_v2_old.csv", (), "old"),
    ({}, "", "DRAFT - minutes.docx", (), "draft"),
    ({}, "", "a.md", ("board", "_Archive"), "old"),
    ({}, "", "a.md", ("Drafts", "2024"), "draft"),
)
def test_is_told_by_front_matter_the_first_lines_the_name_and_the_folder(
    meta: dict[str, Any], text: str, name: str, folders: tuple[str, ...], standing: str
):
    assert find_standing(meta, text, "A title", name, folders) == standing


@for_each(
    "text, name, folders",
    ("The draft horse is strong.\nOld town walks begin at ten.", "The draft horse.md", ("old town", "draft horses")),
    ("OLD TOWN WALKS\nDraft beer, superseded by wine, was sold.", "Old town.txt", ()),
    (
        "Superseded by the railway in 1840, the canal fell into ruin.",
        "what-to-feed-a-two-year-old.md",
        ("archives of",),
    ),
    ("Status: approved\nDrafts are kept in the folder Old.", "draft-horses (Old Town Press).pdf", ()),
    ("This draft was windy. Is this document old?", "overdraft.md", ("gold",)),
    ("Text.\n" * 10 + "Status: draft", "a.md", ()),
)
def test_in_a_sentence_the_words_mean_something_else(text: str, name: str, folders: tuple[str, ...]):
    meta = {"status": "published", "draft": False, "superseded_by": "", "title": "Old masters"}

    assert find_standing(meta, text, "Old masters", name, folders) is None


@for_each(
    "heading, standing",
    ("Rules > Opening hours (old) > Sunday", "old"),
    ("Decision > Superseded", "superseded"),
    ("DRAFT: hours", "draft"),
    ("Mail > Drafts > Old mail", None),
    (None, None),
)
def test_a_heading_speaks_for_the_passages_below_it(heading: str | None, standing: str | None):
    assert find_heading_standing(heading) == standing


@given(st.text(), st.text(), st.text())
def test_any_text_name_and_heading_are_read(text: str, name: str, heading: str):
    assert find_standing({}, text, heading, name, [name]) in (None, "superseded", "draft", "old")
    assert find_heading_standing(heading) in (None, "superseded", "draft", "old")


def test_an_index_holds_the_mark_and_takes_no_folder_above_the_given_one_for_it(make: Make):
    make("old/boats/rules.md", "---\nstanding: old\n---\nThe boats leave at nine.")
    make("old/boats/archive/rules.md", "The boats left at ten.")
    folder = make(
        "old/boats/hours.md", "# Hours\n\n" + "Nine to six. " * 99 + "\n\n## Sunday (draft)\n\n" + "Ten to four. " * 99
    ).parent
    index([folder])
    late = make("old/boats/drafts/late.md", "The boats leave late.")
    follow_changes("default", folder, [str(late)], find_drives(folder))

    stored = TantivyDocumentStore(path=str(index_path("default"))).filter_documents()

    marks = {(Path(one.meta["file_path"]).relative_to(folder).as_posix(), one.meta.get("standing")) for one in stored}
    assert marks == {
        *(("rules.md", None), ("archive/rules.md", "old"), ("drafts/late.md", "draft")),
        *(("hours.md", None), ("hours.md", "draft")),
    }
