"""Read the dumps that HotpotQA and 2WikiMultiHopQA publish: the first paragraphs of all Wikipedia articles.

- HotpotQA: ``enwiki-20171001-pages-meta-current-withlinks-abstracts.tar.bz2`` (5.2 million articles). The archive can
  be read packed, or unpacked to its folders of ``wiki_*.bz2``. Each line is a JSON object with ``id``, ``url``,
  ``title`` and ``text`` (a list of sentences).
- 2WikiMultiHopQA: ``para_with_hyperlink.jsonl``. Each line is a JSON object with ``id``, ``title`` and ``sentences``.

The id of a passage is made from its title, as in the questions of the datasets.
"""

from collections.abc import Iterator, Mapping

from haystack import Document

from prefrag.evaluation.datasets.dataset_file import DatasetFile, Record, text_of
from prefrag.evaluation.datasets.passage import id_by_title, join_sentences, passage


def recognises(record: Mapping[str, object]) -> bool:
    """Check whether a file has this format.

    :param record: The first record of the file.
    :returns: True if the record has a title and a list of sentences.
    """
    return "title" in record and isinstance(record.get("sentences", record.get("text")), list)


def passages(file: DatasetFile) -> Iterator[Document]:
    """Read the paragraphs.

    :param file: A file, folder or archive.
    :returns: An iterator over the passages.
    :raises ValueError: If a folder or archive has no ``.bz2`` file, or a paragraph is invalid.
    """
    has_paragraphs = False
    for member in file.members():
        if member is file or member.path.suffix == ".bz2":
            has_paragraphs = True
            yield from member.convert_records(member.json_lines(), _paragraph, "line")
    if not has_paragraphs:
        raise ValueError(f"{file.path} holds no .bz2 file: name the parent of the folders with wiki_*.bz2 files.")


def _paragraph(record: Record) -> Iterator[Document]:
    """Yield the passage of a record, or nothing if its text is empty."""
    sentences = record["sentences"] if "sentences" in record else record["text"]
    if isinstance(sentences, str) or any(not isinstance(sentence, str) for sentence in sentences):
        raise ValueError(
            "'text' must be a list of sentences, as in the dump of abstracts; dumps of whole articles cannot be read"
        )
    text = join_sentences(sentences)
    if text:
        title = text_of(record, "title")
        yield passage(id_by_title(title), title, text, url=str(record.get("url") or ""))
