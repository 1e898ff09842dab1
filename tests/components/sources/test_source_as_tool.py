"""A source as the tool of an Agent, whose model is a script."""

from typing import Any

import pytest
from haystack import Document, component
from haystack.components.agents import Agent
from haystack.dataclasses import ChatMessage, ToolCall
from haystack.tools import ComponentTool

from prefrag.components.sources.retrieval_source import RetrievalSource
from prefrag.components.sources.text_source import TextSource
from tests.fakes import CALLS, ScriptedRetriever

QUESTION = "Who designed the meter?"


@component
class Script:
    """A chat generator that asks for one search, and then repeats what the tool gave."""

    @component.output_types(replies=list[ChatMessage])
    def run(self, messages: list[ChatMessage], tools: Any = None) -> dict[str, Any]:
        if messages[-1].tool_call_result:
            return {"replies": [ChatMessage.from_assistant("done")]}
        return {"replies": [ChatMessage.from_assistant(tool_calls=[ToolCall("search", {"query": QUESTION})])]}


def tool_of(source: RetrievalSource) -> ComponentTool:
    return ComponentTool(
        TextSource(source),
        name="search",
        description="Search.",
        outputs_to_state={"documents": {"source": "documents"}},
    )


def ask(source: RetrievalSource) -> list[Document]:
    agent = Agent(
        chat_generator=Script(), tools=[tool_of(source)], state_schema={"documents": {"type": list[Document]}}
    )
    agent.warm_up()
    result = agent.run(messages=[ChatMessage.from_user(QUESTION)])
    assert result["messages"][-1].text == "done"
    return result.get("documents") or []


def test_its_schema_asks_for_text():
    parameters = tool_of(RetrievalSource("local", ScriptedRetriever({}, "local"))).parameters

    assert parameters["properties"]["query"]["type"] == "string"
    assert parameters["required"] == ["query"]
    assert "State" not in str(parameters)


def test_an_agent_searches_it():
    (document,) = ask(RetrievalSource("local", ScriptedRetriever({"meter": "Greaves"}, "local")))

    assert document.meta["source"] == "local"
    assert [call["query"] for call in CALLS["local"]] == [QUESTION]


def test_an_agent_sends_nothing_out_where_the_web_is_closed(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PREFRAG_WEB", "off")

    assert ask(RetrievalSource("web", ScriptedRetriever({"meter": "page"}, "web"), external=True)) == []
    assert "web" not in CALLS
