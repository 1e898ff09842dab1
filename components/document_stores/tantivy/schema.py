"""The fields of an index, and the conversion of Haystack documents to and from them."""

import hashlib
import json
import math
from collections.abc import Iterator, Mapping
from datetime import date, datetime
from typing import Any

import tantivy
from haystack import Document

from prefrag.components.document_stores.tantivy.analysis import indexed_form
from prefrag.components.text.title_mentions import title_key

ANALYZER = "prefrag"
TEXT_FIELDS = ("title", "content")
# In bytes. A longer exact term is replaced by its hash, because tantivy silently drops terms over 65,530 bytes.
LONGEST_TERM = 200
# The term of a metadata value is made of the field's name, this character, and the value.
KEY_END = "\x1f"


def index_schema() -> tantivy.Schema:
    """Describe the fields of an index."""
    builder = tantivy.SchemaBuilder()
    builder.add_text_field("id", tokenizer_name="raw", index_option="basic")
    for field in TEXT_FIELDS:
        builder.add_text_field(field, tokenizer_name=ANALYZER, index_option="freq")
    builder.add_text_field("title_key", tokenizer_name="raw", index_option="basic")
    # Numbers and strings of the metadata, as exact terms, which filters look up.
    builder.add_text_field("meta", tokenizer_name="raw", index_option="basic")
    builder.add_bytes_field("stored", stored=True)
    return builder.build()


def exact_term(text: str) -> str:
    """Make the term by which the index finds exactly this string: the string itself, or a hash of a long string."""
    if text.isascii() and len(text) <= LONGEST_TERM:
        return text
    encoded = text.encode("utf-8", "surrogatepass")
    if len(encoded) <= LONGEST_TERM and b"\xed" not in encoded:
        return text
    return hashlib.blake2b(encoded, digest_size=24).hexdigest()


def metadata_term(key: str, value: str | int | float) -> str:
    """Make the term by which the index finds exactly this value of this metadata field."""
    if isinstance(value, str):
        return exact_term(f"{key}{KEY_END}s{value}")
    if math.isfinite(value) and value == int(value):
        # 1, 1.0 and True are equal in Python and in Haystack's filters, so they get the same term.
        value = int(value)
    return exact_term(f"{key}{KEY_END}n{value}")


def to_tantivy(document: Document) -> tantivy.Document:
    """Convert a Haystack document into the fields of the index."""
    title = document.meta.get("title")
    fields: dict[str, Any] = {"id": exact_term(document.id), "stored": _encode(document)}
    if title is not None:
        fields["title"] = indexed_form(str(title))
        key = title_key(str(title))
        if key:
            fields["title_key"] = exact_term(key)
    if document.content:
        fields["content"] = indexed_form(document.content)
    terms = list(dict.fromkeys(_metadata_terms(document.meta)))
    if terms:
        fields["meta"] = terms
    return tantivy.Document(**fields)


def read_document(searcher: tantivy.Searcher, address: tantivy.DocAddress, score: float | None = None) -> Document:
    """Read a document that a search found."""
    stored: Any = searcher.doc(address).get_first("stored")
    # Only documents that were written with an embedding have a fourth part.
    document_id, content, meta, *embedding = _decode(stored.decode("utf-8"))
    return Document(
        id=document_id, content=content, meta=meta, score=score, embedding=embedding[0] if embedding else None
    )


def all_names(meta: Mapping[str, object], parents: str = "") -> Iterator[str]:
    """Yield the names of a document's metadata fields. The key `b` of a dictionary in the field `a` is named `a.b`."""
    for key, value in meta.items():
        yield f"{parents}{key}"
        if isinstance(value, dict):
            yield from all_names(value, f"{parents}{key}.")


def _metadata_terms(meta: Mapping[str, object], parents: str = "") -> Iterator[str]:
    for key, value in meta.items():
        if isinstance(value, dict):
            yield from _metadata_terms(value, f"{parents}{key}.")
        elif isinstance(value, str | int | float):
            yield metadata_term(f"{parents}{key}", value)


def _encode(document: Document) -> bytes:
    meta, embedding = document.meta, document.embedding
    parts = [document.id, document.content, meta, *([] if embedding is None else [embedding])]
    try:
        stored = _ENCODER.encode(parts)
        plain = embedding is None and all(isinstance(value, str | int | None) for value in meta.values())
        if not plain and _decode(stored) != parts:
            raise ValueError("a tuple, a key that is not a string, or NaN")
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"The metadata or embedding of document '{document.id}' cannot be stored unchanged ({error}). Use strings, "
            "numbers, booleans, None, dates, and lists and dictionaries of them."
        ) from error
    try:
        return stored.encode("utf-8")
    except UnicodeEncodeError:
        # A lone surrogate, which some PDF libraries produce, is written as an escape sequence.
        return json.dumps(json.loads(stored), separators=(",", ":")).encode("ascii")


def _decode(stored: str) -> Any:
    # Only documents with dates need the hook, which makes parsing several times slower.
    return json.loads(stored, object_hook=_untag_date if '{"__date' in stored else None)


def _tag_date(value: object) -> dict[str, str]:
    if isinstance(value, datetime):
        return {"__datetime__": value.isoformat()}
    if isinstance(value, date):
        return {"__date__": value.isoformat()}
    raise TypeError(f"a value of {type(value)}")


_ENCODER = json.JSONEncoder(default=_tag_date, separators=(",", ":"), ensure_ascii=False)


def _untag_date(value: dict[str, Any]) -> Any:
    if len(value) == 1:
        [(key, text)] = value.items()
        if key == "__datetime__":
            return datetime.fromisoformat(text)
        if key == "__date__":
            return date.fromisoformat(text)
    return value
