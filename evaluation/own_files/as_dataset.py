"""Write the questions about people's own files, and the passages of their index, as a dataset.

    prefrag index DOCUMENTS --collection own
    python -m prefrag.evaluation.own_files.as_dataset own dev FOLDER

Other studies, such as `four_worlds`, read datasets, in which a question names its gold passages. Here these are the
passages that contain the sentences of the question.

Some questions are left out: those without an answer, and those with earlier turns. A question is also left out if one
of its sentences stands in several passages, because then it is not clear which passage is gold. It is left out too if
one of its sentences stands in no passage as a whole.

A dataset has two sources: a local one, and one in place of the web. About half of the files are put into the source
"web", and all others into "local". A hash of the name of a file decides.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer
from haystack import Document

from prefrag.components.document_stores.tantivy.document_store import TantivyDocumentStore
from prefrag.evaluation.own_files.checks import OwnQuestion, read_questions, squeeze


def find_gold(question: OwnQuestion, texts: Mapping[str, str]) -> list[str]:
    """Find the passages that contain the sentences of a question.

    :param question: A question with its `sentences`. It may have a `first_hop` with sentences of its own.
    :param texts: The texts of the passages as :func:`squeeze` writes them, by the ids of the passages.
    :returns: The ids of the passages. Empty if a sentence stands in several passages, or in none as a whole.
    """
    sentences = list(question["sentences"])
    if question.get("first_hop"):
        sentences += question["first_hop"]["sentences"]

    gold: list[str] = []
    for sentence in sentences:
        # A row of a table has a bar between its cells. In the passage, the cells may stand apart.
        cells = [squeeze(cell) for cell in sentence.split(" | ")]
        ids = [id for id, text in texts.items() if all(cell in text for cell in cells)]
        if len(ids) != 1:
            return []
        gold += ids
    # Two sentences may stand in one passage.
    return list(dict.fromkeys(gold))


def make_dataset(
    questions: Iterable[OwnQuestion], passages: Sequence[Document]
) -> tuple[list[dict[str, object]], list[dict[str, object]]]:
    """Make the two files of a dataset.

    :param questions: The questions, as :func:`read_questions` returns them.
    :param passages: The passages of an index of the documents.
    :returns: The questions with their gold passages, and the passages with their source.
    """
    texts = {passage.id: squeeze(passage.content or "") for passage in passages}
    question_records: list[dict[str, object]] = []
    for question in questions:
        if not question["answerable"] or question.get("history"):
            continue
        gold = find_gold(question, texts)
        if gold:
            question_records.append(
                {
                    "id": question["id"],
                    "question": question["question"],
                    "answers": question["answers"],
                    "type": question["type"],
                    "supporting_ids": gold,
                }
            )

    corpus = []
    for passage in passages:
        source = _source_of(str(passage.meta.get("file_name")))
        title = passage.meta.get("title") or ""
        corpus.append({"id": passage.id, "title": title, "text": passage.content, "source": source})
    return question_records, corpus


def _source_of(file: str) -> str:
    """Return the source of a file: "local" or "web"."""
    # The first byte of a hash is odd for about half of all names. For one name, it is the same in every run.
    first_byte = hashlib.sha256(file.encode()).digest()[0]
    return "web" if first_byte % 2 else "local"


app = typer.Typer(add_completion=False)


@app.command()
def main(
    collection: Annotated[str, typer.Argument(help="The collection of the documents: its name or its folder.")],
    part: Annotated[str, typer.Argument(help="train, dev, test or person/questions.")],
    folder: Annotated[Path, typer.Argument(help="Where to write the dataset.")],
) -> None:
    """Write a dataset of the questions about people's own files."""
    if Path(collection).is_dir():
        store = TantivyDocumentStore(path=collection)
    else:
        store = TantivyDocumentStore(index=collection)
    questions = read_questions(part)
    question_records, corpus = make_dataset(questions, list(store.iterate_documents()))

    # The part "person/questions" is a file in a folder. Only the name of the file is taken.
    name = Path(part).name
    folder.mkdir(parents=True, exist_ok=True)
    _write_lines(folder / f"{name}.jsonl", question_records)
    _write_lines(folder / "corpus.jsonl", corpus)
    typer.echo(f"{folder}: {len(question_records)} of {len(questions)} questions, {len(corpus)} passages.")


def _write_lines(path: Path, records: Iterable[Mapping[str, object]]) -> None:
    """Write records as JSON lines."""
    lines = [json.dumps(record, ensure_ascii=False) + "\n" for record in records]
    path.write_text("".join(lines), encoding="utf-8")


if __name__ == "__main__":
    app()
