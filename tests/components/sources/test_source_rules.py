"""The rules of sources and indexes, in a pipeline that plain Haystack loads and runs."""

from pathlib import Path
from typing import Any

import pytest
from haystack import Document, Pipeline
from haystack_integrations.components.websearch.ddgs import DDGSWebSearch

from prefrag.components.document_stores.tantivy.document_store import TantivyDocumentStore
from prefrag.components.retrievers.tantivy_bm25_retriever import TantivyBM25Retriever
from prefrag.components.sources.retrieval_source import RetrievalSource
from prefrag.components.sources.source_rules import SourceRules
from prefrag.components.state.state import AskBack
from prefrag.components.state.state_builder import StateBuilder
from prefrag.errors import BadInput
from tests.fakes import ScriptedRetriever
from tests.indexes import index_of

QUESTION = "Where is the crane?"


@pytest.fixture(autouse=True)
def switch_is_not_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PREFRAG_WEB", raising=False)


@pytest.fixture
def store(tmp_path: Path) -> TantivyDocumentStore:
    metas = [{"folder": f"/files/{name}", "kind": "pdf", "file_name": f"{name}.pdf"} for name in ("old", "new")]
    passages = [Document(id=meta["file_name"], content="The crane.", meta=meta) for meta in metas]
    return index_of(passages, tmp_path / "index")


def made(*stores: Any, rules: SourceRules | None, **loose: Any) -> Pipeline:
    """A pipeline of plain Haystack, with a source of each store and with the web, written as YAML and read again."""
    pipeline = Pipeline()
    names = [f"local{number}" for number in range(len(stores))]
    start = StateBuilder([*names, "web"], [*names, "web"][0], ["web"], rules=rules)
    pipeline.add_component("start", start)
    for name, store in zip(names, stores, strict=True):
        pipeline.add_component(name, RetrievalSource(name, TantivyBM25Retriever(store)))
    pipeline.add_component("web", RetrievalSource("web", ScriptedRetriever({}, "web"), external=True))
    for name, part in loose.items():
        pipeline.add_component(name, part)
    return Pipeline.loads(pipeline.dumps())


def open_sources(pipeline: Pipeline) -> tuple[str, ...]:
    return pipeline.get_component("start").run(QUESTION)["state"].settings.sources


@pytest.mark.parametrize(
    ("answers", "are_open"),
    [((True,), True), ((False,), False), ((None,), False), ((True, None), False), ((True, True), True), ((), False)],
)
def test_every_index_must_allow_the_web(tmp_path: Path, answers: tuple[bool | None, ...], are_open: bool):
    stores = [index_of([Document(content="tern")], tmp_path / str(number)) for number in range(len(answers))]
    for store, answer in zip(stores, answers, strict=True):
        if answer is not None:
            store.keep_web_consent(answer)
    pipeline = made(*stores, rules=SourceRules())

    if answers:
        assert ("web" in open_sources(pipeline)) == are_open
    else:
        with pytest.raises(ValueError, match="No source is left"):
            open_sources(pipeline)
    assert pipeline.get_component("web").gate.is_open == are_open


def test_a_yaml_without_rules_is_closed(store: TantivyDocumentStore):
    store.keep_web_consent(True)
    pipeline = made(store, rules=None)

    assert open_sources(pipeline) == ("local0",)
    assert not pipeline.get_component("web").gate.is_open
    with pytest.raises(BadInput, match="cannot select files by folders"):
        pipeline.get_component("start").run(QUESTION, folders=["old"])


def test_a_run_is_narrowed_to_a_folder(store: TantivyDocumentStore):
    pipeline = made(store, rules=SourceRules())

    filters = pipeline.get_component("start").run(QUESTION, folders=["old"])["state"].settings.filters

    assert [document.id for document in store.search("crane", 9, filters)] == ["old.pdf"]


def test_what_no_own_index_could_select_is_refused():
    with pytest.raises(BadInput, match="cannot select files by since"):
        made(rules=SourceRules()).get_component("start").run(QUESTION, since="2024")


def test_an_unmarked_source_that_searches_the_web_is_external(store: TantivyDocumentStore):
    start = StateBuilder(["local", "web"], "local", rules=SourceRules())
    pipeline = Pipeline()
    pipeline.add_component("start", start)
    pipeline.add_component("local", RetrievalSource("local", TantivyBM25Retriever(store)))
    pipeline.add_component("web", RetrievalSource("web", DDGSWebSearch()))

    assert start.run(QUESTION)["state"].settings.sources == ("local",)
    assert start.external_sources == ["web"]


