"""The hook that lets an Agent search the web only when its user's documents do not suffice."""

from dataclasses import replace
from typing import Any

from haystack.dataclasses import ChatMessage, ToolCall

from prefrag.components.agent_hooks.conversation import BY_CODE, find_documents, find_failure, make_state
from prefrag.components.block import Block
from prefrag.components.judge.judge import Judge
from prefrag.components.judge.tree_judge import TreeJudge
from prefrag.components.state.state import Action, Step
from prefrag.components.text.one_line import one_line
from prefrag.components.text.sentences import cut_text
from prefrag.components.web.web_gate import HeldBack, WebGate

_MOST_CHARACTERS = 200  # of an error that the Agent is told


class KeepWebClosed(Block):
    """Take web searches out of an Agent's tool calls until the documents were searched and found not to suffice.

    Register it under ``before_tool``. The documents have to be searched first. If they hold nothing, or if the judge
    says no to what was found, the web may be searched, with a query that passes the gate. If a call was its only one,
    the Agent is told why it was left out. A search of the documents that failed keeps the web closed.

    ```python
    from prefrag.components.agent_hooks.keep_web_closed import KeepWebClosed

    hooks = {"before_tool": [KeepWebClosed("search_documents", web_tool="search_web")]}
    ```
    """

    allowed_hook_points = ("before_tool",)

    def __init__(
        self,
        documents_tool: str,
        web_tool: str,
        judge: Judge | None = None,
        gate: WebGate | None = None,
        documents_key: str = "documents",
    ):
        """Set up the hook.

        :param documents_tool: The name of the tool that searches the documents.
        :param web_tool: The name of the tool that searches the web.
        :param judge: What judges the passages; by default the shipped trees.
        :param gate: What may leave this machine. By default the Agent's own rules decide alone.
        :param documents_key: The key of the Agent's state to which the first tool writes the documents that it finds.
        """
        self.documents_tool = documents_tool
        self.web_tool = web_tool
        self.judge = TreeJudge() if judge is None else judge
        self.gate = gate
        self.documents_key = documents_key

    def warm_up(self) -> None:
        """Load the judge."""
        self.judge.warm_up()

    def run(self, state: Any) -> None:
        """Leave out each web search that has no reason.

        :param state: The Agent's state, which is changed in place.
        """
        *earlier, last = state.data["messages"]
        refusals = {}
        for place, call in enumerate(last.tool_calls):
            reason = self._refuse(call, earlier, state) if call.tool_name == self.web_tool else None
            if reason:
                refusals[place] = reason
        if not refusals:
            return
        calls = [call for place, call in enumerate(last.tool_calls) if place not in refusals]
        messages = list(earlier)
        if calls or last.text:
            allowed = ChatMessage.from_assistant(
                last.text, tool_calls=calls, meta=last.meta, name=last.name, reasoning=last.reasoning
            )
            messages.append(allowed)
        # Between calls and their results there must be no other message.
        if not calls:
            text = f"The web was not searched: {next(iter(refusals.values()))}."
            messages.append(ChatMessage.from_user(text, meta={BY_CODE: "web"}))
        # By default, Haystack would append the messages to those in the state.
        state.set("messages", messages, handler_override=lambda before, after: after)

    def _refuse(self, call: ToolCall, messages: list[ChatMessage], state: Any) -> str | None:
        """Say why a web search has to wait; None if it may go."""
        if not state.data["tool_call_counts"].get(self.documents_tool, 0):
            return f"search the documents with the tool {self.documents_tool} first"
        failure = find_failure(messages, self.documents_tool)
        if failure:
            return f"the search of the documents failed ({cut_text(one_line(failure), _MOST_CHARACTERS)})"
        documents = find_documents(state, self.documents_key)
        run = make_state(messages, self.documents_tool, documents)
        verdict = self.judge.judge(run)[0] if documents else None
        if verdict is not None and verdict.status:
            return "answer from the passages that were found in the documents, or search the documents in other words"
        if self.gate is None:
            return None
        # The query is written in a step of its own, after the passages were read.
        step = Step(Action.SEARCH, query=str(call.arguments.get("query", "")))
        run = replace(run, steps=(*run.steps, step), settings=replace(run.settings, external=(self.web_tool,)))
        try:
            if not call.arguments.keys() & {"query"} or len(call.arguments) > 1:
                raise HeldBack("the web tool may get a `query` and nothing else")
            self.gate.check(self.web_tool, step.query, run)
        except HeldBack as reason:
            return str(reason)
        return None
