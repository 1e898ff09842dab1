"""The fields of an index, and the conversion of Haystack documents to and from these fields.

Tantivy finds a document by terms. A term of a text field is a stemmed word. In the other fields, a term is a whole
value, for example an id, and is called an exact term here. The document itself is stored as JSON in the field `stored`.
"""

import hashlib
import json
import math
from collections.abc import Iterator, Mapping
from datetime import date, datetime
from typing import Any

import tantivy
from haystack import Document

from prefrag.components.document_stores.tantivy.analysis import with_joined_codes
from prefrag.components.text.title_mentions import title_key

# The name under which the analyzer of text fields is registered in an index.
ANALYZER = "prefrag"
# The fields whose words are searched.
TEXT_FIELDS = ("title", "content")
# The maximum length of an exact term, in bytes. A longer term is replaced by its hash, because tantivy silently drops
# terms over 65,530 bytes.
LONGEST_TERM = 200
# The term of a metadata value is made of the field's name, this character, and the value.
KEY_END = "\x1f"


def index_schema() -> tantivy.Schema:
    """Describe the fields of an index.

    :returns: The schema for tantivy.
    """
    builder = tantivy.SchemaBuilder()
    builder.add_text_field("id", tokenizer_name="raw", index_option="basic")
    for field in TEXT_FIELDS:
        builder.add_text_field(field, tokenizer_name=ANALYZER, index_option="freq")
    builder.add_text_field("title_key", tokenizer_name="raw", index_option="basic")
    # The numbers and strings of the metadata are exact terms. Filters look them up.
    builder.add_text_field("meta", tokenizer_name="raw", index_option="basic")
    # The whole document, which is read but never searched.
    builder.add_bytes_field("stored", stored=True)
    return builder.build()


def exact_term(text: str) -> str:
    """Make the term by which the index finds exactly this string.

    :param text: The string.
    :returns: The string itself, or a hash of 48 characters if the string is longer than :data:`LONGEST_TERM` or
        contains half of a surrogate pair, which cannot be stored.
    """
    if text.isascii() and len(text) <= LONGEST_TERM:
        return text

    # In this encoding, the code of half a surrogate pair begins with the byte ED.
    encoded = text.encode("utf-8", "surrogatepass")
    if len(encoded) <= LONGEST_TERM and b"\xed" not in encoded:
        return text
    return hashlib.blake2b(encoded, digest_size=24).hexdigest()


def metadata_term(key: str, value: str | int | float) -> str:
    r"""Make the term by which the index finds exactly this value of this metadata field.

    For example, ``metadata_term("a", "x")`` returns ``"a\x1fsx"``, and ``metadata_term("a", 1.5)`` returns
    ``"a\x1fn1.5"``. The letters ``s`` and ``n`` tell strings from numbers.

    :param key: The name of the field, without ``meta.``.
    :param value: The value.
    :returns: The term.
    """
    if isinstance(value, str):
        return exact_term(f"{key}{KEY_END}s{value}")
    if math.isfinite(value) and value == int(value):
        # 1, 1.0 and True are equal in Python and in Haystack's filters, so they get the same term.
        value = int(value)
    return exact_term(f"{key}{KEY_END}n{value}")


def to_tantivy(document: Document) -> tantivy.Document:
    """Convert a Haystack document into the fields of the index.

    :param document: The document.
    :returns: The document for tantivy.
    :raises ValueError: When the metadata or the embedding cannot be stored unchanged.
    """
    title = document.meta.get("title")
    fields: dict[str, object] = {"id": exact_term(document.id), "stored": _encode(document)}
    if title is not None:
        fields["title"] = with_joined_codes(str(title))
        key = title_key(str(title))
        if key:
            fields["title_key"] = exact_term(key)
    if document.content:
        fields["content"] = with_joined_codes(document.content)

    terms = list(dict.fromkeys(_metadata_terms(document.meta)))
    if terms:
        fields["meta"] = terms
    return tantivy.Document(**fields)


