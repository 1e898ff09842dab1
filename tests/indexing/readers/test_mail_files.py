"""Indexing mails and their attachments."""

from __future__ import annotations

from email.message import EmailMessage
from pathlib import Path

import pytest

from prefrag.indexing.file_conversion import FileConverter
from prefrag.indexing.report import CannotRead
from tests.for_each import for_each
from tests.indexing.office import make_xlsx


@pytest.fixture(scope="module")
def converter() -> FileConverter:
    return FileConverter()


def make_mail(subject: str = "The keel", text: str = "It is laid on Monday.\n", **headers: str) -> EmailMessage:
    mail = EmailMessage()
    mail["From"], mail["To"], mail["Subject"] = "Ada <ada@example.org>", "boole@example.org", subject
    mail["Date"] = "Mon, 06 Nov 2023 10:00:00 +0100"
    for name, value in headers.items():
        mail[name] = value
    mail.set_content(text)
    return mail


def test_a_mail_is_its_head_and_its_words_under_its_subject(converter: FileConverter) -> None:
    [passage] = converter.passages(Path("/a.eml"), bytes(make_mail()))

    assert passage.content is not None
    assert passage.content.startswith("From: Ada <ada@example.org>\nTo: boole@example.org\n")
    assert passage.content.endswith("It is laid on Monday.")
    meta = passage.meta
    assert (meta["title"], meta["kind"], meta["date"]) == ("The keel", "mail", "2023-11-06")
    assert (meta["from"], meta["file_name"]) == ("Ada <ada@example.org>", "a.eml")


def test_a_long_subject_is_decoded_before_it_is_cut(converter: FileConverter) -> None:
    subject = "Gr\u00fc\u00dfe an alle im Haus, " * 14

    [passage] = converter.passages(Path("/a.eml"), bytes(make_mail(subject=subject)))

    assert subject.startswith(passage.meta["title"])
    assert len(passage.meta["title"]) > 200


def test_what_is_lost_of_an_attachment_is_said_of_it_alone(converter: FileConverter) -> None:
    mail = make_mail()
    rows = [("Item", "Net"), ("Anchor", "=1+1"), ("Chain", 2)]
    mail.add_attachment(make_xlsx({"Order": rows}), maintype="application", subtype="xlsx", filename="a.xlsx")
    mail.add_attachment(b"The yard is full.", maintype="text", subtype="plain", filename="b.txt")

    converter.passages(Path("/a.eml"), bytes(mail))

    assert converter.loss.startswith("in a.xlsx: 1 formula")
    assert "b.txt" not in converter.loss


def test_a_mail_of_a_day_to_come_has_no_date(converter: FileConverter) -> None:
    mail = make_mail()
    mail.replace_header("Date", "Mon, 06 Nov 2098 10:00:00 +0100")

    [passage] = converter.passages(Path("/a.eml"), bytes(mail))

    assert "date" not in passage.meta


def test_what_is_attached_is_a_document_of_its_own(converter: FileConverter) -> None:
    mail = make_mail()
    mail.add_attachment(b"name,city\nAda,London\n", maintype="text", subtype="csv", filename="../../people.csv")
    mail.add_attachment(b"\x89PNG", maintype="image", subtype="png", filename="photo.png")
    mail.add_attachment(make_mail(subject="An earlier one", text="The yard is full."))

    passages = converter.passages(Path("/a.eml"), bytes(mail))

    assert [passage.meta["title"] for passage in passages] == ["The keel", "people", "An earlier one"]
    table = passages[1]
    assert (table.content, table.meta["kind"]) == ("name: Ada; city: London", "csv")
    assert (table.meta["attachment"], table.meta["mail"], table.meta["file_path"]) == (
        "people.csv",
        "The keel",
        "/a.eml",
    )
    assert [passage.meta["split_id"] for passage in passages] == [0, 1, 2]
    assert converter.loss == "1 part not read (1 .png: it is of a kind that is not read)"


def test_html_alone_is_read_as_a_page(converter: FileConverter) -> None:
    pytest.importorskip("trafilatura", reason="the extra 'files' is not installed")
    mail = make_mail()
    mail.set_content("<html><body><p>The <b>launch</b> is on Friday.</p></body></html>", subtype="html")

    [passage] = converter.passages(Path("/a.eml"), bytes(mail))

    assert passage.content is not None
    assert passage.content.endswith("The launch is on Friday.")


