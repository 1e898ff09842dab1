"""Questions that are narrowed to folders, kinds and dates of a person's own files."""

from pathlib import Path
from typing import Any

import pytest
from haystack import Document

from prefrag import pipelines
from prefrag.components.document_stores.narrowing import narrow_filters
from prefrag.components.document_stores.tantivy.document_store import TantivyDocumentStore
from prefrag.components.document_stores.tantivy.index_location import data_directory
from prefrag.errors import BadInput
from tests.for_each import for_each
from tests.indexes import index_of

ABOVE = "/home/ada/Documents"
FILES = {
    "lease.pdf": ("contracts", "pdf", "2024-03-01"),
    "crane.docx": ("contracts/2023", "docx", "2023-06"),
    "Letter.md": ("Letters/2023", "markdown", None),
    "hours.csv": ("", "csv", "2025-06-30"),
}


@pytest.fixture
def store(tmp_path: Path) -> TantivyDocumentStore:
    """An index of four files in three folders, an uploaded one, and a line of a corpus."""
    metas = [
        {
            "title": name,
            "file_name": name,
            "folder": str(Path(ABOVE, folder)),
            "file_path": str(Path(ABOVE, folder, name)),
            "kind": kind,
            "date": date,
        }
        for name, (folder, kind, date) in FILES.items()
    ]
    metas.append({"title": "sent.txt", "folder": str(data_directory() / "uploads" / "mine" / "upload-1")})
    metas.append({"title": "line", "corpus": "/corpus.jsonl", "date": "20 May 1890"})
    passages = [Document(id=str(meta["title"]), content="The crane.", meta=meta) for meta in metas]
    return index_of(passages, tmp_path / "index")


@for_each(
    "wanted, expected",
    ({"folders": ["contracts"]}, {"lease.pdf", "crane.docx"}),
    ({"folders": ["\\CONTRACTS\\2023\\"]}, {"crane.docx"}),
    ({"folders": ["2023"]}, {"crane.docx", "Letter.md"}),
    ({"folders": ["./"]}, {"lease.pdf", "crane.docx", "Letter.md", "hours.csv", "sent.txt"}),
    ({"folders": [f"{ABOVE}/contracts"]}, {"lease.pdf", "crane.docx"}),
    ({"folders": [f"{ABOVE}/contracts/lease.pdf"]}, {"lease.pdf"}),
    ({"folders": [f"{ABOVE}/contracts/lease.pdf", "Letters"]}, {"lease.pdf", "Letter.md"}),
    ({"folders": ["Letters", "/contracts"]}, {"lease.pdf", "crane.docx", "Letter.md"}),
    ({"kinds": ["PDF", ".md"]}, {"lease.pdf", "Letter.md"}),
    ({"since": "2024"}, {"lease.pdf", "hours.csv"}),
    ({"since": "2023-06-15", "until": "2024-03-01"}, {"lease.pdf", "crane.docx"}),
    ({"folders": ["contracts"], "kinds": ["pdf", "docx"], "since": "2024"}, {"lease.pdf"}),
)
def test_what_has_all_of_it_is_left(store: TantivyDocumentStore, wanted: dict[str, Any], expected: set[str]):
    assert {document.id for document in store.search("crane", 10, narrow_filters([store], wanted))} == expected


def test_folders_have_the_names_in_the_list_of_documents(tmp_path: Path):
    deep = f"/data/letters/2024/{'/'.join(['a very long name'] * 12)}"
    metas = [{"folder": folder, "kind": "text", "file_name": "a.txt"} for folder in ("/data/letters/2023", deep)]
    metas.append({"corpus": "/data/corpora/a.jsonl", "kind": "note"})
    passages = [Document(id=str(number), content="The crane.", meta=meta) for number, meta in enumerate(metas)]
    store = index_of(passages, tmp_path / "index")

    everything = {key: {"0", "1"} for key in ("letters", "Data", "index/")}
    for folder, expected in {"letters/2023": {"0"}, "letters/2024": {"1"}, **everything}.items():
        assert {
            document.id for document in store.search("crane", 10, narrow_filters([store], {"folders": [folder]}))
        } == expected


@for_each(
    "wanted, message",
    ({"folders": ["home"]}, "in the folder 'home'. The choices are: Documents, Documents/Letters/2023,"),
    ({"folders": ["upload-1"]}, "No document lies in the folder 'upload-1'. The choices are: "),
    ({"folders": ["Documents/contract"]}, "No document lies in the folder 'Documents/contract'. The choices are: "),
    ({"folders": ["/home/bob", ".."]}, "No document lies in the folder '/home/bob' or '..'. The choices are: "),
    ({"folders": ["contracts"], "kinds": ["csv"]}, "No document is of the kind 'csv'. The choices are: docx, pdf"),
    ({"since": "2026"}, "No document is dated since 2026. Only dates in a document's name or first lines count."),
    ({"kinds": ["csv"], "until": "2025-06-29"}, "No such document is dated until 2025-06-29"),
    ({"since": "2024-13"}, "since is '2024-13': give a year, a month or a day"),
)
def test_what_leaves_nothing_is_refused(store: TantivyDocumentStore, wanted: dict[str, Any], message: str):
    with pytest.raises(BadInput) as refused:
        narrow_filters([store], wanted)

    assert message in str(refused.value)
    assert "ada" not in str(refused.value).replace("'/home/ada'", "")


def test_a_run_searches_those_alone_and_no_web(store: TantivyDocumentStore, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PREFRAG_WEB", "on")
    start = pipelines.load("prefrag", replace={"TantivyDocumentStore": store}).get_component("start")
    other = {"field": "meta.title", "operator": "!=", "value": "crane.docx"}

    state = start.run("Where is the crane?", folders=["contracts"], filters=other)["state"]

    assert state.settings.sources == ("local",)
    assert [(event.kind, event.data["sources"]) for event in state.events] == [("closed", ["web"])]
    assert "narrowed to some of your own files" in state.events[0].data["reason"]
    assert [document.id for document in store.search("crane", 9, state.settings.filters)] == ["lease.pdf"]
    assert start.run("Where is the crane?")["state"].settings.sources == ("local", "web")
    with pytest.raises(ValueError, match="No source is left to search: the question is narrowed"):
        start.run("Where is the crane?", since="2024", sources=["web"])
