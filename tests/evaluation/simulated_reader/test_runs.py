"""Whole runs of the shipped pipelines with the simulated reader in place of the model."""

import asyncio
import itertools
import json
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from haystack import Document

from prefrag import pipelines
from prefrag.components.document_stores.tantivy.document_store import TantivyDocumentStore
from prefrag.components.retrievers.tantivy_bm25_retriever import TantivyBM25Retriever
from prefrag.components.sources.retry_policy import RetryPolicy
from prefrag.evaluation.datasets import load_questions
from prefrag.evaluation.metrics import score
from prefrag.evaluation.question import Question
from prefrag.evaluation.simulated_reader.reader import SimulatedReader
from prefrag.pipelines.loading import find, read_block
from tests.benchmark_data import DATA, DATASETS, with_data
from tests.evaluation.simulated_reader.trees_and_towns import QUESTIONS as TOWNS
from tests.indexes import index_of

METHODS = ("prefrag", "react_mix", "mspr", "dr_rag_qdc", "vanilla_local", "ircot", "adaptive_rag")

# The passages of each source: id, title, text.
LOCAL = [
    ("p1", "Aurora", "The Aurora is a log that was built by the yard Borealis."),
    ("p3", "Corvo", "Corvo is a town. Its mayor is Dora Stern."),
    ("p4", "Aurora", "An aurora is a light in the sky, seen from no town in Corvo and built by nobody."),
    ("p5", "Elm", "Elms are trees."),
]
WEB = [("p2", "Borealis", "Borealis, a yard, stands in Corvo."), ("p6", "Mayor", "A mayor is head of a town.")]
QUESTIONS = [*TOWNS[:2], {"id": "yes", "question": "Are elms trees?", "answers": ["yes"], "supporting_ids": ["p5"]}]

Build = Callable[..., Any]
slow = pytest.mark.slow


def quick(first: str, *others: str) -> list[Any]:
    """Run one method in the quick tests, and mark the others as slow."""
    return [first, *(pytest.param(name, marks=slow) for name in others)]


def written(path: Path, lines: Sequence[dict[str, Any]]) -> str:
    path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    return str(path)


def index(path: Path, passages: Sequence[tuple[str, str, str]]) -> None:
    index_of([Document(id=key, content=text, meta={"title": title}) for key, title, text in passages], path)


def simulated(name: str, folder: Path, reader: dict[str, Any], replace: dict[str, Any] | None = None) -> Any:
    """Load a shipped pipeline with the reader as every model, and the indexes of a folder as sources."""
    parts: dict[str, Any] = {
        "ChatModel": SimulatedReader(**reader),
        "RetrievalSource.retry_policy": RetryPolicy(timeout=20.0),
        "start.first_query": "model",
        "TantivyDocumentStore": TantivyDocumentStore(path=str(folder / "local")),
    }
    components = read_block(find(name))["components"]
    if "web" in components:
        parts["web.retriever"] = TantivyBM25Retriever(TantivyDocumentStore(path=str(folder / "web")))
    if "archive" in components:
        parts["archive.retriever.document_store.path"] = str(folder / "archive")
    return pipelines.load(name, parts | (replace or {}))


def make_build(folder: Path) -> Build:
    index(folder / "local", LOCAL)
    index(folder / "web", WEB)
    corpus = [{"id": key, "title": title, "text": text} for key, title, text in LOCAL + WEB]
    files = {"questions": written(folder / "dev.jsonl", QUESTIONS), "corpus": written(folder / "corpus.jsonl", corpus)}

    def made(name: str, replace: dict[str, Any] | None = None, **settings: Any) -> Any:
        return simulated(name, folder, {**files, **settings}, replace)

    return made


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory) -> Build:
    return make_build(tmp_path_factory.mktemp("sources"))


@pytest.fixture
def empty(tmp_path: Path) -> Build:
    """Like ``build``, but with empty indexes."""
    made = make_build(tmp_path)
    for source in ("local", "web"):
        TantivyDocumentStore(path=str(tmp_path / source)).delete_all_documents()
    return made


def everything(value: Any) -> Any:
    """A result without times and without what depends on the length of prompts."""
    if isinstance(value, dict):
        left_out = ("seconds", "prompt_tokens", "completion_tokens")
        return {key: everything(part) for key, part in value.items() if key not in left_out}
    return [everything(part) for part in value] if isinstance(value, list) else value


def words(text: str) -> str:
    parts = re.findall(r"\w+", text.lower())
    return f" {' '.join(parts)} "


