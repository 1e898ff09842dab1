"""The hooks in an Agent of Haystack 3, whose model is a script."""

import inspect
from copy import deepcopy
from typing import Any

import pytest
from haystack import Document, component
from haystack.components.agents import Agent, State
from haystack.dataclasses import ChatMessage, ToolCall
from haystack.tools import ComponentTool

from prefrag.components.agent_hooks.check_answer import CheckAnswer
from prefrag.components.agent_hooks.conversation import BY_CODE
from prefrag.components.agent_hooks.keep_web_closed import KeepWebClosed
from prefrag.components.agent_hooks.search_documents_first import SearchDocumentsFirst
from prefrag.components.web.web_gate import WebGate
from tests.for_each import for_each

needs_hooks = pytest.mark.skipif(
    "hooks" not in inspect.signature(Agent.__init__).parameters, reason="An Agent has hooks from Haystack 3 on."
)

QUESTION = "Who designed the Shearwater Current Meter?"
METER = Document(id="meter-0001", content="Tobias Greaves designed the Shearwater Current Meter in 1985.")
PIER = Document(id="pier-00001", content="The pier of Lyngarth is a meter wide and was built of larch.")


@component
class Shelf:
    """Gives its documents, whatever the query, and remembers the queries."""

    def __init__(self, documents: list[Document] | None):
        self.documents = documents
        self.queries: list[str] = []

    @component.output_types(documents=list[Document])
    def run(self, query: str) -> dict[str, Any]:
        """Give the documents.

        :param query: The query.
        """
        self.queries.append(query)
        if self.documents is None:
            raise OSError("the disk is gone")
        return {"documents": self.documents}


@component
class Script:
    """A chat generator that says what stands in its script; at the end its last line again."""

    def __init__(self, *replies: ChatMessage):
        self.replies = list(replies)
        self.prompts: list[list[ChatMessage]] = []

    @component.output_types(replies=list[ChatMessage])
    def run(self, messages: list[ChatMessage], tools: Any = None) -> dict[str, Any]:
        self.prompts.append(list(messages))
        reply = self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]
        return {"replies": [reply]}


def call(*tools: str) -> ChatMessage:
    return ChatMessage.from_assistant(tool_calls=[ToolCall(tool, {"query": QUESTION}) for tool in tools])


def say(text: str) -> ChatMessage:
    return ChatMessage.from_assistant(text)


class Run:
    """The run of an Agent with all hooks, over documents and a web."""

    def __init__(self, *replies: ChatMessage, documents: list[Document] | None, gate: WebGate | None = None):
        self.shelf, self.web, self.script = Shelf(documents), Shelf([PIER]), Script(*replies)
        tools = [
            ComponentTool(shelf, name=name, outputs_to_state={"documents": {"source": "documents"}})
            for name, shelf in (("search_documents", self.shelf), ("search_web", self.web))
        ]
        agent = Agent(
            chat_generator=self.script,
            tools=tools,
            state_schema={"documents": {"type": list[Document]}},
            max_agent_steps=6,
            hooks={
                "on_exit": [SearchDocumentsFirst("search_documents")],
                "before_tool": [KeepWebClosed("search_documents", web_tool="search_web", gate=gate)],
                "after_run": [CheckAnswer()],
            },
        )
        self.result = agent.run(messages=[ChatMessage.from_user(QUESTION)])
        self.answer = self.result["last_message"]


@needs_hooks
class TestAnAnswerFromMemory:
    def test_is_sent_back_to_search(self):
        run = Run(say("Rurik Thane"), call("search_documents"), say("Tobias Greaves"), documents=[METER])

        assert run.shelf.queries == [QUESTION]
        assert run.script.prompts[1][-1].text.startswith("Do not answer from memory: search the documents")
        assert run.answer.text == "Tobias Greaves [doc meter-00]"

    def test_of_an_earlier_turn_does_not_use_up_the_demands(self):
        state = State(
            {"tool_call_counts": {"type": dict}, "continue_run": {"type": bool}},
            {
                "messages": [
                    ChatMessage.from_user("Before?"),
                    ChatMessage.from_user("Search.", meta={BY_CODE: "search"}),
                    ChatMessage.from_user("Search.", meta={BY_CODE: "search"}),
                    ChatMessage.from_user(QUESTION),
                    ChatMessage.from_user("The web was not searched.", meta={BY_CODE: "web"}),
                ],
                "tool_call_counts": {},
                "continue_run": False,
            },
        )

        SearchDocumentsFirst("search_documents").run(state)

        assert state.data["continue_run"]

    def test_that_is_repeated_is_shown_as_the_models_own(self):
        run = Run(say("Rurik Thane"), documents=[METER])

        assert run.shelf.queries == []
        assert len(run.script.prompts) == 3
        assert run.answer.text == "Not found in the documents. In the model's own words: Rurik Thane"


