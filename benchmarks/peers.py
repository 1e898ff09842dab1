"""Compare the processor time of PrefRAG and of other frameworks' agents, with the same questions, indexes and model.

    make peers [DATA=.../hotpotqa]
    .venv-peers/bin/python -m benchmarks.peers --data .../hotpotqa [--questions 40] [--rounds 3]

The frameworks run in turn, each in its own process. The model server runs in another process and replies at once from a
script. An agent with tools makes three searches and answers. PrefRAG makes three searches, one of them in both sources,
and gets two verdicts. Corrective retrieval grades each of five passages, writes a new query and answers. All frameworks
search the same two indexes by the same function, whose time is measured separately. The rest of the time is
orchestration, including the client of the model.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypedDict

import httpx

from benchmarks.load import free_port, process
from benchmarks.model_server import ModelServer, PrefragScript
from benchmarks.orchestration import read_questions, split_corpus
from prefrag.components.document_stores.tantivy.document_store import TantivyDocumentStore
from prefrag.components.document_stores.tantivy.index import Index

Ask = Callable[[str], Awaitable[Any]]
Search = Callable[[str, str], str]

SEARCHES = 3
TOP_K = 5
MODEL = "simulated"
WARM_UP = 5
SYSTEM = (
    "Answer multi-hop questions. Search the user's own documents first; search the web only when they do not suffice. "
    "Cite the passages that you use."
)
OWN, WEB = "Search the user's own documents. Prefer this.", "Search the web, when the own documents do not suffice."


class ToolModel(ModelServer):
    """A model server that calls the offered tools, grades a passage, or replies like PrefRAG's script."""

    def __init__(self) -> None:
        super().__init__(PrefragScript(), 0.0)
        self._calls = 0

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Serve one request. `/v1/calls` returns the number of model calls since the last request for it."""
        if scope["path"] != "/v1/calls":
            await super().__call__(scope, receive, send)
            return
        payload, self._calls = json.dumps(self._calls).encode(), 0
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": payload})

    def _completion(self, request: dict[str, Any]) -> dict[str, Any]:
        self._calls += 1
        tools = [tool["function"]["name"] for tool in request.get("tools") or ()]
        if not tools:
            return super()._completion(request)
        if "Grade" in tools[0]:
            # About one passage in five gets the grade irrelevant, so that the web is searched.
            size = len(request["messages"][-1]["content"])
            name, arguments = tools[0], {"relevant": "no" if size % 5 == 0 else "yes"}
        else:
            done = sum(message["role"] == "tool" for message in request["messages"])
            question = next(message["content"] for message in request["messages"] if message["role"] == "user")
            if done == SEARCHES:
                return super()._completion(request)
            name = tools[-1] if done == SEARCHES - 1 else tools[0]
            arguments = {"query": f"{('first', 'second', 'third')[done]} hop of {question}"}
        completion = super()._completion(request)
        call = {"id": f"call_{time.monotonic_ns()}", "type": "function"}
        call["function"] = {"name": name, "arguments": json.dumps(arguments)}  # type: ignore[assignment]
        completion["choices"][0] |= {
            "finish_reason": "tool_calls",
            "message": {"role": "assistant", "content": None, "tool_calls": [call]},
        }
        return completion


def serve(port: int) -> None:
    import uvicorn

    uvicorn.run(ToolModel(), host="127.0.0.1", port=port, log_level="warning", access_log=False, lifespan="off")


def prefrag(address: str, search: Search) -> Ask:
    from prefrag import pipelines

    os.environ |= {"PREFRAG_LLM_BASE_URL": address, "PREFRAG_LLM_MODEL": MODEL, "PREFRAG_LLM_CONTEXT": "32000"}
    pipeline = pipelines.load("prefrag")
    pipeline.warm_up()
    return lambda question: pipelines.ask_async(pipeline, question)


def haystack_agent(address: str, search: Search) -> Ask:
    from haystack.components.agents import Agent
    from haystack.components.generators.chat import OpenAIChatGenerator
    from haystack.dataclasses import ChatMessage
    from haystack.tools import create_tool_from_function
    from haystack.utils import Secret

    def search_local(query: str) -> str:
        return search("local", query)

    def search_web(query: str) -> str:
        return search("web", query)

    model = OpenAIChatGenerator(api_key=Secret.from_token("none"), model=MODEL, api_base_url=address)
    tools = [create_tool_from_function(search_local, description=OWN)]
    tools.append(create_tool_from_function(search_web, description=WEB))
    agent = Agent(chat_generator=model, tools=tools, system_prompt=SYSTEM)
    agent.warm_up()
    return lambda question: agent.run_async(messages=[ChatMessage.from_user(question)])


def searching(search: Search) -> list[tuple[Callable[[str], Awaitable[str]], str]]:
    """Return the search of each source as a coroutine function, with its description."""

    async def search_local(query: str) -> str:
        return search("local", query)

    async def search_web(query: str) -> str:
        return search("web", query)

    return [(search_local, OWN), (search_web, WEB)]


def langgraph_agent(address: str, search: Search) -> Ask:
    from langchain.agents import create_agent
    from langchain_core.tools import StructuredTool
    from langchain_openai import ChatOpenAI

    tools = [StructuredTool.from_function(coroutine=tool, description=told) for tool, told in searching(search)]
    model = ChatOpenAI(model=MODEL, api_key="none", base_url=address)  # type: ignore[arg-type]
    agent = create_agent(model, tools, system_prompt=SYSTEM)
    return lambda question: agent.ainvoke({"messages": [("user", question)]})


class Graded(TypedDict):
    """The state of the graph for corrective retrieval."""

    question: str
    passages: list[str]
    on_the_web: bool
    answer: str


def langgraph_crag(address: str, search: Search) -> Ask:
    """Corrective retrieval as in LangGraph's tutorial: grade each passage, and search the web if one is irrelevant."""
    from langchain_core.prompts import ChatPromptTemplate
    from langchain_openai import ChatOpenAI
    from langgraph.graph import END, START, StateGraph
    from pydantic import BaseModel

    class Grade(BaseModel):
        """Whether the passage helps: yes or no."""

        relevant: str

    model = ChatOpenAI(model=MODEL, api_key="none", base_url=address, temperature=0)  # type: ignore[arg-type]
    grader = ChatPromptTemplate.from_messages(
        [("system", "Grade whether a passage helps to answer a question."), ("human", "{passage}\n\n{question}")]
    ) | model.with_structured_output(Grade, method="function_calling")
    rewriter = ChatPromptTemplate.from_messages([("human", "Write a better web query for: {question}")]) | model
    generator = ChatPromptTemplate.from_messages([("human", "Passages: {passages}\nQuestion: {question}\nAnswer:")])

    async def retrieve(state: Graded) -> dict[str, Any]:
        return {"passages": search("local", state["question"]).split("\n\n")}

    async def grade(state: Graded) -> dict[str, Any]:
        grades = [
            await grader.ainvoke({"passage": passage, "question": state["question"]}) for passage in state["passages"]
        ]
        relevant = [
            passage for passage, grade in zip(state["passages"], grades, strict=True) if grade.relevant == "yes"
        ]
        return {"passages": relevant, "on_the_web": len(relevant) < len(grades)}

    async def rewrite(state: Graded) -> dict[str, Any]:
        await rewriter.ainvoke({"question": state["question"]})
        return {"passages": [*state["passages"], *search("web", state["question"]).split("\n\n")]}

    async def generate(state: Graded) -> dict[str, Any]:
        values = {"passages": "\n\n".join(state["passages"]), "question": state["question"]}
        return {"answer": str((await (generator | model).ainvoke(values)).content)}

    graph = StateGraph(Graded)
    for name, node in (("retrieve", retrieve), ("grade", grade), ("rewrite", rewrite), ("generate", generate)):
        graph.add_node(name, node)
    graph.add_edge(START, "retrieve")
    graph.add_edge("retrieve", "grade")
    graph.add_conditional_edges("grade", lambda state: "rewrite" if state["on_the_web"] else "generate")
    graph.add_edge("rewrite", "generate")
    graph.add_edge("generate", END)
    compiled = graph.compile()
    return lambda question: compiled.ainvoke({"question": question})  # type: ignore[arg-type]


