"""Read passages from the lines of a corpus, and convert them to Haystack documents.

A corpus is a file in the JSON Lines format: each line is a JSON object with a passage. The indexing and the evaluation
read corpora with this module. A line that is no passage raises an error that says what is wrong in which line.
"""

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from haystack import Document

from prefrag.components.text.title_mentions import TITLE_KEY_FIELD
from prefrag.components.text.unicode_form import is_text, normalize_unicode
from prefrag.errors import BadInput

# The maximum number of bytes of a line. A longer line is refused.
MAX_LINE_BYTES = 10_000_000
# The maximum number of bytes of an id. Elasticsearch refuses ids with more bytes.
MAX_ID_BYTES = 512
# The keys that may contain the text. Of these keys, the first one that a record has is taken.
# The corpora of MedRAG have `content`, and also `contents`, which repeats title and text for Pyserini.
_TEXT_KEYS = ("text", "content", "contents")
# Names that a document already uses: its fields, and metadata that the indexing adds. A key with such a name gets an
# underscore: `score` becomes `score_`.
_RESERVED = frozenset(
    {*Document.__dataclass_fields__, "corpus", "file_path", "file_hash", "split_count", TITLE_KEY_FIELD}
)


class PassageError(BadInput):
    """The error for input that is not a passage.

    :param reason: What is wrong, such as ``'title' must be text``.
    :param line: The number of the line in the corpus, from 1. None if the input is not from a corpus.
    """

    def __init__(self, reason: str, line: int | None = None) -> None:
        super().__init__(reason if line is None else f"line {line}: {reason}")
        self.reason = reason
        self.line = line


@dataclass(frozen=True)
class PassageRecord:
    """A passage before it becomes a document.

    :param id: The id, of 1 to 512 bytes.
    :param text: The text, which is never empty.
    :param title: The title, or None if the passage has none.
    :param source: In corpora for experiments, the index that contains the passage: ``local``, ``web`` or ``both``.
    :param meta: Other metadata.
    :raises PassageError: When a field is invalid.
    """

    id: str
    text: str
    title: str | None = None
    source: object = None
    meta: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        id_bytes = self.id.encode("utf-8", "surrogatepass") if isinstance(self.id, str) else b""
        if not 1 <= len(id_bytes) <= MAX_ID_BYTES:
            raise PassageError(f"'id' must be text of 1 to {MAX_ID_BYTES} bytes")
        if not isinstance(self.text, str) or not self.text.strip():
            raise PassageError("'text' must be text, and not empty")
        if self.title is not None and not isinstance(self.title, str):
            raise PassageError("'title' must be text")
        _check_unicode(self.id + self.text + (self.title or ""))

    def document(self, **more: object) -> Document:
        """Convert the passage to a Haystack document. Title and text get the same Unicode form as queries.

        The document does not get the field ``source``. Pipelines use this name in the metadata for another thing, the
        source that found the document.

        :param more: Further metadata.
        :returns: The document. Its metadata has the title, if there is one.
        """
        meta = dict(self.meta)
        if self.title is not None:
            meta["title"] = normalize_unicode(self.title)
        return Document(id=self.id, content=normalize_unicode(self.text), meta={**meta, **more})


def read_passage_line(line: bytes, number: int) -> PassageRecord:
    """Read a line of a corpus.

    The line is a JSON object with these keys:

    - ``id``, a text or a whole number
    - ``text``. If this key is missing, the text is in ``content``, or else in ``contents``, as in the chunks of MedRAG.
    - ``title`` and ``source``, which may be missing
    - any other keys, which become metadata. If ``meta`` is an object, its keys become metadata too.

    A key gets an underscore if its name already means something else in Haystack's documents or in the index. For
    example, ``score`` becomes ``score_``.

    :param line: The bytes of the line.
    :param number: The number of the line in the corpus, from 1.
    :returns: The passage.
    :raises PassageError: When the line is not a passage. The error contains ``number``.
    """
    try:
        return _record(_parse(line))
    except PassageError as error:
        raise PassageError(error.reason, number) from error


def find_text_key(record: Mapping[str, object]) -> str:
    """Return the key that contains the text of a record.

    For example, ``find_text_key({"id": "7", "content": "A square."})`` returns ``"content"``.

    :param record: The JSON object of a line.
    :returns: ``text``, ``content`` or ``contents``: the first of these keys that the record has, and ``text`` if it
        has none of them.
    """
    return next((key for key in _TEXT_KEYS if key in record), "text")


