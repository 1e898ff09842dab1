"""Whether a document or passage calls itself superseded, a draft or old."""

from typing import Any

from prefrag.indexing.readers.document_standing import find_heading_standing, find_standing
from tests.for_each import for_each


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
    ({}, "", "lease workshop DRAFT 2 of May.docx", "", "draft"),
    ({}, "", "will - older 2009.txt", "", "old"),
    ({}, "", "OLD TOWN WALKS.txt", "", None),
    ({}, "", "older people and draft beer.txt", "", None),
    ({}, "", "draft - budget 2027.txt", "", "draft"),
    ({}, "Draft, not agreed.\nThe fee is 75 euros.", "a.txt", "", "draft"),
    ({}, "", "a.md", "_Archive", "old"),
    ({}, "The draft horse.\nOld town walks begin at ten.", "The draft horse.md", "old town", None),
    ({"status": "published", "draft": False}, "OLD TOWN WALKS\nDraft beer was sold.", "Old town.txt", "gold", None),
    ({}, "Superseded by the railway in 1840, the canal fell into ruin.", "a-two-year-old.md", "archives of", None),
    ({}, "Status: approved\nDrafts are kept in Old.", "draft-horses (Old Town Press).pdf", "", None),
    ({}, "Text.\n" * 10 + "Status: draft", "overdraft.md", "", None),
)
def test_standing_goes_by_form_as_words_in_a_sentence_mislead(
    meta: dict[str, Any], text: str, name: str, folder: str, standing: str | None
):
    assert find_standing(meta, text, "Old masters", name, ["board", folder]) == standing


@for_each(
    "heading, standing",
    ("Rules > Opening hours (old) > Sunday", "old"),
    ("Decision > Superseded", "superseded"),
    ("Mail > Drafts > Old mail", None),
)
def test_a_heading_speaks_for_the_passages_below_it(heading: str, standing: str | None):
    assert find_heading_standing(heading) == standing


@for_each(
    "name, others, standing",
    ("castle draft.txt", ["castle.txt"], "draft"),
    ("castle old.txt", ["castle.TXT"], "old"),
    ("draft of castle.txt", ["castle.txt"], "draft"),
    ("DRAFT CASTLE.txt", ["castle.txt"], "draft"),
    ("castle old.txt", ["castle.md"], None),
    ("Old Mill.txt", ["mill.txt"], None),
    ("old town.txt", ["town.txt"], None),
    ("draft beer.csv", ["beer.csv"], None),
    ("draft horses.txt", ["horses.jpg"], None),
    ("castle Draft 2.txt", ["Castle.txt"], "draft"),
    ("price list outdated.csv", ["price_list.csv"], "old"),
    ("fees superseded.txt", ["fees.txt"], "superseded"),
    ("castle draft.txt", ["castle draft.txt", "tent.txt"], None),
    ("castle.txt", ["castle draft.txt", "castle old.txt"], None),
    ("nba draft.txt", ["nba news.txt"], None),
    ("5 years old.txt", ["5 years.txt"], None),
    ("draft horse care.txt", ["horse.txt"], None),
    ("old.txt", [".txt", "castle.txt"], None),
)
def test_a_word_beside_the_name_of_another_file(name: str, others: list[str], standing: str | None):
    assert find_standing({}, "", "", name, names_beside=lambda: others) == standing
