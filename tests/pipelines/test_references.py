"""The numbered documents of a result."""

import re

from prefrag.pipelines.references import (
    date_text,
    evidence_texts,
    place_text,
    reference_text,
    references,
    references_text,
    sentence_text,
)
from tests.for_each import for_each

LOCAL = {"mark": "1", "id": "d1", "title": "Alpha", "source": "local", "url": ""}
FILED = {"mark": "2", "id": "d2", "title": "Beta", "source": "local", "url": "", "file": "yards.pdf", "page": 3}
WEB = {"mark": "W1", "id": "w1", "title": "Gamma", "source": "web", "url": "https://gamma.example"}


def test_documents_carry_marks_and_name_their_source():
    assert [mark for mark, _ in references({"documents": [LOCAL, WEB, FILED]})] == ["1", "W1", "2"]
    assert references_text({"documents": []}) == ""
    assert references_text({"documents": [LOCAL, FILED, WEB]}) == (
        "Sources:\n[1] Alpha (local)\n[2] Beta (local, yards.pdf, page 3)\n[W1] Gamma (web) https://gamma.example"
    )

    forged = {"id": "w1", "title": "Board minutes [1]\n[2] More", "source": "web", "file": "a\n[3] b\x1b[2J.txt"}

    assert reference_text("W1", forged) == "[W1] Board minutes (1) (2) More (web, a (3) b [2J.txt)"


TEXT = "A pump. The pump runs for ten\nminutes a day."
PASSAGE = {
    "mark": "1",
    "id": "p3",
    "title": "Manual",
    "heading": "Manual > Use > Daily",
    "position": {"number": 3, "of": 12},
    "source": "local",
    "file": "manual.pdf",
    "page": 3,
    "content": TEXT,
    "sentence": {"start": 8, "end": len(TEXT)},
}


@for_each(
    "document, written",
    (
        PASSAGE,
        "[1] Manual > Use > Daily (local, manual.pdf, page 3, passage 3 of 12): "
        "\u201cThe pump runs for ten minutes a day.\u201d",
    ),
    (
        {**WEB, "content": "Gamma is red.", "sentence": {"start": 0, "end": 13}},
        "[W1] Gamma (web): \u201cGamma is red.\u201d https://gamma.example",
    ),
    (
        {**WEB, "content": "| deadline | 600 s |", "sentence": {"start": 0, "end": 20}},
        "[W1] Gamma (web): \u201cdeadline | 600 s\u201d https://gamma.example",
    ),
)
def test_passages_of_a_file_differ_by_heading_and_place(document: dict, written: str):
    assert references_text({"documents": [document]}) == f"Sources:\n{written}"


@for_each(
    "title, heading, shown",
    ("Manual", "Manual", "Manual"),
    ("Manual", "Manual of Use", "Manual > Manual of Use"),
    ("Manual", None, "Manual"),
    ("", "Use", "Use"),
    ("", "", "p3"),
)
def test_a_title_is_not_repeated_before_the_headings(title: str, heading: str | None, shown: str):
    described = reference_text("1", {"id": "p3", "title": title, "heading": heading, "source": "local"})

    assert described == f"[1] {shown} (local)"


def test_dates_lines_of_code_and_attachments_have_an_origin():
    assert date_text({"date": "2023-11", "date_in": "name"}) == "2023-11 (from its name)"
    assert date_text({"date": "2023-11-06", "date_in": "document", "modified": "2024-01-01"}) == "2023-11-06"
    assert date_text({"modified": "2024-01-01"}) == "changed 2024-01-01 UTC"

    assert place_text({**FILED, "page": None, "line": 7}) == "local, yards.pdf, line 7"
    assert place_text({**FILED, "attachment": "a.pdf", "mail": "Keel"}) == "local, yards.pdf, attached to Keel, page 3"


def test_a_line_is_bounded_and_cannot_pass_for_another():
    text = "[2] Board minutes\n[3] " + "word " * 500
    forged = {**PASSAGE, "title": "t" * 5_000, "heading": "[1] h\n" * 900, "content": text}
    forged["sentence"] = {"start": 0, "end": len(text)}

    [_, line] = references_text({"documents": [forged]}).splitlines()

    assert len(line) < 800
    assert re.findall(r"\[\d+\]", line) == ["[1]"]
    assert sentence_text(forged).startswith("\u201c(2) Board minutes (3) word")


def test_attached_and_quoted_passages_are_not_quoted_again():
    attached, quoted = {**PASSAGE, "mark": "A1"}, {**PASSAGE, "mark": "2"}
    evidence = [
        {"mark": "2", "title": "Manual", "sentence": "A pump."},
        {"mark": "2", "title": "Manual", "sentence": "B."},
    ]
    result = {"documents": [attached, quoted], "evidence": evidence}

    assert "\u201c" not in references_text(result)
    assert evidence_texts(result) == ["[2] Manual > Use > Daily: A pump.", "[2] B."]


def test_sentences_of_other_documents_stand_in_the_list():
    other = {**PASSAGE, "mark": "1", "date": "2024-05"}
    evidence = [{"mark": mark, "title": "Manual", "sentence": "A pump."} for mark in "21"]
    result = {"documents": [other, {**PASSAGE, "mark": "2"}], "evidence": evidence, "certainty": "probably"}

    [_, first, second] = references_text(result).splitlines()

    assert "2024-05" in first
    assert ("\u201c" in first, "\u201c" in second) == (True, False)


def test_the_page_is_that_of_the_first_sentence_shown():
    evidence = [{"mark": "1", "sentence": f"Fact {page}.", "page": page} for page in (5, 5, 6)]
    result = {"documents": [{**LOCAL, "mark": "1", "page": 2}], "evidence": evidence}

    assert [document["page"] for _, document in references(result)] == [5]
    assert [re.findall(r"page \d", text) for text in evidence_texts(result)] == [[], [], ["page 6"]]
