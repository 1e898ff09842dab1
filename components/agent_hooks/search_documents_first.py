"""The hook that tells an Agent to search the documents before it answers.

The hook runs when an Agent wants to end. It may let the Agent continue with a new message.
"""

from haystack.components.agents import State as AgentState
from haystack.dataclasses import ChatMessage

from prefrag.components.agent_hooks.conversation import BY_CODE, this_turn
from prefrag.components.block import Block, check_whole_number

# The mark in the metadata of a message with which this hook demands a search.
_DEMAND = "search"


class SearchDocumentsFirst(Block):
    """Let an Agent end only after it has searched the user's documents. Register it under ``on_exit``.

    If the model answers from memory, it gets a message that demands a search, and the run continues. If the model still
    answers without a search, the run ends. :class:`CheckAnswer` then shows the answer as the model's own words.

    Usage example:
    ```python
    from prefrag.components.agent_hooks.search_documents_first import SearchDocumentsFirst

    hooks = {"on_exit": [SearchDocumentsFirst("search_documents")]}
    ```
    """

    allowed_hook_points = ("on_exit",)

    def __init__(self, documents_tool: str, most: int = 2):
        """Set up the hook.

        :param documents_tool: The name of the tool that searches the documents.
        :param most: The maximum number of times that a search is demanded in a run.
        :raises ValueError: When ``most`` is no whole number of at least 1.
        """
        check_whole_number(1, most=most)
        self.documents_tool = documents_tool
        self.most = most

    def run(self, state: AgentState) -> None:
        """Demand a search if the documents were not searched.

        :param state: The Agent's state, which is changed in place.
        """
        demands = sum(message.meta.get(BY_CODE) == _DEMAND for message in this_turn(state.data["messages"]))
        if state.data["tool_call_counts"].get(self.documents_tool, 0) or demands >= self.most:
            return
        text = f"Do not answer from memory: search the documents with the tool {self.documents_tool} first."
        state.set("messages", [ChatMessage.from_user(text, meta={BY_CODE: _DEMAND})])
        state.set("continue_run", True)