def passage_lines(stream: BinaryIO) -> Iterator[tuple[int, int, bytes]]:
    """Read the lines of a corpus, except blank lines.

    A file that is one endless line does not fill the memory. Of a line over 10 MB, only the beginning is returned, and
    :func:`read_passage_line` refuses this beginning.

    :param stream: The file, opened for reading bytes.
    :returns: An iterator over the lines. Each line comes as three values: its number (from 1), the byte position in the
        file at which it ends, and its bytes.
    """
    number = 0
    position = 0
    # At the end of the file, the line is empty.
    while line := stream.readline(MAX_LINE_BYTES + 1):
        number += 1
        position += len(line)
        # The end of a line that is too long is read in pieces, which are not stored.
        piece = line
        while piece and not piece.endswith(b"\n"):
            piece = stream.readline(MAX_LINE_BYTES)
            position += len(piece)
        if line.strip():
            yield number, position, line


def read_passages(corpus: Path) -> Iterator[Document]:
    """Read the passages of a corpus as documents.

    :param corpus: The path of the file.
    :returns: An iterator over the documents, in the order of the file.
    :raises ValueError: When a line is not a passage. The message names the file and the line.
    """
    with corpus.open("rb") as stream:
        for number, _, line in passage_lines(stream):
            try:
                yield read_passage_line(line, number).document()
            except PassageError as error:
                raise ValueError(f"{corpus}, {error}.") from error


def _parse(line: bytes) -> dict[str, object]:
    """Parse the JSON object of a line, and check that it has an id and a text.

    :raises PassageError: When the line is too long, is not UTF-8, is not valid JSON, or lacks one of these keys.
    """
    if len(line) > MAX_LINE_BYTES:
        raise PassageError(f"it has more than {MAX_LINE_BYTES // 10**6} MB; cut it into passages")
    try:
        text = line.decode("utf-8-sig")
        hook = _refuse_date if '"__date' in text else None
        value = json.loads(text, parse_float=_finite, parse_constant=_finite, object_hook=hook)
    except PassageError:
        raise
    except UnicodeDecodeError as error:
        raise PassageError(f"it is not UTF-8 ({error})") from error
    except (ValueError, RecursionError) as error:
        raise PassageError(f"it is not JSON ({error})") from error
    if not isinstance(value, dict) or "id" not in value or find_text_key(value) not in value:
        raise PassageError("expected a JSON object with 'id' and 'text'")
    # Only an escape such as \ud800 can bring half of a surrogate pair into the object.
    if "\\ud" in text.lower():
        _check_unicode(json.dumps(value, ensure_ascii=False))
    return value


def _record(value: dict[str, Any]) -> PassageRecord:
    """Build a passage from the JSON object of a line.

    For example, ``_record({"id": 7, "text": "A square.", "score": 3})`` returns
    ``PassageRecord("7", "A square.", meta={"score_": 3})``.
    """
    passage_id = value["id"]
    if isinstance(passage_id, int) and not isinstance(passage_id, bool):
        passage_id = str(passage_id)

    text_key = find_text_key(value)
    # If the record has `text`, then `content` and `contents` are metadata. If not, `contents` only repeats the text.
    text_keys = ("text",) if text_key == "text" else _TEXT_KEYS
    own_keys = ("id", "title", "source", *text_keys)
    metadata = {key: content for key, content in value.items() if key not in own_keys}
    if isinstance(metadata.get("meta"), dict):
        nested = metadata.pop("meta")
        metadata = {**nested, **metadata}

    meta = {}
    for key, content in metadata.items():
        name = f"{key}_" if key in _RESERVED else key
        meta[name] = content
    return PassageRecord(
        id=passage_id,
        text=value[text_key],
        title=value.get("title"),
        source=value.get("source"),
        meta=meta,
    )


def _finite(number: str) -> float:
    """Convert a number of a JSON text. Python's parser would also accept NaN and infinite numbers.

    :raises ValueError: When the number is one of these, such as ``"1e999"``.
    """
    value = float(number)
    if not math.isfinite(value):
        raise ValueError(f"{number} is not a JSON number")
    return value


def _refuse_date(value: dict[str, object]) -> dict[str, object]:
    """Return a JSON object, unless it has the form in which the index stores dates.

    This form is an object with the single key ``__date__`` or ``__datetime__``.

    :raises PassageError: When the object has this form.
    """
    if len(value) == 1:
        (name,) = value
        if name in ("__date__", "__datetime__"):
            raise PassageError(f"the name '{name}' is reserved for dates: use another name")
    return value


def _check_unicode(text: str) -> None:
    """Check that a text is valid Unicode.

    :raises PassageError: When the text contains half of a surrogate pair.
    """
    if not is_text(text):
        raise PassageError("it contains half of a surrogate pair, which is not valid Unicode")
