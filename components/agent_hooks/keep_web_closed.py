"""The hook that lets an Agent search the web only if the user's documents do not answer the question.

The hook runs before the tools of an Agent. It may take calls out of the Agent's last message.
"""

from dataclasses import replace

from haystack.components.agents import State as AgentState
from haystack.dataclasses import ChatMessage, ToolCall

from prefrag.components.agent_hooks.conversation import BY_CODE, find_documents, find_failure, make_state
from prefrag.components.block import Block
from prefrag.components.judge.judge import Judge
from prefrag.components.judge.tree_judge import TreeJudge
from prefrag.components.state.state import Action, Step
from prefrag.components.text.one_line import one_line
from prefrag.components.text.sentences import cut_text
from prefrag.components.web.web_gate import HeldBack, WebGate

# The message to the Agent shows at most this many characters of an error.
_MOST_CHARACTERS = 200


class KeepWebClosed(Block):
    """Take web searches out of an Agent's tool calls until a search of the documents was not enough.

    Register it under ``before_tool``. The documents must be searched first. The web may then be searched if no document
    was found, or if the judge says that the documents do not answer the question. The query must pass the gate. If the
    search of the documents failed, the web stays closed. If no call is left, the Agent gets a message that says why.

    Usage example:
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
        :param judge: The judge of the passages. If None, the shipped trees are used.
        :param gate: The gate that decides which queries may leave this machine. If None, queries are not checked here,
            and the Agent's own rules decide alone.
        :param documents_key: The key in the Agent's state under which the first tool writes the documents that it
            finds.
        """
        self.documents_tool = documents_tool
        self.web_tool = web_tool
        self.judge = TreeJudge() if judge is None else judge
        self.gate = gate
        self.documents_key = documents_key

    def warm_up(self) -> None:
        """Load the judge."""
        self.judge.warm_up()

    def run(self, state: AgentState) -> None:
        """Take out each web search that is not allowed yet.

        :param state: The Agent's state, which is changed in place.
        """
        *earlier, last = state.data["messages"]
        # The reason for each refused call, by its place in the message.
        refusals = {}
        for place, call in enumerate(last.tool_calls):
            if call.tool_name == self.web_tool:
                reason = self._refuse(call, earlier, state)
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
        # Between calls and their results there must be no other message. So the reason is told only without calls.
        if not calls:
            first_reason = next(iter(refusals.values()))
            text = f"The web was not searched: {first_reason}."
            messages.append(ChatMessage.from_user(text, meta={BY_CODE: "web"}))
        # By default, Haystack would append the messages to those in the state. This handler replaces them.
        state.set("messages", messages, handler_override=lambda before, after: after)

    def _refuse(self, call: ToolCall, messages: list[ChatMessage], state: AgentState) -> str | None:
        """Return why a web search is not allowed yet. Return None if it is allowed."""
        if not state.data["tool_call_counts"].get(self.documents_tool, 0):
            return f"search the documents with the tool {self.documents_tool} first"
        failure = find_failure(messages, self.documents_tool)
        if failure:
            failure_line = cut_text(one_line(failure), _MOST_CHARACTERS)
            return f"the search of the documents failed ({failure_line})"

        # If documents were found, the judge says whether they suffice.
        documents = find_documents(state, self.documents_key)
        run = make_state(messages, self.documents_tool, documents)
        if documents:
            verdict, _ = self.judge.judge(run)
            if verdict.status:
                return (
                    "answer from the passages that were found in the documents, or search the documents in other words"
                )
        if self.gate is None:
            return None

        # The query gets its own step, because it was written after the passages were read.
        step = Step(Action.SEARCH, query=str(call.arguments.get("query", "")))
        run = replace(run, steps=(*run.steps, step), settings=replace(run.settings, external=(self.web_tool,)))
        try:
            if set(call.arguments) != {"query"}:
                raise HeldBack("the web tool may get a `query` and nothing else")
            self.gate.check(self.web_tool, step.query, run)
        except HeldBack as reason:
            return str(reason)
        return None
