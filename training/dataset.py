"""Read the questions and the corpus to train on.

A dataset is a file of questions together with their passages. The passages are in a file, or in a collection that
``prefrag index`` has made. Each question names its gold passages: the passages that are needed to answer it.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from haystack import Document

from prefrag.components.document_stores.tantivy.document_store import TantivyDocumentStore
from prefrag.components.document_stores.tantivy.index_location import resolve_index
from prefrag.evaluation.datasets import load_questions, read_passages
from prefrag.evaluation.question import Question
from prefrag.training.begun import digest, fingerprint

# With fewer questions than this, a training is refused.
FEWEST_QUESTIONS = 25


@dataclass(frozen=True)
class Dataset:
    """Questions with gold passages, and the corpus that contains these passages.

    :param questions: The file of the questions.
    :param corpus: The file of the passages. None if a collection contains them.
    :param collection: The name of the collection. None if a file contains the passages.
    """

    questions: Path
    corpus: Path | None
    collection: str | None = None

    @classmethod
    def parse(cls, text: str) -> Dataset:
        """Parse the argument ``QUESTIONS:CORPUS`` or ``QUESTIONS:COLLECTION``.

        :param text: The argument, such as ``questions.jsonl:corpus.jsonl``.
        :returns: The dataset.
        :raises ValueError: If the argument does not name two things.
        :raises FileNotFoundError: If the questions, or both the file and the collection of the passages, do not exist.
        """
        # Paths may contain colons. So each colon is tried, until there is a file to its left, and a file or a
        # collection to its right.
        places = [place for place, sign in enumerate(text) if sign == ":" and 0 < place < len(text) - 1]
        if not places:
            raise ValueError(
                f"'{text}' does not name two files: give QUESTIONS.jsonl:CORPUS.jsonl, or QUESTIONS.jsonl:COLLECTION."
            )
        halves = [(Path(text[:place]).expanduser(), Path(text[place + 1 :]).expanduser()) for place in places]
        for questions, corpus in halves:
            if questions.exists() and corpus.exists():
                return cls(questions, corpus)
            if questions.exists() and _is_index(str(corpus)):
                return cls(questions, None, str(corpus))
        absent = next(path for path in halves[0] if not path.exists())
        raise FileNotFoundError(
            f"There is no file and no collection {absent}: '{text}' must be QUESTIONS.jsonl:CORPUS.jsonl, or "
            "QUESTIONS.jsonl:COLLECTION."
        )

    @property
    def name(self) -> str:
        """The name in reports: the folder and the file name of the questions."""
        return f"{self.questions.resolve().parent.name}/{self.questions.stem}"

    def digest(self) -> str:
        """Return a digest of the questions and the passages.

        A name alone does not identify the data: a file may be replaced, and a collection may change.

        :returns: The digest, in hexadecimal digits.
        """
        if self.corpus is not None:
            return fingerprint([digest(self.questions), digest(self.corpus)])

        passages = TantivyDocumentStore(index=self.collection).iterate_documents()
        # The order of the passages in a collection depends on how it was written.
        return fingerprint([digest(self.questions), sorted(fingerprint(passage.to_dict()) for passage in passages)])

    def read(self, at_least: int = 1) -> tuple[list[Question], list[Document]]:
        """Read the questions and the passages.

        :param at_least: The least number of questions with gold passages.
        :returns: The questions that have gold passages, and all passages.
        :raises ValueError: If there are too few questions, if the corpus lacks a gold passage, or if two passages of a
            file have the same id.
        """
        questions = self._questions(at_least)
        if self.corpus is None:
            passages = list(TantivyDocumentStore(index=self.collection).iterate_documents())
        else:
            passages = list(read_passages(self.corpus))
            counts = Counter(passage.id for passage in passages)
            twice = next((key for key, count in counts.items() if count > 1), None)
            if twice is not None:
                raise ValueError(f"{self.corpus} holds two passages with the id '{twice}': give each its own id.")
        self._check(questions, {passage.id for passage in passages})
        return questions, passages

    @contextmanager
    def open_index(self, at_least: int = 1) -> Iterator[tuple[list[Question], TantivyDocumentStore]]:
        """Read the questions and open an index of the passages.

        If a file contains the passages, the index is made in a temporary folder, which is deleted at the end.

        :param at_least: The least number of questions with gold passages.
        :returns: A context manager, which returns the questions and the index.
        :raises ValueError: As for :meth:`read`.
        """
        if self.corpus is None:
            questions = self._questions(at_least)
            store = TantivyDocumentStore(index=self.collection)
            gold = {passage for question in questions for passage in question.supporting_ids}
            self._check(questions, {passage.id for passage in store.documents_by_id(sorted(gold))})
            yield questions, store
            return
        with tempfile.TemporaryDirectory(prefix="prefrag-") as folder:
            questions, passages = self.read(at_least)
            store = TantivyDocumentStore(path=folder)
            store.write_documents(passages)
            yield questions, store

    def _questions(self, at_least: int) -> list[Question]:
        """Read the questions that have gold passages. Raise ValueError if there are too few."""
        questions = [question for question in load_questions(self.questions) if question.supporting_ids]
        if len(questions) < at_least:
            raise ValueError(
                f"{self.questions} has too few questions with gold passages (`supporting_ids`): {len(questions)}, "
                f"but training needs at least {at_least}."
            )
        return questions

    def _check(self, questions: list[Question], corpus_ids: set[str]) -> None:
        """Raise ValueError if the corpus, which has passages with these ids, lacks a gold passage."""
        # The id of the question and the id of the passage, for each gold passage that the corpus lacks.
        absent = []
        for question in questions:
            absent += [(question.id, passage) for passage in question.supporting_ids if passage not in corpus_ids]
        if absent:
            question_id, passage = absent[0]
            place = f"The collection '{self.collection}'" if self.corpus is None else str(self.corpus)
            raise ValueError(
                f"{place} lacks {len(absent)} gold passages of {self.questions}. The first of them is '{passage}' "
                f"of question '{question_id}': give the corpus of these questions."
            )


def _is_index(name: str) -> bool:
    """Check whether there is a collection with this name."""
    try:
        resolve_index(name)
    except (FileNotFoundError, ValueError):
        return False
    return True