def test_mails_of_a_mailbox_are_documents_beside_unreadable_ones(
    converter: FileConverter,
) -> None:
    begin = b"From ada@example.org Mon Nov  6 10:00:00 2023\n"
    strange = [b'To: "\n', b"To: =?utf-8?q??=\n", b"From: @\nTo: ,,<>;:\n", b"To: " + b"(" * 20_000 + b"\n"]
    box = b"".join(begin + head + b"Subject: Odd\n\nWords.\n\n" for head in strange)
    box += b"".join(begin + bytes(make_mail(subject=f"Mail {n}", text="From here on:\n")) + b"\n" for n in range(3))
    passages = converter.passages(Path("/a.mbox"), box)
    assert [passage.meta["title"] for passage in passages] == ["Odd"] * 4 + ["Mail 0", "Mail 1", "Mail 2"]


def test_no_text_of_a_mail_is_lost(converter: FileConverter) -> None:
    pytest.importorskip("trafilatura", reason="the extra 'files' is not installed")
    html = make_mail()
    html.set_content("<h1>Report</h1><ul><li>milk</li></ul><p class='footer'>Ada <b>Quill</b></p>", subtype="html")
    empty = make_mail(text="\n")
    empty.add_alternative("<p>ok</p>", subtype="html")
    empty.add_attachment(b"name,city\nAda,Cork\n", maintype="text", subtype="csv", filename="a.csv")
    apple = make_mail(text="Before.\n")
    apple.make_mixed()
    apple.attach(make_mail(text="Behind.\n"))
    root = b"Subject: Table\nContent-Type: text/csv; name=a.csv\n\nname,city\nAda,Cork\n"

    mails = [converter.passages(Path("/a.eml"), data) for data in (bytes(html), bytes(empty), bytes(apple), root)]

    texts = ["\n".join(passage.content or "" for passage in passages) for passages in mails]
    assert texts[0].splitlines()[-3:] == ["Report", "milk", "Ada Quill"]
    assert texts[1].splitlines()[-2:] == ["ok", "name: Ada; city: Cork"]
    assert texts[2].splitlines()[-2:] == ["Before.", "Behind."]
    assert texts[3].splitlines()[-1] == "name: Ada; city: Cork"


def test_html_that_begins_with_a_table_is_read_in_lines(converter: FileConverter) -> None:
    pytest.importorskip("trafilatura", reason="the extra 'files' is not installed")
    mail = make_mail()
    page = "<table><tr><td><p>Thank you.</p></td></tr><tr><td><table><tr><td>Rope</td><td>3</td></tr></table></td></tr></table>"
    mail.set_content(page, subtype="html")

    [passage] = converter.passages(Path("/a.eml"), bytes(mail))

    assert "|" not in (passage.content or "")


def make_parts(subtype: str, *parts: tuple[str, str]) -> bytes:
    """Return a mail with parts, each of which is its content type and its text."""
    head = f"Subject: Keel\nContent-Type: multipart/{subtype}; boundary=x\n\n"
    return (head + "".join(f"--x\nContent-Type: {kind}\n\n{text}\n" for kind, text in parts) + "--x--\n").encode()


@for_each(
    "subtype, plain, page, lines",
    (
        "alternative",
        "Please view it in HTML.",
        "<p>The pump costs 90.</p>",
        ["Please view it in HTML.", "The pump costs 90."],
    ),
    ("mixed", "The pump is blue.", "<p>The valve is red.</p>", ["The pump is blue.", "The valve is red."]),
    ("alternative", "The *pump* costs 90.", "<p>The <b>pump</b> costs 90. Unsubscribe</p>", ["The *pump* costs 90."]),
    ("mixed", "The pump is blue.", "<p>The pump is <b>blue</b>.</p>", ["The pump is blue."]),
    ("mixed", "The pump is blue.", "<br>", ["The pump is blue."]),
)
def test_html_is_read_beside_plain_text_if_it_says_more(
    converter: FileConverter, subtype: str, plain: str, page: str, lines: list[str]
) -> None:
    mail = make_parts(subtype, ("text/plain", plain), ("text/html", page))

    [passage] = converter.passages(Path("/a.eml"), mail)

    assert (passage.content or "").splitlines()[1:] == lines
    assert converter.loss == ""


def test_a_part_of_a_kind_that_is_not_read_is_reported(converter: FileConverter) -> None:
    parts = [("text/plain", "Come."), ("text/x-amp-html", "<p>Come.</p>"), ("text/calendar", "BEGIN:VCALENDAR")]

    converter.passages(Path("/a.eml"), make_parts("alternative", *parts))

    assert converter.loss == "1 part not read (1 text/calendar: it is of a kind that is not read)"


