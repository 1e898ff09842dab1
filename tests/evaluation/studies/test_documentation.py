"""The study of package documentation, and what is counted of the judge's verdicts."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from haystack import Document

from prefrag.components.document_stores.tantivy.document_store import TantivyDocumentStore
from prefrag.components.state.state import Verdict
from prefrag.evaluation.studies.documentation import corpus
from prefrag.evaluation.studies.documentation.corpus import gather, list_documents, name_of
from prefrag.evaluation.studies.documentation.measure import QUESTIONS, read_passages, second_searches, write_table
from tests.for_each import for_each

LINES = [json.loads(line) for line in QUESTIONS.read_text(encoding="utf-8").splitlines()]


class TestTheQuestions:
    def test_are_sixty_of_which_forty_are_answered_by_a_phrase(self):
        """The phrase stands in a file of the corpus."""

        assert len({line["id"] for line in LINES}) == 60
        assert sum(line["phrase"] is not None for line in LINES) == 40

        names = {name_of(source) for source in list_documents()}

        assert {line["file"] for line in LINES if line["file"]} <= names

        assert all(len(line["phrase"].split()) <= 12 for line in LINES if line["phrase"])


class TestTheCorpus:
    @pytest.fixture
    def packed(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        packed = tmp_path / "usr" / "share" / "doc" / "crane" / "FAQ.gz"
        packed.parent.mkdir(parents=True)
        packed.write_bytes(gzip.compress(b"Who keeps the crane? The warden."))
        documents = {str(packed): "crane", "pypi:nothing-of-that-name": "nothing-of-that-name"}
        monkeypatch.setattr(corpus, "list_documents", lambda: documents)
        monkeypatch.setattr(corpus, "name_of", lambda source: "crane-FAQ.txt")
        return tmp_path / "folder"

    def test_is_unpacked_and_cut_under_its_file_and_absence_is_named(self, packed: Path):
        assert gather(packed) == ["nothing-of-that-name"]
        assert (packed / "crane-FAQ.txt").read_text() == "Who keeps the crane? The warden."

        (passage,) = read_passages(packed)

        assert passage.meta["file_path"] == "crane-FAQ.txt"

    @for_each(
        "source, name",
        ("/usr/share/doc/lsof/00FAQ.gz", "lsof-00FAQ.txt"),
        ("/usr/share/doc/zstd/README.md.gz", "zstd-README.md"),
        ("/usr/share/man/man5/core.5.gz", "core.5.txt"),
        ("pypi:requests", "requests.md"),
    )
    def test_has_a_file_of_its_own_for_each_document(self, source: str, name: str):
        assert name_of(source) == name


def question(phrase: str | None, query: str) -> dict[str, Any]:
    file = None if phrase is None else "crane.txt"
    return {"id": "q", "question": "Who keeps the crane?", "query": query, "file": file, "phrase": phrase}


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        (question("the harbour master", "boat"), "found"),
        (question("The warden", "crane warden"), "found again"),
        (question("The cook", "boat"), "at home, not found"),
        (question(None, "boat"), "elsewhere"),
    ],
)
def test_where_the_answer_is_decides_what_leaving_is_worth(tmp_path: Path, line: dict[str, Any], kind: str):
    store = TantivyDocumentStore(path=str(tmp_path / "index"))
    texts = ("The warden keeps the crane.", "The harbour master keeps the boat.", "The cook keeps salt.")
    store.write_documents([Document(content=text, meta={"title": "Keys", "file_path": "crane.txt"}) for text in texts])

    (search,) = second_searches([line], store, top_k=1)

    assert search.kind == kind
    assert [step.query for step in search.state.steps] == ["Who keeps the crane?", line["query"]]
    assert len(search.state.observed) == 1


def test_the_table_counts_what_was_left_of_each_kind():
    class Searched:
        def __init__(self, kind: str):
            self.kind = kind

    kinds = ("found", "found", "found again", "elsewhere")
    verdicts: Any = [(Searched(kind), Verdict(kind == "found", "classifier", score=0.5)) for kind in kinds]

    table = list(write_table(verdicts))

    assert "| at home (wrong to leave) | 3 | 1 (33%) | 0% | 100% |" in table
    assert "| elsewhere (right to leave) | 1 | 1 (100%) | 0% | 100% |" in table
    assert "| of these: found again | 1 | 1 (100%) | 0% | 100% |" in table
