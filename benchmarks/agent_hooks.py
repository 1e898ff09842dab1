"""Measure deepset's own RAG agent with and without the hooks that put the documents first.

    python -m benchmarks.agent_hooks --url http://127.0.0.1:8080/v1 --limit 10

It needs Haystack 3 and `pip install agent-pack-haystack`. The agent is `create_advanced_rag_agent` over the demo's own
documents, with a further tool that searches the demo's web. Both forms get the same questions, the same model and the
same number of steps. A line per question is kept in the folder `--output`: the same command goes on where it stopped.
"""

import json
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from haystack import Document
from haystack.components.generators.chat import OpenAIChatGenerator
from haystack.dataclasses import ChatMessage
from haystack.tools import ComponentTool
from haystack.utils import Secret

from prefrag.components.agent_hooks.check_answer import CheckAnswer
from prefrag.components.agent_hooks.keep_web_closed import KeepWebClosed
from prefrag.components.agent_hooks.search_documents_first import SearchDocumentsFirst
from prefrag.components.document_stores.tantivy.document_store import TantivyDocumentStore
from prefrag.components.reader.answer_carrier import find_carrier
from prefrag.components.retrievers.tantivy_bm25_retriever import TantivyBM25Retriever
from prefrag.evaluation.datasets import load_questions
from prefrag.evaluation.question import Question

CHECKOUT = Path(__file__).resolve().parent.parent
FORMS = ("plain", "hooks")
STEPS = 5
SYSTEM = (
    "Answer the question in a few words. Search the user's documents with search_documents. Search the web with "
    "search_web only if the documents do not suffice. Cite a document as [doc ID]."
)


def open_store(corpus: Path, folder: Path) -> TantivyDocumentStore:
    """Index a corpus of the demo."""
    lines = [json.loads(line) for line in corpus.read_text("utf-8").splitlines()]
    store = TantivyDocumentStore(path=str(folder / corpus.stem))
    store.write_documents(
        [Document(id=line["id"], content=line["text"], meta={"title": line["title"]}) for line in lines]
    )
    return store


def make_agent(form: str, url: str, model: str, folder: Path) -> Any:
    """Make the agent, with the hooks or without."""
    from haystack_integrations.agent_pack.advanced_rag import create_advanced_rag_agent

    documents, web = (open_store(CHECKOUT / "demo" / f"{name}.jsonl", folder) for name in ("local", "web"))
    generator = OpenAIChatGenerator(
        model=model,
        api_base_url=url,
        api_key=Secret.from_token("none"),
        timeout=600,
        generation_kwargs={"temperature": 0.0, "max_tokens": 200},
    )
    agent = create_advanced_rag_agent(
        document_store=documents,
        retriever=TantivyBM25Retriever(documents, top_k=5),
        llm=generator,
        backup_answer_llm=generator,
        system_prompt=SYSTEM,
        max_agent_steps=STEPS,
    )
    search = next(tool for tool in agent.tools if getattr(tool, "name", "") == "search_documents")
    search_web = ComponentTool(
        TantivyBM25Retriever(web, top_k=5),
        name="search_web",
        description="Search the web.",
        outputs_to_state={"documents": {"source": "documents"}},
    )
    hooks = {}
    if form == "hooks":
        hooks = {
            "on_exit": [SearchDocumentsFirst("search_documents")],
            "before_tool": [KeepWebClosed("search_documents", web_tool="search_web")],
            "after_run": [*agent.hooks.get("after_run", ()), CheckAnswer()],
        }
    return agent.clone(tools=[search, search_web], hooks={**agent.hooks, **hooks})


def count_run(question: Question, result: Mapping[str, Any], local: frozenset[str]) -> dict[str, float]:
    """Count what a run did: its searches, and whether its answer is right and stands in a passage."""
    text = result["last_message"].text or ""
    documents = result.get("documents") or []
    is_shown = not text.startswith("Not found in the documents.")
    right = any(answer.casefold() in text.casefold() for answer in question.answers)
    has_carrier = is_shown and find_carrier(question.question, text, documents, False) is not None
    needs_web = not set(question.supporting_ids) <= local
    calls_of_tools = result["tool_call_counts"]
    searched_documents = bool(calls_of_tools.get("search_documents", 0))
    searched_web = bool(calls_of_tools.get("search_web", 0))
    return {
        "calls": float(sum(message.is_from("assistant") for message in result["messages"])),
        "documents unsearched": float(not searched_documents),
        "web asked needlessly": float(searched_web and not needs_web),
        "web missed": float(needs_web and not searched_web),
        "answers shown": float(is_shown),
        "right": float(is_shown and right),
        "shown without a passage": float(is_shown and not has_carrier),
    }


def main(
    url: Annotated[str, typer.Option()],
    model: Annotated[str, typer.Option()] = "default",
    limit: Annotated[int, typer.Option()] = 10,
    first: Annotated[int, typer.Option(help="The first question, from 0.")] = 20,
    output: Annotated[Path, typer.Option()] = CHECKOUT / "runs" / "agent_hooks",
) -> None:
    """Ask each question in both forms, and print what they did."""
    output.mkdir(parents=True, exist_ok=True)
    local = frozenset(json.loads(line)["id"] for line in (CHECKOUT / "demo" / "local.jsonl").open(encoding="utf-8"))
    questions = load_questions(CHECKOUT / "demo" / "questions.jsonl")[first : first + limit]
    totals: dict[str, dict[str, float]] = {}
    for form in FORMS:
        file = output / f"{form}.jsonl"
        done = {}
        if file.exists():
            done = {line["id"]: line for line in map(json.loads, file.open(encoding="utf-8"))}
        with tempfile.TemporaryDirectory() as folder:
            agent = make_agent(form, url, model, Path(folder))
            for question in questions:
                if question.id in done:
                    continue
                started = time.perf_counter()
                result = agent.run(messages=[ChatMessage.from_user(question.question)])
                counted = count_run(question, result, local)
                line = {"id": question.id, "answer": result["last_message"].text, "counted": counted}
                line["seconds"] = round(time.perf_counter() - started, 1)
                done[question.id] = line
                with file.open("a", encoding="utf-8") as lines:
                    lines.write(json.dumps(line, ensure_ascii=False) + "\n")
                print(form, question.id, line["seconds"], str(line["answer"])[:80], flush=True)
        chosen = [done[question.id]["counted"] for question in questions if question.id in done]
        totals[form] = {}
        for name in chosen[0]:
            totals[form][name] = sum(counted[name] for counted in chosen)
    print("| of", len(questions), "|", " | ".join(FORMS), "|")
    for name in totals[FORMS[0]]:
        print(f"| {name} | " + " | ".join(f"{totals[form][name]:g}" for form in FORMS) + " |")


if __name__ == "__main__":
    typer.run(main)