@for_each("data, reason", (b"no mail", "there is no mail in it"), (b"From a\n\n", "no text"))
def test_a_mailbox_without_mails_is_refused(data: bytes, reason: str) -> None:
    with pytest.raises(CannotRead, match=reason):
        FileConverter().passages(Path("/a.mbox"), data)


@for_each(
    "data",
    b"Content-Type: multipart/mixed; boundary=x\n\n" + b"--x\nContent-Type: multipart/mixed; boundary=x\n\n" * 300,
    b"Content-Type: text/plain; charset=none-such\nContent-Transfer-Encoding: base64\n\n\xff\xfe!!",
    b"Subject: =?utf-8?b?" + b"\xed\xa0\x80" * 50 + b"?=\nDate: 99 Foo\nContent-Type: ;;;=\n\nWords.",
    b"Content-Type: message/rfc822\n\n" * 100 + b"Words.",
)
def test_a_hostile_mail_is_read_or_refused(data: bytes) -> None:
    try:
        passages = FileConverter().passages(Path("/a.eml"), data)
    except CannotRead:
        return
    assert all((passage.content or "").strip() for passage in passages)


def test_mails_in_mails_are_read_three_deep(converter: FileConverter) -> None:
    mail = make_mail(subject="0")
    for depth in range(1, 8):
        outer = make_mail(subject=str(depth))
        outer.add_attachment(mail)
        mail = outer

    passages = converter.passages(Path("/a.eml"), bytes(mail))

    assert [passage.meta["title"] for passage in passages] == ["7", "6", "5", "4"]
    assert "a mail in a mail in a mail" in converter.loss


def test_a_line_that_a_mailbox_escapes_has_its_own_words(converter: FileConverter) -> None:
    text = b"From ada\nSubject: Keel\n\n>From Monday on it is laid.\n>>From is quoted.\n"

    [passage] = converter.passages(Path("/a.mbox"), text)

    assert (passage.content or "").endswith("From Monday on it is laid.\n>From is quoted.")


@for_each(
    "line, titles",
    ("From Tuesday on the key is with Una.", ["Keel"]),
    ("From 3 May 2026 the gate is open.", ["Keel"]),
    ("From what I hear, it is done: yes.", ["Keel"]),
    ("From ada@example.org Sun May  3 10:00:00 2026\nSubject: Mast", ["Keel", "Mast"]),
    ("From - Sun May 03 10:00:00 2026\nSubject: Mast", ["Keel", "Mast"]),
    ("From MAILER-DAEMON Sun May  3 10:00:00 +0200 2026\nSubject: Mast", ["Keel", "Mast"]),
    ("From ada@example.org Sun, 3 May 2026\nSubject: Mast", ["Keel", "Mast"]),
    ("From ada@example.org\nSubject: Mast", ["Keel", "Mast"]),
)
def test_a_line_of_a_mailbox_begins_a_mail_if_it_is_dated(
    converter: FileConverter, line: str, titles: list[str]
) -> None:
    box = f"From ada\nSubject: Keel\n\nDear all,\n\n{line}\n\nThe gate is green.\n"

    passages = converter.passages(Path("/a.mbox"), box.encode())

    assert [passage.meta["title"] for passage in passages] == titles
    assert (passages[-1].content or "").endswith("The gate is green.")


@for_each(
    "encoding, declaration",
    ("latin-1", "; charset=iso-8859-1"),
    ("latin-1", ""),
    ("utf-8", ""),
    ("utf-8", "; charset=iso-8859-1"),
)
def test_header_fields_with_letters_as_they_are_keep_them(
    converter: FileConverter, encoding: str, declaration: str
) -> None:
    mail = f"From: J\u00f6rg <j@x.de>\nSubject: Z\u00e4une f\u00fcr\n alle\nContent-Type: text/plain{declaration}\n\nNeu.\n"

    [passage] = converter.passages(Path("/a.eml"), mail.encode(encoding))

    assert (passage.meta["title"], passage.meta["from"]) == ("Z\u00e4une f\u00fcr alle", "J\u00f6rg <j@x.de>")


def test_names_of_attachments_may_have_letters_as_they_are(converter: FileConverter) -> None:
    head = 'Subject: Plan\nContent-Type: text/plain\nContent-Disposition: attachment; filename="R\u00e4ume.txt"\n'

    _, passage = converter.passages(Path("/a.eml"), f"{head}\nThe hall.\n".encode())

    assert passage.meta["attachment"] == "R\u00e4ume.txt"