def llamaindex_agent(address: str, search: Search) -> Ask:
    from llama_index.core.agent.workflow import FunctionAgent
    from llama_index.core.tools import FunctionTool
    from llama_index.llms.openai_like import OpenAILike

    tools = [FunctionTool.from_defaults(async_fn=tool, description=told) for tool, told in searching(search)]
    kinds = {"is_chat_model": True, "is_function_calling_model": True}
    model = OpenAILike(model=MODEL, api_key="none", api_base=address, **kinds)
    agent = FunctionAgent(tools=tools, llm=model, streaming=False, system_prompt=SYSTEM)

    async def ask(question: str) -> Any:
        return await agent.run(user_msg=question)

    return ask


PEERS: dict[str, Callable[[str, Search], Ask]] = {
    peer.__name__: peer for peer in (prefrag, haystack_agent, langgraph_agent, langgraph_crag, llamaindex_agent)
}


async def measure(name: str, address: str, data: Path, questions: int, first: int) -> dict[str, float]:
    """Ask the questions one after the other. The processor time of searches is measured separately."""
    searches: list[float] = []
    unmeasured = Index.search

    def measured(self: Index, text: str, top_k: int, filters: dict[str, Any] | None) -> Any:
        started = time.thread_time()
        try:
            return unmeasured(self, text, top_k, filters)
        finally:
            searches.append(time.thread_time() - started)

    Index.search = measured  # type: ignore[method-assign]
    split_corpus(data)
    names = {"local": "PREFRAG_INDEX", "web": "PREFRAG_WEB_INDEX"}
    stores = {source: TantivyDocumentStore(index=os.environ[name]) for source, name in names.items()}

    def search(source: str, query: str) -> str:
        documents = stores[source].search(query, TOP_K)
        return "\n\n".join(
            f"[{document.id}] {document.meta.get('title', '')} {document.content}" for document in documents
        )

    ask = PEERS[name](address, search)
    asked = read_questions(data)[: questions + WARM_UP]
    spent = []
    for number, question in enumerate(asked):
        if number == WARM_UP:
            searches.clear()
        started = time.process_time()
        await ask(f"{question} (Q-{first + number})")
        spent.append(time.process_time() - started)
    spent = spent[WARM_UP:]
    whole, searching = 1_000 * statistics.median(spent), 1_000 * sum(searches) / len(spent)
    return {
        "searches": len(searches) / len(spent),
        "whole": whole,
        "searching": searching,
        "orchestration": whole - searching,
    }


