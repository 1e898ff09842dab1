"""Read a single mail (`.eml`) or all mails of a mailbox (`.mbox`), with their attachments.

The file converter calls :func:`read_mails`, and then reads each attachment like a file. A forwarded mail counts as an
attachment. A mail that cannot be read does not stop the others.
"""

import email
import re
from collections.abc import Iterator
from contextlib import suppress
from email.header import decode_header, make_header
from email.message import Message
from email.policy import Compat32
from email.utils import parsedate_to_datetime
from typing import Any, NamedTuple

from prefrag.components.text.sentences import cut_text
from prefrag.components.text.unicode_form import is_text
from prefrag.indexing.readers.text_decoding import decode_text
from prefrag.indexing.report import TOO_DEEP, CannotRead

# Matches the line that begins each mail in a mailbox, such as "From ada@example.org Wed Mar 4 2026". Except for the
# first mail, a blank line stands before it, and it has a date as programs write it, or an address above a header field.
# So "From Tuesday on" in a mail begins no mail.
_FROM = re.compile(
    rb"""
    \A From\x20 [^\n]* \n
    | (?: (?<=\n\n) | (?<=\r\n\r\n) ) From\x20
      (?: \S [^\n]{0,500}? \s (?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) ,? \s [^\n]{0,60} \b (?:19|20)\d\d \b [^\n]{0,60} \n
        | [^\s@]+ @ [^\n]{1,500} \n (?= [\w-]{1,60} : )
      )
    """,
    re.VERBOSE,
)
# Matches the beginning of a line of a mail that would look like such a line. A mailbox writes ">" before it. For
# example, the line "From here" of a mail is stored as ">From here". Group 1 is the line without the first ">".
_ESCAPED = re.compile(rb"^>(>*From )", re.MULTILINE)
# How many characters of an encoded header one character of its text may take, as in "=?utf-8?b?w7w=?=".
_MOST_ENCODED = 12
# A header field is cut to this many characters before it is shown.
_MOST_HEAD = 500
# A header field is cut to this many characters before it is parsed.
_MOST_FIELD = 2_000
# At most this many parts of a mail are read. Further parts are ignored.
_MOST_PARTS = 1_000
# The content type of a forwarded mail.
_FORWARDED = "message/rfc822"
# The header fields that are shown, in this order.
_HEAD = ("From", "To", "Cc", "Date", "Subject")


class Mail(NamedTuple):
    """The content of a mail.

    :param subject: The subject; "" if the mail has none.
    :param head: The header lines From, To, Cc, Date and Subject, as far as the mail has them.
    :param fields: The same header fields, with names in small letters. The date is written as in 2026-03-04.
    :param texts: The parts in plain text.
    :param html: The parts in HTML. Empty if the mail has plain text.
    :param attachments: The file name and the content of each attachment.
    """

    subject: str
    head: str
    fields: dict[str, str]
    texts: list[str]
    html: str
    attachments: list[tuple[str, bytes]]


class _ShortFields(Compat32):
    """Cuts long header fields. The time to read the parameters of a field grows with the square of its length."""

    def header_source_parse(self, sourcelines: list[str]) -> tuple[str, str]:
        """Return the name and the cut value of a header field."""
        name, value = super().header_source_parse(sourcelines)
        return name, value[:_MOST_FIELD]


def read_mails(data: bytes, *, is_mailbox: bool) -> Iterator[Mail | CannotRead]:
    """Read one mail, or all mails of a mailbox.

    :param data: The bytes of the file.
    :param is_mailbox: Whether the file is a mailbox with several mails.
    :returns: The mails. For a mail that cannot be read, the error stands in its place.
    :raises CannotRead: If a mailbox has no mail.
    """
    places = _places_of_mails(data) if is_mailbox else [(0, len(data))]
    if not places:
        raise CannotRead("there is no mail in it")

    for begin, end in places:
        mail = data[begin:end]
        if is_mailbox:
            mail = _ESCAPED.sub(rb"\1", mail)
        try:
            yield _read_mail(mail)
        except MemoryError:
            raise
        except RecursionError:
            yield CannotRead(TOO_DEEP)
        # For a malformed mail, the library raises almost any kind of exception.
        except Exception as error:
            yield CannotRead(f"it cannot be read as mail ({error})")


