"""Write the questions about people's own files, and the passages of their index, as a dataset.

    prefrag index DOCUMENTS --collection own
    python -m prefrag.evaluation.own_files.as_dataset own dev FOLDER

Other studies, such as `four_worlds`, read datasets, in which a question names the passages that answer it. Here these
are the passages with a sentence of the question, in whichever file. Left out are questions without an answer or with
earlier turns, and those with a sentence that several passages hold, because one of them would do, or that none holds
whole. About half of the files, by a hash of their names, are in the other source.
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
    """Find the passages that hold the sentences of a question.

    :param question: A question, with its `sentences` and perhaps a `first_hop` with its own.
    :param texts: By the id of a passage, its text as :func:`squeeze` writes it.
    :returns: The ids; empty if a sentence stands in several passages, or whole in none.
    """
    gold: dict[str, None] = {}
    for place in filter(None, (question, question.get("first_hop"))):
        for sentence in place["sentences"]:
            # A row of a table has a bar between its cells, which in the passage may stand apart.
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
    asked = []
    for question in questions:
        if not question["answerable"] or question.get("history"):
            continue
        gold = find_gold(question, texts)
        if gold:
            record = {name: question[name] for name in ("id", "question", "answers", "type")}
            asked.append({**record, "supporting_ids": gold})
    corpus = []
    for passage in passages:
        source = _source_of(str(passage.meta.get("file_name")))
        title = passage.meta.get("title") or ""
        corpus.append({"id": passage.id, "title": title, "text": passage.content, "source": source})
    return asked, corpus


def _source_of(file: str) -> str:
    # An even or odd first byte of a hash is as good as the flip of a coin, and the same in every run.
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
    asked, corpus = make_dataset(questions, list(store.iterate_documents()))
    folder.mkdir(parents=True, exist_ok=True)
    for name, records in ((Path(part).name, asked), ("corpus", corpus)):
        lines = (json.dumps(record, ensure_ascii=False) + "\n" for record in records)
        (folder / f"{name}.jsonl").write_text("".join(lines), encoding="utf-8")
    typer.echo(f"{folder}: {len(asked)} of {len(questions)} questions, {len(corpus)} passages.")


if __name__ == "__main__":
    app()
