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
        content = normalize_unicode((document.get("content") or "").encode(errors="replace").decode())
        title = normalize_unicode(document.get("title") or f"Document {number}")
        meta = {"title": title, "source": ATTACHED, "attachment": number}
        for piece in _split(content):
            attached.append(Document(id=f"{ATTACHED}-{len(attached) + 1}", content=piece, meta=meta))
    return tuple(attached)


def _is_document(document: object) -> bool:
    """Check that a document is a mapping whose title and content are texts, or missing."""
    if not isinstance(document, Mapping):
        return False
    title, content = document.get("title"), document.get("content")
    return isinstance(title or "", str) and isinstance(content or "", str)


def _split(content: str) -> Iterator[str]:
    """Split a text into pieces, between sentences.

    Each piece begins with the last sentence of the piece before, if there is room for it. So a sentence is read with
    its context.
    """
    spans = sentence_spans(content)
    first = 0
    for number, (_, end) in enumerate(spans):
        if end - spans[first][0] > PIECE_CHARACTERS:
            yield content[spans[first][0] : spans[number - 1][1]]
            first = number - 1 if end - spans[number - 1][0] <= PIECE_CHARACTERS else number
    if spans:
        yield content[spans[first][0] : spans[-1][1]]
