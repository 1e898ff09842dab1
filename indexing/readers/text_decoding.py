"""Decode the bytes of a text, whatever its encoding.

The file converter calls :func:`decode_text` for each file that is text, and for each part of a mail. Most files are
UTF-8 or have a byte order mark. Only for other files is the encoding guessed. The search for files calls
:func:`looks_like_text` for files whose names have no suffix.
"""

import codecs
import re
import unicodedata

from charset_normalizer import CharsetMatch, from_bytes

from prefrag.indexing.readers.language_letters import encoding_of_letters
from prefrag.indexing.report import CannotRead

# The encoding for each byte order mark. UTF-32 must come before UTF-16, because its mark begins with that of UTF-16.
_BYTE_ORDER_MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
# The encodings of older documents that are considered. The list is short, because each further encoding makes short
# texts more ambiguous.
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
# Encodings of Hebrew, Arabic and Cyrillic letters that are considered last, because a short text in Greek or in another
# encoding of Cyrillic letters fits them as well.
_LAST_CANDIDATES = ["cp1255", "cp1256", "iso8859_6", "iso8859_5", "koi8_u"]
# The encoding of Windows for Western European languages. Nearly all older texts in Latin letters use it.
_WESTERN = "cp1252"
# Another encoding is chosen only if its scores are better than those of the Western encoding by more than this. The
# scores are the coherence and the chaos of charset_normalizer, mostly between 0 and 1.
_CLEARLY = 0.1
# A page may declare an encoding only if the name that Python gives it begins with one of these. UTF-16 is missing,
# because the declaration itself is in ASCII and so cannot stand in a page in UTF-16.
_DECLARABLE = ("utf-8", "cp", "iso", "koi8", "mac", "shift", "euc", "big5", "gb", "tis")
# The encoding is guessed from at most this many bytes.
_SAMPLE_BYTES = 50_000
# This many bytes from the beginning of a file show whether the file is text.
BEGINNING_BYTES = 8_192
# The reason for refusing data with zero bytes.
_ZERO_BYTES = "it is not text (it holds zero bytes)"
# If at least this share of the lines of a file are names with values, the file holds settings.
_NEARLY_ALL = 0.8
# Matches a control character that no text has. Tabs, line breaks, form feeds and the escape character of terminals are
# allowed.
_CONTROLS = re.compile(r"[\x00-\x07\x0e-\x1a\x1c-\x1f\x7f]")
# Matches the first line of a private key, such as "-----BEGIN RSA PRIVATE KEY-----".
_PRIVATE_KEY = re.compile(rb"-----BEGIN [A-Z ]*PRIVATE KEY-----")

# Matches a line of a file with settings or credentials. An ordinary sentence does not match.
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
# Matches the beginning of a line whose name says that the value is a secret, such as "api_key =" or "my_password:". The
# beginning of a line of .netrc, such as "machine host", matches, too. "key =" does not match.
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
    r"""Decode the bytes of a text.

    A byte order mark decides the encoding. Without such a mark, the first of these that fits is used: the declared
    encoding, UTF-8, UTF-8 with a few broken bytes, and the likeliest older encodings. For example,
    ``decode_text(b"caf\xe9")`` returns "café", because these bytes are no UTF-8.

    :param data: The bytes.
    :param declared: The encoding that the file or the mail declares; None if there is no declaration.
    :returns: The text. Broken bytes of UTF-8 become replacement characters.
    :raises CannotRead: If the bytes are not text, or if no encoding fits.
    """
    for mark, encoding in _BYTE_ORDER_MARKS.items():
        if data.startswith(mark):
            return _decode_with_mark(data, encoding)
    if b"\0" in data:
        return _decode_without_mark(data)

    for encoding in filter(None, (_python_name(declared), "utf-8")):
        text = _try_decode(data, encoding)
        if text is not None:
            return text

    text = _decode_broken_utf8(data)
    if text is not None:
        return text

    for encoding in _likely_encodings(data):
        text = _try_decode(data, encoding)
        if text is not None and not _CONTROLS.search(text):
            return text
    raise CannotRead("it is not text, or its encoding cannot be determined; save it as UTF-8")


def _try_decode(data: bytes, encoding: str) -> str | None:
    """Decode the bytes of a text. Return None if they do not fit the encoding."""
    try:
        return data.decode(encoding)
    except UnicodeDecodeError:
        return None


def looks_like_text(beginning: bytes) -> bool:
    """Check by the beginning of a file whether it is a text for people to read.

    Private keys and files with credentials are no such text.

    :param beginning: The first bytes of the file, at most `BEGINNING_BYTES`. They may end within a character.
    :returns: Whether the file is a text for people.
    """
    if not beginning.strip() or _PRIVATE_KEY.search(beginning):
        return False
    try:
        # An incremental decoder accepts that the last character may be cut off.
        text = codecs.getincrementaldecoder("utf-8")().decode(beginning)
    except UnicodeDecodeError:
        return _looks_like_older_text(beginning)
    if "\0" in text:
        return _looks_like_older_text(beginning)
    return not _CONTROLS.search(text) and not _holds_credentials(text)


