"""Measure how often the tree judge rightly or wrongly turns to the web after two searches of a user's documents.

    python -m prefrag.evaluation.studies.documentation.corpus FOLDER
    python -m prefrag.evaluation.studies.documentation.measure FOLDER

Each of the sixty questions of `questions.jsonl` has two parts. The first search is for the whole question, and the run
uses its results. The second search is for the `query` of the second part. The judge decides after the second search.

For forty of these queries, the folder has the answer, in a passage that contains `phrase`. For the other twenty, the
folder has no answer. Then the judge should leave the folder for the web. The questions were written before any judge
was run on them.
"""

import json
import re
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer
from haystack import Document

from prefrag.components.document_stores.tantivy.document_store import TantivyDocumentStore
from prefrag.components.judge.tree_judge import COST_OF_LEAVING, TreeJudge
from prefrag.components.rankers.title_match_ranker import TitleMatchRanker
from prefrag.components.retrievers.tantivy_bm25_retriever import TantivyBM25Retriever
from prefrag.components.sources.retrieval_source import RetrievalSource
from prefrag.components.state.state import Action, Search, State, Step, Verdict
from prefrag.components.state.state_builder import StateBuilder
from prefrag.indexing.file_conversion import FileConverter

# The file of questions.
QUESTIONS = Path(__file__).resolve().parent / "questions.jsonl"
# Where the answer to the second part is. In the order of these values:
# - Only the second search found the answer.
# - Both searches found the answer.
# - The folder has the answer, but the second search did not find it.
# - The folder does not have the answer.
KINDS = ("found", "found again", "at home, not found", "elsewhere")


@dataclass(frozen=True)
class SecondSearch:
    """A run after its second search, whose passages the judge has to judge."""

    # The id of the question.
    id: str
    # One of `KINDS`.
    kind: str
    # The state of the run, with both searches.
    state: State


def read_passages(folder: Path) -> list[Document]:
    """Cut the files of a folder into passages, as indexing does.

    :param folder: The folder.
    :returns: The passages.
    """
    converter = FileConverter()
    passages = []
    for file in sorted(folder.iterdir()):
        for passage in converter.passages(file.resolve(), file.read_bytes()):
            meta = {"title": passage.meta["title"], "file_path": file.name}
            passages.append(Document(content=passage.content, meta=meta))
    return passages


def second_searches(
    questions: Sequence[dict[str, str | None]], store: TantivyDocumentStore, top_k: int = 5
) -> Iterator[SecondSearch]:
    """Run both searches of each question.

    :param questions: The lines of `questions.jsonl`.
    :param store: The index of the passages.
    :param top_k: The number of passages that a search returns.
    :returns: An iterator over the runs after their second search.
    """
    source = RetrievalSource(
        "local", TantivyBM25Retriever(store), ranker=TitleMatchRanker(), candidates=50, top_k=top_k
    )
    builder = StateBuilder(["local", "web"], "local")
    for line in questions:
        question = str(line["question"])
        query = str(line["query"])
        first = tuple(source.run(query=question)["documents"])
        second = tuple(source.run(query=query)["documents"])
        first_search = Search("local", question, first)
        second_search = Search("local", query, second)
        state = builder.run(question)["state"]
        state = state.with_step(
            Step(Action.SEARCH, query=question, searches=(first_search,), documents=first, observed=True)
        )
        state = state.with_step(Step(Action.SEARCH, query=query, searches=(second_search,)))
        yield SecondSearch(str(line["id"]), _kind(line, first, second), state)


def _kind(line: dict[str, str | None], first: Sequence[Document], second: Sequence[Document]) -> str:
    """Return where the answer to the second part is, as one of `KINDS`."""
    if line["phrase"] is None:
        return "elsewhere"
    if not any(_answers(line, passage) for passage in second):
        return "at home, not found"
    was_found_before = any(_answers(line, passage) for passage in first)
    return "found again" if was_found_before else "found"


def _answers(line: dict[str, str | None], passage: Document) -> bool:
    """Check whether a passage answers the second part of a question."""
    if passage.meta["file_path"] != line["file"]:
        return False
    return _fold(str(line["phrase"])) in _fold(passage.content or "")


def _fold(text: str) -> str:
    """Return the words of a text in lower case, with single spaces.

    For example, ``_fold("Use --force, please.")`` returns ``"use force please"``.
    """
    return " ".join(re.findall(r"\w+", text.lower()))


def write_table(verdicts: Sequence[tuple[SecondSearch, Verdict]]) -> Iterator[str]:
    """Write a table of how often the tree judge left the folder for the web.

    The table also has two imagined judges, one that never leaves the folder and one that always does.

    :param verdicts: Each run after its second search, and what the judge said.
    :returns: An iterator over the lines.
    """
    steps_by_kind = Counter(search.kind for search, _ in verdicts)
    left_by_kind = Counter(search.kind for search, verdict in verdicts if not verdict.status)
    unknown = sum(verdict.status and verdict.score is None for _, verdict in verdicts)
    home = [kind for kind in KINDS if kind != "elsewhere"]
    rows = [("at home (wrong to leave)", home), ("elsewhere (right to leave)", ["elsewhere"])]
    rows += [(f"of these: {kind}", [kind]) for kind in home]
    yield "| answer of the second part | steps | left | never leaving | always leaving |"
    yield "|---|---|---|---|---|"
    for name, kinds in rows:
        step_count = sum(steps_by_kind[kind] for kind in kinds)
        left_count = sum(left_by_kind[kind] for kind in kinds)
        yield f"| {name} | {step_count} | {left_count} ({100 * left_count / max(1, step_count):.0f}%) | 0% | 100% |"
    yield ""
    yield f"Steps at which the judge stayed because the trees were not trained on passages like these: {unknown}."


def main(
    folder: Annotated[Path, typer.Argument(help="The folder that `corpus` wrote.")],
    trees: Annotated[str | None, typer.Option(help="A file of trees in place of the shipped trees.")] = None,
    cost_of_leaving: Annotated[float, typer.Option(help="The TreeJudge's setting.")] = COST_OF_LEAVING,
) -> None:
    """Measure the trees on the questions, and print a table."""
    questions = [json.loads(line) for line in QUESTIONS.read_text(encoding="utf-8").splitlines()]
    passages = read_passages(folder)
    for line in questions:
        if line["phrase"] is not None and not any(_answers(line, passage) for passage in passages):
            typer.echo(f"{line['id']}: no passage of {line['file']} holds '{line['phrase']}'.", err=True)
    with tempfile.TemporaryDirectory(prefix="prefrag-documentation-") as place:
        store = TantivyDocumentStore(path=place)
        store.write_documents(passages)
        judge = TreeJudge(trees, store, cost_of_leaving)
        judged = []
        for search in second_searches(questions, store):
            verdict, *_ = judge.judge(search.state)
            judged.append((search, verdict))
    files = {passage.meta["file_path"] for passage in passages}
    typer.echo(f"{len(passages)} passages from {len(files)} files.")
    for line in write_table(judged):
        typer.echo(line)


if __name__ == "__main__":
    typer.run(main)