def test_a_web_search_outside_a_source_ends_the_run(store: TantivyDocumentStore):
    pipeline = made(store, rules=SourceRules(), loose=DDGSWebSearch())

    with pytest.raises(ValueError, match="component 'loose' is a DDGSWebSearch, which would send text"):
        open_sources(pipeline)


def test_a_component_that_is_added_later_is_seen(store: TantivyDocumentStore, tmp_path: Path):
    store.keep_web_consent(True)
    pipeline = made(store, rules=SourceRules())
    assert open_sources(pipeline) == ("local0", "web")

    pipeline.add_component(
        "other",
        RetrievalSource("other", TantivyBM25Retriever(index_of([Document(content="tern")], tmp_path / "other"))),
    )

    assert open_sources(pipeline) == ("local0",)
    assert not pipeline.get_component("web").gate.is_open


def test_an_external_source_without_a_component_is_closed(store: TantivyDocumentStore):
    rules = SourceRules()
    pipeline = Pipeline()
    pipeline.add_component("start", StateBuilder(["local", "web"], "local", ["web"], rules=rules))
    pipeline.add_component("local", RetrievalSource("local", TantivyBM25Retriever(store)))

    assert open_sources(pipeline) == ("local",)
    assert rules.find_leaving(["web"]) == {"web"}


def test_a_local_source_that_is_named_as_external_stays_open(store: TantivyDocumentStore):
    store.keep_web_consent(False)
    pipeline = made(store, rules=SourceRules())
    start = pipeline.get_component("start")
    start.external_sources = ["local0", "web"]

    assert open_sources(pipeline) == ("local0",)
    assert start.rules.find_leaving(["local0", "web", "nowhere"]) == {"web", "nowhere"}


@pytest.mark.parametrize(("outside", "leaving"), [([], set()), (["web"], {"web"})])
def test_a_stand_in_can_count_as_outside(store: TantivyDocumentStore, outside: list[str], leaving: set[str]):
    store.keep_web_consent(True)
    pipeline = made(store, rules=SourceRules(outside))
    pipeline.get_component("web").retriever.stays_local = True

    settings = pipeline.get_component("start").run(QUESTION)["state"].settings

    assert pipeline.get_component("start").rules.find_leaving(["web"]) == leaving
    assert set(settings.typed_only) == leaving


class TestDescription:
    def test_names_kinds_folders_and_dates(self, tmp_path: Path):
        files = {"letters/a.txt": "2019-03-01", "letters/b.txt": "2024-05", "bills/2023/c.xlsx": "2023", "d.pdf": None}
        passages = [
            Document(
                id=f"{path}-{part}",
                content="Text.",
                meta={"file_path": f"/home/ada/{path}", "split_id": part} | ({"date": date} if date else {}),
            )
            for path, date in files.items()
            for part in (0, 1)
        ]
        store = index_of(passages, tmp_path / "files")
        rules = SourceRules()
        rules.bind(made(store, rules=rules))

        assert rules.describe_documents() == (
            "Searched are 4 files (2 .txt, 1 .xlsx, 1 .pdf), among them the folders letters, bills, with dates from "
            "2019-03-01 to 2024-05."
        )

    def test_says_nothing_of_passages_without_files(self, store: TantivyDocumentStore):
        rules = SourceRules()
        rules.bind(made(store, rules=rules))

        assert rules.describe_documents() == ""

    @pytest.mark.parametrize("question", ["What is in here?", "What can you do?"])
    def test_answers_a_question_that_names_nothing(self, tmp_path: Path, question: str):
        meta = {"file_path": "/home/ada/letters/a.txt"}
        store = index_of([Document(id="a", content="Text.", meta=meta)], tmp_path / "files")
        start = made(store, rules=SourceRules()).get_component("start")

        with pytest.raises(AskBack, match=r"Ask what your documents say.* Searched are 1 file \(1 \.txt\)\."):
            start.run(question)
        assert start.run("What is in the letter?")["state"].question == "What is in the letter?"
        # A follow-up is for the component that reads the earlier turns.
        assert start.run(question, history=[{"role": "user", "content": "Who is Ada?"}])["state"].history