def _looks_like_older_text(beginning: bytes) -> bool:
    """Check by the beginning of a file that is not UTF-8 whether it is a text in another encoding."""
    # A character of UTF-32 has four bytes, and one of UTF-16 has two. So the last character is whole.
    whole_characters = beginning[: len(beginning) // 4 * 4]
    try:
        text = decode_text(whole_characters)
    except CannotRead:
        return False
    # In an older encoding, almost any bytes can be letters. So the text must also have at least two words.
    return len(text.split()) > 1 and not _CONTROLS.search(text)


def _holds_credentials(text: str) -> bool:
    """Check whether nearly all lines are names with values, and at least one value is a secret.

    Blank lines and comments do not count. For example, "user = ada" above "password = x" holds credentials.
    """
    filled_lines = [line for line in text.splitlines() if line.strip()]
    lines = [line for line in filled_lines if not line.lstrip().startswith(("#", ";"))]
    settings = sum(_SETTING.fullmatch(line) is not None for line in lines)
    return bool(_SECRET.search(text)) and settings >= _NEARLY_ALL * len(lines)


def _python_name(declared: str | None) -> str | None:
    """Return the name that Python has for a declared encoding.

    For example, "windows-1250" gives "cp1250". The result is None if the encoding is unknown or cannot be declared.
    """
    try:
        name = codecs.lookup(declared or "").name
    except (LookupError, ValueError):
        return None
    # Read Latin-1 and ASCII as Windows-1252, as browsers do.
    if name in ("iso8859-1", "ascii"):
        return _WESTERN
    return name if name.startswith(_DECLARABLE) else None


def _decode_with_mark(data: bytes, encoding: str) -> str:
    """Decode a text whose byte order mark tells the encoding, or raise :class:`CannotRead`."""
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        raise CannotRead(f"it is not {encoding.upper()} text ({error}); save it as UTF-8") from error
    if "\0" in text:
        raise CannotRead(_ZERO_BYTES)
    return text


def _decode_without_mark(data: bytes) -> str:
    """Decode UTF-16 without a byte order mark, or raise :class:`CannotRead`.

    Only Western text can be recognised, because in its UTF-16 nearly every second byte is zero.
    """
    # How many zeros are among the first bytes of all characters, and how many among the second bytes.
    first = data[::2].count(0)
    second = data[1::2].count(0)
    has_many_zeros = 4 * max(first, second) > len(data)
    has_few_others = 20 * min(first, second) < len(data)
    has_whole_characters = len(data) % 2 == 0
    is_western = has_many_zeros and has_few_others and has_whole_characters
    if not is_western:
        raise CannotRead(_ZERO_BYTES)

    text = _try_decode(data, "utf-16-le" if second > first else "utf-16-be")
    if text is None or _CONTROLS.search(text) or not _is_assigned(text):
        raise CannotRead(_ZERO_BYTES)
    return text


def _is_assigned(text: str) -> bool:
    """Check that Unicode defines all characters of a text. In data that is no text, some characters are undefined."""
    return not any(unicodedata.category(character) in ("Cn", "Co", "Cs") for character in set(text))


def _decode_broken_utf8(data: bytes) -> str | None:
    """Decode UTF-8 with a few broken bytes.

    Return None if more than a tenth of the non-ASCII characters are broken, or if the text has control characters.
    """
    text = data.decode("utf-8", "replace")
    broken = text.count("\ufffd")
    # Counting each of the 128 ASCII characters separately is faster than a loop over all characters of the text.
    ascii_characters = sum(text.count(chr(code)) for code in range(128))
    others = len(text) - ascii_characters
    if broken * 10 > others or _CONTROLS.search(text):
        return None
    return text


def _likely_encodings(data: bytes) -> list[str]:
    """Return the names of the older encodings that fit a text, the likeliest first."""
    # The encodings differ only in lines with non-ASCII letters.
    beginning = data[: 20 * _SAMPLE_BYTES]
    lines = [line for line in beginning.splitlines() if not line.isascii()]
    sample = b"\n".join(lines or [data])[:_SAMPLE_BYTES]
    by_letters = encoding_of_letters(sample)
    by_scores = _encodings_by_scores(sample)
    return [by_letters, *by_scores] if by_letters else by_scores


def _encodings_by_scores(sample: bytes) -> list[str]:
    """Return the names of the older encodings that fit a text, those with the best scores of charset_normalizer first.

    The scores hardly differ between the encodings of Latin letters.
    """
    candidates = [*_CANDIDATES, *_LAST_CANDIDATES]
    matches: list[CharsetMatch] = []
    last_matches: list[CharsetMatch] = []
    for match in from_bytes(sample, cp_isolation=candidates, preemptive_behaviour=False):
        is_last = set(match.could_be_from_charset) <= set(_LAST_CANDIDATES)
        (last_matches if is_last else matches).append(match)

    western_matches = [match for match in matches if _WESTERN in match.could_be_from_charset]
    if western_matches:
        western = western_matches[0]
        # The coherence says how well the letters fit a language. The chaos is the share of odd characters.
        is_as_coherent = all(western.coherence + _CLEARLY >= match.coherence for match in matches)
        is_as_tidy = all(western.chaos <= match.chaos + _CLEARLY for match in matches)
        if is_as_coherent and is_as_tidy:
            return [_WESTERN]
    best_coherence = max((match.coherence for match in matches), default=0.0)
    clear_matches = [match for match in last_matches if match.coherence > best_coherence + _CLEARLY]
    return [match.encoding for match in (*clear_matches, *matches)]