def table(rounds: list[dict[str, dict[str, float]]]) -> str:
    """Return a table of the medians over the rounds. The framework with the least orchestration comes first."""
    names = {}
    for name in rounds[0]:
        names[name] = {}
        for column in rounds[0][name]:
            names[name][column] = statistics.median(measured[name][column] for measured in rounds)
    lines = ["framework          calls  searches  ms whole  ms searching  ms orchestration  ms a call"]
    for name, row in sorted(names.items(), key=lambda item: item[1]["orchestration"]):
        lines.append(
            f"{name:17} {row['calls']:6.1f} {row['searches']:9.1f} {row['whole']:9.1f} {row['searching']:13.1f} "
            f"{row['orchestration']:17.1f} {row['a call']:10.1f}"
        )
    return "\n".join(lines)


def main(data: Path, questions: int, rounds: int) -> None:
    port = free_port()
    address = f"http://127.0.0.1:{port}/v1"
    own = (sys.executable, "-m", "benchmarks.peers")
    measured_rounds = []
    with process(*own, "--serve", str(port), ready=f"{address}/models"):
        for turn in range(rounds):
            # Each round begins with another framework, so that changes in the machine's load affect all alike.
            names = [*PEERS][turn % len(PEERS) :] + [*PEERS][: turn % len(PEERS)]
            measured = {}
            for name in names:
                command = [*own, "--data", str(data), "--questions", str(questions), "--only", name]
                command += ["--address", address, "--first", str(100_000 + turn * 1_000)]
                measured[name] = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
                measured[name]["calls"] = httpx.get(f"{address}/calls").json() / (questions + WARM_UP)
                measured[name]["a call"] = measured[name]["orchestration"] / measured[name]["calls"]
            measured_rounds.append(measured)
    print(f"{data.name}, {questions} questions, medians over {rounds} rounds, processor time per question:")
    print(table(measured_rounds))


if __name__ == "__main__":
    # The web may be on, because it is an index here, so that no query is sent out. Telemetry is off.
    os.environ |= {"PREFRAG_WEB": "on", "HAYSTACK_TELEMETRY_ENABLED": "False", "LANGSMITH_TRACING": "false"}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--questions", type=int, default=40)
    parser.add_argument("--rounds", type=int, default=3)
    for name in ("--serve", "--only", "--address", "--first"):
        parser.add_argument(name, help=argparse.SUPPRESS)
    logging.disable(logging.INFO)
    chosen = parser.parse_args()
    if chosen.serve:
        serve(int(chosen.serve))
    elif chosen.only:
        measured = measure(chosen.only, chosen.address, chosen.data, chosen.questions, int(chosen.first))
        print(json.dumps(asyncio.run(measured)))
    elif chosen.data:
        main(chosen.data, chosen.questions, chosen.rounds)
    else:
        parser.error("--data is needed: a folder with dev.jsonl and corpus.jsonl")
