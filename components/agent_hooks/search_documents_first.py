"""The hook that sends an Agent back to search before it answers."""

from typing import Any

from haystack.dataclasses import ChatMessage

from prefrag.components.agent_hooks.conversation import BY_CODE, this_turn
from prefrag.components.block import Block, check_whole_number

_DEMAND = "search"


class SearchDocumentsFirst(Block):
    """Let an Agent end only after it has searched the user's documents. Register it under ``on_exit``.

    A model that answers from memory is told to search, and goes on. If it answers without a search even then, the
    run ends: :class:`CheckAnswer` shows such an answer as the model's own words.

    ```python
    from prefrag.components.agent_hooks.search_documents_first import SearchDocumentsFirst

    hooks = {"on_exit": [SearchDocumentsFirst("search_documents")]}
    ```
    """

    allowed_hook_points = ("on_exit",)

    def __init__(self, documents_tool: str, most: int = 2):
        """Set up the hook.

        :param documents_tool: The name of the tool that searches the documents.
        :param most: How often a run demands a search at most.
        :raises ValueError: When ``most`` is no whole number of at least 1.
        """
        check_whole_number(1, most=most)
        self.documents_tool = documents_tool
        self.most = most

    def run(self, state: Any) -> None:
        """Demand a search if there was none.

        :param state: The Agent's state, which is changed in place.
        """
        demands = sum(message.meta.get(BY_CODE) == _DEMAND for message in this_turn(state.data["messages"]))
        if state.data["tool_call_counts"].get(self.documents_tool, 0) or demands >= self.most:
            return
        text = f"Do not answer from memory: search the documents with the tool {self.documents_tool} first."
        state.set("messages", [ChatMessage.from_user(text, meta={BY_CODE: _DEMAND})])
        state.set("continue_run", True)