def read_document(searcher: tantivy.Searcher, address: tantivy.DocAddress, score: float | None = None) -> Document:
    """Read a document that a search found.

    :param searcher: Tantivy's handle on the commit that was searched.
    :param address: Where the document is in the index.
    :param score: The score that the document gets.
    :returns: The document as it was written.
    """
    stored: Any = searcher.doc(address).get_first("stored")
    # Only documents that were written with an embedding have a fourth part.
    document_id, content, meta, *embedding = _decode(stored.decode("utf-8"))
    return Document(
        id=document_id, content=content, meta=meta, score=score, embedding=embedding[0] if embedding else None
    )


def all_names(meta: Mapping[str, object], parents: str = "") -> Iterator[str]:
    """Yield the names of a document's metadata fields.

    For example, the names of ``{"a": {"b": 1}, "c": 2}`` are ``a``, ``a.b`` and ``c``.

    :param meta: The metadata.
    :param parents: The names of the dictionaries around ``meta``, each with a dot behind it.
    :returns: An iterator over the names.
    """
    for key, value in meta.items():
        yield f"{parents}{key}"
        if isinstance(value, dict):
            yield from all_names(value, f"{parents}{key}.")


def _metadata_terms(meta: Mapping[str, object], parents: str = "") -> Iterator[str]:
    """Yield the terms of all strings and numbers in the metadata. Lists and dates have no terms."""
    for key, value in meta.items():
        if isinstance(value, dict):
            yield from _metadata_terms(value, f"{parents}{key}.")
        elif isinstance(value, str | int | float):
            yield metadata_term(f"{parents}{key}", value)


def _encode(document: Document) -> bytes:
    """Write a document as a JSON list of its id, content, metadata and, if it has one, embedding.

    A date in the metadata is written as ``{"__date__":"2024-01-02"}``.
    """
    meta = document.meta
    embedding = document.embedding
    parts: list[object] = [document.id, document.content, meta]
    if embedding is not None:
        parts.append(embedding)
    try:
        stored = _ENCODER.encode(parts)
        is_plain = embedding is None and all(isinstance(value, str | int | None) for value in meta.values())
        # Other values might change in JSON: a tuple would become a list. So they are read again and compared.
        if not is_plain and _decode(stored) != parts:
            raise ValueError("a tuple, a key that is not a string, or NaN")
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"The metadata or embedding of document '{document.id}' cannot be stored unchanged ({error}). Use strings, "
            "numbers, booleans, None, dates, and lists and dictionaries of them."
        ) from error

    try:
        return stored.encode("utf-8")
    except UnicodeEncodeError:
        # Some PDF libraries produce half of a surrogate pair. It is written as an escape sequence.
        return json.dumps(json.loads(stored), separators=(",", ":")).encode("ascii")


def _decode(stored: str) -> Any:
    """Read what :func:`_encode` wrote, with dates."""
    # The hook makes parsing several times slower, and only documents with dates need it.
    return json.loads(stored, object_hook=_untag_date if '{"__date' in stored else None)


def _tag_date(value: object) -> dict[str, str]:
    """Write a date as a dictionary, which JSON can store. Other values that JSON cannot store raise TypeError."""
    if isinstance(value, datetime):
        return {"__datetime__": value.isoformat()}
    if isinstance(value, date):
        return {"__date__": value.isoformat()}
    raise TypeError(f"a value of {type(value)}")


# Writes documents as compact JSON. Dates become dictionaries, because JSON has no dates.
_ENCODER = json.JSONEncoder(default=_tag_date, separators=(",", ":"), ensure_ascii=False)


def _untag_date(value: dict[str, Any]) -> object:
    """Turn a dictionary that :func:`_tag_date` made back into the date. Return other dictionaries as they are."""
    if len(value) == 1:
        [(key, text)] = value.items()
        if key == "__datetime__":
            return datetime.fromisoformat(text)
        if key == "__date__":
            return date.fromisoformat(text)
    return value
