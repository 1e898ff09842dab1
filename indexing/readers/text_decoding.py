"""Decode the bytes of a text, whatever its encoding."""

import codecs
import re
import unicodedata

from charset_normalizer import from_bytes

from prefrag.indexing.report import CannotRead

# UTF-32 comes before UTF-16, because the byte order mark of UTF-32 begins with the byte order mark of UTF-16.
_BYTE_ORDER_MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
# The encodings of older documents. They are few, because each further encoding makes short texts more ambiguous.
_CANDIDATES = [
    "cp1252",
    "cp1250",
    "iso8859_2",
    "cp1251",
    "koi8_r",
    "cp1253",
    "cp1254",
    "shift_jis",
    "euc_jp",
    "euc_kr",
    "gb18030",
    "big5",
]
_WESTERN = "cp1252"
# Nearly all texts in Latin letters use the Western encoding. Another is chosen only if it scores this much better.
_CLEARLY = 0.1
# How the names of declarable encodings begin. UTF-16 is missing, because a page in UTF-16 cannot declare it in ASCII.
_DECLARABLE = ("utf-8", "cp", "iso", "koi8", "mac", "shift", "euc", "big5", "gb", "tis")
_SAMPLE_BYTES = 50_000
# This many bytes from the beginning of a file show whether it is text.
BEGINNING_BYTES = 8_192
# If at least this share of the lines of a file are names with values, the file is one of settings.
_NEARLY_ALL = 0.8
# Control characters that no text has. Tabs, line breaks, form feeds and escape sequences of terminals are allowed.
_CONTROLS = re.compile(r"[\x00-\x07\x0e-\x1a\x1c-\x1f\x7f]")
_PRIVATE_KEY = re.compile(rb"-----BEGIN [A-Z ]*PRIVATE KEY-----")

# A line of a file of credentials.
_SETTING = re.compile(
    r"""
    \s*
    (?: \[ [^\]]+ \]                                      # a section, such as [default]
      | [\w.-]{1,60} \s* [=:] \s* \S+                     # a name with a value, such as user = ada
      | (?:machine|default) \s .* \s password \s+ \S+      # what .netrc has: machine host login ada password 123
    )
    \s*
    """,
    re.VERBOSE,
)
# The beginning of a line whose name says that its value is a secret, such as "api_key =", or of a line of .netrc.
_SECRET = re.compile(
    r"""
    ^ \s*
    (?: [\w.-]{0,60} (?:secret|password|passwd|token|api_?key|access_?key) [\w.-]{0,60} \s* [=:]
      | machine \s
    )
    """,
    re.IGNORECASE | re.MULTILINE | re.VERBOSE,
)


def decode_text(data: bytes, declared: str | None = None) -> str:
    """Decode a text by its byte order mark, or else by the first encoding that fits.

    The declared encoding is tried first, then UTF-8 (a few broken bytes may be lost), then the likeliest old encodings.
    """
    for mark, encoding in _BYTE_ORDER_MARKS.items():
        if data.startswith(mark):
            try:
                return _refuse_zeros(data.decode(encoding))
            except UnicodeDecodeError as error:
                raise CannotRead(f"it is not {encoding.upper()} text ({error}); save it as UTF-8") from error
    if b"\0" in data:
        return _decode_without_mark(data)
    for encoding in filter(None, (_python_name(declared), "utf-8")):
        try:
            return data.decode(encoding)
        except UnicodeDecodeError:
            continue
    text = _decode_broken_utf8(data)
    if text is not None:
        return text
    for encoding in _likely_encodings(data):
        try:
            text = data.decode(encoding)
        except UnicodeDecodeError:
            continue
        if not _CONTROLS.search(text):
            return text
    raise CannotRead("it is not text, or its encoding cannot be determined; save it as UTF-8")


