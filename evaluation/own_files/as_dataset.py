"""Write the questions about people's own files, and the passages of their index, as a dataset.

    prefrag index DOCUMENTS --collection own
    python -m prefrag.evaluation.own_files.as_dataset own dev FOLDER

Other studies, such as `four_worlds`, read datasets, in which a question names its gold passages. Here these are the
passages that contain the sentences of the question.

Some questions are left out: those without an answer, and those with earlier turns. A question is also left out if one
of its sentences stands in several passages, because any of these would do. The same is true if no passage contains the
whole sentence.

About half of the files are put into the second source. A hash of the name of a file decides.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from haystack import Document

from prefrag.components.document_stores.tantivy.document_store import TantivyDocumentStore
from prefrag.evaluation.own_files.checks import read_questions, squeeze


def find_gold(question: Mapping[str, Any], texts: Mapping[str, str]) -> list[str]:
    """Find the passages that contain the sentences of a question.

    :param question: A question with its `sentences`. It may have a `first_hop` with sentences of its own.
    :param texts: The texts of the passages as :func:`squeeze` writes them, by the ids of the passages.
    :returns: The ids of the passages. Empty if a sentence stands in several passages, or in none as a whole.
    """
    gold: dict[str, None] = {}
    for part in filter(None, (question, question.get("first_hop"))):
        for sentence in part["sentences"]:
            # A row of a table has a bar between its cells. In the passage, the cells may stand apart.
            cells = list(map(squeeze, sentence.split(" | ")))
            holding = []
            for passage_id, text in texts.items():
                if all(cell in text for cell in cells):
                    holding.append(passage_id)
            if len(holding) != 1:
                return []
            gold |= dict.fromkeys(holding)
    return list(gold)


def make_dataset(
    questions: Iterable[Mapping[str, object]], passages: Sequence[Document]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Make the two files of a dataset.

    :param questions: The questions, as :func:`read_questions` returns them.
    :param passages: The passages of an index of the documents.
    :returns: The questions with their gold passages, and the passages with their source.
    """
    texts = {passage.id: squeeze(passage.content or "") for passage in passages}
    question_records = []
    for question in questions:
        if not question["answerable"] or question.get("history"):
            continue
        gold = find_gold(question, texts)
        if gold:
            record = {name: question[name] for name in ("id", "question", "answers", "type")}
            question_records.append({**record, "supporting_ids": gold})

    corpus = []
    for passage in passages:
        source = _source_of(str(passage.meta.get("file_name")))
        title = passage.meta.get("title") or ""
        corpus.append({"id": passage.id, "title": title, "text": passage.content, "source": source})
    return question_records, corpus


def _source_of(file: str) -> str:
    """Return the source of a file: "local" or "web"."""
    # The first byte of a hash is odd for about half of all names. For one name, it is the same in every run.
    is_odd = hashlib.sha256(file.encode()).digest()[0] % 2
    return "web" if is_odd else "local"


app = typer.Typer(add_completion=False)


@app.command()
def main(
    collection: Annotated[str, typer.Argument(help="The collection of the documents: its name or its folder.")],
    part: Annotated[str, typer.Argument(help="train, dev, test or person/questions.")],
    folder: Annotated[Path, typer.Argument(help="Where to write the dataset.")],
) -> None:
    """Write a dataset of the questions about people's own files."""
    is_folder = Path(collection).is_dir()
    store = TantivyDocumentStore(path=collection) if is_folder else TantivyDocumentStore(index=collection)
    questions = read_questions(part)
    question_records, corpus = make_dataset(questions, list(store.iterate_documents()))
    folder.mkdir(parents=True, exist_ok=True)
    for name, records in ((Path(part).name, question_records), ("corpus", corpus)):
        lines = (json.dumps(record, ensure_ascii=False) + "\n" for record in records)
        (folder / f"{name}.jsonl").write_text("".join(lines), encoding="utf-8")
    typer.echo(f"{folder}: {len(question_records)} of {len(questions)} questions, {len(corpus)} passages.")


if __name__ == "__main__":
    app()