@needs_hooks
class TestTheWeb:
    def test_is_closed_before_the_documents_were_searched(self):
        run = Run(call("search_web"), call("search_documents"), say("Tobias Greaves"), documents=[METER])

        assert run.web.queries == []
        assert run.shelf.queries == [QUESTION]

    def test_is_closed_in_the_step_that_searches_the_documents(self):
        run = Run(call("search_documents", "search_web"), say("Tobias Greaves"), documents=[METER])

        assert (run.shelf.queries, run.web.queries) == ([QUESTION], [])

    def test_is_closed_while_the_passages_suffice(self):
        run = Run(call("search_documents"), call("search_web"), say("Tobias Greaves"), documents=[METER])

        assert run.web.queries == []
        assert "The web was not searched: answer from the passages" in run.script.prompts[2][-1].text

    @for_each("documents", [], [PIER])
    def test_is_open_when_they_do_not(self, documents: list[Document]):
        run = Run(call("search_documents"), call("search_web"), say("I do not know."), documents=documents)

        assert run.web.queries == [QUESTION]

    def test_gets_no_sentence_of_the_documents(self, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setenv("PREFRAG_WEB", "on")
        copied = ToolCall("search_web", {"query": "The pier of Lyngarth is a meter wide and was built of larch."})

        run = Run(
            call("search_documents"),
            ChatMessage.from_assistant(tool_calls=[copied]),
            say("None."),
            documents=[PIER],
            gate=WebGate(),
        )

        assert run.web.queries == []
        assert "repeats 5 words or more" in run.script.prompts[2][-1].text

    def test_is_closed_if_the_search_of_the_documents_failed(self):
        run = Run(call("search_documents"), call("search_web"), say("None."), documents=None)

        assert run.web.queries == []
        assert "the search of the documents failed" in run.script.prompts[2][-1].text

    def test_gets_no_query_that_the_gate_holds_back(self, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setenv("PREFRAG_WEB", "off")

        run = Run(call("search_documents"), call("search_web"), say("None."), documents=[], gate=WebGate())

        assert run.web.queries == []
        assert "PREFRAG_WEB=off" in run.script.prompts[2][-1].text


@needs_hooks
class TestTheAnswer:
    def test_that_stands_in_no_passage_is_the_models_own(self):
        run = Run(call("search_documents"), say("Rurik Thane in 1931 [doc meter-00]"), documents=[METER])

        assert run.answer.text == "Not found in the documents. In the model's own words: Rurik Thane in 1931"
        assert run.answer.meta["prefrag"]["certainty"] == "not_found"

    def test_with_a_mark_of_nothing_gets_the_right_one(self):
        run = Run(call("search_documents"), say("Tobias Greaves [doc deadbeef]"), documents=[METER, PIER])

        assert run.answer.text == "Tobias Greaves [doc meter-00]"
        assert run.answer.meta["prefrag"]["evidence"][0]["id"] == "meter-0001"

    def test_with_an_invented_sentence_has_it_marked(self):
        reply = "Tobias Greaves designed it. Rurik Thane paid 4,000 crowns."

        run = Run(call("search_documents"), say(reply), documents=[METER])

        assert "Rurik Thane paid 4,000 crowns. [in no passage]" in run.answer.text


@for_each(
    "hook",
    SearchDocumentsFirst("search_documents"),
    KeepWebClosed("search_documents", web_tool="search_web", gate=WebGate()),
    CheckAnswer(),
)
def test_a_hook_survives_saving_and_loading(hook: Any):
    data = hook.to_dict()

    assert type(hook).from_dict(deepcopy(data)).to_dict() == data