def _places_of_mails(data: bytes) -> list[tuple[int, int]]:
    """Return the begin and the end of each mail of a mailbox, without the line that begins the mail."""
    lines = [match.span() for match in _FROM.finditer(data)]
    begins = [line_end for _, line_end in lines]
    # A mail ends where the line of the next mail begins.
    ends = [line_begin for line_begin, _ in lines[1:]]
    return list(zip(begins, [*ends, len(data)], strict=False))


def _read_mail(data: bytes) -> Mail:
    """Read the header fields, the texts and the attachments of one mail."""
    message = email.message_from_bytes(data, policy=_ShortFields())
    headers = {name: _header(message, name) for name in _HEAD}
    head = {name: value for name, value in headers.items() if value}
    fields = {name.lower(): value for name, value in head.items() if name != "Date"}
    with suppress(ValueError, OverflowError, TypeError):
        fields["date"] = parsedate_to_datetime(head.get("Date", "")).date().isoformat()

    texts: list[str] = []
    pages: list[str] = []
    attachments: list[tuple[str, bytes]] = []
    for part in _leaves(message):
        # The name of an attachment may be a path on the sender's machine, so keep only the file name.
        name = re.split(r"[\\/]", _words(part.get_filename()))[-1]
        kind = part.get_content_type()
        if kind == _FORWARDED:
            inner = part.get_payload()[0]
            attachments.append((f"{_header(inner, 'Subject') or 'forwarded'}.eml", inner.as_bytes()))
        elif name:
            attachments.append((name, _content(part)))
        elif kind == "text/plain":
            texts.append(_decode(part))
        elif kind == "text/html":
            pages.append(_decode(part))

    texts = [text for text in texts if text.strip()]
    pages = [page for page in pages if page.strip()]
    lines = "\n".join(f"{name}: {value}" for name, value in head.items())
    html = "" if texts else "\n".join(pages)
    return Mail(head.get("Subject", ""), lines, fields, texts, html, attachments)


def _leaves(message: Message) -> Iterator[Any]:
    """Yield the parts of a mail that have content. A forwarded mail counts as a single part."""
    waiting: list[Any] = [message]
    for _ in range(_MOST_PARTS):
        if not waiting:
            return
        part = waiting.pop()
        content = part.get_payload()
        has_parts = isinstance(content, list)
        if has_parts and part.get_content_type() != _FORWARDED:
            waiting += reversed(content)
            continue
        is_empty = has_parts and not content
        if not is_empty:
            yield part


def _decode(part: Message) -> str:
    """Return the text of a part of a mail; "" if the part cannot be read as text."""
    # Skip a part that cannot be read as text, because the other parts may still be readable.
    with suppress(CannotRead):
        return decode_text(_content(part), part.get_content_charset())
    return ""


def _content(part: Message) -> bytes:
    """Return the bytes of a part of a mail, decoded from base64 or the like."""
    content = part.get_payload(decode=True)
    return content if isinstance(content, bytes) else b""


def _header(message: Message, name: str) -> str:
    """Return the decoded value of a header field in one line; "" if the mail does not have the field."""
    # An encoded value is several times longer than its text. It is cut again when it is decoded.
    value = str(message.get(name) or "")[: _MOST_HEAD * _MOST_ENCODED]
    # If the encoding of the value is unknown or broken, the value is not decoded.
    with suppress(Exception):
        value = str(make_header(decode_header(value)))
    return _words(value)


def _words(value: object) -> str:
    """Write a value in one line of at most 500 characters; "" if it is None or no valid text."""
    text = cut_text(" ".join(str(value or "").split()), _MOST_HEAD)
    return text if is_text(text) else ""
