"""Make the passages of a dataset.

The questions of a dataset name their gold passages by id. So the functions here make the same id for a passage wherever
it comes from: a file of questions or a corpus.
"""

import hashlib
import html
import unicodedata
from collections.abc import Iterable

from haystack import Document

from prefrag.components.text.passage_record import PassageRecord


def id_by_title(title: str) -> str:
    """Make the id of a passage from its title, because HotpotQA and 2WikiMultiHopQA name passages by title.

    The questions and the Wikipedia dumps spell some titles differently. Three steps make the titles equal. HTML
    entities are replaced. Combining characters are composed (Unicode's form NFC). Several blanks become one. For
    example, ``id_by_title("Tom  &amp; Jerry")`` returns ``"Tom & Jerry"``.

    :param title: The title of the passage.
    :returns: The id.
    :raises ValueError: If the title is not a text, or blank.
    """
    if not isinstance(title, str) or not title.strip():
        raise ValueError("a title must be text, and not empty")
    composed = unicodedata.normalize("NFC", html.unescape(title))
    return " ".join(composed.split())


def id_by_text(title: str, text: str) -> str:
    """Make the id of a passage from its title and text.

    MuSiQue needs this, because several of its passages may share a title.

    :param title: The title of the passage.
    :param text: The text of the passage.
    :returns: The id: 16 hexadecimal digits.
    :raises ValueError: If the title or the text is not a text.
    """
    if not isinstance(title, str) or not isinstance(text, str):
        raise ValueError("title and text of a passage must be text")
    content = f"{title.strip()}\n{text.strip()}".encode()
    return hashlib.blake2b(content, digest_size=8).hexdigest()


def join_sentences(sentences: Iterable[str]) -> str:
    """Join sentences with single spaces.

    In some datasets, each sentence already begins with a space. For example, ``join_sentences(["One.", " Two.", ""])``
    returns ``"One. Two."``.

    :param sentences: The sentences.
    :returns: The text. Empty sentences are left out.
    """
    stripped = [sentence.strip() for sentence in sentences]
    return " ".join(sentence for sentence in stripped if sentence)


def passage(passage_id: str, title: str, text: str, **meta: str) -> Document:
    """Make the document of a passage.

    :param passage_id: The id of the passage.
    :param title: The title, which may be empty.
    :param text: The text.
    :param meta: Further metadata. Empty values are left out.
    :returns: The document.
    :raises ValueError: If the title or the text is not a text.
    """
    if not isinstance(title, str) or not isinstance(text, str):
        raise ValueError("title and text of a passage must be text")
    filled = {key: value for key, value in meta.items() if value}
    return PassageRecord(passage_id, text.strip(), title.strip() or None, meta=filled).document()
