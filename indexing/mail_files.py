"""Read mails, one (`.eml`) or a mailbox of them (`.mbox`), with what is attached to them."""

from __future__ import annotations

import email
import re
from collections.abc import Iterator
from contextlib import suppress
from email import policy
from email.message import EmailMessage
from email.utils import parsedate_to_datetime
from typing import Any, NamedTuple

from prefrag.components.text.unicode_form import is_text
from prefrag.indexing.report import CannotRead
from prefrag.indexing.text_decoding import decode_text

# A line of a mail that begins so has a sign before it in a mailbox.
_FROM = re.compile(rb"(?:\A|(?<=\n\n)|(?<=\r\n\r\n))From [^\n]*\n")
_MOST_HEAD = 500
_FORWARDED = "message/rfc822"
_HEAD = ("From", "To", "Cc", "Date", "Subject")


class Mail(NamedTuple):
    """What is in a mail."""

    subject: str
    head: str  # who wrote it to whom, and when, a line each
    fields: dict[str, str]  # from, to, subject and date (as year-month-day)
    text: str
    is_html: bool
    attachments: list[tuple[str, bytes]]


def read_mails(data: bytes, *, is_mailbox: bool) -> Iterator[Mail]:
    """Read one mail, or those of a mailbox one after the other."""
    begins = [found.span() for found in _FROM.finditer(data)] if is_mailbox else [(0, 0)]
    if not begins:
        raise CannotRead("no mail begins in it")
    ends = [*(begin for begin, _ in begins[1:]), len(data)]
    for (_, begin), end in zip(begins, ends, strict=True):
        try:
            yield _read_mail(data[begin:end])
        except CannotRead:
            raise
        # The library raises almost anything for what nobody's program writes.
        except Exception as error:
            raise CannotRead(f"it cannot be read as mail ({error})") from error


def _read_mail(data: bytes) -> Mail:
    message = email.message_from_bytes(data, policy=policy.default)
    assert isinstance(message, EmailMessage)
    head = {name: value for name in _HEAD if (value := _one_line(message[name]))}
    fields = {name.lower(): value for name, value in head.items() if name != "Date"}
    # A mail without a date that can be read has none.
    with suppress(ValueError, OverflowError):
        fields["date"] = parsedate_to_datetime(head.get("Date", "")).date().isoformat()
    body = message.get_body(("plain", "html"))
    text = "" if body is None else decode_text(_content(body), body.get_content_charset())
    is_html = body is not None and body.get_content_type() == "text/html"
    lines = "\n".join(f"{name}: {value}" for name, value in head.items())
    return Mail(head.get("Subject", ""), lines, fields, text, is_html, list(_attachments(message)))


def _attachments(message: EmailMessage) -> Iterator[tuple[str, bytes]]:
    """Yield the name and the content of each named part, and the mails that were forwarded as a whole."""
    for part in message.iter_attachments():
        if part.get_content_type() == _FORWARDED:
            inner = part.get_content()
            yield f"{_one_line(inner.get('Subject')) or 'forwarded'}.eml", inner.as_bytes()
            continue
        for leaf in part.walk():
            # Of a path of another machine the name remains.
            if not leaf.is_multipart() and (name := re.split(r"[\\/]", _one_line(leaf.get_filename()))[-1]):
                yield name, _content(leaf)


def _content(part: Any) -> bytes:
    content = part.get_payload(decode=True)
    return content if isinstance(content, bytes) else b""


def _one_line(value: object) -> str:
    text = " ".join(str(value or "").split())[:_MOST_HEAD]
    return text if is_text(text) else ""
