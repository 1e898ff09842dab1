"""The documents that come with a question, split into passages.

They belong to the question alone: they are put into the prompts, but not into an index.
"""

from collections.abc import Iterator, Mapping, Sequence

from haystack import Document

from prefrag.components.state.state import ATTACHED
from prefrag.components.text.sentences import sentence_spans
from prefrag.components.text.unicode_form import normalize_unicode

# At most this many documents may come with a question. With more, the question is refused.
MAX_ATTACHED = 50
# All attached documents together may have at most this many characters. With more, the question is refused. 60,000
# characters are some 15,000 tokens, which is more than most models' context windows leave for passages.
MAX_ATTACHED_CHARACTERS = 60_000
# A passage has at most this many characters, unless a single sentence is longer.
PIECE_CHARACTERS = 2_000


def attach(documents: Sequence[Mapping[str, str]]) -> tuple[Document, ...]:
    """Turn the documents that came with a question into passages.

    :param documents: The documents, each with a ``title`` and a ``content``. Either may be missing. A document without
        a title is called "Document 1", "Document 2" and so on, by its position.
    :returns: The passages, in order.
    :raises ValueError: If a title or content is not text, or if the documents are too many or too long.
    """
    if not all(map(_is_document, documents)):
        raise ValueError('Each document must be {"title": ..., "content": ...}, both as text.')

    characters = sum(len(document.get("content") or "") for document in documents)
    if len(documents) > MAX_ATTACHED or characters > MAX_ATTACHED_CHARACTERS:
        raise ValueError(
            f"{len(documents)} documents with {characters} characters came with the question. The limit is "
            f"{MAX_ATTACHED} with {MAX_ATTACHED_CHARACTERS}: attach less, or index them with `prefrag index`."
        )

    attached: list[Document] = []
    for number, document in enumerate(documents, start=1):
        # Half of a surrogate pair, which cannot be encoded, becomes a question mark.
        encoded = (document.get("content") or "").encode(errors="replace")
        content = normalize_unicode(encoded.decode())
        title = normalize_unicode(document.get("title") or f"Document {number}")
        meta = {"title": title, "source": ATTACHED, "attachment": number}
        for piece in _split(content):
            piece_number = len(attached) + 1
            attached.append(Document(id=f"{ATTACHED}-{piece_number}", content=piece, meta=meta))
    return tuple(attached)


def _is_document(document: object) -> bool:
    """Check that a document is a mapping whose title and content are texts, or missing."""
    if not isinstance(document, Mapping):
        return False
    title = document.get("title") or ""
    content = document.get("content") or ""
    return isinstance(title, str) and isinstance(content, str)


def _split(content: str) -> Iterator[str]:
    """Split a text into pieces, between sentences.

    Each piece begins with the last sentence of the piece before, if there is room for it. So a sentence is read with
    its context.
    """
    spans = sentence_spans(content)
    if not spans:
        return
    # The begin of the piece, and the begin and end of the sentence before.
    begin_of_piece, _ = spans[0]
    begin_before = end_before = 0
    for begin, end in spans:
        if end - begin_of_piece > PIECE_CHARACTERS:
            # The piece ends before this sentence. The next piece begins with the sentence before, if both fit.
            yield content[begin_of_piece:end_before]
            begin_of_piece = begin_before if end - begin_before <= PIECE_CHARACTERS else begin
        begin_before = begin
        end_before = end
    yield content[begin_of_piece:end_before]