def looks_like_text(beginning: bytes) -> bool:
    """Check by the beginning of a file whether it is a text for people to read."""
    if not beginning.strip() or _PRIVATE_KEY.search(beginning):
        return False
    try:
        # An incremental decoder accepts that the last character may be cut off.
        text = codecs.getincrementaldecoder("utf-8")().decode(beginning)
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        try:
            text = decode_text(beginning[: len(beginning) // 4 * 4])
        except CannotRead:
            return False
        # In an older encoding, any bytes can be letters. So the text must also have several words.
        return len(text.split()) > 1 and not _CONTROLS.search(text)
    return not _CONTROLS.search(text) and not _holds_credentials(text)


def _holds_credentials(text: str) -> bool:
    """Check whether nearly all lines are names with values, and one of them is a secret. Comments do not count."""
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith(("#", ";"))]
    settings = sum(_SETTING.fullmatch(line) is not None for line in lines)
    return bool(_SECRET.search(text)) and settings >= _NEARLY_ALL * len(lines)


def _python_name(declared: str | None) -> str | None:
    """Return the name that Python has for a declared encoding; None if it is unknown or cannot be declared."""
    try:
        name = codecs.lookup(declared or "").name
    except (LookupError, ValueError):
        return None
    # Like browsers, read Latin-1 and ASCII as Windows-1252.
    if name in ("iso8859-1", "ascii"):
        return _WESTERN
    return name if name.startswith(_DECLARABLE) else None


def _refuse_zeros(text: str) -> str:
    if "\0" in text:
        raise CannotRead("it is not text (it holds zero bytes)")
    return text


def _decode_without_mark(data: bytes) -> str:
    """Decode UTF-16 without a byte order mark. It must be Western text, in which every second byte is mostly zero."""
    # The numbers of zeros among the first bytes of all characters, and among the second.
    first, second = data[::2].count(0), data[1::2].count(0)
    encoding = "utf-16-le" if second > first else "utf-16-be"
    has_many_zeros = 4 * max(first, second) > len(data)
    has_few_others = 20 * min(first, second) < len(data)
    if has_many_zeros and has_few_others and len(data) % 2 == 0:
        try:
            text = data.decode(encoding)
        except UnicodeDecodeError:
            text = "\0"
        if not _CONTROLS.search(text) and _is_assigned(text):
            return text
    raise CannotRead("it is not text (it holds zero bytes)")


def _is_assigned(text: str) -> bool:
    """Check that Unicode defines all characters of a text. If the data is not text, some characters are undefined."""
    return not any(unicodedata.category(character) in ("Cn", "Co", "Cs") for character in set(text))


def _decode_broken_utf8(data: bytes) -> str | None:
    """Decode UTF-8 with a few broken bytes. Returns None if over a tenth of the non-ASCII characters are broken."""
    text = data.decode("utf-8", "replace")
    broken = text.count("\ufffd")
    # Counting each of the 128 ASCII characters is faster than looking at each character of the text.
    ascii_characters = sum(text.count(chr(code)) for code in range(128))
    others = len(text) - ascii_characters
    return text if broken * 10 <= others and not _CONTROLS.search(text) else None


def _likely_encodings(data: bytes) -> list[str]:
    """List the older encodings that fit a text, the likeliest first."""
    # Only lines with non-ASCII letters differ between encodings.
    lines = [line for line in data[: 20 * _SAMPLE_BYTES].splitlines() if not line.isascii()]
    sample = b"\n".join(lines or [data])[:_SAMPLE_BYTES]
    matches = list(from_bytes(sample, cp_isolation=_CANDIDATES, preemptive_behaviour=False))
    western = next((match for match in matches if _WESTERN in match.could_be_from_charset), None)
    if western:
        # The coherence is the share of letters that a language would have, the chaos that of odd characters.
        is_as_coherent = all(western.coherence + _CLEARLY >= match.coherence for match in matches)
        is_as_tidy = all(western.chaos <= match.chaos + _CLEARLY for match in matches)
        if is_as_coherent and is_as_tidy:
            return [_WESTERN]
    return [match.encoding for match in matches]
