"""Make the passages of a dataset. Their ids are the same in its questions and in its corpora."""

import hashlib
import html
import unicodedata
from collections.abc import Iterable

from haystack import Document

from prefrag.components.text.passage_record import PassageRecord


def id_by_title(title: str) -> str:
    """Make a passage's id from its title, because HotpotQA and 2WikiMultiHopQA identify passages by title.

    The questions and the Wikipedia dumps spell some titles differently. To make the titles equal, HTML entities are
    replaced, combining characters are composed (NFC), and blanks are collapsed.
    """
    if not isinstance(title, str) or not title.strip():
        raise ValueError("a title must be text, and not empty")
    return " ".join(unicodedata.normalize("NFC", html.unescape(title)).split())


def id_by_text(title: str, text: str) -> str:
    """Make a passage's id from its title and text, for MuSiQue, where several passages may share a title."""
    if not isinstance(title, str) or not isinstance(text, str):
        raise ValueError("title and text of a passage must be text")
    content = f"{title.strip()}\n{text.strip()}".encode()
    return hashlib.blake2b(content, digest_size=8).hexdigest()


def join_sentences(sentences: Iterable[str]) -> str:
    """Join sentences with single spaces. In some datasets, each sentence already begins with a space."""
    return " ".join(filter(None, (sentence.strip() for sentence in sentences)))


def passage(passage_id: str, title: str, text: str, **meta: str) -> Document:
    """Make the document of a passage, without empty metadata."""
    if not isinstance(title, str) or not isinstance(text, str):
        raise ValueError("title and text of a passage must be text")
    filled = {key: value for key, value in meta.items() if value}
    return PassageRecord(passage_id, text.strip(), title.strip() or None, meta=filled).document()
