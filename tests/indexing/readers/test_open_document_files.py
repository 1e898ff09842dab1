"""Indexing OpenDocument and RTF files."""

from __future__ import annotations

from pathlib import Path

import pytest

from prefrag.indexing.file_conversion import FileConverter
from prefrag.indexing.report import CannotRead
from tests.for_each import for_each
from tests.indexing.readers.open_document import make_file

MANY = 'tb:number-columns-repeated="16000"'


def cell(text: str, attributes: str = "") -> str:
    return f"<tb:table-cell {attributes}><t:p>{text}</t:p></tb:table-cell>"


TABLE = (
    f"<tb:table-row>{cell('Name')}{cell('Since')}<tb:table-cell {MANY}/></tb:table-row>"
    f"<tb:table-row>{cell('Ada')}{cell('4 May', 'o:date-value=&quot;1842-05-04&quot;'.replace('&quot;', chr(34)))}"
    f'</tb:table-row><tb:table-row tb:number-rows-repeated="1000000"><tb:table-cell {MANY}/></tb:table-row>'
)


def test_text_gives_headings_paragraphs_lists_and_tables() -> None:
    """What was deleted is left out."""

    body = (
        "<t:tracked-changes><t:p>Deleted.</t:p></t:tracked-changes>"
        '<t:h t:outline-level="1">The yard</t:h><t:p>Built<t:s/>in <t:span>1842</t:span>.'
        "<o:annotation><t:p>Sure?</t:p></o:annotation></t:p>"
        f"<t:list><t:list-item><t:p>a screw</t:p></t:list-item></t:list><tb:table>{TABLE}</tb:table>"
    )

    [passage] = FileConverter().passages(Path("/a.odt"), make_file("text", body))

    assert passage.content == "The yard\nBuilt in 1842.\n- a screw\nName: Ada; Since: 1842-05-04"
    assert (passage.meta["title"], passage.meta["heading"]) == ("The yard", "The yard")


def test_a_sheet_gives_its_rows() -> None:
    [passage] = FileConverter().passages(
        Path("/a.ods"), make_file("spreadsheet", f'<tb:table tb:name="People">{TABLE}</tb:table>')
    )

    assert passage.content == "People\nName: Ada; Since: 1842-05-04"


def test_cells_that_are_merged_fill_their_rows() -> None:
    """A hidden sheet is named."""

    rows = (
        f"<tb:table-row>{cell('Harbour')}{cell('Boat')}</tb:table-row>"
        f"<tb:table-row>{cell('Norwick', 'tb:number-rows-spanned=' + chr(34) + '2' + chr(34))}{cell('Tern')}"
        f"</tb:table-row><tb:table-row><tb:covered-table-cell/>{cell('Skua')}</tb:table-row>"
    )

    sheet = f'<tb:table tb:name="Fleet" tb:style-name="ta1">{rows}</tb:table>'

    passages = FileConverter().passages(Path("/a.ods"), make_file("spreadsheet", sheet))

    assert passages[0].content == "Fleet\nHarbour: Norwick; Boat: Tern\nHarbour: Norwick; Boat: Skua"


def test_a_slide_gives_its_texts_and_notes_under_its_number() -> None:
    slide = (
        '<d:page><d:frame p:class="title"><d:text-box><t:p>Launch</t:p></d:text-box></d:frame>'
        "<d:frame><d:text-box><t:p>In May.</t:p></d:text-box></d:frame>"
        "<p:notes><t:p>Speak up.</t:p></p:notes></d:page>"
    )

    passages = FileConverter().passages(Path("/a.odp"), make_file("presentation", "<d:page/>" + slide))

    [passage] = passages
    assert passage.content == "Slide 2: Launch\nIn May.\nNotes: Speak up."
    assert (passage.meta["title"], passage.meta["page_number"]) == ("Launch", 2)


@for_each(
    "data, reason",
    (make_file("text", "<t:p>a</t:p>"), "of another kind"),
    (make_file("spreadsheet", "", **{"META-INF/manifest.xml": "<m><encryption-data/></m>"}), "encrypted"),
    (make_file("spreadsheet", "", **{"meta.xml": '<!DOCTYPE a [<!ENTITY b "c">]><a/>'}), "DOCTYPE"),
    (make_file("spreadsheet", "<t:a>" * 5_000 + "</t:a>" * 5_000), "no text"),
    (b"PK", "damaged"),
)
def test_a_file_that_cannot_be_read_is_refused(data: bytes, reason: str) -> None:
    with pytest.raises(CannotRead, match=reason):
        FileConverter().passages(Path("/a.ods"), data)


class TestRtf:
    def test_gives_its_words_and_is_refused_if_it_is_something_else(self):
        pytest.importorskip("striprtf", reason="the extra 'files' is not installed")

        [passage] = FileConverter().passages(Path("/a.rtf"), rb"{\rtf1\ansi Gr\'fc\'dfe aus {\b Wien}.\par}")

        assert passage.content == "Gr\u00fc\u00dfe aus Wien."

        with pytest.raises(CannotRead, match="not RTF"):
            FileConverter().passages(Path("/a.rtf"), b"plain")
