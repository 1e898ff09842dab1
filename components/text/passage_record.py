"""Read passages from the lines of a corpus, and convert them to Haystack documents."""

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

MAX_LINE_BYTES = 10_000_000
MAX_ID_BYTES = 512  # Elasticsearch refuses ids with more bytes
# The keys that may hold the text; the first that a record has counts. MedRAG's corpora have `content`, and `contents`,
# which repeats title and text for Pyserini.
_TEXT_KEYS = ("text", "content", "contents")
# Names that a document already uses: its fields, and metadata that indexing adds. A key with such a name is renamed.
_RESERVED = frozenset(
    {*Document.__dataclass_fields__, "corpus", "file_path", "file_hash", "split_count", TITLE_KEY_FIELD}
)


class PassageError(BadInput):
    """The error for input that is not a passage. ``line`` is the line's number in the corpus, from 1, or None."""

    def __init__(self, reason: str, line: int | None = None) -> None:
        super().__init__(reason if line is None else f"line {line}: {reason}")
        self.reason = reason
        self.line = line


@dataclass(frozen=True)
class PassageRecord:
    """A passage before it becomes a document.

    :raises PassageError: When a field is invalid.
    """

    id: str  # 1 to 512 bytes
    text: str  # never empty
    title: str | None = None  # None if the passage has no title
    source: Any = None  # in corpora for experiments: the index that holds the passage, `local`, `web` or `both`
    meta: dict[str, Any] = field(default_factory=dict)  # other metadata

    def __post_init__(self) -> None:
        if not isinstance(self.id, str) or not 0 < len(self.id.encode("utf-8", "surrogatepass")) <= MAX_ID_BYTES:
            raise PassageError(f"'id' must be text of 1 to {MAX_ID_BYTES} bytes")
        if not isinstance(self.text, str) or not self.text.strip():
            raise PassageError("'text' must be text, and not empty")
        if self.title is not None and not isinstance(self.title, str):
            raise PassageError("'title' must be text")
        _check_unicode(self.id + self.text + (self.title or ""))

    def document(self, **more: Any) -> Document:
        """Convert the passage to a Haystack document. Title and text get the same Unicode form as queries.

        The document does not get `source`, because pipelines store there the name of the source that found a document.
        ``more`` is added to the metadata.
        """
        meta = dict(self.meta)
        if self.title is not None:
            meta["title"] = normalize_unicode(self.title)
        return Document(id=self.id, content=normalize_unicode(self.text), meta={**meta, **more})


def read_passage_line(line: bytes, number: int) -> PassageRecord:
    """Read a line of a corpus: a JSON object with `id` and `text`, optionally `title` and `source`, and further keys.

    Without `text`, the text is in `content`, or else in `contents`, as in the chunks of MedRAG.
    An id may be a whole number. Other keys become metadata. If `meta` is an object, its keys become metadata too. A
    key gets an underscore if its name already means something else in Haystack's documents or the index: `score`
    becomes `score_`. Raises :class:`PassageError`, which contains ``number``, when the line is not a passage.
    """
    try:
        return _record(_parse(line))
    except PassageError as error:
        raise PassageError(error.reason, number) from error


def find_text_key(record: Mapping[str, object]) -> str:
    """Return the key that holds the text of a record: `text` unless only another name for it is there."""
    return next((key for key in _TEXT_KEYS if key in record), "text")


def passage_lines(stream: BinaryIO) -> Iterator[tuple[int, int, bytes]]:
    """Read the lines of a corpus, except blank lines. A file that is one endless line does not fill the memory.

    Yields for each line: its number (from 1), the byte position in the file at which it ends, and the line itself. Of a
    line over 10 MB, only the beginning is yielded, and :func:`read_passage_line` refuses it.
    """
    number = position = 0
    while line := stream.readline(MAX_LINE_BYTES + 1):
        number += 1
        position += len(line)
        part = line
        # The rest of a line that is too long is read in parts, and forgotten. At the end of the file, a part is empty.
        while part and not part.endswith(b"\n"):
            part = stream.readline(MAX_LINE_BYTES)
            position += len(part)
        if line.strip():
            yield number, position, line


def read_passages(corpus: Path) -> Iterator[Document]:
    """Read the passages of a corpus as documents."""
    with corpus.open("rb") as stream:
        for number, _, line in passage_lines(stream):
            try:
                yield read_passage_line(line, number).document()
            except PassageError as error:
                raise ValueError(f"{corpus}, {error}.") from error


def _parse(line: bytes) -> dict[str, Any]:
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
    if not isinstance(value, dict) or not {"id", find_text_key(value)} <= value.keys():
        raise PassageError("expected a JSON object with 'id' and 'text'")
    if "\\ud" in text.lower():
        _check_unicode(json.dumps(value, ensure_ascii=False))
    return value


def _record(value: dict[str, Any]) -> PassageRecord:
    passage_id = value["id"]
    if isinstance(passage_id, int) and not isinstance(passage_id, bool):
        passage_id = str(passage_id)
    text = find_text_key(value)
    # With `text`, other keys of these names are metadata. Without it, `contents` only repeats the text.
    text_keys = ("text",) if text == "text" else _TEXT_KEYS
    more = {key: value[key] for key in value if key not in ("id", "title", "source", *text_keys)}
    if isinstance(more.get("meta"), dict):
        nested = more.pop("meta")
        more = {**nested, **more}
    meta = {}
    for key, content in more.items():
        name = f"{key}_" if key in _RESERVED else key
        meta[name] = content
    return PassageRecord(passage_id, value[text], value.get("title"), value.get("source"), meta)


def _finite(number: str) -> float:
    value = float(number)
    if not math.isfinite(value):
        raise ValueError(f"{number} is not a JSON number")
    return value


def _refuse_date(value: dict[str, Any]) -> dict[str, Any]:
    if len(value) == 1 and not value.keys().isdisjoint(("__date__", "__datetime__")):
        raise PassageError(f"the name '{next(iter(value))}' is reserved for dates: use another name")
    return value


def _check_unicode(text: str) -> None:
    if not is_text(text):
        raise PassageError("it contains half of a surrogate pair, which is not valid Unicode")