def leaks(item: Question, titles: Sequence[str], result: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """The queries that hold a gold title or an answer that nobody could know from what was read before."""
    secrets = [*titles, *(hop.answer for hop in item.decomposition)]
    secrets += [] if item.is_yes_no else item.answers
    documents = {document["id"]: f"{document['title']} {document['content']}" for document in result["documents"]}
    read = item.question
    for step in result["steps"]:
        for secret in secrets:
            if words(secret) in words(step["query"]) and words(secret) not in words(read):
                yield secret, step["query"]
        read = " ".join([read, *(documents[key] for key in step["documents"])])


def test_prefrag_finds_what_the_preferred_source_lacks_by_hops(build: Build):
    # In sources of a few sentences, any two passages seem to belong together.
    pipeline = build("prefrag", {"judge.sufficiency": None})
    result = pipelines.ask(QUESTIONS[0]["question"], pipeline, top_k=2)

    assert [(step["query"], step["source"]) for step in result["steps"]] == [
        ("Aurora built by", "local"),
        ("Where stands Borealis ?", "web"),
        ("Corvo mayor", "local"),
        ("", None),
    ]
    assert [step["verdict"] and step["verdict"]["status"] for step in result["steps"]] == [True, False, True, None]
    assert (result["answer"], result["label"]) == ("Dora Stern", "CORRECT")


@pytest.mark.parametrize("name", ["react", "mspr", "prefrag_without_preference", "prefrag_direct"])
def test_model_that_names_the_source_goes_to_the_other_for_want(build: Build, name: str):
    """It does so when the first brought nothing."""

    result = pipelines.ask(QUESTIONS[1]["question"], build(name, source_choice="first"), top_k=1)

    assert [(step["query"], *step["searched"]) for step in result["steps"] if step["action"] == "search"] == [
        ("Aurora builder", "local"),
        ("Borealis place", "local"),
        ("Borealis place", "web"),
    ]
    assert result["answer"] == "Corvo"


@pytest.mark.parametrize("name", quick("mspr", "react", "prefrag_without_preference", "prefrag_direct"))
@pytest.mark.parametrize("seeds", [(1,), pytest.param((0, 2), marks=slow)])
def test_drawn_source_does_not_depend_on_the_order_in_the_yaml(build: Build, name: str, seeds: Sequence[int]):
    tools = read_block(find(name))["components"]["reasoner"]["init_parameters"]["tools"]
    turned = {f"{part}.tools": tools[::-1] for part in ("reasoner", "forced")}
    for seed in seeds:
        usual, other = build(name, seed=seed), build(name, turned, seed=seed)
        for question in QUESTIONS:
            asked = question["question"]
            assert everything(pipelines.ask(asked, usual, top_k=1)) == everything(pipelines.ask(asked, other, top_k=1))


@pytest.mark.parametrize("name", quick("react_mix", "prefrag", "dr_rag_qdc", "vanilla_mix"))
def test_method_whose_model_names_no_source_ignores_the_choice(build: Build, name: str):
    asked = QUESTIONS[0]["question"]
    first, *others = (
        everything(pipelines.ask(asked, build(name, source_choice=choice), top_k=1))
        for choice in ("drawn", "first", "last")
    )
    assert others == [first, first]


@pytest.mark.parametrize("seeds", [(0, 1), pytest.param((2, 3, 4, 5), marks=slow)])
def test_mspr_is_steered_at_first_and_after_nothing_for_any_draw(build: Build, seeds: Sequence[int]):
    for seed in seeds:
        result = pipelines.ask(QUESTIONS[1]["question"], build("mspr", seed=seed), top_k=1)
        steps = [step for step in result["steps"] if step["action"] == "search"]
        assert steps[0]["searched"] == ["local"]
        for before, after in itertools.pairwise(steps):
            if before["verdict"] and not before["verdict"]["status"]:
                assert after["searched"] == ["web"]


def test_remembered_question_is_answered_without_a_search(build: Build):
    result = pipelines.ask(QUESTIONS[0]["question"], build("prefrag", {"start.prompts": "plain"}, memory=1.0))
    assert (result["answer"], result["counts"]["total"]) == ("Dora Stern", 0)

    once = pipelines.ask(
        QUESTIONS[0]["question"], build("vanilla_local", {"start.prompts": "plain"}, memory=1.0), top_k=1
    )
    assert (once["answer"], once["counts"]["total"]) == ("Dora Stern", 1)


def test_three_sources_are_played(build: Build):
    result = pipelines.ask(QUESTIONS[2]["question"], build("prefrag_three_sources"), sources=["local", "web"])
    assert (result["answer"], result["label"]) == ("yes", "CORRECT")


@pytest.mark.parametrize("name", ["mspr", *quick(*(name for name in METHODS if name != "mspr"))])
def test_empty_index_answers_nothing_and_leaks_nothing(empty: Build, tmp_path: Path, name: str):
    pipeline = empty(name)
    for item in load_questions(tmp_path / "dev.jsonl"):
        result = pipelines.ask(item.question, pipeline)

        # What a model knows by heart is kept apart, because no passage has it.
        assert result["answer"] or result["guess"]
        scores = score(item, result)
        assert not any(scores[measure] for measure in ("acc", "acc_word", "em", "f1"))
        assert list(leaks(item, [title for _, title, _ in LOCAL + WEB], result)) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", quick("prefrag", "react", "react_mix", "mspr"))
def test_every_reply_format_gives_the_same_trace(build: Build, name: str):
    results = []
    for form in ("text", "json", "tools"):
        replies = {"reply_format": form, "self_evaluation": False, "answer_format": {"cite": False}}
        replace: dict[str, Any] = {f"Reasoner.{setting}": value for setting, value in replies.items()}
        if name == "prefrag":
            replace["reflector.reflection"] = "call"
        pipeline = build(name, replace, judge_error=0.3, reflection_error=0.3, distraction=0.1, seed=1)
        results.append([everything(pipelines.ask(question["question"], pipeline, top_k=1)) for question in QUESTIONS])

    assert all(result["answer"] or result["guess"] for result in results[0])
    assert all(result == results[0] for result in results[1:])


@pytest.mark.parametrize("name", quick("mspr", "prefrag"))
async def test_runs_side_by_side_are_those_one_after_another(build: Build, name: str):
    pipeline = build(name, judge_error=0.5, reflection_error=0.5, distraction=0.2, seed=3)
    item = [question["question"] for question in QUESTIONS] * 2

    alone = [await pipelines.ask_async(pipeline, question) for question in item]
    together = await asyncio.gather(*(pipelines.ask_async(pipeline, question) for question in reversed(item)))

    assert everything(list(reversed(together))) == everything(alone)


@pytest.mark.slow
def test_another_seed_is_another_run(build: Build):
    labels = set()
    for seed in range(12):
        pipeline = build("prefrag", {"judge.sufficiency": None}, distraction=0.2, seed=seed)
        labels.add(pipelines.ask(QUESTIONS[0]["question"], pipeline)["label"])
        if len(labels) == 2:
            return
    pytest.fail(f"Every seed gives the label {labels}.")


@pytest.fixture(scope="module")
def benchmark_folder(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], tuple[Path, dict[str, str]]]:
    """The folder with a dataset's two indexes, and the titles of its passages; made once per dataset."""
    made: dict[str, tuple[Path, dict[str, str]]] = {}

    def folder(dataset: str) -> tuple[Path, dict[str, str]]:
        if dataset not in made:
            with (DATA / dataset / "corpus.jsonl").open(encoding="utf-8") as lines:
                passages = [json.loads(line) for line in lines]
            path = tmp_path_factory.mktemp(dataset)
            for source in ("local", "web"):
                own = [passage for passage in passages if passage["source"] in (source, "both")]
                index(path / source, [(passage["id"], passage["title"], passage["text"]) for passage in own])
            made[dataset] = path, {passage["id"]: passage["title"] for passage in passages}
        return made[dataset]

    return folder


@with_data
@pytest.mark.parametrize("dataset", DATASETS)
@pytest.mark.parametrize("name", METHODS)
async def test_dev_sets_leak_no_query_and_are_right_if_all_was_found(
    dataset: str, name: str, benchmark_folder: Callable[[str], tuple[Path, dict[str, str]]]
):
    """Answers are right exactly then."""

    folder, titles = benchmark_folder(dataset)
    files = {"questions": str(DATA / dataset / "dev.jsonl"), "corpus": str(DATA / dataset / "corpus.jsonl")}
    pipeline = simulated(name, folder, files)
    for item in load_questions(files["questions"], limit=12):
        result = await pipelines.ask_async(pipeline, item.question)
        shown = {document["id"] for document in result["documents"]} & set(item.supporting_ids)
        enough = bool(shown) if item.is_yes_no else len(shown) == len(set(item.supporting_ids))

        assert score(item, result)["em"] == float(enough), item.question
        assert list(leaks(item, [titles[key] for key in item.supporting_ids], result)) == []
