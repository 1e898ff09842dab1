"""Read a single mail (`.eml`) or all mails of a mailbox (`.mbox`), with their attachments.

The file converter calls :func:`read_mails`, and then reads each attachment like a file. A forwarded mail counts as an
attachment. A mail that cannot be read does not stop the others.
"""

import email
import re
from collections.abc import Iterator, Set
from contextlib import suppress
from email.header import decode_header, make_header
from email.message import Message
from email.policy import Compat32
from email.utils import parsedate_to_datetime
from typing import Any, NamedTuple

from prefrag.components.text.sentences import cut_text
from prefrag.components.text.unicode_form import is_text
from prefrag.indexing.readers.html_files import without_tags
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
# A part in HTML is left out if at least this share of its words stands in the plain text, too: of a part that the mail
# offers in place of the plain text, and of any other part.
_SAME_TEXT, _REPEATED_TEXT = 0.5, 0.9
# Matches the declaration of an encoding. Group 1 is its name.
_CHARSET = re.compile(rb"charset=[\"']?([\w.:-]{1,40})", re.IGNORECASE)
# Matches a word.
_WORD = re.compile(r"\w+")
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
    :param html: The parts in HTML, except those that say the same as the plain text.
    :param attachments: The file name and the content of each attachment.
    :param unread: The content types of the parts that are not read, such as "text/calendar".
    """

    subject: str
    head: str
    fields: dict[str, str]
    texts: list[str]
    html: str
    attachments: list[tuple[str, bytes]]
    unread: list[str]


class _ShortFields(Compat32):
    """Cuts long header fields, and decodes those with letters that are not encoded for a mail.

    The time to read the parameters of a field grows with the square of its length.
    """

    # The encoding that the mail declares for its text. Some programs write the header fields in it, too.
    charset = ""

    def header_source_parse(self, sourcelines: list[str]) -> tuple[str, str]:
        """Return the name and the cut value of a header field."""
        name, value = super().header_source_parse(sourcelines)
        return name, value[:_MOST_FIELD]

    def header_fetch_parse(self, name: str, value: Any) -> Any:
        """Return the value of a field that is asked for. Only such a field is decoded, because that takes time."""
        if isinstance(value, str) and not value.isascii():
            data = value.encode("ascii", "surrogateescape")
            # A cut may have divided the last letter.
            with suppress(CannotRead):
                value = decode_text(data, None if _is_utf8(data) else self.charset)
        return super().header_fetch_parse(name, value)


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
    declared = _CHARSET.search(data)
    settings: dict[str, Any] = {"charset": declared[1].decode()} if declared else {}
    message = email.message_from_bytes(data, policy=_ShortFields(**settings))
    headers = {name: _header(message, name) for name in _HEAD}
    head = {name: value for name, value in headers.items() if value}
    fields = {name.lower(): value for name, value in head.items() if name != "Date"}
    with suppress(ValueError, OverflowError, TypeError):
        fields["date"] = parsedate_to_datetime(head.get("Date", "")).date().isoformat()

    texts: list[str] = []
    # The parts in HTML. With each stands whether the mail offers it in place of another part.
    pages: list[tuple[str, bool]] = []
    attachments: list[tuple[str, bytes]] = []
    unread: list[str] = []
    for part, is_alternative in _leaves(message):
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
            pages.append((_decode(part), is_alternative))
        elif not _repeats_others(kind):
            unread.append(kind)

    texts = [text for text in texts if text.strip()]
    words_of_texts = set(_WORD.findall(" ".join(texts).lower()))
    html = "\n".join(page for page, is_alternative in pages if _says_more(page, words_of_texts, is_alternative))
    lines = "\n".join(f"{name}: {value}" for name, value in head.items())
    return Mail(head.get("Subject", ""), lines, fields, texts, html, attachments, unread)


def _says_more(page: str, words_of_texts: Set[str], is_alternative: bool) -> bool:
    """Check whether a part in HTML says more than the plain text of the mail.

    Mostly both say the same. But the plain text may only say that the mail is in HTML, or be another text.

    :param page: The part in HTML.
    :param words_of_texts: The words of the plain text in small letters. Empty if the mail has none.
    :param is_alternative: Whether the mail offers the part in place of another part.
    """
    words = set(_WORD.findall(without_tags(page).lower())) if words_of_texts else set()
    if not words:
        return not words_of_texts and bool(page.strip())
    most = _SAME_TEXT if is_alternative else _REPEATED_TEXT
    return len(words & words_of_texts) < most * len(words)


def _repeats_others(kind: str) -> bool:
    """Check whether parts of a content type only repeat or sign other parts, such as "text/x-amp-html"."""
    return kind.endswith("-signature") or (kind.startswith("text/") and "html" in kind)


def _leaves(message: Message) -> Iterator[tuple[Any, bool]]:
    """Yield the parts of a mail that have content, and whether the mail offers the part in place of another part.

    A forwarded mail counts as a single part.
    """
    waiting: list[tuple[Any, bool]] = [(message, False)]
    for _ in range(_MOST_PARTS):
        if not waiting:
            return
        part, is_alternative = waiting.pop()
        content = part.get_payload()
        has_parts = isinstance(content, list)
        if has_parts and part.get_content_type() != _FORWARDED:
            is_alternative |= part.get_content_type() == "multipart/alternative"
            waiting += [(inner, is_alternative) for inner in reversed(content)]
            continue
        is_empty = has_parts and not content
        if not is_empty:
            yield part, is_alternative


def _is_utf8(data: bytes) -> bool:
    """Check whether bytes are text in UTF-8."""
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


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
